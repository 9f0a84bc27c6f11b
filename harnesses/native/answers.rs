//! Answers that are the same for every tool of this dialect, in Codex 0.171.0's words: refusals, aborts, unknown calls.
use protocol::{ApprovalPolicy, Call, CallForm, Millis, Refusal};

/// A name that is not offered. Namespace and name are joined without a sign, as upstream does.
pub(super) fn unsupported(call: &Call) -> String {
    let kind = if call.form == CallForm::Custom { "custom tool call" } else { "call" };
    format!("unsupported {kind}: {}{}", call.namespace.as_deref().unwrap_or(""), call.name)
}

pub(super) fn bad_arguments(serde_message: &str) -> String {
    format!("failed to parse function arguments: {serde_message}")
}

pub(super) fn aborted_after(took: Millis) -> String {
    format!("aborted by user after {:.1}s", took as f64 / 1000.0)
}

/// Why more rights are wanted, without a word that they are.
pub(super) const BARE_JUSTIFICATION: &str = "`justification` requires an explicit `sandbox_permissions`; use `sandbox_permissions: \"require_escalated\"` for unsandboxed execution, or omit `justification`.";

/// A command that is a patch and nothing else.
pub(super) const BARE_PATCH: &str = r#"apply_patch verification failed: patch detected without explicit call to apply_patch. Rerun as ["apply_patch", "<patch>"]"#;

/// A command that was never started.
pub(super) fn not_started(why: &str) -> String {
    let rejected = format!("Rejected({why:?})");
    format!("exec_command failed: CreateProcess {{ message: {rejected:?} }}")
}

pub(super) fn escalation(policy: ApprovalPolicy) -> String {
    let name = match policy {
        ApprovalPolicy::Untrusted => "UnlessTrusted",
        ApprovalPolicy::OnFailure => "OnFailure",
        ApprovalPolicy::OnRequest => "OnRequest",
        ApprovalPolicy::Never => "Never",
    };
    format!(
        "approval policy is {name}; reject command — you cannot ask for escalated permissions if the approval policy is {name}"
    )
}

/// Why nothing was done, where a tool has no words of its own for it.
pub(super) fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::User { feedback: Some(feedback) } => format!("rejected by user: {feedback}"),
        Refusal::User { feedback: None } => "rejected by user".to_owned(),
        Refusal::Cancelled => "aborted by user".to_owned(),
        Refusal::NobodyToAsk { .. } => "approval required by policy, but AskForApproval is set to Never".to_owned(),
        Refusal::Rule(reason) => format!("forbidden by a rule: {reason}"),
        Refusal::Hook { event, reason, .. } => format!("Command blocked by {event} hook: {reason}"),
        Refusal::PlanMode { file } => {
            format!("plan mode is on: nothing may be changed but the plan in {}", file.display())
        }
        Refusal::Sandbox { path, read_only: true } => {
            format!("the sandbox is read-only: {} may not be written", path.display())
        }
        Refusal::Sandbox { path, read_only: false } => {
            format!("{} is outside of what the sandbox lets be written", path.display())
        }
        Refusal::Stale { path } => format!("{} was changed by someone else meanwhile; read it again", path.display()),
        Refusal::Depth => "sub-agents are nested too deeply".to_owned(),
        Refusal::Limit(name) => format!("the limit {name} is reached"),
    }
}
