//! `ReadFile`: numbered lines, with a message that says which they are; and `ReadMediaFile`.
use std::path::Path;

use protocol::{Action, Done, Failure, Outcome, Part, ReadAs, World};

use super::Step;
use super::args::Args;
use super::paths::{self, unread};
use super::refusal::not_done;
use super::result::{Said, shortened};
use crate::Context;

const LINES: usize = 1_000;
const BYTES: usize = 100 << 10;
const LINE: usize = 2_000;
/// Bytes of a file that is read at all.
const MAX_BYTES: u64 = 64 << 20;
const IMAGES: [&str; 11] = ["png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "ico", "heic", "avif"];
const VIDEOS: [&str; 9] = ["mp4", "mkv", "avi", "mov", "wmv", "webm", "m4v", "flv", "3gp"];

fn ends_in(path: &Path, names: &[&str]) -> bool {
    path.extension().is_some_and(|end| names.contains(&end.to_string_lossy().to_lowercase().as_str()))
}

pub(super) fn file(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let written = args.text("path");
    let path = match paths::resolve(cx, written, "read") {
        Ok(path) => path,
        Err(message) => return Step::Tell(Said::failed(message)),
    };
    if paths::is_secret(&path) {
        return Step::Tell(Said::failed(format!(
            "`{written}` appears to contain secrets (matched sensitive file pattern). Reading this file is blocked to protect credentials."
        )));
    }
    let text = match did.first().map(|done| &done.outcome) {
        None => {
            let what = ReadAs::Text { max_bytes: MAX_BYTES };
            return Step::Do(vec![Action::World(World::Read { path, what })]);
        }
        Some(Outcome::Text { text, .. }) => text,
        Some(other) => return Step::Tell(unread(written, other)),
    };
    let media = [("image", &IMAGES[..]), ("video", &VIDEOS[..])];
    Step::Tell(match media.iter().find(|(_, names)| ends_in(&path, names)) {
        Some((kind, _)) => Said::failed(format!(
            "`{written}` is a {kind} file. Use other appropriate tools to read image or video files."
        )),
        None if text.contains('\0') => Said::failed(format!(
            "`{written}` seems not readable. It is probably a binary file: look at it with shell commands, a Python script or an MCP tool that knows its kind. Install Python packages in a virtual environment only."
        )),
        None => lines(text, args.number("line_offset"), args.count("n_lines").unwrap_or(LINES)),
    })
}

fn lines(text: &str, offset: i64, wanted: usize) -> Said {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let total = all.len();
    let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let start = if offset < 0 { total.saturating_sub(distance) } else { distance - 1 };
    let (mut shown, mut bytes, mut cut, mut count) = (String::new(), 0, Vec::new(), 0);
    let mut full = false;
    for (n, line) in all.iter().enumerate().skip(start).take(wanted.min(LINES)) {
        let short = shortened(line, LINE, "...");
        if short != *line {
            cut.push((n + 1).to_string());
        }
        bytes += short.len();
        shown.push_str(&format!("{:6}\t{short}", n + 1));
        count += 1;
        if bytes >= BYTES {
            full = true;
            break;
        }
    }
    let mut message = match count {
        0 => "No lines read from file.".to_owned(),
        count => format!("{count} lines read from file starting from line {}.", start + 1),
    };
    message.push_str(&format!(" Total lines in file: {total}."));
    if full {
        message.push_str(&format!(" Max {BYTES} bytes reached."));
    } else if wanted > LINES && count == LINES {
        message.push_str(&format!(" Max {LINES} lines reached."));
    } else if count < wanted {
        message.push_str(" End of file reached.");
    }
    if !cut.is_empty() {
        message.push_str(&format!(" Lines [{}] were truncated.", cut.join(", ")));
    }
    Said::ok(message).with(shown)
}

pub(super) fn media(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let written = args.text("path");
    let path = match paths::resolve(cx, written, "read") {
        Ok(path) => path,
        Err(message) => return Step::Tell(Said::failed(message)),
    };
    let seen = match did.first().map(|done| &done.outcome) {
        None => {
            let what = ReadAs::Image { max_side: None, max_bytes: None };
            return Step::Do(vec![Action::World(World::Read { path, what })]);
        }
        Some(seen) => seen,
    };
    let shown = path.display();
    Step::Tell(match seen {
        Outcome::Media { blob, original, stamp, .. } => {
            let size = original.map_or_else(String::new, |(w, h)| format!(", original size {w}x{h}px"));
            let mut said = Said::ok(format!(
                "Loaded image file `{shown}` ({}, {} bytes{size}). Give places in it relative to this size. After you have made or changed an image or video yourself, read it back with this tool before you go on.",
                blob.mime, stamp.len
            ));
            said.output.push(Part::Text(format!("<image path=\"{shown}\">")));
            said.output.push(Part::Image { blob: blob.clone(), detail: None });
            said.output.push(Part::text("</image>"));
            said
        }
        Outcome::Failed(Failure::BadImage { .. }) if !ends_in(&path, &IMAGES) && !ends_in(&path, &VIDEOS) => {
            Said::failed(format!("`{written}` is a text file. Use ReadFile to read text files."))
        }
        Outcome::Failed(Failure::BadImage { .. }) => {
            not_done(&format!("`{written}` is not a supported image file."), seen)
        }
        other => unread(written, other),
    })
}
