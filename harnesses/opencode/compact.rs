//! Summaries: the original sends the conversation as text to a summariser of its own; here the same request stands at the end of the
//! conversation. The new beginning is the original's, word for word: a question, the summary as its answer, and a word to go on.
use protocol::{Block, Content, Entry, Tune};

use crate::{Compaction, Context};

const ASK: &str = include_str!("compact.md");
const QUESTION: &str = "What did we do so far?";
const GO_ON: &str =
    "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.";

pub(super) fn ask(cx: &Context, hint: Option<&str>, tune: Tune) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.trim_end().to_owned());
    if let Some(hint) = hint.map(str::trim).filter(|hint| !hint.is_empty()) {
        text.push_str(&format!("\n\nThe user asks to mind this: {hint}"));
    }
    let tune = Tune { choose_tools: false, schema: None, ..tune };
    Compaction { ask: vec![Entry::User(Content::Plain(text))], tools: false, tune }
}

pub(super) fn beginning(summary: &str) -> Vec<Entry> {
    let user = |text: &str| Entry::User(Content::Plain(text.to_owned()));
    vec![user(QUESTION), Entry::Assistant(vec![Block::text(summary.trim())]), user(GO_ON)]
}
