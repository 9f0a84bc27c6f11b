//! Reading a thread: from the end of its rollout backwards until everything that a resume needs is found, over the
//! rollouts that it was forked from. Of each line only the first bytes are looked at here; those that are wanted are parsed
//! beside (on several threads where they are many).
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    thread,
};

use memchr::memmem;
use protocol::{Body, Entry, Item, ItemId, Opening, Origin, Part, Settings, Source, ThreadId, Usage};
use serde::Deserialize;

use crate::{
    Error, Head,
    backward::Backward,
    blobs::Blobs,
    layout::{self, Rollout},
    line::{self, Line},
    parse::Parsing,
};

/// The first user message is looked for in this much of a file (bytes).
const PREVIEW: u64 = 4 << 20;
/// Forks of forks of ...: more are not followed.
const DEPTH: usize = 64;

/// A thread as far as it is needed to go on with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    pub head: Head,
    /// Since the last compaction (from its `upto` on), oldest first, without what was reverted. No `Said` is among them.
    pub items: Vec<Item>,
    /// None: nothing stands that could be sent again; the history is to be told anew.
    pub telling: Option<Telling>,
    /// The compaction in force, also where its item lies among `items`.
    pub compaction: Option<Compaction>,
    /// Settings in force.
    pub settings: Option<Settings>,
    /// Usage of the thread so far.
    pub total: Usage,
    /// Id of the next item.
    pub next: ItemId,
    /// First words of the user in the thread.
    pub first_message: Option<String>,
    /// Damage that was found and left out, for the user.
    pub warnings: Vec<String>,
}

/// All that was said since the last opening: goes to the model as it stands while dialect and source are the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    pub dialect: String,
    pub source: Source,
    pub opening: Opening,
    pub entries: Vec<Entry>,
    /// The last `Said`: items after it were not said yet.
    pub upto: ItemId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    pub id: ItemId,
    pub upto: ItemId,
    pub summary: String,
}

/// How the file ends; decides how to go on writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The last byte is a line feed (or there is none).
    pub(crate) ended: bool,
}

/// How much of a thread is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Resume,
    /// Every item that was not reverted, without what was said.
    All,
}

/// A rollout with the part of it that belongs to the thread.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) rollout: Rollout,
    /// Ordinals from here on are not ours.
    limit: u64,
}

/// The thread's own rollout and those behind it, nearest first.
pub(crate) struct Chain {
    pub(crate) head: Head,
    pub(crate) segments: Vec<Segment>,
    warnings: Vec<String>,
}

impl Chain {
    /// `find` knows where another thread's rollout lies.
    pub(crate) fn of(rollout: Rollout, find: &dyn Fn(&ThreadId) -> Option<Rollout>) -> Result<Chain, Error> {
        let mut warnings = Vec::new();
        let head = match read_head(&rollout.path)? {
            Some(head) => head,
            None => {
                warnings.push(format!("the first line of {} is damaged", name(&rollout.path)));
                Head { id: rollout.id.clone(), session_id: rollout.id.clone(), ..Head::default() }
            }
        };
        let mut segments = vec![Segment { rollout, limit: u64::MAX }];
        let mut from = head.fork().map(|(id, limit)| (id.clone(), limit));
        while let Some((id, limit)) = from.take() {
            let known = segments.iter().any(|s| s.rollout.id == id) || segments.len() >= DEPTH;
            let Some(source) = find(&id).filter(|_| !known) else {
                warnings.push(format!("session {id}, which this one was forked from, is gone: its history is missing"));
                break;
            };
            let limit = limit.min(segments.last().map_or(u64::MAX, |s| s.limit));
            from = read_head(&source.path)?.and_then(|h| h.fork().map(|(id, limit)| (id.clone(), limit)));
            segments.push(Segment { rollout: source, limit });
        }
        Ok(Chain { head, segments, warnings })
    }

    pub(crate) fn first_message(&self) -> Option<String> {
        self.segments.iter().rev().find_map(|s| first_message(&s.rollout.path, s.limit))
    }

    pub(crate) fn load(self, extent: Extent) -> Result<(Loaded, Tail), Error> {
        let blobs = Blobs::new(self.segments.iter().map(|s| layout::blob_folder(&s.rollout.path)).collect());
        let mut scan = Scan { extent, settled: Settled::default(), damage: BTreeMap::new(), tail: None };
        let parsed = thread::scope(|scope| {
            let mut parsing = Parsing::new(scope, &blobs);
            for (at, segment) in self.segments.iter().enumerate() {
                if scan.segment(at, segment, &mut parsing)? {
                    break;
                }
            }
            Ok(parsing.finish())
        })?;
        let Scan { settled, mut damage, tail, .. } = scan;
        for (segment, offset) in parsed.broken {
            damage.entry(segment).or_default().push(offset);
        }

        let own_end = self.segments.get(1).map_or(1, |s| s.limit.saturating_add(1));
        let mut warnings = self.warnings.clone();
        warnings.extend(damage.iter().filter_map(|(at, offsets)| {
            Some(complaint(name(&self.segments.get(*at)?.rollout.path), offsets, tail.filter(|_| *at == 0)))
        }));
        for id in blobs.missing() {
            warnings.push(format!("the attachment {id} of {} is missing", name(&self.segments[0].rollout.path)));
        }
        let loaded = Loaded {
            first_message: self.first_message(),
            items: parsed.items,
            telling: telling(parsed.said),
            compaction: settled.compaction,
            settings: settled.settings,
            total: settled.total.unwrap_or_default(),
            next: ItemId(settled.next.max(own_end)),
            warnings,
            head: self.head,
        };
        Ok((loaded, Tail { ended: tail.is_none() }))
    }
}

/// What is known while going backwards.
#[derive(Default)]
struct Settled {
    next: u64,
    total: Option<Usage>,
    settings: Option<Settings>,
    compaction: Option<Compaction>,
    /// Older `Said` lines are not in force.
    said: bool,
    /// Items from here on were reverted by a later line.
    void_from: Option<u64>,
}

struct Scan {
    extent: Extent,
    settled: Settled,
    /// Offsets of damaged lines by segment.
    damage: BTreeMap<usize, Vec<u64>>,
    /// Where the last line of the thread's own rollout begins, if it has no end.
    tail: Option<u64>,
}

impl Scan {
    /// True: nothing before this is needed.
    fn segment(&mut self, at: usize, segment: &Segment, parsing: &mut Parsing) -> Result<bool, Error> {
        let path = &segment.rollout.path;
        let mut file = layout::open(path).map_err(Error::read(path))?;
        let mut lines = Backward::new(&mut file).map_err(Error::read(path))?;
        while let Some(line) = lines.next().map_err(Error::read(path))? {
            let (lead, bytes) = line::trim(line.bytes);
            let offset = line.offset + lead as u64;
            if at == 0 && !line.ended {
                self.tail = Some(offset);
            }
            if bytes.is_empty() {
                if !line.ended {
                    self.damage.entry(at).or_default().push(offset);
                }
                continue;
            }
            match Line::read(bytes) {
                Some(read) => match self.line(&read, segment.limit) {
                    Verdict::Want => parsing.push(at, offset, bytes),
                    Verdict::Skip => {}
                    Verdict::Damaged => self.damage.entry(at).or_default().push(offset),
                    Verdict::Enough => return Ok(true),
                },
                None => self.damage.entry(at).or_default().push(offset),
            }
        }
        Ok(false)
    }

    fn line(&mut self, line: &Line, limit: u64) -> Verdict {
        let Some(ordinal) = line.ordinal else { return Verdict::Skip };
        if ordinal >= limit {
            return Verdict::Skip;
        }
        let now = &mut self.settled;
        now.next = now.next.max(ordinal.saturating_add(1));
        if now.total.is_none() && matches!(line.kind.as_ref(), "reply" | "compacted") {
            now.total = total(line.payload);
        }
        if now.void_from.is_some_and(|from| ordinal >= from) {
            return Verdict::Skip;
        }
        let from = match (self.extent, &now.compaction) {
            (Extent::Resume, Some(compaction)) => compaction.upto.0,
            _ => 0,
        };
        if ordinal < from && now.said && now.settings.is_some() && now.total.is_some() {
            return Verdict::Enough;
        }
        let wanted = if ordinal >= from { Verdict::Want } else { Verdict::Skip };
        match line.kind.as_ref() {
            "user" | "reply" | "read" | "called" | "rejected" | "fact" | "notice" | "foreign" => wanted,
            "said" if now.said || self.extent == Extent::All => Verdict::Skip,
            "said" => {
                now.said = opens(line.payload);
                Verdict::Want
            }
            "settings" => {
                if now.settings.is_none() {
                    match line.item().map(|item| item.body) {
                        Some(Body::Settings(settings)) => now.settings = Some(*settings),
                        _ => return Verdict::Damaged,
                    }
                }
                wanted
            }
            "compacted" => {
                if now.compaction.is_none() {
                    match line.item() {
                        Some(Item { id, body: Body::Compacted { upto, summary, .. }, .. }) => {
                            now.compaction = Some(Compaction { id, upto: upto.min(id), summary });
                            now.said = true;
                        }
                        _ => return Verdict::Damaged,
                    }
                }
                wanted
            }
            "reverted" => match line.item().map(|item| item.body) {
                Some(Body::Reverted { to }) => {
                    now.void_from = Some(now.void_from.map_or(to.0, |from| from.min(to.0)));
                    Verdict::Skip
                }
                _ => Verdict::Damaged,
            },
            _ => Verdict::Skip,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Want,
    Skip,
    Damaged,
    Enough,
}

/// The running sum in a reply or a compaction, without reading the rest.
fn total(payload: &[u8]) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Payload {
        body: Sum,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Sum {
        Reply { total: Usage },
        Compacted { total: Usage },
    }
    let payload: Payload = serde_json::from_slice(payload).ok()?;
    let (Sum::Reply { total } | Sum::Compacted { total }) = payload.body;
    Some(total)
}

/// Whether a `said` has an opening. In the order of fields that we write it stands before the entries; quotes that are not
/// escaped belong to a key here, so the text cannot deceive.
fn opens(payload: &[u8]) -> bool {
    let end = memmem::find(payload, b"\"entries\":").unwrap_or(payload.len());
    memmem::find(&payload[..end], b"\"opening\":").is_some()
}

fn telling(said: Vec<Item>) -> Option<Telling> {
    let mut told: Option<Telling> = None;
    for item in said {
        let Body::Said { dialect, source, opening, entries } = item.body else { continue };
        match (opening, &mut told) {
            (Some(opening), _) => told = Some(Telling { dialect, source, opening, entries, upto: item.id }),
            (None, Some(told)) => {
                told.entries.extend(entries);
                told.upto = item.id;
            }
            (None, None) => {}
        }
    }
    told
}

/// The payload of the first line, where that is a `session_meta`.
pub(crate) fn read_head(path: &Path) -> Result<Option<Head>, Error> {
    let file = layout::open(path).map_err(Error::read(path))?;
    let mut line = Vec::new();
    BufReader::new(file).take(1 << 20).read_until(b'\n', &mut line).map_err(Error::read(path))?;
    let head = Line::read(line::trim(&line).1).filter(|line| line.kind == line::SESSION_META);
    Ok(head.and_then(|line| serde_json::from_slice(line.payload).ok()))
}

fn first_message(path: &Path, limit: u64) -> Option<String> {
    let mut file = BufReader::new(layout::open(path).ok()?.take(PREVIEW));
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).ok()? == 0 {
            return None;
        }
        let Some(line) = Line::read(line::trim(&bytes).1) else { continue };
        if line.ordinal.is_some_and(|ordinal| ordinal >= limit) {
            return None;
        }
        if line.kind == "user"
            && let Some(Body::User { origin: Origin::User | Origin::App, parts }) = line.item().map(|item| item.body)
        {
            let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
            let text = texts.join("\n");
            if !text.trim().is_empty() {
                return Some(text);
            }
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(PathBuf::from).unwrap_or_default().display().to_string()
}

fn complaint(name: String, offsets: &[u64], tail: Option<u64>) -> String {
    let first = offsets.iter().min().copied().unwrap_or(0);
    match offsets.len() {
        1 if tail == Some(first) => format!("the last line of {name} was cut off and is left out"),
        1 => format!("a damaged line of {name} (at byte {first}) is left out"),
        n => format!("{n} damaged lines of {name} (the first at byte {first}) are left out"),
    }
}
