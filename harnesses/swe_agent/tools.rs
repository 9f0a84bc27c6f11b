//! Tools by form: names, order and schemas of SWE-agent 1.1.0; descriptions in our own words. A tool without arguments has a
//! schema without `properties`.
use protocol::{Raw, Tool, ToolKind};

use super::Form;
use crate::{Context, names};

pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
    pub(super) description: &'static str,
    schema: &'static str,
    /// As it is written in the text form.
    pub(super) signature: &'static str,
}

const NO_ARGUMENTS: &str = r#"{"type":"object"}"#;

const BASH: Spec = Spec {
    name: "bash",
    required: &["command"],
    optional: &[],
    description: "runs the given command in bash",
    schema: r#"{"type":"object","properties":{"command":{"type":"string","description":"The bash command to run."}},"required":["command"]}"#,
    signature: "<command>",
};

const SUBMIT: Spec = Spec {
    name: "submit",
    required: &[],
    optional: &[],
    description: "hands in the current file",
    schema: NO_ARGUMENTS,
    signature: "submit",
};

const EDITOR: Spec = Spec {
    name: "str_replace_editor",
    required: &["command", "path"],
    optional: &["file_text", "old_str", "new_str", "insert_line", "view_range"],
    description: include_str!("editor.md"),
    schema: r#"{"type":"object","properties":{"command":{"type":"string","description":"What to do. One of: `view`, `create`, `str_replace`, `insert`, `undo_edit`.","enum":["view","create","str_replace","insert","undo_edit"]},"path":{"type":"string","description":"Absolute path of a file or directory, such as `/testbed/file.py` or `/testbed`."},"file_text":{"type":"string","description":"Needed for `create`: what the new file holds."},"old_str":{"type":"string","description":"Needed for `str_replace`: the text in `path` to replace."},"new_str":{"type":"string","description":"For `str_replace`, what to put there (nothing, if not given). Needed for `insert`: the text to put in."},"insert_line":{"type":"integer","description":"Needed for `insert`: `new_str` goes in AFTER this line of `path`."},"view_range":{"type":"array","items":{"type":"integer"},"description":"For `view` of a file: the lines to show. Without it the whole file is shown. `[11, 12]` shows lines 11 and 12, counted from 1; `[start, -1]` shows all from `start` to the end."}},"required":["command","path"]}"#,
    signature: "str_replace_editor <command> <path>",
};

pub(super) const DEFAULT: &[Spec] = &[BASH, EDITOR, SUBMIT];

pub(super) const CLASSIC: &[Spec] = &[
    BASH,
    Spec {
        name: "goto",
        required: &["line_number"],
        optional: &[],
        description: "moves the window so that it shows <line_number>",
        schema: r#"{"type":"object","properties":{"line_number":{"type":"integer","description":"the line to move the window to"}},"required":["line_number"]}"#,
        signature: "goto <line_number>",
    },
    Spec {
        name: "open",
        required: &["path"],
        optional: &["line_number"],
        description: "opens the file at the given path in the editor; with a line number, the window moves to that line",
        schema: r#"{"type":"object","properties":{"path":{"type":"string","description":"the file to open"},"line_number":{"type":"integer","description":"the line to move the window to (if not given, the window begins at the top of the file)"}},"required":["path"]}"#,
        signature: "open \"<path>\" [<line_number>]",
    },
    Spec {
        name: "create",
        required: &["filename"],
        optional: &[],
        description: "makes a new file of the given name and opens it",
        schema: r#"{"type":"object","properties":{"filename":{"type":"string","description":"name of the file to make"}},"required":["filename"]}"#,
        signature: "create <filename>",
    },
    Spec {
        name: "scroll_up",
        required: &[],
        optional: &[],
        description: "moves the window up by 100 lines",
        schema: NO_ARGUMENTS,
        signature: "scroll_up",
    },
    Spec {
        name: "scroll_down",
        required: &[],
        optional: &[],
        description: "moves the window down by 100 lines",
        schema: NO_ARGUMENTS,
        signature: "scroll_down",
    },
    Spec {
        name: "find_file",
        required: &["file_name"],
        optional: &["dir"],
        description: "finds all files of a name or pattern in dir; without dir, in the current directory",
        schema: r#"{"type":"object","properties":{"file_name":{"type":"string","description":"name or pattern to look for (wildcards such as *.py work)"},"dir":{"type":"string","description":"where to look (if not given, in the current directory)"}},"required":["file_name"]}"#,
        signature: "find_file <file_name> [<dir>]",
    },
    Spec {
        name: "search_dir",
        required: &["search_term"],
        optional: &["dir"],
        description: "looks for search_term in all files in dir; without dir, in the current directory",
        schema: r#"{"type":"object","properties":{"search_term":{"type":"string","description":"text to look for"},"dir":{"type":"string","description":"where to look (if not given, in the current directory)"}},"required":["search_term"]}"#,
        signature: "search_dir <search_term> [<dir>]",
    },
    Spec {
        name: "search_file",
        required: &["search_term"],
        optional: &["file"],
        description: "looks for search_term in file; without file, in the open one",
        schema: r#"{"type":"object","properties":{"search_term":{"type":"string","description":"text to look for"},"file":{"type":"string","description":"where to look (if not given, in the open file)"}},"required":["search_term"]}"#,
        signature: "search_file <search_term> [<file>]",
    },
    Spec {
        name: "edit",
        required: &["start_line", "end_line", "replacement_text"],
        optional: &[],
        description: "puts the given text in the place of lines <start_line> to <end_line> (both included) of the open file; the text ends with end_of_edit. Indent it correctly.",
        schema: r#"{"type":"object","properties":{"start_line":{"type":"integer","description":"first line to replace"},"end_line":{"type":"integer","description":"last line to replace (included)"},"replacement_text":{"type":"string","description":"the text that takes their place"}},"required":["start_line","end_line","replacement_text"]}"#,
        signature: "edit <start_line>:<end_line>\n<replacement_text>\nend_of_edit",
    },
    SUBMIT,
];

/// None for the text form: its commands stand in the system text.
pub(super) fn of(form: Form) -> &'static [Spec] {
    match form {
        Form::Tools => DEFAULT,
        Form::Classic => CLASSIC,
        Form::Text => &[],
    }
}

pub(super) fn names(form: Form) -> Vec<&'static str> {
    of(form).iter().map(|spec| spec.name).collect()
}

pub(super) fn meant(form: Form, written: &str) -> Option<&'static Spec> {
    let specs = of(form);
    let name = names::meant(written, specs.iter().map(|spec| spec.name))?;
    specs.iter().find(|spec| spec.name == name)
}

/// Ours, then those from outside, as far as the persona has them.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let form = Form::of(cx);
    let ours = of(form).iter().map(|spec| Tool {
        namespace: None,
        name: spec.name.to_owned(),
        description: cx.words.tools.get(spec.name).cloned().unwrap_or_else(|| spec.description.trim_end().to_owned()),
        kind: ToolKind::Function(Raw::parse(spec.schema).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    });
    let outside = cx.extra_tools.iter().filter(|_| form != Form::Text).cloned();
    let allowed = |tool: &Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    ours.chain(outside).filter(allowed).collect()
}

/// The commands, as the system text of the classic forms describes them.
pub(super) fn docs(form: Form) -> String {
    let one = |spec: &Spec| {
        let mut text = format!("{}:\n  docstring: {}\n  signature: {}\n", spec.name, spec.description, spec.signature);
        let schema = Raw::parse(spec.schema).map(|raw| raw.value()).unwrap_or_default();
        if let Some(properties) = schema["properties"].as_object() {
            text.push_str("  arguments:\n");
            for name in spec.required.iter().chain(spec.optional) {
                let property = &properties[*name];
                let needed = if spec.required.contains(name) { "required" } else { "optional" };
                text.push_str(&format!(
                    "    - {name} ({}) [{needed}]: {}\n",
                    property["type"].as_str().unwrap_or_default(),
                    property["description"].as_str().unwrap_or_default()
                ));
            }
        }
        text
    };
    let specs = if form == Form::Text { CLASSIC } else { of(form) };
    specs.iter().map(one).collect::<Vec<_>>().join("\n")
}
