//! A: calls that servers stream over the chat wire in their own ways.
use demo::scripted::Step;
use pretty_assertions::assert_eq;
use protocol::WireId::Chat;
use serde_json::{Value, json};

use super::{
    HARNESSES, place,
    speak::{
        self, Event, calls_in, chunk, chunks, finish, lines, odd_chunk, result_in, results_in, say, text, unpaired,
    },
    strict,
};
use crate::place::{Place, Ran};
use demo::scripted::End;

const ARGS: &str = r#"{"cmd":"echo ran >> log; cat log"}"#;

fn fragment(index: usize, id: Option<&str>, name: Value, args: &str) -> Event {
    let mut call = json!({"index": index, "function": {"arguments": args}});
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    if name != json!("absent") {
        call["function"]["name"] = name;
    }
    chunk(json!({"tool_calls": [call]}))
}

/// A call in three fragments; the later ones bear `id` and `name`.
fn three_fragments(first_id: Option<&str>, later_id: Option<&str>, later_name: Value) -> Vec<Event> {
    let (a, b, c) = (&ARGS[..1], &ARGS[1..9], &ARGS[9..]);
    vec![
        fragment(0, first_id, json!("exec_command"), a),
        fragment(0, later_id, later_name.clone(), b),
        fragment(0, later_id, later_name, c),
        finish(json!("tool_calls")),
    ]
}

fn done() -> Step {
    say(vec![text("done")]).step(Chat)
}

/// The command of `ARGS` ran once, and its result stands in the second request.
#[track_caller]
fn ran_once(events: Vec<Event>) -> (Place, Ran) {
    let place = place(Chat, "native", vec![chunks(events), done()]);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(place.requests().len(), 2, "{ran:?}");
    assert_eq!(std::fs::read_to_string(place.file("log")).expect("the command ran"), "ran\n");
    assert!(result_in(Chat, &place.request(1)).contains("ran\n"), "{:#}", place.request(1));
    (place, ran)
}

#[test]
fn case_1_two_parallel_calls_with_interleaved_fragments() {
    let events = vec![
        fragment(0, Some("a"), json!("exec_command"), ""),
        fragment(1, Some("b"), json!("exec_command"), ""),
        fragment(0, None, json!("absent"), r#"{"cmd":"#),
        fragment(1, None, json!("absent"), r#"{"cmd":"ec"#),
        fragment(0, None, json!("absent"), r#""echo alpha"}"#),
        fragment(1, None, json!("absent"), r#"ho beta"}"#),
        finish(json!("tool_calls")),
    ];
    let place = place(Chat, "native", vec![chunks(events), done()]);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = place.request(1);
    let call = |id: &str, args: &str| (id.to_owned(), "exec_command".to_owned(), args.to_owned());
    assert_eq!(calls_in(Chat, &request), [call("a", r#"{"cmd":"echo alpha"}"#), call("b", r#"{"cmd":"echo beta"}"#)]);
    let results = results_in(Chat, &request);
    let ids: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert!(results[0].1.contains("alpha\n") && !results[0].1.contains("beta"), "{results:?}");
    assert!(results[1].1.contains("beta\n") && !results[1].1.contains("alpha"), "{results:?}");
}

#[test]
fn case_3_later_fragments_with_empty_id_and_name() {
    let (place, _) = ran_once(three_fragments(Some("call_1"), Some(""), json!("")));
    let call = ("call_1".to_owned(), "exec_command".to_owned(), ARGS.to_owned());
    assert_eq!(calls_in(Chat, &place.request(1)), [call]);
}

#[test]
fn case_4_later_fragments_with_a_null_name() {
    let (place, _) = ran_once(three_fragments(Some("call_1"), None, Value::Null));
    let call = ("call_1".to_owned(), "exec_command".to_owned(), ARGS.to_owned());
    assert_eq!(calls_in(Chat, &place.request(1)), [call]);
}

#[test]
fn case_6_a_call_without_any_id() {
    let (place, _) = ran_once(three_fragments(None, None, json!("absent")));
    let request = place.request(1);
    let (calls, results) = (calls_in(Chat, &request), results_in(Chat, &request));
    assert_eq!((calls.len(), results.len()), (1, 1));
    assert_eq!(calls[0].0, results[0].0);
    assert!(!calls[0].0.is_empty());
}

/// Two calls of two replies must not get the same made-up id either.
#[test]
fn case_6_ids_that_are_made_up_differ_between_replies() {
    let steps = vec![
        chunks(three_fragments(None, None, json!("absent"))),
        chunks(three_fragments(None, None, json!("absent"))),
        done(),
    ];
    let place = place(Chat, "native", steps);
    assert_eq!(place.exec(&[]).code, Some(0));
    let calls = calls_in(Chat, &place.request(2));
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].0, calls[1].0);
}

/// No built-in tool does without parameters; what is missing is told by name, as for `{}`, and what is sent back is JSON.
#[test]
fn case_7_empty_arguments_are_an_empty_object() {
    let answer = |args: Value| {
        let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "exec_command", "arguments": args}});
        let events = vec![chunk(json!({"tool_calls": [call]})), finish(json!("tool_calls"))];
        let place = place(Chat, "native", vec![chunks(events), done()]);
        assert_eq!(place.exec(&[]).code, Some(0));
        let request = place.request(1);
        let sent = &calls_in(Chat, &request)[0].2;
        assert_eq!(serde_json::from_str::<Value>(sent).ok(), Some(json!({})), "{sent:?}");
        result_in(Chat, &request)
    };
    let expected = answer(json!("{}"));
    assert!(expected.contains("cmd"), "{expected}");
    for args in [json!(""), json!(" "), Value::Null, json!({})] {
        assert_eq!(answer(args.clone()), expected, "{args}");
    }
}

#[test]
fn case_9_the_calls_decide_not_the_finish_reason() {
    for reason in [json!("stop"), json!(""), Value::Null] {
        let mut events = three_fragments(Some("call_1"), None, json!("absent"));
        events.pop();
        events.push(finish(reason));
        ran_once(events);
    }
}

#[test]
fn case_9_no_finish_chunk_at_all() {
    let mut events = three_fragments(Some("call_1"), None, json!("absent"));
    events.pop();
    ran_once(events);
}

/// Every harness carries the call out, whatever the reason says.
#[test]
fn case_9_in_every_harness() {
    for harness in HARNESSES {
        let script = "echo ran >> log; cat log";
        let mut events = say(vec![speak::shell(harness, "call_1", script)]).events(Chat);
        events.retain(|event| !event.data.contains(r#""finish_reason":"tool_calls""#));
        let steps = vec![Step::stream(vec![lines(&events).into_bytes()], End::Clean), speak::over(harness).step(Chat)];
        let place = place(Chat, harness, steps);
        let ran = place.exec(&[]);
        assert_eq!(ran.code, Some(0), "{harness}: {ran:?}");
        assert!(result_in(Chat, &place.request(1)).contains("ran"), "{harness}");
    }
}

#[test]
fn case_10_chunks_without_choices() {
    let usage = json!({"prompt_tokens": 321, "completion_tokens": 45, "total_tokens": 366});
    let events = vec![
        odd_chunk(json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]})),
        chunk(json!({"role": "assistant", "content": "one "})),
        odd_chunk(json!({})),
        odd_chunk(json!({"choices": null})),
        chunk(json!({"content": "two"})),
        finish(json!("stop")),
        odd_chunk(json!({"choices": [], "usage": usage})),
    ];
    let place = place(Chat, "native", vec![chunks(events)]);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events = ran.events();
    let texts: Vec<&Value> =
        events.iter().filter(|e| e["item"]["type"] == "agent_message").map(|e| &e["item"]["text"]).collect();
    assert_eq!(texts, [&json!("one two")]);
    let expected = json!({"input_tokens": 321, "cached_input_tokens": 0, "cache_write_input_tokens": 0,
        "output_tokens": 45, "reasoning_output_tokens": 0});
    assert_eq!(events.last().map(|e| &e["usage"]), Some(&expected));
}

/// Decided: where the text is one of the known notations the call is carried out (`harnesses/in_text.rs`).
#[test]
fn case_11_calls_as_text() {
    let kimi = r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{"cmd":"echo ran >> log"}<|tool_call_end|><|tool_calls_section_end|>"#;
    let cut = r#"<|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{"cmd":"echo ran >> log"}<|tool_call_end|>"#;
    let bare = r#"{"name":"exec_command","arguments":{"cmd":"echo ran >> log"}}"#;
    for written in [kimi, cut, bare] {
        let place = place(Chat, "native", vec![say(vec![text(written)]).step(Chat), done()]);
        let ran = place.exec(&[]);
        let executed = std::fs::read_to_string(place.file("log")).is_ok_and(|log| log == "ran\n");
        let warned = ran.events().iter().any(|e| {
            e["item"]["type"] == "error" && e["item"]["message"].as_str().is_some_and(|m| m.contains("tool call"))
        });
        assert!(executed || warned, "{written}\n{ran:?}");
    }
}

/// A server that gives all replies the same id: calls in their text still are two calls.
#[test]
fn case_11_two_replies_with_calls_as_text() {
    for harness in ["native", "claude-code-bare"] {
        let (name, key) = if harness == "native" { ("exec_command", "cmd") } else { ("Bash", "command") };
        let written = json!({"name": name, "arguments": {key: "echo ran >> log"}}).to_string();
        let step = || say(vec![text(&written)]).step(Chat);
        let place = strict(Chat, harness, vec![step(), step(), done()], unpaired);
        let ran = place.exec(&[]);
        assert_eq!((ran.code, place.requests().len()), (Some(0), 3), "{harness}: {ran:?}");
        assert_eq!(std::fs::read_to_string(place.file("log")).expect("the commands ran"), "ran\nran\n");
    }
}

/// Servers that count the calls of each reply anew: every result stays with its call, also after a resume.
#[test]
fn case_6_the_same_id_in_every_reply() {
    let step = |script: &str| say(vec![speak::run("call_0", script)]).step(Chat);
    let place = place(Chat, "native", vec![step("echo alpha"), step("echo beta"), done(), step("echo gamma"), done()]);
    assert_eq!(place.exec(&[]).code, Some(0));
    assert_eq!(place.run(&["exec", "resume", "--last", "--json", "go on"]).code, Some(0));
    let results = results_in(Chat, &place.request(4));
    assert_eq!(results.len(), 3);
    for ((_, result), word) in results.iter().zip(["alpha\n", "beta\n", "gamma\n"]) {
        assert!(result.ends_with(word), "{results:?}");
    }
}
