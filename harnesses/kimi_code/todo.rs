//! The TodoList tool, and the list as history has it.
use std::collections::HashMap;

use protocol::{Action, Body, Call, CallId, Done, PlanStatus, PlanStep, Session};

use super::args::{self, Args};
use super::envelope::Said;
use crate::{Context, Next};

const USE_IT: &str = "Ensure that you continue to use the todo list to track progress. Mark tasks done immediately after finishing them, and keep exactly one task in_progress when work is underway.";

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let said = |text: String| Next::Answer(Said::ok(text).answer("TodoList", did));
    let Some(new) = items(args) else {
        return match listing(&latest(cx)) {
            Some(lines) => said(format!("Current todo list:\n{lines}")),
            None => said("Todo list is empty.".to_owned()),
        };
    };
    if did.is_empty() {
        let steps = new.iter().map(|(title, status)| PlanStep { step: title.clone(), status: plan_status(status) });
        return Next::Do(vec![Action::Session(Session::Plan { steps: steps.collect(), explanation: None })]);
    }
    match listing(&new) {
        Some(lines) => said(format!("Todo list updated.\nCurrent todo list:\n{lines}\n\n{USE_IT}")),
        None => said("Todo list cleared.".to_owned()),
    }
}

/// Title and status of each; None: the list is only asked for.
fn items(args: &Args) -> Option<Vec<(String, String)>> {
    let text = |item: &serde_json::Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    Some(args.list("todos")?.iter().map(|item| (text(item, "title"), text(item, "status"))).collect())
}

fn plan_status(status: &str) -> PlanStatus {
    match status {
        "done" => PlanStatus::Completed,
        "in_progress" => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    }
}

/// A call that writes the list.
pub(super) fn written(call: &Call) -> Option<Vec<(String, String)>> {
    if call.name != "TodoList" {
        return None;
    }
    items(&args::parse(&call.name, &call.args).ok()?)
}

/// As last written; a list of another dialect counts too.
pub(super) fn latest(cx: &Context) -> Vec<(String, String)> {
    let mut calls: HashMap<&CallId, &Call> = HashMap::new();
    let mut latest = Vec::new();
    for item in cx.items {
        match &item.body {
            Body::Reply { reply, .. } => calls.extend(reply.calls().map(|call| (&call.id, call))),
            Body::Read { calls: found, .. } => calls.extend(found.iter().map(|call| (&call.id, call))),
            Body::Called { call, did, answer } if answer.error != Some(true) => {
                if let Some(list) = calls.get(call).and_then(|call| written(call)) {
                    latest = list;
                } else if let Some(Done { action: Action::Session(Session::Plan { steps, .. }), .. }) = did.first() {
                    latest = steps.iter().map(|step| (step.step.clone(), status(step.status).to_owned())).collect();
                }
            }
            _ => {}
        }
    }
    latest
}

fn status(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "done",
    }
}

/// None where the list is empty.
pub(super) fn listing(list: &[(String, String)]) -> Option<String> {
    let lines: Vec<String> = list.iter().map(|(title, status)| format!("  [{status}] {title}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
