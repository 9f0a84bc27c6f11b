//! What the model is told when an Action was refused, failed, or was stopped. The original asks nobody and has no sandbox, so refusals
//! are ours; failures are Node's words.
use protocol::{Answer, Failure, Outcome, Refusal};

use crate::claude_code_bare::refusal::node_error;

/// The answer to a call that was stopped.
pub(super) const ABORTED: &str = "Operation aborted";

/// For every outcome that a tool has no words of its own for.
pub(crate) fn told(outcome: &Outcome) -> Answer {
    Answer::failed(match outcome {
        Outcome::Refused(refusal) => refused(refusal),
        Outcome::Failed(failure) => failed(failure),
        _ => ABORTED.to_owned(),
    })
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::User { feedback: Some(feedback) } => {
            format!("The user did not allow this. What they said: {feedback}")
        }
        Refusal::User { feedback: None } | Refusal::Cancelled => "The user did not allow this.".to_owned(),
        Refusal::NobodyToAsk { .. } => "This needs the user's approval, and nobody can be asked.".to_owned(),
        Refusal::Rule(rule) => format!("A rule of the user's does not allow this: {rule}"),
        Refusal::Hook { event, reason, .. } => format!("A {event} hook stopped this: {reason}"),
        Refusal::PlanMode { file } => {
            format!("Plan mode is on: nothing may be changed but the plan in {}.", file.display())
        }
        Refusal::Sandbox { path, read_only: true } => {
            format!("EROFS: read-only file system, open '{}'", path.display())
        }
        Refusal::Sandbox { path, read_only: false } => format!("EACCES: permission denied, open '{}'", path.display()),
        Refusal::Stale { path } => {
            format!("{} was changed by somebody else at the same time. Read it again.", path.display())
        }
        Refusal::Depth => "No further agents can be started here.".to_owned(),
        Refusal::Limit(text) => text.clone(),
    }
}

fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Io { path, errno, message } => format!("{}, open '{}'", node_error(*errno, message), path.display()),
        Failure::Spawn { errno, message } => format!("{}, spawn /bin/bash", node_error(*errno, message)),
        Failure::Sandbox(text) | Failure::Other(text) => text.clone(),
        Failure::NoSuchTask(task) => format!("There is no background task {}.", task.0),
        Failure::NotAFile { .. } => "EISDIR: illegal operation on a directory, read".to_owned(),
        Failure::TooLarge { path, bytes, limit } => {
            format!("{} holds {bytes} bytes, more than the {limit} that can be taken at once.", path.display())
        }
        Failure::NotText { path, .. } => format!("{} is not UTF-8 text.", path.display()),
        Failure::BadImage { path, .. } => format!("{} is not an image that can be read.", path.display()),
    }
}
