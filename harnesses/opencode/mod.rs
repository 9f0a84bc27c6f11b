//! `opencode`: how OpenCode 1.18.33 speaks in `opencode run`. Measured side by side by `tests/wire/opencode`.
//!
//! Left out on purpose, being about the product: the built-in skill `customize-opencode`, the request for a title, and in the prompt
//! what is said of the program's own help, feedback and documentation. `lsp`, `question` and `websearch` are not offered by the
//! original's `run` either.
mod args;
mod bash;
mod compact;
mod delegate;
mod edit;
mod fetch;
mod instructions;
mod json_error;
mod matching;
mod overflow;
mod patch;
mod prompt;
mod read;
mod refusal;
mod search;
mod tools;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use protocol::{
    Action, Answer, Call, CallForm, Change, Content, Done, Entry, Expect, Item, Millis, New, Notice, Opening, Outcome,
    Part, Reply, Settings, Stop, Tune, Want, World,
};
use serde_json::json;

use self::args::{Bad, Input};
use crate::claude_code_bare::record::plain;
use crate::history::{self, Voice};
use crate::in_text::{self, Heard};
use crate::{Compaction, Context, End, Harness, Moment, Next, Order, Reading, outside};

pub(crate) struct Opencode;

/// Who speaks: the agent of the user's, or one of the two kinds that `task` starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Main,
    Explore,
    General,
}

fn agent(cx: &Context) -> Agent {
    match cx.persona.name.as_str() {
        "explore" => Agent::Explore,
        "general" => Agent::General,
        _ => Agent::Main,
    }
}

/// Ours: the original ends a run with such a reply, unseen.
const NOTHING_SAID: &str = "Your last message was empty. Go on with the task, or say how it ended.";

impl Harness for Opencode {
    fn id(&self) -> &'static str {
        "opencode"
    }

    fn wants(&self, _cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![Want::Date, Want::System, Want::Git],
            Moment::Turn | Moment::Step => Vec::new(),
        }
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        history::say(self, cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        prompt::tune(cx)
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let calls: Vec<Call> = reply.calls().cloned().collect();
        if !calls.is_empty() {
            // A name in another case is mended, as the original does.
            let mended = calls.iter().filter(|call| args::name(cx, call).is_some_and(|name| name != call.name)).count();
            let repaired = u32::try_from(mended).unwrap_or(u32::MAX);
            return Reading::Calls { order: Order::together(&calls), calls, repaired };
        }
        let again = |drop_reply: bool, text: String| Reading::Again {
            drop_reply,
            say: vec![Entry::User(Content::Plain(reminder(&text)))],
            keep: true,
            tune: None,
        };
        let text = reply.text();
        match in_text::hear(cx, &text, &tools::names(cx), |name| in_text::schema_in(&self.open(cx).tools, name)) {
            Heard::Text => {}
            Heard::Calls(calls) => {
                let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                return Reading::Calls { order: Order::together(&calls), calls, repaired };
            }
            Heard::GaveUp(why) => return Reading::Stop(End::GaveUp(why)),
            Heard::Ask(text) => return again(false, text),
        }
        let empty = text.trim().is_empty() && matches!(reply.stop, Stop::End | Stop::Calls | Stop::Other(_));
        match empty && !in_text::last_said(cx, NOTHING_SAID) {
            true => again(true, NOTHING_SAID.to_owned()),
            false => Reading::Stop(End::Done),
        }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return outside(cx, call, did);
        }
        let input = match args::parse(cx, call) {
            Ok(input) => input,
            Err(Bad::Schema(text)) => {
                let note = text.lines().take(2).collect::<Vec<_>>().join(" ");
                return Next::Reject { answer: Answer::failed(text), note };
            }
            Err(Bad::Uncallable(error)) => {
                let note = error.lines().next().unwrap_or_default().to_owned();
                return Next::Reject { answer: invalid(&error), note };
            }
        };
        match input {
            Input::Bash { command, timeout, workdir } => bash::next(cx, &command, timeout, workdir.as_deref(), did),
            Input::Edit { path, old, new, all } => edit::next(cx, &edit::Edit { path, old, new, all }, did),
            Input::Glob { pattern, path } => search::glob(cx, &pattern, path.as_deref(), did),
            Input::Grep { pattern, path, include } => search::grep(cx, &pattern, path.as_deref(), include, did),
            Input::Patch(text) => patch::next(cx, &text, did),
            Input::Read { path, offset, limit } => read::next(cx, &read::Asked { path, offset, limit }, did),
            Input::Skill(name) => delegate::skill(cx, &name, did),
            Input::Task { description, prompt, kind, resume } => delegate::task(description, prompt, kind, resume, did),
            Input::Todos(todos) => delegate::todos(&todos, did),
            Input::Fetch { url, format } => fetch::next(cx, &url, format, did),
            Input::Write { path, content } => write::next(cx, &path, &content, did),
            Input::Invalid(error) => Next::Answer(invalid(&error)),
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::failed(refusal::ABORTED)
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        let mut entries = compact::beginning(summary);
        entries.extend(history::unanswered(self, cx));
        (self.open(cx), entries)
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), _) => {
                let mut args = json!({"command": run.script});
                if let Some(cwd) = run.cwd.as_ref().filter(|cwd| **cwd != cx.settings.cwd) {
                    args["workdir"] = json!(cwd);
                }
                ("bash", args)
            }
            (Action::World(World::Read { path, .. }), Outcome::Text { text, .. }) if !text.is_empty() => {
                ("read", json!({"filePath": path}))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [
                    Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent | Expect::Anything },
                ] => ("write", json!({"content": text, "filePath": path})),
                _ => return None,
            },
            _ => return None,
        };
        if !tools::names(cx).contains(&name) {
            return None;
        }
        let args = args.to_string();
        let call = Call { id: call.id.clone(), namespace: None, name: name.to_owned(), args, form: CallForm::Function };
        let answer = match (name, self.next(cx, &call, did)) {
            ("write", _) => Answer::plain(write::WROTE),
            (_, Next::Answer(answer)) => answer,
            // A long output, whose file a past call cannot have.
            ("bash", _) => bash::unsaved(&done.outcome),
            _ => return None,
        };
        Some((call, answer))
    }
}

impl Voice for Opencode {
    fn prompt(&self, _cx: &Context, parts: &[Part]) -> Content {
        match parts {
            [Part::Text(text)] => Content::Plain(text.clone()),
            _ => Content::Parts(parts.to_vec()),
        }
    }

    fn notice(&self, _cx: &Context, notice: &Notice) -> Option<String> {
        Some(match notice {
            Notice::HookContext { event, text } => reminder(&format!("{event} hook: {text}")),
            Notice::TaskEnded { command, exit, output, .. } => reminder(&format!(
                "The background command \"{command}\" ended with exit code {}. Its last output:\n{}",
                exit.code().unwrap_or(0),
                output.shrunk(4_000).text.trim()
            )),
            Notice::AgentReported { id, text } => delegate::report(id, text),
            _ => return None,
        })
    }

    fn changed(&self, cx: &Context, settings: &Settings) -> Option<String> {
        prompt::changed(cx, settings)
    }

    fn tools(&self, cx: &Context) -> Vec<&'static str> {
        tools::names(cx)
    }

    fn knows(&self, cx: &Context, call: &Call) -> bool {
        args::parse(cx, call).is_ok()
    }

    fn echo(&self, cx: &Context, call: &Call) -> Call {
        args::echo(cx, call)
    }
}

fn outside(_cx: &Context, call: &Call, did: &[Done]) -> Next {
    match did.first() {
        None => match outside::action(call) {
            Some(action) => Next::Do(vec![action]),
            None => {
                let why = json_error::message(&call.args);
                let error = format!(
                    "Invalid input for tool {}: JSON parsing failed: Text: {}.\nError message: {why}",
                    call.name, call.args
                );
                Next::Reject { answer: invalid(&error), note: why }
            }
        },
        Some(done) => Next::Answer(outside::answer(&done.outcome).unwrap_or_else(|| refusal::told(&done.outcome))),
    }
}

fn invalid(error: &str) -> Answer {
    Answer::plain(format!("The arguments provided to the tool are invalid: {error}"))
}

pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// A path of the model's without `.` and `..`; relative ones start in the thread's folder.
fn absolute(cx: &Context, path: &str) -> PathBuf {
    plain(&cx.settings.cwd.join(path))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
