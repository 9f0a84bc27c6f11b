//! From configuration, environment and stored keys to a `Provider`: the built-in ones and `[model_providers.<id>]`.
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use protocol::WireId;
use serde::Deserialize;

mod known;

use self::known::{BUILT_IN, Known};
use crate::{
    Auth, KeyStyle, Provider, Retries, Secret, TokenCommand, TokenSource,
    catalog::{Catalog, Values, fill, variables},
    headers,
    provider::{Listed, host, is_loopback},
};

/// Upstream's `stream_idle_timeout_ms`.
const IDLE: Duration = Duration::from_secs(300);
/// For servers on this machine: a local model may read a long prompt for many minutes without sending a byte.
const IDLE_LOCAL: Duration = Duration::from_secs(1_800);
/// Upstream's bound for both kinds of retries.
const MOST_RETRIES: u64 = 100;

/// The table `[model_providers.<id>]`, with all its keys.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProviderConfig {
    pub name: Option<String>,
    pub base_url: Option<String>,
    pub wire_api: Option<WireId>,
    pub env_key: Option<String>,
    pub env_key_instructions: Option<String>,
    pub experimental_bearer_token: Option<Secret>,
    pub auth: Option<TokenSource>,
    pub aws: Option<Aws>,
    pub requires_openai_auth: bool,
    pub http_headers: BTreeMap<String, Secret>,
    /// Header name to variable name; a variable that is unset or empty leaves its header out.
    pub env_http_headers: BTreeMap<String, String>,
    pub query_params: BTreeMap<String, Secret>,
    pub request_max_retries: Option<u64>,
    pub stream_max_retries: Option<u64>,
    pub stream_idle_timeout_ms: Option<u64>,
    /// Read and not used: we speak plain HTTPS from the start.
    pub websocket_connect_timeout_ms: Option<u64>,
    /// Read and not used.
    pub supports_websockets: bool,
    /// Read and not used.
    pub supports_standalone_web_search: bool,
}

/// The table `aws` of `amazon-bedrock`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Aws {
    pub profile: Option<String>,
    pub region: Option<String>,
}

/// What a provider is made from beside its own table. Plain values: the caller reads files and environment.
#[derive(Clone, Default)]
pub struct Sources {
    /// The environment.
    pub env: HashMap<String, String>,
    /// Top-level strings of `auth.json`, each under the name of the variable that it stands for (`OPENAI_API_KEY`).
    pub stored: HashMap<String, Secret>,
    /// Started as exec or an SDK does: `CODEX_API_KEY` counts (sdk.md 2.3).
    pub codex_api_key: bool,
    /// The config key `openai_base_url`.
    pub openai_base_url: Option<String>,
    /// What is known of providers and models.
    pub catalog: Catalog,
}

impl Sources {
    /// Reads the process environment.
    pub fn from_env() -> Sources {
        // `vars` would panic on a variable that is not UTF-8.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Sources { env: std::env::vars_os().filter_map(text).collect(), ..Sources::default() }
    }

    /// Takes the keys out of the text of `auth.json`; false where it is not a JSON object.
    pub fn read_auth_json(&mut self, text: &str) -> bool {
        let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) else { return false };
        for (name, value) in fields {
            if let serde_json::Value::String(key) = value
                && !key.trim().is_empty()
            {
                self.stored.insert(name, Secret::new(key));
            }
        }
        true
    }

    fn env(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

/// All providers that a user can name.
#[derive(Clone, Default)]
pub struct Registry {
    configs: BTreeMap<String, ProviderConfig>,
    sources: Sources,
}

/// Why a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// `near`: ids that may have been meant, as a sentence with a space before it.
    #[error(
        "Model provider `{id}` not found.{near} `interpreter providers list --all` shows all; add your own as [model_providers.{id}] in config.toml."
    )]
    Unknown { id: String, near: String },
    #[error(
        "The address of provider `{id}` has parts that come from the environment: set {missing} (for {url}), or base_url in [model_providers.{id}]."
    )]
    Variables { id: String, missing: String, url: String },
    #[error(
        "model_providers.{0} has no base_url. Without it no request is made, so that no key goes to the wrong server."
    )]
    NoBaseUrl(String),
    #[error(
        "model_providers.{0}.aws: signing with AWS keys is not supported yet. Use a Bedrock API key: env_key = \"AWS_BEARER_TOKEN_BEDROCK\"."
    )]
    Aws(String),
    #[error(transparent)]
    BadUrl(#[from] crate::BadUrl),
    /// `origin`: key and, where there is one, variable.
    #[error("model_providers.{id}.{origin}: {why}. Nothing was sent.")]
    Header { id: String, origin: String, why: &'static str },
}

impl Registry {
    pub fn new(configs: BTreeMap<String, ProviderConfig>, sources: Sources) -> Registry {
        Registry { configs, sources }
    }

    /// Ids that `provider` knows, sorted: built in, configured, in the catalog.
    pub fn ids(&self) -> Vec<&str> {
        let built_in = BUILT_IN.iter().map(|b| b.id);
        let mut ids: Vec<&str> = built_in.chain(self.configured()).chain(self.sources.catalog.ids()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Ids of the tables `[model_providers.<id>]`.
    pub fn configured(&self) -> impl Iterator<Item = &str> {
        self.configs.keys().map(String::as_str)
    }

    pub fn catalog(&self) -> &Catalog {
        &self.sources.catalog
    }

    /// A model that names its provider as well (`groq/llama-3.3-70b`), taken apart; None where it does not, or where `openai`
    /// was sent to another server, whose models may have any name. Ids that themselves begin with the provider's name
    /// (`nvidia/nemotron-...` at NVIDIA) stay whole.
    pub fn split(&self, model: &str) -> Option<(String, String)> {
        let moved = self.configs.get("openai").is_some_and(|config| config.base_url.is_some())
            || self.sources.openai_base_url.is_some()
            || self.sources.env("OPENAI_BASE_URL").is_some();
        let (id, rest) = model.split_once('/').filter(|(_, rest)| !moved && !rest.is_empty())?;
        let catalog = &self.sources.catalog;
        let known = self.configs.contains_key(id) || known::built_in(id).is_some() || catalog.provider(id).is_some();
        let whole = known && catalog.model(id, rest).is_none() && catalog.model(id, model).is_some();
        known.then(|| (id.to_owned(), if whole { model } else { rest }.to_owned()))
    }

    /// The provider of this name. A table of the id of a built-in one changes what it names and leaves the rest; upstream
    /// refuses such tables. So does one of the catalog's, unless it names another server: then it is a provider of its own,
    /// with upstream's defaults. A missing key is no error here: asking says it.
    pub fn provider(&self, id: &str) -> Result<Provider, RegistryError> {
        let catalog = &self.sources.catalog;
        let none = ProviderConfig::default();
        let config = self.configs.get(id).unwrap_or(&none);
        let configured_url = config.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty());
        let namesake = |listed: &Known| {
            configured_url.is_some_and(|url| {
                let there = |known: &String| host(known) == host(url);
                !listed.urls.values().any(there) && catalog.by_url(url).as_deref() != Some(id)
            })
        };
        let listed = || Some(Known::listed(catalog.provider(id)?)).filter(|listed| !namesake(listed));
        let known = known::built_in(id).map(Known::built_in).or_else(listed);
        if known.is_none() && !self.configs.contains_key(id) {
            return Err(self.unknown(id));
        }
        let bearer = || known.iter().flat_map(|known| &known.keys).any(|(name, _)| self.key(name, None).is_some());
        if config.aws.is_some() && config.env_key.is_none() && config.experimental_bearer_token.is_none() && !bearer() {
            return Err(RegistryError::Aws(id.to_owned()));
        }
        let wire = config.wire_api.or(known.as_ref().map(|known| known.wire)).unwrap_or(WireId::Responses);
        let values = self.values(config, known.as_ref());
        let moved = configured_url.map(str::to_owned).or_else(|| self.moved(id));
        let movable = moved.is_none() && config.wire_api.is_none();
        let base_url = match moved {
            Some(url) => url,
            None => {
                let url = known.as_ref().and_then(|known| known.url(wire));
                let url = url.ok_or_else(|| RegistryError::NoBaseUrl(id.to_owned()))?;
                fill(url, &values).map_err(|missing| RegistryError::Variables {
                    id: id.to_owned(),
                    missing: missing.join(", "),
                    url: url.to_owned(),
                })?
            }
        };
        let idle = if is_loopback(&host(&base_url)) { IDLE_LOCAL } else { IDLE };
        let retries = |configured: Option<u64>, default: u32| {
            configured.map_or(default, |n| u32::try_from(n.min(MOST_RETRIES)).unwrap_or(default))
        };
        let Retries { request, stream } = Retries::default();
        self.check_headers(id, config)?;
        let provider = Provider {
            id: id.to_owned(),
            name: config.name.clone().unwrap_or_else(|| known.as_ref().map_or(id, |known| &known.name).to_owned()),
            auth: self.auth(config, known.as_ref(), &base_url, &values),
            listed: self.listed(id, config, &base_url).map(|id| Listed {
                catalog: catalog.clone(),
                id,
                values,
                movable,
            }),
            base_url: base_url.trim_end_matches('/').to_owned(),
            wire,
            headers: self.headers(config),
            query: config.query_params.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            retries: Retries {
                request: retries(config.request_max_retries, request),
                stream: retries(config.stream_max_retries, stream),
            },
            idle_timeout: config.stream_idle_timeout_ms.map_or(idle, Duration::from_millis),
        };
        provider.endpoint("/")?;
        Ok(provider)
    }

    fn unknown(&self, id: &str) -> RegistryError {
        let near = Catalog::near(id, self.ids());
        let near = if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(", ")) };
        RegistryError::Unknown { id: id.to_owned(), near }
    }

    /// An address from the environment, or the config key of OpenAI, which exist to send the key there.
    fn moved(&self, id: &str) -> Option<String> {
        let env = |name| self.sources.env(name).map(str::to_owned);
        let port = || env("CODEX_OSS_PORT").map(|port| format!("http://localhost:{port}/v1"));
        let local = || env("CODEX_OSS_BASE_URL").or_else(port);
        match id {
            // `OPENAI_BASE_URL`: upstream does not honour it; below the config key it is the kinder behaviour.
            "openai" => self.sources.openai_base_url.clone().or_else(|| env("OPENAI_BASE_URL")),
            "anthropic" => env("ANTHROPIC_BASE_URL"),
            "ollama" => local().or_else(|| env("OLLAMA_HOST").map(|host| ollama_url(&host))),
            "lmstudio" => local().or_else(|| env("LM_STUDIO_API_BASE")),
            _ => None,
        }
    }

    /// What the variables in a provider's addresses hold.
    fn values(&self, config: &ProviderConfig, known: Option<&Known>) -> Values {
        let urls = known.into_iter().flat_map(|known| known.urls.values());
        let value = |name: &str| {
            let region = (name == "AWS_REGION").then(|| config.aws.as_ref()?.region.as_deref()).flatten();
            // The other name of AWS's tools for it.
            let other = (name == "AWS_REGION").then(|| self.sources.env("AWS_DEFAULT_REGION")).flatten();
            Some((name.to_owned(), region.or_else(|| self.sources.env(name)).or(other)?.to_owned()))
        };
        urls.flat_map(|url| variables(url)).filter_map(|(name, _)| value(name)).collect()
    }

    /// Where the catalog has the models of a provider: under its id, its address, or the variable of its key.
    fn listed(&self, id: &str, config: &ProviderConfig, base_url: &str) -> Option<String> {
        let catalog = &self.sources.catalog;
        let own = || catalog.provider(id).map(|_| id.to_owned());
        let by_key = || catalog.by_variable(config.env_key.as_deref()?);
        match config.base_url {
            None => own(),
            Some(_) => catalog.by_url(base_url).or_else(own).or_else(by_key),
        }
    }

    /// The order of openinterpreter.md 3.2: env key, inline token, command, OpenAI's own sign-in. `CODEX_API_KEY`, where it
    /// counts, beats the keys of a built-in provider, as upstream; of others it stands in for a key that is not there.
    fn auth(&self, config: &ProviderConfig, known: Option<&Known>, base_url: &str, values: &Values) -> Auth {
        let started = || if self.sources.codex_api_key { self.key("CODEX_API_KEY", None) } else { None };
        if let Some(variable) = config.env_key.as_deref().filter(|name| !name.is_empty()) {
            return self.key(variable, None).or_else(started).unwrap_or_else(|| Auth::Missing {
                variable: variable.to_owned(),
                instructions: config.env_key_instructions.clone(),
            });
        }
        if let Some(token) = config.experimental_bearer_token.as_ref().filter(|token| !token.is_empty()) {
            return Auth::Key {
                key: token.clone(),
                from: "experimental_bearer_token".into(),
                style: Some(KeyStyle::Bearer),
            };
        }
        if let Some(source) = &config.auth {
            return Auth::Command(Arc::new(TokenCommand::new(source.clone())));
        }
        if config.requires_openai_auth {
            return started().or_else(|| self.key("OPENAI_API_KEY", None)).unwrap_or_else(|| Auth::Missing {
                variable: "OPENAI_API_KEY".into(),
                instructions: config.env_key_instructions.clone(),
            });
        }
        let Some(known) = known else { return started().unwrap_or(Auth::None) };
        let mut own = known.urls.values().filter_map(|url| fill(url, values).ok());
        let own_server = own.any(|url| host(&url) == host(base_url));
        // The key of a built-in provider follows an address from the environment or `openai_base_url`, which exist to
        // send it there, but not one that a table with this id happens to name.
        if config.base_url.is_some() && !own_server {
            return Auth::None;
        }
        let own = || known.keys.iter().find_map(|(name, style)| self.key(name, *style));
        let found = match (known.built_in, known.needs_key) {
            (true, true) => started().or_else(own),
            (true, false) => own(),
            (false, _) => own().or_else(started),
        };
        if let Some(auth) = found {
            return auth;
        }
        let signed_by_header = self.headers(config).iter().any(|(name, _)| is_auth_header(name));
        match known.keys.first().filter(|_| known.needs_key && own_server && !signed_by_header) {
            Some((variable, _)) => Auth::Missing {
                variable: variable.clone(),
                instructions: config.env_key_instructions.clone().or_else(|| known.instructions.clone()),
            },
            None => Auth::None,
        }
    }

    /// The key of this name: what the user stored for OpenAI by signing in, else the variable, else what is stored.
    fn key(&self, name: &str, style: Option<KeyStyle>) -> Option<Auth> {
        let stored = || self.sources.stored.get(name).map(|key| (key.clone(), format!("`{name}` in auth.json")));
        let env = || self.sources.env(name).map(|value| (Secret::new(value), format!("`{name}`")));
        let found = if name == "OPENAI_API_KEY" { stored().or_else(env) } else { env().or_else(stored) };
        found.map(|(key, from)| Auth::Key { key, from, style })
    }

    /// A header that cannot be sent is told before anything is: without it a request would be another one.
    fn check_headers(&self, id: &str, config: &ProviderConfig) -> Result<(), RegistryError> {
        let check = |name: &str, value: &str, origin: String| match headers::fault(name, value) {
            Some(why) => Err(RegistryError::Header { id: id.to_owned(), origin, why }),
            None => Ok(()),
        };
        for (name, value) in &config.http_headers {
            check(name, value.expose(), format!("http_headers {name:?}"))?;
        }
        for (name, variable) in &config.env_http_headers {
            let value = self.sources.env(variable).unwrap_or_default();
            check(name, value, format!("env_http_headers {name:?} (from `{variable}`)"))?;
        }
        Ok(())
    }

    fn headers(&self, config: &ProviderConfig) -> Vec<(String, Secret)> {
        let fixed = config.http_headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let from_env = config
            .env_http_headers
            .iter()
            .filter_map(|(name, variable)| Some((name.clone(), Secret::new(self.sources.env(variable)?))));
        fixed.chain(from_env).collect()
    }
}

/// A header that proves who asks; with it, none of ours is added.
pub(crate) fn is_auth_header(name: &str) -> bool {
    ["authorization", "x-api-key", "api-key"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The address behind `OLLAMA_HOST`, which is written for the server: host, port and scheme may be missing, and
/// `0.0.0.0` means "on all interfaces".
fn ollama_url(value: &str) -> String {
    let (scheme, rest) = value.split_once("://").unwrap_or(("", value));
    let rest = rest.trim_end_matches('/');
    let (authority, path) = rest.split_once('/').map_or((rest, String::new()), |(a, p)| (a, format!("/{p}")));
    let after_host = authority.rfind(']').map_or(0, |end| end + 1);
    let (name, port) = match authority[after_host..].rfind(':') {
        // A bare IPv6 address has colons and no port.
        Some(colon) if after_host > 0 || authority.matches(':').count() == 1 => {
            (&authority[..after_host + colon], &authority[after_host + colon + 1..])
        }
        _ => (authority, ""),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "[::]" | "::" => "[::1]".to_owned(),
        bare if bare.contains(':') && !bare.starts_with('[') => format!("[{bare}]"),
        name => name.to_owned(),
    };
    let port = match (port, scheme) {
        ("", "") => ":11434".to_owned(),
        ("", _) => String::new(),
        (port, _) => format!(":{port}"),
    };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    let path = if path.ends_with("/v1") { path } else { format!("{path}/v1") };
    format!("{scheme}://{name}{port}{path}")
}

#[cfg(test)]
mod tests;
