//! Settings of a client's wire in the terms of the provider's: which tool to call, where to stop, how much to think, how
//! long an answer may be. What has no counterpart is left out; what would change the meaning of the answer is refused.
use protocol::{ModelInfo, OwnedPrompt, ProviderError, Raw, ReasoningControl, Tune, WireId};
use serde_json::{Value, json};

use crate::asked::bad;

/// Tokens to think with, by effort, where a model wants a number; Anthropic's least is 1,024.
const BUDGETS: [(&str, u64); 3] = [("low", 4_096), ("medium", 10_240), ("high", 32_768)];
/// Tokens. A longer limit of an answer is that of the model that the client takes this one for, and no wish.
const WISH: u64 = 16_384;
/// Tokens of an answer that are left beside thinking.
const LEFT: u64 = 1_024;

/// Why a request cannot be served by any provider: it needs a memory of the server, or more than one answer.
pub fn unsupported(prompt: &OwnedPrompt, from: WireId, to: WireId) -> Option<ProviderError> {
    let extra = |name: &str| {
        let found = prompt.tune.extras.iter().find(|(_, known, _)| known == name);
        found.map(|(.., raw)| raw.value()).filter(|value| !value.is_null())
    };
    let stateful = ["previous_response_id", "conversation"].into_iter().find(|name| extra(name).is_some());
    if let Some(name) = stateful.filter(|_| from == WireId::Responses) {
        return Some(bad(format!(
            "`{name}`: the gateway keeps no conversations; send the whole input with each request"
        )));
    }
    if from == WireId::Responses && extra("background") == Some(Value::Bool(true)) {
        return Some(bad("`background`: the gateway keeps no responses; ask for a stream instead"));
    }
    if from == WireId::Chat && extra("n").is_some_and(|n| n.as_u64().is_some_and(|n| n > 1)) {
        return Some(bad("`n`: the gateway gives one choice; ask again for more"));
    }
    let old = from == WireId::Chat && to != WireId::Chat && extra("functions").is_some();
    old.then(|| bad("`functions` is the older form, which no other wire has; use `tools`"))
}

/// Brings a prompt from a client of one wire into the terms of a provider of another, and within what the model can do.
/// `meant`: the client asked for this model and no other, so that its settings are meant for it.
pub fn translate(prompt: &mut OwnedPrompt, from: WireId, to: WireId, model: &ModelInfo, meant: bool) {
    let tune = &mut prompt.tune;
    if !meant {
        // Clients set these by the name of the model; servers of others refuse them.
        tune.verbosity = tune.verbosity.take().filter(|_| model.verbosity.is_some());
        tune.reasoning.effort = tune.reasoning.effort.take().filter(|_| model.reasoning_control.is_some());
        if from == WireId::Messages && model.max_output.is_none() {
            tune.max_output = tune.max_output.filter(|most| *most <= WISH);
        }
    }
    if from != to {
        foreign(tune, from, to);
        if to == WireId::Messages {
            // Providers of this wire keep nothing unless they are told where.
            tune.marks.instructions = prompt.opening.instructions.len().checked_sub(1).into_iter().collect();
            tune.marks.tools = true;
            tune.marks.last = true;
        }
    }
    if let Some(most) = model.max_output {
        let unset = (to == WireId::Messages && tune.max_output.is_none()).then_some(most);
        tune.max_output = tune.max_output.map(|asked| asked.min(most)).or(unset);
    }
    reasoning(tune, from, to, model);
}

fn foreign(tune: &mut Tune, from: WireId, to: WireId) {
    for (_, name, raw) in std::mem::take(&mut tune.extras) {
        let found = match name.as_str() {
            "tool_choice" => choice(&raw.value(), from).and_then(|choice| choice.on(to, tune.parallel)),
            "stop" | "stop_sequences" => stop(raw.value(), to),
            "response_format" | "text" => json_mode(&raw.value(), from, to),
            _ => None,
        };
        tune.extras.extend(found.map(|(name, value)| (to, name.to_owned(), Raw::of(&value))));
    }
    tune.reasoning.summary = None;
}

enum Choice {
    No,
    Any,
    Tool(String),
}

fn choice(value: &Value, from: WireId) -> Option<Choice> {
    let name = |pointer: &str| Some(Choice::Tool(value.pointer(pointer)?.as_str()?.to_owned()));
    match value.as_str().or_else(|| value.get("type")?.as_str())? {
        "none" => Some(Choice::No),
        "required" | "any" => Some(Choice::Any),
        "tool" => name("/name"),
        "function" | "custom" if from == WireId::Responses => name("/name"),
        "function" => name("/function/name"),
        "custom" => name("/custom/name"),
        _ => None,
    }
}

impl Choice {
    fn on(self, to: WireId, parallel: Option<bool>) -> Option<(&'static str, Value)> {
        let value = match (self, to) {
            (Choice::No, WireId::Messages) => json!({ "type": "none" }),
            (Choice::No, _) => json!("none"),
            (Choice::Any, WireId::Messages) => json!({ "type": "any" }),
            (Choice::Any, _) => json!("required"),
            (Choice::Tool(name), WireId::Messages) => json!({ "type": "tool", "name": name }),
            (Choice::Tool(name), WireId::Responses) => json!({ "type": "function", "name": name }),
            (Choice::Tool(name), WireId::Chat) => json!({ "type": "function", "function": { "name": name } }),
        };
        let mut value = value;
        if let (WireId::Messages, Some(false), Some(fields)) = (to, parallel, value.as_object_mut())
            && fields.get("type") != Some(&json!("none"))
        {
            fields.insert("disable_parallel_tool_use".to_owned(), Value::Bool(true));
        }
        Some(("tool_choice", value))
    }
}

fn stop(value: Value, to: WireId) -> Option<(&'static str, Value)> {
    match to {
        WireId::Messages if value.is_string() => Some(("stop_sequences", json!([value]))),
        WireId::Messages => Some(("stop_sequences", value)),
        WireId::Chat => Some(("stop", value)),
        WireId::Responses => None,
    }
}

/// An answer in JSON without a schema.
fn json_mode(value: &Value, from: WireId, to: WireId) -> Option<(&'static str, Value)> {
    let format = if from == WireId::Responses { value.get("format")? } else { value };
    let format = json!({ "type": format.get("type").filter(|kind| *kind == "json_object")? });
    match to {
        WireId::Chat => Some(("response_format", format)),
        WireId::Responses => Some(("text", json!({ "format": format }))),
        WireId::Messages => None,
    }
}

/// Effort, a switch and a budget are three ways to ask for the same. A client that speaks the provider's wire has its way,
/// within the words that the model has; of another wire's only what the model is known to take is asked.
fn reasoning(tune: &mut Tune, from: WireId, to: WireId, model: &ModelInfo) {
    let ask = &mut tune.reasoning;
    ask.effort = model.effort_for(ask.effort.as_deref());
    let openai = |wire| wire != WireId::Messages;
    if from == to || (openai(from) && openai(to)) {
        return;
    }
    let by_budget = ask.budget.map(|budget| {
        let fits = BUDGETS.iter().find(|(_, most)| budget <= *most);
        fits.map_or("high", |(effort, _)| effort).to_owned()
    });
    let off = (ask.enabled == Some(false)).then(|| "none".to_owned());
    let asked = off.or_else(|| ask.effort.clone()).or(by_budget);
    let thinks = ask.adaptive || ask.enabled == Some(true) || asked.as_deref().is_some_and(|effort| effort != "none");
    let mentioned = thinks || asked.is_some();
    *ask = Default::default();
    match &model.reasoning_control {
        Some(ReasoningControl::Effort(_)) => ask.effort = model.effort_for(asked.as_deref()),
        Some(ReasoningControl::ThinkingToggle) => ask.enabled = mentioned.then_some(thinks),
        Some(ReasoningControl::ThinkingBudget) if mentioned => {
            ask.enabled = Some(thinks);
            if thinks {
                let known = BUDGETS.iter().find(|(effort, _)| Some(*effort) == asked.as_deref());
                ask.budget = Some(known.map_or(BUDGETS[1].1, |(_, budget)| *budget));
            }
        }
        Some(ReasoningControl::ThinkingBudget | ReasoningControl::None | ReasoningControl::Fixed) | None => {}
    }
    let Some(budget) = ask.budget.filter(|_| to == WireId::Messages) else { return };
    // Anthropic: thinking is part of the answer's limit, and goes with no other temperature than its own.
    tune.temperature = None;
    match tune.max_output {
        Some(most) if most <= 2 * LEFT => *ask = Default::default(),
        Some(most) => ask.budget = Some(budget.min(most - LEFT)),
        None => tune.max_output = Some(budget + 16 * LEFT),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::wire;

    fn model(control: Option<ReasoningControl>) -> ModelInfo {
        ModelInfo { reasoning_control: control, max_output: Some(8_192), ..ModelInfo::fallback("m") }
    }

    /// Extras and answer limit of `fields` beside an empty conversation.
    #[track_caller]
    fn check(from: WireId, to: WireId, fields: Value, expected: Value) {
        let list = if from == WireId::Responses { "input" } else { "messages" };
        let mut body = fields;
        body["model"] = json!("m");
        body[list] = json!([]);
        let mut prompt = wire(from).parse_request(body.to_string().as_bytes()).expect("a request").prompt;
        translate(&mut prompt, from, to, &model(None), true);
        let extras: serde_json::Map<String, Value> =
            prompt.tune.extras.iter().map(|(_, name, raw)| (name.clone(), raw.value())).collect();
        assert_eq!(Value::Object(extras), expected, "{from:?} to {to:?}");
    }

    #[test]
    fn what_every_wire_has_under_other_names() {
        use WireId::{Chat, Messages, Responses};
        let chat = json!({"tool_choice": {"type": "function", "function": {"name": "f"}}, "stop": "x", "seed": 7});
        check(Chat, Chat, chat.clone(), chat.clone());
        check(
            Chat,
            Messages,
            chat.clone(),
            json!({"tool_choice": {"type": "tool", "name": "f"}, "stop_sequences": ["x"]}),
        );
        check(Chat, Responses, chat, json!({"tool_choice": {"type": "function", "name": "f"}}));
        let one =
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}, "stop_sequences": ["a", "b"]});
        check(Messages, Chat, one, json!({"tool_choice": "required", "stop": ["a", "b"]}));
        let one = json!({"tool_choice": "required", "parallel_tool_calls": false, "text": {"format": {"type": "json_object"}}});
        check(Responses, Messages, one, json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}}));
        check(
            Responses,
            Chat,
            json!({"text": {"format": {"type": "json_object"}}}),
            json!({"response_format": {"type": "json_object"}}),
        );
        check(Messages, Responses, json!({"tool_choice": {"type": "none"}}), json!({"tool_choice": "none"}));
    }

    #[test]
    fn thinking_in_the_models_own_terms() {
        let levels = || Some(ReasoningControl::Effort(vec!["low".into(), "high".into()]));
        let check = |from, to, control, asked: protocol::ReasoningAsk, expected: protocol::ReasoningAsk| {
            let mut prompt =
                OwnedPrompt { tune: Tune { reasoning: asked, ..Tune::default() }, ..OwnedPrompt::default() };
            translate(&mut prompt, from, to, &model(control), true);
            assert_eq!(prompt.tune.reasoning, expected);
        };
        let nothing = protocol::ReasoningAsk::default;
        let effort = |word: &str| protocol::ReasoningAsk { effort: Some(word.into()), ..nothing() };
        let budget = |budget, enabled| protocol::ReasoningAsk { budget, enabled: Some(enabled), ..nothing() };
        use WireId::{Chat, Messages, Responses};
        check(Responses, Chat, levels(), effort("xhigh"), effort("high"));
        check(Responses, Chat, None, effort("xhigh"), effort("xhigh"));
        check(Messages, Chat, levels(), budget(Some(31_999), true), effort("high"));
        check(Messages, Responses, levels(), budget(Some(1_024), true), effort("low"));
        check(Messages, Chat, None, budget(Some(31_999), true), nothing());
        check(Messages, Chat, Some(ReasoningControl::ThinkingToggle), budget(None, false), budget(None, false));
        check(Chat, Messages, Some(ReasoningControl::ThinkingBudget), effort("high"), budget(Some(7_168), true));
        check(Chat, Messages, Some(ReasoningControl::ThinkingBudget), effort("none"), budget(None, false));
        check(Chat, Messages, Some(ReasoningControl::ThinkingBudget), nothing(), nothing());
        check(Chat, Messages, Some(ReasoningControl::Fixed), effort("low"), nothing());
    }

    #[test]
    fn settings_that_were_meant_for_another_model() {
        let check = |meant: bool, expected: (Option<&str>, Option<&str>, Option<u64>)| {
            let reasoning = protocol::ReasoningAsk { effort: Some("medium".into()), ..Default::default() };
            let tune = Tune { verbosity: Some("low".into()), max_output: Some(64_000), reasoning, ..Tune::default() };
            let mut prompt = OwnedPrompt { tune, ..OwnedPrompt::default() };
            translate(&mut prompt, WireId::Messages, WireId::Messages, &ModelInfo::fallback("m"), meant);
            let Tune { verbosity, max_output, reasoning, .. } = &prompt.tune;
            assert_eq!((verbosity.as_deref(), reasoning.effort.as_deref(), *max_output), expected);
        };
        check(true, (Some("low"), Some("medium"), Some(64_000)));
        check(false, (None, None, None));
    }

    #[test]
    fn what_nobody_can_answer_is_refused() {
        let check = |from: WireId, fields: Value, expected: Option<&str>| {
            let mut body = fields;
            body["model"] = json!("m");
            body[if from == WireId::Responses { "input" } else { "messages" }] = json!([]);
            let prompt = wire(from).parse_request(body.to_string().as_bytes()).expect("a request").prompt;
            let said = unsupported(&prompt, from, WireId::Messages).map(|error| error.message);
            assert_eq!(said.as_deref().and_then(|said| said.split(':').next()), expected);
        };
        check(WireId::Responses, json!({"previous_response_id": "r"}), Some("`previous_response_id`"));
        check(WireId::Responses, json!({"previous_response_id": null, "background": false}), None);
        check(WireId::Responses, json!({"background": true}), Some("`background`"));
        check(WireId::Chat, json!({"n": 1}), None);
        check(WireId::Chat, json!({"n": 2}), Some("`n`"));
    }
}
