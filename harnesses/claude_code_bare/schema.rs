//! Checks a call's arguments against the schema of its tool, and words what is wrong as Claude Code does: a sentence for each
//! missing, unexpected or ill-typed parameter, else the list of its validator's issues.
use serde_json::{Map, Value, json};

use super::args::{number, unreadable};
use super::renamed;

/// How strictly arguments are read and how issues are worded: the generations differ in their validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rules {
    /// 1.0.60: issues name the outermost parameter only.
    First,
    /// 2.0.30
    Second,
    /// 2.1.20
    Third,
    /// 2.1.332: numbers, switches and lists written as strings are converted; one list of sentences for all kinds of issues.
    Latest,
}

/// The arguments, conversions done; or what the model is told, without tags.
pub(crate) fn check(tool: &str, schema: &Value, rules: Rules, args: &str) -> Result<Map<String, Value>, String> {
    let trimmed = args.trim();
    let value = match serde_json::from_str::<Value>(if trimmed.is_empty() { "null" } else { trimmed }) {
        Ok(value) => value,
        Err(_) if rules == Rules::Latest => return Err(unreadable(tool, args)),
        Err(_) => Value::Null,
    };
    if rules == Rules::Third && !value.is_object() && !value.is_null() {
        return Err(format!(
            "InputValidationError: {tool} failed due to the following issue:\nThe parameter `` type is expected as `object` but provided as `{}`",
            kind_of(&value)
        ));
    }
    let mut map = match value {
        Value::Object(map) => map,
        Value::Array(list) => list.into_iter().enumerate().map(|(at, v)| (at.to_string(), v)).collect(),
        Value::String(text) => text.chars().enumerate().map(|(at, c)| (at.to_string(), json!(c))).collect(),
        _ => Map::new(),
    };
    if rules == Rules::Latest {
        renamed::rename(tool, &mut map);
    }
    let mut issues = Issues { rules, missing: vec![], unexpected: vec![], types: vec![], other: vec![] };
    issues.object(schema, &mut map, &mut Vec::new());
    issues.told(tool).map_or(Ok(map), Err)
}

struct Issues {
    rules: Rules,
    missing: Vec<String>,
    unexpected: Vec<String>,
    types: Vec<String>,
    /// Where, the validator's message, and its whole issue.
    other: Vec<(String, String, Value)>,
}

impl Issues {
    fn told(self, tool: &str) -> Option<String> {
        let Issues { rules, missing, unexpected, types, other } = self;
        let mut lines: Vec<String> = missing
            .into_iter()
            .map(|path| format!("The required parameter `{path}` is missing"))
            .chain(unexpected.into_iter().map(|path| format!("An unexpected parameter `{path}` was provided")))
            .chain(types)
            .collect();
        if lines.is_empty() {
            let issues: Vec<Value> = other.into_iter().map(|(_, _, issue)| issue).collect();
            let list = serde_json::to_string_pretty(&issues).unwrap_or_default();
            return (!issues.is_empty()).then(|| format!("InputValidationError: {list}"));
        }
        if rules == Rules::Latest {
            let invalid = |(path, message, _)| format!("The parameter `{path}` is invalid: {message}");
            lines.extend(other.into_iter().map(invalid));
        }
        let issue = if lines.len() == 1 { "issue" } else { "issues" };
        Some(format!("InputValidationError: {tool} failed due to the following {issue}:\n{}", lines.join("\n")))
    }

    fn object(&mut self, schema: &Value, map: &mut Map<String, Value>, path: &mut Vec<Value>) {
        let Some(properties) = schema["properties"].as_object() else { return };
        let required = |name: &str| schema["required"].as_array().is_some_and(|list| list.iter().any(|r| r == name));
        for (name, property) in properties {
            path.push(json!(name));
            match map.get_mut(name) {
                Some(value) => self.value(property, value, path),
                None if !required(name) || !property["default"].is_null() => {}
                None if property["enum"].is_array() && self.rules >= Rules::Third => {
                    self.not_an_option(property, None, path)
                }
                None => self.missing.push(self.shown(path)),
            }
            path.pop();
        }
        // Deeper down, what is not expected is left out in silence.
        if path.is_empty() && schema["additionalProperties"] == json!(false) {
            self.unexpected.extend(map.keys().filter(|key| !properties.contains_key(*key)).cloned());
        }
    }

    fn value(&mut self, schema: &Value, value: &mut Value, path: &mut Vec<Value>) {
        if schema["anyOf"].is_array() {
            return self.one_of(schema, value, path);
        }
        if schema["enum"].is_array() {
            return self.not_an_option(schema, Some(value), path);
        }
        let kind = schema["type"].as_str().unwrap_or_default();
        if self.rules == Rules::Latest {
            convert(kind, value);
        }
        let fits = match kind {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        };
        if !fits {
            // A number that is not whole is one all the same.
            let expected = match kind {
                "integer" if value.is_number() => "int",
                "integer" => "number",
                kind => kind,
            };
            return self.wrong_type(expected, value, path);
        }
        match value {
            Value::String(text) => self.text(schema, text, path),
            Value::Number(number) if kind == "number" => self.bounds(schema, number.as_f64(), path),
            Value::Array(items) => {
                self.length(schema, items.len(), path);
                for (at, item) in items.iter_mut().enumerate() {
                    path.push(json!(at));
                    self.value(&schema["items"], item, path);
                    path.pop();
                }
            }
            Value::Object(map) => self.object(schema, map, path),
            _ => {}
        }
    }

    fn wrong_type(&mut self, expected: &str, value: &Value, path: &[Value]) {
        let line = format!(
            "The parameter `{}` type is expected as `{expected}` but provided as `{}`",
            self.shown(path),
            kind_of(value)
        );
        self.types.push(line);
    }

    fn text(&mut self, schema: &Value, text: &str, path: &[Value]) {
        if schema["format"] == json!("uri") && !is_url(text) {
            let issue = match self.rules {
                Rules::First | Rules::Second => {
                    json!({"validation": "url", "code": "invalid_string", "message": "Invalid url", "path": path})
                }
                _ => json!({"code": "invalid_format", "format": "url", "path": path, "message": "Invalid URL"}),
            };
            self.other.push((self.shown(path), "Invalid URL".to_owned(), issue));
        }
        if let Some(least) = schema["minLength"].as_u64()
            && (text.encode_utf16().count() as u64) < least
        {
            self.too_small("string", least, path);
        }
    }

    fn length(&mut self, schema: &Value, items: usize, path: &[Value]) {
        if let Some(least) = schema["minItems"].as_u64()
            && (items as u64) < least
        {
            self.too_small("array", least, path);
        }
        if let Some(most) = schema["maxItems"].as_u64()
            && items as u64 > most
        {
            let message = format!("Too big: expected array to have <={most} items");
            let issue = json!({"origin": "array", "code": "too_big", "maximum": most, "inclusive": true, "path": path, "message": message});
            self.other.push((self.shown(path), message, issue));
        }
    }

    fn too_small(&mut self, origin: &str, least: u64, path: &[Value]) {
        let name = path.iter().rev().find_map(Value::as_str).unwrap_or_default();
        let message = match name {
            "content" => "Content cannot be empty".to_owned(),
            "activeForm" => "Active form cannot be empty".to_owned(),
            "edits" => "At least one edit is required".to_owned(),
            _ if origin == "array" => format!("Too small: expected array to have >={least} items"),
            _ => format!("Too small: expected string to have >={least} characters"),
        };
        let issue = match self.rules {
            Rules::First | Rules::Second => {
                json!({"code": "too_small", "minimum": least, "type": origin, "inclusive": true, "exact": false, "message": message, "path": path})
            }
            _ => {
                json!({"origin": origin, "code": "too_small", "minimum": least, "inclusive": true, "path": path, "message": message})
            }
        };
        self.other.push((self.shown(path), message, issue));
    }

    fn bounds(&mut self, schema: &Value, number: Option<f64>, path: &[Value]) {
        let Some(number) = number else { return };
        let (message, code, key, bound) = match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
            (Some(least), _) if number < least => {
                (format!("Too small: expected number to be >={least}"), "too_small", "minimum", &schema["minimum"])
            }
            (_, Some(most)) if number > most => {
                (format!("Too big: expected number to be <={most}"), "too_big", "maximum", &schema["maximum"])
            }
            _ => return,
        };
        let issue =
            json!({"origin": "number", "code": code, key: bound, "inclusive": true, "path": path, "message": message});
        self.other.push((self.shown(path), message, issue));
    }

    fn not_an_option(&mut self, schema: &Value, value: Option<&Value>, path: &[Value]) {
        let options = &schema["enum"];
        if value.is_some_and(|value| options.as_array().is_some_and(|list| list.contains(value))) {
            return;
        }
        let quoted = |quote: char, between: &str| {
            let words = options.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str);
            words.map(|word| format!("{quote}{word}{quote}")).collect::<Vec<_>>().join(between)
        };
        if self.rules >= Rules::Third {
            let message = format!("Invalid option: expected one of {}", quoted('"', "|"));
            let issue = json!({"code": "invalid_value", "values": options, "path": path, "message": message});
            return self.other.push((self.shown(path), message, issue));
        }
        match value {
            Some(Value::String(text)) => {
                let message = format!("Invalid enum value. Expected {}, received '{text}'", quoted('\'', " | "));
                let issue = json!({"received": text, "code": "invalid_enum_value", "options": options, "path": path, "message": message});
                self.other.push((self.shown(path), message, issue));
            }
            Some(value) => self.wrong_type(&quoted('\'', " | "), value, path),
            None => self.missing.push(self.shown(path)),
        }
    }

    /// A choice of several enumerations (the status of a task).
    fn one_of(&mut self, schema: &Value, value: &Value, path: &[Value]) {
        let choices = schema["anyOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        let fits = |choice: &Value| {
            choice["const"] == *value || choice["enum"].as_array().is_some_and(|list| list.contains(value))
        };
        if choices.iter().any(fits) {
            return;
        }
        let errors = choices.iter().map(|choice| {
            let constant = json!([choice["const"]]);
            let values = if choice["enum"].is_array() { &choice["enum"] } else { &constant };
            let quoted: Vec<String> =
                values.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(Value::to_string).collect();
            let message = match quoted.as_slice() {
                [one] => format!("Invalid input: expected {one}"),
                several => format!("Invalid option: expected one of {}", several.join("|")),
            };
            json!([{"code": "invalid_value", "values": values, "path": [], "message": message}])
        });
        let errors: Vec<Value> = errors.collect();
        let issue = json!({"code": "invalid_union", "errors": errors, "path": path, "message": "Invalid input"});
        self.other.push((self.shown(path), "Invalid input".to_owned(), issue));
    }

    /// `todos[0].status`
    fn shown(&self, path: &[Value]) -> String {
        let mut shown = String::new();
        let depth = if self.rules == Rules::First { 1 } else { path.len() };
        for step in path.iter().take(depth) {
            match step.as_str() {
                Some(name) if shown.is_empty() => shown.push_str(name),
                Some(name) => {
                    shown.push('.');
                    shown.push_str(name);
                }
                None => shown.push_str(&format!("[{step}]")),
            }
        }
        shown
    }
}

/// Converts what has one meaning only. A list of one number counts as that one.
fn convert(kind: &str, value: &mut Value) {
    match (kind, &*value) {
        ("boolean", Value::String(text)) if matches!(text.as_str(), "true" | "false") => *value = json!(text == "true"),
        ("number" | "integer", _) => {
            let single = match &*value {
                Value::Array(list) if list.len() == 1 => list.first(),
                value => Some(value),
            };
            let converted = match single {
                Some(Value::String(text)) => number(text),
                Some(number @ Value::Number(_)) => Some(number.clone()),
                _ => None,
            };
            if let Some(converted) = converted {
                *value = converted;
            }
        }
        ("array" | "object", Value::String(text)) => {
            if let Ok(inner) = serde_json::from_str::<Value>(text)
                && kind_of(&inner) == kind
            {
                *value = inner;
            }
        }
        _ => {}
    }
}

/// As `check` converts numbers and switches, for arguments that passed it.
pub(crate) fn converted(mut map: Map<String, Value>) -> Map<String, Value> {
    for key in ["offset", "limit"] {
        if let Some(value) = map.get_mut(key) {
            convert("number", value);
        }
    }
    map
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Has a scheme, and what follows it.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.trim().split_once(':') else { return false };
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let host = || rest.trim_start_matches('/');
    named && if matches!(scheme, "http" | "https" | "ws" | "wss" | "ftp") { !host().is_empty() } else { true }
}
