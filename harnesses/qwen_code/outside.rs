//! Tools from outside (MCP servers, the client) in this dialect: `mcp__{server}__{tool}`, other names are the client's.
use protocol::{Action, Answer, Call, Content, Done, Outcome, Part, Raw, Session};
use serde_json::Value;

use super::cut::{self, GENERAL, plain};
use super::{args, session::trouble};
use crate::{Context, Next};

pub(super) fn is(cx: &Context, name: &str) -> bool {
    cx.extra_tools.iter().any(|tool| tool.name == name)
}

pub(super) fn next(call: &Call, did: &[Done]) -> Next {
    let Some(done) = did.first() else {
        let args = Raw::of(&Value::Object(args::object(&call.args)));
        let session = match call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => Session::Mcp { server: server.to_owned(), tool: tool.to_owned(), args },
            None => Session::Client { tool: call.name.clone(), args },
        };
        return Next::Do(vec![Action::Session(session)]);
    };
    match &done.outcome {
        Outcome::Mcp { content, .. } => mcp(&call.name, content, did),
        Outcome::Answers(raw) => Next::Answer(plain(&call.name, raw.text())),
        Outcome::Ok => Next::Answer(plain(&call.name, "")),
        other => trouble(&call.name, other),
    }
}

fn mcp(tool: &str, content: &Raw, did: &[Done]) -> Next {
    let blocks = match content.value() {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
    let texts: Vec<String> = blocks.iter().map(text).collect();
    match texts.as_slice() {
        [_, _, ..] if texts.iter().map(|text| cut::units(text)).sum::<usize>() <= GENERAL.chars => {
            let parts = texts.into_iter().map(Part::Text).collect();
            Next::Answer(Answer { content: Content::Parts(parts), error: None, after: Vec::new() })
        }
        _ => cut::answer(tool, texts.join("\n"), GENERAL, did),
    }
}
