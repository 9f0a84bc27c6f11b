//! The known key that an unknown one was probably meant to be.
use serde::{Deserialize, de};

use crate::schema::{self, Config};

/// In code quotes and with its table where that differs: `` `model` `` or `` `base_url` in `[model_providers.<id>]` ``.
pub(crate) fn nearest_key(table: &[String], key: &str, known: &[&'static str]) -> Option<String> {
    let quoted = |name: &str| Some(format!("`{name}`"));
    if let Some((_, now)) = RENAMED.iter().find(|(old, _)| *old == key) {
        return quoted(now);
    }
    if let Some(name) = known.iter().find(|name| same_letters(name, key) || is_plural(name, key)) {
        return quoted(name);
    }
    // A known key in the wrong table: as a rule a line that slipped below (or above) a table's header.
    let top = fields_of::<Config>();
    if !table.is_empty() && top.contains(&key) {
        return Some(format!("`{key}` at the top of the file, before the first table"));
    }
    for (header, fields) in TABLES {
        if fields().contains(&key) && !table.first().is_some_and(|first| header[1..].starts_with(first.as_str())) {
            return Some(format!("`{key}` in `{header}`"));
        }
    }
    let begun: Vec<_> = known.iter().filter(|name| key.len() >= 4 && name.starts_with(key)).collect();
    match begun[..] {
        [name] => quoted(name),
        _ => closest(key, known.iter().copied()).and_then(quoted),
    }
}

/// The name within a third of its length in single edits (swaps included), at most three.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    known
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

fn same_letters(known: &str, key: &str) -> bool {
    let letters =
        |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    letters(known) == letters(key)
}

fn is_plural(one: &str, other: &str) -> bool {
    one.strip_suffix('s') == Some(other) || other.strip_suffix('s') == Some(one)
}

/// Keys of older Codex that go by another name.
const RENAMED: &[(&str, &str)] = &[
    ("experimental_instructions_file", "model_instructions_file"),
    ("experimental_sandbox_mode", "sandbox_mode"),
    ("model_catalog", "model_catalog_json"),
    ("api_key", "env_key"),
];

/// Tables whose keys are often written somewhere else.
type Fields = fn() -> &'static [&'static str];
const TABLES: &[(&str, Fields)] = &[
    ("[model_providers.<id>]", fields_of::<schema::ModelProvider>),
    ("[sandbox_workspace_write]", fields_of::<schema::SandboxWorkspaceWrite>),
    ("[shell_environment_policy]", fields_of::<schema::ShellEnvironmentPolicy>),
    ("[mcp_servers.<name>]", fields_of::<schema::McpServer>),
    ("[tui]", fields_of::<schema::Tui>),
    ("[projects.\"<path>\"]", fields_of::<schema::ProjectEntry>),
];

/// The field names that serde knows of a struct: asks its `Deserialize` what it would accept.
pub(crate) fn fields_of<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(FieldProbe(&mut fields));
    fields
}

struct FieldProbe<'a>(&'a mut &'static [&'static str]);

impl<'de> de::Deserializer<'de> for FieldProbe<'_> {
    type Error = de::value::Error;
    fn deserialize_any<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("only asked for its fields"))
    }
    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names() {
        let check = |table: &[&str], key: &str, expected: Option<&str>| {
            let table: Vec<String> = table.iter().map(|part| (*part).to_owned()).collect();
            let known = match table.first().map(String::as_str) {
                None => fields_of::<Config>(),
                Some("tui") => fields_of::<schema::Tui>(),
                _ => fields_of::<schema::ModelProvider>(),
            };
            assert_eq!(nearest_key(&table, key, known).as_deref(), expected, "{key}");
        };
        check(&[], "modle", Some("`model`"));
        check(&[], "base_url", Some("`base_url` in `[model_providers.<id>]`"));
        check(&[], "network_access", Some("`network_access` in `[sandbox_workspace_write]`"));
        check(&[], "trust_level", Some("`trust_level` in `[projects.\"<path>\"]`"));
        check(&[], "mcp_server", Some("`mcp_servers`"));
        check(&[], "mcpServers", Some("`mcp_servers`"));
        check(&[], "sandbox-mode", Some("`sandbox_mode`"));
        check(&[], "aproval_policy", Some("`approval_policy`"));
        check(&[], "experimental_instructions_file", Some("`model_instructions_file`"));
        check(&[], "zzz", None);
        check(&["tui"], "themes", Some("`theme`"));
        check(&["tui"], "model", Some("`model` at the top of the file, before the first table"));
        check(&["model_providers", "x"], "base_ulr", Some("`base_url`"));
        check(&["model_providers", "x"], "api_key", Some("`env_key`"));
    }
}
