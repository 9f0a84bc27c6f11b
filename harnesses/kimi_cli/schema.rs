//! Checks a call's arguments against the schema of its tool, and words what is wrong as pydantic 2.12 does. What pydantic
//! converts is converted (`"5"` is a number, `"true"` a switch); what is not given gets its default; unknown names are dropped.
use serde_json::{Map, Number, Value};

use super::python::repr;

/// The arguments, complete; or the message for the model.
pub(super) fn check(schema: &Value, args: &Value) -> Result<Map<String, Value>, String> {
    let mut issues = Vec::new();
    let checked = model(schema, args, "Params", &mut Vec::new(), &mut issues);
    match checked {
        Some(Value::Object(map)) if issues.is_empty() => Ok(map),
        _ => Err(told(&issues)),
    }
}

/// A rule over several arguments was broken.
pub(super) fn value_error(message: &str, args: &Value) -> String {
    let input = args.clone();
    told(&[Issue { at: String::new(), message: format!("Value error, {message}"), kind: "value_error", input }])
}

struct Issue {
    /// Names and places, joined by points; empty: the whole.
    at: String,
    message: String,
    kind: &'static str,
    input: Value,
}

fn told(issues: &[Issue]) -> String {
    let count = issues.len();
    let mut text = format!(
        "Error validating JSON arguments: {count} validation error{} for Params",
        if count == 1 { "" } else { "s" }
    );
    for Issue { at, message, kind, input } in issues {
        if !at.is_empty() {
            text.push_str(&format!("\n{at}"));
        }
        text.push_str(&format!(
            "\n  {message} [type={kind}, input_value={}, input_type={}]\n    For further information visit https://errors.pydantic.dev/2.12/v/{kind}",
            shortened(&repr(input)),
            type_name(input)
        ));
    }
    text
}

/// At most fifty characters.
fn shortened(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= 50 {
        return text.to_owned();
    }
    let part = |chars: &[char]| chars.iter().collect::<String>();
    format!("{}...{}", part(&chars[..25]), part(&chars[chars.len() - 24..]))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

/// None where there is an issue, which stands in `issues` then.
fn model(schema: &Value, value: &Value, name: &str, at: &mut Vec<String>, issues: &mut Vec<Issue>) -> Option<Value> {
    let Some(given) = value.as_object() else {
        let message = format!("Input should be a valid dictionary or instance of {name}");
        issues.push(issue(at, message, "model_type", value));
        return None;
    };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (mut out, before) = (Map::new(), issues.len());
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        at.push(name.clone());
        match given.get(name) {
            Some(value) => {
                out.extend(field(property, value, at, issues).map(|value| (name.clone(), value)));
            }
            None if required.contains(&name.as_str()) => {
                issues.push(issue(at, "Field required".to_owned(), "missing", value));
            }
            None => {
                out.insert(name.clone(), property["default"].clone());
            }
        }
        at.pop();
    }
    (issues.len() == before).then_some(Value::Object(out))
}

fn field(schema: &Value, value: &Value, at: &mut Vec<String>, issues: &mut Vec<Issue>) -> Option<Value> {
    let Some(kinds) = schema["anyOf"].as_array() else { return one(schema, value, at, issues) };
    let is_null = |kind: &&Value| kind["type"] == "null";
    if value.is_null() && kinds.iter().any(|kind| is_null(&kind)) {
        return Some(Value::Null);
    }
    let kinds: Vec<&Value> = kinds.iter().filter(|kind| !is_null(kind)).collect();
    if let [kind] = kinds.as_slice() {
        return one(kind, value, at, issues);
    }
    let before = issues.len();
    for kind in kinds {
        at.push(match kind["type"].as_str() {
            Some("array") => format!("list[{}]", model_name(at.last())),
            _ => model_name(at.last()).to_owned(),
        });
        let read = one(kind, value, at, issues);
        at.pop();
        if read.is_some() {
            issues.truncate(before);
            return read;
        }
    }
    None
}

/// What the original calls the type of the values under this name.
fn model_name(name: Option<&String>) -> &'static str {
    match name.map(String::as_str) {
        Some("edit") => "Edit",
        Some("todos") => "Todo",
        Some("questions") => "QuestionParam",
        Some("options") => "QuestionOptionParam",
        _ => "Params",
    }
}

fn one(schema: &Value, value: &Value, at: &mut Vec<String>, issues: &mut Vec<Issue>) -> Option<Value> {
    let mut fail = |message: String, kind: &'static str| {
        issues.push(issue(at, message, kind, value));
        None
    };
    if let Some(allowed) = schema["enum"].as_array() {
        let words: Vec<String> = allowed.iter().map(repr).collect();
        return match allowed.contains(value) {
            true => Some(value.clone()),
            false => fail(format!("Input should be {}", listed(&words)), "literal_error"),
        };
    }
    match schema["type"].as_str() {
        Some("string") => match value.as_str() {
            None => fail("Input should be a valid string".to_owned(), "string_type"),
            Some(text) => match schema["minLength"].as_u64().filter(|least| (text.chars().count() as u64) < *least) {
                Some(least) => {
                    let unit = if least == 1 { "character" } else { "characters" };
                    fail(format!("String should have at least {least} {unit}"), "string_too_short")
                }
                None => Some(value.clone()),
            },
        },
        Some("integer") => {
            let number = match integer(value) {
                Ok(number) => number,
                Err((message, kind)) => return fail(message.to_owned(), kind),
            };
            if let Some(least) = schema["minimum"].as_i64().filter(|least| number < *least) {
                return fail(format!("Input should be greater than or equal to {least}"), "greater_than_equal");
            }
            if let Some(most) = schema["maximum"].as_i64().filter(|most| number > *most) {
                return fail(format!("Input should be less than or equal to {most}"), "less_than_equal");
            }
            Some(number.into())
        }
        Some("boolean") => match switch(value) {
            Ok(on) => Some(on.into()),
            Err((message, kind)) => fail(message.to_owned(), kind),
        },
        Some("array") => {
            let Some(list) = value.as_array() else {
                return fail("Input should be a valid list".to_owned(), "list_type");
            };
            let length = list.len() as u64;
            let items = |count: u64| format!("{count} item{}", if count == 1 { "" } else { "s" });
            if let Some(most) = schema["maxItems"].as_u64().filter(|most| length > *most) {
                let message = format!("List should have at most {} after validation, not {length}", items(most));
                return fail(message, "too_long");
            }
            if let Some(least) = schema["minItems"].as_u64().filter(|least| length < *least) {
                let message = format!("List should have at least {} after validation, not {length}", items(least));
                return fail(message, "too_short");
            }
            let (mut out, before) = (Vec::new(), issues.len());
            let name = model_name(at.iter().rev().find(|part| part.parse::<u64>().is_err() && !part.contains('[')));
            for (n, item) in list.iter().enumerate() {
                at.push(n.to_string());
                out.extend(match schema["items"]["type"].as_str() {
                    Some("object") => model(&schema["items"], item, name, at, issues),
                    _ => field(&schema["items"], item, at, issues),
                });
                at.pop();
            }
            (issues.len() == before).then_some(Value::Array(out))
        }
        Some("object") => {
            let name = model_name(at.first());
            model(schema, value, name, at, issues)
        }
        _ => Some(value.clone()),
    }
}

fn issue(at: &[String], message: String, kind: &'static str, input: &Value) -> Issue {
    Issue { at: at.join("."), message, kind, input: input.clone() }
}

/// `'a', 'b' or 'c'`
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

type Unread = (&'static str, &'static str);

fn integer(value: &Value) -> Result<i64, Unread> {
    const WHOLE: Unread = ("Input should be a valid integer, got a number with a fractional part", "int_from_float");
    match value {
        Value::Number(number) => number.as_i64().map_or_else(|| whole(number).ok_or(WHOLE), Ok),
        Value::Bool(on) => Ok(i64::from(*on)),
        Value::String(text) => text
            .trim()
            .parse()
            .map_err(|_| ("Input should be a valid integer, unable to parse string as an integer", "int_parsing")),
        _ => Err(("Input should be a valid integer", "int_type")),
    }
}

fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
}

fn switch(value: &Value) -> Result<bool, Unread> {
    const UNREAD: Unread = ("Input should be a valid boolean, unable to interpret input", "bool_parsing");
    match value {
        Value::Bool(on) => Ok(*on),
        Value::Number(number) => match number.as_f64() {
            Some(1.0) => Ok(true),
            Some(0.0) => Ok(false),
            _ => Err(UNREAD),
        },
        Value::String(text) => match text.to_lowercase().as_str() {
            "1" | "true" | "t" | "yes" | "y" | "on" => Ok(true),
            "0" | "false" | "f" | "no" | "n" | "off" => Ok(false),
            _ => Err(UNREAD),
        },
        _ => Err(("Input should be a valid boolean", "bool_type")),
    }
}
