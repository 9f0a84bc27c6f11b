//! Reads the arguments of a call as Codex 0.171.0 does, and says what is wrong with them in its words. Names of types stand in
//! these words, so types that a wrong argument can name are called as there. Forgiven beyond it: an object written as a JSON
//! string, and null for a field that may be left out.
use std::borrow::Cow;

use serde::{Deserialize, de::DeserializeOwned};

use super::answers;
use crate::args;

/// The only environment there is: the machine that the agent runs on.
const ENVIRONMENT: &str = "local";

/// What tools that act in an environment read first, and by itself.
#[derive(Debug, Deserialize)]
struct ToolEnvironmentArgs {
    environment_id: Option<String>,
}

/// Err: the answer to the model.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = match args::normal(text) {
        Cow::Owned(object) => Cow::Owned(object),
        // No arguments at all are not forgiven: every tool here needs one, and the original has its own words for it.
        Cow::Borrowed(_) => Cow::Borrowed(text),
    };
    serde_json::from_str(&text).map_err(|error| answers::bad_arguments(&error.to_string()))
}

/// As [`read`], for tools that act in an environment.
pub(super) fn read_in_environment<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    match read::<ToolEnvironmentArgs>(text)?.environment_id {
        Some(id) if id != ENVIRONMENT => Err(format!("unknown turn environment id `{id}`")),
        _ => read(text),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        cmd: String,
        wait: Option<u64>,
    }

    #[test]
    fn as_measured() {
        let check = |text: &str, expected: &str| {
            let expected = Err(format!("failed to parse function arguments: {expected}"));
            assert_eq!(read_in_environment::<Sample>(text), expected, "{text}");
        };
        check("", "EOF while parsing a value at line 1 column 0");
        check(" ", "EOF while parsing a value at line 1 column 1");
        check("null", "invalid type: null, expected struct ToolEnvironmentArgs at line 1 column 4");
        check("\"\"", "invalid type: string \"\", expected struct ToolEnvironmentArgs at line 1 column 2");
        check("[]", "invalid length 0, expected struct ToolEnvironmentArgs with 1 element at line 1 column 2");
        check("[null]", "invalid type: null, expected a string at line 1 column 5");
        check("[null,\"ls\"]", "trailing characters at line 1 column 7");
        check("{}", "missing field `cmd` at line 1 column 2");
        check(r#"{"environment_id":5,"cmd":5}"#, "invalid type: integer `5`, expected a string at line 1 column 19");
        check(
            "{\"cmd\":\"echo\ta\"}",
            "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 12",
        );
    }

    #[test]
    fn environments() {
        let check = |id: &str, expected| {
            assert_eq!(read_in_environment(&format!(r#"{{"cmd":"ls","environment_id":{id}}}"#)), expected, "{id}");
        };
        check("null", Ok(Sample { cmd: "ls".into(), wait: None }));
        check("\"local\"", Ok(Sample { cmd: "ls".into(), wait: None }));
        check("\"far\"", Err("unknown turn environment id `far`".into()));
    }

    #[test]
    fn forgiven() {
        let check = |text: &str| assert_eq!(read(text), Ok(Sample { cmd: "ls".into(), wait: None }), "{text}");
        check(r#""{\"cmd\":\"ls\"}""#);
        check(r#"{"cmd":"ls","wait":null}"#);
        check(r#"{"cmd":"ls","more":1}"#);
    }
}
