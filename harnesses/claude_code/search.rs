//! Glob and Grep: which files, in which order and form, and how much of it. As measured on each version, with the order of lines
//! of the newest (by path); the older ones had none.
use std::path::{Path, PathBuf};

use protocol::{Action, Answer, Done, Failure, FileKind, Found, Hit, Outcome, ReadAs, Search, World};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::args::Input;
use super::generation::Generation;
use super::shared::record::Record;
use super::shared::refusal::{ENOENT, REJECTED, Wanted, failed, refused};
use crate::{Context, Next};

/// Paths that Glob shows.
const PATHS: usize = 100;
/// Lines or paths that Grep of the newest version shows unasked.
const ENTRIES: usize = 250;
/// Characters of a line that is shown.
const COLUMNS: usize = 500;
/// Folders that are not searched, whatever is hidden or ignored.
const VERSIONING: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

pub(super) fn glob(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let root = input.given("path").map_or_else(|| record.cwd.clone(), |path| record.path(path));
    let place = match whereabouts(generation, &record, &root, input, did) {
        Ok(kind) => kind,
        Err(next) => return next,
    };
    if place == FileKind::File && input.given("path").is_some() {
        let text = format!("Path is not a directory: {}", root.display());
        return match generation {
            Generation::V1_0 => Next::Answer(Answer::plain("No files found")),
            Generation::V2_0 | Generation::V2_1 => Next::Answer(Answer::failed(generation.wrong(&text))),
            _ => Next::Answer(Answer::failed(text)),
        };
    }
    let Some(done) = did.get(1) else {
        let mut pattern = input.text("pattern").to_owned();
        // The older ones take a pattern without a slash for one of this folder alone.
        if generation <= Generation::V2_0 && !pattern.contains('/') {
            pattern.insert_str(0, "./");
        }
        let as_ripgrep = generation >= Generation::V2_1;
        let (root, pattern) = if as_ripgrep { from_its_folder(root, pattern) } else { (root, pattern) };
        return Next::Do(vec![Action::World(World::Glob(Search {
            root,
            pattern,
            hidden: true,
            overrides: as_ripgrep,
            ..Search::default()
        }))]);
    };
    // The folder of an absolute pattern.
    if matches!(done.outcome, Outcome::Failed(Failure::Io { errno: ENOENT, .. })) {
        return Next::Answer(Answer::plain("No files found"));
    }
    let found = match found(generation, input.tool, done) {
        Ok(found) => found,
        Err(answer) => return Next::Answer(answer),
    };
    let hidden = generation >= Generation::V2_1 || input.text("pattern").split('/').any(|part| part.starts_with('.'));
    let seen = |hit: &&Hit| hit.kind == FileKind::File && (hidden || !is_hidden(&hit.path, &root));
    let mut hits: Vec<&Hit> = found.hits.iter().filter(seen).collect();
    hits.sort_by(|a, b| (a.mtime_ns, &a.path).cmp(&(b.mtime_ns, &b.path)));
    if hits.is_empty() {
        return Next::Answer(Answer::plain("No files found"));
    }
    let shown = |hit: &&Hit| match generation.newest() {
        true => relative(&hit.path, &record.cwd),
        false => hit.path.display().to_string(),
    };
    let mut lines: Vec<String> = hits.iter().take(PATHS).map(shown).collect();
    if let Some(more) = hits.len().checked_sub(PATHS).filter(|more| *more > 0) {
        lines.push(match generation.newest() {
            true => format!(
                "(Showing {PATHS} of {} matching files; {more} more are not listed. Narrow the pattern or path to see the rest.)",
                hits.len()
            ),
            false => "(Results are truncated. Consider using a more specific path or pattern.)".to_owned(),
        });
    }
    Next::Answer(Answer::plain(lines.join("\n")))
}

/// An absolute pattern is one for the folder that it begins with.
fn from_its_folder(root: PathBuf, pattern: String) -> (PathBuf, String) {
    if !pattern.starts_with('/') {
        return (root, pattern);
    }
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(0) | None => (PathBuf::from("/"), pattern[1..].to_owned()),
        Some(at) => (PathBuf::from(&pattern[..at]), pattern[at + 1..].to_owned()),
    }
}

/// What the searched path is; Err: look first, or the answer where it is nothing.
fn whereabouts(
    generation: Generation,
    record: &Record,
    root: &Path,
    input: &Input,
    did: &[Done],
) -> Result<FileKind, Next> {
    let tool = input.tool;
    let what = if tool == "Glob" { "Directory" } else { "Path" };
    match did.first().map(|done| &done.outcome) {
        None => Err(Next::Do(vec![Action::World(World::Read { path: root.to_owned(), what: ReadAs::Stat })])),
        Some(Outcome::Stat { kind, .. }) => Ok(*kind),
        Some(Outcome::Failed(Failure::Io { .. })) => {
            let shown = match input.given("path") {
                Some(path) if generation >= Generation::V2_0 => path.to_owned(),
                _ => root.display().to_string(),
            };
            let text = format!("{what} does not exist: {shown}");
            Err(Next::Answer(match generation {
                Generation::V1_0 => Answer::plain("No files found"),
                Generation::V2_0 | Generation::V2_1 => Answer::failed(generation.wrong(&text)),
                _ => {
                    Answer::failed(format!("{text}. Note: your current working directory is {}.", record.cwd.display()))
                }
            }))
        }
        Some(other) => Err(Next::Answer(trouble(tool, other))),
    }
}

fn trouble(tool: &str, outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::Refused(refusal) => refused(Wanted::Use(tool), refusal),
        Outcome::Failed(failure) => failed(Wanted::Use(tool), failure),
        _ => Answer::failed(REJECTED),
    }
}

fn found<'a>(generation: Generation, tool: &str, done: &'a Done) -> Result<&'a Found, Answer> {
    match &done.outcome {
        Outcome::Paths(found) | Outcome::Matches(found) => Ok(found),
        Outcome::Failed(Failure::Other(text)) if generation.newest() => Err(rejected(text)),
        // The older ones say nothing of a bad pattern.
        Outcome::Failed(Failure::Other(_)) => Ok(&NOTHING),
        other => Err(trouble(tool, other)),
    }
}

static NOTHING: Found = Found { hits: Vec::new(), more: false };

/// What ripgrep did not take.
fn rejected(why: &str) -> Answer {
    // Its own advice.
    let advice = match why {
        why if why.ends_with("is not allowed in a regex") => {
            "\n\nConsider enabling multiline mode with the --multiline flag (or -U for short).\nWhen multiline mode is enabled, new line characters can be matched."
        }
        why if why.ends_with("is not supported") || why.ends_with("are not supported") => {
            "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\nand look-around."
        }
        _ => "",
    };
    Answer::failed(format!(
        "Search failed — ripgrep rejected the pattern, glob, or file type without searching:\nrg: {why}{advice}"
    ))
}

/// Patterns are parted by blanks, and by commas where there are no braces.
fn globs(text: &str) -> Vec<String> {
    let words = text.split_whitespace().flat_map(|word| match word.contains(['{', '}']) {
        true => vec![word],
        false => word.split(',').filter(|glob| !glob.is_empty()).collect(),
    });
    words.map(str::to_owned).collect()
}

/// Numbers that are none of lines, in the order and words of the original.
fn bad_number(generation: Generation, input: &Input) -> Option<Answer> {
    if !generation.newest() {
        return None;
    }
    for (key, more) in [("head_limit", " Pass 0 for unlimited."), ("offset", "")] {
        if let Some(number) = bad(input, key) {
            let text = format!("{key} must be a whole number of 0 or more, got {number}.{more}");
            return Some(Answer::failed(generation.wrong(&text)));
        }
    }
    let flag = bad_context(input)?;
    Some(rejected(&format!("error parsing flag {flag}: value is not a valid number: invalid digit found in string")))
}

fn bad(input: &Input, key: &str) -> Option<f64> {
    let number = input.map.get(key).and_then(Value::as_f64)?;
    (number < 0.0 || number.fract() != 0.0).then_some(number)
}

/// ripgrep's flag for it.
fn bad_context(input: &Input) -> Option<&'static str> {
    let flags = [("context", "-C"), ("-C", "-C"), ("-B", "-B"), ("-A", "-A")];
    flags.into_iter().find(|(key, _)| bad(input, key).is_some()).map(|(_, flag)| flag)
}

/// A name below `root` that begins with a dot.
fn is_hidden(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

fn relative(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Files,
    Content,
    Count,
}

pub(super) fn grep(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let root = input.given("path").map_or_else(|| record.cwd.clone(), |path| record.path(path));
    let kind = match whereabouts(generation, &record, &root, input, did) {
        Ok(kind) => kind,
        Err(next) => return next,
    };
    if let Some(answer) = bad_number(generation, input) {
        return Next::Answer(answer);
    }
    let mode = match input.given("output_mode") {
        Some("content") => Mode::Content,
        Some("count") => Mode::Count,
        _ => Mode::Files,
    };
    let number = |key: &str| input.map.get(key).and_then(Value::as_f64).filter(|n| *n >= 0.0).map(|n| n as usize);
    let around = number("context").or(number("-C"));
    let before = around.or(number("-B")).unwrap_or(0);
    let after = around.or(number("-A")).unwrap_or(0);
    let Some(done) = did.get(1) else {
        let (before, after) = if mode == Mode::Content { (before, after) } else { (0, 0) };
        return Next::Do(vec![Action::World(World::Grep(Search {
            root,
            pattern: input.text("pattern").to_owned(),
            globs: match generation >= Generation::V2_1 {
                true => VERSIONING.iter().map(|name| format!("!{name}")).chain(globs(input.text("glob"))).collect(),
                false => globs(input.text("glob")),
            },
            overrides: generation >= Generation::V2_0,
            // The newest runs ripgrep in the folder that it searches.
            glob_base: (!generation.newest()).then(|| record.cwd.clone()),
            types: input.given("type").map(str::to_owned).into_iter().collect(),
            ignore_case: input.flag("-i").unwrap_or(false),
            multiline: input.flag("multiline").unwrap_or(false),
            before,
            after,
            respect_ignore: true,
            hidden: generation != Generation::V1_0,
            ..Search::default()
        }))]);
    };
    let found = match found(generation, input.tool, done) {
        // The older ones say nothing of a bad number either.
        Ok(_) if bad_context(input).is_some() => &NOTHING,
        Ok(found) => found,
        Err(answer) => return Next::Answer(answer),
    };
    let only = input.flag("-o").unwrap_or(false).then(|| matcher(input)).flatten();
    let show = Show {
        generation,
        only,
        across: input.flag("multiline").unwrap_or(false).then(|| matcher(input)).flatten(),
        cwd: &record.cwd,
        numbers: input.flag("-n").unwrap_or(generation >= Generation::V2_1),
        paths: kind != FileKind::File,
        groups: before + after > 0,
        offset: number("offset").unwrap_or(0),
        limit: match number("head_limit") {
            Some(0) if generation.newest() => None,
            None if generation.newest() => Some(ENTRIES),
            limit => limit,
        },
        asked: number("head_limit").is_some_and(|limit| limit > 0),
    };
    Next::Answer(Answer::plain(match mode {
        Mode::Files => show.files(found),
        Mode::Content => show.content(found),
        Mode::Count => show.count(found),
    }))
}

struct Show<'a> {
    generation: Generation,
    /// Show what matches this, not the lines.
    only: Option<Regex>,
    /// Counts what matches this, over line ends, not lines.
    across: Option<Regex>,
    cwd: &'a Path,
    numbers: bool,
    paths: bool,
    groups: bool,
    offset: usize,
    limit: Option<usize>,
    /// The limit was given in the call.
    asked: bool,
}

impl Show<'_> {
    /// As long as older versions: absolute.
    fn path(&self, path: &Path) -> String {
        if self.generation >= Generation::V2_1 { relative(path, self.cwd) } else { path.display().to_string() }
    }

    /// The entries that are shown, and what is said of those that are not: `limit: 3, offset: 2`.
    fn page<T>(&self, entries: Vec<T>) -> (Vec<T>, String) {
        let all = entries.len();
        let left: Vec<T> = entries.into_iter().skip(self.offset).collect();
        let cut = self.limit.filter(|limit| left.len() > *limit);
        let shown = left.into_iter().take(self.limit.unwrap_or(all)).collect();
        let mut said = Vec::new();
        match self.generation {
            Generation::V1_0 | Generation::V2_0 => {}
            Generation::V2_1 if self.asked || self.offset > 0 => {
                let limit = self.limit.filter(|limit| *limit > 0);
                said.push(format!("limit: {}", limit.map_or("undefined".to_owned(), |limit| limit.to_string())));
                said.push(format!("offset: {}", self.offset));
            }
            Generation::V2_1 => {}
            _ => {
                said.extend(cut.map(|limit| format!("limit: {limit}")));
                said.extend((self.offset > 0).then(|| format!("offset: {}", self.offset)));
            }
        }
        (shown, said.join(", "))
    }

    fn files(&self, found: &Found) -> String {
        let mut hits: Vec<&Hit> = found.hits.iter().collect();
        hits.sort_by(|a, b| b.mtime_ns.cmp(&a.mtime_ns).then_with(|| a.path.cmp(&b.path)));
        if hits.is_empty() {
            return "No files found".to_owned();
        }
        let (shown, said) = self.page(hits);
        if shown.is_empty() && !self.generation.newest() {
            return "No files found".to_owned();
        }
        if shown.is_empty() {
            return format!("No entries at this offset. [Showing results with pagination = {said}]");
        }
        let files = counted(shown.len(), "file");
        let said = if said.is_empty() { said } else { format!(" {said}") };
        let paths: Vec<String> = shown.iter().map(|hit| self.path(&hit.path)).collect();
        format!("Found {files}{said}\n{}", paths.join("\n"))
    }

    fn content(&self, found: &Found) -> String {
        let mut lines = Vec::new();
        for hit in &found.hits {
            let path = self.path(&hit.path);
            let mut last = None;
            for (number, text, context) in &hit.lines {
                let gap = last.is_some_and(|last| last + 1 != *number) || (last.is_none() && !lines.is_empty());
                if self.groups && gap {
                    lines.push("--".to_owned());
                }
                last = Some(*number);
                let sign = if *context { '-' } else { ':' };
                let start = |line: &mut String| {
                    if self.paths {
                        // 2.1 looks for the path's end at a colon.
                        let whole = self.generation == Generation::V2_1 && *context && !text.contains(':');
                        match whole {
                            true => line.push_str(&format!("{}{sign}", hit.path.display())),
                            false => line.push_str(&format!("{path}{sign}")),
                        }
                    }
                    if self.numbers {
                        line.push_str(&format!("{number}{sign}"));
                    }
                };
                if let Some(only) = self.only.as_ref().filter(|_| !*context) {
                    for found in only.find_iter(text).filter(|found| !found.is_empty()) {
                        let mut line = String::new();
                        start(&mut line);
                        line.push_str(found.as_str());
                        lines.push(line);
                    }
                    continue;
                }
                let mut line = String::new();
                start(&mut line);
                let text = text.trim_end_matches(['\n', '\r']);
                match self.generation >= Generation::V2_1 && text.chars().count() > COLUMNS {
                    true if *context => line.push_str("[Omitted long context line]"),
                    true => line.push_str("[Omitted long matching line]"),
                    false => line.push_str(text),
                }
                lines.push(line);
            }
        }
        if lines.is_empty() {
            return "No matches found".to_owned();
        }
        let (shown, said) = self.page(lines);
        if shown.is_empty() && !self.generation.newest() {
            let note = if said.is_empty() { said } else { format!("\n\n[Showing results with pagination = {said}]") };
            return format!("No matches found{note}");
        }
        if shown.is_empty() {
            return format!("No entries at this offset\n\n[Showing results with pagination = {said}]");
        }
        let note = if said.is_empty() { said } else { format!("\n\n[Showing results with pagination = {said}]") };
        format!("{}{note}", shown.join("\n"))
    }

    fn count(&self, found: &Found) -> String {
        let of = |hit: &Hit| match &self.across {
            Some(across) => across.find_iter(&blocks(hit)).count(),
            None => hit.lines.iter().filter(|(_, _, context)| !context).count(),
        };
        let counts: Vec<(String, usize)> = found.hits.iter().map(|hit| (self.path(&hit.path), of(hit))).collect();
        let all = (counts.iter().map(|(_, n)| n).sum::<usize>(), counts.len());
        if counts.is_empty() {
            return "No matches found\n\nFound 0 total occurrences across 0 files.".to_owned();
        }
        let (shown, said) = self.page(counts);
        let (total, files) = match self.generation.newest() {
            true => all,
            false => (shown.iter().map(|(_, n)| n).sum(), shown.len()),
        };
        let bare = !self.paths && !self.generation.newest();
        let (total, files) = if bare { (0, 0) } else { (total, files) };
        let lines = match shown.is_empty() {
            true if !self.generation.newest() => vec!["No matches found".to_owned()],
            true => vec!["No entries at this offset".to_owned()],
            // Without the path the older ones do not find the number.
            false if bare => shown.iter().map(|(_, n)| n.to_string()).collect(),
            false => shown.iter().map(|(path, n)| format!("{path}:{n}")).collect(),
        };
        let said = if said.is_empty() { said } else { format!(" with pagination = {said}") };
        format!(
            "{}\n\nFound {} across {}.{said}",
            lines.join("\n"),
            counted(total, "total occurrence"),
            counted(files, "file")
        )
    }
}

/// The lines that matched, with a blank one where some between did not.
fn blocks(hit: &Hit) -> String {
    let (mut text, mut last) = (String::new(), None);
    for (number, line, _) in hit.lines.iter().filter(|(_, _, context)| !context) {
        if last.is_some_and(|last| last + 1 != *number) {
            text.push('\n');
        }
        last = Some(*number);
        text.push_str(line.trim_end_matches(['\n', '\r']));
        text.push('\n');
    }
    text
}

/// None: the pattern is of ripgrep's engine and not of ours; whole lines are shown then.
fn matcher(input: &Input) -> Option<Regex> {
    let ignore_case = input.flag("-i").unwrap_or(false);
    let mut builder = RegexBuilder::new(input.text("pattern"));
    let across = input.flag("multiline").unwrap_or(false);
    builder.case_insensitive(ignore_case).multi_line(true).dot_matches_new_line(across).build().ok()
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
