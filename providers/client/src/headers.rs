//! The headers of a request: ours, the harness's, the key, the user's, in rising order. Values are ASCII, whatever goes in:
//! paths and names of users end up in them, and many servers answer other bytes with 400.
use std::borrow::Cow;

use protocol::WireId;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};

use crate::{KeyStyle, Provider, Secret, registry::is_auth_header};

/// Anthropic's API version (every Messages client sends it).
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// None where the key cannot be put into a header.
pub(crate) fn headers(
    provider: &Provider,
    said: &[(String, String)],
    key: Option<(&Secret, Option<KeyStyle>)>,
) -> Option<HeaderMap> {
    let mut map = HeaderMap::with_capacity(said.len() + provider.headers.len() + 6);
    map.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    map.insert(USER_AGENT, HeaderValue::from_static(concat!("interpreter/", env!("CARGO_PKG_VERSION"))));
    if provider.wire == WireId::Messages {
        map.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    for (name, value) in said {
        insert(&mut map, name, value);
    }
    let users_own = provider.headers.iter().any(|(name, _)| is_auth_header(name));
    if let Some((key, style)) = key.filter(|_| !users_own) {
        match style.unwrap_or_else(|| provider.key_style()) {
            KeyStyle::Bearer => map.insert(AUTHORIZATION, key.header("Bearer ")?),
            KeyStyle::Header(name) => map.insert(name, key.header("")?),
        };
    }
    for (name, value) in &provider.headers {
        insert(&mut map, name, value.expose());
        if is_auth_header(name)
            && let Some(value) = map.get_mut(name.as_str())
        {
            value.set_sensitive(true);
        }
    }
    Some(map)
}

/// A header that cannot be sent is left out: those of the user are checked before ([`fault`]).
fn insert(map: &mut HeaderMap, name: &str, value: &str) {
    if let Ok(name) = HeaderName::try_from(name)
        && let Some(value) = ascii(value)
        && let Ok(value) = HeaderValue::from_str(&value)
    {
        map.insert(name, value);
    }
}

/// Why a header cannot be sent; the value is not told, it may be a key.
pub(crate) fn fault(name: &str, value: &str) -> Option<&'static str> {
    if HeaderName::try_from(name).is_err() {
        return Some("a header name has letters, digits and `-` only, no spaces");
    }
    let sendable = ascii(value).is_some_and(|value| HeaderValue::from_str(&value).is_ok());
    (!sendable).then_some("its value has a line feed or another control character, which no header can carry")
}

/// `value` in ASCII: JSON by JSON's own escapes, other text percent-encoded. None for line feeds and other control
/// characters in plain text.
pub(crate) fn ascii(value: &str) -> Option<Cow<'_, str>> {
    let printable = |c: char| (' '..='~').contains(&c);
    if value.chars().all(printable) {
        return Some(Cow::Borrowed(value));
    }
    let json = value.starts_with(['{', '[']);
    let mut text = String::with_capacity(value.len() + 32);
    for c in value.chars() {
        if printable(c) {
            text.push(c);
        } else if json && c.is_ascii_whitespace() {
            // Raw control characters stand between tokens of JSON only.
            text.push(' ');
        } else if c.is_ascii() {
            return None;
        } else if json {
            let mut units = [0; 2];
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            let mut bytes = [0; 4];
            text.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    Some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_become_ascii() {
        let check = |value: &str, expected: Option<&str>| assert_eq!(ascii(value).as_deref(), expected, "{value:?}");
        check("plain ~ text", Some("plain ~ text"));
        check("/tmp/项目", Some("/tmp/%E9%A1%B9%E7%9B%AE"));
        check("{\"cwd\":\"/ü/😀\"}", Some(r#"{"cwd":"/\u00fc/\ud83d\ude00"}"#));
        check("{\n\"a\": 1}", Some("{ \"a\": 1}"));
        check("two\nlines", None);
        check("é\0", None);
        check("{\u{7f}", None);
    }

    proptest! {
        #[test]
        fn json_stays_the_same_json(text in "\\PC*") {
            let json = serde_json::json!({ "a": text, "b": [text] });
            for spelling in [json.to_string(), format!("{json:#}")] {
                let sent = ascii(&spelling).expect("no control characters inside strings");
                prop_assert!(HeaderValue::from_str(&sent).is_ok() && sent.is_ascii());
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&sent).ok(), Some(json.clone()));
            }
        }

        #[test]
        fn what_is_sent_is_ascii(text in any::<String>()) {
            if let Some(sent) = ascii(&text) {
                prop_assert!(HeaderValue::from_str(&sent).is_ok() && sent.is_ascii());
            }
        }
    }
}
