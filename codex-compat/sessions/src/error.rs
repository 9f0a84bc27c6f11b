//! What can go wrong with a session file; each is one line for the user.
use std::{io, path::PathBuf};

use protocol::{ItemId, ThreadId};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no rollout found for thread id {0}")]
    NoRollout(ThreadId),
    #[error(
        "session {id} is in use by {}; wait until it ends, or go on from a copy with `interpreter exec fork {id}`",
        holder(*.pid)
    )]
    InUse { id: ThreadId, pid: Option<u32> },
    #[error("cannot create {}: {source}; point INTERPRETER_HOME at a folder that can be written, or keep nothing with --ephemeral", .path.display())]
    Create { path: PathBuf, source: io::Error },
    /// Of a session that is there.
    #[error(
        "cannot write {}: {source}; make it writable, or go on from a copy with `interpreter exec fork {id}`", .path.display()
    )]
    Reopen { id: ThreadId, path: PathBuf, source: io::Error },
    /// Of anything but a thread that is being written.
    #[error("cannot change {}: {source}", .path.display())]
    Change { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}; what was kept before stays, and `interpreter exec resume` goes on from there", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A value that JSON cannot hold, such as a path that is not UTF-8.
    #[error("item {} cannot be kept in {}: {source}", .item.0, .path.display())]
    Encode { path: PathBuf, item: ItemId, source: serde_json::Error },
    /// The ids of appended items must ascend from `Session::next`.
    #[error("item {} of session {id} is out of order: the next one is {}", .item.0, .next.0)]
    Order { id: ThreadId, item: ItemId, next: ItemId },
    #[error("`{0}` cannot name an attachment: letters, digits, `.`, `_` and `-` only")]
    BlobName(String),
    #[error("session {id} is what {fork} was forked from; delete that one first, or archive this one")]
    HasForks { id: ThreadId, fork: ThreadId },
    #[error("session {0} is archived (in archived_sessions of our home)")]
    Archived(ThreadId),
    #[error("session {0} is not archived")]
    NotArchived(ThreadId),
    #[error("a session name cannot be empty")]
    EmptyName,
    #[error("{} is not a Codex session: {why}", .path.display())]
    NotCodex { path: PathBuf, why: &'static str },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl Error {
    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Write { path, source }
    }
    pub(crate) fn create(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Create { path, source }
    }
    pub(crate) fn change(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Change { path, source }
    }
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Read { path, source }
    }
}
