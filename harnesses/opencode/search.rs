//! The glob and grep tools, which are ripgrep underneath: hidden files are searched, ignored ones are not. The original lists files in
//! the order of ripgrep's walk, which is none; here they are ordered by path.
use std::path::{Path, PathBuf};

use protocol::{Action, Answer, Done, Failure, Found, Outcome, Search, World};

use super::{absolute, refusal, shown};
use crate::{Context, Next};

/// Files or lines shown.
const LIMIT: usize = 100;
/// Characters of a line.
const LINE: usize = 2_000;
/// Files that a glob looks at before hidden folders are left out.
const LOOKED_AT: usize = 20_000;
const NOTHING: &str = "No files found";
const FAILED: &str = "ripgrep execution failed";

pub(super) fn glob(cx: &Context, pattern: &str, path: Option<&str>, did: &[Done]) -> Next {
    let root = path.map_or(cx.settings.cwd.clone(), |path| absolute(cx, path));
    let Some(done) = did.first() else {
        let pattern = if pattern.is_empty() { "**" } else { pattern };
        let search = Search { pattern: pattern.to_owned(), limit: LOOKED_AT, ..search(root) };
        return Next::Do(vec![Action::World(World::Glob(search))]);
    };
    Next::Answer(match &done.outcome {
        Outcome::Paths(found) => {
            // A hidden file may be meant; hidden folders are not looked into.
            let open = found.hits.iter().filter(|hit| !in_hidden_folder(&root, &hit.path));
            let mut paths: Vec<String> = open.map(|hit| shown(&hit.path)).collect();
            if paths.is_empty() {
                return Next::Answer(Answer::plain(NOTHING));
            }
            let more = match found.more || paths.len() > LIMIT {
                true => {
                    "\n\n(Results are truncated: showing first 100 results. Consider using a more specific path or pattern.)"
                }
                false => "",
            };
            paths.truncate(LIMIT);
            Answer::plain(paths.join("\n") + more)
        }
        Outcome::Failed(Failure::NotAFile { .. }) => {
            Answer::failed(format!("glob path must be a directory: {}", shown(&root)))
        }
        Outcome::Failed(Failure::Io { .. }) => Answer::failed(FAILED),
        // A pattern that is none matches nothing.
        Outcome::Failed(Failure::Other(_)) => Answer::plain(NOTHING),
        other => refusal::told(other),
    })
}

fn in_hidden_folder(root: &Path, path: &Path) -> bool {
    let folders = path.strip_prefix(root).ok().and_then(Path::parent).map(Path::components);
    folders.into_iter().flatten().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
}

pub(super) fn grep(cx: &Context, pattern: &str, path: Option<&str>, include: Option<String>, did: &[Done]) -> Next {
    if pattern.is_empty() {
        return Next::Answer(Answer::failed("pattern is required"));
    }
    let Some(done) = did.first() else {
        let root = path.map_or(cx.settings.cwd.clone(), |path| absolute(cx, path));
        let globs = include.into_iter().filter(|glob| !glob.is_empty()).collect();
        let search = Search { pattern: pattern.to_owned(), globs, ..search(root) };
        return Next::Do(vec![Action::World(World::Grep(search))]);
    };
    Next::Answer(match &done.outcome {
        Outcome::Matches(found) if found.hits.is_empty() => Answer::plain(NOTHING),
        Outcome::Matches(found) => Answer::plain(matches(found)),
        Outcome::Failed(Failure::Io { .. } | Failure::NotAFile { .. }) => Answer::failed(FAILED),
        Outcome::Failed(Failure::Other(message)) => bad_pattern(message),
        other => refusal::told(other),
    })
}

fn search(root: PathBuf) -> Search {
    Search { root, hidden: true, respect_ignore: true, limit: LIMIT, ..Search::default() }
}

/// ripgrep's message. A line feed in a pattern matches nothing there, silently.
fn bad_pattern(message: &str) -> Answer {
    match message.contains("parse error") {
        true => Answer::failed(format!("rg: {}", message.trim_end())),
        false => Answer::plain(NOTHING),
    }
}

fn matches(found: &Found) -> String {
    let count: usize = found.hits.iter().map(|hit| hit.lines.len()).sum();
    let more = if found.more { " (more matches available)" } else { "" };
    let mut out = vec![format!("Found {count} matches{more}")];
    for (n, hit) in found.hits.iter().enumerate() {
        if n > 0 {
            out.push(String::new());
        }
        out.push(format!("{}:", shown(&hit.path)));
        out.extend(hit.lines.iter().map(|(number, text, _)| match text.char_indices().nth(LINE) {
            Some((end, _)) => format!("  Line {number}: {}...", &text[..end]),
            // The line feed is the line's own.
            None => format!("  Line {number}: {text}\n"),
        }));
    }
    if found.more {
        out.push(String::new());
        out.push("(Results truncated. Consider using a more specific path or pattern.)".to_owned());
    }
    out.join("\n")
}
