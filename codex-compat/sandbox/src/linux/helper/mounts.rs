//! Namespaces, and the tree of mounts: everything read-only, writable roots over it, guarded paths read-only over those.
use std::{ffi::CStr, fs, io, mem, os::fd::AsRawFd};

use super::{Named, Step, dev};
use crate::linux::{
    order::Order,
    sys::{self, Detached, NOSUID, RDONLY, check},
};

/// Parts of `/proc` that are about the machine and not about processes.
const MACHINE: [&CStr; 6] =
    [c"/proc/sys", c"/proc/irq", c"/proc/bus", c"/proc/fs", c"/proc/acpi", c"/proc/sysrq-trigger"];

pub(super) fn enter_namespaces(order: &Order) -> Step<()> {
    let Some(rung) = order.rung else { return Ok(()) };
    let mut kinds = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    if rung.has_user_ns() {
        kinds |= libc::CLONE_NEWUSER;
    }
    if rung.has_pid_ns() {
        kinds |= libc::CLONE_NEWPID;
    }
    if !order.network {
        kinds |= libc::CLONE_NEWNET;
    }
    // SAFETY: no memory is involved.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(kinds) }).step("unshare")?;
    if rung.has_user_ns() {
        fs::write("/proc/self/setgroups", "deny").step("setgroups")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).step("uid_map")?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).step("gid_map")?;
    }
    Ok(())
}

pub(super) fn build(order: &Order) -> Step<()> {
    sys::make_mounts_private().step("private mounts")?;
    // Copied while everything is as the machine has it: what is read-only there stays so, what is writable can be again.
    let mut copies = Vec::with_capacity(order.mounts.len());
    for mount in &order.mounts {
        let name = || mount.path.to_string_lossy();
        let copy = match Detached::copy_of(&mount.path) {
            Err(error) if mount.optional && error.kind() == io::ErrorKind::NotFound => continue,
            copy => copy.step(format!("copy mount {}", name()))?,
        };
        let flags = if mount.read_only { NOSUID | RDONLY } else { NOSUID };
        copy.set(flags, 0).step(format!("set mount {}", name()))?;
        copies.push((mount, copy));
    }
    let devices = Detached::copy_of(c"/dev").step("copy mount /dev")?;
    let flags = if order.whole_disk { NOSUID } else { NOSUID | RDONLY };
    sys::set_mounts_below(c"/", flags).step("read-only /")?;
    for (mount, copy) in copies {
        match copy.attach(&mount.path) {
            Err(error) if mount.optional && error.kind() == io::ErrorKind::NotFound => {}
            done => done.step(format!("mount {}", mount.path.to_string_lossy()))?,
        }
    }
    dev::build(&devices)
}

/// A `/proc` of the new process namespace. Root in a user namespace still owns the files of `/proc/sys`, hence read-only.
pub(super) fn own_proc() -> Step<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    sys::mount_new(c"proc", c"/proc", flags, c"").step("mount /proc")?;
    for path in MACHINE {
        match Detached::copy_of(path) {
            Ok(copy) => {
                let name = || path.to_string_lossy();
                copy.set(RDONLY, 0).step(format!("read-only {}", name()))?;
                copy.attach(path).step(format!("read-only {}", name()))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).step(path.to_string_lossy()),
        }
    }
    Ok(())
}

/// A new network namespace has a loopback interface that is down.
pub(super) fn loopback_up() -> io::Result<()> {
    let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    // SAFETY: all-zero is a valid ifreq, and the ioctl only reads it.
    unsafe {
        let mut request: libc::ifreq = mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request)).map(drop)
    }
}
