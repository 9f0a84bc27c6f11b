//! The Edit tool: an exact replacement, matched on the view that Read gives. Texts as measured by `tests/wire/kimi-code/edit.json`.
use std::ops::Range;

use protocol::{Action, Change, Done, Encoding, Eol, Expect, Failure, New, Outcome, ReadAs, World};

use super::args::Args;
use super::envelope::Said;
use super::paths::{self, For};
use super::{links, nested, refusal};
use crate::{Context, Next};

/// Bytes of a file that is edited.
const EDITABLE: u64 = 64 << 20;

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let (path, old, new) = (args.str("path"), args.str("old_string"), args.str("new_string"));
    let all = args.flag("replace_all") == Some(true);
    let said = |said: Said| Next::Answer(said.answer("Edit", did));
    let resolved = paths::resolve(cx, path, For::Writing);
    let full = match resolved.and_then(|full| paths::writable(cx, &full).map(|()| full)) {
        Ok(full) => full,
        Err(text) => return said(Said::failed(text)),
    };
    let did = match links::followed(cx, "Edit", &full, did) {
        Ok(did) => did,
        Err(next) => return *next,
    };
    if old == new {
        return said(Said::failed("No changes to make: old_string and new_string are exactly the same."));
    }
    let Some(first) = did.first() else {
        let read = Action::World(World::Read { path: full, what: ReadAs::Text { max_bytes: EDITABLE } });
        return Next::Do(vec![read]);
    };
    let (text, form, stamp) = match &first.outcome {
        Outcome::Text { form, .. } if !form.utf8 || form.encoding != Encoding::Utf8 => {
            return said(Said::failed("read failed: unrecognized filesystem error"));
        }
        Outcome::Text { text, form, stamp } => (text, form, stamp),
        Outcome::Failed(failure) => return said(Said::failed(failed(path, failure))),
        other => return said(refusal::said("Edit", other)),
    };
    if let Some(done) = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_)))) {
        return match (&done.action, &done.outcome) {
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => {
                let count = match changes.first().map(|change| &change.new) {
                    Some(New::Splices(splices)) => splices.len(),
                    _ => 1,
                };
                let s = if count == 1 { "" } else { "s" };
                said(Said::ok(format!("Replaced {count} occurrence{s} in {path}")))
            }
            (_, other) => said(refusal::said("Edit", other)),
        };
    }
    match splices(text, form.eol, old, new) {
        found if found.is_empty() => said(Said::failed(format!(
            "old_string not found in {path}, the file contents may be out of date. Please use the Read Tool to reload the content.\n"
        ))),
        found if found.len() > 1 && !all => said(Said::failed(format!(
            "old_string is not unique in {path} (found {} occurrences). To replace every occurrence, set replace_all=true. To replace only one occurrence, include more surrounding context in old_string.",
            found.len()
        ))),
        found => {
            let change = Change {
                path: full.clone(),
                to: None,
                new: New::Splices(found),
                expect: Expect::Unchanged(stamp.clone()),
            };
            let mut actions = vec![Action::World(World::Change(vec![change]))];
            actions.extend(nested::look(cx, &full));
            Next::Do(actions)
        }
    }
}

fn failed(path: &str, failure: &Failure) -> String {
    match failure {
        Failure::Io { errno: refusal::ENOENT, .. } => "read failed: path does not exist".to_owned(),
        Failure::Io { errno: refusal::ENOTDIR, .. } => "read failed: a path component is not a directory".to_owned(),
        Failure::NotAFile { .. } | Failure::Io { errno: refusal::EISDIR, .. } => format!("{path} is not a file."),
        failure => refusal::failure(failure),
    }
}

/// Occurrences of `old` and what stands for each, as byte ranges of the file's own text. In a file that is CRLF throughout, LF
/// stands for CRLF on both sides, and CRLF itself is never in the view; elsewhere text is taken as it is.
fn splices(text: &str, eol: Eol, old: &str, new: &str) -> Vec<(Range<u64>, String)> {
    let pure = eol == Eol::Crlf && !text.replace("\r\n", "").contains('\r');
    let (old, new) = match pure {
        true if old.contains('\r') => return Vec::new(),
        true => (old.replace('\n', "\r\n"), new.replace("\r\n", "\n").replace('\n', "\r\n")),
        false => (old.to_owned(), new.to_owned()),
    };
    text.match_indices(&old).map(|(at, found)| (at as u64..(at + found.len()) as u64, new.clone())).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_ends_are_those_of_the_view() {
        let check = |text: &str, eol: Eol, old: &str, new: &str, expected: &[(Range<u64>, &str)]| {
            let expected: Vec<_> = expected.iter().map(|(at, new)| (at.clone(), (*new).to_owned())).collect();
            assert_eq!(splices(text, eol, old, new), expected, "{text:?} {old:?}");
        };
        check("x\r\ny\r\n", Eol::Crlf, "x\ny", "x\nY", &[(0..4, "x\r\nY")]);
        check("x\r\ny\r\n", Eol::Crlf, "x\r\ny", "Q", &[]);
        check("x\r\ny\nz\r\n", Eol::Mixed, "x\ny", "1", &[]);
        check("x\r\ny\nz\r\n", Eol::Mixed, "x\r\ny", "1\n2", &[(0..4, "1\n2")]);
        check("aaa aaa", Eol::Lf, "aa", "b", &[(0..2, "b"), (4..6, "b")]);
    }

    proptest! {
        #[test]
        fn ranges_are_ascending_and_hold_the_old_text(text in "[ab\\r\\n]{0,40}", old in "[ab\\n]{1,3}", crlf: bool) {
            let eol = if crlf { Eol::Crlf } else { Eol::Mixed };
            let mut from = 0;
            for (range, _) in splices(&text, eol, &old, "x") {
                prop_assert!(range.start >= from);
                prop_assert_eq!(text[range.start as usize..range.end as usize].replace("\r\n", "\n"), old.clone());
                from = range.end;
            }
        }
    }
}
