//! The opening: base prompt and tools, in Codex 0.171.0's order, with its names and schemas. Descriptions are ours.
use protocol::{Grammar, Opening, Raw, Speaker, Tool, ToolKind, WireId};

use super::context;
use crate::Context;

const PROMPT: &str = include_str!("prompt.md");

pub(super) fn opening(cx: &Context) -> Opening {
    let prompt = (cx.persona.prompt.as_ref()).or(cx.settings.instructions.as_ref()).or(cx.words.prompt.as_ref());
    let prompt = prompt.map_or(PROMPT.trim_end(), String::as_str);
    // What the developer says stands there too: so it reaches servers that take instructions at the start only.
    let texts = std::iter::once(context::content(cx, vec![prompt.to_owned()])).chain(context::told(cx));
    Opening { instructions: texts.map(|text| (Speaker::Developer, text)).collect(), tools: tools(cx) }
}

/// What the model is offered here and now.
pub(super) fn tools(cx: &Context) -> Vec<Tool> {
    let on = |name: &str, default: bool| cx.settings.feature(name, default);
    let mut tools = Vec::new();
    if on("shell_tool", true) {
        tools.push(function("exec_command", EXEC_COMMAND, EXEC_COMMAND_ARGS));
        tools.push(function("write_stdin", WRITE_STDIN, WRITE_STDIN_ARGS));
    }
    if on("tools.update_plan", false) {
        tools.push(function("update_plan", UPDATE_PLAN, UPDATE_PLAN_ARGS));
    }
    if on("request_user_input", false) {
        tools.push(function("request_user_input", REQUEST_USER_INPUT, REQUEST_USER_INPUT_ARGS));
    }
    let grammar = Grammar { syntax: "lark".to_owned(), definition: GRAMMAR.to_owned() };
    let kind = ToolKind::Custom { grammar: Some(grammar), fallback: schema(APPLY_PATCH_ARGS) };
    let (name, description) = ("apply_patch".to_owned(), APPLY_PATCH.to_owned());
    tools.push(Tool { namespace: None, name, description, kind, strict: Some(false), deferred: false });
    if cx.model.images && on("view_image", true) {
        tools.push(function("view_image", VIEW_IMAGE, VIEW_IMAGE_ARGS));
    }
    tools.extend(cx.extra_tools.iter().cloned());
    if cx.caps.server_tools && cx.settings.wire == WireId::Responses && on("web_search", true) {
        let entry = format!(r#"{{"type":"web_search","external_web_access":{}}}"#, on("web_search.live", false));
        let kind = ToolKind::Server { wire: WireId::Responses, entry: schema(&entry) };
        let name = "web_search".to_owned();
        tools.push(Tool { namespace: None, name, description: String::new(), kind, strict: None, deferred: false });
    }
    if let Some(only) = &cx.persona.tools {
        tools.retain(|tool| only.contains(&tool.name));
    }
    for tool in &mut tools {
        if let Some(words) = cx.words.tools.get(&tool.name) {
            tool.description.clone_from(words);
        }
    }
    tools
}

fn function(name: &str, description: &str, parameters: &str) -> Tool {
    Tool {
        namespace: None,
        name: name.to_owned(),
        description: description.to_owned(),
        kind: ToolKind::Function(schema(parameters)),
        strict: Some(false),
        deferred: false,
    }
}

/// The schemas below are kept as readable text; the model gets them without the spaces between.
fn schema(text: &str) -> Raw {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => Raw::of(&value),
        Err(_) => Raw::null(),
    }
}

const EXEC_COMMAND: &str = "Runs a shell command; returns its output, or a session ID while it is still running.";
const EXEC_COMMAND_ARGS: &str = r#"{"type": "object", "properties": {
    "cmd": {"type": "string", "description": "The shell command."},
    "justification": {"type": "string", "description": "With `require_escalated`: one sentence that tells the user why."},
    "login": {"type": "boolean", "description": "Use a login shell (default true)."},
    "max_output_tokens": {"type": "number", "description": "Output beyond this many tokens loses its middle (default 10000)."},
    "prefix_rule": {"type": "array", "description": "With `require_escalated`: first words of commands that the user may allow from now on, such as [\"git\", \"pull\"].", "items": {"type": "string"}},
    "sandbox_permissions": {"type": "string", "description": "`require_escalated` asks to run without the sandbox (default `use_default`).", "enum": ["use_default", "require_escalated"]},
    "shell": {"type": "string", "description": "Shell to use instead of the user's."},
    "tty": {"type": "boolean", "description": "Run in a terminal (default false: pipes, closed input)."},
    "workdir": {"type": "string", "description": "Folder to run in (default: the working directory)."},
    "yield_time_ms": {"type": "number", "description": "Milliseconds to wait for the end (default 10000; 250 to 30000)."}
}, "required": ["cmd"], "additionalProperties": false}"#;

const WRITE_STDIN: &str = "Sends characters to a running session, or none to look at it, and returns its new output.";
const WRITE_STDIN_ARGS: &str = r#"{"type": "object", "properties": {
    "chars": {"type": "string", "description": "What to send (default: nothing). `\u0003` is Ctrl-C."},
    "max_output_tokens": {"type": "number", "description": "Output beyond this many tokens loses its middle (default 10000)."},
    "session_id": {"type": "number", "description": "The running session."},
    "yield_time_ms": {"type": "number", "description": "Milliseconds to wait for output (default 250, at most 30000; without `chars` 5000 to 300000)."}
}, "required": ["session_id"], "additionalProperties": false}"#;

const UPDATE_PLAN: &str = "Replaces the plan that the user sees. At most one step is in progress at a time.";
const UPDATE_PLAN_ARGS: &str = r#"{"type": "object", "properties": {
    "explanation": {"type": "string", "description": "Why the plan changed."},
    "plan": {"type": "array", "description": "All steps, in order.", "items": {"type": "object", "properties": {
        "status": {"type": "string", "description": "How far it is.", "enum": ["pending", "in_progress", "completed"]},
        "step": {"type": "string", "description": "A few words."}
    }, "required": ["step", "status"], "additionalProperties": false}}
}, "required": ["plan"], "additionalProperties": false}"#;

const REQUEST_USER_INPUT: &str = "Asks the user one to three short questions and waits for the answers.";
const REQUEST_USER_INPUT_ARGS: &str = r#"{"type": "object", "properties": {
    "questions": {"type": "array", "description": "One to three.", "items": {"type": "object", "properties": {
        "header": {"type": "string", "description": "Title of at most 12 characters."},
        "id": {"type": "string", "description": "Name of the answer, in snake_case."},
        "options": {"type": "array", "description": "Two or three answers that exclude each other, the recommended one first.", "items": {"type": "object", "properties": {
            "description": {"type": "string", "description": "What follows from it, in a sentence."},
            "label": {"type": "string", "description": "One to five words."}
        }, "required": ["label", "description"], "additionalProperties": false}},
        "question": {"type": "string", "description": "The question, in a sentence."}
    }, "required": ["id", "header", "question", "options"], "additionalProperties": false}}
}, "required": ["questions"], "additionalProperties": false}"#;

const APPLY_PATCH: &str = "Adds, changes, moves and deletes files by a patch, all of it or nothing. Parts between `*** Begin Patch` and `*** End Patch`: `*** Add File: PATH` and `+` lines; `*** Delete File: PATH`; `*** Update File: PATH`, perhaps `*** Move to: PATH`, then places that begin with `@@` and have ` ` (context), `-` and `+` lines.";
const APPLY_PATCH_ARGS: &str = r#"{"type": "object", "properties": {
    "input": {"type": "string", "description": "The patch, from `*** Begin Patch` to `*** End Patch`."}
}, "required": ["input"], "additionalProperties": false}"#;

/// The language of patches, for servers that hold a model to a grammar. Stricter than our parser.
const GRAMMAR: &str = r#"start: begin file_part+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?

file_part: add | delete | update
add: "*** Add File: " path LF added+
delete: "*** Delete File: " path LF
update: "*** Update File: " path LF move? changes?

path: /(.+)/
added: "+" /(.*)/ LF -> line
move: "*** Move to: " path LF
changes: (place | line)+ last?
place: ("@@" | "@@ " /(.+)/) LF
line: ("+" | "-" | " ") /(.*)/ LF
last: "*** End of File" LF

%import common.LF
"#;

const VIEW_IMAGE: &str = "Shows you an image file, for looking at it when its path is all you have.";
const VIEW_IMAGE_ARGS: &str = r#"{"type": "object", "properties": {
    "path": {"type": "string", "description": "The image file."}
}, "required": ["path"], "additionalProperties": false}"#;
