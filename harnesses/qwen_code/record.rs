//! What history tells: which files the model has read, in which version, and which background commands and agents there are.
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use protocol::{
    Action, Answer, Body, Call, CallId, Done, Fact, Notice, Outcome, ReadAs, Session, Stamp, TaskId, World,
};
use serde_json::Value;

use super::{args, tools};
use crate::Context;

/// A file as the model last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) stamp: Stamp,
    /// All of it, by the newest call on it, and that call was a read: reading it again would say the same.
    pub(super) full: bool,
    /// Shown as something else than its text (a notebook, an image, a binary file).
    pub(super) payload: bool,
}

/// A background command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shell {
    /// As the model names it: `bg_` and eight hex digits.
    pub(super) id: String,
    pub(super) call: CallId,
    pub(super) task: TaskId,
    pub(super) command: String,
    pub(super) ended: bool,
}

/// A background agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    /// As the model names it: kind and call id.
    pub(super) id: String,
    pub(super) call: CallId,
    /// As the runtime names it.
    pub(super) thread: String,
    pub(super) description: String,
    pub(super) ended: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) seen: BTreeMap<PathBuf, Seen>,
    pub(super) shells: Vec<Shell>,
    pub(super) agents: Vec<Agent>,
    pub(super) home: Option<PathBuf>,
}

impl Record {
    pub(super) fn of(cx: &Context) -> Record {
        let mut record = Record::default();
        let mut calls: HashMap<&CallId, &Call> = HashMap::new();
        for item in cx.items {
            match &item.body {
                Body::Fact(Fact::Home(home)) => record.home.clone_from(home),
                Body::Reply { reply, .. } => calls.extend(reply.calls().map(|c| (&c.id, c))),
                Body::Read { calls: found, .. } => calls.extend(found.iter().map(|c| (&c.id, c))),
                Body::Called { call, did, answer } => match calls.get(call) {
                    Some(call) => record.called(cx, call, did, answer),
                    None => record.other(did),
                },
                Body::Notice(Notice::TaskEnded { task, .. }) => {
                    record.shells.iter_mut().filter(|shell| shell.task == *task).for_each(|shell| shell.ended = true);
                }
                Body::Notice(Notice::AgentReported { id, .. }) => {
                    record.agents.iter_mut().filter(|agent| agent.thread == *id).for_each(|agent| agent.ended = true);
                }
                _ => {}
            }
        }
        record
    }

    fn called(&mut self, cx: &Context, call: &Call, did: &[Done], answer: &Answer) {
        let given = args::object(&call.args);
        let (name, given) = match args::canonical(&call.name) {
            "tool_call" => match given.get("arguments").and_then(Value::as_object) {
                Some(inner) => (args::text(&given, "name").to_owned(), inner.clone()),
                None => return,
            },
            name => (name.to_owned(), given),
        };
        match name.as_str() {
            "read_file" => {
                let ranged = |key: &str| given.get(key).is_some_and(|value| !value.is_null());
                let ranged = ranged("offset") || ranged("limit");
                self.read(did, ranged, &answer.content.text());
            }
            "grep_search" => self.searched(did),
            "edit" | "write_file" => self.changed(did, false),
            "notebook_edit" => self.changed(did, true),
            "run_shell_command" => self.started(cx, call, did),
            "agent" => self.spawned(call, args::text(&given, "description"), did),
            name if tools::is_ours(name) => {}
            _ => self.other(did),
        }
    }

    fn read(&mut self, did: &[Done], ranged: bool, answer: &str) {
        for done in did {
            let Action::World(World::Read { path, what }) = &done.action else { continue };
            let (stamp, is_text) = match (&done.outcome, what) {
                (Outcome::Text { stamp, .. }, ReadAs::Text { .. }) => (stamp, true),
                (Outcome::Media { stamp, .. } | Outcome::Stat { stamp, .. }, _) => (stamp, false),
                _ => continue,
            };
            if answer.starts_with("Error parsing notebook ") {
                continue;
            }
            let no_text = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("pdf"))
                && matches!(what, ReadAs::Stat)
                && !super::pdf::was_shown(did, answer);
            if no_text {
                continue;
            }
            let notebook = path.extension().is_some_and(|ext| ext == "ipynb");
            let payload = !is_text || notebook || answer.starts_with("Cannot display content of binary file: ");
            let unchanged =
                answer.starts_with("[File ") && answer.contains(" unchanged since last read in this session");
            if unchanged && self.seen.contains_key(path) {
                continue;
            }
            // Parts that are read later take nothing away.
            let known = self.seen.get(path).is_some_and(|seen| seen.full && same(&seen.stamp, stamp));
            let full = known || !ranged && (notebook || !answer.starts_with("Showing lines "));
            self.seen.insert(path.clone(), Seen { stamp: stamp.clone(), full, payload });
        }
    }

    /// What was read before stays as it was read: a search shows lines of a newer version, not all of it.
    fn searched(&mut self, did: &[Done]) {
        for done in did {
            if let (Action::World(World::Read { path, .. }), Outcome::Stat { stamp, .. }) =
                (&done.action, &done.outcome)
            {
                let seen = Seen { stamp: stamp.clone(), full: false, payload: false };
                self.seen.entry(path.clone()).or_insert(seen);
            }
        }
    }

    fn changed(&mut self, did: &[Done], notebook: bool) {
        for done in did {
            let (Action::World(World::Change(asked)), Outcome::Changed(changes)) = (&done.action, &done.outcome) else {
                continue;
            };
            // Under the name that was asked for: the answer's may have links resolved.
            for (asked, change) in asked.iter().zip(changes) {
                match &change.stamp {
                    Some(stamp) => {
                        let seen = Seen { stamp: stamp.clone(), full: notebook, payload: notebook };
                        self.seen.insert(asked.path.clone(), seen)
                    }
                    None => self.seen.remove(&asked.path),
                };
            }
        }
    }

    /// A call of another dialect: what it read or wrote counts as read in part.
    fn other(&mut self, did: &[Done]) {
        for done in did {
            match (&done.action, &done.outcome) {
                (Action::World(World::Read { path, .. }), Outcome::Text { stamp, .. }) if path.is_absolute() => {
                    self.seen.insert(path.clone(), Seen { stamp: stamp.clone(), full: false, payload: false });
                }
                (_, Outcome::Changed(changes)) => {
                    for change in changes {
                        if let Some(stamp) = &change.stamp {
                            let seen = Seen { stamp: stamp.clone(), full: false, payload: false };
                            self.seen.insert(change.path.clone(), seen);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn started(&mut self, cx: &Context, call: &Call, did: &[Done]) {
        let task = did.iter().find_map(|done| match &done.outcome {
            Outcome::Ran { task: Some(task), .. } => Some(*task),
            _ => None,
        });
        if let Some(task) = task {
            let command = args::text(&args::object(&call.args), "command").to_owned();
            let id = super::background::id(cx, &call.id);
            self.shells.push(Shell { id, call: call.id.clone(), task, command, ended: false });
        }
    }

    fn spawned(&mut self, call: &Call, description: &str, did: &[Done]) {
        for done in did {
            if let (Action::Session(Session::Spawn { kind, background: true, .. }), Outcome::Agent { id, .. }) =
                (&done.action, &done.outcome)
            {
                self.agents.push(Agent {
                    id: format!("{kind}-{}", call.id),
                    call: call.id.clone(),
                    thread: id.clone(),
                    description: description.to_owned(),
                    ended: false,
                });
            }
        }
    }
}

/// Time and size alone tell: also a file that was written anew with the same content counts as changed.
pub(super) fn same(a: &Stamp, b: &Stamp) -> bool {
    a.mtime_ns == b.mtime_ns && a.len == b.len
}

/// Without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
