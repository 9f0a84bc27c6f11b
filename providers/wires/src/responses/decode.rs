//! The event stream of a reply, to Deltas.
use protocol::{BlockKind, Call, CallId, Delta, ErrorKind, Fit, Opaque, Phase, ProviderError, Source, Stop, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ITEM, call_form};
use crate::{
    Decoder,
    bounds::Holds,
    ending,
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
    items: Vec<Item>,
    next: u32,
    said: bool,
    called: bool,
    /// What it holds is the place of the item that the text belongs to.
    template: Template<usize>,
    over: bool,
}

/// An item of the output in the making.
struct Item {
    index: Option<u64>,
    id: String,
    at: u32,
    what: What,
    /// What its start said.
    kind: BlockKind,
    /// Bytes of its text or arguments that went out.
    sent: usize,
    /// Of reasoning: the last part, and whether it is summary or full text (never both).
    part: u64,
    full: Option<bool>,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Text,
    Reasoning,
    Call,
    Other,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow, default)]
    delta: Str<'a>,
    #[serde(default)]
    output_index: Num,
    #[serde(borrow, default)]
    item_id: Str<'a>,
    #[serde(default)]
    summary_index: Num,
    #[serde(borrow, default)]
    item: RawRef<'a>,
    #[serde(borrow, default)]
    response: RawRef<'a>,
    #[serde(borrow, default)]
    error: RawRef<'a>,
    // Of a body that is a whole response.
    #[serde(borrow, default)]
    object: Str<'a>,
}

#[derive(Deserialize, Default)]
struct ItemBody<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow, default)]
    id: Str<'a>,
    #[serde(borrow, default)]
    call_id: Str<'a>,
    #[serde(borrow, default)]
    namespace: Str<'a>,
    #[serde(borrow, default)]
    name: Str<'a>,
    #[serde(borrow, default)]
    arguments: lenient::Args<'a>,
    #[serde(borrow, default)]
    input: Str<'a>,
    #[serde(borrow, default)]
    phase: Str<'a>,
    #[serde(borrow, default)]
    content: RawRef<'a>,
    #[serde(borrow, default)]
    summary: RawRef<'a>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    text: Str<'a>,
    #[serde(borrow, default)]
    refusal: Str<'a>,
}

#[derive(Deserialize, Default)]
struct ResponseBody<'a> {
    #[serde(borrow, default)]
    id: Str<'a>,
    #[serde(borrow, default)]
    status: Str<'a>,
    #[serde(borrow, default)]
    output: RawRef<'a>,
    #[serde(borrow, default)]
    usage: RawRef<'a>,
    #[serde(borrow, default)]
    error: RawRef<'a>,
    #[serde(borrow, default)]
    incomplete_details: RawRef<'a>,
}

#[derive(Deserialize, Default)]
struct IncompleteDetails<'a> {
    #[serde(borrow, default)]
    reason: Str<'a>,
}

#[derive(Deserialize, Default)]
struct UsageBody {
    #[serde(default)]
    input_tokens: Num,
    #[serde(default)]
    output_tokens: Num,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}
#[derive(Deserialize, Default)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Num,
    #[serde(default)]
    cache_write_tokens: Num,
}
#[derive(Deserialize, Default)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: Num,
}

impl Decode {
    pub(super) fn new(fit: &Fit) -> Decode {
        let source = fit.source.clone();
        Decode {
            sse: Sse::new(),
            state: State {
                source,
                items: Vec::new(),
                next: 0,
                said: false,
                called: false,
                template: Template::new(),
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
        if !std::mem::replace(&mut self.state.over, true) {
            out.push(Delta::Error(ProviderError::new(ErrorKind::Stream, "stream closed before response.completed")));
        }
    }
}

impl Holds for Decode {
    fn held(&self) -> usize {
        0
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
        if let Some((place, text)) = self.template.read(raw.data) {
            return self.add(place, text, out);
        }
        let mut spare = Vec::new();
        let Some(event) = lenient::event::<Event>(raw.data, &mut spare) else {
            let odd = lenient::odd(&raw);
            self.over = matches!(odd, Delta::Error(_));
            return out.push(odd);
        };
        let kind = match event.kind.some() {
            Some(kind) => kind,
            None => std::str::from_utf8(raw.name).unwrap_or_default(),
        };
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => self.text(event, raw.data, out),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.args(event, raw.data, out)
            }
            "response.reasoning_summary_text.delta" => self.reasoning(event, false, raw.data, out),
            "response.reasoning_text.delta" => self.reasoning(event, true, raw.data, out),
            "response.output_item.added" => {
                if let Some(item) = event.item
                    && self.find(&event).is_none()
                {
                    self.open(event.output_index.0, &lenient::part(Some(item)), item, out);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.done(self.find(&event), event.output_index.0, item, out);
                }
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                self.begin(&lenient::part(event.response), out);
            }
            "response.completed"
            | "response.done"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                let body: ResponseBody = lenient::part(event.response);
                self.close(kind.trim_start_matches("response."), body, out);
            }
            _ if &*event.object == "response" => {
                let body: ResponseBody = serde_json::from_slice(raw.data).unwrap_or_default();
                self.begin(&body, out);
                let status = body.status.clone();
                self.close(&status, body, out);
            }
            _ if kind == "error" || event.error.is_some() || raw.whole => {
                self.over = true;
                out.push(Delta::Error(refusal::in_stream(&String::from_utf8_lossy(raw.data))));
            }
            _ => {}
        }
    }

    fn begin(&mut self, body: &ResponseBody, out: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.said, true)
            && let Some(id) = body.id.some()
        {
            out.push(Delta::Begin { id: id.to_owned() });
        }
    }

    /// The item of a delta: by place, else by id, else the last one. Ids change between events behind some proxies.
    fn find(&self, event: &Event) -> Option<usize> {
        match (event.output_index.0, event.item_id.some()) {
            (Some(index), _) => self.items.iter().rposition(|item| item.index == Some(index)),
            (None, Some(id)) => self.items.iter().rposition(|item| item.id == id),
            (None, None) if event.item.is_none() => self.items.iter().rposition(|item| !item.closed),
            (None, None) => {
                let body: ItemBody = lenient::part(event.item);
                self.items.iter().rposition(|item| !item.closed && Some(&*item.id) == body.id.some())
            }
        }
    }

    /// The item to write to; a server may have forgotten to announce it.
    fn target(&mut self, event: &Event, what: What, out: &mut Vec<Delta>) -> Option<usize> {
        if event.delta.is_empty() {
            return None;
        }
        let place = match self.find(event) {
            Some(place) => place,
            None => {
                let kind = match what {
                    What::Text => BlockKind::Text(String::new(), Phase::Final),
                    What::Reasoning => BlockKind::Reasoning(String::new()),
                    // Without its name it waits for `output_item.done`.
                    What::Call | What::Other => return None,
                };
                self.start(event.output_index.0, &event.item_id, what, kind, out)
            }
        };
        self.items.get(place).filter(|item| item.what == what).map(|_| place)
    }

    fn text(&mut self, event: Event, data: &[u8], out: &mut Vec<Delta>) {
        if let Some(place) = self.target(&event, What::Text, out) {
            self.learn(&event, place, data);
            self.add(place, event.delta, out);
        }
    }

    fn args(&mut self, event: Event, data: &[u8], out: &mut Vec<Delta>) {
        if let Some(place) = self.target(&event, What::Call, out) {
            self.learn(&event, place, data);
            self.add(place, event.delta, out);
        }
    }

    fn reasoning(&mut self, event: Event, full: bool, data: &[u8], out: &mut Vec<Delta>) {
        let Some(place) = self.target(&event, What::Reasoning, out) else {
            return;
        };
        let item = &mut self.items[place];
        if *item.full.get_or_insert(full) != full {
            return;
        }
        let part = if full { 0 } else { event.summary_index.or_zero() };
        if part > std::mem::replace(&mut item.part, part) && item.sent > 0 {
            self.add(place, Str(SEPARATOR.into()), out);
        }
        self.learn(&event, place, data);
        self.add(place, event.delta, out);
    }

    /// Events that differ from this one in their text only belong to the same item, if it is named.
    fn learn(&mut self, event: &Event, place: usize, data: &[u8]) {
        if event.output_index.0.is_some() || event.item_id.some().is_some() {
            self.template.learn(data, &event.delta, place);
        }
    }

    fn add(&mut self, place: usize, text: Str, out: &mut Vec<Delta>) {
        let Some(item) = self.items.get_mut(place).filter(|item| !item.closed && !text.is_empty()) else {
            return;
        };
        item.sent += text.len();
        let (at, text) = (item.at, text.0.into_owned());
        out.push(if item.what == What::Call { Delta::Args { at, text } } else { Delta::Text { at, text } });
    }

    fn start(&mut self, index: Option<u64>, id: &str, what: What, kind: BlockKind, out: &mut Vec<Delta>) -> usize {
        let at = self.next;
        self.next += 1;
        self.said = true;
        self.called |= what == What::Call;
        out.push(Delta::BlockStart { at, kind: kind.clone() });
        self.items.push(Item { index, id: id.to_owned(), at, what, kind, sent: 0, part: 0, full: None, closed: false });
        self.items.len() - 1
    }

    fn open(&mut self, index: Option<u64>, body: &ItemBody, raw: &RawValue, out: &mut Vec<Delta>) -> usize {
        let (what, kind) = kind_of(body, raw);
        self.start(index, &body.id, what, kind, out)
    }

    /// The item as the server closed it: its text counts where nothing, or less, was streamed.
    fn done(&mut self, place: Option<usize>, index: Option<u64>, raw: &RawValue, out: &mut Vec<Delta>) {
        let body: ItemBody = lenient::part(Some(raw));
        let place = match place {
            Some(place) => place,
            None => self.open(index, &body, raw, out),
        };
        let (what, kind) = kind_of(&body, raw);
        let Some(item) = self.items.get_mut(place).filter(|item| !item.closed && item.what == what) else {
            return;
        };
        item.closed = true;
        if item.kind != kind {
            // The name came late, or the server's own work has a result now.
            out.push(Delta::BlockStart { at: item.at, kind });
        }
        let (at, text) = (item.at, whole_text(&body, what, item.full));
        if let Some(rest) = text.get(item.sent..).filter(|rest| !rest.is_empty()) {
            let text = rest.to_owned();
            out.push(if what == What::Call { Delta::Args { at, text } } else { Delta::Text { at, text } });
        }
        let opaque = Opaque { scope: self.source.clone(), field: ITEM.to_owned(), value: lenient::raw(raw) };
        out.push(Delta::BlockEnd { at, opaque: vec![opaque] });
    }

    fn close(&mut self, status: &str, body: ResponseBody, out: &mut Vec<Delta>) {
        // Servers that stream nothing but the end, and bodies that are no stream.
        if self.items.iter().all(|item| !item.closed) {
            let output: Vec<&RawValue> = lenient::part(body.output);
            for (index, raw) in output.into_iter().enumerate() {
                let index = index as u64;
                self.done(self.items.iter().position(|item| item.index == Some(index)), Some(index), raw, out);
            }
        }
        if body.usage.is_some_and(|usage| usage.get() != "null") {
            let usage: UsageBody = lenient::part(body.usage);
            let (input, output) =
                (usage.input_tokens_details.unwrap_or_default(), usage.output_tokens_details.unwrap_or_default());
            out.push(Delta::Usage(Usage {
                input: usage.input_tokens.or_zero(),
                cached: input.cached_tokens.or_zero(),
                cache_write: input.cache_write_tokens.or_zero(),
                output: usage.output_tokens.or_zero(),
                reasoning: output.reasoning_tokens.or_zero(),
            }));
        }
        self.over = true;
        match status {
            "failed" | "cancelled" => {
                let error = match body.error.filter(|error| error.get() != "null") {
                    Some(error) => refusal::in_stream(error.get()),
                    None => ProviderError::new(ErrorKind::Server, format!("response {status}")),
                };
                out.push(Delta::Error(error));
            }
            "incomplete" => {
                let details: IncompleteDetails = lenient::part(body.incomplete_details);
                let reason = details.reason.some().unwrap_or("unknown");
                let (stop, kind) = match reason {
                    "max_output_tokens" => (Stop::Length, ErrorKind::Incomplete),
                    "content_filter" => (Stop::Filter, ErrorKind::Filter),
                    other => (Stop::Other(other.to_owned()), ErrorKind::Incomplete),
                };
                out.push(Delta::Stop(stop));
                let message = format!("Incomplete response returned, reason: {reason}");
                out.push(Delta::Error(ProviderError {
                    code: Some(reason.to_owned()),
                    ..ProviderError::new(kind, message)
                }));
            }
            _ => {
                let open = std::mem::take(&mut self.items).into_iter().filter(|item| !item.closed);
                ending::close(open.map(|item| item.at), None, self.called, out);
            }
        }
    }
}

/// Between the parts of a summary.
const SEPARATOR: &str = "\n\n";

fn kind_of(body: &ItemBody, raw: &RawValue) -> (What, BlockKind) {
    match &*body.kind {
        "message" => {
            let phase = if &*body.phase == "commentary" { Phase::Commentary } else { Phase::Final };
            (What::Text, BlockKind::Text(String::new(), phase))
        }
        "reasoning" => (What::Reasoning, BlockKind::Reasoning(String::new())),
        kind => match (call_form(kind), kind.strip_suffix("_call")) {
            (Some(form), _) => {
                let id = body.call_id.some().or(body.id.some()).unwrap_or_default();
                let call = Call {
                    id: CallId(id.to_owned()),
                    namespace: body.namespace.some().map(str::to_owned),
                    name: body.name.to_string(),
                    args: String::new(),
                    form,
                };
                (What::Call, BlockKind::Call(call))
            }
            (None, Some(name)) => (What::Other, BlockKind::Server { name: name.to_owned(), show: lenient::raw(raw) }),
            (None, None) => (What::Other, BlockKind::Unknown),
        },
    }
}

fn whole_text(body: &ItemBody, what: What, full: Option<bool>) -> String {
    let parts = |raw: RawRef, between: &str| {
        let said: Vec<Said> = lenient::part(raw);
        let texts: Vec<&str> = said.iter().filter_map(|part| part.text.some().or(part.refusal.some())).collect();
        texts.join(between)
    };
    match what {
        What::Text => match body.content.map(RawValue::get) {
            Some(text) if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
            _ => parts(body.content, ""),
        },
        What::Reasoning => {
            let summary = if full == Some(true) { String::new() } else { parts(body.summary, SEPARATOR) };
            if summary.is_empty() && full != Some(false) { parts(body.content, "") } else { summary }
        }
        What::Call if &*body.kind == "custom_tool_call" => body.input.to_string(),
        What::Call => body.arguments.0.to_string(),
        What::Other => String::new(),
    }
}
