//! `[mcp_servers.<name>]`: a server on stdio (`command`) or over HTTP (`url`).
use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{Any, Off, On, value::words};

/// All keys of both transports; [`McpServer::transport`] says which it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServer {
    pub command: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Variables handed through beside the fixed white list: names, or `{name, source}`.
    pub env_vars: Vec<Any>,
    /// Relative to the session's working directory.
    pub cwd: Option<PathBuf>,

    pub url: Option<String>,
    pub bearer_token_env_var: Option<String>,
    pub http_headers: BTreeMap<String, String>,
    pub env_http_headers: BTreeMap<String, String>,
    pub http_headers_helper: Option<Any>,
    pub oauth: Option<Any>,
    pub oauth_resource: Option<String>,
    pub scopes: Option<Vec<String>>,
    pub auth: Option<Any>,
    /// Refused with a hint: tokens belong in the environment.
    pub bearer_token: Option<Any>,

    /// Seconds; [`McpServer::startup_timeout`] joins both spellings.
    pub startup_timeout_sec: Option<f64>,
    pub startup_timeout_ms: Option<u64>,
    pub tool_timeout_sec: Option<f64>,
    pub enabled: On,
    /// A failed start ends the run.
    pub required: Off,
    /// None: all.
    pub enabled_tools: Option<Vec<String>>,
    /// Taken away after `enabled_tools`.
    pub disabled_tools: Vec<String>,
    pub default_tools_approval_mode: Option<ToolApproval>,
    pub tools: BTreeMap<String, McpTool>,
    pub supports_parallel_tool_calls: Off,
    pub name: Option<String>,
    pub environment_id: Option<String>,
}

pub enum McpTransport<'a> {
    Stdio { command: &'a str },
    Http { url: &'a str },
}

impl McpServer {
    /// None: neither command nor URL (refused while loading).
    pub fn transport(&self) -> Option<McpTransport<'_>> {
        match (&self.command, &self.url) {
            (Some(command), _) => Some(McpTransport::Stdio { command }),
            (None, Some(url)) => Some(McpTransport::Http { url }),
            (None, None) => None,
        }
    }
    /// Milliseconds; 10 s where unset.
    pub fn startup_timeout(&self) -> u64 {
        self.startup_timeout_sec.map(milliseconds).or(self.startup_timeout_ms).unwrap_or(10_000)
    }
    /// Milliseconds; 60 s where unset.
    pub fn tool_timeout(&self) -> u64 {
        self.tool_timeout_sec.map_or(60_000, milliseconds)
    }
    /// Does the filter let this tool through?
    pub fn offers(&self, tool: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|name| name == tool);
        self.enabled_tools.as_deref().is_none_or(listed) && !listed(&self.disabled_tools)
    }
    pub fn approval(&self, tool: &str) -> ToolApproval {
        let own = self.tools.get(tool).and_then(|tool| tool.approval_mode);
        own.or(self.default_tools_approval_mode).unwrap_or_default()
    }
}

/// Saturates; negative and not-a-number become 0.
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpTool {
    pub approval_mode: Option<ToolApproval>,
    pub enabled: On,
}

words!(
    /// When a tool's call is asked about.
    ToolApproval {
        #[default]
        Auto = "auto",
        Prompt = "prompt",
        Approve = "approve",
        Writes = "writes",
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn timeouts_and_filters() {
        let server = |toml: &str| toml::from_str::<McpServer>(toml).expect(toml);
        let check = |toml, startup, tool| {
            assert_eq!((server(toml).startup_timeout(), server(toml).tool_timeout()), (startup, tool), "{toml}");
        };
        check("", 10_000, 60_000);
        check("startup_timeout_sec = 0.5\ntool_timeout_sec = 2.0", 500, 2_000);
        check("startup_timeout_ms = 7", 7, 60_000);
        check("startup_timeout_sec = -1.0", 0, 60_000);
        let filtered = server("enabled_tools = ['a', 'b']\ndisabled_tools = ['b']\ntools.a.approval_mode = 'prompt'");
        assert_eq!(["a", "b", "c"].map(|tool| filtered.offers(tool)), [true, false, false]);
        assert_eq!(["a", "c"].map(|tool| filtered.approval(tool)), [ToolApproval::Prompt, ToolApproval::Auto]);
    }
}
