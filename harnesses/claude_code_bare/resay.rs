//! A past call of another dialect as one of Bash, Read or Edit.
use protocol::{Action, Answer, Call, CallForm, Done, Expect, New, Outcome, World};
use serde_json::json;

use super::{args, args::Input, bash, record::Record};
use crate::{Context, Harness, Next};

pub(crate) fn call(harness: &dyn Harness, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
    let [done] = did else { return None };
    let (name, args) = match (&done.action, &done.outcome) {
        (Action::World(World::Run(run)), Outcome::Ran { .. } | Outcome::Refused(_) | Outcome::Failed(_)) => {
            ("Bash", json!({"command": run.script}))
        }
        (Action::World(World::Read { path, .. }), Outcome::Text { .. } | Outcome::Failed(_)) => {
            ("Read", json!({"file_path": path}))
        }
        (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
            [protocol::Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent }] => {
                ("Edit", json!({"replace_all": false, "file_path": path, "old_string": "", "new_string": text}))
            }
            _ => return None,
        },
        _ => return None,
    };
    let call = Call {
        id: call.id.clone(),
        namespace: None,
        name: name.to_owned(),
        args: args.to_string(),
        form: CallForm::Function,
    };
    // Some answers need a further look (a long output, say), which a past call cannot have.
    match (name, harness.next(cx, &call, did)) {
        (_, Next::Answer(answer)) => Some((call, answer)),
        ("Bash", _) => match args::parse("Bash", &call.args) {
            Ok(Input::Bash(bash)) => {
                let answer = bash::answer(cx, &bash, &Record::of(cx), did);
                Some((call, answer))
            }
            _ => None,
        },
        _ => None,
    }
}
