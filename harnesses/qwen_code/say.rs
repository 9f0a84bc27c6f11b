//! History as entries: prompts with their reminders, replies as they are echoed, one answer for each call in the order of the calls;
//! and the one thing that is rewritten later: the text of an approved plan.
use std::collections::HashMap;

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Item, Notice, Origin,
    Outcome, Part, Reply,
};
use serde_json::json;

use super::{args, background, outside, prompt, reminders, tools};
use crate::in_text::InText;
use crate::{Context, Harness};

pub(super) fn say(harness: &dyn Harness, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let fresh = cx.said.is_empty();
    let prompted = |item: &Item| matches!(&item.body, Body::User { origin, .. } if *origin != Origin::Harness);
    let last_prompt = new.iter().rposition(prompted);
    let mut telling = Telling { harness, cx, retold: fresh, entries: Vec::new(), open: None, user: Vec::new() };
    if fresh {
        telling.user = reminders::beginning(cx);
    }
    for (n, item) in new.iter().enumerate() {
        if Some(n) == last_prompt && !telling.answering() {
            telling.parts(reminders::before_prompt(cx));
        }
        telling.item(&item.body);
    }
    telling.close_reply();
    telling.close_user();
    telling.entries
}

/// The plan of an approved exit_plan_mode stands in a file, and its text leaves the conversation.
pub(super) fn view(cx: &Context) -> Option<Vec<Entry>> {
    let approved: HashMap<&CallId, String> = cx
        .items
        .iter()
        .filter_map(|item| match &item.body {
            Body::Called { call, did, .. } => did.iter().find_map(|done| match &done.outcome {
                Outcome::PlanDecided { approved: true, file: Some(file), .. } => {
                    Some((call, file.display().to_string()))
                }
                _ => None,
            }),
            _ => None,
        })
        .collect();
    if approved.is_empty() {
        return None;
    }
    let without_plan = |block: &Block| match &block.kind {
        BlockKind::Call(call) if call.name == "exit_plan_mode" && approved.contains_key(&call.id) => {
            let mut given = args::object(&call.args);
            let note = format!(
                "[Plan approved and saved to {}. Its text was taken out of the conversation; read that file where you need it.]",
                approved[&call.id]
            );
            given.insert("plan".into(), json!(note));
            let call = Call { args: serde_json::Value::Object(given).to_string(), ..call.clone() };
            Block { kind: BlockKind::Call(call), opaque: block.opaque.clone() }
        }
        _ => block.clone(),
    };
    let entry = |entry: &Entry| match entry {
        Entry::Assistant(blocks) => Entry::Assistant(blocks.iter().map(without_plan).collect()),
        entry => entry.clone(),
    };
    Some(cx.said.iter().map(entry).collect())
}

/// A reply whose answers are still coming.
struct Open {
    blocks: Vec<Block>,
    calls: Vec<Call>,
    done: HashMap<CallId, (Answer, Vec<Done>)>,
    after: Vec<Part>,
}

struct Telling<'a> {
    harness: &'a dyn Harness,
    cx: &'a Context<'a>,
    /// Told again in this dialect, so calls may be of another.
    retold: bool,
    entries: Vec<Entry>,
    open: Option<Open>,
    user: Vec<Part>,
}

impl Telling<'_> {
    fn item(&mut self, body: &Body) {
        match body {
            Body::User { parts, .. } => self.parts(parts.clone()),
            Body::Reply { reply, .. } => self.reply(reply),
            Body::Read { dropped: true, .. } => self.open = None,
            Body::Read { calls, .. } => {
                if let Some(open) = &mut self.open {
                    open.calls = calls.clone();
                }
            }
            Body::Called { call, did, answer } => {
                if let Some(open) = &mut self.open {
                    open.done.insert(call.clone(), (answer.clone(), did.clone()));
                }
            }
            Body::Notice(Notice::HookContext { text, .. }) => {
                self.parts(vec![Part::Text(format!("<hook_context>\n{text}\n</hook_context>"))]);
            }
            Body::Notice(notice) => {
                if let Some(text) = background::notification(self.cx, notice) {
                    self.parts(vec![Part::Text(text)]);
                }
            }
            Body::Settings(settings) if !self.retold => {
                if let Some(text) = prompt::permissions(settings)
                    && prompt::permissions(self.cx.settings).as_ref() == Some(&text)
                {
                    self.parts(vec![Part::Text(prompt::reminder(&text))]);
                }
            }
            Body::Foreign(opaque) => {
                self.close_reply();
                self.close_user();
                self.entries.push(Entry::Foreign(opaque.clone()));
            }
            _ => {}
        }
    }

    /// Calls of the reply before are being answered.
    fn answering(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.calls.is_empty())
    }

    /// Said in the same breath as the answers of an open reply, else in a message of the user's.
    fn parts(&mut self, parts: Vec<Part>) {
        match &mut self.open {
            Some(open) if !open.calls.is_empty() => open.after.extend(parts),
            _ => {
                self.close_reply();
                self.user.extend(parts);
            }
        }
    }

    fn reply(&mut self, reply: &Reply) {
        self.close_reply();
        self.close_user();
        self.open = Some(Open {
            blocks: reply.blocks.clone(),
            calls: reply.calls().cloned().collect(),
            done: HashMap::new(),
            after: Vec::new(),
        });
    }

    fn close_user(&mut self) {
        let parts = std::mem::take(&mut self.user);
        if !parts.is_empty() {
            self.entries.push(Entry::User(Content::Parts(parts)));
        }
    }

    fn close_reply(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.close_user();
        let Open { blocks, calls, mut done, mut after } = open;
        let mut told: HashMap<CallId, Retold> = HashMap::new();
        let (mut results, mut as_text) = (Vec::new(), Vec::new());
        for call in &calls {
            // A call without an answer would make the conversation invalid.
            let cut_short = || (self.harness.cut_short(self.cx, call, &[], None), Vec::new());
            let (answer, did) = done.remove(&call.id).unwrap_or_else(cut_short);
            let retold = self.retell(call, answer, &did);
            match &retold {
                Retold::Call(call, answer) => {
                    after.splice(0..0, answer.after.iter().cloned());
                    let answer = Answer { after: Vec::new(), ..answer.clone() };
                    results.push(CallResult { call: call.id.clone(), name: call.name.clone(), custom: false, answer });
                }
                Retold::Text { result, .. } => as_text.push(Part::Text(result.clone())),
            }
            told.insert(call.id.clone(), retold);
        }
        let in_text: Vec<&Call> = calls.iter().filter(|call| call.form == CallForm::InText).collect();
        let names = if in_text.is_empty() { Vec::new() } else { tools::callable(self.cx) };
        let native =
            blocks.into_iter().map(|block| if names.is_empty() { block } else { without_markup(block, &names) });
        let native = native.filter_map(|block| echoed(block, &told));
        let found = in_text.into_iter().filter_map(|call| echoed(Block::call(call.clone()), &told));
        let blocks: Vec<Block> = native.chain(found).collect();
        if blocks.iter().any(|block| !matches!(block.kind, BlockKind::Unknown)) {
            self.entries.push(Entry::Assistant(blocks));
        }
        if results.is_empty() {
            self.user.extend(as_text);
            self.user.extend(after);
        } else {
            after.splice(0..0, as_text);
            self.entries.push(Entry::Results { before: Vec::new(), results, after });
        }
    }

    fn retell(&self, call: &Call, answer: Answer, did: &[Done]) -> Retold {
        let ours = tools::is_ours(args::canonical(&call.name)) || outside::is(self.cx, &call.name);
        if !self.retold || ours {
            let args = match args::is_cut(&call.args) {
                true => args::closed(&call.args).unwrap_or_else(|| "{}".to_owned()),
                false => args::echo(&call.args),
            };
            return Retold::Call(Call { args, form: CallForm::Function, ..call.clone() }, answer);
        }
        if let Some((call, answer)) = self.harness.resay(self.cx, call, did) {
            return Retold::Call(call, answer);
        }
        Retold::Text {
            call: format!("[Called the tool {} with: {}]", call.name, call.args),
            result: format!("[Result of {}]\n{}", call.name, answer.content.text()),
        }
    }
}

enum Retold {
    Call(Call, Answer),
    Text { call: String, result: String },
}

/// The text of a reply without the calls that were found in it: they go back as calls.
fn without_markup(mut block: Block, names: &[String]) -> Block {
    if let BlockKind::Text(text, _) = &mut block.kind
        && let InText::Calls(calls) = super::in_text_of(text, names)
    {
        for call in calls.iter().rev() {
            text.replace_range(call.at.clone(), "");
        }
        text.truncate(text.trim_end().len());
        block.opaque.clear();
    }
    block
}

fn echoed(block: Block, told: &HashMap<CallId, Retold>) -> Option<Block> {
    match &block.kind {
        BlockKind::Text(text, _) if text.is_empty() => None,
        BlockKind::Call(call) => match told.get(&call.id)? {
            Retold::Call(call, _) => Some(Block { kind: BlockKind::Call(call.clone()), opaque: block.opaque }),
            Retold::Text { call, .. } => Some(Block::text(call)),
        },
        _ => Some(block),
    }
}
