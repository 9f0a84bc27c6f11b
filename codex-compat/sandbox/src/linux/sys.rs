//! System calls that libc has no wrapper for, with `io::Result` instead of -1.
use std::{
    ffi::CStr,
    fs, io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

pub(super) const RDONLY: u64 = 1;
pub(super) const NOSUID: u64 = 2;
const AT_RECURSIVE: i32 = 0x8000;
const OPEN_TREE_CLONE: i32 = 1;
const MOVE_MOUNT_F_EMPTY_PATH: i32 = 4;

/// The result of a call that answers -1 with `errno`.
pub(super) fn check(result: impl Into<i64>) -> io::Result<i64> {
    match result.into() {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

fn owned(result: impl Into<i64>) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just made this descriptor for us.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// Sets flags on a mount and everything mounted below it.
fn mount_setattr(dir: RawFd, path: &CStr, flags: i32, set: u64, clear: u64) -> io::Result<()> {
    let attr = MountAttr { set, clear, propagation: 0, userns: 0 };
    // SAFETY: the pointers live through the call and the size is that of the struct.
    check(unsafe { libc::syscall(libc::SYS_mount_setattr, dir, path.as_ptr(), flags, &attr, size_of::<MountAttr>()) })
        .map(drop)
}

pub(super) fn set_mounts_below(path: &CStr, set: u64) -> io::Result<()> {
    mount_setattr(libc::AT_FDCWD, path, AT_RECURSIVE, set, 0)
}

pub(super) fn set_mount(path: &CStr, set: u64) -> io::Result<()> {
    mount_setattr(libc::AT_FDCWD, path, 0, set, 0)
}

/// A mount that is not attached anywhere yet.
pub(super) struct Detached(OwnedFd);

impl Detached {
    /// A copy of the tree at `path`, with what is mounted below it; of the link itself where `path` is one.
    pub(super) fn copy_of(path: &CStr) -> io::Result<Detached> {
        Detached::copy_at(libc::AT_FDCWD, path, AT_RECURSIVE)
    }

    fn copy_at(dir: RawFd, path: &CStr, recursive: i32) -> io::Result<Detached> {
        let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_SYMLINK_NOFOLLOW | recursive;
        // SAFETY: `path` lives through the call.
        owned(unsafe { libc::syscall(libc::SYS_open_tree, dir, path.as_ptr(), flags) }).map(Detached)
    }

    /// A copy of one entry in this tree.
    pub(super) fn copy_of_entry(&self, name: &CStr) -> io::Result<Detached> {
        Detached::copy_at(self.0.as_raw_fd(), name, 0)
    }

    pub(super) fn set(&self, set: u64, clear: u64) -> io::Result<()> {
        mount_setattr(self.0.as_raw_fd(), c"", libc::AT_EMPTY_PATH | AT_RECURSIVE, set, clear)
    }

    /// Puts the tree on top of what is at `path`, on the link itself where it is one.
    pub(super) fn attach(&self, path: &CStr) -> io::Result<()> {
        // SAFETY: the pointers live through the call.
        check(unsafe {
            libc::syscall(
                libc::SYS_move_mount,
                self.0.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_FDCWD,
                path.as_ptr(),
                MOVE_MOUNT_F_EMPTY_PATH,
            )
        })
        .map(drop)
    }
}

/// A new filesystem without a device.
pub(super) fn mount_new(kind: &CStr, at: &CStr, flags: libc::c_ulong, options: &CStr) -> io::Result<()> {
    // SAFETY: the pointers live through the call.
    check(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) }).map(drop)
}

/// Nothing mounted from here on is seen by others, and nothing of others by us.
pub(super) fn make_mounts_private() -> io::Result<()> {
    // SAFETY: null is allowed for what a change of propagation does not look at.
    check(unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), libc::MS_REC | libc::MS_PRIVATE, ptr::null()) })
        .map(drop)
}

/// Closes every descriptor from `first` on. Nothing in this process may still rely on one of them.
pub(super) fn close_all_from(first: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved; the caller gives them up.
    close_range(first, 0, |fd| unsafe { libc::close(fd) })
}

/// Lets no descriptor from `first` on survive `exec`.
pub(super) fn close_all_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    close_range(first, libc::CLOSE_RANGE_CLOEXEC, |fd| unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })
}

/// Kernels before 5.11, where danger-full-access works all the same, do not have the call or its flag: one by one.
fn close_range(first: RawFd, flags: u32, close: impl Fn(RawFd) -> i32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    let done = check(unsafe { libc::syscall(libc::SYS_close_range, first as u32, u32::MAX, flags) });
    if done.is_err() {
        let open = fs::read_dir("/proc/self/fd")?.flatten();
        let open: Vec<RawFd> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        for fd in open.into_iter().filter(|fd| *fd >= first) {
            // One of them was that of the listing itself, which is gone.
            close(fd);
        }
    }
    Ok(())
}

pub(super) fn open(path: &CStr, flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: `path` lives through the call.
    owned(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

pub(super) fn open_at(dir: RawFd, path: &CStr, flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: `path` lives through the call.
    owned(unsafe { libc::openat(dir, path.as_ptr(), flags | libc::O_CLOEXEC) })
}

pub(super) fn pidfd_open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

/// A copy of another process's descriptor.
pub(super) fn pidfd_getfd(process: &OwnedFd, fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

pub(super) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) })
}

/// A copy of a descriptor with a number of at least `least`.
pub(super) fn dup_above(fd: RawFd, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least) })
}

/// Makes `target` a copy of `fd` that survives `exec`.
pub(super) fn dup_onto(fd: RawFd, target: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved; the caller owns what `target` was.
    check(unsafe { libc::dup2(fd, target) }).map(drop)
}

/// 0 where the kernel has no Landlock or it is switched off.
pub(crate) fn landlock_abi() -> i64 {
    // SAFETY: this form of the call (version flag) takes no memory.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0, 1) };
    abi.max(0)
}
