//! `exec_shell` and what goes with a command in the background; `code_execution`; git's two looks.
use protocol::{Action, Captured, Done, Exit, Outcome, Run, Shell, TaskOp, World};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::answer::{Said, Step, trouble};
use super::args::Args;
use super::record::{Record, shell_name};
use super::{cut, paths};
use crate::Context;

/// Milliseconds.
const TIMEOUT: u64 = 120_000;
const MAX_TIMEOUT: u64 = 600_000;
const WAIT: u64 = 30_000;
const ANSWER: u64 = 5_000;
/// Bytes held of a command's output.
const KEPT: u64 = 4 << 20;

const USE_BACKGROUND: &str =
    "For a command that takes longer set a larger timeout_ms, or background: true and look at it with exec_shell_wait.";
const POLL: &str = "Look at it with exec_shell_wait, end it with exec_shell_cancel.";

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// `words` on the input of `command`.
fn fed(command: &str, words: &str) -> String {
    let mark = Sha256::digest(words).iter().take(4).fold("INPUT_".to_owned(), |mark, byte| format!("{mark}{byte:02x}"));
    let end = if words.is_empty() || words.ends_with('\n') { "" } else { "\n" };
    format!("{command} <<'{mark}'\n{words}{end}{mark}")
}

pub(super) fn exec(cx: &Context, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "exec_shell";
    let command = args.text("command");
    if command.trim().is_empty() {
        return Step::invalid(TOOL, "command must not be empty");
    }
    let background = args.on("background");
    let Some(done) = did.first() else {
        let cwd = match args.given("cwd").filter(|cwd| !cwd.is_empty()).map(|cwd| paths::resolve(cx, cwd)).transpose() {
            Ok(cwd) => cwd,
            Err(text) => return Step::error(text),
        };
        let script = match args.given("stdin") {
            Some(words) => fed(&format!("{{\n{command}\n}}"), words),
            None => command.to_owned(),
        };
        let asked = args.number("timeout_ms").and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0);
        return Step::one(Action::World(World::Run(Run {
            cwd,
            tty: args.on("tty") || args.on("interactive"),
            timeout: Some(asked.unwrap_or(TIMEOUT).min(MAX_TIMEOUT)).filter(|_| !background),
            background,
            keep: KEPT,
            apart: true,
            ..Run::new(script)
        })));
    };
    Step::Tell(told(done, background))
}

/// Also of a command of another dialect.
pub(super) fn told(done: &Done, background: bool) -> Said {
    match &done.outcome {
        Outcome::Ran { task: Some(_), .. } => {
            let name = shell_name(done.tag);
            match background {
                true => Said::ok(format!("Background task started: {name}")),
                false => Said::ok(format!("Command moved to background: {name}\n\n{POLL}")),
            }
        }
        Outcome::Ran { output, exit, .. } => ended(output, exit),
        other => match trouble("exec_shell", "run the command", other) {
            Step::Tell(said) => said,
            Step::Do(_) => Said::error("nothing was run"),
        },
    }
}

/// Of a command that is over.
fn ended(output: &Captured, exit: &Exit) -> Said {
    let (stdout, stderr) = streams(output);
    let both = format!("STDOUT:\n{}\n\nSTDERR:\n{}", stdout.trim_end(), stderr.trim_end());
    match exit {
        Exit::Code(0) | Exit::Running => Said::ok(match (stdout.trim().is_empty(), stderr.trim().is_empty()) {
            (true, true) => "(no output)".to_owned(),
            (false, true) => stdout,
            (true, false) => format!("STDERR:\n{stderr}"),
            (false, false) => format!("{}\n\nSTDERR:\n{stderr}", stdout.trim_end()),
        }),
        Exit::Code(code) => Said::bad(format!("Command failed (exit code: Some({code}))\n\n{both}")),
        Exit::Signal(_) => Said::bad(format!("Command failed (exit code: None)\n\n{both}")),
        Exit::TimedOut(after) => {
            Said::bad(format!("Command timed out after {after}ms; process killed.\n\n{USE_BACKGROUND}\n\n{both}"))
        }
        Exit::Stopped => Said::bad(format!("Command was stopped.\n\n{both}")),
    }
}

/// What a command wrote to stdout and to stderr, each cut to a length that a model can read. What a terminal shows, and what ran in
/// another dialect, is one stream and counts as stdout.
fn streams(output: &Captured) -> (String, String) {
    let (out, err) = output.streams();
    (cut::shell(&out), cut::shell(&err))
}

pub(super) fn wait(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let ms = args.number("timeout_ms").and_then(|ms| u64::try_from(ms).ok()).unwrap_or(WAIT).min(MAX_TIMEOUT);
    on_task(cx, "exec_shell_wait", args, did, |task| World::Task(TaskOp::Output { task, wait: ms }))
}

pub(super) fn interact(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let wait = args.number("timeout_ms").and_then(|ms| u64::try_from(ms).ok()).unwrap_or(ANSWER).min(MAX_TIMEOUT);
    let bytes = args.text("input").as_bytes().to_vec();
    on_task(cx, "exec_shell_interact", args, did, |task| World::Stdin { task, bytes, wait })
}

pub(super) fn cancel(cx: &Context, args: &Args, did: &[Done]) -> Step {
    on_task(cx, "exec_shell_cancel", args, did, |task| World::Task(TaskOp::Stop { task }))
}

fn on_task(cx: &Context, tool: &str, args: &Args, did: &[Done], world: impl FnOnce(protocol::TaskId) -> World) -> Step {
    let name = args.text("task_id").trim();
    let record = Record::of(cx);
    let Some(shell) = record.shells.iter().find(|shell| shell.name == name) else {
        let known: Vec<&str> = record.shells.iter().map(|shell| shell.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Step::error(format!("Task {name} not found. Background tasks of this session: {known}"));
    };
    let Some(done) = did.first() else {
        return Step::one(Action::World(world(shell.task)));
    };
    match &done.outcome {
        Outcome::Ran { exit: Exit::Running, output, .. } => {
            let new = cut::shell(output);
            let new = if new.trim().is_empty() { "(no new output)".to_owned() } else { new };
            Step::ok(format!("Background task running: {name}\n\n{new}"))
        }
        Outcome::Ran { exit: Exit::Stopped, output, .. } => {
            let new = cut::shell(output);
            let new = if new.trim().is_empty() { String::new() } else { format!("\n\n{new}") };
            Step::ok(format!("Background task cancelled: {name}{new}"))
        }
        Outcome::Ran { exit, output, .. } => {
            let said = ended(output, exit);
            let verb = if said.failed { "failed" } else { "completed" };
            Step::Tell(Said { text: format!("Background task {verb}: {name}\n\n{}", said.text), ..said })
        }
        Outcome::Failed(protocol::Failure::NoSuchTask(_)) => {
            Step::error(format!("Task {name} has ended, and its end was told before."))
        }
        other => trouble(tool, &format!("reach {name}"), other),
    }
}

#[derive(Serialize)]
struct Executed {
    r#type: &'static str,
    stdout: String,
    stderr: String,
    return_code: i32,
    content: [u8; 0],
}

pub(super) fn python(args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "code_execution";
    let Some(done) = did.first() else {
        let script = fed("python3 -", args.text("code"));
        let shell = Shell::Fresh { program: Some("/bin/sh".to_owned()), login: false };
        return Step::one(Action::World(World::Run(Run {
            shell,
            timeout: Some(TIMEOUT),
            keep: KEPT,
            apart: true,
            ..Run::new(script)
        })));
    };
    match &done.outcome {
        Outcome::Ran { exit: Exit::TimedOut(after), .. } => {
            Step::error(format!("Tool '{TOOL}' timed out after {}s. Make the computation smaller.", after / 1000))
        }
        Outcome::Ran { exit: Exit::Code(127), .. } => {
            Step::error(format!("Tool '{TOOL}' is not available: python3 is not installed."))
        }
        Outcome::Ran { output, exit, .. } => {
            let (stdout, stderr) = streams(output);
            let return_code = exit.code().unwrap_or(-1);
            let result = Executed { r#type: "code_execution_result", stdout, stderr, return_code, content: [] };
            let text = serde_json::to_string(&result).unwrap_or_default();
            Step::Tell(if return_code == 0 { Said::ok(text) } else { Said::bad(text) })
        }
        other => trouble(TOOL, "run the code", other),
    }
}

pub(super) fn git_status(cx: &Context, args: &Args, did: &[Done]) -> Step {
    git(cx, "git_status", "status --short --branch".to_owned(), args, did)
}

pub(super) fn git_diff(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let cached = if args.on("cached") { " --cached" } else { "" };
    let unified = args.count("unified").map_or_else(String::new, |lines| format!(" --unified={lines}"));
    git(cx, "git_diff", format!("diff --no-color --no-ext-diff{cached}{unified}"), args, did)
}

fn git(cx: &Context, tool: &str, command: String, args: &Args, did: &[Done]) -> Step {
    let path = match args.given("path").filter(|path| !path.is_empty()) {
        Some(written) => match paths::resolve(cx, written) {
            Ok(path) => format!(" -- {}", quoted(&path.display().to_string())),
            Err(text) => return Step::error(text),
        },
        None => String::new(),
    };
    match did.first().map(|done| &done.outcome) {
        None => {
            let env = vec![("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned())];
            let script = format!("git --no-pager {command}{path}");
            Step::one(Action::World(World::Run(Run { env, timeout: Some(TIMEOUT), keep: KEPT, ..Run::new(script) })))
        }
        Some(Outcome::Ran { output, exit: Exit::Code(0), .. }) if output.text.trim().is_empty() => {
            Step::ok("(no changes)")
        }
        Some(Outcome::Ran { output, exit: Exit::Code(0), .. }) => Step::ok(cut::shell(output)),
        Some(Outcome::Ran { output, .. }) => Step::error(format!("Tool '{tool}' failed: {}", output.text.trim())),
        Some(other) => trouble(tool, "run git", other),
    }
}
