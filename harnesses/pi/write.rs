//! The write tool: a whole file, new or not, its folders made.
use protocol::{Action, Answer, Change, Done, Expect, Failure, New, Outcome, World};

use super::{absolute, refusal};
use crate::claude_code_bare::refusal::{EISDIR, ENOTDIR};
use crate::{Context, Next};

pub(crate) fn next(cx: &Context, named: &str, content: &str, did: &[Done]) -> Next {
    let path = absolute(cx, named);
    let Some(done) = did.last() else {
        let new = New::Whole { text: content.to_owned(), like: None };
        let change = Change { path, to: None, new, expect: Expect::Anything };
        return Next::Do(vec![Action::World(World::Change(vec![change]))]);
    };
    Next::Answer(match &done.outcome {
        // As long as JavaScript says, not in bytes.
        Outcome::Changed(_) => {
            Answer::plain(format!("Successfully wrote {} bytes to {named}", content.encode_utf16().count()))
        }
        Outcome::Failed(Failure::NotAFile { .. } | Failure::Io { errno: EISDIR, .. }) => {
            Answer::failed(format!("EISDIR: illegal operation on a directory, open '{}'", path.display()))
        }
        Outcome::Failed(Failure::Io { errno: ENOTDIR, .. }) => {
            let parent = path.parent().unwrap_or(&path);
            Answer::failed(format!("EEXIST: file already exists, mkdir '{}'", parent.display()))
        }
        other => refusal::told(other),
    })
}
