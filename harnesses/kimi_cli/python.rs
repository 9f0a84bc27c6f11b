//! What the original's language shows through: values as Python writes them, and JSON as its lenient reader takes it.
use serde_json::Value;

use crate::python_json;

/// `repr` of a JSON value.
pub(super) fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), repr(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// Arguments, control characters in strings allowed. Nothing at all is `{}`. Err: Python's words.
pub(super) fn loads(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    serde_json::from_str(&escaped(text)).map_err(|error| {
        // Places are counted in the text as it came.
        let plain: String = text.chars().map(|c| if c < ' ' && !"\n\r\t".contains(c) { ' ' } else { c }).collect();
        python_json::error(&plain).unwrap_or_else(|| error.to_string())
    })
}

/// Control characters inside of strings, written as JSON wants them.
fn escaped(text: &str) -> String {
    let (mut out, mut inside, mut escape) = (String::with_capacity(text.len()), false, false);
    for c in text.chars() {
        match c {
            '"' if !escape => inside = !inside,
            c if inside && c < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
                escape = false;
                continue;
            }
            _ => {}
        }
        escape = inside && c == '\\' && !escape;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_as_python_writes_them() {
        let check = |value: Value, expected: &str| assert_eq!(repr(&value), expected);
        check(json!({"a": [1, 1.5, true, null], "b": "it's"}), "{'a': [1, 1.5, True, None], 'b': \"it's\"}");
        check(json!("a\n\"b\" 'c' \\ \u{1}"), "'a\\n\"b\" \\'c\\' \\\\ \\x01'");
    }

    #[test]
    fn json_is_read_leniently() {
        assert_eq!(loads(""), Ok(json!({})));
        assert_eq!(loads("{\"a\": \"x\ny\"}"), Ok(json!({"a": "x\ny"})));
        assert_eq!(
            loads("{\"command\": \"echo"),
            Err("Unterminated string starting at: line 1 column 13 (char 12)".into())
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[\\[\\]{}\":,a0\\\\ \n\u{1}]{0,24}") {
            let _ = loads(&text);
        }
        #[test]
        fn raw_line_feeds_are_kept(text in "[a\n\t \\\\]{0,12}") {
            let written = json!({"a": text}).to_string().replace("\\n", "\n").replace("\\t", "\t");
            // A backslash before an n is one too.
            prop_assume!(!text.contains('\\'));
            prop_assert_eq!(loads(&written), Ok(json!({"a": text})));
        }
    }
}
