//! Summaries: the original sends the conversation as text to a summariser of its own; here the same request stands at the end of the
//! conversation.
use protocol::{Content, Entry, Part, Tune};

use crate::{Compaction, Context};

const ASK: &str = include_str!("compact.md");

pub(super) fn ask(cx: &Context, hint: Option<&str>, tune: Tune) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.trim_end().to_owned());
    if let Some(hint) = hint.map(str::trim).filter(|hint| !hint.is_empty()) {
        text.push_str(&format!("\n\nAdditional focus: {hint}"));
    }
    let ask = vec![Entry::User(Content::Parts(vec![Part::Text(text)]))];
    Compaction { ask, tools: false, tune: Tune { schema: None, ..tune } }
}

pub(super) fn beginning(summary: &str) -> Entry {
    let text = format!(
        "What was said before this point has been replaced by a summary:\n\n<summary>\n{}\n</summary>",
        summary.trim()
    );
    Entry::User(Content::Parts(vec![Part::Text(text)]))
}
