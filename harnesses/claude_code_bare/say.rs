//! History as entries: what the user said, the model's replies as they are echoed, and all answers of a reply in one message, in
//! the order in which the calls ended.
use std::collections::HashMap;

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Item, Notice, Part, Reply,
};

use super::{outside, prompt};
use crate::in_text::{self, InText};
use crate::{Context, Harness};

const INTERRUPTED: &str = "[Request interrupted by user]";
const INTERRUPTED_CALL: &str = "[Request interrupted by user for tool use]";

/// What a dialect of the family says in its own way.
pub(crate) trait Voice: Harness {
    /// What stands before the first prompt of a conversation.
    fn context(&self, cx: &Context) -> Vec<Part>;
    /// What is said of this by itself; None: nothing.
    fn notice(&self, cx: &Context, notice: &Notice) -> Option<String>;
    /// Names of the tools that this dialect offers itself.
    fn tools(&self, cx: &Context) -> Vec<&'static str>;
    /// A call of this dialect, with arguments that it can read.
    fn knows(&self, cx: &Context, call: &Call) -> bool;
    /// A call that only looks: such calls run together.
    fn looks(&self, cx: &Context, call: &Call) -> bool;
    /// A call as it goes back to the model.
    fn echo(&self, cx: &Context, call: &Call) -> Call;
}

pub(crate) fn say(harness: &dyn Voice, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let fresh = cx.said.is_empty();
    let mut telling = Telling { harness, cx, retold: fresh, entries: Vec::new(), open: None, user: Vec::new() };
    if fresh {
        telling.user = harness.context(cx);
    }
    for item in new {
        telling.item(&item.body);
    }
    telling.close_reply();
    telling.close_user();
    telling.entries
}

/// A reply whose answers are still coming.
struct Open {
    blocks: Vec<Block>,
    calls: Vec<Call>,
    done: Vec<(CallId, Answer, Vec<Done>)>,
    after: Vec<Part>,
}

struct Telling<'a> {
    harness: &'a dyn Voice,
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
                    open.done.push((call.clone(), answer.clone(), did.clone()));
                }
            }
            Body::Notice(notice) => self.notice(notice),
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

    fn notice(&mut self, notice: &Notice) {
        let text = match notice {
            Notice::Interrupted => match &self.open {
                Some(open) if !open.calls.is_empty() => INTERRUPTED_CALL.to_owned(),
                _ => INTERRUPTED.to_owned(),
            },
            other => match self.harness.notice(self.cx, other) {
                Some(text) => text,
                None => return,
            },
        };
        self.parts(vec![Part::Text(text)]);
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
            done: Vec::new(),
            after: Vec::new(),
        });
    }

    fn close_user(&mut self) {
        let mut parts = std::mem::take(&mut self.user);
        let content = match parts.as_mut_slice() {
            [] => return,
            // A lone text goes as a plain string, once it is not the newest entry and has no cache mark any more.
            [Part::Text(text)] => Content::Plain(std::mem::take(text)),
            _ => Content::Parts(parts),
        };
        self.entries.push(Entry::User(content));
    }

    fn close_reply(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.close_user();
        let Open { blocks, calls, mut done, mut after } = open;
        // A call without an answer would make the conversation invalid.
        for call in &calls {
            if !done.iter().any(|(id, ..)| *id == call.id) {
                done.push((call.id.clone(), self.harness.cut_short(self.cx, call, &[], None), Vec::new()));
            }
        }
        let mut told: HashMap<CallId, Retold> = HashMap::new();
        let (mut results, mut as_text) = (Vec::new(), Vec::new());
        for (id, answer, did) in done {
            let Some(call) = calls.iter().find(|call| call.id == id) else { continue };
            let retold = self.retell(call, answer, &did);
            match &retold {
                Retold::Call(call, answer) => {
                    after.splice(0..0, answer.after.iter().cloned());
                    let answer = Answer { after: Vec::new(), ..answer.clone() };
                    results.push(CallResult { call: id.clone(), name: call.name.clone(), custom: false, answer });
                }
                Retold::Text { result, .. } => as_text.push(Part::Text(result.clone())),
            }
            told.insert(id, retold);
        }
        let in_text: Vec<&Call> = calls.iter().filter(|call| call.form == CallForm::InText).collect();
        let markup = !in_text.is_empty();
        let offered = self.harness.tools(self.cx);
        let native = blocks.into_iter().map(|block| if markup { without_markup(block, &offered) } else { block });
        let native = native.filter_map(|block| echoed(block, &told));
        let found = in_text.into_iter().filter_map(|call| echoed(Block::call(call.clone()), &told));
        let blocks: Vec<Block> = native.chain(found).collect();
        let says_something =
            blocks.iter().any(|block| !matches!(block.kind, BlockKind::Reasoning(_) | BlockKind::Unknown));
        if says_something {
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
        if !self.retold || outside::is(self.cx, &call.name) || self.harness.knows(self.cx, call) {
            let outside = outside::is(self.cx, &call.name)
                && serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&call.args).is_ok();
            let call = if outside { call.clone() } else { self.harness.echo(self.cx, call) };
            return Retold::Call(Call { form: CallForm::Function, ..call }, answer);
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
fn without_markup(mut block: Block, offered: &[&str]) -> Block {
    if let BlockKind::Text(text, _) = &mut block.kind
        && let InText::Calls(calls) = in_text::find(text, offered)
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
