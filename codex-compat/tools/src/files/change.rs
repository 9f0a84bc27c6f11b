//! `World::Change`: every change is checked first (place, permission, expectation, content), then all are written or none.
use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use protocol::{Change, ChangeDone, ChangeKind, Expect, Failure, FileKind, New, Outcome, Refusal};

use super::{
    commit::{self, Seen, Work},
    diff,
    fence::Fence,
    place::{self, Place},
    read, stamp,
    text::{self, SpliceError},
};
use crate::fail;

/// A file that is changed is held in memory twice; what is larger is refused.
const MAX_FILE: u64 = 256 << 20;

/// Why a list of changes was not done.
#[derive(Debug)]
pub(super) enum No {
    Refused(Refusal),
    Failed(Failure),
}

impl From<Failure> for No {
    fn from(failure: Failure) -> No {
        No::Failed(failure)
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> No {
        No::Refused(refusal)
    }
}

/// `cwd` is absolute; paths of the changes count from there.
pub(crate) fn change(changes: &[Change], cwd: &Path, fence: Fence) -> Outcome {
    match try_change(changes, cwd, fence) {
        Ok(done) => Outcome::Changed(done),
        Err(No::Refused(refusal)) => Outcome::Refused(refusal),
        Err(No::Failed(failure)) => Outcome::Failed(failure),
    }
}

fn try_change(changes: &[Change], cwd: &Path, fence: Fence) -> Result<Vec<ChangeDone>, No> {
    let mut touched = BTreeSet::new();
    let mut works = Vec::with_capacity(changes.len());
    let mut done = Vec::with_capacity(changes.len());
    for change in changes {
        let (work, report) = Planner { cwd, fence, touched: &mut touched }.plan(change)?;
        works.push(work);
        done.push(report);
    }
    let stamps = commit::commit(works, fence)?;
    for (done, stamp) in done.iter_mut().zip(stamps) {
        done.stamp = stamp;
    }
    Ok(done)
}

/// What is there now.
struct Old {
    meta: Metadata,
    /// None: not a regular file, or too large to hold where that is not needed.
    bytes: Option<Vec<u8>>,
}

struct Planner<'a> {
    cwd: &'a Path,
    fence: Fence<'a>,
    /// Real paths that this list changes already.
    touched: &'a mut BTreeSet<PathBuf>,
}

impl Planner<'_> {
    fn plan(&mut self, change: &Change) -> Result<(Work, ChangeDone), No> {
        let shown = place::tidy(&self.cwd.join(&change.path));
        // A new content goes to where a link leads; a removal or a move takes the link itself.
        let takes_entry = change.to.is_some() || matches!(change.new, New::Same | New::Gone);
        let entry = self.locate(&change.path, &shown, !takes_entry)?;
        self.permit(&entry, &shown, takes_entry)?;
        let old = self.look(change, &shown)?;
        check_expectation(change, &shown, old.as_ref())?;
        let bytes = new_content(change, &shown, old.as_ref())?;
        let to = match &change.to {
            Some(to) => Some(self.target(to, &entry)?).flatten(),
            None => None,
        };
        let kind = match (&change.new, &old) {
            (New::Gone, _) => ChangeKind::Delete,
            (_, Some(_)) => ChangeKind::Update,
            (_, None) => ChangeKind::Add,
        };
        let old_bytes = old.as_ref().and_then(|old| old.bytes.as_deref());
        let diff = match (&change.new, &bytes) {
            (New::Same, _) => String::new(),
            // Not held: too large to show either.
            _ if old.is_some() && old_bytes.is_none() => String::new(),
            (_, new) => diff::unified(old_bytes, new.as_deref()),
        };
        let report =
            ChangeDone { path: shown.clone(), to: to.as_ref().map(|t| t.shown.clone()), kind, diff, stamp: None };
        let work = self.work(change, shown, entry, old, bytes, to)?;
        Ok((work, report))
    }

    fn work(
        &mut self,
        change: &Change,
        shown: PathBuf,
        entry: Place,
        old: Option<Old>,
        bytes: Option<Vec<u8>>,
        to: Option<Target>,
    ) -> Result<Work, No> {
        let entry_seen = Seen::of_entry(&entry.path());
        Ok(match (bytes, to) {
            (Some(bytes), None) => {
                let (old, held) = old.map(|old| (Seen::of(&old.meta), old.bytes)).unzip();
                Work::Put { shown, at: entry, old, held: held.flatten(), bytes, mode: None, source: None }
            }
            (Some(bytes), Some(to)) => {
                let mode = old.as_ref().map(|old| old.meta.mode());
                let source = entry_seen.map(|seen| (entry, seen));
                Work::Put { shown: to.shown, at: to.place, old: to.seen, held: to.held, bytes, mode, source }
            }
            (None, Some(to)) => {
                let crosses = fs::symlink_metadata(&entry.dir).map(|m| m.dev()).ok()
                    != fs::symlink_metadata(&to.place.dir).map(|m| m.dev()).ok();
                match (old, entry_seen) {
                    (Some(Old { meta, bytes: Some(bytes) }), Some(seen)) if crosses => Work::Put {
                        shown: to.shown,
                        at: to.place,
                        old: to.seen,
                        held: to.held,
                        bytes,
                        mode: Some(meta.mode()),
                        source: Some((entry, seen)),
                    },
                    _ => Work::Rename { shown, from: entry, to: to.place, over: to.seen },
                }
            }
            (None, None) => match (&change.new, entry_seen) {
                (New::Gone, Some(seen)) => Work::Remove { shown, at: entry, seen },
                _ => Work::Nothing,
            },
        })
    }

    fn locate(&mut self, path: &Path, shown: &Path, last: bool) -> Result<Place, No> {
        let entry = place::locate(&self.cwd.join(path), last).map_err(|e| fail::io(shown, &e))?;
        let path = entry.path();
        // One path twice, or as a file and as a folder.
        if let Some(other) = self.touched.iter().find(|other| path.starts_with(other) || other.starts_with(&path)) {
            let text = format!("several changes of one path: {} and {}", other.display(), path.display());
            return Err(Failure::Other(text).into());
        }
        self.touched.insert(path);
        Ok(entry)
    }

    fn permit(&self, entry: &Place, shown: &Path, takes_entry: bool) -> Result<(), No> {
        let path = entry.path();
        let allowed = self.fence.may_write(&path)
            // Where a link leads does not matter for taking it away; its folder does.
            || takes_entry
                && path.is_symlink()
                && !sandbox::PROTECTED.iter().any(|name| entry.name == *name)
                && self.fence.may_write(&entry.folder().join(".interpreter-entry"));
        if allowed {
            return Ok(());
        }
        Err(Refusal::Sandbox { path: shown.to_owned(), read_only: self.fence.read_only() }.into())
    }

    /// What is at the path, links followed; a dangling link counts as there where it is to be taken away.
    fn look(&self, change: &Change, shown: &Path) -> Result<Option<Old>, No> {
        let path = self.cwd.join(&change.path);
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => match fs::symlink_metadata(&path) {
                Ok(meta) if matches!(change.new, New::Gone | New::Same) => return Ok(Some(Old { meta, bytes: None })),
                _ => return Ok(None),
            },
            Err(e) => return Err(fail::io(shown, &e).into()),
        };
        if !meta.is_file() {
            let kind = stamp::kind(&meta);
            let is_link = path.is_symlink();
            return match change.new {
                New::Same => Ok(Some(Old { meta, bytes: None })),
                New::Gone if is_link => Ok(Some(Old { meta, bytes: None })),
                _ => Err(Failure::NotAFile { path: shown.to_owned(), kind }.into()),
            };
        }
        let needed = matches!(change.new, New::Splices(_)) || matches!(change.expect, Expect::Unchanged(_));
        match read::bytes(&path, MAX_FILE) {
            Ok((bytes, meta)) => Ok(Some(Old { meta, bytes: Some(bytes) })),
            Err(_) if !needed => Ok(Some(Old { meta, bytes: None })),
            Err(Failure::Io { errno, message, .. }) => {
                Err(Failure::Io { path: shown.to_owned(), errno, message }.into())
            }
            Err(Failure::TooLarge { bytes, limit, .. }) => {
                Err(Failure::TooLarge { path: shown.to_owned(), bytes, limit }.into())
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Where a move goes. None: to where it is already.
    fn target(&mut self, to: &Path, from: &Place) -> Result<Option<Target>, No> {
        let shown = place::tidy(&self.cwd.join(to));
        let place = place::locate(&self.cwd.join(to), true).map_err(|e| fail::io(&shown, &e))?;
        if place == *from {
            return Ok(None);
        }
        let place = self.locate(to, &shown, true)?;
        self.permit(&place, &shown, false)?;
        let path = place.path();
        let (seen, held) = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => (Some(Seen::of(&meta)), read::bytes(&path, MAX_FILE).ok().map(|(b, _)| b)),
            Ok(meta) => return Err(Failure::NotAFile { path: shown, kind: stamp::kind(&meta) }.into()),
            Err(_) => (None, None),
        };
        Ok(Some(Target { shown, place, seen, held }))
    }
}

struct Target {
    shown: PathBuf,
    place: Place,
    /// A file that is overwritten.
    seen: Option<Seen>,
    held: Option<Vec<u8>>,
}

fn check_expectation(change: &Change, shown: &Path, old: Option<&Old>) -> Result<(), No> {
    let stale = || Err(Refusal::Stale { path: shown.to_owned() }.into());
    match (&change.expect, old) {
        (Expect::Absent, Some(_)) => stale(),
        (Expect::Unchanged(_), None) => stale(),
        (Expect::Unchanged(then), Some(old)) => {
            let now = match &old.bytes {
                Some(bytes) => stamp::of(&old.meta, bytes),
                None => stamp::unread(&old.meta),
            };
            if stamp::same(then, &now) { Ok(()) } else { stale() }
        }
        (_, None) if !matches!(change.new, New::Whole { .. }) => Err(fail::os(shown, libc::ENOENT).into()),
        (Expect::Exists, None) => Err(fail::os(shown, libc::ENOENT).into()),
        _ => Ok(()),
    }
}

fn new_content(change: &Change, shown: &Path, old: Option<&Old>) -> Result<Option<Vec<u8>>, No> {
    match &change.new {
        New::Whole { text, like } => Ok(Some(text::encode(text, *like))),
        New::Same | New::Gone => Ok(None),
        New::Splices(splices) => {
            let Some(bytes) = old.and_then(|old| old.bytes.as_deref()) else {
                return Err(Failure::NotAFile { path: shown.to_owned(), kind: FileKind::Special }.into());
            };
            match text::splice(bytes, splices) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(SpliceError::NotText { at, len }) => {
                    Err(Failure::NotText { path: shown.to_owned(), at, len }.into())
                }
                Err(SpliceError::Range(range)) => {
                    let text =
                        format!("bytes {}..{} are no place in {} to change", range.start, range.end, shown.display());
                    Err(Failure::Other(text).into())
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
