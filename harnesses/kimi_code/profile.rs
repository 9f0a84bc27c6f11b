//! How the model is asked to answer: what the original sends to Moonshot's own servers, and less to others.
use protocol::{Body, Marks, Raw, ReasoningAsk, Tune, WireId};
use serde_json::json;

use crate::Context;

/// Moonshot's servers and the Kimi Code plan.
fn is_own(provider: &str) -> bool {
    let provider = provider.to_lowercase();
    provider.contains("kimi") || provider.contains("moonshot")
}

pub(super) fn tune(cx: &Context) -> Tune {
    let (model, settings) = (cx.model, cx.settings);
    let own = is_own(&settings.provider);
    let unwanted = settings.effort.as_deref() == Some("none");
    let thinks = model.reasoning && !unwanted;
    let effort = settings.effort.clone().filter(|_| !unwanted).or_else(|| model.effort.clone()).filter(|_| thinks);
    // The original asks for all that is left of the window; other servers refuse more than their model can put out.
    let room = model.context_window.saturating_sub(used(cx)).max(1);
    let max_output = settings.max_output.or(if own { Some(room) } else { model.max_output.map(|most| most.min(room)) });
    let mut tune = Tune {
        max_output,
        reasoning: ReasoningAsk {
            effort,
            summary: None,
            budget: None,
            enabled: own.then_some(thinks),
            adaptive: settings.wire == WireId::Messages && thinks && !own,
        },
        schema: settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        cache_key: Some(session(cx)),
        marks: Marks { instructions: vec![0], tools: true, last: true },
        ..Tune::default()
    };
    if own {
        tune.extras.push((WireId::Chat, "prompt_cache_key".into(), Raw::of(&session(cx))));
        let edits = json!({"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]});
        tune.extras.push((WireId::Messages, "metadata".into(), Raw::of(&json!({"user_id": session(cx)}))));
        tune.extras.push((WireId::Messages, "context_management".into(), Raw::of(&edits)));
        tune.headers.push((WireId::Messages, "anthropic-beta".into(), "context-management-2025-06-27".into()));
    }
    tune
}

/// The same for the whole session.
fn session(cx: &Context) -> String {
    format!("session_{}", cx.thread)
}

/// Tokens of the conversation as last measured.
fn used(cx: &Context) -> u64 {
    let usage = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Reply { reply, .. } => Some(reply.usage.total()),
        Body::Compacted { .. } => Some(0),
        _ => None,
    });
    usage.unwrap_or(0)
}
