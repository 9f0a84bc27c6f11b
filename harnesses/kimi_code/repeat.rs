//! The guard against going in circles: the same call with the same arguments, again and again within a turn. Counts as measured by
//! `tests/wire/kimi-code/repeat.json`; equal calls of one reply count once and run once.
use protocol::{Answer, Body, Call, CallId, Item};

use super::{args, outside};
use crate::Context;

/// The result that a first, a stricter, and a last word is put behind; and the one after which no more calls are taken.
const ASKED: usize = 3;
const STRICT: usize = 5;
const FINAL: usize = 8;
const STOPPED: usize = 12;

fn warning(count: usize) -> Option<String> {
    let text = match count {
        0..ASKED => return None,
        ASKED..STRICT => "You have made the same tool call several times in a row. Before the next one, write down in one sentence what it should tell you that you do not know yet. Then act on that: if there is something that this result does not hold, take the action that gets it best; if not, go on with what you have.".to_owned(),
        STRICT..FINAL => format!("You have now made the same tool call {count} times in a row. Take exactly one of these ways, and say which before you act:\n(1) Test: do the cheapest thing that could prove your present approach wrong, if there is one.\n(2) Ask: tell the user exactly which information or decision is missing, and ask for it.\n(3) Finish: give the best result that what you know allows, and say what is uncertain."),
        _ => "Write your final answer now, and make no further tool calls. Say what is in the way, what you tried and what each attempt showed, and which information or decision of the user's would help. Text only.".to_owned(),
    };
    Some(format!("\n\n<system-reminder>\n{text}\n</system-reminder>"))
}

fn key(call: &Call) -> (String, String) {
    (call.name.clone(), args::canonical(&call.args))
}

/// Calls of this turn in their order, equal ones of one reply once; those of the newest reply up to `until`.
fn sequence<'a>(cx: &'a Context, until: Option<&CallId>) -> Vec<&'a Call> {
    let begin = cx.items.iter().rposition(|item| matches!(item.body, Body::User { .. })).unwrap_or(0);
    let mut all: Vec<&Call> = Vec::new();
    for step in replies(&cx.items[begin..]) {
        let mut own: Vec<&Call> = Vec::new();
        for call in step {
            if !own.iter().any(|known| key(known) == key(call)) {
                own.push(call);
            }
            if until == Some(&call.id) {
                all.extend(own);
                return all;
            }
        }
        all.extend(own);
    }
    all
}

/// The calls of each reply, as they were read.
fn replies(items: &[Item]) -> Vec<Vec<&Call>> {
    let mut replies: Vec<Vec<&Call>> = Vec::new();
    for item in items {
        match &item.body {
            Body::Reply { reply, .. } => replies.push(reply.calls().collect()),
            Body::Read { calls, .. } => {
                replies.pop();
                replies.push(calls.iter().collect());
            }
            _ => {}
        }
    }
    replies
}

fn run_length(sequence: &[&Call]) -> usize {
    let Some(last) = sequence.last().map(|call| key(call)) else { return 0 };
    sequence.iter().rev().take_while(|call| key(call) == last).count()
}

/// The answer to a call, with a word on how often it was made.
pub(super) fn guarded(cx: &Context, call: &Call, answer: Answer) -> Answer {
    match warning(run_length(&sequence(cx, Some(&call.id)))) {
        Some(text) => outside::with_more(answer, &text),
        None => answer,
    }
}

/// No further calls are taken in this turn. To be asked when a new reply has come.
pub(super) fn is_over(cx: &Context) -> bool {
    let begin = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).unwrap_or(0);
    let before = Context { items: &cx.items[..begin], ..*cx };
    run_length(&sequence(&before, None)) >= STOPPED
}

/// The answer that an equal call of the same reply has got already.
pub(super) fn twin(cx: &Context, call: &Call) -> Option<Answer> {
    let begin = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. }))?;
    let step = &cx.items[begin..];
    let earlier = replies(step).pop()?;
    let earlier = earlier.into_iter().take_while(|other| other.id != call.id).find(|other| key(other) == key(call))?;
    step.iter().find_map(|item| match &item.body {
        Body::Called { call, answer, .. } if *call == earlier.id => Some(answer.clone()),
        _ => None,
    })
}

/// Whether an equal call stands before this one.
pub(super) fn is_twin(calls: &[Call], at: usize) -> bool {
    calls[..at].iter().any(|other| key(other) == key(&calls[at]))
}
