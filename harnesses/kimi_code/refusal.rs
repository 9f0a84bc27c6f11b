//! What the model is told when an Action was refused, failed, or was stopped.
use protocol::{Failure, Outcome, Refusal};

use super::envelope::Said;

pub(super) const ENOENT: i32 = 2;
pub(super) const ENOTDIR: i32 = 20;
pub(super) const EISDIR: i32 = 21;

/// For an outcome that a tool has no words of its own for.
pub(super) fn said(tool: &str, outcome: &Outcome) -> Said {
    Said::failed(match outcome {
        Outcome::Refused(refusal) => refused(tool, refusal),
        Outcome::Failed(failure) => self::failure(failure),
        Outcome::Interrupted { .. } => interrupted(tool),
        _ => LOST.to_owned(),
    })
}

/// A call of which nothing is known any more.
pub(super) const LOST: &str =
    "Tool result is not available in the current context. Do not assume the tool completed successfully.";

pub(super) fn refused(tool: &str, refusal: &Refusal) -> String {
    let not_run = |why: &str| format!("Tool \"{tool}\" was not run because {why}");
    match refusal {
        Refusal::User { feedback: None } => not_run("the user rejected the approval request."),
        Refusal::User { feedback: Some(feedback) } => {
            not_run(&format!("the user rejected the approval request. Reason: {feedback}"))
        }
        Refusal::Cancelled => not_run("the approval request was cancelled."),
        Refusal::Rule(_) => format!("Tool \"{tool}\" was denied by permission policy."),
        Refusal::NobodyToAsk { escalation: true } => {
            not_run("it needs more than the sandbox allows, and nobody can be asked.")
        }
        Refusal::NobodyToAsk { escalation: false } => not_run("it needs an approval, and nobody can be asked."),
        Refusal::Hook { reason, .. } => format!("Tool \"{tool}\" was blocked by a hook. Reason: {reason}"),
        Refusal::PlanMode { file } => format!(
            "Plan mode is active. You may only write to the current plan file: {}. Call ExitPlanMode to exit plan mode before editing other files.",
            file.display()
        ),
        Refusal::Sandbox { path, read_only: true } => {
            format!("\"{}\" cannot be written: the sandbox is read-only.", path.display())
        }
        Refusal::Sandbox { path, read_only: false } => {
            format!("\"{}\" is outside of the folders that may be written.", path.display())
        }
        Refusal::Stale { path } => {
            format!("\"{}\" has changed since it was read. Read it again before you change it.", path.display())
        }
        Refusal::Depth => "subagent error: a subagent cannot start another one here.".to_owned(),
        Refusal::Limit(why) => format!("Tool \"{tool}\" failed: {why}"),
    }
}

pub(super) fn failure(failure: &Failure) -> String {
    match failure {
        Failure::Io { message, path, .. } => format!("{}: {}", path.display(), message.to_lowercase()),
        Failure::Spawn { message, .. } => format!("The command could not be started: {message}"),
        Failure::Sandbox(why) => format!("The sandbox could not be set up, and nothing was run: {why}"),
        Failure::NoSuchTask(task) => format!("Task not found: {}", task.0),
        Failure::NotAFile { path, .. } => format!("\"{}\" is not a file.", path.display()),
        Failure::TooLarge { path, bytes, limit } => {
            format!("\"{}\" is too large ({bytes} bytes; at most {limit}).", path.display())
        }
        Failure::NotText { .. } => "read failed: unrecognized filesystem error".to_owned(),
        Failure::BadImage { path, detected } => match detected {
            Some(what) => format!("\"{}\" is no image that can be shown (it is {what}).", path.display()),
            None => format!("\"{}\" is no image that can be shown.", path.display()),
        },
        Failure::Other(why) => why.clone(),
    }
}

/// The answer to a call that waited when the user stopped everything.
pub(super) fn interrupted(tool: &str) -> String {
    format!(
        "The user manually interrupted \"{tool}\" (and anything else running at the same time). This was a decision and not an error: do not retry it by yourself, and wait for what the user says next."
    )
}
