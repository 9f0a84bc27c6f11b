//! The dialect from outside. Formats were measured on SWE-agent 1.1.0.
mod actions;
mod classic;
mod conversation;

use std::path::PathBuf;

use protocol::{
    Action, Answer, ApprovalPolicy, Block, Body, Call, CallForm, Caps, Captured, Done, Entry, Eol, Exit, Failure, Item,
    ItemId, Mode, ModelInfo, Origin, Outcome, Part, Reply, SandboxMode, SandboxPolicy, Settings, Source, Stamp, Stop,
    TextForm, ThreadId, Tool, TurnId, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::SweAgent;
use crate::{Context, Doc, Harness, Next, Persona, Reading, SkillInfo, Words};

pub(super) struct Stage {
    thread: ThreadId,
    turn: TurnId,
    model: ModelInfo,
    caps: Caps,
    source: Source,
    pub(super) settings: Settings,
    pub(super) items: Vec<Item>,
    pub(super) said: Vec<Entry>,
    persona: Persona,
    pub(super) docs: Vec<Doc>,
    pub(super) skills: Vec<SkillInfo>,
    extra: Vec<Tool>,
    words: Words,
}

impl Stage {
    pub(super) fn new(feature: &str) -> Stage {
        let settings = Settings {
            provider: "stub".into(),
            model: "stub-model".into(),
            wire: WireId::Chat,
            harness: "swe-agent".into(),
            cwd: PathBuf::from("/repo"),
            sandbox: SandboxPolicy::new(SandboxMode::DangerFullAccess),
            approval: ApprovalPolicy::Never,
            mode: Mode::Default,
            effort: None,
            summary: None,
            verbosity: None,
            instructions: None,
            developer_instructions: None,
            compact_prompt: None,
            output_schema: None,
            output_limit: None,
            max_output: None,
            features: [(feature.to_owned(), true)].into(),
        };
        Stage {
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo::fallback("stub-model"),
            caps: Caps::plain(),
            source: Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() },
            settings,
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
        }
    }

    pub(super) fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: "turn-1".into(), at: 0, body });
    }

    pub(super) fn cx(&self) -> Context<'_> {
        Context {
            thread: &self.thread,
            turn: &self.turn,
            model: &self.model,
            caps: &self.caps,
            source: &self.source,
            settings: &self.settings,
            items: &self.items,
            said: &self.said,
            persona: &self.persona,
            docs: &self.docs,
            skills: &self.skills,
            extra_tools: &self.extra,
            words: &self.words,
        }
    }

    /// Says everything from item `from` on, and keeps it as said.
    pub(super) fn say(&mut self, from: usize) -> Vec<Entry> {
        let entries = SweAgent.say(&self.cx(), &self.items[from..]);
        self.said.extend(entries.clone());
        entries
    }

    /// Runs a call against a world that gives these outcomes; what was done and what is answered.
    pub(super) fn run(&self, call: &Call, outcomes: &[Outcome]) -> (Vec<Done>, Answer) {
        let (mut did, mut outcomes) = (Vec::new(), outcomes.iter());
        loop {
            match SweAgent.next(&self.cx(), call, &did) {
                Next::Do(actions) => {
                    for action in actions {
                        let outcome = outcomes.next().unwrap_or_else(|| panic!("no outcome for {action:?}")).clone();
                        did.push(Done { action, outcome, took: 0, at: 0, tag: 1 });
                    }
                }
                Next::Answer(answer) | Next::Reject { answer, .. } => return (did, answer),
            }
        }
    }

    /// A whole step of one call, as items.
    pub(super) fn step(&mut self, name: &str, args: Value, outcomes: &[Outcome]) -> String {
        let call = call(name, args);
        self.push(replied(vec![Block::call(call.clone())]));
        self.carried_out(&call, outcomes)
    }

    pub(super) fn carried_out(&mut self, call: &Call, outcomes: &[Outcome]) -> String {
        let (did, answer) = self.run(call, outcomes);
        let text = answer.content.text();
        self.push(Body::Called { call: call.id.clone(), did, answer });
        text
    }

    /// What the model is told where a reply is asked for again.
    pub(super) fn again(&self, blocks: Vec<Block>) -> Vec<Entry> {
        match SweAgent.read(&self.cx(), &reply(blocks)) {
            Reading::Again { drop_reply: true, say, keep: false, tune: None } => say,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn call(name: &str, args: Value) -> Call {
    let args = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
    Call { id: "c1".into(), namespace: None, name: name.into(), args, form: CallForm::Function }
}

pub(super) fn reply(blocks: Vec<Block>) -> Reply {
    let from = Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() };
    Reply { id: "r".into(), from, blocks, stop: Stop::End, usage: Usage::default() }
}

pub(super) fn replied(blocks: Vec<Block>) -> Body {
    Body::Reply { reply: reply(blocks), total: Usage::default() }
}

pub(super) fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

pub(super) fn ran(output: &str, code: i32) -> Outcome {
    ran_in(output, code, "/repo")
}

pub(super) fn ran_in(output: &str, code: i32, cwd: &str) -> Outcome {
    let (output, exit) = (Captured::whole(output), Exit::Code(code));
    Outcome::Ran { output, exit, cwd_after: Some(cwd.into()), task: None, left: false }
}

pub(super) fn stamp() -> Stamp {
    Stamp { len: 1, mtime_ns: 1, hash: "h".into() }
}

pub(super) fn file(text: &str) -> Outcome {
    let eol = if text.contains("\r\n") { Eol::Crlf } else { Eol::Lf };
    Outcome::Text { text: text.into(), form: TextForm { eol, ..TextForm::default() }, stamp: stamp() }
}

pub(super) fn missing(path: &str) -> Outcome {
    Outcome::Failed(Failure::Io { path: path.into(), errno: 2, message: "No such file or directory".into() })
}

pub(super) fn script_of(done: &Done) -> String {
    match &done.action {
        Action::World(World::Run(run)) => run.script.clone(),
        other => panic!("{other:?}"),
    }
}

pub(super) fn empty() -> Value {
    json!({})
}
