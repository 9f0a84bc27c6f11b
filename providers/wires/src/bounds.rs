//! How much of one reply is taken. A server that streams for ever, or sends one event without an end, must not fill the
//! memory of whoever listens.
use protocol::{BlockKind, Delta, ErrorKind, ProviderError};

use crate::Decoder;

/// Bytes of one event of a stream, or of a body that is no stream.
pub(crate) const MOST_EVENT: usize = MOST_REPLY;
/// Bytes of one reply: text, arguments, and what goes back with them.
pub(crate) const MOST_REPLY: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };
/// What a block or a warning counts for beside its text, so that empty ones have an end too.
const EACH: usize = 1 << 10;

/// What a decoder keeps to itself.
pub(crate) trait Holds: Decoder {
    /// Bytes that came and have not gone out as Deltas.
    fn held(&self) -> usize;
    /// The stream's last event is longer than [`MOST_EVENT`].
    fn overflows(&self) -> bool;
}

/// A decoder that ends with an error where the reply becomes too long. What came before stays; the error is of a kind that
/// is not asked again, since the next reply would be no shorter.
pub(crate) struct Bounded<D> {
    /// None: over; its memory is free.
    inner: Option<D>,
    said: usize,
}

impl<D: Holds> Bounded<D> {
    pub(crate) fn new(inner: D) -> Bounded<D> {
        Bounded { inner: Some(inner), said: 0 }
    }

    fn check(&mut self, from: usize, out: &mut Vec<Delta>) {
        let Some(inner) = &self.inner else { return };
        let (held, overflows) = (inner.held(), inner.overflows());
        let room = MOST_REPLY.saturating_sub(held);
        let mut at = from;
        while at < out.len() && self.said + size(&out[at]) <= room {
            self.said += size(&out[at]);
            at += 1;
        }
        let what = match (at < out.len() || held > MOST_REPLY, overflows) {
            (true, _) => format!("the reply is longer than {} MiB, the most that is taken", MOST_REPLY >> 20),
            (false, true) => {
                format!("the server sent an event of more than {} MiB, the most that is taken", MOST_EVENT >> 20)
            }
            (false, false) => return,
        };
        out.truncate(at);
        out.push(Delta::Error(ProviderError::new(ErrorKind::Incomplete, what)));
        self.inner = None;
    }
}

impl<D: Holds> Decoder for Bounded<D> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        let from = out.len();
        if let Some(inner) = &mut self.inner {
            inner.push(bytes, out);
        }
        self.check(from, out);
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        let from = out.len();
        if let Some(inner) = &mut self.inner
            && !inner.overflows()
        {
            inner.end(out);
        }
        self.check(from, out);
    }
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text, .. } | Delta::Args { text, .. } => text.len(),
        Delta::Warning(text) => EACH + text.len(),
        Delta::BlockEnd { opaque, .. } => opaque.iter().map(|opaque| opaque.value.text().len()).sum(),
        Delta::BlockStart { kind, .. } => {
            EACH + match kind {
                BlockKind::Text(text, _) | BlockKind::Reasoning(text) => text.len(),
                BlockKind::Call(call) => call.id.0.len() + call.name.len() + call.args.len(),
                BlockKind::Server { name, show } => name.len() + show.text().len(),
                BlockKind::Unknown => 0,
            }
        }
        Delta::Begin { .. } | Delta::Usage(_) | Delta::Stop(_) | Delta::Error(_) => 0,
    }
}

#[cfg(test)]
mod tests;
