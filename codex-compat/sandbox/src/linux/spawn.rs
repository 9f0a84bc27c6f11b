//! The parent's side of one command: prepares the disk, starts the helper, sends it the order.
use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, fs::MetadataExt, net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, Once,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    Child,
    channel::{self, FIRST_OWN_FD},
    child::Guarded,
    detect, helper, limits,
    order::Order,
    placeholder::{Placeholder, sweep},
    plan::{Plan, c_path, c_string},
    tree,
    weak::Watch,
};
use crate::{Error, Launch, Rung, Session, Spec, Status, Stdin, Stream, protected};

/// `argv[0]` that turns the program into the helper.
const HELPER_NAME: &str = "interpreter-sandbox";

/// Set by [`helper_if_asked`]: this executable answers to the helper's name. Without it a start of ourselves would run
/// the whole program again.
static ANSWERS: AtomicBool = AtomicBool::new(false);
static HELPER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Must be the first statement of `main`: if this process was started as the sandbox helper, it is the helper from here
/// on and never returns. Costs nothing else.
pub fn helper_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == HELPER_NAME) {
        helper::run();
    }
    ANSWERS.store(true, Ordering::Relaxed);
}

/// The executable to start as helper, whose `main` calls [`helper_if_asked`]. Default: this program itself.
pub fn set_helper(path: PathBuf) {
    if let Ok(mut helper) = HELPER.lock() {
        *helper = Some(path);
    }
}

/// Starts a command. Takes about a millisecond; with a terminal it returns when that exists, some milliseconds later.
/// What goes wrong after the start (a step of the jail, a program that is not there) is the child's status.
pub fn spawn(spec: &Spec, launch: Launch) -> Result<Child, Error> {
    let foreign_owner = has_foreign_owner(spec);
    let rung = match (spec.unconfined(), foreign_owner) {
        (true, _) => None,
        (false, false) => Some(detect::rung()?),
        (false, true) => Some(detect::with_real_capabilities()?),
    };
    if rung == Some(Rung::Nothing) {
        return Err(Error::Refused(Rung::Nothing.message(None, false).unwrap_or_default()));
    }
    let mut order = Order {
        rung,
        foreign_owner,
        network: spec.network,
        own_session: launch.session == Session::Own,
        linger: launch.linger,
        tty: launch.tty,
        open_files: limits::before(),
        cwd: c_path(&spec.cwd.join(&launch.cwd))?,
        ..Order::default()
    };
    let mut kept = Guarded::default();
    if let Some(rung) = rung {
        kept = confine(spec, rung, &mut order)?;
    }
    if launch.argv.is_empty() {
        return Err(Error::NoCommand);
    }
    order.argv = launch.argv.iter().map(|arg| c_string(arg.as_bytes())).collect::<Result<_, _>>()?;
    order.env = launch.env.iter().map(|(name, value)| variable(name, value)).collect::<Result<_, _>>()?;
    if !rung.is_some_and(Rung::has_pid_ns) {
        let mark = random_mark()?;
        order.env.push(variable(tree::MARK.as_ref(), mark.as_ref())?);
        kept.mark = Some(mark);
    }
    let mut streams = Streams::default();
    if launch.tty.is_none() {
        streams.standard(launch.stdin, launch.stdout, launch.stderr)?;
    }
    for (fd, target) in launch.extra {
        if !(3..FIRST_OWN_FD).contains(&target) || streams.theirs.len() == channel::MAX_FDS {
            return Err(Error::Descriptor(target));
        }
        streams.give(fd, target);
    }
    order.targets = streams.targets;
    let mut child = start(&order, &streams.theirs, kept)?;
    (child.stdin, child.stdout, child.stderr) = (streams.stdin, streams.stdout, streams.stderr);
    if launch.tty.is_some() {
        child.wait_for_terminal()?;
    }
    Ok(child)
}

/// Starts the helper on an order whose descriptors are `fds`.
pub(super) fn start(order: &Order, fds: &[RawFd], kept: Guarded) -> Result<Child, Error> {
    let path = match HELPER.lock().ok().and_then(|helper| helper.clone()) {
        Some(path) => path,
        None if ANSWERS.load(Ordering::Relaxed) => PathBuf::from("/proc/self/exe"),
        None => return Err(Error::NotAHelper { path: std::env::current_exe().unwrap_or_default() }),
    };
    let (near, far) = UnixStream::pair()?;
    let near = OwnedFd::from(near);
    // No `pre_exec` and no other descriptors: then std uses posix_spawn, which costs the same however big we are.
    // The command's environment travels in the order, so that nothing in it (LD_PRELOAD) reaches the helper.
    let helper = Command::new(&path)
        .arg0(HELPER_NAME)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| Error::Helper { path: path.clone(), source })?;
    // From here on dropping the child ends the helper, whatever state it is in.
    let mut child = Child::new(helper, near, kept);
    match channel::send_order(child.control(), &order.encode(), fds) {
        Ok(()) => Ok(child),
        // It has given up before it read the order, and told why.
        Err(source) if matches!(source.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
            match child.wait() {
                Ok(Status::NotRun(failure)) => Err(failure.into()),
                _ => Err(Error::Helper { path, source }),
            }
        }
        Err(source) => Err(Error::Helper { path, source }),
    }
}

/// Prepares the disk and the order for a command with walls.
fn confine(spec: &Spec, rung: Rung, order: &mut Order) -> Result<Guarded, Error> {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| drop(sweep(&spec.state)));
    let mut kept = Guarded::default();
    let mut guards = protected::survey(spec);
    let weak = spec.weak && rung == Rung::Landlock;
    if rung.has_mounts() {
        kept.placeholders = Placeholder::put(&mut guards, &spec.state)?;
    } else if weak {
        kept.watch = Some(Watch::remember(&guards)?);
    }
    let plan = Plan::new(spec, &guards, rung, !weak)?;
    (order.mounts, order.whole_disk, order.grants) = (plan.mounts, plan.whole_disk, plan.grants);
    Ok(kept)
}

/// Root without capabilities may not write what belongs to others. In a container the workspace often does.
fn has_foreign_owner(spec: &Spec) -> bool {
    let foreign = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.uid() != 0);
    // SAFETY: no memory is involved.
    let root = unsafe { libc::geteuid() } == 0;
    root && (foreign(&spec.cwd) || spec.writable_roots().any(foreign))
}

fn variable(name: &std::ffi::OsStr, value: &std::ffi::OsStr) -> Result<std::ffi::CString, Error> {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(value);
    c_string(text.as_bytes())
}

fn random_mark() -> io::Result<String> {
    let mut bytes = [0u8; 8];
    // SAFETY: pointer and length are those of `bytes`.
    super::sys::check(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) as i64 })?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// The descriptors of one command: what is sent, and our ends of the pipes.
#[derive(Default)]
struct Streams {
    theirs: Vec<RawFd>,
    targets: Vec<i32>,
    /// Keeps what is in `theirs` open until it is sent.
    owned: Vec<OwnedFd>,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

impl Streams {
    fn give(&mut self, fd: OwnedFd, target: i32) {
        self.lend(fd.as_raw_fd(), target);
        self.owned.push(fd);
    }

    fn lend(&mut self, fd: RawFd, target: i32) {
        self.theirs.push(fd);
        self.targets.push(target);
    }

    fn standard(&mut self, stdin: Stdin, stdout: Stream, stderr: Stream) -> io::Result<()> {
        match stdin {
            Stdin::Null => self.give(null()?, 0),
            Stdin::Inherit => self.lend(0, 0),
            Stdin::Fd(fd) => self.give(fd, 0),
            Stdin::Pipe => {
                let (read, write) = io::pipe()?;
                self.give(read.into(), 0);
                self.stdin = Some(write.into());
            }
        }
        self.stdout = self.output(stdout, 1)?;
        self.stderr = self.output(stderr, 2)?;
        Ok(())
    }

    fn output(&mut self, stream: Stream, target: i32) -> io::Result<Option<OwnedFd>> {
        match stream {
            Stream::Null => self.give(null()?, target),
            Stream::Inherit => self.lend(target, target),
            Stream::Fd(fd) => self.give(fd, target),
            // The descriptor given before this one: that of stdout.
            Stream::Merged => match self.theirs.last() {
                Some(stdout) => self.lend(*stdout, target),
                None => self.give(null()?, target),
            },
            Stream::Pipe => {
                let (read, write) = io::pipe()?;
                self.give(write.into(), target);
                return Ok(Some(read.into()));
            }
        }
        Ok(None)
    }
}

fn null() -> io::Result<OwnedFd> {
    File::options().read(true).write(true).open(Path::new("/dev/null")).map(OwnedFd::from)
}
