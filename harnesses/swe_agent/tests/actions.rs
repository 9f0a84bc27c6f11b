//! Observations of the default tools, case by case as captured.
use pretty_assertions::assert_eq;
use protocol::{
    Action, Captured, ChangeDone, ChangeKind, Exit, Failure, FileKind, Found, Hit, New, Outcome, Refusal, World,
};
use serde_json::{Value, json};

use super::*;
use crate::Flow;

const M: &str = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n";

fn check(name: &str, args: Value, outcomes: &[Outcome], expected: &str) {
    let (_, answer) = Stage::new("").run(&call(name, args.clone()), outcomes);
    assert_eq!(answer, Answer::plain(expected), "{name} {args}");
}

fn edit(args: Value, outcomes: &[Outcome], expected: &str) {
    check("str_replace_editor", args, outcomes, &format!("OBSERVATION:\n{expected}"));
}

fn changed() -> Outcome {
    let stamp = Some(stamp());
    let done = ChangeDone { path: "/repo/m.py".into(), to: None, kind: ChangeKind::Update, diff: String::new(), stamp };
    Outcome::Changed(vec![done])
}

fn hit(path: &str) -> Hit {
    Hit { path: path.into(), ..Hit::default() }
}

fn folder(path: &str) -> Outcome {
    Outcome::Failed(Failure::NotAFile { path: path.into(), kind: FileKind::Folder })
}

fn stat(kind: FileKind) -> Outcome {
    Outcome::Stat { kind, stamp: stamp(), link: None }
}

#[test]
fn commands() {
    let bash =
        |command: &str, outcome, expected: &str| check("bash", json!({"command": command}), &[outcome], expected);
    bash("ls; echo err >&2; false", ran("long.txt  m.py\nerr\n", 1), "OBSERVATION:\nlong.txt  m.py\nerr");
    bash("true", ran("", 0), "Your command ran successfully and did not produce any output.");
    bash("false", ran("\n", 1), "Your command ran successfully and did not produce any output.");
    bash("x", Outcome::Refused(Refusal::User { feedback: None }), "OBSERVATION:\nThe user rejected this action.");
    bash("x", Outcome::Failed(Failure::Sandbox("no namespaces".into())), "OBSERVATION:\nno namespaces");
}

#[test]
fn a_command_that_takes_too_long() {
    let timed_out = Outcome::Ran {
        output: Captured::whole("part"),
        exit: Exit::TimedOut(30_000),
        cwd_after: None,
        task: None,
        left: false,
    };
    let mut stage = Stage::new("");
    for n in 1..=3 {
        let text = stage.step("bash", json!({"command": "sleep 40"}), std::slice::from_ref(&timed_out));
        assert!(
            text.starts_with(
                "OBSERVATION:\nThe command 'sleep 40' was cancelled because it took more than 30 seconds. "
            ),
            "{text}"
        );
        let flow = SweAgent.after(&stage.cx(), &stage.items[stage.items.len() - 2..]);
        assert_eq!(matches!(flow, Flow::End(crate::End::GaveUp(_))), n == 3, "{flow:?}");
    }
}

#[test]
fn long_output_is_cut_at_100_000_characters() {
    let text: String = (1..=30_000).map(|n| format!("{n}\n")).collect();
    let (_, answer) = Stage::new("").run(&call("bash", json!({"command": "seq 1 30000"})), &[ran(&text, 0)]);
    let answer = answer.content.text();
    let head = &text[..100_000];
    let note = answer.strip_prefix(&format!("Observation: {head}<response clipped><NOTE>")).unwrap();
    assert!(note.contains("100000 characters") && note.contains("68893 characters were elided"), "{note}");
    assert!(note.ends_with("</NOTE>"));
}

#[test]
fn the_shell_is_kept_and_its_folder_is_known() {
    let mut stage = Stage::new("");
    stage.step("bash", json!({"command": "cd /tmp && export X=5 && pwd"}), &[ran_in("/tmp\n", 0, "/tmp")]);
    let (did, answer) = stage.run(&call("bash", json!({"command": "echo $X; pwd"})), &[ran_in("5\n/tmp\n", 0, "/tmp")]);
    assert_eq!(answer, Answer::plain("OBSERVATION:\n5\n/tmp"));
    let Action::World(World::Run(run)) = &did[0].action else { panic!() };
    assert_eq!(
        (&run.shell, run.cwd.as_deref(), run.timeout, run.track_cwd),
        (&protocol::Shell::Kept("swe-agent".into()), Some(std::path::Path::new("/tmp")), Some(30_000), true)
    );
    let text = stage.step("str_replace_editor", json!({"command": "view", "path": "m.py"}), &[]);
    assert_eq!(
        text,
        "OBSERVATION:\nThe path m.py is not an absolute path, it should start with `/`. Maybe you meant /tmp/m.py?"
    );
    // The folder is gone: the next shell starts in the thread's.
    let gone = Outcome::Failed(Failure::Spawn { errno: 2, message: "No such file or directory".into() });
    let (did, answer) = stage.run(&call("bash", json!({"command": "pwd"})), &[gone, ran("/repo\n", 0)]);
    assert_eq!((did.len(), answer), (2, Answer::plain("OBSERVATION:\n/repo")));
}

#[test]
fn several_lines_are_read_before_any_is_run() {
    let stage = Stage::new("");
    let call = call("bash", json!({"command": "echo a\nif then (("}));
    let (did, answer) = stage.run(&call, &[ran("bash: line 2: syntax error near unexpected token `then'\n", 2)]);
    assert_eq!(script_of(&did[0]), "bash -n <<'INTERPRETER_END'\necho a\nif then ((\nINTERPRETER_END");
    assert!(
        answer
            .content
            .text()
            .ends_with("Here is the output of `bash -n`:\n\nbash: line 2: syntax error near unexpected token `then'\n")
    );
    let (did, answer) = stage.run(&call, &[ran("", 0), ran("a\n", 0)]);
    assert_eq!((did.len(), answer), (2, Answer::plain("OBSERVATION:\na")));
    // One line is given to the shell, which runs nothing of a line that it cannot read.
    let one = super::call("bash", json!({"command": "cat log"}));
    let (did, answer) = stage.run(&one, &[ran("syntax error\n", 1), ran("", 0)]);
    assert_eq!((did.len(), answer), (2, Answer::plain("OBSERVATION:\nsyntax error")));
}

#[test]
fn views() {
    let view = |path: &str, range: Value| json!({"command": "view", "path": path, "view_range": range});
    edit(
        view("/repo/m.py", json!([4, 5])),
        &[file(M)],
        "Here's the result of running `cat -n` on /repo/m.py:\n     4\tdef a():\n     5\t    return 1\n",
    );
    edit(
        view("/repo/m.py", json!([8, -1])),
        &[file(M)],
        "Here's the result of running `cat -n` on /repo/m.py:\n     8\tdef b():\n     9\t    return 2\n    10\t\n",
    );
    edit(
        json!({"command": "view", "path": "/repo/t"}),
        &[file("\tx\r\ny")],
        "Here's the result of running `cat -n` on /repo/t:\n     1\t        x\n     2\ty\n",
    );
    edit(
        view("/repo/m.py", json!([40, 50])),
        &[file(M)],
        "Invalid `view_range`: [40, 50]. Its first element `40` should be within the range of lines of the file: [1, 10]",
    );
    edit(
        view("/repo/m.py", json!([4, 50])),
        &[file(M)],
        "Invalid `view_range`: [4, 50]. Its second element `50` should be smaller than the number of lines in the file: `10`",
    );
    edit(
        view("/repo/m.py", json!([4, 2])),
        &[file(M)],
        "Invalid `view_range`: [4, 2]. Its second element `2` should be larger or equal than its first `4`",
    );
    edit(view("/repo/m.py", json!([4])), &[file(M)], "Invalid `view_range`. It should be a list of two integers.");
    edit(
        view("/repo/m.py", json!("[4, 5]")),
        &[file(M)],
        "Here's the result of running `cat -n` on /repo/m.py:\n     4\tdef a():\n     5\t    return 1\n",
    );
    edit(
        view("/repo", json!([1, 2])),
        &[folder("/repo")],
        "The `view_range` parameter is not allowed when `path` points to a directory.",
    );
    let hits = ["/repo/.git", "/repo/.git/config", "/repo/pkg", "/repo/pkg/.x", "/repo/pkg/m.py"].map(hit).to_vec();
    edit(
        json!({"command": "view", "path": "/repo"}),
        &[folder("/repo"), Outcome::Paths(Found { hits, more: false })],
        "Here's the files and directories up to 2 levels deep in /repo, excluding hidden items:\n/repo\n/repo/pkg\n/repo/pkg/m.py\n\n",
    );
    edit(
        json!({"command": "view", "path": "pkg/m.py"}),
        &[],
        "The path pkg/m.py is not an absolute path, it should start with `/`. Maybe you meant /repo/pkg/m.py?",
    );
    edit(
        json!({"command": "view", "path": "/repo/no"}),
        &[missing("/repo/no")],
        "The path /repo/no does not exist. Please provide a valid path.",
    );
    edit(
        json!({"command": "delete", "path": "/repo/m.py"}),
        &[file(M)],
        "Unrecognized command delete. The allowed commands for the str_replace_editor tool are: \"view\", \"create\", \"str_replace\", \"insert\", \"undo_edit\"",
    );
}

#[test]
fn a_long_file_is_cut_at_16_000_characters() {
    let text = "é".repeat(16_001);
    let (_, answer) =
        Stage::new("").run(&call("str_replace_editor", json!({"command": "view", "path": "/l"})), &[file(&text)]);
    let head = "é".repeat(16_000);
    let text = answer.content.text();
    assert!(text.starts_with(&format!(
        "OBSERVATION:\nHere's the result of running `cat -n` on /l:\n     1\t{head}<response clipped><NOTE>"
    )));
    assert!(text.ends_with("</NOTE>\n"));
}

#[test]
fn a_long_python_file_is_shown_in_outline() {
    let body = "    x = 1\n".repeat(2_000);
    let text = format!("import os\n\ndef f():\n{body}");
    edit(
        json!({"command": "view", "path": "/repo/l.py"}),
        &[file(&text)],
        &format!(
            "{}\n     1 import os\n     2 \n     3 def f():\n     4 ... eliding lines 4-2003 ...\n{}",
            super::super::editor::ABBREVIATED,
            super::super::editor::ELIDED
        ),
    );
    let (_, answer) = Stage::new("").run(
        &call("str_replace_editor", json!({"command": "view", "path": "/repo/l.py", "view_range": [1, 3]})),
        &[file(&text)],
    );
    assert!(answer.content.text().ends_with("on /repo/l.py:\n     1\timport os\n     2\t\n     3\tdef f():\n"));
}

#[test]
fn creating() {
    let create = |path: &str| json!({"command": "create", "path": path, "file_text": "hello\nworld\n"});
    let absent = missing("/repo/new.txt");
    edit(
        create("/repo/new.txt"),
        &[absent.clone(), stat(FileKind::Folder), changed()],
        "File created successfully at: /repo/new.txt",
    );
    edit(
        create("/repo/new.txt"),
        &[stat(FileKind::File), stat(FileKind::Folder)],
        "File already exists at: /repo/new.txt. Cannot overwrite files using command `create`.",
    );
    edit(
        create("/repo/no/new.txt"),
        &[absent.clone(), missing("/repo/no")],
        "The parent directory /repo/no does not exist. Please create it first.",
    );
    edit(
        json!({"command": "create", "path": "/repo/n"}),
        &[absent.clone(), stat(FileKind::Folder)],
        "Parameter `file_text` is required for command: create",
    );
    let sandbox = Outcome::Refused(Refusal::Sandbox { path: "/etc/n".into(), read_only: false });
    edit(create("/etc/n"), &[absent, stat(FileKind::Folder), sandbox], "[Errno 13] Permission denied: '/etc/n'");
}

#[test]
fn replacing() {
    let replace =
        |old: &str, new: &str| json!({"command": "str_replace", "path": "/repo/m.py", "old_str": old, "new_str": new});
    edit(
        replace("return 2", "return 3"),
        &[file(M), changed()],
        "The file /repo/m.py has been edited. Here's the result of running `cat -n` on a snippet of /repo/m.py:\n     4\tdef a():\n     5\t    return 1\n     6\t\n     7\t\n     8\tdef b():\n     9\t    return 3\nReview the changes and make sure they are as expected. Edit the file again if necessary.",
    );
    edit(
        replace("nope", "x"),
        &[file(M)],
        "No replacement was performed, old_str `nope` did not appear verbatim in /repo/m.py.",
    );
    edit(
        replace("return", "x"),
        &[file(M)],
        "No replacement was performed. Multiple occurrences of old_str `return` in lines [5, 9]. Please ensure it is unique",
    );
    edit(
        replace("def b", "def b"),
        &[file(M)],
        "No replacement was performed, old_str `def b` is the same as new_str `def b`.",
    );
    edit(
        json!({"command": "str_replace", "path": "/repo/m.py"}),
        &[file(M)],
        "Parameter `old_str` is required for command: str_replace",
    );
    edit(
        replace("a", "b"),
        &[folder("/repo/m.py")],
        "The path /repo/m.py is a directory and only the `view` command can be used on directories",
    );
    let full = Outcome::Failed(Failure::Io {
        path: "/repo/m.py".into(),
        errno: 28,
        message: "No space left on device".into(),
    });
    edit(
        replace("def b", "def c"),
        &[file(M), full],
        "Ran into [Errno 28] No space left on device: '/repo/m.py' while trying to write to /repo/m.py",
    );
}

#[test]
fn only_the_bytes_behind_a_match_change() {
    let check = |text: &str, old: &str, new: &str, expected: (u64, u64, &str)| {
        let args = json!({"command": "str_replace", "path": "/f", "old_str": old, "new_str": new});
        let (did, _) = Stage::new("").run(&call("str_replace_editor", args), &[file(text), changed()]);
        let Action::World(World::Change(changes)) = &did[1].action else { panic!() };
        assert_eq!(changes[0].new, New::Splices(vec![(expected.0..expected.1, expected.2.into())]), "{text:?}");
    };
    check("a:\n\tcc x.c\n", "        cc x.c", "\tcc y.c", (3, 10, "\tcc y.c"));
    check("a\r\nb\r\nc", "b\nc", "d\ne", (3, 7, "d\r\ne"));
    check("\tx", "    x", "    y", (0, 2, "        y"));
}

#[test]
fn inserting() {
    let insert = |line: Value, text: &str| json!({"command": "insert", "path": "/repo/m.py", "insert_line": line, "new_str": text});
    edit(
        insert(json!(1), "import sys"),
        &[file("import os\n\n\ndef a():\n\treturn 1\n"), changed()],
        "The file /repo/m.py has been edited. Here's the result of running `cat -n` on a snippet of the edited file:\n     1\timport os\n     2\timport sys\n     3\t\n     4\t\n     5\tdef a():\n     6\t        return 1\nReview the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.",
    );
    edit(
        insert(json!(99), "x"),
        &[file(M)],
        "Invalid `insert_line` parameter: 99. It should be within the range of lines of the file: [0, 10]",
    );
    edit(
        insert(json!(-1), "x"),
        &[file(M)],
        "Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 10]",
    );
    edit(
        json!({"command": "insert", "path": "/repo/m.py", "new_str": "x"}),
        &[file(M)],
        "Parameter `insert_line` is required for command: insert",
    );
    edit(
        json!({"command": "insert", "path": "/repo/m.py", "insert_line": 1}),
        &[file(M)],
        "Parameter `new_str` is required for command: insert",
    );
    let splice = |text: &str, line: i64| {
        let call = call("str_replace_editor", insert(json!(line), "N"));
        let (did, _) = Stage::new("").run(&call, &[file(text), changed()]);
        let Action::World(World::Change(changes)) = &did[1].action else { panic!() };
        changes[0].new.clone()
    };
    assert_eq!(splice("a\nb\n", 0), New::Splices(vec![(0..0, "N\n".into())]));
    assert_eq!(splice("a\r\n\tb\r\n", 1), New::Splices(vec![(3..3, "N\r\n".into())]));
    assert_eq!(splice("a\nb", 2), New::Splices(vec![(3..3, "\nN".into())]));
}

#[test]
fn undoing() {
    edit(json!({"command": "undo_edit", "path": "/repo/m.py"}), &[file(M)], "No edit history found for /repo/m.py.");
}

#[test]
fn the_second_submit_hands_in() {
    let mut stage = Stage::new("");
    stage.push(user("mend it"));
    let patch = "diff --git a/m.py b/m.py\n+x\n";
    let text = stage.step("submit", empty(), &[ran(patch, 0)]);
    assert!(text.starts_with("OBSERVATION:\n") && text.ends_with(&format!("\n\n<diff>\n{patch}\n</diff>")), "{text}");
    let flow = |stage: &Stage| SweAgent.after(&stage.cx(), &stage.items[stage.items.len() - 2..]);
    assert_eq!(flow(&stage), Flow::Step);
    stage.step("submit", empty(), &[ran(patch, 0)]);
    assert_eq!(flow(&stage), Flow::End(crate::End::Submitted(patch.into())));
    // A new task is looked at again before it is handed in.
    stage.push(user("and this"));
    stage.step("submit", empty(), &[ran("", 0)]);
    assert_eq!(flow(&stage), Flow::Step);
    stage.step("submit", empty(), &[ran("", 0)]);
    assert_eq!(flow(&stage), Flow::End(crate::End::Done));
}
