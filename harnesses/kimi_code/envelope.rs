//! The form of a result: how long it took, whether it failed, the output, a note; and what becomes of an output that is too
//! long. Lengths are UTF-16 units, as in the original.
use protocol::{Action, Answer, Content, Done, Millis, Outcome, Part, World};

use super::tools;
use crate::Next;

/// Longer outputs go into a file.
const SHOWN: usize = 50_000;
const HEAD: usize = 4_096;
const TAIL: usize = 1_024;
/// Of one line, its line feed included, where cutting the lines is enough.
const LINE: usize = 2_000;
const LINE_CUT: &str = "[...truncated]";

/// What a tool has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) failed: bool,
    pub(super) note: Option<String>,
}

impl Said {
    pub(super) fn ok(text: impl Into<String>) -> Said {
        Said { text: text.into(), failed: false, note: None }
    }
    pub(super) fn failed(text: impl Into<String>) -> Said {
        Said { text: text.into(), failed: true, note: None }
    }
    pub(super) fn note(self, note: impl Into<String>) -> Said {
        Said { note: Some(note.into()), ..self }
    }

    /// The whole result of `tool`.
    pub(super) fn answer(&self, tool: &str, did: &[Done]) -> Answer {
        let mut out = wall_time(tool, did);
        out.push_str(&self.body());
        let mut answer = Answer::plain(out);
        answer.error = self.failed.then_some(true);
        answer
    }

    fn body(&self) -> String {
        let mut out = match (self.failed, self.text.trim().is_empty()) {
            (true, true) => "<system>ERROR: Tool execution failed. Tool output is empty.</system>".to_owned(),
            (true, false) => format!("<system>ERROR: Tool execution failed.</system>\n{}", self.text),
            (false, true) => "<system>Tool output is empty.</system>".to_owned(),
            (false, false) => self.text.clone(),
        };
        if let Some(note) = &self.note {
            out.push_str(&format!("\n<system>{note}</system>"));
        }
        out
    }

    /// The same, with a text that is too long put into a file first.
    pub(super) fn next(self, tool: &str, call: &str, did: &[Done]) -> Next {
        match fitted(self, tool, call, did) {
            Ok(said) => Next::Answer(said.answer(tool, did)),
            Err(action) => Next::Do(vec![*action]),
        }
    }
}

/// A result of parts with media: time and failure are parts of their own.
pub(super) fn of_parts(parts: Vec<Part>) -> Answer {
    Answer { content: Content::Parts(parts), error: None, after: Vec::new() }
}

/// `Wall time: 0.123 seconds` and a line feed, for the tools that say it.
pub(super) fn wall_time(tool: &str, did: &[Done]) -> String {
    match tools::timed(tool) {
        true => format!("Wall time: {} seconds\n", seconds(did.iter().map(|done| done.took).sum())),
        false => String::new(),
    }
}

pub(super) fn seconds(ms: Millis) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Length as JavaScript counts it.
pub(super) fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// The first `units` of it, no character split.
pub(super) fn head(text: &str, units: usize) -> &str {
    let mut count = 0;
    for (at, c) in text.char_indices() {
        count += c.len_utf16();
        if count > units {
            return &text[..at];
        }
    }
    text
}

fn tail(text: &str, units: usize) -> &str {
    let mut count = 0;
    for (at, c) in text.char_indices().rev() {
        count += c.len_utf16();
        if count > units {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

/// Err: what has to be done first.
fn fitted(said: Said, tool: &str, call: &str, did: &[Done]) -> Result<Said, Box<Action>> {
    if length(&said.text) <= SHOWN {
        return Ok(said);
    }
    let place = place(did).ok_or_else(|| Box::new(save(&said.text, tool)))?;
    Ok(Said { text: shortened(&said.text, tool, call, &place, Some(said.text.len())), ..said })
}

pub(super) fn too_long(text: &str) -> bool {
    length(text) > SHOWN
}

/// Keeps a long text in a file.
pub(super) fn save(text: &str, hint: &str) -> Action {
    Action::World(World::Save { text: text.to_owned(), hint: hint.to_owned() })
}

/// Where it was put.
pub(super) fn place(did: &[Done]) -> Option<String> {
    did.iter().find_map(|done| match &done.outcome {
        Outcome::Saved { path, .. } => Some(path.display().to_string()),
        Outcome::Failed(_) if matches!(done.action, Action::World(World::Save { .. })) => {
            Some("(not saved)".to_owned())
        }
        _ => None,
    })
}

const NEXT_STEP: &str = "next_step: Use Read with output_path to page through the saved output, or Grep to search it.";

/// A long text as it is shown, with the file that has all of it: lines cut where that is enough, else beginning and end.
/// `bytes`: its size, where that is told.
pub(super) fn shortened(text: &str, tool: &str, call: &str, place: &str, bytes: Option<usize>) -> String {
    let cut = cut_lines(text);
    if length(&cut) <= SHOWN {
        let feed = if cut.ends_with('\n') { "" } else { "\n" };
        return format!(
            "{cut}{feed}[Per-line truncation occurred; the complete output was saved to a file.\noutput_path: {place}\n{NEXT_STEP}]"
        );
    }
    let chars = length(text);
    let bytes = bytes.map_or_else(String::new, |bytes| format!("output_size_bytes: {bytes}\n"));
    let from = chars - TAIL;
    format!(
        "Tool output exceeded 50000 characters; the full output was saved to a file.\ntool_name: {tool}\ntool_call_id: {call}\noutput_size_chars: {chars}\n{bytes}output_path: {place}\n{NEXT_STEP}\n\n[preview: chars [0, {HEAD})]\n{}\n\n[elided: chars [{HEAD}, {from})]\n\n[preview: chars [{from}, {chars})]\n{}",
        head(text, HEAD),
        tail(text, TAIL)
    )
}

fn cut_lines(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let body = line.strip_suffix('\n').unwrap_or(line);
            let feed = line.len() - body.len();
            match length(line) > LINE {
                true => format!("{}{LINE_CUT}{}", head(body, LINE - LINE_CUT.len() - feed), &line[body.len()..]),
                false => line.to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn results_have_the_measured_form() {
        let check =
            |said: Said, tool: &str, expected: &str| assert_eq!(said.answer(tool, &[]).content.text(), expected);
        check(Said::ok("x\n"), "Bash", "Wall time: 0.000 seconds\nx\n");
        check(Said::ok("x").note("n"), "Read", "x\n<system>n</system>");
        check(Said::ok("").note("n"), "Read", "<system>Tool output is empty.</system>\n<system>n</system>");
        check(Said::failed("no"), "Edit", "<system>ERROR: Tool execution failed.</system>\nno");
        check(Said::failed(""), "Edit", "<system>ERROR: Tool execution failed. Tool output is empty.</system>");
        assert_eq!(seconds(61_005), "61.005");
    }

    #[test]
    fn long_lines_are_cut_to_the_measured_length() {
        let shown = shortened(&format!("{}\n", "x".repeat(60_000)), "Bash", "c", "/s/o", Some(60_001));
        assert_eq!(
            shown,
            format!(
                "{}[...truncated]\n[Per-line truncation occurred; the complete output was saved to a file.\noutput_path: /s/o\n{NEXT_STEP}]",
                "x".repeat(1985)
            )
        );
        assert!(
            shortened(&"é".repeat(50_001), "Bash", "c", "/s/o", None).starts_with(&format!("{}[...", "é".repeat(1986)))
        );
    }

    #[test]
    fn a_long_text_shows_its_ends() {
        let text: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        let shown = shortened(&text, "Grep", "call_1", "/s/o", Some(text.len()));
        assert!(shown.starts_with("Tool output exceeded 50000 characters; the full output was saved to a file.\ntool_name: Grep\ntool_call_id: call_1\noutput_size_chars: 108894\noutput_size_bytes: 108894\noutput_path: /s/o\nnext_step: "));
        assert!(shown.contains("\n\n[elided: chars [4096, 107870)]\n\n[preview: chars [107870, 108894)]\n"));
        assert!(shown.ends_with("19999\n20000\n"));
    }

    proptest! {
        #[test]
        fn no_character_is_split(text in "[a😀é\\n]{0,60}", units in 0usize..70) {
            prop_assert!(length(head(&text, units)) <= units);
            prop_assert!(length(tail(&text, units)) <= units);
            prop_assert!(text.starts_with(head(&text, units)) && text.ends_with(tail(&text, units)));
        }
    }
}
