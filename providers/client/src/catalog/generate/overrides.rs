//! `providers/catalog/overrides.toml`: what is known beyond the data.
use std::collections::BTreeMap;

use protocol::WireId;
use serde::Deserialize;

use crate::catalog::Reasoning;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overrides {
    /// By name of the JavaScript package.
    packages: BTreeMap<String, Package>,
    /// By id.
    pub(super) providers: BTreeMap<String, ProviderRow>,
    /// At any provider.
    models: Vec<ModelRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    wire: Option<WireId>,
    /// Why it has no wire.
    unsupported: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProviderRow {
    pub(super) name: Option<String>,
    pub(super) wire: Option<WireId>,
    chat: Option<String>,
    messages: Option<String>,
    responses: Option<String>,
    pub(super) keys: Vec<String>,
    pub(super) instructions: Option<String>,
    pub(super) order: Option<u32>,
    /// Why it is left out.
    pub(super) drop: Option<String>,
    models: Vec<ModelRow>,
}

/// What holds for some models; of several rows the last one that says something counts.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ModelRow {
    /// Patterns with `*`. Below a provider they are held against the whole id, else against its last part in lower case with
    /// `-` for `.`, with and without a maker before it.
    #[serde(rename = "match")]
    patterns: Vec<String>,
    /// Patterns of provider ids; none: all.
    providers: Vec<String>,
    pub(super) wire: Option<WireId>,
    pub(super) base_url: Option<String>,
    /// Tokens that it takes without being asked for more in a way that we do not have.
    pub(super) context: Option<u64>,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) levels: Vec<String>,
    pub(super) interleaved: Option<String>,
    pub(super) hidden: bool,
    /// Why it is left out.
    pub(super) drop: Option<String>,
    /// It is not, whatever an earlier row says.
    pub(super) keep: bool,
}

impl ProviderRow {
    pub(super) fn url(&self, wire: WireId) -> Option<&str> {
        match wire {
            WireId::Responses => self.responses.as_deref(),
            WireId::Chat => self.chat.as_deref(),
            WireId::Messages => self.messages.as_deref(),
        }
    }
}

impl Overrides {
    pub(super) fn parse(text: &str) -> Result<Overrides, String> {
        let overrides: Overrides = toml::from_str(text).map_err(|e| e.to_string())?;
        for (name, package) in &overrides.packages {
            if package.wire.is_some() == package.unsupported.is_some() {
                return Err(format!("packages.{name:?} has to have either a wire or a reason (`unsupported`)"));
            }
        }
        let rows = overrides.providers.values().flat_map(|row| &row.models).chain(&overrides.models);
        for row in rows {
            let steered = row.reasoning == Some(Reasoning::Effort);
            if steered == row.levels.is_empty() {
                return Err(format!(
                    "models {:?}: `levels` go with reasoning = \"effort\", and with it only",
                    row.patterns
                ));
            }
        }
        Ok(overrides)
    }

    /// The wire of a package, or why it has none.
    pub(super) fn wire(&self, package: &str) -> Result<WireId, String> {
        match self.packages.get(package) {
            Some(Package { wire: Some(wire), .. }) => Ok(*wire),
            Some(Package { unsupported, .. }) => Err(unsupported.clone().unwrap_or_default()),
            None => Err(format!("its package {package} is not known to us")),
        }
    }

    /// Rows that hold for a model, the general ones first.
    pub(super) fn rows<'a>(
        &'a self,
        provider: &'a str,
        model: &str,
        own: &'a ProviderRow,
    ) -> impl Iterator<Item = &'a ModelRow> {
        let last = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let names = [plain(&last), plain(without_maker(&last))];
        let model = model.to_owned();
        let here = move |row: &&ModelRow| row.providers.is_empty() || row.providers.iter().any(|p| fits(p, provider));
        let general = self
            .models
            .iter()
            .filter(here)
            .filter(move |row| row.patterns.iter().any(|p| names.iter().any(|name| fits(p, name))));
        general.chain(own.models.iter().filter(move |row| row.patterns.iter().any(|p| fits(p, &model))))
    }
}

fn plain(name: &str) -> String {
    name.replace('.', "-")
}

/// `us.anthropic.claude-opus-5` without what stands before the name.
fn without_maker(name: &str) -> &str {
    match name.split_once('.') {
        Some((maker, rest)) if maker.bytes().all(|b| b.is_ascii_lowercase()) => without_maker(rest),
        _ => name,
    }
}

/// Whether `text` is what `pattern` describes; `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text) in
            [("a", "a"), ("a*", "a"), ("a*", "abc"), ("*b*", "abc"), ("*", ""), ("a*c*e", "abcde"), ("*-x", "a-x-x")]
        {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a", ""), ("*b", "abc"), ("a*a", "a"), ("a*c*e", "aec")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        let check = |text: &str, part: &str| {
            let told = Overrides::parse(text).map(|_| ()).expect_err("a mistake");
            assert!(told.contains(part), "{told}");
        };
        check("models = []\n[packages]\nx = {}\n[providers]", "packages.\"x\"");
        check("packages = {}\nproviders = {}\n[[models]]\nmatch = [\"a\"]\nlevels = [\"low\"]", "`levels`");
        check("packages = {}\nmodels = []\n[providers.x]\nbase = \"y\"", "unknown field `base`");
    }
}
