//! `-c key=value`, `--enable` / `--disable`, and the settings that other flags stand for.
use crate::{
    ConfigError, feature,
    nearest::closest,
    node::{Node, Origin, Value},
    parse::{from_json, parse},
};

/// Parts of a dotted key; deeper ones are nobody's key and would only make deep trees.
pub(crate) const MAX_PARTS: usize = 32;

/// One `-c`. Later ones win.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
}

impl Override {
    /// Split at the first `=`; the key is a dotted path whose parts may be quoted as in TOML; the value is TOML, or else the
    /// text without quotes around it (`-c model=foo`, and `-c model='x` as Codex 0.171.0 takes it).
    pub fn parse(text: &str) -> Result<Override, ConfigError> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(ConfigError::OverrideWithoutValue(text.to_owned()));
        };
        if key.trim().is_empty() {
            return Err(ConfigError::OverrideWithoutKey(text.to_owned()));
        }
        let literal = || Value::Text(value.trim().trim_matches(['"', '\'']).to_owned());
        Override::at(split_key(key.trim()), toml_value(value).unwrap_or_else(literal))
    }

    /// A setting that a client sent as JSON (`thread/start`'s `config`). None: its value is null, which sets nothing.
    pub fn from_json(key: &str, value: serde_json::Value) -> Result<Option<Override>, ConfigError> {
        if key.trim().is_empty() {
            return Err(ConfigError::OverrideWithoutKey(key.to_owned()));
        }
        from_json(value, Origin::default()).map(|node| Override::at(split_key(key.trim()), node.value)).transpose()
    }

    fn at(path: Vec<String>, value: Value) -> Result<Override, ConfigError> {
        if path.len() > MAX_PARTS {
            return Err(ConfigError::OverrideTooDeep { key: path[..3].join(".") + "..." });
        }
        Ok(Override { path, value })
    }
}

/// What a flag of the command line sets: above everything else. The flag is named where the value is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagSetting {
    /// As the user types it: `--model`.
    pub flag: String,
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
}

impl FlagSetting {
    pub fn new(flag: &str, path: &[&str], value: impl Into<Value>) -> FlagSetting {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        FlagSetting { flag: flag.to_owned(), path, value: value.into() }
    }
}

/// `--enable NAME` (`on`) or `--disable NAME`.
pub fn feature_flag(name: &str, on: bool) -> Result<FlagSetting, ConfigError> {
    if feature(name).is_none() {
        return Err(ConfigError::UnknownFeature(name.to_owned()));
    }
    let flag = format!("--{} {name}", if on { "enable" } else { "disable" });
    Ok(FlagSetting::new(&flag, &["features", name], on))
}

/// The feature that an unknown name was meant to be.
pub(crate) fn nearest_feature(name: &str) -> Option<&'static str> {
    closest(name, crate::FEATURES.iter().map(|row| row.0))
}

fn toml_value(text: &str) -> Option<Value> {
    let mut document = parse(&format!("value = {text}"), 0).ok()?;
    let table = document.as_table_mut()?;
    let value = table.remove("value")?;
    // More than one key: the text had line breaks and went on with other keys.
    table.is_empty().then_some(value.value)
}

/// Dots outside of quotes separate; a key with a stray quote is taken by its dots alone.
fn split_key(key: &str) -> Vec<String> {
    split_quoted(key).unwrap_or_else(|| key.split('.').map(|part| part.trim().to_owned()).collect())
}

fn split_quoted(key: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = key;
    loop {
        rest = rest.trim_start();
        let part = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let (text, after) = quoted(&rest[1..], quote)?;
                rest = after.trim_start();
                text
            }
            _ => {
                let end = rest.find(['.', '"', '\'']).unwrap_or(rest.len());
                let text = rest[..end].trim().to_owned();
                rest = &rest[end..];
                text
            }
        };
        parts.push(part);
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(parts),
        }
    }
}

/// Up to the closing quote, and what follows it. Double quotes know `\\` and `\"`.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' if quote == '"' => out.push(chars.next()?.1),
            _ if char == quote => return Some((out, &text[at + char.len_utf8()..])),
            _ => out.push(char),
        }
    }
    None
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}
impl From<bool> for Value {
    fn from(on: bool) -> Value {
        Value::Bool(on)
    }
}
impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}
impl From<Vec<String>> for Value {
    fn from(items: Vec<String>) -> Value {
        let node = |text| Node { value: Value::Text(text), origin: Origin::default() };
        Value::Array(items.into_iter().map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn key_and_value() {
        let check = |text: &str, path: &[&str], value: serde_json::Value| {
            let parsed = Override::parse(text).expect(text);
            let node = Node { value: parsed.value, origin: Origin::default() };
            let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!((parsed.path, serde_json::Value::from(&node)), (path, value), "{text}");
        };
        check("model=foo", &["model"], json!("foo"));
        check("model=\"foo\"", &["model"], json!("foo"));
        check("model='a b'", &["model"], json!("a b"));
        check(" model = foo bar ", &["model"], json!("foo bar"));
        check("model=", &["model"], json!(""));
        check("model=gpt-5=x", &["model"], json!("gpt-5=x"));
        check("openai_base_url=http://127.0.0.1:1/v1", &["openai_base_url"], json!("http://127.0.0.1:1/v1"));
        check("a.b.c=1", &["a", "b", "c"], json!(1));
        check("model=\"abc", &["model"], json!("abc"));
        check("model='x'y", &["model"], json!("x'y"));
        check("model=\"x\" # why", &["model"], json!("x"));
        check("a..b=1", &["a", "", "b"], json!(1));
        check("a=true", &["a"], json!(true));
        check("a=[1, \"x\"]", &["a"], json!([1, "x"]));
        check("a={k = true}", &["a"], json!({"k": true}));
        check("a={}", &["a"], json!({}));
        check("a=\"line\\n\\u00e9\"", &["a"], json!("line\né"));
        check("a=1\nb=2", &["a"], json!("1\nb=2"));
        check("a=1\n[b]", &["a"], json!("1\n[b]"));
        check("projects.\"/x/y.z\".trust_level=trusted", &["projects", "/x/y.z", "trust_level"], json!("trusted"));
        check(r#"a."b\"c".'d.e'=1"#, &["a", "b\"c", "d.e"], json!(1));
        check("a.\"b.c=1", &["a", "\"b", "c"], json!(1));
    }

    #[test]
    fn errors_read_as_upstream() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Override::parse(text).expect_err(text).to_string(), expected);
        };
        check("model", "Error parsing -c overrides: Invalid override (missing '='): model");
        check("=x", "Error parsing -c overrides: Empty key in override: =x");
        check(" =", "Error parsing -c overrides: Empty key in override:  =");
        assert_eq!(feature_flag("nope", true).expect_err("nope").to_string(), "Error: Unknown feature flag: nope");
        assert!(Override::parse(&("a.".repeat(100) + "a=1")).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text(text in "\\PC*") {
            let _ = Override::parse(&text);
        }
    }
}
