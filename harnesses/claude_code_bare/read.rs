//! The Read tool: numbered lines of a text, an image, a document, a notebook. Limits and texts as measured by
//! `tests/wire/claude-bare/read-*.json`.
use std::path::Path;

use protocol::{Action, Answer, Content, Done, Failure, FileKind, Outcome, Part, ReadAs, Session, World};

use super::args::{Read, wrap};
use super::record::{self, Record};
use super::refusal::{EISDIR, ELOOP, ENOENT, ENOTDIR, REJECTED, Wanted, failed, refused, size};
use super::{image, nearby, notebook, prompt};
use crate::{Context, Next};

/// Bytes of a file that is read without a `limit`.
pub(crate) const WHOLE: u64 = 256 << 10;
/// Tokens of one answer.
pub(crate) const TOKENS: u64 = 25_000;
/// Bytes that are looked at in any case; with a `limit` the file may be larger than `WHOLE`.
pub(crate) const READABLE: u64 = 64 << 20;
/// No text has more bytes to a token than this: a file that has them cannot fit.
const BYTES_PER_TOKEN: u64 = 12;
/// Tokens of the model's window that a conversation leaves free for a summary and its request.
const KEPT_FREE: u64 = 33_000;
const DOCUMENT: u64 = 32 << 20;
/// Bytes of an image; a larger one is made a smaller JPEG. Servers refuse what has more than some megabytes, and the conversation with it.
const IMAGE: u64 = 500 << 10;
/// Pixels of an image's longer side.
const SIDE: u32 = 2_000;
const PAGES: u64 = 20;
const SNIFFED: usize = 8 << 10;

const EMPTY: &str = "Warning: the file exists but the contents are empty.";

pub(crate) const IMAGES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
/// Taken for binary whatever is in them. As measured: of 300 names these.
pub(crate) const BINARY: [&str; 107] = [
    "3ds", "7z", "a", "aac", "ai", "aiff", "apk", "app", "avi", "avif", "bin", "blend", "bmp", "bz2", "class", "dat",
    "data", "db", "deb", "dll", "dmg", "doc", "docm", "docx", "dotx", "dylib", "ear", "eot", "eps", "epub", "exe",
    "feather", "fig", "fla", "flac", "flv", "gz", "heic", "heif", "ico", "idx", "iso", "jar", "lib", "lz4", "m4a",
    "m4v", "max", "mdb", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "node", "npy", "npz", "numbers", "o", "obj",
    "odp", "ods", "odt", "ogg", "opus", "otf", "parquet", "pickle", "ppsx", "ppt", "pptm", "pptx", "psd", "pyc", "pyo",
    "rar", "rlib", "rpm", "sketch", "so", "sqlite", "sqlite3", "swf", "tar", "tgz", "tif", "tiff", "ttf", "war",
    "wasm", "wav", "webm", "whl", "wma", "wmv", "woff", "woff2", "xls", "xlsb", "xlsm", "xlsx", "xz", "z", "zip",
    "zst",
];

enum Kind {
    Text,
    Notebook,
    Image,
    Document,
}

pub(crate) fn next(cx: &Context, read: &Read, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let path = record.path(&read.path);
    let ext = path.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default();
    if is_device(&path) {
        return wrong(&device(&path));
    }
    let kind = match ext.as_str() {
        "ipynb" => Kind::Notebook,
        "pdf" => Kind::Document,
        ext if IMAGES.contains(&ext) => Kind::Image,
        ext if BINARY.contains(&ext) => {
            return wrong(&format!(
                "This tool cannot read binary files. The file appears to be a binary .{ext} file. If there is a skill for such files, use it; else a shell command or script that knows the format."
            ));
        }
        _ => Kind::Text,
    };
    if let (Kind::Document, Some(pages)) = (&kind, &read.pages)
        && let Some(problem) = pages_problem(pages)
    {
        return wrong(&problem);
    }
    let Some(first) = did.first() else {
        let what = match kind {
            Kind::Text | Kind::Notebook => ReadAs::Text { max_bytes: READABLE },
            Kind::Image => ReadAs::Image { max_side: Some(SIDE), max_bytes: Some(IMAGE) },
            Kind::Document => ReadAs::Document { max_bytes: DOCUMENT },
        };
        return Next::Do(vec![Action::World(World::Read { path, what })]);
    };
    match (&kind, &first.outcome) {
        (Kind::Notebook, Outcome::Text { text, .. }) => Next::Answer(notebook::answer(text)),
        (_, Outcome::Text { text, form, stamp }) => {
            let file = File { path: &path, text, utf8: form.utf8, bytes: stamp.len };
            file.next(cx, read, did)
        }
        (Kind::Document, Outcome::Media { blob, .. }) => Next::Answer(document(cx, read, &path, blob)),
        (_, Outcome::Media { blob, original, shown, .. }) => {
            let image = Part::Image { blob: blob.clone(), detail: None };
            let after = image::scaled_note(*original, *shown).map(Part::Text).into_iter().collect();
            Next::Answer(Answer { content: Content::Parts(vec![image]), error: None, after })
        }
        (_, Outcome::Failed(failure)) => failure_answer(&record, read, &path, failure, did),
        (_, Outcome::Refused(refusal)) => Next::Answer(refused(Wanted::Read(&read.path), refusal)),
        _ => Next::Answer(Answer::failed(REJECTED)),
    }
}

fn wrong(text: &str) -> Next {
    Next::Answer(Answer::failed(wrap(text)))
}

fn device(path: &Path) -> String {
    format!("Cannot read '{}': this path names a device or process file that this tool does not read.", path.display())
}

fn is_device(path: &Path) -> bool {
    let text = path.to_string_lossy();
    if let Some(rest) = text.strip_prefix("/dev/") {
        return rest != "null" && !rest.starts_with("shm/");
    }
    let process = |rest: &str| {
        let first = rest.split('/').next().unwrap_or_default();
        matches!(first, "self" | "thread-self") || (!first.is_empty() && first.bytes().all(|b| b.is_ascii_digit()))
    };
    text.strip_prefix("/proc/").is_some_and(process)
}

fn failure_answer(record: &Record, read: &Read, path: &Path, failure: &Failure, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(Answer::failed(text));
    match failure {
        Failure::Io { errno: ENOTDIR, .. } => say(format!("ENOTDIR: not a directory, open '{}'", path.display())),
        Failure::Io { errno: ENOENT, .. } => match did.len() {
            1 => Next::Do(nearby::look(record, path)),
            _ => say(nearby::missing(record, path, did)),
        },
        Failure::Io { errno: ELOOP, .. } => say(format!(
            "Refusing to read {}: where it leads on disk could not be determined (a link on the way could not be examined, or the links do not resolve).",
            path.display()
        )),
        Failure::NotAFile { .. } if path == Path::new("/dev/null") => Next::Answer(Answer::plain(reminder(EMPTY))),
        Failure::NotAFile { kind: FileKind::Special, .. } => wrong(&format!(
            "Cannot read '{}': this path names a pipe or a socket, which this tool does not read.",
            path.display()
        )),
        Failure::NotAFile { .. } | Failure::Io { errno: EISDIR, .. } => {
            say(format!("EISDIR: illegal operation on a directory, read '{}'", path.display()))
        }
        Failure::TooLarge { bytes, .. } => say(too_large(*bytes, false)),
        // What is it then? Its first bytes tell.
        Failure::BadImage { .. } => match did.get(1).map(|done| &done.outcome) {
            None => Next::Do(vec![Action::World(World::Read {
                path: path.to_owned(),
                what: ReadAs::Document { max_bytes: READABLE },
            })]),
            Some(Outcome::Media { blob, .. }) => say(image::bad(path, blob.data.as_deref().unwrap_or_default())),
            Some(_) => say(image::bad(path, &[])),
        },
        failure => Next::Answer(failed(Wanted::Read(&read.path), failure)),
    }
}

fn document(cx: &Context, read: &Read, path: &Path, blob: &protocol::Blob) -> Answer {
    let shown = path.display();
    let header = blob.data.as_deref().map(|data| data.starts_with(b"%PDF-"));
    if blob.len == 0 {
        return Answer::failed(format!("PDF file is empty: {shown}"));
    }
    if header == Some(false) {
        return Answer::failed(format!("File is not a valid PDF (missing %PDF- header): {shown}"));
    }
    if read.pages.is_some() {
        return Answer::failed(format!(
            "Single pages of a PDF cannot be shown by this tool. Read the file without pages, or use `pdftotext -f N -l M \"{shown}\" -` in Bash (package poppler-utils)."
        ));
    }
    if !cx.caps.documents {
        return Answer::failed(format!(
            "This model's server does not take PDF files. Use `pdftotext \"{shown}\" -` in Bash (package poppler-utils)."
        ));
    }
    let text = Part::Text(format!("PDF file read: {shown} ({} bytes)", blob.len));
    Answer { content: Content::Parts(vec![text, Part::Document(blob.clone())]), error: None, after: Vec::new() }
}

fn pages_problem(pages: &str) -> Option<String> {
    let (from, to) = pages.split_once('-').unwrap_or((pages, pages));
    let page = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n > 0);
    match (page(from), page(to)) {
        (Some(from), Some(to)) if from <= to && to - from < PAGES => None,
        (Some(from), Some(to)) if from <= to => Some(format!(
            "Page range \"{pages}\" exceeds maximum of {PAGES} pages per request. Please use a smaller range."
        )),
        _ => Some(format!(
            "Invalid pages parameter: \"{pages}\". It takes one page (\"3\") or one range (\"1-5\"), counted from 1. Read further pages in calls of their own."
        )),
    }
}

fn too_large(bytes: u64, fits_if_allowed: bool) -> String {
    exceeds(&size(bytes), "size", &size(WHOLE), fits_if_allowed)
}

fn exceeds(found: &str, what: &str, limit: &str, fits_if_allowed: bool) -> String {
    let (unit, maximum) = match what {
        "size" => (found.to_owned(), format!("maximum allowed size ({limit})")),
        _ => (format!("{found} tokens"), format!("maximum allowed tokens ({limit})")),
    };
    let more = match fits_if_allowed {
        true => {
            "If all of it is truly needed, or the user asked for the whole file, call Read again with allow_large: true."
        }
        false => "allow_large does not help here: the file is larger than the room that is left in this conversation.",
    };
    format!(
        "File content ({unit}) exceeds {maximum}. Use offset and limit to read a part of it, or search it for what you look for. {more}"
    )
}

struct File<'a> {
    path: &'a Path,
    /// Line ends as they are.
    text: &'a str,
    utf8: bool,
    bytes: u64,
}

impl File<'_> {
    fn next(&self, cx: &Context, read: &Read, did: &[Done]) -> Next {
        let answer = |text: String| Next::Answer(Answer::plain(text));
        let room = room(cx);
        let bytes = self.bytes.max(self.text.len() as u64);
        let may_fit = bytes <= room * BYTES_PER_TOKEN;
        if bytes > WHOLE && read.limit.is_none() && !(read.allow_large && may_fit) {
            return Next::Answer(Answer::failed(too_large(bytes, may_fit)));
        }
        if self.text.is_empty() && read.offset.is_none_or(|offset| offset <= 1) {
            return answer(reminder(EMPTY));
        }
        let lf = self.text.replace("\r\n", "\n");
        let total = record::line_count(&lf);
        let first = read.offset.unwrap_or(1);
        let skip = first.saturating_sub(1) as usize;
        if skip as u64 >= total {
            return answer(reminder(&format!(
                "Warning: the file exists but is shorter than the provided offset ({first}). The file has {total} lines."
            )));
        }
        let limit = read.limit.map_or(usize::MAX, |limit| limit as usize);
        let lines: Vec<&str> = lf.split('\n').skip(skip).take(limit).collect();
        let plain = lines.join("\n");
        let counted = did.iter().find_map(|done| match done.outcome {
            Outcome::Counted { tokens, .. } => Some(tokens),
            _ => None,
        });
        // Short texts are not worth asking for.
        let tokens = match counted {
            Some(tokens) => tokens,
            None if plain.len() as u64 / 4 <= TOKENS / 4 => 0,
            None if did.len() == 1 => {
                let text = if read.allow_large { numbered(&lines, first) } else { plain };
                return Next::Do(vec![Action::Session(Session::CountTokens(vec![Part::Text(text)]))]);
            }
            None => plain.len() as u64 / 4,
        };
        let most = if read.allow_large { room.max(TOKENS) } else { TOKENS };
        if tokens <= most {
            return answer(numbered(&lines, first) + &self.encoding_note());
        }
        if read.limit.is_some() || first > 1 {
            let text = exceeds(&tokens.to_string(), "tokens", &TOKENS.to_string(), tokens <= room);
            return Next::Answer(Answer::failed(text));
        }
        answer(self.page(&lines, total, tokens))
    }

    /// The first page of a text over the limit, with room to spare.
    fn page(&self, lines: &[&str], total: u64, tokens: u64) -> String {
        let share = 0.85 * TOKENS as f64 / tokens as f64;
        let fitting = (share * total as f64) as usize;
        let path = self.path.display();
        if fitting >= 1 && total > 1 {
            let lines = &lines[..fitting.min(lines.len())];
            let shown = lines.len();
            let note = format!(
                "[Truncated: PARTIAL view — {path}: showing {shown} of {total} lines. Read on with offset and limit. What you look for may stand further below: do NOT answer from this page alone.]"
            );
            return format!("{}\n\n{}", numbered(lines, 1), prompt::reminder(&note));
        }
        let text = lines.first().copied().unwrap_or_default();
        let end = protocol::floor_char(text, (share * text.len() as f64) as usize);
        let note = format!(
            "[Truncated: PARTIAL view — {path}: this view is incomplete, and the file has no lines to page by. What you look for may stand elsewhere: do NOT answer from this view alone.]"
        );
        format!("1\t{}\n\n{}", &text[..end], prompt::reminder(&note))
    }

    fn encoding_note(&self) -> String {
        let why = if !self.utf8 {
            "is not valid UTF-8: its encoding is an older one (Windows-1252, Shift-JIS, GBK, ...), or it is binary. Bytes that cannot be decoded are shown as U+FFFD"
        } else if self.text.as_bytes()[..self.text.len().min(SNIFFED)].contains(&0) {
            "has NUL bytes in its first 8 KB: binary data, or UTF-16 or UTF-32 without a byte-order mark"
        } else {
            return String::new();
        };
        format!(
            "\n\n[This file {why}. Edit refuses it: change it with a shell command that keeps its encoding, or ask the user whether it may be converted to UTF-8.]"
        )
    }
}

/// Tokens that one answer may have at most: 0.7 of what is left until the conversation is summarised.
fn room(cx: &Context) -> u64 {
    let used = cx.items.iter().rev().find_map(|item| match &item.body {
        protocol::Body::Reply { reply, .. } => Some(reply.usage.total()),
        _ => None,
    });
    let window = cx.model.context_window;
    let summarised_at = cx.model.compact_at.min(window.saturating_sub(KEPT_FREE).max(window / 2));
    summarised_at.saturating_sub(used.unwrap_or(0)) * 7 / 10
}

/// `12\ttext`, joined by line feeds.
pub(crate) fn numbered(lines: &[&str], first: u64) -> String {
    let numbered: Vec<String> = lines.iter().zip(first..).map(|(line, n)| format!("{n}\t{line}")).collect();
    numbered.join("\n")
}

/// On one line, unlike the others.
fn reminder(text: &str) -> String {
    format!("<system-reminder>{text}</system-reminder>")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn devices_are_told_by_their_path() {
        for (path, expected) in [
            ("/dev/zero", true),
            ("/dev/null", false),
            ("/proc/1/mem", true),
            ("/proc/self/status", true),
            ("/proc/cpuinfo", false),
            ("/sys/kernel/uevent_seqnum", false),
        ] {
            assert_eq!(is_device(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn sizes_are_written_as_measured() {
        let sizes: Vec<String> = [544_894, 300_000, 262_145, 1_572_864, 1_048_578].into_iter().map(size).collect();
        assert_eq!(sizes, ["532.1KB", "293KB", "256KB", "1.5MB", "1MB"]);
    }
}
