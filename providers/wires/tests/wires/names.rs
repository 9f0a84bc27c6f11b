//! Calls by names that no server takes back, and calls without a name.
use pretty_assertions::assert_eq;
use protocol::{Block, BlockKind, Call, CallForm, Entry, Opaque, Raw, Stop, WireId};
use serde_json::{Value, json};

use crate::{a_call, block, call, fit, read, rich};

/// `[name, namespace]` of the call as it goes back.
fn echoed(wire: WireId, block: Block) -> Value {
    let item: Value = serde_json::from_slice(&wires::wire(wire).freeze(&Entry::Assistant(vec![block]), &rich(wire)))
        .expect("one entry");
    match wire {
        WireId::Responses => json!([item["name"], item["namespace"]]),
        WireId::Chat => json!([item["tool_calls"][0]["function"]["name"], null]),
        WireId::Messages => json!([item["content"][0]["name"], null]),
    }
}

#[test]
fn names_that_no_server_takes_go_back_mended() {
    for wire in WireId::ALL {
        for (name, expected) in [
            ("exec_command", "exec_command"),
            ("", "unknown_tool"),
            ("functions.exec_command", "functions_exec_command"),
            ("Read File!", "Read_File_"),
            (&"x".repeat(5_000), &"x".repeat(64)),
        ] {
            let mut call = call("c1", name, "{}");
            assert_eq!(echoed(wire, block(BlockKind::Call(call.clone()))), json!([expected, null]), "{wire:?}");
            call.form = CallForm::Custom;
            assert_eq!(echoed(wire, block(BlockKind::Call(call.clone()))), json!([expected, null]), "{wire:?}");
            // The server's own item, which else goes back as it came.
            let item = json!({"type": "custom_tool_call", "call_id": "c1", "name": name, "input": "{}"});
            let value = Raw::of(&item);
            let own = Opaque { scope: rich(wire).source, field: "item".into(), value };
            let block = Block { kind: BlockKind::Call(call), opaque: vec![own] };
            assert_eq!(echoed(wire, block), json!([expected, null]), "{wire:?}");
        }
    }
    let namespaced = |namespace: &str| Call { namespace: Some(namespace.into()), ..call("c1", "a.b", "{}") };
    let echo = |wire, namespace: &str| echoed(wire, block(BlockKind::Call(namespaced(namespace))));
    assert_eq!(echo(WireId::Responses, "mcp x"), json!(["a_b", "mcp_x"]));
    assert_eq!(echo(WireId::Responses, ""), json!(["a_b", null]));
    assert_eq!(echo(WireId::Chat, "mcp x"), json!(["mcp_x__a_b", null]));
}

#[test]
fn a_chat_call_without_a_name_stays_a_call() {
    let stream = |calls: Value, reason: &str| {
        let first = json!({"id": "c", "choices": [{"delta": {"tool_calls": calls}}]});
        let last = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
        format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n")
    };
    let check = |calls: Value, reason: &str, expected: &[BlockKind], stop: Stop| {
        let (reply, error) = read(&fit(WireId::Chat), &stream(calls, reason));
        assert_eq!((crate::kinds(&reply), reply.stop, error), (expected.to_vec(), stop, None));
    };
    let nameless = json!([{"index": 0, "id": "a", "function": {"name": "", "arguments": "{\"x\":1}"}}]);
    check(nameless, "tool_calls", &[a_call("a", "", "{\"x\":1}")], Stop::Calls);
    let no_id = json!([{"index": 0, "function": {"name": "", "arguments": "{\"x\":1}"}}]);
    check(no_id, "stop", &[a_call("call_own_0", "", "{\"x\":1}")], Stop::Calls);
    let empty = json!([{"index": 0, "function": {"name": "", "arguments": ""}}]);
    check(empty.clone(), "tool_calls", &[a_call("call_own_0", "", "{}")], Stop::Calls);
    // Some servers send a place with nothing in it beside their text.
    check(empty, "stop", &[], Stop::End);
}

/// The bound itself, once; the rest of its tests have a smaller one.
#[test]
fn a_line_ends_at_64_mib() {
    let mut decoder = wires::wire(WireId::Chat).decoder(&fit(WireId::Chat));
    let (piece, mut out) = (vec![b'x'; 1 << 20], Vec::new());
    decoder.push(b"data: ", &mut out);
    let taken = (0..100).take_while(|_| {
        decoder.push(&piece, &mut out);
        out.is_empty()
    });
    assert_eq!(taken.count(), 63);
}
