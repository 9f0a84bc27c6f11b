//! `pi`: how pi 0.73.1 speaks in `pi -p`: a short system text, the tools read, bash, edit and write, results without numbers or tags.
//! Measured side by side by `tests/wire/pi`.
//!
//! Left out on purpose: what its prompt says of pi's own documentation. `grep`, `find` and `ls` are off in the original unless asked for.
pub(crate) mod args;
mod bash;
mod compact;
pub(crate) mod edit;
mod matching;
mod partial;
mod prompt;
mod read;
pub(crate) mod refusal;
mod tools;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use protocol::{
    Action, Answer, Body, Call, CallForm, Change, Content, Done, Entry, Expect, Fact, Item, Millis, New, Notice,
    Opening, Outcome, Part, Reply, Settings, Stop, Tune, Want, World,
};
use serde_json::json;

use self::args::Input;
use crate::claude_code_bare::prompt::{permissions, reminder};
use crate::claude_code_bare::record::plain;
use crate::history::{self, Voice};
use crate::in_text::{self, Heard};
use crate::{Compaction, Context, End, Harness, Moment, Next, Order, Reading, outside};

pub(crate) struct Pi;

/// Ours: the original ends a run with such a reply, unseen.
const NOTHING_SAID: &str = "Your last message was empty. Go on with the task, or say how it ended.";

impl Harness for Pi {
    fn id(&self) -> &'static str {
        "pi"
    }

    fn wants(&self, _cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![Want::Date, Want::Home],
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
            let mended = calls.iter().filter(|call| args::is_mended(&call.args)).count();
            let repaired = u32::try_from(mended).unwrap_or(u32::MAX);
            return Reading::Calls { order: Order::together(&calls), calls, repaired };
        }
        let again = |drop_reply: bool, text: String| Reading::Again {
            drop_reply,
            say: vec![Entry::User(Content::Parts(vec![Part::Text(reminder(&text))]))],
            keep: true,
            tune: None,
        };
        let text = reply.text();
        match in_text::hear(cx, &text, &tools::NAMES, |name| in_text::schema_in(&self.open(cx).tools, name)) {
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
            return match did.first() {
                None => match outside::action(call) {
                    Some(action) => Next::Do(vec![action]),
                    None => rejected(args::unreadable(&call.name, &call.args)),
                },
                Some(done) => {
                    Next::Answer(outside::answer(&done.outcome).unwrap_or_else(|| refusal::told(&done.outcome)))
                }
            };
        }
        if !tools::offers(cx, &call.name) {
            return rejected(format!("Tool {} not found", call.name));
        }
        match args::parse(&call.name, &call.args) {
            Ok(Input::Read(asked)) => read::next(cx, &asked, did),
            Ok(Input::Bash { command, timeout }) => bash::next(cx, &command, timeout, did),
            Ok(Input::Edit { path, edits }) => edit::next(cx, &path, &edits, did),
            Ok(Input::Write { path, content }) => write::next(cx, &path, &content, did),
            Err(text) => rejected(text),
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::failed(refusal::ABORTED)
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        let mut entries = vec![compact::beginning(summary)];
        entries.extend(history::unanswered(self, cx));
        (self.open(cx), entries)
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), _) => ("bash", json!({"command": run.script})),
            (Action::World(World::Read { path, .. }), Outcome::Text { text, .. }) if !text.is_empty() => {
                ("read", json!({"path": path}))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [
                    Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent | Expect::Anything },
                ] => ("write", json!({"path": path, "content": text})),
                _ => return None,
            },
            _ => return None,
        };
        let args = args.to_string();
        let call = Call { id: call.id.clone(), namespace: None, name: name.to_owned(), args, form: CallForm::Function };
        let answer = match (name, self.next(cx, &call, did)) {
            (_, Next::Answer(answer)) => answer,
            // A long output, whose file a past call cannot have.
            ("bash", _) => bash::unsaved(&done.outcome),
            _ => return None,
        };
        Some((call, answer))
    }
}

impl Voice for Pi {
    fn prompt(&self, _cx: &Context, parts: &[Part]) -> Content {
        Content::Parts(parts.to_vec())
    }

    fn notice(&self, _cx: &Context, notice: &Notice) -> Option<String> {
        Some(match notice {
            Notice::HookContext { event, text } => reminder(&format!("{event} hook: {text}")),
            Notice::TaskEnded { command, exit, output, .. } => reminder(&format!(
                "The background command \"{command}\" ended with exit code {}. Its last output:\n{}",
                exit.code().unwrap_or(0),
                output.shrunk(4_000).text.trim()
            )),
            Notice::AgentReported { id, text } => reminder(&format!("Agent {id} reports:\n{text}")),
            _ => return None,
        })
    }

    fn changed(&self, cx: &Context, settings: &Settings) -> Option<String> {
        let text = permissions(settings)?;
        (permissions(cx.settings).as_ref() == Some(&text)).then(|| reminder(&text))
    }

    fn tools(&self, _cx: &Context) -> Vec<&'static str> {
        tools::NAMES.to_vec()
    }

    fn knows(&self, _cx: &Context, call: &Call) -> bool {
        tools::NAMES.contains(&call.name.as_str()) && args::parse(&call.name, &call.args).is_ok()
    }

    fn echo(&self, _cx: &Context, call: &Call) -> Call {
        Call { args: args::echo(&call.name, &call.args), ..call.clone() }
    }
}

fn rejected(text: String) -> Next {
    let note = text.lines().take(2).collect::<Vec<_>>().join(" ");
    Next::Reject { answer: Answer::failed(text), note }
}

/// A path of the model's: an `@` in front is dropped, odd blanks are blanks, `~` is the home folder.
pub(crate) fn absolute(cx: &Context, path: &str) -> PathBuf {
    let path = path.strip_prefix('@').unwrap_or(path);
    let path: String = path.chars().map(|c| if matching::is_odd_blank(c) { ' ' } else { c }).collect();
    let home = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Home(home)) => home.as_ref(),
        _ => None,
    });
    match (home, path.strip_prefix('~')) {
        (Some(home), Some("")) => home.clone(),
        (Some(home), Some(below)) if below.starts_with('/') => plain(&home.join(below.trim_start_matches('/'))),
        _ => plain(&cx.settings.cwd.join(path)),
    }
}
