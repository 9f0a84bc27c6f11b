//! `claude-code-bare`: how Claude Code 2.1.332 speaks with `--bare`: a system text of two lines, the tools Bash, Edit and Read,
//! reading before editing, and results in its words. Measured side by side by `tests/wire/claude-bare`.
pub(crate) mod args;
pub(crate) mod bash;
pub(crate) mod compact;
pub(crate) mod edit;
mod image;
pub(crate) mod matching;
pub(crate) mod nearby;
pub(crate) mod notebook;
pub(crate) mod outside;
pub(crate) mod profile;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod say;
pub(crate) mod schema;
pub(crate) mod shell;
mod tools;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Body, Call, CallForm, Content, Done, Entry, Expect, Item, Millis, New, Notice, Opening, Outcome,
    Part, Reply, Stop, Tune, Want, World,
};
use serde_json::json;

use self::{args::Input, say::Voice};
use crate::in_text::{self, InText};
use crate::{AnswerOrder, Compaction, Context, End, Harness, Moment, Next, Order, Reading};

pub(crate) struct ClaudeCodeBare;

/// Replies without an answer in a row, after which the turn ends all the same.
const SECOND_TRIES: usize = 3;

const NOTHING_SAID: &str =
    "[Your last response showed the user nothing. Go on, and answer with something that can be seen.]";
const CUT_OFF: &str = "Output token limit hit. Go on right where the text broke off, without an apology and without repeating what was said. Split what is left into smaller pieces.";

const UNREADABLE_CALL: &str = "A tool call stood in the text of your message and could not be read";

impl Harness for ClaudeCodeBare {
    fn id(&self) -> &'static str {
        "claude-code-bare"
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
        say::say(self, cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        profile::tune(cx)
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let calls: Vec<Call> = reply.calls().cloned().collect();
        if !calls.is_empty() {
            let order = Order { groups: groups(&calls), answers: AnswerOrder::Done };
            return Reading::Calls { calls, order, repaired: 0 };
        }
        let again = |drop_reply: bool, text: &str| Reading::Again {
            drop_reply,
            say: vec![Entry::User(Content::Plain(prompt::reminder(text)))],
            keep: true,
            tune: None,
        };
        let text = reply.text();
        match in_text::find(&text, &args::TOOLS) {
            InText::None => {}
            InText::Calls(found) => return in_text_calls(cx, found),
            InText::Unreadable(why) => {
                let told =
                    cx.said.last().is_some_and(|e| matches!(e, Entry::User(c) if c.text().contains(UNREADABLE_CALL)));
                if told {
                    return Reading::Stop(End::GaveUp(format!(
                        "{} writes tool calls as text that cannot be read ({why}); the server does not parse them: switch on its tool-call parser, or choose another harness",
                        cx.model.slug
                    )));
                }
                return again(
                    false,
                    &format!("{UNREADABLE_CALL} ({why}). Call the tool through the interface for tool calls."),
                );
            }
        }
        let empty = text.trim().is_empty();
        match reply.stop {
            Stop::Length if !empty && cut_before(cx, reply) < SECOND_TRIES => again(false, CUT_OFF),
            Stop::End | Stop::Calls | Stop::Other(_) if empty && dropped_before(cx) < SECOND_TRIES => {
                again(true, NOTHING_SAID)
            }
            _ => Reading::Stop(End::Done),
        }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return outside::next(call, did);
        }
        match args::parse(&call.name, &call.args) {
            Ok(Input::Bash(bash)) => bash::next(cx, &bash, did),
            Ok(Input::Edit(edit)) => edit::next(cx, &edit, profile::reads_first(cx.model), did),
            Ok(Input::Read(read)) => read::next(cx, &read, did),
            Err(text) => {
                let bare = text.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
                let note = bare.lines().take(2).collect::<Vec<_>>().join(" ");
                Next::Reject { answer: Answer::failed(text), note }
            }
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::failed(refusal::REJECTED)
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), compact::beginning(cx, summary))
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), Outcome::Ran { .. } | Outcome::Refused(_) | Outcome::Failed(_)) => {
                ("Bash", json!({"command": run.script}))
            }
            (Action::World(World::Read { path, .. }), Outcome::Text { .. } | Outcome::Failed(_)) => {
                ("Read", json!({"file_path": path}))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [protocol::Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent }] => {
                    ("Edit", json!({"replace_all": false, "file_path": path, "old_string": "", "new_string": text}))
                }
                _ => return None,
            },
            _ => return None,
        };
        let call = Call {
            id: call.id.clone(),
            namespace: None,
            name: name.to_owned(),
            args: args.to_string(),
            form: CallForm::Function,
        };
        // Some answers need a further look (a long output, say), which a past call cannot have.
        match (name, self.next(cx, &call, did)) {
            (_, Next::Answer(answer)) => Some((call, answer)),
            ("Bash", _) => match args::parse("Bash", &call.args) {
                Ok(Input::Bash(bash)) => {
                    let answer = bash::answer(cx, &bash, &record::Record::of(cx), did);
                    Some((call, answer))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl Voice for ClaudeCodeBare {
    fn context(&self, cx: &Context) -> Vec<Part> {
        prompt::context(cx)
    }

    fn notice(&self, _cx: &Context, notice: &Notice) -> Option<String> {
        Some(prompt::reminder(&match notice {
            Notice::HookContext { event, text } => prompt::hook(event, text),
            Notice::TaskEnded { task, command, exit, output } => format!(
                "Background command \"{command}\" (task {}) ended with exit code {}. Its last output:\n{}",
                task.0,
                exit.code().unwrap_or(0),
                output.shrunk(4_000).text.trim()
            ),
            Notice::AgentReported { id, text } => format!("Agent {id} reports:\n{text}"),
            _ => return None,
        }))
    }

    fn tools(&self, _cx: &Context) -> Vec<&'static str> {
        args::TOOLS.to_vec()
    }

    fn knows(&self, _cx: &Context, call: &Call) -> bool {
        args::parse(&call.name, &call.args).is_ok()
    }

    fn echo(&self, _cx: &Context, call: &Call) -> Call {
        Call { args: args::echo(&call.name, &call.args), ..call.clone() }
    }
}

/// Calls that the server left in the text.
fn in_text_calls(cx: &Context, found: Vec<in_text::TextCall>) -> Reading {
    let calls = in_text::calls(cx, found);
    let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    let order = Order { groups: groups(&calls), answers: AnswerOrder::Done };
    Reading::Calls { calls, order, repaired }
}

/// Calls that only look run together; every other one runs alone, in its place.
fn groups(calls: &[Call]) -> Vec<Vec<protocol::CallId>> {
    let mut groups: Vec<(bool, Vec<protocol::CallId>)> = Vec::new();
    for call in calls {
        let looks = match args::parse(&call.name, &call.args) {
            Ok(Input::Read(_)) | Err(_) => true,
            Ok(Input::Bash(bash)) => shell::only_looks(&bash.command),
            Ok(Input::Edit(_)) => false,
        };
        // A name of ours that is not: a tool from outside, which may do anything.
        let looks = looks && (args::TOOLS.contains(&call.name.as_str()) || !call.name.contains("__"));
        match groups.last_mut() {
            Some((true, group)) if looks => group.push(call.id.clone()),
            _ => groups.push((looks, vec![call.id.clone()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Replies in a row before this one that were dropped.
fn dropped_before(cx: &Context) -> usize {
    let mut dropped = 0;
    for item in cx.items.iter().rev() {
        match &item.body {
            Body::Read { dropped: true, .. } => dropped += 1,
            Body::Called { .. } | Body::User { .. } => break,
            _ => {}
        }
    }
    dropped
}

/// Replies in a row before this one that hit the output limit.
fn cut_before(cx: &Context, reply: &Reply) -> usize {
    let replies = cx.items.iter().rev().filter_map(|item| match &item.body {
        Body::Reply { reply, .. } => Some(reply),
        _ => None,
    });
    replies.skip_while(|past| past.id == reply.id).take_while(|past| past.stop == Stop::Length).count()
}
