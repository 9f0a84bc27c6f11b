//! A throw-away home, a workspace, and a scripted model; and runs of the binary in them, each with a deadline.
use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use demo::scripted::{Recorded, Server, Step};
use protocol::WireId;
use serde_json::Value;
use tempfile::TempDir;

/// No run takes longer; one that does is killed and the test fails.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    root: TempDir,
    pub(crate) server: Server,
    wire: WireId,
}

#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// The most memory that the program or one of its children held, in bytes.
    pub(crate) peak: u64,
}

impl Ran {
    /// The JSON events of stdout. Every line must be one.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}\n{self:?}"));
        self.stdout.lines().map(parse).collect()
    }
    /// Types of the events, with the types of their items.
    #[track_caller]
    pub(crate) fn outline(&self) -> Vec<String> {
        let of = |e: &Value| match e["item"]["type"].as_str() {
            Some(item) => format!("{} {item}", e["type"].as_str().unwrap_or_default()),
            None => e["type"].as_str().unwrap_or_default().to_owned(),
        };
        self.events().iter().map(of).collect()
    }
    #[track_caller]
    pub(crate) fn thread(&self) -> String {
        self.events()[0]["thread_id"].as_str().expect("thread.started comes first").to_owned()
    }
    /// The message that `turn.failed` carries.
    #[track_caller]
    pub(crate) fn failure(&self) -> String {
        let events = self.events();
        let failed =
            events.iter().find(|e| e["type"] == "turn.failed").unwrap_or_else(|| panic!("no failure: {self:?}"));
        failed["error"]["message"].as_str().expect("a message").to_owned()
    }
}

impl Place {
    pub(crate) fn new(wire: WireId, steps: Vec<Step>) -> Place {
        Place::with(wire, Server::steps(steps).expect("a port"))
    }

    pub(crate) fn with(wire: WireId, server: Server) -> Place {
        let root = TempDir::new().expect("a temporary folder");
        let place = Place { root, server, wire };
        fs::create_dir_all(place.home().join(".openinterpreter")).expect("home");
        fs::create_dir_all(place.workspace().join(".git")).expect("workspace");
        fs::write(place.workspace().join(".git/HEAD"), "ref: refs/heads/main\n").expect("HEAD");
        place.write_config("");
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    /// The same provider over another wire from here on.
    pub(crate) fn speak(&mut self, wire: WireId) {
        self.wire = wire;
        self.write_config("");
    }

    /// Another script for the model.
    pub(crate) fn script(&mut self, steps: Vec<Step>) {
        self.server = Server::steps(steps).expect("a port");
        self.write_config("");
    }

    /// The user's config: the scripted provider, and `more` before its table.
    pub(crate) fn write_config(&self, more: &str) {
        let text = format!(
            "model = \"stub-model\"\nmodel_provider = \"stub\"\n{more}\n[model_providers.stub]\nname = \"Stub\"\nbase_url = \"{}\"\n\
             wire_api = \"{}\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
            self.server.base_url(),
            self.wire.as_str()
        );
        fs::write(self.home().join(".openinterpreter/config.toml"), text).expect("config");
    }

    /// The binary in the workspace, with nothing of the caller's environment but PATH.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interpreter"));
        command.args(args).current_dir(self.workspace()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        finish(self.command(args), None)
    }

    pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(&self, args: &[S], stdin: &[u8]) -> Ran {
        finish(self.command(args), Some(stdin.to_vec()))
    }

    /// `exec --json -s workspace-write ... "do it"`.
    pub(crate) fn exec(&self, more: &[&str]) -> Ran {
        let mut args = vec!["exec", "--json", "-s", "workspace-write"];
        args.extend(more);
        args.push("do it");
        self.run(&args)
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }
    #[track_caller]
    pub(crate) fn request(&self, n: usize) -> Value {
        let requests = self.requests();
        requests.get(n).unwrap_or_else(|| panic!("{} requests, asked for {n}", requests.len())).json()
    }

    /// The only session file.
    pub(crate) fn rollout(&self) -> PathBuf {
        let mut found = Vec::new();
        collect(&self.home().join(".openinterpreter/sessions"), &mut found);
        found.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

/// All files below a folder.
pub(crate) fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, found) } else { found.push(path) }
    }
}

/// Runs to the end, feeding stdin.
#[track_caller]
pub(crate) fn finish(mut command: Command, stdin: Option<Vec<u8>>) -> Ran {
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    let begun = Instant::now();
    let mut child = command.spawn().expect("the binary starts");
    if let (Some(bytes), Some(mut pipe)) = (stdin, child.stdin.take()) {
        thread::spawn(move || pipe.write_all(&bytes));
    }
    wait(child, begun)
}

/// Waits for a child that was started before.
#[track_caller]
pub(crate) fn wait(mut child: Child, begun: Instant) -> Ran {
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let (code, peak) = loop {
        if let Some((status, peak)) = ended(&child) {
            break (status.code(), peak);
        }
        if begun.elapsed() > DEADLINE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("no end after {DEADLINE:?}: {:?}\n{:?}", out.recv(), err.recv());
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |rx: mpsc::Receiver<Vec<u8>>| String::from_utf8_lossy(&rx.recv().unwrap_or_default()).into_owned();
    Ran { code, stdout: text(out), stderr: text(err), took: begun.elapsed(), peak }
}

/// How a child ended, and its peak of memory. None: it runs. As `Child::try_wait`, which does not tell the peak.
fn ended(child: &Child) -> Option<(ExitStatus, u64)> {
    let mut status = 0;
    // SAFETY: plain numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = i32::try_from(child.id()).expect("a process id");
    // SAFETY: both pointers are to locals that outlive the call.
    let got = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
    assert!(got >= 0, "wait4: {}", std::io::Error::last_os_error());
    // Linux counts KiB, macOS bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (got == pid).then(|| (ExitStatus::from_raw(status), u64::try_from(usage.ru_maxrss).unwrap_or(0) * unit))
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = tx.send(bytes);
    });
    rx
}
