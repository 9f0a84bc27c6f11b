//! Deltas to chunks.
use protocol::{BlockKind, CallForm, Delta, Opaque, Stop, Usage, WireId};

use super::field;
use crate::{
    Encoder,
    json::{List, Object},
    serve::Manner,
    stream,
};

pub(super) struct Encode {
    model: String,
    created: u64,
    /// Ends with a chunk of usage.
    tells_usage: bool,
    id: Option<String>,
    open: Vec<Open>,
    calls: u64,
    usage: Usage,
    over: bool,
}

struct Open {
    at: u32,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Text,
    Reasoning,
    /// Its index among the calls.
    Call(u64, CallForm),
}

impl Encode {
    pub(super) fn new(manner: &Manner) -> Encode {
        Encode {
            model: manner.model.to_owned(),
            created: manner.created,
            tells_usage: manner.usage,
            id: None,
            open: Vec::new(),
            calls: 0,
            usage: Usage::default(),
            over: false,
        }
    }

    fn chunk(&self, out: &mut Vec<u8>, choices: impl FnOnce(&mut List), fill: impl FnOnce(&mut Object)) {
        stream::event(out, "", |o| {
            o.put("id", self.id.as_deref().unwrap_or_default());
            o.put("object", "chat.completion.chunk");
            o.put("created", &self.created);
            o.put("model", &self.model);
            o.list("choices", choices);
            fill(o);
        });
    }

    fn delta(&self, out: &mut Vec<u8>, finish: Option<&str>, fill: impl FnOnce(&mut Object)) {
        let choice = |l: &mut List| {
            l.object(|o| {
                o.put("index", &0);
                o.object("delta", fill);
                o.put("finish_reason", &finish);
            });
        };
        self.chunk(out, choice, |_| {});
    }

    fn call(&self, out: &mut Vec<u8>, index: u64, fill: impl FnOnce(&mut Object)) {
        self.delta(out, None, |o| {
            o.list("tool_calls", |l| {
                l.object(|o| {
                    o.put("index", &index);
                    fill(o);
                });
            });
        });
    }

    fn begin(&mut self, id: &str, out: &mut Vec<u8>) {
        if self.id.is_none() {
            self.id = Some(id.to_owned());
            self.delta(out, None, |o| {
                o.put("role", "assistant");
                o.put("content", "");
            });
        }
    }

    fn start(&mut self, at: u32, kind: &BlockKind, out: &mut Vec<u8>) {
        let known = self.open.iter().find(|open| open.at == at).map(|open| open.what);
        let what = match (known, kind) {
            (Some(what @ What::Call(..)), BlockKind::Call(_)) => what,
            (Some(_), _) => return,
            (None, BlockKind::Text(..)) => What::Text,
            (None, BlockKind::Reasoning(_)) => What::Reasoning,
            (None, BlockKind::Call(call)) => {
                self.calls += 1;
                What::Call(self.calls - 1, call.form)
            }
            (None, BlockKind::Server { .. } | BlockKind::Unknown) => return,
        };
        if let (What::Call(index, form), BlockKind::Call(call)) = (what, kind) {
            let name = crate::calls::flat_name(call.namespace.as_deref(), &call.name);
            self.call(out, index, |o| {
                o.put("id", call.id.as_str());
                let (kind, args) = names(form);
                o.put("type", kind);
                o.object(kind, |o| {
                    o.put("name", &name);
                    o.put(args, "");
                });
            });
        }
        if known.is_none() {
            self.open.push(Open { at, what });
        }
    }

    fn text(&self, at: u32, text: &str, out: &mut Vec<u8>) {
        let Some(open) = self.open.iter().find(|open| open.at == at) else {
            return;
        };
        match open.what {
            What::Text => self.delta(out, None, |o| o.put("content", text)),
            What::Reasoning => self.delta(out, None, |o| o.put(field::REASONING_CONTENT, text)),
            What::Call(index, form) => self.call(out, index, |o| {
                let (kind, args) = names(form);
                o.object(kind, |o| o.put(args, text));
            }),
        }
    }

    fn end(&mut self, at: u32, opaque: &[Opaque], out: &mut Vec<u8>) {
        let Some(place) = self.open.iter().position(|open| open.at == at) else {
            return;
        };
        let open = self.open.remove(place);
        let payload = |name: &str| {
            let found = opaque.iter().find(|opaque| opaque.field == name && opaque.scope.wire == WireId::Chat);
            found.map(|opaque| opaque.value.text())
        };
        match open.what {
            What::Reasoning => {
                if let Some(list) = payload(field::REASONING_DETAILS) {
                    self.delta(out, None, |o| o.raw(field::REASONING_DETAILS, list));
                }
            }
            What::Text => {
                if let Some(extra) = payload(field::EXTRA_CONTENT) {
                    self.delta(out, None, |o| o.raw(field::EXTRA_CONTENT, extra));
                }
            }
            What::Call(index, _) => {
                if let Some(extra) = payload(field::EXTRA_CONTENT) {
                    self.call(out, index, |o| o.raw(field::EXTRA_CONTENT, extra));
                }
            }
        }
    }

    fn close(&mut self, stop: &Stop, out: &mut Vec<u8>) {
        let Some(reason) = finish_reason(stop, self.calls > 0) else { return };
        self.delta(out, Some(reason), |_| {});
        if self.tells_usage {
            self.chunk(out, |_| {}, |o| o.object("usage", |o| tokens(o, self.usage)));
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

/// None for a cut: to a client it is one.
pub(crate) fn finish_reason(stop: &Stop, called: bool) -> Option<&str> {
    Some(match stop {
        Stop::End | Stop::Calls if called => "tool_calls",
        Stop::End | Stop::Calls => "stop",
        Stop::Length => "length",
        Stop::Filter => "content_filter",
        Stop::Other(reason) => reason,
        Stop::Cut => return None,
    })
}

pub(crate) fn tokens(o: &mut Object, usage: Usage) {
    o.put("prompt_tokens", &usage.input);
    o.put("completion_tokens", &usage.output);
    o.put("total_tokens", &usage.total());
    o.object("prompt_tokens_details", |o| {
        o.put("cached_tokens", &usage.cached);
        o.put("cache_write_tokens", &usage.cache_write);
    });
    o.object("completion_tokens_details", |o| o.put("reasoning_tokens", &usage.reasoning));
}

pub(crate) fn names(form: CallForm) -> (&'static str, &'static str) {
    match form {
        CallForm::Custom => ("custom", "input"),
        CallForm::Function | CallForm::InText => ("function", "arguments"),
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
            _ => self.begin("chatcmpl-0", out),
        }
        match delta {
            Delta::BlockStart { at, kind } => self.start(*at, kind, out),
            Delta::Text { at, text } | Delta::Args { at, text } => self.text(*at, text, out),
            Delta::BlockEnd { at, opaque } => self.end(*at, opaque, out),
            Delta::Stop(stop) => {
                self.over = true;
                self.close(stop, out);
            }
            Delta::Error(error) => {
                self.over = true;
                stream::event(out, "", |o| {
                    o.object("error", |o| {
                        o.put("message", &error.message);
                        o.put("type", stream::kind(error));
                        o.put("code", stream::code(error));
                    });
                });
                out.extend_from_slice(b"data: [DONE]\n\n");
            }
            Delta::Begin { .. } | Delta::Usage(_) | Delta::Warning(_) => {}
        }
    }
}
