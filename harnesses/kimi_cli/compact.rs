//! Summaries: asked for without tools; the new beginning is the summary, then the newest messages as they were. The original asks
//! in a conversation of its own, with all messages as the parts of one; here the question follows the conversation itself.
use protocol::{Content, Entry, Part, Tune};

use super::result;
use crate::{Compaction, Context};

/// Messages of user and model that stay.
const KEPT: usize = 2;
const PREFACE: &str = "<system>Previous context has been compacted. Here is the compaction output:</system>";

pub(super) fn ask(cx: &Context, hint: Option<&str>, tune: Tune) -> Compaction {
    let ask = cx.settings.compact_prompt.clone();
    let mut text = ask.unwrap_or_else(|| include_str!("compact.md").trim_end().to_owned());
    if let Some(hint) = hint.filter(|hint| !hint.trim().is_empty()) {
        text.push_str(&format!("\n\n**The user asks for this in particular:** {hint}"));
    }
    Compaction { ask: vec![Entry::User(Content::Plain(text))], tools: false, tune }
}

pub(super) fn beginning(cx: &Context, summary: &str) -> Vec<Entry> {
    let said = super::say::merged(cx.said);
    let speaks = |entry: &Entry| matches!(entry, Entry::User(_) | Entry::Assistant(_));
    let kept = said.iter().enumerate().rev().filter(|(_, entry)| speaks(entry)).map(|(at, _)| at).nth(KEPT - 1);
    let kept = &said[kept.unwrap_or(0)..];
    let first = vec![Part::text(PREFACE), Part::Text(summary.trim().to_owned())];
    let first = Entry::User(result::content(first));
    super::say::merged(&[std::slice::from_ref(&first), kept].concat())
}
