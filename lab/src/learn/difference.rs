//! Where the tools of an installed original are not those of our harness: names, properties, types, enums, what is required.
use std::collections::BTreeMap;

use harnesses::made::walk;
use protocol::{Tool, ToolKind};
use serde::Serialize;
use serde_json::Value;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    pub(super) tool: String,
    /// Path of the property; none: the tool itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) property: Option<String>,
    /// What each side has; none: nothing.
    pub(super) original: Option<String>,
    pub(super) ours: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match &self.property {
            Some(property) => format!("{}.{property}", self.tool),
            None => self.tool.clone(),
        };
        match (&self.original, &self.ours) {
            (Some(original), Some(ours)) => write!(f, "{name}: {original} there, {ours} here"),
            (Some(original), None) => write!(f, "{name}: only in the original ({original})"),
            (None, Some(ours)) => write!(f, "{name}: only here ({ours})"),
            (None, None) => f.write_str(&name),
        }
    }
}

pub(super) fn between(original: &[Tool], ours: &[Tool]) -> Vec<Difference> {
    let shapes = |tools: &[Tool]| -> BTreeMap<String, BTreeMap<String, String>> {
        tools.iter().map(|tool| (tool.name.clone(), shape(tool))).collect()
    };
    let (theirs, own) = (shapes(original), shapes(ours));
    let mut found = Vec::new();
    let names: std::collections::BTreeSet<&String> = theirs.keys().chain(own.keys()).collect();
    for name in names {
        let (left, right) = match (theirs.get(name), own.get(name)) {
            (Some(left), Some(right)) => (left, right),
            (left, right) => {
                let say = |side: Option<&BTreeMap<String, String>>| side.map(|_| "a tool".to_owned());
                found.push(Difference { tool: name.clone(), property: None, original: say(left), ours: say(right) });
                continue;
            }
        };
        let paths: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for path in paths.into_iter().filter(|path| left.get(*path) != right.get(*path)) {
            let (original, ours) = (left.get(path).cloned(), right.get(path).cloned());
            found.push(Difference { tool: name.clone(), property: Some(path.clone()), original, ours });
        }
    }
    found
}

/// Each property with its type, its words and whether it must be given.
fn shape(tool: &Tool) -> BTreeMap<String, String> {
    let schema = match &tool.kind {
        ToolKind::Function(schema) => schema.value(),
        ToolKind::Custom { .. } => return BTreeMap::from([("input".to_owned(), "free text".to_owned())]),
        ToolKind::Server { .. } => Value::Null,
    };
    let mut shape = BTreeMap::new();
    walk(&schema, "", &mut |path, node| {
        shape.insert(path.to_owned(), kind(node));
    });
    required(&schema, "", &mut shape);
    shape
}

fn kind(node: &serde_json::Map<String, Value>) -> String {
    let types = |value: &Value| match value {
        Value::String(one) => Some(one.clone()),
        Value::Array(many) => Some(many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|")),
        _ => None,
    };
    let any = |key: &str| {
        let all: Vec<String> = node.get(key)?.as_array()?.iter().filter_map(|one| types(one.get("type")?)).collect();
        (!all.is_empty()).then(|| all.join("|"))
    };
    let mut kind = node.get("type").and_then(types).or_else(|| any("anyOf")).or_else(|| any("oneOf"));
    if let Some(Value::Array(words)) = node.get("enum") {
        let words: Vec<String> =
            words.iter().map(|word| word.as_str().map_or(word.to_string(), str::to_owned)).collect();
        kind = Some(format!("{} of {}", kind.unwrap_or_default(), words.join("/")).trim().to_owned());
    }
    kind.unwrap_or_else(|| "anything".to_owned())
}

fn required(node: &Value, path: &str, shape: &mut BTreeMap<String, String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if let Some(kind) = shape.get_mut(&below(name)) {
            kind.push_str(", required");
        }
    }
    for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        required(child, &below(name), shape);
    }
    if let Some(items) = node.get("items").filter(|items| items.is_object()) {
        required(items, &format!("{path}[]"), shape);
    }
}
