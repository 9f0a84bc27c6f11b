//! How long results may be: output of commands keeps its ends and its verdicts, what is too long for the context is stored and shown in
//! part.
use protocol::{Action, Captured, Done, Outcome, World, ceil_char, floor_char};

use super::answer::{Said, Step};
use crate::Context;

/// Bytes of a command's output, and of its two ends where it is cut.
const SHELL: usize = 30_000;
const HEAD: usize = 22_000;
const TAIL: usize = 8_000;
/// Lines that are kept of what is left out.
const SUMMARY: usize = 80;
/// Bytes from which a result is stored, and what is shown of one.
const STORED: usize = 100 * 1024;
const SHOWN: usize = 32 * 1024;
/// Characters that one result may take of the context; of a model with less room than `LARGE` tokens `SMALL_HARD`.
const HARD: usize = 180_000;
const SMALL_HARD: usize = 12_000;
const LARGE: u64 = 500_000;

/// Beginnings of lines with the verdicts of compilers and test runners.
const VERDICTS: [&str; 22] = [
    "error",
    "Error",
    "ERROR",
    "warning:",
    "FAIL",
    "FAILED",
    "PASS",
    "failed",
    "failures:",
    "test result:",
    "thread '",
    "panicked at",
    "Traceback",
    "AssertionError",
    "E   ",
    "Tests:",
    "Test Suites:",
    "Ran ",
    "OK (",
    "make: ***",
    "BUILD ",
    "Finished ",
];

/// A command's output, at most 30,000 bytes of it.
pub(super) fn shell(output: &Captured) -> String {
    let text = output.text.as_str();
    if text.len() <= SHELL && output.cut.is_none() {
        return text.to_owned();
    }
    // What the runtime dropped lies between the ends, or is told of as a gap like any other.
    let head = floor_char(text, HEAD.min(text.len()));
    let tail = ceil_char(text, text.len().saturating_sub(TAIL)).max(head);
    let (shown, last) = (head as u64, (text.len() - tail) as u64);
    let omitted = output.bytes.max(text.len() as u64).saturating_sub(shown + last);
    let summary: String = text[head..tail]
        .lines()
        .filter(|line| is_verdict(line))
        .take(SUMMARY)
        .map(|line| format!("{line}\n"))
        .collect();
    format!(
        "{}...\n[Output truncated: showing first {shown} bytes and last {last} bytes. {omitted} bytes omitted.]\n{summary}[Output tail]\n{}",
        &text[..head],
        &text[tail..]
    )
}

fn is_verdict(line: &str) -> bool {
    let line = line.trim_start();
    VERDICTS.iter().any(|verdict| line.starts_with(verdict)) || line.starts_with("test ") && line.ends_with("FAILED")
}

/// Done with an answer that fits, or with its beginning and the place of the rest. `did`: all of the call, the storing included.
pub(super) fn fitted(cx: &Context, said: Said, did: &[Done]) -> Step {
    let limit = if cx.model.context_window >= LARGE { HARD } else { SMALL_HARD };
    let long = said.text.len() > limit && said.text.chars().count() > limit;
    if said.text.len() <= STORED && !long {
        return Step::Tell(said);
    }
    let Some(done) = did.last().filter(|done| matches!(done.action, Action::World(World::Save { .. }))) else {
        return Step::one(Action::World(World::Save { text: said.text, hint: "tool-result".to_owned() }));
    };
    let most = said.text.char_indices().nth(limit).map_or(said.text.len(), |(at, _)| at);
    let shown = if said.text.len() > STORED { SHOWN.min(most) } else { most };
    let end = floor_char(&said.text, shown);
    let place = match &done.outcome {
        Outcome::Saved { path, .. } => {
            format!("The whole result is in {}; read_file shows more of it.", path.display())
        }
        _ => "The whole result could not be stored.".to_owned(),
    };
    let text = format!(
        "{}\n\n[Result truncated: showing first {end} of {} bytes. {place}]",
        &said.text[..end],
        said.text.len()
    );
    Step::Tell(Said { text, ..said })
}

/// What was done for the tool itself.
pub(super) fn without_storing(did: &[Done]) -> &[Done] {
    match did {
        [rest @ .., Done { action: Action::World(World::Save { .. }), .. }] => rest,
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use protocol::Captured;

    #[test]
    fn long_output_keeps_its_ends_and_its_verdicts() {
        let short = "x".repeat(30_000);
        assert_eq!(super::shell(&Captured::whole(&*short)), short);
        let mut text = "h".repeat(22_000);
        text.push_str("\nnoise\nerror[E0308]: mismatched types\n  warning: unused\ntest a ... FAILED\nmore noise\n");
        let middle = text.len() - 22_000;
        text.push_str(&"t".repeat(8_000));
        let expected = format!(
            "{}...\n[Output truncated: showing first 22000 bytes and last 8000 bytes. {middle} bytes omitted.]\nerror[E0308]: mismatched types\n  warning: unused\ntest a ... FAILED\n[Output tail]\n{}",
            "h".repeat(22_000),
            "t".repeat(8_000)
        );
        assert_eq!(super::shell(&Captured::whole(text)), expected);
        let many = format!("{}{}{}", "h".repeat(22_000), "\nerror: x".repeat(100), "t".repeat(8_000));
        assert_eq!(super::shell(&Captured::whole(many)).matches("error: x").count(), 80);
    }

    proptest! {
        #[test]
        fn any_output_is_cut_at_characters(text in "[aé🙂\n]{0,30}", times in 1usize..3_000) {
            let text = text.repeat(times);
            let cut = super::shell(&Captured::whole(&*text));
            prop_assert!(text.len() <= 30_000 || cut.len() < 31_000);
        }
    }
}
