//! Tools from outside (MCP servers, the client): `mcp__{server}__{tool}`, other names are the client's. Their results are
//! observations as any other.
use protocol::{Action, Call, Done, Outcome, Raw, Session};
use serde_json::Value;

use super::observe::{self, failed, refused};
use super::record::Record;
use crate::{Context, Next, args};

pub(super) fn next(cx: &Context, record: &Record, call: &Call, did: &[Done]) -> Next {
    let Some(done) = did.first() else {
        let args = Raw::parse(&args::normal(&call.args)).unwrap_or_else(|_| Raw::null());
        let session = match call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => Session::Mcp { server: server.to_owned(), tool: tool.to_owned(), args },
            None => Session::Client { tool: call.name.clone(), args },
        };
        return Next::Do(vec![Action::Session(session)]);
    };
    let text = match &done.outcome {
        Outcome::Mcp { content, .. } => texts(content),
        Outcome::Answers(raw) => raw.text().to_owned(),
        Outcome::Ok => String::new(),
        Outcome::Refused(refusal) => refused(refusal),
        Outcome::Failed(failure) => failed(failure),
        _ => super::INTERRUPTED.to_owned(),
    };
    Next::Answer(observe::observed(cx, &text, &record.state))
}

fn texts(content: &Raw) -> String {
    let blocks = match content.value() {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
    blocks.iter().map(text).collect::<Vec<_>>().join("\n")
}
