//! What a thread remembers: items as they happened, and what was said of them to the model, frozen entry by entry.
use bytes::Bytes;
use harnesses::Context;
use protocol::{Body, Entry, Fit, Item, ItemId, Opening, Prompt, Tune};
use wires::Wire;

#[derive(Default)]
pub(crate) struct History {
    /// Since the last compaction, oldest first. `Said` is not among them: it stands in `opening` and `said`.
    pub(crate) items: Vec<Item>,
    pub(crate) opening: Opening,
    pub(crate) said: Vec<Entry>,
    frozen: Vec<Bytes>,
    /// `items[unsaid..]` have not been put into words.
    pub(crate) unsaid: usize,
    /// Place of the next item.
    pub(crate) next: u64,
}

impl History {
    pub(crate) fn starting_at(next: ItemId) -> History {
        History { next: next.0, ..History::default() }
    }

    /// Takes a new item in.
    pub(crate) fn push(&mut self, item: Item) {
        self.next = item.id.0 + 1;
        if !matches!(item.body, Body::Said { .. }) {
            self.items.push(item);
        }
    }

    /// Adds what was said, each entry frozen once.
    pub(crate) fn say(&mut self, entries: Vec<Entry>, wire: &dyn Wire, fit: &Fit) {
        self.frozen.extend(entries.iter().map(|entry| Bytes::from(wire.freeze(entry, fit))));
        self.said.extend(entries);
        self.unsaid = self.items.len();
    }

    /// A new beginning: after a compaction, a change of dialect, at the start.
    pub(crate) fn begin(&mut self, opening: Opening) {
        self.opening = opening;
        self.said.clear();
        self.frozen.clear();
    }

    /// Items before `upto` leave memory; they stay in the file.
    pub(crate) fn forget(&mut self, upto: ItemId) {
        self.items.retain(|item| item.id >= upto);
        self.unsaid = 0;
    }

    /// The bytes of a request: everything said, then `extra`, which lasts for this request only.
    pub(crate) fn request(
        &self,
        opening: &Opening,
        extra: &[Entry],
        tune: &Tune,
        wire: &dyn Wire,
        fit: &Fit,
    ) -> Vec<Bytes> {
        if extra.is_empty() {
            let prompt = Prompt { opening, said: &self.said, tune };
            return wires::assemble(wire, &prompt, &self.frozen, fit);
        }
        let said: Vec<Entry> = self.said.iter().chain(extra).cloned().collect();
        let frozen: Vec<Bytes> =
            self.frozen.iter().cloned().chain(extra.iter().map(|e| Bytes::from(wire.freeze(e, fit)))).collect();
        wires::assemble(wire, &Prompt { opening, said: &said, tune }, &frozen, fit)
    }

    /// A request made of other entries than those said (a harness's `view`), then `extra`.
    pub(crate) fn request_of(
        &self,
        mut entries: Vec<Entry>,
        extra: &[Entry],
        tune: &Tune,
        wire: &dyn Wire,
        fit: &Fit,
    ) -> Vec<Bytes> {
        entries.extend_from_slice(extra);
        let frozen: Vec<Bytes> = entries.iter().map(|e| Bytes::from(wire.freeze(e, fit))).collect();
        wires::assemble(wire, &Prompt { opening: &self.opening, said: &entries, tune }, &frozen, fit)
    }

    /// The first prompt that no reply has answered yet.
    pub(crate) fn unanswered(&self) -> Option<ItemId> {
        let after_reply = self.items.rsplit(|item| matches!(item.body, Body::Reply { .. })).next()?;
        after_reply.iter().find(|item| matches!(item.body, Body::User { .. })).map(|item| item.id)
    }

    /// The summary that stands for what was before these items.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match &item.body {
            Body::Compacted { summary, .. } => Some(summary.as_str()),
            _ => None,
        })
    }

    /// The items of the present step: from the newest reply on.
    pub(crate) fn step(&self) -> &[Item] {
        let start = self.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).unwrap_or(0);
        &self.items[start..]
    }

    /// What a harness may see of it.
    pub(crate) fn context<'a>(&'a self, mut cx: Context<'a>) -> Context<'a> {
        cx.items = &self.items;
        cx.said = &self.said;
        cx
    }
}
