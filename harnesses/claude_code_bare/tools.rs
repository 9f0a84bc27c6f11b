//! The three tools: names, order and schemas (key for key) of Claude Code 2.1.332 with `--bare`; descriptions in our own words.
use protocol::{Raw, Tool, ToolKind};

use crate::Context;

const BASH: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"command":{"description":"What to run, as text for the shell","type":"string"},"timeout":{"description":"Milliseconds until the command is ended; 600000 at most, 120000 if not given","type":"number"},"description":{"description":"One short sentence in the active voice that tells the user what the command does. Judgements such as \"complex\" or \"risky\" do not belong in it.\n\nThe user often sees this text and not the command, so use plain words: no flags, no paths, no repetition of the command itself.\n\nEveryday commands need five to ten words:\n- pwd → \"Show the current directory\"\n- git log -5 → \"Show the last five commits\"\n- cargo build → \"Compile the project\"\n\nPipelines, rare options and the like deserve as many words as it takes to understand them:\n- grep -rl TODO src | wc -l → \"Count source files that still hold a to-do note\"\n- git stash push -u → \"Set all local changes aside, new files included\"\n- tar -tzf a.tgz | head → \"List the first entries of a compressed archive\"","type":"string"},"dangerouslyDisableSandbox":{"description":"true runs the command outside of the sandbox. Dangerous: only where it cannot work inside.","type":"boolean"}},"required":["command"],"additionalProperties":false}"#;

const EDIT: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"file_path":{"description":"Absolute path of the file to change","type":"string"},"old_string":{"description":"Text that stands in the file now","type":"string"},"new_string":{"description":"Text to put in its place; must differ from old_string","type":"string"},"replace_all":{"description":"Replace every occurrence of old_string, not just a single one (default false)","default":false,"type":"boolean"}},"required":["file_path","old_string","new_string"],"additionalProperties":false}"#;

const READ: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"file_path":{"description":"Absolute path of the file to read","type":"string"},"offset":{"description":"First line to read, for files that are too large to be read at once","type":"integer","minimum":0,"maximum":9007199254740991},"limit":{"description":"How many lines to read, for files that are too large to be read at once.","type":"integer","exclusiveMinimum":0,"maximum":9007199254740991},"pages":{"description":"Pages of a PDF: one (\"3\") or a range (\"1-5\"), 20 at most. PDF files only.","type":"string"},"allow_large":{"description":"true lifts the usual size limits of a text file or line range, up to the room that is left in the conversation. Only where all of it is truly needed or the user asked for the whole file; else page with offset and limit, or search.","type":"boolean"}},"required":["file_path"],"additionalProperties":false}"#;

const TOOLS: [(&str, &str, &str); 3] = [
    ("Bash", "run a shell command", BASH),
    ("Edit", "change text inside of a file", EDIT),
    ("Read", "show a file, image, PDF, notebook", READ),
];

pub(super) fn schema(tool: &str) -> serde_json::Value {
    let found = TOOLS.iter().find(|(name, ..)| *name == tool);
    found.and_then(|(_, _, schema)| serde_json::from_str(schema).ok()).unwrap_or_default()
}

/// Ours, then those from outside, as far as the persona has them.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let ours = TOOLS.iter().map(|(name, description, schema)| Tool {
        namespace: None,
        name: (*name).to_owned(),
        description: cx.words.tools.get(*name).cloned().unwrap_or_else(|| (*description).to_owned()),
        kind: ToolKind::Function(Raw::parse(schema).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    });
    let allowed = |tool: &Tool| cx.persona.tools.as_ref().is_none_or(|names| names.contains(&tool.name));
    ours.chain(cx.extra_tools.iter().cloned()).filter(allowed).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn schemas_are_json() {
        for (name, _, schema) in super::TOOLS {
            assert!(protocol::Raw::parse(schema).is_ok(), "{name}");
        }
    }
}
