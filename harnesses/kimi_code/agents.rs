//! Agent and AgentSwarm: sub-agents of the kinds coder, explore and plan.
use protocol::{Action, Call, Done, Outcome, Session};

use super::args::Args;
use super::envelope::Said;
use super::refusal;
use super::roster::{self, Roster};
use crate::{Context, Next};

const KINDS: [&str; 3] = ["coder", "explore", "plan"];
const PLACEHOLDER: &str = "{{item}}";

const BACKGROUND: &str = "next_step: The end is reported by itself in a later turn; do not wait or poll for it.";

fn hint(agent: &str) -> String {
    format!(
        "resume_hint: Continue with Agent(resume=\"{agent}\", prompt=\"...\"). Give the agent_id alone, without subagent_type. It still has its earlier context; a tool call whose result was lost has to be made again."
    )
}

fn known_kind(kind: &str) -> Result<(), String> {
    match KINDS.contains(&kind) {
        true => Ok(()),
        false => Err(format!(
            "Subagent type \"{kind}\" is not allowed for this agent. Allowed subagent types: {}.",
            KINDS.join(", ")
        )),
    }
}

pub(super) fn agent(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Next {
    let said = |said: Said| said.next("Agent", call.id.as_str(), did);
    let background = args.flag("run_in_background") == Some(true);
    let roster = Roster::of_items(cx);
    let kind = args.text("subagent_type");
    let resumed = match args.text("resume").filter(|id| !id.is_empty()) {
        Some(_) if kind.is_some() => {
            return said(Said::failed(
                "Cannot set subagent_type when resuming an existing agent. Resume by agent id only.",
            ));
        }
        Some(id) => match roster.agents.iter().find(|(_, agent, _)| agent == id) {
            Some(known) => Some(known.clone()),
            None => return said(Said::failed(format!("subagent error: Agent instance \"{id}\" does not exist"))),
        },
        None => None,
    };
    let kind = resumed.as_ref().map_or(kind.unwrap_or("coder"), |(_, _, kind)| kind.as_str());
    if let Err(text) = known_kind(kind) {
        return said(Said::failed(format!("subagent error: {text}")));
    }
    let Some(first) = did.first() else {
        let id = resumed.as_ref().map(|(id, ..)| id.clone());
        return Next::Do(vec![spawn(kind, args.str("description"), args.str("prompt"), background, id)]);
    };
    let agent = resumed.as_ref().map_or_else(|| roster.agent_name(&call.id, 0), |(_, agent, _)| agent.clone());
    match &first.outcome {
        Outcome::Agent { .. } if background => said(Said::ok(format!(
            "task_id: {}\nstatus: running\nagent_id: {agent}\nactual_subagent_type: {kind}\nautomatic_notification: true\n\ndescription: {}\n\n{BACKGROUND}\n{}",
            roster::agent_task_id(first.tag),
            args.str("description"),
            hint(&agent)
        ))),
        Outcome::Agent { text, .. } => said(Said::ok(format!(
            "agent_id: {agent}\nactual_subagent_type: {kind}\nstatus: completed\nstop_reason: completed\n\n[summary]\n{text}\n\n{}",
            hint(&agent)
        ))),
        Outcome::Failed(failure) => said(Said::failed(format!(
            "agent_id: {agent}\nactual_subagent_type: {kind}\nstatus: failed\nstop_reason: error\n\nsubagent error: The subagent was stopped before it finished. Reason: {}\nresume_hint: Agent(resume=\"{agent}\", prompt=\"continue\") lets it go on.\nnext_step: Let it go on, do the rest yourself, or report the failure.",
            refusal::failure(failure)
        ))),
        other => said(refusal::said("Agent", other)),
    }
}

fn spawn(kind: &str, description: &str, prompt: &str, background: bool, resume: Option<String>) -> Action {
    Action::Session(Session::Spawn {
        kind: kind.to_owned(),
        description: description.to_owned(),
        prompt: prompt.to_owned(),
        model: None,
        background,
        resume,
    })
}

/// One sub-agent of a swarm.
struct Member {
    /// The runtime's id and ours of one that goes on.
    resumed: Option<(String, String)>,
    item: Option<String>,
    prompt: String,
}

pub(super) fn swarm(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Next {
    let said = |said: Said| said.next("AgentSwarm", call.id.as_str(), did);
    let roster = Roster::of_items(cx);
    let members = match members(&roster, args) {
        Ok(members) => members,
        Err(text) => return said(Said::failed(text)),
    };
    let kind = args.text("subagent_type").unwrap_or("coder");
    if did.is_empty() {
        let description = args.str("description");
        let spawns = members.iter().map(|member| {
            let resume = member.resumed.as_ref().map(|(id, _)| id.clone());
            spawn(kind, description, &member.prompt, false, resume)
        });
        return Next::Do(spawns.collect());
    }
    let mut new = 0;
    let (mut lines, mut completed, mut failed) = (Vec::new(), 0, 0);
    for (member, done) in members.iter().zip(did) {
        let agent = match &member.resumed {
            Some((_, agent)) => agent.clone(),
            None => {
                new += 1;
                roster.agent_name(&call.id, new - 1)
            }
        };
        let (outcome, text) = match &done.outcome {
            Outcome::Agent { text, .. } => ("completed", text.clone()),
            other => ("failed", refusal::said("AgentSwarm", other).text),
        };
        if outcome == "completed" {
            completed += 1
        } else {
            failed += 1
        }
        let item = member.item.as_ref().map_or_else(String::new, |item| format!(" item=\"{}\"", attribute(item)));
        lines.push(format!("<subagent agent_id=\"{agent}\"{item} outcome=\"{outcome}\">{text}</subagent>"));
    }
    let mut summary = format!("completed: {completed}");
    if failed > 0 {
        summary.push_str(&format!(", failed: {failed}"));
    }
    said(Said::ok(format!(
        "<agent_swarm_result>\n<summary>{summary}</summary>\n{}\n</agent_swarm_result>",
        lines.join("\n")
    )))
}

fn members(roster: &Roster, args: &Args) -> Result<Vec<Member>, String> {
    let mut members = Vec::new();
    for (agent, prompt) in args.map("resume_agent_ids").into_iter().flatten() {
        let known = roster.agents.iter().find(|(_, known, _)| known == agent);
        let (id, ..) = known.ok_or_else(|| format!("Agent instance \"{agent}\" does not exist"))?;
        let prompt = prompt.as_str().unwrap_or_default().to_owned();
        members.push(Member { resumed: Some((id.clone(), agent.clone())), item: None, prompt });
    }
    let items: Vec<&str> = args.list("items").unwrap_or_default().iter().filter_map(|item| item.as_str()).collect();
    if members.is_empty() && items.len() < 2 {
        return Err("AgentSwarm requires at least 2 items unless resume_agent_ids is provided.".to_owned());
    }
    if !items.is_empty() {
        let template = args.text("prompt_template").ok_or("prompt_template is required when items are provided.")?;
        if !template.contains(PLACEHOLDER) {
            return Err("prompt_template must include the {{item}} placeholder.".to_owned());
        }
        let prompts: Vec<String> = items.iter().map(|item| template.replace(PLACEHOLDER, item)).collect();
        for (n, prompt) in prompts.iter().enumerate() {
            if let Some(first) = prompts[..n].iter().position(|earlier| earlier == prompt) {
                return Err(format!(
                    "Duplicate subagent prompts from items {} and {}. AgentSwarm requires distinct subagents.",
                    first + 1,
                    n + 1
                ));
            }
        }
        let new = items.into_iter().zip(prompts);
        members.extend(new.map(|(item, prompt)| Member { resumed: None, item: Some(item.to_owned()), prompt }));
    }
    if let Some(kind) = args.text("subagent_type") {
        known_kind(kind)?;
    }
    Ok(members)
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\n', " ")
}
