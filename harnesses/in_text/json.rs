//! Calls written as one JSON object: between Hermes' tags (also without the opening one), or alone.
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Found, Next, TextCall, Written, begins, fenced};
use crate::args;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`
pub(super) fn hermes(text: &str, from: usize) -> Next {
    let tagged = opened(text, from);
    let call = match unopened(text, from, tagged.unwrap_or(text.len())) {
        Some(found) => Ok(found),
        None => tagged_object(text, tagged?),
    };
    Some(call.map(|call| vec![call]))
}

fn opened(text: &str, from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        let at = begins(text, from, OPEN, &[CLOSE])?;
        from = at + OPEN.len();
        if text[from..].trim_start().starts_with('{') {
            return Some(at);
        }
    }
}

fn tagged_object(text: &str, start: usize) -> Result<Found, String> {
    let inner = start + OPEN.len();
    let (object, length) = value(&text[inner..])?;
    let (name, args) = named_object(object)?;
    let rest = &text[inner + length..];
    let blank = rest.len() - rest.trim_start().len();
    if !rest[blank..].starts_with(CLOSE) {
        return Err(format!("`{OPEN}` without `{CLOSE}`"));
    }
    Ok(Found { name, args: Written::Json(args), at: start..inner + length + blank + CLOSE.len() })
}

/// An object that fills its lines, and a closing tag behind it, whose opening one is not there.
fn unopened(text: &str, from: usize, before: usize) -> Option<Found> {
    let end = from + text.get(from..before)?.find(CLOSE)?;
    let mut lines = text[from..end].match_indices('\n').map(|(at, _)| from + at + 1).rev().chain([from]);
    let start = lines.find(|&at| text[at..end].trim_start().starts_with('{') && !fenced(text, at))?;
    let (name, args) = named_object(text[start..end].trim()).ok()?;
    Some(Found { name, args: Written::Json(args), at: start..end + CLOSE.len() })
}

/// A reply that is nothing but calls, and names tools exactly: without markers there is no room for doubt.
pub(super) fn alone(text: &str, offered: &[&str]) -> Vec<TextCall> {
    let calls = bare(text).and_then(|body| objects(body, 0..text.len()).ok()).unwrap_or_default();
    if !calls.iter().all(|call| offered.contains(&call.name.as_str())) {
        return Vec::new();
    }
    calls.into_iter().map(|Found { name, args, at }| TextCall { name, args, at, mended: false }).collect()
}

fn bare(text: &str) -> Option<&str> {
    let body = text.trim();
    let Some(fenced) = body.strip_prefix("```") else {
        return Some(body.strip_prefix("<|python_tag|>").unwrap_or(body));
    };
    let (info, rest) = fenced.split_once('\n')?;
    let rest = rest.strip_suffix("```")?.trim();
    matches!(info.trim(), "" | "json" | "tool_call").then_some(rest)
}

/// One object or an array of them, all of which stand at `at`: the first takes the place, the others stand behind it.
pub(super) fn objects(text: &str, at: Range<usize>) -> Result<Vec<Found>, String> {
    let raw: Vec<&RawValue> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text).map_err(|error| error.to_string())?,
        false => vec![serde_json::from_str(text).map_err(|error| error.to_string())?],
    };
    let found = |(n, raw): (usize, &&RawValue)| {
        let (name, args) = named_object(raw.get())?;
        Ok(Found { name, args: Written::Json(args), at: if n == 0 { at.clone() } else { at.end..at.end } })
    };
    raw.iter().enumerate().map(found).collect()
}

/// The JSON value that `text` begins with, and where it ends.
pub(super) fn value(text: &str) -> Result<(&str, usize), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(raw)) => Ok((raw.get(), values.byte_offset())),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("there is no JSON".to_owned()),
    }
}

pub(super) fn named_object(text: &str) -> Result<(String, String), String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named<'a> {
        name: String,
        #[serde(borrow, alias = "parameters")]
        arguments: &'a RawValue,
        #[serde(default, rename = "id")]
        _id: Option<serde::de::IgnoredAny>,
        #[serde(default, rename = "type")]
        _type: Option<serde::de::IgnoredAny>,
    }
    if !text.trim_start().starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    let named: Named = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    Ok((named.name, arguments(named.arguments.get())?))
}

pub(super) fn arguments(text: &str) -> Result<String, String> {
    args::object(text)?;
    Ok(args::normal(text).into_owned())
}
