//! What the scripted model says, as a Responses server writes it. Written out here and not by the encoder of `wires`, so
//! that a mistake of ours cannot hide on both ends.
//!
//! Placeholders are filled in when the reply is served: `<<n>>` number of the request, `<<work>>` the workspace,
//! `<<session>>` the number of the command session that the last result named.
use demo::scripted::{End, Step};
use serde_json::{Value, json};

/// One reply: items in order, usage, and how the response ends.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    items: Vec<Value>,
    usage: Tokens,
    end: Close,
}

#[derive(Debug, Clone, Copy)]
struct Tokens {
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
}

#[derive(Debug, Clone)]
enum Close {
    Completed,
    /// Ends with this event instead.
    Event(Value),
    /// No event ends it.
    Open,
}

/// A reply without any item.
pub(crate) fn nothing() -> Reply {
    let usage = Tokens { input: 100, cached: 0, output: 10, reasoning: 0 };
    Reply { items: Vec::new(), usage, end: Close::Completed }
}
pub(crate) fn say(text: &str) -> Reply {
    nothing().say(text)
}
pub(crate) fn call(name: &str, args: Value) -> Reply {
    nothing().call(name, args)
}
/// `exec_command` with nothing but the command.
pub(crate) fn run(cmd: &str) -> Reply {
    call("exec_command", json!({"cmd": cmd}))
}
/// A patch as every model may send it: a heredoc in the shell tool.
pub(crate) fn patch(text: &str) -> Reply {
    run(&heredoc(text))
}
pub(crate) fn heredoc(text: &str) -> String {
    format!("apply_patch <<'EOF'\n{text}\nEOF")
}

impl Reply {
    pub(crate) fn say(self, text: &str) -> Reply {
        self.item(json!({"type": "message", "id": "<<id>>", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}))
    }
    pub(crate) fn think(self, summary: &str) -> Reply {
        self.item(json!({"type": "reasoning", "id": "<<id>>", "encrypted_content": "c2VjcmV0",
            "summary": [{"type": "summary_text", "text": summary}]}))
    }
    pub(crate) fn call(self, name: &str, args: Value) -> Reply {
        self.call_text(name, &args.to_string())
    }
    pub(crate) fn run(self, cmd: &str) -> Reply {
        self.call("exec_command", json!({"cmd": cmd}))
    }
    /// Arguments as they stand, right or wrong.
    pub(crate) fn call_text(self, name: &str, args: &str) -> Reply {
        self.item(json!({"type": "function_call", "id": "<<id>>", "call_id": "call_<<id>>", "name": name,
            "arguments": args, "status": "completed"}))
    }
    pub(crate) fn custom(self, name: &str, input: &str) -> Reply {
        self.item(json!({"type": "custom_tool_call", "id": "<<id>>", "call_id": "call_<<id>>", "name": name,
            "input": input, "status": "completed"}))
    }
    /// Any item; `<<id>>` in it becomes one of its own.
    pub(crate) fn item(mut self, item: Value) -> Reply {
        let id = format!("<<n>>_{}", self.items.len());
        let text = item.to_string().replace("<<id>>", &id);
        self.items.push(serde_json::from_str(&text).unwrap_or(item));
        self
    }
    pub(crate) fn tokens(mut self, input: u64, cached: u64, output: u64, reasoning: u64) -> Reply {
        self.usage = Tokens { input, cached, output, reasoning };
        self
    }
    pub(crate) fn incomplete(mut self, reason: &str) -> Reply {
        let response = json!({"id": "resp_<<n>>", "status": "incomplete", "incomplete_details": {"reason": reason}});
        self.end = Close::Event(json!({"type": "response.incomplete", "response": response}));
        self
    }
    pub(crate) fn failed(mut self, code: &str, message: &str) -> Reply {
        let response = json!({"id": "resp_<<n>>", "status": "failed", "error": {"code": code, "message": message}});
        self.end = Close::Event(json!({"type": "response.failed", "response": response}));
        self
    }
    /// The stream ends without an end event.
    pub(crate) fn open(mut self) -> Reply {
        self.end = Close::Open;
        self
    }

    fn events(&self) -> Vec<Value> {
        let mut events =
            vec![json!({"type": "response.created", "response": {"id": "resp_<<n>>", "status": "in_progress"}})];
        for (at, item) in self.items.iter().enumerate() {
            let mut opened = item.clone();
            for (field, empty) in
                [("content", json!([])), ("arguments", json!("")), ("input", json!("")), ("summary", json!([]))]
            {
                if let Some(value) = opened.get_mut(field) {
                    *value = empty;
                }
            }
            events.push(json!({"type": "response.output_item.added", "output_index": at, "item": opened}));
            if item["type"] == "message"
                && let Some(text) = item["content"][0]["text"].as_str()
            {
                let (id, part) = (&item["id"], json!({"type": "output_text", "text": "", "annotations": []}));
                let at = json!({"item_id": id, "output_index": at, "content_index": 0});
                let of = |kind: &str, more: Value| merged(&[json!({"type": kind}), at.clone(), more]);
                events.push(of("response.content_part.added", json!({"part": part})));
                events.push(of("response.output_text.delta", json!({"delta": text})));
                events.push(of("response.output_text.done", json!({"text": text})));
            }
            events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        }
        let Tokens { input, cached, output, reasoning } = self.usage;
        events.extend(match &self.end {
            Close::Completed => {
                Some(json!({"type": "response.completed", "response": {"id": "resp_<<n>>", "status": "completed",
                "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": output, "output_tokens_details": {"reasoning_tokens": reasoning},
                "total_tokens": input + output}}}))
            }
            Close::Event(event) => Some(event.clone()),
            Close::Open => None,
        });
        events
    }

    /// The stream, broken off before its last event.
    pub(crate) fn cut(self) -> Step {
        let mut pieces = self.pieces();
        pieces.pop();
        Step::stream(pieces, End::Cut)
    }
    /// The stream, silent before its last event.
    pub(crate) fn stall(self) -> Step {
        let mut pieces = self.pieces();
        pieces.pop();
        Step::stream(pieces, End::Stall)
    }
    fn pieces(&self) -> Vec<Vec<u8>> {
        let line = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
        self.events().into_iter().map(|event| line(event).into_bytes()).collect()
    }
}

impl From<Reply> for Step {
    fn from(reply: Reply) -> Step {
        Step::stream(reply.pieces(), End::Clean)
    }
}

fn merged(objects: &[Value]) -> Value {
    objects.iter().filter_map(Value::as_object).flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A refusal with a JSON error.
pub(crate) fn refuse(status: u16, error: Value) -> Step {
    Step::refuse(status, &json!({"error": error}))
}

/// A refusal with a text body.
pub(crate) fn refuse_text(status: u16, text: &str) -> Step {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    Step::Raw { status, headers, pieces: vec![text.as_bytes().to_vec()], end: End::Clean }
}
