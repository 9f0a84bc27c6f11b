//! Roles in strict turn, as the chat templates of small models demand it: the system message once, then user and assistant one after
//! the other, with the results of calls right behind them. Where two would meet, they become one message, or a word stands between.
use protocol::{Block, BlockKind, Content, Entry, Part};

/// What the assistant is taken to have said where the user speaks again before an answer.
const NOTED: &str = "OK.";

/// `last`: what was said before.
pub(super) fn in_turn(last: Option<&Entry>, entries: Vec<Entry>) -> Vec<Entry> {
    let mut turns = Turns { waits: last.is_some_and(waits), said: Vec::new() };
    for entry in entries {
        match entry {
            Entry::User(content) => turns.user(content),
            Entry::Results { before, results, after } => {
                turns.push(Entry::Results { before, results, after: Vec::new() });
                if !after.is_empty() {
                    turns.user(plain(after));
                }
            }
            Entry::Assistant(blocks) => match turns.said.last_mut() {
                Some(Entry::Assistant(said)) if !said.iter().any(is_call) => {
                    said.extend(blocks);
                }
                _ => turns.push(Entry::Assistant(blocks)),
            },
            entry => turns.push(entry),
        }
    }
    turns.said
}

/// The assistant is to speak next.
fn waits(entry: &Entry) -> bool {
    matches!(entry, Entry::User(_) | Entry::Results { .. })
}

fn is_call(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Call(_))
}

struct Turns {
    waits: bool,
    said: Vec<Entry>,
}

impl Turns {
    fn push(&mut self, entry: Entry) {
        self.waits = waits(&entry);
        self.said.push(entry);
    }

    fn user(&mut self, content: Content) {
        if let Some(Entry::User(before)) = self.said.last_mut() {
            *before = plain(parts(before).into_iter().chain(parts(&content)).collect());
            return;
        }
        if self.waits {
            self.push(Entry::Assistant(vec![Block::text(NOTED)]));
        }
        self.push(Entry::User(content));
    }
}

fn parts(content: &Content) -> Vec<Part> {
    match content {
        Content::Plain(text) => vec![Part::text(text)],
        Content::Parts(parts) => parts.clone(),
    }
}

/// One string where there is nothing but text: not every server takes a list.
pub(super) fn plain(parts: Vec<Part>) -> Content {
    let texts: Option<Vec<&str>> = parts.iter().map(Part::as_text).collect();
    match texts {
        Some(texts) => Content::Plain(texts.join("\n\n")),
        None => Content::Parts(parts),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use protocol::{Answer, CallResult};

    use super::*;

    fn user(text: &str) -> Entry {
        Entry::User(Content::Plain(text.to_owned()))
    }
    fn assistant(text: &str) -> Entry {
        Entry::Assistant(vec![Block::text(text)])
    }
    fn results(after: Vec<Part>) -> Entry {
        let answer = Answer::plain("x");
        let result = CallResult { call: "c".into(), name: "bash".into(), custom: false, answer };
        Entry::Results { before: Vec::new(), results: vec![result], after }
    }

    #[test]
    fn nobody_speaks_twice() {
        let check = |last: Option<Entry>, entries: Vec<Entry>, expected: Vec<Entry>| {
            assert_eq!(in_turn(last.as_ref(), entries), expected);
        };
        check(None, vec![user("a"), user("b")], vec![user("a\n\nb")]);
        check(Some(user("a")), vec![user("b")], vec![assistant(NOTED), user("b")]);
        check(Some(assistant("a")), vec![user("b")], vec![user("b")]);
        check(
            None,
            vec![results(vec![Part::text("more")]), user("b")],
            vec![results(Vec::new()), assistant(NOTED), user("more\n\nb")],
        );
    }

    proptest! {
        #[test]
        fn any_order_becomes_a_turn_of_roles(kinds in prop::collection::vec(0u8..3, 0..12), first in 0u8..4) {
            let entry = |kind: u8| match kind {
                0 => user("u"),
                1 => assistant("a"),
                _ => results(vec![Part::text("after")]),
            };
            let last = (first < 3).then(|| entry(first));
            let mut waiting = last.as_ref().is_some_and(waits);
            for said in in_turn(last.as_ref(), kinds.into_iter().map(entry).collect()) {
                prop_assert!(!(waiting && matches!(said, Entry::User(_))));
                waiting = waits(&said);
            }
        }
    }
}
