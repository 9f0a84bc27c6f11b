//! Errors of the operating system as the vocabulary has them.
use std::{io, path::Path};

use protocol::Failure;

/// `strerror` without the number that `std` adds.
pub(crate) fn message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

pub(crate) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

pub(crate) fn io(path: &Path, error: &io::Error) -> Failure {
    Failure::Io { path: path.to_owned(), errno: errno(error), message: message(error) }
}

pub(crate) fn os(path: &Path, errno: i32) -> Failure {
    io(path, &io::Error::from_raw_os_error(errno))
}
