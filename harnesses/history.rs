//! History as entries for dialects of plain turns: each prompt a user message, each reply with the answers to its calls in the
//! order of the calls, and behind them what is said in the same breath. What was done in another dialect is told again in this one.
use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Item, Notice, Part,
    Reply, Settings, Stop,
};

use crate::{
    Context, Harness,
    in_text::{self, InText},
    outside,
};

/// What a dialect says in its own way.
pub(crate) trait Voice: Harness {
    /// A message of the user's.
    fn prompt(&self, cx: &Context, parts: &[Part]) -> Content;
    /// What is said of this by itself; None: nothing.
    fn notice(&self, cx: &Context, notice: &Notice) -> Option<String>;
    /// What is said of settings that changed in mid-conversation; None: nothing.
    fn changed(&self, cx: &Context, settings: &Settings) -> Option<String>;
    /// Names of the tools that this dialect offers itself.
    fn tools(&self, cx: &Context) -> Vec<&'static str>;
    /// A call of this dialect, with arguments that it can read.
    fn knows(&self, cx: &Context, call: &Call) -> bool;
    /// A call as it goes back to the model.
    fn echo(&self, cx: &Context, call: &Call) -> Call;
}

pub(crate) fn say(voice: &dyn Voice, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let mut telling = Telling { voice, cx, retold: cx.said.is_empty(), entries: Vec::new(), open: None };
    for item in new {
        telling.item(&item.body);
    }
    telling.close();
    telling.entries
}

/// A reply whose answers are still coming.
struct Open {
    reply: Reply,
    calls: Vec<Call>,
    done: Vec<(CallId, Answer, Vec<Done>)>,
    after: Vec<Part>,
}

struct Telling<'a> {
    voice: &'a dyn Voice,
    cx: &'a Context<'a>,
    /// Told again in this dialect, so calls may be of another.
    retold: bool,
    entries: Vec<Entry>,
    open: Option<Open>,
}

impl Telling<'_> {
    fn item(&mut self, body: &Body) {
        match body {
            Body::User { parts, .. } => self.aside(parts),
            Body::Reply { reply, .. } => {
                self.close();
                let calls = reply.calls().cloned().collect();
                self.open = Some(Open { reply: reply.clone(), calls, done: Vec::new(), after: Vec::new() });
            }
            Body::Read { dropped: true, .. } => self.open = None,
            Body::Read { calls, .. } => {
                if let Some(open) = &mut self.open {
                    open.calls.clone_from(calls);
                }
            }
            Body::Called { call, did, answer } => {
                if let Some(open) = &mut self.open {
                    open.done.push((call.clone(), answer.clone(), did.clone()));
                }
            }
            Body::Notice(notice) => {
                if let Some(text) = self.voice.notice(self.cx, notice) {
                    self.aside(&[Part::Text(text)]);
                }
            }
            Body::Settings(settings) if !self.retold => {
                if let Some(text) = self.voice.changed(self.cx, settings) {
                    self.aside(&[Part::Text(text)]);
                }
            }
            Body::Foreign(opaque) => {
                self.close();
                self.entries.push(Entry::Foreign(opaque.clone()));
            }
            _ => {}
        }
    }

    /// A message of its own; while calls are still unanswered, behind their answers.
    fn aside(&mut self, parts: &[Part]) {
        match &mut self.open {
            Some(open) if open.done.len() < open.calls.len() => open.after.extend_from_slice(parts),
            _ => {
                self.close();
                self.entries.push(Entry::User(self.voice.prompt(self.cx, parts)));
            }
        }
    }

    fn close(&mut self) {
        let Some(Open { reply, calls, mut done, mut after }) = self.open.take() else { return };
        let (mut told, mut results, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut attached: Vec<Part> = Vec::new();
        for call in &calls {
            let (answer, did) = match done.iter().position(|(id, ..)| *id == call.id) {
                Some(at) => {
                    let (_, answer, did) = done.swap_remove(at);
                    (answer, did)
                }
                // Cut off before it was whole: it was never run.
                None if reply.stop == Stop::Cut => continue,
                // A call without an answer would make the conversation invalid.
                None => (self.voice.cut_short(self.cx, call, &[], None), Vec::new()),
            };
            match self.retell(call, answer, &did) {
                Retold::Call(call, mut answer) => {
                    for part in std::mem::take(&mut answer.after) {
                        // One headline for the attachments of several answers.
                        if part.as_text().is_none() || !attached.contains(&part) {
                            attached.push(part);
                        }
                    }
                    results.push(CallResult {
                        call: call.id.clone(),
                        name: call.name.clone(),
                        custom: call.form == CallForm::Custom,
                        answer,
                    });
                    told.push(call);
                }
                Retold::Note(note) => notes.push(Part::Text(note)),
            }
        }
        let blocks = self.echoed(reply.blocks, &calls, told);
        if !blocks.is_empty() {
            self.entries.push(Entry::Assistant(blocks));
        }
        attached.append(&mut notes);
        attached.append(&mut after);
        if !results.is_empty() {
            self.entries.push(Entry::Results { before: Vec::new(), results, after: attached });
        } else if !attached.is_empty() {
            self.entries.push(Entry::User(self.voice.prompt(self.cx, &attached)));
        }
    }

    /// The reply's blocks with its calls as they are told, those found in its text behind it. Empty where nothing is said.
    fn echoed(&self, blocks: Vec<Block>, calls: &[Call], mut told: Vec<Call>) -> Vec<Block> {
        let in_text = calls.iter().any(|call| call.form == CallForm::InText);
        let offered = self.voice.tools(self.cx);
        let mut said = Vec::new();
        for mut block in blocks {
            match &mut block.kind {
                BlockKind::Call(call) => {
                    let Some(at) = told.iter().position(|ours| ours.id == call.id) else { continue };
                    *call = told.remove(at);
                }
                BlockKind::Text(text, _) => {
                    if in_text && let InText::Calls(found) = in_text::find(text, &offered) {
                        *text = in_text::without(text, &found);
                        block.opaque.clear();
                    }
                    if text.is_empty() && block.opaque.is_empty() {
                        continue;
                    }
                }
                _ => {}
            }
            said.push(block);
        }
        said.extend(told.into_iter().map(Block::call));
        let says_something = |block: &Block| !matches!(block.kind, BlockKind::Reasoning(_) | BlockKind::Unknown);
        if said.iter().any(says_something) { said } else { Vec::new() }
    }

    fn retell(&self, call: &Call, answer: Answer, did: &[Done]) -> Retold {
        if outside::is(self.cx, &call.name) {
            return Retold::Call(as_function(call.clone()), answer);
        }
        if !self.retold || self.voice.knows(self.cx, call) {
            return Retold::Call(as_function(self.voice.echo(self.cx, call)), answer);
        }
        match self.voice.resay(self.cx, call, did) {
            Some((call, answer)) => Retold::Call(call, answer),
            // In the model's own place, it would learn to write calls as text.
            None => Retold::Note(format!(
                "[Done before with a tool that is not offered any more: {} {}]\n{}",
                call.name,
                call.args,
                answer.content.text()
            )),
        }
    }
}

/// A call that was found in text goes back as a proper one, so that it pairs with its answer on every wire.
fn as_function(call: Call) -> Call {
    match call.form {
        CallForm::InText => Call { form: CallForm::Function, ..call },
        _ => call,
    }
}

enum Retold {
    Call(Call, Answer),
    Note(String),
}

/// Prompts that no reply has answered yet: they go behind a summary, since nothing is said twice.
pub(crate) fn unanswered(voice: &dyn Voice, cx: &Context) -> Vec<Entry> {
    let after_reply = cx.items.rsplit(|item| matches!(item.body, Body::Reply { .. })).next().unwrap_or(&[]);
    after_reply
        .iter()
        .filter_map(|item| match &item.body {
            Body::User { parts, .. } => Some(Entry::User(voice.prompt(cx, parts))),
            _ => None,
        })
        .collect()
}
