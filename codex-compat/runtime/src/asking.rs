//! What only a client can settle: approvals, questions to the user, a plan.
use std::path::PathBuf;

use protocol::{Action, Ask, Body, Decision, Event, Mode, Outcome, Question, Refusal, Settings, TurnError, World};

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

    /// Approved, the plan is carried out: plan mode is over.
    pub(crate) async fn propose_plan(&self, text: Option<&str>) -> Result<Outcome, TurnError> {
        let file = self.plan_file();
        if !self.answered {
            return Ok(Outcome::Refused(Refusal::NobodyToAsk { escalation: false }));
        }
        let ask = Ask::Plan { text: text.map(str::to_owned), file: file.clone().unwrap_or_default() };
        let (approved, feedback) = match self.put(ask).await {
            Decision::Once | Decision::Session | Decision::Prefix(_) | Decision::Answers(_) => (true, None),
            Decision::No { feedback } => (false, feedback),
            Decision::Cancel => return Ok(Outcome::Refused(self.cancelled())),
        };
        if approved {
            self.set_mode(Mode::Default)?;
        }
        Ok(Outcome::PlanDecided { approved, feedback, file })
    }

    /// A harness's own change of mode. Out of a plan mode that the user chose leads an approved plan only.
    pub(crate) fn change_mode(&self, mode: &Mode) -> Result<Outcome, TurnError> {
        let of_user = !self.own_plan_mode.get();
        match (self.plan_file(), mode) {
            (Some(file), _) if of_user && *mode != (Mode::Plan { file: file.clone() }) => {
                Ok(Outcome::Refused(Refusal::PlanMode { file }))
            }
            _ => {
                self.own_plan_mode.set(matches!(mode, Mode::Plan { .. }) && (self.plan_file().is_none() || !of_user));
                self.set_mode(mode.clone()).map(|()| Outcome::Ok)
            }
        }
    }

    fn plan_file(&self) -> Option<PathBuf> {
        match &self.settings().mode {
            Mode::Plan { file } => Some(file.clone()),
            Mode::Default => None,
        }
    }

    /// In force from the recorded settings on.
    fn set_mode(&self, mode: Mode) -> Result<(), TurnError> {
        let settings = self.settings();
        if settings.mode == mode {
            return Ok(());
        }
        let settings = Settings { mode, ..(*settings).clone() };
        self.record(Body::Settings(Box::new(settings.clone())))?;
        *self.settings.borrow_mut() = settings.into();
        Ok(())
    }

    /// One question to the clients and its answer. A stopped turn answers it too.
    async fn put(&self, ask: Ask) -> Decision {
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

    fn cancelled(&self) -> Refusal {
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
