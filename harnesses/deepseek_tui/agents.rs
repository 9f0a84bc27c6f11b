//! Sub-agents: the kinds that there are, and `agent_open`. One works in the background; its report comes as a message.
use protocol::{Action, Done, Outcome, Session};
use serde::Serialize;

use super::answer::{Step, trouble};
use super::args::{self, Args};
use super::tools;

const PROMPTS: &str = include_str!("prompt/agents.md");
const KINDS: [&str; 7] = ["worker", "scout", "planner", "reviewer", "builder", "verifier", "custom"];

/// What an agent of this kind is told first; None: no kind of this dialect.
pub(super) fn prompt(kind: &str) -> Option<&'static str> {
    PROMPTS.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(": "))
}

pub(super) fn only_reads(kind: &str) -> bool {
    matches!(kind, "scout" | "planner" | "reviewer")
}

#[derive(Serialize)]
struct Opened<'a> {
    agent_id: &'a str,
    name: &'a str,
    r#type: &'a str,
    status: &'static str,
}

/// The form of this result is ours.
pub(super) fn open(args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "agent_open";
    let named = |names: &[&str]| names.iter().find_map(|name| args.given(name).filter(|text| !text.trim().is_empty()));
    // Other names of the original for the same field.
    let Some(task) = named(&["prompt", "message", "objective", "task"]) else {
        let text = tools::known(TOOL).map(|spec| args::missing(spec, "prompt", &args.0));
        return Step::error(text.unwrap_or_default());
    };
    let role = named(&["role", "agent_role"]);
    let as_kind = |text: &str| KINDS.into_iter().find(|kind| kind.eq_ignore_ascii_case(text.trim()));
    let kind = named(&["type", "agent_type"]).and_then(as_kind).or(role.and_then(as_kind)).unwrap_or(KINDS[0]);
    let name = named(&["name", "nickname"]).unwrap_or(kind);
    let Some(done) = did.first() else {
        let mut prompt = task.to_owned();
        if let Some(role) = role.filter(|role| as_kind(role).is_none()) {
            prompt.push_str(&format!("\n\nYour role: {role}."));
        }
        if let Some(cwd) = named(&["cwd"]) {
            prompt.push_str(&format!("\n\nWork in the folder {cwd}."));
        }
        let allowed = args.texts("allowed_tools");
        if !allowed.is_empty() {
            prompt.push_str(&format!("\n\nUse these tools only: {}.", allowed.join(", ")));
        }
        return Step::one(Action::Session(Session::Spawn {
            kind: kind.to_owned(),
            description: name.to_owned(),
            prompt,
            model: named(&["model"]).map(str::to_owned),
            background: true,
            resume: None,
        }));
    };
    match &done.outcome {
        Outcome::Agent { id, .. } => {
            let opened = Opened { agent_id: id, name, r#type: kind, status: "running" };
            Step::ok(serde_json::to_string(&opened).unwrap_or_default())
        }
        other => trouble(TOOL, "start the agent", other),
    }
}
