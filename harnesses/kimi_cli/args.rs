//! A call, understood: its tool and complete arguments, or what the model is told.
use protocol::Call;
use serde_json::{Map, Value};

use super::{python, schema, tools};
use crate::Context;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Args(pub(super) Map<String, Value>);

impl Args {
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }
    /// None: not given, or null.
    pub(super) fn maybe(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
    pub(super) fn number(&self, name: &str) -> i64 {
        self.0.get(name).and_then(Value::as_i64).unwrap_or_default()
    }
    pub(super) fn count(&self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(Value::as_i64).map(|number| usize::try_from(number).unwrap_or(0))
    }
    pub(super) fn on(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
    pub(super) fn list(&self, name: &str) -> Option<&Vec<Value>> {
        self.0.get(name).and_then(Value::as_array)
    }
}

/// Longest time of a command in the foreground, in seconds.
const FOREGROUND: i64 = 300;

/// Err: the message of the failure.
pub(super) fn parse(cx: &Context, call: &Call) -> Result<(&'static str, Args), String> {
    let spec = tools::meant(cx, &call.name).ok_or_else(|| unknown(&call.name))?;
    let written = python::loads(&call.args).map_err(|why| format!("Error parsing JSON arguments: {why}"))?;
    // An object inside of a string, as some servers deliver it.
    let written = match &written {
        Value::String(text) => python::loads(text).ok().filter(Value::is_object).unwrap_or(written),
        _ => written,
    };
    let args = Args(schema::check(&spec.schema(), &written)?);
    match rule(spec.name, &args) {
        Some(message) => Err(schema::value_error(&message, &written)),
        None => Ok((spec.name, args)),
    }
}

pub(super) fn unknown(name: &str) -> String {
    format!("Tool `{name}` not found")
}

/// What the original checks over all arguments.
fn rule(name: &str, args: &Args) -> Option<String> {
    match name {
        "Shell" if args.on("run_in_background") => {
            args.text("description").trim().is_empty().then(|| "description is required when run_in_background is true".into())
        }
        "Shell" => (args.number("timeout") > FOREGROUND).then(|| {
            format!(
                "timeout must be <= {FOREGROUND}s for foreground commands; use run_in_background=true for longer timeouts (up to 86400s)"
            )
        }),
        "ReadFile" => (args.number("line_offset") == 0)
            .then(|| "line_offset cannot be 0; use 1 for the first line or -1 for the last line".into()),
        _ => None,
    }
}

/// One text for equal calls, whatever the order and spelling of their arguments.
pub(super) fn canonical(call: &Call) -> String {
    let args = python::loads(&call.args).map_or_else(|_| call.args.clone(), |args| sorted(&args).to_string());
    format!("{} {args}", call.name)
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            Value::Object(keys.into_iter().map(|key| (key.clone(), sorted(&map[key]))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        value => value.clone(),
    }
}
