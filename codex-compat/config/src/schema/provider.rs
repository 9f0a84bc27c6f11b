//! `[model_providers.<id>]`: where requests go, how they are signed, how often they are tried.
use std::collections::BTreeMap;

use protocol::WireId;
use serde::{Deserialize, Serialize};

use super::{Number, Off, Secret};
use std::path::PathBuf;

/// A provider, or the keys of a built-in one that the user changes. `name` falls back to the id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelProvider {
    pub name: Option<String>,
    pub base_url: Option<String>,
    /// None: `responses` for a provider of one's own, the built-in's own for a built-in.
    pub wire_api: Option<WireId>,
    /// Variable that holds the key.
    pub env_key: Option<String>,
    /// Shown when that variable is missing.
    pub env_key_instructions: Option<String>,
    pub experimental_bearer_token: Option<Secret>,
    pub auth: Option<CommandAuth>,
    pub aws: Option<AwsAuth>,
    pub requires_openai_auth: Off,
    pub http_headers: BTreeMap<String, String>,
    /// Header → variable with its value.
    pub env_http_headers: BTreeMap<String, String>,
    pub query_params: BTreeMap<String, String>,
    /// Tries beside the first. None: 4.
    pub request_max_retries: Option<u64>,
    /// None: 5.
    pub stream_max_retries: Option<u64>,
    /// Milliseconds without a byte. None: 300,000.
    pub stream_idle_timeout_ms: Option<u64>,
    pub websocket_connect_timeout_ms: Option<u64>,
    pub supports_websockets: Off,
    pub supports_standalone_web_search: Off,
}

impl ModelProvider {
    pub const REQUEST_MAX_RETRIES: u64 = 4;
    pub const STREAM_MAX_RETRIES: u64 = 5;
    pub const STREAM_IDLE_TIMEOUT_MS: u64 = 300_000;
}

/// A command that prints a bearer token, which is kept for a while.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandAuth {
    /// Required.
    pub command: String,
    pub args: Vec<String>,
    pub cwd: Option<PathBuf>,
    pub timeout_ms: Number<5_000>,
    pub refresh_interval_ms: Number<300_000>,
}

/// Bedrock's signature.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AwsAuth {
    pub profile: Option<String>,
    pub region: Option<String>,
}
