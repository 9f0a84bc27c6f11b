//! The tools that look around: glob, grep_search and list_directory. Measured by `glob.json`, `grep.json` and `grep-many.json`; the form
//! of grep_search is the one that the original has where ripgrep runs.
use std::path::{Path, PathBuf};

use protocol::{Action, Done, Failure, FileKind, Hit, Outcome, Search, World};
use serde_json::{Map, Value};

use super::cut::{self, GENERAL, GENERAL_CHARS, GREP, plain};
use super::record;
use super::refusal::{self, ENOENT, ENOTDIR};
use super::{args, collate, js_regex};
use crate::{Context, Next};

/// Files of one glob that are shown, entries of one folder.
const FILES: usize = 100;
/// Files of one search whose version is noted.
const NOTED: usize = 50;
/// Files that changed within this many milliseconds come first, the newest of them at the top.
const RECENT: u64 = 24 * 60 * 60 * 1_000;

pub(super) fn glob(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "glob";
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let pattern = args::text(args, "pattern");
    if pattern.trim().is_empty() {
        return say("The 'pattern' parameter cannot be empty.".to_owned());
    }
    let given = Some(args::text(args, "path")).filter(|path| !path.is_empty());
    let folder = given.map(|path| record::plain(&cx.settings.cwd.join(path)));
    let place = match &folder {
        None => "in the workspace directory".to_owned(),
        Some(folder) => format!("within {}", folder.display()),
    };
    let none = || say(format!("No files found matching pattern \"{pattern}\" {place}"));
    let Some(first) = did.first() else {
        let (root, pattern) = rooted(folder.unwrap_or_else(|| cx.settings.cwd.clone()), pattern);
        let search =
            Search { root, pattern, ignore_case: true, respect_ignore: true, hidden: true, ..Search::default() };
        return Next::Do(vec![Action::World(World::Glob(search))]);
    };
    match &first.outcome {
        Outcome::Paths(found) if found.hits.is_empty() => none(),
        Outcome::Paths(found) => {
            let mut hits: Vec<&Hit> = found.hits.iter().collect();
            let recent = |hit: &Hit| hit.mtime_ns / 1_000_000 + RECENT > first.at;
            hits.sort_by(|a, b| match (recent(a), recent(b)) {
                (true, true) => b.mtime_ns.cmp(&a.mtime_ns),
                (false, false) => collate::compare(&a.path.to_string_lossy(), &b.path.to_string_lossy()),
                (a, b) => b.cmp(&a),
            });
            let shown: Vec<String> = hits.iter().take(FILES).map(|hit| hit.path.display().to_string()).collect();
            let mut text = format!(
                "Found {} file(s) matching \"{pattern}\" {place}, sorted by modification time (newest first):\n---\n{}",
                hits.len(),
                shown.join("\n")
            );
            if let Some(more) = hits.len().checked_sub(FILES).filter(|more| *more > 0) {
                text.push_str(&format!("\n---\n[{more} files truncated] ..."));
            }
            cut::answer(TOOL, text, GENERAL, did)
        }
        Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, path, .. }) => match given {
            Some(_) => say(format!("Path does not exist: {}", path.display())),
            None => none(),
        },
        Outcome::Failed(Failure::NotAFile { path, .. }) => match given {
            Some(_) => say(format!("Path is not a directory: {}", path.display())),
            None => none(),
        },
        // A pattern that is none matches nothing.
        Outcome::Failed(Failure::Other(_)) => none(),
        other => trouble(TOOL, other),
    }
}

/// This dialect's patterns are tied to their folder, and may lead out of it.
fn rooted(mut root: PathBuf, pattern: &str) -> (PathBuf, String) {
    let mut rest = pattern;
    if Path::new(rest).is_absolute() {
        return (root, rest.to_owned());
    }
    loop {
        if let Some(up) = rest.strip_prefix("../") {
            root.pop();
            rest = up;
        } else if let Some(here) = rest.strip_prefix("./") {
            rest = here;
        } else {
            return (root, format!("./{rest}"));
        }
    }
}

pub(super) fn grep(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "grep_search";
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let pattern = args::text(args, "pattern");
    if let Some(problem) = js_regex::problem(pattern) {
        return say(format!(
            "Invalid regular expression pattern: {pattern}. Error: Invalid regular expression: /{pattern}/: {problem}"
        ));
    }
    let given = Some(args::text(args, "path")).filter(|path| !path.is_empty());
    let filter = Some(args::text(args, "glob")).filter(|glob| !glob.is_empty());
    let root = record::plain(&cx.settings.cwd.join(given.unwrap_or_default()));
    let Some(first) = did.first() else {
        let globs = filter.map(str::to_owned).into_iter().collect();
        let search = Search {
            root,
            pattern: pattern.to_owned(),
            globs,
            overrides: true,
            glob_base: Some(cx.settings.cwd.clone()),
            ignore_case: true,
            respect_ignore: true,
            ..Search::default()
        };
        return Next::Do(vec![Action::World(World::Grep(search))]);
    };
    let place = match given {
        Some(path) => format!("in path \"{path}\""),
        None => "in the workspace directory".to_owned(),
    };
    let filter = filter.map(|glob| format!(" (filter: \"{glob}\")")).unwrap_or_default();
    match &first.outcome {
        Outcome::Matches(found) => {
            let line = |hit: &Hit, (number, text, context): &(u64, String, bool)| {
                (!context).then(|| format!("{}:{number}:{text}", hit.path.display()))
            };
            let lines: Vec<String> =
                found.hits.iter().flat_map(|hit| hit.lines.iter().filter_map(|found| line(hit, found))).collect();
            if lines.is_empty() {
                return say(format!("No matches found for pattern \"{pattern}\" {place}{filter}."));
            }
            // Whoever saw a matching line has read the file, as far as edit is concerned: its version is noted.
            if did.len() == 1 {
                let look =
                    |hit: &Hit| Action::World(World::Read { path: hit.path.clone(), what: protocol::ReadAs::Stat });
                return Next::Do(found.hits.iter().take(NOTED).map(look).collect());
            }
            let matches = if lines.len() == 1 { "match" } else { "matches" };
            let most = args::whole(args, "limit").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
            let wanted: Vec<&str> = lines.iter().take(most).map(String::as_str).collect();
            let (shown, count, cut) = cut::lines_within(&wanted, GENERAL_CHARS, "...");
            let mut text =
                format!("Found {} {matches} for pattern \"{pattern}\" {place}{filter}:\n---\n{shown}", lines.len());
            let left_out = lines.len() - count + usize::from(cut);
            if left_out > 0 {
                let s = if left_out == 1 { "" } else { "s" };
                text.push_str(&format!("\n---\n[{left_out} line{s} truncated] ..."));
            }
            cut::answer(TOOL, text, GREP, did)
        }
        Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. }) => {
            say(format!("Path does not exist: {}", root.display()))
        }
        Outcome::Failed(Failure::Other(error)) => say(format!("Error during grep search operation: {error}")),
        other => trouble(TOOL, other),
    }
}

/// Offered where the user switched it on.
pub(super) fn list(args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "list_directory";
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let given = args::text(args, "path");
    if !Path::new(given).is_absolute() {
        return say(format!("Path must be absolute: {given}"));
    }
    let root = record::plain(Path::new(given));
    let respected = args.get("file_filtering_options").and_then(|options| options["respect_git_ignore"].as_bool());
    let (Some(listed), Some(kept)) = (did.first(), did.get(1)) else {
        let kept = Search {
            root: root.clone(),
            pattern: "**".into(),
            respect_ignore: respected.unwrap_or(true),
            hidden: true,
            ..Search::default()
        };
        // What is ignored is told by a second look: a file that is listed, but not found.
        let list = World::List { path: root, depth: 1, limit: 0 };
        return Next::Do(vec![Action::World(list), Action::World(World::Glob(kept))]);
    };
    match (&listed.outcome, &kept.outcome) {
        (Outcome::Paths(all), Outcome::Paths(kept)) => {
            let name = |hit: &Hit| hit.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let unwanted: Vec<&str> =
                args.get("ignore").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
            let seen = |hit: &&Hit| !unwanted.iter().any(|pattern| collate::wildcard(pattern, &name(hit)));
            let is_kept = |hit: &&Hit| hit.kind == FileKind::Folder || kept.hits.iter().any(|k| k.path == hit.path);
            let (mut shown, ignored): (Vec<&Hit>, Vec<&Hit>) = all.hits.iter().filter(seen).partition(is_kept);
            shown.sort_by(|a, b| {
                (b.kind == FileKind::Folder)
                    .cmp(&(a.kind == FileKind::Folder))
                    .then_with(|| collate::compare(&name(a), &name(b)))
            });
            if shown.is_empty() && ignored.is_empty() {
                return say(format!("Directory {given} is empty."));
            }
            let line = |hit: &&Hit| match hit.kind {
                FileKind::Folder => format!("[DIR] {}", name(hit)),
                _ => name(hit),
            };
            let lines: Vec<String> = shown.iter().take(FILES).map(line).collect();
            let mut text = format!("Listed {} item(s) in {given}:\n---\n{}", shown.len(), lines.join("\n"));
            if let Some(more) = shown.len().checked_sub(FILES).filter(|more| *more > 0) {
                text.push_str(&format!("\n---\n[{more} items truncated] ..."));
            }
            if !ignored.is_empty() {
                text.push_str(&format!("\n\n({} git-ignored)", ignored.len()));
            }
            cut::answer(TOOL, text, GENERAL, did)
        }
        (Outcome::Failed(Failure::NotAFile { .. }), _) => say(format!("Error: Path is not a directory: {given}")),
        (Outcome::Failed(Failure::Io { errno, message, .. }), _) => {
            say(format!("Error listing directory: {}, stat '{given}'", refusal::node_error(*errno, message)))
        }
        (other, _) => trouble(TOOL, other),
    }
}

fn trouble(tool: &str, outcome: &Outcome) -> Next {
    Next::Answer(match outcome {
        Outcome::Refused(refusal) => refusal::refused(tool, refusal),
        Outcome::Failed(failure) => plain(tool, refusal::failure(failure)),
        _ => refusal::unrecorded(),
    })
}
