//! What keeps a thread from going on, found and mended before the next request: calls that were never answered, replies
//! with nothing in them, answers too many, frozen entries that servers refuse. Pure over what was loaded. Answers are
//! appended; the rest is put right in memory on every load, by the same rules and so with the same bytes.
use std::{collections::HashSet, fmt};

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Entry, Item, ItemId, Millis, Reply,
    Source, TurnId,
};
use serde::de::IgnoredAny;

use crate::Loaded;

/// One thing to mend. Its `Display` is the line for the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Mend {
    /// A call without an answer gets one, as an item.
    Answer { reply: ItemId, call: Call },
    /// A reply without text or call is left out.
    Empty { reply: ItemId },
    /// A second answer to the same call is left out.
    Twice { item: ItemId, call: CallId },
    /// An answer to no call is left out.
    NoCall { item: ItemId, call: CallId },
    /// What stands said has this fault and is said without it.
    Said(Fault),
    /// Payloads that only another provider understands; nothing is to be done, they are not sent to this one.
    Foreign { from: Source, count: usize },
}

/// What a server would refuse in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Arguments that are not JSON become `{}`.
    Arguments(CallId),
    /// A call without an answer before the next message.
    Unanswered(CallId),
    /// An answer without its call, or a second one.
    Excess(CallId),
    /// A message of the model with nothing in it.
    Empty,
}

impl Mend {
    /// It is no mend, only worth knowing.
    pub fn is_note(&self) -> bool {
        matches!(self, Mend::Foreign { .. })
    }
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mend::Answer { reply, call } => {
                write!(
                    f,
                    "item {}: call `{}` ({}) was not answered; it gets an answer that says so",
                    reply.0, call.name, call.id
                )
            }
            Mend::Empty { reply } => write!(f, "item {}: the reply is empty; it is left out", reply.0),
            Mend::Twice { item, call } => write!(f, "item {}: a second answer to call {call}; it is left out", item.0),
            Mend::NoCall { item, call } => {
                write!(f, "item {}: an answer to call {call}, which nobody made; it is left out", item.0)
            }
            Mend::Said(Fault::Arguments(call)) => {
                write!(f, "said: the arguments of call {call} are not JSON; they are sent as {{}}")
            }
            Mend::Said(Fault::Unanswered(call)) => {
                write!(f, "said: call {call} has no answer; one is sent that says so")
            }
            Mend::Said(Fault::Excess(call)) => {
                write!(f, "said: an answer to call {call} has no call before it; it is not sent")
            }
            Mend::Said(Fault::Empty) => f.write_str("said: an empty message of the model; it is not sent"),
            Mend::Foreign { from, count } => write!(
                f,
                "{count} hidden payload(s) of {} ({}) are kept and not sent to another model",
                from.provider, from.model
            ),
        }
    }
}

/// All that is wrong with a thread.
pub fn plan(loaded: &Loaded) -> Vec<Mend> {
    let mut mends = pairing(&loaded.items);
    if let Some(telling) = &loaded.telling {
        mends.extend(sound(&telling.entries, &mut interrupted).1.into_iter().map(Mend::Said));
    }
    mends.extend(foreign(loaded));
    mends
}

/// Carries the plan out on what was loaded, and returns the items to append to the session (they are in `loaded` already).
/// `answer`: the harness's words for a call that was cut short, or `interrupted`.
pub fn apply(
    plan: &[Mend],
    loaded: &mut Loaded,
    turn: &TurnId,
    at: Millis,
    answer: &mut dyn FnMut(&Call) -> Answer,
) -> Vec<Item> {
    let mut left_out = HashSet::new();
    let mut new = Vec::new();
    for mend in plan {
        match mend {
            Mend::Answer { call, .. } => {
                let body = Body::Called { call: call.id.clone(), did: Vec::new(), answer: answer(call) };
                new.push(Item { id: loaded.next, turn: turn.clone(), at, body });
                loaded.next = ItemId(loaded.next.0.saturating_add(1));
            }
            Mend::Empty { reply: item } | Mend::Twice { item, .. } | Mend::NoCall { item, .. } => {
                left_out.insert(*item);
            }
            Mend::Said(_) | Mend::Foreign { .. } => {}
        }
    }
    loaded.items.retain(|item| !left_out.contains(&item.id));
    loaded.items.extend(new.iter().cloned());
    if let Some(telling) = &mut loaded.telling
        && plan.iter().any(|mend| matches!(mend, Mend::Said(_)))
    {
        telling.entries = sound(&telling.entries, answer).0;
    }
    new
}

/// The answer to a call that a crash cut short, where no harness has words for it.
pub fn interrupted(_call: &Call) -> Answer {
    Answer::failed("interrupted: the session ended before this call was answered")
}

fn pairing(items: &[Item]) -> Vec<Mend> {
    struct Open<'a> {
        reply: ItemId,
        call: &'a Call,
        answered: bool,
    }
    let mut mends = Vec::new();
    let mut calls: Vec<Open> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match &item.body {
            Body::Reply { reply, .. } => {
                let reading = reading(&items[at + 1..]);
                if reading.is_none() && is_empty(reply) {
                    mends.push(Mend::Empty { reply: item.id });
                }
                let open = |call| Open { reply: item.id, call, answered: false };
                match reading {
                    Some(read) => calls.extend(read.iter().map(open)),
                    None => calls.extend(reply.calls().map(open)),
                }
            }
            Body::Called { call, .. } => {
                let mut same = calls.iter_mut().rev().filter(|open| open.call.id == *call).peekable();
                if same.peek().is_none() {
                    mends.push(Mend::NoCall { item: item.id, call: call.clone() });
                } else if let Some(open) = same.find(|open| !open.answered) {
                    open.answered = true;
                } else {
                    mends.push(Mend::Twice { item: item.id, call: call.clone() });
                }
            }
            _ => {}
        }
    }
    let unanswered = calls.into_iter().filter(|open| !open.answered);
    mends.extend(unanswered.map(|open| Mend::Answer { reply: open.reply, call: open.call.clone() }));
    mends
}

/// The calls that the harness found in the reply before `items`. None: it has not said, its native calls count.
fn reading(items: &[Item]) -> Option<&[Call]> {
    for item in items {
        match &item.body {
            Body::Read { dropped: true, .. } => return Some(&[]),
            Body::Read { calls, .. } => return Some(calls),
            Body::Reply { .. } => return None,
            _ => {}
        }
    }
    None
}

/// Nothing in it that a server takes back as a message: reasoning alone is refused by most.
fn is_empty(reply: &Reply) -> bool {
    nothing(&reply.blocks)
}

fn nothing(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| match &block.kind {
        BlockKind::Text(text, _) => text.is_empty(),
        BlockKind::Reasoning(_) => true,
        BlockKind::Call(_) | BlockKind::Server { .. } | BlockKind::Unknown => false,
    })
}

/// The entries as a server takes them, and what was wrong. The calls of the last entry may still wait for their answers.
fn sound(entries: &[Entry], answer: &mut dyn FnMut(&Call) -> Answer) -> (Vec<Entry>, Vec<Fault>) {
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    let mut faults = Vec::new();
    // Calls of the entry before that wait for their answers.
    let mut waiting: Vec<Call> = Vec::new();
    for entry in entries {
        if !matches!(entry, Entry::Results { .. } | Entry::Foreign(_)) && !waiting.is_empty() {
            let results = supplied(std::mem::take(&mut waiting), answer, &mut faults);
            out.push(Entry::Results { before: Vec::new(), results, after: Vec::new() });
        }
        match entry {
            Entry::Assistant(blocks) if nothing(blocks) => faults.push(Fault::Empty),
            Entry::Assistant(blocks) => {
                let blocks: Vec<Block> = blocks.iter().map(|block| with_json(block, &mut faults)).collect();
                waiting = blocks.iter().filter_map(native_call).cloned().collect();
                out.push(Entry::Assistant(blocks));
            }
            Entry::Results { before, results, after } => {
                let mut kept = Vec::with_capacity(results.len());
                for result in results {
                    match waiting.iter().position(|call| call.id == result.call) {
                        Some(at) => {
                            waiting.remove(at);
                            kept.push(result.clone());
                        }
                        None => faults.push(Fault::Excess(result.call.clone())),
                    }
                }
                kept.extend(supplied(std::mem::take(&mut waiting), answer, &mut faults));
                if kept.is_empty() {
                    out.extend(before.iter().map(|(speaker, words)| Entry::Instruct(*speaker, words.clone())));
                    if !after.is_empty() {
                        out.push(Entry::User(Content::Parts(after.clone())));
                    }
                } else {
                    out.push(Entry::Results { before: before.clone(), results: kept, after: after.clone() });
                }
            }
            Entry::Instruct(..) | Entry::User(_) | Entry::Tools(_) | Entry::Foreign(_) => out.push(entry.clone()),
        }
    }
    (out, faults)
}

fn supplied(calls: Vec<Call>, answer: &mut dyn FnMut(&Call) -> Answer, faults: &mut Vec<Fault>) -> Vec<CallResult> {
    let result = |call: Call| {
        faults.push(Fault::Unanswered(call.id.clone()));
        let answer = answer(&call);
        CallResult { call: call.id, name: call.name, custom: call.form == CallForm::Custom, answer }
    };
    calls.into_iter().map(result).collect()
}

/// Calls written in text are answered in text.
fn native_call(block: &Block) -> Option<&Call> {
    match &block.kind {
        BlockKind::Call(call) if call.form != CallForm::InText => Some(call),
        _ => None,
    }
}

fn with_json(block: &Block, faults: &mut Vec<Fault>) -> Block {
    let mut block = block.clone();
    if let BlockKind::Call(call) = &mut block.kind
        && call.form == CallForm::Function
        && serde_json::from_str::<IgnoredAny>(&call.args).is_err()
    {
        faults.push(Fault::Arguments(call.id.clone()));
        call.args = "{}".to_owned();
        // They hold the call as the server closed it, with the same arguments.
        block.opaque.clear();
    }
    block
}

fn foreign(loaded: &Loaded) -> Vec<Mend> {
    let Some(settings) = &loaded.settings else { return Vec::new() };
    let here = Source { provider: settings.provider.clone(), wire: settings.wire, model: settings.model.clone() };
    let mut counts: Vec<(Source, usize)> = Vec::new();
    for item in &loaded.items {
        let Body::Reply { reply, .. } = &item.body else { continue };
        for opaque in reply.blocks.iter().flat_map(|block| &block.opaque).filter(|opaque| opaque.scope != here) {
            match counts.iter_mut().find(|(from, _)| *from == opaque.scope) {
                Some((_, count)) => *count += 1,
                None => counts.push((opaque.scope.clone(), 1)),
            }
        }
    }
    counts.into_iter().map(|(from, count)| Mend::Foreign { from, count }).collect()
}

#[cfg(test)]
mod tests;
