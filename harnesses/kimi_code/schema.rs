//! Checks a call's arguments against its tool's schema: in the order and the words of Ajv, which the original uses
//! (`/command must be string`). Knows the keywords that our schemas use. Measured by `tests/wire/kimi-code/validation.json`.
use serde_json::{Map, Value};

/// Everything that is wrong, joined by `; `. None: nothing.
pub(super) fn problems(schema: &Value, value: &Value) -> Option<String> {
    let mut found = Vec::new();
    check(schema, value, "", &mut found);
    (!found.is_empty()).then(|| found.join("; "))
}

fn check(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let before = found.len();
    let mut say = |text: String| found.push(if at.is_empty() { text } else { format!("{at} {text}") });
    let wanted = schema["type"].as_str();
    if let Some(wanted) = wanted
        && !is(wanted, value)
    {
        say(format!("must be {wanted}"));
        // Bounds are held against any number, also one that is not whole.
        if !(wanted == "integer" && value.is_number()) {
            return;
        }
    }
    if let Some(number) = value.as_f64() {
        for (key, holds, sign) in [
            ("minimum", (|n, bound| n >= bound) as fn(f64, f64) -> bool, ">="),
            ("maximum", |n, bound| n <= bound, "<="),
            ("exclusiveMinimum", |n, bound| n > bound, ">"),
            ("exclusiveMaximum", |n, bound| n < bound, "<"),
        ] {
            if let Some(bound) = schema[key].as_f64().filter(|bound| !holds(number, *bound)) {
                say(format!("must be {sign} {bound}"));
            }
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
            say(format!("must NOT have fewer than {least} characters"));
        }
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            say(format!("must NOT have more than {most} characters"));
        }
    }
    if let Some(list) = value.as_array() {
        let length = list.len() as u64;
        if let Some(least) = schema["minItems"].as_u64().filter(|least| length < *least) {
            say(format!("must NOT have fewer than {least} items"));
        }
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| length > *most) {
            say(format!("must NOT have more than {most} items"));
        }
    }
    if let Some(map) = value.as_object() {
        // Where an object stands the original does not say.
        let keys = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(
            keys.filter(|key| !map.contains_key(*key)).map(|key| format!("must have required property '{key}'")),
        );
        inside(schema, map, at, found);
    }
    if let Some(list) = value.as_array() {
        for (n, item) in list.iter().enumerate() {
            check(&schema["items"], item, &format!("{at}/{n}"), found);
        }
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let mut branches = Vec::new();
        for branch in any {
            let mut wrong = Vec::new();
            check(branch, value, at, &mut wrong);
            if wrong.is_empty() {
                return;
            }
            branches.extend(wrong);
        }
        found.extend(branches);
        found.push(format!("{at} must match a schema in anyOf").trim_start().to_owned());
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|allowed| found.len() == before && !allowed.contains(value))
    {
        debug_assert!(!allowed.is_empty());
        found.push(format!("{at} must be equal to one of the allowed values").trim_start().to_owned());
    }
}

fn inside(schema: &Value, map: &Map<String, Value>, at: &str, found: &mut Vec<String>) {
    let known = schema["properties"].as_object();
    let is_known = |key: &str| known.is_some_and(|known| known.contains_key(key));
    let rest = &schema["additionalProperties"];
    if *rest == Value::Bool(false) {
        let odd = map.keys().filter(|key| !is_known(key));
        found.extend(odd.map(|key| format!("must NOT have additional property '{key}'")));
    }
    for (key, child) in known.into_iter().flatten() {
        if let Some(value) = map.get(key) {
            check(child, value, &format!("{at}/{key}"), found);
        }
    }
    if rest.is_object() {
        for (key, value) in map.iter().filter(|(key, _)| !is_known(key)) {
            check(rest, value, &format!("{at}/{key}"), found);
        }
    }
}

fn is(wanted: &str, value: &Value) -> bool {
    match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        _ => true,
    }
}
