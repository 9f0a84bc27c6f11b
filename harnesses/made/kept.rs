//! What another prompt must not lose: instructions of user and project, skills, what the sandbox allows. Harnesses that have them in
//! the middle of their own prompt would drop them with it.
use crate::{Context, claude_code_bare::prompt::permissions};

/// Sections for what stands in `before` (the opening with the harness's own prompt) and no more in `now`.
pub(super) fn lost(cx: &Context, before: &str, now: &str) -> Vec<String> {
    let gone = |text: &str| !text.trim().is_empty() && before.contains(text.trim()) && !now.contains(text.trim());
    let mut sections = Vec::new();
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|more| gone(more)) {
        sections.push(more.trim_end().to_owned());
    }
    let policy = cx.settings.sandbox.mode.as_str();
    if let Some(rules) = permissions(cx.settings).filter(|_| gone(policy)) {
        sections.push(rules);
    }
    let docs = cx.docs.iter().filter(|doc| gone(&doc.text));
    sections.extend(docs.map(|doc| format!("Instructions from {}:\n\n{}", doc.path, doc.text.trim_end())));
    let skills: Vec<String> = cx
        .skills
        .iter()
        .filter(|skill| gone(&skill.file))
        .map(|skill| format!("- {}: {} (file: {})", skill.name, skill.description, skill.file))
        .collect();
    if !skills.is_empty() {
        sections.push(format!("Skills, to be read before a task that one of them fits:\n{}", skills.join("\n")));
    }
    sections
}
