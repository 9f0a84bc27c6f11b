//! What depends on the model: how many tokens a reply may have, the form of calls in examples, pictures. Figures of Qwen Code 0.24.4.
use protocol::{Body, Tune};

use crate::Context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// `<function=name>` with parameters: Qwen's coder models.
    Xml,
    /// One JSON object between tags: Qwen's vision models.
    Json,
    /// `[tool_call: name for ...]`.
    Prose,
}

/// Tokens of a reply, of a model that the table does not know and of any.
const OUTPUT: u64 = 32_000;
const MOST_OUTPUT: u64 = 64_000;
/// Tokens of a reply that are left however full the window is.
const LEAST_OUTPUT: u64 = 4_000;
/// Tokens of a first request, before any usage is known.
const FIRST: u64 = 20_000;
/// Tokens of a summary.
pub(super) const SUMMARY: u64 = 20_000;

/// Without vendor and tag, in lower case: `Qwen/Qwen3-Coder:30b` is `qwen3-coder`.
fn name(slug: &str) -> String {
    let slug = slug.to_lowercase();
    let name = slug.rsplit('/').next().unwrap_or(&slug);
    name.split(':').next().unwrap_or(name).to_owned()
}

/// None: the table does not know the model.
fn own_limit(slug: &str) -> Option<u64> {
    let name = name(slug);
    let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if name.strip_prefix("qwen3.").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        Some(MOST_OUTPUT)
    } else if starts(&["qwen", "coder-model"]) {
        Some(32_768)
    } else if starts(&["gpt-5", "claude-", "deepseek-reasoner"]) {
        Some(MOST_OUTPUT)
    } else if starts(&["deepseek-chat"]) {
        Some(8_192)
    } else {
        None
    }
}

/// Tokens of the window, where neither the user nor the provider names it.
fn window(cx: &Context) -> u64 {
    let name = name(&cx.model.slug);
    let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match () {
        _ if cx.model.known => cx.model.context_window,
        _ if starts(&["qwen3-coder-plus", "qwen3-coder-flash", "qwen3."]) => 1_000_000,
        _ if starts(&["qwen"]) => 262_144,
        _ if starts(&["deepseek"]) => 131_072,
        _ => cx.model.context_window,
    }
}

pub(super) fn tune(cx: &Context) -> Tune {
    let own = own_limit(&cx.model.slug).unwrap_or(OUTPUT);
    with_output(cx, cx.model.max_output.map_or(own, |most| own.min(most)))
}

/// For a reply that was cut off: as much as the model can.
pub(super) fn larger(cx: &Context) -> Tune {
    let own = own_limit(&cx.model.slug).unwrap_or(MOST_OUTPUT);
    with_output(cx, cx.model.max_output.map_or(own, |most| own.min(most)))
}

fn with_output(cx: &Context, output: u64) -> Tune {
    let used = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Reply { reply, .. } if reply.usage.input > 0 => Some(reply.usage.input),
        _ => None,
    });
    let window = window(cx);
    let spare = (window / 20).max(10_000);
    let room = window.saturating_sub(used.unwrap_or(FIRST)).saturating_sub(spare).max(LEAST_OUTPUT);
    Tune {
        max_output: Some(cx.settings.max_output.unwrap_or_else(|| output.min(MOST_OUTPUT).min(room))),
        reasoning: protocol::ReasoningAsk { effort: cx.settings.effort.clone(), ..Default::default() },
        schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        ..Tune::default()
    }
}

pub(super) fn notation(slug: &str) -> Notation {
    let name = name(slug);
    let rest = name.strip_prefix("qwen");
    match rest {
        Some(rest) if rest.contains("coder") => Notation::Xml,
        Some(rest) if rest.contains("-vl") => Notation::Json,
        _ => Notation::Prose,
    }
}

/// Whether pictures go to the model. Of unknown models the name tells.
pub(super) fn sees(cx: &Context) -> bool {
    let name = name(&cx.model.slug);
    let named = [
        "-vl",
        "vision",
        "omni",
        "qvq",
        "gpt-4",
        "gpt-5",
        "claude",
        "gemini",
        "qwen3.",
        "kimi-k2.5",
        "glm-4.5v",
        "glm-4.6v",
    ];
    cx.caps.images && if cx.model.known { cx.model.images } else { named.iter().any(|part| name.contains(part)) }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn limits_by_name() {
        for (slug, expected) in [
            ("qwen3-coder-plus", Some(32_768)),
            ("Qwen/Qwen3-Coder-30B-A3B", Some(32_768)),
            ("qwen3.5-plus", Some(64_000)),
            ("gpt-5.1", Some(64_000)),
            ("deepseek-chat", Some(8_192)),
            ("glm-4.6", None),
            ("qwen3-coder:30b", Some(32_768)),
        ] {
            assert_eq!(own_limit(slug), expected, "{slug}");
        }
    }

    #[test]
    fn notations_by_name() {
        for (slug, expected) in [
            ("qwen3-coder-plus", Notation::Xml),
            ("qwen-coder-plus", Notation::Xml),
            ("qwen2.5-vl-72b", Notation::Json),
            ("qwen3-max", Notation::Prose),
            ("gpt-5", Notation::Prose),
        ] {
            assert_eq!(notation(slug), expected, "{slug}");
        }
    }
}
