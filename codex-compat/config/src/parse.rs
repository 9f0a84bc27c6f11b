//! Text of a config file → [`Node`], with line and column of each value, and errors that say where and what to try.
use std::collections::BTreeMap;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::node::{Node, Origin, Value};

/// Broken TOML. Line and column from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub line: u32,
    pub column: u32,
    pub message: String,
    pub hint: Option<&'static str>,
}

/// The bytes of a file; a byte order mark is skipped.
pub(crate) fn parse_bytes(bytes: &[u8], layer: usize) -> Result<Node, SyntaxError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, layer),
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let (line, column) = Lines::of(&good).place(good.len());
            let message = "not UTF-8 text".to_owned();
            Err(SyntaxError { line, column, message, hint: Some("save the file as UTF-8") })
        }
    }
}

pub(crate) fn parse(text: &str, layer: usize) -> Result<Node, SyntaxError> {
    let lines = Lines::of(text);
    match DeTable::parse(text) {
        Ok(table) => convert_table(table.into_inner(), &lines, layer, Origin { layer, line: 1, column: 1 }),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let (line, column) = lines.place(at);
            let message = error.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
            let hint = backslash_in_quotes(text, at).then_some("write Windows paths in single quotes: 'C:\\dir'");
            Err(SyntaxError { line, column, message, hint })
        }
    }
}

/// Is the error about a backslash inside double quotes, as in a Windows path?
fn backslash_in_quotes(text: &str, at: usize) -> bool {
    let mut start = at.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line_start..start];
    let inside = before.matches('"').count() % 2 == 1;
    let string = before.rsplit('"').next().unwrap_or(before);
    inside && (string.contains('\\') || text[start..].starts_with('\\'))
}

fn convert_table(table: DeTable<'_>, lines: &Lines<'_>, layer: usize, origin: Origin) -> Result<Node, SyntaxError> {
    let mut entries = BTreeMap::new();
    for (key, value) in table {
        let (line, column) = lines.place(key.span().start);
        let node = convert(value, lines, layer, Origin { layer, line, column })?;
        entries.insert(key.into_inner().into_owned(), node);
    }
    Ok(Node { value: Value::Table(entries), origin })
}

fn convert(value: Spanned<DeValue<'_>>, lines: &Lines<'_>, layer: usize, origin: Origin) -> Result<Node, SyntaxError> {
    let (line, column) = lines.place(value.span().start);
    let outside = |what: &str| SyntaxError { line, column, message: format!("{what} out of range"), hint: None };
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(on) => Value::Bool(on),
        DeValue::Datetime(time) => Value::Datetime(time.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.map_err(|_| outside("integer"))?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| outside("float"))?),
        DeValue::Table(table) => return convert_table(table, lines, layer, origin),
        DeValue::Array(items) => {
            let nodes = items.into_iter().map(|item| {
                let (line, column) = lines.place(item.span().start);
                convert(item, lines, layer, Origin { layer, line, column })
            });
            Value::Array(nodes.collect::<Result<_, _>>()?)
        }
    };
    Ok(Node { value, origin })
}

/// Byte offsets → line and column.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(newlines).collect() }
    }

    fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1];
        let end = offset.min(self.text.len());
        let column =
            self.text.as_bytes()[start.min(end)..end].iter().filter(|byte| !is_continuation(**byte)).count() + 1;
        (number(line), number(column))
    }
}

/// Bytes within a UTF-8 character, after its first.
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl From<&Node> for serde_json::Value {
    fn from(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Text(text) | Value::Datetime(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Bool(on) => (*on).into(),
            Value::Array(items) => items.iter().map(serde_json::Value::from).collect::<Vec<_>>().into(),
            Value::Table(table) => {
                table.iter().map(|(key, node)| (key.clone(), node.into())).collect::<serde_json::Map<_, _>>().into()
            }
        }
    }
}

/// JSON (hooks.json, a client's overrides) as config values. `null` is left out.
pub(crate) fn from_json(value: serde_json::Value, origin: Origin) -> Option<Node> {
    let value = match value {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(on) => Value::Bool(on),
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(number.as_f64()?),
        },
        serde_json::Value::Array(items) => {
            Value::Array(items.into_iter().filter_map(|item| from_json(item, origin)).collect())
        }
        serde_json::Value::Object(map) => {
            Value::Table(map.into_iter().filter_map(|(key, value)| Some((key, from_json(value, origin)?))).collect())
        }
    };
    Some(Node { value, origin })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn origin_of(text: &str, path: &[&str]) -> (u32, u32) {
        let node = parse_bytes(text.as_bytes(), 0).expect("parses");
        let origin = node.get(path).expect("there").origin;
        (origin.line, origin.column)
    }

    #[test]
    fn values_know_their_place() {
        assert_eq!(origin_of("a = 1\n\n  b = 2\n", &["b"]), (3, 3));
        assert_eq!(origin_of("[x]\ny.z = 2\n", &["x", "y", "z"]), (2, 3));
        assert_eq!(origin_of("a = [\n 1,\n 2]", &["a", "1"]), (3, 2));
        assert_eq!(origin_of("\u{feff}# ä\r\n'ö' = {'ü' = 1}\r\n", &["ö", "ü"]), (2, 8));
    }

    #[test]
    fn empty_files_and_files_of_windows_are_fine() {
        for text in ["", "\u{feff}", "\r\n", "# x", "\u{feff}\r\n[a]\r\nb = 'c'\r\n"] {
            parse_bytes(text.as_bytes(), 0).expect(text);
        }
    }

    #[test]
    fn errors_say_where() {
        let check = |text: &[u8], line, column, part: &str, hint: bool| {
            let error = parse_bytes(text, 0).expect_err("broken");
            assert_eq!((error.line, error.column, error.hint.is_some()), (line, column, hint), "{error:?}");
            assert!(error.message.contains(part), "{error:?}");
            assert!(!error.message.contains('\n'), "{error:?}");
        };
        check(br#"args = ["C:\dir\x"]"#, 1, 13, "escape", true);
        check(br#"cwd = "C:\Users\x""#, 1, 12, "unicode", true);
        check(b"a = [1]\n[a]\nb = 1\n", 2, 2, "duplicate", false);
        check(b"a = 1\na = 2\n", 2, 1, "duplicate", false);
        check(b"a = \"x\n", 1, 7, "", false);
        check(b"a = 1\nb = \xff\n", 2, 5, "UTF-8", true);
        check(b"a = 99999999999999999999\n", 1, 5, "out of range", false);
        check(b"model\n", 1, 6, "", false);
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        parse(&("a.".repeat(200_000) + "a = 1"), 0).expect_err("too deep");
        parse(&("a = ".to_owned() + &"[".repeat(200_000)), 0).expect_err("too deep");
        parse(&("[".to_owned() + &"a.".repeat(200_000) + "a]"), 0).expect_err("too deep");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = parse_bytes(&bytes, 0);
        }
        #[test]
        fn any_toml_like_text(text in r#"([a-z\[\]{}="'.,\\#0-9\n\r üé]|""")*"#) {
            let _ = parse_bytes(text.as_bytes(), 0);
        }
    }
}
