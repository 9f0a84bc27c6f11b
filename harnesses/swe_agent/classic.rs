//! The classic commands: a window on one open file, searches that count, edits by line numbers.
use std::path::{Path, PathBuf};

use protocol::{Action, Change, Done, Expect, Failure, FileKind, New, Outcome, ReadAs, Search, World};
use serde_json::{Map, Value};

use super::call::{number, word};
use super::observe::{self, failed, refused};
use super::record::{Record, State};
use super::window::{self, OVERLAP, WINDOW};
use crate::{Context, Next};

/// A number as it was understood, or as it was written.
type Line = Result<i64, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Open { path: Option<String>, line: Option<Line> },
    Goto(Vec<Line>),
    ScrollUp,
    ScrollDown,
    Create(Option<String>),
    FindFile { name: String, dir: Option<String> },
    SearchDir { term: String, dir: Option<String> },
    SearchFile { term: String, file: Option<String> },
    Edit { start: Line, end: Line, text: String },
}

impl Command {
    /// A call of the function form.
    pub(super) fn of(name: &str, args: &Map<String, Value>) -> Option<Command> {
        let word = |name| word(args, name).filter(|word| !word.is_empty());
        let text = |name| self::word(args, name).unwrap_or_default();
        let line = |name| number(args, name).unwrap_or_else(|| Err(String::new()));
        Some(match name {
            "open" => Command::Open { path: word("path"), line: number(args, "line_number") },
            "goto" => Command::Goto(number(args, "line_number").into_iter().collect()),
            "scroll_up" => Command::ScrollUp,
            "scroll_down" => Command::ScrollDown,
            "create" => Command::Create(word("filename")),
            "find_file" => Command::FindFile { name: text("file_name"), dir: word("dir") },
            "search_dir" => Command::SearchDir { term: text("search_term"), dir: word("dir") },
            "search_file" => Command::SearchFile { term: text("search_term"), file: word("file") },
            "edit" => {
                Command::Edit { start: line("start_line"), end: line("end_line"), text: text("replacement_text") }
            }
            _ => return None,
        })
    }
}

/// Files or lines that a search lists.
const LISTED: usize = 100;
const MAX_BYTES: u64 = 64 << 20;
const NOT_OPEN: &str = "No file open. Use the open command first.";
const EDITED: &str = "The file was changed; this is how it looks now. Check that the indentation is right and that no line is there twice.\nIf something is wrong, edit the file again.";

pub(super) fn next(cx: &Context, record: &Record, command: &Command, did: &[Done]) -> Next {
    let seen: Vec<&Outcome> = did.iter().map(|done| &done.outcome).collect();
    if let Some(Outcome::Refused(refusal)) = seen.last() {
        return Next::Answer(observe::observed(cx, &refused(refusal), &record.state));
    }
    match step(record, command, &seen) {
        Step::Do(world) => Next::Do(vec![Action::World(world)]),
        Step::Tell(text) => Next::Answer(observe::observed(cx, &text, &record.state)),
        Step::Show(path, text) => {
            let state = State { open: Some(path), ..record.state.clone() };
            Next::Answer(observe::observed(cx, &text, &state))
        }
    }
}

enum Step {
    Do(World),
    Tell(String),
    /// A window on this file, which is the open one from here on.
    Show(PathBuf, String),
}

fn step(record: &Record, command: &Command, seen: &[&Outcome]) -> Step {
    let at = |path: &str| -> PathBuf { record.state.cwd.join(path).components().collect() };
    match command {
        Command::Open { path, line } => open(record, path.as_deref().map(|path| (path, at(path))), line.as_ref(), seen),
        Command::Goto(lines) => match lines.as_slice() {
            [] => Step::Tell("Usage: goto <line>".to_owned()),
            [Ok(line)] => moved(record, seen, |total| {
                let line = usize::try_from(*line).unwrap_or(0).max(1);
                match line > total {
                    true => Err(format!("Error: {line} must be less than or equal to {total}")),
                    false => Ok(window::around(line)),
                }
            }),
            [Err(word)] => Step::Tell(format!("Error: {word} must be a number")),
            _ => Step::Tell("goto allows only one line number at a time.".to_owned()),
        },
        Command::ScrollUp => moved(record, seen, |_| Ok(record.first.saturating_sub(WINDOW - OVERLAP))),
        Command::ScrollDown => moved(record, seen, |_| Ok(record.first + WINDOW - OVERLAP)),
        Command::Create(None) => Step::Tell("Usage: create <filename>".to_owned()),
        Command::Create(Some(name)) => create(name, at(name), seen),
        Command::FindFile { name, dir } => {
            let root = dir.as_deref().map_or_else(|| record.state.cwd.clone(), at);
            let (pattern, hidden) = (name.clone(), true);
            match seen {
                [] => Step::Do(World::Glob(Search { root, pattern, hidden, ..Search::default() })),
                [Outcome::Paths(found), ..] if found.hits.is_empty() => none(name, &root),
                [Outcome::Paths(found), ..] => {
                    let paths: String = found.hits.iter().map(|hit| format!("\n{}", hit.path.display())).collect();
                    Step::Tell(format!(
                        "Found {} matches for \"{name}\" in {}:{paths}",
                        found.hits.len(),
                        root.display()
                    ))
                }
                [other, ..] => Step::Tell(no_folder(&root, other)),
            }
        }
        Command::SearchDir { term, dir } => {
            let root = dir.as_deref().map_or_else(|| record.state.cwd.clone(), at);
            match seen {
                [] => {
                    let (pattern, literal) = (term.clone(), true);
                    Step::Do(World::Grep(Search { root, pattern, literal, ..Search::default() }))
                }
                [Outcome::Matches(found), ..] => counted(term, &root, found),
                [other, ..] => Step::Tell(no_folder(&root, other)),
            }
        }
        Command::SearchFile { term, file } => {
            let Some(path) = file.as_deref().map(at).or_else(|| record.state.open.clone()) else {
                return Step::Tell(NOT_OPEN.to_owned());
            };
            match seen {
                [] => read(path),
                [Outcome::Text { text, .. }, ..] => matching(term, &path, text),
                [other, ..] => Step::Tell(no_file(&path, other)),
            }
        }
        Command::Edit { start, end, text } => edit(record, start, end, text, seen),
    }
}

fn read(path: PathBuf) -> Step {
    Step::Do(World::Read { path, what: ReadAs::Text { max_bytes: MAX_BYTES } })
}

fn open(record: &Record, asked: Option<(&str, PathBuf)>, line: Option<&Line>, seen: &[&Outcome]) -> Step {
    let (name, path) = match (asked, &record.state.open) {
        (Some((name, path)), _) => (name.to_owned(), path),
        (None, Some(path)) => (path.display().to_string(), path.clone()),
        (None, None) => return Step::Tell("Usage: open \"<file>\"".to_owned()),
    };
    let text = match seen {
        [] => return read(path),
        [Outcome::Text { text, .. }, ..] => text,
        [other, ..] => return Step::Tell(no_file(Path::new(&name), other)),
    };
    let total = window::lines(text).len();
    let (first, warning) = match line {
        None => (0, String::new()),
        Some(Err(word)) => (0, format!("Warning: {word} is not a number\nWarning: Setting line_number to 1\n")),
        Some(Ok(line)) => match usize::try_from(*line) {
            Ok(line) if line > total => (
                window::around(total),
                format!(
                    "Warning: line_number ({line}) is greater than the number of lines in the file ({total})\nWarning: Setting line_number to {total}\n"
                ),
            ),
            Ok(line) if line > 0 => (window::around(line), String::new()),
            _ => (0, format!("Warning: line_number ({line}) is less than 1\nWarning: Setting line_number to 1\n")),
        },
    };
    let shown = window::render(&name, text, first);
    // Where the window reaches to the end of the file, an empty line stands behind it.
    let end = if total > 0 && total.saturating_sub(WINDOW) <= first { "\n" } else { "" };
    Step::Show(path, format!("{warning}{shown}{end}"))
}

/// The window on the open file, elsewhere.
fn moved(record: &Record, seen: &[&Outcome], first: impl FnOnce(usize) -> Result<usize, String>) -> Step {
    let Some(path) = record.state.open.clone() else { return Step::Tell(NOT_OPEN.to_owned()) };
    match seen {
        [] => read(path),
        [Outcome::Text { text, .. }, ..] => match first(window::lines(text).len()) {
            Ok(first) => Step::Show(path.clone(), window::render(&path.display().to_string(), text, first)),
            Err(text) => Step::Tell(text),
        },
        [other, ..] => Step::Tell(no_file(&path, other)),
    }
}

fn create(name: &str, path: PathBuf, seen: &[&Outcome]) -> Step {
    match seen {
        [] => Step::Do(World::Read { path, what: ReadAs::Stat }),
        [Outcome::Stat { .. }, ..] => Step::Tell(format!("Warning: File '{name}' already exists.")),
        [_] => {
            let new = New::Whole { text: String::new(), like: None };
            Step::Do(World::Change(vec![Change { path, to: None, new, expect: Expect::Absent }]))
        }
        [_, Outcome::Changed(_), ..] => Step::Show(path, window::render(name, "", 0)),
        [_, other, ..] => Step::Tell(no_file(&path, other)),
    }
}

fn none(what: &str, place: &Path) -> Step {
    Step::Tell(format!("No matches found for \"{what}\" in {}", place.display()))
}

fn counted(term: &str, root: &Path, found: &protocol::Found) -> Step {
    let place = root.display();
    let files: Vec<(String, usize)> =
        found.hits.iter().map(|hit| (hit.path.display().to_string(), hit.lines.len())).collect();
    match files.len() {
        0 => none(term, root),
        many if many > LISTED => {
            Step::Tell(format!("More than {many} files matched for \"{term}\" in {place}. Please narrow your search."))
        }
        _ => {
            let total: usize = files.iter().map(|(_, matches)| matches).sum();
            let lines: String = files.iter().map(|(path, matches)| format!("{path} ({matches} matches)\n")).collect();
            Step::Tell(format!(
                "Found {total} matches for \"{term}\" in {place}:\n{lines}End of matches for \"{term}\" in {place}"
            ))
        }
    }
}

fn matching(term: &str, path: &Path, text: &str) -> Step {
    let place = path.display();
    let lines: Vec<String> = (window::lines(text).into_iter().enumerate())
        .filter(|(_, line)| line.contains(term))
        .map(|(n, line)| format!("Line {}:{line}\n", n + 1))
        .collect();
    match lines.len() {
        0 => none(term, path),
        many if many > LISTED => {
            Step::Tell(format!("More than {many} lines matched for \"{term}\" in {place}. Please narrow your search."))
        }
        many => Step::Tell(format!(
            "Found {many} matches for \"{term}\" in {place}:\n{}End of matches for \"{term}\" in {place}",
            lines.concat()
        )),
    }
}

fn edit(record: &Record, start: &Line, end: &Line, written: &str, seen: &[&Outcome]) -> Step {
    let Some(path) = record.state.open.clone() else {
        return Step::Tell("No file opened. Use the `open` command first.".to_owned());
    };
    let (text, stamp) = match seen {
        [] => return read(path),
        [Outcome::Text { text, stamp, .. }, ..] => (text, stamp),
        [other, ..] => return Step::Tell(no_file(&path, other)),
    };
    // What ends the text in the original is a line feed, so that one of the model's own makes an empty line.
    let new = format!("{written}\n");
    let range = match lines_between(text, start, end) {
        Ok(range) => range,
        Err(text) => return Step::Tell(text),
    };
    match seen.get(1) {
        None => {
            let (new, expect) = (New::Splices(vec![(range.0..range.1, new)]), Expect::Unchanged(stamp.clone()));
            Step::Do(World::Change(vec![Change { path, to: None, new, expect }]))
        }
        Some(Outcome::Changed(_)) => {
            let (from, to) = (range.0 as usize, range.1 as usize);
            let (head, tail) = (text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default());
            let line = head.matches('\n').count() + 1;
            let shown =
                window::render(&path.display().to_string(), &format!("{head}{new}{tail}"), window::around(line));
            Step::Show(path, format!("{EDITED}\n{shown}"))
        }
        Some(other) => Step::Tell(no_file(&path, other)),
    }
}

/// Bytes of the lines `start` to `end` (1-based, both included).
fn lines_between(text: &str, start: &Line, end: &Line) -> Result<(u64, u64), String> {
    let number = |line: &Line| match line {
        Ok(line) => usize::try_from(*line).map_err(|_| format!("Error: {line} must be a line number")),
        Err(word) => Err(format!("Error: {word} must be a number")),
    };
    let (start, end) = (number(start)?.max(1), number(end)?);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if start > lines.len() + 1 {
        return Err(format!("Error: {start} must be less than or equal to {}", lines.len()));
    }
    if start > end {
        return Err(format!("Error: start_line ({start}) must be less than or equal to end_line ({end})"));
    }
    let length = |lines: &[&str]| lines.iter().map(|line| line.len() as u64).sum::<u64>();
    let from = length(lines.get(..start - 1).unwrap_or_default());
    let to = length(lines.get(..end.min(lines.len())).unwrap_or_default());
    Ok((from, to.max(from)))
}

fn no_file(path: &Path, seen: &Outcome) -> String {
    let shown = path.display();
    match seen {
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. }) => {
            format!("Error: {shown} is a directory. You can only open files. Use cd or ls to navigate directories.")
        }
        Outcome::Failed(Failure::Io { errno: 2 | 20, .. }) => format!("Error: File {shown} not found"),
        Outcome::Failed(failure) => format!("Error: {}", failed(failure)),
        Outcome::Refused(refusal) => refused(refusal),
        _ => super::INTERRUPTED.to_owned(),
    }
}

fn no_folder(root: &Path, seen: &Outcome) -> String {
    match seen {
        Outcome::Failed(Failure::Io { .. } | Failure::NotAFile { .. }) => {
            format!("Directory {} not found", root.display())
        }
        Outcome::Failed(failure) => failed(failure),
        Outcome::Refused(refusal) => refused(refusal),
        _ => super::INTERRUPTED.to_owned(),
    }
}
