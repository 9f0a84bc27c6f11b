//! Sessions that Codex began go on here: found by id, name or file, copied, never changed.
use std::{fs, path::PathBuf};

use demo::scripted::Turn;
use pretty_assertions::assert_eq;
use protocol::WireId;

use crate::place::{Place, collect};

/// Written by Codex 0.171.0 against a scripted model: a turn with reasoning, a command and a patch; one that was compacted in the
/// middle; a short one. Codex's own texts are replaced.
const RECORDED: &str = include_str!("codex/rollout-2026-11-30T20-52-38-01a22e3b-261f-7343-a82c-63a41395e7ab.jsonl");
pub(crate) const ID: &str = "01a22e3b-261f-7343-a82c-63a41395e7ab";
/// As Codex wrote them in 2025, made by hand: no ordinals, a shell tool that takes an argument list, results as JSON.
const OLDER: &str = include_str!("codex/rollout-2025-09-17T10-00-00-0199573c-0000-7000-8000-00000000c0de.jsonl");
const OLDER_ID: &str = "0199573c-0000-7000-8000-00000000c0de";

/// The lines of the first turn.
pub(crate) fn first_turn() -> String {
    let end = RECORDED.find("task_complete").expect("a turn");
    let end = end + RECORDED[end..].find('\n').expect("a line") + 1;
    RECORDED[..end].to_owned()
}

/// Into the place's `~/.codex`.
pub(crate) fn put(place: &Place, rollout: &str) -> PathBuf {
    let folder = place.home().join(".codex/sessions/2026/11/30");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("rollout-2026-11-30T20-52-38-{ID}.jsonl"));
    fs::write(&file, rollout).expect("a rollout");
    file
}

fn place(answers: usize) -> Place {
    Place::new(WireId::Chat, vec![Turn::text("answer").into(); answers])
}

fn ours(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&place.home().join(".openinterpreter/sessions"), &mut found);
    found.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    found
}

#[test]
fn what_was_compacted_is_told_as_its_summary() {
    let place = place(1);
    put(&place, RECORDED);
    let ran = place.run(&["exec", "--json", "resume", ID, "go on"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = place.request(0).to_string();
    for expected in
        ["greeting.txt was written in the first turn", "What does it say?", "Anything else?", "It says hello.", "go on"]
    {
        assert!(request.contains(expected), "{expected} is missing in {request}");
    }
    assert!(!request.contains("echo alpha"), "{request}");
    let usage = ran.events().pop().expect("an end")["usage"].clone();
    assert_eq!(usage["input_tokens"], 14_100, "what was used under Codex stays counted");
}

#[test]
fn an_older_session_goes_on_by_its_file() {
    let place = place(2);
    let file = place.root().join(format!("rollout-2025-09-17T10-00-00-{OLDER_ID}.jsonl"));
    fs::write(&file, OLDER).unwrap();
    let file = file.to_str().unwrap();
    let ran = place.run(&["exec", "--json", "resume", file, "go on"]);
    assert_eq!((ran.code, ran.thread()), (Some(0), OLDER_ID.to_owned()), "{ran:?}");
    let request = place.request(0).to_string();
    for expected in ["Count the files.", "ls | wc -l", "There are seven files.", "go on"] {
        assert!(request.contains(expected), "{expected} is missing in {request}");
    }
    assert!(!request.contains("c2VhbGVk"), "{request}");
    // The file names the thread that goes on from it.
    let ran = place.run(&["exec", "--json", "resume", file, "and now"]);
    assert_eq!((ran.code, ran.thread(), ours(&place).len()), (Some(0), OLDER_ID.to_owned(), 1), "{ran:?}");
    assert!(place.request(1).to_string().contains("go on"));
    assert_eq!(fs::read_to_string(file).unwrap(), OLDER);
}

#[test]
fn a_name_given_in_codex_is_known() {
    let place = place(1);
    put(&place, &first_turn());
    let index =
        format!("{{\"id\":\"{ID}\",\"thread_name\":\"my greeting\",\"updated_at\":\"2026-11-30T20:53:00Z\"}}\n");
    fs::write(place.home().join(".codex/session_index.jsonl"), index).unwrap();
    let ran = place.run(&["exec", "--json", "resume", "my greeting", "go on"]);
    assert_eq!((ran.code, ran.thread()), (Some(0), ID.to_owned()), "{ran:?}");
}

#[test]
fn codex_home_moves_where_they_are_looked_for() {
    let place = place(1);
    put(&place, &first_turn());
    let elsewhere = place.root().join("elsewhere");
    fs::rename(place.home().join(".codex"), &elsewhere).unwrap();
    let mut command = place.command(&["exec", "--json", "resume", ID, "go on"]);
    command.env("CODEX_HOME", &elsewhere);
    let ran = crate::place::finish(command, None);
    assert_eq!((ran.code, ran.thread()), (Some(0), ID.to_owned()), "{ran:?}");
}

#[test]
fn they_are_not_among_ours() {
    let place = place(3);
    let file = put(&place, &first_turn());
    let last = place.run(&["exec", "--json", "resume", "--last", "--all", "go on"]);
    assert_eq!(last.code, Some(0), "{last:?}");
    assert_ne!(last.thread(), ID, "a new session");
    let unknown = place.run(&["exec", "--json", "resume", "01a22da2-3ef5-736b-8a68-7a724e84de7a", "x"]);
    assert_eq!(unknown.code, Some(1));
    let fork = place.run(&["exec", "--json", "fork", ID, "try it"]);
    assert_eq!(fork.code, Some(0), "{fork:?}");
    assert_ne!(fork.thread(), ID, "a fork has an id of its own");
    assert!(place.request(1).to_string().contains("Write a greeting."));
    let before = ours(&place);
    let ephemeral = place.run(&["exec", "--json", "--ephemeral", "resume", ID, "go on"]);
    assert_eq!((ephemeral.code, ours(&place)), (Some(0), before), "{ephemeral:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), first_turn());
}

#[test]
fn what_is_no_session_is_told() {
    let place = place(0);
    fs::write(place.file("notes.jsonl"), "{\"a\":1}\n").unwrap();
    for (file, expected) in [
        ("./notes.jsonl", "notes.jsonl is not a Codex session: it has no session_meta line"),
        ("./none.jsonl", "cannot read "),
    ] {
        let ran = place.run(&["exec", "--json", "resume", file, "go on"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
}

#[test]
fn its_commands_are_told_as_commands_of_the_dialect() {
    let place = place(1);
    put(&place, &first_turn());
    let ran = place.run(&["exec", "--json", "-c", "harness=claude-code", "resume", ID, "go on"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = place.request(0);
    let messages = request["messages"].as_array().expect("messages");
    let calls: Vec<_> =
        messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten()).collect();
    let command = calls.iter().find(|call| call["function"]["name"] == "Bash").unwrap_or_else(|| panic!("{request}"));
    assert!(command["function"]["arguments"].as_str().expect("text").contains("echo alpha"), "{command}");
    let answer = messages.iter().find(|message| message["tool_call_id"] == command["id"]).expect("an answer");
    assert!(answer["content"].as_str().expect("text").starts_with("alpha"), "{answer}");
}
