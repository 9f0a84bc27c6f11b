//! Calls: the Actions they become, and the answer to every Outcome.
use pretty_assertions::assert_eq;
use protocol::{
    Answer, Blob, Content, Escalation, Failure, FileKind, PlanStatus, PlanStep, ReadAs, Refusal, Run, Session, Shell,
    Stamp, TaskInfo, TaskOp, World,
};
use serde_json::json;

use super::*;

#[test]
fn commands() {
    let stage = Stage::new();
    let run = |args| match stage.next(&call("exec_command", args), &[]) {
        Next::Do(actions) => match actions.as_slice() {
            [Action::World(World::Run(run))] => run.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let login = Shell::Fresh { program: None, login: true };
    let plain = Run { shell: login.clone(), yield_after: Some(10_000), ..Run::new("ls") };
    assert_eq!(run(json!({"cmd": "ls"})), plain);
    let nulls = json!({"cmd": "ls", "shell": null, "login": null, "tty": null, "yield_time_ms": null, "workdir": null,
        "max_output_tokens": null, "sandbox_permissions": null, "justification": null, "more": 1});
    assert_eq!(run(nulls), plain);
    let escalate = Some(Escalation { justification: Some("why".into()), prefix: vec!["git".into()] });
    let full = json!({"cmd": "ls", "workdir": "sub/../x", "shell": "/bin/sh", "login": false, "tty": true, "yield_time_ms": 1,
        "sandbox_permissions": "require_escalated", "justification": "why", "prefix_rule": ["git"]});
    let shell = Shell::Named { name: "/bin/sh".into(), login: false };
    let expected =
        Run { shell, cwd: Some("/w/x".into()), tty: true, yield_after: Some(250), escalate, ..plain.clone() };
    assert_eq!(run(full), expected);
    assert_eq!(run(json!({"cmd": "ls", "yield_time_ms": 99_000})).yield_after, Some(30_000));
    let more = run(json!({"cmd": "ls", "additional_permissions": {}}));
    assert_eq!(more.escalate, Some(Escalation { justification: None, prefix: Vec::new() }));
}

#[test]
fn stdin() {
    let stage = Stage::new();
    let sent = |args| stage.next(&call("write_stdin", args), &[]);
    let expected =
        |text: &str, wait| Next::Do(vec![Action::World(World::Stdin { task: TaskId(7), bytes: text.into(), wait })]);
    assert_eq!(sent(json!({"session_id": 7, "chars": "y\n"})), expected("y\n", 250));
    assert_eq!(sent(json!({"session_id": 7, "chars": "y\n", "yield_time_ms": 60_000})), expected("y\n", 30_000));
    assert_eq!(sent(json!({"session_id": 7})), expected("", 5_000));
    assert_eq!(sent(json!({"session_id": 7, "chars": null, "yield_time_ms": 900_000})), expected("", 300_000));
}

#[test]
fn a_session_is_looked_up_before_its_arguments_count() {
    let stage = Stage::new();
    let call = call("write_stdin", json!({"session_id": 7, "chars": 5}));
    let list = Action::World(World::Task(TaskOp::List));
    assert_eq!(stage.next(&call, &[]), Next::Do(vec![list.clone()]));
    let check = |tasks: Vec<TaskInfo>, expected: &str| {
        let expected = Next::Reject { answer: Answer::plain(expected), note: expected.to_owned() };
        assert_eq!(stage.next(&call, &[done(list.clone(), Outcome::Tasks(tasks), 1)]), expected);
    };
    let known =
        TaskInfo { task: TaskId(7), command: "cat".into(), exit: Exit::Running, started: 0, pid: None, log: None };
    check(Vec::new(), "write_stdin failed: Unknown process id 7");
    check(
        vec![known],
        "failed to parse function arguments: invalid type: integer `5`, expected a string at line 1 column 25",
    );
}

/// The answer to a call, given what came of its one Action.
fn check_answer(stage: &Stage, call: &Call, outcome: Outcome, expected: &str) {
    let action = match stage.next(call, &[]) {
        Next::Do(mut actions) => actions.remove(0),
        other => panic!("{other:?}"),
    };
    match stage.next(call, &[done(action, outcome, 500)]) {
        Next::Answer(answer) | Next::Reject { answer, .. } => assert_eq!(answer, Answer::plain(expected)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_of_commands() {
    let stage = Stage::new();
    let exec = call("exec_command", json!({"cmd": "echo hi"}));
    let check = |outcome, expected: &str| check_answer(&stage, &exec, outcome, expected);
    let head = "Chunk ID: ed9324\nWall time: 0.5000 seconds\n";
    check(
        ran("hi\nerr\n", Exit::Code(0), None),
        &format!("{head}Process exited with code 0\nOriginal token count: 2\nOutput:\nhi\nerr\n"),
    );
    check(
        ran("", Exit::Signal(9), None),
        &format!("{head}Process exited with code 137\nOriginal token count: 0\nOutput:\n"),
    );
    check(
        ran("", Exit::Running, Some(TaskId(85010))),
        &format!("{head}Process running with session ID 85010\nOriginal token count: 0\nOutput:\n"),
    );
    let left = Outcome::Ran {
        output: Captured::whole("done\n"),
        exit: Exit::Code(0),
        cwd_after: None,
        task: None,
        left: true,
    };
    check(
        left,
        &format!(
            "{head}Process exited with code 0\nProcesses started by this command are still running\nOriginal token count: 2\nOutput:\ndone\n"
        ),
    );
    let missing = "exec_command failed: CreateProcess { message: \"Rejected(\\\"Failed to create unified exec process: No such file or directory (os error 2)\\\")\" }";
    check(Outcome::Failed(Failure::Spawn { errno: 2, message: "No such file or directory".into() }), missing);
    check(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: true }),
        "approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never",
    );
    check(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: false }),
        "exec_command failed: CreateProcess { message: \"Rejected(\\\"approval required by policy, but AskForApproval is set to Never\\\")\" }",
    );
    check(
        Outcome::Refused(Refusal::Rule("no".into())),
        "exec_command failed: CreateProcess { message: \"Rejected(\\\"`/bin/bash -lc 'echo hi'` rejected: no\\\")\" }",
    );
    let hook = Refusal::Hook { event: "PreToolUse".into(), command: "h".into(), reason: "R".into(), by_json: false };
    check(Outcome::Refused(hook), "Command blocked by PreToolUse hook: R. Command: echo hi");
    check(Outcome::Interrupted { output: None }, "Wall time: 0.5 seconds\naborted by user");

    let stdin = call("write_stdin", json!({"session_id": 1000}));
    check_answer(
        &stage,
        &stdin,
        Outcome::Failed(Failure::NoSuchTask(TaskId(1000))),
        "write_stdin failed: Unknown process id 1000",
    );
    check_answer(
        &stage,
        &stdin,
        ran("x", Exit::Code(0), None),
        &format!("{head}Process exited with code 0\nOriginal token count: 1\nOutput:\nx"),
    );
}

#[test]
fn calls_that_come_to_nothing() {
    let mut stage = Stage::new();
    stage.settings.features.insert("tools.update_plan".into(), true);
    let check = |call: &Call, expected: &str| {
        let expected = Next::Reject { answer: Answer::plain(expected), note: expected.to_owned() };
        assert_eq!(stage.next(call, &[]), expected);
    };
    let arguments = |name: &str, args: &str, message: &str| {
        check(&raw_call(name, args), &format!("failed to parse function arguments: {message}"));
    };
    arguments("exec_command", "", "EOF while parsing a value at line 1 column 0");
    arguments("exec_command", "{}", "missing field `cmd` at line 1 column 2");
    arguments("exec_command", "{", "EOF while parsing an object at line 1 column 1");
    arguments("exec_command", r#"{"cmd":5}"#, "invalid type: integer `5`, expected a string at line 1 column 8");
    arguments("exec_command", r#"{"cmd":"rm -rf /tm"#, "EOF while parsing a string at line 1 column 18");
    arguments(
        "write_stdin",
        r#"{"session_id":1.5}"#,
        "invalid type: floating point `1.5`, expected i32 at line 1 column 17",
    );
    arguments("view_image", "{}", "missing field `path` at line 1 column 2");
    arguments(
        "update_plan",
        r#"{"plan":[{"step":"a","status":"done"}]}"#,
        "unknown variant `done`, expected one of `pending`, `in_progress`, `completed` at line 1 column 36",
    );
    arguments(
        "update_plan",
        "[]",
        "invalid length 1, expected struct UpdatePlanArgs with 2 elements at line 1 column 2",
    );
    arguments(
        "update_plan",
        r#"{"plan":[{"step":"a","note":1}]}"#,
        "unknown field `note`, expected `step` or `status` at line 1 column 27",
    );
    let command = |args: &str, expected: &str| check(&raw_call("exec_command", args), expected);
    command(
        r#"{"cmd":"ls","justification":""}"#,
        "`justification` requires an explicit `sandbox_permissions`; use `sandbox_permissions: \"require_escalated\"` for unsandboxed execution, or omit `justification`.",
    );
    let bare = "apply_patch verification failed: patch detected without explicit call to apply_patch. Rerun as [\"apply_patch\", \"<patch>\"]";
    command(r#"{"cmd":" *** Begin Patch\n*** Delete File: a\n*** End Patch\n"}"#, bare);
    command(r#"{"cmd":"*** Begin Patch\n*** End Patch"}"#, bare);
    command(r#"{"cmd":"<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF"}"#, bare);
    command(
        r#"{"cmd":"apply_patch <<E\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nE","sandbox_permissions":"require_escalated"}"#,
        "approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never",
    );
    check(
        &raw_call("view_image", r#"{"path":"a","detail":"low"}"#),
        "view_image.detail only supports `high` or `original`; omit `detail` for default high resized behavior, got `low`",
    );
    check(&raw_call("nosuch", "{}"), "unsupported call: nosuch");
    check(&raw_call("shell", "{}"), "unsupported call: shell");
    check(&Call { form: CallForm::Custom, ..raw_call("nosuch", "x") }, "unsupported custom tool call: nosuch");
    let spaced = Call { namespace: Some("mcp__everything".into()), ..raw_call("nosuch", "{}") };
    check(&spaced, "unsupported call: mcp__everythingnosuch");
    check(&raw_call("write_stdin", r#"{"session_id":-1}"#), "write_stdin failed: Unknown process id -1");
}

#[test]
fn images() {
    let stage = Stage::new();
    let view = call("view_image", json!({"path": "a.png"}));
    let action = Action::World(World::Read {
        path: "/w/a.png".into(),
        what: ReadAs::Image { max_side: Some(2048), max_bytes: None },
    });
    assert_eq!(stage.next(&view, &[]), Next::Do(vec![action.clone()]));
    let blob = Blob::new("b", "image/png", [1u8]);
    let stamp = Stamp { len: 1, mtime_ns: 0, hash: String::new() };
    let of_size = |size| Outcome::Media { blob: blob.clone(), original: Some(size), shown: None, stamp: stamp.clone() };
    let look = |max_side| {
        let what = ReadAs::Image { max_side: Some(max_side), max_bytes: None };
        Action::World(World::Read { path: "/w/a.png".into(), what })
    };
    let large = done(action.clone(), of_size((3000, 2500)), 1);
    assert_eq!(stage.next(&view, std::slice::from_ref(&large)), Next::Do(vec![look(1727)]));
    let image = Part::Image { blob: blob.clone(), detail: Some("high".into()) };
    let answer = Answer { content: Content::Parts(vec![image]), error: None, after: Vec::new() };
    let fitted = done(look(1727), of_size((3000, 2500)), 1);
    assert_eq!(stage.next(&view, &[large, fitted]), Next::Answer(answer.clone()));
    assert_eq!(stage.next(&view, &[done(action, of_size((40, 20)), 1)]), Next::Answer(answer));
    let mut takes_original = Stage::new();
    takes_original.model.freeform_patch = true;
    assert_eq!(takes_original.next(&view, &[]), Next::Do(vec![look(6000)]));
    let failed = |failure, expected: &str| check_answer(&stage, &view, Outcome::Failed(failure), expected);
    let path = PathBuf::from("/w/a.png");
    failed(
        Failure::Io { path: path.clone(), errno: 2, message: "No such file or directory".into() },
        "unable to locate image at `/w/a.png`: No such file or directory (os error 2)",
    );
    failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Folder }, "image path `/w/a.png` is not a file");
    failed(Failure::BadImage { path, detected: None }, "unable to process image: invalid or unsupported image data");
}

#[test]
fn plans() {
    let mut stage = Stage::new();
    stage.settings.features.insert("tools.update_plan".into(), true);
    let plan = call("update_plan", json!({"explanation": "x", "plan": [{"step": "a", "status": "in_progress"}]}));
    let steps = vec![PlanStep { step: "a".into(), status: PlanStatus::InProgress }];
    let action = Action::Session(Session::Plan { steps, explanation: Some("x".into()) });
    assert_eq!(stage.next(&plan, &[]), Next::Do(vec![action]));
    check_answer(&stage, &plan, Outcome::Ok, "Plan updated");
}

#[test]
fn stopped_calls() {
    let stage = Stage::new();
    let check = |name: &str, ran, expected: &str| {
        assert_eq!(Native.cut_short(&stage.cx(), &raw_call(name, "{}"), &[], ran), Answer::plain(expected));
    };
    check("exec_command", Some(1_000), "Wall time: 1.0 seconds\naborted by user");
    check("apply_patch", Some(8_900), "aborted by user after 8.9s");
    check("exec_command", None, "aborted");
}
