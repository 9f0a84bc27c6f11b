//! The opening: one system text of tools, guidelines, project context, skills, date and folder; and what is asked of the model beside
//! it. Order, headlines and labels as pi 0.73.1 has them.
use protocol::{Body, Content, Fact, Opening, Raw, Speaker, Tune, WireId};

use super::tools;
use crate::Context;
use crate::claude_code_bare::prompt::permissions;

const IDENTITY: &str = "You are an expert in software who works as a coding agent for the user: you read files, run commands, change code and write new files.";

const GUIDELINES: &str = "\
- Operations on files (ls, rg, find) are done with bash
- To look into a file use read, not cat or sed.
- Exact changes are made with edit (each edits[].oldText must match to the letter)
- Several separate places of one file are changed in one edit call with several entries in edits[], not in several calls
- Each edits[].oldText is looked for in the file as it was before the call, not as other edits leave it. None may overlap with another or lie inside of one; changes close to each other are one edit.
- Each edits[].oldText is as short as it can be and still stand in the file once. Do not fill it up with long stretches that stay.
- write is for new files and for rewriting one from top to bottom.
- Answer in few words
- Where files are concerned, show their paths";

/// Tokens of one reply, where nothing is known of the model.
const MAX_OUTPUT: u64 = 16_384;

pub(super) fn open(cx: &Context) -> Opening {
    // Reasoning models take their orders from a developer, where the server knows that role.
    let developer = cx.model.known && cx.model.reasoning && cx.caps.developer_role;
    let speaker = if developer { Speaker::Developer } else { Speaker::System };
    Opening { instructions: vec![(speaker, Content::Plain(text(cx)))], tools: tools::offered(cx) }
}

fn text(cx: &Context) -> String {
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref()).or(cx.words.prompt.as_deref());
    let mut text = own.map_or_else(|| base(cx), |own| own.trim_end().to_owned());
    for more in [cx.settings.developer_instructions.clone(), permissions(cx.settings)].into_iter().flatten() {
        if !more.trim().is_empty() {
            text.push_str(&format!("\n\n{}", more.trim_end()));
        }
    }
    if !cx.docs.is_empty() {
        text.push_str("\n\n# Project Context\n\nInstructions and guidelines of this project:\n\n");
        for doc in cx.docs {
            text.push_str(&format!("## {}\n\n{}\n\n", doc.path, doc.text));
        }
    }
    if let Some(skills) = skills(cx) {
        text = format!("{}\n\n{skills}", text.trim_end());
    }
    let date = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Date { date, .. }) => Some(date.as_str()),
        _ => None,
    });
    if let Some(date) = date {
        text.push_str(&format!("\nCurrent date: {date}"));
    }
    text + &format!("\nCurrent working directory: {}", cx.settings.cwd.display())
}

fn base(cx: &Context) -> String {
    let offered = tools::TOOLS.iter().filter(|(name, ..)| tools::offers(cx, name));
    let lines: Vec<String> = offered.map(|(name, snippet, ..)| format!("- {name}: {snippet}")).collect();
    format!(
        "{IDENTITY}\n\nAvailable tools:\n{}\n\nA project may bring further tools of its own.\n\nGuidelines:\n{GUIDELINES}",
        lines.join("\n")
    )
}

fn skills(cx: &Context) -> Option<String> {
    if cx.skills.is_empty() || !tools::offers(cx, "read") {
        return None;
    }
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let skill = |skill: &crate::SkillInfo| {
        format!(
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    <location>{}</location>\n  </skill>",
            escaped(&skill.name),
            escaped(&skill.description),
            escaped(&skill.file)
        )
    };
    let all: Vec<String> = cx.skills.iter().map(skill).collect();
    Some(format!(
        "Each of these skills holds instructions for one kind of task.\nIf the task is what one of them describes, open its file with the read tool.\nA relative path in such a file starts in the folder of that SKILL.md; give commands and tools the absolute one.\n\n<available_skills>\n{}\n</available_skills>",
        all.join("\n")
    ))
}

pub(super) fn tune(cx: &Context) -> Tune {
    let mut tune = Tune {
        max_output: Some(cx.settings.max_output.or(cx.model.max_output).unwrap_or(MAX_OUTPUT)),
        schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        verbosity: cx.settings.verbosity.clone(),
        ..Tune::default()
    };
    let own = (cx.model.known && cx.model.reasoning).then(|| "medium".to_owned());
    tune.reasoning.effort = cx.settings.effort.clone().or(own);
    tune.reasoning.summary = cx.settings.summary.clone();
    if cx.source.wire == WireId::Chat {
        tune.extras.push((WireId::Chat, "store".to_owned(), Raw::of(&false)));
    }
    tune
}
