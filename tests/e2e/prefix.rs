//! A request extends the one before byte for byte, so that prompt caches hit: twenty steps with reasoning and calls side by
//! side, then a resume by another process, for every harness over every wire.
use demo::scripted::{Recorded, Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::Place;

const STEPS: usize = 20;
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn calls(harness: &str, n: usize) -> Turn {
    let command = |k: usize| format!("echo step {n} call {k}");
    let (name, key) = match harness {
        "native" => ("exec_command", "cmd"),
        "claude-code-bare" => ("Bash", "command"),
        _ => ("bash", "command"),
    };
    let args = |k: usize| json!({key: command(k)});
    Turn::call(name, &args(1)).and_call(name, &args(2)).thinking(format!("thought {n}")).saying(format!("step {n}"))
}

fn end(harness: &str) -> Turn {
    match harness {
        "mini-swe-agent" => Turn::call("bash", &json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})),
        _ => Turn::text("all done"),
    }
}

/// The list of messages (or items) of a request.
fn list(request: &Recorded) -> Vec<Value> {
    let mut body = request.json();
    let key = if request.wire == WireId::Responses { "input" } else { "messages" };
    body[key].take().as_array().cloned().expect("a list")
}

/// The request up to the end of its list. Cache marks move to the newest message and do not count.
fn before_tail(request: &Recorded) -> String {
    let text = String::from_utf8(request.body.clone()).expect("JSON is UTF-8").replace(MARK, "");
    let end = text.rfind(']').expect("a list");
    // Behind the list stand fields with lists of their own at most on Messages (`context_management`).
    let key = if request.wire == WireId::Responses { "\"input\":[" } else { "\"messages\":[" };
    let start = text.find(key).expect("the list") + key.len();
    let mut depth = 1;
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match (quoted, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (_, _, b'"') => quoted = !quoted,
            (false, _, b'[' | b'{') => depth += 1,
            (false, _, b']' | b'}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text[..at].to_owned();
        }
    }
    text[..end].to_owned()
}

fn check(harness: &str, wire: WireId) {
    let mut steps: Vec<Step> = (0..STEPS).map(|n| calls(harness, n).into()).collect();
    steps.push(end(harness).into());
    steps.push(calls(harness, STEPS).into());
    steps.push(end(harness).into());
    let place = Place::new(wire, steps);
    let config = format!("harness=\"{harness}\"");
    let first = place.exec(&["-c", &config]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let id = first.thread();
    let second = place.run(&["exec", "--json", "-s", "workspace-write", "-c", &config, "resume", &id, "go on"]);
    assert_eq!(second.code, Some(0), "{second:?}");
    let requests = place.requests();
    assert_eq!(requests.len(), STEPS + 3, "{harness} {wire:?}");
    for (n, pair) in requests.windows(2).enumerate() {
        let (before, after) = (before_tail(&pair[0]), before_tail(&pair[1]));
        if harness == "claude-code-bare" && wire == WireId::Messages {
            // The original sends the newest prompt as a marked block and earlier ones as plain strings: two forms of one text.
            let plain = |request: &Recorded| list(request).into_iter().map(plain).collect::<Vec<_>>();
            let (before, after) = (plain(&pair[0]), plain(&pair[1]));
            assert_eq!(before[..], after[..before.len()], "request {n} to {}", n + 1);
            continue;
        }
        assert!(
            after.starts_with(&before),
            "{harness} {wire:?}: request {} does not extend request {n}:\n{before}\n\n{after}",
            n + 1
        );
    }
    // Reasoning, both calls and both answers of the first step are still there at the end.
    let last = String::from_utf8_lossy(&requests[STEPS + 2].body).into_owned();
    for expected in ["step 0 call 1", "step 0 call 2", "step 20 call 2"] {
        assert!(last.contains(expected), "{expected} is missing: {last}");
    }
    if wire != WireId::Responses {
        assert!(last.contains("thought 0"), "reasoning is sent back: {last}");
    }
}

fn plain(mut message: Value) -> Value {
    if let Some(blocks) = message["content"].as_array_mut() {
        for block in blocks.iter_mut() {
            if let Some(block) = block.as_object_mut() {
                block.remove("cache_control");
            }
        }
        if let [only] = blocks.as_slice()
            && only["type"] == "text"
        {
            message["content"] = only["text"].clone();
        }
    }
    message
}

macro_rules! matrix {
    ($($name:ident: $harness:literal $wire:ident;)*) => {
        $(#[test]
        fn $name() {
            check($harness, WireId::$wire);
        })*
    };
}

matrix! {
    native_over_responses: "native" Responses;
    native_over_chat: "native" Chat;
    native_over_messages: "native" Messages;
    claude_code_bare_over_responses: "claude-code-bare" Responses;
    claude_code_bare_over_chat: "claude-code-bare" Chat;
    claude_code_bare_over_messages: "claude-code-bare" Messages;
    mini_swe_agent_over_responses: "mini-swe-agent" Responses;
    mini_swe_agent_over_chat: "mini-swe-agent" Chat;
    mini_swe_agent_over_messages: "mini-swe-agent" Messages;
}
