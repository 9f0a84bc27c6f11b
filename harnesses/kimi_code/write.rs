//! The Write tool: a whole file, or text at its end. Texts as measured by `tests/wire/kimi-code/write.json`.
use protocol::{Action, Change, Done, Expect, Failure, New, Outcome, ReadAs, World};

use super::args::Args;
use super::envelope::Said;
use super::paths::{self, For};
use super::{links, nested, refusal};
use crate::{Context, Next};

/// Bytes of a file that something is put at the end of.
const EXTENDED: u64 = 64 << 20;

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let (path, content) = (args.str("path"), args.str("content"));
    let append = args.text("mode") == Some("append");
    let said = |said: Said| Next::Answer(said.answer("Write", did));
    let resolved = paths::resolve(cx, path, For::Writing);
    let full = match resolved.and_then(|full| paths::writable(cx, &full).map(|()| full)) {
        Ok(full) => full,
        Err(text) => return said(Said::failed(text)),
    };
    let did = match links::followed(cx, "Write", &full, did) {
        Ok(did) => did,
        Err(next) => return *next,
    };
    if path.ends_with('/') {
        return said(Said::failed("write failed: path is a directory"));
    }
    let change = |new: New, expect: Expect| {
        let mut actions =
            vec![Action::World(World::Change(vec![Change { path: full.clone(), to: None, new, expect }]))];
        actions.extend(nested::look(cx, &full));
        Next::Do(actions)
    };
    let whole = || New::Whole { text: content.to_owned(), like: None };
    let Some(last) = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_)))) else {
        // What is there decides how text is put behind it.
        return match did.first().map(|done| &done.outcome) {
            None if append => Next::Do(vec![Action::World(World::Read {
                path: full.clone(),
                what: ReadAs::Text { max_bytes: EXTENDED },
            })]),
            None => change(whole(), Expect::Anything),
            Some(Outcome::Text { text, stamp, .. }) => {
                let end = text.len() as u64;
                change(New::Splices(vec![(end..end, content.to_owned())]), Expect::Unchanged(stamp.clone()))
            }
            Some(Outcome::Failed(Failure::Io { errno: refusal::ENOENT, .. })) => change(whole(), Expect::Absent),
            Some(other) => said(failed(&full, other)),
        };
    };
    match &last.outcome {
        Outcome::Changed(_) => {
            let verb = if append { "Appended" } else { "Wrote" };
            said(Said::ok(format!("{verb} {} bytes to {path}", content.len())))
        }
        other => said(failed(&full, other)),
    }
}

fn failed(full: &std::path::Path, outcome: &Outcome) -> Said {
    Said::failed(match outcome {
        Outcome::Failed(Failure::NotAFile { .. } | Failure::Io { errno: refusal::EISDIR, .. }) => {
            "write failed: path is a directory".to_owned()
        }
        Outcome::Failed(Failure::Io { errno: refusal::ENOTDIR, .. }) => {
            format!("Parent path is not a directory: {}.", full.parent().unwrap_or(full).display())
        }
        Outcome::Failed(Failure::Io { message, .. }) => format!("write failed: {}", message.to_lowercase()),
        Outcome::Failed(Failure::NotText { .. }) => "write failed: the file is not UTF-8 text".to_owned(),
        other => return refusal::said("Write", other),
    })
}
