//! The tools: names, schemas and which are listed from the start, as deepseek-tui 0.8.41 has them; descriptions in our own words. The
//! rest is found by a search or called outright, and listed from then on.
use protocol::{ApprovalPolicy, Mode, Raw, SandboxMode, Settings, Tool, ToolKind};
use serde_json::Value;

use super::{agents, wire_name};
use crate::{Context, names};

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Looks only; such calls of one reply run side by side.
    Reads,
    /// Acts on the session: lists, plans, questions, searches for tools.
    Session,
    /// Changes files, runs commands, starts agents.
    Acts,
}

pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    schema: &'static str,
    /// Listed from the start.
    first: bool,
    pub(super) access: Access,
}

macro_rules! tools {
    ($($name:literal $when:ident $access:ident $description:literal $schema:literal)*) => {
        &[$(Spec { name: $name, description: $description, schema: $schema, first: tools!(@ $when), access: Access::$access }),*]
    };
    (@ first) => { true };
    (@ later) => { false };
}

/// Sorted by name, which is the order in which they are listed.
pub(super) const ALL: &[Spec] = tools! {
    "agent_open" later Acts
    "Start a sub-agent with a task of its own. It works by itself and does not see this conversation, so prompt says all that it must know. The call comes back at once; its report comes later as a runtime_event."
    r#"{"type":"object","properties":{"name":{"type":"string","description":"A short name to know it by"},"prompt":{"type":"string","description":"The task, complete in itself"},"type":{"type":"string","enum":["worker","scout","planner","reviewer","builder","verifier","custom"],"description":"What kind of agent; worker if left out. scout, planner and reviewer only read"},"role":{"type":"string","description":"The role that it plays, in words"},"allowed_tools":{"type":"array","items":{"type":"string"},"description":"The only tools that it is to use"},"model":{"type":"string","description":"Another model for it"},"cwd":{"type":"string","description":"The folder that it works in"},"fork_context":{"type":"boolean","description":"Has no effect: an agent begins without this conversation"},"max_depth":{"type":"integer","minimum":0,"maximum":3,"description":"How deep its own agents may go"}},"required":[]}"#

    "apply_patch" later Acts
    "Change files by a unified diff, all of it or nothing; or write whole files with changes. Give either patch or changes. Context lines must stand in the file; fuzz says how many of them at the ends of a hunk may differ."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"The file of a patch without file headers"},"patch":{"type":"string","description":"Unified diff of one or several files"},"changes":{"type":"array","description":"Files with their whole new text","items":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}},"fuzz":{"type":"integer","description":"Context lines at each end of a hunk that may be left out of account (default 3, at most 50)"},"create_if_missing":{"type":"boolean","description":"Make a file that is not there"}},"oneOf":[{"required":["patch"]},{"required":["changes"]}]}"#

    "checklist_add" later Session
    "Add one entry to the checklist."
    r#"{"type":"object","properties":{"content":{"type":"string","description":"What is to be done"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content"]}"#

    "checklist_list" later Session
    "Show the checklist."
    r#"{"type":"object","properties":{},"required":[]}"#

    "checklist_update" later Session
    "Set the status of one entry of the checklist."
    r#"{"type":"object","properties":{"id":{"type":"integer","description":"Number of the entry"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["id","status"]}"#

    "checklist_write" first Session
    "Write the checklist of the work at hand anew, for tasks of five and more steps. One entry is in_progress at a time; an entry is completed as soon as it is done."
    r#"{"type":"object","properties":{"todos":{"type":"array","description":"The whole list, in order","items":{"type":"object","properties":{"content":{"type":"string","description":"What is to be done"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}"#

    "code_execution" first Acts
    "Run Python code in a process of its own, for computations and for working on data. Only what it prints comes back. It ends after 120 seconds."
    r#"{"type":"object","properties":{"code":{"type":"string","description":"Python source"}},"required":["code"]}"#

    "edit_file" later Acts
    "Replace a text in a file. Every place where search stands is replaced, so make it long enough to stand there once."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"The file"},"search":{"type":"string","description":"The text that stands there now, to the letter"},"replace":{"type":"string","description":"The text that takes its place"},"fuzz":{"type":"boolean","description":"Where it is not found, look for its lines without regard to white space at their ends"}},"required":["path","search","replace"]}"#

    "exec_shell" first Acts
    "Run a command in the workspace and get its output. It ends after timeout_ms (120000 if left out, at most 600000). With background it goes on by itself, and you get a task id for exec_shell_wait, exec_shell_interact and exec_shell_cancel."
    r#"{"type":"object","properties":{"command":{"type":"string","description":"The command line"},"timeout_ms":{"type":"integer","description":"Milliseconds until it is ended (default 120000, at most 600000)"},"background":{"type":"boolean","description":"Let it go on, and return at once"},"interactive":{"type":"boolean","description":"It asks for input: give it a terminal"},"tty":{"type":"boolean","description":"Give it a terminal"},"combined_output":{"type":"boolean","description":"Show both outputs as one, in the order written"},"stdin":{"type":"string","description":"Text for its input"},"cwd":{"type":"string","description":"The folder to run in"}},"required":["command"]}"#

    "exec_shell_cancel" later Acts
    "End a background command with all that it started."
    r#"{"type":"object","properties":{"task_id":{"type":"string","description":"shell_XXXXXXXX"}},"required":["task_id"]}"#

    "exec_shell_interact" first Acts
    "Type into a background command that has a terminal, and get what it says."
    r#"{"type":"object","properties":{"task_id":{"type":"string","description":"shell_XXXXXXXX"},"input":{"type":"string","description":"What to type; a line ends with a line feed"},"timeout_ms":{"type":"integer","description":"How long to wait for an answer (default 5000)"}},"required":["task_id","input"]}"#

    "exec_shell_wait" first Acts
    "Wait for a background command, and get its output since the last look."
    r#"{"type":"object","properties":{"task_id":{"type":"string","description":"shell_XXXXXXXX"},"timeout_ms":{"type":"integer","description":"How long to wait for its end (default 30000, at most 600000)"}},"required":["task_id"]}"#

    "fetch_url" later Reads
    "Get a page of the web."
    r#"{"type":"object","properties":{"url":{"type":"string","description":"http or https address"},"format":{"type":"string","enum":["text","markdown","raw"],"description":"How the page is given (default markdown)"},"max_bytes":{"type":"integer","description":"How much of it at most (default 1000000)"},"timeout_ms":{"type":"integer","description":"Has no effect: 30 seconds are waited"},"fields":{"type":"array","items":{"type":"string"},"description":"Only these fields of the result"}},"required":["url"]}"#

    "file_search" first Reads
    "Find files by a part of their name or path, also by its letters in order. The best come first."
    r#"{"type":"object","properties":{"query":{"type":"string","description":"Part of the name"},"path":{"type":"string","description":"The folder to search in"},"limit":{"type":"integer","description":"How many at most (default 20)"},"extensions":{"type":"array","items":{"type":"string"},"description":"Only files that end so"},"exclude":{"type":"array","items":{"type":"string"},"description":"Globs of what is left out"}},"required":["query"]}"#

    "git_diff" later Reads
    "Show what was changed in the working tree, or what is staged."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"Only this file or folder"},"cached":{"type":"boolean","description":"What is staged"},"unified":{"type":"integer","description":"Lines of context"}},"required":[]}"#

    "git_status" later Reads
    "Show branch and changed files."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"Only this file or folder"}},"required":[]}"#

    "grep_files" first Reads
    "Search file contents by regular expression. Dependencies, build output and version control are passed over."
    r#"{"type":"object","properties":{"pattern":{"type":"string","description":"Regular expression"},"path":{"type":"string","description":"File or folder to search (default: the workspace)"},"include":{"type":"array","items":{"type":"string"},"description":"Globs of the files to search"},"exclude":{"type":"array","items":{"type":"string"},"description":"Globs of what is passed over"},"context_lines":{"type":"integer","description":"Lines around each match (default 2)"},"case_insensitive":{"type":"boolean","description":"Ignore case"},"max_results":{"type":"integer","description":"How many matches at most (default 100)"}},"required":["pattern"]}"#

    "list_dir" first Reads
    "List the entries of a folder."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"The folder (default: the workspace)"}},"required":[]}"#

    "load_skill" later Reads
    "Get the instructions of a skill."
    r#"{"type":"object","properties":{"name":{"type":"string","description":"Name of the skill"}},"required":["name"]}"#

    "multi_tool_use.parallel" first Reads
    "Make several reading calls at once. Tools that change something are not taken."
    r#"{"type":"object","properties":{"tool_uses":{"type":"array","description":"The calls","items":{"type":"object","properties":{"recipient_name":{"type":"string","description":"Name of the tool"},"parameters":{"type":"object","description":"Its arguments"}},"required":["recipient_name","parameters"]}}},"required":["tool_uses"]}"#

    "read_file" first Reads
    "Read a file. A short one comes whole; of a long one you get 200 lines, with numbers, and the line to go on from. pages is for PDF files."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"The file"},"start_line":{"type":"integer","description":"First line, counted from 1"},"max_lines":{"type":"integer","description":"How many lines (default 200, at most 500)"},"pages":{"type":"string","description":"Pages of a PDF, as 3 or 1-5"}},"required":["path"]}"#

    "request_user_input" first Session
    "Ask the user one to three questions, each with two or three answers to choose from. Only where you cannot find out or decide yourself."
    r#"{"type":"object","properties":{"questions":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"object","properties":{"header":{"type":"string","description":"A word or two"},"id":{"type":"string","description":"Name of the question"},"question":{"type":"string","description":"The question"},"options":{"type":"array","minItems":2,"maxItems":3,"items":{"type":"object","properties":{"label":{"type":"string"},"description":{"type":"string"}},"required":["label","description"]}}},"required":["header","id","question","options"]}}},"required":["questions"]}"#

    "retrieve_tool_result" later Reads
    "Show again a result that stands in the conversation as a TOOL_RESULT_REF."
    r#"{"type":"object","properties":{"ref":{"type":"string","description":"sha:SHA256"}},"required":["ref"]}"#

    "todo_write" first Session
    "The same as checklist_write."
    r#"{"type":"object","properties":{"todos":{"type":"array","description":"The whole list, in order","items":{"type":"object","properties":{"content":{"type":"string","description":"What is to be done"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}"#

    "tool_search_tool_bm25" first Session
    "Find tools that are not listed, by words. What is found can be called from then on."
    r#"{"type":"object","properties":{"query":{"type":"string","description":"Words for what the tool does"}},"required":["query"]}"#

    "tool_search_tool_regex" first Session
    "Find tools that are not listed, by a regular expression over names and descriptions. What is found can be called from then on."
    r#"{"type":"object","properties":{"query":{"type":"string","description":"Regular expression"}},"required":["query"]}"#

    "update_plan" first Session
    "Write the plan for a large task anew: its phases, not its single steps."
    r#"{"type":"object","properties":{"explanation":{"type":"string","description":"Why it is so, or what changed"},"plan":{"type":"array","items":{"type":"object","properties":{"step":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["step","status"]}}},"required":["plan"]}"#

    "write_file" first Acts
    "Write a file with this text; what stood there is replaced, and missing folders are made."
    r#"{"type":"object","properties":{"path":{"type":"string","description":"The file"},"content":{"type":"string","description":"Its whole text"}},"required":["path","content"]}"#
};

/// Other names of the original for the same tools.
const ALIASES: [(&str, &str); 5] = [
    ("exec_wait", "exec_shell_wait"),
    ("exec_interact", "exec_shell_interact"),
    ("todo_add", "checklist_add"),
    ("todo_update", "checklist_update"),
    ("todo_list", "checklist_list"),
];

impl Spec {
    pub(super) fn schema(&self) -> Value {
        serde_json::from_str(self.schema).unwrap_or_default()
    }

    fn tool(&self, cx: &Context) -> Tool {
        Tool {
            namespace: None,
            name: wire_name::encode(self.name),
            description: cx.words.tools.get(self.name).cloned().unwrap_or_else(|| self.description.to_owned()),
            kind: ToolKind::Function(Raw::parse(self.schema).unwrap_or_else(|_| Raw::null())),
            strict: None,
            deferred: false,
        }
    }
}

/// No sandbox and nobody to ask: the original's `yolo`.
pub(super) fn is_yolo(settings: &Settings) -> bool {
    settings.sandbox.mode == SandboxMode::DangerFullAccess && settings.approval == ApprovalPolicy::Never
}

pub(super) fn is_planning(settings: &Settings) -> bool {
    matches!(settings.mode, Mode::Plan { .. })
}

/// Those that this thread's model may call, listed or not.
pub(super) fn callable(cx: &Context) -> impl Iterator<Item = &'static Spec> + Clone {
    let reads_only = is_planning(cx.settings) || agents::only_reads(&cx.persona.name);
    let sub_agent = !cx.persona.name.is_empty();
    let chosen = cx.persona.tools.clone();
    ALL.iter().filter(move |spec| {
        let barred = reads_only && spec.access == Access::Acts || sub_agent && spec.name == "request_user_input";
        !barred && chosen.as_ref().is_none_or(|names| names.iter().any(|name| name == spec.name))
    })
}

/// Not listed from the start. Nothing is held back where nothing else is, nor from an agent of few tools.
pub(super) fn is_deferred(cx: &Context, spec: &Spec) -> bool {
    !spec.first && cx.persona.tools.is_none() && !is_yolo(cx.settings)
}

/// Listed from the start, by name; with those from outside.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let mut tools: Vec<Tool> = callable(cx).filter(|spec| !is_deferred(cx, spec)).map(|spec| spec.tool(cx)).collect();
    let allowed = |tool: &&Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    let outside = cx.extra_tools.iter().filter(allowed);
    tools.extend(outside.map(|tool| Tool { name: wire_name::encode(&tool.name), ..tool.clone() }));
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// These as they are listed once they are known, by name.
pub(super) fn listed(cx: &Context, names: &[&'static str]) -> Vec<Tool> {
    callable(cx).filter(|spec| names.contains(&spec.name)).map(|spec| spec.tool(cx)).collect()
}

/// The tool that a model means by this name, as it stands on the wire or as the prompt has it.
pub(super) fn meant(cx: &Context, written: &str) -> Option<&'static Spec> {
    among(callable(cx), written)
}

/// As [`meant`], also those that this thread may not call now.
pub(super) fn known(written: &str) -> Option<&'static Spec> {
    among(ALL.iter(), written)
}

fn among(specs: impl Iterator<Item = &'static Spec> + Clone, written: &str) -> Option<&'static Spec> {
    let name = wire_name::decode(written);
    let bare = name.strip_prefix("functions.").unwrap_or(&name);
    let name = ALIASES.iter().find(|(alias, _)| *alias == bare).map_or(bare, |(_, name)| *name);
    let found = names::meant(name, specs.clone().map(|spec| spec.name))?;
    specs.clone().find(|spec| spec.name == found)
}

/// What is said of a call to a tool that there is not.
pub(super) fn unknown(cx: &Context, written: &str) -> String {
    let name = wire_name::decode(written);
    let outside = cx.extra_tools.iter().map(|tool| tool.name.as_str());
    let mut near: Vec<(usize, &str)> = callable(cx)
        .map(|spec| spec.name)
        .chain(outside)
        .map(|known| (strsim::levenshtein(&name, known), known))
        .collect();
    near.sort();
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
    format!(
        "Tool '{name}' is not available in the current tool catalog. Did you mean: {}? Tools that are not listed are found with tool_search_tool_bm25.",
        near.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::ALL;

    #[test]
    fn schemas_are_json_and_names_in_order() {
        for spec in ALL {
            assert!(protocol::Raw::parse(spec.schema).is_ok(), "{}", spec.name);
            assert!(spec.schema()["properties"].is_object());
        }
        let names: Vec<&str> = ALL.iter().map(|spec| spec.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
    }
}
