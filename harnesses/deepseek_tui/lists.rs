//! The checklist and the plan. Clients see both as the plan of the session.
use protocol::{Action, Done, Outcome, PlanStep, Session};
use serde::Serialize;

use super::answer::{Step, trouble};
use super::args::Args;
use super::record::{Record, Todo, status};
use crate::Context;

#[derive(Serialize)]
struct Shown<'a> {
    items: &'a [Todo],
    completion_pct: usize,
    in_progress_id: Option<i64>,
}

pub(super) fn checklist(cx: &Context, tool: &str, args: &Args, did: &[Done]) -> Step {
    let mut record = Record::of(cx);
    if !record.listed(tool, args) {
        let id = args.number("id").unwrap_or_default();
        return Step::error(format!("Todo #{id} not found. The checklist has {} entries.", record.todos.len()));
    }
    match did.first().map(|done| &done.outcome) {
        None if tool != "checklist_list" => {
            return Step::one(Action::Session(Session::Plan { steps: record.steps(), explanation: None }));
        }
        None | Some(Outcome::Ok) => {}
        Some(other) => return trouble(tool, "keep the checklist", other),
    }
    let todos = &record.todos;
    let completed = todos.iter().filter(|todo| todo.status == "completed").count();
    let percent = (completed * 100).checked_div(todos.len()).unwrap_or(0);
    let headline = match (tool, todos.last()) {
        ("checklist_add", Some(todo)) => format!("Added todo #{} ({})", todo.id, todo.status),
        ("checklist_update", _) => {
            format!("Updated todo #{} to {}", args.number("id").unwrap_or_default(), args.text("status"))
        }
        _ => format!("Todo list ({} items, {percent}% complete)", todos.len()),
    };
    let in_progress_id = todos.iter().find(|todo| todo.status == "in_progress").map(|todo| todo.id);
    match serde_json::to_string_pretty(&Shown { items: todos, completion_pct: percent, in_progress_id }) {
        Ok(json) => Step::ok(format!("{headline}\n{json}")),
        Err(error) => Step::error(error.to_string()),
    }
}

/// The words of this result are ours.
pub(super) fn plan(args: &Args, did: &[Done]) -> Step {
    let step = |step: &serde_json::Value| PlanStep {
        step: step["step"].as_str().unwrap_or_default().to_owned(),
        status: status(step["status"].as_str().unwrap_or_default()),
    };
    let steps: Vec<PlanStep> = args.list("plan").iter().map(step).collect();
    match did.first().map(|done| &done.outcome) {
        Some(Outcome::Ok) => Step::ok(format!("Plan updated ({} steps)", steps.len())),
        Some(other) => trouble("update_plan", "keep the plan", other),
        None => {
            let explanation = args.given("explanation").map(str::to_owned);
            Step::one(Action::Session(Session::Plan { steps, explanation }))
        }
    }
}
