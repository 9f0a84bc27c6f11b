//! Background commands: the shell itself writes output and state into two files that the model is told of, as the original's
//! monitor does. Where no place may be written, what the command printed is told at its end. Measured by `background.json`.
use std::path::PathBuf;

use protocol::{Action, CallId, Done, Exit, Notice, Outcome, Run, SandboxMode, World};
use sha2::{Digest as _, Sha256};

use super::record::{Agent, Record, Shell};
use crate::{Context, Next};

/// Of the output that a notice shows.
const SHOWN: usize = 4_000;

/// `bg_` and eight hex digits, the same for a call whenever asked.
pub(super) fn id(cx: &Context, call: &CallId) -> String {
    let hash = Sha256::digest(format!("{} {call}", cx.thread));
    let hex: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("bg_{hex}")
}

/// Output and status file, where commands may write any.
fn files(cx: &Context, id: &str) -> Option<(PathBuf, PathBuf)> {
    let sandbox = &cx.settings.sandbox;
    let folder = match sandbox.mode {
        SandboxMode::ReadOnly => return None,
        SandboxMode::WorkspaceWrite if sandbox.exclude_slash_tmp => return None,
        _ => PathBuf::from(format!("/tmp/background-shells-{}", cx.thread)),
    };
    Some((folder.join(format!("shell-{id}.output")), folder.join(format!("shell-{id}.status"))))
}

pub(super) fn start(cx: &Context, call: &CallId, command: &str, run: Run) -> Next {
    let id = id(cx, call);
    let script = match files(cx, &id) {
        Some((output, status)) => wrapped(command, &id, &output.display().to_string(), &status.display().to_string()),
        None => command.to_owned(),
    };
    // A background command goes on until it ends or is stopped.
    Next::Do(vec![Action::World(World::Run(Run { script, background: true, timeout: None, ..run }))])
}

/// The command in a shell of its own, so that nothing that it does (`exit`, `exec`, a trap) keeps the status from being written.
fn wrapped(command: &str, id: &str, output: &str, status: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let folder = output.rsplit_once('/').map_or("/tmp", |(folder, _)| folder);
    let state = |state: &str| {
        format!("printf '{{\\n  \"id\": \"{id}\",\\n  \"status\": \"%s\"%s\\n}}' {state} > {}", quoted(status))
    };
    format!(
        "mkdir -m 700 -p {}\n{}\ntrap {} TERM\nbash -c {} > {} 2>&1 < /dev/null\ncode=$?\nif [ $code = 0 ]; then {}; else {}; fi\nexit $code",
        quoted(folder),
        state("running ''"),
        quoted(&format!("{}; exit 143", state("cancelled ''"))),
        quoted(command),
        quoted(output),
        state("completed ',\n  \"exitCode\": 0'"),
        state("failed \",\n  \\\"error\\\": \\\"exited with code $code\\\"\""),
    )
}

/// The answer to the call that started it.
pub(super) fn started(cx: &Context, call: &CallId, did: &[Done]) -> String {
    let id = id(cx, call);
    let first = did.first().map(|done| &done.outcome);
    if let Some(Outcome::Ran { exit: exit @ (Exit::Code(_) | Exit::Signal(_)), output, .. }) = first {
        let output = super::shell::clean(output);
        return format!("Background shell {id} ended at once (exit code {}).\n{output}", exit.code().unwrap_or(0));
    }
    let listed = match (first, did.get(1).map(|done| &done.outcome)) {
        (Some(Outcome::Ran { task: Some(task), .. }), Some(Outcome::Tasks(listed))) => {
            listed.iter().find(|info| info.task == *task)
        }
        _ => None,
    };
    let pid = listed.and_then(|info| info.pid).map_or_else(String::new, |pid| format!("pid: {pid}\n"));
    match files(cx, &id) {
        Some((output, status)) => format!(
            "Background shell started.\nid: {id}\n{pid}output file: {}\nstatus file: {}\nWhether it still runs stands in the status file (status: running|completed|failed|cancelled); read it. An empty output file says nothing of that: many programs hold back what they print while it does not go to a terminal (`python -u` and `stdbuf -oL` help).\nWhat it prints stands in the output file; read it with read_file. task_stop ends the command.",
            output.display(),
            status.display()
        ),
        None => format!(
            "Background shell started.\nid: {id}\n{pid}No place outside of the workspace may be written here, so there is no output file: what it printed is told when it ends. task_stop ends the command."
        ),
    }
}

/// What the model is told when background work ended. None: nothing of this dialect's.
pub(super) fn notification(cx: &Context, notice: &Notice) -> Option<String> {
    let record = Record::of(cx);
    let remaining = record.shells.iter().filter(|shell| !shell.ended).count()
        + record.agents.iter().filter(|agent| !agent.ended).count();
    match notice {
        Notice::TaskEnded { task, exit, output, command } => {
            let shell = record.shells.iter().find(|shell| shell.task == *task);
            let (id, call) = match shell {
                Some(Shell { id, call, .. }) => (id.clone(), call.clone()),
                None => (format!("bg_{:08x}", task.0), CallId::default()),
            };
            let command = shell.map_or(command, |shell| &shell.command);
            let (status, how) = match exit {
                Exit::Code(0) => ("completed", "completed".to_owned()),
                Exit::Stopped => ("cancelled", "was stopped".to_owned()),
                exit => ("failed", format!("failed: exited with code {}", exit.code().unwrap_or(1))),
            };
            let result = match files(cx, &id).filter(|_| shell.is_some()) {
                Some((output, _)) => format!("<output-file>{}</output-file>", output.display()),
                None => format!("<result>{}</result>", super::shell::clean(&output.shrunk(SHOWN))),
            };
            let summary = format!("Background shell \"{command}\" {how}.");
            Some(told(&id, &call, status, &summary, remaining, &result))
        }
        Notice::AgentReported { id, text } => {
            let agent = record.agents.iter().find(|agent| agent.thread == *id);
            let (id, call, description) = match agent {
                Some(Agent { id, call, description, .. }) => (id.clone(), call.clone(), description.clone()),
                None => (id.clone(), CallId::default(), id.clone()),
            };
            let summary = format!("Agent \"{description}\" completed.");
            Some(told(&id, &call, "completed", &summary, remaining, &format!("<result>{text}</result>")))
        }
        _ => None,
    }
}

fn told(id: &str, call: &CallId, status: &str, summary: &str, remaining: usize, result: &str) -> String {
    format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>{status}</status>\n<summary>{summary}</summary>\n<remaining>{remaining}</remaining>\n<all-terminal>{}</all-terminal>\n{result}\n</task-notification>",
        remaining == 0
    )
}
