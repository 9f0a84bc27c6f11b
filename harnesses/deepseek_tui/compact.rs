//! Summaries: asked for at the end of the conversation; the newest messages stay as they are, as the original keeps four of them.
use protocol::{Content, Entry, Part, Tune};

use super::{discover, prompt};
use crate::history::{self, Voice};
use crate::{Compaction, Context};

const ASK: &str = include_str!("compact.md");
/// Messages that stay, as long as they are no larger than this many bytes of text.
const KEPT: usize = 4;
const ROOM: usize = 24_000;

pub(super) fn ask(cx: &Context, hint: Option<&str>, tune: Tune) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.trim_end().to_owned());
    if let Some(hint) = hint.map(str::trim).filter(|hint| !hint.is_empty()) {
        text.push_str(&format!("\n\nThe user wants this to be minded: {hint}"));
    }
    let ask = vec![Entry::User(Content::Parts(vec![Part::Text(text)]))];
    Compaction { ask, tools: true, tune: Tune { schema: None, ..tune } }
}

pub(super) fn beginning(voice: &dyn Voice, cx: &Context, summary: &str) -> Vec<Entry> {
    let text = format!("<conversation_summary>\n{}\n</conversation_summary>", summary.trim());
    let mut parts = vec![Part::Text(text)];
    if let Some(date) = prompt::date(cx) {
        parts.insert(0, Part::Text(format!("<turn_meta>\nCurrent local date: {date}\n</turn_meta>")));
    }
    let mut entries = vec![Entry::User(Content::Parts(parts))];
    entries.extend(newest(cx.said));
    entries.extend(history::unanswered(voice, cx));
    let tools: Vec<_> = discover::known_now(cx).cloned().collect();
    if !tools.is_empty() {
        entries.push(Entry::Tools(tools));
    }
    entries
}

/// The end of a conversation, from a message on that answers none before it. Prompts that no reply has answered are told anew.
fn newest(said: &[Entry]) -> Vec<Entry> {
    let said: Vec<&Entry> = said.iter().filter(|entry| !matches!(entry, Entry::Tools(_))).collect();
    let end = said.iter().rposition(|entry| !matches!(entry, Entry::User(_))).map_or(0, |at| at + 1);
    let start = end.saturating_sub(KEPT);
    let fits = |from: &usize| {
        let kept = &said[*from..end];
        matches!(kept.first(), Some(Entry::Assistant(_) | Entry::User(_)))
            && kept.iter().map(|entry| size(entry)).sum::<usize>() <= ROOM
    };
    let from = (start..end).find(fits).unwrap_or(end);
    said[from..end].iter().map(|entry| (*entry).clone()).collect()
}

fn size(entry: &Entry) -> usize {
    serde_json::to_string(entry).map_or(usize::MAX / 8, |text| text.len())
}
