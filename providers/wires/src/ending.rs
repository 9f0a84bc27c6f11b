//! How a reply ends, on every wire.
use protocol::{Delta, Stop};

/// Closes the blocks that the server left open, and says why the reply stopped. The calls in it decide, not the reason: servers
/// say `stop` after calls, and `tool_calls` after none. `reason`: None where it says nothing of its own.
pub(crate) fn close(open: impl IntoIterator<Item = u32>, reason: Option<Stop>, called: bool, out: &mut Vec<Delta>) {
    out.extend(open.into_iter().map(|at| Delta::BlockEnd { at, opaque: Vec::new() }));
    out.push(Delta::Stop(match reason {
        None | Some(Stop::End | Stop::Calls) if called => Stop::Calls,
        None | Some(Stop::End | Stop::Calls) => Stop::End,
        Some(other) => other,
    }));
}
