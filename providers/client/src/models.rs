//! What is known of models without asking anyone: windows, limits, defaults, prices. Codex's own list comes first, then the
//! catalog, then a table by hand for what is in neither.
use protocol::{ModelInfo, Truncation};

use crate::{
    Provider,
    catalog::{Model, Reasoning},
};

/// The user's word on a model (`model_context_window`, `model_auto_compact_token_limit`, `model_max_output_tokens`), in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelOverrides {
    pub context_window: Option<u64>,
    pub auto_compact_token_limit: Option<u64>,
    pub max_output_tokens: Option<u64>,
}

/// Facts of a model, the fallback where there are none (`known` is false then, and Codex warns).
pub fn model_info(provider: &Provider, slug: &str, overrides: &ModelOverrides) -> ModelInfo {
    let entry = provider.listed_model(slug);
    let known = openai(slug).or_else(|| entry.as_ref().map(|entry| listed(slug, entry))).or_else(|| family(slug));
    let mut info = known.unwrap_or_else(|| ModelInfo::fallback(slug));
    info.price = entry.and_then(|entry| entry.price);
    if !info.known && matches!(provider.id.as_str(), "ollama" | "lmstudio") {
        info.context_window = LOCAL_WINDOW;
    }
    if let Some(window) = overrides.context_window {
        info.context_window = window;
    }
    if overrides.max_output_tokens.is_some() {
        info.max_output = overrides.max_output_tokens;
    }
    let most = info.context_window / 10 * 9 + info.context_window % 10 * 9 / 10;
    info.compact_at = overrides.auto_compact_token_limit.map_or(most, |limit| limit.min(most));
    info
}

/// Assumed of unknown models on local servers (openinterpreter.md 3.6); they cut what is too long without a word.
const LOCAL_WINDOW: u64 = 128_000;

/// `codex debug models` of 0.171.0: slug, default effort, default verbosity, window. All have 10,000 tokens of tool output and
/// the free-form apply_patch, and take images.
const CODEX: [(&str, &str, &str, u64); 14] = [
    ("gpt-6.2-sol", "low", "low", 500_000),
    ("gpt-6.2-astra", "low", "low", 272_000),
    ("gpt-6.1-sol", "low", "low", 500_000),
    ("gpt-6.1-terra", "low", "low", 500_000),
    ("gpt-6-astra", "low", "low", 272_000),
    ("gpt-6-sol", "medium", "low", 272_000),
    ("gpt-6-luna", "medium", "low", 272_000),
    ("gpt-5.6-sol", "low", "low", 272_000),
    ("gpt-5.6-terra", "medium", "low", 272_000),
    ("gpt-5.6-luna", "medium", "low", 272_000),
    ("gpt-5.5", "medium", "low", 272_000),
    ("gpt-daybreak-blue-latest", "low", "low", 272_000),
    ("gpt-daybreak-red-latest", "medium", "high", 372_000),
    ("codex-auto-review", "medium", "low", 272_000),
];

fn openai(slug: &str) -> Option<ModelInfo> {
    let name = slug.strip_prefix("openai/").unwrap_or(slug);
    let &(_, effort, verbosity, window) = CODEX.iter().find(|(known, ..)| *known == name)?;
    Some(ModelInfo {
        known: true,
        context_window: window,
        effort: Some(effort.to_owned()),
        verbosity: Some(verbosity.to_owned()),
        truncation: Truncation::Tokens(10_000),
        freeform_patch: true,
        ..ModelInfo::fallback(slug)
    })
}

/// What the catalog says; where it has no window the hand table may.
fn listed(slug: &str, entry: &Model) -> ModelInfo {
    let fallback = family(slug).unwrap_or_else(|| ModelInfo::fallback(slug));
    ModelInfo {
        known: true,
        context_window: entry.window().unwrap_or(fallback.context_window),
        max_output: entry.most_output().or(fallback.max_output),
        images: entry.takes.iter().any(|kind| kind == "image"),
        reasoning: entry.reasoning != Reasoning::None,
        reasoning_control: entry.control(),
        ..fallback
    }
}

/// One row of the table: the start of a name, in lower case with `-` for `.`, and what holds for it.
struct Family {
    start: &'static str,
    window: u64,
    /// 0: not known.
    output: u64,
    images: bool,
    reasoning: bool,
}

const fn row(start: &'static str, window: u64, output: u64, images: bool, reasoning: bool) -> Family {
    Family { start, window, output, images, reasoning }
}

/// The longest matching start counts. Claude's outputs: harnesses/claude-code.md section 2 (what Claude Code asks for);
/// others: provider-quirks.md section 5. Whether a model takes images is general knowledge, and errs towards no.
const FAMILIES: [Family; 62] = [
    row("claude-3-5", 200_000, 8_192, true, false),
    row("claude-3-7", 200_000, 32_000, true, true),
    row("claude-opus-4-1", 200_000, 32_000, true, true),
    row("claude-opus-4-2", 200_000, 32_000, true, true),
    row("claude-sonnet-4-2", 200_000, 32_000, true, true),
    row("claude-opus-4-5", 200_000, 32_000, true, true),
    row("claude-sonnet-4-5", 200_000, 32_000, true, true),
    row("claude-haiku-4-5", 200_000, 32_000, true, true),
    row("claude-opus-4-6", 1_000_000, 64_000, true, true),
    row("claude-opus-4-7", 1_000_000, 64_000, true, true),
    row("claude-opus-4-8", 1_000_000, 64_000, true, true),
    row("claude-sonnet-4-6", 1_000_000, 32_000, true, true),
    row("claude-opus-5", 1_000_000, 128_000, true, true),
    row("claude-sonnet-5", 1_000_000, 128_000, true, true),
    row("claude-haiku-5", 1_000_000, 128_000, true, true),
    row("claude-fable-5", 1_000_000, 128_000, true, true),
    row("claude-", 200_000, 32_000, true, true),
    row("deepseek-v4", 1_000_000, 393_216, false, true),
    row("deepseek-flash", 1_000_000, 393_216, false, true),
    row("deepseek-v3-2", 163_840, 0, false, true),
    row("deepseek-chat", 131_072, 8_192, false, false),
    row("deepseek-reasoner", 131_072, 0, false, true),
    row("glm-4-5", 128_000, 32_000, false, true),
    row("glm-4-5v", 128_000, 32_000, true, true),
    row("glm-4-6", 200_000, 128_000, false, true),
    row("glm-4-6v", 200_000, 128_000, true, true),
    row("glm-4-7", 200_000, 128_000, false, true),
    row("glm-5", 200_000, 128_000, false, true),
    row("glm-5-2", 1_000_000, 128_000, false, true),
    row("glm-5-3", 1_000_000, 128_000, false, true),
    row("glm-5-3-flash", 1_048_576, 128_000, false, true),
    row("kimi-for-coding", 262_144, 0, true, true),
    row("kimi-k2-5", 262_144, 0, true, true),
    row("kimi-k2-6", 262_144, 0, true, true),
    row("kimi-k2-7", 262_144, 0, true, true),
    row("kimi-k3", 1_048_576, 131_072, true, true),
    row("k3", 1_048_576, 131_072, true, true),
    row("qwen3-coder", 262_144, 65_536, false, false),
    row("qwen3-coder-plus", 997_952, 65_536, false, false),
    row("qwen3-coder-flash", 997_952, 65_536, false, false),
    row("qwen3-max", 258_048, 65_536, false, true),
    row("qwen3-7-max", 991_808, 65_536, false, true),
    row("qwen3-7-plus", 991_808, 65_536, false, true),
    row("qwen3-8-max", 991_808, 131_072, false, true),
    row("minimax-m2", 204_800, 131_072, false, true),
    row("minimax-m3", 1_000_000, 128_000, false, true),
    row("mistral-medium-3-5", 262_144, 0, true, true),
    row("mistral-large-3", 262_144, 0, true, false),
    row("mistral-small-2603", 262_144, 0, true, true),
    row("mistral-large-4", 1_048_576, 0, true, true),
    row("grok-4-3", 1_000_000, 128_000, true, true),
    row("grok-4-20", 1_000_000, 128_000, true, true),
    row("grok-4-5", 500_000, 128_000, true, true),
    row("grok-4-6", 500_000, 128_000, true, true),
    row("grok-4-7", 500_000, 128_000, true, true),
    row("grok-code-fast", 256_000, 0, false, true),
    row("gemini-2-5", 1_048_576, 65_536, true, true),
    row("gemini-3", 1_048_576, 65_536, true, true),
    row("gpt-oss", 131_072, 32_768, false, true),
    row("gpt-5-4", 1_050_000, 128_000, true, true),
    row("gpt-5-4-mini", 272_000, 128_000, true, true),
    row("qwen3-8-27b", 131_072, 16_384, false, true),
];

fn family(slug: &str) -> Option<ModelInfo> {
    // `anthropic/claude-sonnet-4.5:beta` and `us.anthropic.claude-...` name the same models.
    let name = slug.rsplit('/').next().unwrap_or(slug).to_ascii_lowercase();
    let name = name.rsplit_once("anthropic.").map_or(name.as_str(), |(_, name)| name).replace('.', "-");
    // `claude-sonnet-4-20250514`: the digit before the date is the version, `-2` the start of the date.
    let row = FAMILIES.iter().filter(|row| name.starts_with(row.start)).max_by_key(|row| row.start.len())?;
    Some(ModelInfo {
        known: true,
        context_window: row.window,
        max_output: (row.output > 0).then_some(row.output),
        images: row.images,
        reasoning: row.reasoning,
        ..ModelInfo::fallback(slug)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::ReasoningControl;

    use super::*;

    fn provider(id: &str) -> Provider {
        let env = [("AZURE_COGNITIVE_SERVICES_RESOURCE_NAME".to_owned(), "r".to_owned())].into();
        let sources = crate::Sources { env, ..crate::Sources::default() };
        crate::Registry::new(Default::default(), sources).provider(id).expect("a provider of the catalog")
    }

    fn info(slug: &str) -> ModelInfo {
        model_info(&provider("openai"), slug, &ModelOverrides::default())
    }

    #[test]
    fn codex_facts() {
        let expected = ModelInfo {
            known: true,
            effort: Some("medium".into()),
            verbosity: Some("low".into()),
            truncation: Truncation::Tokens(10_000),
            freeform_patch: true,
            ..ModelInfo::fallback("gpt-5.5")
        };
        // Codex's own list decides; what it does not say, the price, is the catalog's.
        assert_eq!(ModelInfo { price: None, ..info("gpt-5.5") }, expected);
        assert_eq!(info("gpt-5.5").price.map(|price| (price.input, price.output)), Some((5.0, 30.0)));
        for unknown in ["mock", "gpt-5.5-mini", ""] {
            assert_eq!(info(unknown), ModelInfo::fallback(unknown));
        }
    }

    #[test]
    fn the_catalog_knows_more() {
        let of = |id: &str, slug: &str| model_info(&provider(id), slug, &ModelOverrides::default());
        let effort = |words: &str| Some(ReasoningControl::Effort(words.split(' ').map(str::to_owned).collect()));
        // A prompt may have less than prompt and answer together.
        let gpt = of("openai", "gpt-5");
        assert_eq!((gpt.known, gpt.context_window, gpt.max_output), (true, 272_000, Some(128_000)));
        assert_eq!(gpt.reasoning_control, effort("minimal low medium high"));
        let gpt = of("openai", "gpt-4.1");
        assert_eq!((gpt.reasoning, gpt.reasoning_control), (false, Some(ReasoningControl::None)));
        let deepseek = of("deepseek", "deepseek-v4-pro");
        assert_eq!(deepseek.reasoning_control, effort("none low high max"));
        assert!(!deepseek.images && deepseek.price.is_some());
        // An answer as long as the window is no limit to ask for.
        assert_eq!(of("azure-cognitive-services", "kimi-k2.5").max_output, None);
        // A free variant is the model itself.
        assert!(of("openrouter", "deepseek/deepseek-v4-pro:nitro").known);
        let over = ModelOverrides { context_window: Some(5), max_output_tokens: Some(3), ..ModelOverrides::default() };
        let info = model_info(&provider("deepseek"), "deepseek-v4-pro", &over);
        assert_eq!((info.context_window, info.max_output), (5, Some(3)));
    }

    #[test]
    fn families() {
        let check = |slug: &str, window: u64, output: Option<u64>| {
            let info = family(slug).expect("a family");
            assert_eq!((info.known, info.context_window, info.max_output), (true, window, output), "{slug}");
        };
        check("claude-sonnet-4-5-20250929", 200_000, Some(32_000));
        check("claude-sonnet-4-20250514", 200_000, Some(32_000));
        check("anthropic/claude-sonnet-4.6", 1_000_000, Some(32_000));
        check("us.anthropic.claude-opus-4-6-v1:0", 1_000_000, Some(64_000));
        check("claude-opus-5", 1_000_000, Some(128_000));
        check("claude-3-5-haiku-latest", 200_000, Some(8_192));
        check("deepseek-v4-pro", 1_000_000, Some(393_216));
        check("zai-org/GLM-4.6", 200_000, Some(128_000));
        check("glm-5.3-flash", 1_048_576, Some(128_000));
        check("moonshotai/kimi-k2.5", 262_144, None);
        check("openai/gpt-oss-120b", 131_072, Some(32_768));
    }

    #[test]
    fn local_servers_hold_less() {
        let window = |slug: &str, over: &ModelOverrides| model_info(&provider("ollama"), slug, over).context_window;
        assert_eq!(window("qwen9:7b", &ModelOverrides::default()), 128_000);
        assert_eq!(window("qwen9:7b", &ModelOverrides { context_window: Some(5), ..ModelOverrides::default() }), 5);
        assert_eq!(window("gpt-oss:20b", &ModelOverrides::default()), 131_072);
    }

    #[test]
    fn the_users_word() {
        let check = |overrides: ModelOverrides, expected: (u64, u64, Option<u64>)| {
            let info = model_info(&provider("openai"), "mock", &overrides);
            assert_eq!((info.context_window, info.compact_at, info.max_output), expected);
        };
        let of = |window, limit, output| ModelOverrides {
            context_window: window,
            auto_compact_token_limit: limit,
            max_output_tokens: output,
        };
        check(of(None, None, None), (272_000, 244_800, None));
        check(of(Some(100_000), None, None), (100_000, 90_000, None));
        check(of(Some(100_000), Some(95_000), Some(7)), (100_000, 90_000, Some(7)));
        check(of(Some(100_000), Some(20_000), None), (100_000, 20_000, None));
        check(of(Some(1_001), None, None), (1_001, 900, None));
        check(of(Some(u64::MAX), None, None), (u64::MAX, u64::MAX / 10 * 9 + 4, None));
    }
}
