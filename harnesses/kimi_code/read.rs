//! The Read tool: which files it takes, in which encodings. Order of the checks and texts as measured by
//! `tests/wire/kimi-code/read*.json`; where a link leads no Action tells, so links out of the workspace are not refused.
use std::path::Path;

use protocol::{Action, Done, Encoding, Failure, Outcome, ReadAs, World};

use super::args::Args;
use super::envelope::Said;
use super::page::{self, Ask};
use super::paths::{self, For};
use super::{links, nested, refusal};
use crate::{Context, Next};

/// Bytes of a file that is paged through.
const READABLE: u64 = 64 << 20;
/// Bytes of a file in UTF-16.
const WIDE: u64 = 8 << 20;
/// Where NUL bytes are looked for.
const SNIFFED: usize = 512;

const VIDEOS: [&str; 10] = ["mp4", "mov", "avi", "mkv", "webm", "m4v", "mpg", "mpeg", "wmv", "flv"];
/// Never text, whatever is in them.
const BINARY: [&str; 10] = ["png", "jpg", "jpeg", "gif", "webp", "bmp", "pdf", "zip", "gz", "exe"];

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let path = args.str("path");
    let said = |said: Said| Next::Answer(said.answer("Read", did));
    let full = match paths::resolve(cx, path, For::Reading) {
        Ok(full) => full,
        Err(text) => return said(Said::failed(text)),
    };
    let did = match links::followed(cx, "Read", &full, did) {
        Ok(did) => did,
        Err(next) => return *next,
    };
    let read = |what: ReadAs| Next::Do(vec![Action::World(World::Read { path: full.clone(), what })]);
    let Some(first) = did.first() else {
        let mut actions =
            vec![Action::World(World::Read { path: full.clone(), what: ReadAs::Text { max_bytes: READABLE } })];
        actions.extend(nested::look(cx, &full));
        return Next::Do(actions);
    };
    let ask = Ask {
        path,
        line: args.whole("line_offset").unwrap_or(1),
        column: args.count("column_offset"),
        lines: args.count("n_lines"),
        max_chars: args.count("max_chars"),
        encoding: None,
    };
    let wide = did.iter().find_map(|done| match &done.outcome {
        Outcome::Media { blob, .. } => blob.data.as_deref(),
        _ => None,
    });
    said(match &first.outcome {
        Outcome::Text { text, form, .. } => {
            if let Some(refused) = refused_kind(path, &full, text) {
                Said::failed(refused)
            } else if form.utf8 && !text.contains('\0') {
                let encoding = match form.encoding {
                    Encoding::Utf8 => None,
                    Encoding::Utf16Le => Some("UTF-16 LE"),
                    Encoding::Utf16Be => Some("UTF-16 BE"),
                };
                page::page(text, &Ask { encoding, ..ask })
            } else if let Some((text, encoding)) = wide.and_then(utf16) {
                page::page(&text, &Ask { encoding: Some(encoding), ..ask })
            } else if wide.is_none() && looks_wide(text) && did.iter().all(|done| !is_document(done)) {
                return read(ReadAs::Document { max_bytes: WIDE });
            } else if text.contains('\0') {
                Said::failed(format!("\"{path}\" is not readable as UTF-8 text. Only text files can be read."))
            } else {
                Said::failed(format!(
                    "\"{path}\" is not valid UTF-8 or UTF-16 text. Only UTF-8 and UTF-16 text files can be read; for other encodings (e.g. GBK), convert the file to UTF-8 first (e.g. with `iconv`)."
                ))
            }
        }
        Outcome::Failed(failure) => Said::failed(failed(path, failure)),
        other => refusal::said("Read", other),
    })
}

fn failed(path: &str, failure: &Failure) -> String {
    match failure {
        Failure::Io { errno: refusal::ENOENT | refusal::ENOTDIR, .. } => format!("\"{path}\" does not exist."),
        Failure::NotAFile { .. } | Failure::Io { errno: refusal::EISDIR, .. } => format!("\"{path}\" is not a file."),
        Failure::TooLarge { bytes, limit, .. } => format!(
            "\"{path}\" is too large to be read ({bytes} bytes; at most {limit}). Use Grep, or a command that shows a part of it."
        ),
        failure => refusal::failure(failure),
    }
}

/// A kind of file that is not for Read, by its first bytes or its name.
fn refused_kind(path: &str, full: &Path, text: &str) -> Option<String> {
    let name = full.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default();
    let kind = if is_image(text) {
        "an image"
    } else if VIDEOS.contains(&name.as_str()) {
        "a video"
    } else if BINARY.contains(&name.as_str()) {
        return Some(format!("\"{path}\" is not readable as UTF-8 text. Only text files can be read."));
    } else {
        return None;
    };
    Some(format!(
        "\"{path}\" is {kind} file. Only text files can be read; use ReadMediaFile for image and video files."
    ))
}

/// By its first bytes as lossy text has them.
pub(super) fn is_image(text: &str) -> bool {
    let jpeg = text.starts_with("\u{FFFD}\u{FFFD}\u{FFFD}");
    let webp = text.starts_with("RIFF") && text.chars().take(24).collect::<String>().contains("WEBP");
    text.starts_with("\u{FFFD}PNG\r\n") || jpeg || webp || text.starts_with("GIF87a") || text.starts_with("GIF89a")
}

fn is_document(done: &Done) -> bool {
    matches!(&done.action, Action::World(World::Read { what: ReadAs::Document { .. }, .. }))
}

/// A byte order mark, or every second byte zero.
fn looks_wide(text: &str) -> bool {
    let start: Vec<char> = text.chars().take(SNIFFED).collect();
    let nuls = start.iter().filter(|c| **c == '\0').count();
    text.starts_with("\u{FFFD}\u{FFFD}") || (nuls > 0 && nuls * 3 >= start.len())
}

/// UTF-16 by its mark, or by where its zero bytes stand.
fn utf16(bytes: &[u8]) -> Option<(String, &'static str)> {
    let (body, little) = match bytes {
        [0xFF, 0xFE, body @ ..] => (body, true),
        [0xFE, 0xFF, body @ ..] => (body, false),
        body => {
            let zeros = |odd: usize| body.iter().take(SNIFFED).skip(odd).step_by(2).filter(|byte| **byte == 0).count();
            (body, zeros(1) > zeros(0))
        }
    };
    if !body.len().is_multiple_of(2) {
        return None;
    }
    let units = body.chunks_exact(2).map(|pair| match (pair, little) {
        ([a, b], true) => u16::from_le_bytes([*a, *b]),
        ([a, b], false) => u16::from_be_bytes([*a, *b]),
        _ => 0,
    });
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    (!text.contains('\0')).then_some((text, if little { "UTF-16 LE" } else { "UTF-16 BE" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_is_decoded() {
        assert_eq!(utf16(b"\xff\xfeh\0\xe9\0"), Some(("hé".to_owned(), "UTF-16 LE")));
        assert_eq!(utf16(b"\xfe\xff\0h\0i"), Some(("hi".to_owned(), "UTF-16 BE")));
        assert_eq!(utf16(b"h\0i\0"), Some(("hi".to_owned(), "UTF-16 LE")));
        assert_eq!(utf16(b"a\0b"), None);
        assert_eq!(utf16(b"\xff\xfe\0\xd8"), None);
    }
}
