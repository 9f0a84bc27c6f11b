//! A running command, as the parent holds it.
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    process,
    time::{Duration, Instant},
};

use super::{
    channel::{Report, receive_with_fds},
    placeholder::Placeholder,
    sys::check,
    tree,
    weak::Watch,
};
use crate::{Error, Failure, Status};

/// A command and everything that it started. Dropping it ends all of them, as the end of this program does.
///
/// For asynchronous use, watch [`AsFd`] for readability and call [`Child::try_wait`] then; nothing here blocks but the
/// functions that say so, and drop (some milliseconds).
#[derive(Debug)]
pub struct Child {
    pub stdin: Option<OwnedFd>,
    /// Both outputs where stderr is merged.
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
    /// The master side of the terminal.
    pub terminal: Option<OwnedFd>,
    helper: process::Child,
    control: OwnedFd,
    received: Vec<u8>,
    status: Option<Status>,
    ended: bool,
    kept: Guarded,
    restored: Vec<PathBuf>,
}

/// What is to be put in order when the last process is gone.
#[derive(Debug, Default)]
pub(super) struct Guarded {
    pub placeholders: Vec<Placeholder>,
    pub watch: Option<Watch>,
    /// Where no process namespace ends the tree with the helper.
    pub mark: Option<String>,
}

impl Child {
    pub(super) fn new(helper: process::Child, control: OwnedFd, kept: Guarded) -> Child {
        Child {
            stdin: None,
            stdout: None,
            stderr: None,
            terminal: None,
            helper,
            control,
            received: Vec::new(),
            status: None,
            ended: false,
            kept,
            restored: Vec::new(),
        }
    }

    pub(super) fn control(&self) -> &OwnedFd {
        &self.control
    }

    /// Of the helper, which stands for the command: it gets signals for it and ends with it.
    pub fn pid(&self) -> u32 {
        self.helper.id()
    }

    /// The command's status once it has ended, also while others that it started live on (see `Launch::linger`).
    pub fn try_wait(&mut self) -> io::Result<Option<Status>> {
        self.receive()?;
        Ok(self.status.clone())
    }

    /// Blocks until the command has ended.
    pub fn wait(&mut self) -> io::Result<Status> {
        loop {
            match self.try_wait()? {
                Some(status) => return Ok(status),
                None => drop(self.poll(None)?),
            }
        }
    }

    /// True when the command and everything that it started is gone.
    pub fn try_ended(&mut self) -> io::Result<bool> {
        self.receive()?;
        Ok(self.ended)
    }

    /// Blocks until everything is gone, at most for `limit`. False: something still runs.
    pub fn wait_ended(&mut self, limit: Duration) -> io::Result<bool> {
        let end = Instant::now() + limit;
        while !self.try_ended()? {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.poll(Some(left))?;
        }
        Ok(true)
    }

    /// Sends a signal to the command: to its process group where it has a session of its own.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        // SAFETY: no memory is involved; the helper is not reaped yet, so the number is its own.
        check(unsafe { libc::kill(self.helper.id() as libc::pid_t, signal) }).map(drop)
    }

    /// Tells the helper to end the command and everything that it started, also what has left its session. Returns at
    /// once; they are gone when [`Child::try_ended`] says so.
    pub fn kill_tree(&mut self) {
        // SAFETY: no memory is involved. Cannot fail but where the other side is gone already.
        unsafe { libc::shutdown(self.control.as_raw_fd(), libc::SHUT_WR) };
    }

    /// Protected paths that the command had changed and that were put back (weak mode only), after everything ended.
    /// What the command had put there lies beside it with `.refused` in its name.
    pub fn restored(&self) -> &[PathBuf] {
        &self.restored
    }

    /// Blocks until the terminal exists or the jail has failed.
    pub(super) fn wait_for_terminal(&mut self) -> Result<(), Error> {
        loop {
            self.receive()?;
            match &self.status {
                _ if self.terminal.is_some() => return Ok(()),
                Some(Status::NotRun(failure)) => return Err(failure.clone().into()),
                Some(_) => return Err(Failure { step: "terminal".to_owned(), errno: libc::EPIPE }.into()),
                None => drop(self.poll(None)?),
            }
        }
    }

    fn poll(&self, limit: Option<Duration>) -> io::Result<()> {
        let mut wanted = libc::pollfd { fd: self.control.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Rounded up, so that a short rest does not become a busy loop.
        let limit = limit.map_or(-1, |limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX - 1) + 1);
        // SAFETY: one pollfd, which lives through the call.
        match check(unsafe { libc::poll(&mut wanted, 1, limit) }) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes in all that the helper has reported so far.
    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0u8; 4096];
        while !self.ended {
            match receive_with_fds(self.control.as_raw_fd(), &mut buffer, libc::MSG_DONTWAIT) {
                Ok((0, _)) => self.finish()?,
                Ok((got, fds)) => {
                    self.received.extend(&buffer[..got]);
                    self.terminal = fds.into_iter().next().or(self.terminal.take());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The helper died with the order half read.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.finish()?,
                Err(error) => return Err(error),
            }
            while let Some(report) = Report::take(&mut self.received) {
                if let Report::Ended(status) = report {
                    self.status.get_or_insert(status);
                }
            }
        }
        Ok(())
    }

    /// The helper has closed its side: nothing of the command is left, or the helper was killed.
    fn finish(&mut self) -> io::Result<()> {
        self.ended = true;
        let exit = self.helper.wait()?;
        while let Some(report) = Report::take(&mut self.received) {
            if let Report::Ended(status) = report {
                self.status.get_or_insert(status);
            }
        }
        self.status.get_or_insert(Status::Signaled(libc::SIGKILL));
        if let (None, Some(mark)) = (exit.code(), &self.kept.mark) {
            tree::kill(None, mark);
        }
        if let Some(watch) = self.kept.watch.take() {
            self.restored = watch.restore();
        }
        self.kept.placeholders.clear();
        Ok(())
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.kill_tree();
        if !matches!(self.wait_ended(Duration::from_secs(4)), Ok(true)) {
            let _ = self.helper.kill();
            let _ = self.finish();
        }
    }
}
