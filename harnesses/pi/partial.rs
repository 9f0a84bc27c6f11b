//! JSON of models, read as pi does: what is complete is taken, whatever comes behind it; what was cut off is closed where it ends;
//! line feeds and unknown escapes in strings are taken as they are. What is no JSON at all is an empty object.
use serde_json::{Map, Value};

/// A value and whether its text ended before it did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Partial {
    pub(super) value: Value,
    pub(super) cut: bool,
}

/// Deeper nesting is not followed.
const DEPTH: usize = 64;

pub(super) fn read(text: &str) -> Partial {
    if text.trim().is_empty() {
        return Partial { value: Value::Object(Map::new()), cut: false };
    }
    if let Ok(value) = serde_json::from_str(text) {
        return Partial { value, cut: false };
    }
    let mut reader = Reader { text, at: 0, cut: false, depth: 0 };
    match reader.value() {
        Some(value) => Partial { value, cut: reader.cut },
        None => Partial { value: Value::Object(Map::new()), cut: false },
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    cut: bool,
    depth: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&mut self) -> Option<char> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    /// None: there is none here, or not enough of it to be one.
    fn value(&mut self) -> Option<Value> {
        match self.peek()? {
            '{' | '[' if self.depth == DEPTH => None,
            '{' => self.nested(Reader::object),
            '[' => self.nested(Reader::array),
            '"' => Some(Value::String(self.string())),
            '-' | '0'..='9' => self.number(),
            _ => self.word(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Value) -> Option<Value> {
        self.at += 1;
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        Some(value)
    }

    fn object(&mut self) -> Value {
        let mut map = Map::new();
        loop {
            match self.peek() {
                Some('}') => break self.at += 1,
                Some('"') => {}
                _ => break self.cut = true,
            }
            let key = self.string();
            if self.cut || self.peek() != Some(':') {
                break self.cut = true;
            }
            self.at += 1;
            match self.value() {
                Some(value) => map.insert(key, value),
                None => break self.cut = true,
            };
            match self.peek() {
                _ if self.cut => break,
                Some(',') => self.at += 1,
                Some('}') => {}
                _ => break self.cut = true,
            }
        }
        Value::Object(map)
    }

    fn array(&mut self) -> Value {
        let mut list = Vec::new();
        loop {
            if self.peek() == Some(']') {
                break self.at += 1;
            }
            match self.value() {
                Some(value) => list.push(value),
                None => break self.cut = true,
            }
            match self.peek() {
                _ if self.cut => break,
                Some(',') => self.at += 1,
                Some(']') => {}
                _ => break self.cut = true,
            }
        }
        Value::Array(list)
    }

    fn string(&mut self) -> String {
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        let mut end = None;
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = Some(at + 1);
                    break;
                }
                '\\' => {
                    let Some((_, escape)) = chars.next() else { break };
                    match escape {
                        'n' => out.push('\n'),
                        't' => out.push('\t'),
                        'r' => out.push('\r'),
                        'b' => out.push('\u{8}'),
                        'f' => out.push('\u{c}'),
                        '"' | '\\' | '/' => out.push(escape),
                        'u' => {
                            let hex: String = chars.clone().take(4).map(|(_, c)| c).collect();
                            match u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == 4) {
                                Some(code) => {
                                    chars.by_ref().take(4).for_each(drop);
                                    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                                }
                                None if hex.chars().count() < 4 => break,
                                None => out.push_str("\\u"),
                            }
                        }
                        other => {
                            out.push('\\');
                            out.push(other);
                        }
                    }
                }
                c => out.push(c),
            }
        }
        match end {
            Some(end) => self.at += end,
            None => {
                self.at = self.text.len();
                self.cut = true;
            }
        }
        out
    }

    fn number(&mut self) -> Option<Value> {
        let length = self.rest().find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let text = self.rest()[..length.unwrap_or(self.rest().len())].to_owned();
        self.at += text.len();
        let value = serde_json::from_str(&text).ok();
        // More digits may have followed.
        self.cut |= self.rest().is_empty();
        value
    }

    /// A literal, or the beginning of one at the end of the text.
    fn word(&mut self) -> Option<Value> {
        let words = [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Some(value);
            }
            if word.starts_with(self.rest()) {
                self.at = self.text.len();
                self.cut = true;
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn as_measured() {
        let check = |text: &str, value: Value, cut: bool| assert_eq!(read(text), Partial { value, cut }, "{text}");
        check("", json!({}), false);
        check("{\"path\": \"a.txt\"", json!({"path": "a.txt"}), true);
        check("{\"path\": \"a.txt", json!({"path": "a.txt"}), true);
        check("not json", json!({}), false);
        check("[]", json!([]), false);
        check("null", json!(null), false);
        check("{path: \"a.txt\"}", json!({}), true);
        check("{\"path\": \"a.txt\",}", json!({"path": "a.txt"}), false);
        check("{\"path\": \"a.txt\"} x", json!({"path": "a.txt"}), false);
        check("{\"path\": \"a.txt\", \"limit\": 1", json!({"path": "a.txt", "limit": 1}), true);
        check("{\"path\": \"a.txt\", \"limit\"", json!({"path": "a.txt"}), true);
        check("{\"path\": \"a.txt\", \"limit\":", json!({"path": "a.txt"}), true);
        check("{\"path\": \"a.txt\", \"lim", json!({"path": "a.txt"}), true);
        check("{\"path\": \"a.txt\", \"limit\": tr", json!({"path": "a.txt", "limit": true}), true);
        check("{\"path\": \"a.txt\", \"limit\": 2.", json!({"path": "a.txt"}), true);
        check("{\"path\": \"a.txt\", \"limit\": -", json!({"path": "a.txt"}), true);
        check("{\"content\":\"a\\", json!({"content": "a"}), true);
        check("{\"content\":\"a\nb\"}", json!({"content": "a\nb"}), false);
        check("{\"path\": \"a\\x.txt\"}", json!({"path": "a\\x.txt"}), false);
        check("```json\n{\"path\":\"a.txt\"}\n```", json!({}), false);
        check("{\"edits\":[{\"oldText\":\"a\"},{\"old", json!({"edits": [{"oldText": "a"}, {}]}), true);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,40}|[\\[\\]{}\":,a0.etrufn \\\\-]{0,40}") {
            let _ = read(&text);
        }
        /// A beginning of JSON is never taken for the whole.
        #[test]
        fn what_was_cut_is_known(value in "[a-z\"\\\\é\n]{1,12}", cut in 1usize..60) {
            let whole = json!({"command": value, "timeout": 12}).to_string();
            if cut < whole.len() && whole.is_char_boundary(cut) {
                prop_assert!(read(&whole[..cut]).cut);
            }
            prop_assert_eq!(read(&whole), Partial { value: json!({"command": value, "timeout": 12}), cut: false });
        }
        #[test]
        fn deep_nesting_ends(depth in 0usize..3000) {
            let _ = read(&"[{\"a\":".repeat(depth));
        }
    }
}
