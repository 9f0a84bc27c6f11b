//! A place of its own for one run of an original: a temporary home, a small repository to work in, and a recorder on loopback. The
//! user's home, login and keys are not in its environment. Two rooms differ in everything that a prompt could say of them.
use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use demo::scripted::{Recorded, Server, Step, Turn};
use protocol::{Content, Entry, Tool, WireId};
use serde_json::json;
use tempfile::TempDir;

pub(super) struct Room {
    pub(super) home: PathBuf,
    pub(super) cwd: PathBuf,
    /// `http://127.0.0.1:PORT`
    pub(super) url: String,
    /// Stands in every path and name of this room, and nowhere else.
    pub(super) token: String,
    pub(super) branch: String,
    server: Server,
    root: TempDir,
    stop: Arc<AtomicBool>,
}

/// The first main request of an original: the one that offers tools. Titles and topics are asked for without.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) wire: WireId,
    pub(super) model: String,
    /// Blocks of the system text.
    pub(super) prompt: Vec<String>,
    pub(super) tools: Vec<Tool>,
    pub(super) user_agent: Option<String>,
}

/// How often a running original is looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// After its main request was answered, an original may take so long to end by itself.
const GRACE: Duration = Duration::from_millis(300);

impl Room {
    /// `n`: 0 or 1, which of the two. `stop`: nobody waits any more, and what runs here is to end.
    pub(super) fn new(n: usize, stop: &Arc<AtomicBool>) -> io::Result<Room> {
        // No letters and digits that a prompt could hold by chance; of the same length in both rooms.
        let token = ["zqwlearnone", "zqwlearntwo"][n % 2].to_owned();
        let root = tempfile::Builder::new().prefix(&format!("{token}-")).tempdir()?;
        let base = fs::canonicalize(root.path())?;
        let (home, cwd) = (base.join(format!("{token}-home")), base.join(format!("{token}-work")));
        let git = cwd.join(".git");
        for folder in [&home, &git.join("objects"), &git.join("refs/heads")] {
            fs::create_dir_all(folder)?;
        }
        let branch = format!("{token}-branch");
        fs::write(git.join("HEAD"), format!("ref: refs/heads/{branch}\n"))?;
        fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        // Before and behind AGENTS.md in a listing, so that no line of it is the same in both.
        fs::write(cwd.join(format!("{}-{token}.txt", ["a", "z"][n % 2])), "hello\n")?;
        let server = Server::answering(|_, request| answer(request))?;
        let url = format!("http://{}", server.address());
        Ok(Room { home, cwd, url, token, branch, server, root, stop: stop.clone() })
    }

    /// Instructions of the project.
    pub(super) fn instruct(&self) -> io::Result<()> {
        fs::write(self.cwd.join("AGENTS.md"), format!("Instruction {} of this project.\n", self.token))
    }

    /// What this room's environment is, and nothing of the user's but the search path, the language and the terminal.
    fn surround(&self, command: &mut Command) {
        let own: Vec<(OsString, OsString)> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        command.env_clear();
        for name in
            ["PATH", "LANG", "LC_ALL", "TERM", "TZ", "SHELL", "NODE_PATH", "NVM_DIR", "VOLTA_HOME", "BUN_INSTALL"]
        {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", &self.home).env("PWD", &self.cwd);
        for (name, below) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_STATE_HOME", ".local/state"),
        ] {
            command.env(name, self.home.join(below));
        }
        // Whatever would go elsewhere finds a closed door.
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            command.env(name, "http://127.0.0.1:9");
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, "127.0.0.1,localhost");
        }
        command.env("LEARN_URL", &self.url).envs(own).current_dir(&self.cwd);
    }

    /// What a program says of itself, in one line. None: it does not.
    pub(super) fn version(&self, program: &str) -> Option<String> {
        let mut command = Command::new(program);
        command.arg("--version");
        let run = self.run(command, Instant::now() + Duration::from_secs(10), || false).ok()?;
        let numbered = |line: &&str| {
            line.as_bytes().windows(3).any(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit())
        };
        // Warnings come before it.
        let line = run.output.lines().map(str::trim).rfind(numbered)?;
        run.status.filter(ExitStatus::success).map(|_| line.chars().take(100).collect())
    }

    /// Runs the original until it has asked its model for the first time. Err: one line, and the end of what it printed.
    pub(super) fn listen(&self, command: Command, until: Instant, patience: Duration) -> Result<Heard, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let run = self.run(command, until, || self.heard().is_some());
        let run = run.map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => format!(
                "Error: no command `{name}`. Install it or add its folder to PATH, or give the command: `interpreter harness learn ID -- COMMAND`."
            ),
            _ => format!("Error: cannot run {name}: {why}"),
        })?;
        if let Some(heard) = self.heard() {
            return Ok(heard);
        }
        let what = match run.status {
            None => format!("asked its model nothing in {} seconds", patience.as_secs()),
            Some(status) => format!("ended ({status}) without asking its model"),
        };
        let asked = self.server.requests().len();
        let tail: Vec<&str> = run.output.lines().filter(|line| !line.trim().is_empty()).collect();
        let tail = tail[tail.len().saturating_sub(5)..].join("\n  ");
        let said = if tail.is_empty() { String::new() } else { format!(" It said:\n  {tail}") };
        Err(format!(
            "Error: {name} {what} ({asked} requests, none with tools). Give a command that speaks to {{url}} after `--`.{said}"
        ))
    }

    fn heard(&self) -> Option<Heard> {
        self.server.requests().iter().find_map(heard)
    }

    fn run(&self, mut command: Command, until: Instant, enough: impl Fn() -> bool) -> io::Result<Run> {
        self.surround(&mut command);
        let log = self.root.path().join("output");
        let out = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out).process_group(0);
        let mut group = Group(command.spawn()?);
        let mut until = until;
        let mut satisfied = false;
        let status = loop {
            if let Some(status) = group.0.try_wait()? {
                break Some(status);
            }
            if !satisfied && enough() {
                satisfied = true;
                until = until.min(Instant::now() + GRACE);
            }
            if Instant::now() >= until || self.stop.load(Ordering::SeqCst) {
                break None;
            }
            std::thread::sleep(PAUSE);
        };
        drop(group);
        Ok(Run { status, output: tail(&log) })
    }
}

struct Run {
    /// None: it was ended by us.
    status: Option<ExitStatus>,
    output: String,
}

/// A program and everything that it started; ended when this is dropped.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let id = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            // What has ended already is no failure.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// The end of a file, 8 KiB at most.
fn tail(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(8192)..]).into_owned()
}

/// What the recorder says: hello, once; the rest is what clients ask for beside it.
fn answer(request: &Recorded) -> Step {
    let json = |status, body: serde_json::Value| Step::refuse(status, &body);
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method != "POST" {
        return match path.ends_with("/models") {
            true => json(200, json!({"object": "list", "data": [{"id": "learn-model", "object": "model"}]})),
            false => json(404, json!({"error": {"message": "not here"}})),
        };
    }
    if path.ends_with("/count_tokens") {
        return json(200, json!({"input_tokens": 100}));
    }
    if !["/messages", "/chat/completions", "/responses"].iter().any(|end| path.ends_with(end)) {
        return json(404, json!({"error": {"message": "not here"}}));
    }
    Turn::text("Hello.").into()
}

/// The request, where it is a main one.
fn heard(request: &Recorded) -> Option<Heard> {
    if request.method != "POST" {
        return None;
    }
    let asked = wires::wire(request.wire).parse_request(&request.body).ok()?;
    let opening = asked.prompt.opening;
    let mut prompt: Vec<String> = opening.instructions.iter().flat_map(|(_, content)| blocks(content)).collect();
    if prompt.is_empty() {
        let first = asked.prompt.said.iter().map_while(|entry| match entry {
            Entry::Instruct(_, content) => Some(blocks(content)),
            _ => None,
        });
        prompt = first.flatten().collect();
    }
    // Codex tells the rest (skills, permissions) in further messages, which are of the thread and not of the program.
    if request.wire == WireId::Responses {
        prompt.truncate(1);
    }
    let main = !opening.tools.is_empty() && !prompt.is_empty();
    main.then(|| Heard {
        wire: request.wire,
        model: asked.model,
        prompt,
        tools: opening.tools,
        user_agent: request.header("user-agent"),
    })
}

fn blocks(content: &Content) -> Vec<String> {
    match content {
        Content::Plain(text) => vec![text.clone()],
        Content::Parts(parts) => parts.iter().filter_map(|part| part.as_text().map(str::to_owned)).collect(),
    }
}
