//! Sessions over several processes: resume, fork, ephemeral, repair after a crash.
use std::{fs, io::Write as _, time::Duration};

use demo::scripted::{Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::{
    pairs::{assert_paired, pairs},
    place::Place,
};

fn place() -> Place {
    Place::new(WireId::Chat, vec![Turn::text("first answer").into(), Turn::text("second answer").into()])
}

/// Role and text of each message but the opening.
fn said(request: &Value) -> Vec<(String, String)> {
    let messages = request["messages"].as_array().expect("messages");
    let text = |m: &Value| match &m["content"] {
        Value::String(text) => text.clone(),
        parts => parts.as_array().into_iter().flatten().filter_map(|p| p["text"].as_str()).collect(),
    };
    messages.iter().map(|m| (m["role"].as_str().unwrap_or_default().to_owned(), text(m))).collect()
}

#[test]
fn a_resumed_thread_knows_what_was_said_and_adds_up_its_tokens() {
    let place = place();
    let first = place.exec(&[]);
    let second = place.run(&["exec", "--json", "-s", "workspace-write", "resume", &first.thread(), "and now"]);
    assert_eq!(second.code, Some(0), "{second:?}");
    assert_eq!(second.thread(), first.thread());
    let usage = |ran: &crate::place::Ran| ran.events().last().unwrap()["usage"]["input_tokens"].clone();
    assert_eq!((usage(&first), usage(&second)), (json!(100), json!(200)));
    let said = said(&place.request(1));
    let tail: Vec<(&str, &str)> = said[said.len() - 3..].iter().map(|(r, t)| (r.as_str(), t.as_str())).collect();
    assert_eq!(tail, [("user", "do it"), ("assistant", "first answer"), ("user", "and now")]);
}

#[test]
fn last_is_the_newest_of_this_folder() {
    let place = place();
    let first = place.exec(&[]);
    let ran = place.run(&["exec", "--json", "resume", "--last", "and now"]);
    assert_eq!(ran.thread(), first.thread());
    let other = place.root().join("other");
    fs::create_dir_all(other.join(".git/refs")).unwrap();
    let other = other.to_str().unwrap();
    let ran = place.run(&["exec", "--json", "-C", other, "resume", "--last", "elsewhere"]);
    assert_eq!(ran.code, Some(0));
    assert_ne!(ran.thread(), first.thread(), "no session of that folder: a new one");
    let ran = place.run(&["exec", "--json", "-C", other, "resume", "--last", "--all", "anywhere"]);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn an_unknown_id_is_an_error_and_an_unknown_name_a_new_session() {
    let place = place();
    let ran = place.run(&["exec", "--json", "resume", "01a22da2-3ef5-736b-8a68-7a724e84de7a", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("no rollout found for thread id 01a22da2-3ef5-736b-8a68-7a724e84de7a"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.run(&["exec", "--json", "resume", "no-such-name", "x"]).code, Some(0));
}

#[test]
fn a_fork_has_the_history_and_an_id_of_its_own() {
    let place = place();
    let first = place.exec(&[]);
    let fork = place.run(&["exec", "--json", "fork", &first.thread()]);
    assert_eq!((fork.code, fork.outline()), (Some(0), vec!["thread.started".to_owned()]));
    assert_ne!(fork.thread(), first.thread());
    let ran = place.run(&["exec", "--json", "resume", &fork.thread(), "and now"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = said(&place.request(1));
    assert!(said.contains(&("assistant".into(), "first answer".into())), "{said:?}");
}

#[test]
fn an_ephemeral_run_leaves_no_file() {
    let place = place();
    assert_eq!(place.exec(&["--ephemeral"]).code, Some(0));
    assert!(!place.home().join(".openinterpreter/sessions").exists());
}

#[test]
fn a_call_that_a_crash_left_open_is_answered_on_resume() {
    for wire in WireId::ALL {
        let call: Step = Turn::call("exec_command", &json!({"cmd": "sleep 30"})).into();
        let place = Place::new(wire, vec![call, Turn::text("gone on").into()]);
        let mut child = place
            .command(&["exec", "--json", "-s", "workspace-write", "-c", "harness=\"native\"", "do it"])
            .spawn()
            .unwrap();
        assert!(place.server.wait_for(1, Duration::from_secs(20)));
        let begun = std::time::Instant::now();
        // The reply is in the file before its calls are carried out.
        while !fs::read_to_string(place.rollout()).unwrap_or_default().contains("\"sleep 30")
            && begun.elapsed() < Duration::from_secs(20)
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let rollout = place.rollout();
        let id = fs::read_to_string(&rollout).unwrap();
        let id = serde_json::from_str::<Value>(id.lines().next().unwrap()).unwrap()["payload"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let said = place.run(&["repair", &id]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("was not answered"), "{}", said.stdout);
        let ran = place.run(&["exec", "--json", "resume", &id, "go on"]);
        assert_eq!(ran.code, Some(0), "{wire:?}: {ran:?}");
        let body = String::from_utf8_lossy(&place.requests()[1].body).into_owned();
        assert!(body.contains("aborted"), "{wire:?}: {body}");
    }
}

#[test]
fn a_torn_last_line_costs_itself_and_nothing_else() {
    let place = place();
    let first = place.exec(&[]);
    let path = place.rollout();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"ordinal\":99,\"type\":\"us\xc3").unwrap();
    drop(file);
    let second = place.run(&["exec", "--json", "-s", "workspace-write", "resume", &first.thread(), "and now"]);
    assert_eq!(second.code, Some(0), "{second:?}");
    let warned = second.events().iter().any(|e| e["item"]["message"].as_str().is_some_and(|m| m.contains("cut off")));
    assert!(warned, "{second:?}");
    let third = place.run(&["exec", "--json", "-s", "workspace-write", "resume", &first.thread(), "and then"]);
    assert_eq!(third.code, Some(0));
    let said = said(&place.request(2));
    let users: Vec<&str> = said.iter().filter(|(r, _)| r == "user").map(|(_, t)| t.as_str()).collect();
    assert_eq!(users[users.len() - 3..], ["do it", "and now", "and then"]);
}

#[test]
fn another_model_takes_over_with_a_warning() {
    let place = place();
    let first = place.exec(&[]);
    let ran = place.run(&["exec", "--json", "resume", "-m", "other-model", &first.thread(), "and now"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let message = ran
        .events()
        .iter()
        .find_map(|e| e["item"]["message"].as_str().filter(|m| m.contains("recorded with")).map(str::to_owned));
    assert!(message.is_some_and(|m| m.contains("`stub-model`") && m.contains("`other-model`")), "{ran:?}");
    assert_eq!(place.request(1)["model"], "other-model");
}

#[test]
fn a_thread_goes_on_over_another_wire() {
    for from in WireId::ALL {
        for to in WireId::ALL.into_iter().filter(|to| *to != from) {
            let call: Step = Turn::call("exec_command", &json!({"cmd": "echo one"}))
                .and_call("exec_command", &json!({"cmd": "echo two"}))
                .thinking("deep thought")
                .into();
            let mut place = Place::new(from, vec![call, Turn::text("first").into(), Turn::text("second").into()]);
            let first = place.run(&["exec", "--json", "-c", "harness=\"native\"", "do it"]);
            assert_eq!(first.code, Some(0), "{first:?}");
            place.speak(to);
            let second = place.run(&["exec", "--json", "-c", "harness=\"native\"", "resume", &first.thread(), "go on"]);
            assert_eq!(second.code, Some(0), "{from:?} to {to:?}: {second:?}");
            let request = place.request(2);
            assert_paired(to, &request);
            assert_eq!(pairs(to, &request).len(), 4, "{from:?} to {to:?}: {request}");
            let text = request.to_string();
            assert!(text.contains("first") && text.contains("go on"), "{text}");
            assert!(!text.contains("deep thought"), "reasoning of another wire stays behind: {text}");
        }
    }
}

#[test]
fn a_thread_goes_on_in_another_harness() {
    let call = |harness: &str| match harness {
        "native" => Turn::call("exec_command", &json!({"cmd": "echo one"})),
        "claude-code-bare" => Turn::call("Bash", &json!({"command": "echo one"})),
        _ => Turn::call("bash", &json!({"command": "echo one"})),
    };
    let end = |harness: &str| match harness {
        "mini-swe-agent" => Turn::call("bash", &json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})),
        _ => Turn::text("over"),
    };
    let harnesses = ["native", "claude-code-bare", "mini-swe-agent"];
    for from in harnesses {
        for to in harnesses.into_iter().filter(|to| *to != from) {
            let steps = vec![call(from).into(), end(from).into(), end(to).into()];
            let place = Place::new(WireId::Chat, steps);
            let first = place.run(&["exec", "--json", "-c", &format!("harness=\"{from}\""), "do it"]);
            assert_eq!(first.code, Some(0), "{first:?}");
            let config = format!("harness=\"{to}\"");
            let second = place.run(&["exec", "--json", "-c", &config, "resume", &first.thread(), "go on"]);
            assert_eq!(second.code, Some(0), "{from} to {to}: {second:?}");
            let request = place.request(2);
            assert_paired(WireId::Chat, &request);
            let text = request.to_string();
            for expected in ["do it", "echo one", "go on"] {
                assert!(text.contains(expected), "{from} to {to}: {expected} is missing in {text}");
            }
        }
    }
}
