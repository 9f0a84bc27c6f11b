//! A model's reply as it came: blocks in order, opaque payloads beside them, usage, and why it stopped.
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{CallId, Raw, ReplyId, WireId};

/// Where a reply came from. Opaque payloads go back to the same source only.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    pub provider: String,
    pub wire: WireId,
    pub model: String,
}

/// A reply, whole or cut short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub id: ReplyId,
    pub from: Source,
    pub blocks: Vec<Block>,
    pub stop: Stop,
    pub usage: Usage,
}

impl Reply {
    /// All text of the reply, in order, without reasoning.
    pub fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|b| match &b.kind {
                BlockKind::Text(t, _) => Some(t.as_str()),
                _ => None,
            })
            .collect()
    }
    /// The call that the output limit cut off, if it did: the last block, where its arguments are not whole. It is never run.
    pub fn torn(&self) -> Option<&Call> {
        let BlockKind::Call(call) = &self.blocks.last().filter(|_| self.stop == Stop::Length)?.kind else {
            return None;
        };
        let whole = match call.form {
            // Before the first character of its arguments it looks like a call without any.
            CallForm::Function => call.args.trim() != "{}" && serde_json::from_str::<IgnoredAny>(&call.args).is_ok(),
            // Free text does not tell.
            CallForm::Custom | CallForm::InText => false,
        };
        (!whole).then_some(call)
    }
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|b| match &b.kind {
            BlockKind::Call(c) => Some(c),
            _ => None,
        })
    }
}

/// One block, in the order received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub kind: BlockKind,
    /// Signatures, encrypted reasoning, whole items of the server: never read by us, sent back where they are valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<Opaque>,
}

impl Block {
    pub fn text(text: impl Into<String>) -> Block {
        Block { kind: BlockKind::Text(text.into(), Phase::Final), opaque: Vec::new() }
    }
    pub fn call(call: Call) -> Block {
        Block { kind: BlockKind::Call(call), opaque: Vec::new() }
    }
    /// A harness's words for reasoning that is not there, for servers that take no call without any. The wire knows whether there
    /// is some, and the field; without such a block it sends words of its own, and only where the server is known to need them
    /// ([`Quirks::reasoning_required`](crate::Quirks::reasoning_required)). Chat; other wires leave it out.
    pub fn no_reasoning(source: Source, words: impl Into<String>) -> Block {
        let opaque = Opaque { scope: source, field: Opaque::NO_REASONING.to_owned(), value: Raw::null() };
        Block { kind: BlockKind::Reasoning(words.into()), opaque: vec![opaque] }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    Text(String, Phase),
    /// Readable reasoning; empty where the server keeps it to itself. The parts of a Responses summary are joined by a blank line.
    Reasoning(String),
    Call(Call),
    /// Something that the server did by itself (a web search, say); its content is opaque. `show` is what a client may display.
    Server {
        name: String,
        show: Raw,
    },
    /// A block of a kind that we do not know.
    Unknown,
}

/// Codex's models mark what they say between calls as commentary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Commentary,
    #[default]
    Final,
}

/// A payload that only its source understands. `field` is the name of the field that it came in and goes back in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    pub scope: Source,
    pub field: String,
    pub value: Raw,
}

impl Opaque {
    /// The field of [`Block::no_reasoning`]; no server has it.
    pub const NO_REASONING: &str = "(no reasoning)";
}

/// A call as the model wrote it; never corrected in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    /// JSON text for a function, free text for a custom tool.
    pub args: String,
    pub form: CallForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallForm {
    Function,
    Custom,
    /// Written in the text of the reply and found there by the harness.
    InText,
}

/// Why a reply ended, whatever the wire calls it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done (or, on chat, called tools: the calls decide, not the reason).
    #[default]
    End,
    Calls,
    /// The output limit was hit.
    Length,
    Filter,
    /// We cut it off: an interrupt or a lost connection.
    Cut,
    Other(String),
}

/// Tokens of one request, or of a thread when added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: u64,
    /// Read from the cache; part of `input`.
    pub cached: u64,
    /// Written to the cache; part of `input`.
    pub cache_write: u64,
    /// All output tokens, reasoning included.
    pub output: u64,
    /// Part of `output`.
    pub reasoning: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input + self.output
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input += other.input;
        self.cached += other.cached;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}
