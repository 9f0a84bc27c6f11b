//! Deltas to the event stream that Claude Code and the Anthropic SDKs read: one block at a time, so Deltas of other blocks
//! wait until the open one has ended.
use protocol::{BlockKind, Call, CallForm, Delta, ErrorKind, Opaque, Stop, Usage, WireId};

use super::field;
use crate::{
    Encoder, calls,
    json::{self, Object},
    serve::{self, Manner},
    stream,
};

pub(super) struct Encode {
    model: String,
    id: Option<String>,
    open: Option<Open>,
    waiting: Vec<Delta>,
    next: u64,
    called: bool,
    usage: Usage,
    over: bool,
}

struct Open {
    at: u32,
    kind: BlockKind,
    /// None until the block's start went out: what kind of thinking it is, its end tells.
    index: Option<u64>,
    /// Input of a free-form call, which must become an object.
    input: String,
}

impl Encode {
    pub(super) fn new(manner: &Manner) -> Encode {
        Encode {
            model: manner.model.to_owned(),
            id: None,
            open: None,
            waiting: Vec::new(),
            next: 0,
            called: false,
            usage: Usage::default(),
            over: false,
        }
    }

    fn begin(&mut self, id: &str, out: &mut Vec<u8>) {
        if self.id.is_some() {
            return;
        }
        self.id = Some(id.to_owned());
        let usage = self.usage;
        event(out, "message_start", |o| {
            o.object("message", |o| {
                o.put("id", id);
                o.put("type", "message");
                o.put("role", "assistant");
                o.put("model", &self.model);
                o.list("content", |_| {});
                o.raw("stop_reason", "null");
                o.raw("stop_sequence", "null");
                o.object("usage", |o| tokens(o, usage));
            });
        });
    }

    fn block(&mut self, delta: &Delta, out: &mut Vec<u8>) {
        let at = match delta {
            Delta::BlockStart { at, .. }
            | Delta::Text { at, .. }
            | Delta::Args { at, .. }
            | Delta::BlockEnd { at, .. } => *at,
            _ => return,
        };
        if self.open.as_ref().is_some_and(|open| open.at != at) {
            return self.waiting.push(delta.clone());
        }
        match delta {
            Delta::BlockStart { kind, .. } => self.start(at, kind, out),
            Delta::Text { text, .. } | Delta::Args { text, .. } => self.text(text, out),
            Delta::BlockEnd { opaque, .. } => {
                self.end(opaque, out);
                for delta in std::mem::take(&mut self.waiting) {
                    self.block(&delta, out);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, at: u32, kind: &BlockKind, out: &mut Vec<u8>) {
        if let Some(open) = &mut self.open {
            open.kind = kind.clone();
            return;
        }
        let mut open = Open { at, kind: kind.clone(), index: None, input: String::new() };
        if let BlockKind::Text(..) | BlockKind::Call(_) = kind {
            self.called |= matches!(kind, BlockKind::Call(_));
            self.open_block(&mut open, out);
        }
        self.open = Some(open);
    }

    fn open_block(&mut self, open: &mut Open, out: &mut Vec<u8>) -> u64 {
        if let Some(index) = open.index {
            return index;
        }
        let index = self.next;
        self.next += 1;
        open.index = Some(index);
        event(out, "content_block_start", |o| {
            o.put("index", &index);
            o.object("content_block", |o| match &open.kind {
                BlockKind::Call(call) => {
                    o.put("type", "tool_use");
                    o.put("id", call.id.as_str());
                    o.put("name", &calls::flat_name(call.namespace.as_deref(), &call.name));
                    o.object("input", |_| {});
                }
                BlockKind::Reasoning(_) => {
                    o.put("type", "thinking");
                    o.put("thinking", "");
                    o.put("signature", "");
                }
                _ => {
                    o.put("type", "text");
                    o.put("text", "");
                }
            });
        });
        index
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        match &open.kind {
            BlockKind::Text(..) => {
                let index = self.open_block(&mut open, out);
                piece(out, index, "text_delta", "text", text);
            }
            BlockKind::Reasoning(_) => {
                let index = self.open_block(&mut open, out);
                piece(out, index, "thinking_delta", "thinking", text);
            }
            BlockKind::Call(call) if call.form == CallForm::Custom => open.input.push_str(text),
            BlockKind::Call(_) => {
                let index = self.open_block(&mut open, out);
                piece(out, index, "input_json_delta", "partial_json", text);
            }
            BlockKind::Server { .. } | BlockKind::Unknown => {}
        }
        self.open = Some(open);
    }

    fn end(&mut self, opaque: &[Opaque], out: &mut Vec<u8>) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let own = |name: &str| opaque.iter().find(|it| it.field == name && it.scope.wire == WireId::Messages);
        if let (None, Some(whole)) = (open.index, own(field::BLOCK)) {
            let index = self.next;
            self.next += 1;
            event(out, "content_block_start", |o| {
                o.put("index", &index);
                o.raw("content_block", whole.value.text());
            });
            return stop_block(out, index);
        }
        let index = match &open.kind {
            // Of another wire, and without a form here.
            BlockKind::Server { .. } | BlockKind::Unknown => return,
            BlockKind::Call(call) if call.form == CallForm::Custom => {
                let call = Call { args: std::mem::take(&mut open.input), ..call.clone() };
                let index = self.open_block(&mut open, out);
                piece(out, index, "input_json_delta", "partial_json", &calls::object_args(&call));
                index
            }
            BlockKind::Reasoning(_) => {
                let index = self.open_block(&mut open, out);
                let signature: Option<String> = own(field::SIGNATURE).and_then(|it| it.value.read().ok());
                if let Some(signature) = signature.filter(|signature| !signature.is_empty()) {
                    piece(out, index, "signature_delta", "signature", &signature);
                }
                index
            }
            _ => self.open_block(&mut open, out),
        };
        stop_block(out, index);
    }

    fn close(&mut self, stop: &Stop, out: &mut Vec<u8>) {
        let Some(reason) = stop_reason(stop, self.called) else { return };
        let usage = self.usage;
        event(out, "message_delta", |o| {
            o.object("delta", |o| {
                o.put("stop_reason", reason);
                o.raw("stop_sequence", "null");
            });
            o.object("usage", |o| tokens(o, usage));
        });
        event(out, "message_stop", |_| {});
    }
}

impl Encoder for Encode {
    fn push(&mut self, delta: &Delta, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match delta {
            Delta::Begin { id } => return self.begin(id, out),
            Delta::Usage(usage) => return self.usage = *usage,
            Delta::Warning(_) => return,
            _ => self.begin("msg_0", out),
        }
        match delta {
            Delta::Stop(stop) => {
                self.over = true;
                self.close(stop, out);
            }
            Delta::Error(error) => {
                self.over = true;
                event(out, "error", |o| {
                    o.object("error", |o| {
                        o.put("type", error_type(error.kind));
                        o.put("message", &serve::error_message(error));
                    });
                });
            }
            block => self.block(block, out),
        }
    }
}

fn event(out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut Object)) {
    stream::event(out, kind, |o| {
        o.put("type", kind);
        fill(o);
    });
}

fn piece(out: &mut Vec<u8>, index: u64, kind: &str, name: &str, text: &str) {
    event(out, "content_block_delta", |o| {
        o.put("index", &index);
        o.object("delta", |o: &mut json::Object| {
            o.put("type", kind);
            o.put(name, text);
        });
    });
}

fn stop_block(out: &mut Vec<u8>, index: u64) {
    event(out, "content_block_stop", |o| o.put("index", &index));
}

/// None for a cut: to a client it is one.
pub(crate) fn stop_reason(stop: &Stop, called: bool) -> Option<&str> {
    Some(match stop {
        Stop::End | Stop::Calls if called => "tool_use",
        Stop::End | Stop::Calls => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Filter => "refusal",
        Stop::Other(reason) => reason,
        Stop::Cut => return None,
    })
}

pub(crate) fn tokens(o: &mut Object, usage: Usage) {
    o.put("input_tokens", &usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write));
    o.put("cache_creation_input_tokens", &usage.cache_write);
    o.put("cache_read_input_tokens", &usage.cached);
    o.put("output_tokens", &usage.output);
}

/// Error types of this wire.
pub(crate) fn error_type(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => "authentication_error",
        ErrorKind::NotFound => "not_found_error",
        ErrorKind::BadRequest | ErrorKind::ContextLength | ErrorKind::Filter => "invalid_request_error",
        ErrorKind::RateLimit | ErrorKind::Quota => "rate_limit_error",
        ErrorKind::Overloaded => "overloaded_error",
        _ => "api_error",
    }
}
