//! What a model is and holds, and what this provider and wire can carry. Filled in by `providers`, read by harnesses and wires.
use serde::{Deserialize, Serialize};

use crate::{Source, Usage};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    pub slug: String,
    /// False: no metadata was found and the values are the fallback (Codex warns then).
    pub known: bool,
    /// Tokens. Fallback 272,000, as upstream.
    pub context_window: u64,
    /// Compact when more tokens than this are in use: the configured limit, at most 90 % of the window.
    pub compact_at: u64,
    pub max_output: Option<u64>,
    /// May be given images.
    pub images: bool,
    /// The model's own default; None: do not mention effort.
    pub effort: Option<String>,
    /// Thinks at all (decides thinking switches of dialects).
    pub reasoning: bool,
    pub verbosity: Option<String>,
    pub truncation: Truncation,
    /// Trained on Codex's free-form apply_patch.
    pub freeform_patch: bool,
    /// How thinking is steered. None: not known, and what the user asks for is passed on.
    #[serde(default)]
    pub reasoning_control: Option<ReasoningControl>,
    /// None: not known. Free models have a price of zero.
    #[serde(default)]
    pub price: Option<Price>,
}

impl ModelInfo {
    /// Codex 0.171.0's fallback for a slug missing from its catalog: no effort, 10,000 bytes of tool output.
    pub fn fallback(slug: impl Into<String>) -> ModelInfo {
        ModelInfo {
            slug: slug.into(),
            known: false,
            context_window: 272_000,
            compact_at: 244_800,
            max_output: None,
            images: true,
            effort: None,
            reasoning: true,
            verbosity: None,
            truncation: Truncation::Bytes(10_000),
            freeform_patch: false,
            reasoning_control: None,
            price: None,
        }
    }

    /// The effort to ask for when the user asks for `asked`; None: mention none.
    ///
    /// One rule: of the levels that the model has the nearest one, of two equally near the stronger. `none` is near to nothing
    /// but itself: a model that cannot stop thinking thinks as little as it can. A model without control is asked nothing; a
    /// switch or budget takes any word, of which `none` switches off. Words of no known strength are passed on.
    pub fn effort_for(&self, asked: Option<&str>) -> Option<String> {
        let asked = asked?;
        match &self.reasoning_control {
            Some(ReasoningControl::None | ReasoningControl::Fixed) => None,
            Some(ReasoningControl::Effort(levels)) if !levels.iter().any(|level| level == asked) => {
                let Some(wanted) = strength(asked) else { return Some(asked.to_owned()) };
                let thinking = levels.iter().filter_map(|level| Some((strength(level)?, level)));
                let near = thinking.filter(|(strength, _)| *strength > 0);
                near.min_by_key(|(strength, _)| (strength.abs_diff(wanted), u8::MAX - strength))
                    .map(|(_, level)| level.clone())
            }
            _ => Some(asked.to_owned()),
        }
    }
}

/// Upstream's words for effort, weak to strong; `none` is 0.
fn strength(effort: &str) -> Option<u8> {
    let words = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];
    words.iter().position(|word| *word == effort).and_then(|at| u8::try_from(at).ok())
}

/// How a model's thinking is steered (openinterpreter.md 3.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningControl {
    /// It does not think.
    None,
    /// It thinks, and nothing changes how much.
    Fixed,
    /// One of these words, weak to strong; with `none` among them thinking can be switched off.
    Effort(Vec<String>),
    /// On or off.
    ThinkingToggle,
    /// On or off, and at most so many tokens.
    ThinkingBudget,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Input that the server had in its cache. None: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input that the server put into its cache. None: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Thinking. None: as `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<f64>,
    /// Prices of requests with a long input, by rising `min_context`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// What takes the place of a price where the input has `min_context` tokens or more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceTier {
    pub min_context: u64,
    pub input: f64,
    pub output: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What one request costs, in US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let tier = self.tiers.iter().rev().find(|tier| usage.input >= tier.min_context);
        let (input, output, cache_read, cache_write) = match tier {
            Some(tier) => (tier.input, tier.output, tier.cache_read, tier.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        // A tier has no price of its own for thinking.
        let thinking = self.reasoning.filter(|_| tier.is_none()).unwrap_or(output);
        let fresh = usage.input.saturating_sub(usage.cached + usage.cache_write);
        let said = usage.output.saturating_sub(usage.reasoning);
        let parts = [
            (fresh, input),
            (usage.cached, cache_read.unwrap_or(input)),
            (usage.cache_write, cache_write.unwrap_or(input)),
            (said, output),
            (usage.reasoning, thinking),
        ];
        parts.iter().map(|&(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6
    }
}

/// Limit of one tool result. A token counts as four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    Bytes(u64),
    Tokens(u64),
}

/// What a provider's server takes on the wire in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Caps {
    /// Responses: free-form tools. False for servers not known to accept them.
    pub custom_tools: bool,
    /// Responses: tool types beside `function` (`web_search`, `namespace`).
    pub server_tools: bool,
    /// The role `developer`; without it `system` is used (Responses) or the text joins the system message (chat).
    pub developer_role: bool,
    /// Instructions after the start of the conversation; without it they become user messages.
    pub late_instructions: bool,
    /// Images in user messages; without it a text says that one was left out.
    pub images: bool,
    /// Images in tool results; without it they follow in a user message.
    pub images_in_results: bool,
    pub documents: bool,
    /// Messages: `cache_control`.
    pub cache_marks: bool,
    /// Responses: `include: ["reasoning.encrypted_content"]`, `prompt_cache_key`, `client_metadata`.
    pub encrypted_reasoning: bool,
    /// Messages: the server counts the tokens of a request (`/v1/messages/count_tokens`).
    pub counts_tokens: bool,
}

impl Caps {
    /// A third-party server: what every server of these wires takes.
    pub fn plain() -> Caps {
        Caps {
            custom_tools: false,
            server_tools: false,
            developer_role: false,
            late_instructions: false,
            images: true,
            images_in_results: false,
            documents: false,
            cache_marks: false,
            encrypted_reasoning: true,
            counts_tokens: false,
        }
    }
}

/// How a provider wants the names of things; a quirk may only remove, rename, or supply a required placeholder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quirks {
    /// chat: `max_completion_tokens` instead of `max_tokens`.
    pub max_completion_tokens: bool,
    /// chat: no `stream_options.include_usage`.
    pub no_stream_options: bool,
    /// chat: `content: ""` instead of null beside calls.
    pub empty_content: bool,
    /// chat: the field in which reasoning goes back when a reply had none but the server demands it.
    pub reasoning_required: Option<String>,
    /// Rewrites call ids to nine alphanumeric characters (Mistral).
    pub short_ids: bool,
    /// Leaves these top-level fields of the body out.
    pub drop: Vec<String>,
    /// Leaves sampling temperature out.
    pub no_temperature: bool,
    /// chat: how reasoning is asked for: `reasoning_effort` (default), `reasoning` (OpenRouter), `thinking` (a switch, effort
    /// beside it), `thinking_effort` (effort inside the switch), `enable_thinking`, `chat_template_kwargs` (vLLM), `none`.
    pub reasoning_field: Option<String>,
    /// Text between `<think>` tags is reasoning.
    pub think_tags: bool,
    /// chat: text is sent as one string, never as a list of parts (DeepSeek, Moonshot's text models).
    pub string_content: bool,
    /// Rewrites what is not `[a-zA-Z0-9_-]` in call ids (Anthropic). Never for Kimi.
    pub safe_ids: bool,
    /// Leaves `strict` out of tools (xAI, Moonshot, DeepSeek outside its beta address).
    pub no_strict: bool,
    /// chat: what is said in the same breath as results does not follow them at once; an assistant `Done.` stands between
    /// (Mistral).
    pub bridge_results: bool,
}

/// All that a wire must know of the far side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub source: Source,
    pub caps: Caps,
    pub quirks: Quirks,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_effort_becomes_one_that_the_model_has() {
        let check = |control: Option<ReasoningControl>, asked: &str, expected: Option<&str>| {
            let model = ModelInfo { reasoning_control: control.clone(), ..ModelInfo::fallback("m") };
            assert_eq!(model.effort_for(Some(asked)).as_deref(), expected, "{control:?} {asked}");
        };
        let levels = |words: &str| Some(ReasoningControl::Effort(words.split(' ').map(str::to_owned).collect()));
        check(None, "xhigh", Some("xhigh"));
        check(Some(ReasoningControl::None), "high", None);
        check(Some(ReasoningControl::Fixed), "none", None);
        check(Some(ReasoningControl::ThinkingToggle), "none", Some("none"));
        check(Some(ReasoningControl::ThinkingBudget), "high", Some("high"));
        // DeepSeek's own table: minimal to low, medium to high, ultra to max.
        for (asked, expected) in [
            ("none", "none"),
            ("minimal", "low"),
            ("low", "low"),
            ("medium", "high"),
            ("high", "high"),
            ("ultra", "max"),
        ] {
            check(levels("none low high max"), asked, Some(expected));
        }
        check(levels("low medium high"), "none", Some("low"));
        check(levels("low medium high"), "xhigh", Some("high"));
        check(levels("none high"), "minimal", Some("high"));
        check(levels("low"), "persistent", Some("persistent"));
        assert_eq!(ModelInfo::fallback("m").effort_for(None), None);
    }

    #[test]
    fn prices() {
        let usage =
            Usage { input: 1_000_000, cached: 600_000, cache_write: 100_000, output: 200_000, reasoning: 50_000 };
        let plain = Price { input: 2.0, output: 10.0, ..Price::default() };
        let check = |price: &Price, usage: &Usage, expected: &str| {
            assert_eq!(format!("{:.4}", price.of(usage)), expected);
        };
        check(&plain, &usage, "4.0000");
        // 0.3 x 2 + 0.6 x 0.2 + 0.1 x 2.5 + 0.15 x 10 + 0.05 x 4
        let cached = Price { cache_read: Some(0.2), cache_write: Some(2.5), reasoning: Some(4.0), ..plain };
        check(&cached, &usage, "2.6700");
        let tier = PriceTier { min_context: 200_000, input: 4.0, output: 20.0, cache_read: None, cache_write: None };
        let tiered = Price { tiers: vec![tier], ..cached };
        check(&tiered, &usage, "8.0000");
        check(&tiered, &Usage { input: 1000, ..Usage::default() }, "0.0020");
    }
}
