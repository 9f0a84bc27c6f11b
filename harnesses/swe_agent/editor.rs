//! `str_replace_editor`: view, create, str_replace, insert, undo_edit. The model sees tabs as spaces and matches against them;
//! in the file only the bytes behind a match change.
use std::path::{Path, PathBuf};

use protocol::{
    Action, Change, Done, Eol, Expect, Failure, FileKind, Found, New, Outcome, ReadAs, Stamp, TextForm, World,
};
use serde_json::{Map, Value};

use super::call::{number, word};
use super::filemap;
use super::observe::{self, failed, refused};
use super::record::Record;
use super::shown::{Shown, expanded};
use crate::{Context, Next};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edit {
    command: String,
    path: String,
    file_text: Option<String>,
    old: Option<String>,
    new: Option<String>,
    /// Err: as it was written.
    line: Option<Result<i64, String>>,
    range: Option<Value>,
}

impl Edit {
    pub(super) fn of(args: &Map<String, Value>) -> Edit {
        Edit {
            command: word(args, "command").unwrap_or_default(),
            path: word(args, "path").unwrap_or_default(),
            file_text: word(args, "file_text"),
            old: word(args, "old_str"),
            new: word(args, "new_str"),
            line: number(args, "insert_line"),
            range: args.get("view_range").filter(|range| !range.is_null()).cloned(),
        }
    }
}

/// Lines of context around a change.
const SNIPPET: usize = 4;
/// Characters of a file from which on only the first of them are shown.
const LIMIT: usize = 16_000;
const CLIPPED: &str = "<response clipped><NOTE>Only the beginning of this file is shown. Run `grep -n` on it for the numbers of the lines that you need, then view those.</NOTE>";
pub(super) const ABBREVIATED: &str = "<NOTE>This file is too long to be shown whole; an abbreviated view follows. View the lines that you need with `view_range`.</NOTE>";
pub(super) const ELIDED: &str = "<IMPORTANT><NOTE>Lines were left out of the view above, as marked. Before you edit one of them, view it with `view_range`.</NOTE></IMPORTANT>";
/// Bytes of a file that is read at all.
const MAX_BYTES: u64 = 64 << 20;
const ENOENT: i32 = 2;
const ENOTDIR: i32 = 20;

pub(super) fn next(cx: &Context, record: &Record, edit: &Edit, did: &[Done]) -> Next {
    match step(record, edit, did) {
        Step::Do(actions) => Next::Do(actions.into_iter().map(Action::World).collect()),
        Step::Tell(text) => Next::Answer(observe::observed(cx, &text, &record.state)),
    }
}

enum Step {
    Do(Vec<World>),
    Tell(String),
}

fn step(record: &Record, edit: &Edit, did: &[Done]) -> Step {
    let path = plain(&edit.path);
    if !edit.path.starts_with('/') {
        return Step::Tell(format!(
            "The path {} is not an absolute path, it should start with `/`. Maybe you meant {}?",
            path.display(),
            record.state.cwd.join(&path).display()
        ));
    }
    let read = || World::Read { path: path.clone(), what: ReadAs::Text { max_bytes: MAX_BYTES } };
    let seen: Vec<&Outcome> = did.iter().map(|done| &done.outcome).collect();
    if let Some(Outcome::Refused(refusal)) = seen.iter().rev().find(|seen| matches!(seen, Outcome::Refused(_))) {
        return Step::Tell(refused(refusal));
    }
    match (edit.command.as_str(), seen.as_slice()) {
        ("create", []) => {
            let stat = |path: &Path| World::Read { path: path.to_owned(), what: ReadAs::Stat };
            Step::Do(vec![stat(&path), stat(path.parent().unwrap_or(Path::new("/")))])
        }
        ("create", seen) => create(edit, &path, seen),
        (_, []) => Step::Do(vec![read()]),
        ("view", [Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. }), rest @ ..]) => {
            if edit.range.is_some() {
                return Step::Tell(
                    "The `view_range` parameter is not allowed when `path` points to a directory.".to_owned(),
                );
            }
            match rest.first() {
                None => Step::Do(vec![World::List { path, depth: 2, limit: 0 }]),
                Some(Outcome::Paths(found)) => Step::Tell(folder(&path, found)),
                Some(other) => Step::Tell(unreadable(&path, other)),
            }
        }
        (command, [Outcome::Text { text, form, stamp }, rest @ ..]) => {
            if !form.utf8 {
                let at = text.find('\u{fffd}').unwrap_or_default();
                return Step::Tell(format!(
                    "Ran into UnicodeDecodeError 'utf-8' codec can't decode byte in position {at} while trying to read {}",
                    path.display()
                ));
            }
            let file = File { path: &path, text, form, stamp };
            match command {
                "view" => Step::Tell(file.view(edit)),
                "str_replace" => file.change(edit, rest, File::replace),
                "insert" => file.change(edit, rest, File::insert),
                // The original's history does not outlast the call.
                "undo_edit" => Step::Tell(format!("No edit history found for {}.", path.display())),
                other => Step::Tell(unknown(other)),
            }
        }
        (_, [seen, ..]) => Step::Tell(unreadable(&path, seen)),
    }
}

fn unknown(command: &str) -> String {
    format!(
        "Unrecognized command {command}. The allowed commands for the str_replace_editor tool are: \"view\", \"create\", \"str_replace\", \"insert\", \"undo_edit\""
    )
}

/// As Python's `Path` writes it: `..` stays.
fn plain(path: &str) -> PathBuf {
    Path::new(path).components().collect()
}

fn unreadable(path: &Path, seen: &Outcome) -> String {
    let shown = path.display();
    match seen {
        Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. }) => {
            format!("The path {shown} does not exist. Please provide a valid path.")
        }
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. }) => {
            format!("The path {shown} is a directory and only the `view` command can be used on directories")
        }
        Outcome::Failed(failure) => format!("Ran into {} while trying to read {shown}", failed(failure)),
        Outcome::Refused(refusal) => refused(refusal),
        _ => super::INTERRUPTED.to_owned(),
    }
}

fn unwritten(path: &Path, seen: &Outcome) -> String {
    match seen {
        Outcome::Failed(failure) => format!("Ran into {} while trying to write to {}", failed(failure), path.display()),
        Outcome::Refused(refusal) => refused(refusal),
        _ => super::INTERRUPTED.to_owned(),
    }
}

fn needed(parameter: &str, command: &str) -> String {
    format!("Parameter `{parameter}` is required for command: {command}")
}

/// `path` as JSON text.
pub(super) fn created(path: &Value) -> String {
    format!("File created successfully at: {}", path.as_str().unwrap_or_default())
}

fn create(edit: &Edit, path: &Path, seen: &[&Outcome]) -> Step {
    let shown = path.display();
    let exists = || format!("File already exists at: {shown}. Cannot overwrite files using command `create`.");
    let text = match (seen, &edit.file_text) {
        ([Outcome::Stat { .. }, ..], _) => exists(),
        (_, None) => needed("file_text", "create"),
        ([_, parent], Some(text)) => match parent {
            Outcome::Stat { kind: FileKind::Folder, .. } => {
                let new = New::Whole { text: text.clone(), like: None };
                let change = Change { path: path.to_owned(), to: None, new, expect: Expect::Absent };
                return Step::Do(vec![World::Change(vec![change])]);
            }
            _ => {
                let parent = path.parent().unwrap_or(Path::new("/"));
                format!("The parent directory {} does not exist. Please create it first.", parent.display())
            }
        },
        ([_, _, Outcome::Changed(_)], Some(_)) => format!("File created successfully at: {shown}"),
        ([.., last], Some(_)) => unwritten(path, last),
        ([], Some(_)) => super::INTERRUPTED.to_owned(),
    };
    Step::Tell(text)
}

fn folder(path: &Path, found: &Found) -> String {
    let mut text = format!(
        "Here's the files and directories up to 2 levels deep in {0}, excluding hidden items:\n{0}\n",
        path.display()
    );
    for hit in &found.hits {
        let below = hit.path.strip_prefix(path).unwrap_or(&hit.path);
        if below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.')) {
            continue;
        }
        text.push_str(&format!("{}\n", hit.path.display()));
    }
    text.push('\n');
    text
}

/// Lines with their numbers, as `cat -n` has them.
fn numbered(text: &str, what: &str, first: usize) -> String {
    let lines: Vec<String> = text.split('\n').enumerate().map(|(n, line)| format!("{:6}\t{line}", n + first)).collect();
    format!("Here's the result of running `cat -n` on {what}:\n{}\n", lines.join("\n"))
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
    form: &'a TextForm,
    stamp: &'a Stamp,
}

/// A change that was found to be right: what to write, and what to say after it.
struct Match {
    new: New,
    told: String,
}

impl File<'_> {
    fn view(&self, edit: &Edit) -> String {
        let shown = expanded(self.text);
        let what = self.path.display().to_string();
        let lines: Vec<&str> = shown.split('\n').collect();
        let total = lines.len();
        let (first, text) = match &edit.range {
            None => (1, shown.as_str().to_owned()),
            Some(range) => {
                let Some((a, b)) = pair(range) else {
                    return "Invalid `view_range`. It should be a list of two integers.".to_owned();
                };
                let invalid = format!("Invalid `view_range`: [{a}, {b}].");
                let from = match usize::try_from(a) {
                    Ok(from) if (1..=total).contains(&from) => from,
                    _ => {
                        return format!(
                            "{invalid} Its first element `{a}` should be within the range of lines of the file: [1, {total}]"
                        );
                    }
                };
                let to = match usize::try_from(b) {
                    Ok(to) if to > total => {
                        return format!(
                            "{invalid} Its second element `{b}` should be smaller than the number of lines in the file: `{total}`"
                        );
                    }
                    Ok(to) if to >= from => to,
                    _ if b == -1 => total,
                    _ => {
                        return format!(
                            "{invalid} Its second element `{b}` should be larger or equal than its first `{a}`"
                        );
                    }
                };
                (from, lines.get(from - 1..to).unwrap_or_default().join("\n"))
            }
        };
        let is_python = self.path.extension().is_some_and(|end| end == "py");
        match observe::head(&text, LIMIT) {
            Some(_) if is_python && edit.range.is_none() => {
                format!("{ABBREVIATED}\n{}\n{ELIDED}", filemap::outline(&text))
            }
            Some((head, _)) => numbered(&format!("{head}{CLIPPED}"), &what, first),
            None => numbered(&text, &what, first),
        }
    }

    fn change(&self, edit: &Edit, rest: &[&Outcome], find: fn(&Self, &Edit) -> Result<Match, String>) -> Step {
        match (find(self, edit), rest.first()) {
            (Err(text), _) => Step::Tell(text),
            (Ok(found), None) => {
                let expect = Expect::Unchanged(self.stamp.clone());
                let change = Change { path: self.path.to_owned(), to: None, new: found.new, expect };
                Step::Do(vec![World::Change(vec![change])])
            }
            (Ok(found), Some(Outcome::Changed(_))) => Step::Tell(found.told),
            (Ok(_), Some(other)) => Step::Tell(unwritten(self.path, other)),
        }
    }

    /// New text with the line ends of the file.
    fn ended(&self, text: &str) -> String {
        match self.form.eol {
            Eol::Crlf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Eol::Lf | Eol::Mixed => text.to_owned(),
        }
    }

    fn replace(&self, edit: &Edit) -> Result<Match, String> {
        let Some(old) = &edit.old else { return Err(needed("old_str", "str_replace")) };
        let written = edit.new.as_deref().unwrap_or_default();
        let (path, shown) = (self.path.display(), Shown::of(self.text));
        let (old, new) = (expanded(old), expanded(written));
        let places: Vec<usize> = shown.text.match_indices(&old).map(|(at, _)| at).take(2).collect();
        let at = match places.as_slice() {
            [] => {
                return Err(format!(
                    "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                ));
            }
            [at] => *at,
            _ => {
                let lines: Vec<String> = (shown.text.split('\n').enumerate())
                    .filter(|(_, line)| line.contains(&old))
                    .map(|(n, _)| (n + 1).to_string())
                    .collect();
                return Err(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines [{}]. Please ensure it is unique",
                    lines.join(", ")
                ));
            }
        };
        if old == new {
            return Err(format!("No replacement was performed, old_str `{old}` is the same as new_str `{new}`."));
        }
        let behind = shown.behind(at..at + old.len());
        let spaces = |n| " ".repeat(n);
        let splice = format!("{}{}{}", spaces(behind.left), self.ended(written), spaces(behind.right));
        let (before, after) = (&shown.text[..at], &shown.text[at + old.len()..]);
        let result = format!("{before}{new}{after}");
        // Counted from the line before the match, as the original does; an empty last line is not shown.
        let line = before.matches('\n').count();
        let from = line.saturating_sub(SNIPPET).max(1);
        let to = (line + SNIPPET + new.matches('\n').count()).min(result.lines().count());
        let lines: Vec<&str> = result.split('\n').collect();
        let snippet = lines.get(from - 1..to.max(from - 1)).unwrap_or_default().join("\n");
        let told = format!(
            "The file {path} has been edited. {}Review the changes and make sure they are as expected. Edit the file again if necessary.",
            numbered(&snippet, &format!("a snippet of {path}"), from)
        );
        Ok(Match { new: New::Splices(vec![(behind.range, splice)]), told })
    }

    fn insert(&self, edit: &Edit) -> Result<Match, String> {
        let Some(line) = &edit.line else { return Err(needed("insert_line", "insert")) };
        let Some(written) = &edit.new else { return Err(needed("new_str", "insert")) };
        let shown = Shown::of(self.text);
        let lines: Vec<&str> = shown.text.split('\n').collect();
        let total = lines.len();
        let at = match line {
            Ok(line) => usize::try_from(*line).ok().filter(|line| *line <= total),
            Err(_) => None,
        };
        let Some(at) = at else {
            let line = line.as_ref().map_or_else(Clone::clone, i64::to_string);
            return Err(format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {total}]"
            ));
        };
        let start = lines.iter().take(at).map(|line| line.len() + 1).sum::<usize>().min(shown.text.len());
        // Behind the last line there is no line feed yet.
        let text = if at == total { format!("\n{written}") } else { format!("{written}\n") };
        let behind = shown.behind(start..start);
        let (new, path) = (expanded(written), self.path.display());
        let head = lines.iter().take(at).skip(at.saturating_sub(SNIPPET)).copied();
        let tail = lines.iter().skip(at).take(SNIPPET).copied();
        let snippet: Vec<&str> = head.chain(new.split('\n')).chain(tail).collect();
        let told = format!(
            "The file {path} has been edited. {}Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.",
            numbered(&snippet.join("\n"), "a snippet of the edited file", at.saturating_sub(SNIPPET) + 1)
        );
        Ok(Match { new: New::Splices(vec![(behind.range, self.ended(&text))]), told })
    }
}

fn pair(range: &Value) -> Option<(i64, i64)> {
    let read: Value = match range {
        Value::String(text) => serde_json::from_str(text).ok()?,
        range => range.clone(),
    };
    match read.as_array()?.as_slice() {
        [a, b] => Some((a.as_i64()?, b.as_i64()?)),
        _ => None,
    }
}
