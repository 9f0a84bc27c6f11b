//! The Read tool of the older versions: padded line numbers, a byte-order mark shown, no first page of what is too long.
use std::path::Path;

use protocol::{Action, Answer, Content, Done, Failure, FileKind, Outcome, Part, ReadAs, Session, TextForm, World};

use super::edit::not_there;
use super::generation::Generation;
use super::shared::args::Read;
use super::shared::nearby;
use super::shared::notebook;
use super::shared::prompt::reminder;
use super::shared::read::{self, BINARY, IMAGES, READABLE, TOKENS, WHOLE};
use super::shared::record::{Record, line_count};
use super::shared::refusal::{EISDIR, ENOENT, ENOTDIR, REJECTED, Wanted, failed, refused, size};
use super::snippet::numbered;
use crate::{Context, Next};

/// What follows the text of every file; our words.
const CAUTION: &str = "When you read a file, consider whether it is malware. You may and should say what such code does, but must not improve or extend it. Reports and answers about its behaviour are fine.";

pub(in super::super) fn next(generation: Generation, cx: &Context, asked: &Read, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let path = record.path(&asked.path);
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    let ext = path.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default();
    match ext.as_str() {
        "ipynb" if generation == Generation::V1_0 => {
            return wrong("File is a Jupyter Notebook. Use the NotebookRead to read this file.");
        }
        "pdf" => return document(read::next(cx, asked, did)),
        ext if IMAGES.contains(&ext) => return read::next(cx, asked, did),
        ext if BINARY.contains(&ext) => {
            return wrong(&format!(
                "This tool cannot read binary files. The file appears to be a binary .{ext} file. Please use appropriate tools for binary file analysis."
            ));
        }
        _ => {}
    }
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: READABLE } })]);
    };
    match &first.outcome {
        Outcome::Text { text, .. } if ext == "ipynb" => Next::Answer(notebook::answer(text)),
        Outcome::Text { text, form, stamp } => lines(generation, asked, text, *form, stamp.len, did),
        outcome => other(cx, generation, &path, &asked.path, outcome, did),
    }
}

/// The text alone is the result; the document follows it.
fn document(next: Next) -> Next {
    match next {
        Next::Answer(Answer { content: Content::Parts(mut parts), error, .. }) if !parts.is_empty() => {
            let text = parts.remove(0).as_text().unwrap_or_default().to_owned();
            Next::Answer(Answer { content: Content::Plain(text), error, after: parts })
        }
        next => next,
    }
}

fn other(cx: &Context, generation: Generation, path: &Path, shown: &str, outcome: &Outcome, did: &[Done]) -> Next {
    let record = &Record::of(cx);
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    match outcome {
        Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. }) => match did.len() {
            1 => Next::Do(nearby::look(record, path)),
            _ => wrong(&not_there(record, path, did, &elsewhere(cx, record))),
        },
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. } | Failure::Io { errno: EISDIR, .. }) => {
            Next::Answer(Answer::failed("EISDIR: illegal operation on a directory, read"))
        }
        Outcome::Failed(Failure::TooLarge { bytes, .. }) => wrong(&too_large("size", &size(*bytes))),
        Outcome::Failed(failure) => Next::Answer(failed(Wanted::Read(shown), failure)),
        Outcome::Refused(refusal) => Next::Answer(refused(Wanted::Read(shown), refusal)),
        _ => Next::Answer(Answer::failed(REJECTED)),
    }
}

/// The shell's folder, where it is not that of the start.
fn elsewhere(cx: &Context, record: &Record) -> String {
    match record.cwd != cx.settings.cwd {
        true => format!(" Current working directory: {}", record.cwd.display()),
        false => String::new(),
    }
}

fn lines(generation: Generation, asked: &Read, text: &str, form: TextForm, bytes: u64, did: &[Done]) -> Next {
    if bytes > WHOLE && asked.limit.is_none() && asked.offset.is_none() {
        return Next::Answer(Answer::failed(generation.wrong(&too_large("size", &size(bytes)))));
    }
    let mark = if form.bom { "\u{feff}" } else { "" };
    let lf = format!("{mark}{}", text.replace("\r\n", "\n"));
    let total = line_count(&lf);
    let first = asked.offset.unwrap_or(1);
    let skip = first.saturating_sub(1);
    if text.is_empty() || skip >= total {
        return Next::Answer(Answer::plain(format!(
            "<system-reminder>Warning: the file exists but is shorter than the provided offset ({first}). The file has {total} lines.</system-reminder>"
        )));
    }
    let limit = asked.limit.map_or(usize::MAX, |limit| limit as usize);
    let lines: Vec<&str> = lf.split('\n').skip(skip as usize).take(limit).collect();
    let plain = lines.join("\n");
    if plain.len() as u64 > WHOLE {
        return Next::Answer(Answer::failed(too_large("size", &size(plain.len() as u64))));
    }
    let counted = did.iter().find_map(|done| match done.outcome {
        Outcome::Counted { tokens, .. } => Some(tokens),
        _ => None,
    });
    let shown = numbered(&lines, first);
    match counted {
        None if plain.len() as u64 / 4 > TOKENS / 4 && did.len() == 1 => {
            Next::Do(vec![Action::Session(Session::CountTokens(vec![Part::Text(shown)]))])
        }
        Some(tokens) if tokens > TOKENS => Next::Answer(Answer::failed(too_large("tokens", &tokens.to_string()))),
        _ => Next::Answer(Answer::plain(format!("{shown}\n\n{}\n", reminder(CAUTION)))),
    }
}

fn too_large(what: &str, found: &str) -> String {
    let (found, limit) = match what {
        "size" => (format!("({found})"), format!("maximum allowed size ({})", size(WHOLE))),
        _ => (format!("({found} tokens)"), format!("maximum allowed tokens ({TOKENS})")),
    };
    format!(
        "File content {found} exceeds {limit}. Use offset and limit to read a part of it, or Grep to search it for what you look for."
    )
}
