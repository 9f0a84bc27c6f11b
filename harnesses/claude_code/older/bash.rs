//! What Bash of the older versions says of a command that has ended.
use protocol::{Action, Answer, Captured, Done, Exit, Outcome, World};

use super::generation::Generation;
use super::shared::args::Bash;
use super::shared::bash::{self, SHOWN, chars, duration, middle_cut, succeeded, trim};
use super::shared::record::{self, Record};
use super::shared::shell;
use crate::{Context, Next};

pub(in super::super) fn next(generation: Generation, cx: &Context, bash: &Bash, record: &Record, did: &[Done]) -> Next {
    let Some(Done { outcome: Outcome::Ran { output, exit, cwd_after, .. }, .. }) = did.first() else {
        return Next::Answer(bash::answer(cx, bash, record, did));
    };
    if !succeeded(bash, exit) {
        let text = failure(generation, output, exit);
        return Next::Answer(Answer::failed(text));
    }
    // In characters, and without the blanks around it.
    let long = chars(trim(&output.text)) > SHOWN;
    if long && generation == Generation::V2_1 && did.len() == 1 {
        let text = output.text.clone();
        return Next::Do(vec![Action::World(World::Save { text, hint: "bash-output".into() })]);
    }
    let mut text = match generation {
        Generation::V2_1 if long => bash::shown(output, did),
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
fn failure(generation: Generation, output: &Captured, exit: &Exit) -> String {
    let text = trim(&output.text);
    let start = match exit {
        Exit::TimedOut(after) => format!("Command timed out after {}", duration(*after)),
        _ if generation == Generation::V1_0 => String::new(),
        Exit::Signal(_) => "Exit code 1".to_owned(),
        exit => format!("Exit code {}", exit.code().unwrap_or(1)),
    };
    match (start.is_empty(), text.is_empty()) {
        (true, true) => "Error".to_owned(),
        (true, false) => middle_cut(text, 0),
        (false, true) => start,
        (false, false) => middle_cut(&format!("{start}\n{text}"), 0),
    }
}

/// A `cd` out of the session's folders, which 1.0 does not run.
pub(in super::super) fn leaves(cx: &Context, script: &str, record: &Record) -> Option<String> {
    let targets = shell::commands(script).into_iter().filter(|command| !command.expands && !command.intricate);
    let target = targets.filter_map(|command| match command.words.as_slice() {
        [cd, target] if cd == "cd" => Some(target.clone()),
        _ => None,
    });
    let outside = target.into_iter().find(|target| !record::inside(cx, &record.path(target)))?;
    Some(format!(
        "cd to '{outside}' was blocked. For security, Claude Code may only change directories to child directories of the allowed working directories for this session (including '{}').",
        cx.settings.cwd.display()
    ))
}

/// The first so many characters; of the rest, how many lines it has.
fn cut(text: &str) -> String {
    let text = trim(text);
    let first: String = text.chars().take(SHOWN).collect();
    let lines = text[first.len()..].matches('\n').count() + 1;
    format!("{first}\n\n... [{lines} lines truncated] ...")
}
