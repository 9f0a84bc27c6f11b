//! Makes the catalog: models.dev's data and our overrides in, sorted lines and a summary out. The same input gives the same
//! bytes.
//!
//! Kept are providers that we can speak to at an address that is known (or becomes so by variables of the environment), and
//! their models that call tools and answer in text. Everything else is named in the summary with its reason. How thinking is
//! steered is never inferred from the data's yes or no; it comes from the overrides.
mod overrides;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use protocol::WireId;

use self::{
    overrides::{ModelRow, Overrides, ProviderRow},
    source::{Source, SourceModel, SourceProvider},
};
use super::{Catalog, Head, Listing, Model, Reasoning, VERSION, entry::HEAD, line, split, template::variables};
use crate::provider::{host, is_loopback};

static OVERRIDES: &str = include_str!("../../../catalog/overrides.toml");

/// What to make a catalog of.
pub struct Order<'a> {
    /// models.dev's `api.json`.
    pub data: &'a str,
    /// The day of the data, `2026-11-30`.
    pub date: &'a str,
    /// Renew these providers and leave all others as they are in `old`; empty: all.
    pub only: &'a [String],
    /// The catalog so far.
    pub old: Option<&'a [u8]>,
}

/// A new catalog.
#[derive(Debug)]
pub struct Made {
    pub text: String,
    pub summary: Summary,
}

/// What became of the data.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// In the whole catalog.
    pub providers: usize,
    pub models: usize,
    /// Providers that were left out, with the reason.
    pub dropped: BTreeMap<String, String>,
    /// Models of kept providers that were left out, counted by reason.
    pub models_dropped: BTreeMap<String, usize>,
}

/// Why no catalog was made.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    #[error("The data is not in the form of models.dev's api.json: {0}")]
    Data(serde_json::Error),
    #[error("providers/catalog/overrides.toml: {0}")]
    Overrides(String),
    #[error("The data has no provider `{0}`.")]
    NoProvider(String),
    #[error("A date is written YYYY-MM-DD, not `{0}`.")]
    Date(String),
    #[error("Renewing some providers needs a catalog of this version to renew.")]
    NoOld,
    #[error("Nothing is left of the data: {0} providers, all dropped.")]
    Empty(usize),
    #[error("An entry cannot be written: {0}")]
    Write(serde_json::Error),
}

/// Makes a catalog.
pub fn generate(order: &Order) -> Result<Made, GenerateError> {
    let dated = order.date.len() == 10 && order.date.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if !dated {
        return Err(GenerateError::Date(order.date.to_owned()));
    }
    let data: BTreeMap<String, SourceProvider> = serde_json::from_str(order.data).map_err(GenerateError::Data)?;
    let overrides = Overrides::parse(OVERRIDES).map_err(GenerateError::Overrides)?;
    if let Some(unknown) = order.only.iter().find(|id| !data.contains_key(*id)) {
        return Err(GenerateError::NoProvider(unknown.clone()));
    }
    let renewed = |id: &str| order.only.is_empty() || order.only.iter().any(|only| only == id);
    let mut lines = BTreeMap::new();
    if !order.only.is_empty() {
        let old = order.old.filter(|old| Catalog::read(*old).is_some()).ok_or(GenerateError::NoOld)?;
        lines = entries(old);
        lines.retain(|key, _| !renewed(key.split('/').next().unwrap_or_default()));
    }
    let mut summary = Summary::default();
    for (id, provider) in data.iter().filter(|(id, _)| renewed(id)) {
        match keep(id, provider, &overrides, &mut summary.models_dropped) {
            Err(reason) => {
                summary.dropped.insert(id.clone(), reason);
            }
            Ok((listing, models)) => {
                lines.insert(id.clone(), serde_json::to_string(&listing).map_err(GenerateError::Write)?);
                for (model, entry) in models {
                    lines.insert(format!("{id}/{model}"), serde_json::to_string(&entry).map_err(GenerateError::Write)?);
                }
            }
        }
    }
    summary.providers = lines.keys().filter(|key| !key.contains('/')).count();
    summary.models = lines.len() - summary.providers;
    if summary.providers == 0 {
        return Err(GenerateError::Empty(data.len()));
    }
    index(&mut lines)?;
    // Of data that says the same the date stays the same.
    let same = order.old.filter(|old| Catalog::read(*old).is_some_and(|_| all(old) == lines));
    let date = same.and_then(|old| Some(Catalog::read(old)?.head().date)).unwrap_or_else(|| order.date.to_owned());
    let head = Head { version: VERSION, date, providers: summary.providers, models: summary.models };
    let mut text = format!("{HEAD}\t{}\n", serde_json::to_string(&head).map_err(GenerateError::Write)?);
    for (key, json) in lines {
        text.extend([&key, "\t", &json, "\n"]);
    }
    Ok(Made { text, summary })
}

/// Lines of providers and models.
fn entries(text: &[u8]) -> BTreeMap<String, String> {
    let mut lines = all(text);
    lines.retain(|key, _| !key.starts_with(['$', '%']));
    lines
}

/// All lines but the first.
fn all(text: &[u8]) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    let mut at = 0;
    while at < text.len() {
        let found = line(text, at);
        if let Some((key, json)) = split(found).filter(|(key, _)| *key != HEAD) {
            lines.insert(key.to_owned(), String::from_utf8_lossy(json).into_owned());
        }
        at += found.len() + 1;
    }
    lines
}

/// Adds the lines that lead from a host or a variable to providers.
fn index(lines: &mut BTreeMap<String, String>) -> Result<(), GenerateError> {
    let mut index: BTreeMap<String, BTreeSet<(u32, String)>> = BTreeMap::new();
    for (id, json) in lines.iter().filter(|(key, _)| !key.contains('/')) {
        let listing: Listing = serde_json::from_str(json).map_err(GenerateError::Data)?;
        let hosts = listing.urls.values().filter_map(|url| host_key(url)).map(|host| format!("%{host}"));
        let variables = listing.keys.iter().map(|variable| format!("${variable}"));
        for key in hosts.chain(variables) {
            index.entry(key).or_default().insert((listing.order, id.clone()));
        }
    }
    for (key, ids) in index {
        let ids: Vec<String> = ids.into_iter().map(|(_, id)| id).collect();
        lines.insert(key, serde_json::to_string(&ids).map_err(GenerateError::Write)?);
    }
    Ok(())
}

/// The host of an address, with `*` for the variable in it; None where that could be any host.
fn host_key(url: &str) -> Option<String> {
    if !url.contains("${") {
        return Some(host(url)).filter(|host| !host.is_empty());
    }
    let authority = url.split_once("://")?.1;
    let (begin, end) = (authority.find("${"), authority.find('/').unwrap_or(authority.len()));
    let fixed = match begin {
        Some(at) if at < end => {
            let behind = &authority[authority[..end].rfind('}')? + 1..end];
            format!("*{}", behind.strip_prefix('.').map(|rest| format!(".{rest}"))?)
        }
        _ => authority[..end].to_owned(),
    };
    Some(fixed.to_ascii_lowercase())
}

type Kept = (Listing, BTreeMap<String, Model>);

/// A provider and its models, or why it is left out.
fn keep(
    id: &str,
    provider: &SourceProvider,
    overrides: &Overrides,
    models_dropped: &mut BTreeMap<String, usize>,
) -> Result<Kept, String> {
    let none = ProviderRow::default();
    let row = overrides.providers.get(id).unwrap_or(&none);
    if !super::is_id(id) {
        return Err("its id cannot be written into the catalog".into());
    }
    if let Some(reason) = &row.drop {
        return Err(reason.clone());
    }
    let wire = match row.wire {
        Some(wire) => wire,
        None => overrides.wire(&provider.npm)?,
    };
    let mut urls = BTreeMap::new();
    if let Some(api) = provider.api.as_deref().filter(|_| row.wire.is_none() || row.url(wire).is_none()) {
        urls.insert(wire, clean(api, wire));
    }
    urls.extend(WireId::ALL.into_iter().filter_map(|wire| Some((wire, row.url(wire)?.to_owned()))));
    let Some(own) = urls.get(&wire).cloned() else {
        return Err("no address: neither the data nor overrides.toml has one".into());
    };
    if is_loopback(&host(&own)) {
        return Err("local only: its address is on this machine".into());
    }
    let at = At { id, provider, row, overrides, wire, own: &own };
    let mut models = BTreeMap::new();
    let mut reasons = BTreeMap::new();
    for (model, facts) in &provider.models {
        match at.model(model, facts, &mut urls) {
            Ok(entry) => {
                models.insert(model.clone(), entry);
            }
            Err(reason) => *reasons.entry(reason).or_insert(0) += 1,
        }
    }
    if models.is_empty() {
        let most: Option<(&String, &usize)> = reasons.iter().max_by_key(|(_, n)| **n);
        let why = most.map_or_else(|| "it has none".to_owned(), |(reason, _)| reason.clone());
        return Err(format!("no model is left ({why})"));
    }
    for (reason, n) in reasons {
        *models_dropped.entry(reason).or_default() += n;
    }
    // What stands in an address is no key.
    let in_urls: BTreeSet<String> = urls
        .values()
        .chain(models.values().filter_map(|model| model.url.as_ref()))
        .flat_map(|url| variables(url))
        .map(|(name, _)| name.to_owned())
        .collect();
    let keys = match row.keys.is_empty() {
        true => provider.env.iter().filter(|name| !in_urls.contains(*name)).cloned().collect(),
        false => row.keys.clone(),
    };
    let name = row.name.clone().unwrap_or_else(|| provider.name.clone());
    let doc = provider.doc.clone().filter(|doc| doc.starts_with("https://"));
    let order = row.order.unwrap_or(u32::MAX);
    Ok((Listing { name, wire, urls, keys, instructions: row.instructions.clone(), order, doc }, models))
}

/// The provider that a model is at.
struct At<'a> {
    id: &'a str,
    provider: &'a SourceProvider,
    row: &'a ProviderRow,
    overrides: &'a Overrides,
    wire: WireId,
    own: &'a str,
}

impl At<'_> {
    /// The model's line, or why it has none. An address that it has for itself becomes the provider's for that wire where
    /// there was none.
    fn model(&self, id: &str, facts: &SourceModel, urls: &mut BTreeMap<WireId, String>) -> Result<Model, String> {
        if id.is_empty() || id.contains(char::is_control) {
            return Err("its id cannot be written into the catalog".into());
        }
        if !facts.tool_call {
            return Err("calls no tools".into());
        }
        if !facts.modalities.output.iter().any(|kind| kind == "text") {
            return Err("does not answer in text".into());
        }
        let rows: Vec<&ModelRow> = self.overrides.rows(self.id, id, self.row).collect();
        if let Some(Some(reason)) = rows.iter().rev().find_map(|row| match (&row.drop, row.keep) {
            (Some(reason), _) => Some(Some(reason)),
            (None, true) => Some(None),
            _ => None,
        }) {
            return Err(reason.clone());
        }
        let (wire, url) = self.place(facts, &rows, urls)?;
        let own_wire = (wire != self.wire).then_some(wire);
        let url = url.filter(|url| urls.entry(wire).or_insert_with(|| url.clone()) != url);
        let steered = rows.iter().rev().find(|row| row.reasoning.is_some());
        let (reasoning, levels) = match (facts.reasoning, steered) {
            (false, _) => (Reasoning::None, Vec::new()),
            (true, Some(row)) => (row.reasoning.unwrap_or(Reasoning::Unstated), row.levels.clone()),
            (true, None) => (Reasoning::Unstated, Vec::new()),
        };
        let interleaved = rows.iter().rev().find_map(|row| row.interleaved.clone());
        let mut takes: Vec<String> = facts.modalities.input.iter().filter(|kind| *kind != "text").cloned().collect();
        takes.sort();
        Ok(Model {
            name: facts.name.clone(),
            context: rows.iter().rev().find_map(|row| row.context).unwrap_or(facts.limit.context),
            input: if facts.limit.input == facts.limit.context { 0 } else { facts.limit.input },
            output: facts.limit.output,
            takes,
            reasoning,
            levels,
            interleaved: interleaved.or_else(|| facts.reasoning_field()),
            temperature: facts.temperature.filter(|allowed| !allowed),
            price: facts.cost.clone(),
            status: facts.status.clone(),
            hidden: rows.iter().any(|row| row.hidden),
            wire: own_wire,
            url,
        })
    }

    /// The wire that a model is spoken to on, and its address where one is said.
    fn place(
        &self,
        facts: &SourceModel,
        rows: &[&ModelRow],
        urls: &BTreeMap<WireId, String>,
    ) -> Result<(WireId, Option<String>), String> {
        let said = rows.iter().rev().find_map(|row| row.wire);
        let address = rows.iter().rev().find_map(|row| row.base_url.clone());
        if let Some(wire) = said {
            return Ok((wire, address));
        }
        let none = Source::default();
        let block = facts.provider.as_ref().unwrap_or(&none);
        let wire = match (block.shape.as_deref(), &block.npm) {
            (Some("completions"), _) => WireId::Chat,
            (Some("responses"), _) => WireId::Responses,
            (_, Some(npm)) => self.overrides.wire(npm)?,
            (_, None) => self.wire,
        };
        let url = match (address, &block.api) {
            (Some(url), _) => Some(url),
            (None, Some(api)) => Some(clean(api, wire)),
            // Another wire at the same address, unless there is one for it.
            (None, None) if wire != self.wire && !urls.contains_key(&wire) => {
                Some(clean(self.provider.api.as_deref().unwrap_or(self.own), wire))
            }
            (None, None) => None,
        };
        Ok((wire, url))
    }
}

/// An address as the wire wants it: without the path that a wire adds, and without a slash at the end.
fn clean(url: &str, wire: WireId) -> String {
    let url = url.trim().trim_end_matches('/');
    let paths = ["/chat/completions", "/responses", "/messages"];
    let url = paths.into_iter().find_map(|path| url.strip_suffix(path)).unwrap_or(url);
    // The path of Messages begins with it.
    if wire == WireId::Messages { url.strip_suffix("/v1").unwrap_or(url).to_owned() } else { url.to_owned() }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "kept {} providers, {} models", self.providers, self.models)?;
        if !self.dropped.is_empty() {
            writeln!(f, "dropped {} providers:", self.dropped.len())?;
            let width = self.dropped.keys().map(String::len).max().unwrap_or(0);
            for (id, reason) in &self.dropped {
                writeln!(f, "  {id:width$}  {reason}")?;
            }
        }
        if !self.models_dropped.is_empty() {
            writeln!(f, "dropped {} models of the kept ones:", self.models_dropped.values().sum::<usize>())?;
            let mut reasons: Vec<(&String, &usize)> = self.models_dropped.iter().collect();
            reasons.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
            for (reason, n) in reasons {
                writeln!(f, "  {n:5}  {reason}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
