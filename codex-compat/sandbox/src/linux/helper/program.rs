//! `exec` with a search of the command's own `PATH`.
use std::{
    convert::Infallible,
    ffi::{CStr, CString},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
};

use super::{Named, Step};

/// What POSIX systems search where no `PATH` is set.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// Returns only when the program cannot be executed.
pub(super) fn execute(argv: &[CString], env: &[CString]) -> Step<Infallible> {
    let program = argv.first().map(CString::as_c_str).unwrap_or_default();
    Err(search(program, argv, env)).step(format!("exec {}", program.to_string_lossy()))
}

fn search(program: &CStr, argv: &[CString], env: &[CString]) -> io::Error {
    let name = program.to_bytes();
    if name.is_empty() {
        return io::Error::from_raw_os_error(libc::ENOENT);
    }
    if name.contains(&b'/') {
        return exec(program, argv, env);
    }
    let path = env.iter().find_map(|entry| entry.to_bytes().strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH);
    let mut kept = io::Error::from_raw_os_error(libc::ENOENT);
    for folder in path.split(|byte| *byte == b':') {
        // An empty entry is the working folder.
        let folder = if folder.is_empty() { b".".as_slice() } else { folder };
        let candidate = Path::new(std::ffi::OsStr::from_bytes(folder)).join(std::ffi::OsStr::from_bytes(name));
        let Ok(candidate) = CString::new(candidate.into_os_string().as_bytes()) else { continue };
        let error = exec(&candidate, argv, env);
        // One without the right to execute is worth a word if there is no other.
        if error.kind() == io::ErrorKind::PermissionDenied {
            kept = error;
        } else if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            return error;
        }
    }
    kept
}

fn exec(program: &CStr, argv: &[CString], env: &[CString]) -> io::Error {
    let pointers = |list: &[&CStr]| list.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>();
    let arguments: Vec<&CStr> = argv.iter().map(CString::as_c_str).collect();
    let env = pointers(&env.iter().map(CString::as_c_str).collect::<Vec<_>>());
    // SAFETY: null-terminated arrays of C strings that live through the call.
    unsafe { libc::execve(program.as_ptr(), pointers(&arguments).as_ptr(), env.as_ptr()) };
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOEXEC) {
        return error;
    }
    // A script without `#!`, as a shell would run it.
    let script: Vec<&CStr> = [c"sh", program].into_iter().chain(arguments.into_iter().skip(1)).collect();
    // SAFETY: as above.
    unsafe { libc::execve(c"/bin/sh".as_ptr(), pointers(&script).as_ptr(), env.as_ptr()) };
    error
}
