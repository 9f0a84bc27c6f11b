//! What history tells of the world as this dialect sees it: the shell's folder, and which files were read in which version.
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use protocol::{Action, Body, Call, CallId, Done, Exit, Fact, Failure, Outcome, Stamp, World};

use super::refusal::{ENOENT, ENOTDIR};
use super::{args, schema, shell, shell::View};
use crate::Context;

/// A file as the model last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) stamp: Stamp,
    /// All of it is in the conversation.
    pub(crate) whole: bool,
    /// The later it was seen, the greater.
    pub(crate) order: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where the next command starts.
    pub(crate) cwd: PathBuf,
    pub(crate) seen: BTreeMap<PathBuf, Seen>,
    home: Option<PathBuf>,
    looks: usize,
}

impl Record {
    pub(crate) fn of(cx: &Context) -> Record {
        let mut record = Record { cwd: cx.settings.cwd.clone(), seen: BTreeMap::new(), home: None, looks: 0 };
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        for item in cx.items {
            match &item.body {
                Body::Fact(Fact::Home(home)) => record.home.clone_from(home),
                // The model was told what changed; the original takes it to know all of the file then.
                Body::Fact(Fact::Changed(files)) => {
                    for (path, stamp, _) in files.iter().filter(|(_, _, text)| text.is_some()) {
                        record.see(path, stamp, true);
                    }
                }
                Body::Reply { reply, .. } => calls.extend(reply.calls().map(|c| (&c.id, c))),
                Body::Read { calls: found, .. } => calls.extend(found.iter().map(|c| (&c.id, c))),
                Body::Called { call, did, answer } => {
                    let input = calls.get(call).map(|c| (c.name.as_str(), c.args.as_str()));
                    match input {
                        Some(("Bash", args)) => record.ran(cx, &args::Bash::of(&loosely(args)).command, did),
                        Some(("Read" | "NotebookRead", args)) if answer.error != Some(true) => {
                            record.read(&args::Read::of(&loosely(args)), did, &answer.content.text())
                        }
                        Some(("Read" | "NotebookRead", _)) => {}
                        Some(("Write", _)) => record.changed(did, true),
                        Some(("Edit" | "MultiEdit" | "NotebookEdit", _)) => record.changed(did, false),
                        _ => record.other(did),
                    }
                }
                _ => {}
            }
        }
        record
    }

    /// A path of the model's as one without `.`, `..`, `~` and blanks around it.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        let path = path.trim();
        match (&self.home, path.strip_prefix('~')) {
            (Some(home), Some("")) => home.clone(),
            (Some(home), Some(below)) if below.starts_with('/') => plain(&home.join(below.trim_start_matches('/'))),
            _ => plain(&self.cwd.join(path)),
        }
    }

    /// Files that the model has seen, the latest first.
    pub(crate) fn latest(&self) -> Vec<PathBuf> {
        let mut paths: Vec<(&PathBuf, &Seen)> = self.seen.iter().collect();
        paths.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.order));
        paths.into_iter().map(|(path, _)| path.clone()).collect()
    }

    fn see(&mut self, path: &Path, stamp: &Stamp, whole: bool) {
        self.looks += 1;
        self.seen.insert(path.to_owned(), Seen { stamp: stamp.clone(), whole, order: self.looks });
    }

    fn ran(&mut self, cx: &Context, script: &str, did: &[Done]) {
        let Some(Done { action: Action::World(World::Run(run)), outcome, .. }) = did.first() else { return };
        let (output, cwd_after) = match outcome {
            Outcome::Ran { exit: Exit::Code(0), output, cwd_after, .. } => (output, cwd_after),
            Outcome::Failed(failure) if folder_is_gone(failure) => {
                self.cwd.clone_from(&cx.settings.cwd);
                return;
            }
            _ => return,
        };
        let views = shell::viewed(script);
        let shown: Vec<(&PathBuf, &Stamp, &View)> = (did[1..].iter())
            .filter_map(|done| match (&done.action, &done.outcome) {
                (Action::World(World::Read { path, .. }), Outcome::Text { stamp, .. }) => {
                    let (_, view) = views.iter().find(|(file, _)| self.path(file) == *path)?;
                    Some((path, stamp, view))
                }
                _ => None,
            })
            .collect();
        // Of the file itself only its stamp is kept; how many lines it has, the output tells, if it holds all of them.
        let all = output.bytes >= shown.iter().map(|(_, stamp, _)| stamp.len).sum();
        let lines = output.lines + u64::from(output.text.ends_with('\n'));
        for (path, stamp, view) in shown {
            let whole = match view {
                View::Whole => true,
                View::Lines(from, to) => all && *from <= 1 && *to > lines,
                View::Part => false,
            };
            self.see(path, stamp, whole);
        }
        // A command that stayed where it began takes none back that ran beside it.
        if let Some(after) = cwd_after.as_ref().filter(|after| Some(*after) != run.cwd.as_ref()) {
            self.cwd = if inside(cx, after) { after.clone() } else { cx.settings.cwd.clone() };
        }
    }

    fn read(&mut self, read: &args::Read, did: &[Done], answer: &str) {
        let Some(Done {
            action: Action::World(World::Read { path, .. }), outcome: Outcome::Text { stamp, .. }, ..
        }) = did.first()
        else {
            return;
        };
        // Fewer lines than asked for: there are no more.
        let to_the_end = read.limit.is_none_or(|limit| limit > line_count(answer));
        let whole = read.offset.unwrap_or(1) <= 1 && to_the_end && !answer.contains("[Truncated: PARTIAL view");
        self.see(path, stamp, whole);
    }

    /// `anew`: the whole text was written, so all of it is known.
    fn changed(&mut self, did: &[Done], anew: bool) {
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
                    _ if anew => true,
                    (Some(before), Some(seen)) => seen.whole && same(before, &seen.stamp),
                    (Some(_), None) => false,
                };
                self.see(&asked.path, stamp, whole);
            }
        }
    }

    /// A call of another dialect: what it read or wrote counts as read in part.
    fn other(&mut self, did: &[Done]) {
        for done in did {
            match (&done.action, &done.outcome) {
                (Action::World(World::Read { path, .. }), Outcome::Text { stamp, .. }) => {
                    self.see(&plain(&self.cwd.join(path)), stamp, false);
                }
                (_, Outcome::Changed(changes)) => {
                    for change in changes {
                        if let Some(stamp) = &change.stamp {
                            self.see(&change.path, stamp, false);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// The arguments of a call that was carried out.
fn loosely(args: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(args).map(schema::converted).unwrap_or_default()
}

/// A command was not run because the shell's folder is not there any more.
pub(crate) fn folder_is_gone(failure: &Failure) -> bool {
    matches!(failure, Failure::Spawn { errno: ENOENT | ENOTDIR, .. })
}

/// Equal content is the same version, whatever the time says.
pub(crate) fn same(a: &Stamp, b: &Stamp) -> bool {
    if a.hash.is_empty() || b.hash.is_empty() { a == b } else { a.hash == b.hash && a.len == b.len }
}

/// Inside of the folders that the session works in; elsewhere the shell does not stay.
pub(crate) fn inside(cx: &Context, path: &Path) -> bool {
    path.starts_with(&cx.settings.cwd) || cx.settings.sandbox.writable_roots.iter().any(|root| path.starts_with(root))
}

/// Lines as this dialect counts them: what follows the last line feed is one too.
pub(crate) fn line_count(text: &str) -> u64 {
    text.split('\n').count() as u64
}

pub(crate) fn plain(path: &Path) -> PathBuf {
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
