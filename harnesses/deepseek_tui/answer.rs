//! What a tool says at its end, and the words for what was refused, failed or was stopped.
use protocol::{Action, Answer, Failure, Outcome, Refusal};

/// What a tool does next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Do(Vec<Action>),
    Tell(Said),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) failed: bool,
}

impl Said {
    pub(super) fn ok(text: impl Into<String>) -> Said {
        Said { text: text.into(), failed: false }
    }
    /// A result that is none to be content with, without the mark of an error: a command's own failure.
    pub(super) fn bad(text: impl Into<String>) -> Said {
        Said { text: text.into(), failed: true }
    }
    pub(super) fn error(text: impl AsRef<str>) -> Said {
        Said::bad(format!("Error: {}", text.as_ref()))
    }
    pub(super) fn answer(self) -> Answer {
        if self.failed { Answer::failed(self.text) } else { Answer::plain(self.text) }
    }
}

impl Step {
    pub(super) fn one(action: Action) -> Step {
        Step::Do(vec![action])
    }
    pub(super) fn ok(text: impl Into<String>) -> Step {
        Step::Tell(Said::ok(text))
    }
    pub(super) fn error(text: impl AsRef<str>) -> Step {
        Step::Tell(Said::error(text))
    }
    pub(super) fn invalid(tool: &str, why: &str) -> Step {
        Step::error(super::args::invalid(tool, why))
    }
}

/// Of an outcome that a tool has no words of its own for. `doing`: what was tried, with its object (`read a.txt`).
pub(super) fn trouble(tool: &str, doing: &str, outcome: &Outcome) -> Step {
    Step::error(match outcome {
        Outcome::Refused(refusal) => refused(tool, refusal),
        Outcome::Failed(failure) => format!("Failed to {doing}: {}", failure_text(failure)),
        _ => stopped(tool),
    })
}

pub(super) fn stopped(tool: &str) -> String {
    format!("Tool '{tool}' was stopped by the user before it was done; what it did until then stands.")
}

pub(super) fn refused(tool: &str, refusal: &Refusal) -> String {
    let why = match refusal {
        Refusal::NobodyToAsk { escalation: false } => {
            return format!(
                "Tool '{tool}' is not available: nobody is there to answer in this run. Decide yourself and say what you assumed."
            );
        }
        Refusal::Depth => {
            return format!("Tool '{tool}' is not available: a sub-agent starts no agents here. Do the work yourself.");
        }
        Refusal::Limit(limit) => return format!("Tool '{tool}' is not available: {limit}"),
        Refusal::User { feedback: Some(feedback) } => format!("the user says: {feedback}"),
        Refusal::User { feedback: None } | Refusal::Cancelled => {
            "the user does not want it. Do not try it again in another way.".to_owned()
        }
        Refusal::NobodyToAsk { escalation: true } => {
            "it needs approval, and nobody can give it in this run.".to_owned()
        }
        Refusal::Rule(rule) => format!("a rule of the user's does not allow it ({rule})."),
        Refusal::Hook { event, reason, .. } => format!("a {event} hook does not allow it: {reason}"),
        Refusal::PlanMode { .. } => {
            "plan mode is on, and nothing is changed in it. Give the plan as your answer.".to_owned()
        }
        Refusal::Sandbox { path, read_only: true } => {
            format!("the sandbox of this session only reads, so {} was not written.", path.display())
        }
        Refusal::Sandbox { path, read_only: false } => {
            format!("{} lies outside of what the sandbox lets be written.", path.display())
        }
        Refusal::Stale { path } => format!("{} was changed meanwhile. Read it again.", path.display()),
    };
    format!("Tool '{tool}' was denied: {why}")
}

pub(super) fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::Io { message, errno, .. } => format!("{message} (os error {errno})"),
        Failure::Spawn { message, .. } | Failure::Sandbox(message) | Failure::Other(message) => message.clone(),
        Failure::NoSuchTask(_) => "no such task".to_owned(),
        Failure::NotAFile { kind: protocol::FileKind::Folder, .. } => "it is a folder".to_owned(),
        Failure::NotAFile { .. } => "it is no regular file".to_owned(),
        Failure::TooLarge { bytes, limit, .. } => {
            format!("{bytes} bytes are more than the {limit} that can be taken at once")
        }
        Failure::NotText { .. } => "it is no UTF-8 text".to_owned(),
        Failure::BadImage { .. } => "it is no image that can be read".to_owned(),
    }
}

pub(super) fn is_missing(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(Failure::Io { errno: 2, .. }))
}
