//! A command that was started, as those see it who wait for it.
use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use protocol::{Captured, Exit, Failure, Millis, Outcome, TaskId};
use tokio::sync::{mpsc, watch};

use super::{
    capture::{Capture, Stream},
    log::Log,
};

/// What the driver is told.
#[derive(Debug)]
pub(super) enum Order {
    /// End the whole tree.
    Stop,
    /// For the terminal; a command on pipes gets its interrupt from it.
    Input(Vec<u8>),
    /// Take in what lies in the pipe, and say so.
    Drain,
}

#[derive(Debug)]
pub(crate) struct Process {
    pub(super) command: String,
    pub(super) pid: u32,
    pub(super) started: Millis,
    pub(super) tty: bool,
    keep: u64,
    orders: mpsc::UnboundedSender<Order>,
    state: Mutex<State>,
    /// Counts changes of the state.
    news: watch::Sender<u64>,
}

#[derive(Debug)]
pub(super) struct State {
    /// Everything.
    pub(super) all: Capture,
    /// Since the last look; none was taken where this is None.
    pub(super) fresh: Option<Capture>,
    /// Of a command that may become a task.
    log: Option<Log>,
    pub(super) last_output: Option<Instant>,
    pub(super) end: Option<End>,
    /// Nothing of it runs any more.
    pub(super) gone: bool,
    /// It was handed back as a task under this number, and its end is to be told.
    pub(super) task: Option<TaskId>,
    /// It was told to end.
    stopping: bool,
    /// How often the pipe was emptied on request.
    pub(super) drains: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) exit: Result<Exit, Failure>,
    pub(super) cwd_after: Option<PathBuf>,
    pub(super) left: bool,
    /// It was never run, for want of processes, descriptors or memory.
    pub(super) short: bool,
}

impl Process {
    pub(super) fn new(
        command: String,
        pid: u32,
        started: Millis,
        tty: bool,
        keep: u64,
        log: Option<Log>,
        orders: mpsc::UnboundedSender<Order>,
    ) -> Process {
        let state = State {
            all: Capture::new(keep),
            fresh: None,
            log,
            last_output: None,
            end: None,
            gone: false,
            task: None,
            stopping: false,
            drains: 0,
        };
        Process { command, pid, started, tty, keep, orders, state: Mutex::new(state), news: watch::Sender::new(0) }
    }

    /// Nothing that panics is ever done under the lock, so a poisoned one is as good.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn order(&self, order: Order) {
        // A driver that is gone has nothing left to do.
        let _ = self.orders.send(order);
    }

    pub(crate) fn stop(&self) {
        self.state().stopping = true;
        self.order(Order::Stop);
    }

    pub(super) fn stopping(&self) -> bool {
        self.state().stopping
    }

    /// Waits until everything written so far has been taken in.
    pub(super) async fn drained(&self) {
        let before = self.state().drains;
        self.order(Order::Drain);
        self.wait(|state| (state.drains > before || state.end.is_some()).then_some(())).await;
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.news.send_modify(|n| *n += 1);
    }

    /// Whole characters.
    pub(super) fn output(&self, stream: Stream, bytes: &[u8]) {
        self.change(|state| {
            if let Some(log) = &mut state.log {
                if log.not_yet() && !state.all.has_room(bytes.len()) {
                    log.begin(&state.all.kept());
                }
                log.push(bytes);
            }
            state.all.push(stream, bytes);
            if let Some(fresh) = &mut state.fresh {
                fresh.push(stream, bytes);
            }
            state.last_output = Some(Instant::now());
        });
    }

    /// Output after its end, of what it left running: for the log only.
    pub(super) fn late_output(&self, bytes: &[u8]) {
        if let Some(log) = &mut self.state().log {
            log.push(bytes);
        }
    }

    /// Waits until `ready` gives something; looks again at every change.
    pub(super) async fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut news = self.news.subscribe();
        loop {
            news.borrow_and_update();
            if let Some(found) = ready(&mut self.state()) {
                return found;
            }
            if news.changed().await.is_err() {
                // The sender lives as long as `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    pub(super) fn was_short(&self) -> bool {
        self.state().end.as_ref().is_some_and(|end| end.short)
    }

    pub(super) async fn ended(&self) {
        self.wait(|state| state.end.is_some().then_some(())).await;
    }

    pub(crate) async fn gone(&self) {
        self.wait(|state| state.gone.then_some(())).await;
    }

    /// Output since the last look. From the first look on, two records are kept.
    pub(super) fn look(&self, state: &mut State) -> Captured {
        let captured = match &mut state.fresh {
            Some(fresh) => fresh.take(),
            None => {
                state.fresh = Some(Capture::new(self.keep));
                state.all.captured()
            }
        };
        Captured { log: state.log(), ..captured }
    }
}

impl State {
    /// All output so far.
    pub(super) fn everything(&self) -> Captured {
        Captured { log: self.log(), ..self.all.captured() }
    }

    /// It becomes a task, and its log a file that stays.
    pub(super) fn becomes(&mut self, task: TaskId) {
        self.task = Some(task);
        if let Some(log) = &mut self.log {
            if log.not_yet() {
                log.begin(&self.all.kept());
            }
            log.tell();
        }
    }

    /// Nothing of it runs any more.
    pub(super) fn is_gone(&mut self) {
        self.gone = true;
        if let Some(log) = &mut self.log {
            log.close();
        }
    }

    pub(super) fn log(&self) -> Option<PathBuf> {
        self.log.as_ref()?.path().map(PathBuf::from)
    }
}

/// The outcome of a command that has ended, with this output.
pub(super) fn ended(end: &End, output: Captured) -> Outcome {
    match &end.exit {
        Err(failure) => Outcome::Failed(failure.clone()),
        Ok(exit) => {
            Outcome::Ran { output, exit: exit.clone(), cwd_after: end.cwd_after.clone(), task: None, left: end.left }
        }
    }
}
