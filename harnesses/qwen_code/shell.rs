//! The run_shell_command tool: one command in a new `bash -c`, its result in seven lines. Measured by `shell-*.json`.
use std::path::Path;

use protocol::{Action, Captured, Done, Exit, Outcome, Run, Shell, TaskOp, World};
use serde_json::{Map, Value};

use super::cut::{self, SHELL, plain};
use super::refusal;
use super::{args, background};
use crate::{Context, Next};

pub(super) const TOOL: &str = "run_shell_command";

/// Milliseconds.
const TIMEOUT: u64 = 120_000;
/// Bytes held of one command's output.
const KEPT: u64 = 8 << 20;
/// Seconds of sleep that are let pass at the start of a command, and those that a reasoned sleep may take.
const SHORT_SLEEP: f64 = 2.0;
const LONG_SLEEP: f64 = 600.0;
/// Characters of a reason that says something.
const REASON: usize = 10;

pub(super) fn next(cx: &Context, call: &protocol::CallId, args: &Map<String, Value>, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let command = args::text(args, "command");
    let in_background = args::flag(args, "is_background").unwrap_or(false);
    let directory = Some(args::text(args, "directory")).filter(|directory| !directory.is_empty());
    let Some(first) = did.first() else {
        return match problem(cx, command, in_background, directory) {
            Some(problem) => say(problem),
            None if in_background => background::start(cx, call, command, run(cx, args)),
            None => Next::Do(vec![Action::World(World::Run(Run { script: command.to_owned(), ..run(cx, args) }))]),
        };
    };
    match &first.outcome {
        // The list tells its process.
        Outcome::Ran { exit: Exit::Running, .. } if in_background && did.len() == 1 => {
            Next::Do(vec![Action::World(World::Task(TaskOp::List))])
        }
        Outcome::Ran { .. } if in_background => say(background::started(cx, call, did)),
        Outcome::Ran { output, exit: Exit::TimedOut(after), .. } => {
            let text = clean(output);
            let text = match text.is_empty() {
                true => format!(
                    "Command timed out after {after}ms before it could complete. There was no output before it timed out."
                ),
                false => format!(
                    "Command timed out after {after}ms before it could complete. Below is the output before it timed out:\n{text}"
                ),
            };
            cut::answer(TOOL, text, SHELL, did)
        }
        Outcome::Ran { output, exit, .. } => cut::answer(TOOL, report(command, directory, output, exit), SHELL, did),
        Outcome::Refused(refusal) => Next::Answer(refusal::refused(TOOL, refusal)),
        Outcome::Failed(failure) => say(refusal::failure(failure)),
        _ => Next::Answer(refusal::unrecorded()),
    }
}

/// Everything but the script.
fn run(cx: &Context, args: &Map<String, Value>) -> Run {
    let directory = args::text(args, "directory");
    let cwd = if directory.is_empty() { cx.settings.cwd.clone() } else { directory.into() };
    let timeout = args::whole(args, "timeout").and_then(|ms| u64::try_from(ms).ok()).unwrap_or(TIMEOUT);
    let env = [("QWEN_CODE", "1"), ("TERM", "xterm-256color"), ("PAGER", "cat")];
    Run {
        shell: Shell::Fresh { program: Some("bash".into()), login: false },
        cwd: Some(cwd),
        timeout: Some(timeout),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        keep: KEPT,
        ..Run::new("")
    }
}

fn report(command: &str, directory: Option<&str>, output: &Captured, exit: &Exit) -> String {
    let output = clean(output);
    let output = if output.is_empty() { "(empty)" } else { &output };
    let none = || "(none)".to_owned();
    let (code, signal) = match exit {
        Exit::Code(code) => (code.to_string(), none()),
        Exit::Signal(signal) => (none(), signal.to_string()),
        Exit::Running | Exit::TimedOut(_) | Exit::Stopped => (none(), none()),
    };
    format!(
        "Command: {command}\nDirectory: {}\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: {signal}\nProcess Group PGID: (none)",
        directory.unwrap_or("(root)")
    )
}

/// Without escape sequences of terminals, and without white space at both ends.
pub(super) fn clean(output: &Captured) -> String {
    without_escapes(&output.text).trim().to_owned()
}

fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.peek() {
            Some('[') => {
                chars.next();
                while chars.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
                chars.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
            }
            Some(']') => {
                // Up to BEL, or to ESC and a backslash.
                while let Some(c) = chars.next_if(|c| *c != '\u{1b}') {
                    if c == '\u{7}' {
                        break;
                    }
                }
                if chars.next_if_eq(&'\u{1b}').is_some() {
                    chars.next_if_eq(&'\\');
                }
            }
            _ => {
                chars.next_if(|c| matches!(c, '\u{20}'..='\u{7e}'));
            }
        }
    }
    out
}

/// Why a command is not run.
fn problem(cx: &Context, command: &str, in_background: bool, directory: Option<&str>) -> Option<String> {
    if command.trim().is_empty() {
        return Some("Command cannot be empty.".to_owned());
    }
    if let Some(directory) = directory {
        let path = Path::new(directory);
        if !path.is_absolute() {
            return Some("Directory must be an absolute path.".to_owned());
        }
        let path = super::record::plain(path);
        let roots = std::iter::once(&cx.settings.cwd).chain(&cx.settings.sandbox.writable_roots);
        if !roots.into_iter().any(|root| path.starts_with(root)) {
            return Some(format!("Directory '{directory}' is not within any of the registered workspace directories."));
        }
    }
    if in_background {
        let trimmed = command.trim_end();
        let bare = trimmed.ends_with('&') && !trimmed.ends_with("&&");
        return bare.then(|| "Background shell commands must not end with a bare \"&\". Remove the trailing \"&\" and rely on is_background: true instead.".to_owned());
    }
    sleeping(command)
}

/// A command that begins by waiting belongs into the background.
fn sleeping(command: &str) -> Option<String> {
    let rest = command.trim_start().strip_prefix("sleep")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, after) = rest.split_at(end);
    let seconds: f64 = number.parse().ok()?;
    let after = after.trim_start();
    let blocked = |what: String, more: &str| {
        Some(format!(
            "Blocked: {what}. Start what takes long with is_background: true, and look at its output file when you need it. {more}"
        ))
    };
    if seconds < SHORT_SLEEP {
        return None;
    }
    if let Some(comment) = after.strip_prefix('#') {
        let reason = comment.trim_start().strip_prefix("intentional-sleep:").map(str::trim);
        return match reason {
            Some(reason) if reason.len() >= REASON && seconds <= LONG_SLEEP => None,
            Some(_) => blocked(
                format!("standalone sleep {number}"),
                "The intentional-sleep comment was seen, but it gives no good reason, or asks for more than 10 minutes.",
            ),
            None => standalone(number),
        };
    }
    let follows = ["&&", "||", ";", "\n"].iter().find_map(|link| after.strip_prefix(link));
    match follows.map(str::trim) {
        None | Some("") if after.trim_matches(['&', '|', ';', ' ']).is_empty() && !after.starts_with('&') => {
            standalone(number)
        }
        Some(next) if !next.is_empty() => blocked(
            format!("sleep {number} followed by: {next}"),
            "Where the wait is truly needed make two calls: `sleep N # intentional-sleep: <reason>` alone, then the rest.",
        ),
        _ => None,
    }
}

fn standalone(number: &str) -> Option<String> {
    Some(format!(
        "Blocked: standalone sleep {number}. Start what takes long with is_background: true, and look at its output file when you need it. Where a mere wait is truly needed, say why in a comment at the end, as in `# intentional-sleep: wait until the rate limit is over` (10 minutes at most)."
    ))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sleeps_that_are_not_run() {
        for (command, expected) in [
            ("sleep 5", Some("Blocked: standalone sleep 5. ")),
            ("sleep 2", Some("Blocked: standalone sleep 2. ")),
            ("  sleep 30 ;", Some("Blocked: standalone sleep 30. ")),
            ("sleep 2 && echo x", Some("Blocked: sleep 2 followed by: echo x. ")),
            ("sleep 5; echo x", Some("Blocked: sleep 5 followed by: echo x. ")),
            ("sleep 6 # intentional-sleep: wait", Some("Blocked: standalone sleep 6. ")),
            ("sleep 6 # intentional-sleep: wait for the server to come up", None),
            ("sleep 1.5; true", None),
            ("sleep 0.1", None),
            ("sleep 30 & echo bg", None),
            ("echo start; sleep 5", None),
            ("sleeper 5", None),
            ("sleep $N", None),
        ] {
            let found = sleeping(command);
            match expected {
                Some(start) => {
                    assert!(found.as_deref().is_some_and(|text| text.starts_with(start)), "{command}: {found:?}")
                }
                None => assert_eq!(found, None, "{command}"),
            }
        }
    }

    #[test]
    fn escapes_go() {
        for (text, expected) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("a\rb\u{8}", "a\rb\u{8}"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(without_escapes(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_output_and_command_is_read(text in "[\u{1b}\\[\\];a0m\u{7}]{0,20}", command in "sleep [0-9.&;#| a]{0,12}") {
            let clean = without_escapes(&text);
            prop_assert!(!clean.contains(char::from(27)), "{}", clean);
            let _ = sleeping(&command);
        }
    }
}
