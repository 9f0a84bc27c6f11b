//! The Bash tool: one command in a fresh shell, in the foreground (past its timeout it goes on as a background task) or in the
//! background from the start. Texts and limits as measured by `tests/wire/kimi-code/bash*.json`.
use protocol::{Action, Captured, Done, Exit, Failure, Millis, OnTimeout, Outcome, Run, Shell, TaskOp, World};

use super::args::Args;
use super::envelope::{self, Said};
use super::{paths, refusal, roster};
use crate::{Context, Next};

/// Seconds.
const TIMEOUT: u64 = 60;
const TIMEOUT_MAX: u64 = 300;
pub(super) const BACKGROUND: u64 = 600;
const BACKGROUND_MAX: u64 = 86_400;
/// Bytes held of one command's output.
const KEPT: u64 = 10_000_000;
/// Characters of a command that stand for its description.
const DESCRIBED: usize = 60;

const OK: &str = "Command executed successfully.";
const MOVED: &str = "next_step: The task now runs in the background. You will be automatically notified when it completes — do NOT wait, poll, or call TaskOutput on it; continue with your current work.";
const STARTED: &str = "next_step: The completion arrives automatically in a later turn — do NOT wait, poll, or call TaskOutput on it; continue with your current work.\nnext_step: Use TaskStop only if the task must be cancelled.";
const HINT: &str = "human_shell_hint: The task is visible in the background-task panel.";

pub(super) fn next(cx: &Context, call: &str, args: &Args, did: &[Done]) -> Next {
    let command = args.str("command");
    let background = args.flag("run_in_background") == Some(true);
    let said = |said: Said| Next::Answer(said.answer("Bash", did));
    if background && args.str("description").trim().is_empty() {
        return said(Said::failed("description is required when run_in_background is true."));
    }
    // What the original's shell makes of nothing.
    if command.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        let end = command.lines().count().max(1) + 1;
        return said(Said::failed(format!(
            "/bin/bash: -c: line {end}: syntax error: unexpected end of file\nCommand failed with exit code: 2."
        )));
    }
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Run(run(cx, args, background)))]);
    };
    match &first.outcome {
        Outcome::Ran { output, exit: Exit::Running, task: Some(_), .. } => {
            let Some(listed) = did.get(1) else {
                return Next::Do(vec![Action::World(World::Task(TaskOp::List))]);
            };
            let pid = roster::pid(first, &listed.outcome);
            said(Said::ok(going_on(args, first, pid, background, output)))
        }
        Outcome::Ran { output, exit, .. } => ended(call, did, output, exit),
        Outcome::Failed(Failure::Spawn { errno: refusal::ENOENT | refusal::ENOTDIR, message }) => {
            let cwd = args.text("cwd").unwrap_or(".");
            let cwd =
                if cwd.starts_with('/') { cwd.to_owned() } else { paths::absolute(cx, cwd).display().to_string() };
            said(Said::failed(format!("/bin/bash: line 1: cd: {cwd}: {message}\nCommand failed with exit code: 1.")))
        }
        Outcome::Interrupted { output } => {
            let text = output.as_ref().map(|output| output.text.as_str()).unwrap_or_default();
            said(Said::failed(format!("{}Interrupted by user", line_ended(text))))
        }
        other => said(refusal::said("Bash", other)),
    }
}

fn run(cx: &Context, args: &Args, background: bool) -> Run {
    let asked = args.count("timeout").map(|s| s as u64);
    let seconds = match background {
        true if args.flag("disable_timeout") == Some(true) => None,
        true => Some(asked.unwrap_or(BACKGROUND).min(BACKGROUND_MAX)),
        false => Some(asked.unwrap_or(TIMEOUT).min(TIMEOUT_MAX)),
    };
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Run {
        shell: Shell::Fresh { program: Some("/bin/bash".to_owned()), login: false },
        cwd: args.text("cwd").map(|cwd| paths::absolute(cx, cwd)),
        timeout: seconds.map(|s| s * 1_000),
        on_timeout: if background { OnTimeout::Kill } else { OnTimeout::Background },
        background,
        env: vec![
            set("NO_COLOR", "1"),
            set("TERM", "dumb"),
            set("GIT_TERMINAL_PROMPT", "0"),
            set("SHELL", "/bin/bash"),
            // The original sets none, and one that is empty counts as none.
            set("PAGER", ""),
        ],
        keep: KEPT,
        ..Run::new(args.str("command"))
    }
}

/// Milliseconds that a background task may take; None: as long as it wants.
pub(super) fn limit(args: &Args) -> Option<Millis> {
    match args.flag("run_in_background") == Some(true) {
        true if args.flag("disable_timeout") == Some(true) => None,
        true => Some(args.count("timeout").map_or(BACKGROUND, |s| (s as u64).min(BACKGROUND_MAX)) * 1_000),
        false => Some(BACKGROUND * 1_000),
    }
}

/// As given, else the command's beginning.
pub(super) fn description(args: &Args) -> String {
    if let Some(given) = args.text("description").filter(|given| !given.trim().is_empty()) {
        return given.to_owned();
    }
    let command = args.str("command");
    let start: String = command.chars().take(DESCRIBED).collect();
    let more = if start.len() < command.len() { "…" } else { "" };
    format!("Bash: {start}{more}")
}

fn going_on(args: &Args, first: &Done, pid: Option<u32>, background: bool, output: &Captured) -> String {
    let pid = pid.map_or_else(String::new, |pid| format!("pid: {pid}\n"));
    let steps = if background { STARTED } else { MOVED };
    let mut text = format!(
        "task_id: {}\n{pid}description: {}\nstatus: running\nautomatic_notification: true\n{steps}\n{HINT}",
        roster::shell_id(first.tag),
        description(args)
    );
    if !background && !output.text.is_empty() {
        text.push_str(&format!("\n\nforeground_output:\n{}", output.text));
    }
    text
}

fn ended(call: &str, did: &[Done], output: &Captured, exit: &Exit) -> Next {
    let code = match exit {
        Exit::Code(code) => Ok(*code),
        Exit::Signal(_) | Exit::Stopped => Ok(-1),
        Exit::TimedOut(after) => Err(format!("Command killed by timeout ({}s)", after / 1_000)),
        Exit::Running => Ok(0),
    };
    let printed = output.text.as_str();
    let (failed, text) = match code {
        Ok(0) if printed.is_empty() => (false, OK.to_owned()),
        Ok(0) => (false, printed.to_owned()),
        Ok(code) if printed.is_empty() => {
            (true, format!("Process exited with code {code}\nCommand failed with exit code: {code}."))
        }
        Ok(code) => (true, format!("{}Command failed with exit code: {code}.", line_ended(printed))),
        Err(killed) => (true, format!("{}{killed}", line_ended(printed))),
    };
    let said = |text: String| Next::Answer(Said { text, failed, note: None }.answer("Bash", did));
    if !envelope::too_long(&text) {
        return said(text);
    }
    let Some(place) = envelope::place(did) else {
        return Next::Do(vec![envelope::save(printed, "bash-output")]);
    };
    // The size in the head is that of the output without the line on its end, which stands in the preview all the same.
    let mut shown = envelope::shortened(&text, "Bash", call, &place, (!failed).then_some(printed.len()));
    let chars = |text: &str| format!("output_size_chars: {}\n", envelope::length(text));
    shown = shown.replacen(&chars(&text), &chars(printed), 1);
    let id = did.first().map(|done| roster::shell_id(done.tag)).unwrap_or_default();
    let status = if failed { String::new() } else { format!("{OK}\n") };
    shown.push_str(&format!(
        "\n\n{status}task_id: {id}\noutput_size_bytes: {}\nnext_step: Use TaskOutput(task_id=\"{id}\") to query the task output.",
        printed.len()
    ));
    said(shown)
}

fn line_ended(text: &str) -> String {
    match text.is_empty() || text.ends_with('\n') {
        true => text.to_owned(),
        false => format!("{text}\n"),
    }
}
