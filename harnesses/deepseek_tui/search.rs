//! `list_dir`, `grep_files` and `file_search`.
use std::path::{Path, PathBuf};

use protocol::{Action, Done, Failure, FileKind, Found, Hit, Outcome, Search, World};
use serde::Serialize;

use super::answer::{Step, trouble};
use super::args::Args;
use super::paths;
use crate::Context;

/// What no search goes into.
const PASSED_OVER: [&str; 12] = [
    "node_modules",
    ".git",
    "target",
    "dist",
    "build",
    "venv",
    ".venv",
    "__pycache__",
    ".next",
    ".cache",
    "vendor",
    "coverage",
];
const CONTEXT: usize = 2;
const MOST_CONTEXT: usize = 20;
const MATCHES: usize = 100;
const MOST_MATCHES: usize = 1_000;
/// Files that are counted, or looked at by name.
const FILES: usize = 50_000;
const NAMED: usize = 20;
const MOST_NAMED: usize = 200;

fn json<T: Serialize>(value: &T) -> Step {
    match serde_json::to_string(value) {
        Ok(text) => Step::ok(text),
        Err(error) => Step::error(error.to_string()),
    }
}

/// The folder or file that is meant. Err: the answer.
fn root(cx: &Context, args: &Args) -> Result<(String, PathBuf), Step> {
    let written = args.given("path").filter(|path| !path.is_empty()).unwrap_or(".");
    paths::resolve(cx, written).map(|path| (written.to_owned(), path)).map_err(Step::error)
}

#[derive(Serialize)]
struct Listed {
    name: String,
    is_dir: bool,
}

pub(super) fn list(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let (written, path) = match root(cx, args) {
        Ok(root) => root,
        Err(step) => return step,
    };
    match did.first().map(|done| &done.outcome) {
        None => Step::one(Action::World(World::List { path, depth: 1, limit: 0 })),
        Some(Outcome::Paths(found)) => {
            let name = |hit: &Hit| hit.path.file_name().unwrap_or(hit.path.as_os_str()).to_string_lossy().into_owned();
            let listed = found.hits.iter().map(|hit| Listed { name: name(hit), is_dir: hit.kind == FileKind::Folder });
            json(&listed.collect::<Vec<_>>())
        }
        Some(Outcome::Failed(Failure::NotAFile { .. })) => {
            Step::error(format!("Failed to list {written}: it is no folder"))
        }
        Some(other) => trouble("list_dir", &format!("list {written}"), other),
    }
}

#[derive(Serialize)]
struct Match {
    file: String,
    line_number: u64,
    line: String,
    context_before: Vec<String>,
    context_after: Vec<String>,
}

#[derive(Serialize)]
struct Matches {
    matches: Vec<Match>,
    total_matches: usize,
    files_searched: usize,
    truncated: bool,
}

pub(super) fn grep(cx: &Context, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "grep_files";
    let (written, path) = match root(cx, args) {
        Ok(root) => root,
        Err(step) => return step,
    };
    let around = args.count("context_lines").unwrap_or(CONTEXT).min(MOST_CONTEXT);
    let search = Search {
        root: path,
        globs: globs(args, "include"),
        hidden: true,
        ignore_case: args.on("case_insensitive"),
        ..Search::default()
    };
    match did.iter().map(|done| &done.outcome).collect::<Vec<_>>().as_slice() {
        [] => {
            let limit = args.count("max_results").unwrap_or(MATCHES).clamp(1, MOST_MATCHES);
            let pattern = args.text("pattern").to_owned();
            // The files that are searched are counted by a look at their names.
            let names = Search { pattern: "**/*".into(), limit: FILES, ..search.clone() };
            let lines = Search { pattern, before: around, after: around, limit, ..search };
            Step::Do(vec![Action::World(World::Grep(lines)), Action::World(World::Glob(names))])
        }
        [Outcome::Matches(found), names, ..] => {
            let files_searched = match names {
                Outcome::Paths(names) => names.hits.len(),
                // It is one file.
                _ => 1,
            };
            let matches: Vec<Match> = found.hits.iter().flat_map(|hit| in_file(cx, hit, around)).collect();
            json(&Matches { total_matches: matches.len(), matches, files_searched, truncated: found.more })
        }
        [Outcome::Failed(Failure::Other(why)), ..] => Step::invalid(TOOL, &format!("pattern: {why}")),
        [other, ..] => trouble(TOOL, &format!("search {written}"), other),
    }
}

/// Globs of the call, and what is passed over where none of them is about it.
fn globs(args: &Args, include: &str) -> Vec<String> {
    let passed_over = PASSED_OVER.iter().map(|name| (*name).to_owned());
    let excluded = args.texts("exclude").into_iter().chain(passed_over).map(|glob| format!("!{glob}"));
    args.texts(include).into_iter().chain(excluded).collect()
}

fn in_file(cx: &Context, hit: &Hit, around: usize) -> Vec<Match> {
    let around = around as u64;
    let between = |from: u64, to: u64| {
        let lines = hit.lines.iter().filter(|(number, ..)| (from..=to).contains(number));
        lines.map(|(_, text, _)| text.clone()).collect()
    };
    let found = hit.lines.iter().filter(|(.., context)| !context);
    found
        .map(|(number, line, _)| Match {
            file: paths::shown(cx, &hit.path),
            line_number: *number,
            line: line.clone(),
            context_before: between(number.saturating_sub(around), number.saturating_sub(1)),
            context_after: between(number + 1, number + around),
        })
        .collect()
}

#[derive(Serialize)]
struct Named {
    path: String,
    name: String,
    score: u32,
}

#[derive(Serialize)]
struct Names {
    matches: Vec<Named>,
    total_matches: usize,
    truncated: bool,
}

/// The form of this result is ours.
pub(super) fn by_name(cx: &Context, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "file_search";
    let (written, path) = match root(cx, args) {
        Ok(root) => root,
        Err(step) => return step,
    };
    let query = args.text("query").trim().to_lowercase();
    if query.is_empty() {
        return Step::invalid(TOOL, "query must not be empty");
    }
    match did.first().map(|done| &done.outcome) {
        None => {
            let search = Search {
                root: path,
                pattern: "**/*".into(),
                globs: globs(args, ""),
                hidden: true,
                limit: FILES,
                ..Search::default()
            };
            Step::one(Action::World(World::Glob(search)))
        }
        Some(Outcome::Paths(found)) => json(&best(cx, found, &query, args)),
        Some(other) => trouble(TOOL, &format!("search {written}"), other),
    }
}

fn best(cx: &Context, found: &Found, query: &str, args: &Args) -> Names {
    let extensions = args.texts("extensions");
    let wanted = |path: &Path| {
        let ends = |extension: &String| {
            path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension.trim_start_matches('.')))
        };
        extensions.is_empty() || extensions.iter().any(ends)
    };
    let named = |hit: &Hit| {
        let path = paths::shown(cx, &hit.path);
        let name = hit.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(Named { score: score(query, &name.to_lowercase(), &path.to_lowercase())?, path, name })
    };
    let mut all: Vec<Named> = found.hits.iter().filter(|hit| wanted(&hit.path)).filter_map(named).collect();
    all.sort_by(|a, b| b.score.cmp(&a.score).then(a.path.len().cmp(&b.path.len())).then(a.path.cmp(&b.path)));
    let limit = args.count("limit").unwrap_or(NAMED).clamp(1, MOST_NAMED);
    let total_matches = all.len();
    all.truncate(limit);
    Names { truncated: found.more || total_matches > limit, total_matches, matches: all }
}

/// None: it does not match. All of them in lower case.
fn score(query: &str, name: &str, path: &str) -> Option<u32> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    Some(match () {
        () if name == query || path == query => 100,
        () if stem == query => 95,
        () if name.starts_with(query) => 85,
        () if name.contains(query) => 75,
        () if path.contains(query) => 60,
        () if query.split_whitespace().all(|word| path.contains(word)) => 50,
        () if in_order(query, name) => 40,
        () if in_order(query, path) => 20,
        () => return None,
    })
}

fn in_order(query: &str, text: &str) -> bool {
    let mut letters = text.chars();
    query.chars().filter(|c| !c.is_whitespace()).all(|wanted| letters.any(|c| c == wanted))
}
