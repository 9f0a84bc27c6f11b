//! The opening: one system text in the original's sections, and the tools.
use protocol::{ApprovalPolicy, Body, Content, Fact, GitFact, Opening, SandboxMode, Speaker};

use super::{roles, tools};
use crate::{Context, writable};

const TEMPLATE: &str = include_str!("prompt.md");
const SKILLS: &str = include_str!("skills.md");

/// Entries of the folder and of each folder in it that are listed.
const TOP: usize = 30;
const INNER: usize = 10;
/// Of all entries looked at.
pub(super) const LOOKED_AT: usize = 2_000;
/// Characters of a skill's description.
const DESCRIBED: usize = 250;

pub(super) fn open(cx: &Context) -> Opening {
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref());
    let mut text = match own {
        Some(text) => text.to_owned(),
        None => system(cx),
    };
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|text| !text.is_empty()) {
        text.push_str(&format!("\n\n# Additional instructions\n\n{more}"));
    }
    Opening { instructions: vec![(Speaker::System, Content::Plain(text))], tools: tools::offered(cx) }
}

fn system(cx: &Context) -> String {
    let role = roles::role(&cx.persona.name);
    let template = cx.words.prompt.as_deref().unwrap_or(TEMPLATE);
    let mut text = match role {
        Some(role) => template.replacen("{{ROLE}}", &role, 1),
        None => template.replacen("{{ROLE}}\n\n", "", 1),
    };
    for (name, value) in [
        ("{{OS}}", os(cx)),
        ("{{SANDBOX}}", sandbox(cx)),
        ("{{CWD}}", cx.settings.cwd.display().to_string()),
        ("{{LISTING}}", listing(cx)),
        ("{{AGENTS}}", docs(cx)),
    ] {
        text = text.replacen(name, &value, 1);
    }
    let mut text = text.trim_end().to_owned();
    if tools::names(cx).contains(&"Skill") && !cx.skills.is_empty() {
        text.push_str(&format!("\n\n{}", SKILLS.trim_end().replacen("{{SKILLS}}", &skills(cx), 1)));
    }
    text
}

fn os(cx: &Context) -> String {
    let system = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::System { system, .. }) => Some(system.as_str()),
        _ => None,
    });
    match system {
        Some("Darwin") => "macOS".to_owned(),
        Some(system) => system.to_owned(),
        None => "Linux".to_owned(),
    }
}

fn sandbox(cx: &Context) -> String {
    let policy = &cx.settings.sandbox;
    if policy.mode == SandboxMode::DangerFullAccess || !cx.settings.feature("include_permissions_instructions", true) {
        return "The environment is not a sandbox: what you do takes effect on the user's system at once.".to_owned();
    }
    let writes = match policy.mode {
        SandboxMode::ReadOnly => "nothing may be written".to_owned(),
        _ => {
            let folders = writable::folders(cx.settings).into_iter().map(|folder| format!("`{folder}`"));
            format!("only these folders may be written: {}", folders.collect::<Vec<_>>().join(", "))
        }
    };
    let network = if policy.network { "open" } else { "closed" };
    let more = match cx.settings.approval {
        ApprovalPolicy::Never => "Nobody can be asked for more: find another way, or say what is missing.",
        _ => "The user is asked where more is needed.",
    };
    format!(
        "Commands and edits run in a sandbox ({}): {writes}, and the network is {network} to commands. {more}",
        policy.mode.as_str()
    )
}

fn docs(cx: &Context) -> String {
    let files: Vec<String> =
        cx.docs.iter().map(|doc| format!("<!-- From: {} -->\n{}", doc.path, doc.text.trim())).collect();
    files.join("\n\n")
}

fn skills(cx: &Context) -> String {
    let mut out = Vec::new();
    for (scope, heading) in [("project", "Project"), ("user", "User"), ("extra", "Extra"), ("bundled", "Built-in")] {
        let known = ["project", "user", "bundled"];
        let of_scope = cx
            .skills
            .iter()
            .filter(|skill| skill.scope == scope || (scope == "extra" && !known.contains(&skill.scope.as_str())));
        let lines: Vec<String> = of_scope
            .map(|skill| {
                let description: String = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
                let short: String = description.chars().take(DESCRIBED - 3).collect();
                let shown = if description.chars().count() > DESCRIBED { short + "..." } else { description };
                format!("- {}: {shown}\n  Path: {}", skill.name, skill.file)
            })
            .collect();
        if !lines.is_empty() {
            out.push(format!("### {heading}\n{}", lines.join("\n")));
        }
    }
    out.join("\n")
}

/// Two levels as a tree, folders first.
fn listing(cx: &Context) -> String {
    let entries = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Listing { path, entries, .. }) if path == &cx.settings.cwd || path.as_os_str().is_empty() => {
            Some(entries)
        }
        _ => None,
    });
    match entries {
        Some(entries) => tree(entries),
        None => "[not readable]".to_owned(),
    }
}

fn tree(entries: &[String]) -> String {
    let top: Vec<&str> = children(entries, "");
    if top.is_empty() {
        return "(empty directory)".to_owned();
    }
    let mut lines = Vec::new();
    for (n, name) in top.iter().take(TOP).enumerate() {
        let last = n + 1 == top.len();
        lines.push(format!("{}{name}", if last { "└── " } else { "├── " }));
        if !name.ends_with('/') || name.starts_with('.') {
            continue;
        }
        let bar = if last { "    " } else { "│   " };
        let inner = children(entries, name);
        for (m, child) in inner.iter().take(INNER).enumerate() {
            let branch = if m + 1 == inner.len() { "└── " } else { "├── " };
            lines.push(format!("{bar}{branch}{child}"));
        }
        if inner.len() > INNER {
            lines.push(format!("{bar}└── ... and {} more", inner.len() - INNER));
        }
    }
    if top.len() > TOP {
        lines.push(format!("└── ... and {} more entries", top.len() - TOP));
    }
    lines.join("\n")
}

/// What lies directly in `folder`, folders first, by name.
fn children<'a>(entries: &'a [String], folder: &str) -> Vec<&'a str> {
    let below = entries.iter().filter_map(|entry| entry.strip_prefix(folder)).filter(|rest| !rest.is_empty());
    let mut names: Vec<&str> = below.filter(|rest| !rest.trim_end_matches('/').contains('/')).collect();
    names.sort_by_key(|name| (!name.ends_with('/'), name.to_lowercase()));
    names
}

/// What an explore agent is told of the repository, before its task.
pub(super) fn git_context(cx: &Context) -> Option<String> {
    let git: &Option<GitFact> = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Git(git)) => Some(git),
        _ => None,
    })?;
    let Some(git) = git else {
        return Some("<git-context status=\"unavailable\" reason=\"not-a-repo\"/>".to_owned());
    };
    let mut lines = vec![format!("Working directory: {}", cx.settings.cwd.display())];
    lines.extend(git.branch.as_ref().map(|branch| format!("Branch: {branch}")));
    let dirty: Vec<&str> = git.status.lines().filter(|line| !line.trim().is_empty()).collect();
    if !dirty.is_empty() {
        lines.push(format!("Dirty files ({}):", dirty.len()));
        lines.extend(dirty.iter().map(|line| format!("  {}", line.trim_start())));
    }
    if !git.commits.is_empty() {
        lines.push("Recent commits:".to_owned());
        lines.extend(git.commits.iter().map(|commit| format!("  {commit}")));
    }
    Some(format!("<git-context>\n{}\n</git-context>", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn trees() {
        let check = |entries: &[&str], expected: &str| {
            let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
            assert_eq!(tree(&entries), expected);
        };
        check(&[], "(empty directory)");
        check(
            &["AGENTS.md", "a.txt", "sub/", "sub/AGENTS.md", "sub/deep/", "sub/x.txt"],
            "├── sub/\n│   ├── deep/\n│   ├── AGENTS.md\n│   └── x.txt\n├── a.txt\n└── AGENTS.md",
        );
        check(&[".git/", ".git/HEAD", "z"], "├── .git/\n└── z");
        let many: Vec<String> = (10..50).map(|n| format!("f{n}")).collect();
        assert!(tree(&many).ends_with("├── f39\n└── ... and 10 more entries"));
    }
}
