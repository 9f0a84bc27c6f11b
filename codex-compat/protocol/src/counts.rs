//! How a model got on with its tools: calls of a thread, those that had to be repaired to be read, those that failed. Derived from
//! items, so that a resume knows them.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Answer, Body, Done, Item, Outcome};

/// Of a thread, from its first item on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Calls that got an answer.
    pub calls: u64,
    /// Calls that had to be mended to be read: a name off by case or one edit, a call found in text.
    pub repaired: u64,
    /// Calls that came to nothing: rejected, refused, or without the effect that was asked for. A command that ran and
    /// ended with another status than 0 did what was asked of it.
    pub failed: u64,
}

impl Counts {
    /// Items oldest first; a compaction among them knows what was before it.
    pub fn of<'a>(items: impl IntoIterator<Item = &'a Item>) -> Counts {
        let (mut counts, mut before) = (Counts::default(), None);
        for item in items {
            counts.add(before, &item.body);
            before = Some(&item.body);
        }
        counts
    }

    /// Counts what came next. `before`: the item before it; a rejection stands right before its answer.
    pub fn add(&mut self, before: Option<&Body>, body: &Body) {
        match body {
            Body::Compacted { counts, .. } => *self = *counts,
            Body::Read { repaired, .. } => self.repaired += u64::from(*repaired),
            Body::Called { call, did, answer } => {
                self.calls += 1;
                let rejected = matches!(before, Some(Body::Rejected { call: id, .. }) if id == call);
                self.failed += u64::from(rejected || failed(did, answer));
            }
            _ => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Counts::default()
    }
}

fn failed(did: &[Done], answer: &Answer) -> bool {
    let came_to_nothing = |done: &Done| matches!(done.outcome, Outcome::Refused(_) | Outcome::Failed(_));
    let ran = |done: &Done| matches!(done.outcome, Outcome::Ran { .. });
    did.last().is_some_and(came_to_nothing) || (answer.error == Some(true) && !did.iter().any(ran))
}

/// `3 calls, 1 repaired, 2 failed`; what is none is left out.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.calls, if self.calls == 1 { "call" } else { "calls" })?;
        for (count, word) in [(self.repaired, "repaired"), (self.failed, "failed")] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::{Action, Captured, Exit, Failure, ItemId, Run, Usage, World};

    fn called(outcome: Option<Outcome>, error: Option<bool>) -> Body {
        let action = Action::World(World::Run(Run::new("x")));
        let did = outcome.map(|outcome| Done { action, outcome, took: 0, at: 0, tag: 0 });
        let answer = Answer { error, ..Answer::plain("x") };
        Body::Called { call: "a".into(), did: did.into_iter().collect(), answer }
    }

    fn ran(code: i32) -> Option<Outcome> {
        let output = Captured::default();
        Some(Outcome::Ran { output, exit: Exit::Code(code), cwd_after: None, task: None, left: false })
    }

    #[track_caller]
    fn check(bodies: Vec<Body>, expected: &str) {
        let item = |(id, body)| Item { id: ItemId(id), turn: "t".into(), at: 0, body };
        let items: Vec<Item> = (1..).zip(bodies).map(item).collect();
        assert_eq!(Counts::of(&items).to_string(), expected);
    }

    #[test]
    fn of_a_thread() {
        let rejected = |id: &str| Body::Rejected { call: id.into(), note: "no such tool".into() };
        let read = Body::Read { calls: Vec::new(), dropped: false, repaired: 2 };
        check(vec![], "0 calls");
        check(vec![called(ran(0), None)], "1 call");
        check(vec![called(ran(1), Some(true)), called(ran(1), None)], "2 calls");
        check(vec![called(None, Some(true)), called(None, None)], "2 calls, 1 failed");
        check(vec![called(Some(Outcome::Failed(Failure::Other("x".into()))), None)], "1 call, 1 failed");
        check(vec![rejected("a"), called(None, Some(true)), called(None, None)], "2 calls, 1 failed");
        check(vec![rejected("b"), called(None, None)], "1 call");
        check(vec![read.clone(), called(ran(0), None)], "1 call, 2 repaired");
        let counts = Counts { calls: 9, repaired: 0, failed: 1 };
        let compacted = Body::Compacted { upto: ItemId(3), summary: "s".into(), total: Usage::default(), counts };
        check(vec![read, compacted, called(ran(0), None)], "10 calls, 1 failed");
    }
}
