//! A conversation, and the loop that is a turn: look, say, ask, read, do, until the model is done.
use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    rc::Rc,
};

use harnesses::{Context, Doc, End, Flow, Harness, Moment, Persona, Reading, SkillInfo, Words};
use protocol::{
    Body, CallForm, Counts, Entry, Event, Item, ItemId, ModelInfo, Notice, Opening, Origin, Reply, Settings, ThreadId,
    Tool, Tune, TurnCause, TurnError, TurnId, Usage,
};

use crate::{agents::Agents, grants::Grants, history::History, hub::Hub, limits::Limits, link::Link, scratch::Scratch};

/// Everything that a conversation needs to go on. Fields that change stand in cells: calls of one reply run side by side.
pub struct Thread {
    pub(crate) id: ThreadId,
    pub(crate) turn: RefCell<TurnId>,
    pub(crate) settings: RefCell<Rc<Settings>>,
    pub(crate) harness: &'static dyn Harness,
    pub(crate) link: Link,
    pub(crate) persona: Persona,
    pub(crate) docs: Vec<Doc>,
    pub(crate) skills: Vec<SkillInfo>,
    pub(crate) words: Words,
    pub(crate) extra_tools: Vec<Tool>,
    pub(crate) history: RefCell<History>,
    pub(crate) session: RefCell<sessions::Session>,
    pub(crate) host: tools::Local,
    pub(crate) scope: tools::Scope,
    pub(crate) hub: Hub,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) limits: Limits,
    /// What a harness wants said once more, or in another tune, in the next request only.
    pub(crate) once: RefCell<Once>,
    pub(crate) agents: Agents,
    /// What clients have allowed for good.
    pub(crate) grants: Rc<RefCell<Grants>>,
    /// A client is there that answers questions.
    pub(crate) answered: bool,
    /// Plan mode was entered by the agent itself, which may leave it by itself.
    pub(crate) own_plan_mode: Cell<bool>,
    /// Where plans are kept.
    pub(crate) plan_folders: Vec<PathBuf>,
    /// Held, so that what was saved stays as long as the thread.
    pub(crate) scratch: Rc<Scratch>,
    /// The user knows how strong the sandbox is here.
    pub(crate) walls_told: Cell<bool>,
    /// For the user, at the start.
    pub(crate) warnings: Vec<String>,
    /// The same, for people only.
    pub(crate) asides: Vec<String>,
    pub(crate) resumed: bool,
    /// The user's command for the end of a turn, and who we say that we are.
    pub(crate) notify: Vec<String>,
    pub(crate) originator: String,
}

/// Tokens and calls of the thread, and how often room was made without effect.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) total: Usage,
    pub(crate) last: Usage,
    pub(crate) counts: Counts,
    pub(crate) squeezed: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Once {
    said: Vec<Entry>,
    tune: Option<Tune>,
    tries: u32,
}

/// A harness asks again after a reply that it cannot read at most this often in a row; its own bound is lower.
const MAX_TRIES: u32 = 20;

/// How a turn ended, when it did not fail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ended {
    Done(Option<String>),
    Interrupted,
}

impl Thread {
    /// One turn, from the user's words until the agent stops.
    async fn work(&self) -> Result<End, Stopped> {
        loop {
            self.limits.check(self.hub.started())?;
            self.make_room().await?;
            let reply = match self.ask().await {
                Err(Stopped::Failed(error)) if self.can_shrink(&error) => {
                    self.compact(None).await?;
                    continue;
                }
                reply => reply?,
            };
            let flow = match self.with(|cx| harnesses::read(self.harness, cx, &reply)) {
                Reading::Calls { calls, order, repaired } => self.carry_out(&reply, calls, order, repaired).await?,
                Reading::Again { drop_reply, say, keep, tune } => self.again(drop_reply, say, keep, tune)?,
                Reading::Say(parts) => Flow::Say(parts),
                Reading::Stop(end) => Flow::End(end),
            };
            let news = matches!(flow, Flow::End(_)) && self.news_of_background().await?;
            let queued = self.hub.mailbox.take_queued();
            match flow {
                Flow::Step => {}
                Flow::Say(parts) => self.record(Body::User { origin: Origin::Harness, parts }).map(drop)?,
                Flow::End(end) if queued.is_none() && !news => return Ok(end),
                Flow::End(_) => {}
            }
            if let Some(parts) = queued {
                self.record(Body::User { origin: Origin::User, parts })?;
            }
        }
    }

    /// The same, stopped where it stands when its time is over.
    async fn work_in_time(&self) -> Result<End, Stopped> {
        let over = async {
            match self.limits.left() {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = self.work() => ended,
            () = over => {
                if let Some(reply) = self.link.partial() {
                    self.take_in(reply)?;
                }
                Err(self.limits.time_is_over().into())
            }
        }
    }

    /// Starts a turn with what the user (or a parent) said, or with what happened by itself, and tells the clients how it ended.
    pub(crate) async fn run_turn(&self, said: Option<Body>) -> Result<Ended, TurnError> {
        self.hub.mailbox.reset();
        let turn = TurnId(uuid::Uuid::now_v7().to_string());
        *self.turn.borrow_mut() = turn.clone();
        self.hub.turn_started(turn.clone());
        let begun = said.map_or(Ok(()), |said| self.record(said).map(drop));
        let ended = match begun {
            Ok(()) => self.work_in_time().await,
            Err(error) => Err(error.into()),
        };
        self.hub.close_plan();
        let total = self.tally.borrow().total;
        self.hub.emit(Event::Counted(self.counts()));
        match ended {
            Ok(End::GaveUp(message)) => {
                let error = TurnError { message, cause: TurnCause::Limit("harness".into()) };
                self.failed(turn, error, total)
            }
            Ok(end) => {
                if let End::Submitted(text) = &end {
                    self.hub.message(text.clone());
                }
                let last_message = self.hub.last_message();
                self.take_notices()?;
                self.record(Body::Notice(Notice::TurnEnded))?;
                self.notify(last_message.as_deref());
                self.hub.emit(Event::TurnCompleted { turn, total, last_message: last_message.clone() });
                Ok(Ended::Done(last_message))
            }
            Err(Stopped::Interrupted) => {
                self.close_open_calls()?;
                // Known to the next turn, and no reason to start one now.
                self.take_notices()?;
                self.record(Body::Notice(Notice::Interrupted))?;
                self.hub.emit(Event::TurnInterrupted { turn });
                Ok(Ended::Interrupted)
            }
            Err(Stopped::Failed(error)) => self.failed(turn, error, total),
        }
    }

    fn failed(&self, turn: TurnId, error: TurnError, total: Usage) -> Result<Ended, TurnError> {
        // The failure that is reported may be that of the session file itself; it must not hide the first one.
        let _ = self.close_open_calls();
        let _ = self.take_notices();
        let _ = self.record(Body::Notice(Notice::TurnFailed { message: error.message.clone() }));
        self.hub.emit(Event::TurnFailed { turn, error: error.clone(), total });
        Err(error)
    }

    /// One request and its reply: facts are looked up, new items put into words, the reply stored and shown.
    pub(crate) async fn ask(&self) -> Result<Reply, Stopped> {
        self.take_notices()?;
        self.look(self.moment()).await?;
        self.say()?;
        let once = self.once.take();
        let tune = once.tune.unwrap_or_else(|| self.with(|cx| self.harness.tune(cx)));
        let view = self.with(|cx| self.harness.view(cx));
        let (wire, fit) = (self.link.wire, &self.link.fit);
        let body = {
            let history = self.history.borrow();
            match view {
                Some(entries) => history.request_of(entries, &once.said, &tune, wire, fit),
                None => history.request(&history.opening, &once.said, &tune, wire, fit),
            }
        };
        self.once.borrow_mut().tries = once.tries;
        let cancel = self.hub.mailbox.cancel();
        let asked = self.link.ask(body, &tune, &self.hub);
        let outcome = tokio::select! {
            outcome = asked => outcome,
            () = cancel.cancelled() => {
                if let Some(reply) = self.link.partial() {
                    self.take_in(reply)?;
                }
                return Err(Stopped::Interrupted);
            }
        };
        let reply = match outcome {
            Ok(reply) => reply,
            // What was said before the failure stands, as after an interrupt; its calls are not run, and get their answer
            // when the turn ends.
            Err(stopped) => {
                let again = matches!(&stopped, Stopped::Failed(error) if self.can_shrink(error));
                if let (false, Some(reply)) = (again, self.link.partial()) {
                    self.take_in(reply)?;
                }
                return Err(stopped);
            }
        };
        Ok(self.take_in(reply)?)
    }

    fn moment(&self) -> Moment {
        let history = self.history.borrow();
        let from_user = |item: &Item| matches!(item.body, Body::User { origin: Origin::User | Origin::Parent, .. });
        match history.said.is_empty() {
            true => Moment::Opening,
            false if history.items[history.unsaid..].iter().any(from_user) => Moment::Turn,
            false => Moment::Step,
        }
    }

    /// Stores a reply, counts its tokens, shows what it says.
    fn take_in(&self, reply: Reply) -> Result<Reply, TurnError> {
        let reply = self.harness.hear(reply);
        let total = {
            let mut tally = self.tally.borrow_mut();
            tally.last = reply.usage;
            tally.total += reply.usage;
            if reply.usage.total() <= self.link.model.compact_at {
                tally.squeezed = 0;
            }
            tally.total
        };
        let last = reply.usage;
        self.record(Body::Reply { reply: reply.clone(), total })?;
        self.hub.show_reply(&reply);
        self.hub.emit(Event::Tokens { last, total, window: self.link.model.context_window });
        Ok(reply)
    }

    /// New items become entries; they are frozen, and stored as they will always be sent.
    pub(crate) fn say(&self) -> Result<(), TurnError> {
        let (opening, mut entries) = match self.history.borrow().said.is_empty() {
            true => self.open(),
            false => (None, Vec::new()),
        };
        entries.extend(self.with(|cx| self.harness.say(cx, &cx.items[self.history.borrow().unsaid..])));
        if let Some(opening) = &opening {
            self.history.borrow_mut().begin(opening.clone());
        }
        if entries.is_empty() && opening.is_none() {
            return Ok(());
        }
        self.record_said(opening, entries)
    }

    /// The beginning of a conversation, with what stands for the past where that was summarised in another dialect.
    fn open(&self) -> (Option<Opening>, Vec<Entry>) {
        let summary = self.history.borrow().summary().map(str::to_owned);
        let (opening, entries) = self.with(|cx| match summary {
            None => (self.harness.open(cx), Vec::new()),
            Some(summary) => {
                // What was said since is told by itself.
                let known = |item: &&Item| matches!(item.body, Body::Fact(_) | Body::Settings(_));
                let items: Vec<Item> = cx.items.iter().filter(known).cloned().collect();
                self.harness.compacted(&Context { items: &items, ..*cx }, &summary)
            }
        });
        (Some(opening), entries)
    }

    pub(crate) fn record_said(&self, opening: Option<Opening>, entries: Vec<Entry>) -> Result<(), TurnError> {
        let dialect = self.harness.dialect().to_owned();
        self.record(Body::Said { dialect, source: self.link.fit.source.clone(), opening, entries: entries.clone() })?;
        self.history.borrow_mut().say(entries, self.link.wire, &self.link.fit);
        Ok(())
    }

    /// A reply that was not taken, or a second question before the turn goes on.
    fn again(&self, drop_reply: bool, say: Vec<Entry>, keep: bool, tune: Option<Box<Tune>>) -> Result<Flow, Stopped> {
        self.record(Body::Read { calls: Vec::new(), dropped: drop_reply, repaired: 0 })?;
        let tries = self.once.borrow().tries + 1;
        if tries > MAX_TRIES {
            return Err(TurnError {
                message: format!("{} replies in a row could not be read", MAX_TRIES),
                cause: TurnCause::Limit("replies".into()),
            }
            .into());
        }
        let mut once = Once { said: Vec::new(), tune: tune.map(|t| *t), tries };
        if keep {
            self.say()?;
            self.record_said(None, say)?;
        } else {
            once.said = say;
        }
        *self.once.borrow_mut() = once;
        Ok(Flow::Step)
    }

    /// A reply of calls: its reading is kept where it says more than the reply itself.
    pub(crate) fn keep_reading(&self, reply: &Reply, calls: &[protocol::Call], repaired: u32) -> Result<(), TurnError> {
        self.once.borrow_mut().tries = 0;
        let native = reply.calls().eq(calls.iter()) && calls.iter().all(|c| c.form != CallForm::InText);
        if native && repaired == 0 {
            return Ok(());
        }
        self.record(Body::Read { calls: calls.to_vec(), dropped: false, repaired }).map(drop)
    }

    /// Appends to history and file.
    pub(crate) fn record(&self, body: Body) -> Result<ItemId, TurnError> {
        let item =
            Item { id: ItemId(self.history.borrow().next), turn: self.turn.borrow().clone(), at: crate::now(), body };
        let id = item.id;
        self.session
            .borrow_mut()
            .append(std::slice::from_ref(&item))
            .map_err(|error| TurnError { message: error.to_string(), cause: TurnCause::Internal })?;
        let mut history = self.history.borrow_mut();
        self.tally.borrow_mut().counts.add(history.items.last().map(|item| &item.body), &item.body);
        history.push(item);
        Ok(id)
    }

    /// How the model got on with its tools so far, earlier runs of the thread included.
    pub fn counts(&self) -> Counts {
        self.tally.borrow().counts
    }

    /// Those in force now.
    pub(crate) fn settings(&self) -> Rc<Settings> {
        self.settings.borrow().clone()
    }

    /// Runs `f` with what a harness may see. Never held across an await.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Context) -> R) -> R {
        let (history, turn, settings) = (self.history.borrow(), self.turn.borrow(), self.settings());
        let model: &ModelInfo = &self.link.model;
        f(&history.context(Context {
            thread: &self.id,
            turn: &turn,
            model,
            caps: &self.link.fit.caps,
            source: &self.link.fit.source,
            settings: &settings,
            items: &[],
            said: &[],
            persona: &self.persona,
            docs: &self.docs,
            skills: &self.skills,
            extra_tools: &self.extra_tools,
            words: &self.words,
        }))
    }
}

/// Why a turn did not come to its end.
#[derive(Debug)]
pub(crate) enum Stopped {
    Interrupted,
    Failed(TurnError),
}

impl From<TurnError> for Stopped {
    fn from(error: TurnError) -> Stopped {
        Stopped::Failed(error)
    }
}

/// How far a turn has come: requests made, tokens used.
pub(crate) struct Started {
    pub(crate) steps: u64,
    pub(crate) tokens: u64,
}
