//! Compaction as Codex does it: the whole history and a request for a hand-off; then a new beginning of the context, what
//! the user said, and the summary.
use protocol::{Body, Content, Entry, Opening, Part, Tune, ceil_char};

use super::{context, tools};
use crate::{Compaction, Context};

const ASK: &str = "The conversation is about to be cut to make room. Write the hand-off for the agent that takes this task over and will see none of the above but the user's messages.\n\nInclude:\n- What was asked, what is done so far, and what was decided and why\n- Constraints, preferences and facts about this project that were learnt\n- What is left, as concrete next steps\n- Names, paths, commands, values and errors that are needed to go on\n\nBe complete and brief, so that the work goes on without a question and without being done twice.";

/// How the summary is introduced; also how it is known again at the next compaction.
const INTRODUCTION: &str = "Another agent began this task and had to stop when its context was full. Below is the hand-off that it wrote. The files are as it left them, and its commands and edits have taken effect. Build on what it did instead of doing it again, check what you are not sure of, and go on with the steps that are left. The messages of the user before this one were answered or are part of the task described here:";

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

pub(super) fn begin_anew(cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
    let mut entries = context::initial(cx);
    entries.extend(users_own(cx));
    entries.push(Entry::User(context::content(cx, vec![format!("{INTRODUCTION}\n{summary}")])));
    (tools::opening(cx), entries)
}

/// What the user said so far, also before earlier compactions, within the budget.
fn users_own(cx: &Context) -> Vec<Entry> {
    let said = cx.said.iter().filter_map(|entry| match entry {
        Entry::User(content) if !is_ours(content) => Some(content.clone()),
        _ => None,
    });
    let items = cx.items.iter().filter_map(|item| match &item.body {
        Body::User { parts, .. } => Some(Content::Parts(parts.clone())),
        _ => None,
    });
    let all: Vec<Content> = if cx.said.is_empty() { items.collect() } else { said.collect() };
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
        INTRODUCTION,
    ];
    first.is_some_and(|text| marks.iter().any(|mark| text.starts_with(mark)))
}
