//! Why a command was not started.
use std::{io, path::PathBuf};

/// Nothing of the command ran.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ladder ends here; the message says what would help.
    #[error("{0}")]
    Refused(String),
    #[error("working folder {}: {source}", path.display())]
    Cwd { path: PathBuf, source: io::Error },
    #[error("no command given")]
    NoCommand,
    #[error("cannot run {what:?}: it contains a NUL byte")]
    Nul { what: String },
    #[error("descriptor {0} cannot be handed to a command; use 3 to 63")]
    Descriptor(i32),
    #[error("cannot start the sandbox helper {}: {source}", path.display())]
    Helper { path: PathBuf, source: io::Error },
    #[error("{} cannot act as sandbox helper: its main() must call sandbox::helper_if_asked() first", path.display())]
    NotAHelper { path: PathBuf },
    #[error("cannot keep sandbox state in {}: {source}; make it writable or point INTERPRETER_HOME elsewhere", path.display())]
    State { path: PathBuf, source: io::Error },
    /// Way (d) of the weak mode cannot restore what it cannot remember.
    #[error("cannot watch {}: {reason}; allow namespaces, or remove sandbox_linux.weak", path.display())]
    Unwatchable { path: PathBuf, reason: String },
    #[error(transparent)]
    Setup(#[from] Failure),
    #[error("sandbox: {0}")]
    Io(#[from] io::Error),
}

impl Error {
    /// For a program whose whole job was this command.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Setup(failure) => failure.exit_code(),
            _ => 1,
        }
    }
}

/// A step of the helper that did not succeed, so the command was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sandbox: {step}: {}", io::Error::from_raw_os_error(*errno))]
pub struct Failure {
    /// What was being done, with the path if one is concerned; `exec PROGRAM` for the command itself.
    pub step: String,
    pub errno: i32,
}

impl Failure {
    /// Exit status for shells and scripts: 127 or 126 as a shell has it where the program itself could not be
    /// executed, else 97.
    pub fn exit_code(&self) -> i32 {
        match (self.step.starts_with("exec "), io::Error::from_raw_os_error(self.errno).kind()) {
            (true, io::ErrorKind::NotFound) => 127,
            (true, _) => 126,
            _ => 97,
        }
    }
}
