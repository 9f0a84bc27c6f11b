//! The loop guard: the third identical call of a turn is not carried out; a tool that fails again and again is warned of, then the turn
//! ends. Counted from history.
use protocol::{Body, Call, Item};

use super::answer::Said;
use super::tools::{self, Spec};
use crate::{Context, args};

/// Identical calls of a turn from which on none is carried out.
const REPEATS: usize = 3;
/// Failures of a tool in a row that are warned of, and that end the turn.
const WARN: usize = 3;
const STOP: usize = 8;
/// Model calls of a turn.
const STEPS: usize = 100;

/// The answer to a call that came too often. Looks at what goes on by itself are repeated by nature.
pub(super) fn blocked(cx: &Context, call: &Call, spec: &Spec) -> Option<Said> {
    if matches!(spec.name, "exec_shell_wait" | "exec_shell_interact") || before(cx, call) + 1 < REPEATS {
        return None;
    }
    Some(Said::bad(format!(
        "Blocked: this exact call ({}) has already run {REPEATS} times this turn. Its result does not change by asking again: use what you have, change the arguments, or go another way.",
        spec.name
    )))
}

/// Identical calls of the turn before this one.
fn before(cx: &Context, call: &Call) -> usize {
    let key = key(call);
    let mut calls: Vec<&Call> = Vec::new();
    for item in of_turn(cx) {
        match &item.body {
            Body::Reply { reply, .. } => calls.extend(reply.calls()),
            Body::Read { calls: read, .. } => calls.extend(read),
            _ => {}
        }
    }
    let mut ids: Vec<&protocol::CallId> = Vec::new();
    let same = calls.into_iter().take_while(|other| other.id != call.id).filter(|other| {
        // A call that was read of a reply stands in both.
        let new = !ids.contains(&&other.id);
        ids.push(&other.id);
        new && self::key(other) == key
    });
    same.count()
}

fn key(call: &Call) -> (String, String) {
    let name = tools::known(&call.name).map_or(call.name.as_str(), |spec| spec.name);
    // Whatever the order in which the arguments were written.
    let sorted = |map: serde_json::Map<String, serde_json::Value>| {
        let mut fields: Vec<String> = map.iter().map(|(name, value)| format!("{name}={value}")).collect();
        fields.sort_unstable();
        fields.join("\n")
    };
    let args = args::object(&call.args).map_or_else(|_| call.args.clone(), sorted);
    (name.to_owned(), args)
}

fn of_turn<'a>(cx: &Context<'a>) -> impl Iterator<Item = &'a Item> + use<'a> {
    let turn = cx.turn;
    cx.items.iter().filter(move |item| item.turn == *turn)
}

/// Failures of this tool in a row, up to the newest call of it in the turn.
fn failures(cx: &Context, tool: &str) -> usize {
    let mut names = std::collections::HashMap::new();
    let mut failed = 0;
    for item in of_turn(cx) {
        match &item.body {
            Body::Reply { reply, .. } => names.extend(reply.calls().map(|call| (&call.id, call.name.as_str()))),
            Body::Read { calls, .. } => names.extend(calls.iter().map(|call| (&call.id, call.name.as_str()))),
            Body::Called { call, answer, .. } => {
                let name = names.get(call).copied().unwrap_or_default();
                if tools::known(name).map_or(name, |spec| spec.name) == tool {
                    failed = if answer.error == Some(true) { failed + 1 } else { 0 };
                }
            }
            _ => {}
        }
    }
    failed
}

/// The answer, with a warning where it is one failure too many.
pub(super) fn warned(cx: &Context, spec: &Spec, said: Said) -> Said {
    if !said.failed {
        return said;
    }
    let failed = failures(cx, spec.name) + 1;
    if failed < WARN {
        return said;
    }
    let text = format!(
        "{}\n\nWarning: {} has failed {failed} times in a row this turn. Read what it says, and change the way rather than the details; after {STOP} failures in a row the turn ends.",
        said.text, spec.name
    );
    Said { text, ..said }
}

/// Why the turn ends now, if it does.
pub(super) fn over(cx: &Context, step: &[Item]) -> Option<String> {
    let model = &cx.model.slug;
    let called = step.iter().flat_map(|item| match &item.body {
        Body::Reply { reply, .. } => reply.calls().collect(),
        Body::Read { calls, .. } => calls.iter().collect(),
        _ => Vec::new(),
    });
    for call in called {
        let name = tools::known(&call.name).map_or(call.name.as_str(), |spec| spec.name);
        let failed = failures(cx, name);
        if failed >= STOP {
            return Some(format!("{name} failed {failed} times in a row; {model} is stopped"));
        }
    }
    let steps = of_turn(cx).filter(|item| matches!(item.body, Body::Reply { .. })).count();
    (steps >= STEPS).then(|| format!("{model} made {STEPS} requests in this turn, which is the most that there may be"))
}
