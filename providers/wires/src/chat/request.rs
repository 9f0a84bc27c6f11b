//! Prompt to request.
use protocol::{
    Block, BlockKind, Content, Entry, Fit, Opaque, Part, Prompt, ReasoningAsk, Speaker, Tool, ToolKind, Tune, WireId,
};
use serde_json::value::RawValue;

use super::field;
use crate::{
    calls,
    json::{self, Fields, List, Object},
    parts::{self, Shown},
};

/// What no extra may touch.
const FIXED: &[&str] = &["model", "messages", "tools"];

pub(super) fn head(prompt: &Prompt, fit: &Fit) -> Vec<u8> {
    let tune = prompt.tune;
    let fields = Fields::new(WireId::Chat, tune, fit, FIXED);
    let late = prompt.said.iter().filter_map(|entry| match entry {
        Entry::Tools(tools) => Some(tools),
        _ => None,
    });
    let tools: Vec<&Tool> =
        prompt.opening.tools.iter().chain(late.flatten()).filter(|tool| offered(tool, fit)).collect();
    json::head(
        "messages",
        |o| {
            o.put("model", &fit.source.model);
            if fields.in_head("stream") {
                o.put("stream", &true);
            }
            if !fit.quirks.no_stream_options && fields.in_head("stream_options") {
                o.object("stream_options", |o| o.put("include_usage", &true));
            }
            if tools.is_empty() {
                return;
            }
            o.list("tools", |l| tools.iter().for_each(|tool| write_tool(l, tool, fit)));
            if tune.choose_tools && fields.in_head("tool_choice") {
                o.put("tool_choice", "auto");
            }
            if let Some(parallel) = tune.parallel.filter(|_| fields.in_head("parallel_tool_calls")) {
                o.put("parallel_tool_calls", &parallel);
            }
        },
        |l| instructions(l, &prompt.opening.instructions, fit),
    )
}

pub(super) fn tail(tune: &Tune, fit: &Fit) -> Vec<u8> {
    let mut fields = Fields::new(WireId::Chat, tune, fit, FIXED);
    json::tail(|o| {
        let limit = if fit.quirks.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        fields.tail_some(o, limit, tune.max_output);
        if !fit.quirks.no_temperature {
            fields.tail_some(o, "temperature", tune.temperature);
        }
        fields.tail_some(o, "top_p", tune.top_p);
        reasoning(&mut fields, o, &tune.reasoning, fit);
        fields.tail_some(o, "verbosity", tune.verbosity.as_deref());
        if let Some((name, schema)) = &tune.schema {
            fields.tail(o, "response_format", |out| {
                json::object(out, |o| {
                    o.put("type", "json_schema");
                    o.object("json_schema", |o| {
                        o.put("name", name);
                        o.put("strict", &true);
                        o.raw("schema", schema.text());
                    });
                });
            });
        }
        fields.rest(o);
    })
}

/// How much to think, in the provider's own fields.
fn reasoning(fields: &mut Fields, o: &mut Object, ask: &ReasoningAsk, fit: &Fit) {
    let effort = ask.effort.as_deref();
    let on = ask.enabled.or_else(|| Some(effort? != "none")).or((ask.adaptive || ask.budget.is_some()).then_some(true));
    let switch = |on: bool| if on { "enabled" } else { "disabled" };
    match fit.quirks.reasoning_field.as_deref().unwrap_or("reasoning_effort") {
        "reasoning_effort" => fields.tail_some(o, "reasoning_effort", effort),
        "reasoning" if on.is_some() => fields.tail(o, "reasoning", |out| {
            json::object(out, |o| {
                o.put_some("effort", effort);
                o.put_some("max_tokens", ask.budget.filter(|_| effort.is_none()));
                o.put_some("enabled", on.filter(|_| effort.is_none() && ask.budget.is_none()));
            });
        }),
        "thinking" => {
            if let Some(on) = on {
                fields.tail(o, "thinking", |out| json::object(out, |o| o.put("type", switch(on))));
            }
            fields.tail_some(o, "reasoning_effort", effort.filter(|_| on == Some(true)));
        }
        "thinking_effort" => {
            if let Some(on) = on {
                fields.tail(o, "thinking", |out| {
                    json::object(out, |o| {
                        o.put("type", switch(on));
                        o.put_some("effort", effort.filter(|_| on));
                    });
                });
            }
        }
        "enable_thinking" => {
            fields.tail_some(o, "enable_thinking", on);
            fields.tail_some(o, "thinking_budget", ask.budget);
        }
        "chat_template_kwargs" => {
            if let Some(on) = on {
                fields.tail(o, "chat_template_kwargs", |out| json::object(out, |o| o.put("enable_thinking", &on)));
            }
        }
        _ => {}
    }
}

fn offered(tool: &Tool, fit: &Fit) -> bool {
    match &tool.kind {
        ToolKind::Server { wire, .. } => *wire == WireId::Chat && fit.caps.server_tools,
        _ => true,
    }
}

fn write_tool(l: &mut List, tool: &Tool, fit: &Fit) {
    if let ToolKind::Server { entry, .. } = &tool.kind {
        return l.raw(entry.text());
    }
    l.object(|o| {
        o.put("type", "function");
        o.object("function", |o| {
            o.put("name", &calls::flat_name(tool.namespace.as_deref(), &tool.name));
            o.put_some("description", calls::description(tool));
            if let Some(schema) = calls::schema(tool) {
                o.raw("parameters", schema);
            }
            o.put_some("strict", tool.strict.filter(|_| !fit.quirks.no_strict));
        });
    });
}

/// One leading system message; where the server has the role `developer`, each instruction keeps its own.
fn instructions(l: &mut List, all: &[(Speaker, Content)], fit: &Fit) {
    if fit.caps.developer_role {
        for (speaker, content) in all {
            message(l, role(*speaker, fit), content, fit);
        }
        return;
    }
    match all {
        [] => {}
        [(_, one)] => message(l, "system", one, fit),
        several => {
            let texts: Vec<String> = several.iter().map(|(_, content)| content.text()).collect();
            message(l, "system", &Content::Plain(texts.join("\n\n")), fit);
        }
    }
}

fn role(speaker: Speaker, fit: &Fit) -> &'static str {
    match speaker {
        Speaker::Developer if fit.caps.developer_role => "developer",
        Speaker::Developer | Speaker::System => "system",
    }
}

fn late_role(speaker: Speaker, fit: &Fit) -> &'static str {
    if fit.caps.late_instructions { role(speaker, fit) } else { "user" }
}

pub(super) fn freeze(entry: &Entry, fit: &Fit) -> Vec<u8> {
    let mut out = Vec::new();
    json::values(&mut out, |l| match entry {
        Entry::Instruct(speaker, content) => message(l, late_role(*speaker, fit), content, fit),
        Entry::User(content) => message(l, "user", content, fit),
        Entry::Assistant(blocks) => assistant(l, blocks, fit),
        Entry::Results { before, results, after } => {
            let mut follow = Vec::new();
            for result in results {
                l.object(|o| {
                    o.put("role", "tool");
                    o.put("tool_call_id", &calls::id(result.call.as_str(), fit));
                    match parts::result(&result.answer.content, fit, &mut follow) {
                        Ok(text) => o.put("content", text),
                        Err(kept) => content(o, &kept, fit),
                    }
                });
            }
            let said = results.iter().flat_map(|result| &result.answer.after).chain(after);
            follow.extend(said.filter_map(|part: &Part| parts::show(part, fit)));
            if fit.quirks.bridge_results && !(before.is_empty() && follow.is_empty()) {
                l.object(|o| {
                    o.put("role", "assistant");
                    o.put("content", "Done.");
                });
            }
            for (speaker, content) in before {
                message(l, late_role(*speaker, fit), content, fit);
            }
            message_of(l, "user", &follow, fit);
        }
        // In the list of the head.
        Entry::Tools(_) => {}
        Entry::Foreign(opaque) => {
            if let Some(item) = parts::foreign(opaque, WireId::Chat) {
                l.raw(item.text());
            }
        }
    });
    out
}

fn message(l: &mut List, role: &str, content: &Content, fit: &Fit) {
    match content {
        Content::Plain(text) => l.object(|o| {
            o.put("role", role);
            o.put("content", text);
        }),
        Content::Parts(said) => {
            let shown: Vec<Shown> = said.iter().filter_map(|part| parts::show(part, fit)).collect();
            message_of(l, role, &shown, fit);
        }
    }
}

fn message_of(l: &mut List, role: &str, shown: &[Shown], fit: &Fit) {
    if shown.is_empty() {
        return;
    }
    l.object(|o| {
        o.put("role", role);
        content(o, shown, fit);
    });
}

fn content(o: &mut Object, shown: &[Shown], fit: &Fit) {
    if fit.quirks.string_content && shown.iter().all(Shown::is_text) {
        return o.put("content", &parts::joined(shown));
    }
    o.list("content", |l| shown.iter().for_each(|part| write_part(l, part)));
}

fn write_part(l: &mut List, part: &Shown) {
    match part {
        Shown::Text(text) => l.object(|o| {
            o.put("type", "text");
            o.put("text", text);
        }),
        Shown::Image { mime, base64, detail } => l.object(|o| {
            o.put("type", "image_url");
            o.object("image_url", |o| {
                o.put("url", &parts::data_url(mime, base64));
                o.put_some("detail", *detail);
            });
        }),
        Shown::Document { name, mime, base64 } => l.object(|o| {
            o.put("type", "file");
            o.object("file", |o| {
                o.put("filename", name);
                o.put("file_data", &parts::data_url(mime, base64));
            });
        }),
        Shown::Reference(_) => {}
        Shown::Foreign(raw) => l.raw(raw.text()),
    }
}

/// For reasoning that is not there, where the server takes no call without any and the harness has no words for it. DeepSeek and
/// Moonshot refuse an empty text only.
const NO_REASONING: &str = " ";

/// What a reply says, sorted into the fields of one message.
#[derive(Default)]
struct Echo<'a> {
    /// Reasoning by field, in the order of the fields' first appearance.
    reasoning: Vec<(&'a str, String)>,
    /// The harness's words where there is none.
    no_reasoning: Option<&'a str>,
    details: Vec<Box<RawValue>>,
    tags: String,
    thinking_part: String,
    text: String,
    /// There is a text, if only an empty one: the harness wants no null.
    has_text: bool,
    extra: Option<&'a str>,
    calls: Vec<&'a Block>,
}

impl<'a> Echo<'a> {
    fn of(blocks: &'a [Block], fit: &Fit) -> Echo<'a> {
        let mut echo = Echo::default();
        for block in blocks {
            match &block.kind {
                BlockKind::Text(text, _) => {
                    echo.has_text = true;
                    // Blocks that were apart on another wire stay apart; pieces of one text do not touch white space.
                    let glued = !echo.text.is_empty() && !echo.text.ends_with(char::is_whitespace);
                    if glued && !text.starts_with(char::is_whitespace) && !text.is_empty() {
                        echo.text.push_str("\n\n");
                    }
                    echo.text.push_str(text);
                    echo.extra =
                        calls::own(block, field::EXTRA_CONTENT, fit).map(|opaque| opaque.value.text()).or(echo.extra);
                }
                BlockKind::Reasoning(text) => echo.reasoning(block, text, fit),
                BlockKind::Call(_) => echo.calls.push(block),
                BlockKind::Server { .. } | BlockKind::Unknown => {}
            }
        }
        echo
    }

    fn has_reasoning(&self) -> bool {
        self.reasoning.iter().any(|(_, text)| !text.is_empty())
            || !(self.details.is_empty() && self.tags.is_empty() && self.thinking_part.is_empty())
    }

    /// Of another source, reasoning has no field and is left out.
    fn reasoning(&mut self, block: &'a Block, text: &'a str, fit: &Fit) {
        for opaque in block.opaque.iter().filter(|opaque| opaque.scope == fit.source) {
            match opaque.field.as_str() {
                Opaque::NO_REASONING => self.no_reasoning = Some(text),
                field::REASONING_DETAILS => {
                    self.details.extend(opaque.value.read::<Vec<Box<RawValue>>>().unwrap_or_default())
                }
                field::THINK_TAGS => {
                    let space: String = opaque.value.read().unwrap_or_default();
                    self.tags.push_str(&format!("<think>{text}</think>{space}"));
                }
                field::THINKING_PART => self.thinking_part.push_str(text),
                name => match self.reasoning.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, so_far)) => so_far.push_str(text),
                    None => self.reasoning.push((name, text.to_owned())),
                },
            }
        }
    }
}

fn assistant(l: &mut List, blocks: &[Block], fit: &Fit) {
    let mut echo = Echo::of(blocks, fit);
    // Servers refuse a message that says nothing.
    if echo.text.is_empty() && echo.calls.is_empty() {
        return;
    }
    let required = fit.quirks.reasoning_required.as_deref();
    if let Some(name) = required.or(echo.no_reasoning.map(|_| field::REASONING_CONTENT))
        && !echo.calls.is_empty()
        && !echo.has_reasoning()
    {
        echo.reasoning = vec![(name, echo.no_reasoning.unwrap_or(NO_REASONING).to_owned())];
    }
    l.object(|o| {
        o.put("role", "assistant");
        let text = format!("{}{}", echo.tags, echo.text);
        if !echo.thinking_part.is_empty() {
            o.list("content", |l| {
                l.object(|o| {
                    o.put("type", "thinking");
                    o.list("thinking", |l| {
                        l.object(|o| {
                            o.put("type", "text");
                            o.put("text", &echo.thinking_part);
                        });
                    });
                    o.put("closed", &true);
                });
                if !text.is_empty() {
                    write_part(l, &Shown::Text(text.as_str().into()));
                }
            });
        } else if text.is_empty() && !echo.has_text && !fit.quirks.empty_content {
            o.raw("content", "null");
        } else {
            o.put("content", &text);
        }
        for (name, text) in &echo.reasoning {
            o.put(name, text);
        }
        if !echo.details.is_empty() {
            o.put(field::REASONING_DETAILS, &echo.details);
        }
        if let Some(extra) = echo.extra {
            o.raw(field::EXTRA_CONTENT, extra);
        }
        if !echo.calls.is_empty() {
            o.list("tool_calls", |l| echo.calls.iter().for_each(|block| write_call(l, block, fit)));
        }
    });
}

fn write_call(l: &mut List, block: &Block, fit: &Fit) {
    let BlockKind::Call(call) = &block.kind else {
        return;
    };
    l.object(|o| {
        o.put("id", &calls::id(call.id.as_str(), fit));
        o.put("type", "function");
        o.object("function", |o| {
            o.put("name", &calls::called(call));
            o.put("arguments", &calls::object_args(call));
        });
        if let Some(extra) = calls::own(block, field::EXTRA_CONTENT, fit) {
            o.raw(field::EXTRA_CONTENT, extra.value.text());
        }
    });
}
