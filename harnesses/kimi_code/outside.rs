//! Tools from outside (MCP servers, the client) in this dialect: `mcp__{server}__{tool}`, other names are the client's.
use protocol::{Action, Answer, Call, Done, Outcome, Part, Raw, Session};
use serde_json::Value;

use super::envelope::{self, Said};
use super::{args, refusal};
use crate::{Context, Next};

pub(super) fn is(cx: &Context, name: &str) -> bool {
    cx.extra_tools.iter().any(|tool| tool.name == name)
}

pub(super) fn next(call: &Call, did: &[Done]) -> Next {
    let Some(done) = did.first() else {
        let args = Raw::of(&args::value(&call.args));
        let session = match call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => Session::Mcp { server: server.to_owned(), tool: tool.to_owned(), args },
            None => Session::Client { tool: call.name.clone(), args },
        };
        return Next::Do(vec![Action::Session(session)]);
    };
    let said = match &done.outcome {
        Outcome::Mcp { content, error, .. } => Said { text: text(content), failed: *error, note: None },
        Outcome::Answers(raw) => Said::ok(raw.text()),
        Outcome::Ok => Said::ok(""),
        Outcome::Failed(failure) => {
            Said::failed(format!("Tool \"{}\" failed: {}", call.name, refusal::failure(failure)))
        }
        other => refusal::said(&call.name, other),
    };
    said.next(&call.name, call.id.as_str(), did)
}

fn text(content: &Raw) -> String {
    let blocks = match content.value() {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let texts: Vec<String> =
        blocks.iter().map(|block| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned)).collect();
    texts.join("\n")
}

/// An answer with `text` behind what it says.
pub(super) fn with_more(mut answer: Answer, text: &str) -> Answer {
    match &mut answer.content {
        protocol::Content::Plain(plain) => plain.push_str(text),
        protocol::Content::Parts(parts) => parts.push(Part::text(text)),
    }
    answer
}

/// Of a call that was stopped: what it had put out stands before.
pub(super) fn cut_short(call: &Call, did: &[Done]) -> Answer {
    match did.last().map(|done| &done.outcome) {
        Some(Outcome::Interrupted { output }) if call.name == "Bash" => {
            let printed = output.as_ref().map(|output| output.text.as_str()).unwrap_or_default();
            let feed = if printed.is_empty() || printed.ends_with('\n') { "" } else { "\n" };
            Said::failed(format!("{printed}{feed}Interrupted by user")).answer(&call.name, did)
        }
        _ => {
            let said = Said::failed(refusal::interrupted(&call.name));
            let mut answer = said.answer(&call.name, did);
            // A call that never began took no time.
            if did.is_empty()
                && let protocol::Content::Plain(text) = &mut answer.content
            {
                *text = text.replacen(&envelope::wall_time(&call.name, did), "", 1);
            }
            answer
        }
    }
}
