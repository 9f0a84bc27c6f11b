//! A call's name and arguments as this dialect reads them: old names of tools still count, what is no JSON object counts as an
//! empty one, and that is also how the call goes back into history.
use serde_json::{Map, Value};

use super::{schema, tools};

/// The tool that a name stands for: names of earlier versions are still taken.
pub(super) fn canonical(name: &str) -> &str {
    match name {
        "task" => "agent",
        "replace" => "edit",
        "search_file_content" => "grep_search",
        name => name,
    }
}

/// The arguments as an object; an empty one where the text is anything else.
pub(super) fn object(args: &str) -> Map<String, Value> {
    serde_json::from_str(args).unwrap_or_default()
}

/// As the call goes back to the model.
pub(super) fn echo(args: &str) -> String {
    Value::Object(object(args)).to_string()
}

/// An object that was never closed.
pub(super) fn is_cut(args: &str) -> bool {
    let begun = args.trim_start().starts_with('{');
    begun && serde_json::from_str::<Value>(args).is_err_and(|error| error.is_eof())
}

/// A cut object with its open string, lists and objects closed, for history alone: it is never run.
pub(super) fn closed(args: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for c in args.chars() {
        match (in_string, c) {
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => in_string = !in_string,
            (false, '{') => open.push('}'),
            (false, '[') => open.push(']'),
            (false, '}' | ']') => {
                open.pop();
            }
            _ => {}
        }
    }
    let mut text = args.to_owned();
    if escaped {
        text.pop();
    }
    if in_string {
        text.push('"');
    }
    text.extend(open.iter().rev());
    serde_json::from_str::<Map<String, Value>>(&text).ok().map(|map| Value::Object(map).to_string())
}

/// Checked and converted. Err: what the model is told.
pub(super) fn checked(tool: &str, mut args: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let empty = |key: &str| args.get(key).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty());
    // These look at their arguments themselves before the schema does.
    let own: &[&str] = match tool {
        "agent" => &["description", "prompt"],
        "skill" => &["skill"],
        _ => &[],
    };
    for key in own {
        if empty(key) {
            return Err(format!("Parameter \"{key}\" must be a non-empty string."));
        }
    }
    match tool {
        "agent" if args.contains_key("subagent_type") && empty("subagent_type") => {
            return Err("Parameter \"subagent_type\" must be a non-empty string.".to_owned());
        }
        "agent" if args.get("isolation").is_some_and(|value| value != "worktree") => {
            return Err("Parameter \"isolation\" must be \"worktree\" when set.".to_owned());
        }
        "todo_write" if !args.get("todos").is_some_and(Value::is_array) => {
            return Err("Parameter \"todos\" must be an array.".to_owned());
        }
        _ => {}
    }
    schema::check(&tools::schema(tool), &mut args)?;
    Ok(args)
}

/// A text argument; empty where there is none.
pub(super) fn text<'a>(args: &'a Map<String, Value>, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(args: &Map<String, Value>, key: &str) -> Option<bool> {
    args.get(key).and_then(Value::as_bool)
}

pub(super) fn whole(args: &Map<String, Value>, key: &str) -> Option<i64> {
    let number = args.get(key)?;
    number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_object_is_an_empty_one() {
        for (args, expected) in [
            (r#"{"b": 1, "a": "x"}"#, r#"{"b":1,"a":"x"}"#),
            (r#"{"a":1} trailing"#, "{}"),
            ("not json", "{}"),
            ("", "{}"),
            ("null", "{}"),
            (r#"["x"]"#, "{}"),
        ] {
            assert_eq!(echo(args), expected, "{args}");
        }
    }

    #[test]
    fn cut_objects() {
        for (args, cut, closing) in [
            (r#"{"a":"b"#, true, Some(r#"{"a":"b"}"#)),
            (r#"{"a":["b\"#, true, Some(r#"{"a":["b"]}"#)),
            (r#"{"a":"#, true, None),
            (r#"{"a":1}"#, false, Some(r#"{"a":1}"#)),
            ("not json", false, None),
        ] {
            assert_eq!((is_cut(args), closed(args).as_deref()), (cut, closing), "{args}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[\\[\\]{}\":,a0 \\\\é]{0,40}") {
            let _ = (object(&text), is_cut(&text));
            if let Some(closed) = closed(&text) {
                prop_assert!(serde_json::from_str::<Map<String, Value>>(&closed).is_ok());
            }
        }
    }
}
