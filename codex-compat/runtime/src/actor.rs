//! The thread as an actor: takes Ops, runs turns, tells of background work that ends by itself.
use protocol::{Body, Event, Op, Origin};
use tokio::sync::mpsc;

use crate::{Brief, setup, thread::Thread};

impl Thread {
    pub fn brief(&self) -> Brief {
        let settings = (*self.settings()).clone();
        let effort = settings.effort.clone().or_else(|| self.link.model.effort.clone());
        Brief { thread: self.id.clone(), sandbox: setup::sandbox_line(&settings), settings, effort }
    }

    /// Lives until the clients are done with it: `Op::Shutdown`, or all senders gone. Background work ends with it.
    pub async fn run(self, mut ops: mpsc::Receiver<Op>) {
        let settings = Box::new((*self.settings()).clone());
        self.hub.emit(Event::ThreadStarted { thread: self.id.clone(), settings, resumed: self.resumed });
        for message in &self.asides {
            self.hub.hint(message);
        }
        for message in &self.warnings {
            self.hub.emit(Event::Warning { message: message.clone() });
        }
        let mut closing = false;
        while !closing {
            let op = tokio::select! {
                biased;
                op = ops.recv() => op,
                never = self.tend() => match never {},
                () = self.hub.mailbox.news() => {
                    closing = self.turn_of_notices(&mut ops).await;
                    continue;
                }
            };
            match op {
                None | Some(Op::Shutdown) => break,
                Some(Op::User { parts }) => {
                    let said = Body::User { origin: Origin::User, parts };
                    closing = self.turn_with_ops(Some(said), &mut ops).await;
                }
                Some(Op::Compact { hint }) => {
                    if let Err(crate::thread::Stopped::Failed(error)) = self.compact(hint.as_deref()).await {
                        self.hub.emit(Event::Warning { message: error.message });
                    }
                }
                // Nothing runs but what works in the background.
                Some(Op::Interrupt) => self.agents.stop(),
                Some(Op::Decide { .. }) => {}
            }
        }
        self.agents.stop_all().await;
        self.host.stop_all().await;
        self.hub.emit(Event::Closed);
    }

    /// Between turns something happened by itself: the harness may want to go on with it, else it is told with the user's
    /// next words.
    async fn turn_of_notices(&self, ops: &mut mpsc::Receiver<Op>) -> bool {
        let news = self.take_notices().unwrap_or(false);
        if !news || !self.with(|cx| self.harness.waits_for_tasks(cx)) {
            return false;
        }
        self.turn_with_ops(None, ops).await
    }

    /// A turn, with Ops taken while it runs. True: the thread is to end after it.
    async fn turn_with_ops(&self, said: Option<Body>, ops: &mut mpsc::Receiver<Op>) -> bool {
        let (mut closing, mut gone) = (false, false);
        let turn = self.run_turn(said);
        tokio::pin!(turn);
        loop {
            tokio::select! {
                biased;
                op = ops.recv(), if !gone => match op {
                    None => {
                        // Clients that left without a word want nothing more done.
                        if !closing {
                            self.hub.mailbox.stop();
                        }
                        (closing, gone) = (true, true);
                    }
                    Some(Op::Shutdown) => {
                        closing = true;
                        self.hub.mailbox.set_last();
                    }
                    Some(Op::Interrupt) => self.hub.mailbox.stop(),
                    Some(Op::Decide { id, decision }) => self.hub.mailbox.decide(id, decision),
                    Some(Op::User { parts }) => self.hub.mailbox.queue(parts),
                    Some(Op::Compact { .. }) => {}
                },
                never = self.tend() => match never {},
                // How it ended was told by events.
                _ = &mut turn => break,
            }
        }
        closing
    }
}
