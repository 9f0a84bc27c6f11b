//! `Glob` and `Grep`.
use std::path::{Path, PathBuf};

use protocol::{Action, Done, Failure, FileKind, Found, Hit, Outcome, Search, World};

use super::args::Args;
use super::paths::{self, is_missing, is_secret};
use super::refusal::{failed, not_done, refused};
use super::result::Said;
use super::{Step, tree};
use crate::Context;

/// Results of a glob.
const MATCHES: usize = 1_000;
/// Lines of a search that are collected at all.
const COLLECTED: usize = 50_000;

pub(super) fn glob(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let pattern = args.text("pattern");
    let cwd = &cx.settings.cwd;
    if pattern.starts_with("**") {
        return refused_pattern(cx, pattern, did);
    }
    let root = match args.maybe("directory") {
        None => cwd.clone(),
        Some(directory) => {
            let root = paths::home(cx, directory);
            if root.is_relative() {
                return Step::Tell(Said::failed(format!(
                    "`{directory}` is not an absolute path. You must provide an absolute path to search."
                )));
            }
            let root = paths::plain(&root);
            if !inside(cx, &root) {
                return Step::Tell(Said::failed(format!(
                    "`{directory}` is outside the workspace. You can only search within the working directory, additional directories, and skills directories."
                )));
            }
            root
        }
    };
    let shown = args.maybe("directory").unwrap_or(".");
    let found = match did.first().map(|done| &done.outcome) {
        None => {
            let search = Search {
                root,
                pattern: format!("./{}", pattern.trim_start_matches("./")),
                hidden: true,
                folders: args.on("include_dirs"),
                limit: MATCHES,
                ..Search::default()
            };
            return Step::Do(vec![Action::World(World::Glob(search))]);
        }
        Some(Outcome::Paths(found)) => found,
        Some(seen) if is_missing(seen) => return Step::Tell(Said::failed(format!("`{shown}` does not exist."))),
        Some(Outcome::Failed(Failure::NotAFile { .. })) => {
            return Step::Tell(Said::failed(format!("`{shown}` is not a directory.")));
        }
        Some(other) => {
            return Step::Tell(not_done(&format!("Failed to search for pattern {pattern}."), other));
        }
    };
    let mut names: Vec<String> = found.hits.iter().map(|hit| below(&hit.path, &root)).collect();
    names.sort_unstable();
    Step::Tell(match names.len() {
        0 => Said::ok(format!("No matches found for pattern `{pattern}`.")),
        count => {
            let more = match found.more {
                true => format!(
                    " Only the first {MATCHES} matches are returned. Use a more specific pattern to see the others."
                ),
                false => String::new(),
            };
            Said::ok(format!("Found {count} matches for pattern `{pattern}`.{more}")).with(names.join("\n"))
        }
    })
}

fn refused_pattern(cx: &Context, pattern: &str, did: &[Done]) -> Step {
    let cwd = &cx.settings.cwd;
    let message = format!(
        "Pattern `{pattern}` starts with '**' which is not allowed. It would go through every folder, with dependencies and build output that may be very large. Begin the pattern with a folder. This is the top level of the working directory, to choose from:"
    );
    let said = Said::failed(message);
    Step::Tell(match did.first().map(|done| &done.outcome) {
        None => return Step::Do(vec![Action::World(World::List { path: cwd.clone(), depth: 2, limit: 0 })]),
        Some(Outcome::Paths(found)) => {
            let names: Vec<String> = found.hits.iter().map(|hit| listed(hit, cwd)).collect();
            let shown = names.iter().map(String::as_str).filter(|name| !name.starts_with(".git/") || *name == ".git/");
            said.with(tree::tree(shown))
        }
        Some(_) => said,
    })
}

fn listed(hit: &Hit, root: &Path) -> String {
    let slash = if hit.kind == FileKind::Folder { "/" } else { "" };
    format!("{}{slash}", below(&hit.path, root))
}

fn below(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn inside(cx: &Context, path: &Path) -> bool {
    let skills = cx.skills.iter().filter_map(|skill| Path::new(&skill.file).parent());
    path.starts_with(&cx.settings.cwd)
        || cx.settings.sandbox.writable_roots.iter().any(|root| path.starts_with(root))
        || skills.into_iter().any(|folder| path.starts_with(folder))
}

pub(super) fn grep(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let written = args.text("path");
    let root = paths::plain(&cx.settings.cwd.join(paths::home(cx, written)));
    let content = args.text("output_mode") == "content";
    let around = |flag: &str| args.count("-C").or(args.count(flag)).filter(|_| content).unwrap_or(0);
    let found = match did.first().map(|done| &done.outcome) {
        None => {
            let search = Search {
                root,
                pattern: args.text("pattern").to_owned(),
                globs: args.maybe("glob").map(str::to_owned).into_iter().collect(),
                types: args.maybe("type").map(str::to_owned).into_iter().collect(),
                ignore_case: args.on("-i"),
                multiline: args.on("multiline"),
                before: around("-B"),
                after: around("-A"),
                respect_ignore: !args.on("include_ignored"),
                hidden: true,
                limit: COLLECTED,
                ..Search::default()
            };
            return Step::Do(vec![Action::World(World::Grep(search))]);
        }
        Some(Outcome::Matches(found)) => found,
        Some(seen) if is_missing(seen) => {
            return Step::Tell(Said::failed(format!(
                "Failed to grep. Error: rg: {written}: IO error for operation on {written}: No such file or directory (os error 2)\n"
            )));
        }
        Some(Outcome::Failed(failure)) => {
            let why = failed(failure);
            return Step::Tell(Said::failed(format!("Failed to grep. Error: rg: {}\n", why.trim_end())));
        }
        Some(Outcome::Refused(refusal)) => return Step::Tell(refused(refusal)),
        Some(other) => return Step::Tell(not_done("Failed to grep.", other)),
    };
    Step::Tell(report(args, &Place { root, written: written.to_owned() }, found))
}

/// Where was searched, and how the model wrote it: results begin with that.
struct Place {
    root: PathBuf,
    written: String,
}

impl Place {
    fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => self.written.clone(),
            Ok(below) => format!("{}/{}", self.written.trim_end_matches('/'), below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

fn report(args: &Args, place: &Place, found: &Found) -> Said {
    let hits: Vec<&Hit> = found.hits.iter().filter(|hit| !is_secret(&hit.path)).collect();
    if hits.is_empty() {
        return Said::ok("No matches found.");
    }
    let mut notes = Vec::new();
    let lines: Vec<String> = match args.text("output_mode") {
        "content" => {
            let context = ["-A", "-B", "-C"].iter().any(|flag| args.count(flag).is_some_and(|lines| lines > 0));
            content(&hits, place, args.on("-n"), context)
        }
        "count_matches" => {
            let counts: Vec<usize> = hits.iter().map(|hit| occurrences(args, hit)).collect();
            let total: usize = counts.iter().sum();
            notes.push(format!("Found {total} total occurrences across {} files.", hits.len()));
            hits.iter().zip(counts).map(|(hit, count)| format!("{}:{count}", place.show(&hit.path))).collect()
        }
        _ => hits.iter().map(|hit| place.show(&hit.path)).collect(),
    };
    let offset = args.count("offset").unwrap_or(0);
    let limit = args.count("head_limit").filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let total = lines.len();
    let shown: Vec<String> = lines.into_iter().skip(offset).take(limit).collect();
    if offset.saturating_add(shown.len()) < total {
        let next = offset + shown.len();
        notes.push(format!("Results truncated to {limit} lines (total: {total}). Use offset={next} to see more."));
    }
    Said::ok(notes.join(" ")).with_bounded(&shown.join("\n"))
}

fn content(hits: &[&Hit], place: &Place, numbers: bool, context: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for hit in hits {
        let (path, mut last) = (place.show(&hit.path), None::<u64>);
        for (number, text, is_context) in &hit.lines {
            // Pieces that do not follow each other are set apart.
            if context && !lines.is_empty() && last.is_none_or(|last| number.saturating_sub(last) > 1) {
                lines.push("--".to_owned());
            }
            last = Some(*number);
            let mark = if *is_context { '-' } else { ':' };
            lines.push(match numbers {
                true => format!("{path}{mark}{number}{mark}{text}"),
                false => format!("{path}{mark}{text}"),
            });
        }
    }
    lines
}

/// Of a plain text every occurrence counts; of an expression each line with one, since only the lines are known here.
fn occurrences(args: &Args, hit: &Hit) -> usize {
    let pattern = args.text("pattern");
    let plain = !pattern.is_empty() && !pattern.contains(|c: char| r"\.+*?()|[]{}^$#&~-".contains(c));
    let matched = hit.lines.iter().filter(|(_, _, is_context)| !is_context);
    if !plain {
        return matched.count();
    }
    let lower = |text: &str| if args.on("-i") { text.to_lowercase() } else { text.to_owned() };
    let pattern = lower(pattern);
    matched.map(|(_, line, _)| lower(line).matches(&pattern).count().max(1)).sum()
}
