//! Anthropic Messages, also as other vendors serve it. Thinking goes back with its signature, blocks of the server whole.
mod decode;
mod encode;
mod parse;
mod request;

use protocol::{Entry, Fit, Prompt, ProviderError, Tune, WireId};

pub(crate) use encode::{error_type, stop_reason, tokens};

use crate::{Asked, Decoder, Encoder, Wire, bounds, serve::Manner};

pub struct Messages;

/// Fields of [`protocol::Opaque`] on this wire.
pub mod field {
    /// Of thinking; a string, empty where the server gave none.
    pub const SIGNATURE: &str = "signature";
    /// A whole block: hidden thinking, or something that the server did by itself.
    pub const BLOCK: &str = "block";
}

pub(crate) fn encoder(manner: &Manner) -> Box<dyn Encoder> {
    Box::new(encode::Encode::new(manner))
}

impl Wire for Messages {
    fn id(&self) -> WireId {
        WireId::Messages
    }
    fn path(&self) -> &'static str {
        "/v1/messages"
    }
    fn head(&self, prompt: &Prompt, fit: &Fit) -> Vec<u8> {
        request::head(prompt, fit)
    }
    fn freeze(&self, entry: &Entry, fit: &Fit) -> Vec<u8> {
        request::freeze(entry, fit)
    }
    fn newest(&self, entry: &Entry, tune: &Tune, fit: &Fit) -> Option<Vec<u8>> {
        request::newest(entry, tune, fit)
    }
    fn tail(&self, tune: &Tune, fit: &Fit) -> Vec<u8> {
        request::tail(tune, fit)
    }
    fn decoder(&self, fit: &Fit) -> Box<dyn Decoder> {
        Box::new(bounds::Bounded::new(decode::Decode::new(fit)))
    }
    fn refusal(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        crate::refusal::refusal(status, headers, body)
    }
    fn parse_request(&self, body: &[u8]) -> Result<Asked, ProviderError> {
        parse::request(body)
    }
    fn encoder(&self, model: &str) -> Box<dyn Encoder> {
        encoder(&Manner { model, created: 0, usage: true })
    }
}
