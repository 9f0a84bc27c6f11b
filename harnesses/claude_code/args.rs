//! Which tool a call means, and its arguments: checked by the tool's schema, or what the model is told instead.
use protocol::Call;
use serde_json::{Map, Value, json};

use super::generation::Generation;
use super::shared::args::{self, KNOWN};
use super::shared::{renamed, schema};
use super::tools::{self, Listing};
use crate::Context;

/// Names of earlier versions that later ones still take.
const FORMER: [(&str, &str); 3] = [("Task", "Agent"), ("KillShell", "TaskStop"), ("KillBash", "TaskStop")];

/// A call that can be carried out.
pub(super) struct Input {
    /// As offered, whatever the call was named.
    pub(super) tool: &'static str,
    pub(super) map: Map<String, Value>,
    /// Parameters that came under another name, and their right ones.
    pub(super) renamed: Vec<(&'static str, &'static str)>,
}

impl Input {
    pub(super) fn text(&self, key: &str) -> &str {
        self.map.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn given(&self, key: &str) -> Option<&str> {
        self.map.get(key).and_then(Value::as_str)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.map.get(key).and_then(Value::as_bool)
    }
}

/// Err: the whole text of the answer.
pub(super) fn parse(generation: Generation, cx: &Context, call: &Call) -> Result<Input, String> {
    let tool =
        meant(generation, cx, &call.name).ok_or_else(|| generation.wrong(&unknown(generation, cx, &call.name)))?;
    let mut schema = tools::schema(generation, tool);
    // The original makes a task of a subject alone.
    if tool == "TaskCreate" && ["\"subject\"", "\"title\""].iter().any(|name| call.args.contains(name)) {
        schema["required"] = json!(["subject"]);
    }
    // It takes no offence at more than it knows.
    if tool == "Skill" {
        schema["additionalProperties"] = json!(true);
    }
    let map = schema::check(tool, &schema, generation.rules(), &call.args).map_err(|told| generation.wrong(&told))?;
    let renamed = if generation.newest() { renamed::of(tool, &call.args) } else { Vec::new() };
    Ok(Input { tool, map, renamed })
}

/// The offered tool of that name, or of that former name.
pub(super) fn meant(generation: Generation, cx: &Context, name: &str) -> Option<&'static str> {
    let offered = tools::offered(generation, cx);
    let former = || FORMER.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
    let find = |name: &str| offered.iter().find(|tool| **tool == name).copied();
    find(name).or_else(|| find(former()?))
}

fn unknown(generation: Generation, cx: &Context, name: &str) -> String {
    let start = format!("Error: No such tool available: {name}");
    if !generation.newest() {
        return start;
    }
    let offered = tools::offered(generation, cx);
    if let Some(right) = offered.iter().find(|tool| tool.eq_ignore_ascii_case(name)) {
        return format!("{start}. Tool names are case-sensitive: call {right} instead.");
    }
    let main = cx.persona.name.is_empty();
    match name {
        "Glob" => format!(
            "{start}. Glob is not available in this session — find files with `find` via the Bash tool instead."
        ),
        "Grep" => format!(
            "{start}. Grep is not available in this session — search file contents with `grep` via the Bash tool instead."
        ),
        "Brief" | "SendUserMessage" => {
            format!(
                "{start}. {name} is not enabled in this session — write your message as normal assistant text instead."
            )
        }
        "ToolSearch" => start,
        // With the one kind of list, the tools of the other are none of the program's.
        "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate"
            if main && tools::listing(generation, cx) == Listing::Todos =>
        {
            start
        }
        "SendMessage" if main => format!(
            "{start}. SendMessage is not among the tools available here. An agent that has reported is not gone on with from here: give a new one, by Agent, all that it has to know."
        ),
        // Part of the program, and switched off here.
        _ if main && (KNOWN.contains(&name) || matches!(name, "ListMcpResourcesTool" | "ListPeers" | "Workflow")) => {
            format!("{start}. {name} is disabled for this session, in subagents as well as here.")
        }
        _ if KNOWN.contains(&name) => {
            format!("{start}. {name} is not among the tools available here. Continue with the tools you have.")
        }
        _ => start,
    }
}

/// A call as it goes back to the model.
pub(super) fn echo(generation: Generation, cx: &Context, call: &Call) -> Call {
    let name = meant(generation, cx, &call.name).unwrap_or(&call.name);
    let args = match parse(generation, cx, call) {
        Ok(input) if generation.newest() && input.renamed.is_empty() => match input.tool {
            "Edit" => args::echo("Edit", &call.args),
            "Bash" => {
                let order = ["command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox"];
                let known = order.iter().filter_map(|key| Some(((*key).to_owned(), input.map.get(*key)?.clone())));
                Value::Object(known.collect()).to_string()
            }
            _ => Value::Object(input.map).to_string(),
        },
        _ => args::echo("", &call.args),
    };
    Call { name: name.to_owned(), args, ..call.clone() }
}
