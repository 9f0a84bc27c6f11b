//! Finds calls that stand in the text of a reply because the server did not parse them (or the model never learnt to make
//! them otherwise). Only forms that can be nothing else are known: the markup of models' own templates, and a reply that is
//! one JSON object naming an offered tool, fenced or bare. Markup that cannot be read is reported, never run.
mod harmony;
mod json;
mod markers;
mod tags;

use std::ops::Range;

use protocol::{Body, Call, CallForm, Entry, Part, Tool, ToolKind};
use serde_json::{Map, Value};

use crate::{Context, names};

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
    pub(crate) args: Written,
    /// Where its markup stands in the text, in bytes.
    pub(crate) at: Range<usize>,
    /// The name had to be mended.
    pub(crate) mended: bool,
}

/// Arguments as they were written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    /// A JSON object.
    Json(String),
    /// Names and values. What a value that is no text means, the tool's schema says.
    Pairs(Vec<(String, Value)>),
}

/// A call as a form reads it: the name not yet compared with those offered.
struct Found {
    name: String,
    args: Written,
    at: Range<usize>,
}

/// One way of writing calls: the next one at or behind a byte, or a list of them. Err: it is there and cannot be read.
type Form = fn(&str, usize) -> Next;
type Next = Option<Result<Vec<Found>, String>>;

/// The first that is found in a text counts for all of it.
const FORMS: [Form; 8] = [
    tags::function,
    tags::invoke,
    tags::glm,
    json::hermes,
    markers::kimi,
    markers::deepseek,
    markers::mistral,
    harmony::commentary,
];

/// All calls in `text`, in order. `offered`: the names of the tools that the model may call.
pub(crate) fn find(text: &str, offered: &[&str]) -> InText {
    for form in FORMS {
        let mut calls: Vec<TextCall> = Vec::new();
        while let Some(found) = form(text, calls.last().map_or(0, |call| call.at.end)) {
            let found = found
                .and_then(|found| found.into_iter().map(|found| found.meant(offered)).collect::<Result<Vec<_>, _>>());
            match found {
                Ok(found) => calls.extend(found),
                Err(why) => return InText::Unreadable(why),
            }
        }
        if !calls.is_empty() {
            return InText::Calls(calls);
        }
    }
    let alone = json::alone(text, offered);
    if alone.is_empty() { InText::None } else { InText::Calls(alone) }
}

/// What was found in the newest reply, as calls. Their ids come of the reply's place in the thread: the server's own id of it
/// is the same for all replies of some servers. `schema`: of the tool with this name, asked for where values have no types.
pub(crate) fn calls(cx: &Context, found: Vec<TextCall>, schema: impl Fn(&str) -> Value) -> Vec<Call> {
    let place = cx.items.last().map_or(0, |item| item.id.0);
    let call = |(n, call): (usize, TextCall)| Call {
        id: format!("call_text_{place}_{n}").into(),
        namespace: None,
        args: call.args.json(|| schema(&call.name)),
        name: call.name,
        form: CallForm::InText,
    };
    found.into_iter().enumerate().map(call).collect()
}

/// What the text of a reply without calls comes to.
pub(crate) enum Heard {
    /// Text.
    Text,
    Calls(Vec<Call>),
    /// This is to be said, in the dialect's way: a call was there, and could not be read.
    Ask(String),
    /// It was said before.
    GaveUp(String),
}

/// How the text of the newest reply is taken by dialects without words of their own for it. Parameters as of [`find`] and [`calls`].
pub(crate) fn hear(cx: &Context, text: &str, offered: &[&str], schema: impl Fn(&str) -> Value) -> Heard {
    match find(text, offered) {
        InText::None => Heard::Text,
        InText::Calls(found) => Heard::Calls(calls(cx, found, schema)),
        InText::Unreadable(why) if last_said(cx, UNREADABLE) => Heard::GaveUp(format!(
            "{} writes tool calls as text that cannot be read ({why}); the server does not parse them: switch on its tool-call parser, or choose another harness",
            cx.model.slug
        )),
        InText::Unreadable(why) => {
            Heard::Ask(format!("{UNREADABLE} ({why}). Call the tool through the interface for tool calls."))
        }
    }
}

const UNREADABLE: &str = "A tool call stood in the text of your message and could not be read";

/// The harness has said this last.
pub(crate) fn last_said(cx: &Context, text: &str) -> bool {
    let told = matches!(cx.said.last(), Some(Entry::User(content)) if content.text().contains(text));
    told || cx.items.iter().rev().take(3).any(|item| match &item.body {
        Body::User { parts, .. } => parts.iter().filter_map(Part::as_text).any(|said| said.contains(text)),
        _ => false,
    })
}

/// The schema of one of these tools.
pub(crate) fn schema_in(tools: &[Tool], name: &str) -> Value {
    let tool = tools.iter().find(|tool| tool.name == name);
    match tool.map(|tool| &tool.kind) {
        Some(ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. }) => {
            serde_json::from_str(schema.text()).unwrap_or_default()
        }
        Some(ToolKind::Server { .. }) | None => Value::Null,
    }
}

impl Written {
    /// As one JSON object.
    fn json(self, schema: impl FnOnce() -> Value) -> String {
        match self {
            Written::Json(text) => text,
            Written::Pairs(pairs) => {
                let schema = schema();
                let typed = |(key, value): (String, Value)| {
                    let value = typed(&schema["properties"][&key], value);
                    (key, value)
                };
                Value::Object(pairs.into_iter().map(typed).collect::<Map<_, _>>()).to_string()
            }
        }
    }
}

/// Values are plain text; only where the schema wants something else they are read as JSON.
fn typed(schema: &Value, value: Value) -> Value {
    let text = match (&value, schema["type"].as_str()) {
        (Value::String(text), Some(wanted)) if wanted != "string" => text.trim(),
        _ => return value,
    };
    serde_json::from_str(text).unwrap_or(value)
}

impl Found {
    fn meant(self, offered: &[&str]) -> Result<TextCall, String> {
        let Found { name, args, at } = self;
        let meant = names::meant(&name, offered.iter().copied());
        let meant = meant.ok_or_else(|| format!("there is no tool named `{name}`"))?;
        Ok(TextCall { mended: meant != name, name: meant.to_owned(), args, at })
    }
}

/// Markers around calls and behind them, which go with the calls.
const FRAMES: [&str; 18] = [
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜end▁of▁sentence｜>",
    "<｜DSML｜function_calls>",
    "</｜DSML｜function_calls>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<|im_end|>",
    "<|call|>",
    "<|end|>",
    "[/TOOL_CALLS]",
    "<|channel|>analysis<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant",
];

/// The text without the calls and their frames, trimmed.
pub(crate) fn without(text: &str, calls: &[TextCall]) -> String {
    let mut rest = String::new();
    let mut from = 0;
    for call in calls {
        rest.push_str(text.get(from..call.at.start).unwrap_or(""));
        from = call.at.end;
    }
    rest.push_str(text.get(from..).unwrap_or(""));
    for frame in FRAMES {
        rest = rest.replace(frame, "");
    }
    rest.trim().to_owned()
}

/// The next place at or behind `from` where `open` stands and is not merely spoken of: not in a code fence, and alone at the
/// beginning of its line, but for what ends with one of `before` (the end of a call before it, a frame).
fn begins(text: &str, from: usize, open: &str, before: &[&str]) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find(open)?;
        let line = text[..at].rsplit('\n').next().unwrap_or("").trim();
        let first = line.is_empty() || before.iter().any(|end| line.ends_with(end));
        if first && !fenced(text, at) {
            return Some(at);
        }
        at += open.len();
    }
}

/// Within a code fence.
fn fenced(text: &str, at: usize) -> bool {
    text[..at].lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use protocol::Raw;

    use super::*;

    const OFFERED: [&str; 2] = ["exec_command", "apply_patch"];

    fn tools() -> Vec<Tool> {
        let schema = r#"{"type":"object","properties":{"cmd":{"type":"string"},"wait":{"type":"number"},
            "list":{"type":"array"},"tty":{"type":"boolean"}}}"#;
        OFFERED
            .map(|name| Tool {
                namespace: None,
                name: name.to_owned(),
                description: String::new(),
                kind: ToolKind::Function(Raw::parse(schema).unwrap()),
                strict: None,
                deferred: false,
            })
            .to_vec()
    }

    fn args(call: &TextCall) -> String {
        call.args.clone().json(|| schema_in(&tools(), &call.name))
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)], rest: &str) {
        match find(text, &OFFERED) {
            InText::Calls(calls) => {
                let found: Vec<(&str, String)> = calls.iter().map(|call| (call.name.as_str(), args(call))).collect();
                let found: Vec<(&str, &str)> = found.iter().map(|(name, args)| (*name, args.as_str())).collect();
                assert_eq!((found.as_slice(), without(text, &calls).as_str()), (expected, rest), "{text}");
            }
            other => assert_eq!((expected, format!("{other:?}")), (&[][..], format!("{:?}", InText::None)), "{text}"),
        }
    }

    const LS: (&str, &str) = ("exec_command", r#"{"cmd":"ls"}"#);

    #[test]
    fn hermes() {
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
        let tag_in_text = r#"{"name":"exec_command","arguments":{"cmd":"echo '</tool_call>'"}}"#;
        check(
            &format!("<tool_call>{tag_in_text}</tool_call>"),
            &[("exec_command", r#"{"cmd":"echo '</tool_call>'"}"#)],
            "",
        );
    }

    #[test]
    fn hermes_without_its_opening_tag() {
        check("I look.\n{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"ls\"}}\n</tool_call>", &[LS], "I look.");
        check(
            "{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"ls\"}}\n</tool_call>\n<tool_call>\n{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"ls\"}}\n</tool_call>",
            &[LS, LS],
            "",
        );
    }

    #[test]
    fn kimi() {
        let call =
            r#"<|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{"cmd":"ls"}<|tool_call_end|>"#;
        check(&format!("<|tool_calls_section_begin|>{call}<|tool_calls_section_end|>"), &[LS], "");
        check(&format!("I look.{call}{call}"), &[LS, LS], "I look.");
    }

    #[test]
    fn deepseek() {
        let older = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>exec_command\n```json\n{\"cmd\":\"ls\"}\n```<｜tool▁call▁end｜>";
        check(
            &format!("I look.<｜tool▁calls▁begin｜>{older}\n{older}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"),
            &[LS, LS],
            "I look.",
        );
        let newer = "<｜tool▁call▁begin｜>exec_command<｜tool▁sep｜>{\"cmd\":\"ls\"}<｜tool▁call▁end｜>";
        check(&format!("<｜tool▁calls▁begin｜>{newer}<｜tool▁calls▁end｜>"), &[LS], "");
        check(
            "I look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"exec_command\">\n<｜DSML｜parameter name=\"cmd\" string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"wait\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            &[("exec_command", r#"{"cmd":"12","wait":5}"#)],
            "I look.",
        );
    }

    #[test]
    fn mistral() {
        check(
            r#"[TOOL_CALLS][{"name":"exec_command","arguments":{"cmd":"ls"}},{"name":"exec_command","arguments":{"cmd":"ls"}}]"#,
            &[LS, LS],
            "",
        );
        check(
            r#"I look.[TOOL_CALLS]exec_command[ARGS]{"cmd":"ls"}[TOOL_CALLS]exec_command[CALL_ID]abc123def[ARGS]{"cmd":"ls"}"#,
            &[LS, LS],
            "I look.",
        );
        check(r#"[TOOL_CALLS]exec_command{"cmd":"ls"}</s>"#, &[LS], "</s>");
    }

    #[test]
    fn qwen_coder() {
        let call = "<function=exec_command>\n<parameter=cmd>\nls\n</parameter>\n</function>";
        check(&format!("I look.\n<tool_call>\n{call}\n</tool_call>"), &[LS], "I look.");
        check(&format!("I look.\n{call}\n</tool_call>\n{call}"), &[LS, LS], "I look.");
        check(
            "<function=Exec_command><parameter=cmd>a\n<b>\n</parameter><parameter=wait>5</parameter><parameter=tty> true </parameter>\n<parameter=list>[1]</parameter></function>",
            &[("exec_command", r#"{"cmd":"a\n<b>","wait":5,"tty":true,"list":[1]}"#)],
            "",
        );
        check("<function=exec_command></function>", &[("exec_command", "{}")], "");
    }

    #[test]
    fn glm() {
        check(
            "I look.\n<tool_call>exec_command\n<arg_key>cmd</arg_key>\n<arg_value>ls</arg_value>\n<arg_key>wait</arg_key>\n<arg_value>5</arg_value>\n</tool_call>",
            &[("exec_command", r#"{"cmd":"ls","wait":5}"#)],
            "I look.",
        );
        check("<tool_call>exec_command</tool_call>", &[("exec_command", "{}")], "");
    }

    #[test]
    fn invoke() {
        check(
            "<minimax:tool_call>\n<invoke name=\"exec_command\">\n<parameter name=\"cmd\">ls</parameter>\n</invoke>\n</minimax:tool_call>",
            &[LS],
            "",
        );
        check(
            "I look.\n<function_calls>\n<invoke name=\"exec_command\">\n<parameter name=\"cmd\">ls</parameter>\n</invoke>\n<invoke name=\"exec_command\">\n<parameter name=\"cmd\">ls</parameter>\n</invoke>\n</function_calls>",
            &[LS, LS],
            "I look.",
        );
    }

    #[test]
    fn harmony() {
        check(
            "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.exec_command <|constrain|>json<|message|>{\"cmd\":\"ls\"}<|call|>",
            &[LS],
            "I look.",
        );
        check(
            "<|start|>assistant to=functions.exec_command<|channel|>commentary json<|message|>{\"cmd\":\"ls\"}",
            &[LS],
            "",
        );
        check("I look.\nassistantcommentary to=functions.exec_command json{\"cmd\":\"ls\"}", &[LS], "I look.");
        check("commentary to=functions.exec_command code<|message|>{\"cmd\":\"ls\"}<|call|>", &[LS], "");
    }

    #[test]
    fn alone() {
        check(r#"{"name":"exec_command","arguments":{"cmd":"ls"}}"#, &[LS], "");
        check("```json\n{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"ls\"}}\n```", &[LS], "");
        check(r#"<|python_tag|>{"name":"exec_command","parameters":{"cmd":"ls"}}"#, &[LS], "");
        check(
            r#"[{"name":"exec_command","arguments":{"cmd":"ls"}},{"name":"exec_command","arguments":{"cmd":"ls"}}]"#,
            &[LS, LS],
            "",
        );
    }

    #[test]
    fn text_about_calls_is_text() {
        for text in [
            "",
            "Done. See {\"name\":\"exec_command\",\"arguments\":{}}",
            r#"{"name":"left-pad","arguments":{}}"#,
            r#"{"name":"exec_command","version":"1.0","arguments":{}}"#,
            r#"[{"name":"exec_command","arguments":{}},{"name":"left-pad","arguments":{}}]"#,
            "[]",
            "```json\n{\"name\":\"exec_command\"}\n```",
            "Hermes writes `<tool_call>` and `</tool_call>` around a call.",
            "Kimi begins a call with `<|tool_call_begin|>`.",
            "Mistral begins with `[TOOL_CALLS]`.",
            "Qwen writes `<function=exec_command>` and so on.",
            "DeepSeek: `<｜tool▁call▁begin｜>`.",
            "A harmony call goes `to=functions.exec_command`.",
            "It goes to=functions.exec_command {}",
        ] {
            check(text, &[], "");
        }
        for example in [
            r#"<tool_call>{"name":"exec_command","arguments":{"cmd":"ls"}}</tool_call>"#,
            "<function=exec_command>\n<parameter=cmd>\nls\n</parameter>\n</function>",
            "<invoke name=\"exec_command\">\n</invoke>",
            "<tool_call>exec_command</tool_call>",
            r#"[TOOL_CALLS]exec_command[ARGS]{"cmd":"ls"}"#,
            "commentary to=functions.exec_command json{}",
        ] {
            check(&format!("So:\n```\n{example}\n```"), &[], "");
            if !example.starts_with('[') {
                check(&format!("So: {example}"), &[], "");
            }
        }
    }

    #[test]
    fn markup_that_cannot_be_read_is_never_run() {
        for text in [
            "<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"rm -rf",
            "<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"rm</tool_call>",
            "<tool_call>{\"name\":\"delete_all\",\"arguments\":{}}</tool_call>",
            "<tool_call>{\"name\":\"exec_command\",\"arguments\":{}}",
            "<|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{\"cmd\":\"ls<|tool_call_end|>",
            "<|tool_call_begin|>functions.exec_command:0<|tool_call_argument_begin|>{\"cmd\":\"ls\"}",
            "<｜tool▁call▁begin｜>exec_command<｜tool▁sep｜>{\"cmd\":\"rm",
            "<｜DSML｜invoke name=\"exec_command\">\n<｜DSML｜parameter name=\"cmd\" string=\"true\">rm",
            "[TOOL_CALLS]exec_command[ARGS]{\"cmd\":\"rm",
            "[TOOL_CALLS][{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"rm",
            "<function=exec_command>\n<parameter=cmd>\nrm -rf",
            "<function=exec_command>\n<parameter=cmd>\nrm -rf\n</parameter>",
            "<function=delete_all></function>",
            "<function=exec_command>\n<parameter=cmd>\na</parameter>b</parameter>\n</function>",
            "<tool_call>exec_command\n<arg_key>cmd</arg_key>\n<arg_value>rm",
            "<invoke name=\"exec_command\"><parameter name=\"cmd\">rm",
            "<|channel|>commentary to=functions.exec_command <|constrain|>json<|message|>{\"cmd\":\"rm",
        ] {
            assert!(matches!(find(text, &OFFERED), InText::Unreadable(_)), "{text}: {:?}", find(text, &OFFERED));
        }
    }

    /// Each whole call of ours, cut at every byte: never another call, only the whole one.
    #[test]
    fn a_call_that_was_cut_is_not_run() {
        for text in [
            r#"<tool_call>{"name":"exec_command","arguments":{"cmd":"ls"}}</tool_call>"#,
            "<tool_call>\n<function=exec_command>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>",
            "<function_calls><invoke name=\"exec_command\"><parameter name=\"cmd\">ls</parameter></invoke></function_calls>",
            "<tool_call>exec_command\n<arg_key>cmd</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
            "<｜tool▁call▁begin｜>exec_command<｜tool▁sep｜>{\"cmd\":\"ls\"}<｜tool▁call▁end｜>",
            r#"[TOOL_CALLS]exec_command[ARGS]{"cmd":"ls"}"#,
            "<|channel|>commentary to=functions.exec_command <|constrain|>json<|message|>{\"cmd\":\"ls\"}<|call|>",
        ] {
            assert!(matches!(find(text, &OFFERED), InText::Calls(_)), "{text}");
            for (at, _) in text.char_indices() {
                if let InText::Calls(calls) = find(&text[..at], &OFFERED) {
                    let found: Vec<String> = calls.iter().map(args).collect();
                    assert_eq!(found, [r#"{"cmd":"ls"}"#], "{}", &text[..at]);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(
            pieces in prop::collection::vec(prop_oneof![
                prop::sample::select(vec![
                    "<tool_call>", "</tool_call>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>",
                    "```", "\n", r#"{"name":"exec_command","arguments":{}}"#, "<function=exec_command>", "</function>",
                    "<parameter=cmd>", "</parameter>", "<invoke name=\"exec_command\">", "</invoke>",
                    "<parameter name=\"cmd\">", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>",
                    "[TOOL_CALLS]", "[ARGS]", "[", "]", "exec_command", "<arg_key>", "</arg_key>", "<arg_value>",
                    "</arg_value>", "<|channel|>", "commentary to=functions.exec_command", "<|message|>", "{\"cmd\":\"ls\"}",
                    "<|call|>",
                ]).prop_map(str::to_owned),
                "\\PC{0,8}",
            ], 0..10)
        ) {
            let text = pieces.concat();
            if let InText::Calls(calls) = find(&text, &OFFERED) {
                let _ = without(&text, &calls);
                prop_assert!(calls.windows(2).all(|two| two[0].at.end <= two[1].at.start));
                prop_assert!(calls.iter().all(|call| text.get(call.at.clone()).is_some()));
            }
        }
    }
}
