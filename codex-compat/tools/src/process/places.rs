//! How many commands run in the foreground at once. A model may ask for hundreds in one reply; each takes about seven
//! descriptors of ours and several processes, and more of them at once are no faster.
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MOST: usize = 32;

#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Semaphore>);

/// Given back on drop.
pub(super) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Default for Places {
    fn default() -> Places {
        Places(Arc::new(Semaphore::new(MOST)))
    }
}

impl Places {
    /// In the order of asking. Cancel safe.
    pub(super) async fn take(&self) -> Place {
        // The semaphore is never closed.
        Place { _permit: self.0.clone().acquire_owned().await.ok() }
    }
}
