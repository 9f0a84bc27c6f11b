//! Looking around: folders, names by pattern, content by regular expression. On ripgrep's crates, in a fixed order.
//!
//! Patterns are ripgrep's: `*` stops at `/`, a pattern without `/` matches at any depth, a leading `/` or `./` ties it to
//! the root of the search, `!` in `globs` excludes, of several that match the last one decides. With `Search::overrides` they are
//! ripgrep's `--glob` to the letter, and come before the ignore rules.
mod grep;
mod names;
mod walk;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use protocol::{Failure, FileKind, Hit};

pub(crate) use self::{
    grep::grep,
    names::{glob, list, unignored},
};
use crate::{fail, files::stamp};

/// Where a search says `limit: 0`, it means no limit of its own; this one bounds memory.
const MAX_HITS: usize = 100_000;

fn limit(asked: usize) -> usize {
    if asked == 0 { MAX_HITS } else { asked.min(MAX_HITS) }
}

/// Tells a search that nobody waits for it any more.
#[derive(Clone, Default)]
pub(crate) struct Abandoned(std::sync::Arc<AtomicBool>);

impl Abandoned {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn existing(root: &Path) -> Result<std::fs::Metadata, Failure> {
    std::fs::metadata(root).map_err(|e| fail::io(root, &e))
}

/// A link counts as what it leads to; one that leads nowhere as special.
fn hit(path: PathBuf) -> Hit {
    let is_link = path.is_symlink();
    match std::fs::metadata(&path) {
        Ok(meta) => Hit { kind: stamp::kind(&meta), mtime_ns: stamp::mtime_ns(&meta), path, is_link, ..Hit::default() },
        Err(_) => Hit { kind: FileKind::Special, path, is_link, ..Hit::default() },
    }
}

#[cfg(test)]
mod tests;
