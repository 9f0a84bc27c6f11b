//! What the model is told when an Action was refused, failed, or was stopped.
use protocol::{Answer, Failure, Outcome, Refusal};

use crate::claude_code_bare::refusal::{ENOENT, node_error};

/// The answer to a call that was stopped.
pub(super) const ABORTED: &str = "Tool execution aborted";
const REJECTED: &str = "The user rejected permission to use this specific tool call";

/// For every outcome that a tool has no words of its own for.
pub(super) fn told(outcome: &Outcome) -> Answer {
    Answer::failed(match outcome {
        Outcome::Refused(refusal) => refused(refusal),
        Outcome::Failed(failure) => failed(failure),
        _ => ABORTED.to_owned(),
    })
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::User { feedback: Some(feedback) } => format!("{REJECTED} with the following feedback: {feedback}"),
        Refusal::User { feedback: None } | Refusal::Cancelled | Refusal::NobodyToAsk { .. } => format!("{REJECTED}."),
        Refusal::Rule(rule) => format!("A rule of the user's does not allow this tool call: {rule}"),
        Refusal::Hook { event, reason, .. } => format!("A {event} hook stopped this tool call: {reason}"),
        Refusal::PlanMode { file } => {
            format!("Plan mode is on: nothing may be changed but the plan in {}.", file.display())
        }
        Refusal::Sandbox { path, read_only: true } => {
            format!("{} was not written: this session may only read.", path.display())
        }
        Refusal::Sandbox { path, read_only: false } => {
            format!("{} was not written: it is outside of the folders that this session may write.", path.display())
        }
        Refusal::Stale { path } => {
            format!(
                "File {} has been modified since it was last read. Read it again before changing it.",
                path.display()
            )
        }
        Refusal::Depth => "This agent may not start agents of its own.".to_owned(),
        Refusal::Limit(text) => text.clone(),
    }
}

/// The original's file layer names the kind of error and its own function.
pub(super) fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Io { path, errno: ENOENT, .. } => format!("NotFound: FileSystem.readFile ({})", path.display()),
        Failure::Io { path, errno, message } => format!("{}, open '{}'", node_error(*errno, message), path.display()),
        Failure::Spawn { errno, message } => format!("{}, posix_spawn '/bin/bash'", node_error(*errno, message)),
        Failure::Sandbox(text) | Failure::Other(text) => text.clone(),
        Failure::NoSuchTask(task) => format!("There is no background task {}.", task.0),
        Failure::NotAFile { path, .. } => format!("BadResource: FileSystem.readFile ({})", path.display()),
        Failure::TooLarge { path, bytes, limit } => {
            format!("{} holds {bytes} bytes, more than the {limit} that can be taken at once.", path.display())
        }
        Failure::NotText { path, .. } => format!("Cannot read binary file: {}", path.display()),
        Failure::BadImage { path, .. } => format!("{} is not an image that can be read.", path.display()),
    }
}
