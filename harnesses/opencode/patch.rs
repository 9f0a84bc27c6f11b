//! The apply_patch tool, which GPT-5 models get: a patch in Codex's form, done whole or not at all; answers in OpenCode's words, paths
//! in them as seen from the repository's root.
use std::path::{Path, PathBuf};

use protocol::{Answer, Body, Done, Fact};

use super::absolute;
use crate::native::patch::{self, Step};
use crate::{Context, Next};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const FAILED: &str = "apply_patch verification failed:";

pub(super) fn next(cx: &Context, text: &str, did: &[Done]) -> Next {
    let failed = |text: String| Next::Answer(Answer::failed(text));
    if text.is_empty() {
        return failed("patchText is required".to_owned());
    }
    let patch = match body(text) {
        Some(patch) => patch,
        None => return failed(format!("{FAILED} Error: Invalid patch format: missing Begin/End markers")),
    };
    let inside = patch.trim_start_matches(BEGIN).trim_end_matches(END).trim();
    if inside.is_empty() {
        return failed("patch rejected: empty patch".to_owned());
    }
    let headers: Vec<(char, &str)> = patch.lines().filter_map(header).collect();
    if headers.is_empty() {
        return failed(format!("{FAILED} no hunks found"));
    }
    match patch::step(patch, &cx.settings.cwd, cx.settings.sandbox.mode, did) {
        Step::Do(actions) => Next::Do(actions),
        Step::Ran(report) if report.starts_with("Exit code: 0") => Next::Answer(Answer::plain(summary(cx, &headers))),
        Step::Ran(report) => {
            failed(report.split_once("Output:\n").map_or(report.as_str(), |(_, why)| why).trim_end().to_owned())
        }
        Step::Rejected(why) => failed(reworded(&why)),
    }
}

/// From the first marker to the last: what stands around a patch (a fence, say) is passed over.
fn body(text: &str) -> Option<&str> {
    let from = text.find(BEGIN)?;
    let to = text.rfind(END)? + END.len();
    text.get(from..to)
}

/// A file's letter and the path that the summary names.
fn header(line: &str) -> Option<(char, &str)> {
    let kinds =
        [("*** Add File: ", 'A'), ("*** Update File: ", 'M'), ("*** Delete File: ", 'D'), ("*** Move to: ", '>')];
    kinds.iter().find_map(|(start, letter)| Some((*letter, line.strip_prefix(start)?.trim())))
}

/// In the order of the patch; a moved file under its new name.
fn summary(cx: &Context, headers: &[(char, &str)]) -> String {
    let root = root(cx);
    let mut lines: Vec<String> = Vec::new();
    for (letter, path) in headers {
        let full = absolute(cx, path);
        let path = full.strip_prefix(&root).unwrap_or(&full).display().to_string();
        match letter {
            '>' => {
                lines.pop();
                lines.push(format!("M {path}"));
            }
            letter => lines.push(format!("{letter} {path}")),
        }
    }
    format!("Success. Updated the following files:\n{}", lines.join("\n"))
}

/// Of the repository; outside of one, of the machine.
pub(super) fn root(cx: &Context) -> PathBuf {
    let git = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Git(git)) => Some(git.as_ref()),
        _ => None,
    });
    git.flatten().map_or_else(|| Path::new("/").to_owned(), |git| git.root.clone())
}

/// Codex's words for a patch that was not tried, as OpenCode has them.
fn reworded(why: &str) -> String {
    let Some(rest) = why.strip_prefix(FAILED).map(str::trim_start) else { return why.to_owned() };
    if let Some(rest) = rest.strip_prefix("Failed to read file to update ") {
        let path = rest.split_once(": ").map_or(rest, |(path, _)| path);
        return format!("{FAILED} Failed to read file to update: {path}");
    }
    if let Some(rest) = rest.strip_prefix("Failed to read ") {
        let path = rest.split_once(": ").map_or(rest, |(path, _)| path);
        return format!("{FAILED} NotFound: FileSystem.readFile ({path})");
    }
    format!("{FAILED} Error: {rest}")
}
