//! Performs the World half of Actions on a host: this machine.
//!
//! [`Local::perform`] takes an Action and a [`Scope`] and gives an Outcome. It knows no dialect and asks nobody: whether
//! an Action may be done is settled before (the gate), what it can touch is decided by the sandbox, for commands by its walls
//! and for files by the same roots. It never hangs the agent: commands run beside it, their output is bounded, their
//! trees end when they are told to.
mod cancel;
mod fail;
mod fetch;
mod files;
mod local;
mod media;
mod process;
mod scope;
mod search;

pub use cancel::Cancel;
pub use local::Local;
pub use media::{BadImage, Fit, Picture, picture, read_image};
pub use process::{Ended, OnOutput, shell_argv, user_shell};
pub use scope::Scope;

#[cfg(test)]
sandbox::helper_in_tests!();
