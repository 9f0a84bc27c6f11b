//! For tests: a thread in some dialect over a world made of a map of files. Calls are carried out as the runtime does it; what this
//! world cannot do (commands, searches, pages, agents) comes of outcomes that the test puts there.
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use protocol::{
    Action, Answer, ApprovalPolicy, Blob, Block, Body, Call, CallForm, Caps, Captured, Change, ChangeDone, ChangeKind,
    Done, Entry, Eol, Exit, Expect, Fact, Failure, FileKind, Found, Hit, Item, ItemId, Millis, Mode, ModelInfo, New,
    Origin, Outcome, Part, ReadAs, Reply, SandboxMode, SandboxPolicy, Session, Settings, Source, Stamp, Stop, TextForm,
    ThreadId, Tool, TurnId, Usage, WireId, World,
};
use serde_json::Value;

use crate::{Context, Doc, Harness, Next, Persona, SkillInfo, Words};

/// Everything that a context borrows, and the files of the world, which lie in `/w`.
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
    /// What the next Actions that this world cannot do come to.
    pub(crate) outcomes: VecDeque<Outcome>,
    /// Actions of the last call.
    pub(crate) did: Vec<Action>,
    /// Milliseconds: when everything happens, and how long each Action takes.
    pub(crate) now: Millis,
    pub(crate) took: Millis,
    /// Times of files, in nanoseconds, where `ticks` has each change move on the clock of files.
    times: BTreeMap<PathBuf, u64>,
    pub(crate) ticks: bool,
    calls: usize,
}

impl Stage {
    pub(crate) fn new(harness: &'static dyn Harness, files: &[(&str, &str)]) -> Stage {
        let mut stage = Stage {
            harness,
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo::fallback("stub-model"),
            caps: Caps::plain(),
            source: Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() },
            settings: settings(harness.id()),
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
            files: BTreeMap::new(),
            outcomes: VecDeque::new(),
            did: Vec::new(),
            now: 0,
            took: 0,
            times: BTreeMap::new(),
            ticks: false,
            calls: 0,
        };
        for (path, text) in files {
            stage.write(path, text.as_bytes());
        }
        stage.push(Body::Fact(Fact::Date { date: "2026-11-30".into(), zone: "Etc/UTC".into() }));
        stage.push(Body::Fact(Fact::Home(Some("/home/u".into()))));
        stage
    }

    pub(crate) fn write(&mut self, path: &str, bytes: &[u8]) {
        self.put(Path::new("/w").join(path), bytes.to_vec());
    }

    fn put(&mut self, path: PathBuf, bytes: Vec<u8>) {
        if self.ticks {
            let next = self.times.values().max().copied().unwrap_or_default() + 1_000_000_000;
            self.times.insert(path.clone(), next);
        }
        self.files.insert(path, bytes);
    }

    fn stamp(&self, path: &Path, bytes: &[u8]) -> Stamp {
        Stamp { mtime_ns: self.times.get(path).copied().unwrap_or_default(), ..stamp(bytes) }
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.files
            .get(&Path::new("/w").join(path))
            .map_or_else(|| format!("(no {path})"), |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(crate) fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: self.turn.clone(), at: self.now, body });
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

    /// What is new since the `from`-th item, as entries.
    pub(crate) fn say(&mut self, from: usize) -> Vec<Entry> {
        let entries = self.harness.say(&self.cx(), &self.items[from..]);
        self.said.extend(entries.iter().cloned());
        entries
    }

    /// A reply with these calls; nothing is carried out.
    pub(crate) fn reply(&mut self, calls: &[Call]) {
        let blocks = calls.iter().cloned().map(Block::call).collect();
        self.push(Body::Reply { reply: reply(blocks, Stop::Calls), total: Usage::default() });
    }

    /// A reply with this one call, carried out and stored.
    pub(crate) fn call(&mut self, name: &str, args: &str) -> Answer {
        self.calls += 1;
        let call = call(&format!("c{}", self.calls), name, args);
        self.reply(std::slice::from_ref(&call));
        self.carry_out(&call)
    }

    pub(crate) fn carry_out(&mut self, call: &Call) -> Answer {
        let mut did: Vec<Done> = Vec::new();
        let answer = loop {
            match self.harness.next(&self.cx(), call, &did) {
                Next::Do(actions) => {
                    assert!(did.len() < 40 && !actions.is_empty(), "the call's program does not end");
                    for action in actions {
                        let outcome = self.perform(&action);
                        did.push(Done { action, outcome, took: self.took, at: self.now, tag: 7 });
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

    /// One call whose answer is plain text.
    pub(crate) fn check(&mut self, name: &str, args: Value, expected: &str) {
        let text = self.call(name, &args.to_string()).content.text();
        pretty_assertions::assert_eq!(text, expected, "{name} {args}");
    }

    /// The same, where the next Action comes to `outcome`.
    pub(crate) fn check_after(&mut self, outcome: Outcome, name: &str, args: Value, expected: &str) {
        self.outcomes.push_back(outcome);
        self.check(name, args, expected);
    }

    fn perform(&mut self, action: &Action) -> Outcome {
        match action {
            Action::World(World::Read { path, what }) => self.look(path, what),
            Action::World(World::List { path, .. }) if self.outcomes.is_empty() => {
                let below = self.files.keys().filter_map(|file| file.strip_prefix(path).ok()?.iter().next());
                let mut names: Vec<PathBuf> = below.map(|name| path.join(name)).collect();
                names.dedup();
                Outcome::Paths(Found { hits: names.into_iter().map(|path| self.hit(path)).collect(), more: false })
            }
            Action::World(World::Change(changes)) => match self.outcomes.pop_front() {
                Some(outcome) => outcome,
                None => changes
                    .iter()
                    .map(|change| self.change(change))
                    .collect::<Result<_, _>>()
                    .map_or_else(Outcome::Failed, Outcome::Changed),
            },
            Action::World(World::Save { text, .. }) => Outcome::Saved {
                path: "/s/out.txt".into(),
                chars: text.chars().count() as u64,
                bytes: text.len() as u64,
            },
            Action::Session(Session::Mode(mode)) if self.outcomes.is_empty() => {
                self.settings.mode = mode.clone();
                Outcome::Ok
            }
            _ => self.outcomes.pop_front().unwrap_or(Outcome::Ok),
        }
    }

    fn hit(&self, path: PathBuf) -> Hit {
        let kind = if self.files.contains_key(&path) { FileKind::File } else { FileKind::Folder };
        Hit { path, kind, ..Hit::default() }
    }

    fn look(&self, path: &Path, what: &ReadAs) -> Outcome {
        let Some(bytes) = self.files.get(path) else {
            let io = |errno| Failure::Io { path: path.to_owned(), errno, message: "no".into() };
            return Outcome::Failed(match path {
                _ if path == Path::new("/dev/null") => {
                    Failure::NotAFile { path: path.to_owned(), kind: FileKind::Special }
                }
                _ if self.files.keys().any(|file| file.starts_with(path)) || path == Path::new("/w") => {
                    Failure::NotAFile { path: path.to_owned(), kind: FileKind::Folder }
                }
                _ if path.parent().is_some_and(|parent| self.files.contains_key(parent)) => io(20),
                _ => io(2),
            });
        };
        let stamp = self.stamp(path, bytes);
        match what {
            ReadAs::Stat => Outcome::Stat { kind: FileKind::File, stamp, link: None },
            ReadAs::Text { .. } => {
                let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                let utf8 = std::str::from_utf8(body).is_ok();
                let text = String::from_utf8_lossy(body).into_owned();
                let form = TextForm { bom: body.len() < bytes.len(), utf8, eol: eol(&text), ..TextForm::default() };
                Outcome::Text { text, form, stamp }
            }
            ReadAs::Image { max_side: Some(_), .. } if bytes.starts_with(b"\x89PNG") => {
                let blob = Blob::new("b", "image/png", bytes.clone());
                Outcome::Media { blob, original: Some((4_000, 3_000)), shown: Some((2_000, 1_500)), stamp }
            }
            ReadAs::Image { .. } if bytes.starts_with(b"png") => {
                let blob = Blob::new("b", "image/png", bytes.clone());
                Outcome::Media { blob, original: Some((1, 1)), shown: Some((1, 1)), stamp }
            }
            ReadAs::Image { .. } => Outcome::Failed(Failure::BadImage { path: path.to_owned(), detected: None }),
            ReadAs::Document { .. } => {
                let blob = Blob::new("b", "application/pdf", bytes.clone());
                Outcome::Media { blob, original: None, shown: None, stamp }
            }
        }
    }

    fn change(&mut self, change: &Change) -> Result<ChangeDone, Failure> {
        let old = self.files.get(&change.path).cloned();
        if let Outcome::Failed(failure) = self.look(&change.path, &ReadAs::Stat)
            && !matches!(failure, Failure::Io { errno: 2, .. })
        {
            return Err(failure);
        }
        match &change.expect {
            Expect::Absent => assert_eq!(old, None),
            Expect::Exists => assert!(old.is_some()),
            Expect::Unchanged(expected) => {
                assert_eq!(old.as_deref().map(|old| self.stamp(&change.path, old)).as_ref(), Some(expected));
            }
            Expect::Anything => {}
        }
        let old = old.unwrap_or_default();
        let body = old.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&old);
        let mut bom = body.len() < old.len();
        let text = String::from_utf8_lossy(body).into_owned();
        let new = match &change.new {
            New::Whole { text, like } => {
                bom = like.is_some_and(|form| form.bom);
                match like {
                    Some(form) if form.eol == Eol::Crlf => text.replace('\n', "\r\n"),
                    _ => text.clone(),
                }
            }
            New::Splices(splices) => {
                let (mut out, mut at) = (String::new(), 0);
                for (range, new) in splices {
                    out.push_str(&text[at..range.start as usize]);
                    out.push_str(new);
                    at = range.end as usize;
                }
                out + &text[at..]
            }
            New::Same => text,
            New::Gone => {
                self.files.remove(&change.path);
                String::new()
            }
        };
        let bytes = if bom { [b"\xef\xbb\xbf", new.as_bytes()].concat() } else { new.into_bytes() };
        let to = change.to.as_ref().unwrap_or(&change.path);
        if change.new != New::Gone {
            self.put(to.clone(), bytes.clone());
        }
        let stamp = self.stamp(to, &bytes);
        Ok(ChangeDone {
            path: change.path.clone(),
            to: change.to.clone(),
            kind: ChangeKind::Update,
            diff: String::new(),
            stamp: Some(stamp),
        })
    }
}

fn eol(text: &str) -> Eol {
    match (text.matches("\r\n").count(), text.matches('\n').count()) {
        (0, _) => Eol::Lf,
        (pairs, feeds) if pairs == feeds => Eol::Crlf,
        _ => Eol::Mixed,
    }
}

fn settings(harness: &str) -> Settings {
    Settings {
        provider: "stub".into(),
        model: "stub-model".into(),
        wire: WireId::Chat,
        harness: harness.into(),
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
        features: BTreeMap::new(),
    }
}

pub(crate) fn call(id: &str, name: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

pub(crate) fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    let from = Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() };
    Reply { id: "r".into(), from, blocks, stop, usage: Usage::default() }
}

pub(crate) fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

pub(crate) fn ran(output: &str, exit: Exit) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task: None, left: false }
}

fn stamp(bytes: &[u8]) -> Stamp {
    Stamp { len: bytes.len() as u64, mtime_ns: 0, hash: format!("{bytes:?}") }
}
