//! `kimi-code`: how Kimi Code 2.1.0 speaks. Measured side by side by `tests/wire/kimi-code`.
//!
//! Left out on purpose, since they belong to the product: the goal tools (CreateGoal, GetGoal, SetGoalBudget, UpdateGoal), the cron
//! tools (CronCreate, CronDelete, CronList), WebSearch (offered by the original with its own search service only), and attachments
//! by `kimi-file://`.
mod agents;
mod args;
mod ask;
mod bash;
mod compact;
mod edit;
mod envelope;
mod fetch;
mod links;
mod media;
mod nested;
mod outside;
mod page;
mod paths;
mod plan;
mod profile;
mod prompt;
mod read;
mod refusal;
mod reminders;
mod repeat;
mod roles;
mod roster;
mod say;
mod schema;
mod search;
mod skill;
mod tasks;
mod todo;
mod tools;
mod write;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Call, CallForm, Content, Done, Entry, Expect, Item, Millis, New, Opening, Outcome, Reply, Stop,
    Tune, Want, World,
};
use serde_json::json;

use self::envelope::Said;
use crate::in_text::{self, InText};
use crate::{AnswerOrder, Compaction, Context, End, Harness, Moment, Next, Order, Reading};

pub(crate) struct KimiCode;

/// Empty replies in a row, after which the turn ends all the same.
const SECOND_TRIES: usize = 3;
const UNREADABLE_CALL: &str = "A tool call stood in the text of your message and could not be read";
const IN_CIRCLES: &str = "the model made the same tool call 12 times in a row and went on in spite of every hint; say what it should do differently, or try another model or harness";

impl Harness for KimiCode {
    fn id(&self) -> &'static str {
        "kimi-code"
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => {
                let listing = Want::Listing {
                    path: cx.settings.cwd.clone(),
                    depth: 2,
                    limit: prompt::LOOKED_AT,
                    respect_ignore: false,
                };
                let mut wants = vec![Want::Date, Want::Home, Want::System, listing];
                if cx.persona.name == "explore" {
                    wants.push(Want::Git);
                }
                wants
            }
            Moment::Turn => vec![Want::Date],
            Moment::Step => Vec::new(),
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
        let native: Vec<Call> = reply.calls().cloned().collect();
        let text = reply.text();
        let (calls, repaired) = match native.is_empty() {
            false => (native, 0),
            true => match in_text::find(&text, &tools::names(cx)) {
                InText::None => return without_calls(cx, reply, &text),
                InText::Unreadable(why) => return unreadable(cx, &why),
                InText::Calls(found) => {
                    let calls = in_text::calls(cx, found, |name| in_text::schema_in(&self.open(cx).tools, name));
                    let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                    (calls, repaired)
                }
            },
        };
        if repeat::is_over(cx) {
            return Reading::Stop(End::GaveUp(IN_CIRCLES.to_owned()));
        }
        let order = Order { groups: groups(&calls), answers: AnswerOrder::Calls };
        Reading::Calls { calls, order, repaired }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if did.is_empty()
            && let Some(answer) = repeat::twin(cx, call)
        {
            return Next::Answer(answer);
        }
        match self.program(cx, call, did) {
            Next::Answer(answer) => Next::Answer(repeat::guarded(cx, call, answer)),
            Next::Reject { answer, note } => Next::Reject { answer: repeat::guarded(cx, call, answer), note },
            go_on => go_on,
        }
    }

    fn cut_short(&self, _cx: &Context, call: &Call, did: &[Done], _ran: Option<Millis>) -> Answer {
        outside::cut_short(call, did)
    }

    fn waits_for_tasks(&self, _cx: &Context) -> bool {
        true
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint)
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), compact::beginning(cx, summary))
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), Outcome::Ran { task: None, .. } | Outcome::Failed(_)) => {
                ("Bash", json!({"command": run.script}))
            }
            // Items keep no whole texts once their call is answered.
            (Action::World(World::Read { path, .. }), Outcome::Text { text, stamp, .. })
                if !text.is_empty() || stamp.len == 0 =>
            {
                ("Read", json!({"path": path}))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [protocol::Change { path, to: None, new: New::Whole { text, .. }, expect }]
                    if *expect != Expect::Exists =>
                {
                    ("Write", json!({"path": path, "content": text}))
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
        match self.program(cx, &call, did) {
            Next::Answer(answer) => Some((call, answer)),
            _ => None,
        }
    }
}

impl KimiCode {
    /// The call's own program, whatever was called before.
    fn program(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return outside::next(call, did);
        }
        let name = call.name.as_str();
        if !tools::names(cx).contains(&name) {
            return rejected(name, format!("Tool \"{name}\" not found"));
        }
        let args = match args::parse(name, &call.args) {
            Ok(args) => args,
            Err(text) => return rejected(name, text),
        };
        let id = call.id.as_str();
        match name {
            "Agent" => agents::agent(cx, call, &args, did),
            "AgentSwarm" => agents::swarm(cx, call, &args, did),
            "AskUserQuestion" => ask::next(cx, &args, did),
            "Bash" => bash::next(cx, id, &args, did),
            "Edit" => edit::next(cx, &args, did),
            "EnterPlanMode" => plan::enter(cx, did),
            "ExitPlanMode" => plan::exit(cx, did),
            "FetchURL" => fetch::next(id, &args, did),
            "Glob" => search::glob(cx, id, &args, did),
            "Grep" => search::grep(cx, id, &args, did),
            "Read" => read::next(cx, &args, did),
            "ReadMediaFile" => media::next(cx, &args, did),
            "Skill" => skill::next(cx, &args, did),
            "TaskList" => tasks::list(cx, call, &args, did),
            "TaskOutput" => tasks::output(cx, call, &args, did),
            "TaskStop" => tasks::stop(cx, call, &args, did),
            "TodoList" => todo::next(cx, &args, did),
            "WaitFor" => tasks::wait(cx, call, &args, did),
            _ => write::next(cx, &args, did),
        }
    }
}

fn rejected(name: &str, text: String) -> Next {
    let timed = if tools::is_ours(name) { name } else { "" };
    Next::Reject { answer: Said::failed(text.clone()).answer(timed, &[]), note: text }
}

/// A reply without calls ends the turn; one without anything at all is asked for again.
fn without_calls(cx: &Context, reply: &Reply, text: &str) -> Reading {
    let again = text.trim().is_empty() && reply.stop != Stop::Cut && dropped_before(cx) < SECOND_TRIES;
    match again {
        true => Reading::Again { drop_reply: true, say: Vec::new(), keep: false, tune: None },
        false => Reading::Stop(End::Done),
    }
}

/// Ours: the original takes such text for an answer.
fn unreadable(cx: &Context, why: &str) -> Reading {
    let told =
        cx.said.last().is_some_and(|entry| matches!(entry, Entry::User(c) if c.text().contains(UNREADABLE_CALL)));
    if told {
        return Reading::Stop(End::GaveUp(format!(
            "{} writes tool calls as text that cannot be read ({why}); the server does not parse them: switch on its tool-call parser, or choose another harness",
            cx.model.slug
        )));
    }
    let text =
        reminders::reminder(&format!("{UNREADABLE_CALL} ({why}). Call the tool through the interface for tool calls."));
    Reading::Again { drop_reply: false, say: vec![Entry::User(Content::Plain(text))], keep: true, tune: None }
}

/// Replies in a row before this one that were dropped.
fn dropped_before(cx: &Context) -> usize {
    let mut dropped = 0;
    for item in cx.items.iter().rev() {
        match &item.body {
            protocol::Body::Read { dropped: true, .. } => dropped += 1,
            protocol::Body::Called { .. } | protocol::Body::User { .. } => break,
            _ => {}
        }
    }
    dropped
}

/// Calls that only look, and sub-agents, run side by side; every other one alone. An equal call waits for the first.
fn groups(calls: &[Call]) -> Vec<Vec<protocol::CallId>> {
    let mut groups: Vec<(bool, Vec<protocol::CallId>)> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let looks = matches!(
            call.name.as_str(),
            "Read" | "ReadMediaFile" | "Glob" | "Grep" | "FetchURL" | "Agent" | "TaskList"
        );
        let twin = repeat::is_twin(calls, at);
        match groups.last_mut() {
            Some((true, group)) if looks && !twin => group.push(call.id.clone()),
            _ => groups.push((looks && !twin, vec![call.id.clone()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
