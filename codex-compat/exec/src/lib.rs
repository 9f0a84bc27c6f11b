//! `interpreter exec`: one task without a terminal interface. What a user, script or SDK of `codex exec` observes.
mod bounded;
mod flags;
mod human;
mod jsonl;
mod run;
mod stdin;
mod worktree;

pub use flags::{Exec, ExecFlags, Flags, seconds};
pub use human::{Banner, Human};
pub use jsonl::JsonLines;
pub use run::{Around, request, run};
pub use stdin::drain;
