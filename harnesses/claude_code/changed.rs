//! Files that somebody else has changed since they were edited here: which are watched, and what the model is told of them. What it
//! knew of a file is put together again from history: what it read, wrote and edited.
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use protocol::{Action, Body, Call, CallId, Fact, Item, Outcome, ReadAs, Stamp, World};
use serde_json::{Map, Value};
use similar::{Algorithm, capture_diff_slices, group_diff_ops};

use super::generation::Generation;
use super::older::snippet;
use super::shared::args::{Edit, tidy};
use super::shared::{matching, read};
use crate::Context;

/// Lines shown before and after a change.
const AROUND: usize = 8;
/// Characters of changed lines in one reminder.
const SHOWN: usize = 16_000;

/// What the model knows of a file.
#[derive(Debug, Clone, Default)]
struct Known {
    /// None: not all of it, or not put together.
    text: Option<String>,
    /// The version that an edit left; None since it was read or told of.
    edited: Option<Stamp>,
}

/// Files whose changes are watched: the last look at them was an edit. As the original does.
pub(super) fn watched(cx: &Context) -> Vec<(PathBuf, Stamp)> {
    known(cx.items).into_iter().filter_map(|(path, known)| Some((path, known.edited?))).collect()
}

/// What is said of the files in these new items.
pub(super) fn told(generation: Generation, cx: &Context, new: &[Item]) -> Vec<String> {
    let mut told = Vec::new();
    for item in new {
        let Body::Fact(Fact::Changed(files)) = &item.body else { continue };
        let before = cx.items.iter().position(|other| other.id == item.id).unwrap_or(cx.items.len());
        let known = known(&cx.items[..before]);
        for (path, _, text) in files {
            let old = known.get(path).and_then(|known| known.text.as_deref());
            told.push(one(generation, path, old, text.as_deref()));
        }
    }
    told
}

fn one(generation: Generation, path: &Path, old: Option<&str>, new: Option<&str>) -> String {
    let path = path.display();
    let said = match generation.newest() {
        true => format!(
            "Note: {path} changed on disk since you last read it. That is most often meant, so take it as it is now and do not undo it; if it looks wrong, say so, otherwise there is no need to mention it."
        ),
        false => format!(
            "Note: {path} was modified, either by the user or by a linter. That was meant, so keep it in mind and do not undo it unless the user asks you to. There is no need to tell the user."
        ),
    };
    match (old, new) {
        (Some(old), Some(new)) => {
            let lines = changes(generation, old, new);
            format!("{said} Here are the relevant changes (shown with line numbers):\n{lines}")
        }
        _ => format!("{said} Read it before you change it again."),
    }
}

/// The changed lines of the new text with some around them; `...` between places.
fn changes(generation: Generation, old: &str, new: &str) -> String {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(old), lines(new));
    let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), AROUND);
    let places = groups.iter().filter_map(|group| {
        let (from, to) = (group.first()?.new_range().start, group.last()?.new_range().end);
        let shown: Vec<&str> = new[from..to].iter().map(String::as_str).collect();
        // Numbered as the place was before, as the original does.
        let first = group.first()?.old_range().start as u64 + 1;
        Some(match generation.newest() {
            true => read::numbered(&shown, first),
            false => snippet::numbered(&shown, first),
        })
    });
    let text = places.collect::<Vec<_>>().join("\n...\n");
    text.chars().take(SHOWN).collect()
}

fn known(items: &[Item]) -> BTreeMap<PathBuf, Known> {
    let mut known: BTreeMap<PathBuf, Known> = BTreeMap::new();
    let mut calls: HashMap<&CallId, &Call> = HashMap::new();
    for item in items {
        match &item.body {
            Body::Reply { reply, .. } => calls.extend(reply.calls().map(|call| (&call.id, call))),
            Body::Read { calls: found, .. } => calls.extend(found.iter().map(|call| (&call.id, call))),
            Body::Fact(Fact::Changed(files)) => {
                for (path, _, text) in files {
                    known.insert(path.clone(), Known { text: text.clone(), edited: None });
                }
            }
            Body::Called { call, did, answer } => {
                let Some(call) = calls.get(call) else { continue };
                let args: Map<String, Value> = serde_json::from_str(&call.args).unwrap_or_default();
                for done in did {
                    match (&done.action, &done.outcome) {
                        // Looks of other tools (an edit's own, or after a command) change nothing here.
                        (Action::World(World::Read { path, what: ReadAs::Text { .. } }), Outcome::Text { .. })
                            if call.name == "Read" =>
                        {
                            let text = whole(&args, &answer.content.text());
                            known.insert(path.clone(), Known { text, edited: None });
                        }
                        (Action::World(World::Change(asked)), Outcome::Changed(done)) => {
                            for (asked, done) in asked.iter().zip(done) {
                                let file = known.entry(asked.path.clone()).or_default();
                                file.text = edited(&call.name, &args, file.text.take());
                                file.edited = done.stamp.clone();
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    known
}

/// The text of a file that was shown whole: its lines without their numbers.
fn whole(args: &Map<String, Value>, answer: &str) -> Option<String> {
    if args.contains_key("offset") || args.contains_key("limit") || answer.contains("[Truncated: PARTIAL view") {
        return None;
    }
    let answer = answer.split("\n\n<system-reminder>\n").next().unwrap_or_default();
    let mut lines = Vec::new();
    for (line, n) in answer.split('\n').zip(1u64..) {
        let number = n.to_string();
        let text = line.trim_start_matches(' ').strip_prefix(&number)?.strip_prefix(['\t', '→']);
        match text {
            Some(text) => lines.push(text),
            None => return None,
        }
    }
    Some(lines.join("\n"))
}

/// What an edit made of a text.
fn edited(tool: &str, args: &Map<String, Value>, text: Option<String>) -> Option<String> {
    let one = |text: String, edit: &Edit| -> Option<String> {
        if edit.old.is_empty() {
            return Some(edit.new.clone());
        }
        let found = matching::find(&text, &edit.old, &edit.new)?;
        let (mut out, mut at) = (String::new(), 0);
        for (range, new) in &found.splices {
            out.push_str(text.get(at..range.start as usize)?);
            out.push_str(new);
            at = range.end as usize;
        }
        out.push_str(text.get(at..)?);
        Some(out)
    };
    match tool {
        "Write" => {
            let path = args.get("file_path").and_then(Value::as_str).unwrap_or_default();
            Some(tidy(path, "whole", args.get("content")?.as_str()?))
        }
        "Edit" => {
            let edit = Edit::of(args);
            let text = if edit.old.is_empty() { Some(String::new()) } else { text };
            one(text?, &edit)
        }
        "MultiEdit" => {
            let edits = args.get("edits")?.as_array()?;
            let edits = edits.iter().filter_map(Value::as_object).map(Edit::of);
            let mut text = text.unwrap_or_default();
            for edit in edits {
                text = one(text, &edit)?;
            }
            Some(text)
        }
        _ => None,
    }
}
