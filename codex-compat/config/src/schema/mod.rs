//! Every key of `config.toml`, typed: Codex 0.171.0's (reference keys and types), those of our peer's provider and harness
//! settings, and our own. Keys that nothing acts on yet are accepted, so that one file serves both programs.
mod agents;
mod approval;
mod hooks;
mod mcp;
mod permissions;
mod provider;
mod tables;
mod value;

use std::collections::BTreeMap;

use protocol::SandboxMode;
use serde::{Deserialize, Serialize};

pub use agents::{AgentRole, Agents};
pub use approval::{ApprovalSetting, GranularApproval};
pub use hooks::{HOOK_EVENTS, Hook, HookGroup, HookKind, Hooks};
pub use mcp::{McpServer, McpTool, McpTransport, ToolApproval};
pub use permissions::{NetworkMode, PermissionNetwork, PermissionProfile};
pub use provider::{AwsAuth, CommandAuth, ModelProvider};
pub use tables::*;
use value::words;
pub use value::{Any, ConfigPath, Number, Off, On, Secret, Switch};

/// The merged config. None and empty mean that no layer said anything; [`On`], [`Off`] and [`Number`] carry their default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    // Model
    pub model: Option<String>,
    /// For reviews; the session's model where unset.
    pub review_model: Option<String>,
    /// A key of `model_providers` or a built-in provider.
    pub model_provider: Option<String>,
    /// Tokens.
    pub model_context_window: Option<u64>,
    /// Tokens at which history is compacted; capped at 90 % of the window.
    pub model_auto_compact_token_limit: Option<u64>,
    pub model_auto_compact_token_limit_scope: CompactScope,
    /// Tokens. Older Codex's key, honoured here for every provider.
    pub model_max_output_tokens: Option<u64>,
    /// Any word that the model advertises.
    pub model_reasoning_effort: Option<String>,
    pub plan_mode_reasoning_effort: Option<String>,
    pub model_reasoning_summary: Option<ReasoningSummary>,
    pub model_verbosity: Option<Verbosity>,
    /// Replaces the base prompt; a missing file is fatal.
    pub model_instructions_file: Option<ConfigPath>,
    pub model_catalog_json: Option<ConfigPath>,
    /// Replaces the base prompt; `model_instructions_file` wins over it.
    pub instructions: Option<String>,
    pub developer_instructions: Option<String>,
    pub compact_prompt: Option<String>,
    pub experimental_compact_prompt_file: Option<ConfigPath>,
    pub service_tier: Option<String>,
    pub personality: Option<Personality>,
    pub model_providers: BTreeMap<String, ModelProvider>,
    pub openai_base_url: Option<String>,
    pub chatgpt_base_url: Option<String>,
    /// What `--oss` means without `--local-provider`.
    pub oss_provider: Option<String>,

    // Ours
    /// Which program the model is spoken to as; None: by model family.
    pub harness: Option<String>,
    pub harness_guidance: On,
    /// Whose words a built-in harness speaks in, where `harness learn` has stored those of its original.
    pub harness_words: HarnessWords,
    /// Provider, model and harness by role: `main`, `subagent`, `compaction`, ...
    pub roles: BTreeMap<String, Role>,
    /// `provider/model`, tried in order when the one before has failed for good.
    pub fallback: Vec<String>,
    pub gateway: Gateway,
    pub sandbox_linux: SandboxLinux,
    pub sdk: Sdk,

    // Permissions
    pub approval_policy: Option<ApprovalSetting>,
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// None: by trust, see [`crate::effective_sandbox`].
    pub sandbox_mode: Option<SandboxMode>,
    pub sandbox_workspace_write: SandboxWorkspaceWrite,
    pub default_permissions: Option<String>,
    pub permissions: BTreeMap<String, PermissionProfile>,
    pub auto_review: AutoReview,
    pub allow_login_shell: On,
    pub shell_environment_policy: ShellEnvironmentPolicy,
    pub projects: BTreeMap<String, ProjectEntry>,
    pub windows: Windows,

    // Tools and context
    pub tools: Tools,
    pub web_search: Option<WebSearchMode>,
    /// Tokens of one tool result.
    pub tool_output_token_limit: Option<u64>,
    /// Milliseconds.
    pub background_terminal_max_timeout: Number<300_000>,
    /// Bytes of all project instructions together; 0: none are read.
    pub project_doc_max_bytes: Number<32_768>,
    pub project_doc_fallback_filenames: Vec<String>,
    /// Names that mark a project's root; None: `.git`.
    pub project_root_markers: Option<Vec<String>>,
    pub include_permissions_instructions: On,
    pub include_environment_context: On,
    pub include_apps_instructions: On,
    pub include_collaboration_mode_instructions: On,
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub hooks: Hooks,
    pub agents: Agents,
    pub skills: Skills,
    pub memories: Memories,
    pub features: BTreeMap<String, FeatureSetting>,
    pub suppress_unstable_features_warning: Off,

    // Terminal and files
    pub tui: Tui,
    pub history: History,
    pub notify: Option<Vec<String>>,
    pub notice: Notice,
    pub file_opener: Option<FileOpener>,
    pub hide_agent_reasoning: Off,
    pub show_raw_agent_reasoning: Off,
    pub check_for_update_on_startup: On,
    pub disable_paste_burst: Off,
    pub log_dir: Option<ConfigPath>,
    pub sqlite_home: Option<ConfigPath>,

    // Accounts
    pub cli_auth_credentials_store: CredentialsStore,
    pub mcp_oauth_credentials_store: OauthStore,
    pub mcp_oauth_callback_port: Option<u16>,
    pub mcp_oauth_callback_url: Option<String>,
    pub forced_login_method: Option<LoginMethod>,
    /// A string or a list of strings.
    pub forced_chatgpt_workspace_id: Option<Any>,

    // Selection of a profile: older Codex's generation beside the newer `<name>.config.toml`
    pub profile: Option<String>,
    pub profiles: BTreeMap<String, Config>,

    // Accepted: the vendor's own features, and leftovers
    pub analytics: EnabledTable,
    pub feedback: EnabledTable,
    pub otel: Otel,
    pub apps: BTreeMap<String, App>,
    pub plugins: BTreeMap<String, Plugin>,
    pub marketplaces: BTreeMap<String, Marketplace>,
    pub tool_suggest: ToolSuggest,
    pub audio: Audio,
    pub experimental_use_unified_exec_tool: Option<bool>,
    pub experimental_realtime_ws_base_url: Option<String>,
    pub experimental_thread_store: Option<Any>,
    pub js_repl_node_path: Option<Any>,
    pub js_repl_node_module_dirs: Option<Any>,
    pub ghost_snapshot: Option<Any>,
    pub desktop: Option<Any>,
    pub realtime: Option<Any>,
    pub orchestrator: Option<Any>,
    pub goals: Option<Any>,
    pub browser_use: Option<Any>,
    pub computer_use: Option<Any>,
}

impl Config {
    /// A feature flag: what the config says, else its default; false where nobody knows it.
    pub fn feature(&self, name: &str) -> bool {
        let default = || crate::feature(name).is_some_and(|(_, on)| on);
        self.features.get(name).map_or_else(default, |setting| setting.0)
    }

    /// `project_root_markers`, or `.git`.
    pub fn root_markers(&self) -> Vec<String> {
        self.project_root_markers.clone().unwrap_or_else(|| vec![".git".to_owned()])
    }
}

words!(CompactScope {
    #[default]
    Total = "total",
    BodyAfterPrefix = "body_after_prefix",
});
words!(ReasoningSummary {
    #[default]
    Auto = "auto",
    Concise = "concise",
    Detailed = "detailed",
    None = "none",
});
words!(Verbosity {
    Low = "low",
    #[default]
    Medium = "medium",
    High = "high",
});
words!(Personality {
    #[default]
    None = "none",
    Friendly = "friendly",
    Pragmatic = "pragmatic",
});
words!(
    /// Only `live` lets the search leave the index.
    WebSearchMode {
        Disabled = "disabled",
        #[default]
        Cached = "cached",
        Indexed = "indexed",
        Live = "live",
    }
);
words!(ApprovalsReviewer {
    #[default]
    User = "user",
    AutoReview = "auto_review",
    GuardianSubagent = "guardian_subagent",
});
words!(FileOpener {
    #[default]
    Vscode = "vscode",
    VscodeInsiders = "vscode-insiders",
    Windsurf = "windsurf",
    Cursor = "cursor",
    None = "none",
});
words!(CredentialsStore {
    #[default]
    File = "file",
    Keyring = "keyring",
    Auto = "auto",
    Ephemeral = "ephemeral",
});
words!(OauthStore {
    #[default]
    Auto = "auto",
    File = "file",
    Keyring = "keyring",
});
words!(LoginMethod {
    #[default]
    Chatgpt = "chatgpt",
    Api = "api",
});
