//! What the model is told when an Action was refused, failed, or was stopped.
use protocol::{Answer, Failure, Refusal};

use super::cut::plain;

pub(super) const ENOENT: i32 = 2;
pub(super) const ENOTDIR: i32 = 20;
pub(super) const EISDIR: i32 = 21;

/// A call whose end nobody saw: stopped by the user, or by a crash.
pub(super) fn unrecorded() -> Answer {
    plain(
        "",
        "Tool execution result was not recorded — likely interrupted by network failure, abort, or process exit. Treat as failure and retry if needed.",
    )
}

pub(super) fn refused(tool: &str, refusal: &Refusal) -> Answer {
    let declined = format!("Qwen Code requires permission to use \"{tool}\", but that permission was declined.");
    let text = match refusal {
        Refusal::User { feedback: None } => "[Operation Cancelled] Reason: User did not allow tool call".to_owned(),
        Refusal::User { feedback: Some(feedback) } => {
            format!("[Operation Cancelled] Reason: User did not allow tool call. The user says: {feedback}")
        }
        Refusal::Cancelled => return unrecorded(),
        Refusal::NobodyToAsk { .. } => declined,
        Refusal::Rule(rule) => format!("{declined} Matching deny rule: \"{rule}\"."),
        Refusal::Sandbox { path, read_only } => {
            let why = if *read_only { "nothing may be written" } else { "it is outside of what may be written" };
            format!("{declined} The sandbox does not let {} be written: {why}.", path.display())
        }
        Refusal::Hook { event, reason, .. } => format!("Tool \"{tool}\" was blocked by a {event} hook: {reason}"),
        Refusal::PlanMode { .. } if tool == "run_shell_command" => {
            "Plan mode blocked this shell command because it was classified as state-modifying. Look around with commands that only read, and present the plan before anything is changed.".to_owned()
        }
        Refusal::PlanMode { .. } => format!(
            "Tool blocked by plan mode: \"{tool}\" is not a read-only tool. Explore with tools that only read, and present the plan before anything is changed."
        ),
        Refusal::Stale { path } => format!(
            "File {} has been modified since you last read it (mtime or size changed). Re-read it with the read_file tool before editing it to ensure your changes are based on current content.",
            path.display()
        ),
        Refusal::Depth => "Sub-agents may not start further sub-agents here.".to_owned(),
        Refusal::Limit(text) => text.clone(),
    };
    plain(tool, text)
}

/// A failure of the machine, as Node words it: the original is a JavaScript program.
pub(super) fn failure(failure: &Failure) -> String {
    match failure {
        Failure::Io { path, errno, message } => {
            format!("{}, open '{}'", node_error(*errno, message), path.display())
        }
        Failure::Spawn { errno: ENOENT, .. } => "spawn bash ENOENT".to_owned(),
        Failure::Spawn { errno, message } => format!("spawn bash: {}", node_error(*errno, message)),
        Failure::Sandbox(text) | Failure::Other(text) => text.clone(),
        Failure::NoSuchTask(task) => format!("Task not found: {}", task.0),
        Failure::NotAFile { path, .. } => format!("Not a regular file: {}", path.display()),
        Failure::TooLarge { path, bytes, limit } => {
            format!("File is too large: {} has {bytes} bytes, {limit} is the most.", path.display())
        }
        Failure::NotText { path, at, .. } => format!("{} is not UTF-8 text (byte {at}).", path.display()),
        Failure::BadImage { path, .. } => format!("{} is not an image that can be read.", path.display()),
    }
}

/// `EACCES: permission denied`.
pub(super) fn node_error(errno: i32, message: &str) -> String {
    let (name, text) = match errno {
        1 => ("EPERM", "operation not permitted"),
        ENOENT => ("ENOENT", "no such file or directory"),
        13 => ("EACCES", "permission denied"),
        17 => ("EEXIST", "file already exists"),
        ENOTDIR => ("ENOTDIR", "not a directory"),
        EISDIR => ("EISDIR", "illegal operation on a directory"),
        28 => ("ENOSPC", "no space left on device"),
        30 => ("EROFS", "read-only file system"),
        36 => ("ENAMETOOLONG", "name too long"),
        40 => ("ELOOP", "too many symbolic links encountered"),
        _ => return message.to_owned(),
    };
    format!("{name}: {text}")
}
