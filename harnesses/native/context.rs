//! What the model is told of its situation before the first prompt, and what of it has changed before a later one: the
//! user's instructions, skills, permissions, AGENTS.md, environment. Structure and tags as in Codex 0.171.0, prose ours.
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use protocol::{ApprovalPolicy, Body, Content, Entry, Fact, Item, Mode, Part, SandboxMode, Settings, Speaker, WireId};

use super::paths::absolute;
use crate::Context;

/// Codex sends lists of parts; chat servers are surest with a string.
pub(super) fn content(cx: &Context, parts: Vec<String>) -> Content {
    match cx.settings.wire {
        WireId::Responses => Content::Parts(parts.into_iter().map(Part::Text).collect()),
        WireId::Chat | WireId::Messages => Content::Plain(parts.join("\n\n")),
    }
}

/// What stands behind the base prompt: the developer's words, skills, permissions.
pub(super) fn told(cx: &Context) -> Option<Content> {
    let seen = Seen::in_items(cx.items);
    let settings = cx.settings;
    let mut told = Vec::new();
    told.extend(settings.developer_instructions.clone());
    if settings.feature("skills.include_instructions", true) {
        told.extend(skills(cx));
    }
    if settings.feature("include_permissions_instructions", true) {
        told.push(permissions(settings, &seen));
    }
    told.extend(mode(&settings.mode));
    (!told.is_empty()).then(|| content(cx, told))
}

/// What stands before the first prompt, in the user's place: AGENTS.md and the environment.
pub(super) fn known(cx: &Context) -> Option<Entry> {
    let mut known = Vec::new();
    known.extend(docs(cx));
    if cx.settings.feature("include_environment_context", true) {
        known.push(Environment::all(cx.settings, &Seen::in_items(cx.items)).text());
    }
    (!known.is_empty()).then(|| Entry::User(content(cx, known)))
}

/// What `new` changed since the items before it. Empty where nothing did.
pub(super) fn changes(cx: &Context, new: &[Item]) -> Vec<Entry> {
    let Some(first) = new.first() else { return Vec::new() };
    let before = cx.items.split(|item| item.id == first.id).next().unwrap_or(&[]);
    let (old_seen, seen) = (Seen::in_items(before), Seen::in_items(cx.items));
    let settings_in = |items: &[Item]| {
        items.iter().rev().find_map(|item| match &item.body {
            Body::Settings(settings) => Some((**settings).clone()),
            _ => None,
        })
    };
    let Some(old) = settings_in(before) else { return Vec::new() };
    let settings = settings_in(new).unwrap_or_else(|| old.clone());

    let mut told = Vec::new();
    if old.developer_instructions != settings.developer_instructions {
        told.extend(settings.developer_instructions.clone());
    }
    let now = permissions(&settings, &seen);
    if now != permissions(&old, &old_seen) && settings.feature("include_permissions_instructions", true) {
        told.push(now);
    }
    if old.mode != settings.mode {
        told.extend(mode(&settings.mode).or_else(|| Some(DEFAULT_MODE.to_owned())));
    }
    let mut entries = Vec::new();
    if !told.is_empty() {
        entries.push(Entry::Instruct(Speaker::Developer, content(cx, told)));
    }
    let environment = Environment::all(&settings, &seen).beside(&Environment::all(&old, &old_seen));
    if let Some(environment) = environment
        && settings.feature("include_environment_context", true)
    {
        entries.push(Entry::User(content(cx, vec![environment.text()])));
    }
    entries
}

/// The newest look at the world in a stretch of history.
#[derive(Default)]
struct Seen<'a> {
    date: Option<(&'a str, &'a str)>,
    shell: Option<&'a str>,
    roots: Option<&'a Fact>,
}

impl<'a> Seen<'a> {
    fn in_items(items: &'a [Item]) -> Seen<'a> {
        let mut seen = Seen::default();
        for item in items {
            match &item.body {
                Body::Fact(Fact::Date { date, zone }) => seen.date = Some((date, zone)),
                Body::Fact(Fact::Shell(shell)) => seen.shell = Some(shell),
                Body::Fact(fact @ Fact::Roots { .. }) => seen.roots = Some(fact),
                _ => {}
            }
        }
        seen
    }
}

/// Folders that may be written, as seen by the runtime, else as the settings say.
struct Roots {
    /// The workspace: the working directory and what the user named beside it.
    writable: Vec<PathBuf>,
    temporary: Vec<PathBuf>,
    slash_tmp: bool,
    tmpdir: bool,
    protected: Vec<PathBuf>,
}

impl Roots {
    fn of(settings: &Settings, seen: &Seen) -> Roots {
        let policy = &settings.sandbox;
        let slash_tmp = Path::new("/tmp");
        if let Some(Fact::Roots { writable, slash_tmp: has_tmp, tmpdir, protected }) = seen.roots {
            let mut writable: Vec<PathBuf> = writable.iter().filter(|r| !has_tmp || *r != slash_tmp).cloned().collect();
            let mut temporary: Vec<PathBuf> = has_tmp.then(|| slash_tmp.to_owned()).into_iter().collect();
            // `$TMPDIR` comes last, and is not there where it is one of the others.
            if *tmpdir && writable.len() > 1 + policy.writable_roots.len() {
                temporary.extend(writable.pop());
            }
            // What is protected elsewhere (in `/tmp`, say) is none of the task's business.
            let ours = |path: &&PathBuf| writable.iter().any(|root| path.starts_with(root));
            let protected = protected.iter().filter(ours).cloned().collect();
            return Roots { writable, temporary, slash_tmp: *has_tmp, tmpdir: *tmpdir, protected };
        }
        let mut writable = vec![settings.cwd.clone()];
        writable.extend(policy.writable_roots.iter().map(|root| absolute(&settings.cwd, root)));
        let protected = [".git", ".agents", ".codex", ".aws", ".openinterpreter"]
            .iter()
            .flat_map(|name| writable.iter().map(move |root| root.join(name)))
            .collect();
        let temporary = (!policy.exclude_slash_tmp).then(|| slash_tmp.to_owned()).into_iter().collect();
        let (slash_tmp, tmpdir) = (!policy.exclude_slash_tmp, !policy.exclude_tmpdir);
        Roots { writable, temporary, slash_tmp, tmpdir, protected }
    }
}

fn permissions(settings: &Settings, seen: &Seen) -> String {
    let sandbox = &settings.sandbox;
    let mode = sandbox.mode.as_str();
    let network = if sandbox.network { "enabled" } else { "restricted" };
    let files = match sandbox.mode {
        SandboxMode::ReadOnly => "all files may be read and none written",
        SandboxMode::WorkspaceWrite => {
            "all files may be read; only those below `cwd` and the `writable_roots` may be written"
        }
        SandboxMode::DangerFullAccess => "there is no sandbox, and every file may be read and written",
    };
    let approval = match settings.approval {
        ApprovalPolicy::Never => {
            "Approval policy is `never`: nobody can be asked. Leave `sandbox_permissions` out of every call; one that has it is rejected."
        }
        ApprovalPolicy::OnRequest => {
            "Approval policy is `on-request`: when the task needs a command that the sandbox stops, call it again with `sandbox_permissions` set to `require_escalated` and a `justification`, and the user decides. Do not ask for what the sandbox allows anyway."
        }
        ApprovalPolicy::OnFailure => {
            "Approval policy is `on-failure`: commands run in the sandbox, and the user is asked about those that fail because of it."
        }
        ApprovalPolicy::Untrusted => {
            "Approval policy is `untrusted`: the user is asked before every command that is not known to only read."
        }
    };
    let mut text = format!(
        "<permissions instructions>\n`sandbox_mode` is `{mode}`: {files}. Network access is {network}.\n{approval}\n"
    );
    if sandbox.mode == SandboxMode::WorkspaceWrite {
        let roots = Roots::of(settings, seen);
        let all: BTreeSet<PathBuf> = roots.writable.into_iter().chain(roots.temporary).collect();
        let all: Vec<String> = all.iter().map(|root| format!("`{}`", root.display())).collect();
        text.push_str(&format!(" The writable roots are {}.\n", all.join(", ")));
    }
    text.push_str("</permissions instructions>");
    text
}

const DEFAULT_MODE: &str = "<collaboration_mode>\nPlan mode is over: carry the task out.\n</collaboration_mode>";

fn mode(mode: &Mode) -> Option<String> {
    let Mode::Plan { file } = mode else { return None };
    Some(format!(
        "<collaboration_mode>\nPlan mode: explore, ask, and write the plan to {}. Change nothing else until the user accepts it.\n</collaboration_mode>",
        file.display()
    ))
}

/// The list of skills, with their folders' parents as short names.
fn skills(cx: &Context) -> Option<String> {
    if cx.skills.is_empty() {
        return None;
    }
    let mut roots: Vec<&Path> = Vec::new();
    let mut list = Vec::new();
    for skill in cx.skills {
        let file = Path::new(&skill.file);
        let root = file.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let number = roots.iter().position(|known| *known == root).unwrap_or_else(|| {
            roots.push(root);
            roots.len() - 1
        });
        let below = file.strip_prefix(root).unwrap_or(file).display();
        list.push(format!("- {}: {} (file: r{number}/{below})", skill.name, skill.description));
    }
    let roots: Vec<String> =
        roots.iter().enumerate().map(|(n, root)| format!("- `r{n}` = `{}`", root.display())).collect();
    Some(format!(
        "<skills_instructions>\n## Skills\nA skill is a folder with instructions for one kind of task. When the user names one, or the task is of its kind, read its `SKILL.md` before you begin, follow it, and open other files of its folder only as it sends you there.\n### Skill roots\n{}\n### Available skills\n{}\n</skills_instructions>",
        roots.join("\n"),
        list.join("\n")
    ))
}

/// The AGENTS.md part. The user's own text is trimmed, the project's stands as it is.
fn docs(cx: &Context) -> Option<String> {
    let text = |project: bool| {
        let texts: Vec<&str> =
            cx.docs.iter().filter(|doc| doc.project == project).map(|doc| doc.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    };
    let (global, project) = (text(false).map(|text| text.trim().to_owned()), text(true));
    let header = match project {
        Some(_) => format!("# AGENTS.md instructions for {}", cx.settings.cwd.display()),
        None => "# AGENTS.md instructions".to_owned(),
    };
    let both: Vec<String> = [global, project].into_iter().flatten().collect();
    (!both.is_empty())
        .then(|| format!("{header}\n\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>", both.join("\n\n--- project-doc ---\n\n")))
}

/// `<environment_context>`: each line that is to be said.
#[derive(Debug, Clone, PartialEq)]
struct Environment {
    cwd: Option<String>,
    shell: Option<String>,
    date: Option<String>,
    zone: Option<String>,
    filesystem: Option<String>,
}

impl Environment {
    fn all(settings: &Settings, seen: &Seen) -> Environment {
        Environment {
            cwd: Some(settings.cwd.display().to_string()),
            shell: Some(seen.shell.unwrap_or("bash").to_owned()),
            date: seen.date.map(|(date, _)| date.to_owned()),
            zone: seen.date.map(|(_, zone)| zone.to_owned()),
            filesystem: Some(filesystem(settings, seen)),
        }
    }

    /// What differs from `old`; date and zone are said with any difference. None where nothing does.
    fn beside(self, old: &Environment) -> Option<Environment> {
        if self == *old {
            return None;
        }
        let changed = |now: Option<String>, old: &Option<String>| now.filter(|now| old.as_ref() != Some(now));
        Some(Environment {
            cwd: changed(self.cwd, &old.cwd),
            shell: changed(self.shell, &old.shell),
            filesystem: changed(self.filesystem, &old.filesystem),
            ..self
        })
    }

    fn text(&self) -> String {
        let mut text = "<environment_context>\n".to_owned();
        let lines =
            [("cwd", &self.cwd), ("shell", &self.shell), ("current_date", &self.date), ("timezone", &self.zone)];
        for (tag, value) in lines {
            if let Some(value) = value {
                text.push_str(&format!("  <{tag}>{value}</{tag}>\n"));
            }
        }
        if let Some(filesystem) = &self.filesystem {
            text.push_str(&format!("  {filesystem}\n"));
        }
        text.push_str("</environment_context>");
        text
    }
}

fn filesystem(settings: &Settings, seen: &Seen) -> String {
    let special = |access: &str, name: &str| format!("<entry access=\"{access}\"><special>{name}</special></entry>");
    let path =
        |access: &str, path: &Path| format!("<entry access=\"{access}\"><path>{}</path></entry>", path.display());
    let mut workspace = vec![settings.cwd.clone()];
    let profile = match settings.sandbox.mode {
        SandboxMode::DangerFullAccess => {
            "<permission_profile type=\"disabled\"><file_system type=\"unrestricted\" /></permission_profile>"
                .to_owned()
        }
        mode => {
            let mut entries = special("read", ":root");
            if mode == SandboxMode::WorkspaceWrite {
                let roots = Roots::of(settings, seen);
                workspace.extend(roots.writable.iter().filter(|root| **root != settings.cwd).cloned());
                for root in &roots.writable {
                    entries.push_str(&path("write", root));
                }
                if roots.slash_tmp {
                    entries.push_str(&special("write", ":slash_tmp"));
                }
                if roots.tmpdir {
                    entries.push_str(&special("write", ":tmpdir"));
                }
                for protected in &roots.protected {
                    entries.push_str(&path("read", protected));
                }
            }
            format!(
                "<permission_profile type=\"managed\"><file_system type=\"restricted\">{entries}</file_system></permission_profile>"
            )
        }
    };
    let roots: String = workspace.iter().map(|root| format!("<root>{}</root>", root.display())).collect();
    format!("<filesystem><workspace_roots>{roots}</workspace_roots>{profile}</filesystem>")
}
