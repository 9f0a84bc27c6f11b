//! A client's request, to a Prompt.
use protocol::{
    Block, BlockKind, Call, CallForm, Content, Entry, Part, Phase, ProviderError, Raw, Speaker, Tool, ToolKind, WireId,
};

use super::field;
use crate::{
    Asked,
    asked::{self, Pairs, Reading},
    json, lenient,
};

const KNOWN: &[&str] = &[
    "model",
    "stream",
    "stream_options",
    "messages",
    "tools",
    "parallel_tool_calls",
    "reasoning_effort",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "response_format",
    "verbosity",
];

pub(super) fn request(body: &[u8]) -> Result<Asked, ProviderError> {
    let (fields, mut reading) = Reading::begin(body, WireId::Chat, "messages")?;
    for (message, _) in fields.objects("messages") {
        read_message(&mut reading, &message);
    }
    reading.asked.usage = fields.inner("stream_options").read("include_usage").unwrap_or(false);
    let prompt = &mut reading.asked.prompt;
    prompt.opening.tools = fields
        .objects("tools")
        .map(|(tool, raw)| {
            let function = tool.inner("function");
            let kind = match tool.text_or_empty("type").as_str() {
                "function" => ToolKind::Function(function.raw("parameters").unwrap_or_else(asked::no_parameters)),
                _ => ToolKind::Server { wire: WireId::Chat, entry: lenient::raw(raw) },
            };
            Tool {
                namespace: None,
                name: function.text_or_empty("name"),
                description: function.text_or_empty("description"),
                kind,
                strict: function.read("strict"),
                deferred: false,
            }
        })
        .collect();
    let tune = &mut prompt.tune;
    tune.parallel = fields.read("parallel_tool_calls");
    tune.max_output = fields.read("max_completion_tokens").or_else(|| fields.read("max_tokens"));
    tune.temperature = fields.read("temperature");
    tune.top_p = fields.read("top_p");
    tune.reasoning.effort = fields.text("reasoning_effort");
    tune.verbosity = fields.text("verbosity");
    tune.cache_key = fields.text("prompt_cache_key");
    let format = fields.inner("response_format").inner("json_schema");
    tune.schema = format.raw("schema").map(|schema| (format.text_or_empty("name"), schema));
    tune.choose_tools = fields.text("tool_choice").as_deref() == Some("auto");
    let mut known = KNOWN.to_vec();
    known.extend(tune.choose_tools.then_some("tool_choice"));
    if tune.schema.is_none() {
        known.retain(|name| *name != "response_format");
    }
    reading.extras(&fields, &known);
    Ok(reading.asked)
}

fn read_message(reading: &mut Reading, message: &Pairs) {
    let content = || asked::content(message.get("content"), reading, part);
    match message.text_or_empty("role").as_str() {
        "system" => {
            let content = content();
            reading.instruct(Speaker::System, content);
        }
        "developer" => {
            let content = content();
            reading.instruct(Speaker::Developer, content);
        }
        "assistant" => assistant(reading, message),
        "tool" => {
            let content = content();
            reading.result(message.text_or_empty("tool_call_id"), false, content, None);
        }
        _ => {
            let content = content();
            reading.say(Entry::User(content));
        }
    }
}

fn assistant(reading: &mut Reading, message: &Pairs) {
    // One message is one entry, also where two of them follow each other.
    reading.say(Entry::Assistant(Vec::new()));
    let strings = [field::REASONING_CONTENT, field::REASONING, field::THINKING];
    let named = strings.iter().find_map(|name| Some((*name, message.text(name)?)));
    let details = message.raw(field::REASONING_DETAILS);
    if named.is_some() || details.is_some() {
        let mut opaque = Vec::new();
        opaque.extend(named.as_ref().map(|(name, _)| reading.opaque(name, Raw::null())));
        opaque.extend(details.map(|list| reading.opaque(field::REASONING_DETAILS, list)));
        let text = named.map(|(_, text)| text).unwrap_or_default();
        reading.reply(Block { kind: BlockKind::Reasoning(text), opaque });
    }
    let extra = message.raw(field::EXTRA_CONTENT).map(|extra| reading.opaque(field::EXTRA_CONTENT, extra));
    let text = match asked::content(message.get("content"), reading, part) {
        Content::Plain(text) => text,
        Content::Parts(parts) => {
            for (thinking, _) in message.objects("content").filter(|(part, _)| part.text_or_empty("type") == "thinking")
            {
                let text: String = thinking.objects("thinking").filter_map(|(part, _)| part.text("text")).collect();
                let opaque = vec![reading.opaque(field::THINKING_PART, Raw::null())];
                reading.reply(Block { kind: BlockKind::Reasoning(text), opaque });
            }
            parts.iter().filter_map(Part::as_text).collect()
        }
    };
    if !text.is_empty() {
        reading.reply(Block { kind: BlockKind::Text(text, Phase::Final), opaque: extra.into_iter().collect() });
    }
    for (call, _) in message.objects("tool_calls") {
        let custom = call.get("custom").is_some();
        let function = call.inner(if custom { "custom" } else { "function" });
        let extra = call.raw(field::EXTRA_CONTENT).map(|extra| reading.opaque(field::EXTRA_CONTENT, extra));
        let arguments = function.raw(if custom { "input" } else { "arguments" }).unwrap_or_else(|| json::text(""));
        let call = Call {
            id: call.text_or_empty("id").into(),
            namespace: None,
            name: function.text_or_empty("name"),
            // An object where a string belongs: its text.
            args: arguments.read().unwrap_or_else(|_| arguments.text().to_owned()),
            form: if custom { CallForm::Custom } else { CallForm::Function },
        };
        reading.reply(Block { kind: BlockKind::Call(call), opaque: extra.into_iter().collect() });
    }
}

fn part(part: &Pairs) -> Option<Part> {
    match part.text_or_empty("type").as_str() {
        "text" => Some(Part::Text(part.text_or_empty("text"))),
        "refusal" => Some(Part::Text(part.text_or_empty("refusal"))),
        "image_url" => {
            let image = part.inner("image_url");
            Some(Part::Image { blob: asked::data_url(&image.text("url")?)?, detail: image.text("detail") })
        }
        "file" => {
            let file = part.inner("file");
            let mut blob = asked::data_url(&file.text("file_data")?)?;
            blob.id = file.text("filename").unwrap_or(blob.id);
            Some(Part::Document(blob))
        }
        _ => None,
    }
}
