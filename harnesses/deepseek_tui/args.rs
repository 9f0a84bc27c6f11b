//! Arguments of a call, read by the schema of its tool. What means one thing only is taken in another form (a number as text, a list as
//! JSON text, null for nothing); a wrong name is told with the right one.
use serde_json::{Map, Value};

use super::tools::Spec;
use crate::args;

/// Names that models bring along from other agents' tools.
const HABITS: &[(&str, &[&str])] = &[
    ("path", &["file_path", "filepath", "filename", "file", "target_file", "dir_path", "directory", "dir", "folder"]),
    ("search", &["old_string", "old_str", "oldText", "old_text", "old", "find", "target"]),
    ("replace", &["new_string", "new_str", "newText", "new_text", "new", "replacement", "with"]),
    ("content", &["contents", "text", "file_text", "body", "data"]),
    ("command", &["cmd", "script", "shell_command", "input"]),
    ("pattern", &["regex", "query", "regexp", "search"]),
    ("query", &["pattern", "name", "q", "search", "keywords"]),
    ("start_line", &["offset", "line", "start", "line_start"]),
    ("max_lines", &["limit", "n_lines", "num_lines", "count"]),
    ("timeout_ms", &["timeout", "timeout_secs"]),
    ("task_id", &["id", "session_id", "shell_id", "bash_id"]),
    ("todos", &["items", "tasks", "list", "checklist"]),
    ("plan", &["steps", "items"]),
    ("patch", &["input", "diff"]),
    ("code", &["source", "script", "python"]),
    ("url", &["uri", "link", "address"]),
    ("prompt", &["message", "objective", "task", "instructions"]),
    ("name", &["skill", "skill_name", "id"]),
    ("tool_uses", &["calls", "tools", "uses"]),
    ("input", &["chars", "text", "stdin", "data"]),
    ("ref", &["sha", "reference", "id"]),
];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Args(pub(super) Map<String, Value>);

impl Args {
    pub(super) fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }
    /// A number that counts something: below zero is zero.
    pub(super) fn count(&self, name: &str) -> Option<usize> {
        self.number(name).map(|number| usize::try_from(number.max(0)).unwrap_or(usize::MAX))
    }
    pub(super) fn on(&self, name: &str) -> bool {
        self.flag(name).unwrap_or(false)
    }
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }
    pub(super) fn list(&self, name: &str) -> &[Value] {
        self.0.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// Err: the text for the model.
pub(super) fn parse(spec: &Spec, text: &str) -> Result<Args, String> {
    let mut map = args::object(text).map_err(|error| invalid(spec.name, &error))?;
    map.retain(|_, value| !value.is_null());
    let schema = spec.schema();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            return Err(missing(spec, name, &map));
        }
    }
    let Some(properties) = schema["properties"].as_object() else { return Ok(Args(map)) };
    for (name, schema) in properties {
        if let Some(value) = map.get_mut(name) {
            fit(schema, value, name).map_err(|why| invalid(spec.name, &why))?;
        }
    }
    Ok(Args(map))
}

pub(super) fn invalid(tool: &str, why: &str) -> String {
    format!("Invalid input for tool '{tool}': {why}")
}

/// A field is missing; where another stands for it, or is no field of this tool, that is told.
pub(super) fn missing(spec: &Spec, field: &str, given: &Map<String, Value>) -> String {
    let mut text = format!("Tool '{}' is missing required field '{field}'", spec.name);
    let schema = spec.schema();
    let Some(properties) = schema["properties"].as_object() else { return text };
    let free = |known: &&String| !given.contains_key(known.as_str());
    let wrong: Vec<&String> = given.keys().filter(|name| !properties.contains_key(name.as_str())).collect();
    if wrong.is_empty() {
        return text;
    }
    let corrections: Vec<String> = wrong
        .iter()
        .filter_map(|name| {
            let right = properties.keys().filter(free).find(|known| stands_for(name, known))?;
            Some(format!("{name} -> {right}"))
        })
        .collect();
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let required = schema_requires(spec, name);
            format!("{name} ({}{})", schema["type"].as_str().unwrap_or("any"), if required { ", required" } else { "" })
        })
        .collect();
    text.push_str("\n\nSchema hint: ");
    if !corrections.is_empty() {
        text.push_str(&format!("{}. ", corrections.join(", ")));
    }
    text.push_str(&format!("Fields of '{}': {}.", spec.name, fields.join(", ")));
    text
}

fn schema_requires(spec: &Spec, name: &str) -> bool {
    spec.schema()["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
}

fn stands_for(written: &str, field: &str) -> bool {
    let habits = HABITS.iter().find(|(name, _)| *name == field).map_or(&[][..], |(_, habits)| habits);
    habits.iter().any(|habit| habit.eq_ignore_ascii_case(written))
        || strsim::osa_distance(&written.to_lowercase(), field) <= 2
}

fn fit(schema: &Value, value: &mut Value, at: &str) -> Result<(), String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    if !is(kind, value) {
        match converted(kind, value) {
            Some(fitting) => *value = fitting,
            None => {
                return Err(format!(
                    "field '{at}' must be {} {kind}",
                    if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" }
                ));
            }
        }
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let names: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        return Err(format!("field '{at}' must be one of {}", names.join(", ")));
    }
    match value {
        Value::Array(items) => {
            let (least, most) = (schema["minItems"].as_u64(), schema["maxItems"].as_u64());
            let count = items.len() as u64;
            if least.is_some_and(|least| count < least) || most.is_some_and(|most| count > most) {
                let range =
                    format!("{} to {}", least.unwrap_or(0), most.map_or("any".to_owned(), |most| most.to_string()));
                return Err(format!("field '{at}' must have {range} entries"));
            }
            for (n, item) in items.iter_mut().enumerate() {
                if schema["items"].is_object() {
                    fit(&schema["items"], item, &format!("{at}[{n}]"))?;
                }
            }
        }
        Value::Object(map) => {
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !map.contains_key(name) {
                    return Err(format!("field '{at}' is missing '{name}'"));
                }
            }
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(value) = map.get_mut(name) {
                    fit(schema, value, &format!("{at}.{name}"))?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn converted(kind: &str, value: &Value) -> Option<Value> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text.trim()).ok().filter(|value| is(kind, value));
    match (kind, value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("integer", Value::Number(number)) => {
            let number = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15)?;
            Some(Value::from(number as i64))
        }
        ("boolean", Value::String(text)) => parsed(&text.to_lowercase()),
        ("integer" | "array" | "object", Value::String(text)) => parsed(text),
        // One word where a list of words is asked for.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::tools;

    fn check(tool: &str, text: &str, expected: Result<serde_json::Value, &str>) {
        let found = super::parse(tools::known(tool).unwrap(), text).map(|args| serde_json::Value::Object(args.0));
        assert_eq!(found, expected.map_err(str::to_owned), "{tool} {text}");
    }

    #[test]
    fn problems_as_the_reference_words_them() {
        check(
            "read_file",
            "{",
            Err("Invalid input for tool 'read_file': EOF while parsing an object at line 1 column 1"),
        );
        check("read_file", "{}", Err("Tool 'read_file' is missing required field 'path'"));
        check("read_file", r#"{"path":null}"#, Err("Tool 'read_file' is missing required field 'path'"));
        check("read_file", r#"{"path":[]}"#, Err("Invalid input for tool 'read_file': field 'path' must be a string"));
        check(
            "read_file",
            r#"{"path":"a","start_line":"x"}"#,
            Err("Invalid input for tool 'read_file': field 'start_line' must be an integer"),
        );
        check(
            "edit_file",
            r#"{"path":"a","old_string":"b","new_string":"c"}"#,
            Err(
                "Tool 'edit_file' is missing required field 'search'\n\nSchema hint: old_string -> search, new_string -> replace. Fields of 'edit_file': path (string, required), search (string, required), replace (string, required), fuzz (boolean).",
            ),
        );
        check(
            "checklist_write",
            r#"{"todos":[{"content":"a","status":"open"}]}"#,
            Err(
                "Invalid input for tool 'checklist_write': field 'todos[0].status' must be one of pending, in_progress, completed",
            ),
        );
        check(
            "request_user_input",
            r#"{"questions":[]}"#,
            Err("Invalid input for tool 'request_user_input': field 'questions' must have 1 to 3 entries"),
        );
    }

    #[test]
    fn what_has_one_meaning_is_taken() {
        check("read_file", r#"{"path":5,"start_line":"7"}"#, Ok(json!({"path": "5", "start_line": 7})));
        check("read_file", r#"{"path":"a","max_lines":3.0,"pages":null}"#, Ok(json!({"path": "a", "max_lines": 3})));
        check(
            "exec_shell",
            r#"{"command":"ls","background":"True"}"#,
            Ok(json!({"command": "ls", "background": true})),
        );
        check("checklist_write", r#"{"todos":"[]"}"#, Ok(json!({"todos": []})));
        check("list_dir", "", Ok(json!({})));
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in "[\\[\\]{}\":,a0pth \\\\]{0,40}") {
            for spec in tools::ALL {
                let _ = super::parse(spec, &text);
            }
        }
    }
}
