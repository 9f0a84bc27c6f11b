//! What the model is told when an Action was refused, failed, or was stopped.
use protocol::{Failure, Outcome, Refusal};

use super::result::Said;

const REJECTED: &str = "The tool call is rejected by the user.";
pub(super) const INTERRUPTED: &str = "The tool call was interrupted by the user.";

/// `doing`: a sentence that says what did not work.
pub(super) fn not_done(doing: &str, seen: &Outcome) -> Said {
    match seen {
        Outcome::Refused(refusal) => refused(refusal),
        Outcome::Failed(failure) => Said::failed(format!("{doing} Error: {}", failed(failure))),
        _ => Said::failed(INTERRUPTED),
    }
}

pub(super) fn refused(refusal: &Refusal) -> Said {
    Said::failed(match refusal {
        Refusal::User { feedback: Some(feedback) } => format!("{REJECTED} User feedback: {feedback}"),
        Refusal::User { feedback: None } | Refusal::Cancelled => {
            format!("{REJECTED} Stop what you are doing and wait for the user to tell you how to proceed.")
        }
        Refusal::NobodyToAsk { .. } => "This needs an approval, and nobody is there to give it.".to_owned(),
        Refusal::Rule(rule) => format!("A rule of the user does not allow this: {rule}"),
        Refusal::Hook { reason, .. } => reason.clone(),
        Refusal::PlanMode { file } => {
            format!("Plan mode is active. You may only edit the current plan file: `{}`.", file.display())
        }
        Refusal::Sandbox { path, .. } => format!(
            "The sandbox does not allow writing `{}`. Error: [Errno 13] Permission denied: '{}'",
            path.display(),
            path.display()
        ),
        Refusal::Stale { path } => {
            format!("`{}` was changed by someone else in the meantime. Read it again.", path.display())
        }
        Refusal::Depth => "Sub-agents may not start further sub-agents here.".to_owned(),
        Refusal::Limit(text) => text.clone(),
    })
}

/// As Python words it.
pub(super) fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Io { path, errno, message } => format!("[Errno {errno}] {message}: '{}'", path.display()),
        Failure::Spawn { errno, message } => format!("[Errno {errno}] {message}"),
        Failure::Sandbox(text) | Failure::Other(text) => text.clone(),
        Failure::NoSuchTask(task) => format!("Task not found: {}", task.0),
        Failure::NotAFile { path, .. } => format!("[Errno 21] Is a directory: '{}'", path.display()),
        Failure::TooLarge { path, bytes, limit } => {
            format!("`{}` is too large: {bytes} bytes, at most {limit}", path.display())
        }
        Failure::NotText { path, at, .. } => format!("`{}` is not UTF-8 text (byte {at})", path.display()),
        Failure::BadImage { path, .. } => format!("`{}` is not an image that can be read", path.display()),
    }
}
