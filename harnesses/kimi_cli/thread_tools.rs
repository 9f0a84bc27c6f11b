//! Tools that touch the conversation: the todo list, questions, sub-agents, web pages, and tools from outside.
use protocol::{Action, Call, Done, Outcome, Part, PlanStatus, PlanStep, Question, Raw, Refusal, Session, World};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::record::{Record, agent_name, id8};
use super::refusal::{failed, not_done, refused};
use super::result::Said;
use super::{Step, python, tasks, tools};

pub(super) fn todo(record: &Record, args: &Args, did: &[Done]) -> Step {
    let field = |todo: &Value, name: &str| todo[name].as_str().unwrap_or_default().to_owned();
    let Some(todos) = args.list("todos") else {
        let lines: Vec<String> =
            record.todos.iter().map(|todo| format!("- [{}] {}", field(todo, "status"), field(todo, "title"))).collect();
        return Step::Tell(match lines.is_empty() {
            true => Said::ok("").with("Todo list is empty."),
            false => Said::ok("").with(format!("Current todo list:\n{}", lines.join("\n"))),
        });
    };
    if let Some(done) = did.first() {
        return Step::Tell(match &done.outcome {
            Outcome::Ok => Said::ok("Todo list updated").with("Todo list updated"),
            other => not_done("The todo list was not updated.", other),
        });
    }
    let status = |todo: &Value| match todo["status"].as_str() {
        Some("done") => PlanStatus::Completed,
        Some("in_progress") => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    let steps = todos.iter().map(|todo| PlanStep { step: field(todo, "title"), status: status(todo) }).collect();
    Step::Do(vec![Action::Session(Session::Plan { steps, explanation: None })])
}

pub(super) fn ask(args: &Args, did: &[Done]) -> Step {
    let asked = args.list("questions").map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let Some(done) = did.first() else {
        let question = |(n, question): (usize, &Value)| Question {
            id: format!("q{}", n + 1),
            header: text(question, "header"),
            question: text(question, "question"),
            options: (question["options"].as_array().into_iter().flatten())
                .map(|option| (text(option, "label"), text(option, "description")))
                .collect(),
            multi: question["multi_select"].as_bool().unwrap_or_default(),
        };
        let questions = asked.iter().enumerate().map(question).collect();
        return Step::Do(vec![Action::Session(Session::Ask { questions, background: false })]);
    };
    Step::Tell(match &done.outcome {
        Outcome::Refused(Refusal::NobodyToAsk { .. }) => Said::ok("Afk mode, auto-dismissed.")
            .with("{\"answers\": {}, \"note\": \"Running in afk mode. No user is present. Make your own decision.\"}"),
        Outcome::Answers(raw) => {
            let given = raw.value();
            let mut answers = Map::new();
            for (n, question) in asked.iter().enumerate() {
                let chosen: Vec<&str> =
                    (given["answers"][format!("q{}", n + 1)]["answers"].as_array().into_iter().flatten())
                        .filter_map(Value::as_str)
                        .collect();
                if !chosen.is_empty() {
                    answers.insert(text(question, "question"), chosen.join(", ").into());
                }
            }
            Said::ok("").with(match answers.is_empty() {
                true => "{\"answers\": {}, \"note\": \"User dismissed the question without answering.\"}".to_owned(),
                false => json!({"answers": answers}).to_string(),
            })
        }
        other => not_done("The question was not answered.", other),
    })
}

pub(super) fn agent(record: &Record, args: &Args, did: &[Done]) -> Step {
    let kind = args.text("subagent_type");
    let earlier = match args.maybe("resume") {
        None => None,
        Some(name) => match record.agents.iter().find(|agent| agent.name == name) {
            Some(agent) => Some(agent),
            None => {
                let why = format!("Subagent instance not found: {name}");
                return Step::Tell(Said::failed(format!("Failed to run agent: {why}")));
            }
        },
    };
    if earlier.is_none() && !tools::KINDS.iter().any(|(known, _)| *known == kind) {
        let why = python::repr(&format!("Builtin subagent type not found: {kind}").into());
        return Step::Tell(Said::failed(format!("Failed to run agent: {why}")));
    }
    let kind = earlier.map_or(kind, |agent| &agent.kind);
    let (description, background) = (args.text("description"), args.on("run_in_background"));
    let Some(done) = did.first() else {
        return Step::Do(vec![Action::Session(Session::Spawn {
            kind: kind.to_owned(),
            description: description.to_owned(),
            prompt: args.text("prompt").to_owned(),
            model: args.maybe("model").map(str::to_owned),
            background,
            resume: earlier.map(|agent| agent.id.clone()),
        })]);
    };
    let name = earlier.map_or_else(|| agent_name(done.tag), |agent| agent.name.clone());
    Step::Tell(match &done.outcome {
        Outcome::Agent { .. } if background => {
            tasks::background(&format!("agent-{}", id8(done.tag)), "agent", description, "")
        }
        Outcome::Agent { text, .. } => Said::ok("").with(format!(
            "agent_id: {name}\nresumed: {}\nactual_subagent_type: {kind}\nstatus: completed\n\n[summary]\n{text}",
            earlier.is_some()
        )),
        Outcome::Refused(refusal) => refused(refusal),
        Outcome::Failed(failure) => Said::failed(format!("Failed to run agent: {}", failed(failure))),
        other => not_done("Failed to run agent.", other),
    })
}

/// Bytes of a page that are taken.
const PAGE: u64 = 5 << 20;

pub(super) fn fetch(args: &Args, did: &[Done]) -> Step {
    let url = args.text("url");
    let network = |why: &str| {
        Said::failed(format!(
            "Failed to fetch URL due to network error: {why}. This may indicate the URL is invalid or the server is unreachable."
        ))
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Step::Tell(network(url));
    }
    let Some(done) = did.first() else {
        let (url, markdown) = (url.to_owned(), true);
        return Step::Do(vec![Action::World(World::Fetch { url, max_bytes: PAGE, markdown })]);
    };
    Step::Tell(match &done.outcome {
        Outcome::Fetched(page) if page.status >= 400 => Said::failed(format!(
            "Failed to fetch URL. Status: {}. This may mean that the page is not accessible, or that the server has a problem.",
            page.status
        )),
        Outcome::Fetched(page) if page.text.trim().is_empty() => {
            Said::ok("The page has no text that could be extracted.")
        }
        Outcome::Fetched(page) => {
            Said::ok("The output is the main text extracted from the page.").with_bounded(&page.text)
        }
        Outcome::Failed(failure) => network(failed(failure).trim_end_matches('.')),
        other => not_done("Failed to fetch URL.", other),
    })
}

/// A tool of an MCP server (`mcp__{server}__{tool}`) or of the client.
pub(super) fn outside(call: &Call, did: &[Done]) -> Step {
    let Some(done) = did.first() else {
        let args = match python::loads(&call.args) {
            Ok(args) => Raw::of(&args),
            Err(why) => return Step::Tell(Said::failed(format!("Error parsing JSON arguments: {why}"))),
        };
        let session = match call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => Session::Mcp { server: server.to_owned(), tool: tool.to_owned(), args },
            None => Session::Client { tool: call.name.clone(), args },
        };
        return Step::Do(vec![Action::Session(session)]);
    };
    Step::Tell(match &done.outcome {
        Outcome::Mcp { content, error, .. } => {
            let blocks = match content.value() {
                Value::Array(blocks) => blocks,
                other => vec![other],
            };
            let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
            let output = blocks.iter().map(|block| Part::Text(text(block))).collect();
            let message = if *error { "Tool returned an error." } else { "" };
            Said { message: message.to_owned(), output, failed: *error }
        }
        Outcome::Answers(raw) => Said::ok("").with(raw.text()),
        Outcome::Ok => Said::ok(""),
        other => not_done(&format!("Failed to run {}.", call.name), other),
    })
}
