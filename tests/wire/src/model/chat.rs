//! A turn as a server of the chat completions API writes it.
use serde_json::{Value, json};

use super::{Encoded, merged, new_id, pieces, usage};
use crate::case::Turn;

pub(super) fn encode(turn: &Turn, body: &Value, ids: &mut usize) -> Encoded {
    let base = json!({"id": new_id("chatcmpl", ids), "created": 1_700_000_000, "model": body["model"]});
    let calls: Vec<(String, &str, String)> =
        turn.calls.iter().map(|call| (new_id("call", ids), call.name.as_str(), call.arguments())).collect();
    let finish = turn.finish.clone().unwrap_or_else(|| if calls.is_empty() { "stop" } else { "tool_calls" }.to_owned());
    let [input, output] = usage(turn);
    let counts = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output});

    let mut events = Vec::new();
    let mut emit = |choices: Value, more: Value| {
        let event = merged(&base, json!({"object": "chat.completion.chunk", "choices": choices}));
        events.push((None, merged(&event, more).to_string()));
    };
    let choice = |delta: Value, reason: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    emit(choice(json!({"role": "assistant", "content": ""}), None), json!({}));
    for piece in pieces(&turn.reasoning, turn) {
        emit(choice(json!({"reasoning_content": piece}), None), json!({}));
    }
    for piece in pieces(&turn.text, turn) {
        emit(choice(json!({"content": piece}), None), json!({}));
    }
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let opened = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        emit(choice(json!({"tool_calls": [opened]}), None), json!({}));
        for piece in pieces(arguments, turn) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            emit(choice(json!({"tool_calls": [more]}), None), json!({}));
        }
    }
    emit(choice(json!({}), Some(&finish)), json!({}));
    if body["stream_options"]["include_usage"] == true {
        emit(json!([]), json!({"usage": counts}));
    }
    events.push((None, "[DONE]".to_owned()));

    let text = Some(&turn.text).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    if !turn.reasoning.is_empty() {
        message["reasoning_content"] = turn.reasoning.as_str().into();
    }
    if !calls.is_empty() {
        let function = |(id, name, arguments): &(String, &str, String)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        message["tool_calls"] = calls.iter().map(function).collect();
    }
    let choices = json!([{"index": 0, "message": message, "finish_reason": finish}]);
    let whole = merged(&base, json!({"object": "chat.completion", "usage": counts, "choices": choices}));
    Encoded { events, whole }
}
