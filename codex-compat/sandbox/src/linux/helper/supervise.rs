//! The loop of the processes that accompany a command: reap, forward signals, answer `connect`, and end everything when
//! the parent is gone.
use std::{
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
    sync::Arc,
};

use super::{connect::Supervisor, exit};
use crate::{
    Status,
    linux::{channel::Report, order::Order, sys::check, tree},
};

/// Signals are taken from a descriptor, so none may interrupt or end us.
pub(super) fn block_signals() {
    // SAFETY: the set lives through both calls.
    unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, ptr::null_mut());
    }
}

/// As a program expects it at its start. `SIGPIPE`: Rust programs ignore it, and that would be inherited.
pub(super) fn unblock_signals() {
    // SAFETY: the set lives through the call.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}

pub(super) struct Supervise {
    control: RawFd,
    child: libc::pid_t,
    /// Reports the child's end. The helper outside of a process namespace leaves that to pid 1.
    reports: bool,
    /// Forwarded signals go to the child's process group.
    to_group: bool,
    linger: bool,
    connects: Option<(OwnedFd, Arc<Supervisor>)>,
    /// Where no process namespace ends the tree: the mark of its processes.
    mark: Option<String>,
    status: Option<Status>,
}

impl Supervise {
    /// Accompanies pid 1 from outside.
    pub(super) fn namespace(control: RawFd, init: libc::pid_t) -> Supervise {
        Supervise {
            control,
            child: init,
            reports: false,
            to_group: false,
            linger: false,
            connects: None,
            mark: None,
            status: None,
        }
    }

    pub(super) fn command(
        control: RawFd,
        child: libc::pid_t,
        order: &Order,
        connects: Option<(OwnedFd, Supervisor)>,
        mark: Option<String>,
    ) -> Supervise {
        Supervise {
            control,
            child,
            reports: true,
            to_group: order.own_session,
            linger: order.linger,
            connects: connects.map(|(listener, supervisor)| (listener, Arc::new(supervisor))),
            mark,
            status: None,
        }
    }

    pub(super) fn run(mut self) -> ! {
        let Ok(signals) = signal_fd() else { exit(super::FAILED) };
        // The child may have ended before anything was watched.
        self.reap();
        loop {
            let listener = self.connects.as_ref().map_or(-1, |(listener, _)| listener.as_raw_fd());
            let watch = |fd, events| libc::pollfd { fd, events, revents: 0 };
            let mut ready = [
                watch(self.control, libc::POLLRDHUP),
                watch(signals.as_raw_fd(), libc::POLLIN),
                watch(listener, libc::POLLIN),
            ];
            // SAFETY: three entries, which live through the call.
            if unsafe { libc::poll(ready.as_mut_ptr(), 3, -1) } < 0 {
                continue;
            }
            if ready[0].revents != 0 {
                self.end_all();
            }
            if ready[1].revents != 0 {
                self.signals(&signals);
            }
            if ready[2].revents & libc::POLLIN != 0 {
                if let Some((listener, supervisor)) = &self.connects {
                    Supervisor::answer_one(supervisor, listener);
                }
            } else if ready[2].revents != 0 {
                // Nobody is left under the filter.
                self.connects = None;
            }
        }
    }

    fn signals(&mut self, signals: &OwnedFd) {
        // SAFETY: all-zero is a valid signalfd_siginfo.
        let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
        loop {
            // SAFETY: the kernel writes whole records of this size or nothing.
            let got =
                unsafe { libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size_of::<libc::signalfd_siginfo>()) };
            if got <= 0 {
                return;
            }
            let signal = info.ssi_signo as i32;
            if signal == libc::SIGCHLD {
                self.reap();
            } else if info.ssi_code != libc::SI_KERNEL && self.status.is_none() {
                // What the kernel sent (^C on a terminal that we share) the command got as well.
                let target = if self.to_group { -self.child } else { self.child };
                // SAFETY: no memory is involved; the child is not reaped yet.
                unsafe { libc::kill(target, signal) };
            }
        }
    }

    fn reap(&mut self) {
        loop {
            let mut status = 0;
            // SAFETY: `status` lives through the call.
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 if self.status.is_some() && !self.linger => self.end_all(),
                0 => return,
                -1 => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    // Nothing is left that could have to be waited for.
                    _ => self.leave(),
                },
                pid if pid == self.child => self.child_ended(status),
                _ => {}
            }
        }
    }

    fn child_ended(&mut self, status: i32) {
        let status = if libc::WIFEXITED(status) {
            Status::Exited(libc::WEXITSTATUS(status))
        } else {
            Status::Signaled(libc::WTERMSIG(status))
        };
        let report = Report::Ended(status);
        if self.reports {
            let _ = report.send(self.control, &[]);
        }
        if let Report::Ended(status) = report {
            self.status = Some(status);
        }
        if self.mark.is_none() && !self.linger {
            // The namespace takes along what is left. Without one, the zombies are reaped first and the rest is looked for.
            self.leave();
        }
    }

    /// The parent is gone or wants an end, or what the command left running is to end with it.
    fn end_all(&mut self) -> ! {
        if let Some(mark) = &self.mark {
            tree::kill(Some(std::process::id() as libc::pid_t), mark);
        } else if !self.reports {
            // SAFETY: no memory is involved. The end of pid 1 is that of its namespace; it is reaped when all are gone.
            unsafe {
                libc::kill(self.child, libc::SIGKILL);
                libc::waitpid(self.child, ptr::null_mut(), 0);
            }
        }
        self.leave()
    }

    fn leave(&mut self) -> ! {
        exit(self.status.as_ref().map_or(128 + libc::SIGKILL, Status::code))
    }
}

fn signal_fd() -> io::Result<OwnedFd> {
    // SAFETY: the set lives through the call; the descriptor is new and ours.
    unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut all);
        let fd = check(libc::signalfd(-1, &all, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}
