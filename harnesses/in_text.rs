//! Finds calls that stand in the text of a reply because the server did not parse them (or the model never learnt to make
//! them otherwise). Only forms that can be nothing else are known: Hermes tags, Kimi's markers, and a reply that is one
//! JSON object naming an offered tool, fenced or bare. Markup that cannot be read is reported, never run.
use std::ops::Range;

use protocol::{Call, CallForm};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Context, args, names};

/// What the text of a reply holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InText {
    None,
    Calls(Vec<TextCall>),
    /// Markup of calls is there, but it is cut off, not JSON, or names no offered tool: why, in a few words.
    Unreadable(String),
}

/// A call found in text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextCall {
    /// As offered.
    pub(crate) name: String,
    /// A JSON object.
    pub(crate) args: String,
    /// Where its markup stands in the text, in bytes.
    pub(crate) at: Range<usize>,
    /// The name had to be mended.
    pub(crate) mended: bool,
}

/// Opening and closing marker of a call, and how what stands between is read.
const MARKUPS: [(&str, &str, Between); 2] = [
    ("<tool_call>", "</tool_call>", Between::Object),
    ("<|tool_call_begin|>", "<|tool_call_end|>", Between::NameThenArguments),
];
const KIMI_ARGUMENTS: &str = "<|tool_call_argument_begin|>";
/// Markers around a list of calls; they go with the calls.
const KIMI_SECTION: [&str; 2] = ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"];

#[derive(Clone, Copy)]
enum Between {
    /// `{"name": ..., "arguments": {...}}`
    Object,
    /// `functions.NAME:0<|tool_call_argument_begin|>{...}`
    NameThenArguments,
}

/// All calls in `text`, in order. `offered`: the names of the tools that the model may call.
pub(crate) fn find(text: &str, offered: &[&str]) -> InText {
    for (open, close, between) in MARKUPS {
        if begin(text, 0, open, between).is_some() {
            return marked(text, open, close, between, offered);
        }
    }
    match alone(text, offered) {
        Some(call) => InText::Calls(vec![call]),
        None => InText::None,
    }
}

/// What was found in the newest reply, as calls. Their ids come of the reply's place in the thread: the server's own id of it
/// is the same for all replies of some servers.
pub(crate) fn calls(cx: &Context, found: Vec<TextCall>) -> Vec<Call> {
    let place = cx.items.last().map_or(0, |item| item.id.0);
    let call = |(n, call): (usize, TextCall)| Call {
        id: format!("call_text_{place}_{n}").into(),
        namespace: None,
        name: call.name,
        args: call.args,
        form: CallForm::InText,
    };
    found.into_iter().enumerate().map(call).collect()
}

/// The text without the calls and their frames, trimmed.
pub(crate) fn without(text: &str, calls: &[TextCall]) -> String {
    let mut rest = String::new();
    let mut from = 0;
    for call in calls {
        rest.push_str(text.get(from..call.at.start).unwrap_or(""));
        from = call.at.end;
    }
    rest.push_str(text.get(from..).unwrap_or(""));
    for marker in KIMI_SECTION {
        rest = rest.replace(marker, "");
    }
    rest.trim().to_owned()
}

/// Where the next call begins. A marker that text merely speaks of is none: one in a code fence, in the middle of a line, or
/// with something else behind it than a call.
fn begin(text: &str, from: usize, open: &str, between: Between) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find(open)?;
        let before = &text[..at];
        let after = text[at + open.len()..].trim_start();
        let fences = before.lines().filter(|line| line.trim_start().starts_with("```")).count();
        let line = before.rsplit('\n').next().unwrap_or("").trim();
        let begins = match between {
            Between::Object => after.starts_with('{') && (line.is_empty() || line.ends_with("</tool_call>")),
            Between::NameThenArguments => after.contains(KIMI_ARGUMENTS) && !line.ends_with('`'),
        };
        if begins && fences % 2 == 0 {
            return Some(at);
        }
        at += open.len();
    }
}

fn marked(text: &str, open: &str, close: &str, between: Between, offered: &[&str]) -> InText {
    let mut calls = Vec::new();
    let mut from = 0;
    while let Some(start) = begin(text, from, open, between) {
        let inner = start + open.len();
        let Some(length) = text.get(inner..).and_then(|rest| rest.find(close)) else {
            return InText::Unreadable(format!("`{open}` without `{close}`"));
        };
        let end = inner + length + close.len();
        let inside = text.get(inner..inner + length).unwrap_or("");
        let read = match between {
            Between::Object => named_object(inside),
            Between::NameThenArguments => name_then_arguments(inside),
        };
        let (name, args) = match read {
            Ok(read) => read,
            Err(why) => return InText::Unreadable(why),
        };
        let Some(meant) = names::meant(&name, offered.iter().copied()) else {
            return InText::Unreadable(format!("there is no tool named `{name}`"));
        };
        calls.push(TextCall { name: meant.to_owned(), mended: meant != name, args, at: start..end });
        from = end;
    }
    InText::Calls(calls)
}

/// A reply that is nothing but one object, and names a tool exactly: without markers there is no room for doubt.
fn alone(text: &str, offered: &[&str]) -> Option<TextCall> {
    let body = text.trim();
    let body = match body.strip_prefix("```") {
        Some(fenced) => {
            let (info, rest) = fenced.split_once('\n')?;
            let rest = rest.strip_suffix("```")?.trim();
            matches!(info.trim(), "" | "json" | "tool_call").then_some(rest)?
        }
        None => body,
    };
    if !body.starts_with('{') {
        return None;
    }
    let (name, args) = named_object(body).ok()?;
    offered.contains(&name.as_str()).then_some(TextCall { name, args, at: 0..text.len(), mended: false })
}

fn named_object(text: &str) -> Result<(String, String), String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named<'a> {
        name: String,
        #[serde(borrow, alias = "parameters")]
        arguments: &'a RawValue,
        #[serde(default, rename = "id")]
        _id: Option<serde::de::IgnoredAny>,
        #[serde(default, rename = "type")]
        _type: Option<serde::de::IgnoredAny>,
    }
    let named: Named = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    Ok((named.name, arguments(named.arguments.get())?))
}

fn name_then_arguments(text: &str) -> Result<(String, String), String> {
    let (head, tail) = text.split_once(KIMI_ARGUMENTS).ok_or_else(|| format!("no `{KIMI_ARGUMENTS}`"))?;
    let head = head.trim();
    let name = head.strip_prefix("functions.").unwrap_or(head);
    let name = match name.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    };
    Ok((name.to_owned(), arguments(tail.trim())?))
}

fn arguments(text: &str) -> Result<String, String> {
    args::object(text)?;
    Ok(args::normal(text).into_owned())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const OFFERED: [&str; 2] = ["exec_command", "apply_patch"];

    fn check(text: &str, expected: &[(&str, &str)], rest: &str) {
        match find(text, &OFFERED) {
            InText::Calls(calls) => {
                let found: Vec<(&str, &str)> = calls.iter().map(|c| (c.name.as_str(), c.args.as_str())).collect();
                assert_eq!((found.as_slice(), without(text, &calls).as_str()), (expected, rest), "{text}");
            }
            other => assert_eq!((expected, format!("{other:?}")), (&[][..], format!("{:?}", InText::None)), "{text}"),
        }
    }

    #[test]
    fn known_forms_are_found() {
        check(
            "I look.\n<tool_call>\n{\"name\": \"exec_command\", \"arguments\": {\"cmd\": \"ls\"}}\n</tool_call>",
            &[("exec_command", r#"{"cmd": "ls"}"#)],
            "I look.",
        );
        check(
            "<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"a\"}}</tool_call>\n<tool_call>{\"name\":\"Exec_command\",\"arguments\":\"{\\\"cmd\\\":\\\"b\\\"}\"}</tool_call>",
            &[("exec_command", r#"{"cmd":"a"}"#), ("exec_command", r#"{"cmd":"b"}"#)],
            "",
        );
        check(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{\"cmd\":\"ls\"}<|tool_call_end|><|tool_calls_section_end|>",
            &[("exec_command", r#"{"cmd":"ls"}"#)],
            "",
        );
        check(r#"{"name":"exec_command","arguments":{"cmd":"ls"}}"#, &[("exec_command", r#"{"cmd":"ls"}"#)], "");
        check(
            "```json\n{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"ls\"}}\n```",
            &[("exec_command", r#"{"cmd":"ls"}"#)],
            "",
        );
    }

    #[test]
    fn text_about_calls_is_text() {
        check("Done. See {\"name\":\"exec_command\",\"arguments\":{}}", &[], "");
        check(r#"{"name":"left-pad","arguments":{}}"#, &[], "");
        check(r#"{"name":"exec_command","version":"1.0","arguments":{}}"#, &[], "");
        check("```json\n{\"name\":\"exec_command\"}\n```", &[], "");
        check("", &[], "");
        check("Hermes writes `<tool_call>` and `</tool_call>` around a call.", &[], "");
        check("Kimi begins a call with `<|tool_call_begin|>`.", &[], "");
        let example = r#"<tool_call>{"name":"exec_command","arguments":{"cmd":"ls"}}</tool_call>"#;
        check(&format!("Like this: {example}"), &[], "");
        check(&format!("Like this:\n```\n{example}\n```"), &[], "");
    }

    #[test]
    fn markup_that_cannot_be_read_is_never_run() {
        for text in [
            "<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"rm -rf",
            "<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"rm</tool_call>",
            "<tool_call>{\"name\":\"delete_all\",\"arguments\":{}}</tool_call>",
            "<|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{\"cmd\":\"ls<|tool_call_end|>",
            "<|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{\"cmd\":\"ls\"}",
        ] {
            assert!(matches!(find(text, &OFFERED), InText::Unreadable(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(
            pieces in prop::collection::vec(prop_oneof![
                Just("<tool_call>".to_owned()), Just("</tool_call>".to_owned()), Just("<|tool_call_begin|>".to_owned()),
                Just("<|tool_call_end|>".to_owned()), Just(KIMI_ARGUMENTS.to_owned()), Just("```".to_owned()),
                Just(r#"{"name":"exec_command","arguments":{}}"#.to_owned()), "\\PC{0,8}",
            ], 0..8)
        ) {
            let text = pieces.concat();
            if let InText::Calls(calls) = find(&text, &OFFERED) {
                let _ = without(&text, &calls);
            }
        }
    }
}
