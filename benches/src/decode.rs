//! Decoding 100,000 text deltas, against a bare parse of the same bytes into borrowed structs in the same run.
use std::{
    borrow::Cow,
    hint::black_box,
    time::{Duration, Instant},
};

use protocol::{Caps, Delta, Fit, Quirks, Source, WireId};
use serde::Deserialize;
use serde_json::{Value, json};

const DELTAS: usize = 100_000;
const ROUNDS: usize = 9;
/// Bytes of one push, as a socket hands them over.
const CHUNK: usize = 64 * 1024;

const ITEM: &str = "msg_0123456789abcdef0123456789abcdef01234567";

/// The fields of a delta event, borrowed: the least that any client must read.
#[derive(Deserialize)]
#[allow(dead_code, reason = "read by the parser only")]
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
#[allow(dead_code, reason = "read by the parser only")]
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
#[allow(dead_code, reason = "read by the parser only")]
struct Choice<'a> {
    index: u64,
    #[serde(borrow)]
    delta: Said<'a>,
    #[serde(borrow)]
    finish_reason: Option<&'a str>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "read by the parser only")]
struct Said<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "read by the parser only")]
struct Messages<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
    index: u64,
    #[serde(borrow)]
    delta: Piece<'a>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "read by the parser only")]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Prose with what JSON must escape, as models write it.
fn words(n: usize) -> String {
    format!(" the file `src/main.rs` has\n{n:06} lines")
}

/// One event of about 200 bytes.
fn event(wire: WireId, n: usize) -> String {
    let text = json!(words(n));
    match wire {
        WireId::Responses => format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\
             \"item_id\":\"{ITEM}\",\"output_index\":0,\"content_index\":0,\"delta\":{text}}}\n\n"
        ),
        WireId::Chat => format!(
            "data: {{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\
             \"model\":\"some-model\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}\n\n"
        ),
        WireId::Messages => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\
             \"text\":{text}}}}}\n\n"
        ),
    }
}

/// A whole Responses stream of these deltas, as a server sends it.
pub(crate) fn stream() -> Vec<u8> {
    let event_of = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default());
    let whole: String = (0..DELTAS).map(words).collect();
    let item = |status: &str, content: Value| {
        json!({"type": "message", "id": ITEM, "role": "assistant", "status": status,
        "content": content})
    };
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": DELTAS,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 100 + DELTAS});
    let mut out = event_of(json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}));
    out += &event_of(
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([]))}),
    );
    out += &event_of(
        json!({"type": "response.content_part.added", "item_id": ITEM, "output_index": 0, "content_index": 0,
        "part": part("")}),
    );
    (0..DELTAS).for_each(|n| out += &event(WireId::Responses, n));
    out += &event_of(
        json!({"type": "response.output_item.done", "output_index": 0, "item": item("completed", json!([part(&whole)]))}),
    );
    out += &event_of(
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage}}),
    );
    out.into_bytes()
}

/// Time of our decoder, and its speed in percent of the bare parse's.
pub(crate) fn against_bare_parse(wire: WireId) -> (Duration, f64) {
    let body: String = (0..DELTAS).map(|n| event(wire, n)).collect();
    let body = body.as_bytes();
    let (mut ours, mut bare) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(timed(|| decode(wire, body)));
        bare = bare.min(timed(|| bare_parse(wire, body)));
    }
    (ours, bare.as_secs_f64() / ours.as_secs_f64() * 100.0)
}

fn timed(work: impl FnOnce() -> usize) -> Duration {
    let begun = Instant::now();
    let deltas = work();
    let took = begun.elapsed();
    // What was not read whole must not count as fast.
    if deltas == DELTAS { took } else { Duration::MAX }
}

fn decode(wire: WireId, body: &[u8]) -> usize {
    let source = Source { provider: "bench".into(), wire, model: "some-model".into() };
    let fit = Fit { source, caps: Caps::plain(), quirks: Quirks::default() };
    let mut decoder = wires::wire(wire).decoder(&fit);
    let (mut deltas, mut count) = (Vec::new(), 0);
    for chunk in body.chunks(CHUNK) {
        decoder.push(chunk, &mut deltas);
        count += deltas.iter().filter(|delta| matches!(delta, Delta::Text { .. })).count();
        black_box(&deltas);
        deltas.clear();
    }
    count
}

fn bare_parse(wire: WireId, body: &[u8]) -> usize {
    match wire {
        WireId::Responses => parse::<Responses>(body),
        WireId::Chat => parse::<Chat>(body),
        WireId::Messages => parse::<Messages>(body),
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
