//! An observation: what came of an action, in the template of the form, with a limit of characters.
use protocol::{Answer, Failure, Refusal};

use super::Form;
use super::record::State;
use crate::Context;

/// Characters (Unicode scalar values) of an observation, from `max_observation_length`.
const LIMIT: usize = 100_000;
const NOTHING: &str = "Your command ran successfully and did not produce any output.";

pub(super) fn observed(cx: &Context, text: &str, state: &State) -> Answer {
    elided(cx, text, 0, state)
}

/// `omitted`: characters that were not even held.
pub(super) fn elided(cx: &Context, text: &str, omitted: usize, state: &State) -> Answer {
    if let Some((head, left_out)) = head(text, LIMIT) {
        let left_out = left_out + omitted;
        return Answer::plain(format!(
            "Observation: {head}<response clipped><NOTE>At most {LIMIT} characters of an observation are shown; {left_out} characters were elided. Run a command that prints less, or pipe it into head, tail or grep, or send its output into a file and look at parts of that. Use no interactive pager.</NOTE>"
        ));
    }
    let nothing = text.trim().is_empty();
    let shown = if nothing { NOTHING } else { text };
    Answer::plain(match Form::of(cx) {
        Form::Tools if nothing => shown.to_owned(),
        Form::Tools => format!("OBSERVATION:\n{shown}"),
        Form::Classic | Form::Text => format!("{shown}\n{}", state_lines(state)),
    })
}

/// What stands behind each observation of the classic forms.
pub(super) fn state_lines(state: &State) -> String {
    let open = state.open.as_ref().map_or_else(|| "n/a".to_owned(), |open| open.display().to_string());
    format!("(Open file: {open})\n(Current directory: {})\nbash-$", state.cwd.display())
}

/// The first `limit` characters, and how many follow; None where nothing follows.
pub(super) fn head(text: &str, limit: usize) -> Option<(&str, usize)> {
    if text.len() <= limit {
        return None;
    }
    let (at, _) = text.char_indices().nth(limit)?;
    Some((&text[..at], text[at..].chars().count()))
}

/// A refusal, as one line.
pub(super) fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::User { feedback: Some(feedback) } => format!("The user rejected this action and said: {feedback}"),
        Refusal::User { feedback: None } | Refusal::Cancelled => "The user rejected this action.".to_owned(),
        Refusal::NobodyToAsk { .. } => "Not allowed: this needs an approval, and nobody can be asked.".to_owned(),
        Refusal::Rule(rule) => format!("Not allowed by a rule of the user: {rule}"),
        Refusal::Hook { reason, .. } => format!("Not allowed by a hook of the user: {reason}"),
        Refusal::PlanMode { file } => {
            format!("Not allowed while planning: only the plan file {} may be written.", file.display())
        }
        Refusal::Sandbox { path, .. } => format!("[Errno 13] Permission denied: '{}'", path.display()),
        Refusal::Stale { path } => format!("{} changed in the meantime. View it again.", path.display()),
        Refusal::Depth => "Not allowed here: too many agents below each other.".to_owned(),
        Refusal::Limit(text) => text.clone(),
    }
}

/// A failure of the machine, as Python words it: the original is written in it.
pub(super) fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Io { path, errno, message } => format!("[Errno {errno}] {message}: '{}'", path.display()),
        Failure::Spawn { errno, message } => format!("bash: [Errno {errno}] {message}"),
        Failure::Sandbox(text) | Failure::Other(text) => text.clone(),
        Failure::NoSuchTask(task) => format!("no task {}", task.0),
        Failure::NotAFile { path, .. } => format!("[Errno 21] Is a directory: '{}'", path.display()),
        Failure::TooLarge { path, bytes, limit } => {
            format!("'{}' has {bytes} bytes; {limit} can be read", path.display())
        }
        Failure::NotText { path, at, .. } => {
            format!("UnicodeDecodeError 'utf-8' codec can't decode byte in position {at}: '{}'", path.display())
        }
        Failure::BadImage { path, .. } => format!("'{}' is no image that can be read", path.display()),
    }
}
