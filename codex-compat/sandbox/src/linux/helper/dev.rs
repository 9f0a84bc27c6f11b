//! A `/dev` with the harmless devices only, own terminals and own shared memory; and the terminal pair for the command.
use std::{
    ffi::CStr,
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::symlink,
    },
};

use super::{Named, Step};
use crate::{
    Size,
    linux::{
        channel::FIRST_OWN_FD,
        sys::{self, Detached, NOSUID, RDONLY, check},
    },
};

const DEVICES: [&CStr; 6] = [c"null", c"zero", c"full", c"random", c"urandom", c"tty"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// `devices`: the machine's `/dev`, from before it was covered.
pub(super) fn build(devices: &Detached) -> Step<()> {
    let quiet = libc::MS_NOSUID | libc::MS_NOEXEC;
    sys::mount_new(c"tmpfs", c"/dev", quiet, c"mode=755,size=64k").step("mount /dev")?;
    for name in DEVICES {
        // A container may lack one of them.
        let Ok(device) = devices.copy_of_entry(name) else { continue };
        let path = [b"/dev/", name.to_bytes_with_nul()].concat();
        let path = CStr::from_bytes_with_nul(&path).unwrap_or_default();
        let shown = || path.to_string_lossy().into_owned();
        File::create(shown()).step(shown())?;
        device.set(NOSUID, 0).step(shown())?;
        device.attach(path).step(shown())?;
    }
    for (name, target) in LINKS {
        symlink(target, format!("/dev/{name}")).step(format!("/dev/{name}"))?;
    }
    for name in ["/dev/pts", "/dev/shm"] {
        fs::create_dir(name).step(name)?;
    }
    sys::mount_new(c"devpts", c"/dev/pts", quiet, c"newinstance,ptmxmode=0666,mode=620").step("mount /dev/pts")?;
    let shm = libc::MS_NOSUID | libc::MS_NODEV;
    sys::mount_new(c"tmpfs", c"/dev/shm", shm, c"mode=1777").step("mount /dev/shm")?;
    sys::set_mount(c"/dev", RDONLY | NOSUID).step("read-only /dev")
}

/// A terminal pair. Made inside the jail, where its name means something.
pub(super) struct Terminal {
    pub master: OwnedFd,
    pub slave: OwnedFd,
}

impl Terminal {
    pub(super) fn open(size: Size) -> io::Result<Terminal> {
        let above = |fd: OwnedFd| sys::dup_above(fd.as_raw_fd(), FIRST_OWN_FD);
        let master = above(sys::open(c"/dev/ptmx", libc::O_RDWR | libc::O_NOCTTY)?)?;
        let unlocked = 0i32;
        let mut number = 0u32;
        let window = libc::winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: each ioctl reads or writes the type given, which lives through the call.
        unsafe {
            check(libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &unlocked))?;
            check(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &mut number))?;
            check(libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &window))?;
        }
        let path = format!("/dev/pts/{number}\0");
        let path = CStr::from_bytes_with_nul(path.as_bytes()).unwrap_or_default();
        let slave = above(sys::open(path, libc::O_RDWR | libc::O_NOCTTY)?)?;
        Ok(Terminal { master, slave })
    }
}
