//! `interpreter exec`: from the command line to a thread, its events to stdout and stderr, its end to an exit status.
use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use config::{FlagSetting, Home, Loaded, Override};
use protocol::{ApprovalPolicy, Event, Op, Part, Raw, TurnCause};
use runtime::{Begin, Limits, Local, Start, StartError, Which};
use tokio::sync::mpsc;

use crate::{
    bounded,
    flags::{Color, Command, Exec, ExecFlags, Flags},
    human::{Banner, Human, visible},
    jsonl::JsonLines,
    stdin::{self, Missing},
    worktree,
};

/// Exit status beside 0 and 2 (a command line that cannot be read). Documented in docs/exec.md.
mod status {
    pub(super) const FAILED: u8 = 1;
    pub(super) const STEPS: u8 = 3;
    pub(super) const TIME: u8 = 4;
    pub(super) const TOKENS: u8 = 5;
    pub(super) const INTERRUPTED: u8 = 130;
    /// The reader of stdout went away.
    pub(super) const NO_READER: u8 = 141;
}

/// What the program that runs us tells beside the command line.
#[derive(Debug, Clone, Default)]
pub struct Around {
    pub version: &'static str,
    /// Started as a Codex SDK starts Codex (`--experimental-json`).
    pub like_sdk: bool,
}

/// Runs to the end. Errors before a thread exists are one line on stderr and status 1.
pub async fn run(exec: Exec, around: Around) -> ExitCode {
    match Job::new(exec).go(&around).await {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            stdin::drain();
            let _ = writeln!(io::stderr(), "{message}");
            ExitCode::from(status::FAILED)
        }
    }
}

/// One run, with the flags of all levels of the command line together.
struct Job {
    flags: Flags,
    exec: ExecFlags,
    begin: Begin,
    prompt: Option<String>,
    /// `exec fork ID` alone: only fork.
    only_fork: bool,
}

impl Job {
    fn new(exec: Exec) -> Job {
        let (flags, own) = (exec.flags, exec.exec);
        match exec.command {
            None => Job { flags, exec: own, begin: Begin::New, prompt: exec.prompt, only_fork: false },
            Some(Command::Resume(resume)) => {
                // `resume --last PROMPT`: the only word is the prompt.
                let (session, prompt) = match (resume.last, resume.session, resume.prompt) {
                    (true, Some(prompt), None) => (None, Some(prompt)),
                    (_, session, prompt) => (session, prompt),
                };
                let which = match session {
                    Some(id) => Which::Named(id),
                    None => Which::Last { anywhere: resume.all },
                };
                let (flags, exec) = (flags.with(resume.flags), own.with(resume.exec));
                Job { flags, exec, begin: Begin::Resume(which), prompt, only_fork: false }
            }
            Some(Command::Fork(fork)) => Job {
                flags: flags.with(fork.flags),
                exec: own.with(fork.exec),
                begin: Begin::Fork(fork.session),
                only_fork: fork.prompt.is_none(),
                prompt: fork.prompt,
            },
        }
    }

    async fn go(self, around: &Around) -> Result<u8, String> {
        let begun = Instant::now();
        if let Some(remote) = &self.flags.remote {
            return Err(format!("Error: --remote {remote}: exec runs in this process only; leave --remote out."));
        }
        let mut cwd = working_folder(self.flags.cd.as_deref())?;
        let home = Home::from_env(around.like_sdk).map_err(line)?;
        if self.flags.worktree {
            cwd = worktree::add(&cwd, &home.dir)?;
            let _ = writeln!(io::stderr(), "Working in the new worktree {}", cwd.display());
        }
        let loaded = self.load(home, &cwd)?;
        self.check_folder(&loaded)?;
        let prompt = match self.read_prompt(begun) {
            Ok(prompt) => prompt,
            Err(Missing::Line(line)) => return Err(line),
            Err(Missing::Time) => {
                let seconds = self.exec.max_time.unwrap_or_default();
                let _ =
                    writeln!(io::stderr(), "Error: stopped after {seconds} seconds (--max-time): stdin did not end");
                return Ok(status::TIME);
            }
        };
        let schema = self.exec.output_schema.as_deref().map(schema).transpose()?;
        let mut last_message = self.exec.output_last_message.as_deref().map(LastMessage::open).transpose()?;
        let parts = self.parts(prompt.clone().unwrap_or_default(), &cwd);

        let (events, mut inbox) = mpsc::unbounded_channel();
        let (only_fork, exec) = (self.only_fork, self.exec.clone());
        let mut start = self.start(loaded, cwd, schema, around);
        start.limits.waited = begun.elapsed();
        let thread = runtime::start(start, events).await.map_err(|StartError(message)| message)?;
        let mut screen = Screen::new(&exec, &thread.brief(), prompt.as_deref().unwrap_or_default(), around);

        let (ops, orders) = mpsc::channel(16);
        if !only_fork {
            // The channel is new and empty: this cannot fail.
            let _ = ops.send(Op::User { parts }).await;
        }
        let _ = ops.send(Op::Shutdown).await;
        let client = async {
            let mut code = 0;
            let mut signals = Signals::new();
            let mut gone = std::pin::pin!(reader_gone());
            loop {
                let event = tokio::select! {
                    event = inbox.recv() => event,
                    () = &mut gone => {
                        let _ = ops.send(Op::Interrupt).await;
                        while inbox.recv().await.is_some() {}
                        return Ok(status::NO_READER);
                    }
                    signal = signals.next() => {
                        if code == signal {
                            // Asked twice: no order any more. Commands die with us.
                            std::process::exit(signal.into());
                        }
                        code = signal;
                        let _ = ops.send(Op::Interrupt).await;
                        continue;
                    }
                };
                let Some(event) = event else { return Ok(code) };
                // A signal says more than that the turn was stopped.
                if code == 0 {
                    code = code_of(&event);
                }
                if let Event::TurnCompleted { last_message: text, .. } = &event
                    && let Some(file) = &mut last_message
                {
                    file.write(text.as_deref())?;
                }
                // A fork without a prompt tells its id and nothing else, as upstream.
                if only_fork && matches!(event, Event::Warning { .. }) {
                    continue;
                }
                if let Err(why) = screen.show(&event) {
                    let _ = ops.send(Op::Interrupt).await;
                    // Take what still comes, so that the thread can end in order.
                    while inbox.recv().await.is_some() {}
                    return match why.kind() {
                        io::ErrorKind::BrokenPipe => Ok(status::NO_READER),
                        _ => Err(format!("Error: cannot write to stdout: {why}")),
                    };
                }
            }
        };
        let (_, code) = tokio::join!(thread.run(orders), client);
        code
    }

    fn load(&self, home: Home, cwd: &Path) -> Result<Loaded, String> {
        let mut request = request(&self.flags, home, cwd)?;
        request.ignore_user_config = self.exec.ignore_user_config;
        let loaded = config::load(&request).map_err(line)?;
        if !self.exec.trust || loaded.trusted() {
            return Ok(loaded);
        }
        config::set_trust(&request.home.config_file(), &loaded.project.trust_root(), config::TrustLevel::Trusted)
            .map_err(line)?;
        config::load(&request).map_err(line)
    }

    fn check_folder(&self, loaded: &Loaded) -> Result<(), String> {
        let free = self.exec.skip_git_repo_check || self.flags.dangerously_bypass_approvals_and_sandbox;
        if free || loaded.trusted() || loaded.project.git_root.is_some() {
            return Ok(());
        }
        Err("Not inside a trusted directory and --skip-git-repo-check was not specified.".into())
    }

    fn read_prompt(&self, begun: Instant) -> Result<Option<String>, Missing> {
        if self.only_fork {
            return Ok(None);
        }
        // Upstream: a prompt given to `resume` or `fork` leaves stdin alone.
        if let (Begin::Resume(_) | Begin::Fork(_), Some(text)) = (&self.begin, self.prompt.as_deref())
            && text != "-"
        {
            return Ok(Some(text.to_owned()));
        }
        let prompt =
            stdin::prompt(self.prompt.as_deref(), self.exec.max_time.map(|max| begun + Duration::from_secs(max)))?;
        for note in &prompt.notes {
            let _ = writeln!(io::stderr(), "{note}");
        }
        Ok(Some(prompt.text))
    }

    /// Images first, then the text. One that cannot be read becomes a note, as upstream: the run goes on.
    fn parts(&self, prompt: String, cwd: &Path) -> Vec<Part> {
        let mut parts = Vec::new();
        for file in &self.flags.image {
            parts.push(match runtime::read_image(&cwd.join(file), &file.to_string_lossy()) {
                Ok(mut blob) => {
                    blob.name = Some(file.to_string_lossy().into_owned());
                    Part::Image { blob, detail: None }
                }
                Err(why) => {
                    let _ = writeln!(io::stderr(), "warning: image {} was left out: {why}", file.display());
                    Part::text(format!("The image {} could not be read: {why}.", file.display()))
                }
            });
        }
        parts.push(Part::Text(prompt));
        parts
    }

    fn start(self, loaded: Loaded, cwd: PathBuf, schema: Option<Raw>, around: &Around) -> Start {
        let mut start = Start::new(loaded, cwd);
        start.begin = self.begin;
        start.approval = Some(ApprovalPolicy::Never);
        start.ephemeral = self.exec.ephemeral;
        start.output_schema = schema;
        start.add_dirs = self.flags.add_dir;
        start.thread_source = self.exec.thread_source;
        start.chat_completions = self.flags.chat_completions;
        let oss = self.flags.oss || self.flags.local_provider.is_some();
        start.local = oss.then(|| Local { provider: self.flags.local_provider.clone() });
        start.version = around.version.to_owned();
        start.source = "exec".to_owned();
        start.originator = originator();
        start.limits = Limits {
            steps: self.exec.max_steps,
            time: self.exec.max_time.map(Duration::from_secs),
            tokens: self.exec.max_tokens,
            ..Limits::default()
        };
        start
    }
}

/// The config that these flags ask for. Err: the line that ends the run with status 1.
pub fn request(flags: &Flags, home: Home, cwd: &Path) -> Result<config::Request, String> {
    let mut request = config::Request::new(home, cwd);
    request.profile = flags.profile.clone();
    request.strict = flags.strict_config;
    request.overrides =
        flags.config.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>().map_err(line)?;
    let mut set = |flag: &str, path: &[&str], value: String| request.flags.push(FlagSetting::new(flag, path, value));
    if let Some(model) = &flags.model {
        set("--model", &["model"], model.clone());
    }
    if let Some(harness) = &flags.harness {
        set("--harness", &["harness"], harness.clone());
    }
    if flags.dangerously_bypass_approvals_and_sandbox {
        set("--yolo", &["sandbox_mode"], "danger-full-access".into());
    } else if let Some(mode) = flags.sandbox {
        set("--sandbox", &["sandbox_mode"], mode.as_str().into());
    } else if flags.approve_for_me {
        set("--approve-for-me", &["sandbox_mode"], "workspace-write".into());
    }
    for (names, on) in [(&flags.enable, true), (&flags.disable, false)] {
        for name in names {
            request.flags.push(config::feature_flag(name, on).map_err(line)?);
        }
    }
    Ok(request)
}

/// Who started us: an SDK says so in this variable, and the model's server is told.
fn originator() -> String {
    std::env::var("CODEX_INTERNAL_ORIGINATOR_OVERRIDE")
        .ok()
        .filter(|o| !o.is_empty())
        .unwrap_or_else(|| "codex_exec".into())
}

fn code_of(event: &Event) -> u8 {
    match event {
        Event::TurnInterrupted { .. } => status::INTERRUPTED,
        Event::TurnFailed { error, .. } => match &error.cause {
            TurnCause::Limit(name) if name == "steps" => status::STEPS,
            TurnCause::Limit(name) if name == "time" => status::TIME,
            TurnCause::Limit(name) if name == "tokens" => status::TOKENS,
            _ => status::FAILED,
        },
        _ => 0,
    }
}

/// Ends when nobody reads stdout any more, so that a command that says nothing for long does not run on for nobody. Never
/// where the system cannot tell (a file).
#[cfg(unix)]
async fn reader_gone() {
    use tokio::io::{Interest, unix::AsyncFd};
    // SAFETY: nothing closes the descriptor of stdout while the process lives.
    match unsafe { AsyncFd::register_with_interest(io::stdout(), Interest::ERROR) } {
        Ok(stdout) => drop(stdout.ready(Interest::ERROR).await),
        Err(_) => std::future::pending().await,
    }
}
#[cfg(not(unix))]
async fn reader_gone() {
    std::future::pending().await
}

/// A config error is a whole line already.
fn line(error: config::ConfigError) -> String {
    error.to_string()
}

fn working_folder(cd: Option<&Path>) -> Result<PathBuf, String> {
    let folder = match cd {
        None => std::env::current_dir().map_err(|why| format!("Error: the working folder is gone: {why}")),
        Some(dir) => {
            std::fs::canonicalize(dir).map_err(|why| format!("Error: cannot work in {}: {why}", dir.display()))
        }
    }?;
    if folder.is_dir() { Ok(folder) } else { Err(format!("Error: cannot work in {}: not a folder", folder.display())) }
}

/// Bytes. Those in use have some thousands.
const MOST_SCHEMA: u64 = 4 << 20;

fn schema(file: &Path) -> Result<Raw, String> {
    let text = bounded::read(file, MOST_SCHEMA)
        .map_err(|why| format!("Failed to read output schema file {}: {why}", file.display()))?;
    Raw::parse(&text).map_err(|why| format!("Output schema file {} is not valid JSON: {why}", file.display()))
}

/// `-o`: opened at the start, so that a wrong path is known before the work is done.
struct LastMessage {
    path: PathBuf,
    file: std::fs::File,
}

impl LastMessage {
    fn open(path: &Path) -> Result<LastMessage, String> {
        let file = std::fs::File::create(path).map_err(|why| {
            format!("Error: Failed to open last message file {:?}: {why}", path.display().to_string())
        })?;
        Ok(LastMessage { path: path.to_owned(), file })
    }
    fn write(&mut self, text: Option<&str>) -> Result<(), String> {
        if text.is_none() {
            let path = self.path.display();
            let _ = writeln!(io::stderr(), "Warning: no last agent message; wrote empty content to {path}");
        }
        let written = self.file.write_all(text.unwrap_or_default().as_bytes());
        written.map_err(|why| format!("Error: cannot write the last message to {}: {why}", self.path.display()))
    }
}

/// Where events go: JSON lines, or people.
enum Screen {
    Json(JsonLines<io::Stdout>),
    Human { human: Human<io::Stderr>, last: Option<String> },
}

impl Screen {
    fn new(flags: &ExecFlags, brief: &runtime::Brief, prompt: &str, around: &Around) -> Screen {
        if flags.json {
            return Screen::Json(JsonLines::new(io::stdout()));
        }
        let color = match flags.color {
            Some(Color::Always) => true,
            Some(Color::Never) => false,
            _ => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        let mut human = Human::new(io::stderr(), color).on_terminal(io::stderr().is_terminal());
        let banner = Banner {
            version: around.version,
            workdir: brief.settings.cwd.display().to_string(),
            model: brief.settings.model.clone(),
            provider: brief.settings.provider.clone(),
            harness: brief.settings.harness.clone(),
            approval: brief.settings.approval.as_str().to_owned(),
            sandbox: brief.sandbox.clone(),
            effort: brief.effort.clone().unwrap_or_else(|| "none".into()),
            summaries: brief.settings.summary.clone().unwrap_or_else(|| "none".into()),
            session: brief.thread.to_string(),
            prompt: prompt.to_owned(),
        };
        // stderr that cannot be written is no reason not to work.
        let _ = human.banner(&banner);
        Screen::Human { human, last: None }
    }

    /// Err: stdout cannot be written; most often its reader is gone.
    fn show(&mut self, event: &Event) -> io::Result<()> {
        match self {
            Screen::Json(lines) => {
                // What has no line of its own in Codex's protocol is told beside it.
                let line = match event {
                    Event::CallRejected { tool, message } => Some(format!("ERROR {tool}: error={message}")),
                    Event::Hint { message } => Some(format!("hint: {message}")),
                    _ => None,
                };
                if let Some(line) = line {
                    let shown = if io::stderr().is_terminal() { visible(&line) } else { line.as_str().into() };
                    let _ = writeln!(io::stderr(), "{shown}");
                }
                lines.show(event)
            }
            Screen::Human { human, last } => {
                let _ = human.show(event);
                match event {
                    Event::TurnCompleted { last_message, .. } => *last = last_message.clone(),
                    Event::Closed => {
                        // Both streams on one terminal: the message stands there already.
                        let twice = io::stdout().is_terminal() && io::stderr().is_terminal();
                        if let (Some(text), false) = (last.take(), twice) {
                            let mut out = io::stdout().lock();
                            let text = if out.is_terminal() { visible(&text) } else { text.as_str().into() };
                            writeln!(out, "{text}")?;
                            out.flush()?;
                        }
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }
}

/// SIGINT ends the turn in order; SIGTERM, SIGHUP and SIGQUIT too, and the status tells which.
struct Signals {
    int: Option<tokio::signal::unix::Signal>,
    term: Option<tokio::signal::unix::Signal>,
    hup: Option<tokio::signal::unix::Signal>,
    quit: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Signals {
        use tokio::signal::unix::{SignalKind, signal};
        Signals {
            int: signal(SignalKind::interrupt()).ok(),
            term: signal(SignalKind::terminate()).ok(),
            hup: signal(SignalKind::hangup()).ok(),
            quit: signal(SignalKind::quit()).ok(),
        }
    }
    async fn next(&mut self) -> u8 {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            let came = match signal {
                Some(signal) => signal.recv().await.is_some(),
                None => false,
            };
            if !came {
                std::future::pending().await
            }
        }
        tokio::select! {
            () = one(&mut self.int) => 130,
            () = one(&mut self.term) => 143,
            () = one(&mut self.hup) => 129,
            () = one(&mut self.quit) => 131,
        }
    }
}
