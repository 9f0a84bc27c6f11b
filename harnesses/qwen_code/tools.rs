//! The tools: names, order and schemas (key for key) of Qwen Code 0.24.4, descriptions in our own words. Which of them are offered
//! depends on who is there to be asked, on the agent, and on switches of the user.
use protocol::{ApprovalPolicy, Mode, Raw, Tool, ToolKind};
use serde_json::Value;

use super::prompt::EXPLORE;
use crate::Context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offered {
    Always,
    /// Where a user can answer.
    Asking,
    /// Found with tool_search.
    Deferred,
    /// With this switch of the config.
    Switch(&'static str),
}

struct Known {
    name: &'static str,
    description: &'static str,
    schema: &'static str,
    offered: Offered,
}

/// In alphabetical order, as they are offered.
const TOOLS: &[Known] = &[
    Known {
        name: "agent",
        description: include_str!("descriptions/agent.md"),
        schema: r##"{"type":"object","properties":{"description":{"type":"string","description":"Title of the task, three to five words"},"prompt":{"type":"string","description":"The task, with all that the agent must know"},"subagent_type":{"type":"string","description":"Kind of agent; general-purpose if left out"},"fork_turns":{"oneOf":[{"type":"string","enum":["all"]},{"type":"string","pattern":"^[1-9][0-9]*$"}],"description":"How much of this conversation the agent sees. Not available here: leave it out, and say in prompt all that the agent must know."},"fork_tools":{"type":"array","items":{"type":"string","minLength":1},"description":"Tools of an agent that sees this conversation. Not available here: leave it out."},"fork_profile":{"type":"string","minLength":2,"maxLength":50,"description":"Profile of an agent that sees this conversation. Not available here: leave it out."},"run_in_background":{"type":"boolean","default":true,"description":"true (the default): the call returns at once and the result comes later by itself, as a task-notification. false: the call ends with the agent's final message; for results that your next step needs."},"isolation":{"type":"string","enum":["worktree"],"description":"A git worktree of its own for the agent. Not available here: leave it out."},"working_dir":{"type":"string","description":"Absolute path of the folder that the agent is to work in, if it is not that of this session"}},"required":["description","prompt"]}"##,
        offered: Offered::Always,
    },
    Known {
        name: "ask_user_question",
        description: "Asks the user one to four questions with two to four answers each. Use it where requirements, preferences or a choice between ways to go are open and cannot be found out by looking; not for what you can decide well yourself, and not to ask whether a plan is fine (exit_plan_mode does that). The user can always give another answer in their own words, so offer no \"other\". Put the answer that you recommend first, with \"(Recommended)\" behind its label.",
        schema: r##"{"type":"object","properties":{"questions":{"description":"The questions, one to four","minItems":1,"maxItems":4,"type":"array","items":{"type":"object","properties":{"question":{"description":"The whole question, clear and specific, with a question mark at its end","type":"string"},"header":{"description":"A label of one or two words","type":"string"},"options":{"description":"Two to four answers that differ","minItems":2,"maxItems":4,"type":"array","items":{"type":"object","properties":{"label":{"description":"The answer in one to five words","type":"string"},"description":{"description":"What it means or leads to","type":"string"}},"required":["label","description"],"additionalProperties":false}},"multiSelect":{"description":"Several answers may be chosen","default":false,"type":"boolean"}},"required":["question","header","options"]}},"metadata":{"description":"For statistics; not shown","type":"object","properties":{"source":{"description":"Where the question comes from","type":"string"}}}},"required":["questions"]}"##,
        offered: Offered::Asking,
    },
    Known {
        name: "edit",
        description: include_str!("descriptions/edit.md"),
        schema: r##"{"properties":{"file_path":{"description":"Absolute path of the file to change; begins with '/'.","type":"string"},"old_string":{"description":"The exact literal text to replace, not escaped. For a single place give at least three lines before and after it, with blanks and indentation as in the file. If it is not the exact text, or stands in several places, the edit fails.","type":"string"},"new_string":{"description":"The exact literal text to put in its place, not escaped. The outcome must be correct, idiomatic code.","type":"string"},"replace_all":{"type":"boolean","description":"Replace every occurrence of old_string (default false)."}},"required":["file_path","old_string","new_string"],"type":"object"}"##,
        offered: Offered::Always,
    },
    Known {
        name: "enter_plan_mode",
        description: "Switches to plan mode, in which nothing is changed: you explore, think of a way to go, and put it before the user with exit_plan_mode. Use it only where the user asks for a plan first. Not for simple tasks, and not for questions that need looking around only.",
        schema: r##"{"type":"object","properties":{"userRequested":{"type":"boolean","description":"The user asked for plan mode in so many words"}}}"##,
        offered: Offered::Asking,
    },
    Known {
        name: "exit_plan_mode",
        description: "Puts your plan before the user and ends plan mode if it is approved. Use it in plan mode only, when the plan is complete, and only for tasks that change something: a question that was answered by looking around needs no plan. Settle open points with ask_user_question first.",
        schema: r##"{"type":"object","properties":{"plan":{"type":"string","description":"The plan, in Markdown, short enough to be read in a minute"},"originalRequest":{"type":"string","description":"What the user asked for"},"researchSummary":{"type":"string","description":"What you found out and the plan rests on"}},"required":["plan"]}"##,
        offered: Offered::Asking,
    },
    Known {
        name: "glob",
        description: "Finds files by a pattern, quickly also in large code bases.\n- Patterns like \"**/*.js\" or \"src/**/*.ts\"\n- The result lists absolute paths; what was changed last comes first\n- Files that git ignores are left out\n- Use it where you look for files by name\n- For an open search that may take many rounds of glob and grep use the agent tool\n- Several calls in one message run together: search for all that may be useful at once.",
        schema: r##"{"properties":{"pattern":{"description":"The pattern that paths must match","type":"string"},"path":{"description":"Folder to search. Leave it out for the workspace (do not write \"undefined\" or \"null\"). If given, it must be the path of an existing folder.","type":"string"}},"required":["pattern"],"type":"object"}"##,
        offered: Offered::Always,
    },
    Known {
        name: "grep_search",
        description: "Searches the content of files, by ripgrep.\n\n- ALWAYS use this tool for searches, never `grep` or `rg` in a shell\n- Full regular expressions (\"log.*Error\", \"function\\s+\\w+\"), upper and lower case alike\n- `glob` narrows it to files that match (\"*.js\", \"*.{ts,tsx}\")\n- Braces that are meant literally must be escaped (`interface\\{\\}`)\n- For an open search that may take many rounds use the agent tool",
        schema: r##"{"properties":{"pattern":{"type":"string","description":"Regular expression to search for"},"glob":{"type":"string","description":"Only files that match this pattern (\"*.js\", \"src/**\")"},"path":{"type":"string","description":"File or folder to search; the workspace if left out."},"limit":{"type":"integer","minimum":1,"description":"Show the first N matching lines only. All, up to the limit of output, if left out."}},"required":["pattern"],"type":"object"}"##,
        offered: Offered::Always,
    },
    Known {
        name: "list_directory",
        description: "Lists the files and folders directly in a folder, folders first. Entries can be left out by patterns.",
        schema: r##"{"properties":{"path":{"description":"Absolute path of the folder","type":"string"},"ignore":{"description":"Patterns of names to leave out","items":{"type":"string"},"type":"array"},"file_filtering_options":{"description":"Which ignore files count","type":"object","properties":{"respect_git_ignore":{"description":"Leave out what git ignores (default true)","type":"boolean"},"respect_qwen_ignore":{"description":"Leave out what .qwenignore names (default true)","type":"boolean"}}}},"required":["path"],"type":"object"}"##,
        offered: Offered::Switch("tools.list_directory"),
    },
    Known {
        name: "notebook_edit",
        description: "Changes one cell of a Jupyter notebook (.ipynb): replaces its source, inserts a new cell, or deletes one. The notebook must have been read with read_file in full first. Outputs of a changed code cell are cleared. For other files use edit.",
        schema: r##"{"properties":{"notebook_path":{"description":"Absolute path of the notebook (.ipynb)","type":"string"},"cell_id":{"description":"Id of the cell, as read_file shows it. For insert: the cell behind which the new one goes; at the beginning if left out.","type":"string"},"new_source":{"description":"New source of the cell; not needed for delete","type":"string"},"cell_type":{"description":"Kind of the cell; code for a new one if left out","type":"string","enum":["code","markdown"]},"edit_mode":{"description":"What to do; replace if left out","type":"string","enum":["replace","insert","delete"]}},"required":["notebook_path"],"type":"object"}"##,
        offered: Offered::Always,
    },
    Known {
        name: "read_file",
        description: include_str!("descriptions/read_file.md"),
        schema: r##"{"properties":{"file_path":{"description":"Absolute path of the file to read, like '/home/user/project/file.txt'. Relative paths are not taken.","type":"string"},"offset":{"description":"For text: line to begin with, counted from 0. Use it with limit to read a large file in pieces. null counts as left out.","type":["integer","null"]},"limit":{"description":"For text: how many lines to read. Use it with offset to read a large file in pieces. Left out, the whole file is read, as far as it fits. null counts as left out.","type":["integer","null"]},"pages":{"description":"For PDF: pages to read ('3', '1-5'), counted from 1, 20 at most. null counts as left out.","type":["string","null"]}},"required":["file_path"],"type":"object"}"##,
        offered: Offered::Always,
    },
    Known {
        name: "run_shell_command",
        description: include_str!("descriptions/run_shell_command.md"),
        schema: r##"{"type":"object","properties":{"command":{"type":"string","description":"The command, exactly as bash shall run it"},"is_background":{"type":"boolean","description":"true runs the command in the background (servers, watchers); false (the default) waits for its end"},"timeout":{"type":"integer","minimum":1,"maximum":600000,"description":"Milliseconds until the command is ended"},"description":{"type":"string","description":"What the command does, for the user: one short sentence, three at most for difficult ones, no line feeds"},"directory":{"type":"string","description":"Absolute path of the folder to run it in; must be within the workspace. The workspace's root if left out."}},"required":["command"]}"##,
        offered: Offered::Always,
    },
    Known {
        name: "skill",
        description: include_str!("descriptions/skill.md"),
        schema: r##"{"type":"object","properties":{"skill":{"type":"string","description":"Name of the skill (\"pdf\", \"review\")"},"args":{"type":"string","description":"Arguments for the skill, if there are any"}},"required":["skill"]}"##,
        offered: Offered::Always,
    },
    Known {
        name: "task_stop",
        description: "Stops a background command or a background agent by its id.",
        schema: r##"{"type":"object","properties":{"task_id":{"type":"string","description":"Id of the background work, as told when it was started"}},"required":["task_id"],"additionalProperties":false}"##,
        offered: Offered::Deferred,
    },
    Known {
        name: "todo_write",
        description: "Keeps the list of tasks of this session: for work of three steps or more, or several requests at once. Each call gives the whole list. Mark a task in_progress before you begin it (one at a time) and completed as soon as it is truly done; not before tests pass and nothing of it is left. Leave the list alone for single, simple tasks.",
        schema: r##"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string","minLength":1,"description":"The task"},"status":{"type":"string","enum":["pending","in_progress","completed"]},"id":{"type":"string","maxLength":500,"description":"Id of the task"},"blockedBy":{"type":"array","items":{"type":"string","maxLength":500},"description":"Ids of tasks that must be done before"}},"required":["content","status","id"]},"description":"The whole list as it is from now on"}},"required":["todos"]}"##,
        offered: Offered::Switch("tools.update_plan"),
    },
    Known {
        name: "tool_call",
        description: "Calls a tool that is not in the list of this conversation. Look up its parameters with tool_search first. Tools that are in the list are called directly, not by this one.",
        schema: r##"{"type":"object","properties":{"name":{"type":"string","description":"Exact name of the tool, as tool_search gives it","minLength":1},"arguments":{"type":"object","description":"Its arguments, by the schema that tool_search gave"}},"required":["name","arguments"],"additionalProperties":false}"##,
        offered: Offered::Always,
    },
    Known {
        name: "tool_search",
        description: include_str!("descriptions/tool_search.md"),
        schema: r##"{"type":"object","properties":{"query":{"type":"string","description":"Keywords, or \"select:NAME,NAME\" for tools that you know by name","minLength":1},"max_results":{"type":"integer","description":"How many tools at most (default 5)","minimum":1,"maximum":20,"default":5}},"required":["query"]}"##,
        offered: Offered::Always,
    },
    Known {
        name: "web_fetch",
        description: include_str!("descriptions/web_fetch.md"),
        schema: r##"{"properties":{"url":{"description":"Address of the page","type":"string"},"prompt":{"description":"What you want to know from it","type":"string"},"format":{"description":"How the page is taken: auto (the default) and markdown turn HTML into Markdown, html takes it as it is, text as plain text.","type":"string","enum":["auto","markdown","html","text"]}},"required":["url","prompt"],"type":"object"}"##,
        offered: Offered::Deferred,
    },
    Known {
        name: "write_file",
        description: include_str!("descriptions/write_file.md"),
        schema: r##"{"properties":{"file_path":{"description":"Absolute path of the file to write, like '/home/user/project/file.txt'. Relative paths are not taken.","type":"string"},"content":{"description":"The whole text of the file.","type":"string"},"record_as_artifact":{"description":"Has no effect here.","type":"boolean"}},"required":["file_path","content"],"type":"object"}"##,
        offered: Offered::Always,
    },
];

/// What the searching agent has, in its order.
const EXPLORERS: [&str; 6] = ["read_file", "grep_search", "glob", "run_shell_command", "web_fetch", "skill"];

fn known(name: &str) -> Option<&'static Known> {
    TOOLS.iter().find(|tool| tool.name == name)
}

pub(super) fn is_ours(name: &str) -> bool {
    known(name).is_some()
}

pub(super) fn schema(name: &str) -> Value {
    known(name).and_then(|tool| serde_json::from_str(tool.schema).ok()).unwrap_or_default()
}

pub(super) fn description(cx: &Context, name: &str) -> String {
    let ours = || known(name).map(|tool| tool.description.trim_end().to_owned()).unwrap_or_default();
    cx.words.tools.get(name).cloned().unwrap_or_else(ours)
}

/// Somebody may be there to answer.
pub(super) fn can_ask(cx: &Context) -> bool {
    cx.settings.approval != ApprovalPolicy::Never && cx.persona.name.is_empty()
}

fn wanted(cx: &Context, tool: &Known) -> bool {
    let switched = match tool.offered {
        Offered::Always => true,
        Offered::Asking => {
            can_ask(cx) || (tool.name == "exit_plan_mode" && matches!(cx.settings.mode, Mode::Plan { .. }))
        }
        Offered::Deferred => false,
        Offered::Switch(switch) => cx.settings.feature(switch, false),
    };
    let sub_agent = !cx.persona.name.is_empty();
    switched && !(sub_agent && matches!(tool.name, "agent" | "tool_call" | "tool_search"))
}

/// In the list of the conversation.
pub(super) fn is_offered(cx: &Context, name: &str) -> bool {
    offered(cx).iter().any(|tool| tool.name == name)
}

/// Found by tool_search and called by tool_call.
pub(super) fn deferred(cx: &Context) -> Vec<&'static str> {
    let found = TOOLS.iter().filter(|tool| tool.offered == Offered::Deferred).map(|tool| tool.name);
    let kept = |name: &&str| cx.persona.tools.as_ref().is_none_or(|names| names.iter().any(|n| n == name));
    if cx.persona.name.is_empty() { found.filter(kept).collect() } else { Vec::new() }
}

pub(super) fn is_deferred(cx: &Context, name: &str) -> bool {
    deferred(cx).contains(&name)
}

/// Names that a call may have, whether in the list or not.
pub(super) fn callable(cx: &Context) -> Vec<String> {
    let mut names: Vec<String> = offered(cx).into_iter().map(|tool| tool.name).collect();
    names.extend(deferred(cx).into_iter().map(str::to_owned));
    names
}

/// Ours, then those from outside, as far as the agent has them.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let names: Vec<&str> = match cx.persona.name.as_str() {
        EXPLORE => EXPLORERS.to_vec(),
        "" => TOOLS.iter().filter(|tool| wanted(cx, tool)).map(|tool| tool.name).collect(),
        _ => {
            let own = TOOLS.iter().filter(|tool| wanted(cx, tool) || tool.offered == Offered::Deferred);
            own.map(|tool| tool.name).collect()
        }
    };
    let ours = names.into_iter().filter_map(known).map(|tool| Tool {
        namespace: None,
        name: tool.name.to_owned(),
        description: description(cx, tool.name),
        kind: ToolKind::Function(Raw::parse(tool.schema).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    });
    let allowed = |tool: &Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    ours.chain(cx.extra_tools.iter().cloned()).filter(allowed).collect()
}

/// What is said of a call to a tool that there is not.
pub(super) fn unknown(cx: &Context, name: &str) -> String {
    if !cx.persona.name.is_empty() {
        return format!("Tool \"{name}\" not found. Tools must use the exact names provided.");
    }
    match name {
        "list_directory" => return "Tool \"list_directory\" is a built-in tool that is disabled by default because glob covers directory listing in most cases. Enable it with the tools.listDirectory.enabled setting. Use glob instead.".to_owned(),
        "todo_write" => return "Tool \"todo_write\" is a built-in tool that is disabled by default. Enable it with the tools.todoWrite.enabled setting and restart Qwen Code.".to_owned(),
        _ => {}
    }
    let mut near: Vec<(usize, String)> =
        callable(cx).into_iter().map(|known| (strsim::levenshtein(name, &known), known)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let near: Vec<String> = near.into_iter().take(3).map(|(_, known)| format!("\"{known}\"")).collect();
    format!(
        "Tool \"{name}\" not found in registry. Tools must use the exact names that are registered. Did you mean one of: {}?",
        near.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::TOOLS;

    #[test]
    fn schemas_are_json_and_names_in_order() {
        for tool in TOOLS {
            assert!(protocol::Raw::parse(tool.schema).is_ok(), "{}", tool.name);
            assert!(!tool.description.trim().is_empty());
        }
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
    }
}
