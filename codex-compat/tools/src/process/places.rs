//! How many commands run in the foreground at once. A model may ask for hundreds in one reply; each takes about seven
//! descriptors of ours and several processes, and more of them at once are no faster. Where even these are too many for the
//! machine's limits, there become fewer.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MOST: usize = 32;
const LEAST: usize = 4;

#[derive(Debug, Clone)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    all: Arc<AtomicUsize>,
}

/// Given back on drop.
pub(super) struct Place {
    permit: Option<OwnedSemaphorePermit>,
    all: Arc<AtomicUsize>,
}

impl Default for Places {
    fn default() -> Places {
        Places { free: Arc::new(Semaphore::new(MOST)), all: Arc::new(AtomicUsize::new(MOST)) }
    }
}

impl Places {
    /// In the order of asking. Cancel safe.
    pub(super) async fn take(&self) -> Place {
        // The semaphore is never closed.
        Place { permit: self.free.clone().acquire_owned().await.ok(), all: self.all.clone() }
    }
}

impl Place {
    /// Its command could not start for want of something: nobody gets this place after it.
    pub(super) fn close(&mut self) {
        let fewer = |all: usize| (all > LEAST).then(|| all - 1);
        if self.permit.is_some()
            && self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn closed_places_stay_closed_and_some_stay_open() {
        let places = Places::default();
        for _ in 0..40 {
            let mut place = places.take().await;
            place.close();
            place.close();
        }
        assert_eq!(places.free.available_permits(), LEAST);
    }
}
