//! The runtime's halves behind the tools of harnesses: background work, skills, pages, plan mode, sub-agents.
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
};

use demo::scripted::{Recorded, Server, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::Place;

fn skill(place: &Place, path: &str, text: &str) {
    let file = place.root().join(path).join("SKILL.md");
    fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    fs::write(file, text).expect("a skill");
}

/// Texts of the user's messages in a chat request.
fn said(request: &Value) -> Vec<String> {
    let of = |m: &Value| match &m["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let messages = request["messages"].as_array().expect("messages");
    messages.iter().filter(|m| m["role"] == "user").map(of).collect()
}

/// Bodies of the items in the session file.
fn bodies(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.rollout()).expect("a rollout");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_skill_that_the_user_names_follows_the_prompt() {
    let place = Place::new(WireId::Chat, vec![Turn::text("done").into()]);
    let text = "---\nname: shout\ndescription: Says it loud\n---\n\nWRITE IN CAPITALS\n";
    skill(&place, "work/.agents/skills/shout", text);
    skill(&place, "home/.agents/skills/shout", "---\ndescription: Another\n---\n");
    skill(&place, "home/.openinterpreter/skills/quiet", "---\ndescription: Says it softly\n---\n");
    let ran = place.run(&["exec", "--json", "please $shout and $nothing"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = place.request(0);
    let file = place.file(".agents/skills/shout/SKILL.md").canonicalize().expect("the file");
    let told = said(&request);
    let expected = format!("<skill>\n<name>shout</name>\n<path>{}</path>\n{text}\n</skill>", file.display());
    assert_eq!(told.last(), Some(&expected));
    assert_eq!(told[told.len() - 2], "please $shout and $nothing");
    let all = request.to_string();
    for (listed, there) in [("Says it loud", true), ("Says it softly", true), ("Another", false)] {
        assert_eq!(all.contains(listed), there, "{listed}");
    }
}

/// The session file so far; empty before there is one.
fn written(home: &Path) -> String {
    let mut files = Vec::new();
    crate::place::collect(&home.join(".openinterpreter/sessions"), &mut files);
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
}

#[test]
fn the_end_of_a_task_is_recorded_and_its_item_completed() {
    let home: Arc<OnceLock<PathBuf>> = Arc::default();
    let known = home.clone();
    let server = Server::start(move |n, _| {
        let over = known.get().is_some_and(|home| written(home).contains("task_ended"));
        match n {
            0 => {
                Turn::call("exec_command", &json!({"cmd": "cat gate; echo over; exit 3", "yield_time_ms": 250})).into()
            }
            1 => Turn::call("exec_command", &json!({"cmd": "echo go > gate"})).into(),
            _ if over || n > 500 => Turn::text("done").into(),
            _ => Turn::call("exec_command", &json!({"cmd": "true"})).into(),
        }
    });
    let place = Place::with(WireId::Chat, server.expect("a port"));
    home.set(place.home()).expect("once");
    assert!(Command::new("mkfifo").arg(place.file("gate")).status().expect("mkfifo").success());
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ended = ran.events().into_iter().find(|e| e["type"] == "item.completed" && e["item"]["exit_code"] == 3);
    assert_eq!(ended.expect("the task's item")["item"]["aggregated_output"], "go\nover\n");
    let notices: Vec<Value> =
        bodies(&place).iter().filter_map(|line| line.pointer("/payload/body/notice/task_ended").cloned()).collect();
    let [notice] = notices.as_slice() else { panic!("{}", written(&place.home())) };
    assert_eq!(notice["command"], "cat gate; echo over; exit 3");
    assert_eq!((&notice["exit"], &notice["output"]["text"]), (&json!({"code": 3}), &json!("go\nover\n")));
    // This dialect has no words for it: the model polls.
    let requests = place.requests();
    assert!(requests.iter().all(|r| !r.json().to_string().contains("over\\n")), "the end was told");
}

#[test]
fn an_end_that_a_call_was_told_of_is_no_news() {
    let script = |n: usize, request: &Recorded| match n {
        0 => Turn::call("exec_command", &json!({"cmd": "cat gate", "yield_time_ms": 250})).into(),
        1 => {
            let text = request.json().to_string();
            let id = text.rsplit("with session ID ").next().and_then(|rest| rest.get(..5)).unwrap_or_default();
            let id: u64 = id.parse().expect("a session ID");
            Turn::call("exec_command", &json!({"cmd": "echo go > gate"}))
                .and_call("write_stdin", &json!({"session_id": id, "yield_time_ms": 30_000}))
                .into()
        }
        _ => Turn::text("done").into(),
    };
    let place = Place::with(WireId::Chat, Server::answering(script).expect("a port"));
    assert!(Command::new("mkfifo").arg(place.file("gate")).status().expect("mkfifo").success());
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = place.request(2).to_string();
    assert_eq!(request.matches("Process exited with code 0").count(), 2, "{request}");
    assert!(!written(&place.home()).contains("task_ended"), "{}", written(&place.home()));
}

#[test]
fn an_ephemeral_thread_saves_where_no_command_can_write_and_leaves_nothing() {
    let place = Place::new(
        WireId::Messages,
        vec![Turn::call("Bash", &json!({"command": "seq 20000"})).into(), Turn::text("done").into()],
    );
    let ran =
        place.run(&["exec", "--json", "--ephemeral", "-c", "harness=claude-code-bare", "-s", "workspace-write", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = place.request(1).to_string();
    let scratch = place.home().join(".openinterpreter/tmp");
    let folder = format!("{}/{}/", scratch.display(), ran.thread());
    assert!(told.contains(&folder), "{folder} is not named in {told}");
    assert_eq!(fs::read_dir(&scratch).expect("our folder").count(), 0, "nothing stays");
}
