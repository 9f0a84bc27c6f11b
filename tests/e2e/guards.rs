//! Guards over a model that has lost its way, and the counts of its calls that people are shown.
use demo::scripted::{Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::json;

use crate::{
    pairs::assert_paired,
    place::{Place, Ran},
};

fn run(command: &str) -> Step {
    Turn::call("exec_command", &json!({"cmd": command})).into()
}

fn native(place: &Place, more: &[&str]) -> Ran {
    let mut args = vec!["-c", "harness=\"native\""];
    args.extend(more);
    place.exec(&args)
}

/// How often each request holds `text`.
fn told(place: &Place, text: &str) -> Vec<usize> {
    place.requests().iter().map(|request| String::from_utf8_lossy(&request.body).matches(text).count()).collect()
}

const REPEATED: &str = "You have made this call 3 times";

#[test]
fn the_same_failing_call_is_told_of_once_and_then_ends_the_turn() {
    for wire in WireId::ALL {
        let place = Place::new(wire, vec![run("echo no; exit 3"); 9]);
        let ran = native(&place, &[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(
            ran.failure(),
            "stub-model made the same failing call 8 times, with the same answer each time: exec_command {\"cmd\":\"echo no; exit 3\"}"
        );
        assert_eq!(told(&place, REPEATED), [0, 0, 0, 1, 1, 1, 1, 1], "{wire:?}");
        place.requests().iter().for_each(|request| assert_paired(wire, &request.json()));
    }
}

#[test]
fn what_goes_well_in_between_or_fails_otherwise_is_no_circle() {
    let steps =
        ["false", "false", "true", "false", "false", "exit 2", "date +%N; false", "date +%N; false", "date +%N; false"];
    let steps = steps.map(run).into_iter().chain([Turn::text("over").into()]).collect();
    let place = Place::new(WireId::Chat, steps);
    assert_eq!(native(&place, &[]).code, Some(0));
    assert_eq!(told(&place, "You have made this call"), [0; 10]);
}

#[test]
fn without_guidance_nobody_interferes() {
    let steps = vec![run("false"); 9].into_iter().chain([Turn::text("").into()]).collect();
    let place = Place::new(WireId::Chat, steps);
    assert_eq!(native(&place, &["-c", "harness_guidance=false"]).code, Some(0));
    assert_eq!(told(&place, "You have made this call"), [0; 10]);
}

#[test]
fn models_that_codex_was_made_for_see_what_they_see_in_codex() {
    let steps = vec![run("false"); 9].into_iter().chain([Turn::text("").into()]).collect();
    let place = Place::new(WireId::Responses, steps);
    assert_eq!(native(&place, &["-m", "gpt-5.5"]).code, Some(0));
    assert_eq!(told(&place, "You have made this call"), [0; 10]);
}

#[test]
fn a_dialect_says_it_in_its_way() {
    let call: Step = Turn::call("Bash", &json!({"command": "exit 3"})).into();
    let place = Place::new(WireId::Messages, vec![call.clone(), call.clone(), call, Turn::text("over").into()]);
    let ran = place.exec(&["-c", "harness=\"claude-code\""]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(told(&place, "<system-reminder>\\nYou have made this call 3 times"), [0, 0, 0, 1]);
}

#[test]
fn guards_of_the_originals_are_not_joined_by_ours() {
    for (harness, tool, args) in [
        ("kimi-code", "Bash", json!({"command": "exit 3"})),
        ("qwen-code", "run_shell_command", json!({"command": "exit 3", "is_background": false})),
    ] {
        let call: Step = Turn::call(tool, &args).into();
        let place = Place::new(WireId::Chat, vec![call.clone(), call.clone(), call, Turn::text("over").into()]);
        let ran = place.exec(&["-c", &format!("harness=\"{harness}\"")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(told(&place, "You have made this call"), [0; 4], "{harness}");
    }
}

#[test]
fn an_empty_reply_is_asked_for_again_at_most_twice() {
    const SAID: &str = "no text and no tool call";
    let run = |place: &Place, more: &[&str]| place.exec(&[&["-c", "harness=\"deepseek-tui\""], more].concat());
    let nothing = || Step::from(Turn::text(""));
    let place = Place::new(WireId::Chat, vec![nothing(), nothing(), Turn::text("here").into()]);
    let ran = run(&place, &[]);
    assert_eq!((ran.code, ran.events().iter().filter(|e| e["item"]["text"] == "here").count()), (Some(0), 1));
    assert_eq!(told(&place, SAID), [0, 1, 1]);
    let again = place.run(&["exec", "--json", "-c", "harness=\"deepseek-tui\"", "resume", &ran.thread(), "go on"]);
    assert_eq!((again.code, told(&place, SAID)), (Some(0), vec![0, 1, 1, 0]), "it is not kept");

    let place = Place::new(WireId::Chat, vec![nothing(); 4]);
    assert_eq!((run(&place, &[]).code, place.requests().len()), (Some(0), 3));
    let place = Place::new(WireId::Chat, vec![nothing(); 4]);
    assert_eq!((run(&place, &["-c", "harness_guidance=false"]).code, place.requests().len()), (Some(0), 1));
    // In Codex it ends the turn.
    let place = Place::new(WireId::Chat, vec![nothing(); 4]);
    assert_eq!((native(&place, &[]).code, place.requests().len()), (Some(0), 1));
}

#[test]
fn an_end_in_the_middle_of_a_plan_is_asked_about_once() {
    let plan = |status: &str| -> Step {
        let steps = json!([{"step": "one", "status": "completed"}, {"step": "two", "status": status}]);
        Turn::call("update_plan", &json!({"plan": steps})).into()
    };
    let check = |steps: Vec<Step>, more: &[&str], expected: &[usize]| {
        let place = Place::new(WireId::Chat, steps);
        let mut args = vec!["-c", "tools.update_plan.enabled=true"];
        args.extend(more);
        assert_eq!(native(&place, &args).code, Some(0));
        assert_eq!(told(&place, "Your plan has steps that are not done:\\n- two\\n"), expected);
    };
    let says = |text: &str| Step::from(Turn::text(text));
    check(vec![plan("pending"), says("I stop."), says("Done after all.")], &[], &[0, 0, 1]);
    check(vec![plan("pending"), says("I stop."), plan("completed"), says("Done.")], &[], &[0, 0, 1, 1]);
    check(vec![plan("pending"), says("Which of the two do you want?")], &[], &[0, 0]);
    check(vec![plan("completed"), says("Done.")], &[], &[0, 0]);
    check(vec![plan("pending"), says("I stop.")], &["-c", "harness_guidance=false"], &[0, 0]);
}

#[test]
fn people_are_told_how_many_calls_there_were_also_after_a_resume() {
    let edit = json!({"input": "*** Begin Patch\n*** Update File: none\n@@\n-a\n+b\n*** End Patch"});
    let place = Place::new(
        WireId::Chat,
        vec![
            Turn::call("exec_comand", &json!({"cmd": "exit 3"})).and_call("apply_patch", &edit).into(),
            Turn::text("over").into(),
            Turn::call("no_such_tool", &json!({})).into(),
            Turn::text("over").into(),
            Turn::text("over").into(),
        ],
    );
    let harness = ["-c", "harness=\"native\""];
    let exec = |more: &[&str]| place.run(&[&["exec"], harness.as_slice(), more].concat());
    let first = exec(&["do it"]);
    assert!(first.stderr.ends_with("2 calls, 1 repaired, 1 failed\ntokens used\n220\n"), "{first:?}");
    let second = exec(&["resume", "--last", "go on"]);
    assert!(second.stderr.ends_with("3 calls, 1 repaired, 2 failed\ntokens used\n220\n"), "{second:?}");
    let json = place.run(&["exec", "--json", "resume", "--last", "go on"]);
    let last = json.events().pop().unwrap();
    assert_eq!(last.as_object().unwrap().keys().collect::<Vec<_>>(), ["type", "usage"], "as Codex has it");
}

#[test]
fn counts_outlive_a_compaction() {
    let place = Place::new(
        WireId::Chat,
        vec![
            Turn::call("no_such_tool", &json!({})).using(95_000, 500).into(),
            Turn::text("SUMMARY").into(),
            run("true"),
            Turn::text("over").into(),
            Turn::text("over").into(),
        ],
    );
    let harness = ["-c", "harness=\"native\"", "-c", "model_context_window=100000"];
    let exec = |more: &[&str]| place.run(&[&["exec"], harness.as_slice(), more].concat());
    let first = exec(&["do it"]);
    assert!(first.stderr.contains("\n2 calls, 1 failed\ntokens used\n"), "{first:?}");
    let second = exec(&["resume", "--last", "go on"]);
    assert!(second.stderr.contains("\n2 calls, 1 failed\ntokens used\n"), "{second:?}");
}

/// A reply that the output limit ends in the middle of a call, as a server of Chat Completions sends it.
fn torn(name: &str, arguments: &str) -> Step {
    let call =
        json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}});
    let chunk = |delta: serde_json::Value, finish: serde_json::Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}))
    };
    let stream = [
        chunk(json!({"role": "assistant", "content": "I write it."}), json!(null)),
        chunk(json!({"tool_calls": [call]}), json!(null)),
        chunk(json!({}), json!("length")),
        "data: [DONE]\n\n".to_owned(),
    ];
    Step::stream(vec![stream.concat().into_bytes()], demo::scripted::End::Clean)
}

#[test]
fn a_call_that_was_cut_off_is_answered_and_never_run() {
    // pi mends JSON that ends too early, and would run what it makes of it.
    for (harness, tool, arguments) in [
        ("native", "exec_command", r#"{"cmd": "echo torn > torn; echo "#),
        ("claude-code", "Bash", r#"{"command": "echo torn > torn", "descr"#),
        ("opencode", "bash", r#"{"command": "echo torn > torn"#),
        ("pi", "bash", r#"{"command": "echo torn > torn"#),
        ("pi", "bash", ""),
        ("kimi-code", "Bash", r#"{"command": "echo torn > torn"#),
    ] {
        let place = Place::new(WireId::Chat, vec![torn(tool, arguments), Turn::text("over").into()]);
        let ran = place.exec(&["-c", &format!("harness=\"{harness}\"")]);
        assert_eq!(ran.code, Some(0), "{harness}: {ran:?}");
        assert!(!place.file("torn").exists(), "{harness} ran it");
        let request = place.request(1);
        assert_paired(WireId::Chat, &request);
        let results = request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").count();
        assert_eq!(results, 1, "{harness}: the model is told: {request}");
    }
}
