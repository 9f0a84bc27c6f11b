//! `[permissions.<name>]`: named permission profiles, selected by `default_permissions`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Any, value::words};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionProfile {
    pub description: Option<String>,
    /// Another profile, or a built-in (`:read-only`, `:workspace`, `:danger-full-access`).
    pub extends: Option<String>,
    pub workspace_roots: Option<Any>,
    /// Path, glob or `:root` → `read`, `write`, `deny` (deny wins), or a table of paths below it.
    pub filesystem: BTreeMap<String, Any>,
    pub network: Option<PermissionNetwork>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionNetwork {
    pub enabled: Option<bool>,
    pub mode: Option<NetworkMode>,
    pub proxy_url: Option<String>,
    pub enable_socks5: Option<bool>,
    pub socks_url: Option<String>,
    pub enable_socks5_udp: Option<bool>,
    pub allow_upstream_proxy: Option<bool>,
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    pub dangerously_allow_all_unix_sockets: Option<bool>,
    pub allow_local_binding: Option<bool>,
    pub domains: BTreeMap<String, String>,
    pub unix_sockets: BTreeMap<String, String>,
}

words!(NetworkMode {
    #[default]
    Limited = "limited",
    Full = "full",
});
