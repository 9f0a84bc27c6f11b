//! Finding the rung by trial: the helper builds the whole jail and stops short of `exec`.
use std::sync::{Mutex, OnceLock};

use super::{child::Guarded, order::Order, plan::c_path, spawn};
use crate::{Failure, Rung, Status};

static FOUND: OnceLock<(Rung, Vec<(Rung, Failure)>)> = OnceLock::new();
static FORCED: Mutex<Option<Rung>> = Mutex::new(None);

/// Hook for tests of whole programs: the short name of a rung (`3`) that is taken without trial.
const FORCE: &str = "INTERPRETER_SANDBOX_RUNG";

/// The best rung of this machine. The first call makes a trial run of about five milliseconds for each rung that fails and
/// the one that holds; it is remembered for the life of the program.
pub fn detect() -> Rung {
    if let Some(rung) = FORCED.lock().ok().and_then(|forced| *forced) {
        return rung;
    }
    if let Some(rung) = std::env::var(FORCE).ok().and_then(|name| Rung::from_name(&name)) {
        return rung;
    }
    FOUND.get_or_init(climb).0
}

/// The rung for root in a workspace of another user: in a user namespace that holds root alone the files of others could
/// not be written, so the mounts are made without one where that is possible.
pub(super) fn with_real_capabilities() -> Rung {
    static WITHOUT: OnceLock<Option<Rung>> = OnceLock::new();
    let rung = detect();
    let same = match rung {
        Rung::User => Rung::Mount,
        Rung::UserNoPid => Rung::MountNoPid,
        other => return other,
    };
    WITHOUT.get_or_init(|| trial(same).is_none().then_some(same)).unwrap_or(rung)
}

/// For tests: takes this rung without trial from here on.
#[doc(hidden)]
pub fn force_rung(rung: Option<Rung>) {
    if let Ok(mut forced) = FORCED.lock() {
        *forced = rung;
    }
}

/// What failed on the way down to the detected rung.
pub(crate) fn trials() -> &'static [(Rung, Failure)] {
    &FOUND.get_or_init(climb).1
}

fn climb() -> (Rung, Vec<(Rung, Failure)>) {
    let mut failed = Vec::new();
    let candidates = [Rung::User, Rung::UserNoPid, Rung::Mount, Rung::MountNoPid, Rung::Landlock];
    for rung in candidates {
        match trial(rung) {
            None => return (rung, failed),
            Some(failure) => failed.push((rung, failure)),
        }
    }
    (Rung::Nothing, failed)
}

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
        Err(error) => return Some(failure(error.to_string())),
    };
    match status {
        Ok(Status::Exited(0)) => None,
        Ok(Status::NotRun(failure)) => Some(failure),
        Ok(other) => Some(failure(format!("trial ended with status {}", other.code()))),
        Err(error) => Some(failure(error.to_string())),
    }
}
