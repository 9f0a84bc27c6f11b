//! The socket between parent and helper. Down goes one order with its descriptors; up come reports. Its end is the
//! lifeline: when the parent's side closes, the helper ends the command.
use std::{
    ffi::c_void,
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use super::sys::check;
use crate::{Failure, Status};

/// As many descriptors as an order can carry.
pub(super) const MAX_FDS: usize = 32;
/// Descriptors with these numbers are for the command; the helper keeps its own above.
pub(super) const FIRST_OWN_FD: RawFd = 64;

/// Sends the order's length, bytes and descriptors. Blocks until the helper has taken all but the last part.
pub(super) fn send_order(socket: &OwnedFd, order: &[u8], fds: &[RawFd]) -> io::Result<()> {
    let head = (order.len() as u32).to_le_bytes();
    send_with_fds(socket.as_raw_fd(), &head, fds)?;
    let mut rest = order;
    while !rest.is_empty() {
        // SAFETY: pointer and length are those of `rest`.
        let sent = check(unsafe {
            libc::send(socket.as_raw_fd(), rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) as i64
        });
        match sent {
            Ok(n) => rest = &rest[n as usize..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The helper's side of [`send_order`]. The descriptors come with numbers from [`FIRST_OWN_FD`] on.
pub(super) fn receive_order(socket: RawFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut head = [0u8; 4];
    let (got, low) = receive_with_fds(socket, &mut head, 0)?;
    if got != head.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut fds = Vec::with_capacity(low.len());
    for fd in low {
        let moved = super::sys::dup_above(fd.as_raw_fd(), FIRST_OWN_FD);
        // The kernel calls a number above the limit an invalid argument.
        fds.push(moved.map_err(|_| io::Error::from_raw_os_error(libc::EMFILE))?);
    }
    let mut order = vec![0; u32::from_le_bytes(head) as usize];
    let mut filled = 0;
    while filled < order.len() {
        let rest = &mut order[filled..];
        // SAFETY: pointer and length are those of `rest`.
        match check(unsafe { libc::recv(socket, rest.as_mut_ptr().cast(), rest.len(), libc::MSG_WAITALL) as i64 })? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => filled += n as usize,
        }
    }
    Ok((order, fds))
}

/// Room for the control message of [`MAX_FDS`] descriptors, aligned as its header wants.
type Control = [u64; 4 + MAX_FDS / 2];

pub(super) fn send_with_fds(socket: RawFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    let mut control: Control = [0; _];
    let size = mem::size_of_val(fds) as u32;
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero is a valid msghdr; every pointer in it outlives the call; `control` has room for the descriptors
    // because callers send at most MAX_FDS.
    unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            message.msg_control = control.as_mut_ptr().cast::<c_void>();
            message.msg_controllen = libc::CMSG_SPACE(size) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size) as _;
            ptr::copy_nonoverlapping(fds.as_ptr().cast(), libc::CMSG_DATA(header), size as usize);
        }
        check(libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL) as i64).map(drop)
    }
}

/// Number of bytes received, 0 at the end, and the descriptors that came with them.
pub(super) fn receive_with_fds(socket: RawFd, bytes: &mut [u8], flags: i32) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control: Control = [0; _];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut fds = Vec::new();
    // SAFETY: all-zero is a valid msghdr; every pointer in it outlives the call; the kernel fills `control` with whole
    // headers, which the CMSG macros walk.
    unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast::<c_void>();
        message.msg_controllen = mem::size_of_val(&control) as _;
        let got = check(libc::recvmsg(socket, &mut message, flags | libc::MSG_CMSG_CLOEXEC) as i64)?;
        let mut header = libc::CMSG_FIRSTHDR(&message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                let count = ((*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                fds.extend((0..count).map(|i| OwnedFd::from_raw_fd(data.add(i).read_unaligned())));
            }
            header = libc::CMSG_NXTHDR(&message, header);
        }
        // There is room for all that is ever sent: some had no number left here.
        if message.msg_flags & libc::MSG_CTRUNC != 0 {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        Ok((got as usize, fds))
    }
}

/// What the helper reports. On the socket: kind, a number, the length of a text, the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The command ended.
    Ended(Status),
    /// The master side of the terminal comes with this report.
    Terminal,
}

const HEAD: usize = 7;

impl Report {
    /// Written with one call, so that reports of several processes never mix.
    pub(super) fn send(&self, socket: RawFd, fds: &[RawFd]) -> io::Result<()> {
        let (kind, number, text) = match self {
            Report::Ended(Status::Exited(code)) => (0, *code, ""),
            Report::Ended(Status::Signaled(signal)) => (1, *signal, ""),
            Report::Ended(Status::NotRun(failure)) => (2, failure.errno, failure.step.as_str()),
            Report::Terminal => (3, 0, ""),
        };
        let text = &text.as_bytes()[..text.len().min(4096)];
        let mut bytes = vec![kind];
        bytes.extend(number.to_le_bytes());
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text);
        send_with_fds(socket, &bytes, fds)
    }

    /// Takes the first whole report off `bytes`. Unknown kinds are skipped.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Option<Report> {
        loop {
            let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
            let number = i32::from_le_bytes([head[1], head[2], head[3], head[4]]);
            let length = u16::from_le_bytes([head[5], head[6]]) as usize;
            let text = rest.get(..length)?;
            let report = match head[0] {
                0 => Some(Report::Ended(Status::Exited(number))),
                1 => Some(Report::Ended(Status::Signaled(number))),
                2 => {
                    let step = String::from_utf8_lossy(text).into_owned();
                    Some(Report::Ended(Status::NotRun(Failure { step, errno: number })))
                }
                3 => Some(Report::Terminal),
                _ => None,
            };
            bytes.drain(..HEAD + length);
            if report.is_some() {
                return report;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn reports_and_their_descriptors_arrive() {
        let (near, far) = UnixStream::pair().unwrap();
        let (near, far) = (OwnedFd::from(near), OwnedFd::from(far));
        let failure = Failure { step: "mount /a ü".to_owned(), errno: 13 };
        let reports = [
            Report::Terminal,
            Report::Ended(Status::Exited(7)),
            Report::Ended(Status::Signaled(9)),
            Report::Ended(Status::NotRun(failure)),
        ];
        for report in &reports {
            let fds = if *report == Report::Terminal { vec![far.as_raw_fd()] } else { Vec::new() };
            report.send(near.as_raw_fd(), &fds).unwrap();
        }
        drop(near);
        let (mut bytes, mut descriptors, mut buffer) = (Vec::new(), 0, [0u8; 3]);
        loop {
            let (got, fds) = receive_with_fds(far.as_raw_fd(), &mut buffer, 0).unwrap();
            descriptors += fds.len();
            if got == 0 {
                break;
            }
            bytes.extend(&buffer[..got]);
        }
        let mut arrived = Vec::new();
        while let Some(report) = Report::take(&mut bytes) {
            arrived.push(report);
        }
        assert_eq!((arrived, descriptors), (reports.into_iter().collect(), 1));
    }
}
