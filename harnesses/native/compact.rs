//! Compaction as Codex does it: the whole history and a request for a hand-off; then a new beginning of the context, what
//! the user said, and the summary.
use protocol::{Body, Content, Entry, Item, Opening, Part, Tune, ceil_char};

use super::{context, say, tools};
use crate::{Compaction, Context};

const ASK: &str = "The conversation is about to be cut to make room. Write the hand-off for the agent that takes this task over and will see none of the above but the user's messages.\n\nInclude:\n- What was asked, what is done so far, and what was decided and why\n- Constraints, preferences and facts about this project that were learnt\n- What is left, as concrete next steps\n- Names, paths, commands, values and errors that are needed to go on\n\nBe complete and brief, so that the work goes on without a question and without being done twice.";

/// How the summary is introduced; also how it is known again at the next compaction.
const INTRODUCTION: &str = "Another agent began this task and had to stop when its context was full. Below is the hand-off that it wrote. The files are as it left them, and its commands and edits have taken effect. Build on what it did instead of doing it again, check what you are not sure of, and go on with the steps that are left. The user's messages before this one belong to the part that is told here:";

/// Tokens of the user's earlier messages that stay; the newest count first. A token counts as four bytes.
const USER_TOKENS: usize = 20_000;

pub(super) fn ask(cx: &Context, hint: Option<&str>, tune: Tune) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.to_owned());
    if let Some(hint) = hint.map(str::trim).filter(|hint| !hint.is_empty()) {
        text.push_str(&format!("\n\nThe user asks to mind this: {hint}"));
    }
    let tune = Tune { parallel: Some(false), schema: None, ..tune };
    Compaction { ask: vec![Entry::User(context::content(cx, vec![text]))], tools: false, tune }
}

/// The new beginning. A prompt that no reply has answered yet stands behind the summary, not among the past.
pub(super) fn begin_anew(cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
    let answered = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).map_or(0, |at| at + 1);
    let prompts = |items: &[Item]| -> Vec<Content> {
        let parts = items.iter().filter_map(|item| match &item.body {
            Body::User { parts, .. } => Some(parts),
            _ => None,
        });
        parts.map(|parts| say::prompt(cx, parts)).collect()
    };
    let (past, open) = cx.items.split_at(answered);
    let open = prompts(open);
    // What was said reaches back beyond earlier compactions, and may hold the open prompts already.
    let mut earlier: Vec<Content> = match cx.said {
        [] => prompts(past),
        said => said.iter().filter_map(|entry| users_own(entry).cloned()).collect(),
    };
    if earlier.ends_with(&open) {
        earlier.truncate(earlier.len() - open.len());
    }
    let mut entries: Vec<Entry> = context::known(cx).into_iter().collect();
    entries.extend(within_budget(cx, earlier));
    entries.push(Entry::User(context::content(cx, vec![format!("{INTRODUCTION}\n{summary}")])));
    entries.extend(open.into_iter().map(Entry::User));
    (tools::opening(cx), entries)
}

/// A message that the user wrote, not one in the user's place.
fn users_own(entry: &Entry) -> Option<&Content> {
    match entry {
        Entry::User(content) if !is_ours(content) => Some(content),
        _ => None,
    }
}

/// The newest of the messages, as many as the budget holds, in their order.
fn within_budget(cx: &Context, all: Vec<Content>) -> Vec<Entry> {
    let mut left = USER_TOKENS * 4;
    let mut kept = Vec::new();
    for content in all.into_iter().rev() {
        let length = content.text().len();
        if length <= left {
            left -= length;
            kept.push(Entry::User(content));
            continue;
        }
        // The one that does not fit keeps its end.
        let text = content.text();
        let end = &text[ceil_char(&text, text.len() - left)..];
        if !end.is_empty() {
            kept.push(Entry::User(context::content(cx, vec![end.to_owned()])));
        }
        break;
    }
    kept.reverse();
    kept
}

/// Messages in the user's place that the user did not write.
fn is_ours(content: &Content) -> bool {
    let first = match content {
        Content::Plain(text) => Some(text.as_str()),
        Content::Parts(parts) => parts.first().and_then(Part::as_text),
    };
    let marks = [
        "<environment_context>",
        "# AGENTS.md instructions",
        "<turn_aborted>",
        "<subagent_notification>",
        super::UNREADABLE_CALL,
        say::RETOLD,
        INTRODUCTION,
    ];
    first.is_some_and(|text| marks.iter().any(|mark| text.starts_with(mark)))
}
