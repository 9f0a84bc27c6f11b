//! The write tool: a whole file, new or not, its folders made. A byte order mark that the file has stays.
use protocol::{Action, Answer, Change, Done, Eol, Expect, Failure, FileKind, New, Outcome, ReadAs, TextForm, World};

use super::{absolute, refusal, shown};
use crate::claude_code_bare::refusal::ENOTDIR;
use crate::{Context, Next};

pub(super) const WROTE: &str = "Wrote file successfully.";

/// Bytes of a file that are looked at for its mark; of a larger one nothing is kept.
const LOOKED_AT: u64 = 1 << 20;

pub(super) fn next(cx: &Context, path: &str, content: &str, did: &[Done]) -> Next {
    let path = absolute(cx, path);
    let failed =
        |function: &str| Next::Answer(Answer::failed(format!("BadResource: FileSystem.{function} ({})", shown(&path))));
    match did {
        [] => Next::Do(vec![Action::World(World::Read {
            path: path.clone(),
            what: ReadAs::Text { max_bytes: LOOKED_AT },
        })]),
        [look] => match &look.outcome {
            Outcome::Failed(Failure::NotAFile { kind: FileKind::Folder, .. }) => failed("readFile"),
            Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) => failed("writeFile"),
            Outcome::Interrupted { .. } => Next::Answer(refusal::told(&look.outcome)),
            seen => {
                let like = match seen {
                    Outcome::Text { form, .. } if form.bom && !content.starts_with('\u{feff}') => {
                        Some(TextForm { eol: Eol::Lf, ..*form })
                    }
                    _ => None,
                };
                let new = New::Whole { text: content.to_owned(), like };
                Next::Do(vec![Action::World(World::Change(vec![Change {
                    path: path.clone(),
                    to: None,
                    new,
                    expect: Expect::Anything,
                }]))])
            }
        },
        [.., change] => match &change.outcome {
            Outcome::Changed(_) => Next::Answer(Answer::plain(WROTE)),
            Outcome::Failed(Failure::NotAFile { .. }) => failed("readFile"),
            Outcome::Failed(Failure::Io { .. }) => failed("writeFile"),
            other => Next::Answer(refusal::told(other)),
        },
    }
}
