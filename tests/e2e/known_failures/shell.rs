//! D: commands that leave children behind, never end, read what nobody writes, or write what nobody can read.
use std::{
    fs,
    os::fd::{FromRawFd, OwnedFd},
    os::unix::process::CommandExt,
    time::{Duration, Instant},
};

use pretty_assertions::assert_eq;
use protocol::WireId::Chat;
use serde_json::{Value, json};

use super::{
    HARNESSES, marked_processes, place, shown,
    speak::{Block, call, over, result_in, say, shell},
    until,
};
use crate::place::{Place, Ran, wait};

/// Runs one call and gives what the model was told of it.
#[track_caller]
fn one(harness: &str, call: Block) -> (Place, Ran, String) {
    let place = place(Chat, harness, vec![say(vec![call]).step(Chat), over(harness).step(Chat)]);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = result_in(Chat, &place.request(1));
    (place, ran, told)
}

/// A mark that no other test has.
fn mark(name: &str) -> String {
    format!("KNOWN_FAILURE_MARK={name}-{}", std::process::id())
}

#[test]
fn case_31_background_child_returns_at_once() {
    for harness in HARNESSES {
        for (n, script) in
            ["sleep 60 & echo done", "setsid sleep 60 & echo done", "(while :; do echo x; sleep 0.1; done) & echo done"]
                .iter()
                .enumerate()
        {
            let mark = mark(&format!("31-{harness}-{n}"));
            let (_, ran, told) = one(harness, shell(harness, "a", &format!("export {mark}; {script}")));
            assert!(ran.took < Duration::from_secs(5), "{harness} {script}: {:?}", ran.took);
            assert!(told.contains("done"), "{harness} {script}: {told}");
            // The format of mini-swe-agent has no place for it.
            let said = told.to_lowercase().contains("still running") || harness == "mini-swe-agent";
            assert!(said, "{harness} {script}: {told}");
            until("the end of what was left behind", || marked_processes(&mark).is_empty());
        }
    }
}

#[test]
fn case_32_a_timeout_ends_the_whole_tree() {
    timeout_ends_the_tree("claude-code-bare");
}

#[test]
fn case_32_a_session_ends_with_its_tree() {
    timeout_ends_the_tree("native");
}

/// mini-swe-agent has one timeout for all commands, 30 seconds: too long for a test.
fn timeout_ends_the_tree(harness: &str) {
    let mark = mark(&format!("32-{harness}"));
    let script = format!("export {mark}; mkfifo p; (while :; do echo c; sleep 1; done) > p & cat p");
    let call = match harness {
        // It has no timeout: the command comes back as a running session, and ends with the turn.
        "native" => call("a", "exec_command", &json!({"cmd": script, "yield_time_ms": 2000})),
        _ => call("a", "Bash", &json!({"command": script, "timeout": 2000})),
    };
    let (_, ran, told) = one(harness, call);
    assert!(ran.took < Duration::from_secs(6), "{harness}: {:?}", ran.took);
    assert!(told.contains("c\n") || told.ends_with('c'), "{harness}, partial output: {told}");
    until("the end of the tree", || marked_processes(&mark).is_empty());
}

const READERS: [&str; 5] = [
    "cat",
    "read x; echo got",
    "git init -q . && git commit --allow-empty",
    "ssh-keygen -f k",
    "python3 -c 'import getpass; getpass.getpass()'",
];

fn readers_end(harness: &str) {
    for script in READERS {
        let (_, ran, _) = one(harness, shell(harness, "a", script));
        assert!(ran.took < Duration::from_secs(5), "{harness} {script}: {:?}", ran.took);
    }
}

#[test]
fn case_34_commands_that_read_standard_input_end_at_once() {
    readers_end("native");
}

#[test]
fn case_34_in_claude_code_bare() {
    readers_end("claude-code-bare");
}

#[test]
fn case_34_in_mini_swe_agent() {
    readers_end("mini-swe-agent");
}

/// The program itself in a terminal: its commands must not get hold of that terminal.
#[test]
fn case_34_also_when_the_program_has_a_terminal() {
    for script in READERS {
        let place =
            place(Chat, "native", vec![say(vec![shell("native", "a", script)]).step(Chat), over("native").step(Chat)]);
        let (master, slave) = terminal();
        let mut command = place.command(&["exec", "--json", "-s", "workspace-write", "do it"]);
        command.stdin(slave);
        // SAFETY: both calls are allowed between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) >= 0 {
                true => Ok(()),
                false => Err(std::io::Error::last_os_error()),
            });
        }
        let begun = Instant::now();
        let child = command.spawn().expect("the binary starts");
        drop(command);
        let ran = wait(child, begun);
        drop(master);
        assert_eq!(ran.code, Some(0), "{script}: {ran:?}");
        assert!(ran.took < Duration::from_secs(5), "{script}: {:?}", ran.took);
        assert!(!result_in(Chat, &place.request(1)).is_empty());
    }
}

fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: the pointers are to locals, the others may be null.
    let made = unsafe {
        libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut())
    };
    assert_eq!(made, 0, "openpty");
    // SAFETY: new descriptors that nobody else has.
    unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) }
}

/// Memory, request and session file stay small; head and tail are there, and what is missing is counted.
#[track_caller]
fn bounded(harness: &str, call: Block, head: &str) -> String {
    let (place, ran, told) = one(harness, call);
    assert!(ran.peak < 200 << 20, "{harness}: {} MiB", ran.peak >> 20);
    assert!(told.len() < 60_000, "{harness}: {} bytes", told.len());
    assert!(place.requests()[1].body.len() < 200_000);
    let rollout = fs::metadata(place.rollout()).expect("a session file").len();
    assert!(rollout < 1 << 20, "{harness}: session file of {rollout} bytes");
    assert!(told.contains(head), "{harness}: {}", &told[..told.len().min(300)]);
    told
}

/// Both ends of it are there, in the dialects whose originals keep both.
fn very_large_output(harness: &str) {
    let told = bounded(harness, shell(harness, "a", "echo HEAD; yes | head -c 500M; echo TAIL"), "HEAD");
    assert!(told.contains("TAIL") || harness == "claude-code-bare", "{harness}");
    // How much is missing is told, as a number of more than three digits.
    let digits = told.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() > 3);
    assert!(
        digits || told.contains("MB"),
        "{harness}: {}",
        told.chars().filter(|c| !"y\n".contains(*c)).collect::<String>()
    );
}

#[test]
fn case_35_very_large_output() {
    very_large_output("native");
}

#[test]
fn case_35_in_claude_code_bare() {
    very_large_output("claude-code-bare");
}

#[test]
fn case_35_in_mini_swe_agent() {
    very_large_output("mini-swe-agent");
}

#[test]
fn case_35_one_very_long_line() {
    for harness in HARNESSES {
        bounded(harness, shell(harness, "a", "printf HEAD; head -c 50M /dev/zero | tr '\\0' x; echo TAIL"), "HEADxxx");
    }
}

#[test]
fn case_35_endless_output_in_a_session() {
    bounded("native", call("a", "exec_command", &json!({"cmd": "echo HEAD; yes", "yield_time_ms": 3000})), "HEAD");
}

#[test]
fn case_35_endless_output_until_the_timeout() {
    bounded("claude-code-bare", call("a", "Bash", &json!({"command": "echo HEAD; yes", "timeout": 3000})), "HEAD");
}

#[test]
fn case_36_output_that_is_not_utf8() {
    let split = r"for b in '\346' '\270' '\220'; do printf $b; sleep 0.05; done; echo";
    let bytes = r"printf 'ok\n'; sleep 0.2; printf '\304\343\272\303\n'";
    for harness in HARNESSES {
        let (_, ran, told) = one(harness, shell(harness, "a", &format!("{bytes}; {split}; echo end")));
        // mini-swe-agent's answers are JSON in ASCII.
        let told = match serde_json::from_str::<Value>(&told) {
            Ok(json) => json["output"].as_str().unwrap_or_default().to_owned(),
            Err(_) => told,
        };
        assert!(told.contains("ok") && told.contains('渐') && told.contains("end"), "{harness}: {told}");
        assert!(told.contains('\u{fffd}'), "{harness}: {told}");
        // Every line of events is JSON (`shown` reads them all).
        let output = shown(&ran, "command_execution").remove(0);
        assert!(output.starts_with("ok\n") && output.ends_with("渐\nend\n"), "{harness}: {output:?}");
    }
}

/// Escape sequences and carriage returns are handed on as they came: the model sees what the program wrote.
#[test]
fn case_36_escape_sequences_and_progress() {
    let (_, _, told) = one("native", shell("native", "a", r"printf '\033[31mred\033[0m 10%%\r100%%\n'"));
    assert!(told.ends_with("\u{1b}[31mred\u{1b}[0m 10%\r100%\n"), "{told:?}");
}
