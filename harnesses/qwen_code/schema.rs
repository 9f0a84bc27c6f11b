//! Checks a call's arguments against the schema of its tool, and words the first problem as the original's validator does.
//! Numbers and switches written as strings, and strings written as either, are converted. Measured by `validation.json`.
use serde_json::{Map, Value};

/// Converts in place. Err: the message for the model.
pub(super) fn check(schema: &Value, args: &mut Map<String, Value>) -> Result<(), String> {
    object(schema, args, "params")
}

fn object(schema: &Value, map: &mut Map<String, Value>, at: &str) -> Result<(), String> {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            return Err(format!("{at} must have required property '{name}'"));
        }
    }
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    if schema["additionalProperties"] == Value::Bool(false) && map.keys().any(|key| !properties.contains_key(key)) {
        return Err(format!("{at} must NOT have additional properties"));
    }
    for (name, schema) in properties {
        if let Some(value) = map.get_mut(name) {
            any(schema, value, &format!("{at}/{name}"))?;
        }
    }
    Ok(())
}

fn any(schema: &Value, value: &mut Value, at: &str) -> Result<(), String> {
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices.iter().filter(|choice| any(choice, &mut value.clone(), at).is_ok()).count();
        return if fits == 1 { Ok(()) } else { Err(format!("{at} must match exactly one schema in oneOf")) };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|kind| is(kind, value)) {
        match types.iter().find_map(|kind| converted(kind, value)) {
            Some(fitting) => *value = fitting,
            None => return Err(format!("{at} must be {}", types.join(","))),
        }
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        return Err(format!("{at} must be equal to one of the allowed values"));
    }
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            match (&schema["minimum"], &schema["maximum"]) {
                (least, _) if least.as_f64().is_some_and(|least| number < least) => {
                    Err(format!("{at} must be >= {least}"))
                }
                (_, most) if most.as_f64().is_some_and(|most| number > most) => Err(format!("{at} must be <= {most}")),
                _ => Ok(()),
            }
        }
        Value::String(text) => {
            size(schema, ("minLength", "maxLength"), text.chars().count(), "characters", at)?;
            match schema["pattern"].as_str() {
                // The only pattern of these schemas: a number without leading zeros.
                Some(pattern) if !is_count(text) => Err(format!("{at} must match pattern \"{pattern}\"")),
                _ => Ok(()),
            }
        }
        Value::Array(items) => {
            size(schema, ("minItems", "maxItems"), items.len(), "items", at)?;
            if schema["items"].is_object() {
                for (n, item) in items.iter_mut().enumerate() {
                    any(&schema["items"], item, &format!("{at}/{n}"))?;
                }
            }
            Ok(())
        }
        Value::Object(map) => object(schema, map, at),
        _ => Ok(()),
    }
}

fn is_count(text: &str) -> bool {
    !text.starts_with('0') && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn size(schema: &Value, (least, most): (&str, &str), found: usize, of: &str, at: &str) -> Result<(), String> {
    let limit = |key: &str| schema[key].as_u64().map(|limit| (limit, found as u64));
    match (limit(least), limit(most)) {
        (Some((least, found)), _) if found < least => Err(format!("{at} must NOT have fewer than {least} {of}")),
        (_, Some((most, found))) if found > most => Err(format!("{at} must NOT have more than {most} {of}")),
        _ => Ok(()),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn converted(kind: &str, value: &Value) -> Option<Value> {
    match (kind, value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("integer" | "number", Value::String(text)) => {
            let number: Value = serde_json::from_str(text.trim()).ok()?;
            (number.is_number() && is(kind, &number)).then_some(number)
        }
        ("boolean", Value::String(text)) if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
        ("boolean", Value::String(text)) if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use crate::qwen_code::tools;

    fn check(tool: &str, args: serde_json::Value, expected: Result<serde_json::Value, &str>) {
        let mut map = args.as_object().cloned().unwrap();
        let found = super::check(&tools::schema(tool), &mut map).map(|()| serde_json::Value::Object(map));
        assert_eq!(found, expected.map_err(str::to_owned), "{tool} {args}");
    }

    #[test]
    fn problems_are_worded_as_measured() {
        check("read_file", json!({}), Err("params must have required property 'file_path'"));
        check("read_file", json!({"file_path": ["x"]}), Err("params/file_path must be string"));
        check("read_file", json!({"file_path": null}), Err("params/file_path must be string"));
        check("read_file", json!({"file_path": "x", "limit": "abc"}), Err("params/limit must be integer,null"));
        check("read_file", json!({"file_path": "x", "offset": true}), Err("params/offset must be integer,null"));
        check("read_file", json!({"file_path": "x", "limit": 1.5}), Err("params/limit must be integer,null"));
        check("run_shell_command", json!({"command": "x", "timeout": 700000}), Err("params/timeout must be <= 600000"));
        check("run_shell_command", json!({"command": "x", "timeout": 0}), Err("params/timeout must be >= 1"));
        check(
            "run_shell_command",
            json!({"command": "x", "is_background": 0}),
            Err("params/is_background must be boolean"),
        );
        check("tool_search", json!({"query": ""}), Err("params/query must NOT have fewer than 1 characters"));
        check(
            "notebook_edit",
            json!({"notebook_path": "x", "cell_type": "zz"}),
            Err("params/cell_type must be equal to one of the allowed values"),
        );
        check(
            "tool_call",
            json!({"name": "x", "arguments": {}, "y": 1}),
            Err("params must NOT have additional properties"),
        );
        check(
            "agent",
            json!({"description": "x", "prompt": "y", "fork_turns": "0"}),
            Err("params/fork_turns must match exactly one schema in oneOf"),
        );
        check(
            "agent",
            json!({"description": "x", "prompt": "y", "fork_tools": [""]}),
            Err("params/fork_tools/0 must NOT have fewer than 1 characters"),
        );
    }

    #[test]
    fn what_has_one_meaning_is_converted() {
        check("read_file", json!({"file_path": 5, "limit": "5"}), Ok(json!({"file_path": "5", "limit": 5})));
        check(
            "run_shell_command",
            json!({"command": true, "is_background": "false", "more": 1}),
            Ok(json!({"command": "true", "is_background": false, "more": 1})),
        );
    }
}
