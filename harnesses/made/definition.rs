//! A harness that a user writes: `harness.toml`, and perhaps `prompt.md` beside it. Read from text; the files are the runtime's business.
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{blank::Blank, schema, template};
use crate::Harness;

/// `harness.toml`. A key that is not listed here is an error.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The built-in harness that this one changes.
    pub base: String,
    /// For `harness list`.
    #[serde(default)]
    pub description: String,
    /// In place of the base's prompt: a template (`PLACES`). Unset: `prompt.md` beside the file, where there is one.
    pub prompt: Option<String>,
    /// By the name that the base has for them.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolChange>,
    /// Of all tools that have none of their own.
    #[serde(default)]
    pub answers: Answers,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolChange {
    /// What the model knows it by.
    pub name: Option<String>,
    /// False: it is not offered.
    pub offered: Option<bool>,
    pub description: Option<String>,
    /// Path of a property (`questions[].header`) to its description.
    pub properties: BTreeMap<String, String>,
    pub answers: Answers,
}

/// Templates of answers, with `{{answer}}` and `{{tool}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answers {
    pub success: Option<String>,
    pub failure: Option<String>,
}

/// What is wrong with a definition: the line of the file, where it is known, and a sentence with the key and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub line: Option<usize>,
    pub message: String,
}

const ANSWER_PLACES: [&str; 2] = ["answer", "tool"];

impl Definition {
    /// `prompt`: the text of prompt.md, where there is one.
    pub fn parse(text: &str, prompt: Option<String>) -> Result<Definition, Fault> {
        let mut definition: Definition = toml::from_str(text).map_err(|error| Fault {
            line: error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1),
            message: error.message().trim().replace('\n', " "),
        })?;
        match (&definition.prompt, prompt) {
            (Some(_), Some(_)) => {
                return Err(fault("`prompt` is set, and there is a prompt.md too: keep one of the two".to_owned()));
            }
            (None, prompt) => definition.prompt = prompt.map(|text| text.trim_end().to_owned()),
            (Some(_), None) => {}
        }
        Ok(definition)
    }

    /// Whether it fits its base: what it names must be there.
    pub fn check(&self, base: &'static dyn Harness) -> Result<(), Fault> {
        let places: Vec<&str> = template::PLACES.iter().map(|(name, _)| *name).collect();
        let known = offered(base);
        self.prompt.as_deref().map_or(Ok(()), |text| place_check("prompt", text, &places))?;
        self.answers.check("answers")?;
        let mut shown: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        for (name, change) in &self.tools {
            let key = format!("tools.{name}");
            let Some(paths) = known.get(name) else {
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                return Err(fault(match names.is_empty() {
                    true => format!("`{key}`: {} has no tools; remove this table", self.base),
                    false => format!("`{key}`: {} has no tool `{name}`; it has {}", self.base, names.join(", ")),
                }));
            };
            if change.offered == Some(false)
                && *change != (ToolChange { offered: Some(false), ..ToolChange::default() })
            {
                return Err(fault(format!("`{key}`: it is not offered; remove its other keys")));
            }
            if let Some(new) = change.name.as_deref().filter(|new| new != name) {
                let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if new.is_empty() || new.len() > 64 || !new.chars().all(valid) {
                    return Err(fault(format!(
                        "`{key}.name`: `{new}` is no name for a tool; use 1 to 64 letters, digits, `_`, `-`"
                    )));
                }
                // Names that differ in case only would be taken for one another.
                if shown.iter().any(|other| other.eq_ignore_ascii_case(new)) || !shown.insert(new) {
                    return Err(fault(format!("`{key}.name`: `{new}` is a tool of its own; choose another name")));
                }
            }
            change
                .description
                .as_deref()
                .map_or(Ok(()), |text| place_check(&format!("{key}.description"), text, &places))?;
            for (path, text) in &change.properties {
                place_check(&format!("{key}.properties.{path}"), text, &places)?;
                if !paths.contains(path) {
                    let message = format!("`{key}.properties`: no property `{path}`; there are {}", paths.join(", "));
                    return Err(fault(message));
                }
            }
            change.answers.check(&format!("{key}.answers"))?;
        }
        Ok(())
    }

    /// The template for an answer of this tool.
    pub(crate) fn answer(&self, tool: &str, failed: bool) -> Option<&str> {
        let own = self.tools.get(tool).and_then(|change| change.answers.of(failed));
        own.or_else(|| self.answers.of(failed))
    }
}

impl Answers {
    fn of(&self, failed: bool) -> Option<&str> {
        if failed { self.failure.as_deref() } else { self.success.as_deref() }
    }

    fn check(&self, key: &str) -> Result<(), Fault> {
        for (name, text) in [("success", &self.success), ("failure", &self.failure)] {
            text.as_deref().map_or(Ok(()), |text| place_check(&format!("{key}.{name}"), text, &ANSWER_PLACES))?;
        }
        Ok(())
    }
}

fn fault(message: String) -> Fault {
    Fault { line: None, message }
}

fn place_check(key: &str, text: &str, known: &[&str]) -> Result<(), Fault> {
    match template::unknown(text, known) {
        Some(place) => Err(fault(format!("`{key}`: no place `{{{{{place}}}}}`; there are {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// Tools that a harness may offer, with the paths of their properties: all that it does offer in any usual thread.
pub fn offered(harness: &'static dyn Harness) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for blank in Blank::usual(harness) {
        for tool in harness.open(&blank.cx()).tools {
            let (protocol::ToolKind::Function(raw) | protocol::ToolKind::Custom { fallback: raw, .. }) = tool.kind
            else {
                continue;
            };
            found.insert(tool.name, schema::paths(&raw.value()));
        }
    }
    found
}
