//! What is said to a model, before any wire. Entries are shaped so that a wrong order cannot be written.
use std::sync::Arc;

use base64::Engine as _;
use serde::{Deserialize, Serialize};

use crate::{Block, CallId, Opaque, Raw, WireId};

/// One request. `opening` and `said` are frozen; a request extends the one before it.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    pub opening: &'a Opening,
    pub said: &'a [Entry],
    pub tune: &'a Tune,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnedPrompt {
    pub opening: Opening,
    pub said: Vec<Entry>,
    pub tune: Tune,
}

impl OwnedPrompt {
    pub fn borrow(&self) -> Prompt<'_> {
        Prompt { opening: &self.opening, said: &self.said, tune: &self.tune }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    pub instructions: Vec<(Speaker, Content)>,
    pub tools: Vec<Tool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    System,
    Developer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// In mid-conversation; a wire or server without it gets a user message.
    Instruct(Speaker, Content),
    User(Content),
    /// The echo: names, arguments and ids as this dialect sends them back.
    Assistant(Vec<Block>),
    /// The answers to all calls of the entry before, and what is said in the same breath. `before` (Codex's hook contexts)
    /// goes between calls and answers on `responses`, behind the answers elsewhere.
    Results {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<(Speaker, Content)>,
        results: Vec<CallResult>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after: Vec<Part>,
    },
    /// Tools offered from here on: appended to the list, or an item of their own where the wire has one.
    Tools(Vec<Tool>),
    /// An item of another program, valid on its own wire only.
    Foreign(Opaque),
}

/// The answer to one call. `custom`: the call was one of a free-form tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub call: CallId,
    pub name: String,
    pub custom: bool,
    pub answer: Answer,
}

/// An answer in the dialect of the time. `error`: absent, or said either way (dialects differ).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<bool>,
    /// Said after all answers of the reply, in the same message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Part>,
}

impl Answer {
    pub fn plain(text: impl Into<String>) -> Answer {
        Answer { content: Content::Plain(text.into()), error: None, after: Vec::new() }
    }
    pub fn failed(text: impl Into<String>) -> Answer {
        Answer { error: Some(true), ..Answer::plain(text) }
    }
}

/// A string and a list of one text part are different bytes; the harness chooses, the wire keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Plain(String),
    Parts(Vec<Part>),
}

impl Content {
    /// All text, parts joined by line feeds.
    pub fn text(&self) -> String {
        match self {
            Content::Plain(text) => text.clone(),
            Content::Parts(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
                texts.join("\n")
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    Image { blob: Blob, detail: Option<String> },
    Document(Blob),
    Audio(Blob),
    Video(Blob),
    ToolReference(String),
    Foreign(Opaque),
}

impl Part {
    pub fn text(text: impl Into<String>) -> Part {
        Part::Text(text.into())
    }
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Part::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Bytes with a type. In session files only name, type and size stand; the bytes lie beside the file and are put back on reading.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Hash of the content, and its file name in the session's blob folder. Given by whoever made the blob.
    pub id: String,
    pub mime: String,
    pub len: u64,
    /// The file that it was read from, as the user named it; dialects show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip)]
    pub data: Option<Arc<[u8]>>,
}

impl Blob {
    pub fn new(id: impl Into<String>, mime: impl Into<String>, data: impl Into<Arc<[u8]>>) -> Blob {
        let data = data.into();
        Blob { id: id.into(), mime: mime.into(), len: data.len() as u64, name: None, data: Some(data) }
    }
    pub fn base64(&self) -> Option<String> {
        Some(base64::engine::general_purpose::STANDARD.encode(self.data.as_deref()?))
    }
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Blob({} {} {} bytes{})",
            self.id,
            self.mime,
            self.len,
            if self.data.is_some() { "" } else { ", elsewhere" }
        )
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    pub description: String,
    pub kind: ToolKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// JSON Schema of the parameters, as raw text: key order is bytes.
    Function(Raw),
    /// Free-form input. `fallback`: the schema of the function form, for wires and servers without custom tools.
    Custom { grammar: Option<Grammar>, fallback: Raw },
    /// A tool that the server performs: the whole entry of its wire.
    Server { wire: WireId, entry: Raw },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grammar {
    /// `lark` or `regex`.
    pub syntax: String,
    pub definition: String,
}

/// How to answer: sampling, reasoning, limits. A wire drops what it has no field for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tune {
    pub max_output: Option<u64>,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub reasoning: ReasoningAsk,
    /// `parallel_tool_calls`; None leaves the field out.
    pub parallel: Option<bool>,
    /// Send `tool_choice: "auto"` (Codex does; others leave it out).
    pub choose_tools: bool,
    /// JSON Schema of the answer, with its name.
    pub schema: Option<(String, Raw)>,
    pub verbosity: Option<String>,
    pub cache_key: Option<String>,
    pub marks: Marks,
    /// Fields of the original for one wire; dropped elsewhere. Never tools, roles or content.
    pub extras: Vec<(WireId, String, Raw)>,
    pub headers: Vec<(WireId, String, String)>,
}

/// What is asked of the model's reasoning, before any provider's field names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReasoningAsk {
    /// None: do not mention it.
    pub effort: Option<String>,
    /// `auto`, `concise`, `detailed`; None: do not ask for one.
    pub summary: Option<String>,
    /// Tokens to think with (Messages' `budget_tokens`).
    pub budget: Option<u64>,
    /// Thinking on or off where that is a switch; None: not mentioned.
    pub enabled: Option<bool>,
    /// Messages' adaptive thinking.
    pub adaptive: bool,
}

/// Where cache marks go on wires that have them (Messages): the n-th instruction block, the newest message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// Indices into `Opening.instructions`.
    pub instructions: Vec<usize>,
    pub tools: bool,
    /// The last content block of the newest entry.
    pub last: bool,
}
