//! Making room: when a request would not fit, the past is told as a summary. Bounded where that does not help.
use harnesses::Moment;
use protocol::{Body, ErrorKind, Event, Opening, Stop, TurnCause, TurnError};

use crate::thread::{Stopped, Thread};

/// Compactions in a row that left the context above its limit.
const MAX_SQUEEZES: u32 = 2;

impl Thread {
    /// Before a request: compacts when the tokens in use are above the model's limit.
    pub(crate) async fn make_room(&self) -> Result<(), Stopped> {
        let used = self.tally.borrow().last.total();
        if used <= self.link.model.compact_at {
            return Ok(());
        }
        self.compact(None).await
    }

    /// Whether a request that was too long may fit after a compaction: there must be something to summarise.
    pub(crate) fn can_shrink(&self, error: &TurnError) -> bool {
        error.cause == TurnCause::Provider(ErrorKind::ContextLength)
            && self.history.borrow().items.iter().any(|item| matches!(item.body, Body::Reply { .. }))
    }

    /// Tells the past as a summary. `hint`: what the user wants kept.
    pub(crate) async fn compact(&self, hint: Option<&str>) -> Result<(), Stopped> {
        let squeezed = self.tally.borrow().squeezed;
        if squeezed >= MAX_SQUEEZES {
            return Err(self.cannot_help("").into());
        }
        self.tally.borrow_mut().squeezed += 1;
        // The summary is made of what was said; what happened since the last request must be said first.
        self.say()?;
        let summary = self.summary(hint).await?;
        if summary.trim().is_empty() {
            return Err(self.cannot_help(" The model gave an empty summary.").into());
        }
        let facts = self.look(Moment::Opening).await?;
        let (opening, entries) = self.with(|cx| self.harness.compacted(cx, &summary));
        let (total, counts) = (self.tally.borrow().total, self.counts());
        // Prompts that wait for their answer stay: another dialect would tell them again.
        let upto = {
            let history = self.history.borrow();
            history.unanswered().unwrap_or(protocol::ItemId(history.next))
        };
        self.record(Body::Compacted { upto, summary: summary.clone(), total, counts })?;
        self.history.borrow_mut().forget(upto);
        // What is in force stands again after the cut: history before it is not read on resume.
        self.record(Body::Settings(Box::new((*self.settings()).clone())))?;
        for fact in facts {
            self.record(Body::Fact(fact))?;
        }
        self.history.borrow_mut().begin(opening.clone());
        self.record_said(Some(opening), entries)?;
        self.tally.borrow_mut().last = protocol::Usage::default();
        self.hub.emit(Event::Compacted { summary });
        Ok(())
    }

    async fn summary(&self, hint: Option<&str>) -> Result<String, Stopped> {
        let compaction = self.with(|cx| self.harness.compact(cx, hint));
        let body = {
            let history = self.history.borrow();
            let bare;
            let opening = if compaction.tools {
                &history.opening
            } else {
                bare = Opening { tools: Vec::new(), ..history.opening.clone() };
                &bare
            };
            history.request(opening, &compaction.ask, &compaction.tune, self.link.wire, &self.link.fit)
        };
        let cancel = self.hub.mailbox.cancel();
        let asked = self.link.ask(body, &compaction.tune, &self.hub);
        let reply = tokio::select! {
            outcome = asked => outcome,
            () = cancel.cancelled() => return Err(Stopped::Interrupted),
        };
        let reply = match reply {
            Ok(reply) => reply,
            Err(Stopped::Failed(error)) if error.cause == TurnCause::Provider(ErrorKind::ContextLength) => {
                return Err(self.cannot_help(&format!(" The provider says: {}", error.message)).into());
            }
            Err(other) => return Err(other),
        };
        self.tally.borrow_mut().total += reply.usage;
        if reply.stop == Stop::Cut {
            return Err(Stopped::Interrupted);
        }
        Ok(reply.text())
    }

    fn cannot_help(&self, more: &str) -> TurnError {
        let model = &self.link.model;
        let used = self.tally.borrow().last.total();
        TurnError {
            message: format!(
                "The context of {} holds {} tokens, and summarising does not bring this conversation below {} ({used} in use).{more} \
                 Start a new session, or set model_context_window if the model holds more.",
                model.slug, model.context_window, model.compact_at
            ),
            cause: TurnCause::Context,
        }
    }
}
