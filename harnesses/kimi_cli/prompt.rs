//! The system text: sections and their order as in kimi-cli 1.52.0, in our own words; and the text of each kind of sub-agent.
use protocol::{ApprovalPolicy, Body, Content, Fact, Opening, SandboxMode, Speaker};

use super::{clock, tools, tree};
use crate::{Context, SkillInfo};

const SYSTEM: &str = include_str!("system.md");

pub(super) fn open(cx: &Context) -> Opening {
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref()).or(cx.words.prompt.as_deref());
    let mut text = own.map_or_else(|| SYSTEM.trim_end().to_owned(), str::to_owned);
    for (place, value) in places(cx) {
        text = text.replace(&format!("{{{{{place}}}}}"), &value);
    }
    // Texts from outside last, so that nothing in them is taken for a place.
    let parts: Vec<&str> = text.split("{{listing}}").collect();
    text = parts.join(&listing(cx));
    text = text.replacen("{{skills}}", &skills(cx), 1).replacen("{{docs}}", &docs(cx), 1);
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|more| !more.is_empty()) {
        text.push_str(&format!("\n\n{more}"));
    }
    Opening { instructions: vec![(Speaker::System, Content::Plain(text))], tools: tools::offered(cx) }
}

fn places(cx: &Context) -> [(&'static str, String); 8] {
    let guidance = match cx.settings.feature("harness_guidance", true) {
        true => format!("{}\n\n", include_str!("guidance.md").trim_end()),
        false => String::new(),
    };
    [
        ("role", role(&cx.persona.name).map_or_else(String::new, |role| format!("{}\n\n", role.trim_end()))),
        ("os", system(cx)),
        ("shell", "bash (`/bin/bash`)".to_owned()),
        ("sandbox", sandbox(cx)),
        ("now", now(cx)),
        ("cwd", cx.settings.cwd.display().to_string()),
        ("directories", directories(cx)),
        ("guidance", guidance),
    ]
}

fn role(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "coder" => include_str!("role_coder.md"),
        "explore" => include_str!("role_explore.md"),
        "plan" => include_str!("role_plan.md"),
        _ => return None,
    })
}

fn system(cx: &Context) -> String {
    let fact = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::System { system, .. }) => Some(system.as_str()),
        _ => None,
    });
    match fact {
        Some("Darwin") => "macOS".to_owned(),
        Some(system) => system.to_owned(),
        None => "Linux".to_owned(),
    }
}

fn now(cx: &Context) -> String {
    let at = cx.items.iter().rev().find(|item| matches!(item.body, Body::Fact(Fact::Date { .. })));
    at.map_or_else(|| "unknown".to_owned(), |item| clock::iso(item.at))
}

/// The original has no sandbox and says so.
fn sandbox(cx: &Context) -> String {
    let policy = &cx.settings.sandbox;
    if policy.mode == SandboxMode::DangerFullAccess {
        return "You are not in a sandbox: everything that you do takes effect on the user's system at once. Be extremely cautious.".to_owned();
    }
    if !cx.settings.feature("include_permissions_instructions", true) {
        return "Everything that you do takes effect on the user's system at once. Be cautious.".to_owned();
    }
    let writes = match policy.mode {
        SandboxMode::ReadOnly => "nothing may be written".to_owned(),
        _ => {
            let roots: String = policy.writable_roots.iter().map(|root| format!(", `{}`", root.display())).collect();
            format!("only these folders may be written: `{}`{roots}", cx.settings.cwd.display())
        }
    };
    let network = if policy.network { "open" } else { "closed" };
    let asking = match cx.settings.approval {
        ApprovalPolicy::Never => "nobody can be asked for more",
        _ => "the user is asked where more is needed",
    };
    format!(
        "Commands and edits run in a sandbox ({}): {writes}; for commands the network is {network}; {asking}. What may be written is the user's system, so be cautious.",
        policy.mode.as_str()
    )
}

fn directories(cx: &Context) -> String {
    let roots = &cx.settings.sandbox.writable_roots;
    if roots.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = roots.iter().map(|root| format!("- `{}`", root.display())).collect();
    format!("\n## Additional Directories\n\nThese folders belong to the workspace too:\n\n{}\n", lines.join("\n"))
}

fn listing(cx: &Context) -> String {
    let entries = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Listing { entries, .. }) => Some(entries),
        _ => None,
    });
    tree::tree(entries.into_iter().flatten().map(String::as_str))
}

fn docs(cx: &Context) -> String {
    let doc = |doc: &crate::Doc| format!("<!-- From: {} -->\n{}", doc.path, doc.text.trim_end());
    cx.docs.iter().map(doc).collect::<Vec<_>>().join("\n\n")
}

fn skills(cx: &Context) -> String {
    let section = |title: &str, wanted: &dyn Fn(&str) -> bool| {
        let one = |skill: &SkillInfo| {
            format!("\n- {}\n  - Path: {}\n  - Description: {}", skill.name, skill.file, skill.description)
        };
        let lines: String = cx.skills.iter().filter(|skill| wanted(&skill.scope)).map(one).collect();
        (!lines.is_empty()).then(|| format!("### {title}\n{lines}"))
    };
    let known = ["project", "user", "bundled"];
    let sections = [
        section("Project", &|scope| scope == "project"),
        section("User", &|scope| scope == "user"),
        section("Extra", &|scope| !known.contains(&scope)),
        section("Built-in", &|scope| scope == "bundled"),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    if sections.is_empty() { "No skills found.".to_owned() } else { sections.join("\n\n") }
}
