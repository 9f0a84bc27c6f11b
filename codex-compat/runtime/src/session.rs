//! The Session half of Actions: what is done to the thread itself.
use protocol::{Failure, Outcome, OwnedPrompt, Refusal, Session, TurnError};

use crate::{agents::Spawn, thread::Thread};

impl Thread {
    pub(crate) async fn session_action(&self, session: &Session) -> Outcome {
        self.try_session(session).await.unwrap_or_else(|error| Outcome::Failed(Failure::Other(error.message)))
    }

    async fn try_session(&self, session: &Session) -> Result<Outcome, TurnError> {
        Ok(match session {
            Session::Plan { steps, explanation } => {
                self.hub.plan(steps.clone(), explanation.clone());
                Outcome::Ok
            }
            Session::Mode(mode) => self.change_mode(mode)?,
            Session::ProposePlan { text } => self.propose_plan(text.as_deref()).await?,
            Session::Ask { questions, .. } => self.ask_user(questions).await,
            Session::Spawn { kind, prompt, model, background, resume, .. } => {
                let (model, resume) = (model.as_deref(), resume.as_deref());
                self.spawn(Spawn { kind, prompt, model, background: *background, resume }).await?
            }
            Session::Agent { id, op, message } => self.agent(id, op, message.as_deref()).await,
            Session::Skill { name, .. } => self.skill(name).await,
            Session::Query { role, prompt } => self.query(role, prompt).await?,
            // The dialect offers them at the next step, where it sees that this was done.
            Session::LoadTools(_) => Outcome::Ok,
            Session::CountTokens(parts) => {
                let text: String = parts.iter().filter_map(protocol::Part::as_text).collect();
                match self.link.count(&text).await {
                    Some(tokens) => Outcome::Counted { tokens, exact: true },
                    None => Outcome::Counted { tokens: text.len().div_ceil(4) as u64, exact: false },
                }
            }
            // No harness of this build offers the others; what is not offered is refused.
            _ => Outcome::Refused(Refusal::Limit("this session does not offer it".into())),
        })
    }

    /// A request beside the conversation, by the model of that role. What it used is the thread's.
    async fn query(&self, role: &str, prompt: &OwnedPrompt) -> Result<Outcome, TurnError> {
        let of_role = self.link_of(role);
        let cancel = self.hub.mailbox.cancel();
        let (text, usage) = tokio::select! {
            answer = of_role.as_ref().unwrap_or(&self.link).side(prompt) => answer?,
            () = cancel.cancelled() => return Ok(Outcome::Interrupted { output: None }),
        };
        self.tally.borrow_mut().total += usage;
        self.hub.count(usage);
        Ok(Outcome::Queried { text, usage })
    }
}
