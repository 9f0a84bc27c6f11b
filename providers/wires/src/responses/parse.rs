//! A client's request, to a Prompt.
use protocol::{
    Block, BlockKind, Call, CallForm, Content, Entry, Grammar, Part, Phase, ProviderError, Raw, Speaker, Tool,
    ToolKind, WireId,
};
use serde_json::value::RawValue;

use super::{ITEM, call_form};
use crate::{
    Asked,
    asked::{self, Pairs, Reading},
    lenient,
};

const KNOWN: &[&str] = &[
    "model",
    "stream",
    "instructions",
    "input",
    "tools",
    "parallel_tool_calls",
    "reasoning",
    "store",
    "include",
    "prompt_cache_key",
    "text",
    "max_output_tokens",
    "temperature",
    "top_p",
];

pub(super) fn request(body: &[u8]) -> Result<Asked, ProviderError> {
    let (fields, mut reading) = Reading::begin(body, WireId::Responses, "input")?;
    if let Some(text) = fields.text("instructions") {
        reading.instruct(Speaker::System, Content::Plain(text));
    }
    match fields.text("input") {
        Some(text) => reading.say(Entry::User(Content::Plain(text))),
        None => fields.objects("input").for_each(|(item, raw)| read_item(&mut reading, &item, raw)),
    }
    let prompt = &mut reading.asked.prompt;
    prompt.opening.tools = tools(&fields);
    let tune = &mut prompt.tune;
    tune.parallel = fields.read("parallel_tool_calls");
    tune.max_output = fields.read("max_output_tokens");
    tune.temperature = fields.read("temperature");
    tune.top_p = fields.read("top_p");
    tune.cache_key = fields.text("prompt_cache_key");
    let reasoning = fields.inner("reasoning");
    tune.reasoning.effort = reasoning.text("effort");
    tune.reasoning.summary = reasoning.text("summary");
    let text = fields.inner("text");
    tune.verbosity = text.text("verbosity");
    let format = text.inner("format");
    tune.schema = format.raw("schema").map(|schema| (format.text_or_empty("name"), schema));
    tune.choose_tools = fields.text("tool_choice").as_deref() == Some("auto");
    let mut known = KNOWN.to_vec();
    known.extend(tune.choose_tools.then_some("tool_choice"));
    let has_schema = tune.schema.is_some();
    known.retain(|name| match *name {
        "reasoning" => fields.has_only(name, &["effort", "summary"]),
        // A format without a schema has no setting.
        "text" => fields.has_only(name, &["verbosity", "format"]) && (has_schema || text.get("format").is_none()),
        _ => true,
    });
    reading.extras(&fields, &known);
    Ok(reading.asked)
}

fn tools(of: &Pairs) -> Vec<Tool> {
    of.objects("tools").flat_map(|(tool, raw)| read_tool(&tool, raw, None)).collect()
}

fn read_tool(tool: &Pairs, raw: &RawValue, namespace: Option<&str>) -> Vec<Tool> {
    let kind = match tool.text_or_empty("type").as_str() {
        "namespace" => {
            let name = tool.text_or_empty("name");
            return tool.objects("tools").flat_map(|(tool, raw)| read_tool(&tool, raw, Some(&name))).collect();
        }
        "function" => ToolKind::Function(tool.raw("parameters").unwrap_or_else(asked::no_parameters)),
        "custom" => {
            let format = tool.inner("format");
            let definition = format.text("definition");
            let grammar = definition.map(|definition| Grammar { syntax: format.text_or_empty("syntax"), definition });
            ToolKind::Custom { grammar, fallback: asked::one_input() }
        }
        _ => ToolKind::Server { wire: WireId::Responses, entry: lenient::raw(raw) },
    };
    vec![Tool {
        namespace: namespace.map(str::to_owned),
        name: tool.text("name").or_else(|| tool.text("type")).unwrap_or_default(),
        description: tool.text_or_empty("description"),
        kind,
        strict: tool.read("strict"),
        deferred: tool.read("defer_loading").unwrap_or(false),
    }]
}

fn read_item(reading: &mut Reading, item: &Pairs, raw: &RawValue) {
    let kind = item.text("type").unwrap_or_else(|| "message".to_owned());
    let with_item =
        |reading: &Reading, kind: BlockKind| Block { kind, opaque: vec![reading.opaque(ITEM, lenient::raw(raw))] };
    match kind.as_str() {
        "message" => {
            let content = asked::content(item.get("content"), reading, part);
            match item.text_or_empty("role").as_str() {
                "assistant" => {
                    let phase = match item.text("phase").as_deref() {
                        Some("commentary") => Phase::Commentary,
                        _ => Phase::Final,
                    };
                    let text = match content {
                        Content::Plain(text) => text,
                        Content::Parts(parts) => parts.iter().filter_map(Part::as_text).collect(),
                    };
                    reading.reply(with_item(reading, BlockKind::Text(text, phase)));
                }
                "system" => reading.instruct(Speaker::System, content),
                "developer" => reading.instruct(Speaker::Developer, content),
                _ => reading.say(Entry::User(content)),
            }
        }
        "reasoning" => {
            let texts: Vec<String> = item.objects("summary").filter_map(|(part, _)| part.text("text")).collect();
            reading.reply(with_item(reading, BlockKind::Reasoning(texts.join("\n\n"))));
        }
        "function_call_output" | "custom_tool_call_output" => {
            let content = asked::content(item.get("output"), reading, part);
            reading.result(item.text_or_empty("call_id"), kind.starts_with("custom"), content, None);
        }
        "additional_tools" => reading.say(Entry::Tools(tools(item))),
        _ => match (call_form(&kind), kind.strip_suffix("_call")) {
            (Some(form), _) => {
                let args = if form == CallForm::Custom { "input" } else { "arguments" };
                let call = Call {
                    id: item.text_or_empty("call_id").into(),
                    namespace: item.text("namespace"),
                    name: item.text_or_empty("name"),
                    args: item.text_or_empty(args),
                    form,
                };
                reading.reply(with_item(reading, BlockKind::Call(call)));
            }
            (None, Some(name)) => {
                let show: Raw = lenient::raw(raw);
                reading.reply(with_item(reading, BlockKind::Server { name: name.to_owned(), show }));
            }
            (None, None) => {
                let foreign = reading.opaque(ITEM, lenient::raw(raw));
                reading.say(Entry::Foreign(foreign));
            }
        },
    }
}

fn part(part: &Pairs) -> Option<Part> {
    match part.text_or_empty("type").as_str() {
        "input_text" | "output_text" | "text" => Some(Part::Text(part.text_or_empty("text"))),
        "refusal" => Some(Part::Text(part.text_or_empty("refusal"))),
        "input_image" => {
            let blob = asked::data_url(&part.text("image_url")?)?;
            Some(Part::Image { blob, detail: part.text("detail") })
        }
        "input_file" => {
            let mut blob = asked::data_url(&part.text("file_data")?)?;
            blob.id = part.text("filename").unwrap_or(blob.id);
            Some(Part::Document(blob))
        }
        _ => None,
    }
}
