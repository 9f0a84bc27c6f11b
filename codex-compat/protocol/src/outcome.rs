//! What came of an Action, in enough detail that every dialect can say it in its own words.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Action, Blob, Captured, Millis, Raw, TaskId, Usage};

/// An Action with its Outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub action: Action,
    pub outcome: Outcome,
    pub took: Millis,
    pub at: Millis,
    /// Drawn once by the runtime; dialects make their ids (`bash-{ID8}`, chunk ids, cell ids) from it.
    pub tag: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A command ended, was ended, or goes on as `task`.
    Ran {
        output: Captured,
        exit: Exit,
        #[serde(default, with = "crate::path_text::option")]
        cwd_after: Option<PathBuf>,
        task: Option<TaskId>,
        /// Processes of the command are left behind (a background child that holds the pipe).
        left: bool,
    },
    /// Bytes as UTF-8, BOM cut, line ends as they are (views and LF matching are the dialect's).
    Text {
        text: String,
        form: TextForm,
        stamp: Stamp,
    },
    Media {
        blob: Blob,
        original: Option<(u32, u32)>,
        shown: Option<(u32, u32)>,
        stamp: Stamp,
    },
    /// `ReadAs::Stat`.
    Stat {
        kind: FileKind,
        stamp: Stamp,
        /// The path itself is a symbolic link, and this is what it leads to: absolute, free of links. `kind` and `stamp` are of that.
        #[serde(default, with = "crate::path_text::option", skip_serializing_if = "Option::is_none")]
        link: Option<PathBuf>,
    },
    Paths(Found),
    Matches(Found),
    Changed(Vec<ChangeDone>),
    Fetched(Page),
    Saved {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        chars: u64,
        bytes: u64,
    },
    Tasks(Vec<TaskInfo>),
    Answers(Raw),
    PlanDecided {
        approved: bool,
        feedback: Option<String>,
        file: Option<PathBuf>,
    },
    Skill {
        #[serde(with = "crate::path_text")]
        dir: PathBuf,
        body: String,
        /// `arguments` of its front matter: names that stand for the words of the arguments, in order, for placeholders such
        /// as `$branch` or `${branch}`. Empty where it names none; `$ARGUMENTS`, `$0` and `$1` are the dialect's own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
        /// `argument-hint` of its front matter, for display: `[issue] [branch]`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    Mcp {
        content: Raw,
        structured: Option<Raw>,
        error: bool,
    },
    Agent {
        id: String,
        text: String,
        usage: Usage,
        #[serde(default)]
        work: AgentWork,
    },
    Queried {
        text: String,
        usage: Usage,
    },
    Counted {
        tokens: u64,
        exact: bool,
    },
    Ok,
    Refused(Refusal),
    Failed(Failure),
    /// The user stopped it.
    Interrupted {
        output: Option<Captured>,
    },
}

/// What a sub-agent did for its report, as the one that started it may be told. Nothing while it is still at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentWork {
    /// Calls that it made.
    pub calls: u64,
    /// Names of the tools that it used with success, each once, in alphabetical order.
    pub tools: Vec<String>,
    /// Tokens of its last request and the reply to it.
    pub context: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It goes on (see `task`).
    Running,
    /// Ended by us after the timeout.
    TimedOut(Millis),
    /// Stopped on request.
    Stopped,
}

impl Exit {
    /// The shell's number for it: the code, or 128 + signal. None while it runs.
    pub fn code(&self) -> Option<i32> {
        match self {
            Exit::Code(code) => Some(*code),
            Exit::Signal(signal) => Some(128 + signal),
            Exit::Running => None,
            Exit::TimedOut(_) => Some(124),
            Exit::Stopped => Some(137),
        }
    }
}

/// Identity of a file's version: what an edit was matched against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub len: u64,
    /// Nanoseconds since the epoch, as a decimal text would lose nothing; files before 1970 count as 0.
    pub mtime_ns: u64,
    /// Hash of the content; equal content is the same version whatever the time says. Empty where content was not read.
    pub hash: String,
}

/// How a text file is written, so that it can be written again the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextForm {
    pub bom: bool,
    pub eol: Eol,
    /// `text` says all that the bytes do: they were UTF-8, or well-formed UTF-16 behind its mark. Where not, `text` is lossy and
    /// a `Change` by splices is refused.
    pub utf8: bool,
    /// What the bytes are; `text` and the ranges of splices are UTF-8 whatever it is.
    #[serde(default, skip_serializing_if = "Encoding::is_utf8")]
    pub encoding: Encoding,
}

/// UTF-8 without BOM, with bare line feeds.
impl Default for TextForm {
    fn default() -> TextForm {
        TextForm { bom: false, eol: Eol::Lf, utf8: true, encoding: Encoding::Utf8 }
    }
}

/// UTF-16 is known by its byte order mark, and never without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    fn is_utf8(&self) -> bool {
        *self == Encoding::Utf8
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eol {
    /// Also a file without line ends.
    Lf,
    Crlf,
    Mixed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    #[default]
    File,
    Folder,
    /// Device, socket, pipe.
    Special,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// There are more than the limit.
    pub more: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    #[serde(with = "crate::path_text")]
    pub path: PathBuf,
    /// Of what a link leads to; a link that leads nowhere counts as special.
    pub kind: FileKind,
    pub mtime_ns: u64,
    /// The entry itself is a symbolic link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_link: bool,
    /// Line number and text, context lines marked; empty for path results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u64, String, bool)>,
    /// With `Search::binary`: it matches and has a NUL byte around this offset; `lines` are those found before the NUL was. As in
    /// ripgrep, a file that is the `root` is searched beyond it, to its first match ("binary file matches"); one that is met on
    /// the way only up to it ("WARNING: stopped searching binary file after match"), and not at all where it comes in the
    /// first 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeDone {
    /// Absolute.
    #[serde(with = "crate::path_text")]
    pub path: PathBuf,
    #[serde(default, with = "crate::path_text::option")]
    pub to: Option<PathBuf>,
    pub kind: ChangeKind,
    /// Unified diff for display; empty where nothing differs or the content is not text.
    pub diff: String,
    pub stamp: Option<Stamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Add,
    Delete,
    Update,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub url: String,
    pub status: u16,
    pub mime: String,
    pub text: String,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInfo {
    pub task: TaskId,
    pub command: String,
    pub exit: Exit,
    pub started: Millis,
    /// The process at its top, as the host sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The file that all its output goes to as it is written, both streams in the order written; absolute, readable by the
    /// sandboxed model, there after the end too. It holds the first 64 MiB, and says at its end where that was not all. None:
    /// no such file could be made.
    #[serde(default, with = "crate::path_text::option", skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

/// Why nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    User {
        feedback: Option<String>,
    },
    Cancelled,
    /// It needs asking, and the approval policy is `never` or no client can answer.
    NobodyToAsk {
        escalation: bool,
    },
    Rule(String),
    Hook {
        event: String,
        command: String,
        reason: String,
        by_json: bool,
    },
    PlanMode {
        file: PathBuf,
    },
    /// Outside of what the sandbox lets be written. `read_only`: nothing may be.
    Sandbox {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        read_only: bool,
    },
    /// The file is not the version that the change was made for.
    Stale {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
    },
    Depth,
    Limit(String),
}

/// Why it did not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// An error of the operating system. `message` as `strerror` has it, without the number.
    Io {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        errno: i32,
        message: String,
    },
    /// The command could not be started.
    Spawn {
        errno: i32,
        message: String,
    },
    /// The sandbox could not be set up; nothing was run.
    Sandbox(String),
    NoSuchTask(TaskId),
    /// A folder, device or pipe where a file is needed.
    NotAFile {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        kind: FileKind,
    },
    TooLarge {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        bytes: u64,
        limit: u64,
    },
    /// Not UTF-8, from this byte on; `len` bytes are wrong (0: the text ends in the middle of a character).
    NotText {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        at: u64,
        len: u64,
    },
    /// Not an image that we can decode, or of another kind than its name says.
    BadImage {
        #[serde(with = "crate::path_text")]
        path: PathBuf,
        detected: Option<String>,
    },
    Other(String),
}
