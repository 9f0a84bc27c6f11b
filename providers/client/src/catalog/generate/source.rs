//! models.dev's `api.json`, as far as we read it.
use std::collections::BTreeMap;

use protocol::Price;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct SourceProvider {
    pub(super) name: String,
    /// The JavaScript package that speaks to it.
    #[serde(default)]
    pub(super) npm: String,
    /// Missing where the package knows the address.
    pub(super) api: Option<String>,
    #[serde(default)]
    pub(super) env: Vec<String>,
    pub(super) doc: Option<String>,
    #[serde(default)]
    pub(super) models: BTreeMap<String, SourceModel>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SourceModel {
    pub(super) name: String,
    pub(super) reasoning: bool,
    pub(super) tool_call: bool,
    pub(super) temperature: Option<bool>,
    interleaved: serde_json::Value,
    pub(super) modalities: Modalities,
    pub(super) limit: Limit,
    pub(super) cost: Option<Price>,
    pub(super) status: Option<String>,
    pub(super) provider: Option<Source>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Modalities {
    pub(super) input: Vec<String>,
    pub(super) output: Vec<String>,
}

/// Tokens; 0: not known.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limit {
    pub(super) context: u64,
    pub(super) input: u64,
    pub(super) output: u64,
}

/// Where one model is spoken to, where that is not where its provider is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Source {
    pub(super) npm: Option<String>,
    pub(super) api: Option<String>,
    /// `completions` or `responses`.
    pub(super) shape: Option<String>,
}

impl SourceModel {
    /// The field in which reasoning goes back between calls (`interleaved: {"field": ...}`; a bare `true` does not say).
    pub(super) fn reasoning_field(&self) -> Option<String> {
        Some(self.interleaved.get("field")?.as_str()?.to_owned())
    }
}
