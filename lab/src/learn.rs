//! `interpreter harness learn`: records what an installed original says to a model, for this user's own runs.
use clap::Args;

#[derive(Debug, Args)]
pub struct Learn {
    /// The harness whose original is run
    pub id: String,
}
