//! Landlock: the second wall behind the mounts, and on the third rung the only one for files.
use std::{io, os::fd::OwnedFd, path::Path};

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};

use super::Step;
use crate::{
    Failure, Rung,
    linux::{order::Order, sys},
};

/// What the rules are written for; the crate leaves out what the kernel does not know.
const KNOWN: ABI = ABI::V7;
/// Before it, moving a file to another folder cannot be allowed, and files outside can be cut to nothing.
const LEAST_ALONE: i64 = 2;

const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// False: the kernel has no Landlock, and namespaces are the only wall.
pub(super) fn restrict(order: &Order, rung: Rung, terminal: Option<&OwnedFd>) -> Step<bool> {
    if rung == Rung::Landlock && sys::landlock_abi() < LEAST_ALONE {
        return Err(Failure { step: "Landlock".to_owned(), errno: libc::ENOSYS });
    }
    enforce(order, rung, terminal).map_err(|error| {
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        Failure { step: format!("Landlock: {error}"), errno }
    })
}

fn enforce(order: &Order, rung: Rung, terminal: Option<&OwnedFd>) -> Result<bool, RulesetError> {
    let read = AccessFs::from_read(KNOWN);
    // No device nodes: they would open the disk itself.
    let everything = AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    rules = allow(rules, "/", read)?;
    for path in &order.grants {
        rules = allow(rules, as_path(path), everything)?;
    }
    for path in DEVICES {
        rules = allow(rules, path, device)?;
    }
    rules = allow(rules, "/dev/shm", everything)?;
    if rung.has_mounts() {
        // Ours alone. The machine's terminals, which the third rung sees, belong to other sessions of the user.
        for path in ["/dev/pts/ptmx", "/dev/pts"] {
            rules = allow(rules, path, device | AccessFs::ReadDir)?;
        }
    } else if let Some(terminal) = terminal {
        rules = rules.add_rule(PathBeneath::new(terminal, device))?;
    }
    if rung.has_pid_ns() {
        rules = allow(rules, "/proc", read | AccessFs::WriteFile)?;
    }
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// What is not there needs no rule.
fn allow(
    rules: RulesetCreated,
    path: impl AsRef<Path>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let path = path.as_ref();
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    // A rule on a file with rights of folders is refused.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    rules.add_rule(PathBeneath::new(fd, access))
}

fn as_path(path: &std::ffi::CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()))
}
