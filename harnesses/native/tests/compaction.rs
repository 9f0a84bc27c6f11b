//! The request for a summary, and what stays of a conversation after it.
use pretty_assertions::assert_eq;
use protocol::{Content, Notice};

use super::*;

#[test]
fn compaction() {
    let mut stage = Stage::new();
    let mut bodies = facts();
    bodies.push(user("first"));
    stage.step(bodies);
    stage.step(vec![reply(vec![Block::text("did")]), Body::Notice(Notice::Interrupted), user("second")]);
    let asked = Native.compact(&stage.cx(), None);
    assert_eq!((asked.tools, asked.tune.parallel, asked.ask.len()), (false, Some(false), 1));
    stage.settings.compact_prompt = Some("Sum up.".into());
    let asked = Native.compact(&stage.cx(), Some("the tests"));
    let expected = "Sum up.\n\nThe user asks to mind this: the tests";
    assert_eq!(asked.ask, [Entry::User(Content::Parts(vec![Part::text(expected)]))]);

    let (opening, entries) = Native.compacted(&stage.cx(), "SUMMARY");
    assert_eq!(opening, Native.open(&stage.cx()));
    let texts = |entries: &[Entry]| -> Vec<String> {
        let first_line = |c: &Content| c.text().lines().next().unwrap_or("").chars().take(30).collect();
        entries
            .iter()
            .map(|e| if let Entry::User(c) | Entry::Instruct(_, c) = e { first_line(c) } else { "?".into() })
            .collect()
    };
    // "second" is not answered yet.
    let expected = ["<environment_context>", "first", "Another agent began this task ", "second"];
    assert_eq!(texts(&entries), expected);
    assert!(entries[2..].iter().any(|e| matches!(e, Entry::User(c) if c.text().ends_with(":\nSUMMARY"))));

    // A second one keeps the user's words of before the first, and one summary only.
    stage.items.clear();
    stage.said = entries;
    stage.step(facts());
    stage.step(vec![reply(vec![Block::text("did")]), user("third")]);
    stage.step(vec![reply(vec![Block::text("did")])]);
    let (_, entries) = Native.compacted(&stage.cx(), "AGAIN");
    let expected = ["<environment_context>", "first", "second", "third", "Another agent began this task "];
    assert_eq!(texts(&entries), expected);

    // A prompt that came when there was no room is in no entry yet.
    let id = ItemId(99);
    stage.items.push(Item { id, turn: stage.turn.clone(), at: 0, body: user("fourth") });
    let (_, entries) = Native.compacted(&stage.cx(), "AGAIN");
    assert_eq!(texts(&entries[3..]), ["third", "Another agent began this task ", "fourth"]);
}

#[test]
fn compaction_bounds_what_the_user_said() {
    let mut stage = Stage::new();
    stage.step(vec![user("the oldest"), user(&"é".repeat(60_000)), user("new"), reply(vec![Block::text("did")])]);
    let (_, entries) = Native.compacted(&stage.cx(), "S");
    let length: usize = entries.iter().map(|e| if let Entry::User(c) = e { c.text().len() } else { 0 }).sum();
    assert!(length < 84_000, "{length}");
    assert!(!text(&entries).contains("the oldest"));
    assert!(text(&entries).contains("new"));
}
