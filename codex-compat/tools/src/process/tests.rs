//! Real processes, without walls and (where the machine can build them) within.
use std::{
    path::PathBuf,
    rc::Rc,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use pretty_assertions::assert_eq;
use proptest::{prelude::*, test_runner::TestRunner};
use protocol::{
    CallId, Captured, Cut, Exit, Failure, OnTimeout, Outcome, Run, SandboxMode, SandboxPolicy, Settings, Shell, TaskId,
    TaskOp, WireId, World,
};

use crate::{Cancel, Local, Scope};

/// No test waits longer than this for anything.
const LIMIT: Duration = Duration::from_secs(20);
const MODES: [SandboxMode; 2] = [SandboxMode::DangerFullAccess, SandboxMode::WorkspaceWrite];

/// The build's own folder.
fn target() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

struct Ground {
    temp: tempfile::TempDir,
    cx: Scope,
    host: Local,
}

impl Ground {
    fn new(mode: SandboxMode) -> Ground {
        // Not below `/tmp`, where everything would be writable.
        let temp = tempfile::tempdir_in(sandbox::ground_for_tests(target())).unwrap();
        let cwd = temp.path().canonicalize().unwrap().join("ws");
        std::fs::create_dir_all(cwd.join("work")).unwrap();
        let settings = settings(mode, cwd);
        let env = ["PATH", "HOME"].map(|name| (name.into(), std::env::var_os(name).unwrap_or_default())).into();
        let state = temp.path().join("state");
        std::fs::create_dir_all(&state).unwrap();
        let mut cx = Scope::new(&settings, env, temp.path().join("session"), &state).unwrap();
        // Below the workspace: on machines without namespaces its top level is fixed.
        cx.cwd = cx.cwd.join("work");
        Ground { temp, cx, host: Local::new() }
    }

    async fn act(&self, action: World) -> Outcome {
        without_log(tokio::time::timeout(LIMIT, self.host.perform(&self.cx, action)).await.expect("it ends"))
    }

    async fn run(&self, change: impl FnOnce(&mut Run), script: &str) -> Outcome {
        self.act(World::Run(bash(script, change))).await
    }
}

fn bash(script: &str, change: impl FnOnce(&mut Run)) -> Run {
    let mut run = Run::new(script);
    run.shell = Shell::Fresh { program: Some("/bin/bash".into()), login: false };
    change(&mut run);
    run
}

fn settings(mode: SandboxMode, cwd: PathBuf) -> Settings {
    Settings {
        provider: "p".into(),
        model: "m".into(),
        wire: WireId::Chat,
        harness: "native".into(),
        cwd,
        sandbox: SandboxPolicy::new(mode),
        approval: protocol::ApprovalPolicy::Never,
        mode: protocol::Mode::Default,
        effort: None,
        summary: None,
        verbosity: None,
        instructions: None,
        developer_instructions: None,
        compact_prompt: None,
        output_schema: None,
        output_limit: None,
        max_output: None,
        features: Default::default(),
    }
}

/// One test body on the runtime that the program uses, once for each mode.
fn each_mode<F: Future<Output = ()>>(test: impl Fn(Rc<Ground>) -> F) {
    for mode in MODES {
        if mode == SandboxMode::DangerFullAccess || has_walls() {
            on_runtime(async { test(Rc::new(Ground::new(mode))).await });
        }
    }
}

/// Where a machine can build none, commands are refused.
fn has_walls() -> bool {
    sandbox::detect() != sandbox::Rung::Nothing
}

fn on_runtime(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT * 3, test).await.expect("the test ends") });
}

fn ran(text: &str, exit: Exit) -> Outcome {
    Outcome::Ran { output: Captured::whole(text), exit, cwd_after: None, task: None, left: false }
}

/// Its name holds a process id; it has tests of its own.
fn without_log(mut outcome: Outcome) -> Outcome {
    if let Outcome::Ran { output, .. } = &mut outcome {
        output.log = None;
    }
    outcome
}

fn parts(outcome: &Outcome) -> (&Captured, &Exit, Option<TaskId>, bool) {
    match outcome {
        Outcome::Ran { output, exit, task, left, .. } => (output, exit, *task, *left),
        other => panic!("{other:?}"),
    }
}

#[test]
fn output_and_exit() {
    each_mode(|g| async move {
        let none = |_: &mut Run| {};
        assert_eq!(g.run(none, "echo out; echo err >&2; echo out2").await, ran("out\nerr\nout2\n", Exit::Code(0)));
        assert_eq!(g.run(none, "printf x; exit 7").await, ran("x", Exit::Code(7)));
        assert_eq!(g.run(none, "kill -9 $$").await, ran("", Exit::Signal(9)));
        assert_eq!(text(&g.run(none, "printf '\\xc4\\xe3\\n'").await), "\u{FFFD}\u{FFFD}\n");
        assert_eq!(g.run(none, "pwd").await, ran(&format!("{}\n", g.cx.cwd.display()), Exit::Code(0)));
        let script = "touch f && cat f /dev/null && ls";
        assert_eq!(g.run(none, script).await, ran("f\n", Exit::Code(0)));
    });
}

#[test]
fn streams_are_told_apart_on_request() {
    each_mode(|g| async move {
        let apart = |r: &mut Run| r.apart = true;
        let streams = |outcome: &Outcome| parts(outcome).0.streams();
        // Each piece waits until the one before it was read.
        let seen = Arc::new(Mutex::new(String::new()));
        let (sink, go) = (seen.clone(), g.cx.cwd.join("go"));
        let cx = g.cx.clone().on_output(move |text| {
            let mut seen = sink.lock().unwrap();
            seen.push_str(text);
            std::fs::write(&go, seen.lines().count().to_string()).unwrap();
        });
        let wait = |n: u32| format!("until [ \"$(cat go 2>/dev/null)\" = {n} ]; do sleep 0.01; done");
        let script = format!("echo one; {}; echo two >&2; {}; printf three; exit 3", wait(1), wait(2));
        let outcome = g.host.perform(&cx, World::Run(bash(&script, apart))).await;
        let pieces = [(false, "one\n"), (true, "two\n"), (false, "three")];
        let output = Captured::whole_apart(pieces);
        let exit = Exit::Code(3);
        assert_eq!(outcome, Outcome::Ran { output, exit, cwd_after: None, task: None, left: false });
        assert_eq!(*seen.lock().unwrap(), "one\ntwo\nthree");
        assert_eq!(streams(&outcome), (Captured::whole("one\nthree"), Captured::whole("two\n")));

        assert_eq!(g.run(apart, "echo out").await, ran("out\n", Exit::Code(0)));
        let outcome = g.run(apart, "echo err >&2").await;
        assert_eq!(streams(&outcome), (Captured::whole(""), Captured::whole("err\n")));
        // What one closes early or floods says nothing of the other.
        let outcome = g.run(apart, "exec 2>&-; echo out").await;
        assert_eq!(streams(&outcome), (Captured::whole("out\n"), Captured::whole("")));
        let flood = |r: &mut Run| (r.apart, r.keep) = (true, 10_000);
        let outcome = g.run(flood, "echo why >&2; seq 300000; echo end >&2; seq 300000").await;
        let (out, err) = streams(&outcome);
        assert_eq!(err, Captured::whole("why\nend\n"));
        assert_eq!((out.lines, out.bytes, parts(&outcome).0.text.len()), (600_000, 3_977_790, 10_000));
        // A terminal and a kept shell have one.
        let outcome = g.run(|r| (r.apart, r.tty) = (true, true), "echo err >&2").await;
        assert_eq!(outcome, ran("err\r\n", Exit::Code(0)));
        let kept = |r: &mut Run| (r.apart, r.shell) = (true, Shell::Kept("k".into()));
        assert_eq!(g.run(kept, "echo err >&2").await, ran("err\n", Exit::Code(0)));
        g.host.stop_all().await;
    });
}

#[test]
fn streams_of_a_task_are_told_apart_at_each_look() {
    each_mode(|g| async move {
        let script = "echo one >&2; until [ -e go ]; do sleep 0.02; done; echo two; echo three >&2; exit 3";
        let run = bash(script, |r| (r.apart, r.yield_after) = (true, Some(300)));
        let outcome = g.host.perform(&g.cx, World::Run(run)).await;
        let path = log(&outcome).expect("a log");
        assert_eq!(parts(&outcome).0.streams(), (Captured::whole(""), Captured::whole("one\n")));
        let task = parts(&outcome).2.unwrap();
        std::fs::write(g.cx.cwd.join("go"), "").unwrap();
        let outcome = g.act(World::Stdin { task, bytes: vec![], wait: 15_000 }).await;
        assert_eq!(parts(&outcome).0.streams(), (Captured::whole("two\n"), Captured::whole("three\n")));
        let ended = g.host.next_ended().await;
        let (out, err) = parts(&ended.outcome).0.streams();
        assert_eq!((out, err), (Captured::whole("two\n"), Captured::whole("one\nthree\n")));
        let mut lines: Vec<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["one", "three", "two"]);
    });
}

/// Pieces for both streams, characters in pieces among them, written by a real command.
#[test]
fn each_stream_holds_exactly_what_was_written_to_it() {
    let piece =
        (any::<bool>(), prop::collection::vec(prop::sample::select(b"a\n\xC3\xA9\xF0\x9F\x99\x82".to_vec()), 1..6));
    let pieces = prop::collection::vec(piece, 1..20);
    let mut runner = TestRunner::new(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() });
    let check = |pieces: Vec<(bool, Vec<u8>)>| {
        let written = |which: bool| -> Vec<u8> {
            pieces.iter().filter(|(err, _)| *err == which).flat_map(|(_, bytes)| bytes.clone()).collect()
        };
        let script: Vec<String> = pieces
            .iter()
            .map(|(err, bytes)| {
                let bytes: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("printf '{bytes}'{}", if *err { " >&2" } else { "" })
            })
            .collect();
        on_runtime(async {
            let g = Ground::new(SandboxMode::DangerFullAccess);
            let outcome = g.run(|r| r.apart = true, &script.join("; ")).await;
            let (output, ..) = parts(&outcome);
            let (out, err) = output.streams();
            for (stream, written) in [(&out, written(false)), (&err, written(true))] {
                assert_eq!(stream.text, String::from_utf8_lossy(&written));
                assert_eq!((stream.bytes, stream.cut), (written.len() as u64, None));
            }
            assert_eq!(output.bytes, out.bytes + err.bytes);
        });
        Ok(())
    };
    runner.run(&pieces, check).unwrap();
}

fn text(outcome: &Outcome) -> &str {
    &parts(outcome).0.text
}

#[test]
fn what_cannot_be_started_says_why() {
    each_mode(|g| async move {
        let missing = |errno, message: &str| Outcome::Failed(Failure::Spawn { errno, message: message.into() });
        let no = "No such file or directory";
        assert_eq!(g.run(|r| r.cwd = Some("nowhere".into()), "true").await, missing(libc::ENOENT, no));
        std::fs::write(g.cx.cwd.join("file"), "").unwrap();
        assert_eq!(g.run(|r| r.cwd = Some("file".into()), "true").await, missing(libc::ENOTDIR, "Not a directory"));
        let shell = Shell::Fresh { program: Some("/nowhere/bash".into()), login: false };
        assert_eq!(g.run(|r| r.shell = shell, "true").await, missing(libc::ENOENT, no));
    });
}

#[test]
fn nothing_waits_for_input() {
    each_mode(|g| async move {
        for script in ["cat", "read x; echo got", "python3 -c 'import getpass; getpass.getpass()' 2>/dev/null"] {
            let outcome = g.run(|_| {}, script).await;
            assert!(matches!(parts(&outcome).1, Exit::Code(_)), "{script}: {outcome:?}");
        }
        assert_ne!(exit_of(&g.run(|_| {}, "tty; exec 3</dev/tty").await), &Exit::Code(0));
    });
}

fn exit_of(outcome: &Outcome) -> &Exit {
    parts(outcome).1
}

#[test]
fn a_background_child_is_left_and_said() {
    each_mode(|g| async move {
        let scripts = [
            "sleep 60 & echo done",
            "setsid sleep 60 & echo done",
            "(while :; do echo x; sleep 0.1; done) & echo done",
            "nohup sleep 60 >/dev/null 2>&1 & echo done",
        ];
        for script in scripts {
            let begun = Instant::now();
            let outcome = g.run(|_| {}, script).await;
            assert!(begun.elapsed() < Duration::from_secs(3), "{script}");
            let (output, exit, task, left) = parts(&outcome);
            assert_eq!((exit, task, left), (&Exit::Code(0), None, true), "{script}");
            assert!(output.text.contains("done\n"), "{script}: {output:?}");
        }
        g.host.stop_all().await;
        assert_eq!(g.host.perform(&g.cx, World::Task(TaskOp::List)).await, Outcome::Tasks(vec![]));
    });
}

/// A process holds the lock while it lives.
fn locked(g: &Ground) -> bool {
    std::process::Command::new("flock")
        .args(["-n", "-x"])
        .arg(g.cx.cwd.join("lock"))
        .arg("true")
        .status()
        .is_ok_and(|status| !status.success())
}

async fn until(mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < LIMIT, "in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts processes in every way out of a process group, all of which hold the lock.
const STUBBORN: &str = "exec 8>lock; flock -x 8; trap '' TERM INT HUP; (sleep 100) & setsid sleep 100 & \
    setsid bash -c 'trap \"\" TERM; (sleep 100 &) ; sleep 100' & echo ready; wait";

#[test]
fn a_timeout_ends_the_whole_tree() {
    each_mode(|g| async move {
        let script = format!("mkfifo p; (while :; do echo c; sleep 1; done) > p & echo partial; {STUBBORN}");
        let outcome = g.run(|r| r.timeout = Some(700), &script).await;
        assert_eq!(outcome, ran("partial\nready\n", Exit::TimedOut(700)));
        assert!(!locked(&g));
    });
}

#[test]
fn an_interrupt_ends_the_whole_tree_and_keeps_the_output() {
    each_mode(|g| async move {
        let cancel = Cancel::new();
        let (seen, stop) = (Arc::new(Mutex::new(String::new())), cancel.clone());
        let cx = g.cx.call(&CallId::from("c")).cancelled_by(&cancel).on_output(move |text| {
            let mut seen = seen.lock().unwrap();
            seen.push_str(text);
            if seen.ends_with("ready\n") {
                stop.cancel();
            }
        });
        let outcome = g.host.perform(&cx, World::Run(bash(STUBBORN, |_| {}))).await;
        assert_eq!(outcome, Outcome::Interrupted { output: Some(Captured::whole("ready\n")) });
        assert!(!locked(&g));
    });
}

#[test]
fn dropping_the_future_ends_the_command() {
    each_mode(|g| async move {
        let (told, mut ready) = tokio::sync::mpsc::unbounded_channel();
        let cx = g.cx.clone().on_output(move |text| drop(told.send(text.to_owned())));
        {
            let run = g.host.perform(&cx, World::Run(bash(STUBBORN, |_| {})));
            tokio::select! {
                _ = run => panic!("it does not end by itself"),
                text = ready.recv() => assert_eq!(text.as_deref(), Some("ready\n")),
            }
        }
        until(|| !locked(&g)).await;
    });
}

#[test]
fn endless_output_is_bounded() {
    each_mode(|g| async move {
        let outcome = g.run(|r| r.timeout = Some(500), "yes").await;
        let (output, exit, ..) = parts(&outcome);
        assert_eq!(*exit, Exit::TimedOut(500));
        assert!(output.bytes > 1 << 20 && output.text.len() == 1 << 20, "{} of {}", output.text.len(), output.bytes);
        assert_eq!(output.cut, Some(Cut { at: 1 << 19, omitted: output.bytes - (1 << 20) }));

        let outcome = g.run(|r| r.keep = 1000, "head -c 5000000 /dev/zero | tr '\\0' x; echo end").await;
        let (output, exit, ..) = parts(&outcome);
        assert_eq!((output.text.len(), output.bytes, output.lines, exit), (1000, 5_000_004, 1, &Exit::Code(0)));
        assert!(output.text.ends_with("xend\n"));
    });
}

#[test]
fn live_output_splits_no_character_and_is_bounded() {
    each_mode(|g| async move {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let cx = g.cx.clone().on_output(move |text| sink.lock().unwrap().push(text.to_owned()));
        let script = "for b in e2 82 ac f0 9f 99 82; do printf \"\\x$b\"; sleep 0.02; done; echo";
        let outcome = g.host.perform(&cx, World::Run(bash(script, |_| {}))).await;
        assert_eq!(outcome, ran("€🙂\n", Exit::Code(0)));
        let pieces = seen.lock().unwrap().clone();
        assert!(!pieces.concat().contains('\u{FFFD}') && pieces.concat() == "€🙂\n", "{pieces:?}");
        seen.lock().unwrap().clear();
        g.host.perform(&cx, World::Run(bash("yes | head -c 3000000", |r| r.keep = 100))).await;
        assert!(seen.lock().unwrap().concat().len() < 200_000);
    });
}

#[test]
fn the_last_folder_is_told_and_the_status_kept() {
    for mode in [SandboxMode::DangerFullAccess, SandboxMode::WorkspaceWrite, SandboxMode::ReadOnly] {
        if mode != SandboxMode::DangerFullAccess && !has_walls() {
            continue;
        }
        on_runtime(async {
            let g = Ground::new(mode);
            std::fs::create_dir(g.cx.cwd.join("sub dir")).unwrap();
            let check = async |script: &str, expected: Option<&str>, code: i32, shell: &str| {
                let shell = Shell::Fresh { program: Some(shell.into()), login: false };
                let outcome = g
                    .run(
                        |r| {
                            r.track_cwd = true;
                            r.shell = shell;
                        },
                        script,
                    )
                    .await;
                let Outcome::Ran { cwd_after, exit, .. } = &outcome else { panic!("{outcome:?}") };
                let expected = expected.map(|name| g.cx.cwd.join(name).canonicalize().unwrap());
                assert_eq!((cwd_after, exit), (&expected, &Exit::Code(code)), "{script}");
            };
            for shell in ["/bin/bash", "/bin/sh"] {
                check("cd 'sub dir'", Some("sub dir"), 0, shell).await;
                check("cd 'sub dir'; false", None, 1, shell).await;
                check("cd 'sub dir'\nexit 5", None, 5, shell).await;
                check("(cd 'sub dir')", Some("."), 0, shell).await;
                check("cd 'sub dir'; sleep 60 &", Some("sub dir"), 0, shell).await;
            }
            check("set -e; false; cd ..", Some(".."), 0, "/bin/bash").await;
            check("exit 0", None, 0, "/bin/bash").await;
            check("mkdir gone && cd gone && rmdir ../gone", None, 1, "/bin/bash").await;
            check("if then", None, 2, "/bin/bash").await;
        });
    }
}

#[test]
fn variables_reach_the_command() {
    each_mode(|g| async move {
        let cx = g.cx.call(&CallId::from("call_1"));
        let run = bash("echo $CODEX_TOOL_CALL_ID,$A,$HOME", |r| {
            r.env = vec![("A".into(), "1".into()), ("HOME".into(), "/h".into())];
        });
        assert_eq!(g.host.perform(&cx, World::Run(run)).await, ran("call_1,1,/h\n", Exit::Code(0)));
    });
}

#[test]
fn an_approved_escalation_has_no_walls() {
    if !has_walls() {
        return;
    }
    on_runtime(async {
        let g = Ground::new(SandboxMode::WorkspaceWrite);
        let outside = g.temp.path().join("outside");
        let script = format!("touch {}", outside.display());
        assert_ne!(exit_of(&g.run(|_| {}, &script).await), &Exit::Code(0));
        assert!(!outside.exists());
        let cx = g.cx.clone().outside(true);
        assert_eq!(g.host.perform(&cx, World::Run(bash(&script, |_| {}))).await, ran("", Exit::Code(0)));
        assert!(outside.exists());
    });
}

#[test]
fn a_command_is_handed_back_and_polled() {
    each_mode(|g| async move {
        let script = "echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 3";
        let outcome = g.run(|r| r.yield_after = Some(300), script).await;
        let (output, exit, task, left) = parts(&outcome);
        assert_eq!((output.text.as_str(), exit, left), ("one\n", &Exit::Running, false));
        let task = task.unwrap();
        assert!((10_000..100_000).contains(&task.0));
        let Outcome::Tasks(list) = g.act(World::Task(TaskOp::List)).await else { panic!() };
        assert_eq!(
            (list.len(), list[0].task, &list[0].exit, list[0].command.as_str()),
            (1, task, &Exit::Running, script)
        );
        let running = |text: &str| Outcome::Ran {
            output: Captured::whole(text),
            exit: Exit::Running,
            cwd_after: None,
            task: Some(task),
            left: false,
        };
        assert_eq!(g.act(World::Stdin { task, bytes: vec![], wait: 10 }).await, running(""));
        std::fs::write(g.cx.cwd.join("go"), "").unwrap();
        assert_eq!(g.act(World::Stdin { task, bytes: vec![], wait: 15_000 }).await, ran("two\n", Exit::Code(3)));
        let gone = Outcome::Failed(Failure::NoSuchTask(task));
        assert_eq!(g.act(World::Stdin { task, bytes: vec![], wait: 10 }).await, gone);
        let ended = tokio::time::timeout(LIMIT, g.host.next_ended()).await.unwrap();
        assert_eq!(
            (ended.task, ended.command.as_str(), without_log(ended.outcome)),
            (task, script, ran("one\ntwo\n", Exit::Code(3)))
        );
    });
}

fn log(outcome: &Outcome) -> Option<PathBuf> {
    parts(outcome).0.log.clone()
}

#[test]
fn all_output_of_a_task_goes_to_a_file() {
    each_mode(|g| async move {
        // More than is held, before it becomes a task and after; and what it leaves running goes on.
        let script = "seq 1000; touch half; until [ -e go ]; do sleep 0.02; done; seq 1000
            (until [ -e on ]; do sleep 0.02; done; echo late) & echo end";
        let whole: String = (1..=1000).map(|n| format!("{n}\n")).collect();
        let run = bash(script, |r| (r.yield_after, r.keep) = (Some(1), 100));
        let handed_back = g.host.perform(&g.cx, World::Run(run)).await;
        let path = log(&handed_back).expect("a log");
        let content = || std::fs::read_to_string(&path).unwrap();
        assert!(path.starts_with(g.temp.path().join("session")), "{path:?}");
        until(|| g.cx.cwd.join("half").exists() && content() == whole).await;
        // The model reads it from within the walls, while the task runs.
        assert_eq!(text(&g.run(|_| {}, &format!("tail -n 1 '{}'", path.display())).await), "1000\n");
        let Outcome::Tasks(list) = g.act(World::Task(TaskOp::List)).await else { panic!() };
        assert_eq!(list[0].log.as_ref(), Some(&path));
        std::fs::write(g.cx.cwd.join("go"), "").unwrap();
        let ended = g.host.next_ended().await;
        assert_eq!(log(&ended.outcome).as_ref(), Some(&path));
        assert!(parts(&ended.outcome).0.cut.is_some());
        assert_eq!(content(), format!("{whole}{whole}end\n"));
        let task = ended.task;
        let looked = g.host.perform(&g.cx, World::Task(TaskOp::Output { task, wait: 10 })).await;
        assert_eq!(log(&looked).as_ref(), Some(&path));
        std::fs::write(g.cx.cwd.join("on"), "").unwrap();
        until(|| content() == format!("{whole}{whole}end\nlate\n")).await;
        g.host.stop_all().await;
        assert_eq!(content(), format!("{whole}{whole}end\nlate\n"));
    });
}

#[test]
fn a_command_that_ends_in_the_foreground_leaves_no_log() {
    each_mode(|g| async move {
        let run = bash("seq 1000", |r| (r.yield_after, r.keep) = (Some(60_000), 100));
        let outcome = g.host.perform(&g.cx, World::Run(run)).await;
        assert_eq!((log(&outcome), exit_of(&outcome)), (None, &Exit::Code(0)));
        let session = g.temp.path().join("session");
        until(|| std::fs::read_dir(&session).is_ok_and(|mut files| files.next().is_none())).await;
    });
}

#[test]
fn a_terminal_takes_input() {
    each_mode(|g| async move {
        let script = "tty; [ -t 0 ] && [ -t 1 ] && echo yes; stty size; read line; echo \"got $line\"; cat";
        let outcome = g.run(|r| (r.tty, r.yield_after) = (true, Some(600)), script).await;
        let (output, exit, task, _) = parts(&outcome);
        assert_eq!(*exit, Exit::Running);
        assert!(output.text.starts_with("/dev/pts/") && output.text.ends_with("\r\nyes\r\n24 80\r\n"), "{output:?}");
        let task = task.unwrap();
        let stdin = |bytes: &[u8]| World::Stdin { task, bytes: bytes.to_vec(), wait: 15_000 };
        let begun = Instant::now();
        let outcome = g.act(stdin(b"hello\n")).await;
        assert!(begun.elapsed() < Duration::from_secs(10), "it has settled before");
        assert_eq!((text(&outcome), exit_of(&outcome)), ("hello\r\ngot hello\r\n", &Exit::Running));
        // More than the terminal holds at once.
        let long = format!("{}\n", "x".repeat(1000)).repeat(20);
        let outcome = g.act(stdin(long.as_bytes())).await;
        assert_eq!(parts(&outcome).0.lines, 40);
        // `cat` closes the terminal before it exits, and is not hung up on.
        let outcome = g.act(stdin(b"\x04")).await;
        assert_eq!((parts(&outcome).1, parts(&outcome).2), (&Exit::Code(0), None));
    });
}

#[test]
fn without_a_terminal_there_is_no_input_but_an_interrupt() {
    each_mode(|g| async move {
        let script = "trap 'echo caught; exit 4' INT; echo ready; while :; do sleep 0.02; done";
        let outcome = g.run(|r| r.background = true, script).await;
        let (output, exit, task, _) = parts(&outcome);
        assert_eq!((output.text.as_str(), exit), ("", &Exit::Running));
        let task = task.unwrap();
        let outcome = g.act(World::Task(TaskOp::Output { task, wait: 15_000 })).await;
        assert_eq!(text(&outcome), "ready\n");
        let closed = "stdin is closed for this session; rerun exec_command with tty=true to keep stdin open";
        assert_eq!(
            g.act(World::Stdin { task, bytes: b"x".to_vec(), wait: 10 }).await,
            Outcome::Failed(Failure::Other(closed.into()))
        );
        let outcome = g.act(World::Stdin { task, bytes: vec![3], wait: 15_000 }).await;
        assert_eq!(outcome, ran("caught\n", Exit::Code(4)));
    });
}

#[test]
fn a_timeout_may_move_a_command_to_the_background() {
    each_mode(|g| async move {
        let change = |r: &mut Run| (r.timeout, r.on_timeout) = (Some(200), OnTimeout::Background);
        let outcome = g.run(change, &format!("echo one; {STUBBORN}")).await;
        let (output, exit, task, _) = parts(&outcome);
        assert_eq!((output.text.as_str(), exit), ("one\nready\n", &Exit::Running));
        let task = task.unwrap();
        assert!(locked(&g));
        assert_eq!(g.act(World::Task(TaskOp::Stop { task })).await, ran("", Exit::Stopped));
        assert!(!locked(&g));
        let ended = g.host.next_ended().await;
        assert_eq!((ended.task, without_log(ended.outcome)), (task, ran("one\nready\n", Exit::Stopped)));
        // It can still be asked about.
        assert_eq!(g.act(World::Task(TaskOp::Output { task, wait: 1000 })).await, ran("", Exit::Stopped));
    });
}

#[test]
fn a_kept_shell_remembers() {
    each_mode(|g| async move {
        let kept = async |script: &str, timeout| {
            let change = |r: &mut Run| {
                (r.shell, r.timeout, r.track_cwd) = (Shell::Kept("main".into()), timeout, true);
            };
            g.run(change, script).await
        };
        let told = |text: &str, code, folder: &str| Outcome::Ran {
            output: Captured::whole(text),
            exit: Exit::Code(code),
            cwd_after: Some(g.cx.cwd.join(folder).canonicalize().unwrap()),
            task: None,
            left: false,
        };
        let outcome = kept("mkdir d; cd d; A=1; f() { echo \"f $1\"; }; echo é", None).await;
        assert_eq!(outcome, told("é\n", 0, "d"));
        assert_eq!(kept("f $A\ncat\nfalse", None).await, told("f 1\n", 1, "d"));
        let outcome = kept("cd ..; seq 100000; echo 'last", None).await;
        let Outcome::Ran { exit, .. } = &outcome else { panic!("{outcome:?}") };
        assert_ne!(*exit, Exit::Code(0), "a script that cannot be parsed fails and the shell stays");
        let outcome = kept("seq 100000", None).await;
        let (output, ..) = parts(&outcome);
        assert_eq!((output.lines, output.bytes), (100_000, 588_895));
        assert_eq!(kept("echo $A", None).await, told("1\n", 0, "d"));
        assert_eq!(kept("exit 5", None).await, ran("", Exit::Code(5)));
        assert_eq!(kept("echo new $A", None).await, told("new\n", 0, "."));
        let outcome = kept(&format!("echo partial; {STUBBORN}"), Some(500)).await;
        assert_eq!(outcome, ran("partial\nready\n", Exit::TimedOut(500)));
        assert!(!locked(&g));
        assert_eq!(kept("pwd", None).await, told(&format!("{}\n", g.cx.cwd.display()), 0, "."));
        g.host.stop_all().await;
        assert_eq!(kept("echo again", None).await, told("again\n", 0, "."));
    });
}

#[test]
fn all_ends_together() {
    each_mode(|g| async move {
        for change in [|r: &mut Run| r.background = true, |r: &mut Run| (r.tty, r.yield_after) = (true, Some(1))] {
            g.run(change, "exec 8>>lock; flock -s 8; setsid sleep 100 & echo ready; wait").await;
        }
        until(|| locked(&g)).await;
        let waiting = g.host.perform(&g.cx, World::Run(bash("sleep 100", |_| {})));
        let stop = async {
            tokio::task::yield_now().await;
            g.host.stop_all().await;
        };
        let (outcome, ()) = tokio::join!(waiting, stop);
        assert_eq!(outcome, ran("", Exit::Stopped));
        assert!(!locked(&g));
        assert_eq!(g.act(World::Task(TaskOp::List)).await, Outcome::Tasks(vec![]));
        // Not told one by one.
        let told = tokio::time::timeout(Duration::from_millis(20), g.host.next_ended()).await;
        assert!(told.is_err(), "{told:?}");
    });
}

/// Three hundred commands in one reply, under a soft limit that a dozen at once would use up.
#[test]
fn many_commands_at_once_all_run() {
    let exe = std::env::current_exe().unwrap();
    let limit = "ulimit -Sn 128 && exec \"$0\" --exact process::tests::three_hundred_at_once --ignored --nocapture";
    let output = std::process::Command::new("sh").args(["-c", limit]).arg(exe).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "started by the test above"]
fn three_hundred_at_once() {
    let mode = if has_walls() { SandboxMode::WorkspaceWrite } else { SandboxMode::DangerFullAccess };
    on_runtime(async move {
        let ground = Rc::new(Ground::new(mode));
        // Tasks in the background hold no place: more of them than there are places.
        for _ in 0..40 {
            let outcome = ground.run(|run| run.background = true, "sleep 1000").await;
            assert_eq!(parts(&outcome).1, &Exit::Running);
        }
        let runs: Vec<_> = (0..300)
            .map(|_| {
                let ground = ground.clone();
                async move { ground.host.perform(&ground.cx, World::Run(bash("ulimit -Sn", |_| {}))).await }
            })
            .collect();
        let set = tokio::task::LocalSet::new();
        let running: Vec<_> = runs.into_iter().map(|run| set.spawn_local(run)).collect();
        set.await;
        for run in running {
            // The command's own limit is the one that we were started with.
            assert_eq!(run.await.unwrap(), ran("128\n", Exit::Code(0)));
        }
        ground.host.stop_all().await;
    });
}
