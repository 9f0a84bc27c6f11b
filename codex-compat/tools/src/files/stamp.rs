//! The identity of a file's version.
use std::{fs::Metadata, os::unix::fs::MetadataExt};

use protocol::{FileKind, Stamp};
use sha2::{Digest, Sha256};

/// 128 bits of SHA-256 in hex: enough to tell versions apart, short enough to stand in every session line.
pub(crate) fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().take(16).fold(String::with_capacity(32), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

pub(crate) fn mtime_ns(meta: &Metadata) -> u64 {
    let (s, ns) = (meta.mtime(), meta.mtime_nsec());
    u64::try_from(s).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(u64::try_from(ns).unwrap_or(0))
}

pub(crate) fn of(meta: &Metadata, bytes: &[u8]) -> Stamp {
    Stamp { len: bytes.len() as u64, mtime_ns: mtime_ns(meta), hash: hash(bytes) }
}

/// Content not read.
pub(crate) fn unread(meta: &Metadata) -> Stamp {
    Stamp { len: meta.len(), mtime_ns: mtime_ns(meta), hash: String::new() }
}

/// Whether `now` is the version that `then` names: by content where both were read, else by size and time.
pub(crate) fn same(then: &Stamp, now: &Stamp) -> bool {
    if then.hash.is_empty() || now.hash.is_empty() {
        then.len == now.len && then.mtime_ns == now.mtime_ns
    } else {
        then.hash == now.hash
    }
}

pub(crate) fn kind(meta: &Metadata) -> FileKind {
    if meta.is_file() {
        FileKind::File
    } else if meta.is_dir() {
        FileKind::Folder
    } else {
        FileKind::Special
    }
}
