//! The model server of one run: turns in order, on whichever of the three wires the program asks. Written out here and not
//! by the encoders of `wires`, so that a mistake of ours cannot hide on both ends.
mod chat;
mod messages;
mod responses;

use std::{io::Read, time::Duration};

use demo::scripted::{End, Recorded, Step};
use protocol::WireId;
use serde_json::{Value, json};

use crate::{
    case::{Script, Turn},
    seen,
};

/// A script that is being played.
pub(crate) struct Model {
    script: Script,
    position: usize,
    ids: usize,
}

/// A reply on a wire.
struct Encoded {
    /// Name of the event, data.
    events: Vec<(Option<&'static str>, String)>,
    /// For a request without `stream`.
    whole: Value,
}

impl Model {
    pub(crate) fn new(script: Script) -> Model {
        Model { script, position: 0, ids: 0 }
    }

    pub(crate) fn answer(&mut self, request: &Recorded) -> Step {
        let path = request.path.split('?').next().unwrap_or_default();
        if request.header("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket")) {
            return Step::refuse(426, &json!({"error": {"message": "plain HTTP only"}}));
        }
        if request.method == "GET" {
            return if path.ends_with("/models") {
                whole(
                    200,
                    &json!({"object": "list", "data": [{"id": "stub-model", "object": "model", "owned_by": "stub"}]}),
                )
            } else {
                unknown(path)
            };
        }
        let Some(body) = body_of(request) else {
            return Step::refuse(400, &json!({"error": {"message": "body is not JSON"}}));
        };
        if path.ends_with("/count_tokens") {
            return whole(200, &json!({"input_tokens": tokens(&body)}));
        }
        if !["/responses", "/chat/completions", "/messages"].iter().any(|end| path.ends_with(end)) {
            return unknown(path);
        }
        let turn = self.next(&body).in_session(last_session(&body).as_deref());
        if let Some(status) = turn.status {
            return failure(status, &turn);
        }
        let encoded = match request.wire {
            WireId::Responses => responses::encode(&turn, &body, &mut self.ids),
            WireId::Chat => chat::encode(&turn, &body, &mut self.ids),
            WireId::Messages => messages::encode(&turn, &body, &mut self.ids),
        };
        if body["stream"] == true { stream(encoded.events, &turn) } else { whole(200, &encoded.whole) }
    }

    fn next(&mut self, body: &Value) -> Turn {
        if !offers_tools(body) && !self.script.turns.iter().any(|turn| turn.all) {
            return self.script.aux.clone();
        }
        self.position += 1;
        let done = || Turn { text: "done".to_owned(), ..Turn::default() };
        self.script.turns.get(self.position - 1).cloned().unwrap_or_else(done)
    }
}

/// The body as JSON, unpacked where it came in gzip.
pub(crate) fn body_of(request: &Recorded) -> Option<Value> {
    if request.body.is_empty() {
        return Some(json!({}));
    }
    if request.header("content-encoding").as_deref() == Some("gzip") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(request.body.as_slice()).read_to_end(&mut plain).ok()?;
        return serde_json::from_slice(&plain).ok();
    }
    serde_json::from_slice(&request.body).ok()
}

pub(crate) fn offers_tools(body: &Value) -> bool {
    body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

fn stream(events: Vec<(Option<&'static str>, String)>, turn: &Turn) -> Step {
    let kept = if turn.cut { events.len() / 2 } else { events.len() };
    let line = |(name, data): (Option<&str>, String)| {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {data}\n\n").into_bytes()
    };
    let pieces = events.into_iter().take(kept).map(line).collect();
    let end = if turn.cut { End::Cut } else { End::Clean };
    if turn.delay_ms == 0 && turn.stall_s <= 0.0 {
        return Step::stream(pieces, end);
    }
    let first = Duration::try_from_secs_f64(turn.stall_s).unwrap_or_default();
    Step::Slowly { first, each: Duration::from_millis(turn.delay_ms), pieces, end }
}

fn whole(status: u16, value: &Value) -> Step {
    Step::refuse(status, value)
}

fn unknown(path: &str) -> Step {
    Step::refuse(404, &json!({"error": {"message": format!("no such path {path}")}}))
}

fn failure(status: u16, turn: &Turn) -> Step {
    let body = match &turn.body {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => json!({"error": {"message": "scripted failure"}}).to_string(),
    };
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.extend(turn.headers.clone());
    Step::Raw { status, headers, pieces: vec![body.into_bytes()], end: End::Clean }
}

/// Number of the command session that the newest result names, as Codex names it.
fn last_session(body: &Value) -> Option<String> {
    let results = seen::results(body);
    let (_, after) = results.iter().rev().find_map(|text| text.split_once("session ID "))?;
    Some(after.chars().take_while(char::is_ascii_digit).collect())
}

/// A token for four bytes of all texts, as a rough server counts.
fn tokens(body: &Value) -> usize {
    fn bytes(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(bytes).sum(),
            Value::Object(fields) => {
                fields.iter().filter(|(key, _)| *key != "type" && *key != "role").map(|(_, value)| bytes(value)).sum()
            }
            _ => 0,
        }
    }
    bytes(&body["messages"]) / 4
}

/// `text` in pieces of the turn's size.
fn pieces<'a>(text: &'a str, turn: &Turn) -> impl Iterator<Item = String> + use<'a> {
    let size = turn.chunk.unwrap_or(8).max(1);
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// `PREFIX_000001` and on, each of its own.
fn new_id(prefix: &str, ids: &mut usize) -> String {
    *ids += 1;
    format!("{prefix}_{:06}", *ids)
}

fn usage(turn: &Turn) -> [u64; 2] {
    turn.usage.unwrap_or([100, 10])
}

/// The fields of both.
fn merged(base: &Value, more: Value) -> Value {
    let mut all = base.clone();
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}
