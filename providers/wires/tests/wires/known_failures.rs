//! Failures that users of such programs reported, by the numbers of our list of them: what a server sends, what must come
//! of it.
use pretty_assertions::assert_eq;
use protocol::{BlockKind, CallForm, ErrorKind, Fit, Opaque, OwnedPrompt, Quirks, Raw, Stop, Usage, WireId};
use serde_json::{Value, json};

use crate::{a_call, body, deltas, encode, fit, kinds, read, reasoning, text};

const WIRES: [WireId; 3] = WireId::ALL;

/// Chat chunks of these deltas, then `[DONE]`.
fn chat(deltas: &[Value]) -> String {
    let chunk = |delta: &Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let lines: Vec<String> = deltas.iter().map(|delta| format!("data: {}\n\n", chunk(delta))).collect();
    lines.concat()
}

fn finish(reason: &str) -> String {
    format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn piece(fields: Value) -> Value {
    json!({"tool_calls": [fields]})
}

#[track_caller]
fn check_chat(stream: &str, expected: &[BlockKind], stop: Stop) {
    let (reply, error) = read(&fit(WireId::Chat), stream);
    assert_eq!(error, None);
    assert_eq!((kinds(&reply), reply.stop), (expected.to_vec(), stop));
}

#[test]
fn case_01_two_calls_interleaved() {
    let stream = chat(&[
        piece(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}})),
        piece(json!({"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": ""}})),
        piece(json!({"index": 0, "function": {"arguments": "{\"x\":"}})),
        piece(json!({"index": 1, "function": {"arguments": "{\"y\":"}})),
        piece(json!({"index": 0, "function": {"arguments": "1}"}})),
        piece(json!({"index": 1, "function": {"arguments": "2}"}})),
    ]) + &finish("tool_calls");
    check_chat(&stream, &[a_call("a", "f", r#"{"x":1}"#), a_call("b", "g", r#"{"y":2}"#)], Stop::Calls);
}

#[test]
fn case_03_and_04_later_pieces_with_empty_or_null_id_and_name() {
    for nothing in [json!(""), Value::Null] {
        let later =
            |args: &str| piece(json!({"index": 0, "id": nothing, "function": {"name": nothing, "arguments": args}}));
        let stream = chat(&[
            piece(json!({"index": 0, "id": "call_1", "function": {"name": "f", "arguments": "{"}})),
            later("\"x\":"),
            later("1}"),
        ]) + &finish("tool_calls");
        check_chat(&stream, &[a_call("call_1", "f", r#"{"x":1}"#)], Stop::Calls);
    }
}

#[test]
fn case_06_never_an_id() {
    for index in [json!(0), Value::Null] {
        let stream = chat(&[
            piece(json!({"index": index, "function": {"name": "f", "arguments": ""}})),
            piece(json!({"index": index, "function": {"arguments": "{\"x\":"}})),
            piece(json!({"index": index, "function": {"arguments": "1}"}})),
        ]) + &finish("tool_calls");
        check_chat(&stream, &[a_call("call_own_0", "f", r#"{"x":1}"#)], Stop::Calls);
    }
}

#[test]
fn calls_without_index_are_told_apart() {
    let whole = |id: Value, name: &str, args: &str| json!({"id": id, "function": {"name": name, "arguments": args}});
    // By id; by name and whole arguments; several in one piece; the name repeated with each piece.
    let by_id = chat(&[json!({"tool_calls": [whole(json!("a"), "f", "{}"), whole(json!("b"), "f", "{}")]})]);
    check_chat(&(by_id + &finish("stop")), &[a_call("a", "f", "{}"), a_call("b", "f", "{}")], Stop::Calls);
    let by_args = chat(&[piece(whole(json!(""), "f", "{\"a\":\"}\"}")), piece(whole(Value::Null, "f", "{}"))]);
    let expected = [a_call("call_own_0", "f", "{\"a\":\"}\"}"), a_call("call_own_1", "f", "{}")];
    check_chat(&(by_args + &finish("stop")), &expected, Stop::Calls);
    let repeated = chat(&[
        piece(whole(json!(""), "f", "")),
        piece(whole(json!(""), "f", "{\"a\"")),
        piece(whole(json!(""), "f", ":1}")),
    ]);
    check_chat(&(repeated + &finish("stop")), &[a_call("call_own_0", "f", "{\"a\":1}")], Stop::Calls);
    // Every call has the index 0, and its own id.
    let zeros = chat(&[
        piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}})),
        piece(json!({"index": 0, "id": "b", "function": {"name": "g", "arguments": "{}"}})),
    ]);
    check_chat(&(zeros + &finish("stop")), &[a_call("a", "f", "{}"), a_call("b", "g", "{}")], Stop::Calls);
}

#[test]
fn case_07_empty_arguments_are_an_empty_object() {
    for args in [json!(""), json!(" "), json!("null"), Value::Null] {
        let stream = chat(&[piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": args}}))]);
        check_chat(&(stream + &finish("tool_calls")), &[a_call("a", "f", "{}")], Stop::Calls);
    }
    // Arguments as an object (Ollama).
    let object =
        chat(&[piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": {"b": 1, "a": "2"}}}))]);
    check_chat(&(object + &finish("stop")), &[a_call("a", "f", r#"{"b":1,"a":"2"}"#)], Stop::Calls);
    for args in ["", " ", "null"] {
        let item = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": args});
        let events = [
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": {"id": "r"}}),
        ];
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let at = fit(WireId::Responses);
        let (reply, _) = read(&at, &stream);
        assert_eq!(kinds(&reply), [a_call("a", "f", "{}")]);
        // The history holds valid JSON too, though the server's own item did not.
        let prompt = OwnedPrompt { said: vec![protocol::Entry::Assistant(reply.blocks)], ..Default::default() };
        assert!(body(&at, &prompt).contains(r#""arguments":"{}""#));
    }
}

#[test]
fn case_09_the_calls_decide_not_the_reason() {
    let calls = chat(&[piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}))]);
    for end in [finish("stop"), finish(""), "data: [DONE]\n\n".to_owned()] {
        check_chat(&(calls.clone() + &end), &[a_call("a", "f", "{}")], Stop::Calls);
    }
    let said = chat(&[json!({"content": "hi"})]);
    check_chat(&(said.clone() + "data: [DONE]\n\n"), &[text("hi")], Stop::End);
    // A reason, and the end of the connection instead of `[DONE]`.
    let cut = finish("stop").replace("data: [DONE]\n\n", "");
    check_chat(&(said + &cut), &[text("hi")], Stop::End);
}

#[test]
fn case_10_chunks_without_choices() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2}});
    let counted = Usage { input: 7, cached: 3, cache_write: 0, output: 5, reasoning: 2 };
    let head = "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n".to_owned();
    let middle = "data: {\"id\":\"c\"}\n\ndata: {\"choices\":null}\n\n";
    let stream = head
        + &chat(&[json!({"content": "a"})])
        + middle
        + &chat(&[json!({"content": "b"})])
        + &finish("stop")
            .replace("data: [DONE]", &format!("data: {}\n\ndata: [DONE]", json!({"choices": [], "usage": usage})));
    let (reply, error) = read(&fit(WireId::Chat), &stream);
    assert_eq!((kinds(&reply), reply.usage, error), (vec![text("ab")], counted, None));
    // In the choice (Moonshot), beside it, in `x_groq`.
    for chunk in [
        json!({"choices": [{"delta": {"content": "x"}, "usage": usage}]}),
        json!({"choices": [{"delta": {"content": "x"}}], "usage": usage}),
        json!({"choices": [{"delta": {"content": "x"}}], "x_groq": {"id": "r", "usage": usage}}),
    ] {
        let (reply, _) = read(&fit(WireId::Chat), &format!("data: {chunk}\n\n{}", finish("stop")));
        assert_eq!((kinds(&reply), reply.usage), (vec![text("x")], counted));
    }
}

/// One text on each wire, as a plain server streams it.
fn saying(wire: WireId, said: &str) -> String {
    let reply = protocol::Reply {
        id: "r".into(),
        from: fit(wire).source,
        blocks: vec![crate::block(text(said))],
        stop: Stop::End,
        usage: Usage { input: 1, output: 1, ..Default::default() },
    };
    encode(wire, &wires::deltas_of(&reply))
}

#[test]
fn case_12_a_character_cut_in_two() {
    for wire in WIRES {
        let (reply, error) = read(&fit(wire), &saying(wire, "渐 — 🙂"));
        assert_eq!((reply.text(), error), ("渐 — 🙂".to_owned(), None));
    }
}

#[test]
fn case_13_the_grammar_of_event_streams() {
    for wire in WIRES {
        let plain = saying(wire, "a\u{2028}b\u{85}c");
        let last = plain.trim_end().to_owned();
        for stream in [
            plain.replace('\n', "\r\n"),
            plain.replace('\n', "\r"),
            plain.replace("data: ", "data:"),
            plain.replace("\n\n", "\n\n: keep-alive\n\n"),
            plain.replace(",\"", "\ndata: ,\""),
            format!("\u{feff}{plain}"),
            format!("{last}\r"),
            last,
        ] {
            let (reply, error) = read(&fit(wire), &stream);
            assert_eq!((reply.text().as_str(), error, reply.stop), ("a\u{2028}b\u{85}c", None, Stop::End), "{stream}");
        }
    }
}

#[test]
fn case_15_and_61_errors_in_a_stream_keep_their_words() {
    use ErrorKind::*;
    let check = |wire, event: &str, data: Value, kind, said: &str| {
        let (_, error) = read(&fit(wire), &format!("event: {event}\ndata: {data}\n\n"));
        let error = error.expect("an error");
        assert_eq!((error.kind, error.message.as_str()), (kind, said));
    };
    let failed = |code: &str, message: &str| json!({"type": "response.failed", "response": {"error": {"code": code, "message": message}}});
    let responses = WireId::Responses;
    check(responses, "response.failed", failed("insufficient_quota", "quota used up XYZ"), Quota, "quota used up XYZ");
    check(
        responses,
        "response.failed",
        failed("rate_limit_exceeded", "try again in 1.5s"),
        RateLimit,
        "try again in 1.5s",
    );
    check(responses, "response.failed", failed("context_length_exceeded", "no"), ContextLength, "no");
    check(responses, "response.failed", failed("server_error", "boom"), Server, "boom");
    check(responses, "error", json!({"type": "error", "message": "boom XYZ", "code": null}), Server, "boom XYZ");
    check(
        responses,
        "error",
        json!({"type": "error", "error": {"message": "boom XYZ", "code": "x"}}),
        Server,
        "boom XYZ",
    );
    check(responses, "error", json!({"error": {"message": "boom"}}), Server, "boom");
    let chat = WireId::Chat;
    check(chat, "", json!({"error": {"message": "quota", "code": 429}}), RateLimit, "quota");
    check(
        chat,
        "",
        json!({"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream: no"}}}),
        Server,
        "Provider returned error: upstream: no",
    );
    check(
        chat,
        "",
        json!({"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 503, "message": "m"}}]}),
        Overloaded,
        "m",
    );
    check(chat, "", json!({"error": "out of memory"}), Server, "out of memory");
    check(
        chat,
        "",
        json!({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
        Quota,
        "insufficient balance",
    );
    check(
        chat,
        "error",
        json!({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
        BadRequest,
        "bad",
    );
    let messages = WireId::Messages;
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    check(messages, "error", overloaded, Overloaded, "Overloaded");
    let long =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 2 > 1"}});
    check(messages, "error", long, ContextLength, "prompt is too long: 2 > 1");
}

#[test]
fn a_200_that_is_no_stream() {
    for wire in WIRES {
        let (_, error) = read(&fit(wire), r#"{"error":{"message":"no money","code":"insufficient_quota"}}"#);
        let error = error.expect("an error");
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Quota, "no money"));
        let (_, error) = read(&fit(wire), "<html><title>Sign in</title>\n<body>x</body></html>");
        let error = error.expect("an error");
        let said = "the server answered with a page, not with an event stream: Sign in";
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Stream, said));
        let (_, error) = read(&fit(wire), r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#);
        assert_eq!(error.map(|error| (error.kind, error.message)), Some((ErrorKind::RateLimit, "m".to_owned())));
    }
    // The whole answer at once, by servers that do not stream.
    let chat = json!({"id": "c", "choices": [{"message": {"role": "assistant", "content": "hi", "tool_calls":
        [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "stop"}]});
    let responses = json!({"id": "r", "object": "response", "status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]});
    let messages = json!({"id": "m", "type": "message", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "hi"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}]});
    for (wire, whole) in [(WireId::Chat, chat), (WireId::Responses, responses), (WireId::Messages, messages)] {
        let (reply, error) = read(&fit(wire), &serde_json::to_string_pretty(&whole).expect("JSON"));
        assert_eq!((kinds(&reply), reply.stop, error), (vec![text("hi"), a_call("a", "f", "{}")], Stop::Calls, None));
    }
}

#[test]
fn case_17_a_stream_that_ends_early_names_what_is_missing() {
    let reply = protocol::Reply {
        id: "r".into(),
        from: fit(WireId::Chat).source,
        blocks: vec![crate::block(text("finished")), crate::block(a_call("a", "f", r#"{"x":1}"#))],
        stop: Stop::Calls,
        usage: Usage::default(),
    };
    let missing = |wire| match wire {
        WireId::Responses => "stream closed before response.completed",
        WireId::Chat => "stream closed before finish_reason or [DONE]",
        WireId::Messages => "stream closed before message_stop",
    };
    for wire in WIRES {
        let stream = encode(wire, &wires::deltas_of(&reply));
        let marks = ["response.completed", "\"finish_reason\":\"tool_calls\"", "message_delta"];
        let end = marks.iter().filter_map(|mark| stream.find(mark)).min().expect("an end");
        let end = stream[..end].rfind("\n\n").expect("an event") + 2;
        for cut in (0..=end).filter(|cut| stream.is_char_boundary(*cut)) {
            let all = deltas(&fit(wire), [&stream.as_bytes()[..cut]]);
            let (got, error) = crate::collect(&fit(wire), &all);
            assert_eq!(
                error.map(|error| (error.kind, error.message)),
                Some((ErrorKind::Stream, missing(wire).to_owned()))
            );
            assert_eq!(got.stop, Stop::Cut);
            for call in got.calls() {
                assert_eq!(call.args, r#"{"x":1}"#, "a call that is there is whole");
            }
            assert!("finished".starts_with(&got.text()));
        }
    }
}

#[test]
fn a_call_that_the_output_limit_cut_is_known_as_such() {
    let check = |arguments: &str, reason: &str, torn: bool| {
        let stream = chat(&[
            json!({"content": "so"}),
            piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}})),
        ]) + &finish(reason);
        let reply = read(&fit(WireId::Chat), &stream).0;
        assert_eq!(reply.torn().map(|call| call.id.as_str()), torn.then_some("a"), "{arguments} {reason}");
        assert_eq!(reply.calls().count(), 1);
    };
    check(r#"{"x": "abc"#, "length", true);
    check("", "length", true);
    check(r#"{"x": "abc"}"#, "length", false);
    check(r#"{"x": "abc"#, "tool_calls", false);
}

#[test]
fn case_18_reasoning_goes_back_in_its_field() {
    let at = fit(WireId::Chat);
    let call = piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}));
    for name in ["reasoning_content", "reasoning", "thinking"] {
        let stream = chat(&[json!({name: "be"}), json!({name: "cause"}), call.clone()]) + &finish("tool_calls");
        let (reply, _) = read(&at, &stream);
        assert_eq!(kinds(&reply), [reasoning("because"), a_call("a", "f", "{}")]);
        let echo = echoed(&at, &reply);
        assert_eq!(echo[name], json!("because"));
        // Another source gets none of it.
        let mut other = at.clone();
        other.source.model = "n".into();
        assert_eq!(echoed(&other, &reply).get(name), None);
        other.quirks.reasoning_required = Some("reasoning_content".into());
        assert_eq!(echoed(&other, &reply)["reasoning_content"], json!(" "));
        // A harness has its own words for reasoning that is not there, and never instead of some.
        let with_words = |at: &Fit| {
            let mut reply = reply.clone();
            reply.blocks.insert(0, protocol::Block::no_reasoning(at.source.clone(), "(none)"));
            echoed(at, &reply)
        };
        assert_eq!(with_words(&at), echo);
        assert_eq!(with_words(&other)["reasoning_content"], json!("(none)"));
        other.quirks.reasoning_required = None;
        assert_eq!(with_words(&other)["reasoning_content"], json!("(none)"));
    }
    let details = |text: &str| json!({"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]});
    let stream = chat(&[details("a"), details("b"), call]) + &finish("tool_calls");
    let (reply, _) = read(&at, &stream);
    assert_eq!(kinds(&reply), [reasoning("ab"), a_call("a", "f", "{}")]);
    let echo = echoed(&at, &reply);
    assert_eq!(echo["reasoning_details"], json!([{"type": "reasoning.text", "text": "ab", "index": 0}]));
}

fn echoed(at: &Fit, reply: &protocol::Reply) -> Value {
    let entry = protocol::Entry::Assistant(reply.blocks.clone());
    serde_json::from_slice(&wires::wire(at.source.wire).freeze(&entry, at)).expect("JSON")
}

#[test]
fn reasoning_in_tags_in_parts_and_signatures_of_calls_go_back() {
    let tagged = Fit { quirks: Quirks { think_tags: true, ..Default::default() }, ..fit(WireId::Chat) };
    let stream = chat(&[json!({"content": "<th"}), json!({"content": "ink>a</think>\n\nb"})]) + &finish("stop");
    let (reply, _) = read(&tagged, &stream);
    assert_eq!(kinds(&reply), [reasoning("a"), text("b")]);
    assert_eq!(echoed(&tagged, &reply), json!({"role": "assistant", "content": "<think>a</think>\n\nb"}));

    let at = fit(WireId::Chat);
    let parts =
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "b"}]);
    let (reply, _) = read(&at, &(chat(&[json!({"content": parts})]) + &finish("stop")));
    assert_eq!(kinds(&reply), [reasoning("a"), text("b")]);
    let mut expected = parts;
    expected[0]["closed"] = json!(true);
    assert_eq!(echoed(&at, &reply)["content"], expected);

    let signature = json!({"google": {"thought_signature": "s"}});
    let call = json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": signature});
    let (reply, _) = read(&at, &(chat(&[piece(call)]) + &finish("stop")));
    let scope = at.source.clone();
    assert_eq!(reply.blocks[0].opaque, [Opaque { scope, field: "extra_content".into(), value: Raw::of(&signature) }]);
    assert_eq!(echoed(&at, &reply)["tool_calls"][0]["extra_content"], signature);
}

#[test]
fn case_20_only_functions_for_servers_not_known_to_take_more() {
    let at = fit(WireId::Responses);
    let sent: Value = serde_json::from_str(&body(&at, &crate::requests::rich_prompt(&at.source))).expect("JSON");
    let kinds: Vec<&Value> = sent["tools"].as_array().expect("tools").iter().map(|tool| &tool["type"]).collect();
    assert_eq!(kinds, ["function"; 4]);
    assert!(!sent.to_string().contains("custom_tool_call"));
}

#[test]
fn case_21_one_system_message_and_first() {
    let at = fit(WireId::Chat);
    let sent: Value = serde_json::from_str(&body(&at, &crate::requests::rich_prompt(&at.source))).expect("JSON");
    let roles: Vec<&str> =
        sent["messages"].as_array().expect("messages").iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles.iter().filter(|role| **role == "system" || **role == "developer").count(), 1);
    assert_eq!(roles.first(), Some(&"system"));
}

#[test]
fn case_23_no_empty_assistant_message() {
    for wire in WIRES {
        let nothing = [text(""), reasoning("unsigned")].map(crate::block).to_vec();
        assert_eq!(wires::wire(wire).freeze(&protocol::Entry::Assistant(nothing), &fit(wire)), b"");
    }
}

#[test]
fn slips_in_one_event_do_not_end_a_reply() {
    let stream = chat(&[json!({"content": "a"})])
        // A key twice, half of a surrogate pair, something that is no JSON.
        + "data: {\"choices\":[{\"delta\":{\"content\":\"b\\ud83d\"}}],\"id\":\"x\",\"id\":\"y\"}\n\ndata: oops\n\n"
        + &finish("stop");
    check_chat(&stream, &[text("ab\u{fffd}")], Stop::End);
    let mut bytes = chat(&[json!({"content": "a#b"})]).into_bytes();
    bytes.iter_mut().filter(|byte| **byte == b'#').for_each(|byte| *byte = 0xFF);
    bytes.extend_from_slice(finish("stop").as_bytes());
    let all = deltas(&fit(WireId::Chat), [&bytes[..]]);
    assert_eq!(crate::collect(&fit(WireId::Chat), &all).0.text(), "a\u{fffd}b");
}

#[test]
fn responses_items_that_were_not_streamed_or_only_in_part() {
    let at = fit(WireId::Responses);
    let read = |events: &[Value]| {
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let (reply, error) = read(&at, &stream);
        assert_eq!(error, None);
        (kinds(&reply), reply.stop)
    };
    let done =
        |index: u64, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let completed = json!({"type": "response.completed", "response": {"id": "r", "output": []}});
    let message = json!({"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "hello"}]});
    let half = json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "other", "delta": "hel"});
    assert_eq!(read(&[done(0, message.clone()), completed.clone()]), (vec![text("hello")], Stop::End));
    assert_eq!(read(&[half.clone(), done(0, message.clone()), completed.clone()]), (vec![text("hello")], Stop::End));
    // Nothing but the end.
    let end = json!({"type": "response.completed", "response": {"id": "r", "output": [message]}});
    assert_eq!(read(&[end]), (vec![text("hello")], Stop::End));
    // Reasoning: parts of a summary, or the full text, never both.
    let summary = |part: u64, delta: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": part, "delta": delta});
    let full = json!({"type": "response.reasoning_text.delta", "output_index": 0, "delta": "full"});
    let item = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        "content": [{"type": "reasoning_text", "text": "full"}]});
    let events = [summary(0, "a"), summary(1, "b"), full, done(0, item), completed.clone()];
    assert_eq!(read(&events), (vec![reasoning("a\n\nb")], Stop::End));
    // A free-form call, a namespace, commentary, something of the server's own.
    let custom = json!({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"});
    let spaced =
        json!({"type": "function_call", "call_id": "d", "namespace": "mcp__s", "name": "t", "arguments": "{}"});
    let search = json!({"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}});
    let odd = json!({"type": "brand_new", "id": "n"});
    let (got, _) = read(&[done(0, custom), done(1, spaced), done(2, search.clone()), done(3, odd), completed]);
    let call = |mut call: protocol::Call, form, namespace: Option<&str>| {
        call.form = form;
        call.namespace = namespace.map(str::to_owned);
        BlockKind::Call(call)
    };
    assert_eq!(
        got,
        [
            call(crate::call("c", "apply_patch", "*** Begin"), CallForm::Custom, None),
            call(crate::call("d", "t", "{}"), CallForm::Function, Some("mcp__s")),
            BlockKind::Server { name: "web_search".into(), show: Raw::of(&search) },
            BlockKind::Unknown,
        ]
    );
}

#[test]
fn an_incomplete_response_says_why() {
    let event =
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}});
    let (reply, error) = read(&fit(WireId::Responses), &format!("data: {event}\n\n"));
    let error = error.expect("an error");
    assert_eq!(
        (reply.stop, error.kind, error.message.as_str()),
        (Stop::Length, ErrorKind::Incomplete, "Incomplete response returned, reason: max_output_tokens")
    );
}

#[test]
fn messages_blocks_of_all_kinds() {
    let at = fit(WireId::Messages);
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let redacted = json!({"type": "redacted_thinking", "data": "x"});
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        stop(0),
        start(1, redacted.clone()),
        stop(1),
        start(2, search.clone()),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"query\": \"q\"}"})),
        stop(2),
        start(3, json!({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}})),
        stop(3),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let stream: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()))
        .collect();
    let (reply, error) = read(&at, &stream);
    assert_eq!(
        (reply.stop.clone(), reply.usage, error),
        (Stop::Calls, Usage { input: 13, cached: 10, output: 9, ..Default::default() }, None)
    );
    let server = BlockKind::Server { name: "web_search".into(), show: Raw::of(&search) };
    assert_eq!(kinds(&reply), [reasoning("hm"), reasoning(""), server, a_call("a", "f", r#"{"x":1}"#)]);
    assert_eq!(
        echoed(&at, &reply)["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            redacted,
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        ])
    );
}
