//! The bash tool: one command in a new shell, without a time limit unless one is given. Of a long output its end is shown, and all of
//! it is kept in a file.
use std::path::Path;

use protocol::{Action, Answer, Captured, Done, Exit, Millis, Outcome, Run, World, ceil_char};

use super::{
    read::{BYTES, LINES},
    refusal,
};
use crate::{Context, Next};

/// Bytes held of one command's output.
const KEPT: u64 = 8 << 20;

/// `timeout` in seconds.
pub(super) fn next(_cx: &Context, command: &str, timeout: Option<f64>, did: &[Done]) -> Next {
    let Some(first) = did.first() else {
        let timeout = timeout.filter(|seconds| *seconds > 0.0).map(|seconds| (seconds * 1000.0) as Millis);
        let env = vec![("PI_CODING_AGENT".to_owned(), "true".to_owned())];
        return Next::Do(vec![Action::World(World::Run(Run { timeout, env, keep: KEPT, ..Run::new(command) }))]);
    };
    if let Outcome::Ran { output, .. } = &first.outcome {
        if Tail::of(&output.text).is_some() && did.len() == 1 {
            let text = output.text.clone();
            return Next::Do(vec![Action::World(World::Save { text, hint: "bash".into() })]);
        }
        let saved = did.iter().find_map(|done| match &done.outcome {
            Outcome::Saved { path, .. } => Some(path.as_path()),
            _ => None,
        });
        return Next::Answer(ended(&first.outcome, timeout, saved));
    }
    Next::Answer(match &first.outcome {
        Outcome::Interrupted { output } => {
            Answer::failed(with(&said(&output.clone().unwrap_or_default(), None), "Command aborted"))
        }
        other => refusal::told(other),
    })
}

/// A past command's answer, where its whole output cannot be saved any more.
pub(super) fn unsaved(outcome: &Outcome) -> Answer {
    ended(outcome, None, None)
}

fn ended(outcome: &Outcome, timeout: Option<f64>, saved: Option<&Path>) -> Answer {
    let Outcome::Ran { output, exit, left, .. } = outcome else { return refusal::told(outcome) };
    let text = said(output, saved);
    let shown = if text.is_empty() { "(no output)" } else { &text };
    match exit {
        Exit::Code(0) | Exit::Signal(_) | Exit::Running if *left => {
            // Ours: the original says nothing of it, and models wait for its end or start it anew.
            Answer::plain(with(shown, "[A process that this command started is still running]"))
        }
        Exit::Code(0) | Exit::Signal(_) | Exit::Running => Answer::plain(shown),
        Exit::Code(code) => Answer::failed(with(shown, &format!("Command exited with code {code}"))),
        Exit::TimedOut(after) => {
            let seconds = timeout.unwrap_or(*after as f64 / 1000.0);
            Answer::failed(with(&text, &format!("Command timed out after {seconds} seconds")))
        }
        Exit::Stopped => Answer::failed(with(&text, "Command aborted")),
    }
}

fn with(text: &str, line: &str) -> String {
    if text.is_empty() { line.to_owned() } else { format!("{text}\n\n{line}") }
}

/// The output, or its end with a note.
fn said(output: &Captured, saved: Option<&Path>) -> String {
    let Some(tail) = Tail::of(&output.text) else { return output.text.clone() };
    let place = saved.map_or("could not be saved".to_owned(), |path| path.display().to_string());
    let text = if tail.text.is_empty() { "(no output)" } else { tail.text };
    format!("{text}\n\n[{}. Full output: {place}]", tail.note)
}

struct Tail<'a> {
    text: &'a str,
    note: String,
}

impl<'a> Tail<'a> {
    /// None: the text is short enough to be shown whole.
    fn of(text: &'a str) -> Option<Tail<'a>> {
        let total = text.split('\n').count();
        if total <= LINES && text.len() <= BYTES {
            return None;
        }
        let (mut from, mut count) = (text.len(), 0);
        let mut by_bytes = false;
        for line in text.rsplit('\n').take(LINES) {
            let start = from - line.len() - usize::from(count > 0);
            if text.len() - start > BYTES {
                by_bytes = true;
                break;
            }
            from = start;
            count += 1;
        }
        if count == 0 {
            // Not even the last line has room.
            let line = text.rsplit('\n').next().unwrap_or(text);
            let end = &text[ceil_char(text, text.len() - BYTES)..];
            let note = format!("Showing last {} of line {total} (line is {})", size(end.len()), size(line.len()));
            return Some(Tail { text: end, note });
        }
        let limit = if by_bytes { " (50.0KB limit)" } else { "" };
        let note = format!("Showing lines {}-{total} of {total}{limit}", total - count + 1);
        Some(Tail { text: &text[from..], note })
    }
}

/// `58.6KB`.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.1}KB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn numbers(to: usize) -> String {
        (1..=to).map(|n| format!("{n}\n")).collect()
    }

    #[test]
    fn tails_as_measured() {
        let check = |text: &str, start: &str, note: &str| {
            let tail = Tail::of(text).map(|tail| (tail.text.starts_with(start), tail.note));
            assert_eq!(tail, Some((true, note.to_owned())));
        };
        check(&numbers(20_000), "18002\n", "Showing lines 18002-20001 of 20001");
        check(&numbers(2_000), "2\n", "Showing lines 2-2001 of 2001");
        check(&format!("{}\n", "z".repeat(100_000)), "", "Showing lines 2-2 of 2 (50.0KB limit)");
        check(
            &format!("{}\n", ("z".repeat(99) + "\n").repeat(600)),
            "zz",
            "Showing lines 90-602 of 602 (50.0KB limit)",
        );
        check(&"z".repeat(100_000), "zz", "Showing last 50.0KB of line 1 (line is 97.7KB)");
        assert!(Tail::of(&(numbers(1_999) + "x")).is_none());
    }

    proptest! {
        #[test]
        fn a_tail_is_the_end(text in "([a-zé]{0,40}\n){0,40}[a-zé]{0,9}", times in 1usize..120) {
            let text = text.repeat(times);
            if let Some(tail) = Tail::of(&text) {
                prop_assert!(text.ends_with(tail.text) && tail.text.len() <= BYTES);
            }
        }
    }
}
