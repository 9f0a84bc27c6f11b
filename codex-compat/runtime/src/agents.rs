//! Sub-agents: each is a thread of its own with its own history and session file, under the sandbox, approvals, provider and
//! dialect of the one that started it. Clients see its commands and changes; what it says at its end is the answer to the call.
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::Poll,
    time::Duration,
};

use config::schema;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use harnesses::Persona;
use protocol::{
    AgentWork, Body, Failure, Item, Notice, Origin, Outcome, Part, Refusal, Settings, ThreadId, TurnError, Usage,
};
use providers::ModelOverrides;
use sessions::{Meta, Session, Store};
use tokio::sync::Notify;

use crate::{
    history::History,
    limits::Limits,
    link::Link,
    thread::{Ended, Thread},
};

/// Codex's own limits, where the config has none.
const MAX_THREADS: u64 = 6;
const MAX_DEPTH: u64 = 1;

/// The sub-agents of one thread.
pub(crate) struct Agents {
    base: Rc<Base>,
    /// By id; kept so that they can go on.
    known: RefCell<HashMap<String, Rc<Thread>>>,
    /// The thread is itself a sub-agent at work.
    at_work: Cell<bool>,
    background: RefCell<FuturesUnordered<Pin<Box<dyn Future<Output = Report>>>>>,
    /// What came of those in the background, newest word of each.
    reports: RefCell<HashMap<String, Report>>,
    news: Notify,
}

/// What sub-agents are made of, at every depth.
pub(crate) struct Base {
    pub(crate) limits: schema::Agents,
    /// `[roles.<role>]`; sub-agents are `subagent`, side requests have their own.
    pub(crate) roles: BTreeMap<String, schema::Role>,
    /// None: nothing is kept of the thread.
    pub(crate) store: Option<Store>,
    pub(crate) meta: Meta,
    pub(crate) overrides: ModelOverrides,
    pub(crate) version: String,
    /// At work now, in the whole family.
    pub(crate) running: Cell<u64>,
}

/// How a sub-agent's work ended.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    id: String,
    ended: Result<Ended, TurnError>,
    usage: Usage,
    work: AgentWork,
}

/// What is asked of `spawn`.
pub(crate) struct Spawn<'a> {
    pub(crate) kind: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) model: Option<&'a str>,
    pub(crate) background: bool,
    pub(crate) resume: Option<&'a str>,
}

impl Agents {
    pub(crate) fn new(base: Rc<Base>) -> Agents {
        Agents {
            base,
            known: RefCell::default(),
            at_work: Cell::new(false),
            background: RefCell::default(),
            reports: RefCell::default(),
            news: Notify::new(),
        }
    }

    /// The next report of one in the background; pends while there is none. Cancel safe.
    pub(crate) async fn next_report(&self) -> Report {
        std::future::poll_fn(|cx| match self.background.borrow_mut().poll_next_unpin(cx) {
            Poll::Ready(Some(report)) => Poll::Ready(report),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        })
        .await
    }

    pub(crate) fn work_in_background(&self) -> bool {
        !self.background.borrow().is_empty()
    }

    /// Interrupts those that work; they end in order as soon as they are tended.
    pub(crate) fn stop(&self) {
        for agent in self.known.borrow().values() {
            agent.hub.mailbox.stop();
        }
    }

    /// Ends those in the background, in order: their session files are closed as after an interrupt.
    pub(crate) async fn stop_all(&self) {
        self.stop();
        while self.work_in_background() {
            self.next_report().await;
        }
    }

    fn is_busy(&self, id: &str) -> bool {
        self.known.borrow().get(id).is_some_and(|agent| agent.agents.at_work.get())
    }
}

impl Thread {
    /// `Session::Spawn`. In the background: the answer comes at once and has no text.
    pub(crate) async fn spawn(&self, ask: Spawn<'_>) -> Result<Outcome, TurnError> {
        if self.hub.mailbox.stopped() {
            return Ok(Outcome::Interrupted { output: None });
        }
        if let Some(refusal) = self.no_agent() {
            return Ok(Outcome::Refused(refusal));
        }
        let agent = match ask.resume {
            Some(id) => match self.earlier_agent(id)? {
                Ok(agent) => agent,
                Err(outcome) => return Ok(outcome),
            },
            None => self.new_agent(ask.kind, ask.model)?,
        };
        let id = agent.id.to_string();
        self.agents.known.borrow_mut().insert(id.clone(), agent.clone());
        let mut report = agent.clone().report(ask.prompt.to_owned());
        if ask.background {
            self.agents.reports.borrow_mut().remove(&id);
            self.agents.background.borrow_mut().push(report);
            // Whoever tends it looks again.
            tokio::task::yield_now().await;
            return Ok(at_work(id));
        }
        let cancel = self.hub.mailbox.cancel();
        let report = tokio::select! {
            biased;
            report = &mut report => report,
            () = cancel.cancelled() => {
                agent.hub.mailbox.stop();
                report.await
            }
        };
        self.count(&report);
        Ok(report.outcome())
    }

    /// `Session::Agent`, of those in the background: `send` a message, `stop`, look at the `output`, `wait` for it
    /// (`message`: at most so many milliseconds). Of one that still works `output` and `wait` give an empty text.
    pub(crate) async fn agent(&self, id: &str, op: &str, message: Option<&str>) -> Outcome {
        let agents = &self.agents;
        let Some(agent) = agents.known.borrow().get(id).cloned() else {
            return Outcome::Failed(Failure::Other(format!("no agent `{id}`")));
        };
        match op {
            "send" if agents.is_busy(id) => {
                agent.hub.mailbox.queue(vec![Part::text(message.unwrap_or_default())]);
                Outcome::Ok
            }
            "send" => Outcome::Failed(Failure::Other(format!("the agent `{id}` has ended; resume it"))),
            "stop" => {
                agent.hub.mailbox.stop();
                Outcome::Ok
            }
            "output" | "wait" => {
                let patience = message.and_then(|text| text.trim().parse().ok()).map(Duration::from_millis);
                let over = async {
                    match patience {
                        Some(patience) => tokio::time::sleep(patience).await,
                        None => std::future::pending().await,
                    }
                };
                let ended = async {
                    while op == "wait" && agents.is_busy(id) {
                        agents.news.notified().await;
                    }
                };
                let cancel = self.hub.mailbox.cancel();
                tokio::select! {
                    biased;
                    () = ended => {}
                    () = over => {}
                    () = cancel.cancelled() => return Outcome::Interrupted { output: None },
                }
                match agents.reports.borrow().get(id) {
                    Some(report) => {
                        // What is told here is no news.
                        self.hub.mailbox.forget_report(id);
                        report.clone().outcome()
                    }
                    None => at_work(id.to_owned()),
                }
            }
            _ => Outcome::Failed(Failure::Other(format!("agents know no `{op}`: send, stop, output, wait"))),
        }
    }

    /// A sub-agent in the background is done: the model is told at the next step.
    pub(crate) fn agent_reported(&self, report: Report) {
        self.count(&report);
        let (id, text) = (report.id.clone(), report.text());
        let stopped = matches!(report.ended, Ok(Ended::Interrupted));
        self.agents.reports.borrow_mut().insert(id.clone(), report);
        self.agents.news.notify_waiters();
        if !stopped {
            self.hub.mailbox.notice(Notice::AgentReported { id, text });
        }
    }

    /// What it used is the thread's.
    fn count(&self, report: &Report) {
        self.tally.borrow_mut().total += report.usage;
        self.hub.count(report.usage);
    }

    fn no_agent(&self) -> Option<Refusal> {
        let base = &self.agents.base;
        if !*base.limits.enabled {
            return Some(Refusal::Rule("agents.enabled is false".into()));
        }
        if u64::from(self.persona.depth) >= base.limits.max_depth.unwrap_or(MAX_DEPTH) {
            return Some(Refusal::Depth);
        }
        let most = self.most_agents();
        (base.running.get() >= most).then(|| Refusal::Limit(format!("agents.max_threads ({most})")))
    }

    fn most_agents(&self) -> u64 {
        let limits = &self.agents.base.limits;
        limits.max_concurrent_threads_per_session.or(limits.max_threads).unwrap_or(MAX_THREADS)
    }

    /// How many may start now; at least one, which is then told why not.
    pub(crate) fn free_agents(&self) -> usize {
        let free = self.most_agents().saturating_sub(self.agents.base.running.get());
        usize::try_from(free).unwrap_or(usize::MAX).max(1)
    }

    fn new_agent(&self, kind: &str, model: Option<&str>) -> Result<Rc<Thread>, TurnError> {
        let base = &self.agents.base;
        let meta =
            Meta { parent_thread_id: Some(self.id.clone()), thread_source: Some(kind.to_owned()), ..base.meta.clone() };
        let session = match &base.store {
            Some(store) => store.create(meta).map_err(internal)?,
            None => Store::new("").ephemeral(),
        };
        let settings = self.agent_settings(kind, model);
        let agent = self.child(kind, session, settings);
        agent.record(Body::Settings(Box::new((*agent.settings()).clone())))?;
        Ok(Rc::new(agent))
    }

    /// One that has ended, from memory or from its file. Err inside: what the model is told.
    fn earlier_agent(&self, id: &str) -> Result<Result<Rc<Thread>, Outcome>, TurnError> {
        let failed = |why: String| Ok(Err(Outcome::Failed(Failure::Other(why))));
        if self.agents.is_busy(id) {
            return failed(format!("the agent `{id}` is still at work"));
        }
        if let Some(agent) = self.agents.known.borrow().get(id) {
            return Ok(Ok(agent.clone()));
        }
        let opened = self.agents.base.store.as_ref().map(|store| store.open(&ThreadId::from(id)));
        let Some(Ok((session, past))) = opened else { return failed(format!("no agent `{id}`")) };
        if past.head.meta.parent_thread_id.as_ref() != Some(&self.id) {
            return failed(format!("no agent `{id}`"));
        }
        let kind = past.head.meta.thread_source.clone().unwrap_or_default();
        let model = past.settings.as_ref().map(|settings| settings.model.clone());
        let settings = self.agent_settings(&kind, model.as_deref());
        let agent = self.child(&kind, session, settings);
        agent.take_up(past).map_err(internal)?;
        Ok(Ok(Rc::new(agent)))
    }

    /// The user's word on the model of a kind goes before the dialect's.
    fn agent_settings(&self, kind: &str, model: Option<&str>) -> Settings {
        let base = &self.agents.base;
        let role = base.limits.roles.get(kind).cloned().unwrap_or_default();
        let general = base.roles.get("subagent").cloned().unwrap_or_default();
        let parent = self.settings();
        let first = [role.model, base.limits.default_subagent_model.clone(), general.model];
        let efforts = [
            role.model_reasoning_effort,
            base.limits.default_subagent_reasoning_effort.clone(),
            general.model_reasoning_effort,
        ];
        Settings {
            model: first
                .into_iter()
                .flatten()
                .next()
                .or_else(|| model.map(str::to_owned))
                .unwrap_or_else(|| parent.model.clone()),
            effort: efforts.into_iter().flatten().next().or_else(|| parent.effort.clone()),
            developer_instructions: role.developer_instructions.or_else(|| parent.developer_instructions.clone()),
            instructions: None,
            output_schema: None,
            ..(*parent).clone()
        }
    }

    /// The line to the model of a role; None: that of the thread.
    pub(crate) fn link_of(&self, role: &str) -> Option<Link> {
        let base = &self.agents.base;
        let model = base.roles.get(role)?.model.as_deref().filter(|model| *model != self.link.model.slug)?;
        Some(self.link.child(model, &base.overrides, &self.originator, &base.version, &self.id))
    }

    fn child(&self, kind: &str, session: Session, mut settings: Settings) -> Thread {
        let base = &self.agents.base;
        let id = session.id().clone();
        let started = self.hub.started();
        let limits = Limits {
            steps: self.limits.steps,
            time: base.limits.job_max_runtime_seconds.map(Duration::from_secs),
            waited: Duration::ZERO,
            tokens: self.limits.tokens.map(|most| most.saturating_sub(started.tokens)),
        };
        let hub = self.hub.child();
        hub.mailbox.set_last();
        let link = self.link.child(&settings.model, &base.overrides, &self.originator, &base.version, &id);
        // Its model may have other words for effort, and another wire.
        settings.effort = link.model.effort_for(settings.effort.as_deref());
        settings.wire = link.fit.source.wire;
        Thread {
            turn: RefCell::default(),
            harness: self.harness,
            link,
            settings: RefCell::new(settings.into()),
            persona: Persona { name: kind.to_owned(), depth: self.persona.depth + 1, ..Persona::default() },
            docs: self.docs.clone(),
            skills: self.skills.clone(),
            words: self.words.clone(),
            extra_tools: self.extra_tools.clone(),
            history: RefCell::new(History::starting_at(session.next())),
            session: RefCell::new(session),
            host: tools::Local::new(),
            scope: self.scope.clone(),
            hub,
            tally: RefCell::default(),
            limits,
            once: RefCell::default(),
            agents: Agents::new(base.clone()),
            grants: self.grants.clone(),
            answered: self.answered,
            own_plan_mode: Cell::new(false),
            plan_folders: self.plan_folders.clone(),
            scratch: Rc::clone(&self.scratch),
            walls_told: Cell::new(true),
            warnings: Vec::new(),
            asides: Vec::new(),
            resumed: false,
            notify: Vec::new(),
            originator: self.originator.clone(),
            id,
        }
    }

    /// Works on `prompt` to the end. Boxed, because its steps may start sub-agents in turn.
    fn report(self: Rc<Self>, prompt: String) -> Pin<Box<dyn Future<Output = Report>>> {
        let running = Running::new(&self);
        Box::pin(async move {
            let _running = running;
            let before = self.tally.borrow().total;
            let first = self.history.borrow().next;
            let parts = vec![Part::Text(prompt)];
            let ended = tokio::select! {
                biased;
                never = self.tend() => match never {},
                ended = self.run_turn(Some(Body::User { origin: Origin::Parent, parts })) => ended,
            };
            self.agents.stop_all().await;
            self.host.stop_all().await;
            let usage = since(before, self.tally.borrow().total);
            let work = work_since(&self.history.borrow().items, first);
            Report { id: self.id.to_string(), ended, usage, work }
        })
    }
}

impl Report {
    fn text(&self) -> String {
        match &self.ended {
            Ok(Ended::Done(text)) => text.clone().unwrap_or_default(),
            Ok(Ended::Interrupted) => "The agent was stopped.".to_owned(),
            Err(error) => format!("The agent failed: {}", error.message),
        }
    }

    fn outcome(self) -> Outcome {
        match self.ended {
            Ok(Ended::Done(text)) => {
                Outcome::Agent { id: self.id, text: text.unwrap_or_default(), usage: self.usage, work: self.work }
            }
            Ok(Ended::Interrupted) => Outcome::Interrupted { output: None },
            Err(error) => Outcome::Failed(Failure::Other(error.message)),
        }
    }
}

/// The word on one that has not reported yet.
fn at_work(id: String) -> Outcome {
    Outcome::Agent { id, text: String::new(), usage: Usage::default(), work: AgentWork::default() }
}

/// What was done from the item `first` on, as far as it was not summarised since.
fn work_since(items: &[Item], first: u64) -> AgentWork {
    let (mut work, mut calls) = (AgentWork::default(), HashMap::new());
    for item in items.iter().filter(|item| item.id.0 >= first) {
        match &item.body {
            Body::Reply { reply, .. } => {
                work.context = reply.usage.total();
                calls.extend(reply.calls().map(|call| (call.id.clone(), call.name.clone())));
            }
            Body::Read { calls: read, .. } => {
                calls.extend(read.iter().map(|call| (call.id.clone(), call.name.clone())));
            }
            Body::Called { call, answer, .. } => {
                work.calls += 1;
                let name = calls.get(call).filter(|name| answer.error != Some(true) && !work.tools.contains(name));
                work.tools.extend(name.cloned());
            }
            _ => {}
        }
    }
    work.tools.sort();
    work
}

/// Counts an agent for as long as it works, however that ends.
struct Running(Rc<Thread>);

impl Running {
    fn new(agent: &Rc<Thread>) -> Running {
        agent.agents.at_work.set(true);
        let running = &agent.agents.base.running;
        running.set(running.get() + 1);
        Running(agent.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.agents.at_work.set(false);
        let running = &self.0.agents.base.running;
        running.set(running.get().saturating_sub(1));
    }
}

fn since(before: Usage, now: Usage) -> Usage {
    Usage {
        input: now.input.saturating_sub(before.input),
        cached: now.cached.saturating_sub(before.cached),
        cache_write: now.cache_write.saturating_sub(before.cache_write),
        output: now.output.saturating_sub(before.output),
        reasoning: now.reasoning.saturating_sub(before.reasoning),
    }
}

fn internal(error: sessions::Error) -> TurnError {
    TurnError { message: error.to_string(), cause: protocol::TurnCause::Internal }
}
