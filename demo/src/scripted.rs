//! A scripted model on loopback: answers on all three wires, in their own encoding, and keeps what it was asked.
//!
//! The demo and the end-to-end tests share it. A step is a reply to be encoded, or raw bytes, so that every fault of a real
//! server can be played. Threads and blocking sockets: it must not depend on the machinery that it tests.
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use protocol::{Block, BlockKind, Call, CallForm, CallId, Phase, Reply, ReplyId, Source, Stop, Usage, WireId};
use wires::Asked;

/// What the model does when it is asked.
#[derive(Debug, Clone)]
pub enum Step {
    Reply(Turn),
    /// Status, headers, body pieces as they stand. Each piece is flushed by itself.
    Raw {
        status: u16,
        headers: Vec<(String, String)>,
        pieces: Vec<Vec<u8>>,
        end: End,
    },
    /// As [`Step::stream`], with silence after the headers and before each further piece.
    Slowly {
        first: Duration,
        each: Duration,
        pieces: Vec<Vec<u8>>,
        end: End,
    },
}

/// How a raw answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As HTTP has it.
    Clean,
    /// The connection breaks in mid-body.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Stall,
}

/// A reply in plain terms.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub reasoning: String,
    pub text: String,
    pub calls: Vec<Call>,
    pub usage: Usage,
}

impl Turn {
    pub fn text(text: impl Into<String>) -> Turn {
        Turn { text: text.into(), usage: Usage { input: 100, output: 10, ..Usage::default() }, ..Turn::default() }
    }
    /// A function call; `args` is its JSON.
    pub fn call(name: &str, args: &serde_json::Value) -> Turn {
        Turn::default().and_call(name, args)
    }
    pub fn and_call(mut self, name: &str, args: &serde_json::Value) -> Turn {
        let (id, name) = (CallId(String::new()), name.to_owned());
        self.calls.push(Call { id, namespace: None, name, args: args.to_string(), form: CallForm::Function });
        self.usage = Usage { input: 100, output: 10, ..Usage::default() };
        self
    }
    /// A call of a free-form tool.
    pub fn custom(name: &str, input: &str) -> Turn {
        let mut turn = Turn::default().and_call(name, &serde_json::Value::Null);
        if let Some(call) = turn.calls.last_mut() {
            call.args = input.to_owned();
            call.form = CallForm::Custom;
        }
        turn
    }
    pub fn saying(mut self, text: impl Into<String>) -> Turn {
        self.text = text.into();
        self
    }
    pub fn thinking(mut self, reasoning: impl Into<String>) -> Turn {
        self.reasoning = reasoning.into();
        self
    }
    pub fn using(mut self, input: u64, output: u64) -> Turn {
        self.usage = Usage { input, output, ..Usage::default() };
        self
    }
}

impl From<Turn> for Step {
    fn from(turn: Turn) -> Step {
        Step::Reply(turn)
    }
}

impl Step {
    /// A refusal with a JSON body.
    pub fn refuse(status: u16, body: &serde_json::Value) -> Step {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Step::Raw { status, headers, pieces: vec![body.to_string().into_bytes()], end: End::Clean }
    }
    /// A stream of bytes with status 200, each piece flushed by itself.
    pub fn stream(pieces: Vec<Vec<u8>>, end: End) -> Step {
        Step::Raw { status: 200, headers: event_stream(), pieces, end }
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub method: String,
    pub path: String,
    /// Names in lower case, values as raw bytes.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub wire: WireId,
}

impl Recorded {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
    pub fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.headers.iter().find(|(n, _)| n == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

type Script = Box<dyn FnMut(usize, &Recorded, Option<&Asked>) -> Step + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Recorded>>,
    arrived: Condvar,
    /// Clients that went away from a stalled answer.
    gone: Mutex<usize>,
    left: Condvar,
    over: AtomicBool,
}

/// Runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Answers request `n` (from 0) with what `script` says. The second argument is the request, where it could be read.
    pub fn start(mut script: impl FnMut(usize, Option<&Asked>) -> Step + Send + 'static) -> io::Result<Server> {
        Server::run(Box::new(move |n, _, asked| script(n, asked)))
    }

    /// As [`Server::start`], for a script that reads the request as it came.
    pub fn answering(mut script: impl FnMut(usize, &Recorded) -> Step + Send + 'static) -> io::Result<Server> {
        Server::run(Box::new(move |n, request, _| script(n, request)))
    }

    fn run(script: Script) -> io::Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            arrived: Condvar::new(),
            gone: Mutex::default(),
            left: Condvar::new(),
            over: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        thread::Builder::new().name("scripted-model".into()).spawn(move || {
            for stream in listener.incoming() {
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = accepting.clone();
                // A connection that breaks is the test's or the user's business.
                let _ = thread::Builder::new().name("scripted-reply".into()).spawn(move || shared.serve(stream));
            }
        })?;
        Ok(Server { address, shared })
    }

    /// Takes the steps in order; past the last one the model says "done".
    pub fn steps(steps: Vec<Step>) -> io::Result<Server> {
        let mut steps = steps.into_iter();
        Server::start(move |_, _| steps.next().unwrap_or_else(|| Turn::text("done").into()))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// `http://127.0.0.1:PORT/v1`; right for every wire.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }
    /// Waits until `n` requests have arrived; false after `patience`.
    pub fn wait_for(&self, n: usize, patience: Duration) -> bool {
        let requests = lock(&self.shared.requests);
        let waited = self.shared.arrived.wait_timeout_while(requests, patience, |r| r.len() < n);
        waited.map(|(r, _)| r.len() >= n).unwrap_or(false)
    }
    /// Waits until `n` clients have gone away from answers that stall; false after `patience`.
    pub fn gone(&self, n: usize, patience: Duration) -> bool {
        let gone = lock(&self.shared.gone);
        let waited = self.shared.left.wait_timeout_while(gone, patience, |gone| *gone < n);
        waited.map(|(gone, _)| *gone >= n).unwrap_or(false)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(200));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        while let Some(request) = read_request(&mut reader)? {
            let asked = wires::wire(request.wire).parse_request(&request.body).ok();
            let wire = request.wire;
            let n = {
                let mut requests = lock(&self.requests);
                requests.push(request.clone());
                requests.len() - 1
            };
            self.arrived.notify_all();
            if request.method == "HEAD" {
                stream.write_all(b"HTTP/1.1 200 Scripted\r\ncontent-length: 0\r\n\r\n")?;
                continue;
            }
            let step = (lock(&self.script))(n, &request, asked.as_ref());
            let model = asked.map(|a| a.model).unwrap_or_default();
            let (status, headers, pieces, end, waits) = match step {
                Step::Reply(turn) => {
                    (200, event_stream(), vec![encode(wire, n, &model, &turn)], End::Clean, [Duration::ZERO; 2])
                }
                Step::Raw { status, headers, pieces, end } => (status, headers, pieces, end, [Duration::ZERO; 2]),
                Step::Slowly { first, each, pieces, end } => (200, event_stream(), pieces, end, [first, each]),
            };
            head(&mut stream, status, &headers)?;
            let [first, each] = waits;
            thread::sleep(first);
            for (at, piece) in pieces.iter().filter(|piece| !piece.is_empty()).enumerate() {
                if at > 0 {
                    thread::sleep(each);
                }
                chunk(&mut stream, piece)?;
            }
            match end {
                End::Clean => stream.write_all(b"0\r\n\r\n")?,
                End::Cut => return stream.shutdown(std::net::Shutdown::Both),
                End::Stall => {
                    // Until the client goes away.
                    let _ = reader.read(&mut [0]);
                    *lock(&self.gone) += 1;
                    self.left.notify_all();
                    return Ok(());
                }
            }
            stream.flush()?;
        }
        Ok(())
    }
}

/// None: the client has closed the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Recorded>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let first = String::from_utf8_lossy(&line).into_owned();
    let method = first.split(' ').next().unwrap_or_default().to_owned();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_ascii_end();
        if text.is_empty() {
            break;
        }
        let Some(colon) = text.iter().position(|b| *b == b':') else { continue };
        let name = String::from_utf8_lossy(&text[..colon]).to_lowercase();
        let value = text[colon + 1..].trim_ascii().to_vec();
        if name == "content-length" {
            length = String::from_utf8_lossy(&value).parse().unwrap_or(0);
        }
        headers.push((name, value));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let wire = match path.split('?').next().unwrap_or_default() {
        p if p.ends_with("/chat/completions") => WireId::Chat,
        p if p.ends_with("/messages") => WireId::Messages,
        _ => WireId::Responses,
    };
    Ok(Some(Recorded { method, path, headers, body, wire }))
}

/// The reply as the wire's server sends it.
pub fn encode(wire: WireId, n: usize, model: &str, turn: &Turn) -> Vec<u8> {
    let mut blocks = Vec::new();
    let block = |kind| Block { kind, opaque: Vec::new() };
    if !turn.reasoning.is_empty() {
        blocks.push(block(BlockKind::Reasoning(turn.reasoning.clone())));
    }
    if !turn.text.is_empty() {
        blocks.push(block(BlockKind::Text(turn.text.clone(), Phase::Final)));
    }
    for (k, call) in turn.calls.iter().enumerate() {
        let mut call = call.clone();
        if call.id.0.is_empty() {
            call.id = CallId(format!("call_{n}_{k}"));
        }
        blocks.push(block(BlockKind::Call(call)));
    }
    let stop = if turn.calls.is_empty() { Stop::End } else { Stop::Calls };
    let from = Source { provider: "scripted".into(), wire, model: model.to_owned() };
    let reply = Reply { id: ReplyId(format!("resp_{n}")), from, blocks, stop, usage: turn.usage };
    let mut encoder = wires::wire(wire).encoder(model);
    let mut bytes = Vec::new();
    for delta in wires::deltas_of(&reply) {
        encoder.push(&delta, &mut bytes);
    }
    bytes
}

fn event_stream() -> Vec<(String, String)> {
    vec![("content-type".to_owned(), "text/event-stream".to_owned())]
}

fn head(stream: &mut TcpStream, status: u16, headers: &[(String, String)]) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ntransfer-encoding: chunked\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())
}

fn chunk(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    stream.write_all(&bytes)?;
    stream.flush()
}
