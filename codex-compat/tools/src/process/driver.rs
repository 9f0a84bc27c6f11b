//! Drives one command from its start until nothing of it runs any more: takes its output, feeds its terminal, ends its tree.
//!
//! It needs no thread: the sandbox's control socket and the output are watched by the runtime's reactor. Dropping the
//! driver (the end of the program) drops the child, and that ends the tree.
use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd},
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
    capture::Decoder,
    state::{End, Order, Process, State},
};
use crate::fail;

/// After the shell's own end: for what is still in its pipe, and to see whether it left anything running.
const GRACE: Duration = Duration::from_millis(250);
/// After the tree was told to end, until its end is no longer waited for.
const KILL_GRACE: Duration = Duration::from_secs(4);
/// Between two looks at a terminal that nobody has open.
const HUNG_LOOK: Duration = Duration::from_millis(50);
/// Reads in a row before others get their turn.
const BURST: u32 = 16;

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

/// The two ends that a command is watched on.
pub(super) struct Wires {
    control: AsyncFd<OwnedFd>,
    output: Output,
}

/// The pipe of both outputs, or the terminal.
#[derive(Default)]
struct Output {
    /// None once it has ended.
    fd: Option<AsyncFd<File>>,
    /// Nobody has the terminal open. Its last user may still run (`cat` closes everything before it exits), and closing our
    /// end would hang up on it; so it stays open to the end, and is looked at now and then only.
    hung: bool,
}

impl Wires {
    pub(super) fn new(child: &mut Child) -> io::Result<Wires> {
        let control = watched(child.as_fd().try_clone_to_owned()?, Interest::READABLE)?;
        let (fd, interest) = match (child.terminal.take(), child.stdout.take()) {
            (Some(terminal), _) => (terminal, Interest::READABLE | Interest::WRITABLE),
            (None, Some(pipe)) => (pipe, Interest::READABLE),
            (None, None) => return Ok(Wires { control, output: Output::default() }),
        };
        rustix::io::ioctl_fionbio(&fd, true)?;
        let fd = Some(watched(File::from(fd), interest)?);
        Ok(Wires { control, output: Output { fd, hung: false } })
    }
}

impl Output {
    /// What is worth waiting for.
    fn open(&mut self) -> Option<&mut AsyncFd<File>> {
        if self.hung { None } else { self.fd.as_mut() }
    }

    fn done(&self) -> bool {
        self.hung || self.fd.is_none()
    }

    fn close(&mut self, tty: bool) {
        if tty {
            self.hung = true;
        } else {
            self.fd = None;
        }
    }
}

fn watched<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>>
where
    OwnedFd: From<T>,
{
    // SAFETY: `owner` owns its descriptor and keeps the same one open until it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(owner, interest) }?)
}

/// Where output goes: into the record, and on to who listens, up to as many bytes as are kept.
pub(super) struct Sink {
    process: Arc<Process>,
    listener: Option<OnOutput>,
    room: u64,
    decoder: Decoder,
    /// We ended the command: what shells still say about killed children is not its output.
    deaf: bool,
}

impl Sink {
    pub(super) fn new(process: Arc<Process>, listener: Option<OnOutput>, room: u64) -> Sink {
        Sink { process, listener, room, decoder: Decoder::default(), deaf: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.deaf {
            return;
        }
        self.process.output(bytes);
        let Some(listener) = &self.listener else { return };
        let text = self.decoder.push(bytes);
        self.room = self.room.saturating_sub(bytes.len() as u64);
        if !text.is_empty() {
            listener(&text);
        }
        if self.room == 0 {
            self.listener = None;
        }
    }

    /// What is in the pipe now, and not what a process in the background adds meanwhile.
    fn drain(&mut self, output: Option<&mut AsyncFd<File>>, buffer: &mut [u8]) {
        let Some(output) = output else { return };
        for _ in 0..BURST {
            match output.get_mut().read(buffer) {
                Ok(read) if read > 0 => self.push(&buffer[..read]),
                _ => break,
            }
        }
    }
}

/// Why we ended it.
enum Ending {
    Stopped,
    TimedOut(Millis),
}

impl Driver {
    pub(super) async fn drive(mut self, wires: Wires) {
        let Wires { control, mut output } = wires;
        let timeout = self.timeout.map(|ms| Instant::now() + Duration::from_millis(ms));
        let mut buffer = vec![0u8; 64 << 10];
        let mut input: Vec<u8> = Vec::new();
        let mut status: Option<Status> = None;
        let mut ending: Option<Ending> = None;
        // When the end is told even if the output is open or something still runs.
        let mut at_latest: Option<Instant> = None;
        let mut all_ended = false;
        loop {
            if status.is_some() && output.done() && all_ended {
                break;
            }
            let timer = if ending.is_none() && status.is_none() { timeout } else { None };
            let timer = [timer, at_latest].into_iter().flatten().min();
            tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    Some(Order::Input(bytes)) => self.input(&mut input, bytes),
                    Some(Order::Drain) => {
                        self.sink.drain(output.fd.as_mut(), &mut buffer);
                        self.process.change(|state| state.drains += 1);
                    }
                    Some(Order::Stop) | None => {
                        ending.get_or_insert(Ending::Stopped);
                        at_latest = Some(self.kill(output.fd.as_mut(), &mut buffer));
                    }
                },
                () = at(timer) => {
                    if at_latest.is_some_and(|latest| latest <= Instant::now()) {
                        break;
                    }
                    if let Some(ms) = self.timeout {
                        ending = Some(Ending::TimedOut(ms));
                    }
                    at_latest = Some(self.kill(output.fd.as_mut(), &mut buffer));
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
                ended = exchange(output.open(), &mut buffer, &mut input, |bytes| self.sink.push(bytes)) => if ended {
                    output.close(self.process.tty);
                },
                () = sleep(HUNG_LOOK), if output.hung => self.sink.drain(output.fd.as_mut(), &mut buffer),
            }
        }
        self.sink.drain(output.fd.as_mut(), &mut buffer);
        let left = !all_ended && ending.is_none();
        self.tell_end(status, ending, left);
        if !all_ended {
            self.outlive(control, output, buffer).await;
        }
        self.process.change(State::is_gone);
    }

    /// The tree is told to end; when that is taken for done. What was written until now counts.
    fn kill(&mut self, output: Option<&mut AsyncFd<File>>, buffer: &mut [u8]) -> Instant {
        self.sink.drain(output, buffer);
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

    fn tell_end(&mut self, status: Option<Status>, ending: Option<Ending>, left: bool) {
        for path in self.child.restored() {
            self.process.output(format!("sandbox: {} was changed and put back\n", path.display()).as_bytes());
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
    async fn outlive(&mut self, control: AsyncFd<OwnedFd>, mut output: Output, mut buffer: Vec<u8>) {
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
                ended = exchange(output.open(), &mut buffer, &mut no_input, |bytes| if killed.is_none() {
                    self.process.late_output(bytes);
                }) => if ended {
                    output.close(self.process.tty);
                },
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

/// Reads what is there and writes what waits, a limited number of times. True: there will be no more output. Cancel safe: bytes
/// are handed on before anything is waited for.
async fn exchange(
    output: Option<&mut AsyncFd<File>>,
    buffer: &mut [u8],
    input: &mut Vec<u8>,
    mut take: impl FnMut(&[u8]),
) -> bool {
    let Some(output) = output else { return std::future::pending().await };
    let interest = if input.is_empty() { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
    let Ok(mut ready) = output.ready_mut(interest).await else { return true };
    if !input.is_empty() && ready.ready().is_writable() {
        match ready.get_inner_mut().write(input) {
            Ok(written) => drop(input.drain(..written)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                ready.clear_ready_matching(tokio::io::Ready::WRITABLE);
            }
            Err(_) => input.clear(),
        }
    }
    for _ in 0..BURST {
        match ready.get_inner_mut().read(buffer) {
            Ok(0) => return true,
            Ok(read) => take(&buffer[..read]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                ready.clear_ready_matching(tokio::io::Ready::READABLE);
                return false;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // A terminal whose last user has closed it.
            Err(_) => return true,
        }
    }
    drop(ready);
    // More is there: others first.
    tokio::task::yield_now().await;
    false
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
