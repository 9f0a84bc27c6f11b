//! Tools that act on the thread: the list of steps, skills, and agents that take a task over.
use protocol::{Action, Answer, Done, FileKind, Outcome, PlanStep, Session, World};
use serde_json::json;

use super::{args::Todo, refusal, shown};
use crate::{Context, Next};

/// Files of a skill that are named.
const SKILL_FILES: usize = 10;

pub(super) fn todos(todos: &[Todo], did: &[Done]) -> Next {
    if did.is_empty() {
        let step = |todo: &Todo| PlanStep { step: todo.content.clone(), status: todo.plan_status() };
        let steps = todos.iter().map(step).collect();
        return Next::Do(vec![Action::Session(Session::Plan { steps, explanation: None })]);
    }
    let list: Vec<_> = todos
        .iter()
        .map(|todo| json!({"content": todo.content, "status": todo.status, "priority": todo.priority}))
        .collect();
    Next::Answer(match serde_json::to_string_pretty(&list) {
        Ok(text) => Answer::plain(text),
        Err(error) => Answer::failed(error.to_string()),
    })
}

pub(super) fn skill(cx: &Context, name: &str, did: &[Done]) -> Next {
    let unknown = || {
        let names: Vec<&str> = cx.skills.iter().map(|skill| skill.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Next::Answer(Answer::failed(format!("Skill \"{name}\" not found. Available skills: {names}")))
    };
    let Some(done) = did.first() else {
        return match cx.skills.iter().any(|skill| skill.name == name) {
            true => Next::Do(vec![Action::Session(Session::Skill { name: name.to_owned(), args: String::new() })]),
            false => unknown(),
        };
    };
    let (dir, body) = match &done.outcome {
        Outcome::Skill { dir, body, .. } => (dir, body.trim()),
        Outcome::Failed(_) => return unknown(),
        other => return Next::Answer(refusal::told(other)),
    };
    let Some(listed) = did.get(1) else {
        return Next::Do(vec![Action::World(World::List { path: dir.clone(), depth: 3, limit: SKILL_FILES * 4 })]);
    };
    let files: Vec<String> = match &listed.outcome {
        Outcome::Paths(found) => found
            .hits
            .iter()
            .filter(|hit| hit.kind == FileKind::File && hit.path != dir.join("SKILL.md"))
            .take(SKILL_FILES)
            .map(|hit| format!("<file>{}</file>", shown(&hit.path)))
            .collect(),
        _ => Vec::new(),
    };
    Next::Answer(Answer::plain(format!(
        "<skill_content name=\"{name}\">\n# Skill: {name}\n\n{body}\n\nBase directory for this skill: {}\nPaths in it that are not absolute (scripts/, say) start in that directory.\nNote: not every file may be listed.\n\n<skill_files>\n{}\n</skill_files>\n</skill_content>",
        shown(dir),
        files.join("\n")
    )))
}

pub(super) fn task(description: String, prompt: String, kind: String, resume: Option<String>, did: &[Done]) -> Next {
    if !matches!(kind.as_str(), "explore" | "general") {
        return Next::Answer(Answer::failed(format!("Unknown agent type: {kind} is not a valid agent type")));
    }
    match did.first().map(|done| &done.outcome) {
        None => {
            let spawn = Session::Spawn { kind, description, prompt, model: None, background: false, resume };
            Next::Do(vec![Action::Session(spawn)])
        }
        Some(Outcome::Agent { id, text, .. }) => Next::Answer(Answer::plain(report(id, text))),
        Some(other) => Next::Answer(refusal::told(other)),
    }
}

pub(super) fn report(id: &str, text: &str) -> String {
    format!("<task id=\"{id}\" state=\"completed\">\n<task_result>\n{text}\n</task_result>\n</task>")
}
