//! The tools. Their schemas are flat, of strings and integers, and hold nothing else: no `additionalProperties`, enums, defaults or
//! alternatives, which small servers refuse or translate wrongly.
use protocol::{Raw, Tool, ToolKind};

use super::Form;
use crate::Context;

pub(super) const BASH: &str = "bash";

/// Name, description, schema. `bash` comes first and, alone, without a time limit to choose.
const TOOLS: [(&str, &str, &str); 4] = [
    (
        BASH,
        "Run a bash command and get its output.",
        r#"{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer","description":"Seconds, 120 if not given"}},"required":["command"]}"#,
    ),
    (
        "read",
        "Read a text file. A long one is shown in part; go on with offset.",
        r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"First line, from 1"},"limit":{"type":"integer","description":"Number of lines"}},"required":["path"]}"#,
    ),
    (
        "write",
        "Write a whole file, new or in place of the old one.",
        r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
    ),
    (
        "edit",
        "Replace a text in a file. oldText must stand in the file exactly once.",
        r#"{"type":"object","properties":{"path":{"type":"string"},"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["path","oldText","newText"]}"#,
    ),
];
const BASH_ALONE: &str = r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#;

/// What a model may call, or write as a block in the text form.
pub(super) fn names(cx: &Context) -> Vec<&'static str> {
    let all = if Form::of(cx) == Form::FourTools { TOOLS.len() } else { 1 };
    let allowed = |name: &&str| cx.persona.tools.as_ref().is_none_or(|names| names.iter().any(|given| given == name));
    TOOLS[..all].iter().map(|(name, ..)| *name).filter(allowed).collect()
}

/// Ours, then those from outside; none in the text form.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let form = Form::of(cx);
    if form == Form::Text {
        return Vec::new();
    }
    let names = names(cx);
    let ours = TOOLS.iter().filter(|(name, ..)| names.contains(name)).map(|(name, description, schema)| Tool {
        namespace: None,
        name: (*name).to_owned(),
        description: cx.words.tools.get(*name).cloned().unwrap_or_else(|| (*description).to_owned()),
        kind: ToolKind::Function(
            Raw::parse(if form == Form::Bash { BASH_ALONE } else { schema }).unwrap_or_else(|_| Raw::null()),
        ),
        strict: None,
        deferred: false,
    });
    let allowed = |tool: &&Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    ours.chain(cx.extra_tools.iter().filter(allowed).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_hold_what_every_server_takes() {
        for schema in TOOLS.iter().map(|(_, _, schema)| *schema).chain([BASH_ALONE]) {
            let value: serde_json::Value = serde_json::from_str(schema).unwrap();
            assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["type", "properties", "required"]);
            for property in value["properties"].as_object().unwrap().values() {
                assert!(matches!(property["type"].as_str(), Some("string" | "integer")), "{schema}");
                assert!(property.as_object().unwrap().keys().all(|key| key == "type" || key == "description"));
            }
        }
    }
}
