//! Which harnesses there are, and which one a model gets when the user names none. Data, with the reason beside each row.
use protocol::WireId;

use crate::{Harness, claude_code_bare::ClaudeCodeBare, mini_swe_agent::MiniSweAgent, native::Native};

static ALL: &[&dyn Harness] = &[
    &Native,
    &crate::claude_code::CLASSIC,
    &crate::claude_code::V1_0,
    &crate::claude_code::V2_0,
    &crate::claude_code::V2_1,
    &crate::claude_code::CURRENT,
    &ClaudeCodeBare,
    &crate::kimi_code::KimiCode,
    &crate::kimi_cli::KimiCli,
    &crate::qwen_code::QwenCode,
    &crate::swe_agent::SweAgent,
    &MiniSweAgent,
    &crate::opencode::Opencode,
    &crate::pi::Pi,
    #[cfg(feature = "wip_zcode")]
    &crate::zcode::Zcode,
    #[cfg(feature = "wip_deepseek_tui")]
    &crate::deepseek_tui::DeepseekTui,
    #[cfg(feature = "wip_minimal")]
    &crate::minimal::Minimal,
];

/// Every harness, in the order in which they are listed to users.
pub fn all() -> &'static [&'static dyn Harness] {
    ALL
}

/// By id; the empty string is `native`.
pub fn find(id: &str) -> Option<&'static dyn Harness> {
    let id = if id.is_empty() { "native" } else { id };
    ALL.iter().find(|h| h.id() == id).copied()
}

/// Words in provider or model id, and the harness of that family.
const FAMILIES: &[(&[&str], &str)] = &[
    // Anthropic's models are tuned on Claude Code's tools. The classic form has plain roles, which every server takes.
    (&["claude", "anthropic"], "claude-code"),
    // DeepSeek documents its Anthropic-compatible endpoint for Claude Code, and its models follow that dialect.
    (&["deepseek"], "claude-code-bare"),
    // Moonshot tunes Kimi on its own agent, which its coding plan is sold with.
    (&["kimi", "moonshot"], "kimi-code"),
    // Z.AI documents Claude Code for its plans, and tunes GLM on it.
    (&["glm", "z.ai", "zai", "zhipu", "bigmodel"], "claude-code"),
    // Alibaba tunes Qwen's coders on its own agent.
    (&["qwen", "qwq", "dashscope"], "qwen-code"),
];

/// The harness of a model whose user named none. The Messages wire means a server that was built for Claude Code.
pub fn default_for(provider: &str, base_url: &str, model: &str, wire: WireId) -> &'static str {
    let (provider, base_url, model) = (provider.to_lowercase(), base_url.to_lowercase(), model.to_lowercase());
    let named = |word: &&str| provider.contains(*word) || base_url.contains(*word) || model.contains(*word);
    match FAMILIES.iter().find(|(words, _)| words.iter().any(named)) {
        Some((_, harness)) => harness,
        None if wire == WireId::Messages => "claude-code",
        None => "native",
    }
}
