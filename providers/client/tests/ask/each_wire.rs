//! The same over the real wires: whole replies, errors inside a stream (known-failures.md 15, 61), ends without an end
//! marker (17).
use pretty_assertions::assert_eq;
use protocol::*;
use providers::*;

use crate::{
    client, provider,
    server::{Server, stream},
};

/// Events of a whole reply: a text, then a call.
fn events(wire: WireId) -> String {
    let lines: &[&str] = match wire {
        WireId::Responses => &[
            r#"{"type":"response.created","response":{"id":"r1"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Let me look."}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f1","call_id":"call_1","name":"look","arguments":"{\"at\":1}"}}"#,
            r#"{"type":"response.completed","response":{"id":"r1","status":"completed","usage":{"input_tokens":10,"output_tokens":5}}}"#,
        ],
        WireId::Chat => &[
            r#"{"id":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"id":"r1","choices":[{"index":0,"delta":{"content":"Let me look."}}]}"#,
            r#"{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":""}}]}}]}"#,
            r#"{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":1}"}}]}}]}"#,
            r#"{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"id":"r1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}"#,
            "[DONE]",
        ],
        WireId::Messages => &[
            r#"{"type":"message_start","message":{"id":"r1","usage":{"input_tokens":10,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me look."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call_1","name":"look","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\":1}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    };
    lines.iter().map(|line| format!("data: {line}\n\n")).collect()
}

/// Requests, restarts, and what came of it.
async fn ask(wire: WireId, events: &str) -> (usize, usize, Result<Reply, AskError>) {
    let server = Server::start(vec![stream(events)]).await;
    let mut provider = provider(server.port, r#"{"request_max_retries": 0, "stream_max_retries": 2}"#);
    provider.wire = wire;
    let client = client(provider);
    let fit = client.provider().fit("m");
    let request = Request { wire: wires::wire(wire), fit: &fit, body: Vec::new(), headers: Vec::new() };
    let mut restarts = 0;
    let result = client.ask(&request, |signal| restarts += usize::from(signal == Signal::Restart)).await;
    (server.requests().len(), restarts, result)
}

#[tokio::test]
async fn whole_replies() {
    for wire in WireId::ALL {
        let (requests, restarts, result) = ask(wire, &events(wire)).await;
        let reply = result.expect("a reply");
        assert_eq!((requests, restarts, reply.id.as_str()), (1, 0, "r1"), "{wire:?}");
        let usage = Usage { input: 10, output: 5, ..Usage::default() };
        assert_eq!(
            (reply.text().as_str(), &reply.stop, reply.usage),
            ("Let me look.", &Stop::Calls, usage),
            "{wire:?}"
        );
        let call = Call {
            id: "call_1".into(),
            namespace: None,
            name: "look".into(),
            args: r#"{"at":1}"#.into(),
            form: CallForm::Function,
        };
        assert_eq!(reply.calls().collect::<Vec<_>>(), [&call], "{wire:?}");
    }
}

/// The beginning of a reply, then an error: the provider's words reach the user, and only what may pass is asked again.
#[tokio::test]
async fn errors_inside_a_stream() {
    let check = async |wire: WireId, event: &str, requests: usize, message: &str| {
        let (made, _, result) = ask(wire, event).await;
        assert_eq!((made, result.map(|_| ()).map_err(|e| e.message)), (requests, Err(message.to_owned())), "{event}");
    };
    use WireId::*;
    let failed = |code: &str| {
        format!(
            "event: response.failed\ndata: {{\"type\":\"response.failed\",\"response\":{{\"id\":\"r\",\"status\":\"failed\",\"error\":{{\"code\":\"{code}\",\"message\":\"used up XYZ\"}}}}}}\n\n"
        )
    };
    let quota = "Quota exceeded. Check your plan and billing details. (used up XYZ)";
    check(Responses, &failed("insufficient_quota"), 1, quota).await;
    check(Responses, &failed("server_error"), 3, "stream disconnected before completion: used up XYZ").await;
    check(Responses, &failed("rate_limit_exceeded"), 3, "rate limit exceeded: used up XYZ").await;
    let boom = "event: error\ndata: {\"type\":\"error\",\"message\":\"boom XYZ\"}\n\n";
    check(Responses, boom, 3, "stream disconnected before completion: boom XYZ").await;
    let limited = "data: {\"error\":{\"message\":\"too fast\",\"code\":429}}\n\n";
    check(Chat, limited, 3, "rate limit exceeded: too fast").await;
    let unpaid = "data: {\"error\":{\"message\":\"used up XYZ\",\"code\":\"insufficient_quota\"}}\n\n";
    check(Chat, unpaid, 1, quota).await;
    let busy = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    check(Messages, busy, 3, "stream disconnected before completion: Overloaded").await;
}

/// Every cut of a reply before its end is a failure, retried, with what had come void each time.
#[tokio::test]
async fn replies_without_their_end() {
    for wire in WireId::ALL {
        let whole = events(wire);
        let cut: String = whole.split_inclusive("\n\n").take(4).collect();
        let (requests, restarts, result) = ask(wire, &cut).await;
        let error = result.expect_err("a failure");
        assert_eq!((requests, restarts, error.kind()), (3, 2, ErrorKind::Stream), "{wire:?} {}", error.message);
        assert!(error.message.starts_with("stream disconnected before completion: "), "{}", error.message);
    }
}
