//! What only a client can settle: approvals, and questions to the user.
use protocol::{Action, Ask, Decision, Event, Outcome, Question, Refusal, World};

use crate::{thread::Thread, views};

impl Thread {
    /// Asks the clients, unless the same was allowed before. Err: what the model is told instead.
    pub(crate) async fn approve(&self, action: &Action, outside: bool) -> Result<(), Refusal> {
        let Some(ask) = self.ask_for(action, outside) else { return Ok(()) };
        let cwd = self.settings().cwd.clone();
        if self.grants.borrow().cover(action, outside, &cwd) {
            return Ok(());
        }
        let decision = self.put(ask).await;
        self.grants.borrow_mut().keep(action, outside, &cwd, &decision);
        match decision {
            Decision::Once | Decision::Session | Decision::Prefix(_) | Decision::Answers(_) => Ok(()),
            Decision::No { feedback } => Err(Refusal::User { feedback }),
            Decision::Cancel => Err(self.cancelled()),
        }
    }

    /// The user's answers, where somebody can be asked.
    pub(crate) async fn ask_user(&self, questions: &[Question]) -> Outcome {
        if !self.answered {
            return Outcome::Refused(Refusal::NobodyToAsk { escalation: false });
        }
        match self.put(Ask::Questions { questions: questions.to_vec() }).await {
            Decision::Answers(answers) => Outcome::Answers(answers),
            Decision::No { feedback } => Outcome::Refused(Refusal::User { feedback }),
            Decision::Cancel => Outcome::Refused(self.cancelled()),
            Decision::Once | Decision::Session | Decision::Prefix(_) => Outcome::Answers(protocol::Raw::null()),
        }
    }

    /// One question to the clients and its answer. A stopped turn answers it too.
    pub(crate) async fn put(&self, ask: Ask) -> Decision {
        let mailbox = &self.hub.mailbox;
        let id = self.hub.approval_id();
        let answer = mailbox.expect(id);
        self.hub.emit(Event::ApprovalAsked { id, ask });
        let cancel = mailbox.cancel();
        let decision = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or(Decision::Cancel),
            () = cancel.cancelled() => Decision::Cancel,
        };
        mailbox.forget(id);
        self.hub.emit(Event::ApprovalDone { id });
        decision
    }

    pub(crate) fn cancelled(&self) -> Refusal {
        self.hub.mailbox.stop();
        Refusal::Cancelled
    }

    fn ask_for(&self, action: &Action, outside_sandbox: bool) -> Option<Ask> {
        match action {
            Action::World(World::Run(run)) => Some(Ask::Command {
                command: self.command_line(run),
                cwd: self.run_cwd(run),
                reason: run.escalate.as_ref().and_then(|e| e.justification.clone()),
                prefix: run.escalate.as_ref().map(|e| e.prefix.clone()).unwrap_or_default(),
                outside_sandbox,
            }),
            Action::World(World::Change(changes)) => {
                let changes = views::planned(changes, &self.settings().cwd, |path| path.exists());
                Some(Ask::Change { changes, reason: None })
            }
            Action::World(World::Fetch { url, .. }) => Some(Ask::Fetch { url: url.clone() }),
            _ => None,
        }
    }
}
