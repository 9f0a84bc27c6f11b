//! Finding the rung by trial: the helper builds the whole jail and stops short of `exec`.
use std::sync::{Mutex, OnceLock};

use super::{child::Guarded, order::Order, plan::c_path, spawn};
use crate::{Error, Failure, Rung, Status};

static FOUND: OnceLock<Found> = OnceLock::new();
static FORCED: Mutex<Option<Rung>> = Mutex::new(None);

/// Hook for tests of whole programs: the short name of a rung (`3`) that is taken without trial.
const FORCE: &str = "INTERPRETER_SANDBOX_RUNG";

/// What climbing down the ladder showed.
struct Found {
    rung: Rung,
    /// What failed on the way down to it.
    failed: Vec<(Rung, Failure)>,
}

/// The best rung of this machine. The first call makes a trial run of about five milliseconds for each rung that fails and
/// the one that holds; it is remembered for the life of the program. [`Rung::Nothing`] also where a shortage (open files,
/// processes, memory) lets no trial be made; that is not remembered, and [`Rung::message`] says which.
pub fn detect() -> Rung {
    rung().unwrap_or(Rung::Nothing)
}

/// As [`detect`]; Err: the shortage that lets no trial be made.
pub(super) fn rung() -> Result<Rung, Failure> {
    match forced() {
        Some(rung) => Ok(rung),
        None => found().map(|found| found.rung),
    }
}

fn forced() -> Option<Rung> {
    let told = FORCED.lock().ok().and_then(|forced| *forced);
    told.or_else(|| std::env::var(FORCE).ok().and_then(|name| Rung::from_name(&name)))
}

fn found() -> Result<&'static Found, Failure> {
    // One climb at a time: many first commands at once need no trial each.
    static CLIMBING: Mutex<()> = Mutex::new(());
    let _one = CLIMBING.lock();
    match FOUND.get() {
        Some(found) => Ok(found),
        None => climb(trial).map(|found| FOUND.get_or_init(|| found)),
    }
}

/// The rung for root in a workspace of another user: in a user namespace that holds root alone the files of others could
/// not be written, so the mounts are made without one where that is possible.
pub(super) fn with_real_capabilities() -> Result<Rung, Failure> {
    static WITHOUT: OnceLock<Option<Rung>> = OnceLock::new();
    let rung = rung()?;
    let same = match rung {
        Rung::User => Rung::Mount,
        Rung::UserNoPid => Rung::MountNoPid,
        other => return Ok(other),
    };
    if let Some(without) = WITHOUT.get() {
        return Ok(without.unwrap_or(rung));
    }
    match trial(same) {
        Some(failure) if failure.is_shortage() => Err(failure),
        failed => Ok(WITHOUT.get_or_init(|| failed.is_none().then_some(same)).unwrap_or(rung)),
    }
}

/// Why there is no rung at all, where something can be done about that.
pub(crate) fn why_nothing() -> Option<String> {
    if forced().is_some() {
        return None;
    }
    match found() {
        Err(shortage) => Some(format!("{shortage}; until then commands are refused")),
        Ok(found) => reason(&found.failed)
            .map(|why| format!("{why}; commands are refused. `interpreter sandbox --check` shows each step")),
    }
}

/// None: the kernel just does not have what a jail is made of. Otherwise the first step that failed, since without its
/// fault there might be a jail.
fn reason(failed: &[(Rung, Failure)]) -> Option<String> {
    let (_, first) = failed.first()?;
    if first.step == HELPER && first.errno == libc::ENOENT {
        return Some("sandbox: /proc is not mounted, and the sandbox cannot start without it; mount it".to_owned());
    }
    let lacking = [libc::EPERM, libc::ENOSYS, libc::EINVAL, libc::ENOSPC, libc::EACCES];
    let namespaces = first.step == "unshare" && lacking.contains(&first.errno);
    (!namespaces).then(|| first.to_string())
}

/// For tests: takes this rung without trial from here on.
#[doc(hidden)]
pub fn force_rung(rung: Option<Rung>) {
    if let Ok(mut forced) = FORCED.lock() {
        *forced = rung;
    }
}

/// What failed on the way down to the detected rung.
pub(crate) fn trials() -> Result<&'static [(Rung, Failure)], Failure> {
    found().map(|found| found.failed.as_slice())
}

/// Err: a shortage. It says nothing about the rungs, so none is struck off for it.
fn climb(trial: impl Fn(Rung) -> Option<Failure>) -> Result<Found, Failure> {
    let mut failed = Vec::new();
    let candidates = [Rung::User, Rung::UserNoPid, Rung::Mount, Rung::MountNoPid, Rung::Landlock];
    for rung in candidates {
        match trial(rung) {
            None => return Ok(Found { rung, failed }),
            Some(failure) if failure.is_shortage() => return Err(failure),
            Some(failure) => failed.push((rung, failure)),
        }
    }
    Ok(Found { rung: Rung::Nothing, failed })
}

/// The step that comes before those that the helper reports.
const HELPER: &str = "start of the helper";

/// None: the whole jail was built.
fn trial(rung: Rung) -> Option<Failure> {
    let failure = |step: String| Failure { step, errno: libc::EIO };
    let cwd = match c_path("/".as_ref()) {
        Ok(cwd) => cwd,
        Err(error) => return Some(failure(error.to_string())),
    };
    let order = Order { rung: Some(rung), trial: true, own_session: true, cwd, ..Order::default() };
    let status = match spawn::start(&order, &[], Guarded::default()) {
        Ok(mut child) => child.wait(),
        Err(Error::Io(source) | Error::Helper { source, .. }) => {
            return Some(Failure { step: HELPER.to_owned(), errno: source.raw_os_error().unwrap_or(libc::EIO) });
        }
        Err(Error::Setup(failure)) => return Some(failure),
        Err(error) => return Some(failure(error.to_string())),
    };
    match status {
        Ok(Status::Exited(0)) => None,
        Ok(Status::NotRun(failure)) => Some(failure),
        Ok(other) => Some(failure(format!("trial ended with status {}", other.code()))),
        Err(error) => Some(Failure { step: "trial".to_owned(), errno: error.raw_os_error().unwrap_or(libc::EIO) }),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn failing(step: &str, errno: i32) -> impl Fn(Rung) -> Option<Failure> {
        let failure = Failure { step: step.to_owned(), errno };
        move |_| Some(failure.clone())
    }

    #[test]
    fn a_shortage_strikes_off_no_rung() {
        for errno in [libc::EMFILE, libc::ENFILE, libc::EAGAIN, libc::ENOMEM] {
            let shortage = climb(failing("fork", errno)).err();
            assert_eq!(shortage, Some(Failure { step: "fork".to_owned(), errno }));
        }
        let later = climb(|rung| match rung {
            Rung::User => Some(Failure { step: "unshare".to_owned(), errno: libc::EPERM }),
            _ => Some(Failure { step: "socketpair".to_owned(), errno: libc::EMFILE }),
        });
        assert_eq!(later.err().map(|failure| failure.step), Some("socketpair".to_owned()));
    }

    #[test]
    fn the_first_fault_is_named_unless_the_kernel_lacks_it_all() {
        let check = |step: &str, errno, expected: Option<&str>| {
            let found = climb(failing(step, errno)).ok();
            assert_eq!(found.and_then(|found| reason(&found.failed)).as_deref(), expected);
        };
        check("unshare", libc::EPERM, None);
        let proc = "sandbox: /proc is not mounted, and the sandbox cannot start without it; mount it";
        check(HELPER, libc::ENOENT, Some(proc));
        check("uid_map", libc::EPERM, Some("sandbox: uid_map: Operation not permitted (os error 1)"));
        check("mount /mnt", libc::EIO, Some("sandbox: mount /mnt: Input/output error (os error 5)"));
    }
}
