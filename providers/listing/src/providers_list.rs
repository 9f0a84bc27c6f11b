//! `interpreter providers list|show`.
use clap::Subcommand;
use config::Loaded;
use providers::{Auth, Provider, Registry, RegistryError, catalog::Listing};
use serde_json::{Value, json};

use crate::table::table;

#[derive(Debug, Subcommand)]
pub enum Providers {
    /// Providers that can be used now or are configured; with --all those that only miss a key as well
    List {
        /// All of the catalog too
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Address, wires and key of one
    Show {
        #[arg(value_name = "PROVIDER")]
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// What a `providers` command prints; Err: one line on what is wrong.
pub fn providers(loaded: &Loaded, command: &Providers) -> Result<String, String> {
    let registry = runtime::registry(loaded);
    match command {
        Providers::List { all, json } => Ok(list(&registry, *all, *json)),
        Providers::Show { id, json } => show(&registry, id, *json),
    }
}

/// How near a provider is to being used; the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// A table of the user's config.
    Configured,
    /// Its key was found, or it needs none.
    Ready,
    /// It misses a key, or a part of its address.
    Listed,
}

/// A provider as far as it can be made.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) state: State,
    pub(crate) made: Result<Provider, RegistryError>,
    /// What the catalog has under its id.
    listing: Option<Listing>,
}

impl Entry {
    fn new(registry: &Registry, id: &str) -> Entry {
        let made = registry.provider(id);
        let configured = registry.configured().any(|configured| configured == id);
        let ready = made.as_ref().is_ok_and(|provider| match &provider.auth {
            // What an SDK passes is for the provider that it asks for.
            Auth::Key { from, .. } => !from.contains("CODEX_API_KEY"),
            Auth::Missing { .. } => false,
            Auth::None | Auth::Command(_) => true,
        });
        let state = match (configured, ready) {
            (true, _) => State::Configured,
            (false, true) => State::Ready,
            (false, false) => State::Listed,
        };
        Entry { id: id.to_owned(), state, made, listing: registry.catalog().provider(id) }
    }

    fn name(&self) -> &str {
        let listed = || self.listing.as_ref().map_or(self.id.as_str(), |listing| &listing.name);
        self.made.as_ref().map_or_else(|_| listed(), |provider| &provider.name)
    }

    fn wire(&self) -> &'static str {
        let made = self.made.as_ref().ok().map(|provider| provider.wire);
        made.or(self.listing.as_ref().map(|listing| listing.wire)).map_or("-", |wire| wire.as_str())
    }

    fn url(&self) -> String {
        let listed = || self.listing.as_ref().and_then(|listing| listing.url(listing.wire)).unwrap_or("-");
        self.made.as_ref().map_or_else(|_| listed(), |provider| &provider.base_url).to_owned()
    }

    /// Where its key is, or should be.
    fn key(&self) -> String {
        match self.made.as_ref().map(|provider| &provider.auth) {
            Ok(Auth::None) => "none".to_owned(),
            Ok(Auth::Key { from, .. }) => from.replace('`', ""),
            Ok(Auth::Command(_)) => "command".to_owned(),
            Ok(Auth::Missing { variable, .. }) => format!("{variable} (not set)"),
            Err(RegistryError::Variables { missing, .. }) => format!("needs {missing}"),
            Err(_) => "-".to_owned(),
        }
    }

    /// Id under which the catalog has its models.
    pub(crate) fn listed_as(&self) -> Option<&str> {
        match &self.made {
            Ok(provider) => provider.listed.as_ref().map(providers::Listed::id),
            Err(_) => self.listing.as_ref().map(|_| self.id.as_str()),
        }
    }

    fn json(&self, registry: &Registry) -> Value {
        let state = match self.state {
            State::Configured => "configured",
            State::Ready => "ready",
            State::Listed => "listed",
        };
        let mut json = json!({
            "id": self.id, "name": self.name(), "state": state, "wire": self.wire(), "base_url": self.url(), "key": self.key(),
            "models": self.models(registry),
        });
        if let Some(listing) = &self.listing {
            json["urls"] = json!(listing.urls);
            json["key_variables"] = json!(listing.keys);
            json["doc"] = json!(listing.doc);
        }
        if let Err(error) = &self.made {
            json["error"] = json!(error.to_string());
        }
        json
    }

    /// How many models the catalog has here; None: it is not in it.
    fn models(&self, registry: &Registry) -> Option<usize> {
        Some(registry.catalog().models(self.listed_as()?).len())
    }
}

/// All providers, those that can be used first, then by fame.
pub(crate) fn entries(registry: &Registry) -> Vec<Entry> {
    let mut entries: Vec<Entry> = registry.ids().into_iter().map(|id| Entry::new(registry, id)).collect();
    let order = |entry: &Entry| entry.listing.as_ref().map_or(u32::MAX, |listing| listing.order);
    entries.sort_by(|a, b| (a.state, order(a), &a.id).cmp(&(b.state, order(b), &b.id)));
    entries
}

fn list(registry: &Registry, all: bool, as_json: bool) -> String {
    let entries = entries(registry);
    let shown: Vec<&Entry> = entries.iter().filter(|entry| all || entry.state < State::Listed).collect();
    if as_json {
        return format!("{:#}\n", shown.iter().map(|entry| entry.json(registry)).collect::<Value>());
    }
    let row = |entry: &&Entry| {
        let models = entry.models(registry).map_or_else(|| "-".to_owned(), |n| n.to_string());
        [entry.id.clone(), entry.wire().to_owned(), models, entry.key(), entry.url()]
    };
    let rows: Vec<[String; 5]> = shown.iter().map(row).collect();
    let mut text = table(["PROVIDER", "WIRE", "MODELS", "KEY", "ADDRESS"], &[2], &rows);
    let more = entries.len() - shown.len();
    if more > 0 {
        text.push_str(&format!("\n{more} more need a key only: `interpreter providers list --all`.\n"));
    }
    text
}

fn show(registry: &Registry, id: &str, as_json: bool) -> Result<String, String> {
    let entry = Entry::new(registry, id);
    if let Err(error @ RegistryError::Unknown { .. }) = &entry.made {
        return Err(format!("Error: {error}"));
    }
    if as_json {
        return Ok(format!("{:#}\n", entry.json(registry)));
    }
    let mut lines = vec![("provider", format!("{} ({})", entry.id, entry.name()))];
    lines.push(("wire", entry.wire().to_owned()));
    lines.push(("address", entry.url()));
    let urls = entry.listing.iter().flat_map(|listing| &listing.urls);
    let others = urls.filter(|(wire, _)| wire.as_str() != entry.wire());
    lines.extend(others.map(|(wire, url)| (wire.as_str(), url.clone())));
    lines.push(("key", entry.key()));
    let variables = entry.listing.as_ref().map(|listing| listing.keys.join(", "));
    lines.extend(variables.map(|names| ("variables", names)));
    if let Some(models) = entry.models(registry) {
        lines.push(("models", format!("{models} (`interpreter models list --provider {id}`)")));
    }
    lines.extend(entry.listing.as_ref().and_then(|listing| listing.doc.clone()).map(|doc| ("docs", doc)));
    let from = if entry.state == State::Configured { "config.toml, " } else { "" };
    lines.push(("from", format!("{from}catalog of {}", registry.catalog().head().date)));
    if let Err(error) = &entry.made {
        lines.push(("error", error.to_string()));
    }
    Ok(lines.into_iter().map(|(name, value)| format!("{name:11}{value}\n")).collect())
}
