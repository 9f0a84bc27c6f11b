//! Deltas of one attempt put together to the reply they make.
use std::collections::BTreeMap;

use protocol::{Block, BlockKind, Delta, Reply, Source, Stop, Usage};

#[derive(Debug, Default)]
pub(crate) struct Collected {
    id: String,
    blocks: BTreeMap<u32, Block>,
    usage: Usage,
    pub(crate) stop: Option<Stop>,
}

impl Collected {
    pub(crate) fn push(&mut self, delta: &Delta) {
        match delta {
            Delta::Begin { id } => self.id.clone_from(id),
            Delta::BlockStart { at, kind } => {
                self.blocks.insert(*at, Block { kind: kind.clone(), opaque: Vec::new() });
            }
            Delta::Text { at, text } => {
                let kind = self.blocks.get_mut(at).map(|block| &mut block.kind);
                if let Some(BlockKind::Text(all, _) | BlockKind::Reasoning(all)) = kind {
                    all.push_str(text);
                }
            }
            Delta::Args { at, text } => {
                if let Some(BlockKind::Call(call)) = self.blocks.get_mut(at).map(|block| &mut block.kind) {
                    call.args.push_str(text);
                }
            }
            Delta::BlockEnd { at, opaque } => {
                if let Some(block) = self.blocks.get_mut(at) {
                    block.opaque.extend(opaque.iter().cloned());
                }
            }
            Delta::Usage(usage) => self.usage = *usage,
            Delta::Stop(stop) => self.stop = Some(stop.clone()),
            Delta::Warning(_) | Delta::Error(_) => {}
        }
    }

    pub(crate) fn reply(self, from: Source) -> Reply {
        Reply {
            id: self.id.into(),
            from,
            blocks: self.blocks.into_values().collect(),
            stop: self.stop.unwrap_or_default(),
            usage: self.usage,
        }
    }
}
