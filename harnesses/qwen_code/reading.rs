//! How a reply is read: calls, calls in the text, replies that were cut off or empty, and the same call over and over. Seen in Qwen
//! Code 0.24.4; the calls in the text and mended names are ours, since the original has no answer to them.
use protocol::{BlockKind, Body, Call, CallForm, CallId, Content, Entry, Origin, Part, Reply, Stop};

use super::{args, cut, profile, prompt, tools};
use crate::in_text::{self, InText};
use crate::{AnswerOrder, Context, End, Order, Reading, names};

/// Empty or unreadable replies in a row that are asked for again.
const TRIES: usize = 4;
/// Requests to go on after a text was cut off.
const RESUMPTIONS: usize = 3;
/// So many equal calls in a row end the turn, before the last of them runs.
const SAME: usize = 5;
/// Units of a cut text that are quoted.
const SUFFIX: usize = 2_000;

const LOOP: &str = "Loop detection halted the run (consecutive_identical_tool_calls: the model repeated the same tool call with identical arguments).";
const EMPTY: &str = "Model stream ended with empty response text.";
const ALL_CUT: &str = "Every reply hit the output token limit before anything in it was complete; raise model_max_output_tokens, or ask for less at once.";
const UNREADABLE: &str = "A tool call stood in the text of your message and could not be read";

pub(super) fn read(cx: &Context, reply: &Reply) -> Reading {
    let past = Past::of(cx, reply);
    let text = reply.text();
    let cut = reply.stop == Stop::Length;
    if cut && past.pieces.is_empty() && !past.dropped.contains(&true) {
        let tune = Some(Box::new(profile::larger(cx)));
        return Reading::Again { drop_reply: true, say: Vec::new(), keep: false, tune };
    }
    let calls: Vec<Call> = reply.calls().cloned().collect();
    if !calls.is_empty() {
        if !cut && past.dropped.len() < TRIES && calls.iter().any(|call| args::is_cut(&call.args)) {
            return once_more();
        }
        return these(cx, calls);
    }
    let offered = tools::callable(cx);
    match super::in_text_of(&text, &offered) {
        InText::None => {}
        InText::Calls(found) => return these(cx, in_text::calls(cx, found, tools::schema)),
        InText::Unreadable(why) => return unreadable(cx, &why),
    }
    let joined = || past.pieces.iter().rev().chain([&text]).map(String::as_str).collect::<String>();
    if cut && text.trim().is_empty() && past.pieces.is_empty() {
        // A call that the server cut off is no block of the reply on every wire.
        return match past.dropped.len() <= RESUMPTIONS {
            true => {
                let say = vec![Entry::User(Content::Parts(vec![Part::Text(prompt::reminder(super::CUT_CALL))]))];
                Reading::Again { drop_reply: true, say, keep: true, tune: None }
            }
            false => Reading::Stop(End::GaveUp(ALL_CUT.to_owned())),
        };
    }
    if cut && past.pieces.len() < RESUMPTIONS {
        let say = vec![Entry::User(Content::Parts(vec![Part::Text(resume(&text))]))];
        return Reading::Again { drop_reply: false, say, keep: true, tune: None };
    }
    let thought =
        reply.blocks.iter().any(|block| matches!(&block.kind, BlockKind::Reasoning(text) if !text.is_empty()));
    match text.trim().is_empty() && !thought && !cut {
        true if past.dropped.len() < TRIES => once_more(),
        true => Reading::Stop(End::GaveUp(EMPTY.to_owned())),
        false if past.pieces.is_empty() => Reading::Stop(End::Done),
        // The answer is all of it.
        false => Reading::Stop(End::Submitted(joined())),
    }
}

fn once_more() -> Reading {
    Reading::Again { drop_reply: true, say: Vec::new(), keep: false, tune: None }
}

fn resume(text: &str) -> String {
    format!(
        "Output token limit hit. Resume directly: no apology, no word on what you were doing, in the middle of the thought if that is where the text broke off. Split what is left into smaller pieces.\n\nYour text so far ends as follows. Repeat no line, row or sentence of it, and write only what comes after:\n\n<previous_response_suffix>\n{}\n</previous_response_suffix>",
        cut::end(text, SUFFIX)
    )
}

fn unreadable(cx: &Context, why: &str) -> Reading {
    let told = cx.said.last().is_some_and(|entry| matches!(entry, Entry::User(c) if c.text().contains(UNREADABLE)));
    if told {
        return Reading::Stop(End::GaveUp(format!(
            "{} writes tool calls as text that cannot be read ({why}); the server does not parse them: switch on its tool-call parser, or choose another harness",
            cx.model.slug
        )));
    }
    let text = format!("{UNREADABLE} ({why}). Call the tool through the interface for tool calls.");
    let say = vec![Entry::User(Content::Parts(vec![Part::Text(prompt::reminder(&text))]))];
    Reading::Again { drop_reply: false, say, keep: true, tune: None }
}

/// Names off by case or one edit are mended; the same call for the fifth time is not run.
fn these(cx: &Context, mut calls: Vec<Call>) -> Reading {
    let offered = tools::callable(cx);
    let mut repaired = 0;
    for call in &mut calls {
        let known = tools::is_ours(args::canonical(&call.name));
        if !known
            && let Some(meant) = names::meant(&call.name, offered.iter().map(String::as_str))
            && meant != call.name
        {
            repaired += 1;
            call.name = meant.to_owned();
        }
        if call.form == CallForm::InText {
            repaired += 1;
        }
    }
    let mut same = earlier_calls(cx);
    for call in &calls {
        same.push(identity(call));
        let last = same.last();
        if same.iter().rev().take_while(|one| Some(*one) == last).count() >= SAME {
            return Reading::Stop(End::GaveUp(LOOP.to_owned()));
        }
    }
    let order = Order { groups: groups(&calls), answers: AnswerOrder::Calls };
    Reading::Calls { calls, order, repaired }
}

/// Name and arguments, as far as they make two calls the same.
type Identity = (String, String);

fn identity(call: &Call) -> Identity {
    (args::canonical(&call.name).to_owned(), args::echo(&call.args))
}

/// Of the replies before the newest one, since the user's last words.
fn earlier_calls(cx: &Context) -> Vec<Identity> {
    let newest = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).unwrap_or(cx.items.len());
    let (mut all, mut last) = (Vec::new(), Vec::new());
    for item in &cx.items[..newest] {
        match &item.body {
            Body::User { origin, .. } if *origin != Origin::Harness => {
                all.clear();
                last.clear();
            }
            Body::Reply { reply, .. } => {
                all.append(&mut last);
                last = reply.calls().map(identity).collect();
            }
            Body::Read { dropped: true, .. } => last.clear(),
            Body::Read { calls, .. } => last = calls.iter().map(identity).collect(),
            _ => {}
        }
    }
    all.append(&mut last);
    all
}

/// Calls that only look run together; every other one runs alone, in its place.
fn groups(calls: &[Call]) -> Vec<Vec<CallId>> {
    let mut groups: Vec<(bool, Vec<CallId>)> = Vec::new();
    for call in calls {
        let looks = matches!(
            args::canonical(&call.name),
            "read_file" | "glob" | "grep_search" | "list_directory" | "tool_search" | "web_fetch" | "agent" | "skill"
        );
        match groups.last_mut() {
            Some((true, group)) if looks => group.push(call.id.clone()),
            _ => groups.push((looks, vec![call.id.clone()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Replies before this one since the last call or prompt.
struct Past {
    /// Dropped ones, the newest first: whether they hit the output limit.
    dropped: Vec<bool>,
    /// Texts that hit the limit and were kept, the newest first.
    pieces: Vec<String>,
}

impl Past {
    fn of(cx: &Context, reply: &Reply) -> Past {
        let mut past = Past { dropped: Vec::new(), pieces: Vec::new() };
        let mut was_dropped = false;
        let mut own = true;
        for item in cx.items.iter().rev() {
            match &item.body {
                Body::Called { .. } | Body::User { .. } => break,
                Body::Read { dropped, .. } => was_dropped = *dropped,
                Body::Reply { reply: one, .. } => {
                    let cut = one.stop == Stop::Length;
                    match std::mem::take(&mut was_dropped) {
                        _ if std::mem::take(&mut own) && one.id == reply.id => {}
                        true => past.dropped.push(cut),
                        false if cut => past.pieces.push(one.text()),
                        false => break,
                    }
                }
                _ => {}
            }
        }
        past
    }
}
