//! The edit tool: one text for another in a file that was read before. Order of the checks and texts as measured by `edit.json`,
//! `edit-state.json` and `edit-matching.json`.
use std::path::Path;

use protocol::{
    Action, Change, Done, Eol, Expect, Failure, FileKind, New, Outcome, ReadAs, Refusal, Stamp, TextForm, World,
};
use serde_json::{Map, Value};

use super::args;
use super::cut::plain;
use super::matching::{self, Text};
use super::record::{self, Record, same};
use super::refusal::{self, EISDIR, ENOENT, ENOTDIR};
use crate::{Context, Next};

const TOOL: &str = "edit";
const WHAT: &str = "editing it";
const UNREAD: &str =
    "a partial read with offset / limit is fine — you only need to have seen the bytes you intend to edit";
/// Bytes of a file that is edited.
const EDITABLE: u64 = 64 << 20;
/// Lines shown before and after the change.
const AROUND: usize = 4;
/// A longer part is not shown.
const SHOWN: usize = 1_000;

pub(super) fn next(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let given = args::text(args, "file_path").trim();
    if given.is_empty() {
        return say("The 'file_path' parameter must be non-empty.".to_owned());
    }
    if !Path::new(given).is_absolute() {
        return say(format!("File path must be absolute: {given}"));
    }
    let path = record::plain(Path::new(given));
    let (old, new) = (unix(args::text(args, "old_string")), args::text(args, "new_string"));
    let all = args::flag(args, "replace_all").unwrap_or(false);
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    let change = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_))));
    match (&first.outcome, change) {
        (Outcome::Failed(Failure::Io { errno: ENOENT, .. }), None) if old.is_empty() => {
            let new = New::Whole { text: new.to_owned(), like: None };
            Next::Do(vec![Action::World(World::Change(vec![Change { path, to: None, new, expect: Expect::Absent }]))])
        }
        (Outcome::Failed(Failure::Io { errno: ENOENT, .. }), None) => say(format!("File not found: {given}")),
        (Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }), None) => say(unknown_state(given, "ENOTDIR", WHAT)),
        (
            Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. } | Failure::Io { errno: EISDIR, .. }),
            None,
        ) => say(format!(
            "{given} is a directory. The Edit / WriteFile tools only operate on regular files. Use a different mechanism (e.g. the shell tool) if you need to edit the contents of this directory."
        )),
        (Outcome::Failed(_), Some(change)) => match &change.outcome {
            Outcome::Changed(_) => {
                let count = new.split('\n').count();
                say(format!(
                    "Created new file: {given} with provided content. Showing lines 1-{count} of {count} from the edited file:\n\n---\n\n{new}"
                ))
            }
            other => not_changed(TOOL, given, WHAT, other),
        },
        (Outcome::Text { text, form, stamp }, change) => {
            let file = Text::of(text);
            match plan(cx, given, &path, &file, (&old, new, all), (*form, stamp)) {
                Err(problem) => say(problem),
                Ok(plan) => match change.map(|change| &change.outcome) {
                    None => Next::Do(vec![Action::World(World::Change(vec![plan.change]))]),
                    Some(Outcome::Changed(_)) => say(updated(given, &file.lf, &plan.after)),
                    Some(other) => not_changed(TOOL, given, WHAT, other),
                },
            }
        }
        (other, _) => not_changed(TOOL, given, WHAT, other),
    }
}

struct Plan {
    change: Change,
    /// The text afterwards, with line feeds alone.
    after: String,
}

fn plan(
    cx: &Context,
    given: &str,
    path: &Path,
    file: &Text,
    (old, new, all): (&str, &str, bool),
    (form, stamp): (TextForm, &Stamp),
) -> Result<Plan, String> {
    if old.is_empty() {
        return Err(format!("File already exists, cannot create: {given}"));
    }
    match Record::of(cx).seen.get(path) {
        // As after a change of this very call.
        None => return Err(unread(given, UNREAD, WHAT)),
        Some(seen) if seen.payload => return Err(payload(given)),
        Some(seen) if !same(&seen.stamp, stamp) => return Err(stale(given, WHAT)),
        Some(_) => {}
    }
    if !form.utf8 {
        return Err(format!(
            "{given} is not UTF-8, and this tool would spoil its other characters. Change it with run_shell_command, by a program that keeps its encoding."
        ));
    }
    let Some(found) = matching::find(&file.lf, old, new) else {
        return Err(format!(
            "Failed to edit, 0 occurrences found for old_string in {given}. No edits made. The exact text in old_string was not found. Ensure you're not escaping content incorrectly and check whitespace, indentation, and context. Use read_file tool to verify."
        ));
    };
    if found.places.len() > 1 && !all {
        return Err(format!(
            "Failed to edit. Found {} occurrences for old_string in {given} but replace_all was not enabled.",
            found.places.len()
        ));
    }
    if old == unix(new) {
        return Err(format!("No changes to apply. The old_string and new_string are identical in file: {given}"));
    }
    let written = if form.eol == Eol::Lf { found.new.clone() } else { unix(&found.new).replace('\n', "\r\n") };
    let splices = found.places.iter().map(|place| (file.original(place), written.clone())).collect();
    let mut after = file.lf.clone();
    for place in found.places.iter().rev() {
        after.replace_range(place.clone(), &found.new);
    }
    let expect = Expect::Unchanged(stamp.clone());
    Ok(Plan { change: Change { path: path.to_owned(), to: None, new: New::Splices(splices), expect }, after })
}

/// With the lines around the change, from the first that differs to the last.
fn updated(given: &str, before: &str, after: &str) -> String {
    let done = format!("The file: {given} has been updated.");
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let same_tail = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let from = start.saturating_sub(AROUND);
    let to = (new.len() - same_tail + AROUND).min(new.len());
    if after.is_empty() || to - from > SHOWN {
        return done;
    }
    format!(
        "{done} Showing lines {}-{to} of {} from the edited file:\n\n---\n\n{}",
        from + 1,
        new.len(),
        new[from..to].join("\n")
    )
}

pub(super) fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

pub(super) fn unread(given: &str, how: &str, what: &str) -> String {
    format!(
        "File {given} has not been read in this session. Use the read_file tool first to load the current content ({how}) before {what}."
    )
}

pub(super) fn stale(given: &str, what: &str) -> String {
    format!(
        "File {given} has been modified since you last read it (mtime or size changed). Re-read it with the read_file tool before {what} to ensure your changes are based on current content."
    )
}

pub(super) fn unknown_state(given: &str, error: &str, what: &str) -> String {
    format!(
        "Could not stat {given} to verify prior read ({error}). Re-read with the read_file tool, then retry {what}."
    )
}

pub(super) fn payload(given: &str) -> String {
    format!(
        "File {given} is a binary / image / audio / video / PDF / notebook payload that the read_file tool returns as a structured value rather than as plain text. Edit and WriteFile cannot change it, and reading it again does not help: cells of a notebook are changed with notebook_edit, other files with a fitting program in run_shell_command."
    )
}

/// The answer where a look at the file or the change itself came to nothing.
pub(super) fn not_changed(tool: &str, given: &str, what: &str, outcome: &Outcome) -> Next {
    let say = |text: String| Next::Answer(plain(tool, text));
    match outcome {
        Outcome::Refused(Refusal::Stale { .. }) => say(stale(given, what)),
        Outcome::Refused(refusal) => Next::Answer(refusal::refused(tool, refusal)),
        Outcome::Failed(Failure::NotAFile { .. }) => say(format!("Not a regular file: {given}")),
        Outcome::Failed(failure) => say(refusal::failure(failure)),
        _ => Next::Answer(refusal::unrecorded()),
    }
}
