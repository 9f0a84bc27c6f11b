//! Payloads on their way through a client. What only a provider can read is put into the one field in which the client's
//! wire has something opaque (`signature`, `encrypted_content`, `reasoning_details`), with the name of where it came from;
//! the client sends it back unread, and it goes to that source only.
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use protocol::{Block, BlockKind, Entry, Fit, Opaque, OwnedPrompt, Raw, Source, WireId};
use serde::{Deserialize, Serialize};

use crate::{chat, messages, responses};

/// In front of every envelope; a payload of another program never begins so.
const SEAL: &str = "interpreter.1.";

/// What an envelope holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Envelope {
    pub(super) from: Source,
    /// Field and value.
    pub(super) payload: Vec<(String, Raw)>,
    /// Payload of the call of this id, for which the client's wire has no field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<String>,
    /// Payload of the text before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) text: bool,
}

impl Envelope {
    /// None: there is nothing to carry.
    pub(super) fn of(opaque: &[Opaque]) -> Option<Envelope> {
        let from = opaque.first()?.scope.clone();
        let payload = opaque.iter().filter(|it| it.scope == from).map(|it| (it.field.clone(), it.value.clone()));
        Some(Envelope { payload: payload.collect(), from, call: None, text: false })
    }

    /// As the payload of a reasoning block on the client's wire.
    pub(super) fn sealed(&self, to: WireId) -> Opaque {
        let text = format!("{SEAL}{}", BASE64.encode(Raw::of(self).text()));
        let (field, value) = match to {
            WireId::Messages => (messages::field::SIGNATURE, Raw::of(&text)),
            WireId::Responses => (responses::ENCRYPTED, Raw::of(&text)),
            WireId::Chat => {
                let detail = serde_json::json!([{ "type": "reasoning.encrypted", "data": text, "index": 0 }]);
                (chat::field::REASONING_DETAILS, Raw::of(&detail))
            }
        };
        let scope = Source { provider: String::new(), wire: to, model: String::new() };
        Opaque { scope, field: field.to_owned(), value }
    }

    /// Out of a reasoning block that a client sent back.
    fn open(block: &Block) -> Option<Envelope> {
        block.opaque.iter().find_map(|opaque| match opaque.field.as_str() {
            messages::field::SIGNATURE => Envelope::read(&opaque.value.read::<String>().ok()?),
            responses::ITEM => {
                Envelope::read(opaque.value.value().get(responses::ENCRYPTED).and_then(|text| text.as_str())?)
            }
            chat::field::REASONING_DETAILS => {
                let list: Vec<serde_json::Value> = opaque.value.read().ok()?;
                list.iter().find_map(|detail| Envelope::read(detail.get("data")?.as_str()?))
            }
            _ => None,
        })
    }

    fn read(text: &str) -> Option<Envelope> {
        let json = BASE64.decode(text.strip_prefix(SEAL)?).ok()?;
        serde_json::from_slice(&json).ok()
    }

    fn opaque(self) -> impl Iterator<Item = Opaque> {
        let scope = self.from;
        self.payload.into_iter().map(move |(field, value)| Opaque { scope: scope.clone(), field, value })
    }
}

/// Opens what a client has sent back: payloads out of envelopes are those of their source, whatever else the client's wire
/// has is that of the target, if it speaks the same wire.
pub fn unpack(prompt: &mut OwnedPrompt, fit: &Fit) {
    for entry in &mut prompt.said {
        let Entry::Assistant(blocks) = entry else { continue };
        let mut opened: Vec<Block> = Vec::with_capacity(blocks.len());
        for mut block in std::mem::take(blocks) {
            let envelope = matches!(block.kind, BlockKind::Reasoning(_)).then(|| Envelope::open(&block)).flatten();
            let Some(envelope) = envelope else {
                for opaque in &mut block.opaque {
                    if opaque.scope.wire == fit.source.wire {
                        opaque.scope = fit.source.clone();
                    }
                }
                opened.push(block);
                continue;
            };
            let owner = opened.iter_mut().rev().find(|block| match (&block.kind, &envelope.call) {
                (BlockKind::Call(call), Some(id)) => call.id.as_str() == id,
                (BlockKind::Text(..), None) => envelope.text,
                _ => false,
            });
            match owner {
                Some(owner) => owner.opaque.extend(envelope.opaque()),
                // Of a call or text that the client has dropped.
                None if envelope.call.is_some() || envelope.text => {}
                None => {
                    block.opaque = envelope.opaque().collect();
                    opened.push(block);
                }
            }
        }
        *blocks = opened;
    }
}
