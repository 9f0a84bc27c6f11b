//! Calls between the special tokens of Kimi, DeepSeek and Mistral, which a server is to take out and some leave in.
use super::{Found, Next, Written, fenced, json};

const KIMI: (&str, &str) = ("<|tool_call_begin|>", "<|tool_call_end|>");
const KIMI_ARGUMENTS: &str = "<|tool_call_argument_begin|>";

/// `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`
pub(super) fn kimi(text: &str, from: usize) -> Next {
    let (start, inside) = token(text, from, KIMI, KIMI_ARGUMENTS)?;
    Some(inside.and_then(|(head, tail, end)| {
        let head = head.trim();
        let name = head.strip_prefix("functions.").unwrap_or(head);
        let name = match name.rsplit_once(':') {
            Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => name,
        };
        Ok(vec![Found { name: name.to_owned(), args: Written::Json(json::arguments(tail.trim())?), at: start..end }])
    }))
}

const DEEPSEEK: (&str, &str) = ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>");
const DEEPSEEK_SEPARATOR: &str = "<｜tool▁sep｜>";

/// V3.1: `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>`; before: the kind `function`, then name and fenced JSON.
pub(super) fn deepseek(text: &str, from: usize) -> Next {
    let (start, inside) = token(text, from, DEEPSEEK, DEEPSEEK_SEPARATOR)?;
    Some(inside.and_then(|(head, tail, end)| {
        let (name, body) = match (head.trim(), tail.trim().split_once('\n')) {
            ("function", Some((name, fenced))) => {
                let fenced = fenced.trim();
                let body = fenced.strip_prefix("```json").and_then(|body| body.strip_suffix("```"));
                (name.trim(), body.unwrap_or(fenced))
            }
            (name, _) => (name, tail),
        };
        Ok(vec![Found { name: name.to_owned(), args: Written::Json(json::arguments(body.trim())?), at: start..end }])
    }))
}

/// What stands before and behind the separator, and where the call ends.
type Inside<'a> = Result<(&'a str, &'a str, usize), String>;

/// The next call between two tokens; they may follow other text in their line, but not a back quote.
fn token<'a>(text: &'a str, from: usize, (open, close): (&str, &str), separator: &str) -> Option<(usize, Inside<'a>)> {
    let mut at = from;
    let start = loop {
        at += text.get(at..)?.find(open)?;
        let quoted = text[..at].ends_with('`') || fenced(text, at);
        if !quoted && text[at..].contains(separator) {
            break at;
        }
        at += open.len();
    };
    let inner = start + open.len();
    let inside = match text[inner..].find(close) {
        None => Err(format!("`{open}` without `{close}`")),
        Some(length) => match text[inner..inner + length].split_once(separator) {
            None => Err(format!("no `{separator}`")),
            Some((head, tail)) => Ok((head, tail, inner + length + close.len())),
        },
    };
    Some((start, inside))
}

const MISTRAL: &str = "[TOOL_CALLS]";
const MISTRAL_ARGUMENTS: &str = "[ARGS]";
const MISTRAL_ID: &str = "[CALL_ID]";

/// `[TOOL_CALLS]NAME[ARGS]{...}`, with `[CALL_ID]` or without `[ARGS]`; before: `[TOOL_CALLS]` and an array of named objects.
pub(super) fn mistral(text: &str, from: usize) -> Next {
    let mut at = from;
    let (start, listed) = loop {
        at += text.get(at..)?.find(MISTRAL)?;
        let after = &text[at + MISTRAL.len()..];
        let body = after.trim_start();
        let listed = body.starts_with('[') && body[1..].trim_start().starts_with('{');
        let named = body.find(['{', '[']).is_some_and(|end| end > 0 && body[..end].trim().chars().all(in_a_name));
        if (listed || named) && !text[..at].ends_with('`') && !fenced(text, at) {
            break (at, listed);
        }
        at += MISTRAL.len();
    };
    let inner = start + MISTRAL.len();
    Some(match listed {
        true => json::value(&text[inner..]).and_then(|(list, length)| json::objects(list, start..inner + length)),
        false => named(text, start, inner).map(|call| vec![call]),
    })
}

fn named(text: &str, start: usize, inner: usize) -> Result<Found, String> {
    let body = &text[inner..];
    let end = body.find(['{', '[']).unwrap_or(body.len());
    let mut rest = &body[end..];
    if let Some(id) = rest.strip_prefix(MISTRAL_ID) {
        rest = id.trim_start_matches(in_a_name);
    }
    rest = rest.strip_prefix(MISTRAL_ARGUMENTS).unwrap_or(rest);
    let (object, length) = json::value(rest)?;
    let end_of_call = text.len() - rest.len() + length;
    let args = Written::Json(json::arguments(object)?);
    Ok(Found { name: body[..end].trim().to_owned(), args, at: start..end_of_call })
}

fn in_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}
