//! Glob and Grep. Texts as measured by `tests/wire/kimi-code/{glob,grep}*.json`. Results in the order of paths where the original's
//! order is that of threads; secret files and folders of version control never appear.
use std::path::Path;

use protocol::{Action, Done, Failure, FileKind, Found, Hit, Outcome, Search, World};
use regex::RegexBuilder;

use super::args::Args;
use super::envelope::Said;
use super::paths::{self, For, VCS};
use super::refusal;
use crate::{Context, Next};

const PATHS: usize = 100;
const LINES: usize = 250;
const NO_MATCHES: &str = "No non-sensitive matches found";

pub(super) fn glob(cx: &Context, call: &str, args: &Args, did: &[Done]) -> Next {
    let root = match args.text("path").map(|path| paths::resolve(cx, path, For::Searching)) {
        None => cx.settings.cwd.clone(),
        Some(Ok(root)) => root,
        Some(Err(text)) => return Next::Answer(Said::failed(text).answer("Glob", did)),
    };
    let pattern = args.str("pattern");
    let Some(first) = did.first() else {
        let search =
            Search { root, hidden: true, respect_ignore: args.flag("include_ignored") != Some(true), ..named(pattern) };
        return Next::Do(vec![Action::World(World::Glob(search))]);
    };
    let said = match &first.outcome {
        Outcome::Paths(found) => {
            let paths: Vec<String> = newest(found).map(|hit| below(cx, &root, &hit.path)).collect();
            Said::ok(page(&paths, args.count("offset").unwrap_or(0), args.count("head_limit").unwrap_or(PATHS)))
        }
        Outcome::Failed(Failure::NotAFile { .. } | Failure::Io { errno: refusal::ENOTDIR, .. }) => {
            Said::failed(format!("{} is not a directory", root.display()))
        }
        Outcome::Failed(Failure::Io { errno: refusal::ENOENT, .. }) => {
            Said::failed(format!("{} does not exist", root.display()))
        }
        Outcome::Failed(Failure::Other(why)) => Said::failed(format!("Glob failed: rg: {why}")),
        other => refusal::said("Glob", other),
    };
    said.next("Glob", call, did)
}

/// A pattern as ripgrep reads its own: what it names is found even where rules hide it; `!x` is all but that.
fn named(pattern: &str) -> Search {
    let all = || "**/*".to_owned();
    match pattern {
        "" => Search { pattern: all(), globs: no_vcs(), ..Search::default() },
        pattern if pattern.starts_with('!') => {
            let globs = no_vcs().into_iter().chain([pattern.to_owned()]).collect();
            Search { pattern: all(), globs, ..Search::default() }
        }
        // The last one decides: the model's own may open those folders.
        pattern => {
            let [first, others @ ..] = &VCS;
            let globs = others.iter().map(|name| format!("!{name}")).chain([pattern.to_owned()]).collect();
            Search { pattern: format!("!{first}"), globs, overrides: true, ..Search::default() }
        }
    }
}

/// A page of paths, with what is said of the others.
fn page(paths: &[String], offset: usize, limit: usize) -> String {
    let total = paths.len();
    if total == 0 {
        return "No matches found".to_owned();
    }
    if offset >= total {
        return format!("No more matches at offset={offset} in the current result set ({total} matches).");
    }
    let end = if limit == 0 { total } else { total.min(offset.saturating_add(limit)) };
    let shown = paths[offset..end].join("\n");
    if offset == 0 && end == total {
        return if limit == total { format!("{shown}\nFound {total} matches") } else { shown };
    }
    let mut head = format!("Showing matches {}–{end} of {total}.\n", offset + 1);
    if end < total {
        head.push_str(&format!(
            "Continue with the same search arguments and offset={end}.\nTo remove the match-count limit, omit offset and use head_limit=0.\n"
        ));
    }
    head + &shown
}

/// Relative to the folder that was searched, where that lies in the working directory.
fn below(cx: &Context, root: &Path, path: &Path) -> String {
    match root.starts_with(&cx.settings.cwd) {
        true => path.strip_prefix(root).unwrap_or(path).display().to_string(),
        false => path.display().to_string(),
    }
}

fn no_vcs() -> Vec<String> {
    VCS.iter().map(|name| format!("!{name}")).collect()
}

/// Without secret files and links, last changed first.
fn newest(found: &Found) -> impl Iterator<Item = &Hit> {
    let is_file = |hit: &&Hit| hit.kind == FileKind::File && !hit.is_link && !paths::is_secret(&hit.path);
    let files = found.hits.iter().filter(is_file);
    let mut hits: Vec<&Hit> = files.collect();
    hits.sort_by(|a, b| b.mtime_ns.cmp(&a.mtime_ns).then_with(|| a.path.cmp(&b.path)));
    hits.into_iter()
}

pub(super) fn grep(cx: &Context, call: &str, args: &Args, did: &[Done]) -> Next {
    let root = match args.text("path").map(|path| paths::resolve(cx, path, For::Searching)) {
        None => cx.settings.cwd.clone(),
        Some(Ok(root)) => root,
        Some(Err(text)) => return Next::Answer(Said::failed(text).answer("Grep", did)),
    };
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Grep(search(cx, args, &root)))]);
    };
    let said = match &first.outcome {
        Outcome::Matches(found) => Said::ok(matches(cx, args, &root, found)),
        Outcome::Failed(Failure::Io { message, .. }) => {
            let path = root.display();
            let message = message_with_number(message, &first.outcome);
            failed(&format!("rg: {path}: IO error for operation on {path}: {message}"))
        }
        Outcome::Failed(Failure::Other(why)) => failed(&format!("rg: {why}")),
        other => refusal::said("Grep", other),
    };
    said.next("Grep", call, did)
}

fn search(cx: &Context, args: &Args, root: &Path) -> Search {
    let content = args.text("output_mode") == Some("content");
    let around = |key: &str| args.count("-C").or_else(|| args.count(key)).filter(|_| content).unwrap_or(0);
    // The last one decides: no glob of the model's opens those folders.
    let globs = args.text("glob").map(str::to_owned).into_iter().chain(no_vcs());
    Search {
        root: root.to_owned(),
        pattern: args.str("pattern").to_owned(),
        globs: globs.collect(),
        overrides: true,
        glob_base: Some(cx.settings.cwd.clone()),
        binary: true,
        types: args.text("type").map(str::to_owned).into_iter().collect(),
        ignore_case: args.flag("-i") == Some(true),
        multiline: args.flag("multiline") == Some(true),
        before: around("-B"),
        after: around("-A"),
        respect_ignore: args.flag("include_ignored") != Some(true),
        hidden: true,
        ..Search::default()
    }
}

fn message_with_number(message: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(Failure::Io { errno, .. }) => format!("{message} (os error {errno})"),
        _ => message.to_owned(),
    }
}

/// With the last line first, as the original has it.
fn failed(stderr: &str) -> Said {
    let last = stderr.lines().last().unwrap_or(stderr);
    Said::failed(format!("Failed to grep: {last}\n\nripgrep stderr:\n{stderr}"))
}

fn matches(cx: &Context, args: &Args, root: &Path, found: &Found) -> String {
    let secret: Vec<String> =
        (found.hits.iter().filter(|hit| paths::is_secret(&hit.path))).map(|hit| paths::shown(cx, &hit.path)).collect();
    let hits: Vec<&Hit> = found.hits.iter().filter(|hit| !paths::is_secret(&hit.path)).collect();
    let mut head = Vec::new();
    let lines: Vec<String> = match args.str("output_mode") {
        "content" => content(cx, args, root, &hits),
        "count_matches" => {
            // Of a binary file that was met on the way, nobody knows how many there are.
            let counted = hits.iter().filter(|hit| hit.binary.is_none() || hit.path == root);
            let counts: Vec<(String, usize)> =
                counted.map(|hit| (paths::shown(cx, &hit.path), count(args, hit))).collect();
            let total: usize = counts.iter().map(|(_, n)| n).sum();
            let plural = |n: usize| if n == 1 { "" } else { "s" };
            head.push(format!(
                "Found {total} total occurrence{} across {} file{}.",
                plural(total),
                counts.len(),
                plural(counts.len())
            ));
            counts.into_iter().map(|(path, n)| format!("{path}:{n}")).collect()
        }
        _ => newest(found).map(|hit| paths::shown(cx, &hit.path)).collect(),
    };
    let (total, offset) = (lines.len(), args.count("offset").unwrap_or(0));
    let limit = args.count("head_limit").unwrap_or(LINES);
    let end = if limit == 0 { total } else { total.min(offset.saturating_add(limit)) };
    // A secret file is only named where it was asked for by its own name.
    let alone = secret.len() == 1 && args.text("path").is_some_and(|path| paths::is_secret(Path::new(path)));
    let filtered = alone.then(|| format!("Filtered 1 sensitive file(s): {}", secret.join(", ")));
    if offset >= total {
        return [Some(NO_MATCHES.to_owned()), filtered].into_iter().flatten().collect::<Vec<_>>().join("\n");
    }
    let body = lines[offset..end].join("\n");
    let more = (end < total)
        .then(|| format!("Results truncated to {limit} lines (total: {total}). Use offset={end} to see more."));
    match head.is_empty() {
        true => [Some(body), more, filtered].into_iter().flatten().collect::<Vec<_>>().join("\n"),
        false => head.into_iter().chain(more).chain([body]).chain(filtered).collect::<Vec<_>>().join("\n"),
    }
}

fn content(cx: &Context, args: &Args, root: &Path, hits: &[&Hit]) -> Vec<String> {
    let around = args.count("-C").unwrap_or_else(|| args.count("-A").unwrap_or(0).max(args.count("-B").unwrap_or(0)));
    let numbers = args.flag("-n") != Some(false);
    let mut out: Vec<String> = Vec::new();
    for hit in hits {
        let path = paths::shown(cx, &hit.path);
        let mut last: Option<u64> = None;
        for (number, text, context) in &hit.lines {
            let gap = last.map_or(!out.is_empty(), |last| *number > last + 1);
            if around > 0 && gap {
                out.push("--".to_owned());
            }
            last = Some(*number);
            out.push(match (numbers, context) {
                (true, false) => format!("{path}:{number}:{text}"),
                (true, true) => format!("{path}-{number}-{text}"),
                (false, _) => format!("{path}:{text}"),
            });
        }
        out.extend(hit.binary.map(|at| {
            let what = match hit.path == root {
                true => "binary file matches",
                false => "WARNING: stopped searching binary file after match",
            };
            format!("{path}: {what} (found \"\\0\" byte around offset {at})")
        }));
    }
    // The line feed of ripgrep's own message, which the original cuts off nowhere but in between.
    if hits.last().is_some_and(|hit| hit.binary.is_some() && hit.path != root) {
        out.push(String::new());
    }
    out
}

/// How often the pattern matches; lines where it cannot be told.
fn count(args: &Args, hit: &Hit) -> usize {
    let multiline = args.flag("multiline") == Some(true);
    let regex = RegexBuilder::new(args.str("pattern"))
        .multi_line(true)
        .case_insensitive(args.flag("-i") == Some(true))
        .dot_matches_new_line(multiline)
        .build();
    let lines = hit.lines.iter().map(|(_, text, _)| text.as_str());
    match regex {
        Ok(regex) if multiline => regex.find_iter(&lines.collect::<Vec<_>>().join("\n")).count().max(1),
        Ok(regex) => lines.map(|line| regex.find_iter(line).count().max(1)).sum::<usize>().max(1),
        Err(_) => hit.lines.len(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn pages_of_paths() {
        let paths: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(page(&paths, 0, 100), "a\nb\nc");
        assert_eq!(page(&paths, 0, 3), "a\nb\nc\nFound 3 matches");
        assert_eq!(
            page(&paths, 0, 2),
            "Showing matches 1–2 of 3.\nContinue with the same search arguments and offset=2.\nTo remove the match-count limit, omit offset and use head_limit=0.\na\nb"
        );
        assert_eq!(page(&paths, 2, 2), "Showing matches 3–3 of 3.\nc");
        assert_eq!(page(&paths, 3, 2), "No more matches at offset=3 in the current result set (3 matches).");
        assert_eq!(page(&[], 0, 2), "No matches found");
    }
}
