//! Shells that live on from one command to the next, by name: what a script sets, the next one finds.
//!
//! Such a shell reads scripts from a socket, runs each in itself, and answers with status and folder. It is a command as any
//! other for the driver. A timeout, an interrupt or an `exit` ends it; the next command gets a new one.
use std::{
    cell::Cell,
    collections::HashMap,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use protocol::{Exit, Failure, Outcome, Run};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::Instant,
};

use super::{Process, Start, StopOnDrop, Tasks, spawn_failure, start, start_patiently, state, until};
use crate::Scope;

/// One digit: some shells know no others in a redirection. It is closed for the scripts.
const FD: i32 = 8;
const LOOP: &str = r#"while IFS= read -r -d '' interpreter_script <&8; do
eval "$interpreter_script" 8<&- </dev/null
printf '%s\0%s\0' "$?" "$PWD" >&8
done"#;

#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<HashMap<String, Slot>>);

/// One command at a time.
type Slot = Arc<tokio::sync::Mutex<Option<KeptShell>>>;

#[derive(Debug)]
struct KeptShell {
    process: Arc<Process>,
    socket: UnixStream,
}

impl Kept {
    fn slot(&self, name: &str) -> Slot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
    }
}

impl KeptShell {
    async fn start(tasks: &Tasks, cx: &Scope, run: &Run) -> Result<KeptShell, Failure> {
        let socket = Cell::new(None);
        let start = || {
            let (near, far) = std::os::unix::net::UnixStream::pair()?;
            near.set_nonblocking(true)?;
            socket.set(Some(UnixStream::from_std(near)?));
            let argv = ["bash", "-c", LOOP].map(Into::into).to_vec();
            let extra = vec![(OwnedFd::from(far), FD)];
            let how = Start { argv, extra, told: None, timeout: None, on_output: None, logged: false, apart: false };
            start(cx, run, how)
        };
        let process = start_patiently(start, || {}).await?;
        tasks.watch(&process);
        // Looked at from the start: each command's output is what came since the one before.
        process.look(&mut process.state());
        match socket.take() {
            Some(socket) => Ok(KeptShell { process, socket }),
            // It is set before every start.
            None => Err(spawn_failure(&std::io::ErrorKind::NotConnected.into())),
        }
    }

    /// Status and folder at the end of a script. None: the shell has ended.
    async fn run(&mut self, script: &str) -> Option<(i32, PathBuf)> {
        // The shell takes NUL for the end of the script; no program could get one as an argument either.
        let script = script.replace('\0', "");
        self.socket.write_all(script.as_bytes()).await.ok()?;
        self.socket.write_all(b"\0").await.ok()?;
        let mut told = Vec::new();
        while told.iter().filter(|byte| **byte == 0).count() < 2 {
            let mut buffer = [0u8; 4096];
            match self.socket.read(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => told.extend_from_slice(&buffer[..read]),
            }
        }
        let mut fields = told.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let code = fields.next()?.parse().ok()?;
        Some((code, PathBuf::from(fields.next()?.into_owned())))
    }
}

/// A command in the shell of that name. Handing it back while it runs is not possible here: only the timeout ends the waiting, and
/// it ends the shell.
pub(super) async fn run(tasks: &Tasks, cx: &Scope, run: &Run, name: &str) -> Outcome {
    let slot = tasks.kept().slot(name);
    let mut slot = slot.lock().await;
    // Ended by a script, by `stop_all`, or let go of in the middle.
    slot.take_if(|shell| shell.process.state().end.is_some() || shell.process.stopping());
    let mut shell = match slot.take() {
        Some(shell) => shell,
        None => match KeptShell::start(tasks, cx, run).await {
            Ok(shell) => shell,
            Err(failure) => return Outcome::Failed(failure),
        },
    };
    let process = shell.process.clone();
    let guard = StopOnDrop(&process);
    let deadline = run.timeout.map(|ms| Instant::now() + Duration::from_millis(ms));
    let told = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            process.stop();
            process.ended().await;
            return Outcome::Interrupted { output: Some(process.look(&mut process.state())) };
        }
        () = until(deadline) => {
            process.stop();
            process.ended().await;
            let output = process.look(&mut process.state());
            let exit = Exit::TimedOut(run.timeout.unwrap_or_default());
            return Outcome::Ran { output, exit, cwd_after: None, task: None, left: false };
        }
        told = shell.run(&run.script) => told,
    };
    let Some((code, cwd)) = told else {
        process.ended().await;
        let mut state = process.state();
        let output = process.look(&mut state);
        guard.disarm();
        return match &state.end {
            Some(end) => state::ended(end, output),
            None => Outcome::Failed(Failure::Other(format!("the shell {name} is gone"))),
        };
    };
    process.drained().await;
    guard.disarm();
    *slot = Some(shell);
    let output = process.look(&mut process.state());
    let cwd_after = run.track_cwd.then_some(cwd);
    Outcome::Ran { output, exit: Exit::Code(code), cwd_after, task: None, left: false }
}
