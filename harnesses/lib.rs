//! Harnesses: each speaks to a model as the agent did that the model was tuned for.
//!
//! A harness is pure. What it needs to know of the world it names in `wants`; what is to be done it returns as Actions;
//! what is to be said it returns as Entries, which are frozen and stored. One folder per harness; this file holds the trait
//! and the registry.
mod args;
mod claude_code;
mod claude_code_bare;
mod deepseek_tui;
mod fenced;
mod guards;
mod history;
mod in_text;
mod kimi_cli;
mod kimi_code;
pub mod made;
mod mini_swe_agent;
mod minimal;
mod names;
mod native;
mod opencode;
mod outside;
mod pi;
mod python_json;
mod qwen_code;
mod registry;
#[cfg(test)]
mod stage;
mod swe_agent;
mod writable;
mod zcode;

use std::collections::BTreeMap;

pub use guards::{Guards, after, read};
use protocol::{
    Action, Answer, Call, CallId, Caps, Done, Entry, Item, Millis, ModelInfo, Opening, Part, Reply, Settings, Source,
    ThreadId, Tool, Tune, TurnId, Want,
};
pub use registry::{all, default_for, find};

/// Everything that a harness may depend on. All of it is an item, a setting, or static data.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub thread: &'a ThreadId,
    pub turn: &'a TurnId,
    pub model: &'a ModelInfo,
    pub caps: &'a Caps,
    pub source: &'a Source,
    pub settings: &'a Settings,
    /// History since the last compaction, oldest first.
    pub items: &'a [Item],
    /// What was said to the model so far in this dialect. Empty: nothing yet, the next `say` opens the conversation.
    pub said: &'a [Entry],
    pub persona: &'a Persona,
    pub docs: &'a [Doc],
    pub skills: &'a [SkillInfo],
    /// Tools from outside (MCP, the client), already safe in name and schema.
    pub extra_tools: &'a [Tool],
    pub words: &'a Words,
}

/// Who speaks in a thread: the main agent or a kind of sub-agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Persona {
    /// Empty for the main agent.
    pub name: String,
    /// Replaces the prompt of the harness.
    pub prompt: Option<String>,
    /// The only tools it gets; None: all.
    pub tools: Option<Vec<String>>,
    pub depth: u8,
}

/// A file with instructions of user or project (AGENTS.md).
#[derive(Debug, Clone, PartialEq)]
pub struct Doc {
    pub path: String,
    pub project: bool,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SkillInfo {
    pub name: String,
    pub description: String,
    /// Absolute path of its SKILL.md.
    pub file: String,
    /// Where it comes from: `project`, `user`, `bundled`.
    pub scope: String,
}

/// Texts that stand in for ours: learned from the user's own installation of the original, or written by the user. `made` sees to it
/// that they are used; a harness that puts other things around them (skills, the environment) takes them from its context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    pub prompt: Option<String>,
    /// Blocks of instructions before the prompt, in place of the harness's own.
    pub lead: Vec<String>,
    /// Tool name to description.
    pub tools: BTreeMap<String, String>,
    /// Tool name to descriptions of its properties, by path (`questions[].header`).
    pub properties: BTreeMap<String, BTreeMap<String, String>>,
}

/// When `wants` is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the first words of a conversation (also after a compaction or a change of dialect).
    Opening,
    /// Before a turn of the user's.
    Turn,
    /// Before each further step.
    Step,
}

/// How a harness reads a whole reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// Run these. `repaired`: how many had to be mended to be read.
    Calls {
        calls: Vec<Call>,
        order: Order,
        repaired: u32,
    },
    Stop(End),
    /// Ask once more, with or without the reply; `say` stays in the conversation if `keep`, else lasts for one request.
    Again {
        drop_reply: bool,
        say: Vec<Entry>,
        keep: bool,
        tune: Option<Box<Tune>>,
    },
    /// The reply stands, and the harness itself says this before the model is asked again.
    Say(Vec<Part>),
}

/// Which calls run together, group after group, and in which order the answers go back.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub groups: Vec<Vec<CallId>>,
    pub answers: AnswerOrder,
}

impl Order {
    /// All at once, answers in the order of the calls.
    pub fn together(calls: &[Call]) -> Order {
        Order { groups: vec![calls.iter().map(|c| c.id.clone()).collect()], answers: AnswerOrder::Calls }
    }
    /// One after another.
    pub fn one_by_one(calls: &[Call]) -> Order {
        Order { groups: calls.iter().map(|c| vec![c.id.clone()]).collect(), answers: AnswerOrder::Calls }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOrder {
    /// As the calls stand in the reply.
    Calls,
    /// As they ended.
    Done,
}

/// A call's next step.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Do these, one after another, then ask again.
    Do(Vec<Action>),
    Answer(Answer),
    /// The call came to nothing: unknown tool, arguments that cannot be read. `note` is the line for stderr.
    Reject {
        answer: Answer,
        note: String,
    },
}

/// What follows the calls of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Flow {
    Step,
    /// Say this first, as the harness itself.
    Say(Vec<Part>),
    End(End),
}

/// Why a turn ends.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The model is done; its last text is the answer.
    Done,
    /// The task was handed in: this is the answer, whatever was said last (mini-swe-agent).
    Submitted(String),
    /// The harness gives up; the line for the user.
    GaveUp(String),
}

/// A request for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Said after the conversation so far.
    pub ask: Vec<Entry>,
    /// Keep the tools in the request (same prefix, cache hit) or leave them out.
    pub tools: bool,
    pub tune: Tune,
}

/// One agent's way of speaking to a model. Plain values in and out; the same input gives the same output.
pub trait Harness: Send + Sync {
    fn id(&self) -> &str;
    /// The built-in harness that it is, or is made of.
    fn base(&self) -> &str {
        self.id()
    }
    /// What was said in one dialect is sent again as it stands; in another it is told anew.
    fn dialect(&self) -> &str {
        self.id()
    }
    /// A reply as it came, in the names of tools that this harness reads and history keeps.
    fn hear(&self, reply: Reply) -> Reply {
        reply
    }
    /// What must be looked up before `moment`; each answer is stored as `Body::Fact`.
    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want>;
    /// System text and tools of a new conversation.
    fn open(&self, cx: &Context) -> Opening;
    /// At the start of a step: everything new since the last one, as entries. Called once per item; the result is kept.
    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry>;
    /// Only for originals that rewrite their past. None: as said.
    fn view(&self, _cx: &Context) -> Option<Vec<Entry>> {
        None
    }
    fn tune(&self, cx: &Context) -> Tune;
    fn read(&self, cx: &Context, reply: &Reply) -> Reading;
    /// The call's program: next Actions, given what was done so far, or the answer.
    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next;
    /// The answer to a call that was stopped (by the user, by a crash before a resume). `ran`: how long it had run.
    fn cut_short(&self, cx: &Context, call: &Call, did: &[Done], ran: Option<Millis>) -> Answer;
    /// After the calls of a step: go on, say something first, or end. `step`: its items, the reply first.
    fn after(&self, _cx: &Context, _step: &[Item]) -> Flow {
        Flow::Step
    }
    /// What watches over a model in this dialect beside its own ways; see `guards.rs` for the reasons.
    fn guards(&self, cx: &Context) -> Guards {
        guards::of(self.base(), cx)
    }
    /// Whether a last turn (exec) goes on until background work has ended and was told of, instead of stopping it.
    /// Between turns the end of such work starts a turn of its own.
    fn waits_for_tasks(&self, _cx: &Context) -> bool {
        false
    }
    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction;
    /// The new beginning made of a summary: opening, and the entries that stand for the past.
    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>);
    /// A past call of another dialect in this one; None: it is told as text.
    fn resay(&self, _cx: &Context, _call: &Call, _did: &[Done]) -> Option<(Call, Answer)> {
        None
    }
}
