//! Commands: started in the sandbox, waited for, handed back as tasks, ended with everything they started.
mod capture;
mod driver;
mod kept;
mod log;
mod outputs;
mod places;
mod shell;
mod state;
mod tasks;

use std::{ffi::OsString, io, os::fd::OwnedFd, path::Path, sync::Arc, time::Duration};

use protocol::{Exit, Failure, Millis, OnTimeout, Outcome, Run, Shell};
use sandbox::{Launch, Size};
use tokio::{sync::mpsc, time::Instant};

use self::{
    driver::{Driver, Sink, Wires},
    log::Log,
    shell::{CWD_FD, telling_cwd},
};
pub use self::{
    shell::{shell_argv, user_shell},
    tasks::Ended,
};
pub(crate) use self::{state::Process, tasks::Tasks};
use crate::{Scope, fail};

/// Takes output of a command as it comes.
pub type OnOutput = Arc<dyn Fn(&str) + Send + Sync>;

/// Of a terminal that nobody looks at.
const SIZE: Size = Size { rows: 24, cols: 80 };

/// How a command is started, beside what its `Run` says.
struct Start {
    argv: Vec<OsString>,
    /// More descriptors and their numbers.
    extra: Vec<(OwnedFd, i32)>,
    /// Where the shell tells its last folder.
    told: Option<OwnedFd>,
    timeout: Option<Millis>,
    on_output: Option<OnOutput>,
    /// It may become a task.
    logged: bool,
    /// stderr has a pipe of its own.
    apart: bool,
}

impl Start {
    fn fresh(cx: &Scope, run: &Run) -> io::Result<Start> {
        let mut start = Start {
            argv: shell_argv(&run.shell, &run.script).into_iter().map(Into::into).collect(),
            extra: Vec::new(),
            told: None,
            timeout: run.timeout.filter(|_| run.on_timeout == OnTimeout::Kill),
            on_output: cx.on_output.clone(),
            logged: run.background || run.yield_after.is_some() || run.on_timeout == OnTimeout::Background,
            apart: run.apart,
        };
        if run.track_cwd {
            let (read, write) = io::pipe()?;
            start.extra.push((OwnedFd::from(write), CWD_FD));
            start.told = Some(read.into());
            start.argv.pop();
            start.argv.push(telling_cwd(&run.script));
        }
        Ok(start)
    }
}

/// A command that was not started.
struct Unstarted {
    failure: Failure,
    /// For want of descriptors, processes or memory: later it may go.
    shortage: bool,
}

impl From<Failure> for Unstarted {
    fn from(failure: Failure) -> Unstarted {
        Unstarted { failure, shortage: false }
    }
}

impl From<sandbox::Error> for Unstarted {
    fn from(error: sandbox::Error) -> Unstarted {
        let shortage = error.is_shortage();
        let failure = match error {
            sandbox::Error::Setup(failure) => driver::not_run(&failure),
            sandbox::Error::Nul { .. } => spawn_failure(&io::Error::from_raw_os_error(libc::EINVAL)),
            error => Failure::Sandbox(error.to_string()),
        };
        Unstarted { failure, shortage }
    }
}

impl From<io::Error> for Unstarted {
    fn from(error: io::Error) -> Unstarted {
        sandbox::Error::Io(error).into()
    }
}

/// Waits between attempts to start a command while something is short, in milliseconds.
const WAITS: [Millis; 7] = [20, 50, 100, 200, 400, 800, 1_600];

/// Starts a command, again and again for a little while where only a shortage stands against it. `short` hears of each.
async fn start_patiently(
    start: impl Fn() -> Result<Arc<Process>, Unstarted>,
    mut short: impl FnMut(),
) -> Result<Arc<Process>, Failure> {
    for wait in WAITS {
        match start() {
            Err(Unstarted { shortage: true, .. }) => {
                short();
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
            other => return other.map_err(|unstarted| unstarted.failure),
        }
    }
    start().map_err(|unstarted| unstarted.failure)
}

/// Starts a command and what drives it.
fn start(cx: &Scope, run: &Run, how: Start) -> Result<Arc<Process>, Unstarted> {
    sandbox::raise_open_files();
    let cwd = match &run.cwd {
        Some(cwd) => cx.cwd.join(cwd),
        None => cx.cwd.clone(),
    };
    check_folder(&cwd)?;
    let mut launch = Launch::new(how.argv, cx.environment(&run.env), cwd);
    launch.extra = how.extra;
    launch.linger = true;
    launch.tty = run.tty.then_some(SIZE);
    if how.apart {
        launch.stderr = sandbox::Stream::Pipe;
    }
    let mut child = sandbox::spawn(&cx.sandbox(), launch)?;
    let wires = Wires::new(&mut child)?;
    let (orders, received) = mpsc::unbounded_channel();
    let log = how.logged.then(|| Log::new(cx.saved.clone(), child.pid()));
    let process = Arc::new(Process::new(run.script.clone(), child.pid(), now(), run.tty, run.keep, log, orders));
    let driver = Driver {
        process: process.clone(),
        child,
        orders: received,
        timeout: how.timeout,
        cwd: how.told,
        sink: Sink::new(process.clone(), how.on_output, run.keep),
    };
    tokio::spawn(driver.drive(wires));
    Ok(process)
}

/// `World::Run`.
pub(crate) async fn run(tasks: &Tasks, cx: &Scope, run: &Run) -> Outcome {
    if let Shell::Kept(name) = &run.shell {
        return kept::run(tasks, cx, run, name).await;
    }
    // Held while the command starts and is waited for; one that runs on as a task gives it back.
    let mut place = tokio::select! {
        biased;
        place = tasks.places().take() => place,
        () = cx.cancel.cancelled() => return Outcome::Interrupted { output: None },
    };
    let mut waits = WAITS.into_iter();
    loop {
        let process = match start_patiently(|| start(cx, run, Start::fresh(cx, run)?), || place.close()).await {
            Ok(process) => process,
            Err(failure) => return Outcome::Failed(failure),
        };
        tasks.watch(&process);
        if run.background {
            return tasks.hand_back(&process);
        }
        let outcome = wait_for(tasks, cx, run, &process).await;
        // The sandbox found no more processes or descriptors inside: nothing of the command has run.
        match waits.next().filter(|_| process.was_short()) {
            Some(wait) => {
                place.close();
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
            None => return outcome,
        }
    }
}

/// Until it has ended, is to be handed back, or the user interrupts.
async fn wait_for(tasks: &Tasks, cx: &Scope, run: &Run, process: &Arc<Process>) -> Outcome {
    // Whoever stops waiting stops the command.
    let guard = StopOnDrop(process);
    let patience = [run.yield_after, run.timeout.filter(|_| run.on_timeout == OnTimeout::Background)];
    let patience = patience.into_iter().flatten().min().map(|ms| Instant::now() + Duration::from_millis(ms));
    tokio::select! {
        biased;
        () = process.ended() => {}
        () = cx.cancel.cancelled() => {
            process.stop();
            process.ended().await;
            let output = process.state().all.captured();
            return Outcome::Interrupted { output: Some(output) };
        }
        () = until(patience) => {
            guard.disarm();
            return tasks.hand_back(process);
        }
    }
    guard.disarm();
    tasks::final_outcome(process)
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

struct StopOnDrop<'a>(&'a Process);

impl StopOnDrop<'_> {
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn check_folder(cwd: &Path) -> Result<(), Failure> {
    match std::fs::metadata(cwd) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(spawn_failure(&io::Error::from_raw_os_error(libc::ENOTDIR))),
        Err(e) => Err(spawn_failure(&e)),
    }
}

fn spawn_failure(error: &io::Error) -> Failure {
    Failure::Spawn { errno: fail::errno(error), message: fail::message(error) }
}

pub(crate) fn now() -> Millis {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// The exit that a task shows while it runs or after it was never run.
fn exit_of(process: &Process) -> Exit {
    match &process.state().end {
        None => Exit::Running,
        Some(end) => end.exit.clone().unwrap_or(Exit::Code(127)),
    }
}

#[cfg(test)]
mod tests;
