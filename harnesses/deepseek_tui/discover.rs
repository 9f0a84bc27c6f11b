//! Tools that are not listed from the start: found by words (BM25) or by a pattern, and listed once they were found or called.
use protocol::{Body, CallId, Entry, Item};
use regex::RegexBuilder;
use serde::{Deserialize, Serialize};

use super::answer::Step;
use super::args::Args;
use super::tools::{self, Spec};
use crate::Context;

/// Tools of one result.
const MOST: usize = 5;
/// Bytes that a pattern may take when it is compiled.
const PATTERN: usize = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Found {
    r#type: String,
    tool_references: Vec<Reference>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Reference {
    r#type: String,
    tool_name: String,
}

pub(super) fn by_words(cx: &Context, args: &Args) -> Step {
    let query = words(args.text("query"));
    let documents: Vec<(&Spec, Vec<String>)> =
        searched(cx).into_iter().map(|spec| (spec, words(&format!("{} {}", spec.name, spec.description)))).collect();
    let mut ranked: Vec<(f64, &str)> =
        documents.iter().map(|(spec, document)| (bm25(&query, document, &documents), spec.name)).collect();
    ranked.retain(|(score, _)| *score > 0.0);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    told(ranked.into_iter().map(|(_, name)| name))
}

pub(super) fn by_pattern(cx: &Context, args: &Args) -> Step {
    let pattern = match RegexBuilder::new(args.text("query")).case_insensitive(true).size_limit(PATTERN).build() {
        Ok(pattern) => pattern,
        Err(error) => return Step::invalid("tool_search_tool_regex", &error.to_string()),
    };
    let names =
        searched(cx).into_iter().filter(|spec| pattern.is_match(spec.name) || pattern.is_match(spec.description));
    told(names.map(|spec| spec.name))
}

/// The tools that are held back; where none is, all.
fn searched(cx: &Context) -> Vec<&'static Spec> {
    let held: Vec<_> = tools::callable(cx).filter(|spec| tools::is_deferred(cx, spec)).collect();
    if held.is_empty() { tools::callable(cx).collect() } else { held }
}

fn told<'a>(names: impl Iterator<Item = &'a str>) -> Step {
    let reference = |name: &str| Reference { r#type: "tool_reference".to_owned(), tool_name: name.to_owned() };
    let tool_references = names.take(MOST).map(reference).collect();
    let found = Found { r#type: "tool_search_tool_search_result".to_owned(), tool_references };
    Step::ok(serde_json::to_string(&found).unwrap_or_default())
}

fn words(text: &str) -> Vec<String> {
    let plain = |word: &str| word.strip_suffix('s').filter(|word| word.len() > 2).unwrap_or(word).to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(plain).collect()
}

fn bm25(query: &[String], document: &[String], all: &[(&Spec, Vec<String>)]) -> f64 {
    const K: f64 = 1.2;
    const B: f64 = 0.75;
    let count = all.len() as f64;
    let mean = all.iter().map(|(_, words)| words.len()).sum::<usize>() as f64 / count.max(1.0);
    let one = |word: &String| {
        let times = document.iter().filter(|other| *other == word).count() as f64;
        let within = all.iter().filter(|(_, words)| words.contains(word)).count() as f64;
        let rare = ((count - within + 0.5) / (within + 0.5) + 1.0).ln();
        rare * times * (K + 1.0) / (times + K * (1.0 - B + B * document.len() as f64 / mean.max(1.0)))
    };
    query.iter().map(one).sum()
}

/// Of these new items: the tools that were found or called and are not listed yet.
pub(super) fn newly_known(cx: &Context, new: &[Item]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    let mut searches: Vec<&CallId> = Vec::new();
    let mut know = |written: &str| {
        if let Some(spec) = tools::meant(cx, written).filter(|spec| tools::is_deferred(cx, spec))
            && !is_listed(cx, spec.name)
            && !names.contains(&spec.name)
        {
            names.push(spec.name);
        }
    };
    for item in new {
        let calls = match &item.body {
            Body::Reply { reply, .. } => reply.calls().collect(),
            Body::Read { calls, .. } => calls.iter().collect(),
            Body::Called { call, answer, .. } if searches.contains(&call) => {
                let found = serde_json::from_str::<Found>(&answer.content.text());
                let references = found.map(|found| found.tool_references).unwrap_or_default();
                references.iter().for_each(|reference| know(&reference.tool_name));
                Vec::new()
            }
            _ => Vec::new(),
        };
        for call in calls {
            know(&call.name);
            if tools::known(&call.name).is_some_and(|spec| spec.name.starts_with("tool_search_tool_")) {
                searches.push(&call.id);
            }
        }
    }
    names.sort_unstable();
    names
}

fn is_listed(cx: &Context, name: &str) -> bool {
    known_now(cx).any(|tool| tool.name == name)
}

/// Tools that were listed after the beginning.
pub(super) fn known_now<'a>(cx: &Context<'a>) -> impl Iterator<Item = &'a protocol::Tool> + use<'a> {
    cx.said.iter().flat_map(|entry| match entry {
        Entry::Tools(tools) => tools.as_slice(),
        _ => &[],
    })
}
