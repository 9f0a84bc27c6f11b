//! Reads the arguments that a model wrote for a call. Forgives what has one meaning only (nothing at all, `null`, an object
//! written as a JSON string); content is never guessed, so text that was cut off stays an error and is never run.
use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The arguments as one JSON object. Err: what serde says of the text, fit to follow `failed to parse function arguments: `.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(&normal(text)).map_err(|error| error.to_string())
}

/// The arguments as a type of the harness. Unknown fields are its own affair; errors as in [`object`].
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = normal(text);
    if !text.trim_start().starts_with('{') {
        // serde would fill a struct from an array, field by field.
        object(&text)?;
    }
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The text of the object that was meant; any other text as it is.
pub(crate) fn normal(text: &str) -> Cow<'_, str> {
    match text.trim() {
        "" | "null" => Cow::Borrowed("{}"),
        quoted if quoted.starts_with('"') => match serde_json::from_str::<String>(quoted) {
            Ok(inner) if serde_json::from_str::<Map<String, Value>>(&inner).is_ok() => Cow::Owned(inner),
            Ok(inner) if inner.trim().is_empty() => Cow::Borrowed("{}"),
            _ => Cow::Borrowed(text),
        },
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        cmd: String,
        #[serde(default)]
        wait: Option<u64>,
    }

    fn check(text: &str, expected: Result<Value, &str>) {
        assert_eq!(object(text).map(Value::Object), expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn one_meaning_is_read_and_no_content_is_guessed() {
        check("", Ok(json!({})));
        check(" \n", Ok(json!({})));
        check("null", Ok(json!({})));
        check("\"\"", Ok(json!({})));
        check(r#"{"cmd":"ls"}"#, Ok(json!({"cmd": "ls"})));
        check(r#""{\"cmd\":\"ls\"}""#, Ok(json!({"cmd": "ls"})));
        check(r#"{"cmd":"l"#, Err("EOF while parsing a string at line 1 column 9"));
        check(r#"{"cmd":"ls",}"#, Err("trailing comma at line 1 column 13"));
        check(r#"{"cmd":"ls"} x"#, Err("trailing characters at line 1 column 14"));
        check("[]", Err("invalid type: sequence, expected a map at line 1 column 0"));
        check(r#""ls""#, Err("invalid type: string \"ls\", expected a map at line 1 column 4"));
    }

    #[test]
    fn a_typed_error_is_serdes_own() {
        let check = |text: &str, expected: &str| assert_eq!(read::<Sample>(text), Err(expected.to_owned()), "{text}");
        check("", "missing field `cmd` at line 1 column 2");
        check("{", "EOF while parsing an object at line 1 column 1");
        check(r#"{"cmd":5}"#, "invalid type: integer `5`, expected a string at line 1 column 8");
        check(r#"{"cmd":"x","wait":-5}"#, "invalid value: integer `-5`, expected u64 at line 1 column 20");
        check(r#"["ls"]"#, "invalid type: sequence, expected a map at line 1 column 0");
        assert_eq!(read(r#"{"cmd":"ls","more":1}"#), Ok(Sample { cmd: "ls".into(), wait: None }));
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in "\\PC{0,40}|[\\[\\]{}\":,a0 \\\\]{0,40}") {
            let _ = object(&text);
            let _ = read::<Sample>(&text);
        }
        #[test]
        fn a_proper_prefix_of_an_object_is_never_read(value in "[a-z\"\\\\é]{1,12}", cut in 1usize..60) {
            let whole = json!({"cmd": value, "wait": 12}).to_string();
            if cut < whole.len() && whole.is_char_boundary(cut) {
                prop_assert!(object(&whole[..cut]).is_err());
            }
        }
    }
}
