//! The file that all output of a task goes to as it is written, for a model that reads or searches it.
//!
//! Most commands end before they become tasks, so the file is made late: when a command is handed back, or when its output
//! outgrows what is held in memory, which is the last moment at which the beginning is still there.
use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use crate::files::save;

/// Bytes of a log. A command that writes on and on must not fill the disk.
const LIMIT: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    /// Of the file, without extension.
    stem: String,
    limit: u64,
    state: State,
    /// Somebody was told of the file, so it stays.
    told: bool,
}

#[derive(Debug)]
enum State {
    NotYet,
    /// `file` is None once it is complete.
    Made {
        path: PathBuf,
        file: Option<File>,
        room: u64,
    },
    /// There can be none: a full disk, say.
    Never,
}

impl Log {
    pub(super) fn new(folder: PathBuf, pid: u32) -> Log {
        Log { folder, stem: format!("command-{pid}"), limit: LIMIT, state: State::NotYet, told: false }
    }

    /// Whether output so far is still to come from elsewhere.
    pub(super) fn not_yet(&self) -> bool {
        matches!(self.state, State::NotYet)
    }

    /// Makes the file, with all output so far.
    pub(super) fn begin(&mut self, so_far: &[u8]) {
        self.state = match save::create(&self.folder, &self.stem, "log") {
            Ok((file, path)) => State::Made { path, file: Some(file), room: self.limit },
            Err(_) => State::Never,
        };
        self.push(so_far);
    }

    /// Goes to the file, where it is made. Written at once: who reads it sees what has happened. A short write to the disk that
    /// holds the session's file anyway is not worth a thread.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let State::Made { file, room, .. } = &mut self.state else { return };
        let Some(open) = file else { return };
        let fits = usize::try_from(*room).unwrap_or(usize::MAX).min(bytes.len());
        *room -= fits as u64;
        let mut written = open.write_all(&bytes[..fits]);
        if fits < bytes.len() {
            let limit = self.limit;
            written =
                written.and_then(|()| write!(open, "\n[log cut here: it holds the first {limit} bytes of output]\n"));
            *file = None;
        }
        if written.is_err() {
            *file = None;
        }
    }

    /// Nothing more comes.
    pub(super) fn close(&mut self) {
        if let State::Made { file, .. } = &mut self.state {
            *file = None;
        }
    }

    /// From here on the file stays.
    pub(super) fn tell(&mut self) {
        self.told = true;
    }

    /// Absolute. None: there is none, or none that stays.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.state {
            State::Made { path, .. } if self.told => Some(path),
            _ => None,
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let (State::Made { path, .. }, false) = (&self.state, self.told) {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pretty_assertions::assert_eq;

    use super::*;

    fn log(folder: &Path, limit: u64) -> Log {
        let mut log = Log::new(folder.join("outputs"), 7);
        log.limit = limit;
        log
    }

    #[test]
    fn everything_is_there_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let mut log = log(temp.path(), 100);
        log.push(b"from elsewhere");
        log.begin(b"ab");
        assert_eq!(log.path(), None);
        log.tell();
        log.push(b"\xFF\n");
        let path = temp.path().join("outputs/command-7.log");
        assert_eq!(log.path(), Some(path.as_path()));
        assert_eq!(std::fs::read(&path).unwrap(), b"ab\xFF\n");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        log.close();
        log.push(b"late");
        drop(log);
        assert_eq!(std::fs::read(&path).unwrap(), b"ab\xFF\n");
    }

    #[test]
    fn a_log_that_is_cut_says_so() {
        let temp = tempfile::tempdir().unwrap();
        let check = |pieces: &[&[u8]], expected: &str| {
            let mut log = log(temp.path(), 4);
            log.begin(pieces[0]);
            pieces[1..].iter().for_each(|piece| log.push(piece));
            log.tell();
            assert_eq!(std::fs::read_to_string(log.path().unwrap()).unwrap(), expected, "{pieces:?}");
        };
        check(&[b"ab", b"cd"], "abcd");
        check(&[b"ab", b"cde", b"f"], "abcd\n[log cut here: it holds the first 4 bytes of output]\n");
        check(&[b"abcd", b"e"], "abcd\n[log cut here: it holds the first 4 bytes of output]\n");
    }

    #[test]
    fn a_log_that_nobody_was_told_of_goes_away() {
        let temp = tempfile::tempdir().unwrap();
        let mut log = log(temp.path(), 100);
        log.begin(b"a");
        assert!(temp.path().join("outputs/command-7.log").exists());
        drop(log);
        assert!(!temp.path().join("outputs/command-7.log").exists());
    }

    #[test]
    fn where_no_file_can_be_made_there_is_none() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("outputs"), "").unwrap();
        let mut log = log(temp.path(), 100);
        log.begin(b"a");
        log.tell();
        assert_eq!((log.path(), log.not_yet()), (None, false));
    }
}
