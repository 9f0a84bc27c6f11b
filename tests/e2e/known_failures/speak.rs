//! The same reply as each wire's server streams it, event by event, so that a test can break it; and the same questions to
//! each wire's requests. Written by hand: it must not share a mistake with the decoders that it tests.
use demo::scripted::{End, Step};
use protocol::WireId;
use serde_json::{Value, json};

/// A reply: its blocks in order, and its tokens.
#[derive(Debug, Clone)]
pub(super) struct Say {
    blocks: Vec<Block>,
    input: u64,
    output: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Block {
    Think(String),
    Text(String),
    Call { id: String, name: String, args: String },
}

/// One event of a stream. Chat's have no name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

pub(super) fn say(blocks: Vec<Block>) -> Say {
    Say { blocks, input: 100, output: 10 }
}
pub(super) fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}
pub(super) fn think(text: &str) -> Block {
    Block::Think(text.to_owned())
}
pub(super) fn call(id: &str, name: &str, args: &Value) -> Block {
    raw_call(id, name, &args.to_string())
}
pub(super) fn raw_call(id: &str, name: &str, args: &str) -> Block {
    Block::Call { id: id.to_owned(), name: name.to_owned(), args: args.to_owned() }
}

/// A command, as the harness's shell tool takes it.
pub(super) fn shell(harness: &str, id: &str, script: &str) -> Block {
    match harness {
        "native" => call(id, "exec_command", &json!({"cmd": script})),
        "claude-code-bare" => call(id, "Bash", &json!({"command": script})),
        "mini-swe-agent" => call(id, "bash", &json!({"command": script})),
        other => panic!("no shell tool known of {other}"),
    }
}
/// `exec_command` of the native harness.
pub(super) fn run(id: &str, script: &str) -> Block {
    shell("native", id, script)
}

/// What ends a turn: plain words, or with mini-swe-agent the command that hands the work in.
pub(super) fn over(harness: &str) -> Say {
    match harness {
        "mini-swe-agent" => say(vec![shell(harness, "last", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo done")]),
        _ => say(vec![text("done")]),
    }
}

impl Say {
    pub(super) fn using(self, input: u64, output: u64) -> Say {
        Say { input, output, ..self }
    }
    pub(super) fn step(&self, wire: WireId) -> Step {
        Step::stream(vec![lines(&self.events(wire)).into_bytes()], End::Clean)
    }
    /// All events of the stream, its end included.
    pub(super) fn events(&self, wire: WireId) -> Vec<Event> {
        match wire {
            WireId::Responses => self.responses(),
            WireId::Chat => self.chat(),
            WireId::Messages => self.messages(),
        }
    }

    fn responses(&self) -> Vec<Event> {
        let head =
            |status: &str| json!({"id": "resp_1", "object": "response", "status": status, "model": "stub-model"});
        let mut events = vec![named(json!({"type": "response.created", "response": head("in_progress")}))];
        for (at, block) in self.blocks.iter().enumerate() {
            let id = format!("item_{at}");
            let (open, closed, kind, text) = match block {
                Block::Think(text) => (
                    json!({"type": "reasoning", "id": id, "summary": []}),
                    json!({"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "c2VjcmV0"}),
                    "response.reasoning_summary_text.delta",
                    text,
                ),
                Block::Text(text) => (
                    json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []}),
                    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
                    "response.output_text.delta",
                    text,
                ),
                Block::Call { id: call, name, args } => (
                    json!({"type": "function_call", "id": id, "call_id": call, "name": name, "arguments": ""}),
                    json!({"type": "function_call", "id": id, "call_id": call, "name": name, "arguments": args, "status": "completed"}),
                    "response.function_call_arguments.delta",
                    args,
                ),
            };
            events.push(named(json!({"type": "response.output_item.added", "output_index": at, "item": open})));
            for piece in pieces(text) {
                events.push(named(json!({"type": kind, "item_id": id, "output_index": at, "content_index": 0, "summary_index": 0, "delta": piece})));
            }
            events.push(named(json!({"type": "response.output_item.done", "output_index": at, "item": closed})));
        }
        let mut response = head("completed");
        response["usage"] = json!({"input_tokens": self.input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.output, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": self.input + self.output});
        events.push(named(json!({"type": "response.completed", "response": response})));
        events
    }

    fn chat(&self) -> Vec<Event> {
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}))];
        let mut index = 0;
        for block in &self.blocks {
            match block {
                Block::Think(text) => {
                    events.extend(pieces(text).iter().map(|piece| chunk(json!({"reasoning_content": piece}))));
                }
                Block::Text(text) => events.extend(pieces(text).iter().map(|piece| chunk(json!({"content": piece})))),
                Block::Call { id, name, args } => {
                    events.push(chunk(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]})));
                    for piece in pieces(args) {
                        events.push(chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})));
                    }
                    index += 1;
                }
            }
        }
        events.push(finish(if index > 0 { json!("tool_calls") } else { json!("stop") }));
        let mut usage = chat_head();
        usage["choices"] = json!([]);
        usage["usage"] = json!({"prompt_tokens": self.input, "completion_tokens": self.output, "total_tokens": self.input + self.output});
        events.push(bare(usage));
        events.push(Event { name: String::new(), data: "[DONE]".to_owned() });
        events
    }

    fn messages(&self) -> Vec<Event> {
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "stub-model", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": self.input, "output_tokens": 1}});
        let mut events = vec![named(json!({"type": "message_start", "message": message}))];
        let mut stop = "end_turn";
        for (at, block) in self.blocks.iter().enumerate() {
            let (open, delta, field, text) = match block {
                Block::Think(text) => {
                    (json!({"type": "thinking", "thinking": "", "signature": ""}), "thinking_delta", "thinking", text)
                }
                Block::Text(text) => (json!({"type": "text", "text": ""}), "text_delta", "text", text),
                Block::Call { id, name, args } => {
                    stop = "tool_use";
                    (
                        json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                        "input_json_delta",
                        "partial_json",
                        args,
                    )
                }
            };
            events.push(named(json!({"type": "content_block_start", "index": at, "content_block": open})));
            for piece in pieces(text) {
                events.push(named(
                    json!({"type": "content_block_delta", "index": at, "delta": {"type": delta, field: piece}}),
                ));
            }
            if matches!(block, Block::Think(_)) {
                events.push(named(json!({"type": "content_block_delta", "index": at, "delta": {"type": "signature_delta", "signature": "c2ln"}})));
            }
            events.push(named(json!({"type": "content_block_stop", "index": at})));
        }
        events.push(named(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": self.output}})));
        events.push(named(json!({"type": "message_stop"})));
        events
    }
}

/// Texts come in up to three pieces.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(chars.len().div_ceil(3).max(1)).map(|piece| piece.iter().collect()).collect()
}

fn bare(data: Value) -> Event {
    Event { name: String::new(), data: data.to_string() }
}
/// An event that bears its own type.
pub(super) fn named(data: Value) -> Event {
    Event { name: data["type"].as_str().unwrap_or_default().to_owned(), data: data.to_string() }
}
fn chat_head() -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "stub-model"})
}
/// A chunk of the chat wire with this delta.
pub(super) fn chunk(delta: Value) -> Event {
    let mut chunk = chat_head();
    chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
    bare(chunk)
}
/// The chat wire's chunk that ends a reply.
pub(super) fn finish(reason: Value) -> Event {
    let mut chunk = chat_head();
    chunk["choices"] = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    bare(chunk)
}
/// A chunk of the chat wire, given whole; `null` for `choices` leaves the key as it stands.
pub(super) fn odd_chunk(with: Value) -> Event {
    let mut chunk = chat_head();
    if let (Some(chunk), Value::Object(with)) = (chunk.as_object_mut(), with) {
        chunk.extend(with);
    }
    bare(chunk)
}

/// The events as most servers write them.
pub(super) fn lines(events: &[Event]) -> String {
    events.iter().map(|event| framed(event, "\n", ": ")).collect()
}
/// One event with this line end and this colon.
pub(super) fn framed(event: &Event, end: &str, colon: &str) -> String {
    let name = if event.name.is_empty() { String::new() } else { format!("event{colon}{}{end}", event.name) };
    format!("{name}data{colon}{}{end}{end}", event.data)
}
/// A stream of chat chunks and its `[DONE]`.
pub(super) fn chunks(mut events: Vec<Event>) -> Step {
    events.push(Event { name: String::new(), data: "[DONE]".to_owned() });
    Step::stream(vec![lines(&events).into_bytes()], End::Clean)
}

/// What a request sends back: calls as (id, name, arguments), in order.
pub(super) fn calls_in(wire: WireId, request: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match wire {
        WireId::Responses => list(&request["input"])
            .filter(|item| matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call")))
            .map(|item| (text(&item["call_id"]), text(&item["name"]), text(&item["arguments"])))
            .collect(),
        WireId::Chat => list(&request["messages"])
            .flat_map(|message| list(&message["tool_calls"]))
            .map(|call| (text(&call["id"]), text(&call["function"]["name"]), text(&call["function"]["arguments"])))
            .collect(),
        WireId::Messages => list(&request["messages"])
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "tool_use")
            .map(|block| (text(&block["id"]), text(&block["name"]), block["input"].to_string()))
            .collect(),
    }
}

/// Results of calls as (id, text), in order.
pub(super) fn results_in(wire: WireId, request: &Value) -> Vec<(String, String)> {
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match wire {
        WireId::Responses => list(&request["input"])
            .filter(|item| item["type"].as_str().is_some_and(|t| t.ends_with("call_output")))
            .map(|item| (id(&item["call_id"]), words(&item["output"])))
            .collect(),
        WireId::Chat => list(&request["messages"])
            .filter(|message| message["role"] == "tool")
            .map(|message| (id(&message["tool_call_id"]), words(&message["content"])))
            .collect(),
        WireId::Messages => list(&request["messages"])
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "tool_result")
            .map(|block| (id(&block["tool_use_id"]), words(&block["content"])))
            .collect(),
    }
}

/// The text of the one result of a request.
#[track_caller]
pub(super) fn result_in(wire: WireId, request: &Value) -> String {
    let mut results = results_in(wire, request);
    assert_eq!(results.len(), 1, "{request:#}");
    results.remove(0).1
}

/// Messages as (role, text), reasoning and calls left out.
pub(super) fn messages_in(wire: WireId, request: &Value) -> Vec<(String, String)> {
    let key = if wire == WireId::Responses { "input" } else { "messages" };
    list(&request[key])
        .filter(|message| message["role"].is_string())
        .map(|message| (message["role"].as_str().unwrap_or_default().to_owned(), words(&message["content"])))
        .collect()
}

/// A string, or the texts of a list of parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// What a strict server refuses: a call without an answer before the next message, an answer without its call or a second
/// one, an assistant message without content.
pub(super) fn unpaired(wire: WireId, request: &Value) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut call = |open: &mut Vec<String>, id: &Value| {
        let id = id.as_str().unwrap_or_default().to_owned();
        open.push(id.clone());
        let twice = id.is_empty() || seen.contains(&id);
        seen.push(id.clone());
        twice.then(|| format!("call id {id:?} is empty or stands twice"))
    };
    let answer = |open: &mut Vec<String>, id: &Value| match open.iter().position(|o| Some(o.as_str()) == id.as_str()) {
        Some(at) => {
            open.remove(at);
            None
        }
        None => Some(format!("an answer to {id} which is not open")),
    };
    let key = if wire == WireId::Responses { "input" } else { "messages" };
    for item in list(&request[key]) {
        let mut faults: Vec<Option<String>> = Vec::new();
        let kind = item["type"].as_str().unwrap_or_default();
        match (wire, kind, item["role"].as_str().unwrap_or_default()) {
            (WireId::Responses, "function_call" | "custom_tool_call", _) => {
                faults.push(call(&mut open, &item["call_id"]))
            }
            (WireId::Responses, _, _) if kind.ends_with("call_output") => {
                faults.push(answer(&mut open, &item["call_id"]))
            }
            (WireId::Chat, _, "tool") => faults.push(answer(&mut open, &item["tool_call_id"])),
            (WireId::Messages, _, "user") => {
                for block in list(&item["content"]).filter(|block| block["type"] == "tool_result") {
                    faults.push(answer(&mut open, &block["tool_use_id"]));
                }
                faults.push((!open.is_empty()).then(|| format!("{open:?} without an answer")));
            }
            (_, _, "assistant") => {
                faults.push((!open.is_empty()).then(|| format!("{open:?} without an answer")));
                let tool_calls = list(&item["tool_calls"]).map(|c| &c["id"]);
                let blocks =
                    list(&item["content"]).filter(|block| block["type"] == "tool_use").map(|block| &block["id"]);
                let ids: Vec<&Value> = tool_calls.chain(blocks).collect();
                let empty = ids.is_empty() && words(&item["content"]).trim().is_empty();
                faults.push(empty.then(|| "an empty assistant message".to_owned()));
                faults.extend(ids.into_iter().map(|id| call(&mut open, id)));
            }
            (_, _, "user" | "system" | "developer") => {
                faults.push((!open.is_empty()).then(|| format!("{open:?} without an answer")));
            }
            _ => {}
        }
        if let Some(fault) = faults.into_iter().flatten().next() {
            return Some(format!("{fault}: {item}"));
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} without an answer at the end"))
}
