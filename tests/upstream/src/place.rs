//! Where one program runs a case: a throw-away home and workspace, a scripted model, and every run with a deadline.
use std::{
    collections::VecDeque,
    fs,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use demo::scripted::{Recorded, Server, Step};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    case::{Case, Run},
    model,
};

/// No run takes longer; one that does is ended, and the report says so.
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Codex,
    Ours,
}

impl Side {
    pub(crate) fn dot(self) -> &'static str {
        match self {
            Side::Codex => ".codex",
            Side::Ours => ".openinterpreter",
        }
    }
}

pub(crate) struct Ran {
    /// None: ended by a signal, or at the deadline.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) struct Place {
    root: TempDir,
    side: Side,
    server: Server,
    steps: Arc<Mutex<VecDeque<Step>>>,
    thread: String,
}

impl Place {
    pub(crate) fn new(side: Side, case: &Case) -> io::Result<Place> {
        // Not below /tmp, which commands may write.
        let parent = Path::new("/var/tmp");
        let parent = if parent.is_dir() { parent.to_owned() } else { std::env::temp_dir() };
        let root = tempfile::Builder::new().prefix("upstream-").tempdir_in(parent.canonicalize()?)?;
        let steps: Arc<Mutex<VecDeque<Step>>> = Arc::default();
        let (script, work) = (steps.clone(), root.path().join("work"));
        let server = Server::answering(move |n, request| {
            let step = script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            fill(step.unwrap_or_else(|| model::say("done").into()), n, request, &work)
        })?;
        let place = Place { root, side, server, steps, thread: String::new() };
        place.furnish(case)?;
        Ok(place)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }
    pub(crate) fn settings(&self) -> PathBuf {
        self.home().join(self.side.dot())
    }
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }
    /// What stands for what in texts to be compared.
    pub(crate) fn names(&self) -> Vec<(String, &'static str)> {
        vec![
            (self.work().display().to_string(), "<WORK>"),
            (self.settings().display().to_string(), "<SETTINGS>"),
            (self.home().display().to_string(), "<HOME>"),
            (self.root.path().display().to_string(), "<ROOT>"),
            (self.server.base_url(), "<URL>"),
            (self.server.address().to_string(), "<ADDRESS>"),
            (self.side.dot().to_owned(), "<DOT>"),
        ]
    }

    fn expand(&self, text: &str) -> String {
        text.replace("<<work>>", &self.work().display().to_string())
            .replace("<<home>>", &self.home().display().to_string())
            .replace("<<url>>", &self.server.base_url())
            .replace("<<dot>>", self.side.dot())
            .replace("<<thread>>", &self.thread)
    }

    fn furnish(&self, case: &Case) -> io::Result<()> {
        let (work, settings) = (self.work(), self.settings());
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&settings)?;
        if case.git {
            let git =
                Command::new("git").args(["-c", "init.defaultBranch=main", "init", "-q"]).current_dir(&work).status();
            if !git.is_ok_and(|status| status.success()) {
                return Err(io::Error::other("git init failed"));
            }
        }
        for (path, content) in &case.files {
            let path = work.join(self.expand(path));
            fs::create_dir_all(path.parent().unwrap_or(&work))?;
            match std::str::from_utf8(content) {
                Ok(text) => fs::write(path, self.expand(text))?,
                Err(_) => fs::write(path, content)?,
            }
        }
        for (path, text) in &case.settings {
            fs::write(settings.join(path), self.expand(text))?;
        }
        fs::write(settings.join("config.toml"), self.expand(&self.config(case)))
    }

    fn config(&self, case: &Case) -> String {
        if let Some(text) = &case.whole_config {
            return text.clone();
        }
        let harness = if self.side == Side::Ours { "harness = \"native\"\n" } else { "" };
        let mut provider = "name = \"Stub\"\nbase_url = \"<<url>>\"\nwire_api = \"responses\"\n".to_owned();
        for (key, value) in [("request_max_retries", "0"), ("stream_max_retries", "0")] {
            if !case.provider.contains(key) {
                provider.push_str(&format!("{key} = {value}\n"));
            }
        }
        let trust = if case.trusted { "[projects.\"<<work>>\"]\ntrust_level = \"trusted\"\n" } else { "" };
        let model = case.model;
        format!(
            "model = \"{model}\"\nmodel_provider = \"stub\"\n{harness}{}\n[model_providers.stub]\n{provider}{}\n{trust}{}",
            case.config, case.provider, case.tables
        )
    }

    /// Runs the program to its end.
    pub(crate) fn run(&mut self, program: &Path, case: &Case, run: &Run) -> io::Result<Ran> {
        let steps = run.ours.as_ref().filter(|_| self.side == Side::Ours).unwrap_or(&run.steps);
        *self.steps.lock().unwrap_or_else(PoisonError::into_inner) = steps.iter().cloned().collect();
        let mut command = Command::new(program);
        command.args(run.args.iter().map(|arg| self.expand(arg))).current_dir(self.work().join(run.cwd)).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8");
        if self.side == Side::Codex {
            command.env("CODEX_HOME", self.settings());
        }
        command.envs(case.env.iter().copied());
        command.stdin(if run.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
        if let (Some(bytes), Some(mut pipe)) = (run.stdin.clone(), child.stdin.take()) {
            // A program that ends early need not read it.
            thread::spawn(move || pipe.write_all(&bytes));
        }
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begun.elapsed() > DEADLINE {
                end_group(child.id());
                child.wait()?;
                let (stdout, stderr) = (text(out), text(err));
                return Ok(Ran { code: None, stdout, stderr: format!("{stderr}\n<no end after {DEADLINE:?}>") });
            }
            thread::sleep(Duration::from_millis(5));
        };
        end_group(child.id());
        let ran = Ran { code: status.code(), stdout: text(out), stderr: text(err) };
        let first = ran.stdout.lines().next().unwrap_or_default();
        if let Ok(Value::Object(event)) = serde_json::from_str(first)
            && let Some(id) = event.get("thread_id").and_then(Value::as_str)
        {
            self.thread = id.to_owned();
        }
        Ok(ran)
    }
}

/// Whatever the program has left behind holds our pipes open; it goes with its process group.
fn end_group(leader: u32) {
    // SAFETY: a plain system call on a number. The group is the child's own (`process_group(0)`).
    unsafe { libc::kill(-(leader as libc::pid_t), libc::SIGKILL) };
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn text(reader: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

/// Puts in what only the running conversation knows.
fn fill(step: Step, n: usize, request: &Recorded, work: &Path) -> Step {
    let Step::Raw { status, headers, pieces, end } = step else { return step };
    let work = work.display().to_string();
    let session = last_session(request).unwrap_or_else(|| "0".to_owned());
    let fill = |piece: Vec<u8>| match String::from_utf8(piece) {
        Ok(text) if text.contains("<<") => text
            .replace("<<n>>", &n.to_string())
            .replace("<<work>>", &work)
            .replace("\\\"<<session>>\\\"", &session)
            .into_bytes(),
        Ok(text) => text.into_bytes(),
        Err(bytes) => bytes.into_bytes(),
    };
    Step::Raw { status, headers, pieces: pieces.into_iter().map(fill).collect(), end }
}

/// The session that the newest result of a command names.
fn last_session(request: &Recorded) -> Option<String> {
    let body = request.json();
    let outputs = body["input"].as_array()?.iter().rev().filter_map(|item| item["output"].as_str());
    let named = outputs.filter_map(|text| text.split_once("session ID ")).next()?.1;
    Some(named.chars().take_while(char::is_ascii_digit).collect())
}
