//! Descriptions inside of a tool's schema, by the path of their property: `path`, `edits[].old`.
use std::collections::BTreeMap;

use protocol::Raw;
use serde_json::{Map, Value};

/// Every property with a description.
pub fn descriptions(schema: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    walk(schema, "", &mut |path, node| {
        if let Some(text) = node.get("description").and_then(Value::as_str) {
            found.insert(path.to_owned(), text.to_owned());
        }
    });
    found
}

/// The schema with other descriptions; everything else, and the order of keys, stays. Paths that are not there are passed over.
pub(crate) fn described(schema: &Raw, words: &BTreeMap<String, String>) -> Raw {
    if words.is_empty() {
        return schema.clone();
    }
    let mut value = schema.value();
    replace(&mut value, "", words);
    Raw::of(&value)
}

/// Paths of all properties.
pub(crate) fn paths(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, "", &mut |path, _| found.push(path.to_owned()));
    found
}

/// Each property, outer ones first.
pub fn walk<'a>(node: &'a Value, path: &str, visit: &mut dyn FnMut(&str, &'a Map<String, Value>)) {
    for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(object) = child.as_object() {
            visit(&path, object);
        }
        walk(child, &path, visit);
    }
    if let Some(items) = node.get("items").filter(|items| items.is_object()) {
        walk(items, &format!("{path}[]"), visit);
    }
}

fn replace(node: &mut Value, path: &str, words: &BTreeMap<String, String>) {
    for (name, child) in node.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let (Some(text), Some(object)) = (words.get(&path), child.as_object_mut()) {
            object.insert("description".to_owned(), Value::String(text.clone()));
        }
        replace(child, &path, words);
    }
    if let Some(items) = node.get_mut("items").filter(|items| items.is_object()) {
        replace(items, &format!("{path}[]"), words);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn descriptions_are_found_and_replaced_where_they_stand() {
        let text = r#"{"type":"object","properties":{"a":{"description":"old","type":"string"},"list":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"}}}}}}"#;
        let raw = Raw::parse(text).unwrap();
        assert_eq!(paths(&raw.value()), ["a", "list", "list[].b"]);
        assert_eq!(descriptions(&raw.value()), BTreeMap::from([("a".to_owned(), "old".to_owned())]));
        let words = BTreeMap::from([("a", "new"), ("list[].b", "inner"), ("gone", "x")]);
        let words = words.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        let expected =
            text.replace("old", "new").replace(r#"{"type":"number"}"#, r#"{"type":"number","description":"inner"}"#);
        assert_eq!(described(&raw, &words).text(), expected);
    }
}
