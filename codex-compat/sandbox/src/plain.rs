//! Unix systems without a jail of ours (macOS): danger-full-access works, everything else is refused. Not tried on a
//! machine of that kind yet. A process that leaves the command's process group is not found again here.
use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::PathBuf,
    process::{self, Command, Stdio},
    ptr,
    time::{Duration, Instant},
};

use crate::{Error, Failure, Launch, Rung, Session, Size, Spec, Status, Stdin, Stream};

/// A command and its process group. Dropping it ends the group.
#[derive(Debug)]
pub struct Child {
    pub stdin: Option<OwnedFd>,
    /// Both outputs where stderr is merged.
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
    /// The master side of the terminal.
    pub terminal: Option<OwnedFd>,
    child: process::Child,
    own_group: bool,
    status: Option<Status>,
}

/// Starts a command without walls; with any other mode the error says why not.
pub fn spawn(spec: &Spec, launch: Launch) -> Result<Child, Error> {
    if !spec.unconfined() {
        return Err(Error::Refused(Rung::Nothing.message(None, false).unwrap_or_default()));
    }
    let (program, arguments) = launch.argv.split_first().ok_or(Error::NoCommand)?;
    let mut command = Command::new(find(program, &launch));
    command.arg0(program).args(arguments).env_clear().envs(launch.env).current_dir(spec.cwd.join(&launch.cwd));
    let (mut stdin, mut stdout, mut stderr, mut terminal) = (None, None, None, None);
    let mut with_terminal = false;
    if let Some(size) = launch.tty {
        let (master, slave) = open_terminal(size)?;
        command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
        terminal = Some(master);
        with_terminal = true;
    } else {
        match launch.stdin {
            Stdin::Null => command.stdin(Stdio::null()),
            Stdin::Inherit => command.stdin(Stdio::inherit()),
            Stdin::Fd(fd) => command.stdin(fd),
            Stdin::Pipe => {
                let (read, write) = io::pipe()?;
                stdin = Some(write.into());
                command.stdin(read)
            }
        };
        let merged = match launch.stdout {
            Stream::Null | Stream::Merged => None,
            Stream::Inherit => Some(io::stdout().as_fd().try_clone_to_owned()?),
            Stream::Fd(fd) => Some(fd),
            Stream::Pipe => {
                let (read, write) = io::pipe()?;
                stdout = Some(read.into());
                Some(write.into())
            }
        };
        match (&merged, launch.stderr) {
            (Some(out), Stream::Merged) => command.stderr(out.try_clone()?),
            (None, Stream::Merged) | (_, Stream::Null) => command.stderr(Stdio::null()),
            (_, Stream::Inherit) => command.stderr(Stdio::inherit()),
            (_, Stream::Fd(fd)) => command.stderr(fd),
            (_, Stream::Pipe) => {
                let (read, write) = io::pipe()?;
                stderr = Some(read.into());
                command.stderr(write)
            }
        };
        command.stdout(merged.map_or_else(Stdio::null, Stdio::from));
    }
    let extra: Vec<(RawFd, i32)> = launch.extra.iter().map(|(fd, target)| (fd.as_raw_fd(), *target)).collect();
    let own_group = launch.session == Session::Own;
    // SAFETY: between fork and exec only calls that are safe there, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            if own_group {
                libc::setsid();
            }
            if with_terminal {
                libc::ioctl(0, libc::TIOCSCTTY.into(), 0);
            }
            for (fd, target) in &extra {
                if libc::dup2(*fd, *target) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    let child = command.spawn().map_err(|error| Failure {
        step: format!("exec {}", program.to_string_lossy()),
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    })?;
    Ok(Child { stdin, stdout, stderr, terminal, child, own_group, status: None })
}

/// In the command's own `PATH`, not in ours.
fn find(program: &OsStr, launch: &Launch) -> PathBuf {
    let path = launch.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file());
    found.filter(|_| !program.to_string_lossy().contains('/')).unwrap_or_else(|| program.into())
}

fn open_terminal(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let (mut master, mut slave) = (-1, -1);
    let mut window = libc::winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers live through the call; the descriptors are new and ours.
    unsafe {
        if libc::openpty(&mut master, &mut slave, ptr::null_mut(), ptr::null_mut(), &mut window) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
        Ok((OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)))
    }
}

impl Child {
    /// Of the command.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The command's status once it has ended.
    pub fn try_wait(&mut self) -> io::Result<Option<Status>> {
        if self.status.is_none()
            && let Some(exit) = self.child.try_wait()?
        {
            self.status = Some(status(exit));
        }
        Ok(self.status.clone())
    }

    /// Blocks until the command has ended.
    pub fn wait(&mut self) -> io::Result<Status> {
        let exit = self.child.wait()?;
        Ok(self.status.get_or_insert_with(|| status(exit)).clone())
    }

    /// As [`Child::try_wait`]: what the command left running is not known here.
    pub fn try_ended(&mut self) -> io::Result<bool> {
        Ok(self.try_wait()?.is_some())
    }

    /// Blocks until the command has ended, at most for `limit`.
    pub fn wait_ended(&mut self, limit: Duration) -> io::Result<bool> {
        let end = Instant::now() + limit;
        while !self.try_ended()? {
            if Instant::now() >= end {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(true)
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let pid = self.child.id() as libc::pid_t;
        // SAFETY: no memory is involved.
        match unsafe { libc::kill(if self.own_group { -pid } else { pid }, signal) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Ends the command's process group.
    pub fn kill_tree(&mut self) {
        let _ = self.signal(libc::SIGKILL);
    }

    /// There is no weak mode here.
    pub fn restored(&self) -> &[PathBuf] {
        &[]
    }
}

fn status(exit: process::ExitStatus) -> Status {
    match (exit.code(), exit.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signaled(signal.unwrap_or(libc::SIGKILL)),
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill_tree();
        let _ = self.child.wait();
    }
}
