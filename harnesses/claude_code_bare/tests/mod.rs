//! The dialect from outside, over a world made of a map of files. Expected texts were measured on Claude Code 2.1.332 (`--bare`);
//! those marked `ours` are ours.
use std::collections::BTreeMap;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, ApprovalPolicy, Blob, Block, BlockKind, Body, Call, CallForm, CallId, Caps, Captured, ChangeDone,
    ChangeKind, Content, Done, Entry, Escalation, Exit, Expect, Fact, Failure, FileKind, Found, Hit, Item, ItemId,
    Mode, ModelInfo, New, Notice, Origin, Outcome, Part, ReadAs, Refusal, Reply, SandboxMode, SandboxPolicy, Session,
    Settings, Source, Stamp, Stop, TextForm, ThreadId, Tool, TurnId, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::{ClaudeCodeBare, args, record::Record, refusal, reply::SECOND_TRIES};
use crate::{AnswerOrder, Context, Doc, End, Harness, Next, Order, Persona, Reading, SkillInfo, Words};

mod arguments;
mod commands;
mod conversation;
mod edits;
mod reads;

/// Everything that a context borrows, and the files of the world.
pub(crate) struct Stage {
    pub(crate) harness: &'static dyn Harness,
    pub(crate) thread: ThreadId,
    pub(crate) turn: TurnId,
    pub(crate) model: ModelInfo,
    pub(crate) caps: Caps,
    pub(crate) source: Source,
    pub(crate) settings: Settings,
    pub(crate) items: Vec<Item>,
    pub(crate) said: Vec<Entry>,
    pub(crate) persona: Persona,
    pub(crate) docs: Vec<Doc>,
    pub(crate) skills: Vec<SkillInfo>,
    pub(crate) extra: Vec<Tool>,
    pub(crate) words: Words,
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    /// What the next command comes to.
    pub(crate) run: Option<Outcome>,
    /// Tokens that the provider counts.
    pub(crate) tokens: u64,
    /// What other Actions come to, one after another.
    pub(crate) others: Vec<Outcome>,
    /// What every change comes to, where it is not done.
    pub(crate) refuse: Option<Refusal>,
    pub(crate) calls: usize,
    /// Actions of the last call.
    pub(crate) did: Vec<Action>,
}

pub(crate) fn settings() -> Settings {
    Settings {
        provider: "stub".into(),
        model: "stub-model".into(),
        wire: WireId::Messages,
        harness: "claude-code-bare".into(),
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
        features: Default::default(),
    }
}

impl Stage {
    pub(crate) fn new(files: &[(&str, &str)]) -> Stage {
        let mut stage = Stage {
            harness: &ClaudeCodeBare,
            others: Vec::new(),
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo::fallback("stub-model"),
            caps: Caps { documents: true, images_in_results: true, cache_marks: true, ..Caps::plain() },
            source: Source { provider: "stub".into(), wire: WireId::Messages, model: "stub-model".into() },
            settings: settings(),
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
            files: BTreeMap::new(),
            run: None,
            tokens: 0,
            refuse: None,
            calls: 0,
            did: Vec::new(),
        };
        for (path, text) in files {
            stage.write(path, text);
        }
        stage.push(Body::Fact(Fact::Date { date: "2026-11-30".into(), zone: "Etc/UTC".into() }));
        stage.push(Body::Fact(Fact::Home(Some("/home/u".into()))));
        stage
    }

    pub(crate) fn write(&mut self, path: &str, text: &str) {
        self.files.insert(PathBuf::from("/w").join(path), text.as_bytes().to_vec());
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.files[&PathBuf::from("/w").join(path)]).into_owned()
    }

    pub(crate) fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: "turn-1".into(), at: 0, body });
    }

    pub(crate) fn cx(&self) -> Context<'_> {
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

    /// A reply with this one call, carried out and stored.
    pub(crate) fn call(&mut self, name: &str, args: &str) -> Answer {
        self.calls += 1;
        let call = call(&format!("c{}", self.calls), name, args);
        self.push(Body::Reply { reply: reply(vec![Block::call(call.clone())], Stop::Calls), total: Usage::default() });
        let mut did = Vec::new();
        let answer = loop {
            match self.harness.next(&self.cx(), &call, &did) {
                Next::Do(actions) => {
                    assert!(did.len() < 12, "the call's program does not end");
                    for action in actions {
                        let outcome = self.perform(&action);
                        did.push(Done { action, outcome, took: 0, at: 0, tag: 7 });
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
        self.push(Body::Called { call: call.id, did, answer: answer.clone() });
        answer
    }

    pub(crate) fn perform(&mut self, action: &Action) -> Outcome {
        match action {
            Action::World(World::Run(_)) => self.run.take().unwrap_or_else(|| ran("", Exit::Code(0))),
            Action::World(World::Read { path, what }) => self.look(path, what),
            Action::World(World::List { path, .. }) => {
                let below = self.files.keys().filter(|file| file.parent() == Some(path));
                let hit = |path: &PathBuf| Hit { path: path.clone(), ..Hit::default() };
                Outcome::Paths(Found { hits: below.map(hit).collect(), more: false })
            }
            Action::World(World::Change(changes)) => match self.refuse.take() {
                Some(refusal) => Outcome::Refused(refusal),
                None => Outcome::Changed(changes.iter().map(|change| self.change(change)).collect()),
            },
            Action::World(World::Save { text, .. }) => Outcome::Saved {
                path: "/s/out.txt".into(),
                chars: text.chars().count() as u64,
                bytes: text.len() as u64,
            },
            Action::Session(Session::CountTokens(_)) => Outcome::Counted { tokens: self.tokens, exact: true },
            other if self.others.is_empty() => panic!("not of this world: {other:?}"),
            _ => self.others.remove(0),
        }
    }

    pub(crate) fn look(&self, path: &PathBuf, what: &ReadAs) -> Outcome {
        let missing = Failure::Io { path: path.clone(), errno: 2, message: "No such file or directory".into() };
        let Some(bytes) = self.files.get(path) else {
            if self.files.keys().any(|file| file.starts_with(path)) {
                if *what == ReadAs::Stat {
                    return Outcome::Stat { kind: FileKind::Folder, stamp: stamp(b""), link: None };
                }
                return Outcome::Failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Folder });
            }
            return match path.to_str() {
                Some("/dev/null" | "/w/fifo") => {
                    Outcome::Failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Special })
                }
                Some("/w/loop") => {
                    Outcome::Failed(Failure::Io { path: path.clone(), errno: 40, message: "loop".into() })
                }
                _ => Outcome::Failed(missing),
            };
        };
        let stamp = stamp(bytes);
        match what {
            ReadAs::Stat => Outcome::Stat { kind: FileKind::File, stamp, link: None },
            ReadAs::Text { .. } => {
                let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                let form = TextForm {
                    bom: body.len() < bytes.len(),
                    utf8: std::str::from_utf8(body).is_ok(),
                    ..TextForm::default()
                };
                Outcome::Text { text: String::from_utf8_lossy(body).into_owned(), form, stamp }
            }
            ReadAs::Image { .. } if bytes.starts_with(b"png") => {
                let blob = Blob::new("b", "image/png", bytes.clone());
                Outcome::Media { blob, original: Some((3000, 2000)), shown: Some((2000, 1333)), stamp }
            }
            ReadAs::Image { .. } => Outcome::Failed(Failure::BadImage { path: path.clone(), detected: None }),
            ReadAs::Document { .. } => {
                let blob = Blob::new("b", "application/pdf", bytes.clone());
                Outcome::Media { blob, original: None, shown: None, stamp }
            }
        }
    }

    pub(crate) fn change(&mut self, change: &protocol::Change) -> ChangeDone {
        let old = self.files.get(&change.path).cloned();
        match &change.expect {
            Expect::Absent => assert_eq!(old, None),
            Expect::Unchanged(expected) => assert_eq!(old.as_deref().map(stamp).as_ref(), Some(expected)),
            other => panic!("{other:?}"),
        }
        let old = old.unwrap_or_default();
        let bom = old.starts_with(b"\xef\xbb\xbf");
        let text = String::from_utf8(old[if bom { 3 } else { 0 }..].to_vec()).unwrap();
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
        let bytes = if bom { [b"\xef\xbb\xbf", new.as_bytes()].concat() } else { new.into_bytes() };
        let stamp = stamp(&bytes);
        self.files.insert(change.path.clone(), bytes);
        ChangeDone {
            path: change.path.clone(),
            to: None,
            kind: ChangeKind::Update,
            diff: String::new(),
            stamp: Some(stamp),
        }
    }

    /// One call whose answer is plain text: `error` as in the request.
    pub(crate) fn check(&mut self, name: &str, args: Value, error: Option<bool>, expected: &str) {
        let answer = self.call(name, &args.to_string());
        assert_eq!(answer, Answer { error, ..Answer::plain(expected) }, "{name} {args}");
    }

    pub(crate) fn read(&mut self, path: &str, expected: &str) {
        self.check("Read", json!({"file_path": path}), None, expected);
    }

    pub(crate) fn edit(&mut self, path: &str, old: &str, new: &str, error: Option<bool>, expected: &str) {
        self.check("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), error, expected);
    }

    pub(crate) fn bash(&mut self, command: &str, outcome: Outcome, error: Option<bool>, expected: &str) {
        self.run = Some(outcome);
        self.check("Bash", json!({"command": command}), error, expected);
    }
}

pub(crate) fn call(id: &str, name: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

pub(crate) fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    let from = Source { provider: "stub".into(), wire: WireId::Messages, model: "stub-model".into() };
    Reply { id: "r".into(), from, blocks, stop, usage: Usage::default() }
}

pub(crate) fn ran(output: &str, exit: Exit) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: Some("/w".into()), task: None, left: false }
}

pub(crate) fn ran_to(output: &str, cwd: &str) -> Outcome {
    Outcome::Ran {
        output: Captured::whole(output),
        exit: Exit::Code(0),
        cwd_after: Some(cwd.into()),
        task: None,
        left: false,
    }
}

pub(crate) fn stamp(bytes: &[u8]) -> Stamp {
    Stamp { len: bytes.len() as u64, mtime_ns: 0, hash: format!("{bytes:?}") }
}

pub(crate) fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

const CURRENT: &str = "The file /w/a.txt has been updated successfully. (file state is current in your context — no need to Read it back)";
const UNREAD: &str = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>";
const MODIFIED: &str = "<tool_use_error>File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.</tool_use_error>";
const MEANWHILE: &str = "The file /w/a.txt has been updated successfully. (note: the file had been modified on disk since you last read it — the edit applied cleanly, but the file contains other changes not in your context. Read it before edits that depend on surrounding content.)";
pub(crate) const A: &str = "alpha\nbeta\ngamma\nbeta\n";
const A_READ: &str = "1\talpha\n2\tbeta\n3\tgamma\n4\tbeta\n5\t";
