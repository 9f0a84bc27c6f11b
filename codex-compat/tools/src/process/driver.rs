//! Drives one command from its start until nothing of it runs any more: takes its output, feeds its terminal, ends its tree.
//!
//! It needs no thread: the sandbox's control socket and the output are watched by the runtime's reactor. Dropping the
//! driver (the end of the program) drops the child, and that ends the tree.
use std::{
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use protocol::{Exit, Failure, Millis};
use sandbox::{Child, Status};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

use super::{
    OnOutput,
    capture::{Stream, Whole},
    outputs::{Outputs, watched},
    state::{End, Order, Process, State},
};
use crate::fail;

/// After the shell's own end: for what is still in its pipe, and to see whether it left anything running.
const GRACE: Duration = Duration::from_millis(250);
/// After the tree was told to end, until its end is no longer waited for.
const KILL_GRACE: Duration = Duration::from_secs(4);
/// Between two looks at a terminal that nobody has open.
const HUNG_LOOK: Duration = Duration::from_millis(50);

pub(super) struct Driver {
    pub(super) process: Arc<Process>,
    pub(super) child: Child,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    /// The tree is ended after this.
    pub(super) timeout: Option<Millis>,
    /// Where the shell tells its last folder.
    pub(super) cwd: Option<OwnedFd>,
    pub(super) sink: Sink,
}

/// The ends that a command is watched on.
pub(super) struct Wires {
    control: AsyncFd<OwnedFd>,
    outputs: Outputs,
}

impl Wires {
    pub(super) fn new(child: &mut Child) -> io::Result<Wires> {
        let control = watched(child.as_fd().try_clone_to_owned()?, Interest::READABLE)?;
        Ok(Wires { control, outputs: Outputs::new(child)? })
    }
}

/// Where output goes: into the record, and on to who listens, up to as many bytes as are kept.
pub(super) struct Sink {
    process: Arc<Process>,
    listener: Option<OnOutput>,
    room: u64,
    /// By [`Stream`]; a character that came in two pieces goes on when it is whole.
    whole: [Whole; 2],
    /// We ended the command: what shells still say about killed children is not its output.
    deaf: bool,
}

impl Sink {
    pub(super) fn new(process: Arc<Process>, listener: Option<OnOutput>, room: u64) -> Sink {
        Sink { process, listener, room, whole: Default::default(), deaf: false }
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if self.deaf {
            return;
        }
        let whole = self.whole[stream as usize].push(bytes);
        if whole.is_empty() {
            return;
        }
        self.process.output(stream, &whole);
        let Some(listener) = &self.listener else { return };
        self.room = self.room.saturating_sub(whole.len() as u64);
        listener(&String::from_utf8_lossy(&whole));
        if self.room == 0 {
            self.listener = None;
        }
    }

    /// Nothing more comes: a character that never became whole counts as it is.
    fn end(&mut self) {
        for stream in Stream::BOTH {
            let rest = self.whole[stream as usize].rest();
            if !rest.is_empty() {
                self.process.output(stream, &rest);
            }
        }
    }

    /// What is in the pipes now.
    fn drain(&mut self, outputs: &mut Outputs, buffer: &mut [u8]) {
        outputs.drain(buffer, |stream, bytes| self.push(stream, bytes));
    }
}

/// Why we ended it.
enum Ending {
    Stopped,
    TimedOut(Millis),
}

impl Driver {
    pub(super) async fn drive(mut self, wires: Wires) {
        let Wires { control, mut outputs } = wires;
        let timeout = self.timeout.map(|ms| Instant::now() + Duration::from_millis(ms));
        let mut buffer = vec![0u8; 64 << 10];
        let mut input: Vec<u8> = Vec::new();
        let mut status: Option<Status> = None;
        let mut ending: Option<Ending> = None;
        // When the end is told even if the output is open or something still runs.
        let mut at_latest: Option<Instant> = None;
        let mut all_ended = false;
        loop {
            if status.is_some() && outputs.done() && all_ended {
                break;
            }
            let timer = if ending.is_none() && status.is_none() { timeout } else { None };
            let timer = [timer, at_latest].into_iter().flatten().min();
            tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    Some(Order::Input(bytes)) => self.input(&mut input, bytes),
                    Some(Order::Drain) => {
                        self.sink.drain(&mut outputs, &mut buffer);
                        self.process.change(|state| state.drains += 1);
                    }
                    Some(Order::Stop) | None => {
                        ending.get_or_insert(Ending::Stopped);
                        at_latest = Some(self.kill(&mut outputs, &mut buffer));
                    }
                },
                () = at(timer) => {
                    if at_latest.is_some_and(|latest| latest <= Instant::now()) {
                        break;
                    }
                    if let Some(ms) = self.timeout {
                        ending = Some(Ending::TimedOut(ms));
                    }
                    at_latest = Some(self.kill(&mut outputs, &mut buffer));
                }
                ready = control.readable(), if !all_ended => {
                    let result = self.child.try_wait().and_then(|now| Ok((now, self.child.try_ended()?)));
                    let (now, ended) = result.unwrap_or((Some(Status::Signaled(libc::SIGKILL)), true));
                    if let Ok(mut ready) = ready {
                        ready.clear_ready();
                    }
                    if status.is_none() && now.is_some() && at_latest.is_none() {
                        at_latest = Some(Instant::now() + GRACE);
                    }
                    status = status.or(now);
                    all_ended = ended;
                }
                () = outputs.exchange(&mut buffer, &mut input, |stream, bytes| self.sink.push(stream, bytes)) => {}
                () = sleep(HUNG_LOOK), if outputs.hung() => self.sink.drain(&mut outputs, &mut buffer),
            }
        }
        self.sink.drain(&mut outputs, &mut buffer);
        let left = !all_ended && ending.is_none();
        self.sink.end();
        let own = if outputs.apart { Stream::Err } else { Stream::Out };
        self.tell_end(status, ending, left, own);
        if !all_ended {
            self.outlive(control, outputs, buffer).await;
        }
        self.process.change(State::is_gone);
    }

    /// The tree is told to end; when that is taken for done. What was written until now counts.
    fn kill(&mut self, outputs: &mut Outputs, buffer: &mut [u8]) -> Instant {
        self.sink.drain(outputs, buffer);
        self.sink.deaf = true;
        self.child.kill_tree();
        Instant::now() + KILL_GRACE
    }

    fn input(&self, pending: &mut Vec<u8>, bytes: Vec<u8>) {
        if self.process.tty {
            pending.extend(bytes);
        } else if bytes.contains(&INTERRUPT) {
            let _ = self.child.signal(libc::SIGINT);
        }
    }

    /// `own`: where we say something of our own.
    fn tell_end(&mut self, status: Option<Status>, ending: Option<Ending>, left: bool, own: Stream) {
        for path in self.child.restored() {
            let line = format!("sandbox: {} was changed and put back\n", path.display());
            self.process.output(own, line.as_bytes());
        }
        let short = matches!(&status, Some(Status::NotRun(failure)) if failure.is_shortage());
        let exit = match (ending, status) {
            (_, Some(Status::NotRun(failure))) => Err(not_run(&failure)),
            (Some(Ending::Stopped), _) => Ok(Exit::Stopped),
            (Some(Ending::TimedOut(ms)), _) => Ok(Exit::TimedOut(ms)),
            (None, Some(Status::Exited(code))) => Ok(Exit::Code(code)),
            (None, Some(Status::Signaled(signal))) => Ok(Exit::Signal(signal)),
            // Not told within the time after which it counts as gone.
            (None, None) => Ok(Exit::Signal(libc::SIGKILL)),
        };
        let cwd_after = self.cwd.take().and_then(told_cwd);
        self.process.change(|state| state.end = Some(End { exit, cwd_after, left, short }));
    }

    /// What the command left running lives on; what it still writes is read, so that it never waits, and goes to the log only.
    async fn outlive(&mut self, control: AsyncFd<OwnedFd>, mut outputs: Outputs, mut buffer: Vec<u8>) {
        let mut killed: Option<Instant> = None;
        let mut no_input = Vec::new();
        loop {
            if matches!(self.child.try_ended(), Ok(true) | Err(_)) {
                return;
            }
            tokio::select! {
                biased;
                order = self.orders.recv() => if matches!(order, Some(Order::Stop) | None) && killed.is_none() {
                    self.child.kill_tree();
                    killed = Some(Instant::now() + KILL_GRACE);
                },
                // Dropping the child is the last resort.
                () = at(killed) => return,
                ready = control.readable() => {
                    let ended = self.child.try_ended();
                    if let Ok(mut ready) = ready {
                        ready.clear_ready();
                    }
                    if !matches!(ended, Ok(false)) {
                        return;
                    }
                }
                () = outputs.exchange(&mut buffer, &mut no_input, |_, bytes| if killed.is_none() {
                    self.process.late_output(bytes);
                }) => {}
            }
        }
    }
}

/// What a terminal turns into an interrupt.
const INTERRUPT: u8 = 3;

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

pub(super) fn not_run(failure: &sandbox::Failure) -> Failure {
    let error = io::Error::from_raw_os_error(failure.errno);
    if failure.step.starts_with("exec ") || failure.step.starts_with("working folder ") {
        Failure::Spawn { errno: failure.errno, message: fail::message(&error) }
    } else {
        Failure::Sandbox(failure.to_string())
    }
}

/// What the shell wrote; processes that it left may hold the other end, so only what is there is read.
fn told_cwd(fd: OwnedFd) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    rustix::io::ioctl_fionbio(&fd, true).ok()?;
    let mut bytes = Vec::new();
    let mut file = File::from(fd);
    let mut buffer = [0u8; 4096];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(bytes.strip_suffix(b"\n")?.to_vec()));
    path.is_absolute().then_some(path)
}
