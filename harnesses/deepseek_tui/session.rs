//! Tools that act on the session or read from it: questions, skills, pages, several calls in one, and results that are shown again.
//! The forms of these results are ours, where the reference has none.
use protocol::{Action, Call, CallForm, Content, Done, Entry, Outcome, Page, Question, Session, World};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::{Said, Step, trouble};
use super::args::{self, Args};
use super::say::{RESULT_REF, sha};
use super::tools::{self, Access};
use crate::Context;

/// Bytes of a page.
const PAGE: u64 = 1_000_000;
const MOST_PAGE: u64 = 10_000_000;
/// Calls in one.
const MOST_CALLS: usize = 32;

pub(super) fn ask(args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "request_user_input";
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let question = |question: &Value| Question {
        id: text(question, "id"),
        header: text(question, "header"),
        question: text(question, "question"),
        options: question["options"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|option| (text(option, "label"), text(option, "description")))
            .collect(),
        multi: false,
    };
    match did.first().map(|done| &done.outcome) {
        None => {
            let questions = args.list("questions").iter().map(question).collect();
            Step::one(Action::Session(Session::Ask { questions, background: false }))
        }
        Some(Outcome::Answers(raw)) => Step::ok(raw.text()),
        Some(other) => trouble(TOOL, "ask the user", other),
    }
}

pub(super) fn skill(cx: &Context, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "load_skill";
    let name = args.text("name").trim();
    if !cx.skills.iter().any(|skill| skill.name == name) {
        let names: Vec<&str> = cx.skills.iter().map(|skill| skill.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Step::error(format!("Skill '{name}' not found. Available skills: {names}"));
    }
    match did.first().map(|done| &done.outcome) {
        None => Step::one(Action::Session(Session::Skill { name: name.to_owned(), args: String::new() })),
        Some(Outcome::Skill { dir, body, .. }) => Step::ok(format!(
            "# Skill: {name}\n\nFolder of this skill, where its relative paths start: {}\n\n{}",
            dir.display(),
            body.trim()
        )),
        Some(other) => trouble(TOOL, &format!("load the skill {name}"), other),
    }
}

#[derive(Serialize)]
struct Fetched<'a> {
    url: &'a str,
    status: u16,
    content_type: &'a str,
    content: String,
    truncated: bool,
}

pub(super) fn fetch(args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "fetch_url";
    let url = args.text("url").trim();
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Step::invalid(TOOL, "url must begin with http:// or https://");
    }
    match did.first().map(|done| &done.outcome) {
        None => {
            let max_bytes =
                args.number("max_bytes").and_then(|n| u64::try_from(n).ok()).unwrap_or(PAGE).clamp(1, MOST_PAGE);
            let markdown = args.given("format") != Some("raw");
            Step::one(Action::World(World::Fetch { url: url.to_owned(), max_bytes, markdown }))
        }
        Some(Outcome::Fetched(page)) => fetched(page, args),
        Some(other) => trouble(TOOL, &format!("fetch {url}"), other),
    }
}

fn fetched(page: &Page, args: &Args) -> Step {
    let content = match args.given("format") {
        Some("text") => without_marks(&page.text),
        _ => page.text.clone(),
    };
    let (url, content_type) = (page.url.as_str(), page.mime.as_str());
    let all = Fetched { url, status: page.status, content_type, content, truncated: page.truncated };
    let fields = args.texts("fields");
    let text = if fields.is_empty() {
        serde_json::to_string(&all).unwrap_or_default()
    } else {
        let mut map: Map<String, Value> =
            serde_json::to_value(&all).ok().and_then(|v| v.as_object().cloned()).unwrap_or_default();
        map.retain(|name, _| fields.contains(name));
        Value::Object(map).to_string()
    };
    Step::Tell(if page.status < 400 { Said::ok(text) } else { Said::bad(text) })
}

/// Markdown without headings, emphasis and the addresses of links.
fn without_marks(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    for line in markdown.lines() {
        let mut rest = line.trim_start_matches('#').trim_start();
        while let Some(at) = rest.find("](") {
            let (text, after) = rest.split_at(at);
            match (text.rfind('['), after.find(')')) {
                (Some(open), Some(close)) => {
                    out.push_str(text[..open].trim_end_matches('!'));
                    out.push_str(&text[open + 1..]);
                    rest = &after[close + 1..];
                }
                _ => {
                    out.push_str(&rest[..at + 2]);
                    rest = &rest[at + 2..];
                }
            }
        }
        out.push_str(rest);
        out.push('\n');
    }
    out.replace("**", "").replace('`', "").trim().to_owned()
}

/// Reading calls, one after another; each is a program of its own over its part of what was done.
pub(super) fn parallel(cx: &Context, call: &Call, args: &Args, did: &[Done]) -> Step {
    const TOOL: &str = "multi_tool_use.parallel";
    let uses = args.list("tool_uses");
    if uses.is_empty() || uses.len() > MOST_CALLS {
        return Step::invalid(TOOL, &format!("field 'tool_uses' must have 1 to {MOST_CALLS} entries"));
    }
    let (mut results, mut rest, mut failed) = (Vec::new(), did, 0);
    for one in uses {
        let name = one["recipient_name"].as_str().unwrap_or_default();
        let said = match nested(cx, call, name, &one["parameters"], &mut rest) {
            Ok(said) => said,
            Err(actions) => return Step::Do(actions),
        };
        failed += usize::from(said.failed);
        results.push(json!({"recipient_name": name, "success": !said.failed, "content": said.text}));
    }
    let text = json!({"results": results}).to_string();
    Step::Tell(if failed == results.len() { Said::bad(text) } else { Said::ok(text) })
}

/// Err: what is to be done next. `rest`: what was done for this call and those behind it.
fn nested(cx: &Context, call: &Call, name: &str, parameters: &Value, rest: &mut &[Done]) -> Result<Said, Vec<Action>> {
    let Some(spec) = tools::meant(cx, name) else { return Ok(Said::error(tools::unknown(cx, name))) };
    if spec.access != Access::Reads || spec.name == "multi_tool_use.parallel" {
        let text = format!(
            "Tool '{}' is not available: multi_tool_use.parallel takes reading tools only. Call it by itself.",
            spec.name
        );
        return Ok(Said::error(text));
    }
    let given = match parameters {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let args = match args::parse(spec, &given) {
        Ok(args) => args,
        Err(text) => return Ok(Said::error(text)),
    };
    let inner = Call { name: spec.name.to_owned(), args: given, form: CallForm::Function, ..call.clone() };
    let mut taken = 0;
    loop {
        match super::run(cx, &inner, spec, &args, &rest[..taken]) {
            Step::Tell(said) => {
                *rest = &rest[taken..];
                return Ok(said);
            }
            Step::Do(actions) if taken + actions.len() <= rest.len() => taken += actions.len(),
            Step::Do(actions) => return Err(actions.into_iter().skip(rest.len() - taken).collect()),
        }
    }
}

/// A result that stands further up.
pub(super) fn retrieve(cx: &Context, args: &Args) -> Step {
    let wanted = args.text("ref").trim().trim_start_matches("sha:").to_lowercase();
    if wanted.len() < 8 {
        return Step::invalid("retrieve_tool_result", "ref must be sha: and the digits of a TOOL_RESULT_REF");
    }
    let results = cx.said.iter().flat_map(|entry| match entry {
        Entry::Results { results, .. } => results.as_slice(),
        _ => &[],
    });
    let text = results
        .filter_map(|result| match &result.answer.content {
            Content::Plain(text) if !text.starts_with(RESULT_REF) => Some(text),
            _ => None,
        })
        .find(|text| sha(text).starts_with(&wanted));
    match text {
        Some(text) => Step::ok(text.clone()),
        None => Step::error(format!(
            "No result with sha:{wanted} stands in this conversation any more. Make the call again."
        )),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn marks_are_left_out() {
        let check = |markdown: &str, expected: &str| assert_eq!(super::without_marks(markdown), expected);
        check("# A\n\nb **c** [d](http://e) `f`", "A\n\nb c d f");
        check("![pic](x.png) and ](", "pic and ](");
    }

    proptest! {
        #[test]
        fn any_page_is_read(markdown in "[\\[\\]()!#*`aé\n ]{0,40}") {
            let _ = super::without_marks(&markdown);
        }
    }
}
