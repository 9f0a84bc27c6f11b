//! History as entries: prompts, the model's replies as they came, the answers of a reply in the order of its calls. Messages of
//! the user that stand side by side are one; a step that the user stopped is left out.
use std::collections::HashMap;

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Item, Notice, Part, Reply,
};

use super::record::Record;
use super::{args, plan, result, tasks, tools};
use crate::in_text::{self, InText};
use crate::{Context, Harness};

const ENDED: &str = "Background tasks have ended in the meantime. Look at their notifications and see whether there is something left to do because of them.";

pub(super) fn say(harness: &dyn Harness, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let mut telling = Telling {
        harness,
        cx,
        record: Record::of(cx),
        retold: cx.said.is_empty(),
        idle: false,
        entries: Vec::new(),
        open: None,
    };
    for item in new {
        telling.item(item);
    }
    telling.close();
    if let Some(text) = plan::reminder(cx, &telling.entries) {
        telling.user(vec![Part::Text(reminder(&text))]);
    }
    merged(&telling.entries)
}

pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// Messages of the user side by side become one of several parts.
pub(super) fn merged(entries: &[Entry]) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match (out.last_mut(), entry) {
            (Some(Entry::User(before)), Entry::User(more)) => {
                let mut parts = parts_of(std::mem::replace(before, Content::Plain(String::new())));
                parts.extend(parts_of(more.clone()));
                *before = result::content(parts);
            }
            _ => out.push(entry.clone()),
        }
    }
    out
}

fn parts_of(content: Content) -> Vec<Part> {
    match content {
        Content::Plain(text) => vec![Part::Text(text)],
        Content::Parts(parts) => parts,
    }
}

/// A prompt after a stopped turn joins the one before, which was said already.
pub(super) fn view(cx: &Context) -> Option<Vec<Entry>> {
    let side_by_side = |pair: &[Entry]| matches!(pair, [Entry::User(_), Entry::User(_)]);
    cx.said.windows(2).any(side_by_side).then(|| merged(cx.said))
}

/// A reply whose answers are still coming.
struct Open {
    blocks: Vec<Block>,
    calls: Vec<Call>,
    done: Vec<(CallId, Answer, Vec<Done>)>,
}

struct Telling<'a> {
    harness: &'a dyn Harness,
    cx: &'a Context<'a>,
    record: Record,
    /// Told again in this dialect, so calls may be of another.
    retold: bool,
    /// The model had said its last word.
    idle: bool,
    entries: Vec<Entry>,
    open: Option<Open>,
}

impl Telling<'_> {
    fn item(&mut self, item: &Item) {
        match &item.body {
            Body::User { parts, .. } => {
                self.close();
                self.idle = false;
                self.user(parts.clone());
            }
            Body::Reply { reply, .. } => self.reply(reply),
            Body::Read { dropped: true, .. } => self.open = None,
            Body::Read { calls, .. } => {
                if let Some(open) = &mut self.open {
                    open.calls = calls.clone();
                }
            }
            Body::Called { call, did, answer } => {
                if let Some(open) = &mut self.open {
                    open.done.push((call.clone(), answer.clone(), did.clone()));
                }
            }
            Body::Notice(notice) => self.notice(item, notice),
            Body::Foreign(opaque) => {
                self.close();
                self.entries.push(Entry::Foreign(opaque.clone()));
            }
            _ => {}
        }
    }

    fn notice(&mut self, item: &Item, notice: &Notice) {
        let text = match notice {
            Notice::Interrupted => {
                self.open = None;
                return;
            }
            Notice::HookContext { text, .. } => text.clone(),
            notice => match tasks::notification(&self.record, item, notice) {
                Some(text) => text,
                None => return,
            },
        };
        self.close();
        if std::mem::take(&mut self.idle) {
            self.user(vec![Part::Text(reminder(ENDED))]);
        }
        self.user(vec![Part::Text(text)]);
    }

    fn user(&mut self, parts: Vec<Part>) {
        self.entries.push(Entry::User(result::content(parts)));
    }

    fn reply(&mut self, reply: &Reply) {
        self.close();
        let calls: Vec<Call> = reply.calls().cloned().collect();
        self.idle = calls.is_empty();
        self.open = Some(Open { blocks: reply.blocks.clone(), calls, done: Vec::new() });
    }

    fn close(&mut self) {
        let Some(Open { blocks, calls, mut done }) = self.open.take() else { return };
        // A call without an answer would make the conversation invalid.
        for call in &calls {
            if !done.iter().any(|(id, ..)| *id == call.id) {
                done.push((call.id.clone(), self.harness.cut_short(self.cx, call, &[], None), Vec::new()));
            }
        }
        let (mut told, mut results, mut after) = (HashMap::new(), Vec::new(), Vec::new());
        for call in &calls {
            let Some((_, answer, did)) = done.iter().find(|(id, ..)| *id == call.id) else { continue };
            let retold = self.retell(call, answer, did);
            match &retold {
                Retold::Call(call, answer) => {
                    after.extend(answer.after.iter().cloned());
                    let answer = Answer { after: Vec::new(), ..answer.clone() };
                    results.push(CallResult { call: call.id.clone(), name: call.name.clone(), custom: false, answer });
                }
                Retold::Text { result, .. } => after.push(Part::Text(result.clone())),
            }
            told.insert(call.id.clone(), retold);
        }
        let found: Vec<Block> =
            calls.iter().filter(|call| call.form == CallForm::InText).map(|call| Block::call(call.clone())).collect();
        let names = tools::names(self.cx);
        let blocks =
            blocks.into_iter().map(|block| if found.is_empty() { block } else { without_markup(&names, block) });
        let blocks: Vec<Block> = blocks.chain(found.clone()).filter_map(|block| echoed(block, &told)).collect();
        if blocks.iter().any(|block| !matches!(block.kind, BlockKind::Reasoning(_) | BlockKind::Unknown)) {
            self.entries.push(Entry::Assistant(blocks));
        }
        if results.is_empty() {
            if !after.is_empty() {
                self.user(after);
            }
        } else {
            self.entries.push(Entry::Results { before: Vec::new(), results, after });
        }
    }

    fn retell(&self, call: &Call, answer: &Answer, did: &[Done]) -> Retold {
        let outside = || self.cx.extra_tools.iter().any(|tool| tool.name == call.name);
        if !self.retold || args::parse(self.cx, call).is_ok() || outside() {
            return Retold::Call(Call { form: CallForm::Function, ..call.clone() }, answer.clone());
        }
        match self.harness.resay(self.cx, call, did) {
            Some((call, answer)) => Retold::Call(call, answer),
            None => Retold::Text {
                call: format!("[Called {} with: {}]", call.name, call.args),
                result: format!("[Result of {}]\n{}", call.name, answer.content.text()),
            },
        }
    }
}

enum Retold {
    Call(Call, Answer),
    Text { call: String, result: String },
}

/// The text of a reply without the calls that were found in it: they go back as calls.
fn without_markup(names: &[&str], mut block: Block) -> Block {
    if let BlockKind::Text(text, _) = &mut block.kind
        && let InText::Calls(calls) = in_text::find(text, names)
    {
        *text = in_text::without(text, &calls);
        block.opaque.clear();
    }
    block
}

/// Content that is blank is left out beside calls.
fn echoed(block: Block, told: &HashMap<CallId, Retold>) -> Option<Block> {
    match &block.kind {
        BlockKind::Text(text, _) if text.is_empty() || (!told.is_empty() && text.trim().is_empty()) => None,
        BlockKind::Call(call) => match told.get(&call.id)? {
            Retold::Call(call, _) => Some(Block { kind: BlockKind::Call(call.clone()), opaque: block.opaque }),
            Retold::Text { call, .. } => Some(Block::text(call)),
        },
        _ => Some(block),
    }
}
