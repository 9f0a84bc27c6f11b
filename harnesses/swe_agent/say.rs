//! History as entries: the task in its template, then call and observation in turn. A reply that was asked for again, and a
//! command that was not run for its syntax, leave nothing behind.
use std::collections::HashMap;

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Item, Notice, Origin,
    Part, Reply,
};

use super::{Form, call, is_unrun, prompt};
use crate::in_text::{self, InText};
use crate::{Context, Harness};

pub(super) fn say(harness: &dyn Harness, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let mut telling = Telling {
        harness,
        cx,
        form: Form::of(cx),
        retold: cx.said.is_empty(),
        opened: !cx.said.is_empty(),
        interrupted: false,
        entries: Vec::new(),
        open: None,
    };
    for item in new {
        telling.item(&item.body);
    }
    telling.close();
    telling.entries
}

/// The newest task of the user's.
pub(super) fn task(cx: &Context) -> Option<String> {
    cx.items.iter().rev().find_map(|item| match &item.body {
        Body::User { origin: Origin::User | Origin::App | Origin::Parent, parts } => Some(texts(parts)),
        _ => None,
    })
}

fn texts(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
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
    form: Form,
    /// Told again in this dialect, so calls may be of another.
    retold: bool,
    /// The task was given.
    opened: bool,
    interrupted: bool,
    entries: Vec<Entry>,
    open: Option<Open>,
}

impl Telling<'_> {
    fn item(&mut self, body: &Body) {
        match body {
            Body::User { parts, .. } => self.user(parts),
            Body::Reply { reply, .. } => self.reply(reply),
            Body::Read { dropped: true, .. } => self.open = None,
            body if is_unrun(body) => self.open = None,
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
            Body::Notice(Notice::Interrupted) => self.interrupted = true,
            Body::Notice(Notice::HookContext { text, .. } | Notice::AgentReported { text, .. }) => {
                self.plain(text.clone())
            }
            Body::Foreign(opaque) => {
                self.close();
                self.entries.push(Entry::Foreign(opaque.clone()));
            }
            _ => {}
        }
    }

    fn plain(&mut self, text: String) {
        self.close();
        self.entries.push(Entry::User(Content::Plain(text)));
    }

    fn user(&mut self, parts: &[Part]) {
        self.close();
        let said = texts(parts);
        let text = match (self.opened, self.interrupted) {
            (false, _) => prompt::instance(self.cx, &said),
            (true, true) => format!("The user interrupted you and says:\n{said}"),
            (true, false) => said,
        };
        (self.opened, self.interrupted) = (true, false);
        let others: Vec<Part> = parts.iter().filter(|part| part.as_text().is_none()).cloned().collect();
        let content = match others.is_empty() {
            true => Content::Plain(text),
            false => Content::Parts(std::iter::once(Part::Text(text)).chain(others).collect()),
        };
        self.entries.push(Entry::User(content));
    }

    fn reply(&mut self, reply: &Reply) {
        self.close();
        let calls = reply.calls().cloned().collect();
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
        let found = calls.iter().filter(|call| call.form == CallForm::InText && self.form != Form::Text);
        let found: Vec<Block> = found.map(|call| Block::call(call.clone())).collect();
        let blocks =
            blocks.into_iter().map(|block| if found.is_empty() { block } else { without_markup(self.form, block) });
        let blocks: Vec<Block> = blocks.chain(found.clone()).filter_map(|block| echoed(block, &told)).collect();
        if blocks.iter().any(|block| !matches!(block.kind, BlockKind::Reasoning(_) | BlockKind::Unknown)) {
            self.entries.push(Entry::Assistant(blocks));
        }
        if results.is_empty() {
            // In the text form each observation is a message of its own.
            self.entries.extend(after.into_iter().map(|part| match part {
                Part::Text(text) => Entry::User(Content::Plain(text)),
                part => Entry::User(Content::Parts(vec![part])),
            }));
        } else {
            self.entries.push(Entry::Results { before: Vec::new(), results, after });
        }
    }

    fn retell(&self, call: &Call, answer: &Answer, did: &[Done]) -> Retold {
        let ours = || call::parse(self.cx, call).is_ok();
        if self.form == Form::Text && call.form == CallForm::InText {
            return Retold::Text { call: None, result: answer.content.text() };
        }
        if self.form != Form::Text && (!self.retold || ours()) {
            return Retold::Call(Call { form: CallForm::Function, ..call.clone() }, answer.clone());
        }
        match self.harness.resay(self.cx, call, did) {
            Some((call, answer)) if self.form == Form::Text => {
                let script = crate::args::object(&call.args).ok().and_then(|args| call::word(&args, "command"));
                let text = format!("DISCUSSION\n```\n{}\n```", script.unwrap_or_default());
                Retold::Text { call: Some(text), result: answer.content.text() }
            }
            Some((call, answer)) => Retold::Call(call, answer),
            None => Retold::Text {
                call: Some(format!("[Called {} with: {}]", call.name, call.args)),
                result: format!("[Result of {}]\n{}", call.name, answer.content.text()),
            },
        }
    }
}

enum Retold {
    Call(Call, Answer),
    /// `call`: stands in for the call's block; None: the text of the reply has it.
    Text {
        call: Option<String>,
        result: String,
    },
}

/// The text of a reply without the calls that were found in it: they go back as calls.
fn without_markup(form: Form, mut block: Block) -> Block {
    if let BlockKind::Text(text, _) = &mut block.kind
        && let InText::Calls(calls) = in_text::find(text, &super::tools::names(form))
    {
        *text = in_text::without(text, &calls);
        block.opaque.clear();
    }
    block
}

/// Reasoning is not sent back, as in the original, but where it is signed: such a server wants it.
fn echoed(block: Block, told: &HashMap<CallId, Retold>) -> Option<Block> {
    match &block.kind {
        BlockKind::Text(text, _) if text.is_empty() => None,
        BlockKind::Reasoning(_) if !block.opaque.iter().any(|opaque| opaque.scope.wire != protocol::WireId::Chat) => {
            None
        }
        BlockKind::Call(call) => match told.get(&call.id)? {
            Retold::Call(call, _) => Some(Block { kind: BlockKind::Call(call.clone()), opaque: block.opaque }),
            Retold::Text { call, .. } => Some(Block::text(call.as_ref()?)),
        },
        _ => Some(block),
    }
}
