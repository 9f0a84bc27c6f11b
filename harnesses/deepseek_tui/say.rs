//! History as entries. Beyond plain turns: a `<turn_meta>` block before each prompt, large results that were shown before as a reference,
//! reasoning that must not be missing, and tools that are listed from here on.
use protocol::{Block, BlockKind, Content, Entry, Item, Part, WireId};
use sha2::{Digest as _, Sha256};

use super::{discover, prompt, tools};
use crate::Context;
use crate::history::{self, Voice};

pub(super) const RESULT_REF: &str = "<TOOL_RESULT_REF ";
const META: &str = "<turn_meta>";
/// In place of a `<turn_meta>` that says what the one before said.
const META_AGAIN: &str = "<turn_meta>unchanged</turn_meta>";
/// Characters from which a result that was shown before is not shown again.
const LARGE: usize = 2_000;
/// What DeepSeek's server takes for reasoning that is not there.
const OMITTED: &str = "(reasoning omitted)";

pub(super) fn say(voice: &dyn Voice, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let mut entries = history::say(voice, cx, new);
    shorten_meta(cx, &mut entries);
    refer_back(cx, &mut entries);
    if prompt::must_reason(cx) && cx.source.wire == WireId::Chat {
        entries.iter_mut().for_each(|entry| fill_reasoning(cx, entry));
    }
    let known = discover::newly_known(cx, new);
    if !known.is_empty() {
        entries.push(Entry::Tools(tools::listed(cx, &known)));
    }
    entries
}

/// A prompt of the user's.
pub(super) fn prompted(cx: &Context, parts: &[Part]) -> Content {
    let meta = prompt::date(cx).map(|date| Part::Text(format!("{META}\nCurrent local date: {date}\n</turn_meta>")));
    Content::Parts(meta.into_iter().chain(parts.iter().cloned()).collect())
}

fn shorten_meta(cx: &Context, entries: &mut [Entry]) {
    fn meta(entry: &Entry) -> Option<&str> {
        let Entry::User(Content::Parts(parts)) = entry else { return None };
        parts.first().and_then(Part::as_text).filter(|text| text.starts_with(META) && *text != META_AGAIN)
    }
    let mut last = cx.said.iter().rev().find_map(meta).map(str::to_owned);
    for entry in entries {
        let Some(now) = meta(entry).map(str::to_owned) else { continue };
        if last.as_ref() == Some(&now)
            && let Entry::User(Content::Parts(parts)) = entry
            && let Some(first) = parts.first_mut()
        {
            *first = Part::Text(META_AGAIN.to_owned());
        }
        last = Some(now);
    }
}

fn refer_back(cx: &Context, entries: &mut [Entry]) {
    let mut shown: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let Entry::Results { results, .. } = entry else { continue };
        for result in results {
            let Content::Plain(text) = &result.answer.content else { continue };
            // What is shown again on demand stands there in full.
            if text.len() < LARGE || result.name == "retrieve_tool_result" {
                continue;
            }
            let here = shown.iter().find(|(other, _)| other == text).map(|(_, label)| label.clone());
            match here.or_else(|| shown_before(cx, text)) {
                Some(label) => {
                    let (sha, chars) = (sha(text), text.chars().count());
                    let reference = format!(
                        "{RESULT_REF}sha=\"{sha}\" original_message=\"{label}\" chars=\"{chars}\">\nretrieve: retrieve_tool_result ref=sha:{sha}\n</TOOL_RESULT_REF>"
                    );
                    result.answer.content = Content::Plain(reference);
                }
                None => shown.push((text.clone(), result.call.to_string())),
            }
        }
    }
}

/// The call whose answer this was.
fn shown_before(cx: &Context, text: &str) -> Option<String> {
    cx.said.iter().find_map(|entry| match entry {
        Entry::Results { results, .. } => results.iter().find_map(|result| match &result.answer.content {
            Content::Plain(other) if other == text => Some(result.call.to_string()),
            _ => None,
        }),
        _ => None,
    })
}

pub(super) fn sha(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// DeepSeek refuses a message with calls and without reasoning. The wire leaves the words out where there is some.
fn fill_reasoning(cx: &Context, entry: &mut Entry) {
    let Entry::Assistant(blocks) = entry else { return };
    if blocks.iter().any(|block| matches!(block.kind, BlockKind::Call(_))) {
        blocks.insert(0, Block::no_reasoning(cx.source.clone(), OMITTED));
    }
}
