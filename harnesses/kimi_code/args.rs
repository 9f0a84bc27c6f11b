//! A call's arguments: read as the original reads them (text that is no JSON counts as `{}`), checked by the tool's schema, and
//! the form in which they go back to the model.
use serde_json::{Map, Value};

use super::{schema, tools};

/// Arguments that the schema allows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Args(Map<String, Value>);

impl Args {
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
    /// Empty where it is missing.
    pub(super) fn str(&self, key: &str) -> &str {
        self.text(key).unwrap_or_default()
    }
    pub(super) fn whole(&self, key: &str) -> Option<i64> {
        self.0.get(key)?.as_f64().map(|n| n as i64)
    }
    /// A number that is not below zero.
    pub(super) fn count(&self, key: &str) -> Option<usize> {
        self.whole(key).and_then(|n| usize::try_from(n).ok())
    }
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }
    pub(super) fn list(&self, key: &str) -> Option<&[Value]> {
        self.0.get(key)?.as_array().map(Vec::as_slice)
    }
    pub(super) fn map(&self, key: &str) -> Option<&Map<String, Value>> {
        self.0.get(key)?.as_object()
    }
}

/// Err: the line for the model.
pub(super) fn parse(tool: &str, text: &str) -> Result<Args, String> {
    let schema = tools::schema(tool).ok_or_else(|| format!("Tool \"{tool}\" not found"))?;
    let value = value(text);
    if let Some(problems) = schema::problems(&schema, &value) {
        return Err(format!("Invalid args for tool \"{tool}\": {problems}"));
    }
    match value {
        Value::Object(map) => Ok(Args(map)),
        _ => Err(format!("Invalid args for tool \"{tool}\": must be object")),
    }
}

/// The arguments as JSON; text that is none, or nothing at all, is an empty object.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(Map::new()))
}

/// As they go back: as written, but `{}` for what is no JSON.
pub(super) fn echo(text: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => text.to_owned(),
        Err(_) => "{}".to_owned(),
    }
}

/// The same for equal arguments, whatever the order of their keys.
pub(super) fn canonical(text: &str) -> String {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut pairs: Vec<(String, Value)> =
                    map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(pairs.into_iter().collect())
            }
            Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
            other => other,
        }
    }
    sorted(value(text)).to_string()
}
