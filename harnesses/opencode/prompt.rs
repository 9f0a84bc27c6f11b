//! The opening: a prompt by the family of the model, the environment, instruction files and skills, all in one system text; and what
//! is asked of the model beside it. Order, labels and tags as OpenCode 1.18.33 has them.
use protocol::{Body, Content, Fact, Opening, Settings, Speaker, Tune};

use super::{Agent, agent, patch, reminder, tools};
use crate::Context;
use crate::claude_code_bare::prompt::permissions;

const DEFAULT: &str = include_str!("prompts/default.md");
/// Models with a prompt of their own, by a part of the id; the first that fits counts.
const FAMILIES: [(&[&str], &str); 6] = [
    (&["gpt-4", "o1", "o3"], include_str!("prompts/beast.md")),
    (&["codex"], include_str!("prompts/codex.md")),
    (&["gpt-5"], include_str!("prompts/gpt.md")),
    (&["gemini"], include_str!("prompts/gemini.md")),
    (&["claude"], include_str!("prompts/claude.md")),
    (&["kimi"], include_str!("prompts/kimi.md")),
];
const EXPLORE: &str = include_str!("prompts/explore.md");
/// Trinity's models get the default text, with this in place of calls side by side.
const ONE_AT_A_TIME: &str = "- Call exactly one tool in a message, and wait for its result before the next.";
const SIDE_BY_SIDE: &str = "- Several tools can be called in a single message.";

/// Tokens of one reply, where the model takes as many.
const MAX_OUTPUT: u64 = 32_000;

pub(super) fn open(cx: &Context) -> Opening {
    let text = format!("{}\n\n{}", base(cx).trim_end(), surroundings(cx));
    Opening { instructions: vec![(Speaker::System, Content::Plain(text))], tools: tools::offered(cx) }
}

fn base(cx: &Context) -> String {
    let own = cx.persona.prompt.as_deref();
    match (own, agent(cx)) {
        (Some(prompt), _) => prompt.to_owned(),
        (None, Agent::Explore) => EXPLORE.to_owned(),
        (None, _) => match cx.settings.instructions.as_deref().or(cx.words.prompt.as_deref()) {
            Some(prompt) => prompt.to_owned(),
            None => family(&cx.model.slug),
        },
    }
}

fn family(slug: &str) -> String {
    let slug = slug.to_lowercase();
    if slug.contains("trinity") {
        let line = |line: &str| if line.starts_with(SIDE_BY_SIDE) { ONE_AT_A_TIME.to_owned() } else { line.to_owned() };
        return DEFAULT.lines().map(line).collect::<Vec<_>>().join("\n");
    }
    // Codex's small open model is of no family.
    let named = |words: &&[&str]| words.iter().any(|word| slug.contains(word)) && !slug.starts_with("codex-mini");
    let found = FAMILIES.iter().find(|(words, _)| named(words) && (words[0] != "codex" || slug.contains("gpt")));
    found.map_or(DEFAULT, |(_, prompt)| prompt).to_owned()
}

fn surroundings(cx: &Context) -> String {
    let settings = cx.settings;
    let git = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Git(git)) => Some(git.is_some()),
        _ => None,
    });
    let date = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Date { date, .. }) => Some(spelled(date)),
        _ => None,
    });
    let mut sections = vec![format!(
        "The model that you run on is {slug}; its exact ID is {provider}/{slug}\nThis is the environment that you work in:\n<env>\n  Working directory: {}\n  Workspace root folder: {}\n  Is directory a git repo: {}\n  Platform: {}\n  Today's date: {}\n</env>",
        settings.cwd.display(),
        patch::root(cx).display(),
        if git == Some(true) { "yes" } else { "no" },
        platform(cx),
        date.unwrap_or_default(),
        slug = cx.model.slug,
        provider = settings.provider,
    )];
    sections.extend(cx.docs.iter().map(|doc| format!("Instructions from: {}\n{}", doc.path, doc.text)));
    let more = [settings.developer_instructions.clone(), permissions(settings)].into_iter().flatten();
    sections.extend(more.filter(|text| !text.trim().is_empty()).map(|text| format!("{text}\n")));
    sections.extend(skills(cx));
    sections.join("\n")
}

fn skills(cx: &Context) -> Option<String> {
    if cx.skills.is_empty() || !tools::names(cx).contains(&"skill") {
        return None;
    }
    let skill = |skill: &crate::SkillInfo| {
        format!(
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    <location>{}</location>\n  </skill>",
            skill.name, skill.description, skill.file
        )
    };
    let all: Vec<String> = cx.skills.iter().map(skill).collect();
    Some(format!(
        "A skill holds instructions for one kind of task.\nIf a task is what one of these describes, load it with the skill tool.\n<available_skills>\n{}\n</available_skills>",
        all.join("\n")
    ))
}

/// Said when permissions change in mid-conversation.
pub(super) fn changed(cx: &Context, settings: &Settings) -> Option<String> {
    let text = permissions(settings)?;
    (permissions(cx.settings).as_ref() == Some(&text)).then(|| reminder(&text))
}

/// `linux`, `darwin`, `win32`, as Node has them.
pub(super) fn platform(cx: &Context) -> String {
    let system = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::System { system, .. }) => Some(system.to_lowercase()),
        _ => None,
    });
    match system.as_deref() {
        Some("windows" | "windows_nt") => "win32".to_owned(),
        Some(other) => other.to_owned(),
        None => "linux".to_owned(),
    }
}

/// `2026-11-30` as `Mon Nov 30 2026`.
fn spelled(date: &str) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    /// Sakamoto's table for the day of the week.
    const SHIFTS: [i64; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let mut parts = date.split('-').map(str::parse::<i64>);
    let (Some(Ok(year)), Some(Ok(month @ 1..=12)), Some(Ok(day @ 1..=31))) = (parts.next(), parts.next(), parts.next())
    else {
        return date.to_owned();
    };
    let at = (month - 1) as usize;
    let y = if month < 3 { year - 1 } else { year };
    let weekday = (y + y / 4 - y / 100 + y / 400 + SHIFTS[at] + day).rem_euclid(7) as usize;
    format!("{} {} {day:02} {year}", DAYS[weekday], MONTHS[at])
}

pub(super) fn tune(cx: &Context) -> Tune {
    let slug = cx.model.slug.to_lowercase();
    let named = |words: &[&str]| words.iter().any(|word| slug.contains(word));
    let max_output = cx.settings.max_output.or(cx.model.max_output.map(|most| most.min(MAX_OUTPUT)));
    let mut tune = Tune {
        max_output: Some(max_output.unwrap_or(MAX_OUTPUT)),
        top_p: named(&["gemini", "minimax-m2", "kimi-k2.5"]).then_some(0.95),
        choose_tools: true,
        schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        verbosity: cx.settings.verbosity.clone(),
        ..Tune::default()
    };
    let own = slug.contains("gpt-5").then(|| "medium".to_owned());
    tune.reasoning.effort = cx.settings.effort.clone().or(own);
    tune.reasoning.summary = cx.settings.summary.clone();
    tune
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn days_have_names() {
        let check = |date: &str, expected: &str| assert_eq!(spelled(date), expected);
        check("2026-11-30", "Mon Nov 30 2026");
        check("2024-02-29", "Thu Feb 29 2024");
        check("2000-01-01", "Sat Jan 01 2000");
        check("soon", "soon");
    }

    #[test]
    fn each_family_has_its_prompt() {
        let check = |slug: &str, start: &str| {
            let text = family(slug);
            assert!(text.starts_with(start), "{slug}: {}", &text[..80]);
        };
        check("gpt-4.1", "You are a coding agent. Keep going");
        check("o3-mini", "You are a coding agent. Keep going");
        check("gpt-5-codex", "You are a coding agent at work");
        check("gpt-5.1", "You are a coding agent, and you share");
        check("gemini-2.5-pro", "You are a coding agent at the command line, and software");
        check("claude-sonnet-4-5", "You are the best coding agent");
        check("kimi-k2", "You are a general agent");
        check("qwen3-coder", "You are a coding agent that works");
        check("codex-mini-latest", "You are a coding agent that works");
        assert!(family("trinity-large").contains(ONE_AT_A_TIME) && !family("glm-4.6").contains(ONE_AT_A_TIME));
        assert!(DEFAULT.lines().any(|line| line.starts_with(SIDE_BY_SIDE)));
    }
}
