//! What stands between a model that has lost its way and the end of the user's patience: the same failing call again and again,
//! replies with nothing in them, an end in the middle of a plan. Each speaks up a bounded number of times, as the harness itself,
//! and all of them are derived from history. `harness_guidance = false` switches them off.
use protocol::{
    Action, Answer, Body, Call, Content, Counts, Done, Entry, Exit, Item, Origin, Outcome, Part, PlanStatus, Reply,
    Session, Stop,
};

use crate::{Context, End, Flow, Harness, Reading};

/// Which of them watch over a harness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guards {
    /// The same call that failed in the same way is told of, and at last ends the turn.
    pub repeats: bool,
    /// A reply without text and call is asked for again.
    pub empty: bool,
    /// A turn that ends with open steps in its plan is asked about, once.
    pub open_plan: bool,
}

impl Guards {
    const NONE: Guards = Guards { repeats: false, empty: false, open_plan: false };
    const ALL: Guards = Guards { repeats: true, empty: true, open_plan: true };
    const REPEATS: Guards = Guards { repeats: true, empty: false, open_plan: false };
}

/// The word that a dialect has around what the harness itself says; None: plain text.
type Tag = Option<&'static str>;

/// An original's own guards stay, and nothing is added where it would change what a model of its own sees in normal work.
const TABLE: &[(&[&str], Guards, Tag)] = &[
    // Empty replies are asked for again by the dialect itself, as measured. The originals end with open todos without a word.
    (
        &[
            "claude-code",
            "claude-code@1.0",
            "claude-code@2.0",
            "claude-code@2.1",
            "claude-code@current",
            "claude-code-bare",
        ],
        Guards::REPEATS,
        Some("system-reminder"),
    ),
    // As Claude Code, whose server and tools it was made for.
    (&["zcode"], Guards::REPEATS, Some("system-reminder")),
    // Their own guards count equal calls in a row, failing or not, and ask again for empty replies.
    (&["kimi-code", "kimi-cli", "qwen-code"], Guards::NONE, None),
    // Its own guard blocks the third equal call; it has none for empty replies.
    (&["deepseek-tui"], Guards { empty: true, ..Guards::NONE }, None),
    // A reply without a command is answered by the original's complaint; there is no plan.
    (&["swe-agent", "mini-swe-agent"], Guards::REPEATS, None),
    // The dialect asks again once for an empty reply; open todos end a turn in the originals.
    (&["opencode", "pi"], Guards::REPEATS, None),
    // Ours; it asks again for empty replies itself, and has no plan.
    (&["minimal"], Guards::REPEATS, None),
    // A reply with nothing in it ends a turn in Codex, and scripts see that.
    (&["native"], Guards { empty: false, ..Guards::ALL }, None),
];

/// Those of a harness by its id, where it does not say otherwise; one that is not in the table has all. `native` has none with the
/// models that Codex was made for, so that they see what they see in Codex.
pub(crate) fn of(id: &str, cx: &Context) -> Guards {
    match TABLE.iter().find(|(ids, ..)| ids.contains(&id)) {
        _ if id == "native" && cx.model.freeform_patch => Guards::NONE,
        Some((_, guards, _)) => *guards,
        None => Guards::ALL,
    }
}

/// Failures of one call after which it is told of, and after which the turn ends.
const TOLD: usize = 3;
const ENDED: usize = 8;
/// An empty reply is asked for again so often.
const ASKED: usize = 2;

const REPEATED: &str = "You have made this call";
const EMPTY: &str = "Your last reply had no text and no tool call. Go on with the task: make the next tool call, or give your answer as text.";
const OPEN_PLAN: &str = "Your plan has steps that are not done";

/// How `harness` reads a reply, under its guards.
pub fn read(harness: &dyn Harness, cx: &Context, reply: &Reply) -> Reading {
    let reading = harness.read(cx, reply);
    if reading != Reading::Stop(End::Done) {
        return reading;
    }
    let guards = in_force(harness, cx);
    let text = reply.text();
    let done = matches!(reply.stop, Stop::End | Stop::Calls | Stop::Other(_));
    match text.trim().is_empty() {
        true if done && guards.empty && dropped(cx) < ASKED => {
            let say = vec![Entry::User(Content::Plain(worded(harness, EMPTY)))];
            Reading::Again { drop_reply: true, say, keep: false, tune: None }
        }
        false if done && guards.open_plan && !asks(&text) => match open_plan(cx) {
            Some(question) => Reading::Say(vec![Part::Text(worded(harness, &question))]),
            None => reading,
        },
        _ => reading,
    }
}

/// What follows a step, under the guards of `harness`.
pub fn after(harness: &dyn Harness, cx: &Context, step: &[Item]) -> Flow {
    let flow = harness.after(cx, step);
    if flow != Flow::Step || !in_force(harness, cx).repeats {
        return flow;
    }
    let Some((call, times)) = repeated(cx, step) else { return flow };
    match times {
        ENDED.. => Flow::End(End::GaveUp(format!(
            "{} made the same failing call {times} times, with the same answer each time: {} {}",
            cx.model.slug,
            call.name,
            brief(&call.args)
        ))),
        TOLD.. if !told(cx, REPEATED) => Flow::Say(vec![Part::Text(worded(
            harness,
            &format!(
                "{REPEATED} {times} times, and it failed in the same way each time: {} {}\nMaking it again will not help. Read its answer, then do something else: check what you take for granted, try another way, or say what is in the way.",
                call.name,
                brief(&call.args)
            ),
        ))]),
        _ => flow,
    }
}

fn in_force(harness: &dyn Harness, cx: &Context) -> Guards {
    match cx.settings.feature("harness_guidance", true) {
        true => harness.guards(cx),
        false => Guards::NONE,
    }
}

/// In the dialect's way of saying what no user said.
fn worded(harness: &dyn Harness, text: &str) -> String {
    let tag = TABLE.iter().find(|(ids, ..)| ids.contains(&harness.base())).and_then(|(.., tag)| *tag);
    tag.map_or_else(|| text.to_owned(), |tag| format!("<{tag}>\n{text}\n</{tag}>"))
}

/// Items since the user, or whoever gave the task, spoke last.
fn turn<'a>(cx: &'a Context) -> &'a [Item] {
    let from_user = |item: &Item| matches!(&item.body, Body::User { origin, .. } if *origin != Origin::Harness);
    &cx.items[cx.items.iter().rposition(from_user).unwrap_or(0)..]
}

/// Whether the harness has said this in the present turn.
fn told(cx: &Context, text: &str) -> bool {
    turn(cx).iter().any(|item| match &item.body {
        Body::User { origin: Origin::Harness, parts } => {
            parts.iter().filter_map(Part::as_text).any(|said| said.contains(text))
        }
        _ => false,
    })
}

/// Replies in a row before this one that were dropped.
fn dropped(cx: &Context) -> usize {
    let kept = |item: &&Item| !matches!(item.body, Body::Called { .. } | Body::User { .. });
    let dropped = |item: &&Item| matches!(item.body, Body::Read { dropped: true, .. });
    cx.items.iter().rev().take_while(kept).filter(dropped).count()
}

/// The last words are a question to the user.
fn asks(text: &str) -> bool {
    text.trim_end().lines().next_back().is_some_and(|line| line.contains(['?', '？']))
}

/// What is asked where the plan of this turn has open steps, and nobody asked yet.
fn open_plan(cx: &Context) -> Option<String> {
    let plan = turn(cx).iter().rev().find_map(|item| match &item.body {
        Body::Called { did, .. } => did.iter().rev().find_map(|done| match &done.action {
            Action::Session(Session::Plan { steps, .. }) => Some(steps),
            _ => None,
        }),
        _ => None,
    })?;
    let open: Vec<String> = plan
        .iter()
        .filter(|step| step.status != PlanStatus::Completed)
        .map(|step| format!("- {}", step.step))
        .collect();
    if open.is_empty() || told(cx, OPEN_PLAN) {
        return None;
    }
    Some(format!(
        "{OPEN_PLAN}:\n{}\nGo on with them. If they are done, or not wanted any more, bring the plan up to date and give your answer; if you need something from the user, ask for it.",
        open.join("\n")
    ))
}

/// A call that failed, and how.
struct Failure<'a> {
    call: &'a Call,
    came_to: String,
}

/// The call of this step that failed most often in the same way since something last went well, if it is more than once.
fn repeated<'a>(cx: &'a Context, step: &[Item]) -> Option<(&'a Call, usize)> {
    let items = turn(cx);
    let mut calls: Vec<&Call> = Vec::new();
    let mut failures: Vec<Failure> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match &item.body {
            Body::Reply { reply, .. } => calls.extend(reply.calls()),
            Body::Read { calls: read, .. } => calls.extend(read),
            Body::Called { call: id, did, answer } => {
                let before = at.checked_sub(1).map(|before| &items[before].body);
                if !has_failed(before, &item.body, did) {
                    failures.clear();
                } else if let Some(call) = calls.iter().rev().find(|call| call.id == *id) {
                    failures.push(Failure { call, came_to: came_to(did, answer) });
                }
            }
            _ => {}
        }
    }
    let here = |failure: &&Failure| {
        step.iter().any(|item| matches!(&item.body, Body::Called { call, .. } if *call == failure.call.id))
    };
    let same = |one: &Failure| failures.iter().filter(|other| alike(one, other)).count();
    failures.iter().filter(here).map(|one| (one.call, same(one))).max_by_key(|(_, times)| *times)
}

fn alike(one: &Failure, other: &Failure) -> bool {
    one.call.name == other.call.name && one.call.args == other.call.args && one.came_to == other.came_to
}

/// The answer to a command may hold the time and names of its own; what the command wrote does not.
fn came_to(did: &[Done], answer: &Answer) -> String {
    match did.last().map(|done| &done.outcome) {
        Some(Outcome::Ran { output, exit, .. }) => format!("{exit:?} {}", output.text),
        _ => answer.content.text(),
    }
}

/// It came to nothing, or its command ended badly.
fn has_failed(before: Option<&Body>, called: &Body, did: &[Done]) -> bool {
    let mut counts = Counts::default();
    counts.add(before, called);
    let badly = |done: &Done| matches!(&done.outcome, Outcome::Ran { exit, .. } if !matches!(exit, Exit::Code(0) | Exit::Running));
    counts.failed > 0 || did.last().is_some_and(badly)
}

fn brief(args: &str) -> String {
    const MOST: usize = 200;
    let shown: String = args.chars().take(MOST).collect();
    if shown.len() < args.len() { format!("{shown}…") } else { shown }
}
