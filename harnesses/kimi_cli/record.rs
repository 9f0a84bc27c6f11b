//! What history tells: background tasks and sub-agents under the names that the model knows, the todo list, and how often in a
//! row the same was called.
use std::collections::HashMap;

use protocol::{Action, Body, Call, CallId, Done, Millis, Outcome, Run, Session, TaskId, World};
use serde_json::Value;

use super::args::{self, Args};
use crate::Context;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// `bash-{ID8}`
    pub(super) name: String,
    pub(super) id: TaskId,
    pub(super) description: String,
    pub(super) command: String,
    pub(super) started: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    /// `a{HEX8}`
    pub(super) name: String,
    /// As the runtime knows it.
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) description: String,
    /// It was started in the background, under this name.
    pub(super) task: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record {
    pub(super) tasks: Vec<Task>,
    pub(super) agents: Vec<Agent>,
    pub(super) todos: Vec<Value>,
    /// The newest calls that are all the same, and how many they are.
    repeated: Option<(String, usize)>,
}

impl Record {
    pub(super) fn of(cx: &Context) -> Record {
        let mut record = Record::default();
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        let mut in_reply: Vec<String> = Vec::new();
        for item in cx.items {
            match &item.body {
                Body::User { .. } => record.repeated = None,
                Body::Reply { reply, .. } => {
                    calls.extend(reply.calls().map(|call| (&call.id, call)));
                    in_reply.clear();
                }
                Body::Read { calls: found, .. } => calls.extend(found.iter().map(|call| (&call.id, call))),
                Body::Called { call, did, .. } => {
                    let Some(call) = calls.get(call) else { continue };
                    let key = args::canonical(call);
                    // Equal calls of one reply were done once.
                    if !in_reply.contains(&key) {
                        record.repeat(&key);
                        in_reply.push(key);
                    }
                    if let Ok((name, args)) = args::parse(cx, call) {
                        record.called(name, &args, did);
                    }
                }
                _ => {}
            }
        }
        record
    }

    fn repeat(&mut self, key: &str) {
        match &mut self.repeated {
            Some((last, times)) if last == key => *times += 1,
            repeated => *repeated = Some((key.to_owned(), 1)),
        }
    }

    /// How often in a row this was called before.
    pub(super) fn repeats(&self, call: &Call) -> usize {
        self.repeated.as_ref().filter(|(last, _)| *last == args::canonical(call)).map_or(0, |(_, times)| *times)
    }

    fn called(&mut self, name: &str, args: &Args, did: &[Done]) {
        for done in did {
            match (&done.action, &done.outcome) {
                (Action::World(World::Run(run)), Outcome::Ran { task: Some(id), .. }) => {
                    self.tasks.push(Task::of(run, *id, args, done));
                }
                (
                    Action::Session(Session::Spawn { kind, description, background, resume, .. }),
                    Outcome::Agent { id, .. },
                ) if resume.is_none() || !self.agents.iter().any(|agent| agent.id == *id) => {
                    self.agents.push(Agent {
                        name: agent_name(done.tag),
                        id: id.clone(),
                        kind: kind.clone(),
                        description: description.clone(),
                        task: background.then(|| format!("agent-{}", id8(done.tag))),
                    });
                }
                _ => {}
            }
        }
        if let ("SetTodoList", Some(todos)) = (name, args.list("todos")) {
            self.todos = todos.clone();
        }
    }

    pub(super) fn task(&self, name: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.name == name)
    }
}

impl Task {
    pub(super) fn of(run: &Run, id: TaskId, args: &Args, done: &Done) -> Task {
        Task {
            name: format!("bash-{}", id8(done.tag)),
            id,
            description: args.text("description").to_owned(),
            command: run.script.clone(),
            started: done.at,
        }
    }
}

/// Eight characters of `a-z0-9`.
pub(super) fn id8(tag: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest = tag;
    let digit = |_| {
        let digit = DIGITS[(rest % 36) as usize];
        rest /= 36;
        char::from(digit)
    };
    (0..8).map(digit).collect()
}

pub(super) fn agent_name(tag: u64) -> String {
    format!("a{:08x}", tag & 0xffff_ffff)
}
