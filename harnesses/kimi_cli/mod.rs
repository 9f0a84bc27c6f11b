//! `kimi-cli`: how the Python kimi-cli 1.52.0 spoke, which Kimi K2 and K2-thinking were shown: Shell, ReadFile, StrReplaceFile and
//! the others, results in `<system>` tags, pydantic's words for wrong arguments. Formats from recordings of its own code.
//!
//! Left out: SearchWeb (a service of the vendor's), FetchURL's service mode, `Think`, SendDMail (not in its default agent), the
//! device headers, video input, a file with all of a task's output. Ours beside it: the sandbox in the system text, tools from
//! outside, calls found in the text of a reply, `harness_guidance`. A summary is asked for at the end of the conversation.
mod args;
mod clock;
mod compact;
mod guard;
mod paths;
mod plan;
mod prompt;
mod python;
mod read;
mod record;
mod refusal;
mod result;
mod say;
mod schema;
mod search;
mod shell;
mod tasks;
mod thread_tools;
mod tools;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Body, Call, CallForm, Change, Done, Entry, Expect, Item, Millis, New, Opening, Outcome, Raw,
    ReasoningAsk, Refusal, Reply, Stop, Tune, Want, WireId, World,
};
use serde_json::json;

use self::args::Args;
use self::record::Record;
use self::result::Said;
use crate::in_text::{self, InText};
use crate::{AnswerOrder, Compaction, Context, End, Flow, Harness, Moment, Next, Order, Reading};

pub(crate) struct KimiCli;

/// Attempts for one step that comes back empty.
const ATTEMPTS: usize = 3;
/// Entries of the working directory that are looked at for the listing.
const LISTED: usize = 2_000;
/// Tokens that stay free beside prompt and answer.
const SPARE: u64 = 1_024;
const MEDIA_TOKENS: u64 = 2_000;

/// What a tool does next.
enum Step {
    Do(Vec<Action>),
    Tell(Said),
}

impl Harness for KimiCli {
    fn id(&self) -> &'static str {
        "kimi-cli"
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![
                Want::Date,
                Want::System,
                Want::Home,
                Want::Listing { path: cx.settings.cwd.clone(), depth: 2, limit: LISTED, respect_ignore: false },
            ],
            Moment::Turn | Moment::Step => Vec::new(),
        }
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        say::say(self, cx, new)
    }

    fn view(&self, cx: &Context) -> Option<Vec<Entry>> {
        say::view(cx)
    }

    fn tune(&self, cx: &Context) -> Tune {
        // A model that only thinks needs no switch; the effort goes with it where the user sets one.
        let effort = cx.settings.effort.as_deref().filter(|effort| *effort != "none");
        let thinks = cx.model.slug.to_lowercase().contains("thinking") || effort.is_some();
        let effort = effort.map(|effort| match effort {
            "minimal" | "low" => "low",
            "high" | "xhigh" => "high",
            other => other,
        });
        // Of a model that is not known the window is a guess, and a server may refuse to answer at such length.
        let room = cx.model.known.then(|| cx.model.context_window.saturating_sub(used(cx) + SPARE).max(SPARE));
        Tune {
            max_output: cx
                .settings
                .max_output
                .or(room.map(|room| cx.model.max_output.map_or(room, |most| most.min(room)))),
            reasoning: ReasoningAsk {
                effort: effort.map(str::to_owned),
                enabled: cx.model.reasoning.then_some(thinks),
                ..ReasoningAsk::default()
            },
            schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
            cache_key: Some(cx.thread.as_str().to_owned()),
            extras: vec![(WireId::Chat, "prompt_cache_key".into(), Raw::of(cx.thread.as_str()))],
            ..Tune::default()
        }
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let calls: Vec<Call> = reply.calls().cloned().collect();
        if !calls.is_empty() {
            return Reading::Calls { order: order(&calls), calls, repaired: 0 };
        }
        let text = reply.text();
        if let InText::Calls(found) = in_text::find(&text, &tools::names(cx)) {
            let calls = in_text::calls(cx, found, |name| in_text::schema_in(&self.open(cx).tools, name));
            let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
            return Reading::Calls { order: order(&calls), calls, repaired };
        }
        if !text.trim().is_empty() || matches!(reply.stop, Stop::Cut | Stop::Filter) {
            return Reading::Stop(End::Done);
        }
        if dropped_before(cx) + 1 >= ATTEMPTS {
            return Reading::Stop(End::GaveUp(format!("{} gave {ATTEMPTS} empty responses in a row", cx.model.slug)));
        }
        Reading::Again { drop_reply: true, say: Vec::new(), keep: false, tune: None }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        let record = Record::of(cx);
        if did.is_empty()
            && let Some(answer) = answered_before(cx, call)
        {
            return Next::Answer(answer);
        }
        let (step, failure) = match args::parse(cx, call) {
            Ok((name, args)) => (self::step(cx, &record, name, &args, did), None),
            Err(_) if cx.extra_tools.iter().any(|tool| tool.name == call.name) => {
                (thread_tools::outside(call, did), None)
            }
            Err(message) => (Step::Tell(Said::failed(&message)), Some(message)),
        };
        match (step, failure) {
            (Step::Do(actions), _) => Next::Do(actions),
            (Step::Tell(said), None) => Next::Answer(guard::mark(&record, call, said.answer())),
            (Step::Tell(said), Some(message)) => {
                let note = message.lines().take(3).collect::<Vec<_>>().join(" ");
                Next::Reject { answer: guard::mark(&record, call, said.answer()), note }
            }
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Said::failed(refusal::INTERRUPTED).answer()
    }

    fn after(&self, cx: &Context, step: &[Item]) -> Flow {
        let rejected = step.iter().any(|item| match &item.body {
            Body::Called { did, .. } => did.iter().any(|done| {
                matches!(&done.outcome, Outcome::Refused(Refusal::User { feedback: None } | Refusal::Cancelled))
            }),
            _ => false,
        });
        if rejected {
            return Flow::End(End::Done);
        }
        let record = Record::of(cx);
        let stuck = step.iter().find_map(|item| match &item.body {
            Body::Reply { reply, .. } => reply.calls().find(|call| record.repeats(call) >= guard::LAST).cloned(),
            _ => None,
        });
        match stuck {
            Some(call) => Flow::End(End::GaveUp(format!(
                "{} called {} {} times in a row with the same arguments",
                cx.model.slug,
                call.name,
                guard::LAST
            ))),
            None => Flow::Step,
        }
    }

    fn waits_for_tasks(&self, _cx: &Context) -> bool {
        true
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), compact::beginning(cx, summary))
    }

    fn resay(&self, _cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args, said) = match (&done.action, &done.outcome) {
            (
                Action::World(World::Run(run)),
                Outcome::Ran { task: None, .. } | Outcome::Refused(_) | Outcome::Failed(_),
            ) => {
                let args = json!({"command": run.script});
                let map = args.as_object().cloned().unwrap_or_default();
                ("Shell", args, shell::told(&Args(map), done))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent }] => {
                    let said = format!("File successfully overwritten. Current size: {} bytes.", text.len());
                    ("WriteFile", json!({"path": path, "content": text}), Said::ok(said))
                }
                _ => return None,
            },
            _ => return None,
        };
        let (name, args, form) = (name.to_owned(), args.to_string(), CallForm::Function);
        Some((Call { id: call.id.clone(), namespace: None, name, args, form }, said.answer()))
    }
}

fn step(cx: &Context, record: &Record, name: &str, args: &Args, did: &[Done]) -> Step {
    match name {
        "Agent" => thread_tools::agent(record, args, did),
        "AskUserQuestion" => thread_tools::ask(args, did),
        "SetTodoList" => thread_tools::todo(record, args, did),
        "Shell" => shell::step(args, did),
        "TaskList" => tasks::list(record, args, did),
        "TaskOutput" => tasks::output(record, args, did),
        "TaskStop" => tasks::stop(record, args, did),
        "ReadFile" => read::file(cx, args, did),
        "ReadMediaFile" => read::media(cx, args, did),
        "Glob" => search::glob(cx, args, did),
        "Grep" => search::grep(cx, args, did),
        "WriteFile" => write::write(cx, args, did),
        "StrReplaceFile" => write::replace(cx, args, did),
        "FetchURL" => thread_tools::fetch(args, did),
        "ExitPlanMode" => plan::exit(cx, did),
        "EnterPlanMode" => plan::enter(cx, did),
        name => Step::Tell(Said::failed(args::unknown(name))),
    }
}

/// All at once; of equal calls the later ones wait for the first, and get its answer.
fn order(calls: &[Call]) -> Order {
    let keys: Vec<String> = calls.iter().map(args::canonical).collect();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for (n, call) in calls.iter().enumerate() {
        let group = if keys[..n].contains(&keys[n]) { &mut again } else { &mut first };
        group.push(call.id.clone());
    }
    let groups = [first, again].into_iter().filter(|group| !group.is_empty()).collect();
    Order { groups, answers: AnswerOrder::Calls }
}

/// The answer to an equal call of the same reply.
fn answered_before(cx: &Context, call: &Call) -> Option<Answer> {
    let at = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. }))?;
    let Body::Reply { reply, .. } = &cx.items[at].body else { return None };
    let read = cx.items[at..].iter().find_map(|item| match &item.body {
        Body::Read { calls, .. } => Some(calls.clone()),
        _ => None,
    });
    let calls = read.unwrap_or_else(|| reply.calls().cloned().collect());
    let key = args::canonical(call);
    let before = calls.iter().take_while(|other| other.id != call.id).find(|other| args::canonical(other) == key)?;
    cx.items[at..].iter().find_map(|item| match &item.body {
        Body::Called { call, answer, .. } if *call == before.id => Some(answer.clone()),
        _ => None,
    })
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

/// Tokens of the conversation, as the last reply's usage has them; before it, by a rough count of the opening.
fn used(cx: &Context) -> u64 {
    let last = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Reply { reply, .. } => Some(reply.usage.total()),
        _ => None,
    });
    let texts: usize = match last {
        Some(_) => 0,
        None => prompt::open(cx).instructions.iter().map(|(_, text)| text.text().len()).sum::<usize>() + 30_000,
    };
    last.unwrap_or_default() + texts as u64 / 4 + last.map_or(0, |_| MEDIA_TOKENS)
}
