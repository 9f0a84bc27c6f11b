//! What is to be run, and how it ended.
use std::{ffi::OsString, os::fd::OwnedFd, path::PathBuf};

use crate::Failure;

/// One command.
#[derive(Debug)]
pub struct Launch {
    /// Program and arguments; the program is looked for in the `PATH` of `env` unless it has a slash.
    pub argv: Vec<OsString>,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    pub stdout: Stream,
    pub stderr: Stream,
    /// A terminal of this size instead of the three streams. It is made inside the jail, so `tty` knows its name.
    pub tty: Option<Size>,
    /// More descriptors and the numbers (3 to 63) that the command finds them under.
    pub extra: Vec<(OwnedFd, i32)>,
    pub session: Session,
    /// What the command leaves running lives on after it, until [`crate::Child::kill_tree`] or drop.
    /// Otherwise the command's end ends everything that it started.
    pub linger: bool,
}

impl Launch {
    /// No input, both outputs in one pipe in the order written, no terminal.
    pub fn new(argv: Vec<OsString>, env: Vec<(OsString, OsString)>, cwd: PathBuf) -> Launch {
        Launch {
            argv,
            env,
            cwd,
            stdin: Stdin::Null,
            stdout: Stream::Pipe,
            stderr: Stream::Merged,
            tty: None,
            extra: Vec::new(),
            session: Session::Own,
            linger: false,
        }
    }
}

#[derive(Debug)]
pub enum Stdin {
    Null,
    Pipe,
    Inherit,
    Fd(OwnedFd),
}

#[derive(Debug)]
pub enum Stream {
    Null,
    Pipe,
    Inherit,
    Fd(OwnedFd),
    /// For stderr: wherever stdout goes.
    Merged,
}

/// Of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// A session of its own: no controlling terminal, or the one of `tty`.
    Own,
    /// The caller's session and process group, for a command in the foreground of a shell.
    Callers,
}

/// How the command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    Signaled(i32),
    /// The jail could not be built or the program not be executed; nothing of the command ran.
    NotRun(Failure),
}

impl Status {
    /// As shells have it: the exit code, or 128 + the signal's number.
    pub fn code(&self) -> i32 {
        match self {
            Status::Exited(code) => *code,
            Status::Signaled(signal) => 128 + signal,
            Status::NotRun(failure) => failure.exit_code(),
        }
    }

    pub fn success(&self) -> bool {
        *self == Status::Exited(0)
    }
}
