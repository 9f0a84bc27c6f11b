//! run_shell_command, in the foreground and in the background.
use pretty_assertions::assert_eq;

use super::*;

fn report(command: &str, directory: &str, output: &str, code: &str, signal: &str) -> String {
    format!(
        "Command: {command}\nDirectory: {directory}\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: {signal}\nProcess Group PGID: (none)"
    )
}

#[test]
fn commands() {
    let mut s = stage(&[]);
    let mut check =
        |command: &str, outcome: Outcome, expected: &str| s.run(json!({"command": command}), outcome, expected);
    check(
        "x",
        ran("\n\n\u{1b}[31mout\u{1b}[0m\nerr\n\n", Exit::Code(3)),
        &report("x", "(root)", "out\nerr", "3", "(none)"),
    );
    check("true", ran("", Exit::Code(0)), &report("true", "(root)", "(empty)", "0", "(none)"));
    check("kill -9 $$", ran("", Exit::Signal(9)), &report("kill -9 $$", "(root)", "(empty)", "(none)", "9"));
    check(
        "x",
        ran("start\n", Exit::TimedOut(1_000)),
        "Command timed out after 1000ms before it could complete. Below is the output before it timed out:\nstart",
    );
    check(
        "x",
        ran("", Exit::TimedOut(500)),
        "Command timed out after 500ms before it could complete. There was no output before it timed out.",
    );
    check(" ", ran("", Exit::Code(0)), "Command cannot be empty.");
    check("sleep 5", ran("", Exit::Code(0)), "Blocked: standalone sleep 5. …");
    check("x", Outcome::Failed(Failure::Spawn { errno: 2, message: "?".into() }), "spawn bash ENOENT");
    check(
        "x",
        Outcome::Refused(protocol::Refusal::Rule("run_shell_command".into())),
        "Qwen Code requires permission to use \"run_shell_command\", but that permission was declined. Matching deny rule: \"run_shell_command\".",
    );
    check(
        "x",
        Outcome::Refused(protocol::Refusal::PlanMode { file: "/p".into() }),
        "Plan mode blocked this shell command because it was classified as state-modifying. …",
    );
    check(
        "x",
        Outcome::Interrupted { output: None },
        "Tool execution result was not recorded — likely interrupted by network failure, abort, or process exit. Treat as failure and retry if needed.",
    );
    s.run(
        json!({"command": "pwd", "directory": "/w/sub"}),
        ran("/w/sub\n", Exit::Code(0)),
        &report("pwd", "/w/sub", "/w/sub", "0", "(none)"),
    );
    s.run(json!({"command": "pwd", "directory": "sub"}), ran("", Exit::Code(0)), "Directory must be an absolute path.");
    s.run(
        json!({"command": "pwd", "directory": "/etc"}),
        ran("", Exit::Code(0)),
        "Directory '/etc' is not within any of the registered workspace directories.",
    );
    s.run(json!({"command": "x", "timeout": "abc"}), ran("", Exit::Code(0)), "params/timeout must be integer");
    s.run(
        json!({"command": "x", "timeout": "5000"}),
        ran("", Exit::Code(0)),
        &report("x", "(root)", "(empty)", "0", "(none)"),
    );
    let [Action::World(World::Run(run))] = s.did.as_slice() else { panic!("{:?}", s.did) };
    let expected = protocol::Run {
        shell: protocol::Shell::Fresh { program: Some("bash".into()), login: false },
        cwd: Some("/w".into()),
        timeout: Some(5_000),
        env: [("QWEN_CODE", "1"), ("TERM", "xterm-256color"), ("PAGER", "cat")]
            .map(|(k, v)| (k.into(), v.into()))
            .into(),
        keep: 8 << 20,
        ..protocol::Run::new("x")
    };
    assert_eq!(run, &expected);
}

#[test]
fn a_long_output_is_kept_in_a_file() {
    let mut s = stage(&[]);
    s.run(json!({"command": "x"}), ran(&"ab\n".repeat(9_000), Exit::Code(2)), "Command: x\n…");
    s.run(
        json!({"command": "x"}),
        ran(&"abc\n".repeat(9_000), Exit::Code(2)),
        "Tool output was too large and has been truncated.\nThe full output has been saved to: /s/out.txt\n…",
    );
}

#[test]
fn background_commands() {
    let mut s = stage(&[]);
    let started = |task: u64| Outcome::Ran {
        output: Captured::default(),
        exit: Exit::Running,
        cwd_after: None,
        task: Some(protocol::TaskId(task)),
        left: false,
    };
    s.run(json!({"command": "serve &", "is_background": true}), started(1), "Background shell commands must not end with a bare \"&\". Remove the trailing \"&\" and rely on is_background: true instead.");
    let listed = protocol::TaskInfo {
        task: protocol::TaskId(4),
        command: "wrapped".into(),
        exit: Exit::Running,
        started: 0,
        pid: Some(42),
        log: None,
    };
    s.outcomes = [started(4), Outcome::Tasks(vec![listed])].into();
    let answer = s.call("run_shell_command", r#"{"command":"serve 'x'","is_background":true}"#).content.text();
    let id = answer.lines().nth(1).and_then(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert_eq!((id.len(), &id[..3]), (11, "bg_"));
    let output = format!("/tmp/background-shells-thread-1/shell-{id}.output");
    assert!(
        answer.starts_with(&format!(
            "Background shell started.\nid: {id}\npid: 42\noutput file: {output}\nstatus file: "
        )),
        "{answer}"
    );
    let [Action::World(World::Run(run)), _] = s.did.as_slice() else { panic!("{:?}", s.did) };
    assert!(run.background && run.timeout.is_none() && run.script.contains(&output), "{run:?}");
    let call = s.items.iter().rev().find_map(|item| match &item.body {
        Body::Called { call, .. } => Some(call.clone()),
        _ => None,
    });
    s.says("task_stop", json!({"task_id": "bg_00000000"}), "Task not found: bg_00000000");
    s.said = vec![protocol::Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    s.push(Body::Notice(protocol::Notice::TaskEnded {
        task: protocol::TaskId(4),
        command: "wrapped".into(),
        exit: Exit::Code(3),
        output: Captured::default(),
    }));
    let expected = format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<tool-use-id>{}</tool-use-id>\n<status>failed</status>\n<summary>Background shell \"serve 'x'\" failed: exited with code 3.</summary>\n<remaining>0</remaining>\n<all-terminal>true</all-terminal>\n<output-file>{output}</output-file>\n</task-notification>",
        call.unwrap()
    );
    assert_eq!(
        QwenCode.say(&s.cx(), &s.items[from..]),
        [protocol::Entry::User(Content::Parts(vec![Part::text(expected)]))]
    );
    s.says("task_stop", json!({"task_id": id}), &format!("shell is completed: {id}"));
}
