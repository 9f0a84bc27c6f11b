//! A client's request, to a Prompt.
use protocol::{
    Block, BlockKind, Call, CallForm, Content, Entry, Part, Phase, ProviderError, Raw, Speaker, Tool, ToolKind, WireId,
};
use serde_json::value::RawValue;

use super::field;
use crate::{
    Asked,
    asked::{self, Pairs, Reading},
    json, lenient,
};

const KNOWN: &[&str] = &[
    "model",
    "stream",
    "system",
    "messages",
    "tools",
    "max_tokens",
    "thinking",
    "temperature",
    "top_p",
    "output_config",
];

pub(super) fn request(body: &[u8]) -> Result<Asked, ProviderError> {
    let (fields, mut reading) = Reading::begin(body, WireId::Messages, "messages")?;
    system(&mut reading, &fields);
    for (message, _) in fields.objects("messages") {
        read_message(&mut reading, &message);
    }
    let last = fields.objects("messages").last();
    let prompt = &mut reading.asked.prompt;
    prompt.opening.tools = fields.objects("tools").map(|(tool, raw)| read_tool(&tool, raw)).collect();
    let tune = &mut prompt.tune;
    tune.marks.tools = fields.objects("tools").any(|(tool, _)| tool.get("cache_control").is_some());
    tune.marks.last = last
        .is_some_and(|(message, _)| message.objects("content").any(|(block, _)| block.get("cache_control").is_some()));
    tune.max_output = fields.read("max_tokens");
    tune.temperature = fields.read("temperature");
    tune.top_p = fields.read("top_p");
    let thinking = fields.inner("thinking");
    match thinking.text_or_empty("type").as_str() {
        "disabled" => tune.reasoning.enabled = Some(false),
        "adaptive" => tune.reasoning.adaptive = true,
        "enabled" => {
            tune.reasoning.budget = thinking.read("budget_tokens");
            tune.reasoning.enabled = Some(true);
        }
        _ => {}
    }
    let output = fields.inner("output_config");
    tune.reasoning.effort = output.text("effort");
    tune.schema = output.inner("format").raw("schema").map(|schema| ("answer".to_owned(), schema));
    let choice = fields.inner("tool_choice");
    tune.choose_tools = choice.text("type").as_deref() == Some("auto");
    tune.parallel = choice.read("disable_parallel_tool_use").map(|disabled: bool| !disabled);
    let mut known = KNOWN.to_vec();
    known.extend(tune.choose_tools.then_some("tool_choice"));
    known.retain(|name| match *name {
        "thinking" => fields.has_only(name, &["type", "budget_tokens"]),
        "output_config" => fields.has_only(name, &["effort", "format"]),
        "tool_choice" => fields.has_only(name, &["type", "disable_parallel_tool_use"]),
        _ => true,
    });
    reading.extras(&fields, &known);
    Ok(reading.asked)
}

/// Each block of the system text is an instruction of its own, so that its mark can be kept.
fn system(reading: &mut Reading, fields: &Pairs) {
    if let Some(text) = fields.text("system") {
        return reading.instruct(Speaker::System, Content::Plain(text));
    }
    for (place, (block, _)) in fields.objects("system").enumerate() {
        if block.get("cache_control").is_some() {
            reading.asked.prompt.tune.marks.instructions.push(place);
        }
        reading.instruct(Speaker::System, Content::Plain(block.text_or_empty("text")));
    }
}

fn read_tool(tool: &Pairs, raw: &RawValue) -> Tool {
    let kind = match tool.text("type").as_deref() {
        None | Some("custom") => ToolKind::Function(tool.raw("input_schema").unwrap_or_else(asked::no_parameters)),
        Some(_) => ToolKind::Server { wire: WireId::Messages, entry: lenient::raw(raw) },
    };
    Tool {
        namespace: None,
        name: tool.text_or_empty("name"),
        description: tool.text_or_empty("description"),
        kind,
        strict: tool.read("strict"),
        deferred: tool.read("defer_loading").unwrap_or(false),
    }
}

fn read_message(reading: &mut Reading, message: &Pairs) {
    match message.text_or_empty("role").as_str() {
        "assistant" => {
            reading.say(Entry::Assistant(Vec::new()));
            match message.text("content") {
                Some(text) => reading.reply(Block::text(text)),
                None => message.objects("content").for_each(|(block, raw)| assistant(reading, &block, raw)),
            }
        }
        "system" => {
            let content = asked::content(message.get("content"), reading, part);
            reading.instruct(Speaker::System, content);
        }
        _ => user(reading, message),
    }
}

fn user(reading: &mut Reading, message: &Pairs) {
    let is_result = |block: &Pairs| block.text("type").as_deref() == Some("tool_result");
    if !message.objects("content").any(|(block, _)| is_result(&block)) {
        let content = asked::content(message.get("content"), reading, part);
        return reading.say(Entry::User(content));
    }
    reading.say(Entry::Results { before: Vec::new(), results: Vec::new(), after: Vec::new() });
    let mut said = Vec::new();
    for (block, raw) in message.objects("content") {
        if is_result(&block) {
            let content = asked::content(block.get("content"), reading, part);
            reading.result(block.text_or_empty("tool_use_id"), false, content, block.read("is_error"));
        } else {
            said.push(part(&block).unwrap_or_else(|| Part::Foreign(reading.opaque("part", lenient::raw(raw)))));
        }
    }
    if let Some(Entry::Results { after, .. }) = reading.asked.prompt.said.last_mut() {
        *after = said;
    }
}

fn assistant(reading: &mut Reading, block: &Pairs, raw: &RawValue) {
    let kind = block.text_or_empty("type");
    let whole = |reading: &Reading| vec![reading.opaque(field::BLOCK, lenient::raw(raw))];
    let block = match kind.as_str() {
        "text" => Block { kind: BlockKind::Text(block.text_or_empty("text"), Phase::Final), opaque: Vec::new() },
        "thinking" => {
            let signature = json::text(&block.text_or_empty("signature"));
            let opaque = vec![reading.opaque(field::SIGNATURE, signature)];
            Block { kind: BlockKind::Reasoning(block.text_or_empty("thinking")), opaque }
        }
        "redacted_thinking" => Block { kind: BlockKind::Reasoning(String::new()), opaque: whole(reading) },
        "tool_use" => Block::call(Call {
            id: block.text_or_empty("id").into(),
            namespace: None,
            name: block.text_or_empty("name"),
            args: block.get("input").map_or("{}", RawValue::get).to_owned(),
            form: CallForm::Function,
        }),
        _ => {
            let show: Raw = lenient::raw(raw);
            let name = block.text("name").unwrap_or(kind);
            Block { kind: BlockKind::Server { name, show }, opaque: whole(reading) }
        }
    };
    reading.reply(block);
}

fn part(part: &Pairs) -> Option<Part> {
    match part.text_or_empty("type").as_str() {
        "text" => Some(Part::Text(part.text_or_empty("text"))),
        kind @ ("image" | "document") => {
            let source = part.inner("source");
            let blob = asked::blob(&source.text("media_type")?, &source.text("data")?)?;
            Some(if kind == "image" { Part::Image { blob, detail: None } } else { Part::Document(blob) })
        }
        "tool_reference" => part.text("tool_name").map(Part::ToolReference),
        _ => None,
    }
}
