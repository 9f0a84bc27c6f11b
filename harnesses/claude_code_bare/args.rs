//! Arguments of the three tools: checked in the order and said in the words of Claude Code 2.1.332 (`--bare`), and the form in
//! which a call goes back into history. Measured by `tests/wire/claude-bare/validation.json`.
use serde_json::{Map, Value, json};

use super::renamed;
use super::schema::{self, Rules};
use super::tools;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    Bash(Bash),
    Edit(Edit),
    Read(Read),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bash {
    pub(crate) command: String,
    /// Milliseconds, as sent: not yet bounded.
    pub(crate) timeout: Option<f64>,
    pub(crate) description: Option<String>,
    /// The whole program's only; `--bare` has no such parameter.
    pub(crate) background: bool,
    pub(crate) unsandboxed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// As sent; answers name it so.
    pub(crate) path: String,
    pub(crate) old: String,
    /// Without blanks at the ends of its lines (see `tidy`).
    pub(crate) new: String,
    pub(crate) all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) path: String,
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
    pub(crate) pages: Option<String>,
    pub(crate) allow_large: bool,
}

/// The names offered, in order.
pub(crate) const TOOLS: [&str; 3] = ["Bash", "Edit", "Read"];

/// Tools that the original knows beside those it offers here; it says so when one is called. (Glob and Grep have hints of their own.)
pub(crate) const KNOWN: [&str; 29] = [
    "Agent",
    "AskUserQuestion",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillBash",
    "KillShell",
    "ListAgents",
    "Monitor",
    "NotebookEdit",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// A call's arguments, or what the model is told about them.
pub(crate) fn parse(tool: &str, args: &str) -> Result<Input, String> {
    if !TOOLS.contains(&tool) {
        return Err(wrap(&unknown(tool)));
    }
    let map = checked(tool, args)?;
    Ok(match tool {
        "Bash" => Input::Bash(Bash::of(&map)),
        "Edit" => Input::Edit(Edit::of(&map)),
        _ => Input::Read(Read::of(&map)),
    })
}

fn checked(tool: &str, args: &str) -> Result<Map<String, Value>, String> {
    schema::check(tool, &tools::schema(tool), Rules::Latest, args).map_err(|text| wrap(&text))
}

impl Bash {
    pub(crate) fn of(map: &Map<String, Value>) -> Bash {
        Bash {
            command: text(map, "command").unwrap_or_default(),
            timeout: map.get("timeout").and_then(Value::as_f64),
            description: text(map, "description"),
            background: flag(map, "run_in_background"),
            unsandboxed: flag(map, "dangerouslyDisableSandbox"),
        }
    }
}

impl Edit {
    pub(crate) fn of(map: &Map<String, Value>) -> Edit {
        let (path, old) = (text(map, "file_path").unwrap_or_default(), text(map, "old_string").unwrap_or_default());
        let new = tidy(&path, &old, &text(map, "new_string").unwrap_or_default());
        Edit { path, old, new, all: flag(map, "replace_all") }
    }
}

impl Read {
    pub(crate) fn of(map: &Map<String, Value>) -> Read {
        Read {
            path: text(map, "file_path").unwrap_or_default(),
            offset: whole(map, "offset", 0),
            limit: whole(map, "limit", 1),
            pages: text(map, "pages"),
            allow_large: flag(map, "allow_large"),
        }
    }
}

pub(crate) fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// What is below `least` counts as not given.
pub(crate) fn whole(map: &Map<String, Value>, key: &str, least: i64) -> Option<u64> {
    map.get(key).and_then(Value::as_f64).filter(|n| *n >= least as f64).map(|n| n as u64)
}

/// The arguments as they go back to the model: defaults and conversions written in, what could not be read kept as text.
pub(crate) fn echo(tool: &str, args: &str) -> String {
    let trimmed = args.trim();
    let sent = match serde_json::from_str::<Value>(if trimmed.is_empty() { "{}" } else { trimmed }) {
        Ok(Value::Null) => Value::Object(Map::new()),
        Ok(value @ Value::Object(_)) => value,
        // A list or a bare string is refused by Messages servers as the input of a call, so it goes back as text too.
        _ => return json!({"__unparsedToolInput": {"raw": args, "len": args.len()}}).to_string(),
    };
    let Ok(map) = checked(tool, args) else { return sent.to_string() };
    if !renamed::of(tool, args).is_empty() {
        return sent.to_string();
    }
    let pick = |keys: &[&str]| {
        let known = keys.iter().filter_map(|key| Some(((*key).to_owned(), map.get(*key)?.clone())));
        Value::Object(known.collect()).to_string()
    };
    match tool {
        "Bash" => pick(&["command", "description", "timeout", "dangerouslyDisableSandbox"]),
        "Edit" => match parse(tool, args) {
            Ok(Input::Edit(edit)) => json!({
                "replace_all": edit.all, "file_path": edit.path, "old_string": edit.old, "new_string": edit.new,
            })
            .to_string(),
            _ => sent.to_string(),
        },
        _ => Value::Object(map).to_string(),
    }
}

pub(crate) fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(part) {
        return None;
    }
    match text.parse::<i64>() {
        Ok(n) => Some(json!(n)),
        Err(_) => Some(json!(text.parse::<f64>().ok()?)),
    }
}

/// Blanks at line ends of a replacement are dropped, but in Markdown, where two of them are a line break.
pub(crate) fn tidy(path: &str, old: &str, new: &str) -> String {
    let lower = path.to_lowercase();
    if old.is_empty() || lower.ends_with(".md") || lower.ends_with(".mdx") {
        return new.to_owned();
    }
    let lines: Vec<String> = new
        .split('\n')
        .map(|line| match line.strip_suffix('\r') {
            Some(line) => format!("{}\r", line.trim_end()),
            None => line.trim_end().to_owned(),
        })
        .collect();
    lines.join("\n")
}

fn unknown(name: &str) -> String {
    let start = format!("Error: No such tool available: {name}");
    if let Some(right) = TOOLS.iter().find(|tool| tool.eq_ignore_ascii_case(name)) {
        return format!("{start}. Tool names are case-sensitive: call {right} instead.");
    }
    match name {
        "Glob" => {
            format!(
                "{start}. Glob is not available in this session — find files with `find` via the Bash tool instead."
            )
        }
        "Grep" => format!(
            "{start}. Grep is not available in this session — search file contents with `grep` via the Bash tool instead."
        ),
        _ if KNOWN.contains(&name) => {
            format!("{start}. {name} is not among the tools available here. Continue with the tools you have.")
        }
        _ => start,
    }
}

pub(crate) fn unreadable(tool: &str, args: &str) -> String {
    let shown: String = args.chars().take(200).collect();
    format!(
        "InputValidationError: {tool} was called with input that could not be parsed as JSON.\n\
         You sent (first {} of {} bytes): {shown}\n\
         Common causes: a backslash in a path that is not doubled (use / or \\\\), a raw control character in a string, output that was cut off. Send it again as valid JSON.",
        shown.len(),
        args.len()
    )
}

/// Errors found before anything ran carry a tag; those of a run do not.
pub(crate) fn wrap(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}
