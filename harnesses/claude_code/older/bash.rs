//! What Bash of the older versions says of a command that has ended.
use protocol::{Action, Answer, Captured, Done, Exit, Outcome, World};

use super::generation::Generation;
use super::shared::args::Bash;
use super::shared::bash::{self, SHOWN, chars, duration, middle_cut, succeeded, trim};
use super::shared::record::{self, Record};
use crate::{Context, Next};

pub(in super::super) fn next(generation: Generation, cx: &Context, bash: &Bash, record: &Record, did: &[Done]) -> Next {
    let Some(Done { outcome: Outcome::Ran { output, exit, cwd_after, .. }, .. }) = did.first() else {
        return Next::Answer(bash::answer(cx, bash, record, did));
    };
    if !succeeded(bash, exit) {
        let text = match generation {
            Generation::V1_0 => failure(output, exit),
            _ => bash::failure(output, exit, false),
        };
        return Next::Answer(Answer::failed(text));
    }
    let long = chars(&output.text) > SHOWN;
    if long && generation == Generation::V2_1 && did.len() == 1 {
        let text = output.text.clone();
        return Next::Do(vec![Action::World(World::Save { text, hint: "bash-output".into() })]);
    }
    let mut text = match generation {
        Generation::V2_1 => bash::shown(output, did),
        _ if long => cut(&output.text),
        _ => trim(&output.text).to_owned(),
    };
    if cwd_after.as_deref().is_some_and(|after| !record::inside(cx, after)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("Shell cwd was reset to {}", cx.settings.cwd.display()));
    }
    Next::Answer(Answer { error: Some(false), ..Answer::plain(text) })
}

/// The oldest does not name the status.
fn failure(output: &Captured, exit: &Exit) -> String {
    let text = trim(&output.text);
    match exit {
        Exit::TimedOut(after) if text.is_empty() => format!("Command timed out after {}", duration(*after)),
        Exit::TimedOut(after) => middle_cut(&format!("Command timed out after {}\n{text}", duration(*after))),
        _ if text.is_empty() => "Error".to_owned(),
        _ => middle_cut(text),
    }
}

/// The first so many characters; of the rest, how many lines it has.
fn cut(text: &str) -> String {
    let text = trim(text);
    let first: String = text.chars().take(SHOWN).collect();
    let lines = text[first.len()..].matches('\n').count() + 1;
    format!("{first}\n\n... [{lines} lines truncated] ...")
}
