//! TaskList, TaskOutput, TaskStop and WaitFor. Texts as measured by `tests/wire/kimi-code/background.json`.
use protocol::{Action, Call, Done, Exit, Millis, Mode, Outcome, Session, TaskOp, World, ceil_char};

use super::args::Args;
use super::envelope::{self, Said};
use super::roster::{Roster, State, Task, Work};
use crate::{Context, Next};

pub(super) const STOPPED: &str = "Stopped by TaskStop";
/// Bytes of output that are shown, the latest.
const PREVIEW: usize = 32 << 10;
const LISTED: usize = 20;
/// Looks that one wait may take.
const ROUNDS: u64 = 40;
const SHORTEST: Millis = 200;

const NOTHING_RUNS: &str = "No background tasks are running, so there is nothing to wait for. Finished tasks report back via automatic notification.";
const STILL_RUNNING: &str = "The wait ended before the task finished — a timeout is not an error. Call WaitFor again to keep waiting, or continue with other work; completion also arrives via automatic notification.";

pub(super) fn list(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Next {
    if did.is_empty() {
        return Next::Do(vec![Action::World(World::Task(TaskOp::List))]);
    }
    let roster = Roster::of(cx, call, did);
    let active = args.flag("active_only") != Some(false);
    let chosen: Vec<&Task> = (roster.tasks.iter())
        .filter(|task| !task.foreground && (!active || task.state == State::Running))
        .take(args.count("limit").unwrap_or(LISTED))
        .collect();
    Next::Answer(Said::ok(listing(&roster, &chosen, active)).answer(&call.name, did))
}

fn listing(roster: &Roster, tasks: &[&Task], active: bool) -> String {
    let label = if active { "active_background_tasks" } else { "background_tasks" };
    let records: Vec<String> = tasks.iter().map(|task| record(task, roster.now)).collect();
    let records = match records.is_empty() {
        true => "No background tasks found.".to_owned(),
        false => records.join("\n---\n"),
    };
    format!("{label}: {}\n{records}", tasks.len())
}

fn record(task: &Task, now: Millis) -> String {
    let ran = task.ran.unwrap_or_else(|| now.saturating_sub(task.started));
    let mut lines = vec![
        format!("Wall time: {} seconds", envelope::seconds(ran)),
        format!("task_id: {}", task.id),
        format!("description: {}", task.description),
        format!("status: {}", task.state.as_str()),
        format!("detached: {}", !task.foreground),
    ];
    lines.extend(task.stop_reason.as_ref().map(|reason| format!("stop_reason: {reason}")));
    if task.silent {
        lines.push("terminal_notification_suppressed: true".to_owned());
    }
    match &task.work {
        Work::Shell { command, pid, limit, .. } => {
            lines.extend(limit.map(|limit| format!("timeout_ms: {limit}")));
            lines.push("kind: process".to_owned());
            lines.push(format!("command: {command}"));
            lines.extend(pid.map(|pid| format!("pid: {pid}")));
        }
        Work::Agent { agent, kind, .. } => {
            lines.push("kind: agent".to_owned());
            lines.push(format!("agent_id: {agent}"));
            lines.push(format!("subagent_type: {kind}"));
        }
    }
    let shell = matches!(task.work, Work::Shell { .. });
    lines.extend(task.exit.filter(|_| shell).map(|code| format!("exit_code: {code}")));
    lines.push(format!("parent_tool_call_id: {}", task.call));
    lines.join("\n")
}

pub(super) fn output(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Next {
    let roster = Roster::of(cx, call, did);
    let Some(task) = roster.find(args.str("task_id")) else { return unknown(call, args, did) };
    if task.state == State::Running && did.is_empty() {
        return Next::Do(vec![match &task.work {
            Work::Shell { task: Some(id), .. } => Action::World(World::Task(TaskOp::Output { task: *id, wait: 0 })),
            Work::Shell { task: None, .. } => return unknown(call, args, did),
            Work::Agent { id, .. } => of_agent(id, "output", None),
        }]);
    }
    let status = if task.state == State::Running { "not_ready" } else { "success" };
    match details(task, &roster, did, Some(status)) {
        Err(action) => Next::Do(vec![*action]),
        Ok(details) => Next::Answer(Said::ok(details).answer(&call.name, did)),
    }
}

/// A task with its output; `status` stands behind its time. Err: what has to be done first, for the file with all of it.
fn details(task: &Task, roster: &Roster, did: &[Done], status: Option<&str>) -> Result<String, Box<Action>> {
    let mut record = record(task, roster.now);
    if let Some(status) = status {
        record = record.replacen("\n", &format!("\nretrieval_status: {status}\n"), 1);
    }
    let output = &task.output;
    let place = match (&task.log, output.is_empty()) {
        (Some(place), _) => Some(place.clone()),
        (None, true) => None,
        (None, false) => Some(envelope::place(did).ok_or_else(|| Box::new(envelope::save(output, &task.id)))?),
    };
    let from = ceil_char(output, output.len().saturating_sub(PREVIEW));
    let preview = &output[from..];
    let mut lines = vec![record];
    lines.extend(place.as_ref().map(|place| format!("output_path: {place}")));
    lines.extend(match task.state {
        State::Killed => Some("terminal_reason: stopped".to_owned()),
        State::TimedOut => Some("terminal_reason: timed_out".to_owned()),
        _ => None,
    });
    lines.push(format!("output_size_bytes: {}", output.len()));
    lines.push(format!("output_preview_bytes: {}", preview.len()));
    lines.push(format!("output_truncated: {}", from > 0));
    if place.is_some() {
        let whole =
            if from > 0 { "Above stands the end of the output only." } else { "All of the output stands above." };
        lines.push("full_output_available: true\nfull_output_tool: Read".to_owned());
        lines.push(format!(
            "full_output_hint: {whole} To page through the log, call Read with the output_path (path, line_offset, n_lines; about 300 lines at a time)."
        ));
    }
    let shown = if preview.is_empty() { "[no output available]" } else { preview };
    Ok(format!("{}\n\n[output]\n{shown}", lines.join("\n")))
}

pub(super) fn stop(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Next {
    let said = |said: Said| Next::Answer(said.answer(&call.name, did));
    if let Mode::Plan { .. } = cx.settings.mode {
        return said(Said::failed(
            "TaskStop is not available in plan mode. Call ExitPlanMode to exit plan mode before stopping a background task.",
        ));
    }
    let roster = Roster::of(cx, call, did);
    let Some(task) = roster.find(args.str("task_id")) else { return unknown(call, args, did) };
    if task.state == State::Running && did.is_empty() {
        return Next::Do(vec![match &task.work {
            Work::Shell { task: Some(id), .. } => Action::World(World::Task(TaskOp::Stop { task: *id })),
            Work::Shell { task: None, .. } => return unknown(call, args, did),
            Work::Agent { id, .. } => of_agent(id, "stop", None),
        }]);
    }
    if let Some(Done { outcome: outcome @ (Outcome::Refused(_) | Outcome::Failed(_)), .. }) = did.first() {
        return said(super::refusal::said(&call.name, outcome));
    }
    let mut text = format!(
        "Wall time: {} seconds\ntask_id: {}\nstatus: {}",
        envelope::seconds(task.ran.unwrap_or_else(|| roster.now.saturating_sub(task.started))),
        task.id,
        task.state.as_str()
    );
    if let Some(reason) = &task.stop_reason {
        text.push_str(&format!("\nreason: {reason}"));
    }
    said(Said::ok(text))
}

pub(super) fn wait(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Next {
    let timeout = args.count("timeout").unwrap_or(1) as Millis * 1_000;
    let before = Roster::of_items(cx);
    let roster = Roster::of(cx, call, did);
    let wanted = args.text("task_id");
    if let Some(id) = wanted
        && roster.find(id).is_none()
    {
        return unknown(call, args, did);
    }
    let waits = |done: &&Done| match &done.action {
        Action::World(World::Stdin { .. }) => true,
        Action::Session(Session::Agent { op, .. }) => op == "wait",
        _ => false,
    };
    let waited: Millis = did.iter().filter(waits).map(|done| done.took).sum();
    let head =
        |status: &str, task: &str| format!("wait_status: {status}\n{task}waited_ms: {waited}\ntimeout_ms: {timeout}\n");
    let say = |text: String| Next::Answer(Said::ok(text).answer(&call.name, did));
    let ran_before: Vec<&Task> = before.running().filter(|task| wanted.is_none_or(|id| task.id == id)).collect();
    if wanted.is_none() && ran_before.is_empty() {
        return say(head("no_tasks", "") + "\n" + NOTHING_RUNS);
    }
    let now = |id: &str| roster.find(id);
    let finished = match wanted {
        Some(id) => now(id).filter(|task| task.state != State::Running),
        None => ran_before.iter().filter_map(|task| now(&task.id)).find(|task| task.state != State::Running),
    };
    if let Some(task) = finished {
        let details = match details(task, &roster, did, None) {
            Ok(details) => details,
            Err(action) => return Next::Do(vec![*action]),
        };
        let mut text = head("completed", &format!("task_id: {}\n", task.id)) + "\n[finished]\n" + &details;
        let also: Vec<String> = before
            .running()
            .filter(|other| other.id != task.id)
            .filter_map(|other| now(&other.id).filter(|other| other.state != State::Running))
            .map(|other| record(other, roster.now))
            .collect();
        if !also.is_empty() {
            text.push_str(&format!("\n\n[completed_during_wait]\n{}", also.join("\n---\n")));
        }
        return say(text);
    }
    if did.iter().any(|done| matches!(done.outcome, Outcome::Interrupted { .. })) {
        return say(head("interrupted", ""));
    }
    if waited >= timeout || ran_before.is_empty() || did.len() as u64 >= ROUNDS {
        let still: Vec<&Task> = roster.running().collect();
        return say(head("timed_out", "") + STILL_RUNNING + "\n\n[still_running]\n" + &listing(&roster, &still, true));
    }
    // One task is waited for in one go; of several, each gets its share of the looks.
    let share = match ran_before.len() as u64 {
        1 => timeout - waited,
        n => (timeout * n / ROUNDS).max(SHORTEST).min(timeout - waited) / n,
    };
    let wait = |task: &&Task| match &task.work {
        Work::Shell { task, .. } => {
            task.map(|task| Action::World(World::Stdin { task, bytes: Vec::new(), wait: share }))
        }
        Work::Agent { id, .. } => Some(of_agent(id, "wait", Some(share.to_string()))),
    };
    Next::Do(ran_before.iter().filter_map(wait).collect())
}

fn of_agent(id: &str, op: &str, message: Option<String>) -> Action {
    Action::Session(Session::Agent { id: id.to_owned(), op: op.to_owned(), message })
}

fn unknown(call: &Call, args: &Args, did: &[Done]) -> Next {
    Next::Answer(Said::failed(format!("Task not found: {}", args.str("task_id"))).answer(&call.name, did))
}

/// How a message names the end of a task.
pub(super) fn ending(exit: &Exit) -> &'static str {
    match exit {
        Exit::Code(0) => "completed",
        Exit::TimedOut(_) => "timed_out",
        Exit::Stopped => "killed",
        _ => "failed",
    }
}
