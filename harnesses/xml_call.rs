//! Calls in the form that Qwen's coder models are trained on, left in the text by a server without a parser for it:
//! `<function=NAME>`, `<parameter=P>`, often without the `<tool_call>` around them. A call that is not closed is never run.
use std::ops::Range;

use serde_json::{Map, Value};

use crate::in_text::{InText, TextCall};
use crate::names;

const OPEN: &str = "<function=";
const CLOSE: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// All calls in `text`, in order. `offered`: the names of the tools that the model may call; `schema`: of one of them, by which values
/// are read that are no text.
pub(crate) fn find(text: &str, offered: &[&str], schema: impl Fn(&str) -> Value) -> InText {
    let mut calls = Vec::new();
    let mut from = 0;
    while let Some(start) = begin(text, from) {
        let inside = start + OPEN.len();
        match read(&text[inside..], offered, &schema) {
            Ok((name, args, length)) => {
                let at = framed(text, start..inside + length);
                from = at.end;
                calls.push(TextCall { mended: true, name, args, at });
            }
            Err(why) => return InText::Unreadable(why),
        }
    }
    if calls.is_empty() { InText::None } else { InText::Calls(calls) }
}

/// The next opening tag that begins a line outside of a code fence.
fn begin(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find(OPEN)?;
        let before = &text[..at];
        let line = before.rsplit('\n').next().unwrap_or("").trim();
        let fences = before.lines().filter(|line| line.trim_start().starts_with("```")).count();
        let starts =
            line.is_empty() || line.ends_with("<tool_call>") || line.ends_with("</tool_call>") || line.ends_with(CLOSE);
        if starts && fences % 2 == 0 {
            return Some(at);
        }
        at += OPEN.len();
    }
}

/// With the tags around it, as far as they are there.
fn framed(text: &str, call: Range<usize>) -> Range<usize> {
    let before = text[..call.start].trim_end();
    let start = before.strip_suffix("<tool_call>").map_or(call.start, str::len);
    let after = &text[call.end..];
    let blank = after.len() - after.trim_start().len();
    let end = match after.trim_start().starts_with("</tool_call>") {
        true => call.end + blank + "</tool_call>".len(),
        false => call.end,
    };
    start..end
}

/// Name, arguments, and how long the call is, its closing tag included. Between parameters nothing but white space may stand: a
/// value that holds a closing tag itself cannot be told from two, and is not guessed at.
fn read(body: &str, offered: &[&str], schema: impl Fn(&str) -> Value) -> Result<(String, String, usize), String> {
    let (name, mut rest) = body.split_once('>').ok_or_else(|| format!("`{OPEN}` without a name"))?;
    let name = names::meant(name, offered.iter().copied()).ok_or_else(|| format!("there is no tool named `{name}`"))?;
    let schema = schema(name);
    let mut args = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(CLOSE) {
            return Ok((name.to_owned(), Value::Object(args).to_string(), body.len() - after.len()));
        }
        let Some((key, after)) = rest.strip_prefix(PARAMETER).and_then(|rest| rest.split_once('>')) else {
            return Err(format!("`{OPEN}{name}>` without `{CLOSE}`"));
        };
        let Some((value, after)) = after.split_once(PARAMETER_END) else {
            return Err(format!("`{PARAMETER}{key}>` without `{PARAMETER_END}`"));
        };
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        args.insert(key.trim().to_owned(), typed(&schema["properties"][key.trim()], value));
        rest = after;
    }
}

/// Values are plain text; only where the schema wants something else they are read as JSON.
fn typed(schema: &Value, value: &str) -> Value {
    let text = || Value::String(value.to_owned());
    match schema["type"].as_str() {
        Some("string") | None => text(),
        Some(_) => serde_json::from_str(value.trim()).unwrap_or_else(|_| text()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const OFFERED: [&str; 2] = ["read_file", "run_shell_command"];

    fn schema(name: &str) -> Value {
        match name {
            "run_shell_command" => serde_json::json!({"properties": {
                "command": {"type": "string"}, "timeout": {"type": "number"}, "is_background": {"type": "boolean"},
            }}),
            _ => Value::Null,
        }
    }

    fn check(text: &str, expected: &[(&str, &str)], rest: &str) {
        let InText::Calls(calls) = find(text, &OFFERED, schema) else { panic!("{text}") };
        let found: Vec<(&str, &str)> = calls.iter().map(|c| (c.name.as_str(), c.args.as_str())).collect();
        assert_eq!((found.as_slice(), crate::in_text::without(text, &calls).as_str()), (expected, rest), "{text}");
    }

    #[test]
    fn calls_with_and_without_their_frame() {
        let call = "<function=read_file>\n<parameter=file_path>\n/w/a.txt\n</parameter>\n</function>";
        let read = ("read_file", r#"{"file_path":"/w/a.txt"}"#);
        check(&format!("I look.\n<tool_call>\n{call}\n</tool_call>"), &[read], "I look.");
        check(&format!("{call}\n</tool_call>"), &[read], "");
        check(call, &[read], "");
        check(&format!("<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{call}\n</tool_call>"), &[read, read], "");
        check(
            "<function=run_shell_command>\n<parameter=command>\ncat <<'E'\n  x\nE\n</parameter>\n<parameter=timeout>\n5000\n</parameter>\n<parameter=is_background>\nfalse\n</parameter>\n</function>",
            &[("run_shell_command", r#"{"command":"cat <<'E'\n  x\nE","timeout":5000,"is_background":false}"#)],
            "",
        );
    }

    #[test]
    fn talk_is_text_and_what_is_cut_is_never_run() {
        for text in ["Qwen writes `<function=read_file>`.", "```\n<function=read_file>\n</function>\n```", ""] {
            assert_eq!(find(text, &OFFERED, schema), InText::None, "{text}");
        }
        for text in [
            "<function=read_file>\n<parameter=file_path>\n/w/a",
            "<function=nope>\n</function>",
            "<function=read_file>\n<parameter=file_path>\na</parameter>b</parameter>\n</function>",
        ] {
            assert!(matches!(find(text, &OFFERED, schema), InText::Unreadable(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(pieces in prop::collection::vec(prop_oneof![
            Just("<tool_call>"), Just("</tool_call>"), Just("<function=read_file>"), Just("</function>"),
            Just("<parameter=file_path>"), Just("</parameter>"), Just("\n"), Just("é"), Just("```"),
        ], 0..12)) {
            let text = pieces.concat();
            if let InText::Calls(calls) = find(&text, &OFFERED, schema) {
                let _ = crate::in_text::without(&text, &calls);
            }
        }
    }
}
