//! Plan mode: in by the model's own wish, out by an approved plan; and the reminders while it lasts.
use std::path::PathBuf;

use protocol::{Action, Done, Entry, Failure, Mode, Outcome, ReadAs, Refusal, Session, World};

use super::record::id8;
use super::refusal::not_done;
use super::result::Said;
use super::{Step, paths};
use crate::Context;

const MAX_BYTES: u64 = 4 << 20;
/// Replies between two reminders.
const APART: usize = 5;
const FULL: &str = include_str!("plan_full.md");
const SPARSE: &str = include_str!("plan_sparse.md");
const REMINDER: &str = "Plan mode is on";

fn file<'a>(cx: &'a Context) -> Option<&'a PathBuf> {
    match &cx.settings.mode {
        Mode::Plan { file } => Some(file),
        Mode::Default => None,
    }
}

/// Under a name that stays the same for the thread.
fn new_file(cx: &Context) -> PathBuf {
    let hash = cx
        .thread
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let home = paths::home_folder(cx).unwrap_or_else(|| cx.settings.cwd.clone());
    home.join(".openinterpreter/plans").join(format!("plan-{}.md", id8(hash)))
}

pub(super) fn enter(cx: &Context, did: &[Done]) -> Step {
    let Some(done) = did.first() else {
        if file(cx).is_some() {
            return Step::Tell(Said::failed("Already in plan mode. Write the plan file, then call ExitPlanMode."));
        }
        return Step::Do(vec![Action::Session(Session::Mode(Mode::Plan { file: new_file(cx) }))]);
    };
    Step::Tell(match (&done.outcome, &done.action) {
        (Outcome::Ok, Action::Session(Session::Mode(Mode::Plan { file }))) => {
            Said::ok("Plan mode on (auto)").with(format!(
                "Plan mode activated (auto-approved).\nPlan file: {}\nWorkflow: settle what is unclear, explore the code, design, write the plan into the plan file, call ExitPlanMode.\n",
                file.display()
            ))
        }
        (other, _) => not_done("Plan mode was not entered.", other),
    })
}

pub(super) fn exit(cx: &Context, did: &[Done]) -> Step {
    let read = did.iter().find_map(|done| match &done.action {
        Action::World(World::Read { path, .. }) => Some((path, &done.outcome)),
        _ => None,
    });
    let Some((path, plan)) = read else {
        return match file(cx) {
            None => Step::Tell(Said::failed("Not in plan mode. ExitPlanMode is only available during plan mode.")),
            Some(file) => {
                let (path, what) = (file.clone(), ReadAs::Text { max_bytes: MAX_BYTES });
                Step::Do(vec![Action::World(World::Read { path, what })])
            }
        };
    };
    let missing = || {
        let shown = path.display();
        Step::Tell(Said::failed(format!(
            "No plan file found. Write your plan to {shown} first, then call ExitPlanMode."
        )))
    };
    let text = match plan {
        Outcome::Text { text, .. } if !text.trim().is_empty() => text,
        Outcome::Text { .. } | Outcome::Failed(Failure::Io { .. }) => return missing(),
        other => return Step::Tell(not_done("Failed to read the plan file.", other)),
    };
    let approved = |message: &str, how: &str| {
        Said::ok(message).with(format!(
            "Plan approved{how}. Plan mode deactivated. All tools are now available.\nPlan saved to: {}\n\n## Approved Plan:\n{text}",
            path.display()
        ))
    };
    match did.get(1..).unwrap_or_default() {
        [] => Step::Do(vec![Action::Session(Session::ProposePlan { text: Some(text.clone()) })]),
        // Nobody is there to read it.
        [Done { outcome: Outcome::Refused(Refusal::NobodyToAsk { .. }), .. }] => {
            Step::Do(vec![Action::Session(Session::Mode(Mode::Default))])
        }
        [_, Done { outcome: Outcome::Ok, .. }] => Step::Tell(approved("Plan approved (auto)", " (auto-approved)")),
        [_, Done { outcome: Outcome::Refused(Refusal::PlanMode { .. }), .. }] => Step::Tell(Said::failed(
            "The user has set plan mode, and nobody is here to approve the plan. Do not change anything; end with a summary of the plan.",
        )),
        [Done { outcome: Outcome::PlanDecided { approved: true, .. }, .. }] => {
            Step::Tell(approved("Plan approved", " by the user"))
        }
        [Done { outcome: Outcome::PlanDecided { feedback, .. }, .. }] => Step::Tell(Said::failed(match feedback {
            Some(feedback) => format!("Plan rejected by the user. User feedback: {feedback}"),
            None => {
                "Plan rejected by the user. You are still in plan mode; wait for the user to say what to change.".into()
            }
        })),
        [.., done] => Step::Tell(not_done("The plan was not put before the user.", &done.outcome)),
    }
}

/// What is to be said now: at length on the way in, briefly each few replies after that.
pub(super) fn reminder(cx: &Context, new: &[Entry]) -> Option<String> {
    let file = file(cx)?.display().to_string();
    let is_reminder = |entry: &Entry| matches!(entry, Entry::User(content) if content.text().contains(REMINDER));
    let replies = |entries: &[Entry]| entries.iter().filter(|entry| matches!(entry, Entry::Assistant(_))).count();
    let text = match cx.said.iter().rposition(is_reminder) {
        None => FULL,
        Some(at) if replies(&cx.said[at..]) + replies(new) >= APART => SPARSE,
        Some(_) => return None,
    };
    Some(text.trim_end().replace("{{file}}", &file))
}
