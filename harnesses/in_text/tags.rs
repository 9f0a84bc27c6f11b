//! Calls written as elements: Qwen's coders (`<function=NAME>`), GLM (`<arg_key>`), and `<invoke name="NAME">` as DeepSeek,
//! MiniMax and older Claude models have it. Values are plain text; what they mean, the tool's schema says.
use std::ops::Range;

use serde_json::Value;

use super::{Found, Next, Written, begins};

const FRAME: &str = "<tool_call>";
const FRAME_END: &str = "</tool_call>";

/// `<function=NAME><parameter=P>...</parameter></function>`, often without the `<tool_call>` around it.
pub(super) fn function(text: &str, from: usize) -> Next {
    const OPEN: &str = "<function=";
    const CLOSE: &str = "</function>";
    let start = begins(text, from, OPEN, &[FRAME, FRAME_END, CLOSE])?;
    let parameter = |rest: &'_ str| -> Option<(String, usize, bool)> {
        let inside = rest.strip_prefix("<parameter=")?;
        let (key, _) = inside.split_once('>')?;
        Some((key.trim().to_owned(), rest.len() - inside.len() + key.len() + 1, true))
    };
    let call = || {
        let body = &text[start + OPEN.len()..];
        let (name, _) = body.split_once('>').ok_or_else(|| format!("`{OPEN}` without a name"))?;
        let inner = start + OPEN.len() + name.len() + 1;
        let (pairs, end) = parameters(text, inner, parameter, "</parameter>", CLOSE)?;
        Ok(Found { name: name.to_owned(), args: Written::Pairs(pairs), at: framed(text, start..end) })
    };
    Some(call().map(|call| vec![call]))
}

/// `<invoke name="NAME"><parameter name="P">...</parameter></invoke>`, each tag with the same prefix or none.
pub(super) fn invoke(text: &str, from: usize) -> Next {
    let next = |prefix: &'static str| {
        let frames =
            [format!("<{prefix}function_calls>"), "<minimax:tool_call>".to_owned(), format!("</{prefix}invoke>")];
        let frames = frames.each_ref().map(String::as_str);
        Some((begins(text, from, &format!("<{prefix}invoke name=\""), &frames)?, prefix))
    };
    let (start, prefix) = ["", "｜DSML｜", "antml:"].into_iter().filter_map(next).min()?;
    let call = || {
        let body = &text[start..];
        let (tag, _) = body.split_once('>').ok_or("`<invoke` without its end")?;
        let name = attribute(tag, "name").ok_or("`<invoke` without a name")?;
        let opening = format!("<{prefix}parameter ");
        let parameter = |rest: &str| {
            let (tag, _) = rest.strip_prefix(&opening)?.split_once('>')?;
            // DeepSeek says which values are no text.
            let text = attribute(tag, "string") != Some("false");
            Some((attribute(tag, "name")?.to_owned(), opening.len() + tag.len() + 1, text))
        };
        let (close, end_of_value) = (format!("</{prefix}invoke>"), format!("</{prefix}parameter>"));
        let (pairs, end) = parameters(text, start + tag.len() + 1, parameter, &end_of_value, &close)?;
        Ok(Found { name: name.to_owned(), args: Written::Pairs(pairs), at: start..end })
    };
    Some(call().map(|call| vec![call]))
}

/// `<tool_call>NAME<arg_key>P</arg_key><arg_value>...</arg_value></tool_call>`
pub(super) fn glm(text: &str, from: usize) -> Next {
    const KEY: (&str, &str) = ("<arg_key>", "</arg_key>");
    const VALUE: &str = "<arg_value>";
    let mut at = from;
    let (start, name) = loop {
        let start = begins(text, at, FRAME, &[FRAME_END])?;
        at = start + FRAME.len();
        let body = &text[at..];
        let name = &body[..body.find('<').unwrap_or(body.len())];
        let rest = &body[name.len()..];
        let a_name =
            !name.trim().is_empty() && name.trim().chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
        if a_name && (rest.starts_with(KEY.0) || rest.starts_with(FRAME_END)) {
            break (start, name);
        }
    };
    let parameter = |rest: &str| {
        let (key, after) = rest.strip_prefix(KEY.0)?.split_once(KEY.1)?;
        let value = after.trim_start().strip_prefix(VALUE)?;
        Some((key.trim().to_owned(), rest.len() - value.len(), true))
    };
    let call = parameters(text, at + name.len(), parameter, "</arg_value>", FRAME_END);
    Some(
        call.map(|(pairs, end)| {
            vec![Found { name: name.trim().to_owned(), args: Written::Pairs(pairs), at: start..end }]
        }),
    )
}

/// Parameters from byte `at` on up to `close`, and where that ends. Between them nothing but white space may stand: a value that
/// holds a closing tag itself cannot be told from two, and is not guessed at. `opening`: of the tag that a text begins with, the
/// parameter's name, the tag's length, and whether its value is text.
fn parameters(
    text: &str,
    at: usize,
    opening: impl Fn(&str) -> Option<(String, usize, bool)>,
    end_of_value: &str,
    close: &str,
) -> Result<(Vec<(String, Value)>, usize), String> {
    let mut pairs = Vec::new();
    let mut rest = &text[at..];
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(close) {
            return Ok((pairs, text.len() - after.len()));
        }
        let Some((key, length, plain)) = opening(rest) else { return Err(format!("a call without `{close}`")) };
        let Some((value, after)) = rest[length..].split_once(end_of_value) else {
            return Err(format!("`{key}` without `{end_of_value}`"));
        };
        pairs.push((key, if plain { Value::String(unwrapped(value)) } else { json(value) }));
        rest = after;
    }
}

/// Without the line ends that the templates put around a value.
fn unwrapped(value: &str) -> String {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value).to_owned()
}

fn json(value: &str) -> Value {
    serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::String(unwrapped(value)))
}

/// The value of `name="..."` in a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = tag.split_once(&format!("{name}=\""))?;
    value.split_once('"').map(|(value, _)| value)
}

/// With the tags around it, as far as they are there.
fn framed(text: &str, call: Range<usize>) -> Range<usize> {
    let start = text[..call.start].trim_end().strip_suffix(FRAME).map_or(call.start, str::len);
    let after = &text[call.end..];
    let blank = after.len() - after.trim_start().len();
    let end = if after.trim_start().starts_with(FRAME_END) { call.end + blank + FRAME_END.len() } else { call.end };
    start..end
}
