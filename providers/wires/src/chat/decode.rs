//! The chunks of a reply, to Deltas.
use protocol::{
    BlockKind, Call, CallForm, CallId, Delta, ErrorKind, Fit, Opaque, Phase, ProviderError, Raw, Source, Stop, Usage,
};

use serde::Deserialize;

use super::{
    chunk::{CallPiece, Choice, Chunk, Content, FunctionPiece, Piecewise, Said, UsageBody},
    details::Details,
    field,
    think::{Piece, Think},
};
use crate::{
    Decoder,
    bounds::Holds,
    ending, json,
    lenient::{self, RawRef},
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
    next: u32,
    begun: bool,
    text: Option<Text>,
    reasoning: Option<Reasoning>,
    calls: Vec<CallSlot>,
    think: Option<Think>,
    usage: Option<Usage>,
    finish: Option<String>,
    template: Template<Said>,
    /// Bytes of calls without a name, and of lists that go back as one.
    held: usize,
    over: bool,
}

struct Text {
    at: u32,
    extra: Option<Raw>,
}

#[derive(Default)]
struct Reasoning {
    at: u32,
    /// The fields that it came in.
    fields: Vec<(&'static str, Raw)>,
    details: Details,
    /// A string field brings the text; the details repeat it.
    from_string: bool,
}

#[derive(Default)]
struct CallSlot {
    index: Option<u64>,
    id: String,
    name: String,
    custom: bool,
    /// None until the name is known; what came before it waits.
    at: Option<u32>,
    held: String,
    extra: Option<Raw>,
    /// Without index and id, only the arguments tell whether the next piece belongs to this call.
    depth: Depth,
}

impl Decode {
    pub(super) fn new(fit: &Fit) -> Decode {
        Decode {
            sse: Sse::new(),
            state: State {
                source: fit.source.clone(),
                next: 0,
                begun: false,
                text: None,
                reasoning: None,
                calls: Vec::new(),
                think: fit.quirks.think_tags.then(Think::default),
                usage: None,
                finish: None,
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
            // A reason to finish is an end, also without `[DONE]`.
            match self.state.finish.is_some() {
                true => self.state.close(out),
                false => self.state.fail(ProviderError::new(ErrorKind::Stream, MISSING), out),
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

const MISSING: &str = "stream closed before finish_reason or [DONE]";

impl State {
    fn event(&mut self, raw: sse::Event, out: &mut Vec<Delta>) {
        if self.over {
            return;
        }
        if let Some((said, text)) = self.template.read(raw.data) {
            return self.piece(Piecewise::of(said, text), out);
        }
        if raw.data.trim_ascii() == b"[DONE]" {
            // The calls and the text decide, not the reason; but a reply of nothing at all is none.
            if self.finish.is_none() && self.next == 0 {
                return self.fail(ProviderError::new(ErrorKind::Stream, MISSING), out);
            }
            return self.close(out);
        }
        let mut spare = Vec::new();
        let Some(chunk) = lenient::event::<Chunk>(raw.data, &mut spare) else {
            return match lenient::odd(&raw) {
                Delta::Error(error) => self.fail(error, out),
                odd => out.push(odd),
            };
        };
        let Chunk { id, choices, usage, error, x_groq, base_resp, object } = chunk;
        let refused = base_resp.is_some_and(|json| lenient::part::<BaseResp>(Some(json)).status_code.or_zero() != 0);
        if error.is_some() || refused || &*object == "error" || raw.name == b"error" {
            return self.fail(refusal::in_stream(&String::from_utf8_lossy(raw.data)), out);
        }
        if !std::mem::replace(&mut self.begun, true)
            && let Some(id) = id.some()
        {
            out.push(Delta::Begin { id: id.to_owned() });
        }
        if usage.is_none()
            && x_groq.is_none()
            && let Some((text, said)) = choices.0.as_ref().and_then(Choice::only)
        {
            self.template.learn(raw.data, text, said);
        }
        self.usage_of(usage);
        if x_groq.is_some() {
            self.usage_of(lenient::part::<Groq>(x_groq).usage);
        }
        match choices.0 {
            Some(choice) => self.choice(choice, out),
            None if raw.whole => self.fail(refusal::in_stream(&String::from_utf8_lossy(raw.data)), out),
            None => {}
        }
    }

    fn usage_of(&mut self, json: RawRef) {
        if json.is_some() {
            self.usage = Some(lenient::part::<UsageBody>(json).usage());
        }
    }

    fn choice(&mut self, choice: Choice, out: &mut Vec<Delta>) {
        if let Some(error) = choice.error {
            return self.fail(refusal::in_stream(error.get()), out);
        }
        self.usage_of(choice.usage);
        if let Some(piece) = choice.delta.or_else(|| choice.message.map(|message| *message)) {
            self.piece(piece, out);
        }
        if let Some(reason) = choice.finish_reason.some() {
            self.finish = Some(reason.to_owned());
        }
    }

    fn piece(&mut self, piece: Piecewise, out: &mut Vec<Delta>) {
        let strings = [
            (field::REASONING_CONTENT, piece.reasoning_content),
            (field::REASONING, piece.reasoning),
            (field::THINKING, piece.thinking.map_or_else(Default::default, |text| *text)),
        ];
        let mut said = false;
        for (name, text) in strings {
            if text.is_empty() {
                continue;
            }
            let first = !std::mem::replace(&mut said, true);
            let reasoning = self.reasoning(name, Raw::null(), out);
            reasoning.from_string = true;
            let at = reasoning.at;
            // Some servers send the same text under two names.
            if first {
                out.push(Delta::Text { at, text: text.0.into_owned() });
            }
        }
        if let Some(list) = piece.reasoning_details.filter(|list| list.get() != "[]") {
            self.held += list.get().len();
            let reasoning = self.reasoning_details(out);
            let text = reasoning.details.add(list.get());
            let at = reasoning.at;
            if !reasoning.from_string && !text.is_empty() {
                out.push(Delta::Text { at, text });
            }
        }
        match piece.content {
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => self.content(text.0.into_owned(), out),
            Content::Parts(parts) => {
                for part in parts {
                    for text in part.thinking.0.into_iter().filter(|text| !text.is_empty()) {
                        let at = self.reasoning(field::THINKING_PART, Raw::null(), out).at;
                        out.push(Delta::Text { at, text: text.into_owned() });
                    }
                    self.content(part.text.0.into_owned(), out);
                }
            }
        }
        if let Some(refusal) = piece.refusal {
            self.content(refusal.0.into_owned(), out);
        }
        if let (Some(extra), Some(text)) = (piece.extra_content, &mut self.text) {
            text.extra = Some(lenient::raw(extra));
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call, out);
        }
        if let Some(function) = piece.function_call {
            self.call(CallPiece { function: Some(*function), ..CallPiece::default() }, out);
        }
    }

    fn start(&mut self, kind: BlockKind, out: &mut Vec<Delta>) -> u32 {
        let at = self.next;
        self.next += 1;
        self.begun = true;
        out.push(Delta::BlockStart { at, kind });
        at
    }

    fn content(&mut self, text: String, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let Some(think) = &mut self.think else {
            return self.say(text, out);
        };
        let mut pieces = Vec::new();
        think.push(&text, &mut pieces);
        self.pieces(pieces, out);
    }

    fn pieces(&mut self, pieces: Vec<Piece>, out: &mut Vec<Delta>) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.say(text, out),
                Piece::Reasoning(text) => {
                    let at = self.reasoning(field::THINK_TAGS, json::text(""), out).at;
                    out.push(Delta::Text { at, text });
                }
                Piece::Closed(space) => {
                    let reasoning = self.reasoning(field::THINK_TAGS, json::text(""), out);
                    if let Some((_, value)) = reasoning.fields.iter_mut().find(|(name, _)| *name == field::THINK_TAGS) {
                        *value = json::text(&space);
                    }
                    self.end_reasoning(out);
                }
            }
        }
    }

    fn say(&mut self, text: String, out: &mut Vec<Delta>) {
        let at = match &self.text {
            Some(open) => open.at,
            None => {
                self.end_reasoning(out);
                let at = self.start(BlockKind::Text(String::new(), Phase::Final), out);
                self.text = Some(Text { at, extra: None });
                at
            }
        };
        out.push(Delta::Text { at, text });
    }

    /// The open block of reasoning, which from now on goes back in `name` too.
    fn reasoning(&mut self, name: &'static str, value: Raw, out: &mut Vec<Delta>) -> &mut Reasoning {
        let reasoning = self.reasoning_details(out);
        if !reasoning.fields.iter().any(|(known, _)| *known == name) {
            reasoning.fields.push((name, value));
        }
        reasoning
    }

    fn reasoning_details(&mut self, out: &mut Vec<Delta>) -> &mut Reasoning {
        if self.reasoning.is_none() {
            self.end_text(out);
            let at = self.start(BlockKind::Reasoning(String::new()), out);
            self.reasoning = Some(Reasoning { at, ..Default::default() });
        }
        self.reasoning.get_or_insert_default()
    }

    fn opaque(&self, name: &str, value: Raw) -> Opaque {
        Opaque { scope: self.source.clone(), field: name.to_owned(), value }
    }

    fn end_reasoning(&mut self, out: &mut Vec<Delta>) {
        let Some(mut open) = self.reasoning.take() else {
            return;
        };
        let mut opaque: Vec<Opaque> = open.fields.into_iter().map(|(name, value)| self.opaque(name, value)).collect();
        opaque.extend(open.details.take().map(|list| self.opaque(field::REASONING_DETAILS, Raw::of(&list))));
        out.push(Delta::BlockEnd { at: open.at, opaque });
    }

    fn end_text(&mut self, out: &mut Vec<Delta>) {
        if let Some(open) = self.text.take() {
            let opaque = open.extra.map(|extra| self.opaque(field::EXTRA_CONTENT, extra)).into_iter().collect();
            out.push(Delta::BlockEnd { at: open.at, opaque });
        }
    }

    /// By index, else by id, else by position.
    fn slot_of(&self, piece: &CallPiece, name: &str) -> Option<usize> {
        let id = piece.id.some();
        match (piece.index.0, id) {
            (Some(index), _) => {
                let place = self.calls.iter().rposition(|call| call.index == Some(index))?;
                // Servers that give every call the index 0.
                let other = id.is_some_and(|id| !self.calls[place].id.is_empty() && self.calls[place].id != id);
                (!other || name.is_empty()).then_some(place)
            }
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) => {
                let last = self.calls.last()?;
                let goes_on = name.is_empty() || (last.name == name && !last.depth.is_whole());
                goes_on.then(|| self.calls.len() - 1)
            }
        }
    }

    fn call(&mut self, mut piece: CallPiece, out: &mut Vec<Delta>) {
        let custom = piece.custom.is_some();
        let FunctionPiece { name, arguments } = piece.custom.take().or(piece.function.take()).unwrap_or_default();
        let place = self.slot_of(&piece, &name).unwrap_or_else(|| {
            self.held += size_of::<CallSlot>();
            self.calls.push(CallSlot { index: piece.index.0, custom, ..Default::default() });
            self.calls.len() - 1
        });
        let slot = &mut self.calls[place];
        let mut fresh = false;
        if let (true, Some(id)) = (slot.id.is_empty(), piece.id.some()) {
            slot.id = id.to_owned();
            fresh = slot.at.is_some();
        }
        if let (true, Some(name)) = (slot.name.is_empty(), name.some()) {
            slot.name = name.to_owned();
            fresh = true;
        }
        if let Some(extra) = piece.extra_content {
            slot.extra = Some(lenient::raw(extra));
        }
        if slot.index.is_none() && slot.id.is_empty() {
            slot.depth.read(&arguments.0);
        }
        if fresh {
            self.announce(place, out);
        }
        let slot = &mut self.calls[place];
        match slot.at {
            _ if arguments.0.is_empty() => {}
            Some(at) => out.push(Delta::Args { at, text: arguments.0.0.into_owned() }),
            None => {
                self.held += arguments.0.len();
                slot.held.push_str(&arguments.0);
            }
        }
    }

    /// Starts the call's block, or brings its fixed parts up to date.
    fn announce(&mut self, place: usize, out: &mut Vec<Delta>) {
        if let Some(think) = &mut self.think {
            let mut pieces = Vec::new();
            think.flush(&mut pieces);
            self.pieces(pieces, out);
        }
        self.end_reasoning(out);
        self.end_text(out);
        let slot = &mut self.calls[place];
        let kind = BlockKind::Call(Call {
            id: CallId(slot.id.clone()),
            namespace: None,
            name: slot.name.clone(),
            args: String::new(),
            form: if slot.custom { CallForm::Custom } else { CallForm::Function },
        });
        if let Some(at) = slot.at {
            return out.push(Delta::BlockStart { at, kind });
        }
        let held = std::mem::take(&mut slot.held);
        let at = self.start(kind, out);
        self.calls[place].at = Some(at);
        if !held.is_empty() {
            out.push(Delta::Args { at, text: held });
        }
    }

    fn fail(&mut self, error: ProviderError, out: &mut Vec<Delta>) {
        self.over = true;
        out.extend(self.usage.take().map(Delta::Usage));
        out.push(Delta::Error(error));
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some(think) = &mut self.think {
            let mut pieces = Vec::new();
            think.flush(&mut pieces);
            self.pieces(pieces, out);
        }
        self.end_reasoning(out);
        self.end_text(out);
        let reason = self.finish.take().unwrap_or_default();
        if let Some(error) = failure(&reason) {
            return self.fail(error, out);
        }
        for place in 0..self.calls.len() {
            let slot = &self.calls[place];
            // The model called something: the harness tells it that there is no such tool.
            if slot.at.is_none() && !(slot.id.is_empty() && slot.held.trim().is_empty() && reason != "tool_calls") {
                self.announce(place, out);
            }
        }
        let mut called = false;
        for slot in std::mem::take(&mut self.calls) {
            // Without a name in any piece, `at` came above; a place that nothing was put into is no call.
            let Some(at) = slot.at else { continue };
            called = true;
            let opaque = slot.extra.map(|extra| self.opaque(field::EXTRA_CONTENT, extra)).into_iter().collect();
            out.push(Delta::BlockEnd { at, opaque });
        }
        out.extend(self.usage.take().map(Delta::Usage));
        ending::close([], stop(&reason).filter(|reason| !called || !matches!(reason, Stop::Other(_))), called, out);
        self.over = true;
    }
}

#[derive(Deserialize, Default)]
struct BaseResp {
    #[serde(default)]
    status_code: lenient::Num,
}

#[derive(Deserialize, Default)]
struct Groq<'a> {
    #[serde(borrow, default)]
    usage: RawRef<'a>,
}

/// Reasons that are failures of the server.
fn failure(reason: &str) -> Option<ProviderError> {
    let kind = match reason {
        "insufficient_system_resource" => ErrorKind::Overloaded,
        "error" | "network_error" => ErrorKind::Server,
        _ => return None,
    };
    let message = format!("the server ended the reply with finish_reason `{reason}`");
    Some(ProviderError { code: Some(reason.to_owned()), ..ProviderError::new(kind, message) })
}

/// What a reason says beside that the model was done or called something.
fn stop(reason: &str) -> Option<Stop> {
    match reason {
        "length" | "max_tokens" | "model_length" => Some(Stop::Length),
        "content_filter" | "sensitive" | "safety" => Some(Stop::Filter),
        "" | "stop" | "tool_calls" | "function_call" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "STOP" => {
            None
        }
        other => Some(Stop::Other(other.to_owned())),
    }
}

/// How deep in JSON the arguments so far end.
#[derive(Default)]
struct Depth {
    open: u32,
    in_string: bool,
    escaped: bool,
    begun: bool,
}

impl Depth {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => {
                    self.open += 1;
                    self.begun = true;
                }
                b'}' | b']' if !self.in_string => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
    }
    fn is_whole(&self) -> bool {
        self.begun && self.open == 0
    }
}
