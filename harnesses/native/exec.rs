//! `exec_command` and `write_stdin`: a command under a shell that comes back after a while, finished or as a session that
//! goes on. Times in milliseconds. A patch that is written as a shell command is not run but applied.
use std::path::PathBuf;

use protocol::{
    Action, Answer, ApprovalPolicy, Call, Captured, Done, Escalation, Exit, Failure, Millis, Outcome, Refusal, Run,
    SandboxMode, Shell, TaskId, TaskOp, Truncation, World,
};
use serde::{Deserialize, de::IgnoredAny};

use super::{answers, arguments, patch, paths::absolute, shell_patch, truncate};
use crate::{Context, Next};

/// Wait for output: default and bounds.
const YIELD: Millis = 10_000;
const YIELD_BOUNDS: (Millis, Millis) = (250, 30_000);
/// After input to a session: as short as can be; a mere look at one waits longer.
const INPUT_YIELD: Millis = 250;
const POLL_BOUNDS: (Millis, Millis) = (5_000, 300_000);
/// Bytes of output that are held in memory.
const KEEP: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
struct ExecCommandArgs {
    cmd: String,
    workdir: Option<String>,
    shell: Option<String>,
    login: Option<bool>,
    tty: Option<bool>,
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<usize>,
    sandbox_permissions: Option<Permissions>,
    /// Not offered either, and whatever is in it is more than there is.
    additional_permissions: Option<IgnoredAny>,
    justification: Option<String>,
    prefix_rule: Option<Vec<String>>,
}

impl ExecCommandArgs {
    /// It asks for more rights than the sandbox gives.
    fn wants_more(&self) -> bool {
        self.additional_permissions.is_some()
            || !matches!(self.sandbox_permissions, None | Some(Permissions::UseDefault))
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Permissions {
    UseDefault,
    RequireEscalated,
    /// Not offered, but known to models that were trained on it; there is nothing finer to ask for here.
    #[serde(rename = "with_additional_permissions")]
    Additional,
}

pub(super) fn exec_command(cx: &Context, call: &Call, did: &[Done]) -> Next {
    let args: ExecCommandArgs = match arguments::read_in_environment(&call.args) {
        Ok(args) => args,
        Err(text) => return reject(text),
    };
    if args.justification.is_some() && args.sandbox_permissions.is_none() {
        return reject(answers::BARE_JUSTIFICATION.to_owned());
    }
    if patch::reads(&args.cmd) {
        return reject(answers::BARE_PATCH.to_owned());
    }
    let cwd = args.workdir.as_deref().filter(|dir| !dir.is_empty()).map(|dir| absolute(&cx.settings.cwd, dir));
    if let Some(found) = shell_patch::find(&args.cmd) {
        // No command is run, so no gate sees the wish for more rights.
        let policy = cx.settings.approval;
        let full = cx.settings.sandbox.mode == SandboxMode::DangerFullAccess;
        if args.wants_more() && policy == ApprovalPolicy::Never && !full {
            return reject(answers::escalation(policy));
        }
        let base = cwd.as_ref().unwrap_or(&cx.settings.cwd);
        let base = found.dir.as_deref().map_or_else(|| base.clone(), |dir| absolute(base, dir));
        return match patch::step(&found.patch, &base, cx.settings.sandbox.mode, did) {
            patch::Step::Do(actions) => Next::Do(actions),
            patch::Step::Ran(text) => {
                let budget = budget(cx, args.max_output_tokens);
                let text = truncate::shown(&Captured::whole(text), budget);
                Next::Answer(Answer::plain(format!("Wall time: 0.0000 seconds\nOutput:\n{text}")))
            }
            patch::Step::Rejected(text) => reject(text),
        };
    }
    match did.last() {
        None => Next::Do(vec![Action::World(World::Run(run(cx, args, cwd)))]),
        Some(done) => ran(cx, done, &args.cmd, args.max_output_tokens),
    }
}

fn run(cx: &Context, args: ExecCommandArgs, cwd: Option<PathBuf>) -> Run {
    let escalate = args
        .wants_more()
        .then(|| Escalation { justification: args.justification, prefix: args.prefix_rule.unwrap_or_default() });
    let login = args.login.unwrap_or(true) && cx.settings.feature("allow_login_shell", true);
    let shell = match args.shell {
        Some(name) => Shell::Named { name, login },
        None => Shell::Fresh { program: None, login },
    };
    Run {
        shell,
        cwd,
        tty: args.tty.unwrap_or(false),
        yield_after: Some(args.yield_time_ms.unwrap_or(YIELD).clamp(YIELD_BOUNDS.0, YIELD_BOUNDS.1)),
        escalate,
        keep: KEEP,
        ..Run::new(args.cmd)
    }
}

/// What is read first, and by itself: the session has to be there before the rest counts.
#[derive(Debug, Deserialize)]
struct TerminalSessionArgs {
    session_id: i32,
}

#[derive(Debug, Deserialize)]
struct StdinArgs {
    chars: Option<String>,
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<usize>,
}

pub(super) fn write_stdin(cx: &Context, call: &Call, did: &[Done]) -> Next {
    let session = match arguments::read(&call.args) {
        Ok(TerminalSessionArgs { session_id }) => session_id,
        Err(text) => return reject(text),
    };
    let unknown = || reject(format!("write_stdin failed: Unknown process id {session}"));
    let Ok(task) = u64::try_from(session).map(TaskId) else { return unknown() };
    let args: StdinArgs = match (arguments::read(&call.args), did.last().map(|done| &done.outcome)) {
        (Ok(args), _) => args,
        (Err(_), None) => return Next::Do(vec![Action::World(World::Task(TaskOp::List))]),
        (Err(text), Some(Outcome::Tasks(tasks))) if tasks.iter().any(|known| known.task == task) => {
            return reject(text);
        }
        (Err(_), Some(_)) => return unknown(),
    };
    match did.last() {
        None => {
            let chars = args.chars.unwrap_or_default();
            let (low, high) = if chars.is_empty() { POLL_BOUNDS } else { YIELD_BOUNDS };
            let wait = args.yield_time_ms.unwrap_or(INPUT_YIELD).clamp(low, high);
            Next::Do(vec![Action::World(World::Stdin { task, bytes: chars.into_bytes(), wait })])
        }
        Some(Done { outcome: Outcome::Failed(Failure::NoSuchTask(_)), .. }) => unknown(),
        Some(Done { outcome: Outcome::Failed(Failure::Other(why)), .. }) => {
            reject(format!("write_stdin failed: {why}"))
        }
        Some(done) => ran(cx, done, "", args.max_output_tokens),
    }
}

fn ran(cx: &Context, done: &Done, cmd: &str, max_tokens: Option<usize>) -> Next {
    match &done.outcome {
        Outcome::Ran { output, exit, task, left, .. } => {
            let budget = budget(cx, max_tokens);
            Next::Answer(Answer::plain(report(done, output, exit, *task, *left, budget)))
        }
        Outcome::Failed(Failure::Spawn { errno, message } | Failure::Io { errno, message, .. }) => {
            let why = format!("Failed to create unified exec process: {message} (os error {errno})");
            Next::Answer(Answer::plain(answers::not_started(&why)))
        }
        Outcome::Failed(Failure::NotAFile { path, .. }) => {
            let why = format!("Failed to create unified exec process: {} is not a folder", path.display());
            Next::Answer(Answer::plain(answers::not_started(&why)))
        }
        Outcome::Failed(Failure::Sandbox(why) | Failure::Other(why)) => {
            Next::Answer(Answer::plain(answers::not_started(why)))
        }
        Outcome::Failed(other) => Next::Answer(Answer::plain(answers::not_started(&format!("{other:?}")))),
        Outcome::Refused(Refusal::NobodyToAsk { escalation: true }) => {
            reject(answers::escalation(cx.settings.approval))
        }
        Outcome::Refused(refusal @ Refusal::Hook { .. }) => {
            reject(format!("{}. Command: {cmd}", answers::refusal(refusal)))
        }
        Outcome::Refused(Refusal::Rule(reason)) => {
            reject(answers::not_started(&format!("`{}` rejected: {reason}", command_line(&done.action))))
        }
        Outcome::Refused(refusal) => reject(answers::not_started(&answers::refusal(refusal))),
        Outcome::Interrupted { .. } => Next::Answer(Answer::plain(aborted(done.took))),
        _ => Next::Answer(Answer::plain(answers::not_started("the command could not be run"))),
    }
}

fn budget(cx: &Context, max_tokens: Option<usize>) -> Truncation {
    let max_tokens = max_tokens.map(|tokens| u64::try_from(tokens).unwrap_or(u64::MAX));
    truncate::budget(cx.model.truncation, cx.settings, max_tokens)
}

/// The whole result text of a command.
fn report(done: &Done, output: &Captured, exit: &Exit, task: Option<TaskId>, left: bool, budget: Truncation) -> String {
    let state = match (exit.code(), task) {
        (Some(code), _) => format!("Process exited with code {code}"),
        (None, Some(task)) => format!("Process running with session ID {}", task.0),
        (None, None) => "Process running".to_owned(),
    };
    // Said beyond upstream: the shell is done, but something that it started is not.
    let left = if left { "Processes started by this command are still running\n" } else { "" };
    format!(
        "Chunk ID: {:06x}\nWall time: {:.4} seconds\n{state}\n{left}Original token count: {}\nOutput:\n{}",
        done.tag & 0xff_ffff,
        done.took as f64 / 1000.0,
        output.bytes.div_ceil(4),
        truncate::shown(output, budget)
    )
}

/// The result of a command that ended well.
pub(super) fn finished(cx: &Context, done: &Done, output: &Captured) -> String {
    let budget = budget(cx, None);
    report(done, output, &Exit::Code(0), None, false, budget)
}

/// The answer to a command that the user stopped.
pub(super) fn aborted(ran: Millis) -> String {
    format!("Wall time: {:.1} seconds\naborted by user", ran as f64 / 1000.0)
}

/// The command with its shell, quoted as a shell reads it.
fn command_line(action: &Action) -> String {
    let Action::World(World::Run(run)) = action else { return String::new() };
    let (program, flag) = match &run.shell {
        Shell::Fresh { program, login } => {
            (program.as_deref().unwrap_or("/bin/bash"), if *login { "-lc" } else { "-c" })
        }
        Shell::Named { name, login } => (name.as_str(), if *login { "-lc" } else { "-c" }),
        Shell::Kept(_) => ("/bin/bash", "-c"),
    };
    format!("{program} {flag} {}", quoted(&run.script))
}

/// One word for a shell: bare where nothing is special, in single quotes, or in double quotes where it holds single ones.
pub(super) fn quoted(word: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b"-_=/,.+@:%".contains(&b);
    if !word.is_empty() && word.bytes().all(bare) {
        word.to_owned()
    } else if !word.contains('\'') {
        format!("'{word}'")
    } else if !word.contains(['"', '$', '`', '\\', '!']) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn reject(text: String) -> Next {
    Next::Reject { answer: Answer::plain(text.clone()), note: text }
}
