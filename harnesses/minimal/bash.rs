//! The bash tool: one command in a new shell. Of a long output the first and the last 5,000 characters are shown.
use protocol::{Action, Answer, Captured, Done, Exit, Millis, Outcome, Run, World};

use super::failed;
use crate::Next;
use crate::pi::refusal;

/// Seconds.
const TIMEOUT: u64 = 120;
const MAX_TIMEOUT: u64 = 3_600;
/// Characters of output from which on only both ends are shown, and how much of each.
pub(super) const LONG: usize = 10_000;
const END: usize = 5_000;
/// Nothing may wait for somebody to turn pages.
const ENV: [(&str, &str); 3] = [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// `timeout` in seconds.
pub(super) fn next(command: &str, timeout: Option<u64>, did: &[Done]) -> Next {
    match did.first() {
        Some(done) => Next::Answer(told(&done.outcome)),
        None => Next::Do(vec![Action::World(World::Run(Run {
            timeout: Some(timeout.filter(|seconds| *seconds > 0).unwrap_or(TIMEOUT).min(MAX_TIMEOUT) * 1_000),
            env: ENV.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Run::new(command)
        }))]),
    }
}

pub(super) fn told(outcome: &Outcome) -> Answer {
    let last = |last: &str| format!("\n[{last}]");
    match outcome {
        Outcome::Ran { output, exit, left, .. } => {
            let mut text = shown(output);
            text.push_str(&match exit {
                Exit::Code(0) => String::new(),
                Exit::TimedOut(after) => last(&timed_out(*after)),
                Exit::Running | Exit::Stopped => last("stopped"),
                exit => last(&format!("exit code: {}", exit.code().unwrap_or(1))),
            });
            if *left {
                text.push_str(&last("a process that it started is still running"));
            }
            Answer::plain(text)
        }
        Outcome::Interrupted { output } => {
            Answer::plain(shown(&output.clone().unwrap_or_default()) + &last("stopped by the user"))
        }
        other => failed(refusal::told(other)),
    }
}

fn timed_out(after: Millis) -> String {
    format!("timed out after {} s", after / 1_000)
}

fn shown(output: &Captured) -> String {
    let text = output.text.trim_end_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return "(no output)".to_owned();
    }
    // What was dropped before lay in the middle too.
    middle_out(text, output.cut.map_or(0, |cut| cut.omitted))
}

/// Both ends of a long text. `dropped`: characters that are missing from its middle already.
fn middle_out(text: &str, dropped: u64) -> String {
    let chars = if text.len() <= LONG { text.len() } else { text.chars().count() };
    if chars <= LONG {
        return text.to_owned();
    }
    let byte = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let omitted = (chars - 2 * END) as u64 + dropped;
    format!("{}\n[{omitted} characters omitted]\n{}", &text[..byte(END)], &text[byte(chars - END)..])
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_outputs_lose_their_middle() {
        assert_eq!(middle_out(&"é".repeat(LONG), 0), "é".repeat(LONG));
        let text = format!("{}{}{}", "a".repeat(END), "b".repeat(7), "c".repeat(END));
        let expected = |n: u64| format!("{}\n[{n} characters omitted]\n{}", "a".repeat(END), "c".repeat(END));
        assert_eq!(middle_out(&text, 0), expected(7));
        assert_eq!(middle_out(&text, 100), expected(107));
    }

    proptest! {
        #[test]
        fn any_output_is_bounded(text in "[aé\n]{0,40}", times in 1usize..600) {
            let text = text.repeat(times);
            let shown = shown(&Captured::whole(text.clone()));
            prop_assert!(shown.chars().count() <= LONG + 40);
        }
    }
}
