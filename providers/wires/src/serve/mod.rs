//! The server's side beyond the stream of events: whole answers, refusals in each wire's form, settings of one wire in the
//! terms of another, and payloads that must find their way back through a client that cannot read them.
mod chat;
mod envelope;
mod estimate;
mod messages;
mod outgoing;
mod responses;
mod settings;

pub(crate) use messages::message as error_message;

pub use envelope::unpack;
pub use estimate::estimate;
pub use outgoing::Outgoing;
use protocol::{ErrorKind, ProviderError, Reply, WireId};
pub use settings::{translate, unsupported};

use crate::Encoder;

/// How an answer is to look, beside what it says.
#[derive(Debug, Clone, Copy)]
pub struct Manner<'a> {
    /// The name that the client asked by.
    pub model: &'a str,
    /// Seconds since the Unix epoch.
    pub created: u64,
    /// Chat: end the stream with a chunk of usage, which has no choices. Many clients trip over one that they did not ask for.
    pub usage: bool,
}

/// A reply as a stream of events.
pub fn encoder(wire: WireId, manner: &Manner) -> Box<dyn Encoder> {
    match wire {
        WireId::Chat => crate::chat::encoder(manner),
        WireId::Messages => crate::messages::encoder(manner),
        WireId::Responses => crate::responses::encoder(manner),
    }
}

/// A reply as one JSON object, for a client that does not stream.
pub fn whole(wire: WireId, reply: &Reply, manner: &Manner) -> Vec<u8> {
    match wire {
        WireId::Chat => chat::whole(reply, manner),
        WireId::Messages => messages::whole(reply, manner),
        WireId::Responses => responses::whole(reply, manner),
    }
}

/// A failure before anything was said: status and body.
pub fn refusal(wire: WireId, error: &ProviderError) -> (u16, Vec<u8>) {
    let status = error.status.filter(|status| (400..600).contains(status)).unwrap_or_else(|| status(wire, error.kind));
    let body = match wire {
        WireId::Messages => messages::error(error),
        WireId::Chat | WireId::Responses => chat::error(error),
    };
    (status, body)
}

fn status(wire: WireId, kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::Auth => 401,
        ErrorKind::NotFound => 404,
        ErrorKind::BadRequest | ErrorKind::ContextLength | ErrorKind::Filter => 400,
        ErrorKind::RateLimit | ErrorKind::Quota => 429,
        // Anthropic's own number for it.
        ErrorKind::Overloaded if wire == WireId::Messages => 529,
        ErrorKind::Overloaded => 503,
        ErrorKind::Server => 500,
        ErrorKind::Idle => 504,
        ErrorKind::Transport | ErrorKind::Stream | ErrorKind::Incomplete => 502,
    }
}
