//! Telling work that nobody wants it any more.
use std::sync::Arc;

use tokio::sync::watch;

/// A flag that is set once and can be waited for. Clones are the same flag.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancel {
    pub fn new() -> Cancel {
        Cancel::default()
    }
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }
    /// Waits until it is set.
    pub async fn cancelled(&self) {
        let mut changes = self.0.subscribe();
        // Fails only without a sender, and `self` holds one.
        let _ = changes.wait_for(|set| *set).await;
    }
}
