//! `write_file` and `edit_file`: a diff of what was changed, and a line that says so.
use std::ops::Range;

use protocol::{Action, Change, Done, Eol, Expect, New, Outcome, ReadAs, World};

use super::answer::{Said, Step, is_missing, trouble};
use super::args::Args;
use super::{diff, paths};
use crate::Context;

/// Bytes of a file that is edited.
const MAX_FILE: u64 = 64 << 20;

pub(super) fn change(path: std::path::PathBuf, new: New, expect: Expect) -> Action {
    Action::World(World::Change(vec![Change { path, to: None, new, expect }]))
}

pub(super) fn write(cx: &Context, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "write_file";
    let (written, content) = (args.text("path"), args.text("content"));
    let path = match paths::resolve(cx, written) {
        Ok(path) => path,
        Err(text) => return Step::error(text),
    };
    let new = || New::Whole { text: content.to_owned(), like: None };
    match did.iter().map(|done| &done.outcome).collect::<Vec<_>>().as_slice() {
        [] => Step::one(Action::World(World::Read { path, what: ReadAs::Text { max_bytes: MAX_FILE } })),
        [Outcome::Text { text, stamp, .. }] if text != content => {
            Step::one(change(path, new(), Expect::Unchanged(stamp.clone())))
        }
        [Outcome::Text { .. }] => Step::ok(format!("Wrote {} bytes to {written}\n(no changes)", content.len())),
        [Outcome::Failed(protocol::Failure::NotAFile { .. }) | Outcome::Refused(_)] => {
            trouble(TOOL, &format!("write {written}"), &did[0].outcome)
        }
        // Not there, or no text: it is written as it is.
        [Outcome::Failed(_)] => Step::one(change(path, new(), Expect::Anything)),
        [before, Outcome::Changed(_)] => Step::ok(match before {
            Outcome::Text { text, .. } => {
                format!("{}Wrote {} bytes to {written}", diff::unified(written, text, content), content.len())
            }
            before if is_missing(before) => {
                format!("{}Created {written} ({} bytes)", diff::unified(written, "", content), content.len())
            }
            _ => format!("Wrote {} bytes to {written}", content.len()),
        }),
        [.., other] => trouble(TOOL, &format!("write {written}"), other),
    }
}

pub(super) fn edit(cx: &Context, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "edit_file";
    let (written, search) = (args.text("path"), args.text("search"));
    let path = match paths::resolve(cx, written) {
        Ok(path) => path,
        Err(text) => return Step::error(text),
    };
    if search.is_empty() {
        return Step::invalid(TOOL, "search must not be empty");
    }
    let (text, form, stamp) = match did.first().map(|done| &done.outcome) {
        None => return Step::one(Action::World(World::Read { path, what: ReadAs::Text { max_bytes: MAX_FILE } })),
        Some(Outcome::Text { text, form, stamp }) => (text, form, stamp),
        Some(other) => return trouble(TOOL, &format!("edit {written}"), other),
    };
    if !form.utf8 {
        return Step::error(format!("Failed to edit {written}: it is no UTF-8 text"));
    }
    // The model sees line feeds only, so it writes them too.
    let mut places = found(text, search);
    let mut replace = args.text("replace").to_owned();
    if places.is_empty() && form.eol == Eol::Crlf {
        places = found(text, &search.replace('\n', "\r\n"));
        replace = replace.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if places.is_empty() && args.on("fuzz") {
        places.extend(by_lines(text, search));
        if search.ends_with('\n') && !replace.is_empty() && !replace.ends_with('\n') {
            replace.push('\n');
        }
    }
    if places.is_empty() {
        return Step::Tell(Said::error(format!("Search string not found in {written}")));
    }
    let after = spliced(text, &places, &replace);
    let count = places.len();
    let summary = match count {
        1 => format!("Replaced 1 occurrence in {written}"),
        _ => format!(
            "Replaced {count} occurrences in {written}\nWarning: search stood in {count} places, and all of them were replaced."
        ),
    };
    match did.get(1).map(|done| &done.outcome) {
        None if after == *text => Step::ok(format!("{summary}\n(no changes)")),
        None => {
            let splices = places.iter().map(|at| (at.start as u64..at.end as u64, replace.clone())).collect();
            Step::one(change(path, New::Splices(splices), Expect::Unchanged(stamp.clone())))
        }
        Some(Outcome::Changed(_)) => Step::ok(format!("{}{summary}", diff::unified(written, text, &after))),
        Some(other) => trouble(TOOL, &format!("edit {written}"), other),
    }
}

fn found(text: &str, search: &str) -> Vec<Range<usize>> {
    text.match_indices(search).map(|(at, found)| at..at + found.len()).collect()
}

/// Whole lines that are the same but for white space at their ends; only where there is one such place.
fn by_lines(text: &str, search: &str) -> Option<Range<usize>> {
    let wanted: Vec<&str> = search.lines().map(str::trim).collect();
    if wanted.iter().all(|line| line.is_empty()) {
        return None;
    }
    let mut at = 0;
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .map(|line| {
            at += line.len();
            (at - line.len(), line)
        })
        .collect();
    let fits = |window: &&[(usize, &str)]| window.iter().zip(&wanted).all(|((_, line), wanted)| line.trim() == *wanted);
    let mut places = lines.windows(wanted.len()).filter(fits).filter_map(|window| {
        let ((start, _), (end, last)) = (window.first()?, window.last()?);
        let kept = if search.ends_with('\n') { last.len() } else { last.trim_end_matches(['\n', '\r']).len() };
        Some(*start..end + kept)
    });
    places.next().filter(|_| places.next().is_none())
}

fn spliced(text: &str, places: &[Range<usize>], replace: &str) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for place in places {
        out.push_str(&text[from..place.start]);
        out.push_str(replace);
        from = place.end;
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn lines_are_found_without_their_white_space() {
        let check = |text: &str, search: &str, expected: Option<std::ops::Range<usize>>| {
            assert_eq!(super::by_lines(text, search), expected, "{search:?}");
        };
        check("  a\n\tb\n", "a\nb", Some(0..6));
        check("  a\n\tb\n", "a\nb\n", Some(0..7));
        check("a\nb\na\n b\n", "a\nb", None);
        check("a\n", "\n", None);
        check("a\n", "a\nb", None);
    }

    proptest! {
        #[test]
        fn places_are_in_the_text(text in "[ab \n]{0,20}", search in "[ab \n]{1,6}") {
            if let Some(place) = super::by_lines(&text, &search) {
                prop_assert!(text.get(place).is_some());
            }
        }
    }
}
