//! What the model is told when an Action was refused, failed, or was stopped.
use protocol::{Answer, Failure, Refusal};

use super::{args::wrap, edit::MODIFIED};

/// What a call wanted, as far as a refusal names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    Run(&'a str),
    Read(&'a str),
    Write(&'a str),
    /// A tool from outside, by name.
    Use(&'a str),
}

impl Wanted<'_> {
    fn tool(&self) -> &str {
        match self {
            Wanted::Run(_) => "Bash",
            Wanted::Read(_) => "Read",
            Wanted::Write(_) => "Edit",
            Wanted::Use(name) => name,
        }
    }
}

/// The answer to a call that the user stopped or refused.
pub(crate) const REJECTED: &str = "The user doesn't want to proceed with this tool use. It was not carried out (a change of a file, if this was one, was NOT written). Stop here and wait for the user to say how to go on.";
const REJECTED_SAYING: &str = "The user doesn't want to proceed with this tool use. It was not carried out (a change of a file, if this was one, was NOT written). To tell you how to proceed, the user said:\n";

pub(crate) fn refused(wanted: Wanted, refusal: &Refusal) -> Answer {
    let not_granted = || match wanted {
        Wanted::Run(_) => "This command requires approval".to_owned(),
        Wanted::Read(path) => {
            format!("Claude requested permissions to read from {path}, but you haven't granted it yet.")
        }
        Wanted::Write(path) => {
            format!("Claude requested permissions to write to {path}, but you haven't granted it yet.")
        }
        Wanted::Use(name) => format!("Claude requested permissions to use {name}, but you haven't granted it yet."),
    };
    let text = match refusal {
        Refusal::User { feedback: Some(feedback) } => format!("{REJECTED_SAYING}{feedback}"),
        Refusal::User { feedback: None } | Refusal::Cancelled => REJECTED.to_owned(),
        Refusal::NobodyToAsk { .. } | Refusal::Sandbox { .. } => not_granted(),
        Refusal::Rule(_) => match wanted {
            Wanted::Run(command) => format!("Permission to use Bash with command {command} has been denied."),
            Wanted::Read(_) | Wanted::Write(_) => {
                wrap("File is in a directory that is denied by your permission settings.")
            }
            Wanted::Use(name) => format!("Permission to use {name} has been denied."),
        },
        Refusal::Hook { event, command, reason, by_json } => {
            let tool = wanted.tool();
            match by_json {
                true => format!("{event}:{tool} hook error: {reason}"),
                false => format!("{event}:{tool} hook error: [{command}]: {reason}"),
            }
        }
        Refusal::PlanMode { .. } => match wanted {
            Wanted::Write(path) => format!("Cannot write to {path} while in plan mode."),
            _ => format!("Cannot use {} for this while in plan mode.", wanted.tool()),
        },
        Refusal::Stale { .. } => wrap(MODIFIED),
        Refusal::Depth => "Sub-agents may not start further sub-agents here.".to_owned(),
        Refusal::Limit(text) => text.clone(),
    };
    Answer::failed(text)
}

/// A failure of the machine, as Node words it: the original is a JavaScript program.
pub(crate) fn failed(wanted: Wanted, failure: &Failure) -> Answer {
    let text = match failure {
        Failure::Io { path, errno, message } => {
            let call = if matches!(wanted, Wanted::Run(_)) { "spawn" } else { "open" };
            format!("{}, {call} '{}'", node_error(*errno, message), path.display())
        }
        Failure::Spawn { errno, message } => format!("Exit code 126\n{}, spawn", node_error(*errno, message)),
        Failure::Sandbox(text) => format!("Exit code 1\n{text}"),
        Failure::NoSuchTask(task) => wrap(&format!("No task found with ID: {}", task.0)),
        Failure::NotAFile { path, .. } => {
            format!("EISDIR: illegal operation on a directory, read '{}'", path.display())
        }
        Failure::TooLarge { bytes, limit, .. } => {
            format!("File content ({}) exceeds maximum allowed size ({}).", size(*bytes), size(*limit))
        }
        Failure::NotText { path, at, .. } => format!("{} is not UTF-8 text (byte {at}).", path.display()),
        Failure::BadImage { path, .. } => format!("{} is not an image that can be read.", path.display()),
        Failure::Other(text) => text.clone(),
    };
    Answer::failed(text)
}

pub(crate) const ENOENT: i32 = 2;
pub(crate) const ENOTDIR: i32 = 20;
pub(crate) const EISDIR: i32 = 21;
pub(crate) const ELOOP: i32 = 40;

/// `EACCES: permission denied`.
pub(crate) fn node_error(errno: i32, message: &str) -> String {
    let (name, text) = match errno {
        1 => ("EPERM", "operation not permitted"),
        ENOENT => ("ENOENT", "no such file or directory"),
        13 => ("EACCES", "permission denied"),
        17 => ("EEXIST", "file already exists"),
        ENOTDIR => ("ENOTDIR", "not a directory"),
        EISDIR => ("EISDIR", "illegal operation on a directory"),
        24 => ("EMFILE", "too many open files"),
        28 => ("ENOSPC", "no space left on device"),
        30 => ("EROFS", "read-only file system"),
        36 => ("ENAMETOOLONG", "name too long"),
        ELOOP => ("ELOOP", "too many symbolic links encountered"),
        _ => return message.to_owned(),
    };
    format!("{name}: {text}")
}

/// `532.1KB`, `293KB`, `1.5MB`: one decimal unless whole.
pub(crate) fn size(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1024 => return format!("{bytes} bytes"),
        1024..0x10_0000 => (bytes as f64 / 1024.0, "KB"),
        0x10_0000..0x4000_0000 => (bytes as f64 / 1_048_576.0, "MB"),
        _ => (bytes as f64 / 1_073_741_824.0, "GB"),
    };
    // A half is rounded up, as JavaScript does.
    let text = format!("{:.1}", (value * 10.0).round() / 10.0);
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}
