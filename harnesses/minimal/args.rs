//! What a call asks for. Small models miss names and types by a little: what has one meaning only is taken, all else is an error
//! that says what to write.
use protocol::Call;
use serde_json::{Map, Value};

use super::tools;
use crate::{Context, args, names};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// Seconds.
    Bash {
        command: String,
        timeout: Option<u64>,
    },
    /// Lines, the first is 1.
    Read {
        path: String,
        offset: Option<u64>,
        limit: Option<u64>,
    },
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
}

/// Names under which other agents know an argument.
const OTHERS: [(&str, &[&str]); 5] = [
    ("command", &["cmd", "script"]),
    ("path", &["file_path", "filePath", "file"]),
    ("content", &["text", "contents"]),
    ("oldText", &["old_text", "old_string", "oldString", "old_str"]),
    ("newText", &["new_text", "new_string", "newString", "new_str"]),
];

/// Err: the whole text of the answer.
pub(super) fn parse(cx: &Context, call: &Call) -> Result<Input, String> {
    let offered = tools::names(cx);
    let Some(tool) = names::meant(&call.name, offered.iter().copied()) else {
        return Err(format!("Error: there is no tool named {:?}. Tools: {}", call.name, offered.join(", ")));
    };
    let map = args::object(&call.args)
        .map_err(|error| format!("Error: the arguments of {tool} are not a JSON object ({error})"))?;
    let given = Given { tool, map: &map };
    Ok(match tool {
        "read" => {
            Input::Read { path: given.text("path")?, offset: given.number("offset")?, limit: given.number("limit")? }
        }
        "write" => Input::Write { path: given.text("path")?, content: given.text("content")? },
        "edit" => Input::Edit { path: given.text("path")?, old: given.text("oldText")?, new: given.text("newText")? },
        _ => Input::Bash { command: given.text("command")?, timeout: given.number("timeout")? },
    })
}

struct Given<'a> {
    tool: &'a str,
    map: &'a Map<String, Value>,
}

impl Given<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        let others = OTHERS.iter().find(|(name, _)| *name == key).map_or(&[][..], |(_, others)| *others);
        let names = std::iter::once(key).chain(others.iter().copied());
        names.filter_map(|name| self.map.get(name)).find(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<String, String> {
        match self.value(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
            Some(_) => Err(format!("Error: {key:?} of {} must be a string", self.tool)),
            None => Err(format!("Error: {} needs the argument {key:?}", self.tool)),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = match value {
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse().ok(),
            value => {
                value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|n| n as u64))
            }
        };
        number.map(Some).ok_or_else(|| format!("Error: {key:?} of {} must be a whole number", self.tool))
    }
}
