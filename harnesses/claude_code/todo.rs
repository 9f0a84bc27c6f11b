//! The list of what is to be done: TodoWrite, whose list is the last one written, and tasks, whose list is made of all calls so far.
//! After a summary it is found in what was said at its start.
use std::collections::HashMap;

use protocol::{Action, Answer, Body, Call, CallId, Done, Entry, Outcome, PlanStatus, PlanStep, Session};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::args::Input;
use super::shared::refusal::{Wanted, refused};
use super::shared::renamed;
use super::tools::Listing;
use crate::{Context, Next};

const WRITTEN: &str = "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable";

/// A line before the list that a summary carries on.
const CARRIED: &str = "The list of tasks as it stands:";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) id: u64,
    pub(super) subject: String,
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) active: Option<String>,
    pub(super) status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    /// Ids of tasks that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) waits_for: Vec<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct List {
    pub(super) tasks: Vec<Task>,
    /// The id given last.
    last: u64,
}

impl List {
    /// As all calls so far have left it.
    pub(super) fn of(cx: &Context) -> List {
        let mut list = carried(cx).unwrap_or_default();
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        for item in cx.items {
            match &item.body {
                Body::Reply { reply, .. } => calls.extend(reply.calls().map(|call| (&call.id, call))),
                Body::Read { calls: found, .. } => calls.extend(found.iter().map(|call| (&call.id, call))),
                Body::Called { call, did, answer } if answer.error != Some(true) && !did.is_empty() => {
                    let Some(call) = calls.get(call) else { continue };
                    let mut args = serde_json::from_str(&call.args).unwrap_or(Value::Null);
                    if let Some(map) = args.as_object_mut() {
                        renamed::rename(&call.name, map);
                    }
                    match call.name.as_str() {
                        "TaskCreate" => drop(list.create(&args)),
                        "TaskUpdate" => drop(list.update(&args)),
                        "TodoWrite" => list.write(&args),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        list
    }

    fn create(&mut self, args: &Value) -> u64 {
        self.last += 1;
        let text = |key: &str| args[key].as_str().map(str::to_owned);
        let subject = text("subject").unwrap_or_default();
        self.tasks.push(Task {
            id: self.last,
            description: text("description").unwrap_or_else(|| subject.clone()),
            subject,
            active: text("activeForm"),
            status: "pending".into(),
            owner: None,
            waits_for: Vec::new(),
        });
        self.last
    }

    /// What changed, by name; None: there is no such task.
    fn update(&mut self, args: &Value) -> Option<Vec<&'static str>> {
        let id: u64 = args["taskId"].as_str()?.parse().ok()?;
        let at = self.tasks.iter().position(|task| task.id == id)?;
        if args["status"] == "deleted" {
            self.tasks.remove(at);
            for task in &mut self.tasks {
                task.waits_for.retain(|waits| *waits != id);
            }
            return Some(vec!["deleted"]);
        }
        let mut changed = Vec::new();
        let task = &mut self.tasks[at];
        let mut set = |field: &mut String, key: &'static str| {
            if let Some(text) = args[key].as_str().filter(|text| field != text) {
                text.clone_into(field);
                changed.push(key);
            }
        };
        set(&mut task.subject, "subject");
        set(&mut task.description, "description");
        let mut active = task.active.clone().unwrap_or_default();
        set(&mut active, "activeForm");
        let mut owner = task.owner.clone().unwrap_or_default();
        set(&mut owner, "owner");
        task.active = Some(active).filter(|text| !text.is_empty());
        task.owner = Some(owner).filter(|text| !text.is_empty());
        if args["metadata"].is_object() {
            changed.push("metadata");
        }
        if let Some(status) = args["status"].as_str().filter(|status| task.status != *status) {
            status.clone_into(&mut task.status);
            changed.push("status");
        }
        let ids = |key: &str| -> Vec<u64> {
            let list = args[key].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(|id| id.as_str()?.parse().ok()).collect()
        };
        let (blocks, blocked_by) = (ids("addBlocks"), ids("addBlockedBy"));
        if !blocks.is_empty() {
            changed.push("blocks");
        }
        if !blocked_by.is_empty() {
            changed.push("blockedBy");
        }
        for task in &mut self.tasks {
            let more: Vec<u64> = match () {
                () if task.id == id => blocked_by.clone(),
                () if blocks.contains(&task.id) => vec![id],
                () => continue,
            };
            for other in more {
                if !task.waits_for.contains(&other) {
                    task.waits_for.push(other);
                }
            }
        }
        Some(changed)
    }

    fn write(&mut self, args: &Value) {
        let todos = match &args["todos"] {
            // The list written as a string was taken for the list.
            Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            todos => todos.clone(),
        };
        let todos = todos.as_array().cloned().unwrap_or_default();
        let task = |(todo, id): (&Value, u64)| Task {
            id,
            subject: todo["content"].as_str().unwrap_or_default().to_owned(),
            description: String::new(),
            active: todo["activeForm"].as_str().map(str::to_owned),
            status: todo["status"].as_str().unwrap_or("pending").to_owned(),
            owner: None,
            waits_for: Vec::new(),
        };
        self.tasks = todos.iter().zip(1..).map(task).collect();
    }

    /// Ids of unfinished tasks that this one waits for.
    fn blockers(&self, task: &Task) -> Vec<String> {
        let open = |id: &&u64| self.tasks.iter().any(|task| task.id == **id && task.status != "completed");
        task.waits_for.iter().filter(open).map(|id| format!("#{id}")).collect()
    }

    fn shown(&self) -> String {
        if self.tasks.is_empty() {
            return "No tasks found".to_owned();
        }
        let lines = self.tasks.iter().map(|task| {
            let owner = task.owner.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default();
            let blockers = self.blockers(task);
            let blocked = match blockers.is_empty() {
                true => String::new(),
                false => format!(" [blocked by {}]", blockers.join(", ")),
            };
            format!("#{} [{}] {}{owner}{blocked}", task.id, task.status, task.subject)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn one(&self, id: &str) -> Option<String> {
        let task = self.tasks.iter().find(|task| task.id.to_string() == id)?;
        let mut lines = vec![
            format!("Task #{}: {}", task.id, task.subject),
            format!("Status: {}", task.status),
            format!("Description: {}", task.description),
        ];
        let blockers = self.blockers(task);
        if !blockers.is_empty() {
            lines.push(format!("Blocked by: {}", blockers.join(", ")));
        }
        let waiting = self.tasks.iter().filter(|other| other.waits_for.contains(&task.id));
        let waiting: Vec<String> = waiting.map(|other| format!("#{}", other.id)).collect();
        if !waiting.is_empty() {
            lines.push(format!("Blocks: {}", waiting.join(", ")));
        }
        Some(lines.join("\n"))
    }

    /// For the clients.
    fn steps(&self) -> Vec<PlanStep> {
        let status = |task: &Task| match task.status.as_str() {
            "completed" => PlanStatus::Completed,
            "in_progress" => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        };
        self.tasks.iter().map(|task| PlanStep { step: task.subject.clone(), status: status(task) }).collect()
    }

    /// As it stands in a reminder of it.
    pub(super) fn reminded(&self, listing: Listing) -> Option<String> {
        if self.tasks.is_empty() {
            return None;
        }
        let lines = |mark: &str| {
            let line = |task: &Task| format!("{mark}{}. [{}] {}", task.id, task.status, task.subject);
            self.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        Some(match listing {
            Listing::Tasks => format!("Here are the existing tasks:\n\n{}", lines("#")),
            _ => format!("Here are the existing contents of your todo list:\n\n[{}]", lines("")),
        })
    }

    /// What a summary carries on, so that the list outlives it.
    pub(super) fn carried_on(&self) -> Option<String> {
        let text = serde_json::to_string(self).ok()?;
        (!self.tasks.is_empty()).then(|| format!("{CARRIED}\n{text}"))
    }
}

fn carried(cx: &Context) -> Option<List> {
    let text = match cx.said.first()? {
        Entry::User(content) => content.text(),
        _ => return None,
    };
    let (_, rest) = text.split_once(CARRIED)?;
    serde_json::from_str(rest.trim_start().lines().next()?).ok()
}

/// TodoWrite, TaskCreate, TaskGet, TaskList, TaskUpdate.
pub(super) fn next(cx: &Context, input: &Input, did: &[Done]) -> Next {
    let mut list = List::of(cx);
    let args = Value::Object(input.map.clone());
    let say = |text: String| Next::Answer(Answer::plain(text));
    let said = match input.tool {
        "TaskList" => return say(list.shown()),
        "TaskGet" => return say(list.one(input.text("taskId")).unwrap_or_else(|| "Task not found".into())),
        "TaskCreate" => {
            let id = list.create(&args);
            format!("Task #{id} created successfully: {}", input.text("subject"))
        }
        "TaskUpdate" => match list.update(&args) {
            Some(changed) => {
                let changed = changed.join(", ");
                format!("Updated task #{} {changed}", input.text("taskId")).trim_end().to_owned()
            }
            None => return say("Task not found".into()),
        },
        _ => {
            list.write(&args);
            WRITTEN.to_owned()
        }
    };
    match did.first().map(|done| &done.outcome) {
        None => Next::Do(vec![Action::Session(Session::Plan { steps: list.steps(), explanation: None })]),
        Some(Outcome::Refused(refusal)) => Next::Answer(refused(Wanted::Use(input.tool), refusal)),
        Some(_) => say(said),
    }
}
