//! What runs in the background as this dialect names it: ids, the file that its output is said to be in, what it has written so
//! far, and the tools that look at it or end it.
use std::path::PathBuf;

use protocol::{Action, Answer, Body, Call, CallId, Done, Exit, Notice, Outcome, Session, TaskId, TaskOp, World};
use regex::Regex;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::args::Input;
use super::generation::Generation;
use super::shared::refusal::{REJECTED, Wanted, refused};
use crate::{Context, Next};

/// Tasks whose ids are tried; a thread has far fewer.
const TRIED: u64 = 4_096;
/// Milliseconds that TaskOutput waits at most between two looks.
const LOOK: u64 = 30_000;
/// Looks of one call, after which it answers with what there is.
const LOOKS: usize = 64;

/// The task's id for the model: it looks drawn by lot, and is found again from the task alone.
pub(super) fn id(generation: Generation, cx: &Context, task: TaskId) -> String {
    let hash = Sha256::digest(format!("{} {}", cx.thread.as_str(), task.0));
    let hex = || hash.iter().take(3).map(|byte| format!("{byte:02x}")).collect::<String>();
    match generation {
        Generation::V1_0 | Generation::V2_0 => hex(),
        Generation::V2_1 => format!("b{}", hex()),
        _ => {
            let letters = b"0123456789abcdefghijklmnopqrstuvwxyz";
            let id = hash.iter().take(8).map(|byte| char::from(letters[usize::from(*byte) % letters.len()]));
            std::iter::once('b').chain(id).collect()
        }
    }
}

pub(super) fn find(generation: Generation, cx: &Context, shown: &str) -> Option<TaskId> {
    (0..TRIED).map(TaskId).find(|task| id(generation, cx, *task) == shown)
}

/// Where the output is said to be: its log, or, where none could be made, a name by which Read shows it.
pub(super) fn file(generation: Generation, cx: &Context, task: TaskId, log: Option<&PathBuf>) -> PathBuf {
    if let Some(log) = log {
        return log.clone();
    }
    PathBuf::from(format!("/tmp/claude/{}/tasks/{}.output", cx.thread.as_str(), id(generation, cx, task)))
}

pub(super) fn of_file(generation: Generation, cx: &Context, path: &std::path::Path) -> Option<TaskId> {
    let folder = PathBuf::from(format!("/tmp/claude/{}/tasks", cx.thread.as_str()));
    let name = path.strip_prefix(folder).ok()?.to_str()?.strip_suffix(".output")?.to_owned();
    find(generation, cx, &name)
}

/// What history tells of a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) command: String,
    /// What the model said of the command, else the command.
    pub(super) title: String,
    pub(super) call: CallId,
    /// All that looks and its end have shown, in order.
    pub(super) output: String,
    pub(super) exit: Exit,
    /// The file that all output goes to.
    pub(super) log: Option<PathBuf>,
}

/// None: it was not started in this conversation (since its last summary). `did`: of a call that is not in history yet.
pub(super) fn told(cx: &Context, task: TaskId, did: &[Done]) -> Option<Told> {
    let mut told: Option<Told> = None;
    let mut calls: Vec<&Call> = Vec::new();
    for item in cx.items {
        match &item.body {
            Body::Reply { reply, .. } => calls = reply.calls().collect(),
            Body::Read { calls: found, .. } => calls = found.iter().collect(),
            Body::Called { call, did, .. } => {
                for done in did {
                    let args = calls.iter().find(|c| c.id == *call).map(|c| c.args.as_str());
                    look(&mut told, task, call, args, done);
                }
            }
            Body::Notice(Notice::TaskEnded { task: ended, exit, output, .. }) if *ended == task => {
                if let Some(told) = &mut told {
                    told.output.push_str(&output.text);
                    told.exit = exit.clone();
                }
            }
            _ => {}
        }
    }
    for done in did {
        look(&mut told, task, &CallId::default(), None, done);
    }
    told
}

fn look(told: &mut Option<Told>, task: TaskId, call: &CallId, args: Option<&str>, done: &Done) {
    match (&done.action, &done.outcome) {
        (Action::World(World::Run(run)), Outcome::Ran { task: Some(started), output, exit, .. })
            if *started == task =>
        {
            let description = args.and_then(|args| {
                let value = serde_json::from_str::<serde_json::Value>(args).ok()?;
                value["description"].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
            });
            *told = Some(Told {
                command: run.script.clone(),
                title: description.unwrap_or_else(|| run.script.clone()),
                call: call.clone(),
                output: output.text.clone(),
                exit: exit.clone(),
                log: output.log.clone(),
            });
        }
        (
            Action::World(World::Task(TaskOp::Output { task: looked, .. } | TaskOp::Stop { task: looked })),
            Outcome::Ran { output, exit, .. },
        ) if *looked == task => {
            if let Some(told) = told {
                told.output.push_str(&output.text);
                told.exit = exit.clone();
            }
        }
        _ => {}
    }
}

/// `running`, `completed`, `failed`, `killed`.
pub(super) fn status(exit: &Exit) -> &'static str {
    match exit {
        Exit::Running => "running",
        Exit::Code(0) => "completed",
        Exit::Stopped => "killed",
        _ => "failed",
    }
}

/// TaskStop and KillShell. What runs is a command or, by its own id, an agent.
pub(super) fn stop(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    let Some(shown) = input.given("task_id").or(input.given("shell_id")).filter(|id| !id.is_empty()) else {
        return wrong("Missing required parameter: task_id");
    };
    let what = if generation == Generation::V2_0 { "shell" } else { "task" };
    let none = || wrong(&format!("No {what} found with ID: {shown}"));
    let task = find(generation, cx, shown);
    let told = task.and_then(|task| told(cx, task, &[]));
    match (did.first().map(|done| &done.outcome), task, told) {
        (None, Some(task), Some(told)) if told.exit == Exit::Running => {
            Next::Do(vec![Action::World(World::Task(TaskOp::Stop { task }))])
        }
        (None, Some(_), Some(told)) if generation == Generation::V2_1 => {
            wrong(&format!("Task {shown} is not running (status: {})", status(&told.exit)))
        }
        (None, Some(_), _) => none(),
        (None, None, _) if super::agent::started(cx, shown).is_some() => {
            Next::Do(vec![Action::Session(Session::Agent { id: shown.to_owned(), op: "stop".into(), message: None })])
        }
        (None, None, _) => none(),
        (Some(Outcome::Ran { .. }), _, Some(told)) => {
            let command = told.command;
            let text = match generation {
                Generation::V2_0 => {
                    json!({"message": format!("Successfully killed shell: {shown} ({command})"), "shell_id": shown})
                }
                Generation::V2_1 => json!({
                    "message": format!("Successfully stopped task: {shown} ({command})"),
                    "task_id": shown, "task_type": "local_bash",
                }),
                _ => json!({
                    "message": format!("Successfully stopped task: {shown} ({command})"),
                    "task_id": shown, "task_type": "local_bash", "command": command,
                }),
            };
            Next::Answer(Answer::plain(text.to_string()))
        }
        (Some(Outcome::Ok), _, _) => {
            let title = super::agent::started(cx, shown).map(|(_, title)| title).unwrap_or_default();
            let message = format!("Successfully stopped task: {shown} ({title})");
            let text = json!({"message": message, "task_id": shown, "task_type": "local_agent", "command": title});
            Next::Answer(Answer::plain(text.to_string()))
        }
        (Some(Outcome::Refused(refusal)), _, _) => Next::Answer(refused(Wanted::Use(input.tool), refusal)),
        (Some(Outcome::Interrupted { .. }), _, _) => Next::Answer(Answer::failed(REJECTED)),
        _ => none(),
    }
}

/// BashOutput of 2.0: what was written so far, some lines of it if a filter is given.
pub(super) fn bash_output(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let shown = input.text("bash_id");
    let none = || Next::Answer(Answer::failed(generation.wrong(&format!("No shell found with ID: {shown}"))));
    let Some(task) = find(generation, cx, shown) else { return none() };
    let Some(told) = told(cx, task, did) else { return none() };
    if did.is_empty() && told.exit == Exit::Running {
        return Next::Do(vec![Action::World(World::Task(TaskOp::Output { task, wait: 0 }))]);
    }
    let mut parts = vec![format!("<status>{}</status>", status(&told.exit))];
    if let Some(code) = told.exit.code().filter(|_| told.exit != Exit::Stopped) {
        parts.push(format!("<exit_code>{code}</exit_code>"));
    }
    let output = match input.given("filter").filter(|filter| !filter.is_empty()) {
        Some(filter) => match Regex::new(filter) {
            Ok(filter) => told.output.lines().filter(|line| filter.is_match(line)).collect::<Vec<_>>().join("\n"),
            Err(_) => return Next::Answer(Answer::failed(format!("Invalid regular expression: {filter}"))),
        },
        None => told.output.trim_end().to_owned(),
    };
    if !output.is_empty() {
        parts.push(format!("<stdout>\n{output}\n</stdout>"));
    }
    let at = did.last().map_or_else(|| cx.items.last().map_or(0, |item| item.at), |done| done.at);
    parts.push(format!("<timestamp>{}</timestamp>", super::clock::iso(at)));
    Next::Answer(Answer::plain(parts.join("\n\n")))
}

/// TaskOutput of 2.1: the same, after waiting for the end.
pub(super) fn task_output(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let shown = input.text("task_id");
    if let Some((_, title)) = super::agent::started(cx, shown) {
        return super::agent::output(cx, input, shown, &title, did);
    }
    let none = || Next::Answer(Answer::failed(generation.wrong(&format!("No task found with ID: {shown}"))));
    let Some(task) = find(generation, cx, shown) else { return none() };
    let Some(told) = told(cx, task, did) else { return none() };
    let (blocks, timeout) = waits(input);
    let waited: u64 = did.iter().map(|done| done.took).sum();
    let look = |wait: u64| Next::Do(vec![Action::World(World::Task(TaskOp::Output { task, wait }))]);
    if told.exit == Exit::Running && did.len() < LOOKS {
        match timeout.checked_sub(waited).filter(|left| blocks && *left > 0) {
            Some(left) => return look(left.min(LOOK)),
            None if did.is_empty() => return look(0),
            None => {}
        }
    }
    Next::Answer(Answer::plain(retrieved(blocks, shown, "local_bash", &told.exit, told.output.trim_end())))
}

/// Whether to wait, and for how many milliseconds.
pub(super) fn waits(input: &Input) -> (bool, u64) {
    let timeout = input.map.get("timeout").and_then(serde_json::Value::as_f64).unwrap_or(30_000.0);
    (input.flag("block").unwrap_or(true), timeout as u64)
}

pub(super) fn retrieved(blocks: bool, id: &str, kind: &str, exit: &Exit, output: &str) -> String {
    let retrieval = match (exit, blocks) {
        (Exit::Running, false) => "not_ready",
        (Exit::Running, true) => "timeout",
        _ => "success",
    };
    let mut parts = vec![
        format!("<retrieval_status>{retrieval}</retrieval_status>"),
        format!("<task_id>{id}</task_id>"),
        format!("<task_type>{kind}</task_type>"),
        format!("<status>{}</status>", status(exit)),
    ];
    if let Some(code) = exit.code().filter(|_| *exit != Exit::Stopped && kind == "local_bash") {
        parts.push(format!("<exit_code>{code}</exit_code>"));
    }
    if !output.is_empty() {
        parts.push(format!("<output>\n{output}\n</output>"));
    }
    parts.join("\n\n")
}
