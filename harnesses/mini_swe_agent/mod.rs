//! `mini-swe-agent`: one tool, `bash`, and nothing kept between commands; the same in a text form for models without tools
//! (feature `mini_swe_agent_text`). Formats of mini-swe-agent 2.4.6, measured side by side; prose is ours. Ours beside it: a
//! summary where the conversation grows too long (the original ends), and sections for AGENTS.md, skills and permissions.
mod observe;
mod parse;
mod prompt;
mod say;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Body, Call, CallForm, Content, Done, Entry, Item, Marks, Millis, Opening, Outcome, Part, Refusal,
    Reply, Run, Shell, Tune, Want, World,
};
use serde_json::json;

use self::observe::Observation;
use self::parse::Command;
use crate::{Compaction, Context, End, Flow, Harness, Moment, Next, Order, Reading};

pub(crate) struct MiniSweAgent;

const TIMEOUT: Millis = 30_000;
const ENV: [(&str, &str); 5] =
    [("PAGER", "cat"), ("MANPAGER", "cat"), ("LESS", "-R"), ("PIP_PROGRESS_BAR", "off"), ("TQDM_DISABLE", "1")];
/// Bytes held of one command's output.
const KEPT: u64 = 8 << 20;
/// Replies in a row that cannot be read end the run.
const FORMAT_ERRORS: usize = 3;
const REJECTED: &str = "Commands not executed. The user rejected your commands with the following message: ";

fn text_form(cx: &Context) -> bool {
    cx.settings.feature("mini_swe_agent_text", false)
}

impl Harness for MiniSweAgent {
    fn id(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn wants(&self, _cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![Want::System],
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
        let slug = cx.model.slug.to_lowercase();
        let marked = ["anthropic", "sonnet", "opus", "claude"].iter().any(|name| slug.contains(name));
        Tune {
            max_output: cx.settings.max_output,
            reasoning: protocol::ReasoningAsk { effort: cx.settings.effort.clone(), ..Default::default() },
            schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
            marks: Marks { last: marked, ..Marks::default() },
            ..Tune::default()
        }
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let calls = match text_form(cx) {
            true => parse::text_command(&reply.text()).map(|command| {
                let id = format!("mswea_{}", reply.id).into();
                vec![Call { id, namespace: None, name: parse::TOOL.into(), args: command, form: CallForm::InText }]
            }),
            false => parse::tool_calls(reply),
        };
        match calls {
            Ok(calls) => Reading::Calls { order: Order::one_by_one(&calls), calls, repaired: 0 },
            Err(_) if dropped_before(cx) + 1 >= FORMAT_ERRORS => Reading::Stop(End::GaveUp(format!(
                "RepeatedFormatError: {} gave {FORMAT_ERRORS} replies in a row without a valid command",
                cx.model.slug
            ))),
            Err(text) => Reading::Again {
                drop_reply: true,
                say: vec![Entry::User(Content::Plain(text))],
                keep: true,
                tune: None,
            },
        }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        let command = match parse::command(call) {
            Ok(Command::Script(script)) => script,
            Ok(Command::Unrunnable(why)) => return Next::Answer(answer(cx, &Observation::failed(why))),
            // `read` lets no such call through; a resumed session may hold one.
            Err(error) => {
                return Next::Reject { answer: answer(cx, &Observation::failed(&error)), note: error };
            }
        };
        let Some(done) = did.first() else {
            if handed_in(cx) {
                return Next::Answer(answer(cx, &Observation::not_run()));
            }
            return Next::Do(vec![Action::World(World::Run(run(&command)))]);
        };
        let seen = Observation::of(&command, done);
        // What ends the run is not shown: a later turn sees a command that was not reached, as in the original.
        let seen = if seen.submission().is_some() { Observation::not_run() } else { seen };
        let mut answer = answer(cx, &seen);
        if let Outcome::Refused(Refusal::User { feedback }) = &done.outcome {
            let text = format!("{REJECTED}{}", feedback.as_deref().unwrap_or_default());
            answer.after.push(Part::Text(text));
        }
        Next::Answer(answer)
    }

    fn cut_short(&self, cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        answer(cx, &Observation::not_run())
    }

    fn after(&self, _cx: &Context, step: &[Item]) -> Flow {
        let submitted = step.iter().find_map(|item| match &item.body {
            Body::Called { did, .. } => did.first().and_then(submission),
            _ => None,
        });
        submitted.map_or(Flow::Step, |text| Flow::End(End::Submitted(text)))
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
        let task = cx.items.iter().rev().find_map(|item| match &item.body {
            Body::User { parts, .. } => parts.iter().find_map(Part::as_text),
            _ => None,
        });
        let first = prompt::instance(cx, task.unwrap_or("see the summary below"));
        let past = format!(
            "The conversation so far was replaced by this summary. Go on from where it stopped.\n\n{}",
            summary.trim()
        );
        (self.open(cx), vec![Entry::User(Content::Plain(first)), Entry::User(Content::Plain(past))])
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let Action::World(World::Run(run)) = &done.action else { return None };
        let args = json!({"command": run.script}).to_string();
        let name = parse::TOOL.to_owned();
        let call = Call { id: call.id.clone(), namespace: None, name, args, form: CallForm::Function };
        Some((call, answer(cx, &Observation::of(&run.script, done))))
    }
}

fn run(command: &str) -> Run {
    Run {
        shell: Shell::Fresh { program: Some("/bin/sh".into()), login: false },
        timeout: Some(TIMEOUT),
        env: ENV.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        keep: KEPT,
        ..Run::new(command)
    }
}

fn answer(cx: &Context, seen: &Observation) -> Answer {
    Answer::plain(if text_form(cx) { seen.tagged() } else { seen.json() })
}

fn submission(done: &Done) -> Option<String> {
    match &done.action {
        Action::World(World::Run(run)) => Observation::of(&run.script, done).submission(),
        _ => None,
    }
}

/// A call of the same reply has handed the task in.
fn handed_in(cx: &Context) -> bool {
    let step = cx.items.iter().rev().take_while(|item| !matches!(item.body, Body::Reply { .. } | Body::User { .. }));
    step.into_iter().any(|item| match &item.body {
        Body::Called { did, .. } => did.first().and_then(submission).is_some(),
        _ => false,
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
