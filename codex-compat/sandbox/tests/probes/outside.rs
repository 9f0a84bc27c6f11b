//! What a command should not reach: a process, servers on sockets of all kinds.
use std::{
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    path::Path,
    process::{Child, Command},
};

use crate::stage::Stage;

pub(crate) struct Outside {
    process: Child,
    tcp: TcpListener,
    tcp6: Option<TcpListener>,
    file: UnixListener,
    named: UnixListener,
    datagrams: UnixDatagram,
    udp: UdpSocket,
}

impl Outside {
    /// Begins to listen, and tells the stage's commands where: `P`, `S`, `S6`, `U`, `$O/socket`, `$O/datagrams`, `@$TAG`.
    pub(crate) fn around(stage: &mut Stage) -> Outside {
        let process = Command::new("sleep").arg("1000").env("SECRET", "secret").spawn().unwrap();
        let tag = stage.base.path().file_name().unwrap().to_owned();
        let outside = Outside {
            process,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            tcp6: TcpListener::bind("[::1]:0").ok(),
            file: UnixListener::bind(stage.path("O/socket")).unwrap(),
            named: UnixListener::bind_addr(&SocketAddr::from_abstract_name(tag.as_encoded_bytes()).unwrap()).unwrap(),
            datagrams: UnixDatagram::bind(stage.path("O/datagrams")).unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
        };
        let mut set = |name: &str, value: String| stage.set(name, Path::new(&value));
        set("P", outside.process.id().to_string());
        set("S", outside.tcp.local_addr().unwrap().port().to_string());
        set("S6", outside.tcp6.as_ref().map_or(0, |tcp| tcp.local_addr().unwrap().port()).to_string());
        set("U", outside.udp.local_addr().unwrap().port().to_string());
        outside.tcp.set_nonblocking(true).unwrap();
        outside.tcp6.iter().for_each(|tcp| tcp.set_nonblocking(true).unwrap());
        outside.file.set_nonblocking(true).unwrap();
        outside.named.set_nonblocking(true).unwrap();
        outside.datagrams.set_nonblocking(true).unwrap();
        outside.udp.set_nonblocking(true).unwrap();
        outside
    }

    /// Has anything arrived?
    pub(crate) fn was_reached(&self) -> bool {
        let mut byte = [0];
        self.tcp.accept().is_ok()
            || self.tcp6.as_ref().is_some_and(|tcp| tcp.accept().is_ok())
            || self.file.accept().is_ok()
            || self.named.accept().is_ok()
            || self.datagrams.recv(&mut byte).is_ok()
            || self.udp.recv(&mut byte).is_ok()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
