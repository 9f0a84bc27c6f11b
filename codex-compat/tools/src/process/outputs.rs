//! The ends that a command's output comes out of: one pipe for both streams, a pipe for each, or a terminal.
use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsRawFd, OwnedFd},
};

use sandbox::Child;
use tokio::io::{Interest, unix::AsyncFd};

use super::capture::Stream;

/// Reads of one stream in a row before others get their turn.
const BURST: u32 = 16;

#[derive(Default)]
pub(super) struct Outputs {
    /// By [`Stream`]. None: it has ended, or there never was one.
    fds: [Option<AsyncFd<File>>; 2],
    tty: bool,
    /// Nobody has the terminal open. Its last user may still run (`cat` closes everything before it exits), and closing our
    /// end would hang up on it; so it stays open to the end, and is looked at now and then only.
    hung: bool,
    /// stderr has a pipe of its own.
    pub(super) apart: bool,
}

impl Outputs {
    pub(super) fn new(child: &mut Child) -> io::Result<Outputs> {
        let mut outputs =
            Outputs { tty: child.terminal.is_some(), apart: child.stderr.is_some(), ..Outputs::default() };
        if let Some(terminal) = child.terminal.take() {
            outputs.fds[0] = Some(open(terminal, Interest::READABLE | Interest::WRITABLE)?);
        } else {
            for (place, pipe) in outputs.fds.iter_mut().zip([child.stdout.take(), child.stderr.take()]) {
                *place = pipe.map(|pipe| open(pipe, Interest::READABLE)).transpose()?;
            }
        }
        Ok(outputs)
    }

    /// Nothing more is to be waited for.
    pub(super) fn done(&self) -> bool {
        self.hung || self.fds.iter().all(Option::is_none)
    }

    pub(super) fn hung(&self) -> bool {
        self.hung
    }

    /// Waits until there is something, reads it and writes what waits, a limited number of times. Of two streams stdout is read
    /// first. Cancel safe: bytes are handed on before anything is waited for.
    pub(super) async fn exchange(
        &mut self,
        buffer: &mut [u8],
        input: &mut Vec<u8>,
        mut take: impl FnMut(Stream, &[u8]),
    ) {
        if self.done() {
            return std::future::pending().await;
        }
        let interest = if input.is_empty() { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
        let [out, err] = &mut self.fds;
        let broken = tokio::select! {
            biased;
            ready = ready(out, interest) => ready.is_err().then_some(Stream::Out),
            ready = ready(err, Interest::READABLE) => ready.is_err().then_some(Stream::Err),
        };
        if let Some(stream) = broken {
            return self.close(stream);
        }
        if let Some(fd) = out {
            write(fd, input);
        }
        let mut more = false;
        for stream in Stream::BOTH {
            match self.read(stream, buffer, &mut take) {
                Left::More => more = true,
                Left::Nothing => {}
                Left::End => self.close(stream),
            }
        }
        if more {
            // Others first.
            tokio::task::yield_now().await;
        }
    }

    fn close(&mut self, stream: Stream) {
        if self.tty {
            self.hung = true;
        } else {
            self.fds[stream as usize] = None;
        }
    }

    fn read(&mut self, stream: Stream, buffer: &mut [u8], take: &mut impl FnMut(Stream, &[u8])) -> Left {
        let Some(fd) = &mut self.fds[stream as usize] else { return Left::Nothing };
        for _ in 0..BURST {
            match fd.try_io_mut(Interest::READABLE, |file| file.read(buffer)) {
                Ok(0) => return Left::End,
                Ok(read) => take(stream, &buffer[..read]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Left::Nothing,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose last user has closed it.
                Err(_) => return Left::End,
            }
        }
        Left::More
    }

    /// What is there now, and not what a process in the background adds meanwhile.
    pub(super) fn drain(&mut self, buffer: &mut [u8], mut take: impl FnMut(Stream, &[u8])) {
        for stream in Stream::BOTH {
            let Some(fd) = &mut self.fds[stream as usize] else { continue };
            for _ in 0..BURST {
                match fd.get_mut().read(buffer) {
                    Ok(read) if read > 0 => take(stream, &buffer[..read]),
                    _ => break,
                }
            }
        }
    }
}

enum Left {
    More,
    Nothing,
    End,
}

fn open(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<File>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    watched(File::from(fd), interest)
}

pub(super) fn watched<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>>
where
    OwnedFd: From<T>,
{
    // SAFETY: `owner` owns its descriptor and keeps the same one open until it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(owner, interest) }?)
}

async fn ready(fd: &Option<AsyncFd<File>>, interest: Interest) -> io::Result<()> {
    match fd {
        Some(fd) => fd.ready(interest).await.map(drop),
        None => std::future::pending().await,
    }
}

/// As much of the input as the terminal takes.
fn write(fd: &mut AsyncFd<File>, input: &mut Vec<u8>) {
    if input.is_empty() {
        return;
    }
    match fd.try_io_mut(Interest::WRITABLE, |file| file.write(input)) {
        Ok(written) => drop(input.drain(..written)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
        Err(_) => input.clear(),
    }
}
