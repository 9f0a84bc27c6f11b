//! Arguments of calls, read as strictly as the original does: nothing is converted, unknown keys are passed over, and the first
//! thing that is wrong is named in the words of its schema library. What cannot be called at all becomes a call of `invalid`.
use protocol::{Call, PlanStatus};
use serde_json::{Map, Value, json};

use super::{json_error, tools};
use crate::Context;

/// A call that can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Bash {
        command: String,
        timeout: Option<u64>,
        workdir: Option<String>,
    },
    Edit {
        path: String,
        old: String,
        new: String,
        all: bool,
    },
    Glob {
        pattern: String,
        path: Option<String>,
    },
    Grep {
        pattern: String,
        path: Option<String>,
        include: Option<String>,
    },
    Patch(String),
    Read {
        path: String,
        offset: Option<u64>,
        limit: Option<u64>,
    },
    Skill(String),
    Task {
        description: String,
        prompt: String,
        kind: String,
        resume: Option<String>,
    },
    Todos(Vec<Todo>),
    Fetch {
        url: String,
        format: Format,
    },
    Write {
        path: String,
        content: String,
    },
    /// The hidden tool that receives bad calls; models see it in history and may call it.
    Invalid(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Todo {
    pub(super) content: String,
    pub(super) status: String,
    pub(super) priority: String,
}

impl Todo {
    /// Any other word counts as pending, a cancelled step as done with.
    pub(super) fn plan_status(&self) -> PlanStatus {
        match self.status.as_str() {
            "in_progress" => PlanStatus::InProgress,
            "completed" | "cancelled" => PlanStatus::Completed,
            _ => PlanStatus::Pending,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Markdown,
    Text,
    Html,
}

/// Why a call cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bad {
    /// The arguments break the schema: the whole answer.
    Schema(String),
    /// No such tool, or no JSON: history shows a call of `invalid` with this error.
    Uncallable(String),
}

/// The name under which a call runs: any case of an offered name means that tool.
pub(super) fn name(cx: &Context, call: &Call) -> Option<&'static str> {
    let offered = tools::names(cx);
    let known = |written: &str| offered.iter().copied().find(|name| *name == written);
    known(&call.name).or_else(|| known(&call.name.to_lowercase()))
}

pub(super) fn parse(cx: &Context, call: &Call) -> Result<Input, Bad> {
    let name = match name(cx, call) {
        Some(name) => name,
        None if call.name == INVALID => INVALID,
        None => return Err(Bad::Uncallable(unavailable(cx, &call.name))),
    };
    let value = value(&call.args).map_err(|why| {
        let text = &call.args;
        let head = format!("Invalid input for tool {name}: JSON parsing failed");
        Bad::Uncallable(format!("{head}: Text: {text}.\nError message: {why}"))
    })?;
    input(name, value).map_err(|reason| {
        Bad::Schema(format!(
            "The {name} tool was called with invalid arguments: SchemaError({reason}).\nPlease rewrite the input so it satisfies the expected schema."
        ))
    })
}

pub(super) const INVALID: &str = "invalid";

/// A call as it goes back to the model.
pub(super) fn echo(cx: &Context, call: &Call) -> Call {
    if let Err(Bad::Uncallable(error)) = parse(cx, call) {
        let args = json!({"tool": call.name, "error": error}).to_string();
        return Call { name: INVALID.to_owned(), args, ..call.clone() };
    }
    let args = match value(&call.args) {
        Ok(value @ Value::Object(_)) => value.to_string(),
        Ok(other) => json!({"value": other}).to_string(),
        Err(_) => call.args.clone(),
    };
    Call { name: name(cx, call).unwrap_or(INVALID).to_owned(), args, ..call.clone() }
}

fn unavailable(cx: &Context, name: &str) -> String {
    let mut all: Vec<&str> = tools::names(cx);
    all.push(INVALID);
    all.extend(cx.extra_tools.iter().map(|tool| tool.name.as_str()));
    all.sort_unstable();
    format!("Model tried to call unavailable tool '{name}'. Available tools: {}.", all.join(", "))
}

fn value(args: &str) -> Result<Value, String> {
    if args.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(args).map_err(|_| json_error::message(args))
}

/// Err: the reason, with the place where it stands.
fn input(name: &str, value: Value) -> Result<Input, String> {
    let Value::Object(map) = &value else { return Err(format!("Expected object, got {value}")) };
    let at = Fields { map, place: String::new() };
    Ok(match name {
        "bash" => Input::Bash {
            command: at.text("command")?,
            timeout: at.whole("timeout", 1)?,
            workdir: at.maybe_text("workdir")?,
        },
        "edit" => Input::Edit {
            path: at.text("filePath")?,
            old: at.text("oldString")?,
            new: at.text("newString")?,
            all: at.flag("replaceAll")?,
        },
        "glob" => Input::Glob { pattern: at.text("pattern")?, path: at.maybe_text("path")? },
        "grep" => Input::Grep {
            pattern: at.text("pattern")?,
            path: at.maybe_text("path")?,
            include: at.maybe_text("include")?,
        },
        "apply_patch" => Input::Patch(at.text("patchText")?),
        "read" => {
            Input::Read { path: at.text("filePath")?, offset: at.whole("offset", 0)?, limit: at.whole("limit", 0)? }
        }
        "skill" => Input::Skill(at.text("name")?),
        "task" => {
            let (description, prompt) = (at.text("description")?, at.text("prompt")?);
            let (kind, resume) = (at.text("subagent_type")?, at.maybe_text("task_id")?);
            at.maybe_text("command")?;
            Input::Task { description, prompt, kind, resume: resume.filter(|id| !id.is_empty()) }
        }
        "todowrite" => Input::Todos(at.todos()?),
        "webfetch" => {
            let (url, format) = (at.text("url")?, at.format()?);
            at.number("timeout")?;
            Input::Fetch { url, format }
        }
        "write" => Input::Write { content: at.text("content")?, path: at.text("filePath")? },
        _ => Input::Invalid(at.maybe_text("error")?.unwrap_or_default()),
    })
}

/// One object of the arguments and where it stands: `["todos"][0]`.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: String,
}

impl Fields<'_> {
    fn wrong(&self, key: &str, expected: &str, got: &Value) -> String {
        self.bad(key, &format!("Expected {expected}, got {got}"))
    }

    fn bad(&self, key: &str, reason: &str) -> String {
        format!("{reason}\n  at {}[\"{key}\"]", self.place)
    }

    fn text(&self, key: &str) -> Result<String, String> {
        match self.map.get(key) {
            None => Err(self.bad(key, "Missing key")),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(self.wrong(key, "string", other)),
        }
    }

    fn maybe_text(&self, key: &str) -> Result<Option<String>, String> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(key, "string | undefined", other)),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.map.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, "boolean | undefined", other)),
        }
    }

    fn number(&self, key: &str) -> Result<Option<f64>, String> {
        match self.map.get(key) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(key, "number | undefined", value)),
            },
        }
    }

    fn whole(&self, key: &str, least: u64) -> Result<Option<u64>, String> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        let got = self.map.get(key).unwrap_or(&Value::Null);
        if number.fract() != 0.0 {
            return Err(self.wrong(key, "an integer", got));
        }
        if number < least as f64 {
            let expected = if least == 0 { "a value greater than or equal to 0" } else { "a value greater than 0" };
            return Err(self.wrong(key, expected, got));
        }
        Ok(Some(number as u64))
    }

    fn format(&self) -> Result<Format, String> {
        match self.map.get("format") {
            None => Ok(Format::Markdown),
            Some(Value::String(text)) if text == "markdown" => Ok(Format::Markdown),
            Some(Value::String(text)) if text == "text" => Ok(Format::Text),
            Some(Value::String(text)) if text == "html" => Ok(Format::Html),
            Some(other) => Err(self.wrong("format", r#""text" | "markdown" | "html""#, other)),
        }
    }

    fn todos(&self) -> Result<Vec<Todo>, String> {
        let list = match self.map.get("todos") {
            None => return Err(self.bad("todos", "Missing key")),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(self.wrong("todos", "array", other)),
        };
        let todo = |(n, item): (usize, &Value)| {
            let place = format!("[\"todos\"][{n}]");
            let Value::Object(map) = item else { return Err(format!("Expected object, got {item}\n  at {place}")) };
            let at = Fields { map, place };
            Ok(Todo { content: at.text("content")?, status: at.text("status")?, priority: at.text("priority")? })
        };
        list.iter().enumerate().map(todo).collect()
    }
}
