//! OpenAI Responses. Fields, roles and item forms as Codex 0.171.0 sends them; an item of the same source goes back byte
//! for byte as the server closed it.
mod decode;
mod encode;
mod parse;
mod request;

use protocol::{Entry, Fit, Prompt, ProviderError, Tune, WireId};

pub(crate) use encode::whole;

use crate::{Asked, Decoder, Encoder, Wire, bounds, serve::Manner};

pub struct Responses;

/// The field of an [`protocol::Opaque`] that holds a whole item.
pub const ITEM: &str = "item";
/// The field of a reasoning item that only its server can read.
pub(crate) const ENCRYPTED: &str = "encrypted_content";

pub(crate) fn encoder(manner: &Manner) -> Box<dyn Encoder> {
    Box::new(encode::Encode::new(manner))
}

impl Wire for Responses {
    fn id(&self) -> WireId {
        WireId::Responses
    }
    fn path(&self) -> &'static str {
        "/responses"
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

/// Kinds of items and events that make a call of the model, and whether its input is free text.
fn call_form(item: &str) -> Option<protocol::CallForm> {
    match item {
        "function_call" => Some(protocol::CallForm::Function),
        "custom_tool_call" => Some(protocol::CallForm::Custom),
        _ => None,
    }
}
