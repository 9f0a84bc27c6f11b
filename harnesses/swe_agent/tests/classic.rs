//! The classic commands, as functions and as text.
use pretty_assertions::assert_eq;
use protocol::{Action, ChangeDone, ChangeKind, Content, FileKind, Found, Hit, New, Outcome, World};
use serde_json::json;

use super::*;
use crate::Flow;

const M: &str = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 3\n";
const NO_FILE: &str = "(Open file: n/a)\n(Current directory: /repo)\nbash-$";
const M_OPEN: &str = "(Open file: /repo/m.py)\n(Current directory: /repo)\nbash-$";

fn hit(path: &str, lines: u64) -> Hit {
    let lines = (0..lines).map(|n| (n, "x".to_owned(), false)).collect();
    Hit { path: path.into(), lines, ..Hit::default() }
}

fn changed() -> Outcome {
    let stamp = Some(stamp());
    let done = ChangeDone { path: "/repo/m.py".into(), to: None, kind: ChangeKind::Update, diff: String::new(), stamp };
    Outcome::Changed(vec![done])
}

fn long() -> String {
    (1..=250).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn windows() {
    let mut stage = Stage::new("swe_agent_classic");
    assert_eq!(stage.step("scroll_up", empty(), &[]), format!("No file open. Use the open command first.\n{NO_FILE}"));
    assert_eq!(
        stage.step("open", json!({"path": "m.py"}), &[file(M)]),
        format!(
            "[File: m.py (9 lines total)]\n1:import os\n2:\n3:\n4:def a():\n5:    return 1\n6:\n7:\n8:def b():\n9:    return 3\n\n{M_OPEN}"
        )
    );
    let at_line = stage.step("open", json!({"path": "long.txt", "line_number": 120}), &[file(&long())]);
    let state = "(Open file: /repo/long.txt)\n(Current directory: /repo)\nbash-$";
    assert!(
        at_line.starts_with("[File: long.txt (250 lines total)]\n(102 more lines above)\n103:line 103\n"),
        "{at_line}"
    );
    assert!(at_line.ends_with(&format!("\n202:line 202\n(48 more lines below)\n{state}")), "{at_line}");
    let up = stage.step("scroll_up", empty(), &[file(&long())]);
    assert!(up.starts_with("[File: /repo/long.txt (250 lines total)]\n(4 more lines above)\n5:line 5\n"), "{up}");
    let down = stage.step("scroll_down", empty(), &[file(&long())]);
    assert!(down.starts_with("[File: /repo/long.txt (250 lines total)]\n(102 more lines above)\n"), "{down}");
    let check = |args: Value, expected: &str| {
        let (_, answer) = stage.run(&call("goto", args), &[file(&long())]);
        assert_eq!(answer, Answer::plain(format!("{expected}\n{state}")));
    };
    check(json!({"line_number": 999}), "Error: 999 must be less than or equal to 250");
    check(json!({"line_number": "x"}), "Error: x must be a number");
}

#[test]
fn opening_what_cannot_be_opened() {
    let check = |args: Value, outcome: Outcome, expected: &str| {
        let (_, answer) = Stage::new("swe_agent_classic").run(&call("open", args), &[outcome]);
        assert_eq!(answer, Answer::plain(format!("{expected}\n{NO_FILE}")));
    };
    check(json!({"path": "no"}), missing("/repo/no"), "Error: File no not found");
    check(
        json!({"path": "pkg"}),
        Outcome::Failed(Failure::NotAFile { path: "/repo/pkg".into(), kind: FileKind::Folder }),
        "Error: pkg is a directory. You can only open files. Use cd or ls to navigate directories.",
    );
}

#[test]
fn edits_by_line_numbers() {
    let mut stage = Stage::new("swe_agent_classic");
    let args = json!({"start_line": 8, "end_line": 9, "replacement_text": "def b():\n    return 4\n"});
    assert_eq!(
        stage.step("edit", args.clone(), &[]),
        format!("No file opened. Use the `open` command first.\n{NO_FILE}")
    );
    stage.step("open", json!({"path": "m.py"}), &[file(M)]);
    let (did, answer) = stage.run(&call("edit", args), &[file(M), changed()]);
    let text = answer.content.text();
    let window = "[File: /repo/m.py (10 lines total)]\n1:import os\n2:\n3:\n4:def a():\n5:    return 1\n6:\n7:\n8:def b():\n9:    return 4\n10:\n";
    assert!(text.ends_with(&format!("\n{window}{M_OPEN}")), "{text}");
    assert_eq!(text.split("[File").next().unwrap().lines().count(), 2);
    let Action::World(World::Change(changes)) = &did[1].action else { panic!() };
    assert_eq!(changes[0].new, New::Splices(vec![(36..58, "def b():\n    return 4\n\n".into())]));
    let args = json!({"start_line": 5, "end_line": 2, "replacement_text": ""});
    let (_, answer) = stage.run(&call("edit", args), &[file(M)]);
    assert!(answer.content.text().starts_with("Error: start_line (5) must be less than or equal to end_line (2)"));
}

#[test]
fn searches() {
    let check = |name: &str, args: Value, outcome: Outcome, expected: &str| {
        let (_, answer) = Stage::new("swe_agent_classic").run(&call(name, args), &[outcome]);
        assert_eq!(answer, Answer::plain(format!("{expected}\n{NO_FILE}")));
    };
    let found = |hits: Vec<Hit>| Found { hits, more: false };
    check(
        "search_dir",
        json!({"search_term": "line 24"}),
        Outcome::Matches(found(vec![hit("/repo/long.txt", 11)])),
        "Found 11 matches for \"line 24\" in /repo:\n/repo/long.txt (11 matches)\nEnd of matches for \"line 24\" in /repo",
    );
    check(
        "search_dir",
        json!({"search_term": "x", "dir": "pkg"}),
        Outcome::Matches(found(vec![])),
        "No matches found for \"x\" in /repo/pkg",
    );
    let many = (0..101).map(|n| hit(&format!("/repo/{n}"), 1)).collect();
    check(
        "search_dir",
        json!({"search_term": "x"}),
        Outcome::Matches(found(many)),
        "More than 101 files matched for \"x\" in /repo. Please narrow your search.",
    );
    check("search_dir", json!({"search_term": "x", "dir": "no"}), missing("/repo/no"), "Directory /repo/no not found");
    check(
        "find_file",
        json!({"file_name": "*.py"}),
        Outcome::Paths(found(vec![hit("/repo/m.py", 0)])),
        "Found 1 matches for \"*.py\" in /repo:\n/repo/m.py",
    );
    check(
        "find_file",
        json!({"file_name": "*.c"}),
        Outcome::Paths(found(vec![])),
        "No matches found for \"*.c\" in /repo",
    );
    check(
        "search_file",
        json!({"search_term": "return", "file": "m.py"}),
        file(M),
        "Found 2 matches for \"return\" in /repo/m.py:\nLine 5:    return 1\nLine 9:    return 3\nEnd of matches for \"return\" in /repo/m.py",
    );
    check(
        "search_file",
        json!({"search_term": "line", "file": "l"}),
        file(&long()),
        "More than 250 lines matched for \"line\" in /repo/l. Please narrow your search.",
    );
}

#[test]
fn creating() {
    let mut stage = Stage::new("swe_agent_classic");
    assert_eq!(
        stage.step("create", json!({"filename": "new.py"}), &[missing("/repo/new.py"), changed()]),
        "[File: new.py (0 lines total)]\n(Open file: /repo/new.py)\n(Current directory: /repo)\nbash-$"
    );
    assert_eq!(
        stage.step("bash", json!({"command": "true"}), &[ran("", 0)]),
        "Your command ran successfully and did not produce any output.\n(Open file: /repo/new.py)\n(Current directory: /repo)\nbash-$"
    );
    let there = Outcome::Stat { kind: FileKind::File, stamp: stamp(), link: None };
    let text = stage.step("create", json!({"filename": "new.py"}), &[there]);
    assert!(text.starts_with("Warning: File 'new.py' already exists.\n"));
}

#[test]
fn old_observations_keep_their_length_only() {
    let mut stage = Stage::new("swe_agent_classic");
    stage.push(user("x"));
    stage.say(0);
    for n in 0..7 {
        let from = stage.items.len();
        let output: String = (0..17 + n).map(|line| format!("{line}\n")).collect();
        stage.step("bash", json!({"command": "cat"}), &[ran(&output, 0)]);
        stage.say(from);
    }
    let view = SweAgent.view(&stage.cx()).unwrap();
    assert_eq!(view.len(), stage.said.len());
    let texts: Vec<String> = view
        .iter()
        .filter_map(|entry| match entry {
            Entry::Results { results, .. } => Some(results[0].answer.content.text()),
            _ => None,
        })
        .collect();
    assert_eq!(
        texts[..2],
        ["Old environment output: (20 lines omitted)", "Old environment output: (21 lines omitted)"]
    );
    assert!(texts[2..].iter().all(|text| text.ends_with("bash-$")));
    assert_eq!(view[0], stage.said[0]);
}

#[test]
fn the_text_form_has_commands_in_fences() {
    let mut stage = Stage::new("swe_agent_text");
    stage.push(user("x"));
    stage.say(0);
    let said = "DISCUSSION\nI look.\n```\nopen m.py\n```";
    let Reading::Calls { calls, repaired: 0, .. } = SweAgent.read(&stage.cx(), &reply(vec![Block::text(said)])) else {
        panic!()
    };
    stage.push(replied(vec![Block::text(said)]));
    stage.push(Body::Read { calls: calls.clone(), dropped: false, repaired: 0 });
    let answer = stage.carried_out(&calls[0], &[file(M)]);
    assert!(answer.ends_with(M_OPEN));
    assert_eq!(stage.say(1), vec![Entry::Assistant(vec![Block::text(said)]), Entry::User(Content::Plain(answer))]);
    let pair = stage.again(vec![Block::text("open m.py")]);
    assert_eq!(pair[0], Entry::Assistant(vec![Block::text("open m.py")]));
    let blocked = stage.again(vec![Block::text("```\nnano x\n```")]);
    assert_eq!(
        blocked[1],
        Entry::User(Content::Plain("Operation 'nano x' is not supported by this environment.".into()))
    );
    // The classic submit hands in at once.
    let submit =
        Call { id: "s".into(), namespace: None, name: "submit".into(), args: "submit".into(), form: CallForm::InText };
    stage.push(replied(vec![Block::text("```\nsubmit\n```")]));
    stage.push(Body::Read { calls: vec![submit.clone()], dropped: false, repaired: 0 });
    stage.carried_out(&submit, &[ran("diff\n", 0)]);
    assert_eq!(
        SweAgent.after(&stage.cx(), &stage.items[stage.items.len() - 3..]),
        Flow::End(crate::End::Submitted("diff\n".into()))
    );
}
