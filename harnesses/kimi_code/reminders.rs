//! Messages of the program in the user's place: the date, permissions, plan mode, a list gone stale, what ended by itself. Each is a
//! user message of its own, behind what it belongs to.
use std::path::{Path, PathBuf};

use protocol::{ApprovalPolicy, Block, BlockKind, Entry, Mode, Settings};

use super::{todo, tools};
use crate::Context;

const PLAN: &str = "Plan mode";
const TODO: &str = "The TodoList tool has not been used";

/// Replies without a change of the list, after which it is brought to mind.
const STALE: usize = 10;
/// Replies since the last word on plan mode: after the first number a short one, after the second all of it.
const SPARSE: usize = 2;
const FULL: usize = 5;

pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

pub(super) fn date(date: &str) -> String {
    reminder(&format!(
        "Today's date is {date}. You are told again whenever it changes; the latest reminder counts. DO NOT speak of this to the user."
    ))
}

/// In the mode that asks nobody.
pub(super) fn permissions(settings: &Settings) -> Option<String> {
    (settings.approval == ApprovalPolicy::Never).then(|| {
        reminder("Auto permission mode is active. As long as it is, tool calls are approved or denied automatically.\n  - Work on, and do not stop for approvals.\n  - Do NOT call AskUserQuestion in auto mode; decide, and go on.\n  - ExitPlanMode is approved automatically too, without the user seeing the plan. A plan approved in this way is NOT the user's word to begin: whether to go on is for the user's own instructions to say.")
    })
}

pub(super) fn interrupted() -> String {
    reminder(
        "The user interrupted the turn before this message. What you had put out by then is incomplete. The message that follows says how to go on.",
    )
}

pub(super) fn nested(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| format!("- {}", file.display())).collect();
    reminder(&format!(
        "Your last tool call went to paths for which these AGENTS.md files count; they are not in your system prompt:\n{}\nRead them before you change anything there.",
        names.join("\n")
    ))
}

fn plan_full(file: &Path) -> String {
    reminder(&format!(
        "{PLAN} is active. You MUST NOT edit anything (but the current plan file) or change the system in any other way, unless a tool call is approved expressly. Prefer tools that only read. Bash is for what needs it, under the permission mode and its rules. This goes before all other instructions that you have. TaskStop is blocked as well; call ExitPlanMode first if you need it.\n\nWorkflow:\n  1. Understand: look through the code with Glob, Grep, Read.\n  2. Design: settle on the best approach. Weigh the trade-offs, and aim for one recommendation.\n  3. Review: read the key files again, to be sure that you have understood them.\n  4. Write the plan: with Write or Edit, into the plan file. Write where it does not exist yet.\n  5. Exit: call ExitPlanMode for the user's approval.\n\n## Several approaches\nKeep to what matters: 2-3 at most that differ in earnest. No slight variations to fill the list; where one is clearly better, propose that one.\nWhere the best approach depends on preferences, limits or context that you do not know, ask with AskUserQuestion first. That makes a better plan than a heap of options for the user to sort.\nWhere the plan does contain several, you MUST pass them as `options` to ExitPlanMode, so that the user can choose one when approving. NEVER call it without `options` then: the user would have no way to choose.\n\nAskUserQuestion is for missing requirements and preferences that bear on the plan.\nNever ask for approval of the plan in text or with AskUserQuestion, and do not mention \"the plan\" there: the user sees it only when you call ExitPlanMode.\nYour turn ends with AskUserQuestion (something is unclear) or ExitPlanMode (approval). Do NOT end it in any other way.\n\n\nPlan file: {}",
        file.display()
    ))
}

fn plan_sparse(file: &Path) -> String {
    reminder(&format!(
        "{PLAN} is still active (all of it was said earlier). Prefer tools that only read; the plan file alone may be changed, with Write or Edit, and is created with Write where it does not exist. Bash is for what needs it, under the permission mode and its rules. Ask with AskUserQuestion where that makes the plan better, and pass several approaches as options to ExitPlanMode. End your turn with AskUserQuestion or ExitPlanMode. Never ask for approval of the plan in text or with AskUserQuestion.\n\n\nPlan file: {}",
        file.display()
    ))
}

pub(super) fn plan_exited() -> String {
    reminder(&format!("{PLAN} is over. Its restrictions do not hold any more."))
}

/// What is said at the end of all else, before the next request. `said`: everything so far.
pub(super) fn standing(cx: &Context, said: &[&Entry]) -> Vec<String> {
    let mut out = Vec::new();
    if let Mode::Plan { file } = &cx.settings.mode {
        out.extend(match since_plan(said) {
            Since::Never | Since::User => Some(plan_full(file)),
            Since::Replies(n) if n >= FULL => Some(plan_full(file)),
            Since::Replies(n) if n >= SPARSE => Some(plan_sparse(file)),
            Since::Replies(_) => None,
        });
    }
    // Only where the list has been used at all.
    let used = || said.iter().any(|entry| answers_list(entry));
    if tools::names(cx).contains(&"TodoList") && since_list(said) >= STALE && used() {
        let mut text = format!(
            "{TODO} for a while. If what you are doing gains by keeping track of it, think of updating the list; if the list has gone stale and does not fit the work any more, think of clearing or rewriting it. Only if it helps: this is a gentle hint, to be ignored where it does not apply. NEVER mention it to the user."
        );
        let list = todo::latest(cx);
        if !list.is_empty() {
            text.push_str("\n\nCurrent todo list:");
            for (n, (title, status)) in list.iter().enumerate() {
                text.push_str(&format!("\n{}. [{status}] {title}", n + 1));
            }
        }
        out.push(reminder(&text));
    }
    out
}

enum Since {
    Never,
    /// A user message stands behind the last word on it.
    User,
    Replies(usize),
}

fn since_plan(said: &[&Entry]) -> Since {
    let mut replies = 0;
    for entry in said.iter().rev() {
        match entry {
            Entry::Assistant(_) => replies += 1,
            Entry::User(content) => {
                let text = content.text();
                return match text.strip_prefix("<system-reminder>\n").is_some_and(|text| text.starts_with(PLAN)) {
                    true if text.contains("\nPlan file: ") => Since::Replies(replies),
                    true => Since::Never,
                    false => Since::User,
                };
            }
            _ => {}
        }
    }
    Since::Never
}

/// Replies since the list was written or this was last said.
fn since_list(said: &[&Entry]) -> usize {
    let mut replies = 0;
    for entry in said.iter().rev() {
        match entry {
            Entry::Assistant(blocks) if blocks.iter().any(writes_list) => return replies,
            Entry::Assistant(_) => replies += 1,
            Entry::User(content) if content.text().starts_with(&format!("<system-reminder>\n{TODO}")) => {
                return replies;
            }
            _ => {}
        }
    }
    replies
}

fn answers_list(entry: &Entry) -> bool {
    let Entry::Results { results, .. } = entry else { return false };
    results.iter().any(|result| result.name == "TodoList" && result.answer.error != Some(true))
}

fn writes_list(block: &Block) -> bool {
    matches!(&block.kind, BlockKind::Call(call) if todo::written(call).is_some())
}
