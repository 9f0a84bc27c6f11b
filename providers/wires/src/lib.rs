//! The three wire APIs, in both directions: bytes to Deltas and Prompt to bytes for clients, the reverse for the demo, tests
//! and the gateway. Pure: no I/O, no clock.
//!
//! A request is `head`, then the frozen bytes of each entry joined by commas, then `tail`. What is frozen is never made
//! again, so a request extends the one before it by construction, and no step does work that grows with the thread.
mod asked;
mod bounds;
mod calls;
pub mod chat;
mod collector;
mod ending;
mod json;
mod lenient;
pub mod messages;
mod parts;
mod refusal;
pub mod responses;
pub mod serve;
pub mod sse;
mod stream;
mod template;

use bytes::Bytes;
pub use collector::{Collector, deltas_of};
use protocol::{Delta, Entry, Fit, OwnedPrompt, Prompt, ProviderError, Tune, WireId};

/// One wire API.
pub trait Wire: Send + Sync {
    fn id(&self) -> WireId;
    /// Below the provider's base URL: `/responses`, `/chat/completions`, `/v1/messages`.
    fn path(&self) -> &'static str;
    /// The request up to its list of entries: model, settings, tools, system text. Depends on opening, tune, and tools that
    /// were added later (`Entry::Tools`, where the wire has no item for them).
    fn head(&self, prompt: &Prompt, fit: &Fit) -> Vec<u8>;
    /// One entry, as it stands in this and every later request: no, one or several JSON values joined by commas.
    fn freeze(&self, entry: &Entry, fit: &Fit) -> Vec<u8>;
    /// The entry as the newest of a request, where that differs from its frozen form (cache marks).
    fn newest(&self, entry: &Entry, tune: &Tune, fit: &Fit) -> Option<Vec<u8>>;
    /// What closes the list and the request: fields that change from turn to turn (`Tune.extras`) stand here.
    fn tail(&self, tune: &Tune, fit: &Fit) -> Vec<u8>;
    fn decoder(&self, fit: &Fit) -> Box<dyn Decoder>;
    /// An answer that is not 200.
    fn refusal(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError;
    /// Server side: what a client asks.
    fn parse_request(&self, body: &[u8]) -> Result<Asked, ProviderError>;
    /// Server side: a reply as a stream of events.
    fn encoder(&self, model: &str) -> Box<dyn Encoder>;
}

/// The wire of this name.
pub fn wire(id: WireId) -> &'static dyn Wire {
    match id {
        WireId::Responses => &responses::Responses,
        WireId::Chat => &chat::Chat,
        WireId::Messages => &messages::Messages,
    }
}

/// A request as a server sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub model: String,
    pub stream: bool,
    /// Chat: `stream_options.include_usage`; on the other wires usage is part of every stream.
    pub usage: bool,
    pub prompt: OwnedPrompt,
}

/// Bytes of a stream, cut anywhere, to Deltas. The result does not depend on the cuts. Never panics.
pub trait Decoder: Send {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Delta>);
    /// The connection has ended; says so where the wire's end marker is missing.
    fn end(&mut self, out: &mut Vec<Delta>);
}

pub trait Encoder: Send {
    fn push(&mut self, delta: &Delta, out: &mut Vec<u8>);
}

/// The body of a request in pieces that are shared, not copied.
pub fn assemble(wire: &dyn Wire, prompt: &Prompt, frozen: &[Bytes], fit: &Fit) -> Vec<Bytes> {
    const COMMA: Bytes = Bytes::from_static(b",");
    let mut body = vec![Bytes::from(wire.head(prompt, fit))];
    let newest = prompt.said.last().and_then(|entry| wire.newest(entry, prompt.tune, fit)).map(Bytes::from);
    let plain = frozen.len() - usize::from(newest.is_some()).min(frozen.len());
    for piece in frozen[..plain].iter().chain(&newest).filter(|piece| !piece.is_empty()) {
        let opens = body.last().and_then(|b| b.last()).is_some_and(|&b| b == b'[');
        if !opens {
            body.push(COMMA);
        }
        body.push(piece.clone());
    }
    body.push(Bytes::from(wire.tail(prompt.tune, fit)));
    body
}
