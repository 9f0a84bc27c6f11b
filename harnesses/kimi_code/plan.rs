//! EnterPlanMode and ExitPlanMode. The plan file lies in the session's folder; the gate lets it be written and nothing else.
use protocol::{Action, ApprovalPolicy, Done, Mode, Outcome, ReadAs, Session, World};

use super::envelope::Said;
use super::refusal;
use crate::{Context, Next};

const PLAN: u64 = 1 << 20;

const NOT_ACTIVE: &str =
    "ExitPlanMode can only be called while plan mode is active. Use EnterPlanMode (or /plan) first.";
const STEPS: &str = "1. Look into the code with read-only tools (Read, Grep, Glob). Use Bash only where it is needed.\n2. Work out a plan in concrete steps.\n3. Put the plan into the plan file with Write or Edit.\n4. When it is ready, call ExitPlanMode to have it approved by the user.\n\nNo file but the plan file may be edited in plan mode.\nBash is for what needs it; the permission mode and its rules hold for it as always.";
const EXITED: &str = "Exited plan mode. Plan mode deactivated. All tools are now available.";
const UNREVIEWED: &str = "Note: the plan was approved automatically and nobody has looked at it. Whether to carry it out now is for the user's original request to say.";

pub(super) fn enter(cx: &Context, did: &[Done]) -> Next {
    let said = |said: Said| Next::Answer(said.answer("EnterPlanMode", did));
    if let (Mode::Plan { .. }, []) = (&cx.settings.mode, did) {
        return said(Said::failed("Plan mode is already active. Use ExitPlanMode when the plan is ready."));
    }
    match did {
        [] => Next::Do(vec![super::envelope::save("", "plan")]),
        [Done { outcome: Outcome::Saved { path, .. }, .. }] => {
            Next::Do(vec![Action::Session(Session::Mode(Mode::Plan { file: path.clone() }))])
        }
        [Done { outcome: Outcome::Saved { path, .. }, .. }, Done { outcome: Outcome::Ok, .. }, ..] => said(Said::ok(
            format!("Plan mode is now active. Your workflow:\n\nPlan file: {}\n\n{STEPS}", path.display()),
        )),
        [.., last] => said(refusal::said("EnterPlanMode", &last.outcome)),
    }
}

pub(super) fn exit(cx: &Context, did: &[Done]) -> Next {
    let said = |said: Said| Next::Answer(said.answer("ExitPlanMode", did));
    let Some(first) = did.first() else {
        return match &cx.settings.mode {
            Mode::Default => said(Said::failed(NOT_ACTIVE)),
            Mode::Plan { file } => Next::Do(vec![Action::World(World::Read {
                path: file.clone(),
                what: ReadAs::Text { max_bytes: PLAN },
            })]),
        };
    };
    let Action::World(World::Read { path: file, .. }) = &first.action else {
        return said(refusal::said("ExitPlanMode", &first.outcome));
    };
    let text = match &first.outcome {
        Outcome::Text { text, .. } if !text.trim().is_empty() => text,
        _ => {
            return said(Said::failed(format!(
                "No plan file found. Write your plan to {} first, then call ExitPlanMode.",
                file.display()
            )));
        }
    };
    let asks = cx.settings.approval != ApprovalPolicy::Never;
    let file = file.display();
    match did.get(1).map(|done| &done.outcome) {
        None if asks => Next::Do(vec![Action::Session(Session::ProposePlan { text: Some(text.clone()) })]),
        None => Next::Do(vec![Action::Session(Session::Mode(Mode::Default))]),
        Some(Outcome::Ok) => said(Said::ok(format!(
            "{EXITED}\n{UNREVIEWED}\nPlan saved to: {file}\n\n## Plan (auto-approved, not user-reviewed):\n{text}"
        ))),
        Some(Outcome::PlanDecided { approved: true, .. }) => {
            said(Said::ok(format!("{EXITED}\nPlan saved to: {file}\n\n## Approved Plan:\n{text}")))
        }
        Some(Outcome::PlanDecided { approved: false, feedback, .. }) => {
            let refusal = protocol::Refusal::User { feedback: feedback.clone() };
            said(Said::failed(refusal::refused("ExitPlanMode", &refusal)))
        }
        // The user chose plan mode, and only the user ends it.
        Some(Outcome::Refused(protocol::Refusal::PlanMode { .. } | protocol::Refusal::NobodyToAsk { .. })) => {
            said(Said::failed(format!(
                "Plan mode was chosen by the user and ends when the user approves a plan, which nobody can do here. The plan is in {file}. End your turn with a summary of it."
            )))
        }
        Some(other) => said(refusal::said("ExitPlanMode", other)),
    }
}
