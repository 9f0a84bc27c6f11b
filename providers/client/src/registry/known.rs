//! Providers that need no table in the config: those built in, with rules of their own, and those of the catalog.
use std::collections::BTreeMap;

use protocol::WireId;

use crate::{KeyStyle, catalog::Listing};

/// A built-in provider before environment and configuration.
pub(super) struct BuiltIn {
    pub(super) id: &'static str,
    name: &'static str,
    wire: WireId,
    /// Addresses by wire, its own first.
    urls: &'static [(WireId, &'static str)],
    /// Variables that may hold the key, best first, and how each is sent.
    keys: &'static [(&'static str, Option<KeyStyle>)],
    /// Whether its own server answers nobody without a key.
    needs_key: bool,
}

pub(super) const BUILT_IN: [BuiltIn; 4] = [
    BuiltIn {
        id: "openai",
        name: "OpenAI",
        wire: WireId::Responses,
        urls: &[(WireId::Responses, "https://api.openai.com/v1")],
        keys: &[("OPENAI_API_KEY", None)],
        needs_key: true,
    },
    BuiltIn {
        id: "anthropic",
        name: "Anthropic",
        wire: WireId::Messages,
        urls: &[(WireId::Messages, "https://api.anthropic.com"), (WireId::Chat, "https://api.anthropic.com/v1")],
        keys: &[("ANTHROPIC_API_KEY", None), ("ANTHROPIC_AUTH_TOKEN", Some(KeyStyle::Bearer))],
        needs_key: true,
    },
    BuiltIn {
        id: "ollama",
        name: "Ollama",
        wire: WireId::Responses,
        urls: &[(WireId::Responses, "http://localhost:11434/v1")],
        keys: &[("OLLAMA_API_KEY", Some(KeyStyle::Bearer))],
        needs_key: false,
    },
    BuiltIn {
        id: "lmstudio",
        name: "LM Studio",
        wire: WireId::Responses,
        urls: &[(WireId::Responses, "http://localhost:1234/v1")],
        keys: &[("LM_STUDIO_API_KEY", Some(KeyStyle::Bearer))],
        needs_key: false,
    },
];

pub(super) fn built_in(id: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|b| b.id == id)
}

/// Either of them.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) wire: WireId,
    pub(super) urls: BTreeMap<WireId, String>,
    pub(super) keys: Vec<(String, Option<KeyStyle>)>,
    pub(super) needs_key: bool,
    pub(super) built_in: bool,
    pub(super) instructions: Option<String>,
}

impl Known {
    pub(super) fn built_in(b: &BuiltIn) -> Known {
        Known {
            name: b.name.to_owned(),
            wire: b.wire,
            urls: b.urls.iter().map(|(wire, url)| (*wire, (*url).to_owned())).collect(),
            keys: b.keys.iter().map(|(name, style)| ((*name).to_owned(), *style)).collect(),
            needs_key: b.needs_key,
            built_in: true,
            instructions: None,
        }
    }

    pub(super) fn listed(listing: Listing) -> Known {
        Known {
            name: listing.name,
            wire: listing.wire,
            urls: listing.urls,
            keys: listing.keys.into_iter().map(|name| (name, None)).collect(),
            needs_key: true,
            built_in: false,
            instructions: listing.instructions,
        }
    }

    /// The address on a wire; of a wire it has none for, that of its own.
    pub(super) fn url(&self, wire: WireId) -> Option<&str> {
        self.urls.get(&wire).or_else(|| self.urls.get(&self.wire)).map(String::as_str)
    }
}
