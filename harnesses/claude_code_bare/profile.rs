//! What depends on the model: limits, thinking, and whether files must be read before they are edited. Figures of Claude Code 2.1.332.
use protocol::{Marks, ModelInfo, Raw, ReasoningAsk, Tune, WireId};
use serde_json::json;

use crate::Context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinking {
    Off,
    /// Up to one token less than may be put out.
    Budget,
    Adaptive,
}

struct Profile {
    max_output: u64,
    thinking: Thinking,
    /// The effort asked for where the user names none.
    effort: Option<&'static str>,
}

pub(crate) fn is_claude(slug: &str) -> bool {
    slug.contains("claude")
}

/// Claude models that may edit files unread. All others are spoken to in the older way.
fn is_current(slug: &str) -> bool {
    is_claude(slug) && ["opus-4-8", "sonnet-5", "opus-5", "fable-5", "haiku-5"].iter().any(|name| slug.contains(name))
}

pub(crate) fn reads_first(model: &ModelInfo) -> bool {
    !is_current(&model.slug.to_lowercase())
}

fn profile(model: &ModelInfo) -> Profile {
    let slug = model.slug.to_lowercase();
    let named = |names: &[&str]| names.iter().any(|name| slug.contains(name));
    let profile = |max_output, thinking, effort| Profile { max_output, thinking, effort };
    if !is_claude(&slug) {
        // Other makers' servers know thinking with a budget, if any; of an unknown model nothing is asked.
        let thinking = if model.known && model.reasoning { Thinking::Budget } else { Thinking::Off };
        return profile(model.max_output.unwrap_or(32_000).min(32_000), thinking, None);
    }
    // OpenRouter and others write the version with a point.
    if named(&["claude-3-5", "claude-3.5"]) {
        profile(8_192, Thinking::Off, None)
    } else if named(&["sonnet-4-5", "haiku-4-5", "sonnet-4.5", "haiku-4.5"]) {
        profile(32_000, Thinking::Budget, None)
    } else if named(&["opus-4-7", "opus-4.7"]) {
        profile(64_000, Thinking::Adaptive, Some("xhigh"))
    } else if named(&["opus-4-6", "opus-4-8", "opus-4.6", "opus-4.8"]) {
        profile(64_000, Thinking::Adaptive, Some("high"))
    } else if is_current(&slug) {
        profile(128_000, Thinking::Adaptive, Some("medium"))
    } else {
        profile(32_000, Thinking::Adaptive, Some("high"))
    }
}

pub(crate) fn tune(cx: &Context) -> Tune {
    let profile = profile(cx.model);
    let own = cx.settings.provider == "anthropic";
    let max_output = cx.settings.max_output.unwrap_or(profile.max_output);
    let unwanted = cx.settings.effort.as_deref() == Some("none");
    let thinking = if unwanted { Thinking::Off } else { profile.thinking };
    let effort = cx.settings.effort.clone().filter(|_| !unwanted).or(profile.effort.map(str::to_owned));
    let reasoning = ReasoningAsk {
        effort,
        summary: None,
        budget: (thinking == Thinking::Budget).then(|| max_output.saturating_sub(1)),
        enabled: (thinking == Thinking::Budget).then_some(true).or(unwanted.then_some(false)),
        adaptive: thinking == Thinking::Adaptive,
    };
    let mut tune = Tune {
        max_output: Some(max_output),
        temperature: unwanted.then_some(1.0),
        reasoning,
        schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        marks: Marks { instructions: vec![0, 1], last: true, ..Marks::default() },
        ..Tune::default()
    };
    if own {
        let wire = WireId::Messages;
        let session = json!({"account_uuid": "", "session_id": cx.thread.as_str()}).to_string();
        tune.extras.push((wire, "metadata".into(), Raw::of(&json!({"user_id": session}))));
        let mut betas = vec!["interleaved-thinking-2025-05-14"];
        if thinking != Thinking::Off {
            let edits = json!({"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]});
            tune.extras.push((wire, "context_management".into(), Raw::of(&edits)));
            betas.push("context-management-2025-06-27");
        }
        if tune.reasoning.effort.is_some() {
            betas.push("effort-2025-11-24");
        }
        tune.headers.push((wire, "anthropic-beta".into(), betas.join(",")));
        tune.headers.push((wire, "x-app".into(), "cli".into()));
    }
    tune
}
