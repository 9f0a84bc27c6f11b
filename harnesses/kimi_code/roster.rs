//! Background tasks and sub-agents as this dialect names them, derived from history: who started them, what they put out, how
//! they ended. Ids of shell tasks come of the tag of their start, those of agents are counted.
use std::collections::HashMap;

use protocol::{
    Action, Body, Call, CallId, Done, Exit, Millis, Notice, Outcome, Session, TaskId, TaskInfo, TaskOp, World,
};

use super::{args, bash};
use crate::Context;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    Shell {
        task: Option<TaskId>,
        command: String,
        pid: Option<u32>,
        limit: Option<Millis>,
    },
    /// `id` is the runtime's.
    Agent {
        id: String,
        agent: String,
        kind: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Completed,
    Failed,
    TimedOut,
    Killed,
    /// Of an earlier process.
    Lost,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Completed => "completed",
            State::Failed => "failed",
            State::TimedOut => "timed_out",
            State::Killed => "killed",
            State::Lost => "lost",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) work: Work,
    pub(super) description: String,
    pub(super) call: CallId,
    pub(super) started: Millis,
    pub(super) state: State,
    /// How long it ran, once it has ended.
    pub(super) ran: Option<Millis>,
    pub(super) exit: Option<i32>,
    pub(super) stop_reason: Option<String>,
    /// Stopped by TaskStop, so no message follows.
    pub(super) silent: bool,
    /// As far as it was looked at.
    pub(super) output: String,
    /// File with the output of a command that ended in the foreground.
    pub(super) log: Option<String>,
    /// It was never in the background.
    pub(super) foreground: bool,
}

impl Task {
    pub(super) fn shell(&self) -> Option<TaskId> {
        match &self.work {
            Work::Shell { task, .. } => *task,
            Work::Agent { .. } => None,
        }
    }

    fn end(&mut self, exit: &Exit, at: Millis) {
        (self.state, self.exit) = match exit {
            Exit::Running => return,
            Exit::Code(0) => (State::Completed, Some(0)),
            Exit::Code(code) => (State::Failed, Some(*code)),
            Exit::Signal(_) => (State::Failed, Some(-1)),
            Exit::TimedOut(_) => (State::TimedOut, Some(-1)),
            Exit::Stopped => (State::Killed, Some(-1)),
        };
        self.ran.get_or_insert(at.saturating_sub(self.started));
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Roster {
    pub(super) tasks: Vec<Task>,
    /// (the runtime's id, ours, kind) of every sub-agent.
    pub(super) agents: Vec<(String, String, String)>,
    /// The latest moment that history knows of.
    pub(super) now: Millis,
    numbers: HashMap<CallId, usize>,
    counted: usize,
}

/// Tools whose calls start work, or tell of it.
const WORKERS: [&str; 7] = ["Agent", "AgentSwarm", "Bash", "TaskList", "TaskOutput", "TaskStop", "WaitFor"];

impl Roster {
    /// With what the present call has done so far.
    pub(super) fn of(cx: &Context, call: &Call, did: &[Done]) -> Roster {
        let mut roster = Roster::of_items(cx);
        roster.called(call, did);
        roster
    }

    pub(super) fn of_items(cx: &Context) -> Roster {
        let mut roster = Roster::default();
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        for item in cx.items {
            roster.now = roster.now.max(item.at);
            match &item.body {
                Body::Reply { reply, .. } => {
                    for call in reply.calls() {
                        calls.insert(&call.id, call);
                        roster.number(call);
                    }
                }
                Body::Read { calls: found, .. } => {
                    for call in found {
                        if calls.insert(&call.id, call).is_none() {
                            roster.number(call);
                        }
                    }
                }
                Body::Called { call, did, .. } => {
                    if let Some(call) = calls.get(call) {
                        roster.called(call, did);
                    }
                }
                Body::Notice(Notice::TaskEnded { task, exit, output, .. }) => {
                    if let Some(known) = roster.tasks.iter_mut().find(|known| known.shell() == Some(*task)) {
                        known.end(exit, item.at);
                        known.output.clone_from(&output.text);
                    }
                }
                Body::Notice(Notice::AgentReported { id, text }) => {
                    let at = item.at;
                    let of = |task: &&mut Task| matches!(&task.work, Work::Agent { id: own, .. } if own == id);
                    if let Some(known) = roster.tasks.iter_mut().rev().find(of) {
                        known.end(&Exit::Code(0), at);
                        known.output.clone_from(text);
                    }
                }
                _ => {}
            }
        }
        roster
    }

    /// Sub-agents are numbered as they are called for, whether they come to be or not: calls of one reply run side by side.
    fn number(&mut self, call: &Call) {
        if !matches!(call.name.as_str(), "Agent" | "AgentSwarm") {
            return;
        }
        let Ok(args) = args::parse(&call.name, &call.args) else { return };
        let new = match call.name.as_str() {
            "Agent" if args.text("resume").is_none() => 1,
            "AgentSwarm" => args.list("items").map_or(0, <[_]>::len),
            _ => 0,
        };
        if new > 0 {
            self.numbers.insert(call.id.clone(), self.counted);
            self.counted += new;
        }
    }

    /// `agent-N` for the n-th new sub-agent of a call.
    pub(super) fn agent_name(&self, call: &CallId, n: usize) -> String {
        format!("agent-{}", self.numbers.get(call).map_or(self.counted, |first| *first) + n)
    }

    pub(super) fn find(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.state == State::Running)
    }

    fn called(&mut self, call: &Call, did: &[Done]) {
        if !WORKERS.contains(&call.name.as_str()) {
            return;
        }
        let args = args::parse(&call.name, &call.args).unwrap_or_default();
        let mut new_agents = 0;
        for done in did {
            let at = done.at + done.took;
            self.now = self.now.max(at);
            match (&done.action, &done.outcome) {
                (Action::World(World::Run(_)), Outcome::Ran { output, exit, task, .. }) if call.name == "Bash" => {
                    let work = Work::Shell {
                        task: *task,
                        command: args.str("command").to_owned(),
                        pid: did.get(1).and_then(|listed| pid(done, &listed.outcome)),
                        limit: bash::limit(&args),
                    };
                    let mut new = self.task(shell_id(done.tag), work, bash::description(&args), call, done.at);
                    new.foreground = task.is_none();
                    if task.is_none() {
                        new.end(exit, at);
                        new.log = super::envelope::place(did);
                    }
                    new.output.clone_from(&output.text);
                    // Of commands that ended in the foreground only those can be asked about that say so.
                    if task.is_some() || new.log.is_some() {
                        self.tasks.push(new);
                    }
                }
                (
                    Action::Session(Session::Spawn { kind, description, background, resume, .. }),
                    Outcome::Agent { id, text, .. },
                ) => {
                    let agent = match resume.as_ref().and_then(|id| self.agents.iter().find(|known| known.0 == *id)) {
                        Some((_, agent, _)) => agent.clone(),
                        None => {
                            new_agents += 1;
                            self.agent_name(&call.id, new_agents - 1)
                        }
                    };
                    let known = self.agents.iter().find(|known| known.0 == *id).map(|known| known.2.clone());
                    let kind = known.unwrap_or_else(|| kind.clone());
                    self.agents.retain(|known| known.0 != *id);
                    self.agents.push((id.clone(), agent.clone(), kind.clone()));
                    if *background {
                        let work = Work::Agent { id: id.clone(), agent, kind };
                        let mut new = self.task(agent_task_id(done.tag), work, description.clone(), call, done.at);
                        new.output.clone_from(text);
                        self.tasks.push(new);
                    }
                }
                (
                    Action::World(
                        World::Task(TaskOp::Output { task, .. } | TaskOp::Stop { task }) | World::Stdin { task, .. },
                    ),
                    Outcome::Ran { output, exit, .. },
                ) => {
                    if let Some(known) = self.tasks.iter_mut().find(|known| known.shell() == Some(*task)) {
                        known.output.push_str(&output.text);
                        known.end(exit, at);
                        if call.name == "TaskStop" && *exit == Exit::Stopped {
                            known.stop_reason = Some(args.text("reason").unwrap_or(super::tasks::STOPPED).to_owned());
                            known.silent = true;
                        }
                    }
                }
                (Action::Session(Session::Agent { id, op, .. }), outcome) => {
                    let own = |task: &&mut Task| matches!(&task.work, Work::Agent { id: known, .. } if known == id);
                    let Some(known) = self.tasks.iter_mut().rev().find(own) else { continue };
                    match (op.as_str(), outcome) {
                        ("stop", Outcome::Ok) => {
                            known.end(&Exit::Stopped, at);
                            known.stop_reason = Some(args.text("reason").unwrap_or(super::tasks::STOPPED).to_owned());
                            known.silent = true;
                        }
                        // Nothing is said of one that still works.
                        (_, Outcome::Agent { text, .. }) if !text.is_empty() => {
                            known.output.clone_from(text);
                            known.end(&Exit::Code(0), at);
                        }
                        (_, Outcome::Failed(failure)) => {
                            known.output = super::refusal::failure(failure);
                            known.end(&Exit::Code(1), at);
                        }
                        _ => {}
                    }
                }
                (_, Outcome::Tasks(listed)) => self.listed(listed, at),
                _ => {}
            }
        }
    }

    fn task(&self, id: String, work: Work, description: String, call: &Call, started: Millis) -> Task {
        Task {
            id,
            work,
            description,
            call: call.id.clone(),
            started,
            state: State::Running,
            ran: None,
            exit: None,
            stop_reason: None,
            silent: false,
            output: String::new(),
            log: None,
            foreground: false,
        }
    }

    /// Tasks that the runtime does not know any more were of an earlier process.
    fn listed(&mut self, listed: &[TaskInfo], at: Millis) {
        for task in self.tasks.iter_mut().filter(|task| task.state == State::Running) {
            let Some(id) = task.shell() else { continue };
            match listed.iter().find(|info| info.task == id) {
                Some(info) => task.end(&info.exit, at),
                None => task.state = State::Lost,
            }
        }
    }
}

/// The process behind a task that has just been started.
pub(super) fn pid(start: &Done, listed: &Outcome) -> Option<u32> {
    match (&start.outcome, listed) {
        (Outcome::Ran { task: Some(task), .. }, Outcome::Tasks(listed)) => {
            listed.iter().find(|info| info.task == *task).and_then(|info| info.pid)
        }
        _ => None,
    }
}

pub(super) fn shell_id(tag: u64) -> String {
    format!("bash-{}", id8(tag))
}

pub(super) fn agent_task_id(tag: u64) -> String {
    format!("agent-{}", id8(tag))
}

/// Eight of `[a-z0-9]`.
fn id8(mut tag: u64) -> String {
    const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut id = String::new();
    for _ in 0..8 {
        id.push(char::from(DIGITS[(tag % 36) as usize]));
        tag /= 36;
    }
    id
}
