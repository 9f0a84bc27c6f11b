//! What a thread tells its clients, in one order. Items follow Actions, never the names of calls.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ChangeKind, Counts, ErrorKind, Millis, PlanStep, Raw, Settings, ThreadId, TurnId, Usage};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    ThreadStarted {
        thread: ThreadId,
        settings: Box<Settings>,
        resumed: bool,
    },
    /// A warning of start-up, configuration or runtime; not fatal.
    Warning {
        message: String,
    },
    /// What the user can do about a failure that follows; for people, not for scripts.
    Hint {
        message: String,
    },
    TurnStarted {
        turn: TurnId,
    },
    /// Text of an item that is being made; TUI and app-server show it, exec does not.
    TextDelta {
        item: u64,
        text: String,
    },
    ReasoningDelta {
        item: u64,
        text: String,
    },
    OutputDelta {
        item: u64,
        text: String,
    },
    ItemStarted(View),
    ItemUpdated(View),
    ItemCompleted(View),
    /// A call that came to nothing before any Action (unknown tool, bad arguments, refused): for stderr.
    CallRejected {
        tool: String,
        message: String,
    },
    /// Asked again after a failure of the stream: attempt `k` of `n`.
    Retrying {
        k: u32,
        n: u32,
        cause: String,
        wait: Millis,
    },
    ApprovalAsked {
        id: u64,
        ask: Ask,
    },
    ApprovalDone {
        id: u64,
    },
    /// Tokens of the last request, of the thread so far, and the window.
    Tokens {
        last: Usage,
        total: Usage,
        window: u64,
    },
    /// Calls of the thread so far; before a turn's end is told.
    Counted(Counts),
    Compacted {
        summary: String,
    },
    TurnCompleted {
        turn: TurnId,
        total: Usage,
        last_message: Option<String>,
    },
    TurnFailed {
        turn: TurnId,
        error: TurnError,
        total: Usage,
    },
    TurnInterrupted {
        turn: TurnId,
    },
    /// The thread is over; nothing follows.
    Closed,
}

/// Why a turn failed. `message` is the line for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    pub message: String,
    pub cause: TurnCause,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnCause {
    Provider(ErrorKind),
    /// `--max-steps`, `--max-time`, `--max-tokens`: the name of the limit.
    Limit(String),
    /// Compaction cannot make room.
    Context,
    /// The session file cannot be written, say.
    Internal,
}

/// An item as clients see it. `key` is one number per item and process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    pub key: u64,
    pub kind: ViewKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViewKind {
    Message { text: String },
    Reasoning { text: String },
    Command { command: String, cwd: PathBuf, output: String, exit_code: Option<i32>, status: Status, took: Millis },
    FileChange { changes: Vec<FileView>, status: Status },
    Mcp { server: String, tool: String, args: Raw, result: Option<Raw>, error: Option<String>, status: Status },
    WebSearch { id: String, query: String, action: Raw },
    Todo { steps: Vec<PlanStep>, explanation: Option<String> },
    Error { message: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileView {
    /// Absolute; of a move, the old one.
    pub path: PathBuf,
    pub to: Option<PathBuf>,
    pub kind: ChangeKind,
    pub diff: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    InProgress,
    Completed,
    Failed,
    Declined,
}

/// What a client is asked to allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    Command {
        command: String,
        cwd: PathBuf,
        reason: Option<String>,
        prefix: Vec<String>,
        outside_sandbox: bool,
    },
    Change {
        changes: Vec<FileView>,
        reason: Option<String>,
    },
    /// A page from the network.
    Fetch {
        url: String,
    },
    /// The plan that the agent worked out in plan mode; `Decision::Once` ends that mode.
    Plan {
        text: Option<String>,
        file: PathBuf,
    },
    /// Answered with `Decision::Answers`.
    Questions {
        questions: Vec<crate::Question>,
    },
}
