//! Calls and their answers in a request, whatever the wire: servers refuse a conversation in which they do not match.
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::Value;

/// Calls and answers of a request, as (id, is an answer), in order.
pub(crate) fn pairs(wire: WireId, request: &Value) -> Vec<(String, bool)> {
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    match wire {
        WireId::Responses => {
            for item in request["input"].as_array().expect("input") {
                match item["type"].as_str().unwrap_or_default() {
                    "function_call" | "custom_tool_call" => found.push((id(&item["call_id"]), false)),
                    "function_call_output" | "custom_tool_call_output" => found.push((id(&item["call_id"]), true)),
                    _ => {}
                }
            }
        }
        WireId::Chat => {
            for message in request["messages"].as_array().expect("messages") {
                found.extend(
                    message["tool_calls"].as_array().into_iter().flatten().map(|call| (id(&call["id"]), false)),
                );
                if message["role"] == "tool" {
                    found.push((id(&message["tool_call_id"]), true));
                }
            }
        }
        WireId::Messages => {
            for message in request["messages"].as_array().expect("messages") {
                for block in message["content"].as_array().into_iter().flatten() {
                    match block["type"].as_str().unwrap_or_default() {
                        "tool_use" => found.push((id(&block["id"]), false)),
                        "tool_result" => found.push((id(&block["tool_use_id"]), true)),
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// Every call is answered once, and nothing is answered that was not called.
#[track_caller]
pub(crate) fn assert_paired(wire: WireId, request: &Value) {
    let pairs = pairs(wire, request);
    let mut calls: Vec<&str> = pairs.iter().filter(|(_, answer)| !answer).map(|(id, _)| id.as_str()).collect();
    let mut answers: Vec<&str> = pairs.iter().filter(|(_, answer)| *answer).map(|(id, _)| id.as_str()).collect();
    calls.sort_unstable();
    answers.sort_unstable();
    assert_eq!(calls, answers, "{request}");
}
