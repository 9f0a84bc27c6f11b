//! Prompt to request. Cache marks stand in the head and on the newest entry only, so that what is frozen never changes.
use protocol::{Block, BlockKind, Content, Entry, Fit, Part, Prompt, Speaker, Tool, ToolKind, Tune, WireId};

use super::field;
use crate::{
    calls,
    json::{self, Fields, List},
    parts::{self, Shown},
};

/// What no extra may touch.
const FIXED: &[&str] = &["model", "messages", "system", "tools"];
const MARK: &str = r#"{"type":"ephemeral"}"#;
/// The wire demands a limit; this is Claude Code's for models that it does not know.
const MAX_TOKENS: u64 = 32_000;

pub(super) fn head(prompt: &Prompt, fit: &Fit) -> Vec<u8> {
    let tune = prompt.tune;
    let fields = Fields::new(WireId::Messages, tune, fit, FIXED);
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
            let marked = if fit.caps.cache_marks { tune.marks.instructions.as_slice() } else { &[] };
            match prompt.opening.instructions.as_slice() {
                [] => {}
                [(_, Content::Plain(text))] if marked.is_empty() => o.put("system", text),
                several => o.list("system", |l| {
                    for (place, (_, content)) in several.iter().enumerate() {
                        let mut blocks = blocks_of(content, fit);
                        if marked.contains(&place) {
                            mark_last(&mut blocks);
                        }
                        blocks.iter().for_each(|block| l.raw(&block.json));
                    }
                }),
            }
            if tools.is_empty() {
                return;
            }
            let last = tools.len() - 1;
            o.list("tools", |l| {
                for (place, tool) in tools.iter().enumerate() {
                    write_tool(l, tool, tune.marks.tools && fit.caps.cache_marks && place == last, fit);
                }
            });
            if (tune.choose_tools || tune.parallel == Some(false)) && fields.in_head("tool_choice") {
                o.object("tool_choice", |o| {
                    o.put("type", "auto");
                    o.put_some("disable_parallel_tool_use", (tune.parallel == Some(false)).then_some(true));
                });
            }
        },
        |_| {},
    )
}

pub(super) fn tail(tune: &Tune, fit: &Fit) -> Vec<u8> {
    let mut fields = Fields::new(WireId::Messages, tune, fit, FIXED);
    let ask = &tune.reasoning;
    json::tail(|o| {
        fields.tail_some(o, "max_tokens", Some(tune.max_output.unwrap_or(MAX_TOKENS)));
        if ask.enabled == Some(false) {
            fields.tail(o, "thinking", |out| json::object(out, |o| o.put("type", "disabled")));
        } else if ask.adaptive {
            fields.tail(o, "thinking", |out| json::object(out, |o| o.put("type", "adaptive")));
        } else if let Some(budget) = ask.budget {
            fields.tail(o, "thinking", |out| {
                json::object(out, |o| {
                    o.put("type", "enabled");
                    o.put("budget_tokens", &budget);
                });
            });
        } else if ask.enabled == Some(true) {
            // Without a budget: the switch of the other vendors that serve this wire.
            fields.tail(o, "thinking", |out| json::object(out, |o| o.put("type", "enabled")));
        }
        if !fit.quirks.no_temperature {
            fields.tail_some(o, "temperature", tune.temperature);
        }
        fields.tail_some(o, "top_p", tune.top_p);
        if ask.effort.is_some() || tune.schema.is_some() {
            fields.tail(o, "output_config", |out| {
                json::object(out, |o| {
                    o.put_some("effort", ask.effort.as_deref());
                    if let Some((_, schema)) = &tune.schema {
                        o.object("format", |o| {
                            o.put("type", "json_schema");
                            o.raw("schema", schema.text());
                        });
                    }
                });
            });
        }
        fields.rest(o);
    })
}

fn offered(tool: &Tool, fit: &Fit) -> bool {
    match &tool.kind {
        ToolKind::Server { wire, .. } => *wire == WireId::Messages && fit.caps.server_tools,
        _ => true,
    }
}

fn write_tool(l: &mut List, tool: &Tool, marked: bool, fit: &Fit) {
    let mut json = Vec::new();
    match &tool.kind {
        ToolKind::Server { entry, .. } => json.extend_from_slice(entry.text().as_bytes()),
        _ => json::object(&mut json, |o| {
            o.put("name", &calls::flat_name(tool.namespace.as_deref(), &tool.name));
            o.put_some("description", calls::description(tool));
            if let Some(schema) = calls::schema(tool) {
                o.raw("input_schema", schema);
            }
            if fit.caps.server_tools {
                o.put_some("strict", tool.strict.filter(|strict| *strict));
                o.put_some("defer_loading", tool.deferred.then_some(true));
            }
        }),
    }
    let mut blocks = [Written { json, markable: true }];
    if marked {
        mark_last(&mut blocks);
    }
    l.raw(&blocks[0].json);
}

/// A content block as JSON. Thinking takes no cache mark.
struct Written {
    json: Vec<u8>,
    markable: bool,
}

impl Written {
    fn new(fill: impl FnOnce(&mut json::Object)) -> Written {
        let mut json = Vec::new();
        json::object(&mut json, fill);
        Written { json, markable: true }
    }
    fn text(text: &str) -> Written {
        Written::new(|o| {
            o.put("type", "text");
            o.put("text", text);
        })
    }
}

fn mark_last(blocks: &mut [Written]) {
    let Some(block) = blocks.iter_mut().rev().find(|block| block.markable && block.json.ends_with(b"}")) else {
        return;
    };
    block.json.pop();
    block.json.extend_from_slice(b",\"cache_control\":");
    block.json.extend_from_slice(MARK.as_bytes());
    block.json.push(b'}');
}

struct Message<'a> {
    role: &'static str,
    content: Said<'a>,
}

enum Said<'a> {
    Plain(&'a str),
    Blocks(Vec<Written>),
}

pub(super) fn freeze(entry: &Entry, fit: &Fit) -> Vec<u8> {
    write(&messages(entry, fit))
}

/// With a mark on its last block. A plain text becomes a block then: only blocks carry marks.
pub(super) fn newest(entry: &Entry, tune: &Tune, fit: &Fit) -> Option<Vec<u8>> {
    if !fit.caps.cache_marks || !tune.marks.last {
        return None;
    }
    let mut messages = messages(entry, fit);
    let last = messages.last_mut()?;
    if let Said::Plain(text) = last.content
        && !text.is_empty()
    {
        last.content = Said::Blocks(vec![Written::text(text)]);
    }
    if let Said::Blocks(blocks) = &mut last.content {
        mark_last(blocks);
    }
    Some(write(&messages))
}

fn write(messages: &[Message]) -> Vec<u8> {
    let mut out = Vec::new();
    json::values(&mut out, |l| {
        for message in messages {
            match &message.content {
                // A foreign message is whole.
                Said::Blocks(blocks) if message.role.is_empty() => blocks.iter().for_each(|block| l.raw(&block.json)),
                content => l.object(|o| {
                    o.put("role", message.role);
                    match content {
                        Said::Plain(text) => o.put("content", text),
                        Said::Blocks(blocks) => {
                            o.list("content", |l| blocks.iter().for_each(|block| l.raw(&block.json)))
                        }
                    }
                }),
            }
        }
    });
    out
}

fn messages<'a>(entry: &'a Entry, fit: &Fit) -> Vec<Message<'a>> {
    match entry {
        Entry::Instruct(_, content) => message(late_role(fit), content, fit).into_iter().collect(),
        Entry::User(content) => message("user", content, fit).into_iter().collect(),
        Entry::Assistant(said) => {
            let blocks: Vec<Written> = said.iter().filter_map(|block| assistant(block, fit)).collect();
            // Thinking alone is no message.
            let says = blocks.iter().any(|block| block.markable);
            says.then_some(Message { role: "assistant", content: Said::Blocks(blocks) }).into_iter().collect()
        }
        Entry::Results { before, results, after } => answers(before, results, after, fit),
        // In the list of the head.
        Entry::Tools(_) => Vec::new(),
        Entry::Foreign(opaque) => parts::foreign(opaque, WireId::Messages)
            .map(|raw| {
                let json = raw.text().as_bytes().to_vec();
                Message { role: "", content: Said::Blocks(vec![Written { json, markable: false }]) }
            })
            .into_iter()
            .collect(),
    }
}

fn late_role(fit: &Fit) -> &'static str {
    if fit.caps.late_instructions { "system" } else { "user" }
}

fn message<'a>(role: &'static str, content: &'a Content, fit: &Fit) -> Option<Message<'a>> {
    match content {
        Content::Plain(text) => Some(Message { role, content: Said::Plain(text) }),
        Content::Parts(_) => {
            let blocks = blocks_of(content, fit);
            (!blocks.is_empty()).then_some(Message { role, content: Said::Blocks(blocks) })
        }
    }
}

fn blocks_of(content: &Content, fit: &Fit) -> Vec<Written> {
    match content {
        Content::Plain(text) if text.is_empty() => Vec::new(),
        Content::Plain(text) => vec![Written::text(text)],
        Content::Parts(parts) => {
            parts.iter().filter_map(|part| parts::show(part, fit)).filter_map(|it| block(&it)).collect()
        }
    }
}

/// Empty text is refused, so it is no block.
fn block(shown: &Shown) -> Option<Written> {
    let media = |kind: &str, mime: &str, base64: &str| {
        Written::new(|o| {
            o.put("type", kind);
            o.object("source", |o| {
                o.put("type", "base64");
                o.put("media_type", mime);
                o.put("data", base64);
            });
        })
    };
    Some(match shown {
        Shown::Text(text) if text.is_empty() => return None,
        Shown::Text(text) => Written::text(text),
        Shown::Image { mime, base64, .. } => media("image", mime, base64),
        Shown::Document { mime, base64, .. } => media("document", mime, base64),
        Shown::Reference(name) => Written::new(|o| {
            o.put("type", "tool_reference");
            o.put("tool_name", name);
        }),
        Shown::Foreign(raw) => Written { json: raw.text().as_bytes().to_vec(), markable: true },
    })
}

fn answers<'a>(
    before: &'a [(Speaker, Content)],
    results: &'a [protocol::CallResult],
    after: &'a [Part],
    fit: &Fit,
) -> Vec<Message<'a>> {
    let mut follow = Vec::new();
    let mut blocks: Vec<Written> = results
        .iter()
        .map(|result| {
            Written::new(|o| {
                o.put("type", "tool_result");
                o.put("tool_use_id", &calls::id(result.call.as_str(), fit));
                match parts::result(&result.answer.content, fit, &mut follow) {
                    Ok(text) => o.put("content", text),
                    Err(kept) => o.list("content", |l| {
                        kept.iter().filter_map(block).for_each(|block| l.raw(&block.json));
                    }),
                }
                o.put_some("is_error", result.answer.error);
            })
        })
        .collect();
    let mut late = Vec::new();
    for (_, content) in before {
        match fit.caps.late_instructions {
            true => late.extend(message("system", content, fit)),
            false => blocks.extend(blocks_of(content, fit)),
        }
    }
    let said = results.iter().flat_map(|result| &result.answer.after).chain(after);
    follow.extend(said.filter_map(|part| parts::show(part, fit)));
    blocks.extend(follow.iter().filter_map(block));
    let mut messages = Vec::new();
    if !blocks.is_empty() {
        messages.push(Message { role: "user", content: Said::Blocks(blocks) });
    }
    messages.extend(late);
    messages
}

fn assistant(block: &Block, fit: &Fit) -> Option<Written> {
    if let Some(whole) = calls::own(block, field::BLOCK, fit) {
        let markable = !matches!(block.kind, BlockKind::Reasoning(_));
        return Some(Written { json: whole.value.text().as_bytes().to_vec(), markable });
    }
    match &block.kind {
        BlockKind::Text(text, _) if text.trim().is_empty() => None,
        BlockKind::Text(text, _) => Some(Written::text(text)),
        BlockKind::Reasoning(text) => {
            let signature = calls::own(block, field::SIGNATURE, fit)?;
            let written = Written::new(|o| {
                o.put("type", "thinking");
                o.put("thinking", text);
                o.raw("signature", signature.value.text());
            });
            Some(Written { markable: false, ..written })
        }
        BlockKind::Call(call) => Some(Written::new(|o| {
            o.put("type", "tool_use");
            o.put("id", &calls::id(call.id.as_str(), fit));
            o.put("name", &calls::called(call));
            o.raw("input", &calls::object_args(call));
        })),
        // Of another source.
        BlockKind::Server { .. } | BlockKind::Unknown => None,
    }
}
