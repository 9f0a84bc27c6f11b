//! Arguments of calls: mended where their JSON is broken, converted where a type is off, then checked; what is wrong is listed in the
//! words of the original's validator. What would write or run something and was cut off is never done (the original does it).
use serde_json::{Map, Value, json};

use super::{partial, partial::Partial, read::Asked};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Read(Asked),
    /// Seconds.
    Bash {
        command: String,
        timeout: Option<f64>,
    },
    Edit {
        path: String,
        edits: Vec<Edit>,
    },
    Write {
        path: String,
        content: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Edits,
}

struct Shape {
    properties: &'static [(&'static str, Kind, bool)],
    /// No other properties.
    closed: bool,
}

const READ: Shape = Shape {
    properties: &[("path", Kind::Text, true), ("offset", Kind::Number, false), ("limit", Kind::Number, false)],
    closed: false,
};
const BASH: Shape =
    Shape { properties: &[("command", Kind::Text, true), ("timeout", Kind::Number, false)], closed: false };
const EDIT: Shape = Shape { properties: &[("path", Kind::Text, true), ("edits", Kind::Edits, true)], closed: true };
const WRITE: Shape = Shape { properties: &[("path", Kind::Text, true), ("content", Kind::Text, true)], closed: false };
const ONE_EDIT: Shape =
    Shape { properties: &[("oldText", Kind::Text, true), ("newText", Kind::Text, true)], closed: true };

/// Had to be mended to be read.
pub(super) fn is_mended(args: &str) -> bool {
    !args.trim().is_empty() && serde_json::from_str::<serde::de::IgnoredAny>(args).is_err()
}

/// Err: what the model is told.
pub(super) fn parse(tool: &str, args: &str) -> Result<Input, String> {
    let Partial { mut value, cut } = partial::read(args);
    unwrap_edits(tool, &mut value);
    let told = |issues: Vec<String>| {
        let lines: Vec<String> = issues.into_iter().map(|issue| format!("  - {issue}")).collect();
        let received = serde_json::to_string_pretty(&value).unwrap_or_default();
        format!("Validation failed for tool \"{tool}\":\n{}\n\nReceived arguments:\n{received}", lines.join("\n"))
    };
    let Value::Object(map) = &value else { return Err(told(vec!["root: must be object".to_owned()])) };
    let shape = match tool {
        "read" => &READ,
        "bash" => &BASH,
        "edit" => &EDIT,
        _ => &WRITE,
    };
    let mut map = map.clone();
    if tool == "edit" {
        gather_edits(&mut map);
    }
    let mut issues = Vec::new();
    check(shape, &mut map, "", &mut issues);
    if issues.is_empty() && cut && tool != "read" {
        issues.push("root: the arguments were cut off before their end, so nothing was done".to_owned());
    }
    if !issues.is_empty() {
        return Err(told(issues));
    }
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |key: &str| map.get(key).and_then(Value::as_f64);
    Ok(match tool {
        "read" => Input::Read(Asked { path: text("path"), offset: number("offset"), limit: number("limit") }),
        "bash" => Input::Bash { command: text("command"), timeout: number("timeout") },
        "edit" => Input::Edit { path: text("path"), edits: edits(&map) },
        _ => Input::Write { path: text("path"), content: text("content") },
    })
}

/// For a tool from outside whose arguments are no JSON.
pub(super) fn unreadable(tool: &str, args: &str) -> String {
    format!("Validation failed for tool \"{tool}\":\n  - root: must be object\n\nReceived arguments:\n{args}")
}

/// The arguments as they go back to the model. Only an object is one on every wire.
pub(super) fn echo(tool: &str, args: &str) -> String {
    let mut value = partial::read(args).value;
    unwrap_edits(tool, &mut value);
    match value {
        Value::Object(_) => value.to_string(),
        _ => "{}".to_owned(),
    }
}

/// Edits that were written as a JSON text.
fn unwrap_edits(tool: &str, value: &mut Value) {
    if tool == "edit"
        && let Some(edits) = value.get_mut("edits")
        && let Some(Ok(list @ Value::Array(_))) = edits.as_str().map(serde_json::from_str::<Value>)
    {
        *edits = list;
    }
}

/// One edit beside the list, in the tool's older form, joins it.
fn gather_edits(map: &mut Map<String, Value>) {
    let (Some(Value::String(old)), Some(Value::String(new))) = (map.get("oldText"), map.get("newText")) else { return };
    let edit = json!({"oldText": old, "newText": new});
    let mut list = match map.get("edits") {
        Some(Value::Array(list)) => list.clone(),
        _ => Vec::new(),
    };
    list.push(edit);
    map.retain(|key, _| key != "oldText" && key != "newText");
    map.insert("edits".to_owned(), Value::Array(list));
}

fn edits(map: &Map<String, Value>) -> Vec<Edit> {
    let list = map.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |edit: &Value, key: &str| edit.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    list.iter().map(|edit| Edit { old: text(edit, "oldText"), new: text(edit, "newText") }).collect()
}

/// Converts in place and lists what is wrong. `at`: where the object stands, empty for the root.
fn check(shape: &Shape, map: &mut Map<String, Value>, at: &str, issues: &mut Vec<String>) {
    let place = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    let missing: Vec<&str> = shape
        .properties
        .iter()
        .filter(|(key, _, required)| *required && !map.contains_key(*key))
        .map(|(key, ..)| *key)
        .collect();
    let known = |key: &str| shape.properties.iter().any(|(known, ..)| *known == key);
    let unknown: Vec<&String> = map.keys().filter(|key| shape.closed && !known(key)).collect();
    issues.extend(unknown.iter().map(|key| format!("{}: schema is false", place(key))));
    if !unknown.is_empty() {
        issues.push(format!("{}: must not have additional properties", if at.is_empty() { "root" } else { at }));
    }
    if let Some(first) = missing.first() {
        issues.push(format!("{}: must have required properties {}", place(first), missing.join(", ")));
    }
    for (key, kind, _) in shape.properties {
        let Some(value) = map.get_mut(*key) else { continue };
        match kind {
            Kind::Text => match as_text(value) {
                Some(text) => *value = Value::String(text),
                None => issues.push(format!("{}: must be string", place(key))),
            },
            Kind::Number => match as_number(value) {
                Some(number) => *value = json!(number),
                None => issues.push(format!("{}: must be number", place(key))),
            },
            Kind::Edits => {
                if !value.is_array() {
                    *value = Value::Array(vec![value.take()]);
                }
                for (n, edit) in value.as_array_mut().into_iter().flatten().enumerate() {
                    let at = format!("{}.{n}", place(key));
                    match edit {
                        Value::Object(map) => check(&ONE_EDIT, map, &at, issues),
                        _ => issues.push(format!("{at}: must be object")),
                    }
                }
            }
        }
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) | Value::Null => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Null => Some(0.0),
        Value::Array(_) | Value::Object(_) => None,
    }
}
