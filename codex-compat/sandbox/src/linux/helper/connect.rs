//! Answering `connect` for the command: to its own servers yes, to socket files of other programs no.
//!
//! A read-only mount does not stop `connect`, and behind socket files sit programs that do anything (docker, agents, editors).
//! The supervisor never lets the call go on, since its address lies in memory that can change: it takes a copy of the socket,
//! resolves the path itself, and connects to exactly the file that it looked at.
use std::{
    ffi::CString,
    fs, io, mem,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    sync::{Arc, Mutex},
};

use crate::{
    Rung,
    linux::{
        order::Order,
        sys::{self, check},
    },
};

/// The longest address that `connect` takes.
const MAX_ADDRESS: usize = 128;
/// Where the path begins in an address of a socket file.
const PATH: usize = 2;

/// The machine's sockets, before the network namespace is entered.
pub(super) struct Sockets {
    outside: Outside,
}

enum Outside {
    /// The namespace has its own sockets; this asks for the machine's.
    Elsewhere(Diag),
    /// The network is shared: a socket is ours if a process of our process namespace holds it.
    SharedWithProcesses,
    /// The network and the processes are shared: none can be told apart.
    Shared,
}

impl Sockets {
    pub(super) fn of_host(order: &Order) -> io::Result<Sockets> {
        let outside = match (order.network, order.rung.is_some_and(Rung::has_pid_ns)) {
            (false, _) => Outside::Elsewhere(Diag::open()?),
            (true, true) => Outside::SharedWithProcesses,
            (true, false) => Outside::Shared,
        };
        Ok(Sockets { outside })
    }

    /// In the network namespace of the command.
    pub(super) fn enter(self) -> io::Result<Supervisor> {
        Ok(Supervisor { here: Diag::open()?, outside: self.outside })
    }
}

pub(super) struct Supervisor {
    here: Diag,
    outside: Outside,
}

/// A call that waits.
struct Call {
    id: u64,
    thread: u32,
    fd: i32,
    address: u64,
    length: usize,
}

impl Supervisor {
    /// Takes one waiting call and answers it in a thread of its own, since connecting can block.
    pub(super) fn answer_one(supervisor: &Arc<Supervisor>, listener: &OwnedFd) {
        // SAFETY: all-zero is a valid seccomp_notif, and the kernel wants it so.
        let mut notification: libc::seccomp_notif = unsafe { mem::zeroed() };
        // SAFETY: the ioctl writes this type.
        if unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_RECV, &mut notification) } < 0 {
            return;
        }
        let data = notification.data;
        let call = Call {
            id: notification.id,
            thread: notification.pid,
            fd: data.args[0] as i32,
            address: data.args[1],
            length: data.args[2] as u32 as usize,
        };
        let id = call.id;
        let Ok(listener) = listener.try_clone() else { return };
        let worker = {
            let (supervisor, listener) = (supervisor.clone(), listener.try_clone());
            std::thread::Builder::new().stack_size(128 << 10).spawn(move || {
                let Ok(listener) = listener else { return };
                let result = supervisor.connect(&call, &listener);
                respond(&listener, call.id, result);
            })
        };
        if worker.is_err() {
            respond(&listener, id, Err(io::Error::from_raw_os_error(libc::ENOMEM)));
        }
    }

    fn connect(&self, call: &Call, listener: &OwnedFd) -> io::Result<()> {
        if call.length > MAX_ADDRESS {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let socket = socket_of(call)?;
        let mut address = [0u8; MAX_ADDRESS];
        read_memory(call.thread, call.address, &mut address[..call.length])?;
        // The thread may be gone and its number taken by another: then what was read is another's.
        // SAFETY: the ioctl reads this number.
        check(unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_ID_VALID, &call.id) })?;
        let address = &address[..call.length];
        let family = address.first_chunk().map_or(libc::AF_UNSPEC, |bytes| i32::from(u16::from_ne_bytes(*bytes)));
        match address.get(PATH..) {
            Some([0, name @ ..]) if family == libc::AF_UNIX => {
                self.permit_name(name)?;
                connect_to(&socket, address)
            }
            Some(path @ [_, ..]) if family == libc::AF_UNIX => self.connect_to_path(&socket, call.thread, path),
            _ => connect_to(&socket, address),
        }
    }

    fn connect_to_path(&self, socket: &OwnedFd, thread: u32, path: &[u8]) -> io::Result<()> {
        let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
        let cwd = sys::open(&c_string(format!("/proc/{thread}/cwd"))?, libc::O_PATH)?;
        // To us "self" would be ourselves.
        let path = match path.strip_prefix(b"/proc/self/") {
            Some(rest) => [format!("/proc/{thread}/").as_bytes(), rest].concat(),
            None => path.to_vec(),
        };
        let file = sys::open_at(cwd.as_raw_fd(), &c_string(path)?, libc::O_PATH)?;
        // SAFETY: all-zero is a valid stat, and the call fills it.
        let stat = unsafe {
            let mut stat: libc::stat = mem::zeroed();
            check(libc::fstat(file.as_raw_fd(), &mut stat))?;
            stat
        };
        let file_id =
            FileId { device: (libc::major(stat.st_dev) << 20) | libc::minor(stat.st_dev), inode: stat.st_ino as u32 };
        let is_it = |listening: &Listening| listening.file == Some(file_id);
        if stat.st_mode & libc::S_IFMT != libc::S_IFSOCK {
            return Err(refused());
        }
        self.permit(is_it)?;
        // The file looked at, whatever the path leads to by now.
        let through = format!("/proc/self/fd/{}", file.as_raw_fd());
        let address = [&(libc::AF_UNIX as u16).to_ne_bytes(), through.as_bytes(), &[0]].concat();
        connect_to(socket, &address)
    }

    /// An abstract name. In a network namespace of our own there are only our own.
    fn permit_name(&self, name: &[u8]) -> io::Result<()> {
        match self.outside {
            Outside::Elsewhere(_) => Ok(()),
            _ => self.permit(|listening| matches!(&*listening.name, [0, rest @ ..] if rest == name)),
        }
    }

    /// A server of the command's own: fine. Nobody's (a file left behind): refused as the kernel does, so that programs
    /// replace it. Another's: not permitted.
    fn permit(&self, is_it: impl Fn(&Listening) -> bool) -> io::Result<()> {
        let here: Vec<Listening> = self.here.listening()?.into_iter().filter(&is_it).collect();
        match &self.outside {
            Outside::Elsewhere(_) if !here.is_empty() => Ok(()),
            Outside::Elsewhere(host) if host.listening()?.iter().any(&is_it) => Err(denied()),
            _ if here.is_empty() => Err(refused()),
            Outside::SharedWithProcesses if here.iter().any(|listening| is_held_here(listening.socket)) => Ok(()),
            _ => Err(denied()),
        }
    }
}

fn denied() -> io::Error {
    io::Error::from_raw_os_error(libc::EPERM)
}

fn refused() -> io::Error {
    io::Error::from_raw_os_error(libc::ECONNREFUSED)
}

fn c_string(text: impl Into<Vec<u8>>) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// A copy of the socket that the waiting thread named.
fn socket_of(call: &Call) -> io::Result<OwnedFd> {
    let status = fs::read_to_string(format!("/proc/{}/status", call.thread))?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    // Descriptors of processes that only share a part with their group are not looked for.
    sys::pidfd_getfd(&sys::pidfd_open(process.unwrap_or(call.thread as libc::pid_t))?, call.fd)
}

fn read_memory(thread: u32, address: u64, into: &mut [u8]) -> io::Result<()> {
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: `here` is our own buffer; `there` is only looked up in the other process.
    let got = check(unsafe { libc::process_vm_readv(thread as libc::pid_t, &here, 1, &there, 1, 0) as i64 })?;
    if got as usize == into.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EFAULT)) }
}

fn connect_to(socket: &OwnedFd, address: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of `address`.
    let result = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), address.len() as u32) };
    check(result).map(drop)
}

fn respond(listener: &OwnedFd, id: u64, result: io::Result<()>) {
    let error = result.err().map_or(0, |error| -error.raw_os_error().unwrap_or(libc::EPERM));
    let answer = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
    // SAFETY: the ioctl reads this type. It fails where the caller is gone, and then nobody waits.
    unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SEND, &answer) };
}

/// `_IOWR('!', n, T)` and `_IOW('!', n, T)` of linux/seccomp.h.
const fn request(direction: u32, number: u32, size: usize) -> libc::Ioctl {
    ((direction << 30) | ((size as u32) << 16) | (0x21 << 8) | number) as libc::Ioctl
}
const NOTIF_RECV: libc::Ioctl = request(3, 0, size_of::<libc::seccomp_notif>());
const NOTIF_SEND: libc::Ioctl = request(3, 1, size_of::<libc::seccomp_notif_resp>());
const NOTIF_ID_VALID: libc::Ioctl = request(1, 2, size_of::<u64>());

/// Does a process of this process namespace hold the socket? One that hides its descriptors counts as another's.
fn is_held_here(socket: u32) -> bool {
    let held = format!("socket:[{socket}]");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let fds = processes.flat_map(|process| fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten());
    fds.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|target| target.as_os_str().as_bytes() == held.as_bytes())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    /// As the kernel counts inside: major << 20 | minor.
    device: u32,
    inode: u32,
}

/// A local socket that takes connections.
#[derive(Debug, PartialEq, Eq)]
struct Listening {
    socket: u32,
    file: Option<FileId>,
    /// As in an address: abstract names begin with a zero byte.
    name: Vec<u8>,
}

/// Asks the kernel for the local sockets of one network namespace (`sock_diag`).
struct Diag(Mutex<OwnedFd>);

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SHOW_NAME_AND_FILE: u32 = 1 | 2;
const ATTRIBUTE_NAME: u16 = 0;
const ATTRIBUTE_FILE: u16 = 1;
/// TCP's name for the state, which local sockets use too.
const LISTEN: u32 = 10;

impl Diag {
    fn open() -> io::Result<Diag> {
        const NETLINK_SOCK_DIAG: i32 = 4;
        sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, NETLINK_SOCK_DIAG).map(|socket| Diag(Mutex::new(socket)))
    }

    fn listening(&self) -> io::Result<Vec<Listening>> {
        // A thread that panicked in here has at worst left an answer unread; better no answer than another's.
        let socket = self.0.lock().map_err(|_| denied())?;
        let mut query = Vec::with_capacity(40);
        query.extend(40u32.to_ne_bytes());
        query.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        query.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
        query.extend([0; 8]);
        query.extend([libc::AF_UNIX as u8, 0, 0, 0]);
        query.extend((1u32 << LISTEN).to_ne_bytes());
        query.extend(0u32.to_ne_bytes());
        query.extend(SHOW_NAME_AND_FILE.to_ne_bytes());
        query.extend([0xff; 8]);
        // SAFETY: pointer and length are those of `query`.
        check(unsafe { libc::send(socket.as_raw_fd(), query.as_ptr().cast(), query.len(), 0) as i64 })?;
        let mut found = Vec::new();
        let mut buffer = vec![0u8; 32 << 10];
        loop {
            // SAFETY: pointer and length are those of `buffer`.
            let got =
                check(unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) as i64 })?;
            if parse(&buffer[..got as usize], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// True at the end of the answer.
fn parse(mut messages: &[u8], found: &mut Vec<Listening>) -> io::Result<bool> {
    while let Some((length, kind)) = u32_at(messages, 0).zip(u16_at(messages, 4)) {
        let broken = || io::Error::from_raw_os_error(libc::EPROTO);
        let length = length as usize;
        let message = messages.get(16..length).ok_or_else(broken)?;
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => return Err(denied()),
            _ => {}
        }
        let mut listening = Listening { socket: u32_at(message, 4).ok_or_else(broken)?, file: None, name: Vec::new() };
        let mut attributes = message.get(16..).unwrap_or_default();
        while let Some((size, attribute)) = u16_at(attributes, 0).zip(u16_at(attributes, 2)) {
            let value = attributes.get(4..size.into()).ok_or_else(broken)?;
            match attribute {
                ATTRIBUTE_NAME => listening.name = value.to_vec(),
                ATTRIBUTE_FILE => {
                    let ids = u32_at(value, 0).zip(u32_at(value, 4));
                    listening.file = ids.map(|(inode, device)| FileId { device, inode });
                }
                _ => {}
            }
            attributes = attributes.get(usize::from(size).next_multiple_of(4)..).unwrap_or_default();
        }
        found.push(listening);
        messages = messages.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::os::{
        linux::{fs::MetadataExt, net::SocketAddrExt},
        unix::net::{SocketAddr, UnixListener},
    };

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_kernel_names_listening_sockets_by_file_and_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _by_file = UnixListener::bind(&path).unwrap();
        let name = format!("interpreter-test-{}", std::process::id());
        let _by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();

        let found = Diag::open().unwrap().listening().unwrap();
        let meta = fs::metadata(&path).unwrap();
        let device = (libc::major(meta.st_dev()) << 20) | libc::minor(meta.st_dev());
        let file = Some(FileId { device, inode: meta.st_ino() as u32 });
        assert_eq!(found.iter().filter(|listening| listening.file == file).count(), 1);
        let abstract_name = [&[0], name.as_bytes()].concat();
        let by_name: Vec<_> = found.iter().filter(|listening| listening.name == abstract_name).collect();
        assert_eq!(by_name.len(), 1);
        assert_eq!(is_held_here(by_name[0].socket), true);
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_read_without_harm(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let _ = parse(&bytes, &mut Vec::new());
        }
    }
}
