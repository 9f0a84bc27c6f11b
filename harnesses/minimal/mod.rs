//! `minimal`: for small and unknown models. One tool, `bash`; with the feature `minimal_four_tools` also `read`, `write` and `edit`;
//! with `minimal_text` no tools but a block of the shell at the end of a reply. One short system message, flat schemas, roles in
//! strict turn. No other program has it: the design is ours, after mini-swe-agent (one tool) and pi (four).
mod args;
mod bash;
mod prompt;
mod read;
mod text;
mod tools;
mod turns;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Block, BlockKind, Body, Call, CallForm, Change, Content, Done, Entry, Expect, Item, Millis, New,
    Notice, Opening, Origin, Outcome, Part, Reply, Settings, Stop, Tune, Want, WireId, World,
};
use serde_json::json;

use self::args::Input;
use crate::claude_code_bare::prompt::permissions;
use crate::history::{self, Voice};
use crate::in_text::{self, InText};
use crate::pi::{self, refusal};
use crate::{Compaction, Context, End, Flow, Harness, Moment, Next, Order, Reading, outside};

pub(crate) struct Minimal;

/// Replies in a row that cannot be carried out end the turn.
const MAX_BAD: usize = 3;
const EMPTY: &str = "Your message was empty. Go on with the task, or say how it ended.";
const CUT_OFF: &str =
    "Your message hit the output limit before its end, so nothing of it was run. Go on in smaller steps.";
const COMPACT: &str = include_str!("compact.md");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Bash,
    FourTools,
    Text,
}

impl Form {
    fn of(cx: &Context) -> Form {
        match cx.settings.feature("minimal_text", false) {
            true => Form::Text,
            false if cx.settings.feature("minimal_four_tools", false) => Form::FourTools,
            false => Form::Bash,
        }
    }
}

impl Harness for Minimal {
    fn id(&self) -> &'static str {
        "minimal"
    }

    fn wants(&self, _cx: &Context, _moment: Moment) -> Vec<Want> {
        Vec::new()
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        let mut entries = history::say(self, cx, new);
        match Form::of(cx) {
            Form::Text => entries = text::told(entries),
            _ if cx.source.wire == WireId::Chat => entries.iter_mut().for_each(with_text),
            _ => {}
        }
        turns::in_turn(cx.said.last(), entries)
    }

    fn tune(&self, cx: &Context) -> Tune {
        prompt::tune(cx)
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let calls: Vec<Call> = reply.calls().cloned().collect();
        if !calls.is_empty() {
            return Reading::Calls { order: Order::one_by_one(&calls), calls, repaired: 0 };
        }
        let said = reply.text();
        let wrong = match text::find(cx, &said) {
            InText::Calls(found) => {
                let by_habit = found.iter().filter(|call| !call.at.is_empty()).count();
                let calls = in_text::calls(cx, found, |name| in_text::schema_in(&self.open(cx).tools, name));
                let repaired = u32::try_from(by_habit).unwrap_or(u32::MAX);
                return Reading::Calls { order: Order::one_by_one(&calls), calls, repaired };
            }
            _ if reply.stop == Stop::Length => CUT_OFF.to_owned(),
            InText::Unreadable(why) => format!("A call in your message could not be read ({why}). {}", right_way(cx)),
            InText::None if said.trim().is_empty() && reply.stop != Stop::Filter && reply.stop != Stop::Cut => {
                EMPTY.to_owned()
            }
            InText::None => return Reading::Stop(End::Done),
        };
        if bad_in_a_row(cx.items) + 1 >= MAX_BAD {
            return Reading::Stop(gave_up(cx));
        }
        Reading::Again { drop_reply: true, say: text::again(&said, &wrong), keep: true, tune: None }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return match did.first() {
                Some(done) => {
                    Next::Answer(outside::answer(&done.outcome).unwrap_or_else(|| failed(refusal::told(&done.outcome))))
                }
                None => match outside::action(call) {
                    Some(action) => Next::Do(vec![action]),
                    None => rejected(format!("Error: the arguments of {} are not a JSON object", call.name)),
                },
            };
        }
        match args::parse(cx, call) {
            Ok(Input::Bash { command, timeout }) => bash::next(&command, timeout, did),
            Ok(Input::Read { path, offset, limit }) => read::next(cx, &path, offset, limit, did),
            Ok(Input::Write { path, content }) => marked(pi::write::next(cx, &path, &content, did)),
            Ok(Input::Edit { path, old, new }) => {
                marked(pi::edit::next(cx, &path, &[pi::args::Edit { old, new }], did))
            }
            Err(text) => rejected(text),
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::plain("[stopped by the user]")
    }

    fn after(&self, cx: &Context, _step: &[Item]) -> Flow {
        match bad_in_a_row(cx.items) >= MAX_BAD {
            true => Flow::End(gave_up(cx)),
            false => Flow::Step,
        }
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        let mut text = cx.settings.compact_prompt.clone().unwrap_or_else(|| COMPACT.trim_end().to_owned());
        if let Some(hint) = hint.map(str::trim).filter(|hint| !hint.is_empty()) {
            text.push_str(&format!("\n\nIn particular: {hint}"));
        }
        let ask = turns::in_turn(cx.said.last(), vec![Entry::User(Content::Plain(text))]);
        Compaction { ask, tools: false, tune: Tune { schema: None, ..self.tune(cx) } }
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        let text = format!("Summary of the conversation so far; go on from here.\n\n{}", summary.trim());
        let mut entries = vec![Entry::User(Content::Plain(text))];
        entries.extend(history::unanswered(self, cx));
        (self.open(cx), turns::in_turn(None, entries))
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), _) => (tools::BASH, json!({"command": run.script})),
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
        let (name, args, id) = (name.to_owned(), args.to_string(), call.id.clone());
        let call = Call { id, namespace: None, name, args, form: CallForm::Function };
        match self.next(cx, &call, did) {
            Next::Answer(answer) => Some((call, answer)),
            _ => None,
        }
    }
}

impl Voice for Minimal {
    fn prompt(&self, _cx: &Context, parts: &[Part]) -> Content {
        turns::plain(parts.to_vec())
    }

    fn notice(&self, _cx: &Context, notice: &Notice) -> Option<String> {
        Some(match notice {
            Notice::HookContext { event, text } => format!("[{event} hook] {text}"),
            Notice::AgentReported { text, .. } => format!("[Report of an agent]\n{text}"),
            _ => return None,
        })
    }

    fn changed(&self, cx: &Context, settings: &Settings) -> Option<String> {
        permissions(settings).filter(|text| permissions(cx.settings).as_ref() == Some(text))
    }

    fn tools(&self, cx: &Context) -> Vec<&'static str> {
        tools::names(cx)
    }

    fn knows(&self, cx: &Context, call: &Call) -> bool {
        args::parse(cx, call).is_ok()
    }

    /// As it came, but for arguments that are no object.
    fn echo(&self, _cx: &Context, call: &Call) -> Call {
        let args = match crate::args::object(&call.args) {
            Ok(_) => crate::args::normal(&call.args).into_owned(),
            Err(_) => "{}".to_owned(),
        };
        Call { args, ..call.clone() }
    }
}

fn right_way(cx: &Context) -> &'static str {
    match Form::of(cx) {
        Form::Text => "Write the command in one ```bash block at the end of your message, and close it.",
        _ => "Call the tool through the interface for tool calls.",
    }
}

fn gave_up(cx: &Context) -> End {
    let other = match Form::of(cx) {
        Form::Text => "choose another model",
        _ => "try --enable minimal_text, or choose another model",
    };
    End::GaveUp(format!("{} gave {MAX_BAD} replies in a row that could not be carried out; {other}", cx.model.slug))
}

fn rejected(text: String) -> Next {
    Next::Reject { note: text.clone(), answer: Answer::failed(text) }
}

/// Not every wire has a mark for failures, so the text says it.
fn failed(answer: Answer) -> Answer {
    match answer.content.text() {
        text if text.starts_with("Error:") => answer,
        text => Answer { content: Content::Plain(format!("Error: {text}")), ..answer },
    }
}

fn marked(next: Next) -> Next {
    match next {
        Next::Answer(answer) if answer.error == Some(true) => Next::Answer(failed(answer)),
        next => next,
    }
}

/// Servers that refuse `null` beside calls get an empty text.
fn with_text(entry: &mut Entry) {
    if let Entry::Assistant(blocks) = entry
        && let Some(call) = blocks.iter().position(|block| matches!(block.kind, BlockKind::Call(_)))
        && !blocks.iter().any(|block| matches!(block.kind, BlockKind::Text(..)))
    {
        blocks.insert(call, Block::text(""));
    }
}

/// Replies at the end of the history, one after another, that were not taken or whose calls all came to nothing. The newest one may
/// not have been judged yet.
fn bad_in_a_row(items: &[Item]) -> usize {
    let (mut bad, mut newest, mut this_one) = (0, true, false);
    for item in items.iter().rev() {
        match &item.body {
            Body::Called { did, answer, .. } if did.is_empty() && answer.error == Some(true) => this_one = true,
            Body::Read { dropped: true, .. } => this_one = true,
            Body::User { origin: Origin::Harness, .. } => {}
            Body::Called { .. } | Body::User { .. } => break,
            Body::Reply { .. } if this_one => (bad, newest, this_one) = (bad + 1, false, false),
            Body::Reply { .. } if newest => newest = false,
            Body::Reply { .. } => break,
            _ => {}
        }
    }
    bad
}
