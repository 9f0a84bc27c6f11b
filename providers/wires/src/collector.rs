//! Deltas to a reply, whole or cut short, and a reply back to Deltas.
use protocol::{Block, BlockKind, CallForm, CallId, Delta, ProviderError, Reply, ReplyId, Source, Stop};

/// Builds a [`Reply`] of the Deltas of one stream. What a cut leaves: finished blocks, and the text so far. A call whose
/// end did not come is dropped, so that it can never be run; one that the output limit cut off stays ([`Reply::torn`]), so
/// that the model can be told.
#[derive(Debug)]
pub struct Collector {
    reply: Reply,
    /// Root of ids for calls: the server's id of the reply is no such thing, some servers give the same to all.
    own: ReplyId,
    blocks: Vec<Slot>,
    stopped: bool,
    error: Option<ProviderError>,
}

#[derive(Debug)]
struct Slot {
    at: u32,
    block: Block,
    ended: bool,
}

impl Collector {
    /// `own`: the reply's id where the server gives none, and the root of ids for calls without one. Unique in the thread.
    pub fn new(from: Source, own: impl Into<ReplyId>) -> Collector {
        let own = own.into();
        let reply = Reply { id: own.clone(), from, blocks: Vec::new(), stop: Stop::Cut, usage: Default::default() };
        Collector { reply, own, blocks: Vec::new(), stopped: false, error: None }
    }

    pub fn feed(&mut self, delta: &Delta) {
        match delta {
            Delta::Begin { id } if !id.is_empty() => self.reply.id = ReplyId(id.clone()),
            Delta::Begin { .. } | Delta::Warning(_) => {}
            Delta::BlockStart { at, kind } => self.start(*at, kind),
            Delta::Text { at, text } => {
                if let Some(BlockKind::Text(said, _) | BlockKind::Reasoning(said)) = self.open(*at) {
                    said.push_str(text);
                }
            }
            Delta::Args { at, text } => {
                if let Some(BlockKind::Call(call)) = self.open(*at) {
                    call.args.push_str(text);
                }
            }
            Delta::BlockEnd { at, opaque } => {
                if let Some(slot) = self.blocks.iter_mut().rev().find(|slot| slot.at == *at) {
                    slot.block.opaque.extend_from_slice(opaque);
                    slot.ended = true;
                }
            }
            Delta::Usage(usage) => self.reply.usage = *usage,
            Delta::Stop(stop) => {
                self.reply.stop = stop.clone();
                self.stopped = true;
            }
            Delta::Error(error) => self.error = Some(error.clone()),
        }
    }

    /// Why the stream failed, if it did.
    pub fn error(&self) -> Option<&ProviderError> {
        self.error.as_ref()
    }

    /// The reply has ended, well or not: nothing that follows counts.
    pub fn is_over(&self) -> bool {
        self.stopped || self.error.is_some()
    }

    /// The reply as far as it came. Without a `Stop` it is [`Stop::Cut`].
    pub fn finish(mut self) -> Reply {
        self.blocks.sort_by_key(|slot| slot.at);
        let mut seen: Vec<CallId> = Vec::new();
        for slot in self.blocks {
            let mut block = slot.block;
            let keep = match &mut block.kind {
                BlockKind::Text(said, _) | BlockKind::Reasoning(said) => slot.ended || !said.is_empty(),
                BlockKind::Call(call) => {
                    let args = call.args.trim();
                    if call.form == CallForm::Function && (args.is_empty() || args == "null") {
                        call.args = "{}".to_owned();
                    }
                    if call.id.0.is_empty() || seen.contains(&call.id) {
                        call.id = CallId(own_id(&self.own, slot.at));
                    }
                    seen.push(call.id.clone());
                    slot.ended
                }
                BlockKind::Server { .. } | BlockKind::Unknown => slot.ended,
            };
            if keep {
                self.reply.blocks.push(block);
            }
        }
        self.reply
    }

    /// A second start of a block that has not ended brings its fixed parts up to date; its text stays.
    fn start(&mut self, at: u32, kind: &BlockKind) {
        let Some(slot) = self.blocks.iter_mut().rev().find(|slot| slot.at == at && !slot.ended) else {
            self.blocks.push(Slot { at, block: Block { kind: kind.clone(), opaque: Vec::new() }, ended: false });
            return;
        };
        let mut kind = kind.clone();
        match (&slot.block.kind, &mut kind) {
            (BlockKind::Text(so_far, _), BlockKind::Text(said, _))
            | (BlockKind::Reasoning(so_far), BlockKind::Reasoning(said)) => said.insert_str(0, so_far),
            (BlockKind::Call(so_far), BlockKind::Call(call)) => call.args.insert_str(0, &so_far.args),
            _ => {}
        }
        slot.block.kind = kind;
    }

    fn open(&mut self, at: u32) -> Option<&mut BlockKind> {
        let slot = self.blocks.iter_mut().rev().find(|slot| slot.at == at)?;
        (!slot.ended).then_some(&mut slot.block.kind)
    }
}

/// An id for a call that came without one: the same on every reading, distinct in the thread, of characters and length
/// that every wire takes.
fn own_id(reply: &ReplyId, at: u32) -> String {
    const MOST: usize = 40;
    let mut root: Vec<char> = reply.0.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    // The end tells ids apart, the start is often the same for all.
    root.drain(..root.len().saturating_sub(MOST));
    format!("call_{}_{at}", root.into_iter().collect::<String>())
}

/// The Deltas that make `reply`: what a server that has it whole would send.
pub fn deltas_of(reply: &Reply) -> Vec<Delta> {
    let mut deltas = vec![Delta::Begin { id: reply.id.0.clone() }];
    for (at, block) in reply.blocks.iter().enumerate() {
        let at = at as u32;
        let (kind, text) = match block.kind.clone() {
            BlockKind::Text(text, phase) => (BlockKind::Text(String::new(), phase), Some(Delta::Text { at, text })),
            BlockKind::Reasoning(text) => (BlockKind::Reasoning(String::new()), Some(Delta::Text { at, text })),
            BlockKind::Call(mut call) => {
                let text = std::mem::take(&mut call.args);
                (BlockKind::Call(call), Some(Delta::Args { at, text }))
            }
            other => (other, None),
        };
        deltas.push(Delta::BlockStart { at, kind });
        deltas.extend(text.filter(|delta| match delta {
            Delta::Text { text, .. } | Delta::Args { text, .. } => !text.is_empty(),
            _ => true,
        }));
        deltas.push(Delta::BlockEnd { at, opaque: block.opaque.clone() });
    }
    deltas.push(Delta::Usage(reply.usage));
    if reply.stop != Stop::Cut {
        deltas.push(Delta::Stop(reply.stop.clone()));
    }
    deltas
}
