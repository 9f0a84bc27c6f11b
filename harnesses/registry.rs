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
    &crate::zcode::Zcode,
    &crate::deepseek_tui::DeepseekTui,
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

/// The harness of a family, where the wire makes a difference.
enum On {
    Any(&'static str),
    /// On the Messages wire, and on the others.
    Messages(&'static str, &'static str),
}

/// Words in provider or model id, and the harness of that family.
const FAMILIES: &[(&[&str], On)] = &[
    // DeepSeek documents its Anthropic-compatible endpoint for Claude Code, and its models follow that dialect.
    (&["deepseek"], On::Any("claude-code-bare")),
    // Moonshot tunes Kimi on its own agent, which its coding plan is sold with.
    (&["kimi", "moonshot"], On::Any("kimi-code")),
    // Z.AI tunes GLM on its own agent and on Claude Code. The agent's wire is Messages; on others Claude Code is the known way.
    (&["glm", "z.ai", "zai", "zhipu", "bigmodel"], On::Messages("zcode", "claude-code")),
    // Alibaba tunes Qwen's coders on its own agent.
    (&["qwen", "qwq", "dashscope"], On::Any("qwen-code")),
    // Anthropic's models are tuned on Claude Code's tools. The classic form has plain roles, which every server takes. Last,
    // since the others have `/anthropic` in the address of their Messages wire.
    (&["claude", "anthropic"], On::Any("claude-code")),
];

/// The harness of a model whose user named none. The Messages wire means a server that was built for Claude Code.
pub fn default_for(provider: &str, base_url: &str, model: &str, wire: WireId) -> &'static str {
    let (provider, base_url, model) = (provider.to_lowercase(), base_url.to_lowercase(), model.to_lowercase());
    let named = |word: &&str| provider.contains(*word) || base_url.contains(*word) || model.contains(*word);
    let messages = wire == WireId::Messages;
    match FAMILIES.iter().find(|(words, _)| words.iter().any(named)) {
        Some((_, On::Any(harness))) => harness,
        Some((_, On::Messages(harness, other))) => {
            if messages {
                harness
            } else {
                other
            }
        }
        None if messages => "claude-code",
        None => "native",
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn ids_are_unique_and_the_empty_one_is_native() {
        let ids: Vec<&str> = all().iter().map(|harness| harness.id()).collect();
        for id in &ids {
            assert_eq!(find(id).map(Harness::id), Some(*id));
            assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id}");
        }
        assert_eq!(find("").map(Harness::id), Some("native"));
    }

    #[test]
    fn a_model_gets_the_harness_of_its_family() {
        let check = |provider: &str, url: &str, model: &str, wire: WireId, expected: &str| {
            assert_eq!(default_for(provider, url, model, wire), expected, "{provider} {url} {model} {wire:?}");
            assert!(find(expected).is_some());
        };
        let local = "http://localhost:8080/v1";
        check("openai", "https://api.openai.com/v1", "gpt-5.4", WireId::Responses, "native");
        check("x", local, "tiny-3b", WireId::Chat, "native");
        check("x", local, "tiny-3b", WireId::Messages, "claude-code");
        check("openrouter", "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", WireId::Chat, "claude-code");
        check("x", local, "DeepSeek-V3", WireId::Chat, "claude-code-bare");
        check("x", "https://api.deepseek.com/anthropic", "m", WireId::Messages, "claude-code-bare");
        check("anthropic", "https://api.anthropic.com", "m", WireId::Messages, "claude-code");
        check("x", "https://api.moonshot.ai/v1", "k2", WireId::Chat, "kimi-code");
        check("x", local, "Qwen3-Coder-30B", WireId::Chat, "qwen-code");
        check("zai", "https://api.z.ai/api/anthropic", "glm-5.2", WireId::Messages, "zcode");
        check("x", "https://open.bigmodel.cn/api/anthropic", "m", WireId::Messages, "zcode");
        check("zai", "https://api.z.ai/api/coding/paas/v4", "glm-5.2", WireId::Chat, "claude-code");
        check("x", local, "GLM-4.6-Air", WireId::Chat, "claude-code");
        check("x", "https://api.z.ai/api/v1", "m", WireId::Responses, "claude-code");
    }
}
