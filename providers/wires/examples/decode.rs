//! Decoding speed: 100,000 text deltas per wire, against a bare parse of the same events into borrowed structs.
//!
//!     cargo run --release -p interpreter-wires --example decode
//!
//! Both read the same bytes in one go and drop what they made; each figure is the best of several rounds.
#![allow(clippy::disallowed_methods, reason = "a benchmark needs the clock")]
use std::{
    borrow::Cow,
    hint::black_box,
    time::{Duration, Instant},
};

use protocol::{Caps, Fit, Quirks, Source, WireId};
use serde::Deserialize;

const DELTAS: usize = 100_000;
const ROUNDS: usize = 15;
/// Bytes per push, as a socket hands them over.
const CHUNK: usize = 64 * 1024;

/// The fields of a delta event, borrowed: the least that any client must read.
#[derive(Deserialize)]
#[allow(dead_code)]
struct Responses<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
    sequence_number: u64,
    #[serde(borrow)]
    item_id: &'a str,
    output_index: u64,
    content_index: u64,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Chat<'a> {
    #[serde(borrow)]
    id: &'a str,
    #[serde(borrow)]
    object: &'a str,
    created: u64,
    #[serde(borrow)]
    model: &'a str,
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
}
#[derive(Deserialize)]
#[allow(dead_code)]
struct Choice<'a> {
    index: u64,
    #[serde(borrow)]
    delta: Content<'a>,
    #[serde(borrow)]
    finish_reason: Option<&'a str>,
}
#[derive(Deserialize)]
#[allow(dead_code)]
struct Content<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Messages<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
    index: u64,
    #[serde(borrow)]
    delta: Piece<'a>,
}
#[derive(Deserialize)]
#[allow(dead_code)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

fn event(wire: WireId, n: usize) -> String {
    // Prose with what JSON must escape, as models write it; padded so that an event has about 200 bytes.
    let text = format!(" the file `src/main.rs` has\\n{n:06} lines");
    match wire {
        WireId::Responses => format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\
             \"item_id\":\"msg_0123456789abcdef0123456789\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}\n\n"
        ),
        WireId::Chat => format!(
            "data: {{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\
             \"model\":\"some-model\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
        ),
        WireId::Messages => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\
             \"text\":\"{text}, and then some more words of the same kind as before it\"}}}}\n\n"
        ),
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> usize {
    let mut events = 0;
    let mut rest = body;
    while let Some(end) = memchr::memmem::find(rest, b"\n\n") {
        let event = &rest[..end];
        let data = memchr::memmem::find(event, b"data: ").map_or(event, |at| &event[at + 6..]);
        if let Ok(it) = serde_json::from_slice::<T>(data) {
            black_box(&it);
            events += 1;
        }
        rest = &rest[end + 2..];
    }
    events
}

fn bare(wire: WireId, body: &[u8]) -> usize {
    match wire {
        WireId::Responses => parse::<Responses>(body),
        WireId::Chat => parse::<Chat>(body),
        WireId::Messages => parse::<Messages>(body),
    }
}

fn decode(wire: WireId, body: &[u8]) -> usize {
    let source = Source { provider: "bench".to_owned(), wire, model: "some-model".to_owned() };
    let fit = Fit { source, caps: Caps::plain(), quirks: Quirks::default() };
    let mut decoder = wires::wire(wire).decoder(&fit);
    let (mut deltas, mut count) = (Vec::new(), 0);
    for chunk in body.chunks(CHUNK) {
        decoder.push(chunk, &mut deltas);
        count += deltas.iter().filter(|delta| matches!(delta, protocol::Delta::Text { .. })).count();
        black_box(&deltas);
        deltas.clear();
    }
    count
}

fn best(mut run: impl FnMut() -> usize) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(run(), DELTAS);
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn main() {
    println!("{DELTAS} deltas, best of {ROUNDS}");
    for wire in WireId::ALL {
        let body: String = (0..DELTAS).map(|n| event(wire, n)).collect();
        let body = body.as_bytes();
        let (ours, bare) = (best(|| decode(wire, body)), best(|| bare(wire, body)));
        println!(
            "{:10} {:5.1} MB  decode {:6.1} ms  bare parse {:6.1} ms  speed {:3.0} %",
            wire.as_str(),
            body.len() as f64 / 1e6,
            ours.as_secs_f64() * 1e3,
            bare.as_secs_f64() * 1e3,
            bare.as_secs_f64() / ours.as_secs_f64() * 100.0,
        );
    }
}
