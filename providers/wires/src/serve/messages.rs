//! A whole message, and Anthropic's error object.
use protocol::{Block, BlockKind, ErrorKind, ProviderError, Reply, WireId};

use super::Manner;
use crate::{
    calls, json,
    messages::{self, field},
};

pub(super) fn whole(reply: &Reply, manner: &Manner) -> Vec<u8> {
    let mut out = Vec::new();
    json::object(&mut out, |o| {
        o.put("id", reply.id.as_str());
        o.put("type", "message");
        o.put("role", "assistant");
        o.put("model", manner.model);
        o.list("content", |l| reply.blocks.iter().for_each(|block| content(l, block)));
        o.put("stop_reason", &messages::stop_reason(&reply.stop, reply.calls().next().is_some()));
        o.raw("stop_sequence", "null");
        o.object("usage", |o| messages::tokens(o, reply.usage));
    });
    out
}

fn content(l: &mut json::List, block: &Block) {
    let own = |name: &str| block.opaque.iter().find(|it| it.field == name && it.scope.wire == WireId::Messages);
    if let Some(whole) = own(field::BLOCK) {
        return l.raw(whole.value.text());
    }
    match &block.kind {
        BlockKind::Text(text, _) => l.object(|o| {
            o.put("type", "text");
            o.put("text", text);
        }),
        BlockKind::Reasoning(text) => l.object(|o| {
            o.put("type", "thinking");
            o.put("thinking", text);
            o.raw("signature", own(field::SIGNATURE).map_or("\"\"", |signature| signature.value.text()));
        }),
        BlockKind::Call(call) => l.object(|o| {
            o.put("type", "tool_use");
            o.put("id", call.id.as_str());
            o.put("name", &calls::flat_name(call.namespace.as_deref(), &call.name));
            o.raw("input", &calls::object_args(call));
        }),
        BlockKind::Server { .. } | BlockKind::Unknown => {}
    }
}

pub(super) fn error(error: &ProviderError) -> Vec<u8> {
    let mut out = Vec::new();
    json::object(&mut out, |o| {
        o.put("type", "error");
        o.object("error", |o| {
            o.put("type", messages::error_type(error.kind));
            o.put("message", &message(error));
        });
    });
    out
}

/// Clients of this wire know a full context by Anthropic's words only.
pub(crate) fn message(error: &ProviderError) -> String {
    const FULL: &str = "prompt is too long";
    match error.kind {
        ErrorKind::ContextLength if !error.message.contains(FULL) => format!("{FULL}: {}", error.message),
        _ => error.message.clone(),
    }
}
