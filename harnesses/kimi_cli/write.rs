//! `WriteFile` and `StrReplaceFile`.
use std::path::{Path, PathBuf};

use protocol::{Action, Change, Done, Eol, Expect, FileKind, Mode, New, Outcome, ReadAs, Stamp, World};
use serde_json::Value;

use super::Step;
use super::args::Args;
use super::paths::{self, is_missing, unread};
use super::refusal::{failed, not_done, refused};
use super::result::Said;
use crate::Context;

const MAX_BYTES: u64 = 64 << 20;

fn change(path: PathBuf, new: New, expect: Expect) -> Step {
    Step::Do(vec![Action::World(World::Change(vec![Change { path, to: None, new, expect }]))])
}

pub(super) fn write(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let written = args.text("path");
    let path = match paths::resolve(cx, written, "write") {
        Ok(path) => path,
        Err(message) => return Step::Tell(Said::failed(message)),
    };
    let (content, append) = (args.text("content"), args.text("mode") == "append");
    // The folder of the plan file is made with it.
    let plan = matches!(&cx.settings.mode, Mode::Plan { file } if *file == path);
    let seen: Vec<&Outcome> = did.iter().map(|done| &done.outcome).collect();
    let parent_missing = || Step::Tell(Said::failed(format!("`{written}` parent directory does not exist.")));
    match seen.as_slice() {
        [] => {
            let look = |path: &Path, what| Action::World(World::Read { path: path.to_owned(), what });
            let itself = if append { ReadAs::Text { max_bytes: MAX_BYTES } } else { ReadAs::Stat };
            Step::Do(vec![look(path.parent().unwrap_or(Path::new("/")), ReadAs::Stat), look(&path, itself)])
        }
        [parent, _] if is_missing(parent) && !plan => parent_missing(),
        [Outcome::Stat { kind, .. }, _] if *kind != FileKind::Folder => parent_missing(),
        [_, Outcome::Text { text, stamp, .. }] => {
            let end = text.len() as u64;
            change(path, New::Splices(vec![(end..end, content.to_owned())]), Expect::Unchanged(stamp.clone()))
        }
        [_, Outcome::Stat { .. } | Outcome::Failed(_)] => {
            let new = New::Whole { text: content.to_owned(), like: None };
            change(path, new, Expect::Anything)
        }
        [_, before, Outcome::Changed(_)] => {
            let before = match before {
                Outcome::Text { stamp, .. } => stamp.len,
                _ => 0,
            };
            let verb = if append { "appended to" } else { "overwritten" };
            let size = before + content.len() as u64;
            Step::Tell(Said::ok(format!("File successfully {verb}. Current size: {size} bytes.")))
        }
        [.., Outcome::Refused(refusal)] => Step::Tell(refused(refusal)),
        [.., Outcome::Failed(failure)] => {
            Step::Tell(Said::failed(format!("Failed to write to {written}. Error: {}", failed(failure))))
        }
        [.., other] => Step::Tell(not_done(&format!("Failed to write to {written}."), other)),
    }
}

struct Edit<'a> {
    old: &'a str,
    new: &'a str,
    all: bool,
}

fn edits(args: &Args) -> Vec<Edit<'_>> {
    let list = match args.0.get("edit") {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(edit) => vec![edit],
        None => Vec::new(),
    };
    list.into_iter()
        .map(|edit| Edit {
            old: edit["old"].as_str().unwrap_or_default(),
            new: edit["new"].as_str().unwrap_or_default(),
            all: edit["replace_all"].as_bool().unwrap_or_default(),
        })
        .collect()
}

pub(super) fn replace(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let written = args.text("path");
    let path = match paths::resolve(cx, written, "edit") {
        Ok(path) => path,
        Err(message) => return Step::Tell(Said::failed(message)),
    };
    let seen: Vec<&Outcome> = did.iter().map(|done| &done.outcome).collect();
    let (text, eol, stamp): (&str, Eol, &Stamp) = match seen.first() {
        None => {
            let what = ReadAs::Text { max_bytes: MAX_BYTES };
            return Step::Do(vec![Action::World(World::Read { path, what })]);
        }
        Some(Outcome::Text { text, form, stamp }) => (text, form.eol, stamp),
        Some(other) => return Step::Tell(unread(written, other)),
    };
    // The model sees line feeds only, so it writes them too.
    let before = if eol == Eol::Crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    let edits = edits(args);
    let (mut after, mut replaced) = (before.clone(), 0);
    for edit in &edits {
        let places = after.matches(edit.old).count();
        replaced += if edit.all { places } else { places.min(1) };
        after = if edit.all { after.replace(edit.old, edit.new) } else { after.replacen(edit.old, edit.new, 1) };
    }
    if after == before {
        return Step::Tell(Said::failed("No replacements were made. The old string was not found in the file."));
    }
    match seen.get(1) {
        None => {
            let after = if eol == Eol::Crlf { after.replace("\r\n", "\n").replace('\n', "\r\n") } else { after };
            change(path, New::Splices(vec![difference(text, &after)]), Expect::Unchanged(stamp.clone()))
        }
        Some(Outcome::Changed(_)) => Step::Tell(Said::ok(format!(
            "File successfully edited. Applied {} edit(s) with {replaced} total replacement(s).",
            edits.len()
        ))),
        Some(Outcome::Refused(refusal)) => Step::Tell(refused(refusal)),
        Some(other) => Step::Tell(not_done(&format!("Failed to edit {written}."), other)),
    }
}

/// The bytes of `before` that differ, and what stands there in `after`.
fn difference(before: &str, after: &str) -> (std::ops::Range<u64>, String) {
    let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let head = protocol::floor_char(before, same);
    let (rest_before, rest_after) = (&before[head..], &after[head..]);
    let same = rest_before.bytes().rev().zip(rest_after.bytes().rev()).take_while(|(a, b)| a == b).count();
    let end = protocol::ceil_char(rest_before, rest_before.len() - same);
    let tail = rest_before.len() - end;
    let middle = &rest_after[..rest_after.len() - tail];
    (head as u64..(head + end) as u64, middle.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::difference;

    proptest! {
        #[test]
        fn the_difference_makes_one_text_the_other(before in "[aéb\n]{0,12}", after in "[aèb\n]{0,12}") {
            let (range, middle) = difference(&before, &after);
            let mut text = before.clone();
            text.replace_range(range.start as usize..range.end as usize, &middle);
            prop_assert_eq!(text, after);
        }
    }
}
