//! The opening: one system text in the order of the original's sections, and what is asked of the model beside it.
use protocol::{ApprovalPolicy, Body, Content, Fact, Opening, ReasoningAsk, Settings, Speaker, Tune};

use super::{agents, tools};
use crate::Context;
use crate::claude_code_bare::prompt::permissions;

/// The version that the environment block names.
const VERSION: &str = "0.8.41";
/// Tokens of one reply.
const MAX_OUTPUT: u64 = 65_536;

const BASE: &str = include_str!("prompt/base.md");
const PERSONALITY: &str = include_str!("prompt/personality.md");
const CONTEXT: &str = include_str!("prompt/context.md");
const AGENT_END: &str = "Nobody answers questions while you work. Your last message is your report: it goes to the agent that started you, and nothing else of your work does. Say what you found or did, where, how it was checked, and what is open.";

pub(super) fn open(cx: &Context) -> Opening {
    Opening { instructions: vec![(Speaker::System, Content::Plain(text(cx)))], tools: tools::offered(cx) }
}

fn text(cx: &Context) -> String {
    let mut sections: Vec<String> = Vec::new();
    let mut add = |text: String| sections.push(text.trim_end().to_owned());
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref());
    match (own, cx.persona.name.as_str()) {
        (Some(own), _) => add(own.to_owned()),
        (None, "") => match &cx.words.prompt {
            Some(words) => add(words.clone()),
            None => {
                add(base(cx));
                add(PERSONALITY.to_owned());
            }
        },
        (None, kind) => {
            add(format!("{}\n\n{AGENT_END}", agents::prompt(kind).or(agents::prompt("worker")).unwrap_or_default()))
        }
    }
    if cx.persona.name.is_empty() {
        add(mode(cx.settings).to_owned());
    }
    add(approvals(cx.settings));
    if !cx.docs.is_empty() {
        let docs = cx.docs.iter().map(|doc| format!("### {}\n\n{}", doc.path, doc.text.trim()));
        let docs: Vec<String> = docs.collect();
        add(format!(
            "## Project context\n\nInstructions of the user and of the project. They go before your own habits.\n\n{}",
            docs.join("\n\n")
        ));
    }
    add(environment(cx));
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|more| !more.trim().is_empty()) {
        add(more.to_owned());
    }
    if let Some(skills) = skills(cx) {
        add(skills);
    }
    if cx.persona.name.is_empty() && own.is_none() {
        add(CONTEXT.to_owned());
    }
    sections.join("\n\n")
}

fn base(cx: &Context) -> String {
    let held: Vec<&str> =
        tools::callable(cx).filter(|spec| tools::is_deferred(cx, spec)).map(|spec| spec.name).collect();
    if held.is_empty() {
        // Nothing is to be looked for.
        let paragraphs = BASE.split("\n\n").filter(|paragraph| !paragraph.contains("{deferred}"));
        return paragraphs.collect::<Vec<_>>().join("\n\n");
    }
    BASE.replace("{deferred}", &held.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
}

pub(super) fn mode(settings: &Settings) -> &'static str {
    match () {
        () if tools::is_planning(settings) => include_str!("prompt/plan.md"),
        () if tools::is_yolo(settings) => include_str!("prompt/yolo.md"),
        () => include_str!("prompt/agent.md"),
    }
}

fn approvals(settings: &Settings) -> String {
    let asking = match settings.approval {
        ApprovalPolicy::Never => {
            "Nothing is asked for: a call is carried out within what the sandbox lets be done, or refused. Do not wait for an approval, and do not look for a way around a refusal; say what you could not do."
        }
        ApprovalPolicy::Untrusted => {
            "Commands, changes of files and pages are put before the user first. Put what belongs together into few calls, and make clear what each is for. A call that the user refuses is not made again in another form."
        }
        ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest => {
            "Within the sandbox calls are carried out unasked; what reaches beyond it is put before the user. A call that the user refuses is not made again in another form."
        }
    };
    let mut text = format!("## Approval policy: {}\n\n{asking}", settings.approval.as_str());
    if let Some(permissions) = permissions(settings) {
        text.push_str(&format!("\n\n{permissions}"));
    }
    text
}

/// Line for line as the original has it.
fn environment(cx: &Context) -> String {
    let (mut platform, mut shell) = ("linux".to_owned(), "sh".to_owned());
    for item in cx.items {
        match &item.body {
            Body::Fact(Fact::System { system, .. }) => platform = system.to_lowercase().replace("darwin", "macos"),
            Body::Fact(Fact::Shell(name)) => shell.clone_from(name),
            _ => {}
        }
    }
    format!(
        "## Environment\n\n- lang: en\n- deepseek_version: {VERSION}\n- platform: {platform}\n- shell: {shell}\n- pwd: {}",
        cx.settings.cwd.display()
    )
}

fn skills(cx: &Context) -> Option<String> {
    let line = |skill: &crate::SkillInfo| format!("- **{}**: {} (file: {})", skill.name, skill.description, skill.file);
    let lines: Vec<String> = cx.skills.iter().map(line).collect();
    (!lines.is_empty()).then(|| {
        format!("## Skills\n\nInstructions for kinds of tasks. Where one fits, get it with `load_skill` before you begin, and follow it.\n\n{}", lines.join("\n"))
    })
}

pub(super) fn date<'a>(cx: &Context<'a>) -> Option<&'a str> {
    cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Date { date, .. }) => Some(date.as_str()),
        _ => None,
    })
}

/// What changed in how one works, in mid-conversation.
pub(super) fn changed(settings: &Settings) -> String {
    format!("{}\n\n{}", mode(settings).trim_end(), approvals(settings))
}

fn is_deepseek(cx: &Context) -> bool {
    cx.model.slug.to_lowercase().contains("deepseek") || cx.source.provider.to_lowercase().contains("deepseek")
}

/// DeepSeek's models in thinking mode; `deepseek-chat` has none.
pub(super) fn must_reason(cx: &Context) -> bool {
    is_deepseek(cx) && !cx.model.slug.to_lowercase().contains("deepseek-chat") && reasoning(cx).enabled != Some(false)
}

/// `off`; low, medium and high are the server's `high`; `max`.
fn reasoning(cx: &Context) -> ReasoningAsk {
    let on =
        |effort: &str| ReasoningAsk { effort: Some(effort.to_owned()), enabled: Some(true), ..ReasoningAsk::default() };
    match cx.settings.effort.as_deref() {
        Some("none" | "off") => ReasoningAsk { enabled: Some(false), ..ReasoningAsk::default() },
        Some("max" | "xhigh" | "ultra") => on("max"),
        Some(_) => on("high"),
        None if is_deepseek(cx) && !cx.model.slug.to_lowercase().contains("deepseek-chat") => on("high"),
        None => ReasoningAsk::default(),
    }
}

pub(super) fn tune(cx: &Context) -> Tune {
    // Where the window is small, a reply may not ask for most of it.
    let most = cx.model.max_output.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT).min(cx.model.context_window / 4).max(1);
    Tune {
        max_output: Some(cx.settings.max_output.unwrap_or(most)),
        reasoning: reasoning(cx),
        schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        ..Tune::default()
    }
}
