//! Calls in the text of a reply, and the text form: what a reply asks for there, and how calls and results are told in it.
use protocol::{Block, BlockKind, Call, Content, Entry, Part};
use serde_json::{Value, json};

use super::{Form, tools, turns};
use crate::in_text::{self, InText, TextCall, Written};
use crate::{Context, fenced};

/// Languages of the block that is run.
const LANGUAGES: [&str; 4] = ["bash", "sh", "shell", "zsh"];

/// What the text of a reply asks for: in the text form the last block of the shell, in every form what models write by habit.
pub(super) fn find(cx: &Context, said: &str) -> InText {
    let said = without_thoughts(said);
    if Form::of(cx) == Form::Text {
        let (blocks, open) = fenced::blocks(said);
        if open.is_some_and(is_shell) {
            return InText::Unreadable("the block is not closed".to_owned());
        }
        if let Some(command) = blocks.iter().rev().find(|block| is_shell(block.info)).map(|block| block.text.trim_end())
            && !command.trim().is_empty()
        {
            let args = Written::Json(json!({"command": command}).to_string());
            return InText::Calls(vec![TextCall { name: tools::BASH.to_owned(), args, at: 0..0, mended: false }]);
        }
    }
    in_text::find(said, &tools::names(cx))
}

fn is_shell(info: &str) -> bool {
    info.split_whitespace().next().is_some_and(|language| LANGUAGES.contains(&language.to_lowercase().as_str()))
}

/// What stands behind the thoughts that a server left in the text.
fn without_thoughts(said: &str) -> &str {
    let text = said.trim_start();
    match text.strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map_or("", |(_, said)| said),
        // Templates that open the tag themselves leave its end only.
        None => text.rsplit_once("</think>").map_or(text, |(_, said)| said),
    }
}

/// Entries in the text form: a call is a block behind the reply, its result a message of the user's.
pub(super) fn told(entries: Vec<Entry>) -> Vec<Entry> {
    let told = |entry| match entry {
        Entry::Assistant(blocks) => Entry::Assistant(fenced_calls(blocks)),
        Entry::Results { results, after, .. } => {
            let outputs = results.iter().map(|result| format!("Output:\n{}", result.answer.content.text()));
            Entry::User(turns::plain(outputs.map(Part::Text).chain(after).collect()))
        }
        entry => entry,
    };
    entries.into_iter().map(told).collect()
}

fn fenced_calls(blocks: Vec<Block>) -> Vec<Block> {
    let said: String = blocks.iter().filter_map(text_of).collect();
    let (found, _) = fenced::blocks(&said);
    let is_there = |command: &str| found.iter().any(|block| block.text.trim_end() == command);
    let told = |block: Block| match &block.kind {
        BlockKind::Call(call) => match command(call) {
            Some(command) if is_there(&command) => None,
            Some(command) => Some(Block::text(format!("```bash\n{command}\n```"))),
            None => Some(Block::text(format!("[Called {} with {}]", call.name, call.args))),
        },
        _ => Some(block),
    };
    blocks.iter().cloned().filter_map(told).collect()
}

fn text_of(block: &Block) -> Option<&str> {
    match &block.kind {
        BlockKind::Text(text, _) => Some(text),
        _ => None,
    }
}

fn command(call: &Call) -> Option<String> {
    let args: Value = serde_json::from_str(&call.args).ok()?;
    (call.name == tools::BASH).then(|| args["command"].as_str().map(str::to_owned))?
}

/// The reply that was not taken, as far as it can be said again, and what is said of it.
pub(super) fn again(said: &str, nudge: &str) -> Vec<Entry> {
    let said = if said.trim().is_empty() { "(empty)" } else { said.trim() };
    vec![Entry::Assistant(vec![Block::text(said)]), Entry::User(Content::Plain(nudge.to_owned()))]
}
