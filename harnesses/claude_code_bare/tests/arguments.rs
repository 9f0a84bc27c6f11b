//! Arguments that are wrong, and how calls go back.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn wrong_arguments() {
    let mut stage = Stage::new(&[("a.txt", A)]);
    let failed = |tool: &str, issues: &[&str]| {
        let word = if issues.len() == 1 { "issue" } else { "issues" };
        let issues = issues.join("\n");
        format!(
            "<tool_use_error>InputValidationError: {tool} failed due to the following {word}:\n{issues}</tool_use_error>"
        )
    };
    let mut check = |tool: &str, args: &str, issues: &[&str]| {
        assert_eq!(stage.call(tool, args), Answer::failed(failed(tool, issues)), "{args}");
    };
    check(
        "Bash",
        r#"{"command":"x","run_in_background":true}"#,
        &["An unexpected parameter `run_in_background` was provided"],
    );
    check("Bash", r#"{"description":"x"}"#, &["The required parameter `command` is missing"]);
    check(
        "Bash",
        r#"{"z":1,"timeout":"x","command":5,"y":2}"#,
        &[
            "An unexpected parameter `z` was provided",
            "An unexpected parameter `y` was provided",
            "The parameter `command` type is expected as `string` but provided as `number`",
            "The parameter `timeout` type is expected as `number` but provided as `string`",
        ],
    );
    check(
        "Bash",
        r#"{"command":["echo"]}"#,
        &["The parameter `command` type is expected as `string` but provided as `array`"],
    );
    check(
        "Bash",
        r#"{"command":null}"#,
        &["The parameter `command` type is expected as `string` but provided as `null`"],
    );
    check(
        "Bash",
        r#"{"command":{"a":1}}"#,
        &["The parameter `command` type is expected as `string` but provided as `object`"],
    );
    check(
        "Bash",
        r#"{"command":true}"#,
        &["The parameter `command` type is expected as `string` but provided as `boolean`"],
    );
    check(
        "Edit",
        r#"{"old_string":5,"bar":1,"file_path":"a"}"#,
        &[
            "The required parameter `new_string` is missing",
            "An unexpected parameter `bar` was provided",
            "The parameter `old_string` type is expected as `string` but provided as `number`",
        ],
    );
    check(
        "Edit",
        r#"{"file_path":"a","old_string":"a","new_string":"b","replace_all":"maybe"}"#,
        &["The parameter `replace_all` type is expected as `boolean` but provided as `string`"],
    );
    check("Read", "", &["The required parameter `file_path` is missing"]);
    check("Read", "null", &["The required parameter `file_path` is missing"]);
    check(
        "Read",
        "[1]",
        &["The required parameter `file_path` is missing", "An unexpected parameter `0` was provided"],
    );
    check(
        "Read",
        r#"{"file_path":"a","offset":1.5}"#,
        &["The parameter `offset` type is expected as `int` but provided as `number`"],
    );
    check(
        "Read",
        r#"{"file_path":"a","offset":"","limit":" 2 "}"#,
        &["The parameter `offset` type is expected as `number` but provided as `string`"],
    );
    let mut unknown = |name: &str, expected: &str| {
        let text = format!("<tool_use_error>Error: No such tool available: {expected}</tool_use_error>");
        assert_eq!(stage.call(name, "{}"), Answer::failed(text));
    };
    unknown("Write", "Write. Write is not among the tools available here. Continue with the tools you have.");
    unknown(
        "KillShell",
        "KillShell. KillShell is not among the tools available here. Continue with the tools you have.",
    );
    unknown("frobnicate", "frobnicate");
    unknown("bash", "bash. Tool names are case-sensitive: call Bash instead.");
    unknown("", "");
}

#[test]
fn what_cannot_be_read_is_quoted() {
    let mut stage = Stage::new(&[]);
    let text = stage.call("Read", "not json").content.text();
    assert!(text.starts_with("<tool_use_error>InputValidationError: Read was called with input that could not be parsed as JSON.\nYou sent (first 8 of 8 bytes): not json\nCommon causes: "), "{text}");
    let text = stage.call("Bash", &"x".repeat(700)).content.text();
    assert!(text.contains(&format!("\nYou sent (first 200 of 700 bytes): {}\n", "x".repeat(200))), "{text}");
}

#[test]
fn calls_go_back_as_the_original_writes_them() {
    let check = |name: &str, args: &str, expected: &str| assert_eq!(args::echo(name, args), expected);
    check(
        "Bash",
        r#"{"timeout":"5","description":"d","command":"x"}"#,
        r#"{"command":"x","description":"d","timeout":5}"#,
    );
    check(
        "Edit",
        r#"{"new_string":"b ","old_string":"a ","file_path":"f"}"#,
        r#"{"replace_all":false,"file_path":"f","old_string":"a ","new_string":"b"}"#,
    );
    check(
        "Edit",
        r#"{"new_string":"b  ","old_string":"a","file_path":"f.md"}"#,
        r#"{"replace_all":false,"file_path":"f.md","old_string":"a","new_string":"b  "}"#,
    );
    check("Read", r#"{"limit":"2","file_path":"f"}"#, r#"{"limit":2,"file_path":"f"}"#);
    check("Read", r#"{"file_path":"f","offset":-1}"#, r#"{"file_path":"f","offset":-1}"#);
    check("Read", r#"{"file_path":5}"#, r#"{"file_path":5}"#);
    check("Read", "", "{}");
    check("Read", "not json", r#"{"__unparsedToolInput":{"raw":"not json","len":8}}"#);
    check("Nope", r#"{"a": 1}"#, r#"{"a":1}"#);
}
