//! History to entries: replies are echoed as received, answers follow in the order of the calls, prompts and notices stand
//! where they came. What was said in another dialect is told again in this one.
use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Fact, Item, Notice, Part,
    Reply, Speaker, Stop,
};

use super::{context, mentions, resay};
use crate::{Context, in_text, in_text::InText};

/// Told to the model after an interrupt, before the next prompt. Codex 0.171.0 sends such a text as a user message.
const ABORTED: &str = "<turn_aborted>\nThe user stopped the last turn on purpose. Commands may have been ended halfway or have run in part: look at the present state before you go on.\n</turn_aborted>";

/// Begins what is told of a call that has no like here.
pub(super) const RETOLD: &str = "Done before with a tool that is not offered any more:";

pub(super) fn say(cx: &Context, new: &[Item]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut context = Vec::new();
    match cx.said.is_empty() {
        true => entries.extend(context::known(cx)),
        false => context = context::changes(cx, new),
    }
    let mut native = speaks_native(harness_before(cx, new));
    let mut at = 0;
    while let Some(item) = new.get(at) {
        at += 1;
        match &item.body {
            Body::Settings(settings) => native = speaks_native(&settings.harness),
            Body::Reply { reply, .. } => {
                let rest = new.get(at..).unwrap_or(&[]);
                let length = rest.iter().position(|item| matches!(item.body, Body::Reply { .. })).unwrap_or(rest.len());
                exchange(cx, reply, &rest[..length], native, &mut entries);
            }
            Body::User { parts, .. } => {
                entries.append(&mut context);
                entries.push(Entry::User(prompt(cx, parts)));
            }
            Body::Notice(Notice::Interrupted) => {
                entries.push(Entry::User(context::content(cx, vec![ABORTED.to_owned()])))
            }
            Body::Notice(Notice::AgentReported { id, text }) => {
                let text = format!("<subagent_notification>\n{id}: {text}\n</subagent_notification>");
                entries.push(Entry::User(context::content(cx, vec![text])));
            }
            Body::Notice(Notice::HookContext { event, text }) if !beside_a_call(event) => {
                entries.push(Entry::Instruct(Speaker::Developer, context::content(cx, vec![text.clone()])));
            }
            Body::Fact(Fact::Skill { name, file, text }) => {
                entries.push(Entry::User(context::content(cx, vec![mentions::told(name, file, text)])));
            }
            Body::Foreign(opaque) => entries.push(Entry::Foreign(opaque.clone())),
            _ => {}
        }
    }
    entries.append(&mut context);
    entries
}

/// Hooks around a call speak between it and its answer.
fn beside_a_call(event: &str) -> bool {
    matches!(event, "PreToolUse" | "PostToolUse")
}

fn speaks_native(harness: &str) -> bool {
    matches!(harness, "" | "native")
}

fn harness_before<'a>(cx: &Context<'a>, new: &[Item]) -> &'a str {
    let before = new.first().and_then(|first| cx.items.split(|item| item.id == first.id).next()).unwrap_or(&[]);
    let settings = before.iter().rev().find_map(|item| match &item.body {
        Body::Settings(settings) => Some(settings.harness.as_str()),
        _ => None,
    });
    settings.unwrap_or(&cx.settings.harness)
}

/// A reply with the answers to its calls. `window`: the items up to the next reply.
fn exchange(cx: &Context, reply: &Reply, window: &[Item], native: bool, entries: &mut Vec<Entry>) {
    let read = window.iter().find_map(|item| match &item.body {
        Body::Read { calls, dropped, .. } => Some((calls.as_slice(), *dropped)),
        _ => None,
    });
    if read.is_some_and(|(_, dropped)| dropped) {
        return;
    }
    let called = |id: &CallId| {
        window.iter().find_map(|item| match &item.body {
            Body::Called { call, did, answer } if call == id => Some((did.as_slice(), answer)),
            _ => None,
        })
    };
    let mut blocks = reply.blocks.clone();
    let found: Vec<&Call> =
        read.map_or(&[][..], |(calls, _)| calls).iter().filter(|c| c.form == CallForm::InText).collect();
    if !found.is_empty() {
        as_native_calls(cx, &mut blocks, &found);
    }
    let (mut told, mut notes) = (Vec::new(), Vec::new());
    if !native {
        let retold = |block| in_our_dialect(cx, block, &called, &mut told, &mut notes);
        blocks = blocks.into_iter().filter_map(retold).collect();
    }
    blocks.retain(|block| match &block.kind {
        // Cut off before it was whole: it was never run, and no server wants it back.
        BlockKind::Call(call) => reply.stop != Stop::Cut || called(&call.id).is_some(),
        BlockKind::Text(text, _) | BlockKind::Reasoning(text) => !text.is_empty() || !block.opaque.is_empty(),
        _ => true,
    });
    if !blocks.is_empty() {
        echo(cx, blocks, window, &called, &told, entries);
    }
    if !notes.is_empty() {
        entries.push(Entry::User(context::content(cx, vec![notes.join("\n\n")])));
    }
}

/// The reply itself and, behind it, the answers to its calls. `told`: answers that were put in our words.
fn echo<'a>(
    cx: &Context,
    blocks: Vec<Block>,
    window: &[Item],
    called: &impl Fn(&CallId) -> Option<(&'a [Done], &'a Answer)>,
    told: &[(CallId, Answer)],
    entries: &mut Vec<Entry>,
) {
    let mut results = Vec::new();
    let mut after = Vec::new();
    for block in &blocks {
        let BlockKind::Call(call) = &block.kind else { continue };
        let resaid = told.iter().find_map(|(id, answer)| (id == &call.id).then_some(answer));
        // A call without an answer cannot be sent; upstream says the same of it.
        let mut answer =
            resaid.or_else(|| called(&call.id).map(|(_, answer)| answer)).cloned().unwrap_or(Answer::plain("aborted"));
        after.append(&mut answer.after);
        let custom = call.form == CallForm::Custom;
        results.push(CallResult { call: call.id.clone(), name: call.name.clone(), custom, answer });
    }
    entries.push(Entry::Assistant(blocks));
    if results.is_empty() {
        return;
    }
    let before = window.iter().filter_map(|item| match &item.body {
        Body::Notice(Notice::HookContext { event, text }) if beside_a_call(event) => {
            Some((Speaker::Developer, context::content(cx, vec![text.clone()])))
        }
        _ => None,
    });
    entries.push(Entry::Results { before: before.collect(), results, after });
}

/// Calls that stood in the text are echoed as calls, and their markup leaves the text: so they pair with their answers on
/// every wire, and the model sees how it is done.
fn as_native_calls(cx: &Context, blocks: &mut Vec<Block>, calls: &[&Call]) {
    let offered = super::offered(cx);
    let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
    for block in blocks.iter_mut() {
        if let BlockKind::Text(text, _) = &mut block.kind
            && let InText::Calls(found) = in_text::find(text, &offered)
        {
            *text = in_text::without(text, &found);
            block.opaque.clear();
        }
    }
    blocks.extend(calls.iter().map(|call| Block::call(Call { form: CallForm::Function, ..(*call).clone() })));
}

/// A block of another dialect: its calls become ours where there is a like. The others are told as text, in the user's
/// place: in its own, a model would learn to write calls as text.
fn in_our_dialect<'a>(
    cx: &Context,
    block: Block,
    called: &impl Fn(&CallId) -> Option<(&'a [Done], &'a Answer)>,
    told: &mut Vec<(CallId, Answer)>,
    notes: &mut Vec<String>,
) -> Option<Block> {
    let BlockKind::Call(call) = &block.kind else { return Some(block) };
    let done = called(&call.id);
    if let Some((ours, answer)) = done.and_then(|(did, _)| resay::resay(cx, call, did)) {
        told.push((ours.id.clone(), answer));
        return Some(Block::call(ours));
    }
    let answer = done.map_or("(none)".to_owned(), |(_, answer)| answer.content.text());
    notes.push(format!("{RETOLD} {} {}\nIts result:\n{answer}", call.name, call.args));
    None
}

/// A prompt: each image as three parts, then what was written.
pub(super) fn prompt(cx: &Context, parts: &[Part]) -> Content {
    let (images, rest): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(|part| matches!(part, Part::Image { .. }));
    if images.is_empty()
        && let Some(texts) = parts.iter().map(|part| part.as_text().map(str::to_owned)).collect::<Option<Vec<String>>>()
    {
        return context::content(cx, texts);
    }
    let mut said = Vec::new();
    for (n, image) in images.into_iter().enumerate() {
        let Part::Image { blob, detail } = image else { continue };
        let path = blob.name.as_ref().map(|name| format!(" path=\"{name}\"")).unwrap_or_default();
        said.push(Part::Text(format!("<image name=[Image #{}]{path}>", n + 1)));
        let detail = detail.clone().or_else(|| Some(super::image::detail(cx).to_owned()));
        said.push(Part::Image { blob: blob.clone(), detail });
        said.push(Part::text("</image>"));
    }
    said.extend(rest.into_iter().cloned());
    Content::Parts(said)
}
