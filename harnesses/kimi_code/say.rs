//! History as entries: prompts, each reply as it is echoed, the results of its calls (unknown tools first in both, as the original
//! has them), and what the program says in the user's place.
use std::collections::HashMap;

use protocol::{
    Answer, Block, BlockKind, Body, Call, CallForm, CallId, CallResult, Content, Done, Entry, Fact, Item, Mode, Notice,
    Part, Reply, Settings,
};

use super::roster::{Roster, Work};
use super::{args, envelope, nested, outside, prompt, reminders, skill, tasks, tools};
use crate::in_text::{self, InText};
use crate::{Context, Harness};

pub(super) fn say(harness: &dyn Harness, cx: &Context, new: &[Item]) -> Vec<Entry> {
    let fresh = cx.said.is_empty();
    let mut telling = Telling {
        harness,
        cx,
        retold: fresh,
        entries: Vec::new(),
        open: None,
        user: Vec::new(),
        date: None,
        settled: None,
    };
    if fresh && cx.persona.name == "explore" {
        telling.user.extend(prompt::git_context(cx).map(Part::Text));
    }
    for item in new {
        telling.item(&item.body);
    }
    telling.close_reply();
    telling.close_user();
    telling.remind(new);
    telling.entries
}

/// A reply whose answers are still coming.
struct Open {
    blocks: Vec<Block>,
    calls: Vec<Call>,
    done: Vec<(CallId, Answer, Vec<Done>)>,
    /// Said after the results, each in a message of its own.
    after: Vec<Content>,
}

struct Telling<'a> {
    harness: &'a dyn Harness,
    cx: &'a Context<'a>,
    /// Told again in this dialect, so calls may be of another.
    retold: bool,
    entries: Vec<Entry>,
    open: Option<Open>,
    user: Vec<Part>,
    date: Option<String>,
    settled: Option<Settings>,
}

impl Telling<'_> {
    fn item(&mut self, body: &Body) {
        match body {
            Body::User { parts, .. } => match &mut self.open {
                // After the results of the reply that is being answered.
                Some(open) if open.done.len() < open.calls.len() => open.after.push(content(parts.clone())),
                _ => {
                    self.close_reply();
                    self.user.extend(parts.iter().cloned());
                }
            },
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
            Body::Fact(Fact::Date { date, .. }) => self.date = Some(date.clone()),
            Body::Notice(notice) => {
                if let Some(text) = self.notice(notice) {
                    self.aside(text);
                }
            }
            Body::Settings(settings) => self.settled = Some((**settings).clone()),
            Body::Foreign(opaque) => {
                self.close_reply();
                self.close_user();
                self.entries.push(Entry::Foreign(opaque.clone()));
            }
            _ => {}
        }
    }

    fn notice(&self, notice: &Notice) -> Option<String> {
        Some(match notice {
            Notice::Interrupted => reminders::interrupted(),
            Notice::HookContext { event, text } => reminders::reminder(&format!("{event} hook: {text}")),
            Notice::TaskEnded { task, exit, output, command } => {
                let roster = Roster::of_items(self.cx);
                let known = roster.tasks.iter().find(|known| known.shell() == Some(*task));
                if known.is_some_and(|known| known.silent) {
                    return None;
                }
                let id = known.map_or_else(|| task.0.to_string(), |known| known.id.clone());
                let description = known.map_or(command.as_str(), |known| known.description.as_str());
                let ran = known.and_then(|known| known.ran).unwrap_or(0);
                let how = tasks::ending(exit);
                let severity = if how == "completed" { "info" } else { "warning" };
                let more = match output.text.trim().is_empty() {
                    true => String::new(),
                    false => format!("\nTaskOutput(task_id=\"{id}\") shows its output ({} bytes).", output.bytes),
                };
                notification(
                    &id,
                    how,
                    "background_task",
                    "",
                    "process",
                    severity,
                    ran,
                    &format!("{description} {how}.{more}"),
                )
            }
            Notice::AgentReported { id, text } => {
                let roster = Roster::of_items(self.cx);
                let own = |work: &Work| matches!(work, Work::Agent { id: known, .. } if known == id);
                let known = roster.tasks.iter().rev().find(|known| own(&known.work));
                let agent = known.and_then(|known| match &known.work {
                    Work::Agent { agent, .. } => Some(agent.as_str()),
                    Work::Shell { .. } => None,
                });
                let task = known.map_or(id.as_str(), |known| known.id.as_str());
                let description = known.map_or("The subagent", |known| known.description.as_str());
                let ran = known.and_then(|known| known.ran).unwrap_or(0);
                let named = format!(" agent_id=\"{}\"", agent.unwrap_or(id));
                notification(
                    task,
                    "completed",
                    "background_task",
                    &named,
                    "agent",
                    "info",
                    ran,
                    &format!("{description} completed.\n\n[summary]\n{text}"),
                )
            }
            _ => return None,
        })
    }

    /// In a message of its own, behind the results of an open reply.
    fn aside(&mut self, text: String) {
        match &mut self.open {
            Some(open) if !open.calls.is_empty() => open.after.push(Content::Plain(text)),
            _ => {
                self.close_reply();
                self.close_user();
                self.entries.push(Entry::User(Content::Plain(text)));
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

    /// Prompts that follow each other are one message.
    fn close_user(&mut self) {
        let parts = std::mem::take(&mut self.user);
        if !parts.is_empty() {
            self.entries.push(Entry::User(content(parts)));
        }
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
        let (mut unknown, mut results, mut as_text) = (Vec::new(), Vec::new(), Vec::new());
        let mut asides = Vec::new();
        for call in &calls {
            let Some((_, answer, did)) = done.iter().find(|(id, ..)| *id == call.id) else { continue };
            let retold = self.retell(call, answer.clone(), did);
            match &retold {
                Retold::Call(call, answer) => {
                    let known = tools::is_ours(&call.name) || outside::is(self.cx, &call.name);
                    let result = CallResult {
                        call: call.id.clone(),
                        name: call.name.clone(),
                        custom: false,
                        answer: answer.clone(),
                    };
                    if known { results.push(result) } else { unknown.push(result) }
                }
                Retold::Text { result, .. } => as_text.push(Content::Plain(result.clone())),
            }
            asides.extend(skill::loaded(self.cx, did));
            let files = nested::found(did);
            if !files.is_empty() {
                asides.push(reminders::nested(&files));
            }
            told.insert(call.id.clone(), retold);
        }
        let in_text: Vec<&Call> = calls.iter().filter(|call| call.form == CallForm::InText).collect();
        let markup = !in_text.is_empty();
        let native = blocks.into_iter().map(|block| if markup { without_markup(self.cx, block) } else { block });
        let native = native.filter_map(|block| echoed(block, &told));
        let found = in_text.into_iter().filter_map(|call| echoed(Block::call(call.clone()), &told));
        let mut blocks: Vec<Block> = native.chain(found).collect();
        let first: Vec<&CallId> = unknown.iter().map(|result| &result.call).collect();
        put_first(&mut blocks, &first);
        let says_something =
            blocks.iter().any(|block| !matches!(block.kind, BlockKind::Reasoning(_) | BlockKind::Unknown));
        if says_something {
            self.entries.push(Entry::Assistant(blocks));
        }
        let results: Vec<CallResult> = unknown.into_iter().chain(results).collect();
        if !results.is_empty() {
            self.entries.push(Entry::Results { before: Vec::new(), results, after: Vec::new() });
        }
        after.splice(0..0, as_text.into_iter().chain(asides.into_iter().map(Content::Plain)));
        self.entries.extend(after.into_iter().map(Entry::User));
    }

    fn retell(&self, call: &Call, answer: Answer, did: &[Done]) -> Retold {
        let ours = tools::is_ours(&call.name) || outside::is(self.cx, &call.name);
        let readable = || !tools::is_ours(&call.name) || args::parse(&call.name, &call.args).is_ok();
        if !self.retold || (ours && readable()) {
            return Retold::Call(
                Call { args: args::echo(&call.args), form: CallForm::Function, ..call.clone() },
                answer,
            );
        }
        if let Some((call, answer)) = self.harness.resay(self.cx, call, did) {
            return Retold::Call(call, answer);
        }
        Retold::Text {
            call: format!("[Called the tool {} with: {}]", call.name, call.args),
            result: format!("[Result of {}]\n{}", call.name, answer.content.text()),
        }
    }

    /// What stands at the end, before the next request.
    fn remind(&mut self, new: &[Item]) {
        let cx = self.cx;
        let fresh = cx.said.is_empty();
        let before = &cx.items[..cx.items.len().saturating_sub(new.len())];
        let told = before.iter().rev().find_map(|item| match &item.body {
            Body::Fact(Fact::Date { date, .. }) => Some(date.as_str()),
            _ => None,
        });
        let mut texts = Vec::new();
        if let Some(date) = &self.date
            && (fresh || told != Some(date.as_str()))
        {
            texts.push(reminders::date(date));
        }
        if fresh || self.settled.as_ref().is_some_and(|settings| settings.approval != approval_before(before, cx)) {
            texts.extend(reminders::permissions(cx.settings));
        }
        let left_plan =
            self.settled.as_ref().is_some_and(|settings| settings.mode == Mode::Default) && was_planning(before);
        if left_plan && !fresh {
            texts.push(reminders::plan_exited());
        }
        self.entries.extend(texts.into_iter().map(|text| Entry::User(Content::Plain(text))));
        let said: Vec<&Entry> = cx.said.iter().chain(&self.entries).collect();
        let standing = reminders::standing(cx, &said);
        self.entries.extend(standing.into_iter().map(|text| Entry::User(Content::Plain(text))));
    }
}

fn approval_before(before: &[Item], cx: &Context) -> protocol::ApprovalPolicy {
    settings_of(before).map_or(cx.settings.approval, |settings| settings.approval)
}

fn was_planning(before: &[Item]) -> bool {
    settings_of(before).is_some_and(|settings| settings.mode != Mode::Default)
}

fn settings_of(items: &[Item]) -> Option<&Settings> {
    items.iter().rev().find_map(|item| match &item.body {
        Body::Settings(settings) => Some(&**settings),
        _ => None,
    })
}

#[allow(clippy::too_many_arguments)]
fn notification(
    id: &str,
    how: &str,
    source: &str,
    named: &str,
    what: &str,
    severity: &str,
    ran: u64,
    text: &str,
) -> String {
    format!(
        "<notification id=\"task:{id}:{how}\" category=\"task\" type=\"task.{how}\" source_kind=\"{source}\" source_id=\"{id}\"{named}>\nTitle: Background {what} {how}\nSeverity: {severity}\nWall time: {} seconds\n{text}\n</notification>",
        envelope::seconds(ran)
    )
}

enum Retold {
    Call(Call, Answer),
    Text { call: String, result: String },
}

/// Texts alone are one plain string, a blank line between two prompts.
pub(super) fn content(parts: Vec<Part>) -> Content {
    let texts: Option<Vec<&str>> = parts.iter().map(Part::as_text).collect();
    match texts {
        Some(texts) => {
            Content::Plain(texts.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n"))
        }
        None => Content::Parts(parts),
    }
}

/// The text of a reply without the calls that were found in it: they go back as calls.
fn without_markup(cx: &Context, mut block: Block) -> Block {
    if let BlockKind::Text(text, _) = &mut block.kind
        && let InText::Calls(calls) = in_text::find(text, &tools::names(cx))
    {
        *text = in_text::without(text, &calls);
        block.opaque.clear();
    }
    block
}

/// These calls stand before the other calls; everything else keeps its place.
fn put_first(blocks: &mut [Block], first: &[&CallId]) {
    let is_call = |block: &Block| matches!(block.kind, BlockKind::Call(_));
    let mut calls: Vec<Block> = blocks.iter().filter(|block| is_call(block)).cloned().collect();
    calls.sort_by_key(|block| !matches!(&block.kind, BlockKind::Call(call) if first.contains(&&call.id)));
    for (place, call) in blocks.iter_mut().filter(|block| is_call(block)).zip(calls) {
        *place = call;
    }
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
