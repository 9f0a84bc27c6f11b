//! The limit of open files: ours is raised, since each command that runs takes about seven; commands get the one that we
//! were started with, for programs that look at it (`select`, loops that close every number).
use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

use super::sys::check;

/// Enough for thousands of commands, and few enough for a child of another kind that inherits it.
const MOST: libc::rlim_t = 65_536;

/// The soft limit before it was raised; 0: it was not.
static BEFORE: AtomicU32 = AtomicU32::new(0);

/// Raises the soft limit of open files once. Commands run by [`super::spawn`] keep the old one.
pub fn raise_open_files() {
    static RAISED: OnceLock<()> = OnceLock::new();
    RAISED.get_or_init(|| {
        let Some(limit) = current() else { return };
        let wanted = limit.rlim_max.min(MOST);
        if limit.rlim_cur < wanted && set(libc::rlimit { rlim_cur: wanted, ..limit }) {
            BEFORE.store(limit.rlim_cur as u32, Ordering::Relaxed);
        }
    });
}

/// For the order: what the command is to have.
pub(super) fn before() -> u32 {
    BEFORE.load(Ordering::Relaxed)
}

/// The helper's side: this process and the program that it becomes.
pub(super) fn restore(soft: u32) {
    if soft > 0
        && let Some(limit) = current()
    {
        set(libc::rlimit { rlim_cur: soft.into(), ..limit });
    }
}

fn current() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to `limit`, which lives through the call.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }).is_ok().then_some(limit)
}

fn set(limit: libc::rlimit) -> bool {
    // SAFETY: the pointer is to `limit`, which lives through the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }).is_ok()
}
