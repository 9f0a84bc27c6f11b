//! B: streams cut anywhere, odd framing, errors in mid-stream, and what a server wants to see of its own words again.
use std::fs;

use demo::scripted::{End, Step};
use pretty_assertions::assert_eq;
use protocol::WireId::{self, Chat, Messages, Responses};
use serde_json::{Value, json};

use super::{
    HARNESSES, marked_processes, place, shown,
    speak::{
        self, Event, chunk, framed, lines, messages_in, named, result_in, results_in, run, say, shell, text, think,
        unpaired,
    },
    strict, until,
};
use crate::place::{Place, wait};

on_each_wire!(
    case_12_characters_cut_between_network_chunks,
    case_13_framing_of_events,
    case_15_an_error_inside_a_stream_is_told,
    case_17_an_unfinished_reply_is_asked_again_and_run_once,
    case_17_a_reply_that_never_finishes,
    case_22_schemas_have_no_features_that_servers_cannot_compile,
    case_23_killed_while_a_command_runs,
    case_23_killed_with_one_of_two_calls_done,
    case_23_interrupted_with_one_of_two_calls_done,
    case_23_an_empty_reply_is_not_sent_back,
);

fn bytes_of(stream: &str) -> Vec<Vec<u8>> {
    stream.bytes().map(|byte| vec![byte]).collect()
}

fn case_12_characters_cut_between_network_chunks(wire: WireId) {
    let words = "渐 — 🙂";
    let first = say(vec![text(words), run("call_1", &format!("printf '%s' '{words}' > out.txt; cat out.txt"))]);
    let second = say(vec![text(words)]);
    let steps = [first, second].map(|said| Step::stream(bytes_of(&lines(&said.events(wire))), End::Clean));
    let place = place(wire, "native", steps.into());
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_to_string(place.file("out.txt")).expect("the command ran"), words);
    assert_eq!(shown(&ran, "agent_message"), [words, words]);
    assert_eq!(shown(&ran, "command_execution"), [words]);
    assert!(result_in(wire, &place.request(1)).ends_with(words), "{:#}", place.request(1));
}

/// Raw in the JSON, as some encoders leave them: neither ends a line of a stream.
const ODD_WORDS: &str = "a\u{2028}b\u{85}c";

fn case_13_framing_of_events(wire: WireId) {
    let first = say(vec![run("call_1", "echo ran >> log")]).events(wire);
    let events = say(vec![text(ODD_WORDS)]).events(wire);
    let all = |end: &str, colon: &str| -> String { events.iter().map(|e| framed(e, end, colon)).collect() };
    let two_lines = |event: &Event| {
        let data = event.data.replacen(r#"","#, "\",\ndata: ", 1);
        framed(&Event { data, ..event.clone() }, "\n", ": ")
    };
    let unfinished = |end: &str| all(end, ": ").trim_end_matches(['\r', '\n']).to_owned();
    let variants: [(&str, String); 10] = [
        ("CRLF", all("\r\n", ": ")),
        ("CR", all("\r", ": ")),
        ("no space after the colon", all("\n", ":")),
        (
            "comments",
            events
                .iter()
                .map(|e| format!(": keep-alive\n\n{}: OPENROUTER PROCESSING\n", framed(e, "\n", ": ")))
                .collect(),
        ),
        ("two data lines", events.iter().map(two_lines).collect()),
        ("byte order mark", format!("\u{feff}{}", all("\n", ": "))),
        ("no line end at the end", unfinished("\n")),
        ("one line end at the end", format!("{}\n", unfinished("\n"))),
        ("one CR at the end", format!("{}\r", unfinished("\r"))),
        ("other fields", events.iter().map(|e| format!("id: 1\nretry: 10\n{}", framed(e, "\n", ": "))).collect()),
    ];
    for (name, stream) in variants {
        for (cut, pieces) in [("byte by byte", bytes_of(&stream)), ("whole", vec![stream.clone().into_bytes()])] {
            let steps = vec![Step::stream(pieces, End::Clean)];
            let place = place(wire, "native", steps);
            let ran = place.exec(&["--ephemeral"]);
            assert_eq!(
                (ran.code, shown(&ran, "agent_message")),
                (Some(0), vec![ODD_WORDS.to_owned()]),
                "{name}, {cut}: {ran:?}"
            );
        }
    }
    // A call is no other matter than a text.
    let crlf: String = first.iter().map(|e| framed(e, "\r\n", ":")).collect();
    let place =
        place(wire, "native", vec![Step::stream(bytes_of(&crlf), End::Clean), say(vec![text("done")]).step(wire)]);
    assert_eq!(place.exec(&[]).code, Some(0));
    assert_eq!(fs::read_to_string(place.file("log")).expect("the command ran"), "ran\n");
}

const RETRY_ONCE: [&str; 2] = ["-c", "model_providers.stub.stream_max_retries=1"];

/// How each wire's servers tell of a failure inside of a stream: the event, and whether asking again can help.
fn errors_of(wire: WireId, words: &str) -> Vec<(Event, bool)> {
    let failed = |error: Value| {
        named(json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}}))
    };
    let bare = |data: Value| Event { name: String::new(), data: data.to_string() };
    let error = |data: Value| Event { name: "error".into(), data: data.to_string() };
    match wire {
        Responses => vec![
            (error(json!({"type": "error", "code": "server_error", "message": words, "param": null})), true),
            (error(json!({"type": "error", "error": {"type": "server_error", "message": words}})), true),
            (failed(json!({"code": "server_error", "message": words})), true),
            (failed(json!({"code": "insufficient_quota", "message": words})), false),
            (failed(json!({"code": "invalid_prompt", "message": words})), false),
        ],
        Chat => vec![
            (bare(json!({"error": {"message": words, "code": 503}})), true),
            (bare(json!({"error": {"message": words, "code": 400, "type": "invalid_request_error"}})), false),
            (bare(json!({"error": {"message": words, "type": "insufficient_quota"}})), false),
            (error(json!({"message": words, "code": 500})), true),
        ],
        Messages => vec![
            (named(json!({"type": "error", "error": {"type": "overloaded_error", "message": words}})), true),
            (named(json!({"type": "error", "error": {"type": "api_error", "message": words}})), true),
            (named(json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}})), false),
        ],
    }
}

/// Also 61: the server's own words are kept, in every shape and after partial text.
fn case_15_an_error_inside_a_stream_is_told(wire: WireId) {
    let words = "the quota of XYZ is gone";
    for (event, again) in errors_of(wire, words) {
        let mut events = say(vec![text("partial")]).events(wire);
        events.truncate(4);
        events.push(event.clone());
        let step = Step::stream(vec![lines(&events).into_bytes()], End::Clean);
        let place = place(wire, "native", vec![step.clone(), step]);
        let ran = place.exec(&RETRY_ONCE);
        let seen = (ran.code, place.requests().len(), ran.outline().last().map(String::as_str) == Some("turn.failed"));
        assert_eq!(seen, (Some(1), if again { 2 } else { 1 }, true), "{event:?} {ran:?}");
        assert!(ran.failure().contains(words), "{}", ran.failure());
        assert!(!ran.failure().contains("stream closed"), "{}", ran.failure());
    }
}

/// A quota as OpenRouter and others tell it inside of a 200: it may end with time, so it is asked again.
#[test]
fn case_15_an_error_with_code_429() {
    let event = Event { name: String::new(), data: json!({"error": {"message": "quota", "code": 429}}).to_string() };
    let step = Step::stream(vec![lines(&[event]).into_bytes()], End::Clean);
    let place = place(Chat, "native", vec![step.clone(), step]);
    let ran = place.exec(&RETRY_ONCE);
    assert_eq!((ran.code, place.requests().len()), (Some(1), 2), "{ran:?}");
    assert!(ran.failure().contains("quota"), "{}", ran.failure());
}

/// A reply whose blocks are whole and whose end does not come.
fn unfinished(wire: WireId) -> Step {
    let mut events = say(vec![text("Looking."), run("call_1", "echo ran >> log")]).events(wire);
    let keep = events.iter().position(|event| match wire {
        Responses => event.name == "response.completed",
        Chat => event.data.contains(r#""finish_reason":"tool_calls""#),
        Messages => event.name == "message_delta",
    });
    events.truncate(keep.expect("a closing event"));
    Step::stream(vec![lines(&events).into_bytes()], End::Clean)
}

fn case_17_an_unfinished_reply_is_asked_again_and_run_once(wire: WireId) {
    let whole = say(vec![text("Looking."), run("call_1", "echo ran >> log")]);
    let place = place(wire, "native", vec![unfinished(wire), whole.step(wire), say(vec![text("done")]).step(wire)]);
    let ran = place.exec(&RETRY_ONCE);
    assert_eq!((ran.code, place.requests().len()), (Some(0), 3), "{ran:?}");
    assert_eq!(fs::read_to_string(place.file("log")).expect("the command ran"), "ran\n");
    assert_eq!(shown(&ran, "agent_message"), ["Looking.", "done"]);
    assert_eq!(replies_with(&place, "Looking."), 1);
    assert_eq!(unpaired(wire, &place.request(2)), None);
}

fn case_17_a_reply_that_never_finishes(wire: WireId) {
    let place = place(wire, "native", vec![unfinished(wire), unfinished(wire)]);
    let ran = place.exec(&RETRY_ONCE);
    assert_eq!((ran.code, place.requests().len()), (Some(1), 2), "{ran:?}");
    assert!(!place.file("log").exists(), "a call of a reply that did not end is not run");
    let missing = match wire {
        Responses => "response.completed",
        Chat => "finish_reason",
        Messages => "message_stop",
    };
    assert!(ran.failure().contains(missing), "{}", ran.failure());
    assert!(ran.stderr.contains("Stub"), "the provider is named: {}", ran.stderr);
    assert_eq!(shown(&ran, "agent_message"), ["Looking."]);
    assert_eq!(replies_with(&place, "Looking."), 1);
}

/// Replies in the session file with this text.
fn replies_with(place: &Place, words: &str) -> usize {
    let rollout = fs::read_to_string(place.rollout()).expect("a session file");
    rollout.lines().filter(|line| line.contains(r#""reply""#) && line.contains(words)).count()
}

/// Assistant messages with calls must have one of the fields; the model gave it each time.
fn reasoning_missing(_: WireId, request: &Value) -> Option<String> {
    let fields = ["reasoning_content", "reasoning", "reasoning_details"];
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    messages
        .iter()
        .find(|m| m["tool_calls"].is_array() && !fields.iter().any(|field| !m[field].is_null()))
        .map(|m| format!("no reasoning beside calls: {m}"))
}

#[test]
fn case_18_reasoning_goes_back_in_the_field_it_came_in() {
    let details =
        json!([{"type": "reasoning.text", "text": "why", "signature": "c2ln", "format": "unknown", "index": 0}]);
    for (field, value) in
        [("reasoning_content", json!("why")), ("reasoning", json!("why")), ("reasoning_details", details)]
    {
        let reply = |id: &str| {
            let mut events = vec![chunk(json!({"role": "assistant", "content": "", field: value}))];
            events.extend(say(vec![run(id, "echo hi")]).events(Chat).into_iter().skip(1));
            Step::stream(vec![lines(&events).into_bytes()], End::Clean)
        };
        let done = say(vec![text("done")]).step(Chat);
        let steps = vec![reply("a"), reply("b"), reply("c"), done.clone(), reply("d"), done];
        let place = strict(Chat, "native", steps, reasoning_missing);
        assert_eq!(place.exec(&[]).code, Some(0), "{field}");
        let again = place.run(&["exec", "resume", "--last", "--json", "go on"]);
        assert_eq!(again.code, Some(0), "{field}: {again:?}");
        let last = place.request(5);
        let back: Vec<&Value> = last["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .filter(|m| m["tool_calls"].is_array())
            .map(|m| &m[field])
            .collect();
        assert_eq!(back, [&value, &value, &value, &value], "{field}");
    }
}

/// Providers that are known to insist get the field also where the model gave none.
#[test]
fn case_18_a_field_that_is_required_is_never_missing() {
    let steps = vec![
        say(vec![think("why"), run("a", "echo hi")]).step(Chat),
        say(vec![run("b", "echo hi")]).step(Chat),
        say(vec![text("done")]).step(Chat),
    ];
    let place = strict(Chat, "native", steps, |_, request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let bad = messages.iter().find(|m| m["tool_calls"].is_array() && !m["reasoning_content"].is_string());
        bad.map(|m| format!("no reasoning_content: {m}"))
    });
    place.write_config(
        "harness = \"native\"\n[model_providers.deepseek]\nname = \"D\"\nbase_url = \"BASE\"\nwire_api = \"chat\"\n"
            .replace("BASE", &place.server.base_url())
            .as_str(),
    );
    for args in [
        vec!["exec", "--json", "-c", "model_provider=deepseek", "do it"],
        vec!["exec", "resume", "--last", "--json", "-c", "model_provider=deepseek", "go on"],
    ] {
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

/// Signed thinking and encrypted reasoning stand before the calls they led to, also after a resume.
#[test]
fn case_18_opaque_reasoning_goes_back() {
    for wire in [Responses, Messages] {
        let reply = |id: &str| say(vec![think("why"), run(id, "echo hi")]).step(wire);
        let done = say(vec![text("done")]).step(wire);
        let place = place(wire, "native", vec![reply("a"), done.clone(), reply("b"), done]);
        assert_eq!(place.exec(&[]).code, Some(0));
        assert_eq!(place.run(&["exec", "resume", "--last", "--json", "go on"]).code, Some(0));
        let last = place.request(3);
        let back: Vec<String> = match wire {
            Responses => {
                let items = last["input"].as_array().expect("input").windows(2).filter(|w| w[0]["type"] == "reasoning");
                items.map(|w| format!("{} {}", w[0]["encrypted_content"], w[1]["call_id"])).collect()
            }
            _ => {
                let messages = last["messages"].as_array().expect("messages").iter();
                let contents = messages.filter_map(|m| m["content"].as_array()).flat_map(|blocks| blocks.windows(2));
                contents
                    .filter(|w| w[0]["type"] == "thinking")
                    .map(|w| format!("{} {}", w[0]["signature"], w[1]["id"]))
                    .collect()
            }
        };
        let payload = if wire == Responses { "c2VjcmV0" } else { "c2ln" };
        assert_eq!(back, [format!("\"{payload}\" \"a\""), format!("\"{payload}\" \"b\"")], "{last:#}");
    }
}

#[test]
fn case_20_third_party_responses_servers_get_function_tools_only() {
    for harness in HARNESSES {
        let place = strict(Responses, harness, vec![speak::over(harness).step(Responses)], |_, request| {
            let tools = request["tools"].as_array().cloned().unwrap_or_default();
            tools.iter().find(|tool| tool["type"] != "function").map(|tool| format!("tool {tool}"))
        });
        place.write_config(&format!(
            "harness = \"{harness}\"\nweb_search = \"live\"\n[tools]\nview_image = true\n[mcp_servers.demo]\ncommand = \"true\"\n"
        ));
        let ran = place.exec(&[]);
        assert_eq!(ran.code, Some(0), "{harness}: {ran:?}");
        assert!(place.request(0)["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    }
}

#[test]
fn case_21_one_system_message_and_it_is_the_first() {
    for harness in HARNESSES {
        let over = speak::over(harness).step(Chat);
        let steps = vec![shell_step(harness, "a"), over.clone(), shell_step(harness, "b"), over];
        let place = strict(Chat, harness, steps, |_, request| {
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            let late = messages.iter().skip(1).find(|m| m["role"] == "system" || m["role"] == "developer");
            let first = messages.first().is_none_or(|m| m["role"] != "system");
            late.map(|m| format!("a late one: {m}")).or_else(|| first.then(|| "no system message first".to_owned()))
        });
        fs::write(place.file("AGENTS.md"), "Always be kind.").expect("AGENTS.md");
        fs::create_dir(place.file("below")).expect("a folder");
        assert_eq!(place.exec(&[]).code, Some(0), "{harness}");
        // Other folder, other permissions.
        let again =
            place.run(&["exec", "-s", "read-only", "-C", "below", "resume", "--last", "--all", "--json", "go on"]);
        assert_eq!(again.code, Some(0), "{harness}: {again:?}");
        let all = place.request(2).to_string();
        assert!(all.contains("Always be kind.") && all.contains("do it") && all.contains("go on"), "{harness}");
    }
}

fn shell_step(harness: &str, id: &str) -> Step {
    say(vec![shell(harness, id, "echo hi")]).step(Chat)
}

fn case_22_schemas_have_no_features_that_servers_cannot_compile(wire: WireId) {
    for harness in HARNESSES {
        let place = place(wire, harness, vec![speak::over(harness).step(wire)]);
        place.write_config(&format!("harness = \"{harness}\"\n[tools.update_plan]\nenabled = true\n"));
        assert_eq!(place.exec(&["--ephemeral"]).code, Some(0));
        let tools = place.request(0)["tools"].clone();
        assert!(tools.as_array().is_some_and(|tools| !tools.is_empty()));
        assert_eq!(faults_of_schema(&tools), Vec::<String>::new(), "{harness}");
    }
}

fn faults_of_schema(value: &Value) -> Vec<String> {
    let below = |value: &Value| match value {
        Value::Object(map) => map.values().flat_map(faults_of_schema).collect(),
        Value::Array(list) => list.iter().flat_map(faults_of_schema).collect(),
        _ => Vec::new(),
    };
    let mut faults: Vec<String> = below(value);
    if value["type"] == "object" && !value["properties"].is_object() {
        faults.push(format!("no properties: {value}"));
    }
    for key in ["pattern", "format"] {
        if value[key].is_string() {
            faults.push(format!("{key}: {value}"));
        }
    }
    faults
}

/// The first process dies by `signal` as soon as `flag` is there and the session file has `done`; the second goes on and must
/// not be refused.
fn broken_off(
    wire: WireId,
    harness: &str,
    first: Vec<speak::Block>,
    done: &str,
    signal: i32,
) -> (Place, crate::place::Ran) {
    let steps = vec![say(first).step(wire), speak::over(harness).step(wire)];
    let place = strict(wire, harness, steps, unpaired);
    let begun = std::time::Instant::now();
    let mark = format!("KNOWN_FAILURE_MARK=23-{harness}-{}-{}-{signal}", wire.as_str(), std::process::id());
    let (name, value) = mark.split_once('=').expect("a mark");
    let mut command = place.command(&["exec", "--json", "-s", "workspace-write", "do it"]);
    let child = command.env(name, value).spawn().expect("the binary starts");
    let flag = place.file("flag");
    until("the command", || {
        flag.exists() && fs::read_to_string(place.rollout()).is_ok_and(|items| items.contains(done))
    });
    // SAFETY: a child of this test that was not waited for yet.
    unsafe { libc::kill(child.id() as i32, signal) };
    wait(child, begun);
    until("the end of its commands", || marked_processes(&mark).is_empty());
    let again = place.run(&["exec", "resume", "--last", "--json", "go on"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(place.requests().len(), 2, "{again:?}");
    (place, again)
}

const WAITS: &str = "touch flag; sleep 60";

fn case_23_killed_while_a_command_runs(wire: WireId) {
    let (place, _) = broken_off(wire, "native", vec![text("Looking."), run("a", WAITS)], "", libc::SIGKILL);
    let results = results_in(wire, &place.request(1));
    assert_eq!(results.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(!results[0].1.is_empty());
    let messages = messages_in(wire, &place.request(1));
    assert_eq!(
        messages.last().map(|(role, words)| (role.as_str(), words.as_str())),
        Some(("user", "go on")),
        "{messages:?}"
    );
}

fn case_23_killed_with_one_of_two_calls_done(wire: WireId) {
    let (place, _) = broken_off(
        wire,
        "native",
        vec![run("a", "echo first-is-done"), run("b", WAITS)],
        r"first-is-done\n",
        libc::SIGKILL,
    );
    let results = results_in(wire, &place.request(1));
    assert_eq!(results.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(results[0].1.contains("first-is-done"), "what was done is not forgotten: {results:?}");
}

fn case_23_interrupted_with_one_of_two_calls_done(wire: WireId) {
    let (place, _) = broken_off(
        wire,
        "native",
        vec![run("a", "echo first-is-done"), run("b", WAITS)],
        r"first-is-done\n",
        libc::SIGINT,
    );
    let results = results_in(wire, &place.request(1));
    assert_eq!(results.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(results[0].1.contains("first-is-done"), "{results:?}");
}

#[test]
fn case_23_killed_in_every_harness() {
    for harness in HARNESSES {
        let (place, _) =
            broken_off(Chat, harness, vec![text("Looking."), shell(harness, "a", WAITS)], "", libc::SIGKILL);
        assert_eq!(results_in(Chat, &place.request(1)).len(), 1, "{harness}");
    }
}

/// A model that says nothing at all, and is asked again after a resume.
fn case_23_an_empty_reply_is_not_sent_back(wire: WireId) {
    let steps = vec![say(vec![]).step(wire), say(vec![text("done")]).step(wire)];
    let place = strict(wire, "native", steps, unpaired);
    place.exec(&[]);
    let again = place.run(&["exec", "resume", "--last", "--json", "go on"]);
    assert_eq!((again.code, place.requests().len()), (Some(0), 2), "{again:?}");
    let users: Vec<String> = messages_in(wire, &place.request(1))
        .into_iter()
        .filter(|(role, _)| role == "user")
        .map(|(_, words)| words)
        .collect();
    assert!(users.iter().any(|words| words.ends_with("go on")), "{users:?}");
}

/// The words of the server are in the final error: Codex 0.171.0 replaces the first and drops the second.
#[test]
fn case_61_the_servers_own_error_text_is_kept() {
    let failed = json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed",
        "error": {"code": "insufficient_quota", "message": "quota used up XYZ"}}});
    let error = json!({"type": "error", "code": null, "message": "boom XYZ", "param": null});
    for event in [failed, error] {
        let stream = lines(&[named(event.clone())]).into_bytes();
        let place = place(Responses, "native", vec![Step::stream(vec![stream], End::Clean)]);
        let ran = place.exec(&[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.failure().contains("XYZ"), "{event}: {}", ran.failure());
        let human = super::place(
            Responses,
            "native",
            vec![Step::stream(vec![lines(&[named(event)]).into_bytes()], End::Clean)],
        );
        assert!(human.run(&["exec", "do it"]).stderr.contains("XYZ"));
    }
}
