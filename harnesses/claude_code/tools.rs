//! The tools that each generation offers: names in its order, schemas key for key as recorded (`tools/*.json`), descriptions in
//! our own words (`tools/*.md`).
use std::collections::BTreeMap;
use std::sync::LazyLock;

use protocol::{Raw, Tool, ToolKind};
use serde_json::Value;

use super::generation::Generation;
use super::shared::profile::is_claude;
use crate::Context;

/// Offered where a client can answer questions.
const ASKING: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];
const TASKS: [&str; 4] = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"];
/// What agents that only read are given.
const READING: [&str; 12] = [
    "Bash",
    "BashOutput",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "NotebookRead",
    "Read",
    "Skill",
    "TaskOutput",
    "TaskStop",
    "WebFetch",
];

/// In the order of the original's list.
fn names(generation: Generation) -> &'static [&'static str] {
    match generation {
        Generation::V1_0 => &[
            "Task",
            "Bash",
            "Glob",
            "Grep",
            "LS",
            "ExitPlanMode",
            "Read",
            "Edit",
            "MultiEdit",
            "Write",
            "NotebookRead",
            "NotebookEdit",
            "WebFetch",
            "TodoWrite",
        ],
        Generation::V2_0 => &[
            "Task",
            "Bash",
            "Glob",
            "Grep",
            "ExitPlanMode",
            "Read",
            "Edit",
            "Write",
            "NotebookEdit",
            "WebFetch",
            "TodoWrite",
            "BashOutput",
            "KillShell",
            "Skill",
        ],
        Generation::V2_1 => &[
            "Task",
            "TaskOutput",
            "Bash",
            "Glob",
            "Grep",
            "ExitPlanMode",
            "Read",
            "Edit",
            "Write",
            "NotebookEdit",
            "WebFetch",
            "TodoWrite",
            "TaskStop",
            "AskUserQuestion",
            "Skill",
            "EnterPlanMode",
        ],
        // The original offers Glob and Grep on request only; models of other makers know them from the versions before.
        Generation::Classic => &[
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "Glob",
            "Grep",
            "NotebookEdit",
            "Read",
            "Skill",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskStop",
            "TaskUpdate",
            "TodoWrite",
            "WebFetch",
            "Write",
        ],
        // Of these, the names that ZCode has.
        Generation::Zcode => &[
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "Glob",
            "Grep",
            "Read",
            "Skill",
            "TaskStop",
            "TodoWrite",
            "WebFetch",
            "Write",
        ],
        Generation::Current => &[
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "NotebookEdit",
            "Read",
            "Skill",
            "TaskStop",
            "WebFetch",
            "Write",
        ],
    }
}

/// How a generation keeps the list of what is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// TaskCreate, TaskGet, TaskList, TaskUpdate.
    Tasks,
    /// TodoWrite.
    Todos,
    None,
}

/// Models of other makers were trained on conversations with TodoWrite; Claude Code gives newer Claude models tasks.
pub(super) fn listing(generation: Generation, cx: &Context) -> Listing {
    match generation {
        Generation::Current => Listing::None,
        Generation::Classic if is_claude(&cx.model.slug.to_lowercase()) => Listing::Tasks,
        _ => Listing::Todos,
    }
}

/// Names of the tools of this conversation.
pub(super) fn offered(generation: Generation, cx: &Context) -> Vec<&'static str> {
    let listing = listing(generation, cx);
    let asks = cx.settings.feature("request_user_input", false) && cx.persona.depth == 0;
    let reads_only = matches!(cx.persona.name.as_str(), "Explore" | "Plan");
    let wanted = |name: &str| {
        (asks || !ASKING.contains(&name))
            && (listing == Listing::Tasks || !TASKS.contains(&name))
            && (listing == Listing::Todos || name != "TodoWrite")
            && (!reads_only || READING.contains(&name))
            && cx.persona.tools.as_ref().is_none_or(|names| names.iter().any(|given| given == name))
    };
    names(generation).iter().copied().filter(|name| wanted(name)).collect()
}

/// Ours, then those from outside.
pub(super) fn all(generation: Generation, cx: &Context) -> Vec<Tool> {
    let ours = offered(generation, cx).into_iter().map(|name| Tool {
        namespace: None,
        name: name.to_owned(),
        description: cx.words.tools.get(name).cloned().unwrap_or_else(|| description(generation, name))
            + &skills(generation, cx, name),
        kind: ToolKind::Function(raw(generation, name)),
        strict: None,
        deferred: false,
    });
    let allowed = |tool: &Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    let outside = cx.extra_tools.iter().filter(|tool| allowed(tool)).cloned();
    ours.chain(outside).collect()
}

/// The older versions list the skills with the tool.
fn skills(generation: Generation, cx: &Context, name: &str) -> String {
    let lines = super::context::skill_lines(cx);
    match generation {
        _ if name != "Skill" || lines.is_empty() => String::new(),
        Generation::V2_0 => format!("\n\n<available_skills>\n{lines}\n</available_skills>"),
        Generation::V2_1 => format!("\n\nAvailable skills:\n{lines}"),
        _ => String::new(),
    }
}

type Schemas = BTreeMap<String, Raw>;

static V1_0: LazyLock<Schemas> = LazyLock::new(|| parsed(include_str!("tools/v1_0.json")));
static V2_0: LazyLock<Schemas> = LazyLock::new(|| parsed(include_str!("tools/v2_0.json")));
static V2_1: LazyLock<Schemas> = LazyLock::new(|| parsed(include_str!("tools/v2_1.json")));
static LATEST: LazyLock<Schemas> = LazyLock::new(|| parsed(include_str!("tools/latest.json")));

fn parsed(text: &str) -> Schemas {
    serde_json::from_str(text).unwrap_or_default()
}

fn schemas(generation: Generation) -> &'static Schemas {
    match generation {
        Generation::V1_0 => &V1_0,
        Generation::V2_0 => &V2_0,
        Generation::V2_1 => &V2_1,
        Generation::Classic | Generation::Zcode | Generation::Current => &LATEST,
    }
}

fn raw(generation: Generation, name: &str) -> Raw {
    schemas(generation).get(name).cloned().unwrap_or_else(Raw::null)
}

pub(super) fn schema(generation: Generation, name: &str) -> Value {
    raw(generation, name).value()
}

fn description(generation: Generation, name: &str) -> String {
    let newest = generation.newest();
    let text = match name {
        "Agent" | "Task" => include_str!("tools/agent.md"),
        "AskUserQuestion" => include_str!("tools/ask_user_question.md"),
        "Bash" => include_str!("tools/bash.md"),
        "BashOutput" => include_str!("tools/bash_output.md"),
        "Edit" => include_str!("tools/edit.md"),
        "EnterPlanMode" => include_str!("tools/enter_plan_mode.md"),
        "ExitPlanMode" => include_str!("tools/exit_plan_mode.md"),
        "Glob" => include_str!("tools/glob.md"),
        "Grep" => include_str!("tools/grep.md"),
        "KillShell" => include_str!("tools/kill_shell.md"),
        "LS" => include_str!("tools/ls.md"),
        "MultiEdit" => include_str!("tools/multi_edit.md"),
        "NotebookEdit" => include_str!("tools/notebook_edit.md"),
        "NotebookRead" => include_str!("tools/notebook_read.md"),
        "Read" => include_str!("tools/read.md"),
        "Skill" => include_str!("tools/skill.md"),
        "TaskCreate" => include_str!("tools/task_create.md"),
        "TaskGet" => include_str!("tools/task_get.md"),
        "TaskList" => include_str!("tools/task_list.md"),
        "TaskOutput" => include_str!("tools/task_output.md"),
        "TaskStop" => include_str!("tools/task_stop.md"),
        "TaskUpdate" => include_str!("tools/task_update.md"),
        "TodoWrite" => include_str!("tools/todo_write.md"),
        "WebFetch" => include_str!("tools/web_fetch.md"),
        "Write" => include_str!("tools/write.md"),
        _ => "",
    };
    let fill = |text: &str, blanks: &[(&str, &str)]| {
        blanks.iter().fold(text.trim_end().to_owned(), |text, (blank, with)| text.replace(blank, with))
    };
    let separator = if newest { "tab" } else { "arrow" };
    let searches = generation != Generation::Current;
    match name {
        "Agent" | "Task" => {
            let kinds = match newest {
                true => "The kinds of agents at hand are listed in <system-reminder> messages.".to_owned(),
                false => {
                    format!("The kinds of agents and the tools that they have:\n{}", super::agent::kinds(generation))
                }
            };
            let default = if newest { " Without it, general-purpose takes the task." } else { "" };
            let background = match generation {
                Generation::V1_0 | Generation::V2_0 => "",
                Generation::V2_1 => "\n- run_in_background lets it work while you go on; you are told when it is done.",
                _ => {
                    "\n- Agents work in the background and you are told when one is done; do not wait, poll or guess meanwhile. Where you need the report for your very next step, set run_in_background: false."
                }
            };
            fill(text, &[("{kinds}", &kinds), ("{default_kind}", default), ("{background}", background)])
        }
        "Bash" => {
            let (glob, grep) = match searches {
                true => ("Glob, not find or ls", "Grep, not grep or rg"),
                false => ("find, or ls", "grep -r, kept to the files that matter"),
            };
            let background = match generation {
                Generation::V1_0 => "",
                Generation::V2_0 => {
                    "\n- run_in_background lets a command run on while you work; BashOutput shows what it has written. No `&` is needed then."
                }
                Generation::V2_1 => {
                    "\n- run_in_background lets a command run on while you work; TaskOutput shows what it has written. No `&` is needed then."
                }
                _ => {
                    "\n- run_in_background lets a command run on while you work. You are told when it ends, so do not wait for it with sleep. No `&` is needed then."
                }
            };
            fill(text, &[("{glob}", glob), ("{grep}", grep), ("{background}", background)])
        }
        "Edit" => fill(text, &[("{separator}", separator)]),
        "Read" => {
            let kinds = match generation {
                Generation::V1_0 => {
                    "- PDF files are shown with their text and pictures. Notebooks (.ipynb) are read with NotebookRead."
                }
                Generation::V2_0 | Generation::V2_1 => {
                    "- PDF files are shown with their text and pictures.\n- Notebooks (.ipynb) are shown cell by cell, outputs included."
                }
                _ => {
                    "- PDF files: more than ten pages need `pages` (\"1-5\"), 20 at most in a call.\n- Notebooks (.ipynb) are shown cell by cell, outputs included."
                }
            };
            let list = if generation == Generation::V1_0 { "LS" } else { "ls in Bash" };
            fill(
                text,
                &[
                    ("{separator}", &format!("a{} {separator}", if newest { "" } else { "n" })),
                    ("{kinds}", kinds),
                    ("{list}", list),
                ],
            )
        }
        "ExitPlanMode" => {
            let plan = match generation {
                Generation::V1_0 | Generation::V2_0 => "The plan is given in `plan`: short, in markdown.",
                _ => {
                    "The plan stands in the plan file, which you have written before; this tool takes no text of it. The user sees that file."
                }
            };
            fill(text, &[("{plan}", plan)])
        }
        "Skill" => {
            let parameter = match generation {
                Generation::V2_0 => "`command` takes the name alone, such as \"release-notes\".",
                _ => "`skill` takes the name, such as \"release-notes\"; `args` what it is to work on.",
            };
            fill(text, &[("{parameter}", parameter)])
        }
        "TodoWrite" => {
            let fields = match generation {
                Generation::V1_0 => "Each has content (an order: \"Run the tests\"), a priority and an id of its own.",
                _ => {
                    "Each has two forms: content, an order (\"Run the tests\"), and activeForm, what is shown while it is in progress (\"Running the tests\")."
                }
            };
            fill(text, &[("{fields}", fields)])
        }
        "WebFetch" => {
            let offset = if newest { "; go on reading with offset, by the number that the result gives" } else { "" };
            fill(text, &[("{offset}", offset)])
        }
        _ => fill(text, &[("{agent}", generation.agent())]),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_tool_has_a_schema_and_a_description() {
        for generation in super::super::tests::GENERATIONS {
            for name in names(generation) {
                assert_eq!(schema(generation, name)["type"], "object", "{generation:?} {name}");
                let text = description(generation, name);
                assert!(
                    text.len() > 100 && !text.contains('{') || text.contains("map[string]any{"),
                    "{generation:?} {name}: {text}"
                );
            }
            assert_eq!(schemas(generation).len() >= names(generation).len(), true);
        }
    }
}
