//! I: standard input that stays open, readers that go away, and what the exit status says.
use std::{
    io::{BufRead, BufReader},
    process::{ChildStdout, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use demo::scripted::{End, Server, Step};
use pretty_assertions::assert_eq;
use protocol::WireId::{self, Chat};
use serde_json::json;

use super::{
    marked_processes, place,
    speak::{self, lines, run, say, text},
    start, until,
};
use crate::place::{Place, Ran, wait};

on_each_wire!(case_53_the_exit_status_tells_failure);

#[test]
fn case_51_open_standard_input_does_not_hold_the_run_up() {
    let place = place(Chat, "native", vec![say(vec![text("done")]).step(Chat)]);
    let mut command = place.command(&["exec", "--json", "do it"]);
    command.stdin(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().expect("the binary starts");
    let open = child.stdin.take();
    assert!(place.server.wait_for(1, Duration::from_secs(5)), "no request within 5 seconds");
    let ran = wait(child, begun);
    drop(open);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("stdin stayed open"), "{}", ran.stderr);
}

/// Reads up to the first line that holds `last`; then `leave` closes the pipe.
fn reader_goes(place: &Place, args: &[&str], last: &str, leave: impl FnOnce(BufReader<ChildStdout>)) -> Ran {
    let begun = Instant::now();
    let mut child = start(place, args);
    let mut out = BufReader::new(child.stdout.take().expect("stdout"));
    let mut line = String::new();
    while !line.contains(last) {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "no line with {last}");
    }
    leave(out);
    wait(child, begun)
}

#[track_caller]
fn quiet_end(ran: &Ran) {
    assert!(matches!(ran.code, Some(0 | 141)), "{ran:?}");
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("os error"), "{ran:?}");
}

#[test]
fn case_52_the_reader_of_events_goes_away() {
    // The model answers only when the reader is gone.
    let (gone, waiting) = mpsc::channel::<()>();
    let server = Server::answering(move |_, _| {
        let _ = waiting.recv_timeout(Duration::from_secs(8));
        say(vec![run("a", "echo a; sleep 30")]).step(Chat)
    });
    let place = Place::with(Chat, server.expect("a port"));
    place.write_config("harness = \"native\"");
    let ran = reader_goes(&place, &["exec", "--json", "do it"], "thread.started", |out| {
        drop(out);
        drop(gone);
    });
    quiet_end(&ran);
    assert!(ran.took < Duration::from_secs(8), "{:?}", ran.took);
}

#[test]
fn case_52_a_running_command_is_stopped_when_the_reader_goes() {
    let mark = format!("KNOWN_FAILURE_MARK=52-{}", std::process::id());
    let script = format!("export {mark}; touch flag; sleep 30");
    let place = place(Chat, "native", vec![say(vec![run("a", &script)]).step(Chat)]);
    let ran = reader_goes(&place, &["exec", "--json", "-s", "workspace-write", "do it"], "command_execution", |out| {
        until("the command", || place.file("flag").exists());
        drop(out);
    });
    quiet_end(&ran);
    assert!(ran.took < Duration::from_secs(8), "{:?}", ran.took);
    until("the end of the command", || marked_processes(&mark).is_empty());
}

#[test]
fn case_52_nobody_reads_at_all() {
    let place = place(Chat, "native", vec![say(vec![text("done")]).step(Chat)]);
    for args in [
        &["--help"] as &[&str],
        &["--version"],
        &["exec", "--help"],
        &["debug", "config"],
        &["debug", "config", "--json"],
        &["harness", "list"],
        &["harness", "show", "native"],
        &["sandbox", "--check"],
        &["exec", "do it"],
        &["exec", "--json", "do it"],
    ] {
        let mut command = place.command(args);
        let (read, write) = std::io::pipe().expect("a pipe");
        drop(read);
        command.stdout(write);
        let ran = crate::place::finish(command, None);
        assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:?}");
        assert!(matches!(ran.code, Some(0 | 141)), "{args:?}: {ran:?}");
    }
}

/// Events up to the text, then an error of the server.
fn fails_after_text(wire: WireId) -> Step {
    let mut events = say(vec![text("partial words")]).events(wire);
    events.truncate(4);
    events.push(speak::Event {
        name: "error".into(),
        data: json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}).to_string(),
    });
    Step::stream(vec![lines(&events).into_bytes()], End::Clean)
}

fn case_53_the_exit_status_tells_failure(wire: WireId) {
    let refuse = |status| Step::refuse(status, &json!({"error": {"message": "no", "type": "invalid_request_error"}}));
    let works = || say(vec![run("a", "echo hi")]).step(wire);
    let table: [(&str, Vec<Step>, &[&str], i32); 6] = [
        ("401", vec![refuse(401)], &[], 1),
        ("400", vec![refuse(400)], &[], 1),
        ("error after text", vec![fails_after_text(wire)], &[], 1),
        (
            "cut",
            vec![Step::stream(vec![lines(&say(vec![text("a")]).events(wire)[..3]).into_bytes()], End::Cut)],
            &[],
            1,
        ),
        ("steps", vec![works(), works(), works()], &["--max-steps", "2"], 3),
        ("tokens", vec![works(), works(), works()], &["--max-tokens", "150"], 5),
    ];
    for (name, steps, args, code) in table {
        let place = place(wire, "native", steps);
        let ran = place.exec(args);
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert_eq!(ran.outline().last().map(String::as_str), Some("turn.failed"), "{name}");
        let human = super::place(wire, "native", vec![refuse(400)]).run(&["exec", "do it"]);
        assert_eq!((human.code, human.stdout.as_str()), (Some(1), ""), "{human:?}");
    }
}

#[test]
fn case_53_time_is_up() {
    let place = place(Chat, "native", vec![Step::stream(vec![], End::Stall)]);
    let ran = place.exec(&["--max-time", "1"]);
    assert_eq!((ran.code, ran.outline().last().map(String::as_str)), (Some(4), Some("turn.failed")), "{ran:?}");
    assert!(ran.took < Duration::from_secs(5));
}

#[test]
fn case_53_interrupted() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = place(Chat, "native", vec![Step::stream(vec![], End::Stall)]);
        let begun = Instant::now();
        let child = start(&place, &["exec", "--json", "do it"]);
        assert!(place.server.wait_for(1, Duration::from_secs(5)));
        // SAFETY: a child of this test that was not waited for yet.
        unsafe { libc::kill(child.id() as i32, signal) };
        let ran = wait(child, begun);
        let expected = if signal == libc::SIGINT { 130 } else { 143 };
        assert_eq!(
            (ran.code, ran.outline().last().map(String::as_str)),
            (Some(expected), Some("turn.failed")),
            "{ran:?}"
        );
        assert!(ran.took < Duration::from_secs(5));
    }
}

#[test]
fn stderr_on_a_full_disk_is_no_reason_to_fail() {
    let place = place(Chat, "native", vec![say(vec![text("done")]).step(Chat)]);
    let mut command = place.command(&["exec", "do it"]);
    command.stderr(std::fs::File::options().write(true).open("/dev/full").expect("a full disk"));
    let begun = Instant::now();
    let ran = wait(command.spawn().expect("the binary starts"), begun);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{ran:?}");
}
