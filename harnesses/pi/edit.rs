//! The edit tool: one or more replacements in a file, each matched against the file as it is. No file need be read before.
use protocol::{Action, Answer, Change, Done, Expect, Failure, New, Outcome, ReadAs, Refusal, World};

use super::{absolute, args::Edit, matching, refusal};
use crate::claude_code_bare::refusal::node_error;
use crate::{Context, Next};

/// Bytes of the largest file that is edited.
const MAX_FILE: u64 = 32 << 20;

pub(crate) fn next(cx: &Context, named: &str, edits: &[Edit], did: &[Done]) -> Next {
    let failed = |text: String| Next::Answer(Answer::failed(text));
    if edits.is_empty() {
        return failed("Edit tool input is invalid. edits must contain at least one replacement.".to_owned());
    }
    let path = absolute(cx, named);
    let look = || {
        Next::Do(vec![Action::World(World::Read { path: path.clone(), what: ReadAs::Text { max_bytes: MAX_FILE } })])
    };
    let Some(done) = did.last() else { return look() };
    match (&done.action, &done.outcome) {
        (Action::World(World::Change(_)), Outcome::Changed(_)) => {
            Next::Answer(Answer::plain(format!("Successfully replaced {} block(s) in {named}.", edits.len())))
        }
        // Changed between the look and the edit: look once more.
        (Action::World(World::Change(_)), Outcome::Refused(Refusal::Stale { .. })) if did.len() == 2 => look(),
        (_, Outcome::Text { form, .. }) if !form.utf8 => {
            failed(format!("{named} is not UTF-8 text; an edit would damage the rest of it."))
        }
        (_, Outcome::Text { text, stamp, .. }) => match matching::replace(named, text, edits) {
            Ok(splices) => {
                let (new, expect) = (New::Splices(splices), Expect::Unchanged(stamp.clone()));
                Next::Do(vec![Action::World(World::Change(vec![Change { path: path.clone(), to: None, new, expect }]))])
            }
            Err(text) => failed(text),
        },
        (Action::World(World::Read { .. }), Outcome::Failed(Failure::Io { errno, message, .. })) => {
            let error = node_error(*errno, message);
            let code = error.split(':').next().unwrap_or_default();
            failed(format!("Could not edit file: {named}. Error code: {code}."))
        }
        (_, other) => Next::Answer(refusal::told(other)),
    }
}
