//! The dialect seen from outside: what is said, what is done, what is answered. Expected texts were measured of Codex 0.171.0.
mod calls;
mod compaction;
mod exchange;
mod opening;

use std::path::PathBuf;

use protocol::{
    Action, ApprovalPolicy, Block, Body, Call, CallForm, Caps, Captured, Done, Entry, Exit, Fact, Item, ItemId, Mode,
    ModelInfo, Origin, Outcome, Part, Reply, SandboxMode, SandboxPolicy, Settings, Source, Stop, TaskId, ThreadId,
    Tool, TurnId, Usage, WireId,
};

use super::Native;
use crate::{Context, Doc, Harness, Next, Persona, SkillInfo, Words};

pub(crate) fn settings() -> Settings {
    Settings {
        provider: "stub".into(),
        model: "stub-model".into(),
        wire: WireId::Responses,
        harness: "native".into(),
        cwd: PathBuf::from("/w"),
        sandbox: SandboxPolicy::new(SandboxMode::WorkspaceWrite),
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
        features: Default::default(),
    }
}

/// Everything that a context borrows.
struct Stage {
    thread: ThreadId,
    turn: TurnId,
    model: ModelInfo,
    caps: Caps,
    source: Source,
    settings: Settings,
    items: Vec<Item>,
    said: Vec<Entry>,
    persona: Persona,
    docs: Vec<Doc>,
    skills: Vec<SkillInfo>,
    extra: Vec<Tool>,
    words: Words,
}

impl Stage {
    fn new() -> Stage {
        Stage {
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo::fallback("stub-model"),
            caps: Caps::plain(),
            source: Source { provider: "stub".into(), wire: WireId::Responses, model: "stub-model".into() },
            settings: settings(),
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
        }
    }
    fn cx(&self) -> Context<'_> {
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
    /// Adds items and says them, as the runtime does at the start of a step.
    fn step(&mut self, bodies: Vec<Body>) -> Vec<Entry> {
        let from = self.items.len();
        for body in bodies {
            if let Body::Settings(settings) = &body {
                self.settings = (**settings).clone();
            }
            let id = ItemId(self.items.len() as u64);
            self.items.push(Item { id, turn: self.turn.clone(), at: 0, body });
        }
        let entries = Native.say(&self.cx(), &self.items[from..]);
        self.said.extend(entries.clone());
        entries
    }
    fn next(&self, call: &Call, did: &[Done]) -> Next {
        Native.next(&self.cx(), call, did)
    }
}

fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

fn facts() -> Vec<Body> {
    let roots = Fact::Roots {
        writable: vec!["/w".into()],
        slash_tmp: true,
        tmpdir: true,
        protected: vec!["/w/.git".into(), "/w/.codex".into()],
    };
    vec![
        Body::Settings(Box::new(settings())),
        Body::Fact(Fact::Date { date: "2026-11-30".into(), zone: "Etc/UTC".into() }),
        Body::Fact(Fact::Shell("bash".into())),
        Body::Fact(roots),
    ]
}

fn reply(blocks: Vec<Block>) -> Body {
    let from = Source { provider: "stub".into(), wire: WireId::Responses, model: "stub-model".into() };
    let reply = Reply { id: "resp_1".into(), from, blocks, stop: Stop::End, usage: Usage::default() };
    Body::Reply { reply, total: Usage::default() }
}

fn call(name: &str, args: serde_json::Value) -> Call {
    raw_call(name, &args.to_string())
}

fn raw_call(name: &str, args: &str) -> Call {
    Call { id: "call_1".into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

fn done(action: Action, outcome: Outcome, took: u64) -> Done {
    Done { action, outcome, took, at: 0, tag: 0xabc_0000_00ed_9324 }
}

fn ran(output: &str, exit: Exit, task: Option<TaskId>) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task, left: false }
}

fn text(entries: &[Entry]) -> String {
    serde_json::to_string_pretty(entries).unwrap()
}
