//! Summaries: asked for by one more user message behind the same request, and the new beginning: the startup reminders, the snapshot,
//! the model's assent, and what no reply has answered yet.
use protocol::{Block, Body, Content, Entry, Part, Tune};

use super::{profile, reminders};
use crate::{Compaction, Context};

const ASK: &str = include_str!("compact.md");
const RESUME: &str = "The above stands for the earlier conversation. Go on with the work from there, without asking again what it answers. Files must be read again before they are edited.";
const ASSENT: &str = "Got it. Thanks for the additional context!";
const GO_ON: &str = "Go on with the task from where it stands.";

pub(super) fn ask(cx: &Context, hint: Option<&str>, tune: Tune) -> Compaction {
    let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| ASK.trim_end().to_owned());
    if let Some(hint) = hint.filter(|hint| !hint.trim().is_empty()) {
        text.push_str(&format!("\n\nThe user asks to mind this: {hint}"));
    }
    let tune = Tune { max_output: Some(profile::SUMMARY), schema: None, ..tune };
    Compaction { ask: vec![Entry::User(Content::Parts(vec![Part::Text(text)]))], tools: true, tune }
}

pub(super) fn beginning(cx: &Context, summary: &str) -> Vec<Entry> {
    let mut parts = reminders::beginning(cx);
    parts.push(Part::Text(format!("{}\n\n{RESUME}", snapshot(summary))));
    let answered = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).map_or(0, |at| at + 1);
    let open: Vec<Part> = cx.items[answered..]
        .iter()
        .filter_map(|item| match &item.body {
            Body::User { parts, .. } => Some(parts.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let mut next = reminders::before_prompt(cx);
    match open.is_empty() {
        true => next.push(Part::text(GO_ON)),
        false => next.extend(open),
    }
    vec![
        Entry::User(Content::Parts(parts)),
        Entry::Assistant(vec![Block::text(ASSENT)]),
        Entry::User(Content::Parts(next)),
    ]
}

/// The snapshot with its tags; without them all but the analysis.
fn snapshot(reply: &str) -> &str {
    const OPEN: &str = "<state_snapshot>";
    const CLOSE: &str = "</state_snapshot>";
    if let Some(at) = reply.find(OPEN) {
        let rest = &reply[at..];
        return rest.find(CLOSE).map_or(rest, |end| &rest[..end + CLOSE.len()]).trim();
    }
    reply.split_once("</analysis>").map_or(reply, |(_, rest)| rest).trim()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::snapshot;

    #[test]
    fn the_snapshot_is_what_stands_in_its_tags() {
        assert_eq!(
            snapshot("<analysis>x</analysis>\n<state_snapshot>a</state_snapshot> more"),
            "<state_snapshot>a</state_snapshot>"
        );
        assert_eq!(snapshot("<state_snapshot>cut"), "<state_snapshot>cut");
        assert_eq!(snapshot("<analysis>x</analysis> plain"), "plain");
        assert_eq!(snapshot("plain"), "plain");
    }
}
