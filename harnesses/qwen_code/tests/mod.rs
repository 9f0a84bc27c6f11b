//! The dialect from outside, over a world made of a map of files. Expected texts were measured on Qwen Code 0.24.4, but for advice of
//! several sentences, which is ours.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, ApprovalPolicy, Blob, Block, Body, Call, CallForm, Caps, Captured, ChangeDone, ChangeKind, Content,
    Done, Eol, Exit, Expect, Fact, Failure, FileKind, Found, GitFact, Hit, Item, ItemId, Mode, ModelInfo, New, Origin,
    Outcome, Part, ReadAs, Reply, SandboxMode, SandboxPolicy, Session, Settings, Source, Stamp, Stop, TextForm,
    ThreadId, Tool, TurnId, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::QwenCode;
use crate::{Context, Doc, Harness, Next, Persona, SkillInfo, Words};

mod conversation;
mod files;
mod searches;
mod sessions;
mod shells;

/// Milliseconds of the stage's clock.
const NOW: u64 = 1_800_000_000_000;

/// Everything that a context borrows, and the files of the world.
struct Stage {
    thread: ThreadId,
    turn: TurnId,
    model: ModelInfo,
    caps: Caps,
    source: Source,
    settings: Settings,
    items: Vec<Item>,
    said: Vec<protocol::Entry>,
    persona: Persona,
    docs: Vec<Doc>,
    skills: Vec<SkillInfo>,
    extra: Vec<Tool>,
    words: Words,
    files: BTreeMap<PathBuf, (Vec<u8>, u64)>,
    /// Time of the newest change, in milliseconds.
    time: u64,
    /// What the next Actions of other kinds come to, in order.
    outcomes: Vec<Outcome>,
    calls: usize,
    /// Actions of the last call.
    did: Vec<Action>,
}

impl Stage {
    fn new(files: &[(&str, &str)]) -> Stage {
        let mut stage = Stage {
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo { known: false, ..ModelInfo::fallback("qwen3-coder-plus") },
            caps: Caps::plain(),
            source: Source { provider: "stub".into(), wire: WireId::Chat, model: "qwen3-coder-plus".into() },
            settings: Settings {
                provider: "stub".into(),
                model: "qwen3-coder-plus".into(),
                wire: WireId::Chat,
                harness: "qwen-code".into(),
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
            },
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
            files: BTreeMap::new(),
            time: 1_000,
            outcomes: Vec::new(),
            calls: 0,
            did: Vec::new(),
        };
        for (path, text) in files {
            stage.write(path, text.as_bytes());
        }
        let names = |entries: &[&str]| Fact::Listing {
            path: "/w".into(),
            entries: entries.iter().map(|e| (*e).to_owned()).collect(),
            more: false,
        };
        for fact in [
            Fact::Date { date: "2026-11-30".into(), zone: "Etc/UTC".into() },
            Fact::Home(Some("/home/u".into())),
            Fact::System {
                system: "Linux".into(),
                release: String::new(),
                version: String::new(),
                machine: String::new(),
            },
            Fact::Git(Some(GitFact::default())),
            names(&[".git/", "a.txt", "src/"]),
            names(&[".git/", "a.txt", "src/", "src/m.py"]),
        ] {
            stage.push(Body::Fact(fact));
        }
        stage
    }

    fn write(&mut self, path: &str, bytes: &[u8]) {
        self.time += 1_000;
        self.files.insert(Path::new("/w").join(path), (bytes.to_vec(), self.time));
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.files[&Path::new("/w").join(path)].0).into_owned()
    }

    fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: self.turn.clone(), at: NOW, body });
    }

    fn user(&mut self, text: &str) {
        self.push(Body::User { origin: Origin::User, parts: vec![Part::text(text)] });
    }

    fn reply(&mut self, reply: Reply) {
        self.push(Body::Reply { reply, total: Usage::default() });
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

    /// A reply with this one call, carried out and stored.
    fn call(&mut self, name: &str, args: &str) -> Answer {
        self.calls += 1;
        let call = call(&format!("c{}", self.calls), name, args);
        self.reply(reply(vec![Block::call(call.clone())], Stop::Calls));
        let mut did = Vec::new();
        let answer = loop {
            match QwenCode.next(&self.cx(), &call, &did) {
                Next::Do(actions) => {
                    assert!(did.len() < 12 && !actions.is_empty(), "the call's program does not end");
                    for action in actions {
                        let outcome = self.perform(&action);
                        did.push(Done { action, outcome, took: 0, at: NOW, tag: 7 });
                    }
                }
                Next::Answer(answer) | Next::Reject { answer, .. } => break answer,
            }
        };
        self.did = did.iter().map(|done| done.action.clone()).collect();
        // As the runtime keeps it: without whole texts.
        for done in &mut did {
            match &mut done.outcome {
                Outcome::Text { text, .. } => text.clear(),
                Outcome::Matches(found) => found.hits.clear(),
                _ => {}
            }
        }
        self.push(Body::Called { call: call.id, did, answer: answer.clone() });
        answer
    }

    fn perform(&mut self, action: &Action) -> Outcome {
        match action {
            Action::World(World::Read { path, what }) => self.look(path, what),
            Action::World(World::Change(changes)) if self.outcomes.is_empty() => {
                Outcome::Changed(changes.iter().map(|change| self.change(change)).collect())
            }
            Action::World(World::Save { text, .. }) => {
                Outcome::Saved { path: "/s/out.txt".into(), chars: 0, bytes: text.len() as u64 }
            }
            _ if self.outcomes.is_empty() => panic!("nothing scripted for {action:?}"),
            _ => self.outcomes.remove(0),
        }
    }

    fn look(&self, path: &PathBuf, what: &ReadAs) -> Outcome {
        let io = |errno: i32| Outcome::Failed(Failure::Io { path: path.clone(), errno, message: "?".into() });
        let Some((bytes, time)) = self.files.get(path) else {
            if self.files.keys().any(|file| file.starts_with(path)) {
                return Outcome::Failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Folder });
            }
            let below_file = path.ancestors().skip(1).any(|above| self.files.contains_key(above));
            return match path.to_str() {
                Some("/w/fifo") => Outcome::Failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Special }),
                _ => io(if below_file { 20 } else { 2 }),
            };
        };
        let stamp = stamp(bytes, *time);
        match what {
            ReadAs::Stat => Outcome::Stat { kind: FileKind::File, stamp, link: None },
            ReadAs::Text { .. } => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                let eol = if text.contains("\r\n") { Eol::Crlf } else { Eol::Lf };
                let form = TextForm { eol, utf8: std::str::from_utf8(bytes).is_ok(), ..TextForm::default() };
                Outcome::Text { text, form, stamp }
            }
            ReadAs::Image { .. } if !bytes.starts_with(b"png") => {
                Outcome::Failed(Failure::BadImage { path: path.clone(), detected: None })
            }
            ReadAs::Image { .. } | ReadAs::Document { .. } => {
                let blob = Blob::new("b", "image/png", bytes.clone());
                Outcome::Media { blob, original: None, shown: None, stamp }
            }
        }
    }

    fn change(&mut self, change: &protocol::Change) -> ChangeDone {
        let old = self.files.get(&change.path).cloned();
        match &change.expect {
            Expect::Absent => assert_eq!(old, None),
            Expect::Unchanged(expected) => {
                assert_eq!(old.as_ref().map(|(bytes, time)| stamp(bytes, *time)).as_ref(), Some(expected));
            }
            Expect::Anything => {}
            other => panic!("{other:?}"),
        }
        let text = String::from_utf8(old.unwrap_or_default().0).unwrap();
        let new = match &change.new {
            New::Whole { text, like: Some(form) } if form.eol == Eol::Crlf => text.replace('\n', "\r\n"),
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
        self.time += 1_000;
        let stamp = stamp(new.as_bytes(), self.time);
        self.files.insert(change.path.clone(), (new.into_bytes(), self.time));
        ChangeDone {
            path: change.path.clone(),
            to: None,
            kind: ChangeKind::Update,
            diff: String::new(),
            stamp: Some(stamp),
        }
    }

    /// One call and its text. An expected text that ends in `…` is the beginning of a longer one.
    fn check(&mut self, name: &str, args: Value, expected: &str) {
        let answer = self.call(name, &args.to_string());
        let text = answer.content.text();
        match expected.strip_suffix('…') {
            Some(start) => assert!(text.starts_with(start), "{name} {args}: {text}"),
            None => assert_eq!(text, expected, "{name} {args}"),
        }
        assert_eq!(answer, listed(&text), "{name} {args}");
    }

    fn read(&mut self, path: &str, expected: &str) {
        self.check("read_file", json!({"file_path": path}), expected);
    }

    fn edit(&mut self, path: &str, old: &str, new: &str, expected: &str) {
        self.check("edit", json!({"file_path": path, "old_string": old, "new_string": new}), expected);
    }

    fn run(&mut self, args: Value, outcome: Outcome, expected: &str) {
        self.outcomes = vec![outcome];
        self.check("run_shell_command", args, expected);
    }
}

fn stamp(bytes: &[u8], time: u64) -> Stamp {
    Stamp { len: bytes.len() as u64, mtime_ns: time * 1_000_000, hash: String::new() }
}

fn call(id: &str, name: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    let from = Source { provider: "stub".into(), wire: WireId::Chat, model: "qwen3-coder-plus".into() };
    Reply { id: "r".into(), from, blocks, stop, usage: Usage::default() }
}

fn listed(text: &str) -> Answer {
    Answer { content: Content::Parts(vec![Part::text(text)]), error: None, after: Vec::new() }
}

fn ran(output: &str, exit: Exit) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task: None, left: false }
}

fn hit(path: &str, mtime_ms: u64, lines: &[(u64, &str)]) -> Hit {
    let lines = lines.iter().map(|(n, text)| (*n, (*text).to_owned(), false)).collect();
    Hit { path: path.into(), mtime_ns: mtime_ms * 1_000_000, lines, ..Hit::default() }
}
