//! A reply in the making, and how a provider says no.
use serde::{Deserialize, Serialize};

use crate::{BlockKind, Millis, Opaque, Stop, Usage};

/// A piece of a streamed reply. `at` is the block's place in the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// The server's id of the reply; at most once, first.
    Begin {
        id: String,
    },
    /// `kind` carries the fixed parts (a call's id, name, form) and no text yet. Again for an open block: its fixed parts,
    /// brought up to date (an id that came late, what a server's own work found); the text so far stays.
    BlockStart {
        at: u32,
        kind: BlockKind,
    },
    /// Text, or reasoning, by the kind of its block.
    Text {
        at: u32,
        text: String,
    },
    /// Arguments of a call.
    Args {
        at: u32,
        text: String,
    },
    /// The block is whole. On Responses `opaque` holds the item as the server closed it.
    BlockEnd {
        at: u32,
        opaque: Vec<Opaque>,
    },
    /// So far; a later one replaces an earlier one.
    Usage(Usage),
    Stop(Stop),
    /// Odd but not fatal; for the user.
    Warning(String),
    /// The stream is over and has failed.
    Error(ProviderError),
}

/// A provider's refusal or failure, as far as the bytes tell. `providers` adds who and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderError {
    pub kind: ErrorKind,
    pub status: Option<u16>,
    /// The provider's own code or type (`insufficient_quota`).
    pub code: Option<String>,
    /// The provider's own words; for a body without any, the body.
    pub message: String,
    /// The whole body, where the failure came as one.
    pub body: Option<String>,
    pub retry_after: Option<Millis>,
}

impl ProviderError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ProviderError {
        ProviderError { kind, status: None, code: None, message: message.into(), body: None, retry_after: None }
    }
}

impl std::fmt::Display for ProviderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Key missing, wrong, or not allowed to do this.
    Auth,
    /// No such model, or no such address.
    NotFound,
    BadRequest,
    ContextLength,
    RateLimit,
    /// Paid for no more; waiting does not help.
    Quota,
    Overloaded,
    Server,
    /// The connection could not be made or broke.
    Transport,
    /// No data for too long.
    Idle,
    /// The stream ended without its end marker, or is not what the wire says.
    Stream,
    /// The server ended the reply early and says why (`response.incomplete`).
    Incomplete,
    Filter,
}

impl ErrorKind {
    /// Whether asking again can succeed.
    pub fn retryable(self) -> bool {
        use ErrorKind::*;
        matches!(self, RateLimit | Overloaded | Server | Transport | Idle | Stream)
    }
}
