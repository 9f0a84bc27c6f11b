//! The opening and what stands before the first prompt. The original's system text is one sentence, the folder and the date.
use protocol::{ApprovalPolicy, Body, Content, Fact, Opening, Part, SandboxMode, Settings, Speaker};

use super::tools;
use crate::{Context, writable};

const IDENTITY: &str = "You are a coding agent that works in the user's terminal.";

pub(crate) fn open(cx: &Context) -> Opening {
    let identity = cx
        .persona
        .prompt
        .as_deref()
        .or(cx.settings.instructions.as_deref())
        .or(cx.words.prompt.as_deref())
        .unwrap_or(IDENTITY);
    let date = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Date { date, .. }) => Some(date.as_str()),
        _ => None,
    });
    let mut place = format!("CWD: {}", cx.settings.cwd.display());
    if let Some(date) = date {
        place.push_str(&format!("\nDate: {date}"));
    }
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|text| !text.is_empty()) {
        place.push_str(&format!("\n\n{more}"));
    }
    let block = |text: &str| (Speaker::System, Content::Parts(vec![Part::text(text)]));
    Opening { instructions: vec![block(identity), block(&place)], tools: tools::offered(cx) }
}

/// Reminders before the first prompt of a conversation. The original has none with `--bare`; skills, project instructions and
/// permissions reach the model in every harness here, in the form that the full Claude Code gives them.
pub(crate) fn context(cx: &Context) -> Vec<Part> {
    let texts = [skills(cx), docs(cx), permissions(cx.settings)];
    texts.into_iter().flatten().map(|text| Part::Text(reminder(&text))).collect()
}

pub(crate) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// What a hook has to say.
pub(crate) fn hook(event: &str, text: &str) -> String {
    let kind = match event {
        "SessionStart" | "UserPromptSubmit" => "hook success",
        _ => "hook additional context",
    };
    format!("{event} {kind}: {text}")
}

pub(crate) fn skills(cx: &Context) -> Option<String> {
    if cx.skills.is_empty() {
        return None;
    }
    let lines: Vec<String> = cx
        .skills
        .iter()
        .map(|skill| format!("- {}: {} (file: {})", skill.name, skill.description, skill.file))
        .collect();
    Some(format!(
        "These skills are at hand. Where one fits the task, Read its file first and follow it:\n\n{}",
        lines.join("\n")
    ))
}

pub(crate) fn docs(cx: &Context) -> Option<String> {
    if cx.docs.is_empty() {
        return None;
    }
    let files: String = cx
        .docs
        .iter()
        .map(|doc| {
            let kind = match doc.project {
                true => "project instructions, checked into the codebase",
                false => "user's private global instructions for all projects",
            };
            format!("Contents of {} ({kind}):\n\n{}\n\n", doc.path, doc.text.trim_end())
        })
        .collect();
    Some(format!(
        "Instructions of the user and of the project follow. Keep to them; they go before your own defaults.\n\n{}",
        files.trim_end()
    ))
}

/// None where nothing is kept from the model.
pub(crate) fn permissions(settings: &Settings) -> Option<String> {
    let mode = settings.sandbox.mode;
    if mode == SandboxMode::DangerFullAccess || !settings.feature("include_permissions_instructions", true) {
        return None;
    }
    let writes = match mode {
        SandboxMode::ReadOnly => "Nothing may be written".to_owned(),
        _ => {
            format!("Only these folders may be written: {}", writable::folders(settings).join(", "))
        }
    };
    let network = if settings.sandbox.network { "is open to commands" } else { "is closed to commands" };
    let asking = match settings.approval {
        ApprovalPolicy::Never => "Nobody can be asked for more: find another way, or say what is missing.",
        _ => "The user is asked where more is needed.",
    };
    Some(format!("Commands and edits run in a sandbox ({}). {writes}. The network {network}. {asking}", mode.as_str()))
}
