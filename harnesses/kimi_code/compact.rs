//! Summaries: asked for by one more user message at the end of the same request, and the new beginning made of it.
use protocol::{Body, Content, Entry, Fact, Item, Tune, ceil_char, floor_char};

use super::{profile, reminders, say, skill, todo};
use crate::{Compaction, Context};

const ASK: &str = include_str!("compact.md");

/// How the summary is introduced; also how it is known again at the next compaction.
const PREFACE: &str = "The context was full, and the earlier part of this conversation has been replaced by the summary below, which I wrote myself. The user's messages above are kept as they were. What the summary says is accurate: what it calls done is done and needs no repetition, and what it says need not be asked again. It holds conclusions, not the state of things; files, commands and background work may have changed and are to be looked at anew where it matters. Where a message of the user's is newer than the summary, the message counts. What is missing can be found with tools. I go on from here without telling the user of any of this, and without beginning again.";

const COMPLETE: &str = "The compaction is complete. Go on with the work from the summary.";

/// Most that is asked for, in tokens.
const SUMMARY: u64 = 131_072;
/// Tokens of the user's messages that stay, as four bytes each; of more, the beginning and the end.
const KEPT: usize = 20_000 * 4;
const HEAD: usize = 2_000 * 4;
const TAIL: usize = 18_000 * 4;

pub(super) fn ask(cx: &Context, hint: Option<&str>) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.trim_end().to_owned());
    if let Some(hint) = hint.map(str::trim).filter(|hint| !hint.is_empty()) {
        text.push_str(&format!("\n\nThe user asks to mind this: {hint}"));
    }
    let tune = profile::tune(cx);
    let max_output = tune.max_output.map(|_| cx.model.context_window.min(SUMMARY));
    let tune = Tune { max_output, schema: None, ..tune };
    Compaction { ask: vec![Entry::User(Content::Plain(text))], tools: true, tune }
}

/// A prompt that no reply has answered yet stands behind the summary, not among the past.
pub(super) fn beginning(cx: &Context, summary: &str) -> Vec<Entry> {
    let answered = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).map_or(0, |at| at + 1);
    let (past, open) = cx.items.split_at(answered);
    let open = prompts(open);
    let mut earlier: Vec<Content> = match cx.said {
        [] => prompts(past),
        said => said.iter().filter_map(users_own).cloned().collect(),
    };
    if !open.is_empty() && earlier.ends_with(&open) {
        earlier.truncate(earlier.len() - open.len());
    }
    let mut entries: Vec<Entry> = kept(earlier).into_iter().map(Entry::User).collect();
    let mut text = format!("{PREFACE}\n{}", summary.trim());
    if let Some(list) = todo::listing(&todo::latest(cx)) {
        text.push_str(&format!("\n\n## TODO List\n{list}"));
    }
    entries.push(Entry::User(Content::Plain(text)));
    let date = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Date { date, .. }) => Some(reminders::date(date)),
        _ => None,
    });
    let texts = [Some(reminders::reminder(COMPLETE)), date, reminders::permissions(cx.settings)];
    entries.extend(texts.into_iter().flatten().map(|text| Entry::User(Content::Plain(text))));
    entries.extend(open.into_iter().map(Entry::User));
    entries
}

fn prompts(items: &[Item]) -> Vec<Content> {
    let parts = items.iter().filter_map(|item| match &item.body {
        Body::User { parts, .. } => Some(parts.clone()),
        _ => None,
    });
    parts.map(say::content).collect()
}

/// A message that the user wrote, not one in the user's place.
fn users_own(entry: &Entry) -> Option<&Content> {
    let Entry::User(content) = entry else { return None };
    let text = content.text();
    let ours = ["<system-reminder>\n", "<notification ", PREFACE, "[Result of ", skill::LOADED];
    (!ours.iter().any(|start| text.starts_with(start))).then_some(content)
}

/// All of them, or the first and the last with a word on the rest.
fn kept(messages: Vec<Content>) -> Vec<Content> {
    let size = |content: &Content| content.text().len();
    if messages.iter().map(size).sum::<usize>() <= KEPT {
        return messages;
    }
    let all = messages.iter().map(Content::text).collect::<Vec<_>>().join("\n\n");
    let head = all[..floor_char(&all, HEAD)].to_owned();
    let tail = all[ceil_char(&all, all.len().saturating_sub(TAIL))..].to_owned();
    let elided = reminders::reminder("A part of the user's earlier messages was too long to be kept and stood here.");
    vec![Content::Plain(head), Content::Plain(elided), Content::Plain(tail)]
}
