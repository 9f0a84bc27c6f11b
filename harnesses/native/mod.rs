//! `native`: Codex's own dialect, the default. Commands through `exec_command` and `write_stdin`, edits through
//! `apply_patch`; names, schemas and result formats are those of Codex 0.171.0, prose is ours. Runs over all three wires.
mod answers;
mod arguments;
mod compact;
mod context;
mod exec;
mod image;
mod mentions;
pub(crate) mod patch;
mod paths;
mod resay;
mod say;
mod shell_patch;
#[cfg(test)]
mod tests;
mod thread_tools;
mod tools;
mod truncate;

use protocol::{
    Answer, Body, Call, CallForm, Content, Done, Entry, Fact, Item, Marks, Millis, Opening, ReasoningAsk, Reply, Tune,
    Want, WireId,
};

use crate::{
    Compaction, Context, End, Harness, Moment, Next, Order, Reading, args,
    in_text::{self, InText},
    names,
};

pub(crate) struct Native;

/// The beginning of what a model is told whose calls in text cannot be read.
const UNREADABLE_CALL: &str = "Your tool call was not run";

impl Harness for Native {
    fn id(&self) -> &'static str {
        "native"
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        let mut wants = match moment {
            Moment::Opening => vec![Want::Date, Want::Shell, Want::Roots],
            Moment::Turn if roots_are_stale(cx) => vec![Want::Date, Want::Roots],
            Moment::Turn => vec![Want::Date],
            Moment::Step => Vec::new(),
        };
        wants.extend(mentions::new(cx).into_iter().map(Want::Skill));
        wants
    }

    fn open(&self, cx: &Context) -> Opening {
        tools::opening(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        say::say(cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        let (model, settings) = (cx.model, cx.settings);
        // Codex asks unknown models for summaries and leaves them out for the one it knows with ordinary tools.
        let summary = settings.summary.clone().or_else(|| (!model.known).then(|| "auto".to_owned()));
        let reasoning = ReasoningAsk {
            effort: settings.effort.clone().or_else(|| model.effort.clone()),
            summary: summary.filter(|summary| summary != "none"),
            ..ReasoningAsk::default()
        };
        let on_messages = settings.wire == WireId::Messages;
        Tune {
            max_output: settings.max_output.or(model.max_output.filter(|_| on_messages)),
            reasoning: if model.reasoning { reasoning } else { ReasoningAsk::default() },
            parallel: Some(true),
            choose_tools: true,
            schema: settings.output_schema.clone().map(|schema| ("codex_output_schema".to_owned(), schema)),
            verbosity: model.verbosity.as_ref().map(|own| settings.verbosity.as_ref().unwrap_or(own).clone()),
            cache_key: Some(cx.thread.0.clone()),
            marks: Marks { instructions: vec![0], tools: true, last: true },
            ..Tune::default()
        }
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let native: Vec<&Call> = reply.calls().collect();
        if native.is_empty() {
            return read_text(cx, reply);
        }
        let mut repaired = 0;
        let calls: Vec<Call> = native.into_iter().map(|call| mended(cx, call, &mut repaired)).collect();
        Reading::Calls { order: Order::together(&calls), calls, repaired }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        let custom = call.form == CallForm::Custom;
        let outside = |tool: &protocol::Tool| tool.name == call.name && tool.namespace == call.namespace;
        if cx.extra_tools.iter().any(outside) {
            return thread_tools::outside(call, did);
        }
        let offered = call.namespace.is_none() && tools::tools(cx).iter().any(|tool| tool.name == call.name);
        match call.name.as_str() {
            "apply_patch" if offered => apply_patch(cx, call, did),
            "exec_command" if offered && !custom => exec::exec_command(cx, call, did),
            "write_stdin" if offered && !custom => exec::write_stdin(cx, call, did),
            "update_plan" if offered && !custom => thread_tools::update_plan(call, did),
            "request_user_input" if offered && !custom => thread_tools::request_user_input(call, did),
            "view_image" if offered && !custom => image::view_image(cx, call, did),
            _ => reject(answers::unsupported(call)),
        }
    }

    fn cut_short(&self, _cx: &Context, call: &Call, _did: &[Done], ran: Option<Millis>) -> Answer {
        Answer::plain(match (call.name.as_str(), ran) {
            (_, None) => "aborted".to_owned(),
            ("exec_command" | "write_stdin", Some(ran)) => exec::aborted(ran),
            (_, Some(ran)) => answers::aborted_after(ran),
        })
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        compact::begin_anew(cx, summary)
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        resay::resay(cx, call, did)
    }
}

/// The settings changed after the last look at what may be written.
fn roots_are_stale(cx: &Context) -> bool {
    let last =
        cx.items.iter().rev().find(|item| matches!(item.body, Body::Settings(_) | Body::Fact(Fact::Roots { .. })));
    !matches!(last, Some(Item { body: Body::Fact(_), .. }))
}

/// Names of the functions that the model may call without a namespace.
fn offered(cx: &Context) -> Vec<String> {
    tools::tools(cx).into_iter().filter(|tool| tool.namespace.is_none()).map(|tool| tool.name).collect()
}

/// The call, with its name put right where it can only mean one tool.
fn mended(cx: &Context, call: &Call, repaired: &mut u32) -> Call {
    let mut call = call.clone();
    let known = |tool: &protocol::Tool| tool.name == call.name && tool.namespace == call.namespace;
    if call.namespace.is_none() && !cx.extra_tools.iter().any(known) {
        let offered = offered(cx);
        if let Some(meant) = names::meant(&call.name, offered.iter().map(String::as_str))
            && meant != call.name
        {
            call.name = meant.to_owned();
            *repaired += 1;
        }
    }
    call
}

/// A reply without calls: the end, unless its text holds some that the server left there.
fn read_text(cx: &Context, reply: &Reply) -> Reading {
    let text = reply.text();
    let offered = offered(cx);
    let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
    match in_text::find(&text, &offered) {
        InText::None => Reading::Stop(End::Done),
        InText::Calls(found) => {
            let calls = in_text::calls(cx, found, |name| in_text::schema_in(&Native.open(cx).tools, name));
            let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
            Reading::Calls { order: Order::together(&calls), calls, repaired }
        }
        InText::Unreadable(why) => {
            let told =
                |entry: &Entry| matches!(entry, Entry::User(content) if content.text().starts_with(UNREADABLE_CALL));
            if cx.said.last().is_some_and(told) {
                return Reading::Stop(End::GaveUp(format!(
                    "{} writes tool calls as text that cannot be read ({why}); the server does not parse them: switch on its tool-call parser, or choose another harness",
                    cx.model.slug
                )));
            }
            let text = format!(
                "{UNREADABLE_CALL}: it stood in the text of your message and could not be read ({why}). Call the tool through the interface for tool calls."
            );
            let say = vec![Entry::User(context::content(cx, vec![text]))];
            Reading::Again { drop_reply: false, say, keep: true, tune: None }
        }
    }
}

/// Free text, or the function form `{"input": PATCH}`; also JSON where free text was due, since no patch begins with `{`.
fn apply_patch(cx: &Context, call: &Call, did: &[Done]) -> Next {
    #[derive(serde::Deserialize)]
    struct Input {
        input: String,
    }
    let patch = match (call.form, args::read::<Input>(&call.args)) {
        (_, Ok(Input { input })) => input,
        (CallForm::Custom, Err(_)) => call.args.clone(),
        (CallForm::Function | CallForm::InText, Err(error)) => return reject(answers::bad_arguments(&error)),
    };
    match patch::step(&patch, &cx.settings.cwd, cx.settings.sandbox.mode, did) {
        patch::Step::Do(actions) => Next::Do(actions),
        patch::Step::Ran(text) => Next::Answer(Answer::plain(text)),
        patch::Step::Rejected(text) => reject(text),
    }
}

fn reject(text: String) -> Next {
    Next::Reject {
        answer: Answer { content: Content::Plain(text.clone()), error: None, after: Vec::new() },
        note: text,
    }
}
