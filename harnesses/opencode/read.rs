//! The read tool: lines of a file with their numbers, a folder's entries, an image or a PDF as an attachment. Forms and limits as
//! measured by `tests/wire/opencode/read-*.json`.
use std::path::Path;

use protocol::{Action, Answer, Done, Failure, FileKind, Found, Hit, Outcome, Part, ReadAs, World};

use super::{absolute, instructions, refusal, shown};
use crate::claude_code_bare::refusal::{ENOENT, ENOTDIR};
use crate::{Context, Next};

const LINES: u64 = 2_000;
/// Bytes of all lines shown, line feeds included.
const BYTES: usize = 50 * 1024;
/// Characters of one line.
const LINE: usize = 2_000;
/// Bytes of the largest file that is looked at.
const MAX_FILE: u64 = 64 << 20;
/// Entries of a folder.
const ENTRIES: usize = 50_000;
/// Names that are offered in place of one that does not exist.
const NEAR: usize = 3;
/// Bytes at the start of a file that tell whether it is text, and the share of control characters (in per cent) beyond which it is not.
const LOOKED_AT: usize = 4_096;
const CONTROLS: usize = 30;

/// Refused by name, whatever they hold.
const BINARY: [&str; 28] = [
    "zip", "tar", "gz", "7z", "exe", "dll", "so", "class", "jar", "war", "doc", "docx", "xls", "xlsx", "ppt", "pptx",
    "odt", "ods", "odp", "bin", "dat", "obj", "o", "a", "lib", "wasm", "pyc", "pyo",
];
const IMAGES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// What stands above the attachments of answers. (As OpenCode sends them where results cannot hold any.)
const ATTACHED: &str = "Attached media from tool result:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) path: String,
    /// From 1; 0 counts as 1.
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<u64>,
}

pub(super) fn next(cx: &Context, asked: &Asked, did: &[Done]) -> Next {
    let path = absolute(cx, &asked.path);
    let read = |what: ReadAs| Next::Do(vec![Action::World(World::Read { path: path.clone(), what })]);
    let failed = |text: String| Next::Answer(Answer::failed(text));
    let Some(first) = did.first() else {
        return read(match extension(&path).as_str() {
            name if IMAGES.contains(&name) => ReadAs::Image { max_side: None, max_bytes: None },
            "pdf" => ReadAs::Document { max_bytes: MAX_FILE },
            _ => ReadAs::Text { max_bytes: MAX_FILE },
        });
    };
    match &first.outcome {
        Outcome::Text { text, .. } => {
            if is_binary(&path, text) {
                return failed(format!("Cannot read binary file: {}", shown(&path)));
            }
            let lines = match file(&named(&path, asked), text, asked) {
                Ok(lines) => lines,
                Err(text) => return failed(text),
            };
            let looks = if did.len() == 1 { instructions::looks(cx, &path) } else { Vec::new() };
            match looks.is_empty() {
                true => Next::Answer(Answer::plain(lines + &instructions::told(&did[1..]))),
                false => Next::Do(looks),
            }
        }
        Outcome::Media { blob, .. } => {
            let (kind, can) = match blob.mime.starts_with("image/") {
                true => ("image", cx.model.images && cx.caps.images),
                false => ("pdf", cx.caps.documents),
            };
            let part = match can {
                true if kind == "image" => Part::Image { blob: blob.clone(), detail: None },
                true => Part::Document(blob.clone()),
                false => Part::Text(format!(
                    "ERROR: Cannot read {kind} (this model does not support {kind} input). Inform the user."
                )),
            };
            let name = if kind == "image" { "Image" } else { "PDF" };
            Next::Answer(Answer {
                after: vec![Part::text(ATTACHED), part],
                ..Answer::plain(format!("{name} read successfully"))
            })
        }
        Outcome::Failed(Failure::BadImage { .. }) => Next::Answer(Answer::plain(
            "Image read successfully\n\n[1 image omitted: could not be resized below the image size limit.]",
        )),
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Special, .. }) => match path == Path::new("/dev/null") {
            true => Next::Answer(Answer::plain(file(&named(&path, asked), "", asked).unwrap_or_default())),
            false => failed(format!("Cannot read binary file: {}", shown(&path))),
        },
        Outcome::Failed(Failure::NotAFile { .. }) => match did.get(1).map(|done| &done.outcome) {
            None => Next::Do(vec![Action::World(World::List { path, depth: 1, limit: ENTRIES })]),
            Some(Outcome::Paths(found)) => Next::Answer(Answer::plain(folder(&named(&path, asked), found, asked))),
            Some(other) => Next::Answer(refusal::told(other)),
        },
        Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. }) => match (did.get(1), path.parent()) {
            (None, Some(parent)) => {
                Next::Do(vec![Action::World(World::List { path: parent.to_owned(), depth: 1, limit: ENTRIES })])
            }
            (done, _) => failed(missing(&path, done)),
        },
        other => Next::Answer(refusal::told(other)),
    }
}

/// An absolute path is shown as it was given.
fn named(path: &Path, asked: &Asked) -> String {
    if Path::new(&asked.path).is_absolute() { asked.path.clone() } else { shown(path) }
}

fn extension(path: &Path) -> String {
    path.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn is_binary(path: &Path, text: &str) -> bool {
    if BINARY.contains(&extension(path).as_str()) {
        return true;
    }
    let start = &text.as_bytes()[..text.len().min(LOOKED_AT)];
    let control = |b: &&u8| matches!(b, 0x01..=0x08 | 0x0e..=0x1f);
    start.contains(&0) || start.iter().filter(control).count() * 100 > start.len() * CONTROLS
}

/// Lines end at LF, CR LF or a lone CR; the last line feed ends a line and begins none.
fn lines(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for piece in text.split('\n') {
        all.extend(piece.strip_suffix('\r').unwrap_or(piece).split('\r'));
    }
    if all.last() == Some(&"") {
        all.pop();
    }
    all
}

fn file(path: &str, text: &str, asked: &Asked) -> Result<String, String> {
    let all = lines(text);
    let total = all.len() as u64;
    let offset = asked.offset.unwrap_or(1).max(1);
    let limit = asked.limit.unwrap_or(LINES);
    if offset > total && !(total == 0 && offset == 1) {
        return Err(format!("Offset {offset} is out of range for this file ({total} lines)"));
    }
    let (mut shown, mut bytes, mut capped) = (Vec::new(), 0, false);
    let wanted = all.iter().skip(usize::try_from(offset - 1).unwrap_or(usize::MAX));
    for line in wanted.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        let line = match line.char_indices().nth(LINE) {
            Some((end, _)) => format!("{}... (line truncated to {LINE} chars)", &line[..end]),
            None => (*line).to_owned(),
        };
        bytes += line.len() + usize::from(!shown.is_empty());
        if bytes > BYTES {
            capped = true;
            break;
        }
        shown.push(line);
    }
    let last = offset + shown.len() as u64 - 1;
    let note = match (capped, last < total) {
        (true, _) => {
            format!("(Output capped at 50 KB. Showing lines {offset}-{last}. Use offset={} to continue.)", last + 1)
        }
        (false, true) => {
            format!("(Showing lines {offset}-{last} of {total}. Use offset={} to continue.)", last + 1)
        }
        (false, false) => format!("(End of file - total {total} lines)"),
    };
    let numbered: Vec<String> = (offset..).zip(shown).map(|(n, line)| format!("{n}: {line}")).collect();
    Ok(format!("<path>{path}</path>\n<type>file</type>\n<content>\n{}\n\n{note}\n</content>", numbered.join("\n")))
}

fn folder(path: &str, found: &Found, asked: &Asked) -> String {
    let mut names: Vec<String> = found.hits.iter().map(entry).collect();
    names.sort_by_cached_key(|name| collated(name));
    let total = names.len() as u64;
    let offset = asked.offset.unwrap_or(1).max(1);
    let limit = asked.limit.unwrap_or(LINES);
    let shown: Vec<&str> = names
        .iter()
        .skip(usize::try_from(offset - 1).unwrap_or(usize::MAX))
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .map(String::as_str)
        .collect();
    let end = offset.saturating_add(shown.len() as u64);
    let note = match end <= total {
        true => {
            format!("(Showing {} of {total} entries. Use 'offset' parameter to read beyond entry {end})", shown.len())
        }
        false => format!("({total} entries)"),
    };
    format!("<path>{path}</path>\n<type>directory</type>\n<entries>\n{}\n\n{note}\n</entries>", shown.join("\n"))
}

fn entry(hit: &Hit) -> String {
    let name = hit.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if hit.kind == FileKind::Folder { name + "/" } else { name }
}

/// The order of a JavaScript `localeCompare`: signs, digits, letters of either case, small ones first.
fn collated(name: &str) -> (Vec<(usize, char)>, Vec<bool>) {
    const SIGNS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let weight = |c: char| match SIGNS.find(c) {
        _ if c.is_whitespace() => (0, c),
        Some(at) => (1 + at, c),
        None => (if c.is_numeric() { 100 } else { 101 }, c.to_lowercase().next().unwrap_or(c)),
    };
    (name.chars().map(weight).collect(), name.chars().map(char::is_uppercase).collect())
}

fn missing(path: &Path, listed: Option<&Done>) -> String {
    let mut text = format!("File not found: {}", shown(path));
    let wanted = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let Some(Outcome::Paths(found)) = listed.map(|done| &done.outcome) else { return text };
    let near = |hit: &&Hit| {
        let name = hit.path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        !name.is_empty() && (name.contains(&wanted) || wanted.contains(&name))
    };
    let near: Vec<String> = found.hits.iter().filter(near).take(NEAR).map(|hit| shown(&hit.path)).collect();
    if !near.is_empty() {
        text.push_str(&format!("\n\nDid you mean one of these?\n{}", near.join("\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        let check = |text: &str, expected: &[&str]| assert_eq!(lines(text), expected, "{text:?}");
        check("x\ry\nz\n", &["x", "y", "z"]);
        check("a\r\nb\r\n", &["a", "b"]);
        check("one\ntwo", &["one", "two"]);
        check("\tx\n\n\n", &["\tx", "", ""]);
        check("", &[]);
    }

    #[test]
    fn entries_are_in_the_originals_order() {
        let sorted = [
            "_u",
            ".git/",
            "a.txt",
            "ab.txt",
            "abc.txt",
            "abcd.txt",
            "ac.txt",
            "AGENTS.md",
            "B.txt",
            "c d.txt",
            "cr.txt",
            "ctl.txt",
            "ctl2.txt",
            "e.7z",
            "e.a",
            "s/",
            "s2/",
            "u/",
            "Z/",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by_cached_key(|name| collated(name));
        assert_eq!(names, sorted);
    }

    #[test]
    fn text_and_not() {
        let check = |path: &str, text: &str, expected: bool| assert_eq!(is_binary(Path::new(path), text), expected);
        check("/w/a.txt", "a\0b", true);
        check("/w/a.txt", "\x01\x02\x03\x04ab\n", true);
        check("/w/a.txt", "\x01abcdefghijklmnop\n", false);
        check("/w/a.ZIP", "text", true);
        check("/w/a.db", "text", false);
        check("/w/a.txt", "", false);
    }

    proptest! {
        #[test]
        fn any_part_of_any_file_is_shown(text in "([a-zé\r]{0,9}\n){0,30}", offset in proptest::option::of(0u64..40), limit in proptest::option::of(0u64..40)) {
            let asked = Asked { path: "/w/a".into(), offset, limit };
            let total = lines(&text).len() as u64;
            match file("/w/a", &text, &asked) {
                Ok(shown) => prop_assert!(shown.ends_with("\n</content>")),
                Err(_) => prop_assert!(offset.unwrap_or(1).max(1) > total),
            }
        }
    }
}
