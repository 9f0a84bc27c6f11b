//! Tools from outside (MCP servers, the client): `mcp__{server}__{tool}`, other names are the client's. Their calls are handed on
//! as they are, their content comes back as text parts; how a refusal is worded is the dialect's.
use protocol::{Action, Answer, Call, Content, Outcome, Part, Raw, Session};
use serde_json::Value;

use crate::Context;

pub(crate) fn is(cx: &Context, name: &str) -> bool {
    cx.extra_tools.iter().any(|tool| tool.name == name)
}

/// None: the arguments are not JSON.
pub(crate) fn action(call: &Call) -> Option<Action> {
    let text = if call.args.trim().is_empty() { "{}" } else { &call.args };
    let args = Raw::parse(text).ok()?;
    Some(Action::Session(match call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => Session::Mcp { server: server.to_owned(), tool: tool.to_owned(), args },
        None => Session::Client { tool: call.name.clone(), args },
    }))
}

/// None: it was refused, failed, or was stopped.
pub(crate) fn answer(outcome: &Outcome) -> Option<Answer> {
    Some(match outcome {
        Outcome::Mcp { content, error, .. } => {
            let text = said(content);
            if *error { Answer::failed(text) } else { Answer::plain(text) }
        }
        Outcome::Answers(raw) => Answer::plain(raw.text()),
        Outcome::Ok => Answer::plain(""),
        _ => return None,
    })
}

/// All text of an MCP result; blocks of other kinds as JSON.
fn said(content: &Raw) -> String {
    let blocks = match content.value() {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
    let parts = blocks.iter().map(|block| Part::Text(text(block))).collect();
    Content::Parts(parts).text()
}
