//! One line of a thread's history. Append-only. Everything that a prompt depends on is an item, a setting or static data:
//! the same items give the same bytes.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    Answer, Call, CallId, Captured, Counts, Done, Entry, Exit, ItemId, Millis, Opaque, Opening, Part, Raw, Reply,
    Settings, Source, TaskId, TurnId, Usage,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    pub turn: TurnId,
    pub at: Millis,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// From the user, an app, a hook, a parent thread; `origin` says which.
    User { origin: Origin, parts: Vec<Part> },
    /// A model's reply, whole or cut short, as it came. `total`: usage of the thread up to and with it.
    Reply { reply: Reply, total: Usage },
    /// The harness's reading of the reply before, where it is not simply its native calls: calls found in text, or a
    /// reply that was not taken (`dropped`). Keeps `say` and resume from reading it a second time.
    Read { calls: Vec<Call>, dropped: bool, repaired: u32 },
    /// One call carried out: each Action of its program with its Outcome, and the answer in the dialect of the time.
    Called { call: CallId, did: Vec<Done>, answer: Answer },
    /// The call answered by the next item came to nothing before or in spite of its Actions: an unknown tool, arguments
    /// that cannot be read, a text that is not there. `note` is the line for people.
    Rejected { call: CallId, note: String },
    /// A look at the world that a harness wanted, frozen when first seen.
    Fact(Fact),
    /// Something that happened by itself.
    Notice(Notice),
    /// In force from here on.
    Settings(Box<Settings>),
    /// What was sent to the model, entry by entry; sent again as it stands while `dialect` and source are the same.
    Said {
        dialect: String,
        source: Source,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opening: Option<Opening>,
        entries: Vec<Entry>,
    },
    /// Items before `upto` leave the prompt; a new `Said` with an opening follows. Nothing is deleted from the file.
    /// `counts`: of the thread up to here, as `total`.
    Compacted {
        upto: ItemId,
        summary: String,
        total: Usage,
        #[serde(default)]
        counts: Counts,
    },
    /// Items from `to` on, up to this one, are taken back (files stay as they are). What they cost stays counted.
    Reverted { to: ItemId },
    /// An item of another program or wire (Codex's `response_item`, `thread/inject_items`), valid on its own wire only.
    Foreign(Opaque),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    User,
    App,
    Hook {
        event: String,
    },
    Parent,
    /// A nudge of the harness itself.
    Harness,
}

/// What a harness may ask to be looked up before a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// `YYYY-MM-DD`, local, and the time zone's IANA name.
    Date,
    /// Folder that `~` stands for.
    Home,
    /// `uname`: system, release, version, machine.
    System,
    /// The user's shell, as a name (`bash`).
    Shell,
    /// Branch, main branch, short status, recent commits; None outside a repository.
    Git,
    /// Entries of a folder. `respect_ignore`: without what .gitignore and its like name.
    Listing { path: PathBuf, depth: u8, limit: usize, respect_ignore: bool },
    /// Present versions of files, for reminders about changes on disk.
    Stamps(Vec<PathBuf>),
    /// Files that are there in another version than these. No fact where there is none.
    Changed(Vec<(PathBuf, crate::Stamp)>),
    /// Roots that commands may write, resolved; and what is protected in them.
    Roots,
    /// The whole SKILL.md of the skill with this name (one of `Context::skills`). No fact where there is none.
    Skill(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Date {
        date: String,
        zone: String,
    },
    Home(Option<PathBuf>),
    System {
        system: String,
        release: String,
        version: String,
        machine: String,
    },
    Shell(String),
    Git(Option<GitFact>),
    Listing {
        path: PathBuf,
        entries: Vec<String>,
        more: bool,
    },
    Stamps(Vec<(PathBuf, Option<crate::Stamp>)>),
    /// Their present versions and texts; None: no text, or more than 256 KiB of it.
    Changed(Vec<(PathBuf, crate::Stamp, Option<String>)>),
    Roots {
        #[serde(with = "crate::path_text::list")]
        writable: Vec<PathBuf>,
        slash_tmp: bool,
        tmpdir: bool,
        #[serde(with = "crate::path_text::list")]
        protected: Vec<PathBuf>,
    },
    Skill {
        name: String,
        #[serde(with = "crate::path_text")]
        file: PathBuf,
        text: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitFact {
    #[serde(with = "crate::path_text")]
    pub root: PathBuf,
    pub branch: Option<String>,
    pub main: Option<String>,
    pub status: String,
    pub commits: Vec<String>,
}

/// Something that happened without a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The user stopped the turn.
    Interrupted,
    TaskEnded {
        task: TaskId,
        command: String,
        exit: Exit,
        output: Captured,
    },
    AgentReported {
        id: String,
        text: String,
    },
    FileChanged {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
    },
    /// A hook has something to say to the model.
    HookContext {
        event: String,
        text: String,
    },
    /// The turn failed; what was said to the user.
    TurnFailed {
        message: String,
    },
    TurnEnded,
    /// A line for the user only (a warning of the runtime).
    Warning {
        message: String,
    },
    /// Data of a client, kept and not read.
    Client(RawText),
}

/// JSON text of a client. A plain string, so that notices stay comparable.
pub type RawText = String;

/// What a thread is asked to do by its clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Start a turn, or steer the one that runs.
    User {
        parts: Vec<Part>,
    },
    Interrupt,
    Decide {
        id: u64,
        decision: Decision,
    },
    Compact {
        hint: Option<String>,
    },
    Shutdown,
}

/// A client's answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Once,
    Session,
    /// And remember these first words as a rule.
    Prefix(Vec<String>),
    /// To questions: `{"answers": {ID: {"answers": [TEXT, ...]}}}`, as Codex has it.
    Answers(Raw),
    No {
        feedback: Option<String>,
    },
    /// No, and stop the turn.
    Cancel,
}
