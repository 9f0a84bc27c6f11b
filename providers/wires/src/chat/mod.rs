//! OpenAI Chat Completions, and what its many servers make of it: reasoning in four fields or in tags, calls in pieces of
//! every kind, ends without an end. Reasoning goes back in the field that it came in.
mod chunk;
mod decode;
mod details;
mod encode;
mod parse;
mod request;
mod think;

use protocol::{Entry, Fit, Prompt, ProviderError, Tune, WireId};

pub(crate) use encode::{finish_reason, names, tokens as usage};

use crate::{Asked, Decoder, Encoder, Wire, bounds, serve::Manner};

pub struct Chat;

/// Fields of [`protocol::Opaque`] on this wire. Of the string fields the value is null: the text is the block's.
pub mod field {
    pub const REASONING_CONTENT: &str = "reasoning_content";
    pub const REASONING: &str = "reasoning";
    pub const THINKING: &str = "thinking";
    /// OpenRouter, MiniMax: a list, its pieces merged.
    pub const REASONING_DETAILS: &str = "reasoning_details";
    /// Reasoning came between `<think>` tags in the content; the value is the white space behind the closing tag.
    pub const THINK_TAGS: &str = "<think>";
    /// Mistral: reasoning came as an element of a list-typed content.
    pub const THINKING_PART: &str = "content.thinking";
    /// Gemini: signature of a call or a text.
    pub const EXTRA_CONTENT: &str = "extra_content";
}

pub(crate) fn encoder(manner: &Manner) -> Box<dyn Encoder> {
    Box::new(encode::Encode::new(manner))
}

impl Wire for Chat {
    fn id(&self) -> WireId {
        WireId::Chat
    }
    fn path(&self) -> &'static str {
        "/chat/completions"
    }
    fn head(&self, prompt: &Prompt, fit: &Fit) -> Vec<u8> {
        request::head(prompt, fit)
    }
    fn freeze(&self, entry: &Entry, fit: &Fit) -> Vec<u8> {
        request::freeze(entry, fit)
    }
    fn newest(&self, _entry: &Entry, _tune: &Tune, _fit: &Fit) -> Option<Vec<u8>> {
        None
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
