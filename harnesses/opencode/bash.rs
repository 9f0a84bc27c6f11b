//! The bash tool: one command in a new shell. Both streams come as written, without the exit code; limits and texts as measured by
//! `tests/wire/opencode/bash-*.json`.
use protocol::{Action, Answer, Captured, Done, Exit, Millis, Outcome, Run, World};

use super::{absolute, overflow, refusal, shown};
use crate::claude_code_bare::refusal::ENOENT;
use crate::{Context, Next};

/// Milliseconds.
const TIMEOUT: Millis = 120_000;
/// Bytes held of one command's output.
const KEPT: u64 = 8 << 20;

pub(super) fn next(cx: &Context, command: &str, timeout: Option<u64>, workdir: Option<&str>, did: &[Done]) -> Next {
    if command.is_empty() {
        return Next::Answer(Answer::failed("The argument 'file' cannot be empty. Received ''"));
    }
    let cwd = workdir.map_or(cx.settings.cwd.clone(), |dir| absolute(cx, dir));
    let Some(first) = did.first() else {
        let env = [("OPENCODE", "1"), ("AGENT", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        return Next::Do(vec![Action::World(World::Run(Run {
            cwd: Some(cwd),
            timeout: Some(timeout.unwrap_or(TIMEOUT)),
            env: env.to_vec(),
            keep: KEPT,
            ..Run::new(command)
        }))]);
    };
    if let Outcome::Ran { output, .. } = &first.outcome {
        if overflow::is_long(&output.text) && did.len() == 1 {
            let text = output.text.clone();
            return Next::Do(vec![Action::World(World::Save { text, hint: "tool".into() })]);
        }
        let saved = did.iter().find_map(|done| match &done.outcome {
            Outcome::Saved { path, .. } => Some(path.as_path()),
            _ => None,
        });
        return Next::Answer(ended(&first.outcome, saved));
    }
    Next::Answer(match &first.outcome {
        Outcome::Failed(protocol::Failure::Spawn { errno: ENOENT, .. }) => {
            Answer::failed(format!("NotFound: FileSystem.access ({})", shown(&cwd)))
        }
        Outcome::Interrupted { output } => {
            let output = output.clone().unwrap_or_default();
            Answer::failed(format!("{}\n\n{}", said(&output, None), metadata("User aborted the command")))
        }
        other => refusal::told(other),
    })
}

/// A past command's answer, where its whole output cannot be saved any more.
pub(super) fn unsaved(outcome: &Outcome) -> Answer {
    ended(outcome, None)
}

fn ended(outcome: &Outcome, saved: Option<&std::path::Path>) -> Answer {
    let Outcome::Ran { output, exit, left, .. } = outcome else { return refusal::told(outcome) };
    let mut text = said(output, saved);
    if let Exit::TimedOut(after) = exit {
        let why = format!(
            "shell tool terminated command after exceeding timeout {after} ms. If this command is expected to take longer and is not waiting for interactive input, retry with a larger timeout value in milliseconds."
        );
        text.push_str(&format!("\n\n{}", metadata(&why)));
    } else if *left {
        // Ours: the original says nothing of it, and models wait for its end or start it anew.
        text.push_str(&format!("\n\n{}", metadata("a process that this command started is still running")));
    }
    Answer::plain(text)
}

fn said(output: &Captured, saved: Option<&std::path::Path>) -> String {
    match output.text.as_str() {
        "" => "(no output)".to_owned(),
        text if overflow::is_long(text) => overflow::tail_told(text, saved),
        text => text.to_owned(),
    }
}

fn metadata(text: &str) -> String {
    format!("<shell_metadata>\n{text}\n</shell_metadata>")
}
