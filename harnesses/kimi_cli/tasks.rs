//! Background tasks: how one is started, listed, looked at, stopped, and what is said when it has ended.
use protocol::{Action, Captured, Done, Exit, Item, Notice, Outcome, TaskInfo, TaskOp, World};

use super::args::Args;
use super::record::{Record, Task};
use super::refusal::not_done;
use super::result::Said;
use super::{Step, clock};

/// Bytes of output that a snapshot shows, from the end.
const PREVIEW: usize = 30_000;
/// Of a notification: lines and characters, from the end.
const TAIL_LINES: usize = 20;
const TAIL_CHARS: usize = 3_000;

/// The lines that every result about a task begins with.
fn fields(name: &str, kind: &str, status: &str, description: &str, command: &str) -> String {
    let command = if command.is_empty() { String::new() } else { format!("\ncommand: {command}") };
    format!("task_id: {name}\nkind: {kind}\nstatus: {status}\ndescription: {description}{command}")
}

pub(super) fn started(task: &Task) -> Said {
    background(&task.name, "bash", &task.description, &task.command)
}

/// `command`: empty for a sub-agent.
pub(super) fn background(name: &str, kind: &str, description: &str, command: &str) -> Said {
    Said::ok("Background task started.").with(format!(
        "{}\nautomatic_notification: true\nnext_step: You are told by itself when the task has ended.\nnext_step: To look at it before, call TaskOutput with this task_id, which returns a snapshot; set block=true only to wait on purpose.\nnext_step: Call TaskStop only if the task has to be cancelled.\nhuman_shell_hint: For the user there is only the command /task, to look at background tasks; name no other.",
        fields(name, kind, "starting", description, command)
    ))
}

fn status(exit: &Exit) -> &'static str {
    match exit {
        Exit::Running => "running",
        Exit::Code(0) => "completed",
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut(_) => "failed",
        Exit::Stopped => "killed",
    }
}

pub(super) fn list(record: &Record, args: &Args, did: &[Done]) -> Step {
    let infos = match did.first().map(|done| &done.outcome) {
        None => return Step::Do(vec![Action::World(World::Task(TaskOp::List))]),
        Some(Outcome::Tasks(infos)) => infos,
        Some(other) => return Step::Tell(not_done("Failed to list the tasks.", other)),
    };
    let active = args.on("active_only");
    let shown: Vec<(&TaskInfo, &Task)> = infos
        .iter()
        .filter(|info| !active || info.exit == Exit::Running)
        .filter_map(|info| Some((info, record.tasks.iter().find(|task| task.id == info.task)?)))
        .take(args.count("limit").unwrap_or(20))
        .collect();
    let label = if active { "active_background_tasks" } else { "background_tasks" };
    let mut text = format!("{label}: {}", shown.len());
    for (n, (info, task)) in shown.iter().enumerate() {
        let fields = fields(&task.name, "bash", status(&info.exit), &task.description, &task.command);
        text.push_str(&format!("\n\n[{}]\n{fields}", n + 1));
    }
    Step::Tell(Said::ok("Task list retrieved.").with(text))
}

pub(super) fn output(record: &Record, args: &Args, did: &[Done]) -> Step {
    let Some(task) = record.task(args.text("task_id")) else { return unknown(args) };
    let seconds = u64::try_from(args.number("timeout")).unwrap_or_default();
    let wait = if args.on("block") { seconds * 1000 } else { 0 };
    let (output, exit) = match did.first().map(|done| &done.outcome) {
        None => return Step::Do(vec![Action::World(World::Task(TaskOp::Output { task: task.id, wait }))]),
        Some(Outcome::Ran { output, exit, .. }) => (output, exit),
        Some(Outcome::Failed(protocol::Failure::NoSuchTask(_))) => return unknown(args),
        Some(other) => return Step::Tell(not_done("Failed to look at the task.", other)),
    };
    let retrieval = match exit {
        Exit::Running if args.on("block") => "timeout",
        Exit::Running => "not_ready",
        _ => "success",
    };
    let status = status(exit);
    let timed_out = matches!(exit, Exit::TimedOut(_));
    let mut text = format!(
        "retrieval_status: {retrieval}\n{}\ninterrupted: {}\ntimed_out: {timed_out}",
        fields(&task.name, "bash", status, &task.description, &task.command),
        *exit == Exit::Stopped
    );
    if let Exit::Code(code) = exit {
        text.push_str(&format!("\nexit_code: {code}"));
    }
    let preview = tail(output, PREVIEW);
    let reason = if timed_out { "timed_out" } else { status };
    let shown = if preview.is_empty() { "[no output available]" } else { preview };
    text.push_str(&format!(
        "\nterminal_reason: {reason}\n\noutput_size_bytes: {}\noutput_preview_bytes: {}\noutput_truncated: {}\n\nfull_output_available: false\nfull_output_tool: ReadFile\nfull_output_hint: No output file is currently available for this task.\n\n[output]\n{shown}",
        output.bytes,
        preview.len(),
        output.bytes > preview.len() as u64,
    ));
    Step::Tell(Said::ok("Task snapshot retrieved.").with(text))
}

pub(super) fn stop(record: &Record, args: &Args, did: &[Done]) -> Step {
    let Some(task) = record.task(args.text("task_id")) else { return unknown(args) };
    let exit = match did.first().map(|done| &done.outcome) {
        None => return Step::Do(vec![Action::World(World::Task(TaskOp::Stop { task: task.id }))]),
        Some(Outcome::Ran { exit, .. }) => status(exit),
        Some(Outcome::Ok) => "killed",
        Some(Outcome::Failed(protocol::Failure::NoSuchTask(_))) => return unknown(args),
        Some(other) => return Step::Tell(not_done("Failed to stop the task.", other)),
    };
    let text = fields(&task.name, "bash", exit, &task.description, &task.command);
    Step::Tell(Said::ok("Task stop requested.").with(text))
}

fn unknown(args: &Args) -> Step {
    Step::Tell(Said::failed(format!("Task not found: {}", args.text("task_id"))))
}

/// The end of an output, at most so many bytes of it.
fn tail(output: &Captured, bytes: usize) -> &str {
    let text = &output.text;
    &text[protocol::ceil_char(text, text.len().saturating_sub(bytes))..]
}

/// None: nothing that the model knows by a name.
pub(super) fn notification(record: &Record, item: &Item, notice: &Notice) -> Option<String> {
    match notice {
        Notice::TaskEnded { task, exit, output, .. } => {
            let task = record.tasks.iter().find(|known| known.id == *task)?;
            let verb = match exit {
                Exit::Code(0) => "completed",
                Exit::Stopped => "stopped",
                _ => "failed",
            };
            let code = exit.code().map_or_else(String::new, |code| format!("\nExit code: {code}"));
            let seconds = item.at.saturating_sub(task.started) / 1000;
            let tail = last_lines(output);
            let tail = if tail.is_empty() { String::new() } else { format!("\nOutput tail:\n{tail}") };
            let end = format!(
                "{code}\n<task-notification>\nTask ID: {}\nStatus: {verb}{code}{tail}\n</task-notification>",
                task.name
            );
            Some(frame(item, &task.name, verb, &task.description, seconds, &end))
        }
        Notice::AgentReported { id, text } => {
            let agent = record.agents.iter().rev().find(|agent| agent.id == *id)?;
            let name = agent.task.as_deref().unwrap_or(&agent.name);
            let end = format!(
                "\n<task-notification>\nTask ID: {name}\nAgent ID: {}\nStatus: completed\n[summary]\n{}\n</task-notification>",
                agent.name,
                text.trim_end()
            );
            Some(frame(item, name, "completed", &agent.description, 0, &end))
        }
        _ => None,
    }
}

fn frame(item: &Item, name: &str, verb: &str, description: &str, seconds: u64, end: &str) -> String {
    let severity = if verb == "failed" { "error" } else { "success" };
    let (upper, lower) = verb.split_at(1);
    let title = format!("{}{lower}", upper.to_uppercase());
    let duration = if seconds == 0 { String::new() } else { format!(", Duration: {seconds}s") };
    format!(
        "<notification id=\"n{:08x}\" category=\"task\" type=\"task.{verb}\" source_kind=\"background_task\" source_id=\"{name}\">\nTitle: Background task {verb}: {description}\nSeverity: {severity}\nTask ID: {name}\nStatus: {verb} ({title} at: {}{duration})\nDescription: {description}{end}\n</notification>",
        item.id.0.wrapping_mul(0x9e37_79b1) & 0xffff_ffff,
        clock::plain(item.at),
    )
}

fn last_lines(output: &Captured) -> String {
    let lines: Vec<&str> = output.text.lines().collect();
    let text = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let over = text.chars().count().saturating_sub(TAIL_CHARS);
    text.chars().skip(over).collect()
}
