//! Parsing of the lines that a load wants, while it still looks for more of them: whenever enough are together, a thread of its
//! own takes them. So each byte of a rollout is read once, and a large one costs about what its slower half costs.
use std::{
    collections::VecDeque,
    mem,
    ops::Range,
    panic,
    thread::{self, Scope, ScopedJoinHandle},
};

use protocol::{Body, Item};

use crate::{blobs::Blobs, line::Line};

/// Bytes worth a thread of their own.
const SHARE: usize = 2 << 20;

/// Takes lines from the newest to the oldest.
pub(crate) struct Parsing<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    blobs: &'env Blobs,
    batch: Batch,
    /// Newest first, as `done`.
    running: VecDeque<ScopedJoinHandle<'scope, (Parsed, Vec<u8>)>>,
    done: Vec<Parsed>,
    /// Memory of batches that are done: taken anew for each, it would have to come from the system each time.
    spare: Vec<Vec<u8>>,
    /// As many at once: what waits for its turn is held in memory twice.
    workers: usize,
    share: usize,
}

/// What lines said.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    /// Without what was said.
    pub(crate) items: Vec<Item>,
    pub(crate) said: Vec<Item>,
    /// Segment and offset of each line that could not be read.
    pub(crate) broken: Vec<(usize, u64)>,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    lines: Vec<Place>,
}

struct Place {
    segment: usize,
    offset: u64,
    /// In the bytes of the batch.
    at: Range<usize>,
}

impl<'scope, 'env> Parsing<'scope, 'env> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, blobs: &'env Blobs) -> Parsing<'scope, 'env> {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(8);
        let (batch, running) = (Batch::default(), VecDeque::new());
        Parsing { scope, blobs, batch, running, done: Vec::new(), spare: Vec::new(), workers, share: SHARE }
    }

    /// A line of this segment at this offset, without blanks around it.
    pub(crate) fn push(&mut self, segment: usize, offset: u64, line: &[u8]) {
        let start = self.batch.bytes.len();
        self.batch.bytes.extend_from_slice(line);
        self.batch.lines.push(Place { segment, offset, at: start..start + line.len() });
        if self.batch.bytes.len() < self.share {
            return;
        }
        if self.running.len() >= self.workers {
            self.join_oldest();
        }
        let bytes = self.spare.pop().unwrap_or_default();
        let batch = mem::replace(&mut self.batch, Batch { bytes, lines: Vec::new() });
        let blobs = self.blobs;
        self.running.push_back(self.scope.spawn(move || batch.parse(blobs)));
    }

    /// Everything, oldest first.
    pub(crate) fn finish(mut self) -> Parsed {
        let (mut all, _) = mem::take(&mut self.batch).parse(self.blobs);
        while !self.running.is_empty() {
            self.join_oldest();
        }
        // Items are large: each is moved once.
        all.items.reserve_exact(self.done.iter().map(|parsed| parsed.items.len()).sum());
        all.said.reserve_exact(self.done.iter().map(|parsed| parsed.said.len()).sum());
        for parsed in self.done.into_iter().rev() {
            all.items.extend(parsed.items);
            all.said.extend(parsed.said);
            all.broken.extend(parsed.broken);
        }
        all
    }

    fn join_oldest(&mut self) {
        let Some(worker) = self.running.pop_front() else { return };
        match worker.join() {
            Ok((parsed, bytes)) => {
                self.done.push(parsed);
                self.spare.push(bytes);
            }
            // Its failure is our own.
            Err(why) => panic::resume_unwind(why),
        }
    }
}

impl Batch {
    /// What its lines say, oldest first, and its memory, empty.
    fn parse(mut self, blobs: &Blobs) -> (Parsed, Vec<u8>) {
        let mut parsed = Parsed { items: Vec::with_capacity(self.lines.len()), ..Parsed::default() };
        for Place { segment, offset, at } in self.lines.into_iter().rev() {
            match self.bytes.get(at).and_then(Line::read).and_then(|line| line.item()) {
                Some(mut item) => {
                    blobs.fill(&mut item);
                    let kind =
                        if matches!(item.body, Body::Said { .. }) { &mut parsed.said } else { &mut parsed.items };
                    kind.push(item);
                }
                None => parsed.broken.push((segment, offset)),
            }
        }
        self.bytes.clear();
        (parsed, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use protocol::{Fact, ItemId, Source, WireId};

    use super::*;
    use crate::line;

    proptest! {
        /// However lines are shared out, they come back in their order, and the broken ones are named.
        #[test]
        fn order_is_kept(lines in prop::collection::vec(prop::option::of("[a-z\"\n]{0,20}"), 0..60), share in 1usize..2_000, workers in 1usize..5) {
            let mut expected = Parsed::default();
            let mut written = Vec::new();
            for (at, text) in lines.iter().enumerate() {
                let mut bytes = Vec::new();
                match text {
                    Some(text) => {
                        let source = Source { provider: text.clone(), wire: WireId::Chat, model: "m".into() };
                        let said = Body::Said { dialect: "d".into(), source, opening: None, entries: Vec::new() };
                        let (body, kind) = match at % 2 {
                            0 => (Body::Fact(Fact::Shell(text.clone())), &mut expected.items),
                            _ => (said, &mut expected.said),
                        };
                        let item = Item { id: ItemId(at as u64), turn: "t".into(), at: 1_000, body };
                        line::write_item(&item, &mut bytes).unwrap();
                        kind.push(item);
                    }
                    None => {
                        bytes.extend(b"{\"broken\n");
                        expected.broken.push((at % 3, at as u64));
                    }
                }
                bytes.pop();
                written.push(bytes);
            }
            let blobs = Blobs::default();
            let mut parsed = thread::scope(|scope| {
                let mut parsing = Parsing { share, workers, ..Parsing::new(scope, &blobs) };
                for (at, bytes) in written.iter().enumerate().rev() {
                    parsing.push(at % 3, at as u64, bytes);
                }
                parsing.finish()
            });
            parsed.broken.sort_by_key(|(_, offset)| *offset);
            assert_eq!(parsed, expected);
        }
    }
}
