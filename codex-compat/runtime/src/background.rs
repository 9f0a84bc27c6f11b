//! Work that goes on beside the conversation: commands handed back as tasks, sub-agents. What ends by itself is shown, and told to the
//! model at the next step.
use std::{convert::Infallible, time::Duration};

use protocol::{Body, Exit, Notice, Outcome, TurnError};
use tools::Ended;

use crate::{
    KEPT_OUTPUT,
    thread::{Stopped, Thread},
    views,
};

/// A last turn waits no longer for what may never end (a server, say).
const PATIENCE: Duration = Duration::from_secs(600);

impl Thread {
    /// Takes in what ends by itself; to be polled as long as the thread lives. Never ends; cancel safe.
    pub(crate) async fn tend(&self) -> Infallible {
        loop {
            tokio::select! {
                ended = self.host.next_ended() => self.task_ended(ended),
                report = self.agents.next_report() => self.agent_reported(report),
            }
        }
    }

    fn task_ended(&self, ended: Ended) {
        let Some(open) = self.hub.take_open(ended.task) else { return };
        let took = open.since.elapsed().as_millis() as u64;
        if let Some(kind) = views::command_end(&open.command, &open.cwd, &ended.outcome, took) {
            self.hub.emit(protocol::Event::ItemCompleted(protocol::View { key: open.key, kind }));
        }
        if let Some(notice) = notice(ended) {
            self.hub.mailbox.notice(notice);
        }
    }

    /// What happened by itself becomes history. True: there is something that the model does not know yet.
    pub(crate) fn take_notices(&self) -> Result<bool, TurnError> {
        let mut news = false;
        for notice in self.hub.mailbox.take_notices() {
            // The end may have been the answer to a call meanwhile.
            let known = matches!(&notice, Notice::TaskEnded { task, .. } if self.hub.was_told(*task));
            if !known {
                self.record(Body::Notice(notice))?;
                news = true;
            }
        }
        Ok(news)
    }

    /// At the end of a last turn, where the harness waits for background work. True: something is to be told before it ends.
    pub(crate) async fn news_of_background(&self) -> Result<bool, Stopped> {
        let mailbox = &self.hub.mailbox;
        if !mailbox.is_last() || !self.with(|cx| self.harness.waits_for_tasks(cx)) {
            return Ok(false);
        }
        let cancel = mailbox.cancel();
        let patience = tokio::time::sleep(PATIENCE);
        tokio::pin!(patience);
        loop {
            if self.take_notices()? {
                return Ok(true);
            }
            if mailbox.has_queued() || !self.works_in_background() {
                return Ok(false);
            }
            tokio::select! {
                () = mailbox.news() => {}
                () = cancel.cancelled() => return Err(Stopped::Interrupted),
                () = &mut patience => {
                    self.hub.hint("background work did not end within 10 minutes and is stopped");
                    return Ok(false);
                }
            }
        }
    }

    fn works_in_background(&self) -> bool {
        self.hub.has_open_tasks() || self.agents.work_in_background()
    }
}

/// None: somebody stopped it and knows.
fn notice(ended: Ended) -> Option<Notice> {
    let Ended { task, command, outcome, .. } = ended;
    match outcome {
        Outcome::Ran { exit: Exit::Stopped, .. } => None,
        Outcome::Ran { output, exit, .. } => {
            Some(Notice::TaskEnded { task, command, exit, output: output.shrunk(KEPT_OUTPUT) })
        }
        // It could not be run: the shell's number for that.
        _ => Some(Notice::TaskEnded { task, command, exit: Exit::Code(127), output: Default::default() }),
    }
}
