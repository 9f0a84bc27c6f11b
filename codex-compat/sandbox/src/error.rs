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
    #[error("cannot start the sandbox helper {}: {source}{}", path.display(), remedy(source))]
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
    #[error("sandbox: {}{}", .0, remedy(.0))]
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

    /// Descriptors, processes or memory ran out: what failed now can succeed in a moment.
    pub fn is_shortage(&self) -> bool {
        match self {
            Error::Setup(failure) => failure.is_shortage(),
            Error::Io(source) | Error::Helper { source, .. } => shortage(source).is_some(),
            _ => false,
        }
    }
}

/// What ran out, as the user can help it. None: the error is no shortage.
fn shortage(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        // The second: too many are on their way between processes.
        libc::EMFILE | libc::ETOOMANYREFS => Some("raise the limit of open files, for example with `ulimit -n 1024`"),
        libc::ENFILE => Some("the whole system is out of open files; end some programs"),
        libc::EAGAIN => Some("out of processes; raise `ulimit -u` or the container's limit, or end some programs"),
        libc::ENOMEM => Some("end some programs or raise the memory limit"),
        _ => None,
    }
}

fn remedy(error: &io::Error) -> String {
    shortage(error).map(|remedy| format!("; {remedy}")).unwrap_or_default()
}

/// A step of the helper that did not succeed, so the command was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sandbox: {step}: {}{}", self.cause(), self.remedy())]
pub struct Failure {
    /// What was being done, with the path if one is concerned; `exec PROGRAM` for the command itself.
    pub step: String,
    pub errno: i32,
}

impl Failure {
    pub(crate) fn cause(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }

    /// Descriptors, processes or memory ran out.
    pub fn is_shortage(&self) -> bool {
        shortage(&self.cause()).is_some()
    }

    fn remedy(&self) -> String {
        remedy(&self.cause())
    }

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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_shortage_says_what_to_raise() {
        let check = |errno, expected: &str| {
            let failure = Failure { step: "fork".to_owned(), errno };
            assert_eq!((failure.to_string().as_str(), failure.is_shortage()), (expected, expected.contains("; ")));
        };
        check(
            libc::EMFILE,
            "sandbox: fork: Too many open files (os error 24); raise the limit of open files, for example with `ulimit -n 1024`",
        );
        check(libc::EPERM, "sandbox: fork: Operation not permitted (os error 1)");
        let error = Error::Io(io::Error::from_raw_os_error(libc::EAGAIN));
        assert!(error.is_shortage() && error.to_string().contains("ulimit -u"), "{error}");
    }
}
