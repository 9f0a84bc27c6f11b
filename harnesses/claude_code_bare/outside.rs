//! Tools from outside (MCP servers, the client) in this dialect: `mcp__{server}__{tool}`, other names are the client's.
use protocol::{Action, Answer, Call, Content, Done, Outcome, Part, Raw, Session};
use serde_json::Value;

use super::args::wrap;
use super::refusal::{REJECTED, Wanted, failed, refused};
use crate::{Context, Next};

pub(crate) fn is(cx: &Context, name: &str) -> bool {
    cx.extra_tools.iter().any(|tool| tool.name == name)
}

pub(crate) fn next(call: &Call, did: &[Done]) -> Next {
    let Some(done) = did.first() else {
        let text = if call.args.trim().is_empty() { "{}" } else { &call.args };
        let Ok(args) = Raw::parse(text) else {
            let text =
                format!("InputValidationError: {} was called with input that could not be parsed as JSON.", call.name);
            return Next::Reject { answer: Answer::failed(wrap(&text)), note: text };
        };
        let session = match call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => Session::Mcp { server: server.to_owned(), tool: tool.to_owned(), args },
            None => Session::Client { tool: call.name.clone(), args },
        };
        return Next::Do(vec![Action::Session(session)]);
    };
    let wanted = Wanted::Use(&call.name);
    Next::Answer(match &done.outcome {
        Outcome::Mcp { content, error, .. } => mcp(content, *error),
        Outcome::Answers(raw) => Answer::plain(raw.text()),
        Outcome::Ok => Answer::plain(format!("({} completed with no output)", call.name)),
        Outcome::Refused(refusal) => refused(wanted, refusal),
        Outcome::Failed(failure) => failed(wanted, failure),
        _ => Answer::failed(REJECTED),
    })
}

fn mcp(content: &Raw, error: bool) -> Answer {
    let blocks = match content.value() {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
    let parts = blocks.iter().map(|block| Part::Text(text(block))).collect();
    Answer { content: Content::Parts(parts), error: error.then_some(true), after: Vec::new() }
}
