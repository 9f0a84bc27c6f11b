//! A server on loopback that answers each request with the next bytes of a script; the last ones repeat.
use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What a request gets.
#[derive(Clone)]
pub(crate) enum Answer {
    /// These bytes, then the end of the connection.
    Bytes(String),
    /// These bytes, then silence.
    Stall(String),
    /// These bytes, then the others for ever.
    Endless(String, &'static str),
}

pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Server {
    pub(crate) async fn start(script: Vec<Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, script.clone(), seen.clone()));
            }
        });
        Server { port, requests }
    }

    /// The requests so far, head and body, as they came.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

async fn answer(mut stream: TcpStream, script: Vec<Answer>, seen: Arc<Mutex<Vec<Vec<u8>>>>) {
    let mut request = Vec::new();
    while !whole(&request) {
        if stream.read_buf(&mut request).await.expect("a request") == 0 {
            return;
        }
    }
    let at = {
        let mut seen = seen.lock().expect("not poisoned");
        seen.push(request);
        seen.len() - 1
    };
    match script.get(at).or(script.last()).expect("a script") {
        Answer::Bytes(bytes) => stream.write_all(bytes.as_bytes()).await.expect("an open connection"),
        Answer::Endless(bytes, again) => {
            stream.write_all(bytes.as_bytes()).await.expect("an open connection");
            // Until the client goes away.
            while stream.write_all(again.as_bytes()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
        Answer::Stall(bytes) => {
            stream.write_all(bytes.as_bytes()).await.expect("an open connection");
            // Until the client goes away.
            while stream.read_buf(&mut Vec::new()).await.is_ok_and(|n| n > 0) {}
        }
    }
}

fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    length.is_none_or(|length: usize| body.len() >= length)
}

/// A refusal with this status line (`500 Internal Server Error`), further header lines, and a body.
pub(crate) fn refusal(status: &str, headers: &[&str], body: &str) -> Answer {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    Answer::Bytes(format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"))
}

/// The head of a stream that ends with the connection.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

pub(crate) fn stream(events: &str) -> Answer {
    Answer::Bytes(format!("{STREAM}{events}"))
}
