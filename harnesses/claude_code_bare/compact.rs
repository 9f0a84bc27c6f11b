//! Summaries: asked for as Claude Code does, by one more user message at the end of the same request, and the new beginning.
use protocol::{Content, Entry, Part};

use crate::{Compaction, Context};

const ASK: &str = include_str!("compact.md");

pub(crate) fn ask(cx: &Context, hint: Option<&str>, tune: protocol::Tune) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.trim_end().to_owned());
    if let Some(hint) = hint.filter(|hint| !hint.trim().is_empty()) {
        text.push_str(&format!("\n\nAdditional Instructions:\n{hint}"));
    }
    text.push_str("\n\nAgain: answer in plain text only. A tool call would be refused and the summary lost.");
    Compaction { ask: vec![Entry::User(Content::Parts(vec![Part::Text(text)]))], tools: true, tune }
}

/// `parts`: what stands before the first prompt of any conversation.
pub(crate) fn beginning(mut parts: Vec<Part>, summary: &str) -> Vec<Entry> {
    parts.push(Part::Text(format!(
        "This session is being continued from a previous conversation that ran out of context. What came before is summed up here.\n\nSummary:\n{}\n\nGo on with the work from where it stopped: ask nothing that the summary answers, and do not repeat it. Files must be read again before they are edited.",
        body(summary)
    )));
    vec![Entry::User(Content::Parts(parts))]
}

/// What stands between the summary tags; without them all but the analysis.
fn body(reply: &str) -> &str {
    if let Some((_, rest)) = reply.split_once("<summary>") {
        return rest.split_once("</summary>").map_or(rest, |(body, _)| body).trim();
    }
    reply.split_once("</analysis>").map_or(reply, |(_, rest)| rest).trim()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::body;

    #[test]
    fn the_summary_is_what_stands_in_its_tags() {
        assert_eq!(body("<analysis>x</analysis>\n<summary>\n1. a\n</summary>"), "1. a");
        assert_eq!(body("<summary>cut"), "cut");
        assert_eq!(body("<analysis>x</analysis> plain"), "plain");
        assert_eq!(body("plain"), "plain");
    }
}
