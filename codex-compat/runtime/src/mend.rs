//! Going on with what a file held: history put back as it was said, and what a crash left open closed.
use protocol::{Body, Counts, Item, ThreadId, Usage};
use sessions::{Loaded, Store, repair};
use wires::Wire;

use crate::{
    history::History,
    thread::{Tally, Thread},
};

impl History {
    /// The past of a thread. Entries go to the model as they were said while the dialect is the same; the wire freezes them
    /// anew, and leaves payloads of other sources out. In another dialect everything is told again.
    pub(crate) fn restore(&mut self, past: Loaded, dialect: &str, wire: &dyn Wire, fit: &protocol::Fit) {
        self.items = past.items;
        let Some(telling) = past.telling.filter(|telling| telling.dialect == dialect) else { return };
        let upto = telling.upto;
        self.begin(telling.opening);
        self.say(telling.entries, wire, fit);
        self.unsaid = self.items.iter().position(|item| item.id > upto).unwrap_or(self.items.len());
    }

    /// Tokens of the newest reply since the last compaction: what the context holds.
    pub(crate) fn last_usage(&self) -> Usage {
        let usage = |item: &Item| match &item.body {
            Body::Reply { reply, .. } => Some(reply.usage),
            _ => None,
        };
        self.items.iter().rev().find_map(usage).unwrap_or_default()
    }
}

impl Thread {
    /// Takes the past in. What a crash or a bad reply left broken is mended first: calls without an answer get one, which
    /// is appended to the file; the rest is put right in memory.
    pub(crate) fn take_up(&self, mut past: Loaded) -> Result<Vec<String>, sessions::Error> {
        let plan = repair::plan(&past);
        let turn = past.items.last().map(|item| item.turn.clone()).unwrap_or_default();
        let new = repair::apply(&plan, &mut past, &turn, crate::now(), &mut |call| {
            self.with(|cx| self.harness.cut_short(cx, call, &[], None))
        });
        self.session.borrow_mut().append(&new)?;
        let warnings = past.warnings.clone();
        let mut history = self.history.borrow_mut();
        history.next = past.next.0;
        let (total, counts) = (past.total, Counts::of(&past.items));
        history.restore(past, self.harness.dialect(), self.link.wire, &self.link.fit);
        *self.tally.borrow_mut() = Tally { total, last: history.last_usage(), counts, squeezed: 0 };
        Ok(warnings)
    }
}

/// What a resume of this thread would mend, one line each; `apply` does it now.
pub fn repair(store: &Store, id: &ThreadId, apply: bool) -> Result<String, sessions::Error> {
    let (mut session, mut past) = match apply {
        true => {
            let (session, past) = store.open(id)?;
            (Some(session), past)
        }
        false => (None, store.read(id)?),
    };
    let plan = repair::plan(&past);
    let mut text: String = past
        .warnings
        .iter()
        .chain(&plan.iter().map(ToString::to_string).collect::<Vec<_>>())
        .map(|line| format!("{line}\n"))
        .collect();
    let needed = plan.iter().filter(|mend| !mend.is_note()).count();
    if let Some(session) = &mut session {
        let turn = past.items.last().map(|item| item.turn.clone()).unwrap_or_default();
        let new = repair::apply(&plan, &mut past, &turn, crate::now(), &mut repair::interrupted);
        session.append(&new)?;
        text.push_str(&format!("{} mended; {} item(s) appended.\n", needed, new.len()));
    } else if needed == 0 {
        text.push_str("Nothing to mend.\n");
    } else {
        text.push_str(&format!(
            "{needed} to mend. A resume does it by itself; `interpreter repair {id} --apply` does it now.\n"
        ));
    }
    Ok(text)
}
