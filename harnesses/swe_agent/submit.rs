//! Handing the task in. The first `submit` shows the diff for a last look, the second ends the run; in the classic forms the
//! first does. The diff is that of `git add -A`, made with an index and an object store of its own: the user's stay as they are.
use protocol::{Action, Answer, Body, Done, Item, Outcome, Run, Shell, World};

use super::record::Record;
use super::{Form, observe};
use crate::{Context, Next};

pub(super) const TOOL: &str = "submit";
const SCRIPT: &str = include_str!("diff.sh");

pub(super) fn next(cx: &Context, record: &Record, did: &[Done]) -> Next {
    let Some(done) = did.first() else {
        let shell = Shell::Fresh { program: Some("bash".to_owned()), login: false };
        let run = Run { shell, timeout: Some(super::bash::TIMEOUT), keep: 8 << 20, ..Run::new(SCRIPT) };
        return Next::Do(vec![Action::World(World::Run(run))]);
    };
    let text = match &done.outcome {
        Outcome::Ran { output, .. } if Form::of(cx) == Form::Tools && record.submits == 0 => {
            let review = include_str!("review.md").trim_end();
            format!("{review}\n\n<diff>\n{}\n</diff>", output.text)
        }
        // Never seen by the model that hands in; a later task finds it in its past.
        Outcome::Ran { .. } => "The work was handed in.".to_owned(),
        Outcome::Refused(refusal) => observe::refused(refusal),
        Outcome::Failed(failure) => observe::failed(failure),
        _ => return Next::Answer(Answer::plain(super::INTERRUPTED)),
    };
    Next::Answer(observe::observed(cx, &text, &record.state))
}

pub(super) fn is(did: &[Done]) -> bool {
    matches!(did.first(), Some(Done { action: Action::World(World::Run(run)), .. }) if run.script == SCRIPT)
}

/// The diff, where this step handed the task in for good.
pub(super) fn handed_in(cx: &Context, step: &[Item]) -> Option<String> {
    let last = if Form::of(cx) == Form::Tools { 2 } else { 1 };
    if Record::of(cx).submits < last {
        return None;
    }
    step.iter().find_map(|item| match &item.body {
        Body::Called { did, .. } if is(did) => match &did.first()?.outcome {
            Outcome::Ran { output, .. } => Some(output.text.clone()),
            _ => None,
        },
        _ => None,
    })
}
