//! The read_file tool: text without line numbers, whole or by lines, notebooks, images; a file that has not changed since is not
//! shown twice. Measured by `read-*.json`.
use std::path::{Path, PathBuf};

use protocol::{Action, Answer, Content, Done, Failure, FileKind, Outcome, Part, ReadAs, World};
use serde_json::{Map, Value};

use super::cut::{self, GENERAL_CHARS, GENERAL_LINES, plain};
use super::record::{self, Record, same};
use super::refusal::{self, EISDIR, ENOENT, ENOTDIR};
use super::{args, notebook, pdf, profile};
use crate::{Context, Next};

/// Bytes of a file that is read.
const READABLE: u64 = 64 << 20;
const DOCUMENT: u64 = 32 << 20;
/// Pixels of an image's longer side.
const SIDE: u32 = 2_048;
/// Bytes that are looked at to tell text from other files.
const SNIFFED: usize = 4 << 10;

pub(super) const TOOL: &str = "read_file";

const IMAGES: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "bmp"];
const VIDEOS: [&str; 6] = ["mp4", "mov", "avi", "webm", "mkv", "mpeg"];
const SOUNDS: [&str; 6] = ["mp3", "wav", "ogg", "flac", "m4a", "aac"];
/// Binary whatever is in them.
const BINARY: [&str; 27] = [
    "zip", "tar", "gz", "exe", "dll", "so", "class", "jar", "war", "7z", "doc", "docx", "xls", "xlsx", "ppt", "pptx",
    "odt", "ods", "odp", "bin", "o", "obj", "a", "lib", "wasm", "pyc", "pyo",
];

enum Kind {
    Text,
    Notebook,
    Image,
    Document,
    /// Not shown: what is said instead.
    Other(String),
}

pub(super) fn next(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let given = args::text(args, "file_path").trim();
    let (offset, limit) = (args::whole(args, "offset"), args::whole(args, "limit"));
    if given.is_empty() {
        return say("The 'file_path' parameter must be non-empty.".to_owned());
    }
    if !Path::new(given).is_absolute() {
        return say(format!(
            "File path must be absolute, but was relative: {given}. You must provide an absolute path."
        ));
    }
    if offset.is_some_and(|offset| offset < 0) {
        return say("Offset must be a non-negative integer".to_owned());
    }
    if limit.is_some_and(|limit| limit <= 0) {
        return say("Limit must be a positive integer".to_owned());
    }
    let pages = match pdf::pages(args) {
        Ok(pages) => pages,
        Err(problem) => return say(problem),
    };
    let path = record::plain(Path::new(given));
    let base = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kind = kind(&path, &base);
    if matches!(kind, Kind::Document) && (pages.is_some() || !cx.caps.documents) {
        return pdf::next(cx, given, &path, pages, did);
    }
    let Some(last) = did.last() else { return look(path, &kind) };
    match (&kind, &last.outcome) {
        // A picture by name only is read as text.
        (Kind::Image, Outcome::Failed(Failure::BadImage { .. })) => look(path, &Kind::Text),
        (Kind::Image, Outcome::Media { .. }) if !profile::sees(cx) => say(unsupported("image", &base)),
        (Kind::Image, Outcome::Media { blob, .. }) => {
            let image = Part::Image { blob: blob.clone(), detail: None };
            Next::Answer(Answer { content: Content::Parts(vec![image]), error: None, after: Vec::new() })
        }
        (Kind::Document, Outcome::Media { blob, .. }) => {
            let document = Part::Document(blob.clone());
            Next::Answer(Answer { content: Content::Parts(vec![document]), error: None, after: Vec::new() })
        }
        (Kind::Other(text), Outcome::Stat { kind: FileKind::File, .. }) => say(text.clone()),
        (Kind::Other(_), Outcome::Stat { kind, .. }) => say(no_file(given, *kind)),
        (Kind::Notebook, Outcome::Text { text, .. }) => say(match notebook::view(text) {
            Ok(view) => view,
            Err(error) => format!("Error parsing notebook {}: {error}", path.display()),
        }),
        (_, Outcome::Text { text, stamp, .. }) => {
            let seen = Record::of(cx).seen.get(&path).cloned();
            let known = seen.is_some_and(|seen| seen.full && !seen.payload && same(&seen.stamp, stamp));
            if known && offset.is_none() && limit.is_none() {
                return say(format!(
                    "[File {base} unchanged since last read in this session — the full content was provided earlier in this conversation. If it can no longer be found there (after a summary, say), or something other than the file tools may have changed the file, read it again with offset and limit.]"
                ));
            }
            say(shown(&base, text, offset, limit))
        }
        (_, Outcome::Failed(failure)) => say(failed(cx, given, &path, failure)),
        (_, Outcome::Refused(refusal)) => Next::Answer(refusal::refused(TOOL, refusal)),
        _ => Next::Answer(refusal::unrecorded()),
    }
}

fn look(path: PathBuf, kind: &Kind) -> Next {
    let what = match kind {
        Kind::Text | Kind::Notebook => ReadAs::Text { max_bytes: READABLE },
        Kind::Image => ReadAs::Image { max_side: Some(SIDE), max_bytes: None },
        Kind::Document => ReadAs::Document { max_bytes: DOCUMENT },
        Kind::Other(_) => ReadAs::Stat,
    };
    Next::Do(vec![Action::World(World::Read { path, what })])
}

fn kind(path: &Path, base: &str) -> Kind {
    let ext = path.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default();
    match ext.as_str() {
        "ipynb" => Kind::Notebook,
        "pdf" => Kind::Document,
        ext if IMAGES.contains(&ext) => Kind::Image,
        ext if VIDEOS.contains(&ext) => Kind::Other(unsupported("video", base)),
        ext if SOUNDS.contains(&ext) => Kind::Other(unsupported("audio", base)),
        ext if BINARY.contains(&ext) => Kind::Other(binary(base)),
        _ => Kind::Text,
    }
}

fn binary(base: &str) -> String {
    format!("Cannot display content of binary file: {base}")
}

fn unsupported(kind: &str, base: &str) -> String {
    format!(
        "[Unsupported {kind} file: \"{base}\". This model does not support {kind} input. read_file has no other way to show it: use a skill or an installed program that can handle such files, or tell the user that it cannot be done.]"
    )
}

pub(super) fn no_file(given: &str, kind: FileKind) -> String {
    match kind {
        FileKind::Folder => format!("Path is a directory, not a file: {given}"),
        _ => format!("Not a regular file: {given}"),
    }
}

pub(super) fn failed(cx: &Context, given: &str, path: &Path, failure: &Failure) -> String {
    match failure {
        Failure::Io { errno: ENOENT, .. } => format!("File not found: {given}"),
        Failure::NotAFile { kind, .. } => no_file(given, *kind),
        Failure::Io { errno: EISDIR, .. } => no_file(given, FileKind::Folder),
        Failure::Io { errno, message, .. } => {
            let below = path.strip_prefix(&cx.settings.cwd).unwrap_or(path);
            let call = if *errno == ENOTDIR { "stat" } else { "open" };
            let error = refusal::node_error(*errno, message);
            format!("Error reading file {}: {error}, {call} '{}'", below.display(), path.display())
        }
        Failure::TooLarge { bytes, limit, .. } => format!(
            "File is too large to read: {given} has {bytes} bytes, {limit} is the most. Look at parts of it with run_shell_command (head, tail, sed) or grep_search."
        ),
        failure => refusal::failure(failure),
    }
}

/// Whole, or the lines asked for under a header.
fn shown(base: &str, text: &str, offset: Option<i64>, limit: Option<i64>) -> String {
    if is_binary(text) {
        return binary(base);
    }
    let text = text.replace("\r\n", "\n");
    // Blanks at line ends are not shown; matching in edit lets them pass.
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches([' ', '\t'])).collect();
    let total = lines.len();
    let from = offset.map_or(0, |offset| usize::try_from(offset).unwrap_or(usize::MAX)).min(u32::MAX as usize);
    let count = limit.map_or(GENERAL_LINES, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let to = from.saturating_add(count).min(total);
    let wanted = lines.get(from..to).unwrap_or_default();
    let (shown, count, cut) = cut::lines_within(wanted, GENERAL_CHARS, "... [truncated]");
    if from == 0 && count == total && !cut {
        return shown;
    }
    let last = (from + count).max(from + 1);
    format!("Showing lines {}-{last} of {total} total lines.\n\n---\n\n{shown}", from + 1)
}

/// NUL, or many other characters that no text has, near the beginning.
fn is_binary(text: &str) -> bool {
    let near = &text[..protocol::floor_char(text, SNIFFED)];
    let odd = near.chars().filter(|c| c.is_control() && !matches!(c, '\t'..='\r' | '\u{1b}' | '\u{8}')).count();
    near.contains('\0') || odd * 10 > near.chars().count() * 3
}
