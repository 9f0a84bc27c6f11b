//! Where clients and a running turn meet: interrupts, answers to approvals, words said while the turn runs.
use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
};

use protocol::{Decision, Part};
use tokio::sync::oneshot;
use tools::Cancel;

#[derive(Default)]
pub(crate) struct Mailbox(RefCell<Inner>);

#[derive(Default)]
struct Inner {
    /// Of the present turn.
    cancel: Cancel,
    queue: VecDeque<Vec<Part>>,
    waiting: HashMap<u64, oneshot::Sender<Decision>>,
}

impl Mailbox {
    /// Before a turn: an interrupt of an earlier one does not count.
    pub(crate) fn reset(&self) {
        self.0.borrow_mut().cancel = Cancel::new();
    }
    pub(crate) fn stop(&self) {
        let mut inner = self.0.borrow_mut();
        inner.waiting.clear();
        inner.cancel.cancel();
    }
    /// Set when the present turn is to stop.
    pub(crate) fn cancel(&self) -> Cancel {
        self.0.borrow().cancel.clone()
    }
    pub(crate) fn stopped(&self) -> bool {
        self.0.borrow().cancel.is_cancelled()
    }
    pub(crate) fn queue(&self, parts: Vec<Part>) {
        self.0.borrow_mut().queue.push_back(parts);
    }
    pub(crate) fn take_queued(&self) -> Option<Vec<Part>> {
        self.0.borrow_mut().queue.pop_front()
    }
    /// A place where the answer to approval `id` will arrive; closed without one when the turn is stopped.
    pub(crate) fn expect(&self, id: u64) -> oneshot::Receiver<Decision> {
        let (tx, rx) = oneshot::channel();
        self.0.borrow_mut().waiting.insert(id, tx);
        rx
    }
    pub(crate) fn decide(&self, id: u64, decision: Decision) {
        if let Some(tx) = self.0.borrow_mut().waiting.remove(&id) {
            // The turn may have been stopped meanwhile; then nobody wants the answer.
            let _ = tx.send(decision);
        }
    }
}
