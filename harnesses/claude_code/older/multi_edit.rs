//! The MultiEdit tool of 1.0: several edits of one file, all or none. Each is checked against the file as it was, then they are
//! made one after another.
use protocol::{Action, Answer, Change, Done, Expect, New, Outcome, ReadAs, World};

use super::args::Input;
use super::edit::{self, missing, not_found, readable, several};
use super::generation::Generation;
use super::shared::args::Edit;
use super::shared::edit::EDITABLE;
use super::shared::record::Record;
use super::shared::refusal::{REJECTED, Wanted, failed, refused};
use crate::{Context, Next};

pub(in super::super) fn next(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let shown = input.text("file_path");
    let edits = edits(input);
    let Some(first) = did.first() else {
        let path = record.path(shown);
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    if let Some(change) = did.iter().find(|done| matches!(done.action, Action::World(World::Change(_)))) {
        return Next::Answer(match &change.outcome {
            Outcome::Changed(_) => Answer::plain(done(shown, &edits)),
            Outcome::Refused(refusal) => refused(Wanted::Write(shown), refusal),
            Outcome::Failed(failure) => failed(Wanted::Write(shown), failure),
            _ => Answer::failed(REJECTED),
        });
    }
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    let Outcome::Text { text, form, stamp } = &first.outcome else {
        let (old, whole) = match edits.split_first() {
            Some((first, rest)) => (first.old.as_str(), applied(first.new.clone(), rest)),
            None => ("", Ok(String::new())),
        };
        return match whole {
            Ok(whole) => missing(generation, &record, shown, old, &whole, &first.outcome, did),
            Err(told) => wrong(&told),
        };
    };
    if let Err(answer) = readable(generation, &record, shown, stamp) {
        return Next::Answer(answer);
    }
    let lf = text.replace("\r\n", "\n");
    let checked = edits.iter().try_for_each(|edit| check(&lf, edit));
    match checked.and_then(|()| applied(lf, &edits)) {
        Ok(text) => {
            let new = New::Whole { text, like: Some(*form) };
            let expect = Expect::Unchanged(stamp.clone());
            let change = Change { path: record.path(shown), to: None, new, expect };
            Next::Do(vec![Action::World(World::Change(vec![change]))])
        }
        Err(told) => wrong(&told),
    }
}

fn edits(input: &Input) -> Vec<Edit> {
    let list = input.map.get("edits").and_then(|edits| edits.as_array()).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|edit| edit.as_object()).map(edit::of).collect()
}

fn check(text: &str, edit: &Edit) -> Result<(), String> {
    if edit.old == edit.new {
        return Err("No changes to make: old_string and new_string are exactly the same.".to_owned());
    }
    match text.matches(&edit.old).count() {
        _ if edit.old.is_empty() => Err("Cannot create new file - file already exists.".to_owned()),
        0 => Err(not_found(&edit.old)),
        n if n > 1 && !edit.all => Err(several(n, &edit.old)),
        _ => Ok(()),
    }
}

fn applied(mut text: String, edits: &[Edit]) -> Result<String, String> {
    for edit in edits {
        if edit.old.is_empty() || !text.contains(&edit.old) {
            return Err(not_found(&edit.old));
        }
        text = if edit.all { text.replace(&edit.old, &edit.new) } else { text.replacen(&edit.old, &edit.new, 1) };
    }
    Ok(text)
}

fn done(path: &str, edits: &[Edit]) -> String {
    let lines: Vec<String> = (edits.iter().zip(1..))
        .map(|(edit, n)| format!("{n}. Replaced \"{}\" with \"{}\"", edit.old, edit.new))
        .collect();
    let count = match edits.len() {
        1 => "1 edit".to_owned(),
        n => format!("{n} edits"),
    };
    format!("Applied {count} to {path}:\n{}", lines.join("\n"))
}
