//! Reading a whole reply: calls and which of them run together, a second try where nothing came of it, or the end.
use protocol::{Body, Call, Content, Entry, Reply, Stop};

use super::{prompt, say::Voice};
use crate::in_text::{self, Heard};
use crate::{AnswerOrder, Context, End, Order, Reading};

/// Replies without an answer in a row, after which the turn ends all the same.
pub(crate) const SECOND_TRIES: usize = 3;

const NOTHING_SAID: &str =
    "[Your last response showed the user nothing. Go on, and answer with something that can be seen.]";
const CUT_OFF: &str = "Output token limit hit. Go on right where the text broke off, without an apology and without repeating what was said. Split what is left into smaller pieces.";

pub(crate) fn read(voice: &dyn Voice, cx: &Context, reply: &Reply) -> Reading {
    let calls: Vec<Call> = reply.calls().cloned().collect();
    if !calls.is_empty() {
        let order = Order { groups: groups(voice, cx, &calls), answers: AnswerOrder::Done };
        return Reading::Calls { calls, order, repaired: 0 };
    }
    let again = |drop_reply: bool, text: &str| Reading::Again {
        drop_reply,
        say: vec![Entry::User(Content::Plain(prompt::reminder(text)))],
        keep: true,
        tune: None,
    };
    let text = reply.text();
    let schema = |name: &str| in_text::schema_in(&voice.open(cx).tools, name);
    match in_text::hear(cx, &text, &voice.tools(cx), schema) {
        Heard::Text => {}
        Heard::Calls(calls) => {
            let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
            let order = Order { groups: groups(voice, cx, &calls), answers: AnswerOrder::Done };
            return Reading::Calls { calls, order, repaired };
        }
        Heard::GaveUp(why) => return Reading::Stop(End::GaveUp(why)),
        Heard::Ask(text) => return again(false, &text),
    }
    let empty = text.trim().is_empty();
    match reply.stop {
        Stop::Length if !empty && cut_before(cx, reply) < SECOND_TRIES => again(false, CUT_OFF),
        Stop::End | Stop::Calls | Stop::Other(_) if empty && dropped_before(cx) < SECOND_TRIES => {
            again(true, NOTHING_SAID)
        }
        _ => Reading::Stop(End::Done),
    }
}

/// Calls that only look run together; every other one runs alone, in its place.
fn groups(voice: &dyn Voice, cx: &Context, calls: &[Call]) -> Vec<Vec<protocol::CallId>> {
    let mut groups: Vec<(bool, Vec<protocol::CallId>)> = Vec::new();
    for call in calls {
        // A name of ours that is not: a tool from outside, which may do anything.
        let outside = call.name.contains("__") && !voice.tools(cx).contains(&call.name.as_str());
        let looks = !outside && voice.looks(cx, call);
        match groups.last_mut() {
            Some((true, group)) if looks => group.push(call.id.clone()),
            _ => groups.push((looks, vec![call.id.clone()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Replies in a row before this one that were dropped.
fn dropped_before(cx: &Context) -> usize {
    let mut dropped = 0;
    for item in cx.items.iter().rev() {
        match &item.body {
            Body::Read { dropped: true, .. } => dropped += 1,
            Body::Called { .. } | Body::User { .. } => break,
            _ => {}
        }
    }
    dropped
}

/// Replies in a row before this one that hit the output limit.
fn cut_before(cx: &Context, reply: &Reply) -> usize {
    let replies = cx.items.iter().rev().filter_map(|item| match &item.body {
        Body::Reply { reply, .. } => Some(reply),
        _ => None,
    });
    replies.skip_while(|past| past.id == reply.id).take_while(|past| past.stop == Stop::Length).count()
}
