//! History as entries. The task comes first in its template; a reply that was dropped leaves only the message that says why.
use std::collections::HashMap;

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Item, Notice, Part, Reply,
};

use super::{parse, prompt, text_form};
use crate::{Context, Harness};

pub(super) fn say(harness: &dyn Harness, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let mut telling = Telling {
        harness,
        cx,
        text: text_form(cx),
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

struct Open {
    blocks: Vec<Block>,
    calls: Vec<Call>,
    done: Vec<(CallId, Answer, Vec<Done>)>,
}

struct Telling<'a> {
    harness: &'a dyn Harness,
    cx: &'a Context<'a>,
    text: bool,
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
            Body::Notice(Notice::HookContext { text, .. }) => self.plain(text.clone()),
            Body::Notice(Notice::AgentReported { text, .. }) => self.plain(text.clone()),
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
        let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
        let said = texts.join("\n");
        let text = match (self.opened, self.interrupted) {
            (false, _) => prompt::instance(self.cx, &said),
            (true, true) => format!("Interrupted by user: {said}"),
            (true, false) => format!("The user added a new task: {said}"),
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
        for call in &calls {
            if !done.iter().any(|(id, ..)| *id == call.id) {
                done.push((call.id.clone(), self.harness.cut_short(self.cx, call, &[], None), Vec::new()));
            }
        }
        let (mut told, mut results, mut after) = (HashMap::new(), Vec::new(), Vec::new());
        // In the order of the calls, whatever the order of the items.
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
        let blocks: Vec<Block> = blocks.into_iter().filter_map(|block| echoed(block, &told)).collect();
        if blocks.iter().any(|block| !matches!(block.kind, BlockKind::Reasoning(_) | BlockKind::Unknown)) {
            self.entries.push(Entry::Assistant(blocks));
        }
        if results.is_empty() {
            // In the text form each observation is a message of its own.
            let texts = after.into_iter().map(|part| match part {
                Part::Text(text) => Entry::User(Content::Plain(text)),
                part => Entry::User(Content::Parts(vec![part])),
            });
            self.entries.extend(texts);
        } else {
            self.entries.push(Entry::Results { before: Vec::new(), results, after });
        }
    }

    fn retell(&self, call: &Call, answer: &Answer, did: &[Done]) -> Retold {
        if self.text && call.form == CallForm::InText {
            return Retold::Text { call: None, result: answer.content.text() };
        }
        let ours = call.form == CallForm::Function && parse::command(call).is_ok();
        if !self.text && (!self.retold || ours) && call.form != CallForm::InText {
            return Retold::Call(call.clone(), answer.clone());
        }
        match self.harness.resay(self.cx, call, did) {
            Some((call, answer)) if self.text => {
                let block = format!("```mswea_bash_command\n{}\n```", script(&call));
                Retold::Text { call: Some(block), result: answer.content.text() }
            }
            Some((call, answer)) => Retold::Call(call, answer),
            None => Retold::Text {
                call: Some(format!("[Called {} with: {}]", call.name, call.args)),
                result: format!("[Result of {}]\n{}", call.name, answer.content.text()),
            },
        }
    }
}

fn script(call: &Call) -> String {
    match parse::command(call) {
        Ok(parse::Command::Script(script)) => script,
        _ => call.args.clone(),
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

fn echoed(block: Block, told: &HashMap<CallId, Retold>) -> Option<Block> {
    match &block.kind {
        BlockKind::Text(text, _) if text.is_empty() => None,
        BlockKind::Call(call) => match told.get(&call.id)? {
            Retold::Call(call, _) => Some(Block { kind: BlockKind::Call(call.clone()), opaque: block.opaque }),
            Retold::Text { call, .. } => Some(Block::text(call.as_ref()?)),
        },
        _ => Some(block),
    }
}
