//! A thread: conversation, turn loop, gate, compaction, resume. Clients reach it by Ops and see it by Events; there is no
//! other way in.
mod actor;
mod adopt;
mod agents;
mod asking;
mod background;
mod calls;
mod compaction;
mod facts;
mod gate;
mod grants;
mod history;
mod hub;
mod limits;
mod link;
mod made;
mod mailbox;
mod mend;
mod notify;
mod plan;
mod scratch;
mod session;
mod setup;
mod show;
mod skills;
mod start;
#[cfg(test)]
mod tests;
mod thread;
mod views;

pub use limits::Limits;
pub use made::{Listed, Origin, find_harness, list_harnesses};
pub use mend::repair;
pub use setup::{registry, without_key};
pub use show::show_harness;
pub use start::{Begin, Brief, Local, Start, StartError, Which, start};
pub use thread::Thread;
pub use tools::read_image;

/// Bytes of a command's output kept with an item; the answer made of it is kept whole.
const KEPT_OUTPUT: usize = 32 * 1024;

/// Milliseconds since the epoch.
fn now() -> protocol::Millis {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// A number that dialects make their ids from.
fn tag() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}
