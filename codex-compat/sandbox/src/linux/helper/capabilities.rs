//! Giving up every privilege, and the means to get one by `exec`.
use std::io;

use crate::linux::sys::check;

const VERSION_3: u32 = 0x2008_0522;
/// More than the kernel knows (41 in Linux 6.18); unknown numbers are refused and that is fine.
const LAST: i32 = 63;

/// With a capability in its user namespace the command could undo the mounts.
pub(super) fn drop_all() -> io::Result<()> {
    for capability in 0..=LAST {
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
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: header and data have the form of version 3.
    check(unsafe { libc::syscall(libc::SYS_capset, &header, none.as_ptr()) }).map(drop)
}

pub(super) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}
