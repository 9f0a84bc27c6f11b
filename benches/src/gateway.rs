//! The gateway with 200 streams at once, 1,000 deltas each, chat behind it and Messages before it: nothing may be lost. The same
//! streams straight from the scripted server say what the way through it adds.
use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use demo::scripted::{End, Server, Step};
use protocol::{BlockKind, Delta, Phase, Stop, WireId};

use crate::{Bench, program::Place, rows::ms, table::Row};

const STREAMS: usize = 200;
const DELTAS: usize = 1_000;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    match measured(bench) {
        Ok(rows) => rows,
        Err(why) => vec![Row::new("gateway", "ms", Err(why.to_string()))],
    }
}

fn measured(bench: &Bench) -> io::Result<Vec<Row>> {
    let pieces: Vec<Vec<u8>> = reply().chunks(16 * 1024).map(<[u8]>::to_vec).collect();
    let server = Server::start(move |_, _| Step::stream(pieces.clone(), End::Clean))?;
    let mut gateway = Gateway::start(bench, &server)?;
    let (direct, _) = streams(&server.address().to_string(), "/v1/chat/completions", "\"delta\":{\"content\":\"word")?;
    let idle = gateway.cpu()?;
    let (through, came) = streams(&gateway.address, "/v1/messages", "\"type\":\"text_delta\"")?;
    let cpu = gateway.cpu()? - idle;
    let peak = gateway.peak_mib()?;
    gateway.child.kill()?;
    let all = (STREAMS * DELTAS) as f64;
    Ok(vec![
        Row::new("gateway, 200 streams of 1,000 deltas, lost", "deltas", Ok(all - came as f64)).at_most(0.0),
        Row::new("gateway, the same, wall", "ms", Ok(ms(through))),
        Row::new("gateway, the same, added per delta", "µs", Ok((ms(through) - ms(direct)) * 1e3 / all)),
        Row::new("gateway, the same, CPU per delta", "µs", Ok(ms(cpu) * 1e3 / all)),
        Row::new("gateway, the same, peak memory", "MiB", Ok(peak)),
    ])
}

fn reply() -> Vec<u8> {
    let mut encoder = wires::wire(WireId::Chat).encoder("m");
    let mut bytes = Vec::new();
    let mut push = |delta: Delta| encoder.push(&delta, &mut bytes);
    push(Delta::Begin { id: "r".into() });
    push(Delta::BlockStart { at: 0, kind: BlockKind::Text(String::new(), Phase::Final) });
    (0..DELTAS).for_each(|n| push(Delta::Text { at: 0, text: format!("word {n} ") }));
    push(Delta::BlockEnd { at: 0, opaque: Vec::new() });
    push(Delta::Stop(Stop::End));
    bytes
}

struct Gateway {
    child: Child,
    address: String,
    _place: Place,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Gateway {
    fn start(bench: &Bench, server: &Server) -> io::Result<Gateway> {
        let place = Place::new()?;
        let provider =
            format!("model_providers.stub={{name=\"Stub\",base_url=\"{}\",wire_api=\"chat\"}}", server.base_url());
        let mut command = Command::new(&bench.ours.path);
        command.args(["-c", &provider, "gateway", "--listen", "127.0.0.1:0", "--provider", "stub", "-m", "m"]);
        command.env_clear().env("HOME", place.home()).current_dir(place.work());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.as_mut() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(' ').next());
        let address = address.ok_or_else(|| io::Error::other("the gateway did not start"))?.to_owned();
        Ok(Gateway { child, address, _place: place })
    }

    /// User and system time, in the kernel's ticks of 10 ms.
    fn cpu(&self) -> io::Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }

    fn peak_mib(&self) -> io::Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| io::Error::other("no VmHWM"))
    }
}

/// All streams at once: the time until the last has ended, and how often `mark` came.
fn streams(address: &str, path: &str, mark: &'static str) -> io::Result<(Duration, usize)> {
    let body = r#"{"model":"x","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let start = Arc::new(Barrier::new(STREAMS + 1));
    let clients: Vec<_> = (0..STREAMS)
        .map(|_| {
            let (start, request, address) = (start.clone(), request.clone(), address.to_owned());
            thread::spawn(move || -> io::Result<usize> {
                let connected = TcpStream::connect(&address);
                start.wait();
                let mut stream = connected?;
                stream.write_all(request.as_bytes())?;
                counted(stream, mark)
            })
        })
        .collect();
    start.wait();
    let begun = Instant::now();
    let mut came = 0;
    for client in clients {
        came += client.join().map_err(|_| io::Error::other("a client failed"))??;
    }
    Ok((begun.elapsed(), came))
}

/// Reads to the end of the last chunk, and counts.
fn counted(mut stream: TcpStream, mark: &str) -> io::Result<usize> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    // The scripted server keeps its connections open.
    while !bytes.ends_with(b"0\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => break,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
    Ok(memchr::memmem::find_iter(&bytes, mark).count())
}
