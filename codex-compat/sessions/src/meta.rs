//! The first line of a rollout (`session_meta`): who started the thread, where, and what it continues.
use std::path::PathBuf;

use protocol::ThreadId;
use serde::{Deserialize, Serialize};

/// What the starter of a thread says about it. Field names as in Codex 0.171.0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    #[serde(with = "protocol::path_text")]
    pub cwd: PathBuf,
    /// `codex_exec`, or what an SDK says in its place.
    pub originator: String,
    pub cli_version: String,
    /// `exec`, `cli`, `vscode`, ...
    pub source: String,
    /// `user`, or the kind of sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_source: Option<String>,
    pub model_provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// The thread that started this one as a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<ThreadId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Git {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
}

/// The payload of `session_meta`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    pub id: ThreadId,
    /// The same as `id`; Codex writes both.
    pub session_id: ThreadId,
    /// RFC 3339, UTC, milliseconds.
    pub timestamp: String,
    #[serde(flatten)]
    pub meta: Meta,
    /// The items before `forked_from_ordinal_exclusive` are those of this thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_ordinal_exclusive: Option<u64>,
}

impl Head {
    /// The thread that the earlier history is read from, and where that ends.
    pub fn fork(&self) -> Option<(&ThreadId, u64)> {
        Some((self.forked_from_id.as_ref()?, self.forked_from_ordinal_exclusive.unwrap_or(u64::MAX)))
    }
}
