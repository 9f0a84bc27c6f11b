//! System text of each generation and of sub-agents: the original's structure in our own words, without what is bound to the product.
use protocol::{Body, Content, Fact, GitFact, Opening, Part, Speaker};

use super::agent;
use super::generation::Generation;
use super::shared::profile::is_claude;
use super::tools::{self, Listing};
use crate::Context;

const IDENTITY: &str = "You are a coding agent that works in the user's terminal.";

const SECURITY_FIRST: &str = "IMPORTANT: Help with defensive security only. Refuse to write, change or improve code that may be used to do harm. Analysis, detection rules, explanations of weaknesses and tools for defence are fine.";
const SECURITY: &str = "IMPORTANT: Help with security work where it is authorised or defensive: penetration tests with a mandate, capture-the-flag, research, teaching. Refuse what is meant to do harm: destruction, denial of service, mass attacks, tampering with supply chains, hiding from detection. Tools with two uses need a clear lawful purpose.";
const ALWAYS_TODOS: &str =
    "IMPORTANT: Always use the TodoWrite tool to plan and follow tasks throughout the conversation.";

/// The first block of every system text.
pub(super) fn identity(generation: Generation) -> &'static str {
    if generation == Generation::Zcode { crate::zcode::IDENTITY } else { IDENTITY }
}

pub(super) fn open(generation: Generation, cx: &Context) -> Opening {
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref()).or(cx.words.prompt.as_deref());
    let mut text = match (own, agent::prompt(&cx.persona.name)) {
        (Some(own), _) => own.to_owned(),
        (None, Some(prompt)) => prompt.trim_end().to_owned(),
        (None, None) => main(generation, cx),
    };
    if !generation.newest() {
        text.push_str(&environment(generation, cx));
    }
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|text| !text.is_empty()) {
        text.push_str(&format!("\n\n{more}"));
    }
    let block = |text: &str| (Speaker::System, Content::Parts(vec![Part::text(text)]));
    Opening { instructions: vec![block(identity(generation)), block(&text)], tools: tools::all(generation, cx) }
}

fn main(generation: Generation, cx: &Context) -> String {
    let old = |security: &str, sections: &[&str]| {
        let head = include_str!("prompts/head_old.md").replace("{security}", security);
        let sections = std::iter::once(head.as_str()).chain(sections.iter().copied());
        sections.map(str::trim_end).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    };
    match generation {
        Generation::V1_0 => old(
            SECURITY_FIRST,
            &[
                include_str!("prompts/v1_0.md"),
                include_str!("prompts/todo.md"),
                include_str!("prompts/v1_0_tasks.md"),
                include_str!("prompts/tool_policy.md"),
            ],
        ),
        Generation::V2_0 => old(
            SECURITY,
            &[
                include_str!("prompts/tone.md"),
                include_str!("prompts/objectivity.md"),
                include_str!("prompts/todo.md"),
                include_str!("prompts/doing_tasks.md"),
                include_str!("prompts/tool_policy.md"),
            ],
        ),
        Generation::V2_1 => {
            let asking = tools::offered(generation, cx).contains(&"AskUserQuestion");
            old(
                SECURITY,
                &[
                    include_str!("prompts/tone.md"),
                    include_str!("prompts/objectivity.md"),
                    include_str!("prompts/no_estimates.md"),
                    include_str!("prompts/todo.md"),
                    if asking { include_str!("prompts/asking.md") } else { "" },
                    include_str!("prompts/doing_tasks.md"),
                    include_str!("prompts/tool_policy.md"),
                    ALWAYS_TODOS,
                    include_str!("prompts/references.md"),
                ],
            )
        }
        Generation::Classic | Generation::Zcode => {
            let todo = match tools::listing(generation, cx) {
                Listing::Tasks => "TaskCreate and TaskUpdate",
                _ => "TodoWrite",
            };
            include_str!("prompts/classic.md")
                .trim_end()
                .replace("{dedicated}", "Read, Edit, Write, Glob, Grep")
                .replace("{todo}", todo)
                .replace("{agent}", generation.agent())
        }
        Generation::Current => include_str!("prompts/current.md").trim_end().to_owned(),
    }
}

/// What the older versions say of the machine, at the end of the system text.
fn environment(generation: Generation, cx: &Context) -> String {
    let facts = Facts::of(cx);
    let in_git = if facts.git.is_some() { "Yes" } else { "No" };
    let (platform, os) = facts.system();
    let mut text = format!(
        "\n\nHere is useful information about the environment you are running in:\n<env>\nWorking directory: {}\nIs directory a git repo: {in_git}\nPlatform: {platform}\nOS Version: {os}\nToday's date: {}\n</env>\n{}\n",
        cx.settings.cwd.display(),
        facts.date.unwrap_or_default(),
        model(cx),
    );
    let main = cx.persona.name.is_empty();
    if main && generation != Generation::V2_1 {
        let security = if generation == Generation::V1_0 { SECURITY_FIRST } else { SECURITY };
        text.push_str(&format!(
            "\n\n{security}\n\n\n{ALWAYS_TODOS}\n\n{}",
            include_str!("prompts/references.md").trim_end()
        ));
    }
    if let Some(git) = facts.git {
        text.push_str(&format!(
            "\n\ngitStatus: The state of git when the conversation began; it is not kept up to date.\nCurrent branch: {}\n\nMain branch (you will usually use this for PRs): {}\n\nStatus:\n{}\n\nRecent commits:\n{}",
            git.branch.as_deref().unwrap_or_default(),
            git.main.as_deref().unwrap_or_default(),
            status(git),
            git.commits.join("\n")
        ));
    }
    text.trim_end().to_owned()
}

fn status(git: &GitFact) -> &str {
    if git.status.is_empty() { "(clean)" } else { &git.status }
}

/// The newest looks at the world that a harness wanted.
#[derive(Default)]
pub(super) struct Facts<'a> {
    pub(super) date: Option<&'a str>,
    pub(super) git: Option<&'a GitFact>,
    system: Option<(&'a str, &'a str)>,
    pub(super) shell: Option<&'a str>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(cx: &Context<'a>) -> Facts<'a> {
        let mut facts = Facts::default();
        for item in cx.items {
            match &item.body {
                Body::Fact(Fact::Date { date, .. }) => facts.date = Some(date),
                Body::Fact(Fact::Git(git)) => facts.git = git.as_ref(),
                Body::Fact(Fact::System { system, release, .. }) => facts.system = Some((system, release)),
                Body::Fact(Fact::Shell(shell)) => facts.shell = Some(shell),
                _ => {}
            }
        }
        facts
    }

    /// `linux`, `Linux 6.18.44`.
    pub(super) fn system(&self) -> (String, String) {
        let (system, release) = self.system.unwrap_or(("Linux", ""));
        (system.to_lowercase(), format!("{system} {release}").trim_end().to_owned())
    }

    /// The state of git, as the newest version puts it before the first prompt.
    pub(super) fn git_status(&self) -> Option<String> {
        let git = self.git?;
        let branch = git.branch.as_deref().unwrap_or("HEAD");
        let main = git.main.as_deref().or(Some(branch).filter(|name| matches!(*name, "main" | "master")));
        Some(format!(
            "# gitStatus\nThe state of git when the conversation began; it is not kept up to date.\n\nCurrent branch: {branch}\n\nMain branch (you will usually use this for PRs): {}\n\nStatus:\n{}\n\nRecent commits:\n{}\n\nThis was looked up by the program and is no part of the user's message; there is no need to repeat it to the user.",
            main.unwrap_or_default(),
            status(git),
            if git.commits.is_empty() { "(unavailable)".to_owned() } else { git.commits.join("\n") }
        ))
    }
}

/// The sentences on the model. Names and dates are told of Claude models only.
pub(super) fn model(cx: &Context) -> String {
    let slug = &cx.model.slug;
    let lower = slug.to_lowercase();
    if !is_claude(&lower) {
        return format!("You are powered by the model {slug}.");
    }
    let known = NAMES.iter().find(|(id, ..)| lower.contains(id));
    match known {
        Some((_, name, cutoff)) => format!(
            "You are powered by the model named {name}. The exact model ID is {slug}. Assistant knowledge cutoff is {cutoff}."
        ),
        None => format!("You are powered by the model {slug}."),
    }
}

/// Part of a model's id, its name, and until when it knows things.
const NAMES: [(&str, &str, &str); 4] = [
    ("claude-sonnet-4-5", "Sonnet 4.5", "January 2025"),
    ("claude-haiku-4-5", "Haiku 4.5", "February 2025"),
    ("claude-opus-4-5", "Opus 4.5", "May 2025"),
    ("claude-opus-4-6", "Opus 4.6", "May 2025"),
];
