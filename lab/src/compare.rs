//! `interpreter harness compare`: one task under several harnesses, each in a worktree of its own, and a table of how they did.
use clap::Args;

#[derive(Debug, Args)]
pub struct Compare {
    /// What to do
    pub task: String,
}
