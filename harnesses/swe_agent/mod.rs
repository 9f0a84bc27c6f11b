//! `swe-agent`: how SWE-agent 1.1.0 speaks: one call (or command) a reply, a shell that lives on, observations, and a task that
//! is handed in. Three forms: tools of `default.yaml`; the classic file window as functions (feature `swe_agent_classic`,
//! `07_fcalling.yaml`); the same as text, for models without tools (feature `swe_agent_text`, `07.yaml`).
//!
//! Left out: the review and retry agents, cost limits, the browser and image bundles, `PROBLEM_STATEMENT` in the environment,
//! the recorded demonstration, flake8 behind `edit`. Ours beside it: a summary where the conversation grows too long (the
//! original ends), AGENTS.md, skills, permissions, tools from outside. A submission reads the diff without touching the index.
mod bash;
mod call;
mod classic;
mod editor;
mod filemap;
mod observe;
mod outside;
mod prompt;
mod record;
mod say;
mod shown;
mod submit;
mod text;
mod tools;
mod view;
mod window;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Body, Call, CallForm, Change, Content, Done, Entry, Expect, Item, Marks, Millis, New, Opening,
    Outcome, ReasoningAsk, Reply, Tune, Want, World,
};
use serde_json::json;

use self::call::Input;
use self::record::Record;
use crate::{Compaction, Context, End, Flow, Harness, Moment, Next, Order, Reading};

pub(crate) struct SweAgent;

/// Replies in a row that cannot be carried out end the run.
const MAX_FAILURES: usize = 3;
/// Commands in a row that run out of time end the run.
const MAX_TIMEOUTS: usize = 3;
const INTERRUPTED: &str = "The user interrupted this action; it did not come to its end.";

/// Which of the original's configurations is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Tools,
    Classic,
    Text,
}

impl Form {
    fn of(cx: &Context) -> Form {
        match cx.settings.feature("swe_agent_text", false) {
            true => Form::Text,
            false if cx.settings.feature("swe_agent_classic", false) => Form::Classic,
            false => Form::Tools,
        }
    }
}

impl Harness for SweAgent {
    fn id(&self) -> &'static str {
        "swe-agent"
    }

    fn wants(&self, _cx: &Context, _moment: Moment) -> Vec<Want> {
        Vec::new()
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        say::say(self, cx, new)
    }

    fn view(&self, cx: &Context) -> Option<Vec<Entry>> {
        view::view(cx)
    }

    fn tune(&self, cx: &Context) -> Tune {
        let slug = cx.model.slug.to_lowercase();
        let claude = ["anthropic", "claude"].iter().any(|name| slug.contains(name));
        Tune {
            // The original sends the limit to Anthropic only, whose API demands one.
            max_output: cx.settings.max_output.or(cx.model.max_output.filter(|_| claude)),
            temperature: Some(0.0),
            top_p: Some(1.0),
            reasoning: ReasoningAsk { effort: cx.settings.effort.clone(), ..ReasoningAsk::default() },
            schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
            marks: Marks { last: claude, ..Marks::default() },
            ..Tune::default()
        }
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let record = Record::of(cx);
        match call::read(cx, reply) {
            Ok(call) if call::is_exit(cx, &call) => Reading::Stop(End::Done),
            Ok(call) => {
                let repaired = u32::from(call.form == CallForm::InText && Form::of(cx) != Form::Text);
                Reading::Calls { order: Order::one_by_one(std::slice::from_ref(&call)), calls: vec![call], repaired }
            }
            Err(_) if record.failures + 1 >= MAX_FAILURES => Reading::Stop(End::GaveUp(format!(
                "exit_format: {} gave {MAX_FAILURES} replies in a row that could not be carried out",
                cx.model.slug
            ))),
            Err(misread) => Reading::Again {
                drop_reply: true,
                say: view::pair(cx, reply, &misread.text()),
                keep: false,
                tune: None,
            },
        }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        let record = Record::of(cx);
        match call::parse(cx, call) {
            Ok(Input::Bash(script)) => bash::next(cx, &record, &script, did),
            Ok(Input::Edit(edit)) => editor::next(cx, &record, &edit, did),
            Ok(Input::Classic(command)) => classic::next(cx, &record, &command, did),
            Ok(Input::Submit) => submit::next(cx, &record, did),
            Ok(Input::Outside) => outside::next(cx, &record, call, did),
            // `read` lets no such call through; a resumed session may hold one.
            Err(misread) => {
                let text = misread.text();
                let note = text.lines().next().unwrap_or_default().to_owned();
                Next::Reject { answer: Answer::plain(text), note }
            }
        }
    }

    fn cut_short(&self, cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        observe::observed(cx, INTERRUPTED, &Record::of(cx).state)
    }

    fn after(&self, cx: &Context, step: &[Item]) -> Flow {
        let record = Record::of(cx);
        if let Some(patch) = submit::handed_in(cx, step) {
            return Flow::End(if patch.is_empty() { End::Done } else { End::Submitted(patch) });
        }
        if record.failures >= MAX_FAILURES {
            return Flow::End(End::GaveUp(format!(
                "exit_format: {} gave {MAX_FAILURES} replies in a row that could not be carried out",
                cx.model.slug
            )));
        }
        if record.timeouts >= MAX_TIMEOUTS {
            return Flow::End(End::GaveUp(format!(
                "exit_command_timeout: {MAX_TIMEOUTS} commands in a row took more than {} seconds",
                bash::TIMEOUT / 1000
            )));
        }
        Flow::Step
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        let ask = cx.settings.compact_prompt.clone();
        let mut text = ask.unwrap_or_else(|| include_str!("compact.md").trim_end().to_owned());
        if let Some(hint) = hint.filter(|hint| !hint.trim().is_empty()) {
            text.push_str(&format!("\n\nThe user asks for this in particular: {hint}"));
        }
        Compaction { ask: vec![Entry::User(Content::Plain(text))], tools: true, tune: self.tune(cx) }
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        let task = say::task(cx).unwrap_or_else(|| "see the summary below".to_owned());
        let past = format!(
            "The conversation so far was replaced by this summary. Go on from where it stopped.\n\n{}",
            summary.trim()
        );
        let entries = vec![Entry::User(Content::Plain(prompt::instance(cx, &task))), Entry::User(Content::Plain(past))];
        (self.open(cx), entries)
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let record = Record::of(cx);
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), Outcome::Ran { .. } | Outcome::Refused(_) | Outcome::Failed(_)) => {
                ("bash", json!({"command": run.script}))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) if Form::of(cx) == Form::Tools => {
                match changes.as_slice() {
                    [Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent }] => {
                        let path = cx.settings.cwd.join(path);
                        ("str_replace_editor", json!({"command": "create", "path": path, "file_text": text}))
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let answer = match (&args["command"], name) {
            (_, "bash") => bash::answer(cx, &record, done),
            _ => observe::observed(cx, &editor::created(&args["path"]), &record.state),
        };
        let (name, args, form) = (name.to_owned(), args.to_string(), CallForm::Function);
        Some((Call { id: call.id.clone(), namespace: None, name, args, form }, answer))
    }
}

/// The call of a step had a syntax error: it was not run, and neither it nor its answer stays in the conversation.
fn is_unrun(body: &Body) -> bool {
    matches!(body, Body::Called { did, .. } if bash::syntax_error(did).is_some())
}
