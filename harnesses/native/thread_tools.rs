//! Tools that act on the thread: `update_plan`, `request_user_input`, and those that come from outside (MCP, the client).
use protocol::{
    Action, Answer, Call, Content, Done, Failure, Outcome, Part, PlanStatus, PlanStep, Question, Raw, Session,
};
use serde::Deserialize;
use serde_json::Value;

use super::{answers, arguments};
use crate::{Next, args};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdatePlanArgs {
    #[serde(default)]
    explanation: Option<String>,
    plan: Vec<PlanItemArg>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanItemArg {
    step: String,
    status: PlanStatus,
}

pub(super) fn update_plan(call: &Call, did: &[Done]) -> Next {
    let args: UpdatePlanArgs = match arguments::read(&call.args) {
        Ok(args) => args,
        Err(text) => return reject(text),
    };
    let steps = args.plan.into_iter().map(|PlanItemArg { step, status }| PlanStep { step, status }).collect();
    match did.last().map(|done| &done.outcome) {
        None => Next::Do(vec![Action::Session(Session::Plan { steps, explanation: args.explanation })]),
        Some(Outcome::Refused(refusal)) => reject(answers::refusal(refusal)),
        Some(_) => Next::Answer(Answer::plain("Plan updated")),
    }
}

#[derive(Debug, Deserialize)]
struct AskArgs {
    questions: Vec<AskQuestion>,
}

#[derive(Debug, Deserialize)]
struct AskQuestion {
    id: String,
    header: String,
    question: String,
    #[serde(default)]
    options: Vec<AskOption>,
}

#[derive(Debug, Deserialize)]
struct AskOption {
    label: String,
    description: String,
}

pub(super) fn request_user_input(call: &Call, did: &[Done]) -> Next {
    let args: AskArgs = match arguments::read(&call.args) {
        Ok(args) => args,
        Err(text) => return reject(text),
    };
    let questions = args.questions.into_iter().map(|asked| Question {
        id: asked.id,
        header: asked.header,
        question: asked.question,
        options: asked.options.into_iter().map(|option| (option.label, option.description)).collect(),
        multi: false,
    });
    match did.last().map(|done| &done.outcome) {
        None => {
            let questions = questions.collect();
            Next::Do(vec![Action::Session(Session::Ask { questions, background: false })])
        }
        Some(Outcome::Answers(raw)) => Next::Answer(Answer::plain(raw.text())),
        Some(Outcome::Refused(refusal)) => reject(answers::refusal(refusal)),
        Some(_) => reject("request_user_input was cancelled before receiving a response".to_owned()),
    }
}

/// A tool from outside: a namespace `mcp__SERVER` means that server, none the client.
pub(super) fn outside(call: &Call, did: &[Done]) -> Next {
    let args = match args::object(&call.args) {
        Ok(args) => Raw::of(&args),
        Err(error) => return reject(format!("err: {error}")),
    };
    let Some(done) = did.last() else {
        let tool = call.name.clone();
        let action = match call.namespace.as_deref().and_then(|name| name.strip_prefix("mcp__")) {
            Some(server) => Session::Mcp { server: server.to_owned(), tool, args },
            None => Session::Client { tool, args },
        };
        return Next::Do(vec![Action::Session(action)]);
    };
    let wall = format!("Wall time: {:.4} seconds\nOutput:", done.took as f64 / 1000.0);
    match &done.outcome {
        Outcome::Mcp { structured: Some(structured), .. } => {
            Next::Answer(Answer::plain(format!("{wall}\n{}", structured.text())))
        }
        Outcome::Mcp { content, .. } => {
            let blocks: Vec<Value> = content.read().unwrap_or_default();
            let parts = std::iter::once(Part::Text(wall)).chain(blocks.iter().map(block)).collect();
            Next::Answer(Answer { content: Content::Parts(parts), error: None, after: Vec::new() })
        }
        Outcome::Answers(raw) => Next::Answer(Answer::plain(raw.text())),
        Outcome::Refused(refusal) => reject(answers::refusal(refusal)),
        Outcome::Failed(Failure::Other(why)) => Next::Answer(Answer::plain(why.clone())),
        _ => Next::Answer(Answer::plain("the tool gave no answer")),
    }
}

/// Text as it is; any other block as its JSON. (Images are put in by whoever holds their bytes.)
fn block(block: &Value) -> Part {
    match (block.get("type").and_then(Value::as_str), block.get("text").and_then(Value::as_str)) {
        (Some("text"), Some(text)) => Part::text(text),
        _ => Part::Text(block.to_string()),
    }
}

fn reject(text: String) -> Next {
    Next::Reject { answer: Answer::plain(text.clone()), note: text }
}
