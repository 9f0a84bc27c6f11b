//! The Write tool: a whole file, new or over one that was read before.
use protocol::{Action, Answer, Change, Done, Expect, Failure, FileKind, New, Outcome, ReadAs, World};

use super::args::Input;
use super::generation::Generation;
use super::older::snippet;
use super::shared::args::tidy;
use super::shared::edit::{CURRENT, EDITABLE, MODIFIED, UNREAD};
use super::shared::record::{self, Record};
use super::shared::refusal::{EISDIR, ENOENT, ENOTDIR, REJECTED, Wanted, failed, refused};
use super::shared::renamed::write_note;
use crate::{Context, Next};

pub(super) fn next(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let shown = input.text("file_path");
    let path = record.path(shown);
    let wanted = Wanted::Write(shown);
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    // Blanks at line ends are dropped, as by Edit.
    let content = match generation >= Generation::V2_0 {
        true => tidy(shown, "whole", input.text("content")),
        false => input.text("content").to_owned(),
    };
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    // 2.0 and 2.1 keep the line ends of a file.
    let like = match &first.outcome {
        Outcome::Text { form, .. } if matches!(generation, Generation::V2_0 | Generation::V2_1) => Some(*form),
        _ => None,
    };
    let write = |expect: Expect| {
        let new = New::Whole { text: content.clone(), like };
        Next::Do(vec![Action::World(World::Change(vec![Change { path: path.clone(), to: None, new, expect }]))])
    };
    if let Some(change) = did.get(1) {
        let renamed = write_note(&input.renamed);
        return Next::Answer(match &change.outcome {
            Outcome::Changed(_) => Answer::plain(match (&first.outcome, generation.newest()) {
                // A file without content counts as none.
                (Outcome::Text { text, .. }, newest) if text.is_empty() && generation >= Generation::V2_0 => {
                    let current = if newest { CURRENT } else { "" };
                    format!("File created successfully at: {shown}{current}{renamed}")
                }
                (Outcome::Text { .. }, true) => {
                    format!("The file {shown} has been updated successfully.{CURRENT}{renamed}")
                }
                (Outcome::Text { .. }, false) => snippet::whole(shown, &content),
                (_, true) => format!("File created successfully at: {shown}{CURRENT}{renamed}"),
                (_, false) => format!("File created successfully at: {shown}"),
            }),
            Outcome::Refused(refusal) => refused(wanted, refusal),
            Outcome::Failed(failure) => failed(wanted, failure),
            _ => Answer::failed(REJECTED),
        });
    }
    match &first.outcome {
        Outcome::Text { stamp, .. } => match record.seen.get(&path) {
            None if generation.reads_first() => wrong(UNREAD),
            Some(seen) if !record::same(&seen.stamp, stamp) => wrong(MODIFIED),
            _ => write(Expect::Unchanged(stamp.clone())),
        },
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) => write(Expect::Absent),
        Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. } | Failure::Io { errno: EISDIR, .. }) => {
            match generation.newest() {
                true => wrong(&format!(
                    "{} is a directory, not a file. To create a file inside it, include the file name in file_path.",
                    path.display()
                )),
                false => wrong(UNREAD),
            }
        }
        Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) if !generation.newest() => {
            Next::Answer(Answer::failed(format!("ENOTDIR: not a directory, open '{}'", path.display())))
        }
        Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) => {
            wrong(&format!("Error calling tool (Write): ENOTDIR: not a directory, stat '{}'", path.display()))
        }
        Outcome::Failed(failure) => Next::Answer(failed(wanted, failure)),
        Outcome::Refused(refusal) => Next::Answer(refused(wanted, refusal)),
        _ => Next::Answer(Answer::failed(REJECTED)),
    }
}
