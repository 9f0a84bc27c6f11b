//! The Edit tool of the older versions: the same checks, and the changed lines in the answer.
use protocol::{Action, Answer, Change, Done, Expect, Failure, FileKind, New, Outcome, ReadAs, Stamp, TextForm, World};

use serde_json::{Map, Value};

use super::generation::Generation;
use super::shared::args::{Edit, text, tidy};
use super::shared::edit::{EDITABLE, MODIFIED, UNREAD};
use super::shared::record::{self, Record};
use super::shared::refusal::{EISDIR, ENOENT, ENOTDIR, REJECTED, Wanted, failed, refused};
use super::shared::{matching, nearby};
use super::snippet;
use crate::{Context, Next};

const UNEXPECTED: &str = "File has been unexpectedly modified. Read it again before attempting to write it.";

pub(in super::super) fn next(generation: Generation, cx: &Context, edit: &Edit, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let wanted = Wanted::Write(&edit.path);
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    if edit.old == edit.new {
        return wrong("No changes to make: old_string and new_string are exactly the same.");
    }
    let path = record.path(&edit.path);
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    if let Some(change) = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_)))) {
        return Next::Answer(match &change.outcome {
            Outcome::Changed(_) => Answer::plain(changed(generation, edit, &first.outcome)),
            Outcome::Refused(refusal) => refused(wanted, refusal),
            Outcome::Failed(failure) => failed(wanted, failure),
            _ => Answer::failed(REJECTED),
        });
    }
    match &first.outcome {
        Outcome::Text { text, form, stamp } => match plan(generation, edit, &record, text, *form, stamp) {
            Ok(change) => Next::Do(vec![Action::World(World::Change(vec![change]))]),
            Err(answer) => Next::Answer(answer),
        },
        outcome => missing(generation, &record, &edit.path, &edit.old, &edit.new, outcome, did),
    }
}

/// The arguments; blanks at line ends are dropped in Markdown too.
pub(in super::super) fn of(map: &Map<String, Value>) -> Edit {
    let edit = Edit::of(map);
    let new = tidy("", &edit.old, &text(map, "new_string").unwrap_or_default());
    Edit { new, ..edit }
}

/// What comes of a path that is no file that can be edited: the file is made where the old text is empty.
pub(super) fn missing(
    generation: Generation,
    record: &Record,
    shown: &str,
    old: &str,
    new: &str,
    outcome: &Outcome,
    did: &[Done],
) -> Next {
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    let path = record.path(shown);
    match outcome {
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) if old.is_empty() => {
            let new = New::Whole { text: new.to_owned(), like: None };
            Next::Do(vec![Action::World(World::Change(vec![Change { path, to: None, new, expect: Expect::Absent }]))])
        }
        Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) if old.is_empty() => {
            Next::Answer(Answer::failed(format!("ENOTDIR: not a directory, open '{}'", path.display())))
        }
        Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. }) => match did.len() {
            1 => Next::Do(nearby::look(record, &path)),
            _ => wrong(&not_there(record, &path, did, "")),
        },
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. } | Failure::Io { errno: EISDIR, .. }) => {
            wrong(UNREAD)
        }
        Outcome::Failed(failure) => Next::Answer(failed(Wanted::Write(shown), failure)),
        Outcome::Refused(refusal) => Next::Answer(refused(Wanted::Write(shown), refusal)),
        _ => Next::Answer(Answer::failed(REJECTED)),
    }
}

/// As the newest version has it, but for what is said of the shell's folder: `cwd`.
pub(super) fn not_there(record: &Record, path: &std::path::Path, did: &[Done], cwd: &str) -> String {
    let text = nearby::missing(record, path, did);
    let meant = text.split_once(" Did you mean ").map(|(_, meant)| format!(" Did you mean {meant}"));
    format!("File does not exist.{cwd}{}", meant.unwrap_or_default())
}

fn plan(
    generation: Generation,
    edit: &Edit,
    record: &Record,
    text: &str,
    form: TextForm,
    stamp: &Stamp,
) -> Result<Change, Answer> {
    let wrong = |text: &str| Err(Answer::failed(generation.wrong(text)));
    let path = record.path(&edit.path);
    let seen = record.seen.get(&path);
    let expect = Expect::Unchanged(stamp.clone());
    if edit.old.is_empty() {
        if !text.trim().is_empty() {
            return wrong("Cannot create new file - file already exists.");
        }
        if seen.is_none() && generation != Generation::V1_0 {
            return Err(Answer::failed(UNEXPECTED));
        }
        let new = New::Whole { text: edit.new.clone(), like: Some(form) };
        return Ok(Change { path, to: None, new, expect });
    }
    readable(generation, record, &edit.path, stamp)?;
    match matching::find_plain(text, &edit.old, &edit.new) {
        Some(found) if edit.all || found.count == 1 => {
            Ok(Change { path, to: None, new: New::Splices(found.splices), expect })
        }
        Some(found) => wrong(&several(found.count, &edit.old)),
        None => wrong(&not_found(&edit.old)),
    }
}

/// Err: it is a notebook, was not read, or has changed since.
pub(super) fn readable(generation: Generation, record: &Record, shown: &str, stamp: &Stamp) -> Result<(), Answer> {
    let wrong = |text: &str| Err(Answer::failed(generation.wrong(text)));
    let path = record.path(shown);
    if path.extension().is_some_and(|ext| ext == "ipynb") {
        return wrong("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.");
    }
    match record.seen.get(&path) {
        None => wrong(UNREAD),
        // They go by the time of a file alone.
        Some(seen) if seen.stamp.mtime_ns != stamp.mtime_ns || !record::same(&seen.stamp, stamp) => wrong(MODIFIED),
        Some(_) => Ok(()),
    }
}

pub(super) fn several(count: usize, old: &str) -> String {
    format!(
        "Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: {old}"
    )
}

pub(super) fn not_found(old: &str) -> String {
    format!("String to replace not found in file.\nString: {old}")
}

fn changed(generation: Generation, edit: &Edit, before: &Outcome) -> String {
    let path = &edit.path;
    if edit.all && !edit.old.is_empty() {
        return format!(
            "The file {path} has been updated. All occurrences of '{}' were successfully replaced with '{}'.",
            edit.old, edit.new
        );
    }
    if generation == Generation::V2_1 {
        return format!("The file {path} has been updated successfully.");
    }
    let Outcome::Text { text, .. } = before else { return snippet::whole(path, &edit.new) };
    if edit.old.is_empty() {
        return snippet::whole(path, &edit.new);
    }
    let splices = matching::find_plain(text, &edit.old, &edit.new).map(|found| found.splices).unwrap_or_default();
    let at = splices.first().map_or(0, |(range, _)| range.start as usize);
    let line = text.get(..at).map_or(0, |before| before.matches('\n').count());
    snippet::changed(path, &spliced(text, &splices), line, &edit.new)
}

fn spliced(text: &str, splices: &[(std::ops::Range<u64>, String)]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, new) in splices {
        out.push_str(text.get(at..range.start as usize).unwrap_or_default());
        out.push_str(new);
        at = range.end as usize;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
