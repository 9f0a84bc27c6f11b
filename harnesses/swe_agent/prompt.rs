//! System text and the message that gives the task: the structure of the original's templates, in our own words.
use protocol::{ApprovalPolicy, Content, Opening, SandboxMode, Speaker};

use super::record::Record;
use super::{Form, observe, tools, window};
use crate::{Context, writable};

const SYSTEM: &str = "You are a helpful assistant that can use a computer to solve tasks.";

pub(super) fn open(cx: &Context) -> Opening {
    let form = Form::of(cx);
    let base = match form {
        Form::Tools => SYSTEM.to_owned(),
        Form::Classic => fill(include_str!("system_classic.md"), form),
        Form::Text => fill(include_str!("system_text.md"), form),
    };
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref()).or(cx.words.prompt.as_deref());
    let mut prompt = own.map_or(base, str::to_owned);
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|more| !more.is_empty()) {
        prompt.push_str(&format!("\n\n{more}"));
    }
    Opening { instructions: vec![(Speaker::System, Content::Plain(prompt))], tools: tools::offered(cx) }
}

fn fill(template: &str, form: Form) -> String {
    let text = template.trim_end().replace("{{WINDOW}}", &window::WINDOW.to_string());
    text.replace("{{command_docs}}", tools::docs(form).trim_end())
}

/// The first message, with the task in it.
pub(super) fn instance(cx: &Context, task: &str) -> String {
    let (template, state) = match Form::of(cx) {
        Form::Tools => (include_str!("instance.md"), String::new()),
        Form::Classic | Form::Text => {
            (include_str!("instance_classic.md"), observe::state_lines(&Record::of(cx).state))
        }
    };
    let text = template.trim_end().replace("{{working_dir}}", &cx.settings.cwd.display().to_string());
    let text = text.replace("{{extra}}", &extra(cx)).replace("{{state}}", &state);
    // The task last, so that nothing in it is taken for a place of the template.
    text.replacen("{{problem_statement}}", task, 1)
}

/// Ours: instructions of user and project, skills, and what the sandbox allows. Nothing where there is nothing to say.
fn extra(cx: &Context) -> String {
    let mut text = String::new();
    for doc in cx.docs {
        text.push_str(&format!("<instructions file=\"{}\">\n{}\n</instructions>\n\n", doc.path, doc.text.trim_end()));
    }
    if !cx.skills.is_empty() {
        let lines: Vec<String> = cx
            .skills
            .iter()
            .map(|skill| format!("- {}: {} (cat {})", skill.name, skill.description, skill.file))
            .collect();
        text.push_str(&format!(
            "<skills>\nWhere one of these fits the task, read its file first:\n{}\n</skills>\n\n",
            lines.join("\n")
        ));
    }
    text.push_str(&permissions(cx));
    text
}

fn permissions(cx: &Context) -> String {
    let sandbox = &cx.settings.sandbox;
    if sandbox.mode == SandboxMode::DangerFullAccess || !cx.settings.feature("include_permissions_instructions", true) {
        return String::new();
    }
    let writes = match sandbox.mode {
        SandboxMode::ReadOnly => "nothing may be written".to_owned(),
        _ => {
            format!("only these folders may be written: {}", writable::folders(cx.settings).join(", "))
        }
    };
    let network = if sandbox.network { "open" } else { "closed" };
    let asking = match cx.settings.approval {
        ApprovalPolicy::Never => "nobody can be asked for more",
        _ => "the user is asked where more is needed",
    };
    format!(
        "<permissions>\nCommands and edits run in a sandbox ({}): {writes}; the network is {network}; {asking}.\n</permissions>\n\n",
        sandbox.mode.as_str()
    )
}
