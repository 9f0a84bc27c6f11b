//! The glob and grep tools, which are ripgrep underneath: hidden files are searched, ignored ones are not. The original lists files in
//! the order of ripgrep's walk, which is none; here they are ordered by path.
use protocol::{Action, Answer, Done, Failure, Found, Outcome, Search, World};

use super::{absolute, refusal, shown};
use crate::{Context, Next};

/// Files or lines shown.
const LIMIT: usize = 100;
/// Characters of a line.
const LINE: usize = 2_000;
const NOTHING: &str = "No files found";
const FAILED: &str = "ripgrep execution failed";

pub(super) fn glob(cx: &Context, pattern: &str, path: Option<&str>, did: &[Done]) -> Next {
    let root = path.map_or(cx.settings.cwd.clone(), |path| absolute(cx, path));
    let Some(done) = did.first() else {
        let pattern = if pattern.is_empty() { "**" } else { pattern };
        return Next::Do(vec![Action::World(World::Glob(Search { pattern: pattern.to_owned(), ..search(root) }))]);
    };
    Next::Answer(match &done.outcome {
        Outcome::Paths(found) if found.hits.is_empty() => Answer::plain(NOTHING),
        Outcome::Paths(found) => {
            let paths: Vec<String> = found.hits.iter().map(|hit| shown(&hit.path)).collect();
            let more = match found.more {
                true => {
                    "\n\n(Results are truncated: showing first 100 results. Consider using a more specific path or pattern.)"
                }
                false => "",
            };
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
        Outcome::Failed(Failure::Other(message)) => bad_pattern(pattern, message),
        other => refusal::told(other),
    })
}

fn search(root: std::path::PathBuf) -> Search {
    Search { root, hidden: true, respect_ignore: true, limit: LIMIT, ..Search::default() }
}

/// ripgrep's message, in which the pattern stands in a group. A line feed in a pattern matches nothing there, silently.
fn bad_pattern(pattern: &str, message: &str) -> Answer {
    match message.split_once("error: ") {
        Some((_, why)) if message.contains("parse error") => {
            Answer::failed(format!("rg: regex parse error:\n    (?:{pattern})\n    ^\nerror: {}", why.trim_end()))
        }
        _ => Answer::plain(NOTHING),
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
