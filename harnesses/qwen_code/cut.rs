//! How long results are cut: the whole goes into a file, and beginning and end are shown. Limits count UTF-16 units, as the
//! original's do. Measured by `shell-long.json`, `grep-many.json` and `read-limits.json`.
use std::path::Path;

use protocol::{Action, Answer, Content, Done, Outcome, Part, World};

use crate::Next;

/// What one tool may show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Above this the result is cut.
    pub(super) chars: usize,
    pub(super) lines: Option<usize>,
    /// What is left of it then.
    pub(super) preview: usize,
}

/// Units of any result.
pub(super) const GENERAL_CHARS: usize = 25_000;
pub(super) const GENERAL_LINES: usize = 1_000;
pub(super) const GENERAL: Limits = Limits { chars: GENERAL_CHARS, lines: Some(GENERAL_LINES), preview: GENERAL_CHARS };
pub(super) const SHELL: Limits = Limits { chars: 30_000, lines: None, preview: 4_000 };
pub(super) const GREP: Limits = Limits { chars: 20_000, lines: Some(GENERAL_LINES), preview: 20_000 };

const MARKER: &str = "\n\n---\n... [CONTENT TRUNCATED] ...\n---\n\n";
/// A line that does not fit is shown in part, if there is room for more than the dots.
const DOTS: &str = "...";
/// A last line is never shown shorter than this.
const LEAST: usize = 10;

/// The answer, or the Action that keeps the whole text first. `text` must be the same when asked again.
pub(super) fn answer(tool: &str, text: String, limits: Limits, did: &[Done]) -> Next {
    let lines = text.split('\n').count();
    if units(&text) <= limits.chars && limits.lines.is_none_or(|most| lines <= most) {
        return Next::Answer(plain(tool, text));
    }
    let saved = did.iter().find_map(|done| match (&done.action, &done.outcome) {
        (Action::World(World::Save { .. }), outcome) => Some(outcome),
        _ => None,
    });
    match saved {
        None => Next::Do(vec![Action::World(World::Save { text, hint: tool.to_owned() })]),
        Some(Outcome::Saved { path, .. }) => Next::Answer(plain(tool, envelope(&text, limits, Some(path)))),
        Some(_) => Next::Answer(plain(tool, envelope(&text, limits, None))),
    }
}

/// A result as this dialect gives it: a list of one text; something is said where there is nothing.
pub(super) fn plain(tool: &str, text: impl Into<String>) -> Answer {
    let text = text.into();
    let text = if text.trim().is_empty() { format!("({tool} completed with no output)") } else { text };
    Answer { content: Content::Parts(vec![Part::Text(text)]), error: None, after: Vec::new() }
}

fn envelope(text: &str, limits: Limits, saved: Option<&Path>) -> String {
    let place = match saved {
        Some(path) => format!(
            "The full output has been saved to: {}\nTo read the complete output, use the read_file tool with the absolute file path above.",
            path.display()
        ),
        None => "The full output could not be saved.".to_owned(),
    };
    format!(
        "Tool output was too large and has been truncated.\n{place}\nThe truncated output below shows the beginning and end of the content. The marker '... [CONTENT TRUNCATED] ...' indicates where content was removed.\n\nTruncated part of the output:\n{}",
        shortened(text, limits)
    )
}

/// A fifth of the room for the beginning, the rest for the end.
fn shortened(text: &str, limits: Limits) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let most = limits.lines.unwrap_or(lines.len()).min(lines.len());
    let room = limits.preview.saturating_sub(MARKER.len());
    let first = most / 5;
    let (head, used) =
        fill(lines.iter().take(first).copied(), room / 5, |line, room| format!("{}{DOTS}", start(line, room)));
    let rest = lines.iter().skip(head.len()).rev().take(most - first).copied();
    let (mut tail, _) = fill(rest, room - used, |line, room| format!("{DOTS}{}", end(line, room)));
    tail.reverse();
    format!("{}{MARKER}{}", head.join("\n"), tail.join("\n"))
}

/// Lines as long as there is room, each with its line feed, and a part of the first that does not fit. Also the room used: all
/// of it where not every line fitted.
fn fill<'a>(
    lines: impl Iterator<Item = &'a str>,
    room: usize,
    part: impl Fn(&str, usize) -> String,
) -> (Vec<String>, usize) {
    let (mut taken, mut used) = (Vec::new(), 0);
    for line in lines {
        let cost = units(line) + 1;
        if used + cost > room {
            let left = room - used;
            if left > DOTS.len() {
                taken.push(part(line, left - DOTS.len()));
            }
            return (taken, room);
        }
        used += cost;
        taken.push(line.to_owned());
    }
    (taken, used)
}

/// Lines up to a limit of units, the last one in part (`ending` behind it). How many there are, and whether the last was cut.
pub(super) fn lines_within(lines: &[&str], most: usize, ending: &str) -> (String, usize, bool) {
    let mut used = 0;
    for (n, line) in lines.iter().enumerate() {
        let length = units(line);
        if used + length > most {
            let shown = start(line, most.saturating_sub(used).max(LEAST));
            let whole = lines[..n].iter().map(|line| format!("{line}\n")).collect::<String>();
            return (format!("{whole}{shown}{ending}"), n + 1, true);
        }
        used += length + 1;
    }
    (lines.join("\n"), lines.len(), false)
}

pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

fn start(text: &str, most: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > most {
            return &text[..at];
        }
    }
    text
}

/// The last units of a text.
pub(super) fn end(text: &str, most: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.len_utf16();
        if used > most {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn beginning_and_end_as_measured() {
        let numbers: String = (1..=20_000).map(|n| format!("\n{n}")).collect();
        let text = format!(
            "Command: seq 1 20000\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: (none)",
            numbers.trim_start()
        );
        let cut = shortened(&text, SHELL);
        let (head, tail) = cut.split_once(MARKER).unwrap();
        assert_eq!((head.len(), tail.len()), (790, 3_169));
        assert!(head.ends_with("\n212\n213") && tail.starts_with("...4\n19485\n19486\n"), "{head} | {tail}");
        let one = format!(
            "Command: python3 -c \"print('z'*100000)\"\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: (none)",
            "z".repeat(100_000)
        );
        let cut = shortened(&one, SHELL);
        let (head, tail) = cut.split_once(MARKER).unwrap();
        assert_eq!((head, tail.len()), ("Command: python3 -c \"print('z'*100000)\"", 3_921));
    }

    #[test]
    fn a_last_line_is_shown_in_part() {
        let lines = ["e".repeat(24_990), "second line".into(), "third".into()];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (text, shown, cut) = lines_within(&lines, GENERAL_CHARS, "... [truncated]");
        assert!(text.ends_with("e\nsecond lin... [truncated]") && shown == 2 && cut);
        assert_eq!(lines_within(&["a", "b"], 3, "..."), ("a\nb".into(), 2, false));
    }

    proptest! {
        #[test]
        fn any_text_is_cut_within_its_limits(text in "[a-zé😀\n]{0,400}", preview in 60usize..200) {
            let limits = Limits { chars: 50, lines: None, preview };
            prop_assert!(units(&shortened(&text, limits)) <= preview + 1);
            let lines: Vec<&str> = text.split('\n').collect();
            let (shown, count, cut) = lines_within(&lines, preview, "...");
            prop_assert!(count <= lines.len() && (cut || shown == text));
        }
    }
}
