//! The thread as an actor: takes Ops, runs turns, tells of tasks that end by themselves.
use protocol::{Event, Op, TaskId};
use tokio::sync::mpsc;

use crate::{Brief, setup, thread::Thread, views};

impl Thread {
    pub fn brief(&self) -> Brief {
        let settings = self.settings.clone();
        let effort = settings.effort.clone().or_else(|| self.link.model.effort.clone());
        Brief { thread: self.id.clone(), sandbox: setup::sandbox_line(&settings), settings, effort }
    }

    /// Lives until the clients are done with it: `Op::Shutdown`, or all senders gone. Background work ends with it.
    pub async fn run(self, mut ops: mpsc::Receiver<Op>) {
        let settings = Box::new(self.settings.clone());
        self.hub.emit(Event::ThreadStarted { thread: self.id.clone(), settings, resumed: self.resumed });
        for message in &self.asides {
            self.hub.hint(message);
        }
        for message in &self.warnings {
            self.hub.emit(Event::Warning { message: message.clone() });
        }
        let mut closing = false;
        while !closing {
            match ops.recv().await {
                None | Some(Op::Shutdown) => break,
                Some(Op::User { parts }) => closing = self.turn_with_ops(parts, &mut ops).await,
                Some(Op::Compact { hint }) => {
                    if let Err(crate::thread::Stopped::Failed(error)) = self.compact(hint.as_deref()).await {
                        self.hub.emit(Event::Warning { message: error.message });
                    }
                }
                Some(Op::Interrupt | Op::Decide { .. }) => {}
            }
        }
        self.host.stop_all().await;
        self.hub.emit(Event::Closed);
    }

    /// A turn, with Ops taken while it runs. True: the thread is to end after it.
    async fn turn_with_ops(&self, parts: Vec<protocol::Part>, ops: &mut mpsc::Receiver<Op>) -> bool {
        let (mut closing, mut gone) = (false, false);
        let turn = self.run_turn(parts);
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
                    Some(Op::Shutdown) => closing = true,
                    Some(Op::Interrupt) => self.hub.mailbox.stop(),
                    Some(Op::Decide { id, decision }) => self.hub.mailbox.decide(id, decision),
                    Some(Op::User { parts }) => self.hub.mailbox.queue(parts),
                    Some(Op::Compact { .. }) => {}
                },
                ended = self.host.next_ended() => self.task_ended(ended.task, &ended.outcome),
                // How it ended was told by events.
                _ = &mut turn => break,
            }
        }
        closing
    }

    fn task_ended(&self, task: TaskId, outcome: &protocol::Outcome) {
        let Some(open) = self.hub.take_open(task) else { return };
        let took = open.since.elapsed().as_millis() as u64;
        if let Some(kind) = views::command_end(&open.command, &open.cwd, outcome, took) {
            self.hub.emit(Event::ItemCompleted(protocol::View { key: open.key, kind }));
        }
    }
}
