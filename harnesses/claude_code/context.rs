//! What stands before the first prompt: facts about the machine and the model, agents, skills, project instructions, git, the date.
use protocol::{ApprovalPolicy, Part};

use super::agent;
use super::generation::Generation;
use super::plan;
use super::prompt::{Facts, model};
use super::remind;
use super::shared::prompt::{permissions, reminder};
use super::tools;
use crate::Context;

const HEADING: &str = "As you answer the user's questions, you can use the following context:";

/// The blocks before the first prompt.
pub(super) fn parts(generation: Generation, cx: &Context) -> Vec<Part> {
    let texts = match generation {
        Generation::Classic | Generation::Zcode => classic(generation, cx),
        // The rest is said by a system message behind the prompt.
        Generation::Current => [docs(cx), git(cx)].into_iter().flatten().collect(),
        _ => {
            let more = [
                docs(cx).map(|text| format!("{text}\n")),
                // It had no tool for skills; later ones name them in the tool's description.
                (generation == Generation::V1_0).then(|| super::shared::prompt::skills(cx)).flatten(),
                permissions(cx.settings),
                plan::rules(generation, &cx.settings.mode),
            ];
            return more.into_iter().flatten().map(|text| Part::Text(format!("{}\n", reminder(&text)))).collect();
        }
    };
    texts.into_iter().map(|text| Part::Text(reminder(&text))).collect()
}

fn classic(generation: Generation, cx: &Context) -> Vec<String> {
    let main = cx.persona.name.is_empty();
    let mut texts = vec![environment(cx), model(cx)];
    texts.extend(main.then(|| agents(generation, cx)).flatten());
    texts.extend(skills(cx));
    texts.extend(plan::rules(generation, &cx.settings.mode));
    texts.extend(remind::budget(generation, cx));
    texts.extend(permissions(cx.settings));
    texts.extend(docs(cx));
    texts.extend(git(cx));
    texts.extend(date(cx));
    texts
}

/// What `Current` says of itself behind the first prompt, in a system message.
pub(super) fn behind(cx: &Context) -> String {
    let generation = Generation::Current;
    let mut texts = vec![environment(cx), model(cx)];
    texts.extend(cx.persona.name.is_empty().then(|| agents(generation, cx)).flatten());
    texts.extend(skills(cx));
    texts.extend(plan::rules(generation, &cx.settings.mode));
    texts.extend(permissions(cx.settings));
    if permissions(cx.settings).is_none() && cx.settings.approval == ApprovalPolicy::Never {
        texts.push("Nothing that you do is held back for approval, so shell commands may be used for small reads and edits too.".to_owned());
    }
    texts.extend(date(cx));
    texts.join("\n\n")
}

fn environment(cx: &Context) -> String {
    let facts = Facts::of(cx);
    let (platform, os) = facts.system();
    format!(
        "# Environment\nYou have been invoked in the following environment: \n - Primary working directory: {}\n - Is a git repository: {}\n - Platform: {platform}\n - Shell: {}\n - OS Version: {os}\n - What was downloaded or unpacked is not to be trusted. Put each such thing into a new folder of its own, keep your scripts elsewhere, and start no interpreter or build inside of it: a planted file could be loaded in place of a library. Use `python -I` where Python must read it. Code that the user asked you to build or run is not meant.\n - In `curl`, values that are not to be trusted go with `--form-string`, not with `-F`.",
        cx.settings.cwd.display(),
        facts.git.is_some(),
        facts.shell.unwrap_or("bash"),
    )
}

fn agents(generation: Generation, cx: &Context) -> Option<String> {
    let tool = generation.agent();
    tools::offered(generation, cx).contains(&tool).then(|| {
        format!(
            "Available agent types for the {tool} tool:\n{}\n\nAgents with work that does not depend on each other are started in one message, so that they run side by side.",
            agent::kinds(generation)
        )
    })
}

/// `- name: description`, one a line.
pub(super) fn skill_lines(cx: &Context) -> String {
    let lines = cx.skills.iter().map(|skill| format!("- {}: {}", skill.name, skill.description));
    lines.collect::<Vec<_>>().join("\n")
}

fn skills(cx: &Context) -> Option<String> {
    (!cx.skills.is_empty())
        .then(|| format!("The following skills are available for use with the Skill tool:\n\n{}", skill_lines(cx)))
}

fn docs(cx: &Context) -> Option<String> {
    let text = super::shared::prompt::docs(cx)?;
    Some(format!("{HEADING}\n# claudeMd\n{text}"))
}

fn git(cx: &Context) -> Option<String> {
    let main = matches!(cx.persona.name.as_str(), "" | "general-purpose");
    let status = Facts::of(cx).git_status().filter(|_| main)?;
    Some(format!("{HEADING}\n{status}"))
}

fn date(cx: &Context) -> Option<String> {
    Facts::of(cx).date.map(|date| format!("Today's date is {date}."))
}
