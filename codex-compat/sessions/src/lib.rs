//! Sessions on disk: one rollout file per thread, written item by item, and read again to resume, fork, list and repair.
//!
//! Place, name and line envelope are Codex's (`sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl`, lines of
//! `{"timestamp","ordinal","type","payload"}`); the payloads are ours. A rollout is appended to and never rewritten.
mod backward;
mod blobs;
pub mod codex;
mod error;
mod index;
mod layout;
mod line;
mod list;
mod load;
mod lock;
mod meta;
mod parse;
pub mod prompt_history;
pub mod repair;
mod session;
mod store;

pub use error::Error;
pub use list::{Filter, Page, Sort, Summary};
pub use load::{Compaction, Loaded, Telling};
pub use meta::{Git, Head, Meta};
pub use session::Session;
pub use store::Store;

#[cfg(test)]
mod tests;
