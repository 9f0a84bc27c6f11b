//! The event stream of a reply, to Deltas.
use protocol::{
    BlockKind, Call, CallForm, CallId, Delta, ErrorKind, Fit, Opaque, Phase, ProviderError, Raw, Source, Stop, Usage,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::field;
use crate::{
    Decoder,
    bounds::Holds,
    ending, json,
    lenient::{self, Num, RawRef, Str},
    refusal,
    sse::{self, Sse},
    template::Template,
};

pub(super) struct Decode {
    sse: Sse,
    state: State,
}

struct State {
    source: Source,
    blocks: Vec<Open>,
    next: u32,
    begun: bool,
    called: bool,
    usage: Tokens,
    has_usage: bool,
    stop: Option<Stop>,
    template: Template<(Option<u64>, Said)>,
    /// Bytes of signatures, and of blocks that go back whole.
    held: usize,
    over: bool,
}

/// A content block in the making.
struct Open {
    index: Option<u64>,
    at: u32,
    what: What,
    /// The input that came with the start: it counts if no other comes.
    input: Option<String>,
    /// Of thinking.
    signature: String,
    /// The block as it started, and its input so far: for blocks that go back whole.
    whole: Option<(Box<RawValue>, String)>,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Text,
    Thinking,
    Call,
    Whole,
}

/// Which string of a delta.
#[derive(Debug, Clone, Copy)]
enum Said {
    Text,
    Thinking,
    Input,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Str<'a>,
    #[serde(default)]
    index: Num,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    #[serde(borrow, default)]
    content_block: RawRef<'a>,
    #[serde(borrow, default)]
    message: RawRef<'a>,
    #[serde(borrow, default)]
    usage: RawRef<'a>,
    #[serde(borrow, default)]
    error: RawRef<'a>,
}

#[derive(Deserialize, Default)]
struct Piece<'a> {
    #[serde(borrow, default)]
    text: Str<'a>,
    #[serde(borrow, default)]
    thinking: Str<'a>,
    #[serde(borrow, default)]
    partial_json: Str<'a>,
    #[serde(borrow, default)]
    signature: Str<'a>,
    #[serde(borrow, default)]
    stop_reason: Str<'a>,
}

impl<'a> Piece<'a> {
    /// Its text, where it is nothing but one of the strings that come in many pieces.
    fn only(&self) -> Option<(Said, &Str<'a>)> {
        let strings = [(Said::Text, &self.text), (Said::Thinking, &self.thinking), (Said::Input, &self.partial_json)];
        let mut said = strings.into_iter().filter(|(_, text)| !text.is_empty());
        match (said.next(), said.next()) {
            (Some((said, text)), None) if self.signature.is_empty() => Some((said, text)),
            _ => None,
        }
    }
}

#[derive(Deserialize, Default)]
struct BlockBody<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow, default)]
    id: Str<'a>,
    #[serde(borrow, default)]
    name: Str<'a>,
    #[serde(borrow, default)]
    text: Str<'a>,
    #[serde(borrow, default)]
    thinking: Str<'a>,
    #[serde(borrow, default)]
    signature: Str<'a>,
    #[serde(borrow, default)]
    input: RawRef<'a>,
}

#[derive(Deserialize, Default)]
struct MessageBody<'a> {
    #[serde(borrow, default)]
    id: Str<'a>,
    #[serde(borrow, default)]
    content: RawRef<'a>,
    #[serde(borrow, default)]
    stop_reason: Str<'a>,
    #[serde(borrow, default)]
    usage: RawRef<'a>,
}

#[derive(Deserialize, Default, Clone, Copy)]
struct Tokens {
    #[serde(default)]
    input_tokens: Num,
    #[serde(default)]
    output_tokens: Num,
    #[serde(default)]
    cache_read_input_tokens: Num,
    #[serde(default)]
    cache_creation_input_tokens: Num,
    #[serde(default)]
    output_tokens_details: OutputDetails,
}
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Num,
}

impl Tokens {
    /// Later counts replace earlier ones, but for zeros: some servers count the input only at the end, some only at the start.
    fn update(&mut self, later: Tokens) {
        let newer = |old: Num, new: Num| if new.or_zero() > 0 { new } else { old };
        self.input_tokens = newer(self.input_tokens, later.input_tokens);
        self.output_tokens = newer(self.output_tokens, later.output_tokens);
        self.cache_read_input_tokens = newer(self.cache_read_input_tokens, later.cache_read_input_tokens);
        self.cache_creation_input_tokens = newer(self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        self.output_tokens_details.thinking_tokens =
            newer(self.output_tokens_details.thinking_tokens, later.output_tokens_details.thinking_tokens);
    }
    /// On this wire `input_tokens` leaves out what the cache read and wrote.
    fn usage(self) -> Usage {
        let (cached, cache_write) =
            (self.cache_read_input_tokens.or_zero(), self.cache_creation_input_tokens.or_zero());
        Usage {
            input: self.input_tokens.or_zero().saturating_add(cached).saturating_add(cache_write),
            cached,
            cache_write,
            output: self.output_tokens.or_zero(),
            reasoning: self.output_tokens_details.thinking_tokens.or_zero(),
        }
    }
}

impl Decode {
    pub(super) fn new(fit: &Fit) -> Decode {
        Decode {
            sse: Sse::new(),
            state: State {
                source: fit.source.clone(),
                blocks: Vec::new(),
                next: 0,
                begun: false,
                called: false,
                usage: Tokens::default(),
                has_usage: false,
                stop: None,
                template: Template::new(),
                held: 0,
                over: false,
            },
        }
    }
}

impl Decoder for Decode {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        if !self.state.over {
            self.sse.push(bytes, |event| self.state.event(event, out));
        }
    }
    fn end(&mut self, out: &mut Vec<Delta>) {
        if !self.state.over {
            self.sse.end(|event| self.state.event(event, out));
        }
        if !self.state.over {
            // A reason to stop is an end, also without `message_stop`.
            match self.state.stop.is_some() {
                true => self.state.close(out),
                false => {
                    let error = ProviderError::new(ErrorKind::Stream, "stream closed before message_stop");
                    self.state.fail(error, out);
                }
            }
        }
    }
}

impl Holds for Decode {
    fn held(&self) -> usize {
        self.state.held
    }
    fn overflows(&self) -> bool {
        self.sse.overflows()
    }
}

impl State {
    fn event(&mut self, raw: sse::Event, out: &mut Vec<Delta>) {
        if self.over || raw.data == b"[DONE]" {
            return;
        }
        if let Some(((index, said), text)) = self.template.read(raw.data) {
            let piece = match said {
                Said::Text => Piece { text, ..Piece::default() },
                Said::Thinking => Piece { thinking: text, ..Piece::default() },
                Said::Input => Piece { partial_json: text, ..Piece::default() },
            };
            return self.piece(index, piece, out);
        }
        let mut spare = Vec::new();
        let Some(event) = lenient::event::<Event>(raw.data, &mut spare) else {
            return match lenient::odd(&raw) {
                Delta::Error(error) => self.fail(error, out),
                odd => out.push(odd),
            };
        };
        let kind = match event.kind.some() {
            Some(kind) => kind,
            None => std::str::from_utf8(raw.name).unwrap_or_default(),
        };
        match kind {
            "content_block_delta" => {
                if let Some(piece) = event.delta {
                    if let Some((said, text)) = piece.only() {
                        self.template.learn(raw.data, text, (event.index.0, said));
                    }
                    self.piece(event.index.0, piece, out);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start(event.index.0, block, out);
                }
            }
            "content_block_stop" => {
                if let Some(place) = self.place(event.index.0) {
                    self.end_block(place, out);
                }
            }
            "message_start" => {
                let body: MessageBody = lenient::part(event.message);
                self.begin(&body.id, out);
                self.count(body.usage, out);
            }
            "message_delta" => {
                self.count(event.usage, out);
                if let Some(reason) = event.delta.as_ref().and_then(|delta| delta.stop_reason.some()) {
                    self.stop = Some(stop(reason));
                }
            }
            "message_stop" => self.close(out),
            "message" => self.whole(raw.data, out),
            _ if kind == "error" || event.error.is_some() || raw.whole => {
                self.fail(refusal::in_stream(&String::from_utf8_lossy(raw.data)), out);
            }
            // `ping`, and whatever will be added.
            _ => {}
        }
    }

    /// An answer that is no stream.
    fn whole(&mut self, data: &[u8], out: &mut Vec<Delta>) {
        let body: MessageBody = serde_json::from_slice(data).unwrap_or_default();
        self.begin(&body.id, out);
        let blocks: Vec<&RawValue> = lenient::part(body.content);
        for (index, block) in blocks.into_iter().enumerate() {
            self.start(Some(index as u64), block, out);
        }
        self.count(body.usage, out);
        self.stop = body.stop_reason.some().map(stop);
        self.close(out);
    }

    fn begin(&mut self, id: &str, out: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.begun, true) && !id.is_empty() {
            out.push(Delta::Begin { id: id.to_owned() });
        }
    }

    fn count(&mut self, usage: RawRef, out: &mut Vec<Delta>) {
        if usage.is_some() {
            self.usage.update(lenient::part(usage));
            self.has_usage = true;
            out.push(Delta::Usage(self.usage.usage()));
        }
    }

    /// The open block of an index; without one, the last.
    fn place(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.blocks.iter().rposition(|block| block.index == index),
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn open(&mut self, index: Option<u64>, what: What, kind: BlockKind, out: &mut Vec<Delta>) -> usize {
        let at = self.next;
        self.next += 1;
        self.begun = true;
        self.called |= what == What::Call;
        out.push(Delta::BlockStart { at, kind });
        self.blocks.push(Open { index, at, what, input: None, signature: String::new(), whole: None });
        self.blocks.len() - 1
    }

    fn start(&mut self, index: Option<u64>, raw: &RawValue, out: &mut Vec<Delta>) {
        // A server that forgets to end a block and counts anew.
        if let Some(place) = index.and_then(|index| self.place(Some(index))) {
            self.end_block(place, out);
        }
        let body: BlockBody = lenient::part(Some(raw));
        self.held += body.input.map_or(0, |input| input.get().len());
        match &*body.kind {
            "text" => {
                let place = self.open(index, What::Text, BlockKind::Text(String::new(), Phase::Final), out);
                self.say(place, body.text, out);
            }
            "thinking" => {
                let place = self.open(index, What::Thinking, BlockKind::Reasoning(String::new()), out);
                self.blocks[place].signature.push_str(&body.signature);
                self.say(place, body.thinking, out);
            }
            "tool_use" => {
                let call = Call {
                    id: CallId(body.id.to_string()),
                    namespace: None,
                    name: body.name.to_string(),
                    args: String::new(),
                    form: CallForm::Function,
                };
                let place = self.open(index, What::Call, BlockKind::Call(call), out);
                self.blocks[place].input = body.input.map(|input| input.get().to_owned()).filter(|input| input != "{}");
            }
            kind => {
                let block = match kind {
                    "redacted_thinking" => BlockKind::Reasoning(String::new()),
                    _ if body.name.is_empty() && !kind.ends_with("_tool_result") => BlockKind::Unknown,
                    _ => BlockKind::Server { name: server_name(&body), show: lenient::raw(raw) },
                };
                let place = self.open(index, What::Whole, block, out);
                self.blocks[place].whole = Some((raw.to_owned(), String::new()));
            }
        }
    }

    fn say(&mut self, place: usize, text: Str, out: &mut Vec<Delta>) {
        if !text.is_empty() {
            out.push(Delta::Text { at: self.blocks[place].at, text: text.0.into_owned() });
        }
    }

    fn piece(&mut self, index: Option<u64>, piece: Piece, out: &mut Vec<Delta>) {
        let place = match self.place(index) {
            Some(place) => place,
            // A server that forgets to start a block; a call could not be named.
            None if !piece.text.is_empty() => {
                self.open(index, What::Text, BlockKind::Text(String::new(), Phase::Final), out)
            }
            None if !piece.thinking.is_empty() => {
                self.open(index, What::Thinking, BlockKind::Reasoning(String::new()), out)
            }
            None => return,
        };
        let block = &mut self.blocks[place];
        match block.what {
            What::Text => self.say(place, piece.text, out),
            What::Thinking => {
                self.held += piece.signature.len();
                block.signature.push_str(&piece.signature);
                self.say(place, piece.thinking, out);
            }
            What::Call if piece.partial_json.is_empty() => {}
            What::Call => {
                block.input = None;
                out.push(Delta::Args { at: block.at, text: piece.partial_json.0.into_owned() });
            }
            What::Whole => {
                if let Some((_, input)) = &mut block.whole {
                    self.held += piece.partial_json.len();
                    input.push_str(&piece.partial_json);
                }
            }
        }
    }

    fn end_block(&mut self, place: usize, out: &mut Vec<Delta>) {
        let block = self.blocks.remove(place);
        let at = block.at;
        if let Some(text) = block.input {
            out.push(Delta::Args { at, text });
        }
        let opaque =
            |name: &str, value: Raw| vec![Opaque { scope: self.source.clone(), field: name.to_owned(), value }];
        let opaque = match block.whole {
            Some((start, input)) => opaque(field::BLOCK, with_input(&start, &input)),
            None if block.what == What::Thinking => opaque(field::SIGNATURE, json::text(&block.signature)),
            None => Vec::new(),
        };
        out.push(Delta::BlockEnd { at, opaque });
    }

    fn fail(&mut self, error: ProviderError, out: &mut Vec<Delta>) {
        self.over = true;
        out.push(Delta::Error(error));
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        while !self.blocks.is_empty() {
            self.end_block(0, out);
        }
        ending::close([], self.stop.take(), self.called, out);
        self.over = true;
    }
}

fn server_name(body: &BlockBody) -> String {
    let name = body.name.some().unwrap_or(body.kind.trim_end_matches("_tool_result"));
    name.to_owned()
}

/// The block with the input that was streamed for it.
fn with_input(start: &RawValue, input: &str) -> Raw {
    let streamed = serde_json::from_str::<&RawValue>(input).ok();
    let block = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(start.get());
    let (Some(streamed), Ok(block)) = (streamed, block) else {
        return lenient::raw(start);
    };
    let mut out = Vec::new();
    json::object(&mut out, |o| {
        for (name, value) in block.iter().filter(|(name, _)| *name != "input") {
            o.put(name, value);
        }
        o.raw("input", streamed.get());
    });
    std::str::from_utf8(&out).ok().and_then(|text| Raw::parse(text).ok()).unwrap_or_else(|| lenient::raw(start))
}

fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" | "stop" => Stop::End,
        "tool_use" | "tool_calls" => Stop::Calls,
        "max_tokens" | "model_context_window_exceeded" | "length" => Stop::Length,
        "refusal" | "content_filter" => Stop::Filter,
        other => Stop::Other(other.to_owned()),
    }
}
