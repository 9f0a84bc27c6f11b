//! Carrying out the calls of a reply: each is a small program of Actions; every Action passes the gate, is done, and shown.
use std::{path::PathBuf, time::Instant};

use futures_util::{
    StreamExt as _,
    stream::{self, FuturesUnordered},
};
use harnesses::{Flow, Next, Order};
use protocol::{
    Action, Answer, Body, Call, Captured, Done, Event, Exit, Outcome, Reply, Run, SandboxMode, Session, Status, TaskId,
    TaskOp, TurnError, View, ViewKind, World,
};

use crate::{
    KEPT_OUTPUT,
    gate::{Verdict, judge},
    hub::Open,
    thread::{Stopped, Thread},
    views,
};

/// A call's program ends by itself after a few rounds of Actions; one that does not is stopped here. A round may hold an Action
/// for each of hundreds of files.
const MAX_ROUNDS: usize = 64;

/// The answer to a call that was cut off, where the dialect would have mended and run it.
const CUT_OFF: &str =
    "The output limit cut this call off before it was whole, so it was not run. Make it again, in smaller pieces.";

impl Thread {
    /// All calls of a reply, group after group; then the harness says how to go on.
    pub(crate) async fn carry_out(
        &self,
        reply: &Reply,
        calls: Vec<Call>,
        order: Order,
        repaired: u32,
    ) -> Result<Flow, Stopped> {
        self.keep_reading(reply, &calls, repaired)?;
        for group in &order.groups {
            let chosen = calls.iter().filter(|call| group.contains(&call.id));
            let mut running: FuturesUnordered<_> =
                chosen.map(|call| self.run_call(call, reply.torn().is_some_and(|torn| torn.id == call.id))).collect();
            while let Some(result) = running.next().await {
                result?;
            }
            if self.hub.mailbox.stopped() {
                return Err(Stopped::Interrupted);
            }
        }
        Ok(self.with(|cx| {
            let start = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).unwrap_or(0);
            harnesses::after(self.harness, cx, &cx.items[start..])
        }))
    }

    /// One call: `next(call, done so far)` until there is an answer. `torn`: it was cut off, and is answered without being run.
    async fn run_call(&self, call: &Call, torn: bool) -> Result<(), TurnError> {
        let begun = Instant::now();
        let mut did: Vec<Done> = Vec::new();
        let mut rounds = 0;
        let answer = loop {
            let stopped = self.hub.mailbox.stopped();
            if stopped || matches!(did.last(), Some(Done { outcome: Outcome::Interrupted { .. }, .. })) {
                let ran = Some(begun.elapsed().as_millis() as u64);
                break self.with(|cx| self.harness.cut_short(cx, call, &did, ran));
            }
            match self.with(|cx| self.harness.next(cx, call, &did)) {
                Next::Answer(answer) => break answer,
                Next::Reject { answer, note } => {
                    self.reject(call, note)?;
                    break answer;
                }
                Next::Do(_) if torn => {
                    self.reject(call, CUT_OFF.to_owned())?;
                    break Answer::failed(CUT_OFF);
                }
                Next::Do(_) if rounds >= MAX_ROUNDS => {
                    let text = format!("{} did not come to an end", call.name);
                    self.reject(call, text.clone())?;
                    break Answer::failed(text);
                }
                Next::Do(actions) => {
                    rounds += 1;
                    did.extend(self.act_all(call, actions).await);
                }
            }
        };
        let did = did.into_iter().map(kept).collect();
        self.record(Body::Called { call: call.id.clone(), did, answer }).map(drop)
    }

    /// To be followed by the call's answer at once.
    fn reject(&self, call: &Call, note: String) -> Result<(), TurnError> {
        self.record(Body::Rejected { call: call.id.clone(), note: note.clone() })?;
        self.hub.emit(Event::CallRejected { tool: call.name.clone(), message: note });
        Ok(())
    }

    /// The Actions of a round, one after another; sub-agents side by side, as many as may be.
    pub(crate) async fn act_all(&self, call: &Call, actions: Vec<Action>) -> Vec<Done> {
        let agents = actions.iter().all(|action| matches!(action, Action::Session(Session::Spawn { .. })));
        let at_once = if agents { self.free_agents() } else { 1 };
        stream::iter(actions).map(|action| self.act(call, action)).buffered(at_once).collect().await
    }

    /// One Action: gate, deed, events.
    async fn act(&self, call: &Call, action: Action) -> Done {
        let (at, begun) = (crate::now(), Instant::now());
        let outcome = match judge(&action, &self.settings()) {
            Verdict::Refuse(refusal) => Outcome::Refused(refusal),
            Verdict::Go => self.perform(call, &action, false).await,
            Verdict::Ask { outside } => match self.approve(&action, outside).await {
                Ok(()) => self.perform(call, &action, outside).await,
                Err(refusal) => Outcome::Refused(refusal),
            },
        };
        Done { action, outcome, took: begun.elapsed().as_millis() as u64, at, tag: crate::tag() }
    }

    async fn perform(&self, call: &Call, action: &Action, outside: bool) -> Outcome {
        match action {
            Action::World(World::Run(run)) => self.run_command(call, run, outside).await,
            Action::World(World::Change(changes)) => self.change(call, changes, outside).await,
            Action::World(world) => self.world(call, world.clone(), outside, None).await,
            Action::Session(session) => self.session_action(session).await,
        }
    }

    /// Hands an Action to the host, under the thread's sandbox unless it may run outside.
    async fn world(&self, call: &Call, world: World, outside: bool, key: Option<u64>) -> Outcome {
        let mut scope = self.scope.call(&call.id).outside(outside).cancelled_by(&self.hub.mailbox.cancel());
        if let Some(listen) = key.and_then(|key| self.hub.listener(key)) {
            scope = scope.on_output(listen);
        }
        let task = task_of(&world);
        let outcome = self.host.perform(&scope, world).await;
        // A task whose end is told here needs no notice.
        if let (Some(task), Outcome::Ran { exit, .. }) = (task, &outcome)
            && *exit != Exit::Running
        {
            self.hub.tell_end(task);
        }
        outcome
    }

    /// The command as Codex shows it: the whole argument list, quoted for a shell.
    pub(crate) fn command_line(&self, run: &Run) -> String {
        let argv = tools::shell_argv(&run.shell, &run.script);
        shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "))
    }

    pub(crate) fn run_cwd(&self, run: &Run) -> PathBuf {
        let cwd = &self.settings().cwd;
        run.cwd.as_ref().map_or_else(|| cwd.clone(), |own| cwd.join(own))
    }

    async fn run_command(&self, call: &Call, run: &Run, outside: bool) -> Outcome {
        let (key, since) = (self.hub.key(), Instant::now());
        let (command, cwd) = (self.command_line(run), self.run_cwd(run));
        let started = ViewKind::Command {
            command: command.clone(),
            cwd: cwd.clone(),
            output: String::new(),
            exit_code: None,
            status: Status::InProgress,
            took: 0,
        };
        self.hub.emit(Event::ItemStarted(View { key, kind: started }));
        let outcome = self.world(call, World::Run(run.clone()), outside, Some(key)).await;
        self.tell_walls();
        let took = since.elapsed().as_millis() as u64;
        match (views::command_end(&command, &cwd, &outcome, took), &outcome) {
            (Some(kind), _) => self.hub.emit(Event::ItemCompleted(View { key, kind })),
            (None, Outcome::Ran { task: Some(task), .. }) => {
                self.hub.leave_open(*task, Open { key, command, cwd, since });
            }
            (None, _) => {}
        }
        outcome
    }

    /// Once, after the first command (only then it is known): weaker walls than usual, or none.
    fn tell_walls(&self) {
        if self.walls_told.replace(true) || self.scope.spec().unconfined() {
            return;
        }
        let settings = self.settings();
        let policy = &settings.sandbox;
        let workspace = (policy.mode == SandboxMode::WorkspaceWrite).then_some(settings.cwd.as_path());
        if let Some(message) = sandbox::detect().message(workspace, policy.weak) {
            self.hub.hint(&message);
        }
    }

    /// A change that is refused or fails before anything is written shows no item, as upstream.
    async fn change(&self, call: &Call, changes: &[protocol::Change], outside: bool) -> Outcome {
        let outside = outside || self.writes_plan(changes);
        let outcome = self.world(call, World::Change(changes.to_vec()), outside, None).await;
        if let Outcome::Changed(done) = &outcome {
            let key = self.hub.key();
            let changes = views::done(done);
            for (event, status) in [
                (Event::ItemStarted as fn(View) -> Event, Status::InProgress),
                (Event::ItemCompleted, Status::Completed),
            ] {
                let kind = ViewKind::FileChange { changes: changes.clone(), status };
                self.hub.emit(event(View { key, kind }));
            }
        }
        outcome
    }

    /// Calls of the newest reply that have no answer (after an interrupt) get one.
    pub(crate) fn close_open_calls(&self) -> Result<(), TurnError> {
        let open: Vec<Call> = {
            let history = self.history.borrow();
            let step = history.step();
            let read = step.iter().find_map(|item| match &item.body {
                Body::Read { calls, dropped, .. } => Some(if *dropped { Vec::new() } else { calls.clone() }),
                _ => None,
            });
            let calls = match (read, step.first().map(|item| &item.body)) {
                (Some(calls), _) => calls,
                (None, Some(Body::Reply { reply, .. })) => reply.calls().cloned().collect(),
                (None, _) => Vec::new(),
            };
            let answered = |call: &Call| {
                step.iter().any(|item| matches!(&item.body, Body::Called { call: id, .. } if *id == call.id))
            };
            calls.into_iter().filter(|call| !answered(call)).collect()
        };
        for call in open {
            let answer = self.with(|cx| self.harness.cut_short(cx, &call, &[], None));
            self.record(Body::Called { call: call.id.clone(), did: Vec::new(), answer })?;
        }
        Ok(())
    }
}

/// The task that an Action looks at.
fn task_of(world: &World) -> Option<TaskId> {
    match world {
        World::Stdin { task, .. } | World::Task(TaskOp::Output { task, .. } | TaskOp::Stop { task }) => Some(*task),
        _ => None,
    }
}

/// What of a deed is kept with its item: stamps and exits, not whole texts; those stand in the answer, or in a file of their own.
fn kept(mut done: Done) -> Done {
    if let Action::World(World::Save { text, .. }) = &mut done.action {
        text.clear();
    }
    match &mut done.outcome {
        Outcome::Ran { output, .. } | Outcome::Interrupted { output: Some(output) } => shrink(output),
        Outcome::Text { text, .. } => text.clear(),
        _ => {}
    }
    done
}

fn shrink(output: &mut Captured) {
    if output.text.len() > KEPT_OUTPUT {
        *output = output.shrunk(KEPT_OUTPUT);
    }
}
