//! The Edit tool: an exact replacement in a file that was read before. Order of the checks and texts as measured by
//! `tests/wire/claude-bare/edit-*.json`.
use protocol::{Action, Answer, Change, Done, Expect, Failure, FileKind, New, Outcome, ReadAs, Stamp, TextForm, World};

use super::args::{Edit, wrap};
use super::record::{self, Record};
use super::refusal::{EISDIR, ENOENT, ENOTDIR, REJECTED, Wanted, failed, refused, size};
use super::{matching, nearby};
use crate::{Context, Next};

/// Bytes of a file that is edited.
pub(crate) const EDITABLE: u64 = 64 << 20;
/// NUL bytes are looked for in so many bytes.
pub(crate) const SNIFFED: usize = 8 << 10;

pub(crate) const MODIFIED: &str = "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.";
pub(crate) const UNREAD: &str = "File has not been read yet. Read it first before writing to it.";
pub(crate) const CURRENT: &str = " (file state is current in your context — no need to Read it back)";
pub(crate) const CHANGED_MEANWHILE: &str = " (note: the file had been modified on disk since you last read it — the edit applied cleanly, but the file contains other changes not in your context. Read it before edits that depend on surrounding content.)";

/// `read_first`: a file must have been read before it is changed.
pub(crate) fn next(cx: &Context, edit: &Edit, read_first: bool, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let wanted = Wanted::Write(&edit.path);
    let wrong = |text: &str| Next::Answer(Answer::failed(wrap(text)));
    if edit.old == edit.new {
        return wrong("No changes to make: old_string and new_string are exactly the same.");
    }
    let path = record.path(&edit.path);
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    if let Some(change) = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_)))) {
        return Next::Answer(changed(edit, &record, first, change));
    }
    match &first.outcome {
        Outcome::Text { text, form, stamp } => match plan(edit, read_first, &record, text, *form, stamp) {
            Ok(change) => Next::Do(vec![Action::World(World::Change(vec![change]))]),
            Err(answer) => Next::Answer(answer),
        },
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) if edit.old.is_empty() => {
            let new = New::Whole { text: edit.new.clone(), like: None };
            Next::Do(vec![Action::World(World::Change(vec![Change { path, to: None, new, expect: Expect::Absent }]))])
        }
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) => match did.len() {
            1 => Next::Do(nearby::look(&record, &path)),
            _ => wrong(&nearby::missing(&record, &path, did)),
        },
        Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) => {
            wrong(&format!("Error calling tool (Edit): ENOTDIR: not a directory, stat '{}'", path.display()))
        }
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. } | Failure::Io { errno: EISDIR, .. }) => {
            wrong("Error calling tool (Edit): EISDIR: illegal operation on a directory, read")
        }
        Outcome::Failed(Failure::NotText { .. }) => wrong(&unwritable(NOT_UTF8)),
        Outcome::Failed(Failure::TooLarge { bytes, limit, .. }) => wrong(&format!(
            "File is too large to edit ({}; the most is {}). Change it with a shell command.",
            size(*bytes),
            size(*limit)
        )),
        Outcome::Failed(failure) => Next::Answer(failed(wanted, failure)),
        Outcome::Refused(refusal) => Next::Answer(refused(wanted, refusal)),
        _ => Next::Answer(Answer::failed(REJECTED)),
    }
}

fn plan(
    edit: &Edit,
    read_first: bool,
    record: &Record,
    text: &str,
    form: TextForm,
    stamp: &Stamp,
) -> Result<Change, Answer> {
    let wrong = |text: &str| Err(Answer::failed(wrap(text)));
    let path = record.path(&edit.path);
    let seen = record.seen.get(&path);
    let must_read = seen.is_none() && read_first;
    let expect = Expect::Unchanged(stamp.clone());
    if edit.old.is_empty() {
        if !text.trim().is_empty() {
            return wrong("Cannot create new file - file already exists.");
        }
        if must_read {
            return Err(Answer::failed(UNREAD));
        }
        let new = New::Whole { text: edit.new.clone(), like: Some(form) };
        return Ok(Change { path, to: None, new, expect });
    }
    if path.extension().is_some_and(|ext| ext == "ipynb") {
        return wrong("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.");
    }
    if must_read {
        return wrong(UNREAD);
    }
    if !form.utf8 {
        return wrong(&unwritable(NOT_UTF8));
    }
    if text.as_bytes()[..text.len().min(SNIFFED)].contains(&0) {
        return wrong(&unwritable(HAS_NUL));
    }
    let stale = seen.is_some_and(|seen| !record::same(&seen.stamp, stamp));
    match matching::find(text, &edit.old, &edit.new) {
        Some(found) if edit.all || found.count == 1 => {
            Ok(Change { path, to: None, new: New::Splices(found.splices), expect })
        }
        _ if stale => wrong(MODIFIED),
        Some(found) => wrong(&format!(
            "Found {} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: {}",
            found.count, edit.old
        )),
        None => {
            let mut text_of = format!("String to replace not found in file.\nString: {}", edit.old);
            // Ours: without it the same call can only be tried again.
            if let Some(why) = matching::look_alike(text, &edit.old) {
                text_of.push_str(&format!(
                    "\nNote: {why}. Send the character that the file has, or change the line with a shell command."
                ));
            }
            wrong(&text_of)
        }
    }
}

fn changed(edit: &Edit, record: &Record, first: &Done, change: &Done) -> Answer {
    let wanted = Wanted::Write(&edit.path);
    match &change.outcome {
        Outcome::Changed(_) => {
            let seen = record.seen.get(&record.path(&edit.path));
            let note = match (&first.outcome, seen) {
                (Outcome::Text { .. }, None) => "",
                (Outcome::Text { stamp, .. }, Some(seen)) if !record::same(stamp, &seen.stamp) => CHANGED_MEANWHILE,
                (Outcome::Text { .. }, Some(seen)) if !seen.whole => "",
                _ => CURRENT,
            };
            let all = edit.all && !edit.old.is_empty();
            Answer::plain(match all {
                true => {
                    format!(
                        "The file {} has been updated. All occurrences were successfully replaced.{note}",
                        edit.path
                    )
                }
                false => format!("The file {} has been updated successfully.{note}", edit.path),
            })
        }
        Outcome::Refused(refusal) => refused(wanted, refusal),
        Outcome::Failed(failure) => failed(wanted, failure),
        _ => Answer::failed(REJECTED),
    }
}

pub(crate) const NOT_UTF8: &str =
    "File is not valid UTF-8: its encoding is an older one (Windows-1252, Shift-JIS, GBK, ...), or it is binary.";
pub(crate) const HAS_NUL: &str =
    "File has NUL bytes in its first 8 KB: binary data, or UTF-16 or UTF-32 without a byte-order mark.";

pub(crate) fn unwritable(why: &str) -> String {
    format!(
        "{why} This tool writes UTF-8 and does not convert files, so nothing was written. If it is text, change it with a shell command that reads and writes its encoding (iconv, say), or ask the user whether it may be converted to UTF-8. To put new UTF-8 text in its place, delete the file first."
    )
}
