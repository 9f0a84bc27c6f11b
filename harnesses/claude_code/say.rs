//! History as entries: the shared telling, and then reminders at the end of it, in the way of each generation: inside of the last
//! result, or (`Current`) as a system message behind it.
use protocol::{Body, CallResult, Content, Entry, Item, Part, Speaker};

use super::generation::Generation;
use super::shared::prompt::reminder;
use super::shared::say::{Voice, say as told};
use super::{changed, context, remind};
use crate::Context;

const OPEN: &str = "<system-reminder>\n";
const CLOSE: &str = "\n</system-reminder>";

pub(super) fn say(voice: &dyn Voice, generation: Generation, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let opens = cx.said.is_empty();
    let mut entries = told(voice, cx, new);
    if generation == Generation::Current {
        return current(cx, new, entries, opens);
    }
    let after_calls = new.iter().any(|item| matches!(&item.body, Body::Called { .. }));
    let mut late: Vec<String> = changed::told(generation, cx, new).iter().map(|text| reminder(text)).collect();
    if after_calls {
        late.extend(remind::moved(generation, cx).map(|text| reminder(&text)));
        late.extend(remind::planning(generation, cx).map(|text| reminder(&text)));
        late.extend(remind::nudge(generation, cx).map(|text| reminder(&text)));
        late.extend(remind::budget(generation, cx).map(|text| reminder(&text)));
    }
    for entry in &mut entries {
        if let Entry::Results { results, after, .. } = entry {
            join_reminders(results, after);
        }
    }
    match entries.last_mut() {
        Some(Entry::Results { results, after, .. }) => {
            let mut late = late.into_iter().map(Part::Text).collect();
            join_reminders(results, &mut late);
            after.extend(late);
        }
        Some(Entry::User(content)) if !late.is_empty() && !opens => {
            let before = late.into_iter().map(Part::Text);
            *content = Content::Parts(before.chain(parts(content)).collect());
        }
        _ => {}
    }
    entries
}

fn parts(content: &Content) -> Vec<Part> {
    match content {
        Content::Plain(text) => vec![Part::text(text)],
        Content::Parts(parts) => parts.clone(),
    }
}

/// Moves the reminders out of `after` into the last result.
fn join_reminders(results: &mut [CallResult], after: &mut Vec<Part>) {
    let Some(last) = results.last_mut() else { return };
    let content = &mut last.answer.content;
    let (reminders, rest): (Vec<Part>, Vec<Part>) =
        after.drain(..).partition(|part| part.as_text().is_some_and(|text| text.starts_with(OPEN)));
    *after = rest;
    for part in reminders {
        match (&mut *content, part) {
            (Content::Plain(text), Part::Text(more)) if text.trim().is_empty() => *text = more,
            (Content::Plain(text), Part::Text(more)) => *text = format!("{}\n\n{more}", text.trim()),
            (Content::Parts(parts), part) => {
                if let Some(Part::Text(text)) =
                    parts.last_mut().filter(|last| last.as_text().is_some_and(|text| !text.ends_with('\n')))
                {
                    text.push('\n');
                }
                parts.push(part);
            }
            (Content::Plain(_), _) => {}
        }
    }
}

/// Reminders leave their tags and the user's messages for a system message behind them.
fn current(cx: &Context, new: &[Item], entries: Vec<Entry>, opens: bool) -> Vec<Entry> {
    let mut said = Vec::with_capacity(entries.len() + 1);
    let last = entries.len().saturating_sub(1);
    for (at, entry) in entries.into_iter().enumerate() {
        let mut texts = Vec::new();
        let entry = match entry {
            Entry::Results { before, results, after } => {
                let (reminders, after) = split(after);
                texts = reminders;
                Entry::Results { before, results, after }
            }
            // What opens a conversation keeps project instructions and git in the user's message.
            Entry::User(Content::Parts(parts)) if !(opens && at == 0) => {
                let (reminders, rest) = split(parts);
                texts = reminders;
                Entry::User(Content::Parts(rest))
            }
            entry => entry,
        };
        let opening = opens && matches!(entry, Entry::User(_)) && !said.iter().any(|e| matches!(e, Entry::User(_)));
        if opening {
            texts.push(context::behind(cx));
        }
        if at == last {
            texts.extend(changed::told(Generation::Current, cx, new));
            if new.iter().any(|item| matches!(&item.body, Body::Called { .. })) {
                texts.extend(remind::moved(Generation::Current, cx));
                texts.extend(remind::planning(Generation::Current, cx));
                texts.extend(remind::nudge(Generation::Current, cx));
            }
        }
        if !matches!(&entry, Entry::User(Content::Parts(parts)) if parts.is_empty()) {
            said.push(entry);
        }
        if !texts.is_empty() {
            said.push(Entry::Instruct(Speaker::System, Content::Plain(texts.join("\n\n"))));
        }
    }
    said
}

/// Reminders without their tags, and the rest.
fn split(parts: Vec<Part>) -> (Vec<String>, Vec<Part>) {
    let bare = |part: &Part| {
        let text = part.as_text()?.trim_end();
        Some(text.strip_prefix(OPEN)?.strip_suffix(CLOSE)?.to_owned())
    };
    let reminders = parts.iter().filter_map(bare).collect();
    (reminders, parts.into_iter().filter(|part| bare(part).is_none()).collect())
}
