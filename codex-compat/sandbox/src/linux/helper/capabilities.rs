//! Giving up every privilege, and the means to get one by `exec`.
use std::io;

use crate::{
    Rung,
    linux::{order::Order, sys::check},
};

const VERSION_3: u32 = 0x2008_0522;
/// More than the kernel knows (41 in Linux 6.18).
const LAST: u32 = 63;

const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const FOWNER: u32 = 3;
const FSETID: u32 = 4;

/// What root keeps to work on another user's files. The mounts confine it, and `/proc/sys` is read-only. Landlock alone does
/// not confine changes of mode and owner, so there it is the right to write only.
fn kept(order: &Order) -> &'static [u32] {
    match order.rung {
        _ if !order.foreign_owner => &[],
        Some(Rung::Landlock) => &[DAC_OVERRIDE],
        // In a user namespace that holds root alone, no file of another is ours to override.
        Some(Rung::User | Rung::UserNoPid) => &[],
        _ => &[CHOWN, DAC_OVERRIDE, FOWNER, FSETID],
    }
}

/// With most capabilities in its user namespace the command could undo the mounts.
pub(super) fn drop_all(order: &Order) -> io::Result<()> {
    let kept = kept(order);
    for capability in (0..=LAST).filter(|capability| !kept.contains(capability)) {
        // Needs CAP_SETPCAP; without it there is nothing in the set that `exec` could give under no_new_privs.
        // SAFETY: no memory is involved.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            break;
        }
    }
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let header = Header { version: VERSION_3, pid: 0 };
    let low = kept.iter().fold(0, |set, capability| set | (1 << capability));
    let none = || Sets { effective: 0, permitted: 0, inheritable: 0 };
    let sets = [Sets { effective: low, permitted: low, ..none() }, none()];
    // SAFETY: header and sets have the form of version 3.
    check(unsafe { libc::syscall(libc::SYS_capset, &header, &sets) }).map(drop)
}

pub(super) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}
