//! Deltas to the event stream that Codex and the OpenAI SDKs read.
use protocol::{BlockKind, CallForm, Delta, Opaque, Phase, Raw, Stop, Usage, WireId};

use super::{ENCRYPTED, ITEM};
use crate::{
    Encoder,
    json::{self, Object},
    serve::Manner,
    stream,
};

pub(super) struct Encode {
    model: String,
    created: u64,
    id: Option<String>,
    sequence: u64,
    open: Vec<Item>,
    /// What is finished, as JSON, in the order of the places.
    output: Vec<(u64, Vec<u8>)>,
    places: u64,
    usage: Usage,
    over: bool,
}

struct Item {
    at: u32,
    place: u64,
    id: String,
    kind: BlockKind,
    text: String,
}

impl Encode {
    pub(super) fn new(manner: &Manner) -> Encode {
        Encode {
            model: manner.model.to_owned(),
            created: manner.created,
            id: None,
            sequence: 0,
            open: Vec::new(),
            output: Vec::new(),
            places: 0,
            usage: Usage::default(),
            over: false,
        }
    }

    fn emit(&mut self, out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut Object)) {
        let sequence = self.sequence;
        self.sequence += 1;
        stream::event(out, kind, |o| {
            o.put("type", kind);
            o.put("sequence_number", &sequence);
            fill(o);
        });
    }

    fn begin(&mut self, id: &str, out: &mut Vec<u8>) {
        if self.id.is_some() {
            return;
        }
        self.id = Some(id.to_owned());
        let response = self.response("in_progress", |_| {});
        self.emit(out, "response.created", |o| o.raw("response", &response));
        self.emit(out, "response.in_progress", |o| o.raw("response", &response));
    }

    /// The response as it stands, as JSON text.
    fn response(&self, status: &str, fill: impl FnOnce(&mut Object)) -> String {
        let mut out = Vec::new();
        json::object(&mut out, |o| {
            o.put("id", self.id.as_deref().unwrap_or_default());
            o.put("object", "response");
            o.put("created_at", &self.created);
            o.put("status", status);
            o.put("model", &self.model);
            o.list("output", |l| self.output.iter().for_each(|(_, item)| l.raw(item)));
            o.put("parallel_tool_calls", &true);
            o.put("tool_choice", "auto");
            o.list("tools", |_| {});
            fill(o);
        });
        String::from_utf8(out).unwrap_or_else(|_| "null".to_owned())
    }

    fn start(&mut self, at: u32, kind: &BlockKind, out: &mut Vec<u8>) {
        if let Some(item) = self.open.iter_mut().find(|item| item.at == at) {
            item.kind = kind.clone();
            return;
        }
        let prefix = match kind {
            BlockKind::Text(..) => "msg",
            BlockKind::Reasoning(_) => "rs",
            BlockKind::Call(call) if call.form == CallForm::Custom => "ctc",
            BlockKind::Call(_) => "fc",
            BlockKind::Server { .. } | BlockKind::Unknown => "it",
        };
        let id = format!("{prefix}_{}_{at}", self.id.as_deref().unwrap_or_default());
        let item = Item { at, place: self.places, id, kind: kind.clone(), text: String::new() };
        self.places += 1;
        // What the server did by itself is known when it ends.
        if let Some(json) = item_json(&item, false, None) {
            self.emit(out, "response.output_item.added", |o| {
                o.put("output_index", &item.place);
                o.raw("item", &json);
            });
        }
        if let BlockKind::Text(..) = kind {
            self.part(out, "response.content_part.added", &item, "");
        }
        self.open.push(item);
    }

    fn part(&mut self, out: &mut Vec<u8>, kind: &str, item: &Item, text: &str) {
        self.emit(out, kind, |o| {
            o.put("item_id", &item.id);
            o.put("output_index", &item.place);
            if kind.starts_with("response.content_part") {
                o.put("content_index", &0);
                o.object("part", |o| output_text(o, text));
            } else {
                o.put("summary_index", &0);
                o.object("part", |o| summary_text(o, text));
            }
        });
    }

    fn text(&mut self, at: u32, text: &str, out: &mut Vec<u8>) {
        let Some(place) = self.open.iter().position(|item| item.at == at) else {
            return;
        };
        let mut item = self.open.swap_remove(place);
        let (kind, index) = match &item.kind {
            BlockKind::Text(..) => ("response.output_text.delta", Some("content_index")),
            BlockKind::Reasoning(_) => ("response.reasoning_summary_text.delta", Some("summary_index")),
            BlockKind::Call(call) if call.form == CallForm::Custom => ("response.custom_tool_call_input.delta", None),
            BlockKind::Call(_) => ("response.function_call_arguments.delta", None),
            BlockKind::Server { .. } | BlockKind::Unknown => return self.open.push(item),
        };
        if let (BlockKind::Reasoning(_), true) = (&item.kind, item.text.is_empty()) {
            self.part(out, "response.reasoning_summary_part.added", &item, "");
        }
        self.emit(out, kind, |o| {
            o.put("item_id", &item.id);
            o.put("output_index", &item.place);
            o.put_some(index.unwrap_or_default(), index.map(|_| 0));
            o.put("delta", text);
            if index == Some("content_index") {
                o.list("logprobs", |_| {});
            }
        });
        item.text.push_str(text);
        self.open.push(item);
    }

    fn end(&mut self, at: u32, opaque: &[Opaque], out: &mut Vec<u8>) {
        let Some(place) = self.open.iter().position(|item| item.at == at) else {
            return;
        };
        let item = self.open.swap_remove(place);
        let whole = opaque.iter().find(|opaque| opaque.field == ITEM && opaque.scope.wire == WireId::Responses);
        let (index, id, text) = (item.place, item.id.clone(), item.text.clone());
        let done = |encode: &mut Encode, out: &mut Vec<u8>, kind: &str, name: &str, index_name: &str| {
            encode.emit(out, kind, |o| {
                o.put("item_id", &id);
                o.put("output_index", &index);
                if !index_name.is_empty() {
                    o.put(index_name, &0);
                }
                o.put(name, &text);
                if index_name == "content_index" {
                    o.list("logprobs", |_| {});
                }
            });
        };
        match &item.kind {
            BlockKind::Text(..) => {
                done(self, out, "response.output_text.done", "text", "content_index");
                self.part(out, "response.content_part.done", &item, &item.text);
            }
            BlockKind::Reasoning(_) if item.text.is_empty() => {}
            BlockKind::Reasoning(_) => {
                done(self, out, "response.reasoning_summary_text.done", "text", "summary_index");
                self.part(out, "response.reasoning_summary_part.done", &item, &item.text);
            }
            BlockKind::Call(call) if call.form == CallForm::Custom => {
                done(self, out, "response.custom_tool_call_input.done", "input", "");
            }
            BlockKind::Call(_) => done(self, out, "response.function_call_arguments.done", "arguments", ""),
            BlockKind::Server { .. } | BlockKind::Unknown => {}
        }
        let encrypted = opaque.iter().find(|opaque| opaque.field == ENCRYPTED).map(|opaque| opaque.value.text());
        let json = match (whole, item_json(&item, true, encrypted)) {
            (Some(whole), _) => whole.value.text().to_owned(),
            (None, Some(json)) => json,
            // Of another wire, and without a form here.
            (None, None) => return,
        };
        if matches!(item.kind, BlockKind::Server { .. } | BlockKind::Unknown) {
            self.emit(out, "response.output_item.added", |o| {
                o.put("output_index", &item.place);
                o.raw("item", &json);
            });
        }
        self.emit(out, "response.output_item.done", |o| {
            o.put("output_index", &item.place);
            o.raw("item", &json);
        });
        self.output.push((item.place, json.into_bytes()));
        self.output.sort_by_key(|(place, _)| *place);
    }

    fn close(&mut self, stop: &Stop, out: &mut Vec<u8>) {
        if let Some((kind, response)) = self.closed(stop) {
            self.emit(out, kind, |o| o.raw("response", &response));
        }
    }

    /// The last event and the response in it; None for a cut: the stream just ends.
    fn closed(&self, stop: &Stop) -> Option<(&'static str, String)> {
        let reason = match stop {
            Stop::End | Stop::Calls => None,
            Stop::Length => Some("max_output_tokens"),
            Stop::Filter => Some("content_filter"),
            Stop::Other(reason) => Some(reason.as_str()),
            Stop::Cut => return None,
        };
        let (kind, status) = match reason {
            None => ("response.completed", "completed"),
            Some(_) => ("response.incomplete", "incomplete"),
        };
        let usage = self.usage;
        let response = self.response(status, |o| {
            match reason {
                Some(reason) => o.object("incomplete_details", |o| o.put("reason", reason)),
                None => o.raw("incomplete_details", "null"),
            }
            o.object("usage", |o| {
                o.put("input_tokens", &usage.input);
                o.object("input_tokens_details", |o| {
                    o.put("cached_tokens", &usage.cached);
                    o.put("cache_write_tokens", &usage.cache_write);
                });
                o.put("output_tokens", &usage.output);
                o.object("output_tokens_details", |o| o.put("reasoning_tokens", &usage.reasoning));
                o.put("total_tokens", &usage.total());
            });
        });
        Some((kind, response))
    }
}

/// The response that these deltas make, as JSON text.
pub(crate) fn whole(deltas: &[Delta], manner: &Manner) -> String {
    let (mut encode, mut events) = (Encode::new(manner), Vec::new());
    let mut stop = Stop::Cut;
    for delta in deltas {
        match delta {
            Delta::Stop(why) => stop = why.clone(),
            delta => encode.push(delta, &mut events),
        }
        events.clear();
    }
    encode.closed(&stop).map_or_else(|| encode.response("incomplete", |_| {}), |(_, response)| response)
}

impl Encoder for Encode {
    fn push(&mut self, delta: &Delta, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match delta {
            Delta::Begin { id } => return self.begin(id, out),
            Delta::Warning(_) => return,
            Delta::Usage(usage) => self.usage = *usage,
            _ => {}
        }
        self.begin("resp_0", out);
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
                let response = self.response("failed", |o| {
                    o.object("error", |o| {
                        o.put("code", stream::code(error));
                        o.put("message", &error.message);
                    });
                });
                self.emit(out, "response.failed", |o| o.raw("response", &response));
            }
            Delta::Begin { .. } | Delta::Usage(_) | Delta::Warning(_) => {}
        }
    }
}

fn output_text(o: &mut Object, text: &str) {
    o.put("type", "output_text");
    o.put("text", text);
    o.list("annotations", |_| {});
}

fn summary_text(o: &mut Object, text: &str) {
    o.put("type", "summary_text");
    o.put("text", text);
}

/// The item at its start or its end; None for what has no form of its own on this wire.
fn item_json(item: &Item, ended: bool, encrypted: Option<&str>) -> Option<String> {
    if let BlockKind::Server { show, .. } = &item.kind {
        return ended.then(|| own_form(show))?;
    }
    let mut out = Vec::new();
    let status = if ended { "completed" } else { "in_progress" };
    match &item.kind {
        BlockKind::Text(_, phase) => json::object(&mut out, |o| {
            o.put("type", "message");
            o.put("id", &item.id);
            o.put("role", "assistant");
            o.put("status", status);
            o.list("content", |l| {
                if ended {
                    l.object(|o| output_text(o, &item.text));
                }
            });
            if *phase == Phase::Commentary {
                o.put("phase", "commentary");
            }
        }),
        BlockKind::Reasoning(_) => json::object(&mut out, |o| {
            o.put("type", "reasoning");
            o.put("id", &item.id);
            o.list("summary", |l| {
                if ended && !item.text.is_empty() {
                    l.object(|o| summary_text(o, &item.text));
                }
            });
            if let Some(encrypted) = encrypted {
                o.raw(ENCRYPTED, encrypted);
            }
        }),
        BlockKind::Call(call) => json::object(&mut out, |o| {
            let custom = call.form == CallForm::Custom;
            o.put("type", if custom { "custom_tool_call" } else { "function_call" });
            o.put("id", &item.id);
            o.put("call_id", call.id.as_str());
            o.put_some("namespace", call.namespace.as_deref());
            o.put("name", &call.name);
            o.put(if custom { "input" } else { "arguments" }, &item.text);
            o.put("status", status);
        }),
        BlockKind::Server { .. } | BlockKind::Unknown => return None,
    }
    String::from_utf8(out).ok()
}

/// What a server did by itself is shown as it is, if it is an item of this wire.
fn own_form(show: &Raw) -> Option<String> {
    let kind = show.value().get("type")?.as_str()?.to_owned();
    kind.ends_with("_call").then(|| show.text().to_owned())
}
