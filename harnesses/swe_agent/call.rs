//! Reads a reply: exactly one call (or command), of a known tool, with all its arguments and no others, and none that the
//! environment cannot take. All else is asked for again, with the reason.
use protocol::{Call, CallForm, Reply};
use serde_json::{Map, Value};

use super::{Form, classic, editor, text, tools};
use crate::in_text::{self, InText};
use crate::{Context, args, names};

/// A call, understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Bash(String),
    Edit(editor::Edit),
    Classic(classic::Command),
    Submit,
    /// Of an MCP server or the client.
    Outside,
}

/// Why a reply cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misread {
    Missing,
    Multiple,
    Unexpected(String),
    /// The message, with its full stop.
    Invalid(String),
    Blocked(String),
    /// No command in a reply of the text form.
    NoCommand,
}

impl Misread {
    /// What the model is told.
    pub(super) fn text(&self) -> String {
        match self {
            Misread::Missing => include_str!("missing.md").to_owned(),
            Misread::Multiple => "Your last output had more than one tool call.\nEach output needs a thought and exactly ONE tool call, so none of them was run.\n".to_owned(),
            Misread::Unexpected(names) => format!(
                "Your action could not be parsed properly: Unexpected argument(s): {names}.\nCall the tool with the arguments of its schema only.\n"
            ),
            Misread::Invalid(message) => format!("Your action could not be parsed properly: {message}.\n"),
            Misread::Blocked(action) => format!("Operation '{action}' is not supported by this environment."),
            Misread::NoCommand => include_str!("no_command.md").to_owned(),
        }
    }
}

/// The one call of a reply.
pub(super) fn read(cx: &Context, reply: &Reply) -> Result<Call, Misread> {
    let said = reply.text();
    if Form::of(cx) == Form::Text {
        let action = text::action(&said).ok_or(Misread::NoCommand)?;
        let place = cx.items.last().map_or(0, |item| item.id.0);
        let id = format!("action_{place}").into();
        let call =
            Call { id, namespace: None, name: text::name(action), args: action.to_owned(), form: CallForm::InText };
        return parse(cx, &call).map(|_| call);
    }
    let mut calls: Vec<Call> = reply.calls().cloned().collect();
    if calls.is_empty() {
        calls = match in_text::find(&said, &tools::names(Form::of(cx))) {
            InText::Calls(found) => in_text::calls(cx, found, |name| in_text::schema_in(&tools::offered(cx), name)),
            InText::None | InText::Unreadable(_) => return Err(Misread::Missing),
        };
    }
    match calls.as_slice() {
        [] => Err(Misread::Missing),
        [call] => parse(cx, call).map(|_| call.clone()),
        _ => Err(Misread::Multiple),
    }
}

pub(super) fn parse(cx: &Context, call: &Call) -> Result<Input, Misread> {
    let form = Form::of(cx);
    if form == Form::Text && call.form == CallForm::InText {
        return match text::command(&call.args) {
            Some(Input::Bash(script)) => unblocked(script).map(Input::Bash),
            Some(input) => Ok(input),
            None => Err(Misread::NoCommand),
        };
    }
    let Some(tool) = tools::meant(form, &call.name) else {
        let offered = cx.extra_tools.iter().map(|tool| tool.name.as_str());
        return match names::meant(&call.name, offered) {
            Some(_) if args::object(&call.args).is_ok() => Ok(Input::Outside),
            Some(_) => Err(not_json()),
            None => Err(Misread::Invalid(format!("Command '{}' not found in list of available commands.", call.name))),
        };
    };
    let args = args::object(&call.args).map_err(|_| not_json())?;
    let missing: Vec<&str> = tool.required.iter().copied().filter(|name| !args.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(Misread::Invalid(format!("Required argument(s) missing: {}", missing.join(", "))));
    }
    let known = |name: &str| tool.required.contains(&name) || tool.optional.contains(&name);
    let unexpected: Vec<&str> = args.keys().map(String::as_str).filter(|name| !known(name)).collect();
    if !unexpected.is_empty() {
        return Err(Misread::Unexpected(unexpected.join(", ")));
    }
    match tool.name {
        "bash" => unblocked(word(&args, "command").unwrap_or_default()).map(Input::Bash),
        "submit" => Ok(Input::Submit),
        "str_replace_editor" => Ok(Input::Edit(editor::Edit::of(&args))),
        _ => classic::Command::of(tool.name, &args).map(Input::Classic).ok_or_else(|| {
            Misread::Invalid(format!("Command '{}' not found in list of available commands.", call.name))
        }),
    }
}

fn not_json() -> Misread {
    Misread::Invalid("Tool call arguments are not valid JSON.".to_owned())
}

/// `exit`, alone: the model ends the run.
pub(super) fn is_exit(cx: &Context, call: &Call) -> bool {
    matches!(parse(cx, call), Ok(Input::Bash(script)) if script.trim() == "exit")
}

/// An argument as a word of the command line that the original makes of a call.
pub(super) fn word(args: &Map<String, Value>, name: &str) -> Option<String> {
    match args.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

/// A whole number, also as text.
pub(super) fn number(args: &Map<String, Value>, name: &str) -> Option<Result<i64, String>> {
    let word = word(args, name)?;
    Some(word.trim().parse().map_err(|_| word))
}

/// Prefixes of the text, not of its first word: `makedirs` is refused too, as in the original.
const BLOCKED: [&str; 10] = ["vim", "vi", "emacs", "nano", "nohup", "gdb", "less", "tail -f", "python -m venv", "make"];
const BLOCKED_ALONE: [&str; 13] =
    ["python", "python3", "ipython", "bash", "sh", "/bin/bash", "/bin/sh", "nohup", "vi", "vim", "emacs", "nano", "su"];
/// Not without `-c`.
const BLOCKED_UNLESS: [&str; 2] = ["radare2", "r2"];

fn unblocked(script: String) -> Result<String, Misread> {
    let action = script.trim();
    let first = action.split_whitespace().next().unwrap_or_default();
    let blocked = BLOCKED.iter().any(|prefix| action.starts_with(prefix))
        || BLOCKED_ALONE.contains(&action)
        || BLOCKED_UNLESS.contains(&first) && !action.split_whitespace().any(|word| word == "-c");
    if blocked { Err(Misread::Blocked(action.to_owned())) } else { Ok(script) }
}
