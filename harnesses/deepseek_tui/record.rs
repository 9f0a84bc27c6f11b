//! What history tells: background commands and sub-agents under the names that the model knows, and the checklist.
use std::collections::HashMap;

use protocol::{Action, Body, Call, CallId, Done, Outcome, PlanStatus, PlanStep, Session, TaskId, World};
use serde::Serialize;

use super::args::{self, Args};
use super::tools;
use crate::Context;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shell {
    /// `shell_XXXXXXXX`
    pub(super) name: String,
    pub(super) task: TaskId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) reported: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Todo {
    pub(super) id: i64,
    pub(super) content: String,
    pub(super) status: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) shells: Vec<Shell>,
    pub(super) agents: Vec<Agent>,
    pub(super) todos: Vec<Todo>,
}

/// The name of a command in the background.
pub(super) fn shell_name(tag: u64) -> String {
    format!("shell_{:08x}", tag & 0xffff_ffff)
}

impl Record {
    pub(super) fn of(cx: &Context) -> Record {
        let mut record = Record::default();
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        for item in cx.items {
            match &item.body {
                Body::Reply { reply, .. } => calls.extend(reply.calls().map(|call| (&call.id, call))),
                Body::Read { calls: read, .. } => calls.extend(read.iter().map(|call| (&call.id, call))),
                Body::Called { call, did, answer } => {
                    did.iter().for_each(|done| record.done(done));
                    let Some(call) = calls.get(call) else { continue };
                    let Some(spec) = tools::known(&call.name).filter(|_| answer.error != Some(true)) else { continue };
                    if let Ok(args) = args::parse(spec, &call.args) {
                        record.listed(spec.name, &args);
                    }
                }
                Body::Notice(protocol::Notice::AgentReported { id, .. }) => {
                    record.agents.iter_mut().filter(|agent| agent.id == *id).for_each(|agent| agent.reported = true);
                }
                _ => {}
            }
        }
        record
    }

    fn done(&mut self, done: &Done) {
        match (&done.action, &done.outcome) {
            (Action::World(World::Run(_)), Outcome::Ran { task: Some(task), .. }) => {
                self.shells.push(Shell { name: shell_name(done.tag), task: *task });
            }
            (Action::Session(Session::Spawn { description, background: true, .. }), Outcome::Agent { id, .. }) => {
                self.agents.push(Agent { id: id.clone(), name: description.clone(), reported: false });
            }
            _ => {}
        }
    }

    /// The checklist after a call. False: there is no entry with that number.
    pub(super) fn listed(&mut self, tool: &str, args: &Args) -> bool {
        match tool {
            "checklist_write" | "todo_write" => {
                let todo = |(n, todo): (usize, &serde_json::Value)| Todo {
                    id: n as i64 + 1,
                    content: todo["content"].as_str().unwrap_or_default().to_owned(),
                    status: todo["status"].as_str().unwrap_or("pending").to_owned(),
                };
                self.todos = args.list("todos").iter().enumerate().map(todo).collect();
            }
            "checklist_add" => {
                let id = self.todos.iter().map(|todo| todo.id).max().unwrap_or(0) + 1;
                let status = args.given("status").unwrap_or("pending").to_owned();
                self.todos.push(Todo { id, content: args.text("content").to_owned(), status });
            }
            "checklist_update" => {
                let id = args.number("id").unwrap_or_default();
                let Some(todo) = self.todos.iter_mut().find(|todo| todo.id == id) else { return false };
                todo.status = args.text("status").to_owned();
            }
            _ => {}
        }
        true
    }

    pub(super) fn steps(&self) -> Vec<PlanStep> {
        self.todos.iter().map(|todo| PlanStep { step: todo.content.clone(), status: status(&todo.status) }).collect()
    }
}

pub(super) fn status(text: &str) -> PlanStatus {
    match text {
        "in_progress" => PlanStatus::InProgress,
        "completed" => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    }
}
