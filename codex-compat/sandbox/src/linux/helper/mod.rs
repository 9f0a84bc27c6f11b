//! The helper: this program, started again under another name. It builds the jail around itself and runs the command.
//!
//! One thread until the command runs, so `fork` is safe here. Processes: the helper (the parent's child), in a process
//! namespace its pid 1 (else the helper plays that part), and the command. The order of steps is that of `run_order`; most of
//! it cannot be changed: mounts before Landlock, Landlock before seccomp, capabilities until the last mount.
mod capabilities;
mod connect;
mod dev;
mod filter;
mod mounts;
mod program;
mod rules;
mod supervise;

use std::{
    convert::Infallible,
    ffi::CStr,
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use self::{connect::Sockets, dev::Terminal, supervise::Supervise};
use super::{
    channel::{self, FIRST_OWN_FD, Report},
    limits,
    order::Order,
    sys::{self, check},
    tree,
};
use crate::{Failure, Rung, Status};

/// The helper's own exit status when a step failed; the report on the channel says which.
const FAILED: i32 = 97;

type Step<T> = Result<T, Failure>;

/// Gives an error the name of the step that failed.
trait Named<T> {
    fn step(self, name: impl Into<String>) -> Step<T>;
}

impl<T> Named<T> for io::Result<T> {
    fn step(self, name: impl Into<String>) -> Step<T> {
        self.map_err(|error| Failure { step: name.into(), errno: error.raw_os_error().unwrap_or(libc::EIO) })
    }
}

pub(super) fn run() -> ! {
    // Descriptors that the caller had open without close-on-exec are none of the command's business.
    let _ = sys::close_all_from(3);
    let control = match sys::dup_above(0, FIRST_OWN_FD) {
        Ok(control) => control,
        // The kernel calls a number above the limit an invalid argument.
        Err(_) => fail(0, Failure { step: "descriptors".to_owned(), errno: libc::EMFILE }),
    };
    let _ = sys::dup_onto(1, 0);
    let (order, fds) = match channel::receive_order(control.as_raw_fd()).step("order") {
        Ok(received) => received,
        Err(failure) => fail(control.as_raw_fd(), failure),
    };
    let done = match Order::decode(&order) {
        Some(order) => run_order(&order, fds, control.as_raw_fd()),
        None => Err(Failure { step: "order".to_owned(), errno: libc::EPROTO }),
    };
    match done {
        Ok(never) => match never {},
        Err(failure) => fail(control.as_raw_fd(), failure),
    }
}

fn fail(control: RawFd, failure: Failure) -> ! {
    let _ = Report::Ended(Status::NotRun(failure)).send(control, &[]);
    exit(FAILED)
}

/// Ends this process without what `std` does at the end, which belongs to the process that we were forked from.
fn exit(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

fn run_order(order: &Order, fds: Vec<OwnedFd>, control: RawFd) -> Step<Infallible> {
    supervise::block_signals();
    if order.own_session {
        new_session();
    }
    let has_mounts = order.rung.is_some_and(Rung::has_mounts);
    // Taken in the network namespace of the host, before we leave it.
    let sockets = if has_mounts { Some(Sockets::of_host(order).step("sock_diag")?) } else { None };
    if has_mounts {
        mounts::enter_namespaces(order)?;
        mounts::build(order)?;
    }
    change_dir(&order.cwd).step(format!("working folder {}", order.cwd.to_string_lossy()))?;
    if has_mounts && !order.network {
        mounts::loopback_up().step("loopback interface")?;
    }
    let terminal = match order.tty {
        Some(size) => Some(Terminal::open(size).step("terminal")?),
        None => None,
    };
    if let Some(terminal) = &terminal {
        Report::Terminal.send(control, &[terminal.master.as_raw_fd()]).step("report")?;
    }
    let slave = terminal.map(|terminal| terminal.slave);
    let command = Command { order, control, fds, slave };
    if !order.rung.is_some_and(Rung::has_pid_ns) {
        // Orphans come to us, so that the whole tree can be found.
        // SAFETY: no memory is involved.
        check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).step("sub-reaper")?;
        return accompany(command, sockets);
    }
    let outside = sys::pidfd_open(std::process::id() as libc::pid_t).step("pidfd")?;
    match fork().step("fork")? {
        0 => {
            die_with(&outside);
            mounts::own_proc()?;
            accompany(command, sockets)
        }
        init => {
            drop((command, sockets));
            Supervise::namespace(control, init).run()
        }
    }
}

/// The rest of the way for the process that accompanies the command: pid 1 of the namespace, or the helper itself.
fn accompany(command: Command, sockets: Option<Sockets>) -> Step<Infallible> {
    let order = command.order;
    if order.rung.is_some() {
        capabilities::drop_all(order).step("capabilities")?;
        capabilities::no_new_privileges().step("no_new_privs")?;
        // The command will have our user id; without this it could read our memory where Landlock is missing. Its own
        // process is as usual again after `exec`.
        // SAFETY: no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    }
    let supervised = match sockets {
        Some(sockets) => Some((sockets.enter().step("sock_diag")?, socket_pair().step("socketpair")?)),
        None => None,
    };
    match fork().step("fork")? {
        0 => {
            let to_supervisor = supervised.map(|(_, (_, theirs))| theirs);
            let control = command.control;
            let Err(failure) = command.run(to_supervisor);
            fail(control, failure)
        }
        child => {
            let control = command.control;
            drop(command);
            let listener = supervised.and_then(|(sockets, (ours, theirs))| {
                drop(theirs);
                // No descriptor: the command's process has failed before it came to that, and has said so.
                let (_, fds) = channel::receive_with_fds(ours.as_raw_fd(), &mut [0], 0).ok()?;
                Some((fds.into_iter().next()?, sockets))
            });
            let in_namespace = order.rung.is_some_and(Rung::has_pid_ns);
            let mark = if in_namespace { None } else { Some(mark_of(order)) };
            Supervise::command(control, child, order, listener, mark).run()
        }
    }
}

/// What becomes the command.
struct Command<'a> {
    order: &'a Order,
    control: RawFd,
    fds: Vec<OwnedFd>,
    slave: Option<OwnedFd>,
}

impl Command<'_> {
    fn run(self, to_supervisor: Option<OwnedFd>) -> Step<Infallible> {
        let order = self.order;
        if order.own_session {
            new_session();
        }
        if let Some(slave) = &self.slave {
            // SAFETY: the ioctl takes a number.
            check(unsafe { libc::ioctl(slave.as_raw_fd(), libc::TIOCSCTTY, 0) }).step("controlling terminal")?;
        }
        if let Some(rung) = order.rung {
            let landlocked = rules::restrict(order, rung, self.slave.as_ref())?;
            if let Some(socket) = to_supervisor {
                let listener = filter::notify_connect().step("seccomp listener")?;
                channel::send_with_fds(socket.as_raw_fd(), &[0], &[listener.as_raw_fd()]).step("seccomp listener")?;
            }
            filter::apply(order, rung, landlocked)?;
        }
        if order.trial {
            exit(0);
        }
        sys::close_all_on_exec_from(3).step("close on exec")?;
        match &self.slave {
            Some(slave) => (0..3).try_for_each(|target| sys::dup_onto(slave.as_raw_fd(), target)),
            None => Ok(()),
        }
        .step("terminal")?;
        for (fd, target) in self.fds.iter().zip(&order.targets) {
            sys::dup_onto(fd.as_raw_fd(), *target).step("descriptors")?;
        }
        limits::restore(order.open_files);
        supervise::unblock_signals();
        program::execute(&order.argv, &order.env)
    }
}

fn mark_of(order: &Order) -> String {
    let value =
        |entry: &std::ffi::CString| Some(entry.to_str().ok()?.strip_prefix(tree::MARK)?.strip_prefix('=')?.to_owned());
    order.env.iter().rev().find_map(value).unwrap_or_default()
}

/// Fails only for who leads a process group already, and has a session then.
fn new_session() {
    // SAFETY: no memory is involved.
    unsafe { libc::setsid() };
}

fn change_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` lives through the call.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    // Above the numbers that the command's descriptors will take.
    Ok((ours.into(), sys::dup_above(theirs.as_raw_fd(), FIRST_OWN_FD)?))
}

/// 0 in the child.
fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: this process has one thread, so the child may do all that we may.
    check(unsafe { libc::fork() }).map(|pid| pid as libc::pid_t)
}

/// This process ends when the one that forked it does, also if it already has.
fn die_with(parent: &OwnedFd) {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    let mut ended = libc::pollfd { fd: parent.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd, which lives through the call.
    if unsafe { libc::poll(&mut ended, 1, 0) } > 0 {
        exit(FAILED);
    }
}
