//! System text and the message that gives the task: the structure of mini-swe-agent's templates in our own words.
use protocol::{ApprovalPolicy, Body, Content, Fact, Opening, Raw, SandboxMode, Speaker, Tool, ToolKind};

use super::text_form;
use crate::{Context, writable};

const SYSTEM: &str = "You are a helpful assistant with the use of a computer's shell.";
const SYSTEM_TEXT: &str = include_str!("system_text.md");
const INSTANCE: &str = include_str!("instance.md");
const INSTANCE_TEXT: &str = include_str!("instance_text.md");

const SCHEMA: &str = r#"{"type":"object","properties":{"command":{"type":"string","description":"The bash command to run"}},"required":["command"]}"#;

pub(super) fn open(cx: &Context) -> Opening {
    let text = text_form(cx);
    let base = if text { SYSTEM_TEXT.trim_end() } else { SYSTEM };
    let prompt = cx
        .persona
        .prompt
        .as_deref()
        .or(cx.settings.instructions.as_deref())
        .or(cx.words.prompt.as_deref())
        .unwrap_or(base);
    let mut prompt = prompt.to_owned();
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|more| !more.is_empty()) {
        prompt.push_str(&format!("\n\n{more}"));
    }
    let tools = if text { Vec::new() } else { vec![bash(cx)] };
    Opening { instructions: vec![(Speaker::System, Content::Plain(prompt))], tools }
}

fn bash(cx: &Context) -> Tool {
    Tool {
        namespace: None,
        name: super::parse::TOOL.to_owned(),
        description: cx.words.tools.get("bash").cloned().unwrap_or_else(|| "Run a bash command".to_owned()),
        kind: ToolKind::Function(Raw::parse(SCHEMA).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    }
}

/// The first message, with the task in it.
pub(super) fn instance(cx: &Context, task: &str) -> String {
    let template = if text_form(cx) { INSTANCE_TEXT } else { INSTANCE };
    let (uname, darwin) = system(cx);
    let sed = match darwin {
        true => "\n<important>This is macOS: write `sed -i ''` where the examples have `sed -i`.</important>\n",
        false => "",
    };
    // The task last, so that nothing in it is taken for a place of the template.
    let extra = extra(cx);
    let text = template.trim_end().replace("{{system}}", &uname).replace("{{sed}}", sed).replace("{{extra}}", &extra);
    text.replacen("{{task}}", task, 1)
}

fn system(cx: &Context) -> (String, bool) {
    let fact = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::System { system, release, version, machine }) => {
            Some((format!("{system} {release} {version} {machine}"), system == "Darwin"))
        }
        _ => None,
    });
    fact.unwrap_or_else(|| ("unknown".to_owned(), false))
}

/// Ours: instructions of user and project, skills, and what the sandbox allows. Nothing where there is nothing to say.
fn extra(cx: &Context) -> String {
    let mut text = String::new();
    for doc in cx.docs {
        text.push_str(&format!("\n<instructions file=\"{}\">\n{}\n</instructions>\n", doc.path, doc.text.trim_end()));
    }
    if !cx.skills.is_empty() {
        let lines: Vec<String> = cx
            .skills
            .iter()
            .map(|skill| format!("- {}: {} (cat {})", skill.name, skill.description, skill.file))
            .collect();
        text.push_str(&format!(
            "\n<skills>\nWhere one of these fits the task, read its file first:\n{}\n</skills>\n",
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
        "\n<permissions>\nCommands run in a sandbox ({}): {writes}; the network is {network}; {asking}.\n</permissions>\n",
        sandbox.mode.as_str()
    )
}
