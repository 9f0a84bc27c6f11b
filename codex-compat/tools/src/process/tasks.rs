//! Commands that were handed back while they run: looked at, fed, stopped, told of when they end.
use std::{
    collections::{BTreeMap, VecDeque},
    hash::{BuildHasher, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use protocol::{Exit, Failure, Millis, Outcome, TaskId, TaskInfo, TaskOp};
use tokio::{sync::Notify, time::Instant};

use super::{
    exit_of,
    kept::Kept,
    places::Places,
    state::{self, Order, Process},
    until,
};
use crate::Scope;

/// Without output for this long, an answer to input counts as complete.
const SETTLED: Duration = Duration::from_millis(500);
/// News are collected for this long before they are told.
const BATCH: Duration = Duration::from_millis(100);
/// All commands together get this long to end.
const STOP_LIMIT: Duration = Duration::from_secs(6);
/// Ended tasks that can still be asked about.
const MAX_ENDED: usize = 32;

/// A task that ended by itself or was stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub task: TaskId,
    /// The script.
    pub command: String,
    /// `Outcome::Ran` with everything that it wrote, or `Outcome::Failed` where it could not be run.
    pub outcome: Outcome,
    /// Since its start.
    pub took: Millis,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    table: Mutex<Table>,
    /// There is something in `ended`.
    news: Notify,
    kept: Kept,
    places: Places,
}

#[derive(Debug, Default)]
struct Table {
    /// Every command that may still run, in the foreground too.
    live: Vec<Weak<Process>>,
    tasks: BTreeMap<TaskId, Arc<Process>>,
    ended: VecDeque<Ended>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let table = self.table.get_mut().unwrap_or_else(PoisonError::into_inner);
        table.live.iter().filter_map(Weak::upgrade).for_each(|process| process.stop());
    }
}

impl Tasks {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn kept(&self) -> &Kept {
        &self.0.kept
    }

    pub(super) fn places(&self) -> &Places {
        &self.0.places
    }

    pub(super) fn watch(&self, process: &Arc<Process>) {
        let mut table = self.table();
        table.live.retain(|process| process.strong_count() > 0);
        table.live.push(Arc::downgrade(process));
    }

    /// Makes a running command a task and says so; one that has just ended is told as ended.
    pub(super) fn hand_back(&self, process: &Arc<Process>) -> Outcome {
        let task = {
            let mut table = self.table();
            table.forget_old();
            let mut state = process.state();
            if state.end.is_some() {
                drop(state);
                return final_outcome(process);
            }
            let task = table.draw();
            state.becomes(task);
            table.tasks.insert(task, process.clone());
            task
        };
        let output = process.look(&mut process.state());
        tokio::spawn(self.clone().tell_end(task, process.clone()));
        Outcome::Ran { output, exit: Exit::Running, cwd_after: None, task: Some(task), left: false }
    }

    /// Waits for the end of a task and puts it on the list. Holds the table only while there is something to tell.
    fn tell_end(self, task: TaskId, process: Arc<Process>) -> impl Future<Output = ()> {
        let inner = Arc::downgrade(&self.0);
        async move {
            process.ended().await;
            let Some(inner) = inner.upgrade() else { return };
            if process.state().task != Some(task) {
                return;
            }
            let outcome = final_outcome(&process);
            let took = super::now().saturating_sub(process.started);
            let ended = Ended { task, command: process.command.clone(), outcome, took };
            Tasks(inner.clone()).table().ended.push_back(ended);
            inner.news.notify_one();
        }
    }

    /// The next task that ended; for one listener at a time. Cancel safe.
    pub(crate) async fn next_ended(&self) -> Ended {
        loop {
            if let Some(ended) = self.table().ended.pop_front() {
                return ended;
            }
            self.0.news.notified().await;
        }
    }

    fn find(&self, task: TaskId) -> Result<Arc<Process>, Failure> {
        self.table().tasks.get(&task).cloned().ok_or(Failure::NoSuchTask(task))
    }

    /// `World::Stdin`. Waits until the command ends or `wait` has passed; after input, also until its output has settled.
    /// A task that has ended is told so once and forgotten.
    pub(crate) async fn stdin(&self, cx: &Scope, task: TaskId, bytes: Vec<u8>, wait: Millis) -> Outcome {
        let process = match self.find(task) {
            Ok(process) => process,
            Err(failure) => return Outcome::Failed(failure),
        };
        let fed = !bytes.is_empty();
        if fed {
            if !process.tty && bytes != [3] && process.state().end.is_none() {
                let text = "stdin is closed for this session; rerun exec_command with tty=true to keep stdin open";
                return Outcome::Failed(Failure::Other(text.into()));
            }
            process.state().last_output = None;
            process.order(Order::Input(bytes));
        }
        let deadline = Instant::now() + Duration::from_millis(wait);
        tokio::select! {
            biased;
            () = process.ended() => {}
            () = cx.cancel.cancelled() => {
                let output = process.look(&mut process.state());
                return Outcome::Interrupted { output: Some(output) };
            }
            () = until(Some(deadline)) => {}
            () = settled(&process), if fed => {}
        }
        let outcome = self.told(task, &process);
        if exit_of(&process) != Exit::Running {
            self.table().tasks.remove(&task);
        }
        outcome
    }

    pub(crate) async fn task(&self, cx: &Scope, op: TaskOp) -> Outcome {
        match op {
            TaskOp::List => {
                let tasks = self.table().tasks.clone();
                let info = |(task, process): (TaskId, Arc<Process>)| TaskInfo {
                    task,
                    command: process.command.clone(),
                    exit: exit_of(&process),
                    started: process.started,
                    pid: Some(process.pid),
                    log: process.state().log(),
                };
                Outcome::Tasks(tasks.into_iter().map(info).collect())
            }
            TaskOp::Output { task, wait } => {
                let process = match self.find(task) {
                    Ok(process) => process,
                    Err(failure) => return Outcome::Failed(failure),
                };
                let deadline = Instant::now() + Duration::from_millis(wait);
                tokio::select! {
                    biased;
                    () = process.ended() => {}
                    () = cx.cancel.cancelled() => {}
                    () = until(Some(deadline)) => {}
                    () = news(&process) => {}
                }
                self.told(task, &process)
            }
            TaskOp::Stop { task } => {
                let process = match self.find(task) {
                    Ok(process) => process,
                    Err(failure) => return Outcome::Failed(failure),
                };
                process.stop();
                process.ended().await;
                self.told(task, &process)
            }
        }
    }

    /// Output since the last look, and whether it still runs.
    fn told(&self, task: TaskId, process: &Process) -> Outcome {
        let mut state = process.state();
        let output = process.look(&mut state);
        match &state.end {
            None => Outcome::Ran { output, exit: Exit::Running, cwd_after: None, task: Some(task), left: false },
            Some(end) => state::ended(end, output),
        }
    }

    /// Ends every command with all that it started, and waits for that.
    pub(crate) async fn stop_all(&self) {
        let live: Vec<Arc<Process>> = self.table().live.iter().filter_map(Weak::upgrade).collect();
        for process in &live {
            // Who ends everything does not want to hear of each.
            process.state().task = None;
            process.stop();
        }
        let all_gone = async {
            for process in &live {
                process.gone().await;
            }
        };
        let _ = tokio::time::timeout(STOP_LIMIT, all_gone).await;
        let mut table = self.table();
        table.tasks.clear();
        table.ended.clear();
        table.live.retain(|process| process.strong_count() > 0);
    }
}

impl Table {
    /// Five digits, as Codex shows them.
    fn draw(&self) -> TaskId {
        loop {
            let random = std::hash::RandomState::new().build_hasher().finish();
            let task = TaskId(10_000 + random % 90_000);
            if !self.tasks.contains_key(&task) {
                return task;
            }
        }
    }

    fn forget_old(&mut self) {
        let mut ended: Vec<(Millis, TaskId)> = self
            .tasks
            .iter()
            .filter(|(_, process)| process.state().end.is_some())
            .map(|(task, process)| (process.started, *task))
            .collect();
        ended.sort_unstable();
        for (_, task) in ended.iter().rev().skip(MAX_ENDED) {
            self.tasks.remove(task);
        }
    }
}

/// How it ended, with everything that it wrote.
pub(super) fn final_outcome(process: &Process) -> Outcome {
    let state = process.state();
    match &state.end {
        Some(end) => state::ended(end, state.everything()),
        None => Outcome::Ran {
            output: state.everything(),
            exit: Exit::Running,
            cwd_after: None,
            task: state.task,
            left: false,
        },
    }
}

/// After the first output: no more of it for a while.
async fn settled(process: &Process) {
    loop {
        let last = process.wait(|state| state.last_output).await;
        let quiet = Instant::from_std(last) + SETTLED;
        if quiet <= Instant::now() {
            return;
        }
        until(Some(quiet)).await;
    }
}

async fn news(process: &Process) {
    process
        .wait(|state| {
            let seen = match &state.fresh {
                Some(fresh) => fresh,
                None => &state.all,
            };
            (!seen.is_empty()).then_some(())
        })
        .await;
    tokio::time::sleep(BATCH).await;
}
