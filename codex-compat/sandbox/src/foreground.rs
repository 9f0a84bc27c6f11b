//! `interpreter sandbox -- COMMAND`: a command in the caller's place, with its streams, its terminal and its signals.
use std::ffi::OsString;

use crate::{Error, Launch, Session, Spec, Status, Stdin, Stream, network_off_env, spawn};

/// Runs a command with our own streams and environment, passes signals on, and returns its exit code (128 + the signal's
/// number). A command that could not be run is an error with an exit code of its own. Without network the environment says so.
/// For programs with one thread: other threads could get the signals instead.
pub fn run_foreground(spec: &Spec, argv: Vec<OsString>) -> Result<i32, Error> {
    let mut env: Vec<_> = std::env::vars_os().filter(|(name, _)| name != "AI_AGENT").collect();
    env.push(("AI_AGENT".into(), "interpreter".into()));
    if !spec.network {
        let additions = network_off_env(&env);
        env.retain(|(name, _)| !additions.iter().any(|(added, _)| added == name));
        env.extend(additions);
    }
    let mut launch = Launch::new(argv, env, spec.cwd.clone());
    (launch.stdin, launch.stdout, launch.stderr) = (Stdin::Inherit, Stream::Inherit, Stream::Inherit);
    launch.session = Session::Callers;
    crate::raise_open_files();
    match wait(spec, launch)? {
        Status::NotRun(failure) => Err(failure.into()),
        status => Ok(status.code()),
    }
}

#[cfg(not(target_os = "linux"))]
fn wait(spec: &Spec, launch: Launch) -> Result<Status, Error> {
    Ok(spawn(spec, launch)?.wait()?)
}

#[cfg(target_os = "linux")]
fn wait(spec: &Spec, launch: Launch) -> Result<Status, Error> {
    use std::os::fd::AsFd;

    let signals = linux::Signals::take()?;
    let mut child = spawn(spec, launch)?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Some(signal) = signals.wait_beside(child.as_fd())? {
            child.signal(signal)?;
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        io, mem,
        os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        ptr,
    };

    /// What ends or informs a program. Stop and continue from the terminal reach the command and us alike.
    const PASSED: [i32; 8] = [
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGWINCH,
    ];

    pub(super) struct Signals(OwnedFd);

    impl Signals {
        pub(super) fn take() -> io::Result<Signals> {
            // SAFETY: the set lives through the calls; the descriptor is new and ours.
            unsafe {
                let mut set: libc::sigset_t = mem::zeroed();
                libc::sigemptyset(&mut set);
                for signal in PASSED {
                    libc::sigaddset(&mut set, signal);
                }
                libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut());
                match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                    -1 => Err(io::Error::last_os_error()),
                    fd => Ok(Signals(OwnedFd::from_raw_fd(fd))),
                }
            }
        }

        /// Waits for a signal to pass on or for something to read on `other`.
        pub(super) fn wait_beside(&self, other: BorrowedFd) -> io::Result<Option<i32>> {
            let watch = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut ready = [watch(self.0.as_raw_fd()), watch(other.as_raw_fd())];
            // SAFETY: two entries, which live through the call.
            unsafe { libc::poll(ready.as_mut_ptr(), 2, -1) };
            // SAFETY: all-zero is a valid record, and the kernel writes whole ones or nothing.
            let info = unsafe {
                let mut info: libc::signalfd_siginfo = mem::zeroed();
                let size = size_of::<libc::signalfd_siginfo>();
                if libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size) != size as isize {
                    return Ok(None);
                }
                info
            };
            // What the kernel sent to the group of the terminal has reached the command already.
            Ok((info.ssi_code != libc::SI_KERNEL).then_some(info.ssi_signo as i32))
        }
    }
}
