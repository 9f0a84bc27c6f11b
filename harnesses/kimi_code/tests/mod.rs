//! The dialect from outside, over a world made of a map of files. Expected texts were measured on Kimi Code 2.1.0, where they are
//! not prose.
use std::collections::BTreeMap;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, ApprovalPolicy, Blob, Block, Body, Call, CallForm, Caps, Captured, ChangeDone, ChangeKind, Content,
    Done, Entry, Eol, Exit, Expect, Fact, Failure, FileKind, Found, Hit, Item, ItemId, Mode, ModelInfo, New, Notice,
    Origin, Outcome, Part, ReadAs, Refusal, Reply, SandboxMode, SandboxPolicy, Session, Settings, Source, Stamp, Stop,
    TaskId, TaskInfo, TextForm, ThreadId, Tool, TurnId, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::{KimiCode, args, roster};
use crate::{Context, Doc, End, Harness, Moment, Next, Persona, Reading, SkillInfo, Words};

mod conversation;
mod results;
mod work;

/// Everything that a context borrows, and the files of the world.
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
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// What the next Actions come to, where that is not up to the files.
    outcomes: Vec<Outcome>,
    calls: usize,
    /// Actions of the last call.
    did: Vec<Action>,
}

impl Stage {
    fn new(files: &[(&str, &str)]) -> Stage {
        let settings = Settings {
            provider: "stub".into(),
            model: "stub-model".into(),
            wire: WireId::Chat,
            harness: "kimi-code".into(),
            cwd: PathBuf::from("/w"),
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
            features: BTreeMap::default(),
        };
        let mut stage = Stage {
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
            files: BTreeMap::new(),
            outcomes: Vec::new(),
            calls: 0,
            did: Vec::new(),
        };
        for (path, text) in files {
            stage.files.insert(PathBuf::from("/w").join(path), text.as_bytes().to_vec());
        }
        stage
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.files[&PathBuf::from("/w").join(path)]).into_owned()
    }

    fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: "turn-1".into(), at: 0, body });
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

    /// What is new since the last time, as entries.
    fn say(&mut self, from: usize) -> Vec<Entry> {
        let entries = KimiCode.say(&self.cx(), &self.items[from..]);
        self.said.extend(entries.iter().cloned());
        entries
    }

    /// A reply with these calls; nothing is carried out.
    fn reply(&mut self, calls: &[Call]) {
        let blocks = calls.iter().cloned().map(Block::call).collect();
        self.push(Body::Reply { reply: reply(blocks, Stop::Calls), total: Usage::default() });
    }

    /// A reply with this one call, carried out and stored.
    fn call(&mut self, name: &str, args: &str) -> Answer {
        self.calls += 1;
        let call = call(&format!("c{}", self.calls), name, args);
        self.reply(std::slice::from_ref(&call));
        self.carry_out(&call)
    }

    fn carry_out(&mut self, call: &Call) -> Answer {
        let mut did = Vec::new();
        let answer = loop {
            match KimiCode.next(&self.cx(), call, &did) {
                Next::Do(actions) => {
                    assert!(did.len() < 12, "the call's program does not end");
                    for action in actions {
                        let outcome = self.perform(&action);
                        did.push(Done { action, outcome, took: 1_000, at: 5_000, tag: 7 });
                    }
                }
                Next::Answer(answer) | Next::Reject { answer, .. } => break answer,
            }
        };
        self.did = did.iter().map(|done| done.action.clone()).collect();
        // As the runtime keeps it: without whole texts.
        for done in &mut did {
            if let Outcome::Text { text, .. } = &mut done.outcome {
                text.clear();
            }
        }
        self.push(Body::Called { call: call.id.clone(), did, answer: answer.clone() });
        answer
    }

    fn perform(&mut self, action: &Action) -> Outcome {
        if !self.outcomes.is_empty() {
            return self.outcomes.remove(0);
        }
        match action {
            Action::World(World::Read { path, what }) => self.look(path, what),
            Action::World(World::Change(changes)) => {
                Outcome::Changed(changes.iter().map(|change| self.change(change)).collect())
            }
            Action::World(World::Save { text, .. }) => Outcome::Saved {
                path: "/s/saved.txt".into(),
                chars: text.chars().count() as u64,
                bytes: text.len() as u64,
            },
            Action::Session(Session::Plan { .. }) => Outcome::Ok,
            Action::Session(Session::Mode(mode)) => {
                self.settings.mode = mode.clone();
                Outcome::Ok
            }
            other => panic!("not of this world: {other:?}"),
        }
    }

    fn look(&self, path: &PathBuf, what: &ReadAs) -> Outcome {
        let Some(bytes) = self.files.get(path) else {
            if self.files.keys().any(|file| file.starts_with(path)) {
                return Outcome::Failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Folder });
            }
            let missing = Failure::Io { path: path.clone(), errno: 2, message: "No such file or directory".into() };
            return Outcome::Failed(missing);
        };
        let stamp = stamp(bytes);
        match what {
            ReadAs::Stat => Outcome::Stat { kind: FileKind::File, stamp, link: None },
            ReadAs::Text { .. } => {
                let eol = match bytes.windows(2).filter(|pair| pair == b"\r\n").count() {
                    0 => Eol::Lf,
                    n if n == bytes.iter().filter(|byte| **byte == b'\n').count() => Eol::Crlf,
                    _ => Eol::Mixed,
                };
                let form = TextForm { eol, utf8: std::str::from_utf8(bytes).is_ok(), ..TextForm::default() };
                Outcome::Text { text: String::from_utf8_lossy(bytes).into_owned(), form, stamp }
            }
            ReadAs::Image { .. } if bytes.starts_with(b"\x89PNG") => {
                let blob = Blob::new("b", "image/png", bytes.clone());
                Outcome::Media { blob, original: Some((4000, 3000)), shown: Some((2000, 1500)), stamp }
            }
            ReadAs::Image { .. } => Outcome::Failed(Failure::BadImage { path: path.clone(), detected: None }),
            ReadAs::Document { .. } => {
                let blob = Blob::new("b", "application/octet-stream", bytes.clone());
                Outcome::Media { blob, original: None, shown: None, stamp }
            }
        }
    }

    fn change(&mut self, change: &protocol::Change) -> ChangeDone {
        let old = self.files.get(&change.path).cloned();
        if let Expect::Unchanged(expected) = &change.expect {
            assert_eq!(old.as_deref().map(stamp).as_ref(), Some(expected));
        }
        let text = String::from_utf8(old.unwrap_or_default()).unwrap();
        let new = match &change.new {
            New::Whole { text, .. } => text.clone(),
            New::Splices(splices) => {
                let (mut out, mut at) = (String::new(), 0);
                for (range, new) in splices {
                    out.push_str(&text[at..range.start as usize]);
                    out.push_str(new);
                    at = range.end as usize;
                }
                out + &text[at..]
            }
            other => panic!("{other:?}"),
        };
        self.files.insert(change.path.clone(), new.into_bytes());
        let kind = ChangeKind::Update;
        ChangeDone { path: change.path.clone(), to: None, kind, diff: String::new(), stamp: None }
    }

    /// One call whose answer is plain text and no failure.
    fn ok(&mut self, name: &str, args: Value, expected: &str) {
        let answer = self.call(name, &args.to_string());
        assert_eq!(answer, Answer { error: None, ..Answer::plain(expected) }, "{name} {args}");
    }

    /// One that fails; `expected` without the line that says so.
    fn fails(&mut self, name: &str, args: Value, expected: &str) {
        let answer = self.call(name, &args.to_string());
        let expected = format!("<system>ERROR: Tool execution failed.</system>\n{expected}");
        let text = answer.content.text();
        let text = text
            .strip_prefix("Wall time: 0.000 seconds\n")
            .or(text.strip_prefix("Wall time: 1.000 seconds\n"))
            .unwrap_or(&text);
        assert_eq!((answer.error, text), (Some(true), expected.as_str()), "{name} {args}");
    }
}

fn call(id: &str, name: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    let from = Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() };
    Reply { id: "r".into(), from, blocks, stop, usage: Usage::default() }
}

fn ran(output: &str, exit: Exit) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task: None, left: false }
}

fn running(output: &str, task: u64) -> Outcome {
    let task = Some(TaskId(task));
    Outcome::Ran { output: Captured::whole(output), exit: Exit::Running, cwd_after: None, task, left: false }
}

fn listed(task: u64, exit: Exit) -> Outcome {
    Outcome::Tasks(vec![TaskInfo {
        task: TaskId(task),
        command: "c".into(),
        exit,
        started: 0,
        pid: Some(42),
        log: None,
    }])
}

fn stamp(bytes: &[u8]) -> Stamp {
    Stamp { len: bytes.len() as u64, mtime_ns: 0, hash: format!("{bytes:?}") }
}

fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

fn texts(entries: &[Entry]) -> Vec<String> {
    let text = |entry: &Entry| match entry {
        Entry::User(content) => Some(content.text()),
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}
