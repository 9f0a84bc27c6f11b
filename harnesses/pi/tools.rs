//! The four tools: names, order and schemas (key for key) of pi 0.73.1; descriptions in our own words.
use protocol::{Raw, Tool, ToolKind};

use crate::Context;

pub(super) const NAMES: [&str; 4] = ["read", "bash", "edit", "write"];

/// Name, line in the system text, description, schema.
pub(super) const TOOLS: [(&str, &str, &str, &str); 4] = [
    (
        "read",
        "Show what a file holds",
        "Show what a file holds: its text, or, of an image (jpg, png, gif, webp), the image as an attachment. Of a text you get at most 2000 lines or 50KB, whatever comes first; offset and limit get you around in large files. If you need all of one, go on with offset until nothing is left.",
        r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"Path of the file, relative or absolute"},"offset":{"type":"number","description":"First line to show, counted from 1"},"limit":{"type":"number","description":"How many lines to show at most"}}}"#,
    ),
    (
        "bash",
        "Run a bash command (ls, grep, find and so on)",
        "Run a bash command in the current working directory and get its stdout and stderr. Of a long output you get the last 2000 lines or 50KB, whatever comes first, and the name of a temporary file with all of it. A timeout in seconds may be given.",
        r#"{"type":"object","required":["command"],"properties":{"command":{"type":"string","description":"Command for bash"},"timeout":{"type":"number","description":"Seconds until the command is ended (without it, it may run as long as it likes)"}}}"#,
    ),
    (
        "edit",
        "Change a file exactly, by replacing text; several separate places in one call",
        "Change one file by replacing text exactly. Each edits[].oldText must stand in the file as it is now, once, and apart from the others. Two changes in the same block or in lines close to each other are one edit, not two that overlap. Do not take in long stretches that stay, only to join places that are far apart.",
        r#"{"type":"object","required":["path","edits"],"properties":{"path":{"type":"string","description":"Path of the file, relative or absolute"},"edits":{"type":"array","items":{"type":"object","required":["oldText","newText"],"properties":{"oldText":{"type":"string","description":"The exact text that one replacement is about. It stands in the file once, and no other edits[].oldText of this call overlaps with it."},"newText":{"type":"string","description":"What is to stand in its place."}},"additionalProperties":false},"description":"One replacement or several. Each is looked for in the file as it is now, not as the ones before it leave it. None may overlap with another or lie inside of one: where two touch the same block or lines close to each other, make them one."}},"additionalProperties":false}"#,
    ),
    (
        "write",
        "Write a file, new or in place of an old one",
        "Write a file. It is made if it is not there, and replaced if it is; folders above it are made too.",
        r#"{"type":"object","required":["path","content"],"properties":{"path":{"type":"string","description":"Path of the file, relative or absolute"},"content":{"type":"string","description":"All that the file is to hold"}}}"#,
    ),
];

/// A tool of ours that this persona has.
pub(super) fn offers(cx: &Context, name: &str) -> bool {
    NAMES.contains(&name) && cx.persona.tools.as_ref().is_none_or(|names| names.iter().any(|allowed| allowed == name))
}

/// Ours, then those from outside, as far as the persona has them.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let ours = TOOLS.iter().filter(|(name, ..)| offers(cx, name)).map(|(name, _, description, schema)| Tool {
        namespace: None,
        name: (*name).to_owned(),
        description: cx.words.tools.get(*name).cloned().unwrap_or_else(|| (*description).to_owned()),
        kind: ToolKind::Function(Raw::parse(schema).unwrap_or_else(|_| Raw::null())),
        strict: Some(false),
        deferred: false,
    });
    let allowed = |tool: &&Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    ours.chain(cx.extra_tools.iter().filter(allowed).cloned()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn schemas_are_json() {
        for (name, _, _, schema) in super::TOOLS {
            assert!(protocol::Raw::parse(schema).is_ok(), "{name}");
        }
    }
}
