//! A turn as a server of the Responses API writes it.
use serde_json::{Value, json};

use super::{Encoded, merged, new_id, pieces, usage};
use crate::case::{Call, Turn};

struct Writer<'a> {
    turn: &'a Turn,
    ids: &'a mut usize,
    items: Vec<Value>,
    events: Vec<(Option<&'static str>, String)>,
}

pub(super) fn encode(turn: &Turn, body: &Value, ids: &mut usize) -> Encoded {
    let base =
        json!({"id": new_id("resp", ids), "object": "response", "model": body["model"], "created_at": 1_700_000_000});
    let mut out = Writer { turn, ids, items: Vec::new(), events: Vec::new() };
    out.emit("response.created", json!({"response": merged(&base, json!({"status": "in_progress", "output": []}))}));
    if !turn.reasoning.is_empty() {
        out.reasoning();
    }
    if !turn.text.is_empty() {
        out.message();
    }
    for call in &turn.calls {
        out.call(call);
    }
    let [input, output] = usage(turn);
    let done = merged(
        &base,
        json!({"status": "completed", "output": out.items, "usage": {
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + output}}),
    );
    out.emit("response.completed", json!({"response": done}));
    Encoded { events: out.events, whole: done }
}

impl Writer<'_> {
    fn emit(&mut self, kind: &'static str, fields: Value) {
        let head = json!({"type": kind, "sequence_number": self.events.len()});
        self.events.push((Some(kind), merged(&head, fields).to_string()));
    }

    fn end(&mut self, item: Value) {
        self.emit("response.output_item.done", json!({"output_index": self.items.len(), "item": item}));
        self.items.push(item);
    }

    fn reasoning(&mut self) {
        let (id, at) = (new_id("rs", self.ids), self.items.len());
        let text = &self.turn.reasoning;
        let place = json!({"item_id": id, "output_index": at, "summary_index": 0});
        let opened = json!({"type": "reasoning", "id": id, "summary": []});
        self.emit("response.output_item.added", json!({"output_index": at, "item": opened}));
        let part = json!({"part": {"type": "summary_text", "text": ""}});
        self.emit("response.reasoning_summary_part.added", merged(&place, part));
        for piece in pieces(text, self.turn) {
            self.emit("response.reasoning_summary_text.delta", merged(&place, json!({"delta": piece})));
        }
        self.emit("response.reasoning_summary_text.done", merged(&place, json!({"text": text})));
        let summary = json!([{"type": "summary_text", "text": text}]);
        self.end(json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "c3R1Yg=="}));
    }

    fn message(&mut self) {
        let (id, at) = (new_id("msg", self.ids), self.items.len());
        let text = &self.turn.text;
        let place = json!({"item_id": id, "output_index": at, "content_index": 0});
        let item = |status: &str, content: Value| json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content});
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        self.emit("response.output_item.added", json!({"output_index": at, "item": item("in_progress", json!([]))}));
        self.emit("response.content_part.added", merged(&place, json!({"part": part("")})));
        for piece in pieces(text, self.turn) {
            self.emit("response.output_text.delta", merged(&place, json!({"delta": piece})));
        }
        self.emit("response.output_text.done", merged(&place, json!({"text": text})));
        self.end(item("completed", json!([part(text)])));
    }

    fn call(&mut self, call: &Call) {
        let (call_id, at) = (new_id("call", self.ids), self.items.len());
        let (kind, field, delta) = if call.custom {
            ("custom_tool_call", "input", "response.custom_tool_call_input.delta")
        } else {
            ("function_call", "arguments", "response.function_call_arguments.delta")
        };
        let id = new_id(if call.custom { "ctc" } else { "fc" }, self.ids);
        let text = if call.custom { call.raw.clone().unwrap_or_default() } else { call.arguments() };
        let item = |status: &str, text: &str| {
            let mut item = json!({"type": kind, "id": id, "call_id": call_id, "name": call.name, "status": status});
            item[field] = text.into();
            if let Some(namespace) = &call.namespace {
                item["namespace"] = namespace.as_str().into();
            }
            item
        };
        self.emit("response.output_item.added", json!({"output_index": at, "item": item("in_progress", "")}));
        let place = json!({"item_id": id, "output_index": at});
        for piece in pieces(&text, self.turn) {
            self.emit(delta, merged(&place, json!({"delta": piece})));
        }
        if !call.custom {
            self.emit("response.function_call_arguments.done", merged(&place, json!({"arguments": text})));
        }
        self.end(item("completed", &text));
    }
}
