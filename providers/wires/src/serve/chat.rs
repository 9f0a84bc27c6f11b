//! A whole Chat completion, and OpenAI's error object.
use protocol::{Block, BlockKind, ProviderError, Reply, WireId};

use super::Manner;
use crate::{calls, chat, chat::field, json, stream};

pub(super) fn whole(reply: &Reply, manner: &Manner) -> Vec<u8> {
    let mut out = Vec::new();
    json::object(&mut out, |o| {
        o.put("id", reply.id.as_str());
        o.put("object", "chat.completion");
        o.put("created", &manner.created);
        o.put("model", manner.model);
        o.list("choices", |l| {
            l.object(|o| {
                o.put("index", &0);
                o.object("message", |o| message(o, &reply.blocks));
                o.raw("logprobs", "null");
                o.put("finish_reason", &chat::finish_reason(&reply.stop, reply.calls().next().is_some()));
            });
        });
        o.object("usage", |o| chat::usage(o, reply.usage));
    });
    out
}

fn message(o: &mut json::Object, blocks: &[Block]) {
    let (mut said, mut thought) = (String::new(), String::new());
    let mut details: Vec<serde_json::Value> = Vec::new();
    let mut extra = None;
    for block in blocks {
        let own = |name: &str| block.opaque.iter().find(|it| it.field == name && it.scope.wire == WireId::Chat);
        match &block.kind {
            BlockKind::Text(text, _) => {
                said.push_str(text);
                extra = own(field::EXTRA_CONTENT).map(|it| it.value.text()).or(extra);
            }
            BlockKind::Reasoning(text) => {
                thought.push_str(text);
                let list = own(field::REASONING_DETAILS).and_then(|it| it.value.read::<Vec<serde_json::Value>>().ok());
                details.extend(list.unwrap_or_default());
            }
            BlockKind::Call(_) | BlockKind::Server { .. } | BlockKind::Unknown => {}
        }
    }
    let calls: Vec<&Block> = blocks.iter().filter(|block| matches!(block.kind, BlockKind::Call(_))).collect();
    o.put("role", "assistant");
    o.put("content", &Some(&said).filter(|said| !said.is_empty() || calls.is_empty()));
    o.raw("refusal", "null");
    o.put_some(field::REASONING_CONTENT, Some(&thought).filter(|thought| !thought.is_empty()));
    o.put_some(field::REASONING_DETAILS, Some(&details).filter(|details| !details.is_empty()));
    if let Some(extra) = extra {
        o.raw(field::EXTRA_CONTENT, extra);
    }
    if calls.is_empty() {
        return;
    }
    o.list("tool_calls", |l| {
        for block in calls {
            let BlockKind::Call(call) = &block.kind else { continue };
            l.object(|o| {
                let (kind, args) = chat::names(call.form);
                o.put("id", call.id.as_str());
                o.put("type", kind);
                o.object(kind, |o| {
                    o.put("name", &calls::flat_name(call.namespace.as_deref(), &call.name));
                    o.put(args, &call.args);
                });
                let own = |it: &&protocol::Opaque| it.field == field::EXTRA_CONTENT && it.scope.wire == WireId::Chat;
                if let Some(extra) = block.opaque.iter().find(own) {
                    o.raw(field::EXTRA_CONTENT, extra.value.text());
                }
            });
        }
    });
}

pub(super) fn error(error: &ProviderError) -> Vec<u8> {
    let mut out = Vec::new();
    json::object(&mut out, |o| {
        o.object("error", |o| {
            o.put("message", &error.message);
            o.put("type", stream::kind(error));
            o.raw("param", "null");
            o.put("code", stream::code(error));
        });
    });
    out
}
