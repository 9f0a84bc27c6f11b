//! Bash: results, limits, the folder that is kept.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn commands() {
    let mut s = Stage::new(&[("a.txt", A)]);
    let code = Exit::Code;
    s.bash("echo hi", ran("hi\n", code(0)), Some(false), "hi");
    s.bash("true", ran("", code(0)), Some(false), "(Bash completed with no output)");
    s.bash("x; exit 3", ran("out\nerr\n", code(3)), Some(true), "Exit code 3\nout\nerr");
    s.bash("false", ran("", code(1)), Some(true), "Exit code 1");
    s.bash("grep zzz a.txt", ran("", code(1)), Some(false), "(Bash completed with no output)");
    s.bash("diff a b", ran("< a\n", code(1)), Some(false), "< a");
    s.bash("grep zzz nofile", ran("no\n", code(2)), Some(true), "Exit code 2\nno");
    s.bash("printf x", ran("\n\n  lead\nx  \n\n", code(0)), Some(false), "  lead\nx");
    s.bash("sleep 5", ran("", Exit::TimedOut(1_500)), Some(true), "Exit code 143\nCommand timed out after 1s");
    s.bash(
        "sleep 5",
        ran("start\n", Exit::TimedOut(120_000)),
        Some(true),
        "Exit code 143\nCommand timed out after 2m 0s\nstart",
    );
    let left =
        Outcome::Ran { output: Captured::whole("done\n"), exit: code(0), cwd_after: None, task: None, left: true };
    // Ours.
    s.bash("sleep 50 & echo done", left, Some(false), "done\n[A process that this command started is still running]");
    s.bash("time false", ran("\n\nreal 0\n", code(1)), Some(true), "Exit code 1\n\n\nreal 0");
    s.bash("kill -9 $$", ran("", Exit::Signal(9)), Some(true), "Exit code 1");
    s.bash("kill $$", ran("", Exit::Signal(15)), Some(true), "Exit code 144");
    s.bash("bash -c 'kill -9 $$'", ran("", code(137)), Some(true), "Exit code 137");
    s.bash("sed -i s/a/b/ q.txt", ran("", code(0)), Some(false), "(Bash completed with no output)");
    let nobody = Outcome::Refused(Refusal::NobodyToAsk { escalation: true });
    s.bash("curl x", nobody, Some(true), "This command requires approval");
    let rule = Outcome::Refused(Refusal::Rule("r".into()));
    s.bash("git push", rule, Some(true), "Permission to use Bash with command git push has been denied.");
    let hook = |by_json| {
        let (event, command, reason) = ("PreToolUse".into(), "python3 pre.py".into(), "no".into());
        Outcome::Refused(Refusal::Hook { event, command, reason, by_json })
    };
    s.bash("x", hook(false), Some(true), "PreToolUse:Bash hook error: [python3 pre.py]: no");
    s.bash("x", hook(true), Some(true), "PreToolUse:Bash hook error: no");
    let no = s_refused(&mut s, Some("use tabs"));
    assert!(
        no.starts_with("The user doesn't want to proceed with this tool use. ")
            && no.ends_with("the user said:\nuse tabs"),
        "{no}"
    );
    let no = s_refused(&mut s, None);
    assert!(no.starts_with("The user doesn't want to proceed with this tool use. "), "{no}");
}

fn s_refused(s: &mut Stage, feedback: Option<&str>) -> String {
    s.run = Some(Outcome::Refused(Refusal::User { feedback: feedback.map(str::to_owned) }));
    s.call("Bash", r#"{"command":"x"}"#).content.text()
}

#[test]
fn a_command_runs_with_its_limits() {
    let mut s = Stage::new(&[]);
    let run = |s: &mut Stage, args: Value| {
        s.call("Bash", &args.to_string());
        match s.did.first() {
            Some(Action::World(World::Run(run))) => run.clone(),
            other => panic!("{other:?}"),
        }
    };
    let plain = run(&mut s, json!({"command": "x"}));
    let expected = protocol::Run {
        cwd: Some("/w".into()),
        timeout: Some(120_000),
        env: vec![("CLAUDECODE".into(), "1".into()), ("GIT_EDITOR".into(), "true".into())],
        track_cwd: true,
        keep: 8 << 20,
        ..protocol::Run::new("x")
    };
    assert_eq!(plain, expected);
    for (timeout, expected) in [
        (json!(5_000), 5_000),
        (json!("5000"), 5_000),
        (json!(99_999_999), 600_000),
        (json!(0), 120_000),
        (json!(-5), 120_000),
    ] {
        assert_eq!(run(&mut s, json!({"command": "x", "timeout": timeout})).timeout, Some(expected), "{timeout}");
    }
    let free = json!({"command": "x", "description": "why", "dangerouslyDisableSandbox": true});
    assert_eq!(run(&mut s, free.clone()).escalate, None);
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
    assert_eq!(run(&mut s, free.clone()).escalate, None);
    s.settings.approval = ApprovalPolicy::OnRequest;
    assert_eq!(run(&mut s, free).escalate, Some(Escalation { justification: Some("why".into()), prefix: Vec::new() }));
}

#[test]
fn the_folder_is_kept_while_it_is_inside() {
    let mut s = Stage::new(&[("sub/x.txt", "x\n"), ("sub/m.txt", "m\n")]);
    s.bash("cd sub", ran_to("", "/w/sub"), Some(false), "(Bash completed with no output)");
    s.read("x.txt", "1\tx\n2\t");
    s.check(
        "Read",
        json!({"file_path": "nope.txt"}),
        Some(true),
        "File does not exist. Note: your current working directory is /w/sub.",
    );
    s.check(
        "Read",
        json!({"file_path": "/w/m.txt"}),
        Some(true),
        "File does not exist. Note: your current working directory is /w/sub. Did you mean /w/sub/m.txt?",
    );
    s.bash(
        "cd ..; false",
        Outcome::Ran {
            output: Captured::whole(""),
            exit: Exit::Code(1),
            cwd_after: Some("/w".into()),
            task: None,
            left: false,
        },
        Some(true),
        "Exit code 1",
    );
    s.read("x.txt", "1\tx\n2\t");
    s.bash("cd /usr; echo hi", ran_to("hi\n", "/usr"), Some(false), "hi\nShell cwd was reset to /w");
    s.bash("cd /usr", ran_to("", "/usr"), Some(false), "Shell cwd was reset to /w");
    s.check(
        "Read",
        json!({"file_path": "x.txt"}),
        Some(true),
        "File does not exist. Note: your current working directory is /w.",
    );
    assert_eq!(Record::of(&s.cx()).cwd, PathBuf::from("/w"));
}

#[test]
fn a_folder_that_is_gone_is_left() {
    let mut s = Stage::new(&[("a.txt", A)]);
    s.bash("cd sub", ran_to("", "/w/sub"), Some(false), "(Bash completed with no output)");
    let gone = || Outcome::Failed(Failure::Spawn { errno: 2, message: "No such file or directory".into() });
    s.bash("pwd", gone(), Some(true), "Working directory \"/w/sub\" no longer exists, so this command was not run. Shell cwd recovered to \"/w\": re-issue the command if it still makes sense there.");
    s.read("a.txt", A_READ);
    assert_eq!(Record::of(&s.cx()).cwd, PathBuf::from("/w"));
    s.bash("pwd", gone(), Some(true), "Exit code 126\nENOENT: no such file or directory, spawn");
}

/// `cd sub` beside `pwd`: what did not move does not move the shell back.
#[test]
fn only_a_command_that_moved_moves_the_shell() {
    let mut s = Stage::new(&[]);
    s.bash("cd sub", ran_to("", "/w/sub"), Some(false), "(Bash completed with no output)");
    let beside = Done {
        action: Action::World(World::Run(protocol::Run { cwd: Some("/w".into()), ..protocol::Run::new("pwd") })),
        outcome: ran_to("/w\n", "/w"),
        took: 0,
        at: 0,
        tag: 7,
    };
    let call = call("beside", "Bash", r#"{"command":"pwd"}"#);
    s.push(Body::Reply { reply: reply(vec![Block::call(call.clone())], Stop::Calls), total: Usage::default() });
    s.push(Body::Called { call: call.id, did: vec![beside], answer: Answer::plain("/w") });
    assert_eq!(Record::of(&s.cx()).cwd, PathBuf::from("/w/sub"));
}

#[test]
fn long_outputs() {
    let mut s = Stage::new(&[]);
    let line = "y".repeat(30_000) + "\n";
    s.bash("x", ran(&line, Exit::Code(0)), Some(false), &format!(
        "<persisted-output>\nOutput too large (29.3KB). Full output saved to: /s/out.txt\n\nPreview (first 2KB):\n{}\n...\n</persisted-output>", "y".repeat(2_000)
    ));
    let lines = "123456789\n".repeat(4_000);
    s.bash("x; cd /tmp", ran_to(&lines, "/tmp"), Some(false), &format!(
        "<persisted-output>\nOutput too large (39.1KB). Full output saved to: /s/out.txt\n\nPreview (first 2KB):\n{}\n...\n</persisted-output>\nShell cwd was reset to /w",
        "123456789\n".repeat(200).trim_end()
    ));
    s.bash("x", ran(&format!("\n\nstart\n{}end\n", " ".repeat(40_000)), Exit::Code(0)), Some(false),
        "<persisted-output>\nOutput too large (39.1KB). Full output saved to: /s/out.txt\n\nPreview (first 2KB):\nstart\n</persisted-output>");
    s.bash("x", ran(&"y".repeat(29_990), Exit::Code(0)), Some(false), &"y".repeat(29_990));
    s.bash(
        "x",
        ran(&"y".repeat(12_000), Exit::Code(3)),
        Some(true),
        &format!("Exit code 3\n{}\n\n... [2012 characters truncated] ...\n\n{}", "y".repeat(4_988), "y".repeat(5_000)),
    );
    // Of a failure the first 30,000 characters count; the last of them is a line feed here, which is trimmed.
    s.run = Some(ran(&"1234\n".repeat(20_000), Exit::Code(2)));
    let failed = s.call("Bash", r#"{"command":"x"}"#).content.text();
    assert!(failed.contains("\n\n... [20011 characters truncated] ...\n\n"), "{failed}");
}
