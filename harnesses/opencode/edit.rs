//! The edit tool: text in a file is replaced. No file need be read before; what is matched is said in `matching`. Order of the checks
//! and texts as measured by `tests/wire/opencode/edit-*.json`.
use protocol::{
    Action, Answer, Change, Done, Expect, Failure, FileKind, New, Outcome, ReadAs, Refusal, Stamp, TextForm, World,
};

use super::{absolute, matching, refusal, shown};
use crate::claude_code_bare::refusal::{ENOENT, ENOTDIR};
use crate::{Context, Next};

const APPLIED: &str = "Edit applied successfully.";
const IDENTICAL: &str = "No changes to apply: oldString and newString are identical.";
const EMPTY: &str = "oldString cannot be empty when editing an existing file. Provide the exact text to replace, or use write for an intentional full-file replacement.";
/// Bytes of the largest file that is edited.
const MAX_FILE: u64 = 32 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) all: bool,
}

pub(super) fn next(cx: &Context, edit: &Edit, did: &[Done]) -> Next {
    let failed = |text: String| Next::Answer(Answer::failed(text));
    if edit.path.is_empty() {
        return failed("filePath is required".to_owned());
    }
    if edit.old == edit.new {
        return failed(IDENTICAL.to_owned());
    }
    let path = absolute(cx, &edit.path);
    let look = || {
        Next::Do(vec![Action::World(World::Read { path: path.clone(), what: ReadAs::Text { max_bytes: MAX_FILE } })])
    };
    let change = |new: New, expect: Expect| {
        Next::Do(vec![Action::World(World::Change(vec![Change { path: path.clone(), to: None, new, expect }]))])
    };
    let Some(done) = did.last() else { return look() };
    match (&done.action, &done.outcome) {
        (Action::World(World::Change(_)), Outcome::Changed(_)) => Next::Answer(Answer::plain(APPLIED)),
        // Changed between the look and the edit: look once more.
        (Action::World(World::Change(_)), Outcome::Refused(Refusal::Stale { .. })) if did.len() == 2 => look(),
        (_, Outcome::Text { text, form, stamp }) => match splices(edit, text, form, stamp) {
            Ok((new, expect)) => change(new, expect),
            Err(Some(text)) => failed(text),
            Err(None) => {
                failed(format!("File {} is not UTF-8 text; an edit would damage the rest of it.", shown(&path)))
            }
        },
        (_, Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. })) => {
            failed(format!("Path is a directory, not a file: {}", shown(&path)))
        }
        (Action::World(World::Read { .. }), Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. })) => {
            match edit.old.is_empty() {
                true => change(New::Whole { text: edit.new.clone(), like: None }, Expect::Absent),
                false => failed(format!("File {} not found", shown(&path))),
            }
        }
        (_, other) => Next::Answer(refusal::told(other)),
    }
}

/// Err(None): the file is not text.
fn splices(edit: &Edit, text: &str, form: &TextForm, stamp: &Stamp) -> Result<(New, Expect), Option<String>> {
    if edit.old.is_empty() {
        return Err(Some(EMPTY.to_owned()));
    }
    if !form.utf8 {
        return Err(None);
    }
    let found = matching::replace(text, &edit.old, &edit.new, edit.all).map_err(|no| Some(no.to_string()))?;
    Ok((New::Splices(found), Expect::Unchanged(stamp.clone())))
}
