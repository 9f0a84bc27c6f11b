//! What a model sees in a request, in the same terms on all three wires: tools, results, and the kinds of what is said.
use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

/// Tools by name, each as `path: type enum required ...` for every property; prose is left out.
pub(crate) fn tools(body: &Value) -> Vec<(String, BTreeMap<String, String>)> {
    let describe = |tool: &Value| {
        let spec = tool.get("function").unwrap_or(tool);
        let name = spec["name"].as_str().or(tool["type"].as_str()).unwrap_or_default().to_owned();
        let mut shape = BTreeMap::new();
        let schema = spec.get("parameters").or(spec.get("input_schema"));
        walk(schema.unwrap_or(&Value::Null), "", "", &mut shape);
        // A free-form tool has a grammar in place of a schema.
        for key in ["strict", "format"] {
            if let Some(value) = spec.get(key) {
                shape.insert(format!("({key})"), value.to_string());
            }
        }
        (name, shape)
    };
    body["tools"].as_array().into_iter().flatten().map(describe).collect()
}

fn walk(node: &Value, path: &str, required: &str, out: &mut BTreeMap<String, String>) {
    let Some(fields) = node.as_object() else { return };
    if !path.is_empty() {
        out.insert(path.to_owned(), format!("{}{}{required}", kind(fields), limits(fields)));
    } else if let Some(more) = fields.get("additionalProperties") {
        out.insert("(additionalProperties)".to_owned(), more.to_string());
    }
    let names: Vec<&str> =
        fields.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, child) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        walk(child, &path, if names.contains(&name.as_str()) { " required" } else { "" }, out);
    }
    if let Some(items) = fields.get("items") {
        walk(items, &format!("{path}[]"), "", out);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        for (at, child) in fields.get(word).and_then(Value::as_array).into_iter().flatten().enumerate() {
            walk(child, &format!("{path}|{}", at + 1), "", out);
        }
    }
}

fn kind(fields: &Map<String, Value>) -> String {
    match fields.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

/// Whatever else a schema demands.
fn limits(fields: &Map<String, Value>) -> String {
    const PROSE_OR_CHILDREN: &[&str] = &[
        "type",
        "description",
        "title",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$schema",
        "examples",
    ];
    let mut limits: Vec<String> = fields
        .iter()
        .filter(|(key, _)| !PROSE_OR_CHILDREN.contains(&key.as_str()))
        .map(|(key, value)| match value {
            Value::Array(values) if key == "enum" => {
                let mut values: Vec<String> = values.iter().map(Value::to_string).collect();
                values.sort();
                format!(" enum=[{}]", values.join(", "))
            }
            value => format!(" {key}={value}"),
        })
        .collect();
    limits.sort();
    limits.concat()
}

/// The answers to all calls, in order. A failed one begins with `[is_error] ` where the wire has that flag.
pub(crate) fn results(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for message in list(&body["messages"]) {
        if message["role"] == "tool" {
            found.push(text(&message["content"]));
        }
        for block in list(&message["content"]).iter().filter(|block| block["type"] == "tool_result") {
            let flag = if block["is_error"] == true { "[is_error] " } else { "" };
            found.push(format!("{flag}{}", text(&block["content"])));
        }
    }
    let output = |item: &&Value| item["type"].as_str().unwrap_or_default().ends_with("_call_output");
    found.extend(list(&body["input"]).iter().filter(output).map(|item| text(&item["output"])));
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// All text of a content; what is none as `<kind>`.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block_text).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn block_text(block: &Value) -> String {
    if let Some(text) = block["text"].as_str().or(block.as_str()) {
        return text.to_owned();
    }
    let kind = block["type"].as_str().unwrap_or_default();
    match media_type(block) {
        Some(media) => format!("<{kind} {media}>"),
        None => format!("<{kind}>"),
    }
}

/// Of an image or document, on any wire.
fn media_type(block: &Value) -> Option<String> {
    if let Some(named) = block["source"]["media_type"].as_str() {
        return Some(named.to_owned());
    }
    let url = block["image_url"]["url"].as_str().or(block["image_url"].as_str())?;
    Some(url.strip_prefix("data:")?.split([';', ',']).next()?.to_owned())
}

/// What stands before and beside the conversation: a line for each block of the system text, with its kind, tags, and
/// cache mark.
pub(crate) fn system(body: &Value) -> String {
    let mut lines = Vec::new();
    for key in ["instructions", "system"] {
        match &body[key] {
            Value::Null => {}
            content => said(key, content, &mut lines),
        }
    }
    for message in conversation(body).iter().filter(|message| message["role"] == "system") {
        said("system", &message["content"], &mut lines);
    }
    lines.join("\n")
}

/// A line for each block that is no system text: who, kind, tags, cache mark. `from` and `to`: of the messages.
pub(crate) fn said_by_all(body: &Value, only_first: bool) -> String {
    let mut lines = Vec::new();
    let messages = conversation(body);
    let begins = |message: &Value| {
        message["role"] == "assistant" || message["type"].as_str().is_some_and(|kind| kind != "message")
    };
    let first = messages.iter().position(begins).unwrap_or(messages.len());
    let messages = if only_first { &messages[..first] } else { &messages[first..] };
    for message in messages.iter().filter(|message| message["role"] != "system") {
        let role = message["role"].as_str().unwrap_or_default();
        if let Some(item) = message["type"].as_str().filter(|kind| *kind != "message") {
            lines.push(item.to_owned());
            continue;
        }
        if message["reasoning_content"].as_str().is_some_and(|text| !text.is_empty()) {
            lines.push(format!("{role}: reasoning"));
        }
        said(role, &message["content"], &mut lines);
        for call in list(&message["tool_calls"]) {
            lines.push(format!("{role}: call {}", call["function"]["name"].as_str().unwrap_or_default()));
        }
    }
    lines.join("\n")
}

fn conversation(body: &Value) -> &[Value] {
    let messages = list(&body["messages"]);
    if messages.is_empty() { list(&body["input"]) } else { messages }
}

fn said(role: &str, content: &Value, lines: &mut Vec<String>) {
    match content {
        // Beside calls the chat wire has null or an empty text, and both say nothing.
        Value::String(text) if role == "assistant" && text.is_empty() => {}
        // An answer is compared as a result.
        Value::String(_) if role == "tool" => lines.push("tool: string".to_owned()),
        Value::String(text) => lines.push(format!("{role}: string{}", named_tags(text))),
        Value::Array(blocks) => lines.extend(blocks.iter().map(|block| {
            let kind = block["type"].as_str().unwrap_or_default();
            let name = block["name"].as_str().map(|name| format!(" {name}")).unwrap_or_default();
            let media = media_type(block).map(|media| format!(" {media}")).unwrap_or_default();
            let tags = block["text"].as_str().filter(|_| role != "tool").map(named_tags).unwrap_or_default();
            let mark = if block.get("cache_control").is_some() { " (cache mark)" } else { "" };
            format!("{role}: {kind}{name}{media}{tags}{mark}")
        })),
        _ => {}
    }
}

static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("<([a-zA-Z_-]+)>").ok());

/// The tags that are opened in a text, in order.
pub(crate) fn tags(text: &str) -> impl Iterator<Item = &str> {
    TAG.iter().flat_map(move |tag| tag.find_iter(text)).map(|tag| tag.as_str())
}

/// As they follow the kind of a block.
fn named_tags(text: &str) -> String {
    tags(text).map(|tag| format!(" {tag}")).collect()
}

/// The settings of a request: a line for each field that is no text and no id.
pub(crate) fn fields(body: &Value) -> String {
    const TEXTS: &[&str] = &["messages", "input", "system", "instructions", "tools"];
    const IDS: &[&str] = &["metadata", "client_metadata", "prompt_cache_key", "user"];
    let mut lines: Vec<String> = body
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !TEXTS.contains(&key.as_str()))
        .map(
            |(key, value)| {
                if IDS.contains(&key.as_str()) { format!("{key}: ...") } else { format!("{key}: {}", sorted(value)) }
            },
        )
        .collect();
    lines.sort();
    lines.join("\n")
}

/// With keys in order, so that their order does not count.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<&String, Value> = fields.iter().map(|(key, value)| (key, sorted(value))).collect();
            ordered.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn a_tool_is_its_properties_types_enums_and_required_ones() {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string", "description": "prose"},
            "mode": {"type": "string", "enum": ["b", "a"], "default": "a"},
            "edits": {"type": "array", "items": {"type": "object", "required": ["old"], "properties": {"old": {"type": "string"}}}},
            "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}});
        let body = json!({"tools": [{"type": "function", "function": {"name": "edit", "parameters": schema}},
            {"name": "Read", "input_schema": {"type": "object"}}, {"type": "web_search"}]});
        let found = tools(&body);
        let lines: Vec<String> = found[0].1.iter().map(|(path, shape)| format!("{path}: {shape}")).collect();
        assert_eq!(
            lines,
            [
                "(additionalProperties): false",
                "edits: array",
                "edits[]: object",
                "edits[].old: string required",
                "mode: string default=\"a\" enum=[\"a\", \"b\"]",
                "n: any",
                "n|1: integer",
                "n|2: null",
                "path: string required",
            ]
        );
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["edit", "Read", "web_search"]);
    }

    #[test]
    fn results_are_found_on_every_wire() {
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}});
        let bodies = [
            json!({"messages": [{"role": "assistant"}, {"role": "tool", "content": "one"},
                {"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "one", "is_error": true},
                {"type": "tool_result", "content": [{"type": "text", "text": "two"}, image]}]}]}),
            json!({"input": [{"type": "function_call_output", "output": "one"}, {"type": "custom_tool_call_output", "output": "two"}]}),
        ];
        let expected = [["one", "a\nb"], ["[is_error] one", "two\n<image image/png>"], ["one", "two"]];
        for (body, expected) in bodies.iter().zip(expected) {
            assert_eq!(results(body), expected);
        }
    }

    #[test]
    fn a_request_is_roles_kinds_tags_and_marks() {
        let body = json!({
            "model": "m", "max_tokens": 5, "metadata": {"user_id": "x"}, "thinking": {"type": "on", "budget": 3},
            "system": [{"type": "text", "text": "You are <role>me</role>", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "<a>1</a> <b-c>"}, {"type": "text", "text": "do"}]},
                {"role": "assistant", "content": [{"type": "thinking"}, {"type": "tool_use", "name": "Read"}]},
                {"role": "user", "content": [{"type": "tool_result", "content": "<x>"}, {"type": "text", "text": "<note>"}]}]});
        assert_eq!(system(&body), "system: text <role> (cache mark)");
        assert_eq!(said_by_all(&body, true), "user: text <a> <b-c>\nuser: text");
        assert_eq!(
            said_by_all(&body, false),
            "assistant: thinking\nassistant: tool_use Read\nuser: tool_result\nuser: text <note>"
        );
        assert_eq!(
            fields(&body),
            "max_tokens: 5\nmetadata: ...\nmodel: \"m\"\nthinking: {\"budget\":3,\"type\":\"on\"}"
        );
    }

    #[test]
    fn chat_and_responses_have_their_own_words_for_it() {
        let chat = json!({"messages": [{"role": "system", "content": "s <t>"}, {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [{"function": {"name": "bash"}}]},
            {"role": "tool", "content": "<x>"}]});
        assert_eq!(system(&chat), "system: string <t>");
        assert_eq!(said_by_all(&chat, false), "assistant: reasoning\nassistant: call bash\ntool: string");
        let responses = json!({"instructions": "i", "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<p>"}]},
            {"type": "function_call", "name": "exec_command"}, {"type": "function_call_output", "output": "o"}]});
        assert_eq!(system(&responses), "instructions: string");
        assert_eq!(said_by_all(&responses, true), "developer: input_text <p>");
        assert_eq!(said_by_all(&responses, false), "function_call\nfunction_call_output");
    }
}
