//! `interpreter demo`: the whole loop on a real repository with a scripted model in place of a provider. The scripted model
//! serves the end-to-end tests too.
pub mod habit_tracker;
pub mod scripted;
mod show;

pub use show::{Demo, run};
