//! Where an ephemeral thread and its sub-agents save what the model is to read again. It goes with the last of them.
use std::path::{Path, PathBuf};

use protocol::ThreadId;

#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// `state`: our own folder, where no command can put a link in the way of what is saved. Made when something is.
    pub(crate) fn new(state: &Path, id: &ThreadId) -> Scratch {
        Scratch(state.join("tmp").join(id.as_str()))
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Mostly nothing was saved.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
