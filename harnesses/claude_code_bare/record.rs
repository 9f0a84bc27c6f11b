//! What history tells of the world as this dialect sees it: the shell's folder, and which files were read in which version.
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use protocol::{Action, Body, Call, CallId, Done, Exit, Outcome, Stamp, World};

use super::{args, args::Input, shell, shell::View};
use crate::Context;

/// A file as the model last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) stamp: Stamp,
    /// All of it is in the conversation.
    pub(super) whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Where the next command starts.
    pub(super) cwd: PathBuf,
    pub(super) seen: BTreeMap<PathBuf, Seen>,
}

impl Record {
    pub(super) fn of(cx: &Context) -> Record {
        let mut record = Record { cwd: cx.settings.cwd.clone(), seen: BTreeMap::new() };
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        for item in cx.items {
            match &item.body {
                Body::Reply { reply, .. } => calls.extend(reply.calls().map(|c| (&c.id, c))),
                Body::Read { calls: found, .. } => calls.extend(found.iter().map(|c| (&c.id, c))),
                Body::Called { call, did, answer } => {
                    let input = calls.get(call).and_then(|c| args::parse(&c.name, &c.args).ok());
                    match input {
                        Some(Input::Bash(bash)) => record.ran(cx, &bash.command, did),
                        Some(Input::Read(read)) if answer.error != Some(true) => {
                            record.read(&read, did, &answer.content.text())
                        }
                        Some(Input::Read(_)) => {}
                        Some(Input::Edit(_)) => record.changed(did),
                        None => record.other(did),
                    }
                }
                _ => {}
            }
        }
        record
    }

    /// A path of the model's as one without `.` and `..`. (`~` stays: a pure harness does not know the home folder.)
    pub(super) fn path(&self, path: &str) -> PathBuf {
        plain(&self.cwd.join(path))
    }

    fn ran(&mut self, cx: &Context, script: &str, did: &[Done]) {
        let Some(Done { outcome: Outcome::Ran { exit: Exit::Code(code), cwd_after, .. }, .. }) = did.first() else {
            return;
        };
        if *code != 0 {
            return;
        }
        let views = shell::viewed(script);
        for done in &did[1..] {
            let (Action::World(World::Read { path, .. }), Outcome::Text { text, stamp, .. }) =
                (&done.action, &done.outcome)
            else {
                continue;
            };
            let Some((_, view)) = views.iter().find(|(file, _)| self.path(file) == *path) else { continue };
            let lines = line_count(text);
            let whole = match view {
                View::Whole => true,
                View::Lines(from, to) => *from <= 1 && *to >= lines.saturating_sub(u64::from(text.ends_with('\n'))),
                View::Part => false,
            };
            self.seen.insert(path.clone(), Seen { stamp: stamp.clone(), whole });
        }
        if let Some(after) = cwd_after {
            self.cwd = if inside(cx, after) { after.clone() } else { cx.settings.cwd.clone() };
        }
    }

    fn read(&mut self, read: &args::Read, did: &[Done], answer: &str) {
        let Some(Done {
            action: Action::World(World::Read { path, .. }),
            outcome: Outcome::Text { text, stamp, .. },
            ..
        }) = did.first()
        else {
            return;
        };
        let to_the_end = read.limit.is_none_or(|limit| limit > line_count(text));
        let whole = read.offset.unwrap_or(1) <= 1 && to_the_end && !answer.contains("[Truncated: PARTIAL view");
        self.seen.insert(path.clone(), Seen { stamp: stamp.clone(), whole });
    }

    fn changed(&mut self, did: &[Done]) {
        let before = did.iter().find_map(|done| match &done.outcome {
            Outcome::Text { stamp, .. } => Some(stamp),
            _ => None,
        });
        for done in did {
            let (Action::World(World::Change(asked)), Outcome::Changed(changes)) = (&done.action, &done.outcome) else {
                continue;
            };
            // Under the name that was asked for: the answer's may have links resolved.
            for (asked, change) in asked.iter().zip(changes) {
                let Some(stamp) = &change.stamp else { continue };
                let whole = match (before, self.seen.get(&asked.path)) {
                    (None, _) => true,
                    (Some(before), Some(seen)) => seen.whole && same(before, &seen.stamp),
                    (Some(_), None) => false,
                };
                self.seen.insert(asked.path.clone(), Seen { stamp: stamp.clone(), whole });
            }
        }
    }

    /// A call of another dialect: what it read or wrote counts as read in part.
    fn other(&mut self, did: &[Done]) {
        for done in did {
            match (&done.action, &done.outcome) {
                (Action::World(World::Read { path, .. }), Outcome::Text { stamp, .. }) => {
                    self.seen.insert(plain(&self.cwd.join(path)), Seen { stamp: stamp.clone(), whole: false });
                }
                (_, Outcome::Changed(changes)) => {
                    for change in changes {
                        if let Some(stamp) = &change.stamp {
                            self.seen.insert(change.path.clone(), Seen { stamp: stamp.clone(), whole: false });
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// Equal content is the same version, whatever the time says.
pub(super) fn same(a: &Stamp, b: &Stamp) -> bool {
    if a.hash.is_empty() || b.hash.is_empty() { a == b } else { a.hash == b.hash && a.len == b.len }
}

/// Inside of the folders that the session works in; elsewhere the shell does not stay.
pub(super) fn inside(cx: &Context, path: &Path) -> bool {
    path.starts_with(&cx.settings.cwd) || cx.settings.sandbox.writable_roots.iter().any(|root| path.starts_with(root))
}

/// Lines as this dialect counts them: what follows the last line feed is one too.
pub(super) fn line_count(text: &str) -> u64 {
    text.split('\n').count() as u64
}

pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
