//! Where clients and a running turn meet: interrupts, answers to what was asked, words said while the turn runs, and what
//! happened by itself meanwhile.
use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    rc::Rc,
};

use protocol::{Decision, Notice, Part};
use tokio::sync::{Notify, oneshot};
use tools::Cancel;

#[derive(Default)]
pub(crate) struct Mailbox {
    own: RefCell<Own>,
    /// Something came that a turn may wait for.
    news: Notify,
    /// Who waits for an answer. Sub-agents share it: clients know one thread.
    waiting: Rc<RefCell<HashMap<u64, oneshot::Sender<Decision>>>>,
}

#[derive(Default)]
struct Own {
    /// Of the present turn.
    cancel: Cancel,
    queue: VecDeque<Vec<Part>>,
    notices: Vec<Notice>,
    /// The thread ends after this turn.
    last: bool,
}

impl Mailbox {
    /// Of a sub-agent: its own interrupts and words, answers from the same clients.
    pub(crate) fn child(&self) -> Mailbox {
        Mailbox { waiting: self.waiting.clone(), ..Mailbox::default() }
    }

    /// Before a turn: an interrupt of an earlier one does not count.
    pub(crate) fn reset(&self) {
        self.own.borrow_mut().cancel = Cancel::new();
    }
    pub(crate) fn stop(&self) {
        self.own.borrow().cancel.cancel();
    }
    /// Set when the present turn is to stop.
    pub(crate) fn cancel(&self) -> Cancel {
        self.own.borrow().cancel.clone()
    }
    pub(crate) fn stopped(&self) -> bool {
        self.own.borrow().cancel.is_cancelled()
    }
    pub(crate) fn queue(&self, parts: Vec<Part>) {
        self.own.borrow_mut().queue.push_back(parts);
        self.news.notify_one();
    }
    pub(crate) fn take_queued(&self) -> Option<Vec<Part>> {
        self.own.borrow_mut().queue.pop_front()
    }
    pub(crate) fn has_queued(&self) -> bool {
        !self.own.borrow().queue.is_empty()
    }

    /// Something happened by itself; it is told at the next step.
    pub(crate) fn notice(&self, notice: Notice) {
        self.own.borrow_mut().notices.push(notice);
        self.news.notify_one();
    }
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.own.borrow_mut().notices)
    }
    /// The report of an agent was the answer to a call meanwhile.
    pub(crate) fn forget_report(&self, agent: &str) {
        let told = |notice: &Notice| matches!(notice, Notice::AgentReported { id, .. } if id == agent);
        self.own.borrow_mut().notices.retain(|notice| !told(notice));
    }
    /// Something was queued or noticed, perhaps before the last look. For one listener; cancel safe.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    /// Nothing will be asked after the present turn.
    pub(crate) fn set_last(&self) {
        self.own.borrow_mut().last = true;
    }
    pub(crate) fn is_last(&self) -> bool {
        self.own.borrow().last
    }

    /// A place where the answer to question `id` will arrive.
    pub(crate) fn expect(&self, id: u64) -> oneshot::Receiver<Decision> {
        let (tx, rx) = oneshot::channel();
        self.waiting.borrow_mut().insert(id, tx);
        rx
    }
    pub(crate) fn forget(&self, id: u64) {
        self.waiting.borrow_mut().remove(&id);
    }
    pub(crate) fn decide(&self, id: u64, decision: Decision) {
        if let Some(tx) = self.waiting.borrow_mut().remove(&id) {
            // The turn may have been stopped meanwhile; then nobody wants the answer.
            let _ = tx.send(decision);
        }
    }
}
