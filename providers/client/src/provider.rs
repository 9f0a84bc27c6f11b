//! A provider, ready to be asked: address, wire, key, headers, patience. Built by the registry.
use std::{sync::Arc, time::Duration};

use protocol::{Fit, Source, WireId};
use reqwest::Url;

use crate::{
    Secret, TokenCommand,
    catalog::{Catalog, Model, Reasoning, Values, fill},
    quirks,
};

/// Where and how to send.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its id in configuration and session files.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// As configured, without a slash at the end.
    pub base_url: String,
    pub wire: WireId,
    pub auth: Auth,
    /// `http_headers` and `env_http_headers`; the user's word, so they win over all others. Values may be keys.
    pub headers: Vec<(String, Secret)>,
    /// Values may be keys.
    pub query: Vec<(String, Secret)>,
    pub retries: Retries,
    /// Longest silence on a stream, and before its first byte.
    pub idle_timeout: Duration,
    /// Where the catalog has its models; None: nowhere.
    pub listed: Option<Listed>,
}

/// A place in the catalog.
#[derive(Debug, Clone)]
pub struct Listed {
    pub(crate) catalog: Catalog,
    pub(crate) id: String,
    /// Of the variables in its addresses.
    pub(crate) values: Values,
    /// The user chose neither wire nor address, so a model may.
    pub(crate) movable: bool,
}

impl Listed {
    /// Its id in the catalog; for a provider of the user's own another one than in the config.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// How often a request is made again. Upstream's defaults are 4 and 5, its bound 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Silent, while the answer has not begun (5xx, broken connections).
    pub request: u32,
    /// Announced; each of them has all request retries again.
    pub stream: u32,
}

impl Default for Retries {
    fn default() -> Retries {
        Retries { request: 4, stream: 5 }
    }
}

/// How a request proves who asks.
#[derive(Debug, Clone)]
pub enum Auth {
    /// No key is needed, or none is known and the server may do without.
    None,
    Key {
        key: Secret,
        /// Where it comes from, for messages: `` `OPENAI_API_KEY` ``, ``experimental_bearer_token``, `auth.json`.
        from: String,
        /// None: as the wire has it.
        style: Option<KeyStyle>,
    },
    /// A command prints the token.
    Command(Arc<TokenCommand>),
    /// A key is needed and there is none; asking fails without a request.
    Missing {
        /// The variable that should hold it.
        variable: String,
        /// `env_key_instructions`, or our own.
        instructions: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStyle {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The bare key in a header of this name (`x-api-key`, Azure's `api-key`).
    Header(&'static str),
}

impl Provider {
    /// The address of a request. `path` is the wire's; where base URL and path meet in a doubled `/v1` one is dropped
    /// (a base URL for chat, used for Messages).
    pub fn endpoint(&self, path: &str) -> Result<Url, BadUrl> {
        let base = self.base_url.trim().trim_end_matches('/');
        let path = if base.ends_with("/v1") { path.strip_prefix("/v1").unwrap_or(path) } else { path };
        let bad = |why: String| BadUrl { provider: self.id.clone(), base_url: self.base_url.clone(), why };
        // A base URL may bring a query of its own (`...?api-version=2024-10-21`): it stays behind the path.
        let (address, query) = base.split_once('?').map_or((base, None), |(address, query)| (address, Some(query)));
        let address = address.trim_end_matches('/');
        // The address by itself: `http://` and a path would make a host of the path.
        let alone = Url::parse(address).map_err(|e| bad(e.to_string()))?;
        if !matches!(alone.scheme(), "http" | "https") {
            return Err(bad("expected http://HOST... or https://HOST...".into()));
        }
        let mut url = Url::parse(&format!("{address}{path}")).map_err(|e| bad(e.to_string()))?;
        url.set_query(query);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(self.query.iter().map(|(name, value)| (name, value.expose())));
        }
        Ok(url)
    }

    /// Spoken to where and how this model wants it: some providers serve some models on another wire or at another address.
    /// What the user chose stays.
    pub fn for_model(mut self, model: &str) -> Provider {
        let place = |listed: &Listed| {
            let listing = listed.catalog.provider(&listed.id)?;
            let entry = listed.catalog.model(&listed.id, model);
            let wire = entry.as_ref().and_then(|entry| entry.wire).unwrap_or(listing.wire);
            let url = entry.and_then(|entry| entry.url).or_else(|| listing.url(wire).map(str::to_owned))?;
            Some((wire, fill(&url, &listed.values).ok()?))
        };
        if let Some((wire, url)) = self.listed.as_ref().filter(|listed| listed.movable).and_then(place) {
            self.wire = wire;
            self.base_url = url.trim_end_matches('/').to_owned();
        }
        self
    }

    /// Spoken to on this wire, whatever a model wants; at the address that the provider has for it.
    pub fn on_wire(mut self, wire: WireId) -> Provider {
        if let Some(listed) = self.listed.as_mut().filter(|listed| listed.movable) {
            listed.movable = false;
            let listing = listed.catalog.provider(&listed.id);
            let url = listing.and_then(|listing| fill(listing.url(wire)?, &listed.values).ok());
            if let Some(url) = url {
                self.base_url = url.trim_end_matches('/').to_owned();
            }
        }
        self.wire = wire;
        self
    }

    /// What the catalog knows of a model here.
    pub fn listed_model(&self, model: &str) -> Option<Model> {
        let listed = self.listed.as_ref()?;
        listed.catalog.model(&listed.id, model)
    }

    /// Host of the base URL, in lower case; empty where it has none.
    pub fn host(&self) -> String {
        host(&self.base_url)
    }

    /// What a wire must know to speak to `model` here.
    pub fn fit(&self, model: &str) -> Fit {
        let mut caps = quirks::caps_for(&self.id, &self.base_url, model, self.wire);
        let mut quirks = quirks::quirks_for(&self.id, &self.base_url, model, self.wire);
        if let Some(listed) = self.listed_model(model) {
            caps.images &= listed.takes.iter().any(|kind| kind == "image");
            // On Messages such models take 1, and dialects send no other.
            quirks.no_temperature |= listed.temperature == Some(false) && self.wire != WireId::Messages;
            if listed.reasoning == Reasoning::None && self.wire == WireId::Chat {
                quirks.reasoning_field = Some("none".into());
            }
        }
        Fit { source: Source { provider: self.id.clone(), wire: self.wire, model: model.to_owned() }, caps, quirks }
    }

    /// Where the key goes unless configured otherwise (openinterpreter.md 3.2; Azure: its own header).
    pub(crate) fn key_style(&self) -> KeyStyle {
        let host = self.host();
        let azure = [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];
        if self.wire != WireId::Messages && azure.iter().any(|end| host.ends_with(end)) {
            KeyStyle::Header("api-key")
        } else if self.wire == WireId::Messages && host != "ollama.com" {
            KeyStyle::Header("x-api-key")
        } else {
            KeyStyle::Bearer
        }
    }

    /// `text` without any key of this provider.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Auth::Key { key, .. } = &self.auth {
            text = key.mask(&text);
        }
        for (_, value) in self.headers.iter().chain(&self.query) {
            // `Authorization: Bearer KEY`: the server may repeat the bare key.
            let bare = value.expose().rsplit(' ').next().unwrap_or_default();
            text = Secret::new(bare).mask(&value.mask(&text));
        }
        text
    }
}

/// Lower-case host of an address; empty where there is none.
pub(crate) fn host(address: &str) -> String {
    Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_ascii_lowercase)).unwrap_or_default()
}

/// This machine, by name or address.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A base URL that no request can be made to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model_providers.{provider}.base_url is not a usable address: {base_url:?} ({why})")]
pub struct BadUrl {
    pub provider: String,
    pub base_url: String,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn provider(base_url: &str, query: &[(&str, &str)]) -> Provider {
        Provider {
            id: "x".into(),
            name: "X".into(),
            base_url: base_url.into(),
            wire: WireId::Chat,
            auth: Auth::None,
            headers: vec![("authorization".into(), "Bearer abcdefghij".into())],
            query: query.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            retries: Retries::default(),
            idle_timeout: Duration::from_secs(300),
            listed: None,
        }
    }

    #[test]
    fn addresses() {
        let check = |base: &str, path: &str, expected: &str| {
            assert_eq!(provider(base, &[]).endpoint(path).map(String::from), Ok(expected.to_owned()));
        };
        check("http://h:1/v1", "/responses", "http://h:1/v1/responses");
        check("http://h:1/v1/", "/chat/completions", "http://h:1/v1/chat/completions");
        check("https://h", "/v1/messages", "https://h/v1/messages");
        check("https://h/v1", "/v1/messages", "https://h/v1/messages");
        check("https://h/d?api-version=1", "/chat/completions", "https://h/d/chat/completions?api-version=1");
        let url = provider("https://h/v1?a=1", &[("b", "2 3")]).endpoint("/responses").map(String::from);
        assert_eq!(url, Ok("https://h/v1/responses?a=1&b=2+3".to_owned()));
        for bad in ["h:80/v1", "", "ftp://h", "http://"] {
            assert!(provider(bad, &[]).endpoint("/responses").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn keys_are_masked_wherever_they_stand() {
        let provider = provider("http://h", &[("key", "query-secret")]);
        assert_eq!(provider.mask("no query-secret, no abcdefghij"), "no ***, no ***");
        let shown = format!("{provider:?}");
        assert!(!shown.contains("secret") && !shown.contains("abcdefghij"), "{shown}");
    }

    #[test]
    fn loopback() {
        for host in ["localhost", "127.0.0.1", "127.8.9.1", "[::1]", "a.localhost"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example.com", "10.0.0.1", "::2"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
