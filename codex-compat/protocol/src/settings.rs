//! Settings in force in a thread: who speaks to which model in which dialect, and what commands may touch.
use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::Raw;

/// One of the three wire APIs. The names are those of `wire_api` in a provider's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireId {
    /// OpenAI Responses, `POST {base}/responses`.
    Responses,
    /// OpenAI Chat Completions, `POST {base}/chat/completions`.
    Chat,
    /// Anthropic Messages, `POST {base}/v1/messages`.
    Messages,
}

impl WireId {
    pub const ALL: [WireId; 3] = [WireId::Responses, WireId::Chat, WireId::Messages];
    pub fn as_str(self) -> &'static str {
        match self {
            WireId::Responses => "responses",
            WireId::Chat => "chat",
            WireId::Messages => "messages",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl SandboxMode {
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxMode::ReadOnly => "read-only",
            SandboxMode::WorkspaceWrite => "workspace-write",
            SandboxMode::DangerFullAccess => "danger-full-access",
        }
    }
}

/// What a command may touch. The roots beside the workspace are absolute; the workspace itself is the thread's `cwd`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub mode: SandboxMode,
    /// Writable beside the workspace (`writable_roots`, `--add-dir`).
    #[serde(default, with = "crate::path_text::list")]
    pub writable_roots: Vec<PathBuf>,
    #[serde(default)]
    pub network: bool,
    /// Do not make `$TMPDIR` writable.
    #[serde(default)]
    pub exclude_tmpdir: bool,
    /// Do not make `/tmp` writable.
    #[serde(default)]
    pub exclude_slash_tmp: bool,
    /// `sandbox_linux.weak`: without namespaces, check protected names after a command instead of protecting them.
    #[serde(default)]
    pub weak: bool,
}

impl SandboxPolicy {
    pub fn new(mode: SandboxMode) -> Self {
        SandboxPolicy {
            mode,
            writable_roots: Vec::new(),
            network: mode == SandboxMode::DangerFullAccess,
            exclude_tmpdir: false,
            exclude_slash_tmp: false,
            weak: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    Untrusted,
    OnFailure,
    OnRequest,
    Never,
}

impl ApprovalPolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalPolicy::Untrusted => "untrusted",
            ApprovalPolicy::OnFailure => "on-failure",
            ApprovalPolicy::OnRequest => "on-request",
            ApprovalPolicy::Never => "never",
        }
    }
}

/// How the agent works at present. In plan mode the gate refuses every change but that of the plan file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Default,
    Plan {
        file: PathBuf,
    },
}

/// In force from the item that carries them on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub provider: String,
    pub model: String,
    pub wire: WireId,
    pub harness: String,
    #[serde(with = "crate::path_text")]
    pub cwd: PathBuf,
    pub sandbox: SandboxPolicy,
    pub approval: ApprovalPolicy,
    #[serde(default)]
    pub mode: Mode,
    /// `model_reasoning_effort`; None: the model's default.
    #[serde(default)]
    pub effort: Option<String>,
    /// `model_reasoning_summary`: auto, concise, detailed, none.
    #[serde(default)]
    pub summary: Option<String>,
    /// `model_verbosity`: low, medium, high.
    #[serde(default)]
    pub verbosity: Option<String>,
    /// Replaces the harness's base prompt (`model_instructions_file`, an app's base instructions).
    #[serde(default)]
    pub instructions: Option<String>,
    /// Said beside the base prompt (`developer_instructions`).
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// Replaces the harness's request for a summary (`compact_prompt`).
    #[serde(default)]
    pub compact_prompt: Option<String>,
    /// JSON Schema of the final answer (`--output-schema`).
    #[serde(default)]
    pub output_schema: Option<Raw>,
    /// `tool_output_token_limit`.
    #[serde(default)]
    pub output_limit: Option<u64>,
    /// `model_max_output_tokens` and the like, for this thread.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// Switches by their config names: `tools.update_plan`, `view_image`, `include_permissions_instructions`, ...
    #[serde(default)]
    pub features: BTreeMap<String, bool>,
}

impl Settings {
    /// A switch, or its default where the config says nothing.
    pub fn feature(&self, name: &str, default: bool) -> bool {
        self.features.get(name).copied().unwrap_or(default)
    }
}
