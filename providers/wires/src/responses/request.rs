//! Prompt to request. Fields that depend on the turn stand behind the list, those that depend on the tools before it.
use std::borrow::Cow;

use protocol::{
    Block, BlockKind, Call, CallForm, CallResult, Content, Entry, Fit, Part, Phase, Prompt, Raw, Speaker, Tool,
    ToolKind, Tune, WireId,
};
use serde::Deserialize;

use super::ITEM;
use crate::{
    calls,
    json::{self, Fields, List, Object},
    lenient::Str,
    parts::{self, Shown},
};

/// What no extra may touch.
const FIXED: &[&str] = &["model", "input", "tools", "instructions"];

pub(super) fn head(prompt: &Prompt, fit: &Fit) -> Vec<u8> {
    let tune = prompt.tune;
    let fields = Fields::new(WireId::Responses, tune, fit, FIXED);
    // Where the server knows no item for tools, those that came later join the list.
    let late = prompt.said.iter().filter_map(|entry| match entry {
        Entry::Tools(tools) if !fit.caps.server_tools => Some(tools),
        _ => None,
    });
    let tools: Vec<&Tool> =
        prompt.opening.tools.iter().chain(late.flatten()).filter(|tool| offered(tool, fit)).collect();
    json::head(
        "input",
        |o| {
            o.put("model", &fit.source.model);
            if fields.in_head("stream") {
                o.put("stream", &true);
            }
            if !tools.is_empty() {
                o.list("tools", |l| write_tools(l, &tools, fit));
            }
            if tune.choose_tools && !tools.is_empty() && fields.in_head("tool_choice") {
                o.put("tool_choice", "auto");
            }
            if let Some(parallel) = tune.parallel.filter(|_| fields.in_head("parallel_tool_calls")) {
                o.put("parallel_tool_calls", &parallel);
            }
        },
        |l| {
            for (speaker, content) in &prompt.opening.instructions {
                message(l, role(*speaker, fit), content, fit);
            }
        },
    )
}

pub(super) fn tail(tune: &Tune, fit: &Fit) -> Vec<u8> {
    let mut fields = Fields::new(WireId::Responses, tune, fit, FIXED);
    json::tail(|o| {
        let ask = &tune.reasoning;
        if ask.effort.is_some() || ask.summary.is_some() {
            fields.tail(o, "reasoning", |out| {
                json::object(out, |o| {
                    o.put_some("effort", ask.effort.as_deref());
                    o.put_some("summary", ask.summary.as_deref());
                });
            });
        }
        fields.tail(o, "store", |out| json::value(out, &false));
        if fit.caps.encrypted_reasoning {
            fields.tail(o, "include", |out| json::value(out, &["reasoning.encrypted_content"]));
            fields.tail_some(o, "prompt_cache_key", tune.cache_key.as_deref());
        }
        if tune.verbosity.is_some() || tune.schema.is_some() {
            fields.tail(o, "text", |out| json::object(out, |o| text_field(o, tune)));
        }
        fields.tail_some(o, "max_output_tokens", tune.max_output);
        if !fit.quirks.no_temperature {
            fields.tail_some(o, "temperature", tune.temperature);
        }
        fields.tail_some(o, "top_p", tune.top_p);
        fields.rest(o);
    })
}

fn text_field(o: &mut Object, tune: &Tune) {
    o.put_some("verbosity", tune.verbosity.as_deref());
    if let Some((name, schema)) = &tune.schema {
        o.object("format", |o| {
            o.put("type", "json_schema");
            o.put("strict", &true);
            o.raw("schema", schema.text());
            o.put("name", name);
        });
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

/// Servers not known to take others get functions only.
fn offered(tool: &Tool, fit: &Fit) -> bool {
    match &tool.kind {
        ToolKind::Server { wire, .. } => *wire == WireId::Responses && fit.caps.server_tools,
        _ => true,
    }
}

fn write_tools(l: &mut List, tools: &[&Tool], fit: &Fit) {
    let mut rest = tools;
    while let Some((tool, after)) = rest.split_first() {
        let Some(namespace) = tool.namespace.as_deref().filter(|_| fit.caps.server_tools) else {
            write_tool(l, tool, fit);
            rest = after;
            continue;
        };
        let len = rest.iter().take_while(|tool| tool.namespace.as_deref() == Some(namespace)).count();
        let (group, after) = rest.split_at(len);
        l.object(|o| {
            o.put("type", "namespace");
            o.put("name", namespace);
            o.put("description", "");
            o.list("tools", |l| group.iter().for_each(|tool| write_tool(l, tool, fit)));
        });
        rest = after;
    }
}

fn write_tool(l: &mut List, tool: &Tool, fit: &Fit) {
    let name = match fit.caps.server_tools {
        true => Cow::Borrowed(tool.name.as_str()),
        false => calls::flat_name(tool.namespace.as_deref(), &tool.name),
    };
    match &tool.kind {
        ToolKind::Server { entry, .. } => l.raw(entry.text()),
        ToolKind::Custom { grammar, .. } if fit.caps.custom_tools => l.object(|o| {
            o.put("type", "custom");
            o.put("name", &name);
            o.put_some("description", calls::description(tool));
            if let Some(grammar) = grammar {
                o.object("format", |o| {
                    o.put("type", "grammar");
                    o.put("syntax", &grammar.syntax);
                    o.put("definition", &grammar.definition);
                });
            }
        }),
        _ => l.object(|o| {
            o.put("type", "function");
            o.put("name", &name);
            o.put_some("description", calls::description(tool));
            o.put_some("strict", tool.strict);
            if tool.deferred && fit.caps.server_tools {
                o.put("defer_loading", &true);
            }
            if let Some(schema) = calls::schema(tool) {
                o.raw("parameters", schema);
            }
        }),
    }
}

pub(super) fn freeze(entry: &Entry, fit: &Fit) -> Vec<u8> {
    let mut out = Vec::new();
    json::values(&mut out, |l| match entry {
        Entry::Instruct(speaker, content) => message(l, late_role(*speaker, fit), content, fit),
        Entry::User(content) => message(l, "user", content, fit),
        Entry::Assistant(blocks) => blocks.iter().for_each(|block| item(l, block, fit)),
        Entry::Results { before, results, after } => {
            for (speaker, content) in before {
                message(l, late_role(*speaker, fit), content, fit);
            }
            write_results(l, results, after, fit);
        }
        Entry::Tools(tools) => {
            let tools: Vec<&Tool> = tools.iter().filter(|tool| offered(tool, fit)).collect();
            if fit.caps.server_tools && !tools.is_empty() {
                l.object(|o| {
                    o.put("type", "additional_tools");
                    o.put("role", "developer");
                    o.list("tools", |l| write_tools(l, &tools, fit));
                });
            }
        }
        Entry::Foreign(opaque) => {
            if let Some(item) = parts::foreign(opaque, WireId::Responses) {
                l.raw(item.text());
            }
        }
    });
    out
}

fn message(l: &mut List, role: &str, content: &Content, fit: &Fit) {
    match content {
        Content::Plain(text) => l.object(|o| {
            o.put("type", "message");
            o.put("role", role);
            o.put("content", text);
        }),
        Content::Parts(said) => {
            let shown: Vec<Shown> = said.iter().filter_map(|part| parts::show(part, fit)).collect();
            message_of(l, role, &shown);
        }
    }
}

fn message_of(l: &mut List, role: &str, shown: &[Shown]) {
    if shown.is_empty() {
        return;
    }
    l.object(|o| {
        o.put("type", "message");
        o.put("role", role);
        o.list("content", |l| shown.iter().for_each(|part| input_part(l, part)));
    });
}

fn input_part(l: &mut List, part: &Shown) {
    match part {
        Shown::Text(text) => l.object(|o| {
            o.put("type", "input_text");
            o.put("text", text);
        }),
        Shown::Image { mime, base64, detail } => l.object(|o| {
            o.put("type", "input_image");
            o.put("image_url", &parts::data_url(mime, base64));
            o.put_some("detail", *detail);
        }),
        Shown::Document { name, mime, base64 } => l.object(|o| {
            o.put("type", "input_file");
            o.put("filename", name);
            o.put("file_data", &parts::data_url(mime, base64));
        }),
        Shown::Reference(_) => {}
        Shown::Foreign(raw) => l.raw(raw.text()),
    }
}

fn write_results(l: &mut List, results: &[CallResult], after: &[Part], fit: &Fit) {
    let mut follow = Vec::new();
    for result in results {
        let custom = result.custom && fit.caps.custom_tools;
        l.object(|o| {
            o.put("type", if custom { "custom_tool_call_output" } else { "function_call_output" });
            o.put("call_id", &calls::id(result.call.as_str(), fit));
            match parts::result(&result.answer.content, fit, &mut follow) {
                Ok(text) => o.put("output", text),
                // Lists came late to this field; servers that take no images in it know strings only.
                Err(kept) if !fit.caps.images_in_results && kept.iter().all(Shown::is_text) => {
                    o.put("output", &parts::joined(&kept));
                }
                Err(kept) => o.list("output", |l| kept.iter().for_each(|part| input_part(l, part))),
            }
        });
    }
    let said = results.iter().flat_map(|result| &result.answer.after).chain(after);
    follow.extend(said.filter_map(|part| parts::show(part, fit)));
    message_of(l, "user", &follow);
}

/// The parts of a server's item that the echo may have changed.
#[derive(Deserialize)]
struct Echo<'a> {
    #[serde(borrow, default)]
    call_id: Str<'a>,
    #[serde(borrow, default)]
    namespace: Str<'a>,
    #[serde(borrow, default)]
    name: Str<'a>,
    #[serde(borrow, default)]
    arguments: Str<'a>,
    #[serde(borrow, default)]
    input: Str<'a>,
    #[serde(borrow, default)]
    content: Vec<Said<'a>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    text: Str<'a>,
    #[serde(borrow, default)]
    refusal: Str<'a>,
}

/// Whether the server's item says what the echo says: then it goes back as it came.
fn unchanged(item: &Raw, block: &Block) -> bool {
    let (BlockKind::Text(..) | BlockKind::Call(_)) = &block.kind else {
        return true;
    };
    let Ok(echo) = serde_json::from_str::<Echo>(item.text()) else {
        return false;
    };
    match &block.kind {
        BlockKind::Text(text, _) => {
            let mut rest = text.as_str();
            echo.content
                .iter()
                .flat_map(|part| [&part.text, &part.refusal])
                .all(|said| rest.strip_prefix(&**said).map(|after| rest = after).is_some())
                && rest.is_empty()
        }
        BlockKind::Call(call) => {
            let args = if call.form == CallForm::Custom { &echo.input } else { &echo.arguments };
            *echo.call_id == *call.id.0
                && *echo.name == *call.name
                && calls::safe_name(&call.name) == *call.name
                && call.namespace.as_deref().is_none_or(|name| calls::safe_name(name) == *name)
                && *echo.namespace == *call.namespace.as_deref().unwrap_or_default()
                && **args == *call.args
        }
        _ => true,
    }
}

fn item(l: &mut List, block: &Block, fit: &Fit) {
    let own = calls::own(block, ITEM, fit);
    if let Some(opaque) = own
        && unchanged(&opaque.value, block)
    {
        return l.raw(opaque.value.text());
    }
    match &block.kind {
        BlockKind::Text(text, _) if text.is_empty() => {}
        BlockKind::Text(text, phase) => l.object(|o| {
            o.put("type", "message");
            o.put("role", "assistant");
            o.list("content", |l| {
                l.object(|o| {
                    o.put("type", "output_text");
                    o.put("text", text);
                });
            });
            // A field of Codex's own models; elsewhere it is unknown.
            if *phase == Phase::Commentary && fit.caps.server_tools {
                o.put("phase", "commentary");
            }
        }),
        BlockKind::Call(call) => l.object(|o| write_call(o, call, fit)),
        // Of another source, and readable to nobody else.
        BlockKind::Reasoning(_) | BlockKind::Server { .. } | BlockKind::Unknown => {}
    }
}

fn write_call(o: &mut Object, call: &Call, fit: &Fit) {
    let custom = call.form == CallForm::Custom && fit.caps.custom_tools;
    o.put("type", if custom { "custom_tool_call" } else { "function_call" });
    o.put("call_id", &calls::id(call.id.as_str(), fit));
    match (&call.namespace, fit.caps.server_tools) {
        (Some(namespace), true) if !namespace.is_empty() => {
            o.put("namespace", &calls::safe_name(namespace));
            o.put("name", &calls::safe_name(&call.name));
        }
        _ => o.put("name", &calls::called(call)),
    }
    if custom {
        o.put("input", &call.args);
    } else if call.form == CallForm::Function && !call.args.trim().is_empty() {
        // As written, even where it is no JSON: Codex's models see their own slips.
        o.put("arguments", &call.args);
    } else {
        o.put("arguments", &calls::object_args(call));
    }
}
