//! What the program can do: a closed set in two halves. `World` touches the machine, behind gate and sandbox; `Session`
//! touches the thread. Policy, approvals, events, hooks and session files know these only, never a dialect.
use std::{ops::Range, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{CallId, Millis, OwnedPrompt, Part, Raw, Stamp, TaskId, TextForm};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    World(World),
    Session(Session),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    Run(Run),
    /// Bytes for a running task's terminal or pipe (none: just look), then wait for output.
    Stdin {
        task: TaskId,
        bytes: Vec<u8>,
        wait: Millis,
    },
    Task(TaskOp),
    Read {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        what: ReadAs,
    },
    List {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        depth: u8,
        limit: usize,
    },
    Glob(Search),
    Grep(Search),
    /// All or none. Covers write, edit, patch, delete, move, undo: matching is done by the pure caller.
    Change(Vec<Change>),
    /// A page. HTML becomes markdown if asked for; other text comes as it is.
    Fetch {
        url: String,
        max_bytes: u64,
        markdown: bool,
    },
    /// Keeps a long text in the session's folder; the Outcome names the path, which the model may read.
    Save {
        text: String,
        hint: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    Plan {
        steps: Vec<PlanStep>,
        explanation: Option<String>,
    },
    /// Plan mode that the user chose ends by an approved plan only.
    Mode(crate::Mode),
    Ask {
        questions: Vec<Question>,
        background: bool,
    },
    /// Put before the user; approved, plan mode is over.
    ProposePlan {
        text: Option<String>,
    },
    /// Its instructions: what follows the front matter of its SKILL.md. Placeholders for `args` are filled in by the dialect.
    Skill {
        name: String,
        args: String,
    },
    LoadTools(Vec<String>),
    Mcp {
        server: String,
        tool: String,
        args: Raw,
    },
    McpResource(Raw),
    /// A tool that the client (an SDK app, an editor) offers and performs.
    Client {
        tool: String,
        args: Raw,
    },
    /// A sub-agent with a task of its own. `background`: go on, its report comes as a notice. `resume`: an earlier one goes on.
    Spawn {
        kind: String,
        description: String,
        prompt: String,
        model: Option<String>,
        background: bool,
        resume: Option<String>,
    },
    Agent {
        id: String,
        op: String,
        message: Option<String>,
    },
    WebSearch(String),
    /// A side request without tools, by the model of that role (`compaction`, `side`, ...).
    Query {
        role: String,
        prompt: Box<OwnedPrompt>,
    },
    /// The provider's own count, or an estimate that says so.
    CountTokens(Vec<Part>),
}

/// One command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Text for the shell.
    pub script: String,
    pub shell: Shell,
    /// None: the thread's. Relative: below it.
    #[serde(default, with = "crate::path_text::option")]
    pub cwd: Option<PathBuf>,
    pub tty: bool,
    /// Hand back the command as a running task after this long. None: wait for its end or the timeout.
    pub yield_after: Option<Millis>,
    pub timeout: Option<Millis>,
    pub on_timeout: OnTimeout,
    /// Start it as a background task and return at once.
    pub background: bool,
    /// Ask to run outside the sandbox, and why.
    pub escalate: Option<Escalation>,
    /// Set beside what the environment policy lets through.
    pub env: Vec<(String, String)>,
    /// Report where the shell ended up (`Outcome::Ran.cwd_after`), where the script came to its end with status 0.
    pub track_cwd: bool,
    /// Bytes of output to hold in memory; beyond it the middle is dropped. Codex: 1 MiB.
    pub keep: u64,
    /// Give stderr a pipe of its own, so that [`Captured::streams`](crate::Captured::streams) knows it from stdout. The order of
    /// the two is then the one in which they are read. Terminals and kept shells have one stream all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}

impl Run {
    /// A command as most dialects run it: pipes, one MiB of output, `bash -c`.
    pub fn new(script: impl Into<String>) -> Run {
        Run {
            script: script.into(),
            shell: Shell::Fresh { program: None, login: false },
            cwd: None,
            tty: false,
            yield_after: None,
            timeout: None,
            on_timeout: OnTimeout::Kill,
            background: false,
            escalate: None,
            env: Vec::new(),
            track_cwd: false,
            keep: 1 << 20,
            apart: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// A new shell: `program -c script` or `-lc`. None: the user's shell where it is bash, zsh or sh, else `/bin/bash`, else `/bin/sh`.
    Fresh { program: Option<String>, login: bool },
    /// As `Fresh`, with the shell that Codex takes for a name such as `bash` or `/opt/bin/zsh`: the user's where it is of that
    /// kind, else the one on PATH, else `/bin/sh`.
    Named { name: String, login: bool },
    /// A shell that lives on under this name (SWE-agent).
    Kept(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    Kill,
    /// It goes on as a background task.
    Background,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    pub justification: Option<String>,
    /// Words that a rule for the future may start with.
    pub prefix: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOp {
    List,
    /// Output since the last look, after at most `wait` for news.
    Output {
        task: TaskId,
        wait: Millis,
    },
    Stop {
        task: TaskId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAs {
    /// The whole file as text, up to `max_bytes` (beyond it: `Failure::TooLarge`). Ranges of lines are the dialect's.
    Text { max_bytes: u64 },
    /// An image, scaled down to fit `max_side` pixels where given; one of more than `max_bytes` is made a JPEG that fits.
    /// None keeps the original bytes.
    Image {
        max_side: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_bytes: Option<u64>,
    },
    /// A document (PDF) as bytes.
    Document { max_bytes: u64 },
    /// Presence, kind and stamp only, and where a link leads.
    Stat,
}

/// A glob or a content search below `root`; the fields that do not apply are at their defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Search {
    #[serde(with = "crate::path_text")]
    pub root: PathBuf,
    pub pattern: String,
    /// `!` in front excludes; of several that match the last one decides.
    pub globs: Vec<String>,
    /// Take `globs`, and the `pattern` of a glob, as `rg --glob` takes its own: what one of them names is found even if it is hidden
    /// or ignored, `.git` is a folder as any other, and a glob names nothing but what it matches (`src` or `src/*` do not take
    /// `src/b/c.py`; `src/**` does, unless a rule leaves out the folder and no glob names it). A `/` in front ties a glob to
    /// `glob_base`. In a content search `ignore_case` is then for the pattern only, as `rg -i` is. Else they choose among what
    /// the rules let through, and naming a folder takes what is in it.
    pub overrides: bool,
    /// With `overrides`: the folder that globs with a `/` in them start from, as ripgrep's do from its working folder. None: `root`.
    #[serde(with = "crate::path_text::option", skip_serializing_if = "Option::is_none")]
    pub glob_base: Option<PathBuf>,
    pub types: Vec<String>,
    pub ignore_case: bool,
    pub multiline: bool,
    pub literal: bool,
    pub before: usize,
    pub after: usize,
    /// Skip what .gitignore names.
    pub respect_ignore: bool,
    pub hidden: bool,
    /// A glob finds folders too.
    pub folders: bool,
    /// A content search tells of binary files that match (`Hit::binary`). Else they are passed over.
    pub binary: bool,
    pub limit: usize,
}

/// A change of one path. A list of them is done whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Absolute, or below the thread's cwd.
    #[serde(with = "crate::path_text")]
    pub path: PathBuf,
    /// Move there.
    pub to: Option<PathBuf>,
    pub new: New,
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum New {
    /// The whole text. `like`: give it this form (BOM, line ends), else write the bytes as they are.
    Whole {
        text: String,
        like: Option<TextForm>,
    },
    /// Byte ranges of `Outcome::Text.text` of the version in `expect`, ascending and disjoint, with their new text
    /// (written as it is, line ends included). All else stays as it is, by construction.
    Splices(Vec<(Range<u64>, String)>),
    /// Content stays (a pure move).
    Same,
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    Anything,
    Absent,
    Exists,
    Unchanged(Stamp),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub step: String,
    pub status: PlanStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub id: String,
    pub header: String,
    pub question: String,
    pub options: Vec<(String, String)>,
    pub multi: bool,
}

/// One call's place in a reply, for clients and hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRef {
    pub id: CallId,
    pub name: String,
}
