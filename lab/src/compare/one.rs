//! One run: a worktree, `interpreter exec` in it, what it changed, and the check.
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use config::Loaded;
use exec::Flags;
use protocol::{Body, Counts, Price, Source, ThreadId, Usage};
use providers::{ModelOverrides, Registry};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
};

use super::{
    Compare, cost,
    repository::{Change, Repository, Snapshot},
    say, seconds, write,
};

/// Who takes part: a harness, and the name of this run of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entrant {
    pub(super) harness: String,
    pub(super) name: String,
}

/// What all runs have in common.
pub(super) struct Job<'a> {
    pub(super) program: PathBuf,
    pub(super) repository: &'a Repository,
    pub(super) snapshot: &'a Snapshot,
    /// Where diffs go.
    pub(super) results: &'a Path,
    pub(super) store: sessions::Store,
    pub(super) providers: Registry,
    pub(super) loaded: Loaded,
    pub(super) worktrees: PathBuf,
    pub(super) task: &'a str,
    pub(super) compare: &'a Compare,
    /// How often the user asked to stop.
    pub(super) interrupted: watch::Receiver<u8>,
}

/// How one run went.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) harness: String,
    pub(super) name: String,
    pub(super) end: End,
    pub(super) thread: Option<String>,
    /// Whose model answered.
    provider: Option<String>,
    pub(super) last_message: Option<String>,
    pub(super) check: Option<Check>,
    /// Replies of the model.
    pub(super) steps: usize,
    pub(super) counts: Counts,
    /// None: it ended before the model's first answer.
    pub(super) usage: Option<Usage>,
    /// US dollars, where prices are known.
    pub(super) cost: Option<f64>,
    pub(super) wall: Duration,
    pub(super) change: Change,
    pub(super) diff: Option<PathBuf>,
    /// Where it is left (`--keep`).
    pub(super) worktree: Option<PathBuf>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// Not begun: the user asked to stop before.
    #[default]
    NotRun,
    Done,
    /// A limit of the run: `steps`, `time`, `tokens`.
    Limit(&'static str),
    Interrupted,
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) passed: bool,
    /// None: ended from outside, or out of time.
    pub(super) status: Option<i32>,
    /// Out of time.
    pub(super) late: bool,
    /// The end of what it wrote.
    pub(super) output: String,
}

/// The end of a program's output, in bytes.
const TAIL: usize = 4096;

impl Job<'_> {
    pub(super) async fn run(&self, entrant: Entrant) -> Run {
        let Entrant { harness, name } = entrant;
        let mut run = Run { harness, name, ..Run::default() };
        if self.stopped() {
            return run;
        }
        if let Err(message) = self.carry_out(&mut run).await {
            run.end = End::Failed(message);
        }
        run
    }

    async fn carry_out(&self, run: &mut Run) -> Result<(), String> {
        let file = file_name(&run.name);
        let stamp = self.results.file_name().unwrap_or_default().to_string_lossy();
        let worktree = self.repository.worktree(self.snapshot, &self.worktrees.join(format!("{stamp}-{file}")))?;
        let cwd = worktree.cwd();
        say(&format!("{}: begins", run.name));
        let ran = self.agent(run, &cwd).await;
        let kept = worktree.change(self.snapshot).and_then(|change| {
            run.change = change;
            let path = self.results.join(format!("{file}.diff"));
            write(&path, &run.change.diff)?;
            run.diff = Some(path);
            run.change.missing.take().map_or(Ok(()), |missing| Err(format!("not in the diff: {missing}")))
        });
        if let (Ok(()), Some(check), false) = (&ran, &self.compare.check, self.stopped()) {
            match self.check(check, run, &cwd).await {
                Ok(check) => run.check = Some(check),
                Err(why) => say(&format!("{}: {why}", run.name)),
            }
        }
        // What the run came to is never thrown away before it is kept.
        match (&kept, self.compare.keep) {
            (Ok(()), false) => {
                if let Err(why) = worktree.remove() {
                    say(&format!("{}: the worktree stays: {why}", run.name));
                }
            }
            (Ok(()), true) => run.worktree = Some(cwd),
            (Err(why), _) => {
                say(&format!("{}: the worktree stays, as {why}", run.name));
                run.worktree = Some(cwd);
            }
        }
        let verdict = run.check.as_ref().map_or(String::new(), |check| format!(", check {}", check.word()));
        say(&format!("{}: {} after {}{verdict}", run.name, run.end.word(), seconds(run.wall)));
        ran
    }

    /// The user asked to stop. (Looks only: a guard that is held while somebody waits would hold up the signal.)
    fn stopped(&self) -> bool {
        *self.interrupted.borrow() > 0
    }

    /// `interpreter exec` in `cwd`, to its end.
    async fn agent(&self, run: &mut Run, cwd: &Path) -> Result<(), String> {
        let mut command = self.program(cwd, "exec");
        command.args(["--json", "--skip-git-repo-check", "--thread-source", "compare", "--harness", &run.harness]);
        let compare = self.compare;
        let limits = [
            ("--max-steps", compare.max_steps),
            ("--max-time", compare.max_time),
            ("--max-tokens", compare.max_tokens),
        ];
        for (flag, limit) in limits.into_iter().filter_map(|(flag, limit)| Some((flag, limit?))) {
            command.args([flag, &limit.to_string()]);
        }
        command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child =
            command.spawn().map_err(|why| format!("Error: cannot start {}: {why}", self.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A run that ends without reading it says why on stderr.
            let _ = stdin.write_all(self.task.as_bytes()).await;
        }
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let events = async {
            if let Some(out) = out {
                let mut lines = BufReader::new(out).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    run.hear(&line);
                }
            }
        };
        let words = async { if let Some(err) = err { tail(err).await } else { String::new() } };
        let (status, (), words) = tokio::join!(self.end_of(&mut child, None), events, words);
        run.wall = begun.elapsed();
        run.end = End::of(status, std::mem::take(&mut run.end), &words);
        if let Some(thread) = &run.thread {
            // A session whose file cannot be read has none.
            let items = self.store.history(&ThreadId::from(thread.clone())).unwrap_or_default();
            run.steps = items.iter().filter(|item| matches!(item.body, Body::Reply { .. })).count();
            run.counts = Counts::of(&items);
            // A run that was ended has told no sum.
            let total = items.iter().rev().find_map(|item| match &item.body {
                Body::Reply { total, .. } | Body::Compacted { total, .. } => Some(*total),
                _ => None,
            });
            run.usage = run.usage.or(total);
            run.provider = items.iter().rev().find_map(|item| match &item.body {
                Body::Reply { reply, .. } => Some(reply.from.provider.clone()),
                _ => None,
            });
            run.cost = run.usage.and_then(|usage| cost::of(&items, &usage, |source| self.price(source)));
        }
        Ok(())
    }

    fn price(&self, of: &Source) -> Option<Price> {
        let provider = self.providers.provider(&of.provider).ok()?;
        providers::model_info(&provider, &of.model, &ModelOverrides::default()).price
    }

    /// The user's check, walled in as the model's commands were: what it runs is what the model wrote.
    async fn check(&self, check: &str, run: &Run, cwd: &Path) -> Result<Check, String> {
        let mut command = self.program(cwd, "sandbox");
        let configured = self.loaded.config.model_provider.clone();
        if let Some(provider) = run.provider.clone().or(configured).and_then(|id| self.providers.provider(&id).ok()) {
            command.env_clear().envs(runtime::without_key(&self.loaded, &provider));
            if let Some(home) = std::env::var_os("INTERPRETER_HOME") {
                command.env("INTERPRETER_HOME", home);
            }
        }
        // Both streams are wanted in the order in which they were written.
        command.args(["--", "bash", "-c", "exec 2>&1; eval \"$1\"", "check", check]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|why| format!("Error: cannot start the check: {why}"))?;
        let out = child.stdout.take();
        let output = async { if let Some(out) = out { tail(out).await } else { String::new() } };
        let limit = Duration::from_secs(self.compare.check_time);
        let begun = Instant::now();
        let (status, output) = tokio::join!(self.end_of(&mut child, Some(limit)), output);
        let status = status.and_then(|status| status.code());
        Ok(Check { passed: status == Some(0), status, output, late: status.is_none() && begun.elapsed() >= limit })
    }

    /// This program, with the user's flags, in a process group of its own: an interrupt reaches it through us, once.
    fn program(&self, cwd: &Path, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).args(words(&self.compare.flags)).arg("-C").arg(cwd).current_dir(cwd);
        command.process_group(0).kill_on_drop(true);
        #[cfg(target_os = "linux")]
        // SAFETY: one system call between fork and exec, which allocates nothing.
        unsafe {
            // Nothing goes on when this program is killed.
            command.pre_exec(|| {
                Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?)
            });
        }
        command
    }

    /// Waits for its end. An interrupt is passed on; at the limit it is killed with its group.
    async fn end_of(&self, child: &mut Child, limit: Option<Duration>) -> Option<ExitStatus> {
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32));
        let send = |signal| group.map(|group| rustix::process::kill_process_group(group, signal));
        let mut interrupted = self.interrupted.clone();
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        let mut told = false;
        loop {
            tokio::select! {
                status = child.wait() => return status.ok(),
                () = &mut late => {
                    send(rustix::process::Signal::KILL);
                    return child.wait().await.ok().filter(ExitStatus::success);
                }
                changed = interrupted.changed(), if !told => {
                    told = true;
                    if changed.is_ok() {
                        send(rustix::process::Signal::INT);
                    }
                }
            }
        }
    }
}

impl Check {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Check { passed: true, .. } => "passed",
            Check { late: true, .. } => "out of time",
            _ => "failed",
        }
    }
}

impl Run {
    /// One line of `exec --json`.
    fn hear(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match event["type"].as_str() {
            Some("thread.started") => self.thread = text(&event["thread_id"]),
            Some("item.completed") if event["item"]["type"] == "agent_message" => {
                self.last_message = text(&event["item"]["text"]);
            }
            Some("turn.completed") => self.usage = Some(usage(&event["usage"])),
            Some("turn.failed") => self.end = End::Failed(text(&event["error"]["message"]).unwrap_or_default()),
            _ => (),
        }
    }
}

fn usage(value: &Value) -> Usage {
    let number = |key: &str| value[key].as_u64().unwrap_or(0);
    Usage {
        input: number("input_tokens"),
        cached: number("cached_input_tokens"),
        cache_write: number("cache_write_input_tokens"),
        output: number("output_tokens"),
        reasoning: number("reasoning_output_tokens"),
    }
}

impl End {
    /// Statuses as docs/exec.md lists them. `told`: what its events said; `words`: the end of its stderr.
    fn of(status: Option<ExitStatus>, told: End, words: &str) -> End {
        let last = words.lines().rev().find(|line| !line.trim().is_empty());
        match (status.and_then(|status| status.code()), told) {
            (Some(0), _) => End::Done,
            (Some(3), _) => End::Limit("steps"),
            (Some(4), _) => End::Limit("time"),
            (Some(5), _) => End::Limit("tokens"),
            (Some(130), _) => End::Interrupted,
            (_, End::Failed(message)) => End::Failed(message),
            (code, _) => End::Failed(last.map_or_else(|| format!("ended with status {code:?}"), str::to_owned)),
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            End::NotRun => "not run",
            End::Done => "done",
            End::Limit("steps") => "limit of steps",
            End::Limit("time") => "limit of time",
            End::Limit(_) => "limit of tokens",
            End::Interrupted => "interrupted",
            End::Failed(_) => "failed",
        }
    }
}

/// The last `TAIL` bytes of a stream, read to its end.
async fn tail(mut from: impl tokio::io::AsyncRead + Unpin) -> String {
    let (mut kept, mut block) = (Vec::new(), [0; 8192]);
    while let Ok(n @ 1..) = from.read(&mut block).await {
        kept.extend_from_slice(&block[..n]);
        kept.drain(..kept.len().saturating_sub(TAIL));
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// A name that is one in any file system.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-@".contains(c) { c } else { '-' };
    name.chars().map(safe).collect()
}

/// The user's flags as words of a command line. Commands may write their worktree, unless the user says otherwise.
fn words(flags: &Flags) -> Vec<OsString> {
    let Flags {
        config,
        enable,
        disable,
        strict_config,
        image,
        model,
        oss,
        local_provider,
        chat_completions,
        profile,
        sandbox,
        approve_for_me,
        dangerously_bypass_approvals_and_sandbox,
        dangerously_bypass_hook_trust,
        add_dir,
        // Set for each run, or not for runs of this kind.
        harness: _,
        cd: _,
        worktree: _,
        remote: _,
        remote_auth_token_env: _,
    } = flags;
    let mut words: Vec<OsString> = Vec::new();
    let mut pair = |flag: &str, value: OsString| words.extend([flag.into(), value]);
    config.iter().for_each(|value| pair("-c", value.into()));
    enable.iter().for_each(|value| pair("--enable", value.into()));
    disable.iter().for_each(|value| pair("--disable", value.into()));
    image.iter().for_each(|path| pair("-i", absolute(path).into()));
    add_dir.iter().for_each(|path| pair("--add-dir", absolute(path).into()));
    model.iter().for_each(|value| pair("-m", value.into()));
    local_provider.iter().for_each(|value| pair("--local-provider", value.into()));
    profile.iter().for_each(|value| pair("-p", value.into()));
    match sandbox {
        Some(mode) => pair("-s", mode.as_str().into()),
        None if *approve_for_me || *dangerously_bypass_approvals_and_sandbox => (),
        None => pair("-s", "workspace-write".into()),
    }
    let switches = [
        ("--strict-config", *strict_config),
        ("--oss", *oss),
        ("--chat-completions", *chat_completions),
        ("--approve-for-me", *approve_for_me),
        ("--dangerously-bypass-approvals-and-sandbox", *dangerously_bypass_approvals_and_sandbox),
        ("--dangerously-bypass-hook-trust", *dangerously_bypass_hook_trust),
    ];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(word, _)| word.into()));
    words
}

/// Runs stand in another folder than the user.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use pretty_assertions::assert_eq;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }

    #[test]
    fn flags_reach_each_run() {
        let line = "x -c a=1 -c b=2 --enable f --disable g --strict-config -i /p.png -m M --oss --local-provider ollama \
                    --chat-completions -p P -s read-only --dangerously-bypass-hook-trust --add-dir /d";
        let flags = |words: &[OsString]| {
            let words = std::iter::once("x".into()).chain(words.iter().cloned());
            Line::try_parse_from(words).unwrap_or_else(|e| panic!("{e}")).flags
        };
        let given = flags(&line.split_whitespace().skip(1).map(OsString::from).collect::<Vec<_>>());
        assert_eq!(format!("{:?}", flags(&words(&given))), format!("{given:?}"));
    }

    #[test]
    fn commands_may_write_the_worktree_unless_told_otherwise() {
        let words = |flags: &Flags| words(flags).join(" ".as_ref()).into_string().unwrap();
        assert_eq!(words(&Flags::default()), "-s workspace-write");
        let bypass = Flags { dangerously_bypass_approvals_and_sandbox: true, ..Flags::default() };
        assert_eq!(words(&bypass), "--dangerously-bypass-approvals-and-sandbox");
    }

    #[test]
    fn names_of_files() {
        for (name, expected) in [("claude-code@2.0", "claude-code@2.0"), ("../é x", "..---x")] {
            assert_eq!(file_name(name), expected);
        }
    }

    #[test]
    fn events_tell_how_it_went() {
        let mut run = Run::default();
        for line in [
            r#"{"type":"thread.started","thread_id":"T"}"#,
            r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"over"}}"#,
            "no JSON",
            r#"{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":3,"output_tokens":2}}"#,
        ] {
            run.hear(line);
        }
        assert_eq!((run.thread.as_deref(), run.last_message.as_deref()), (Some("T"), Some("over")));
        assert_eq!(run.usage, Some(Usage { input: 7, cached: 3, output: 2, ..Usage::default() }));
    }
}
