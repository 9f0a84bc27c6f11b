//! The tools: names, order and schemas (key for key) of kimi-cli 1.52.0; descriptions in our own words.
use protocol::{Raw, Tool, ToolKind};
use serde_json::Value;

use crate::{Context, names};

pub(super) struct Spec {
    pub(super) name: &'static str,
    description: &'static str,
    schema: &'static str,
}

pub(super) const ALL: &[Spec] = &[
    Spec {
        name: "Agent",
        description: include_str!("tools/agent.md"),
        schema: r#"{"properties":{"description":{"description":"The task in 3-5 words","type":"string"},"prompt":{"description":"What the agent is to do","type":"string"},"subagent_type":{"default":"coder","description":"The type of agent","type":"string"},"model":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"Another model for this agent. Goes before the one of its type and the one of this conversation."},"resume":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"`agent_id` of an earlier agent to go on with"},"run_in_background":{"default":false,"description":"Return at once; you are told when it is done","type":"boolean"},"timeout":{"anyOf":[{"maximum":3600,"minimum":30,"type":"integer"},{"type":"null"}],"default":null,"description":"Seconds after which the agent is stopped"}},"required":["description","prompt"],"type":"object"}"#,
    },
    Spec {
        name: "AskUserQuestion",
        description: include_str!("tools/ask_user_question.md"),
        schema: r#"{"properties":{"questions":{"description":"The questions (1-4)","items":{"properties":{"question":{"description":"The question, complete and with a question mark","type":"string"},"header":{"default":"","description":"A tag of at most 12 characters","type":"string"},"options":{"description":"The answers to choose from (2-4)","items":{"properties":{"label":{"description":"The answer, in 1-5 words","type":"string"},"description":{"default":"","description":"What it means or leads to","type":"string"}},"required":["label"],"type":"object"},"maxItems":4,"minItems":2,"type":"array"},"multi_select":{"default":false,"description":"Whether several may be chosen","type":"boolean"}},"required":["question","options"],"type":"object"},"maxItems":4,"minItems":1,"type":"array"}},"required":["questions"],"type":"object"}"#,
    },
    Spec {
        name: "SetTodoList",
        description: include_str!("tools/set_todo_list.md"),
        schema: r#"{"properties":{"todos":{"anyOf":[{"items":{"properties":{"title":{"description":"What is to be done","minLength":1,"type":"string"},"status":{"description":"How far it is","enum":["pending","in_progress","done"],"type":"string"}},"required":["title","status"],"type":"object"},"type":"array"},{"type":"null"}],"default":null,"description":"The whole list. Without it the present list is returned."}},"required":[],"type":"object"}"#,
    },
    Spec {
        name: "Shell",
        description: include_str!("tools/shell.md"),
        schema: r#"{"properties":{"command":{"description":"The bash command to run.","type":"string"},"timeout":{"default":60,"description":"Seconds after which the command is ended. At most 300 in the foreground.","maximum":86400,"minimum":1,"type":"integer"},"run_in_background":{"default":false,"description":"Whether to run the command as a background task.","type":"boolean"},"description":{"default":"","description":"A short description of the background task. Needed when run_in_background is true.","type":"string"}},"required":["command"],"type":"object"}"#,
    },
    Spec {
        name: "TaskList",
        description: include_str!("tools/task_list.md"),
        schema: r#"{"properties":{"active_only":{"default":true,"description":"Only tasks that have not ended.","type":"boolean"},"limit":{"default":20,"description":"How many to list at most.","maximum":100,"minimum":1,"type":"integer"}},"required":[],"type":"object"}"#,
    },
    Spec {
        name: "TaskOutput",
        description: include_str!("tools/task_output.md"),
        schema: r#"{"properties":{"task_id":{"description":"The task to look at.","type":"string"},"block":{"default":false,"description":"Wait for its end.","type":"boolean"},"timeout":{"default":30,"description":"Seconds to wait at most, with block=true.","maximum":3600,"minimum":0,"type":"integer"}},"required":["task_id"],"type":"object"}"#,
    },
    Spec {
        name: "TaskStop",
        description: include_str!("tools/task_stop.md"),
        schema: r#"{"properties":{"task_id":{"description":"The task to stop.","type":"string"},"reason":{"default":"Stopped by TaskStop","description":"Why it is stopped, in a few words.","type":"string"}},"required":["task_id"],"type":"object"}"#,
    },
    Spec {
        name: "ReadFile",
        description: include_str!("tools/read_file.md"),
        schema: r#"{"properties":{"path":{"description":"The file to read. Outside of the working directory the path must be absolute.","type":"string"},"line_offset":{"default":1,"description":"The line to begin with, counted from 1; a negative number counts from the end of the file.","type":"integer"},"n_lines":{"default":1000,"description":"How many lines to read, at most 1000.","minimum":1,"type":"integer"}},"required":["path"],"type":"object"}"#,
    },
    Spec {
        name: "ReadMediaFile",
        description: include_str!("tools/read_media_file.md"),
        schema: r#"{"properties":{"path":{"description":"The file to look at. Outside of the working directory the path must be absolute.","type":"string"}},"required":["path"],"type":"object"}"#,
    },
    Spec {
        name: "Glob",
        description: include_str!("tools/glob.md"),
        schema: r#"{"properties":{"pattern":{"description":"The pattern to look for.","type":"string"},"directory":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"Absolute path of the folder to search in. The working directory, if not given."},"include_dirs":{"default":true,"description":"Whether folders are results too.","type":"boolean"}},"required":["pattern"],"type":"object"}"#,
    },
    Spec {
        name: "Grep",
        description: include_str!("tools/grep.md"),
        schema: r#"{"properties":{"pattern":{"description":"The regular expression to search for","type":"string"},"path":{"default":".","description":"The file or folder to search in. The working directory, if not given.","type":"string"},"glob":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"Only files that match this pattern, such as `*.js`"},"output_mode":{"default":"files_with_matches","description":"`content` (lines; with `-B`, `-A`, `-C`, `-n`, `head_limit`), `files_with_matches` (paths; with `head_limit`) or `count_matches` (numbers)","type":"string"},"-B":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"description":"Lines to show before each match, with `content`"},"-A":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"description":"Lines to show after each match, with `content`"},"-C":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"description":"Lines to show before and after each match, with `content`"},"-n":{"default":true,"description":"Show line numbers, with `content`","type":"boolean"},"-i":{"default":false,"description":"Ignore case","type":"boolean"},"type":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"Only files of this type: py, rust, js, ts, go, java, ..."},"head_limit":{"anyOf":[{"minimum":0,"type":"integer"},{"type":"null"}],"default":250,"description":"How many lines or entries to show at most; 0: all"},"offset":{"default":0,"description":"How many lines or entries to skip first","minimum":0,"type":"integer"},"multiline":{"default":false,"description":"Let `.` match line feeds, and patterns reach over lines","type":"boolean"},"include_ignored":{"default":false,"description":"Search files that .gitignore names too","type":"boolean"}},"required":["pattern"],"type":"object"}"#,
    },
    Spec {
        name: "WriteFile",
        description: include_str!("tools/write_file.md"),
        schema: r#"{"properties":{"path":{"description":"The file to write. Outside of the working directory the path must be absolute.","type":"string"},"content":{"description":"What to write","type":"string"},"mode":{"default":"overwrite","description":"`overwrite` replaces the whole file, `append` adds to its end.","enum":["overwrite","append"],"type":"string"}},"required":["path","content"],"type":"object"}"#,
    },
    Spec {
        name: "StrReplaceFile",
        description: include_str!("tools/str_replace_file.md"),
        schema: r#"{"properties":{"path":{"description":"The file to change. Outside of the working directory the path must be absolute.","type":"string"},"edit":{"anyOf":[{"properties":{"old":{"description":"The text to replace; may have several lines.","type":"string"},"new":{"description":"What takes its place; may have several lines.","type":"string"},"replace_all":{"default":false,"description":"Whether all occurrences are replaced.","type":"boolean"}},"required":["old","new"],"type":"object"},{"items":{"properties":{"old":{"description":"The text to replace; may have several lines.","type":"string"},"new":{"description":"What takes its place; may have several lines.","type":"string"},"replace_all":{"default":false,"description":"Whether all occurrences are replaced.","type":"boolean"}},"required":["old","new"],"type":"object"},"type":"array"}],"description":"One replacement, or several in their order"}},"required":["path","edit"],"type":"object"}"#,
    },
    Spec {
        name: "FetchURL",
        description: include_str!("tools/fetch_url.md"),
        schema: r#"{"properties":{"url":{"description":"The address to fetch.","type":"string"}},"required":["url"],"type":"object"}"#,
    },
    Spec {
        name: "ExitPlanMode",
        description: include_str!("tools/exit_plan_mode.md"),
        schema: r#"{"properties":{"options":{"anyOf":[{"items":{"properties":{"label":{"description":"The approach, in a few words","type":"string"},"description":{"default":"","description":"What it means","type":"string"}},"required":["label"],"type":"object"},"maxItems":3,"type":"array"},{"type":"null"}],"default":null,"description":"Approaches for the user to choose from, where the plan has several"}},"required":[],"type":"object"}"#,
    },
    Spec {
        name: "EnterPlanMode",
        description: include_str!("tools/enter_plan_mode.md"),
        schema: r#"{"properties":{},"required":[],"type":"object"}"#,
    },
];

/// Kinds of sub-agents, and the tools that each has.
pub(super) const KINDS: [(&str, &[&str]); 3] = [
    ("coder", &["Shell", "ReadFile", "ReadMediaFile", "Glob", "Grep", "WriteFile", "StrReplaceFile", "FetchURL"]),
    ("explore", &["Shell", "ReadFile", "ReadMediaFile", "Glob", "Grep", "FetchURL"]),
    ("plan", &["ReadFile", "ReadMediaFile", "Glob", "Grep", "FetchURL"]),
];

impl Spec {
    pub(super) fn schema(&self) -> Value {
        Raw::parse(self.schema).map(|raw| raw.value()).unwrap_or_default()
    }
}

/// Those that this thread's model may call.
pub(super) fn available(cx: &Context) -> impl Iterator<Item = &'static Spec> + Clone {
    let kind = KINDS.iter().find(|(kind, _)| *kind == cx.persona.name).map(|(_, tools)| *tools);
    let images = cx.model.images;
    let chosen = cx.persona.tools.clone();
    ALL.iter().filter(move |spec| {
        let mine = kind.is_none_or(|tools| tools.contains(&spec.name));
        let wanted = chosen.as_ref().is_none_or(|names| names.iter().any(|name| name == spec.name));
        mine && wanted && (images || spec.name != "ReadMediaFile")
    })
}

pub(super) fn names(cx: &Context) -> Vec<&'static str> {
    available(cx).map(|spec| spec.name).collect()
}

pub(super) fn meant(cx: &Context, written: &str) -> Option<&'static Spec> {
    let name = names::meant(written, available(cx).map(|spec| spec.name))?;
    ALL.iter().find(|spec| spec.name == name)
}

/// Ours, then those from outside, as far as the persona has them.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let ours = available(cx).map(|spec| Tool {
        namespace: None,
        name: spec.name.to_owned(),
        description: cx.words.tools.get(spec.name).cloned().unwrap_or_else(|| spec.description.trim_end().to_owned()),
        kind: ToolKind::Function(Raw::parse(spec.schema).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    });
    let allowed = |tool: &&Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    ours.chain(cx.extra_tools.iter().filter(allowed).cloned()).collect()
}
