//! The write_file tool: a whole file, new or in the place of one that was read before. Measured by `write.json` and `crlf.json`.
use std::path::Path;

use protocol::{Action, Change, Done, Expect, Failure, FileKind, New, Outcome, ReadAs, World};
use serde_json::{Map, Value};

use super::cut::plain;
use super::record::{self, Record, same};
use super::refusal::{EISDIR, ENOENT, ENOTDIR};
use super::{args, edit};
use crate::{Context, Next};

const TOOL: &str = "write_file";
const WHAT: &str = "overwriting it";
const UNREAD: &str = "read the full file — overwriting replaces every byte, so any unseen bytes would be discarded";
const OVERWRITABLE: u64 = 64 << 20;

pub(super) fn next(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let given = args::text(args, "file_path").trim();
    if given.is_empty() {
        return say("Missing or empty \"file_path\"".to_owned());
    }
    if !Path::new(given).is_absolute() {
        return say(format!("File path must be absolute: {given}"));
    }
    let path = record::plain(Path::new(given));
    let content = args::text(args, "content");
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: OVERWRITABLE } })]);
    };
    if let Some(change) = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_)))) {
        let new = !matches!(first.outcome, Outcome::Text { .. });
        return match &change.outcome {
            Outcome::Changed(_) if new => say(format!("Successfully created and wrote to new file: {given}.")),
            Outcome::Changed(_) => say(format!("Successfully overwrote file: {given}.")),
            other => edit::not_changed(TOOL, given, WHAT, other),
        };
    }
    let write = |new: New, expect: Expect| {
        let change = Change { path: path.clone(), to: None, new, expect };
        Next::Do(vec![Action::World(World::Change(vec![change]))])
    };
    match &first.outcome {
        Outcome::Text { form, stamp, .. } => match Record::of(cx).seen.get(&path) {
            None => say(edit::unread(given, UNREAD, WHAT)),
            Some(seen) if seen.payload => say(edit::payload(given)),
            Some(seen) if !same(&seen.stamp, stamp) => say(edit::stale(given, WHAT)),
            Some(_) => {
                let new = New::Whole { text: edit::unix(content), like: form.utf8.then_some(*form) };
                write(new, Expect::Unchanged(stamp.clone()))
            }
        },
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) => {
            write(New::Whole { text: content.to_owned(), like: None }, Expect::Absent)
        }
        Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) => say(edit::unknown_state(given, "ENOTDIR", WHAT)),
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. } | Failure::Io { errno: EISDIR, .. }) => {
            say(format!("Path is a directory, not a file: {given}"))
        }
        other => edit::not_changed(TOOL, given, WHAT, other),
    }
}
