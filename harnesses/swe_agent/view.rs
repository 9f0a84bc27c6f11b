//! What the original changes of its past when it asks: of old observations only the length stays (classic forms), and a reply
//! that cannot be carried out is shown with the reason, in the next request only.
use protocol::{Block, Body, Content, Entry, Reply, WireId};

use super::{Form, bash};
use crate::Context;

/// Observations that are shown whole, from `last_n_observations` of the classic configurations.
const KEPT: usize = 5;

/// None: as said. In the form of `default.yaml` only a command with a syntax error needs one.
pub(super) fn view(cx: &Context) -> Option<Vec<Entry>> {
    let elides = Form::of(cx) != Form::Tools;
    let again = unparsable(cx);
    if !elides && again.is_none() {
        return None;
    }
    let said = if elides { elided(cx.said) } else { cx.said.to_vec() };
    Some(said.into_iter().chain(again.unwrap_or_default()).collect())
}

/// The bad message, as text only, and what is wrong with it.
pub(super) fn pair(cx: &Context, reply: &Reply, why: &str) -> Vec<Entry> {
    let text = reply.text();
    let why = Entry::User(Content::Plain(why.to_owned()));
    // An empty message is what the original sends; other wires have no such thing.
    if text.is_empty() && cx.source.wire != WireId::Chat {
        return vec![why];
    }
    vec![Entry::Assistant(vec![Block::text(text)]), why]
}

/// The pair for the newest reply, if its command was looked at and not run.
fn unparsable(cx: &Context) -> Option<Vec<Entry>> {
    let at = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. }))?;
    let (item, after) = cx.items[at..].split_first()?;
    let Body::Reply { reply, .. } = &item.body else { return None };
    if after.iter().any(|item| matches!(item.body, Body::User { .. })) {
        return None;
    }
    after.iter().find_map(|item| match &item.body {
        Body::Called { did, .. } => Some(pair(cx, reply, &bash::unparsable(bash::syntax_error(did)?))),
        _ => None,
    })
}

fn elided(said: &[Entry]) -> Vec<Entry> {
    let observations = said.iter().filter(|entry| is_observation(entry)).count();
    let mut old = observations.saturating_sub(KEPT);
    let mut out = said.to_vec();
    // The first message is the task.
    for entry in out.iter_mut().skip(1).filter(|entry| is_observation(entry)) {
        if old == 0 {
            break;
        }
        old -= 1;
        match entry {
            Entry::User(content) => *content = omitted(content),
            Entry::Results { results, .. } => {
                for result in results {
                    result.answer.content = omitted(&result.answer.content);
                }
            }
            _ => {}
        }
    }
    out
}

/// In the text form an observation is a user's message, and ends with the prompt of the shell; so does the task, which is first.
fn is_observation(entry: &Entry) -> bool {
    match entry {
        Entry::Results { .. } => true,
        Entry::User(Content::Plain(text)) => text.ends_with("\nbash-$") && !text.contains("\nINSTRUCTIONS:\n"),
        _ => false,
    }
}

fn omitted(content: &Content) -> Content {
    let lines = content.text().lines().count();
    Content::Plain(format!("Old environment output: ({lines} lines omitted)"))
}
