//! Rollouts of Codex itself, read as far as they are useful here: what the user and the model said, calls and their
//! answers, compactions, sums of tokens. The file is not touched; a thread of ours begins with these items.
mod commands;

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use protocol::{
    Answer, Blob, Block, BlockKind, Body, Call, CallForm, CallId, Content, Counts, Item, ItemId, Notice, Origin, Part,
    Phase, Reply, ReplyId, Source, Stop, ThreadId, TurnId, Usage, WireId,
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    Compaction, Error, Head, Loaded, Meta,
    index::Names,
    layout::{self, Rollout},
    line::{self, Line},
};

/// What a Codex session holds, as items from id 1 on. `Store::adopt` makes a thread of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    pub id: ThreadId,
    pub meta: Meta,
    /// The model used last.
    pub model: Option<String>,
    pub items: Vec<Item>,
    pub warnings: Vec<String>,
}

/// Reads a rollout of Codex (seen in 0.171.0; older ones without ordinals too), and those that it was forked from as far
/// as they lie in the same `sessions` folder.
pub fn read(path: &Path) -> Result<Imported, Error> {
    let mut reader = Reader::default();
    reader.file(path, u64::MAX, &mut Vec::new())?;
    reader.flush();
    Ok(reader.out)
}

/// The rollout of a session of the Codex home `home`, by id or name; of several with one name the one named last.
pub fn find(home: &Path, text: &str) -> Option<PathBuf> {
    let archived = |id: &ThreadId| layout::in_folder(&home.join("archived_sessions")).into_iter().find(|r| r.id == *id);
    let locate = |id: &ThreadId| layout::locate(&home.join("sessions"), id).or_else(|| archived(id));
    let found = match Uuid::parse_str(text) {
        Ok(uuid) => locate(&uuid.to_string().into()),
        Err(_) => Names::read(home).ok()?.called(text).into_iter().find_map(locate),
    };
    found.map(|rollout| rollout.path)
}

impl Imported {
    /// As a thread that was loaded, without a file of its own.
    pub fn loaded(&self) -> Loaded {
        let compaction = self.items.iter().rev().find_map(|item| match &item.body {
            Body::Compacted { upto, summary, .. } => {
                Some(Compaction { id: item.id, upto: *upto, summary: summary.clone() })
            }
            _ => None,
        });
        let total = self.items.iter().rev().find_map(|item| match &item.body {
            Body::Reply { total, .. } | Body::Compacted { total, .. } => Some(*total),
            _ => None,
        });
        let from = compaction.as_ref().map_or(ItemId(0), |compaction| compaction.upto);
        Loaded {
            head: Head { id: self.id.clone(), session_id: self.id.clone(), meta: self.meta.clone(), ..Head::default() },
            items: self.items.iter().filter(|item| item.id >= from).cloned().collect(),
            compaction,
            total: total.unwrap_or_default(),
            next: ItemId(self.items.len() as u64 + 1),
            warnings: self.warnings.clone(),
            ..Loaded::default()
        }
    }
}

#[derive(Default)]
struct Reader {
    out: Imported,
    turn: TurnId,
    at: u64,
    provider: String,
    /// Blocks of the reply that is being read; Codex writes one line per block.
    blocks: Vec<Block>,
    reply: Option<ReplyId>,
    usage: Usage,
    total: Usage,
}

impl Reader {
    /// Sources of a fork come first. `above`: the files that lead here.
    fn file(&mut self, path: &Path, limit: u64, above: &mut Vec<PathBuf>) -> Result<(), Error> {
        let mut lines = BufReader::new(layout::open(path).map_err(Error::read(path))?);
        let mut bytes = Vec::new();
        let (mut seen, mut damaged) = (false, 0_u32);
        loop {
            bytes.clear();
            if lines.read_until(b'\n', &mut bytes).map_err(Error::read(path))? == 0 {
                break;
            }
            let text = line::trim(&bytes).1;
            if text.is_empty() {
                continue;
            }
            let parsed = Line::read(text).and_then(whole).or_else(|| Line::slow(text).and_then(whole));
            let Some((line, payload)) = parsed else {
                damaged += 1;
                continue;
            };
            if line.ordinal.is_some_and(|ordinal| ordinal >= limit) {
                break;
            }
            self.at = line::millis(&line.timestamp);
            if line.kind == line::SESSION_META {
                // A second one is that of an ancestor whose lines older versions copied.
                if !std::mem::replace(&mut seen, true) {
                    self.head(path, &payload, above)?;
                }
            } else {
                self.line(&line.kind, &payload);
            }
        }
        if !seen {
            return Err(Error::NotCodex { path: path.to_owned(), why: "it has no session_meta line" });
        }
        if damaged > 0 {
            let warning = format!("{damaged} damaged line(s) of {} were left out", path.display());
            self.out.warnings.push(warning);
        }
        Ok(())
    }

    fn head(&mut self, path: &Path, head: &Value, above: &mut Vec<PathBuf>) -> Result<(), Error> {
        if let Some(from) = text(head, "forked_from_id") {
            let limit = head.get("forked_from_ordinal_exclusive").and_then(Value::as_u64);
            let source = limit.and_then(|_| beside(path, &from.into())).filter(|p| p != path && !above.contains(p));
            match (source, limit) {
                (Some(source), Some(limit)) => {
                    above.push(path.to_owned());
                    self.file(&source, limit, above)?;
                }
                // Older forks hold copies of all lines.
                (None, None) => {}
                _ => self.out.warnings.push(format!("session {from}, which this one was forked from, is not there")),
            }
        }
        self.out.id = text(head, "id").or(text(head, "session_id")).unwrap_or_default().into();
        self.provider = text(head, "model_provider").unwrap_or("openai").to_owned();
        let of = |name| text(head, name).unwrap_or_default().to_owned();
        let git = head.get("git").filter(|git| git.is_object());
        self.out.meta = Meta {
            cwd: of("cwd").into(),
            originator: of("originator"),
            cli_version: of("cli_version"),
            source: of("source"),
            thread_source: text(head, "thread_source").map(str::to_owned),
            model_provider: self.provider.clone(),
            git: git.and_then(|git| serde_json::from_value(git.clone()).ok()),
            parent_thread_id: None,
        };
        Ok(())
    }

    fn line(&mut self, kind: &str, payload: &Value) {
        match kind {
            "response_item" => self.item(payload),
            "turn_context" => {
                if let Some(model) = text(payload, "model") {
                    self.out.model = Some(model.to_owned());
                }
                self.turn(payload);
            }
            "token_usage_record" => {
                self.usage += usage(payload.get("usage"));
                self.total = usage(payload.get("thread_token_usage"));
                if let Some(id) = text(payload, "response_id") {
                    self.reply = Some(id.into());
                }
            }
            "compacted" => {
                self.flush();
                let summary = text(payload, "message")
                    .filter(|m| !m.is_empty())
                    .map_or_else(|| last_text(payload), str::to_owned);
                let summary = with_messages(summary, payload);
                let upto = ItemId(self.out.items.len() as u64 + 1);
                let counts = Counts::of(&self.out.items);
                self.push(Body::Compacted { upto, summary, total: self.total, counts });
            }
            "event_msg" => match text(payload, "type").unwrap_or_default() {
                "task_started" => {
                    self.flush();
                    self.turn(payload);
                }
                "token_count" => {
                    if let Some(total) = payload.pointer("/info/total_token_usage") {
                        self.total = usage(Some(total));
                    }
                }
                "turn_aborted" => {
                    self.flush();
                    self.push(Body::Notice(Notice::Interrupted));
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn turn(&mut self, payload: &Value) {
        if let Some(turn) = text(payload, "turn_id") {
            self.turn = turn.into();
        }
    }

    fn item(&mut self, item: &Value) {
        let name = || text(item, "name").unwrap_or_default().to_owned();
        let id = || -> CallId { text(item, "call_id").or(text(item, "id")).unwrap_or_default().into() };
        let namespace = || text(item, "namespace").map(str::to_owned);
        let of = |field| text(item, field).unwrap_or_default().to_owned();
        match text(item, "type").unwrap_or_default() {
            "message" => self.message(item),
            "reasoning" => {
                let summary = item.get("summary").or(item.get("content")).map(texts).unwrap_or_default().join("\n\n");
                if !summary.is_empty() {
                    self.block(BlockKind::Reasoning(summary));
                }
            }
            "function_call" => self.block(BlockKind::Call(Call {
                id: id(),
                namespace: namespace(),
                name: name(),
                args: of("arguments"),
                form: CallForm::Function,
            })),
            "custom_tool_call" => self.block(BlockKind::Call(Call {
                id: id(),
                namespace: namespace(),
                name: name(),
                args: of("input"),
                form: CallForm::Custom,
            })),
            "local_shell_call" => self.block(BlockKind::Call(Call {
                id: id(),
                namespace: None,
                name: "local_shell".into(),
                args: item.get("action").map(Value::to_string).unwrap_or_else(|| "{}".into()),
                form: CallForm::Function,
            })),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.flush();
                let content = match item.get("output") {
                    Some(Value::String(text)) => Content::Plain(text.clone()),
                    Some(Value::Array(parts)) => Content::Parts(self.parts(parts)),
                    Some(Value::Object(object)) => match object.get("content") {
                        Some(Value::String(text)) => Content::Plain(text.clone()),
                        other => Content::Plain(other.map(Value::to_string).unwrap_or_default()),
                    },
                    _ => Content::Plain(String::new()),
                };
                let answer = Answer { content, error: None, after: Vec::new() };
                let did = self.call(&id()).and_then(|call| commands::done(call, &answer.content.text()));
                self.push(Body::Called { call: id(), did: did.into_iter().collect(), answer });
            }
            _ => {}
        }
    }

    /// The newest call with this id.
    fn call(&self, id: &CallId) -> Option<&Call> {
        self.out.items.iter().rev().find_map(|item| match &item.body {
            Body::Reply { reply, .. } => reply.calls().find(|call| call.id == *id),
            _ => None,
        })
    }

    fn message(&mut self, item: &Value) {
        let content: &[Value] = item.get("content").and_then(Value::as_array).map_or(&[], Vec::as_slice);
        match text(item, "role") {
            Some("assistant") => {
                let phase = match text(item, "phase") {
                    Some("commentary") => Phase::Commentary,
                    _ => Phase::Final,
                };
                for text in content.iter().filter_map(|part| text(part, "text")) {
                    self.block(BlockKind::Text(text.to_owned(), phase));
                }
            }
            Some("user") => {
                let mut parts = self.parts(content);
                parts.retain(|part| !part.as_text().is_some_and(is_context));
                if !parts.is_empty() {
                    self.flush();
                    self.push(Body::User { origin: Origin::User, parts });
                }
            }
            // What Codex told its own model about tools and permissions; the harness here has its own words.
            _ => {}
        }
    }

    fn parts(&self, content: &[Value]) -> Vec<Part> {
        let part = |(at, part): (usize, &Value)| match text(part, "type")? {
            "input_image" => {
                let (mime, data) = text(part, "image_url")?.strip_prefix("data:")?.split_once(";base64,")?;
                let data = STANDARD.decode(data).ok()?;
                let id = format!("codex-{}-{at}", self.out.items.len() + 1);
                Some(Part::Image { blob: Blob::new(id, mime, data), detail: text(part, "detail").map(str::to_owned) })
            }
            _ => Some(Part::text(text(part, "text")?)),
        };
        content.iter().enumerate().filter_map(part).collect()
    }

    fn block(&mut self, kind: BlockKind) {
        self.blocks.push(Block { kind, opaque: Vec::new() });
    }

    /// The reply is whole.
    fn flush(&mut self) {
        let (blocks, usage) = (std::mem::take(&mut self.blocks), std::mem::take(&mut self.usage));
        let id = self.reply.take();
        if blocks.is_empty() {
            return;
        }
        let calls = blocks.iter().any(|block| matches!(block.kind, BlockKind::Call(_)));
        let reply = Reply {
            id: id.unwrap_or_else(|| format!("codex-{}", self.out.items.len() + 1).into()),
            from: Source {
                provider: self.provider.clone(),
                wire: WireId::Responses,
                model: self.out.model.clone().unwrap_or_default(),
            },
            blocks,
            stop: if calls { Stop::Calls } else { Stop::End },
            usage,
        };
        self.push(Body::Reply { reply, total: self.total });
    }

    fn push(&mut self, body: Body) {
        let id = ItemId(self.out.items.len() as u64 + 1);
        self.out.items.push(Item { id, turn: self.turn.clone(), at: self.at, body });
    }
}

/// With its payload. None where that is no JSON; Codex writes fields behind it on some lines, which `Line::read` does not expect.
fn whole(line: Line) -> Option<(Line, Value)> {
    let payload = serde_json::from_slice(line.payload).ok()?;
    Some((line, payload))
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

fn texts(parts: &Value) -> Vec<&str> {
    parts.as_array().into_iter().flatten().filter_map(|part| text(part, "text")).collect()
}

/// The summary is the last message of what replaces the history.
fn last_text(compacted: &Value) -> String {
    let history = compacted.get("replacement_history").and_then(Value::as_array);
    let message =
        history.into_iter().flatten().rev().find_map(|item| item.get("content").map(texts).filter(|t| !t.is_empty()));
    message.unwrap_or_default().join("\n")
}

/// Codex keeps the user's messages beside the summary; the one that waits for its answer may be among them.
fn with_messages(summary: String, compacted: &Value) -> String {
    let history = compacted.get("replacement_history").and_then(Value::as_array);
    let from_user = history.into_iter().flatten().filter(|item| text(item, "role") == Some("user"));
    let said: Vec<&str> = from_user
        .filter_map(|item| item.get("content"))
        .flat_map(texts)
        .filter(|text| !is_context(text) && !summary.contains(text) && !text.contains(&summary))
        .collect();
    match said.is_empty() {
        true => summary,
        false => format!("{summary}\n\nThe user's messages up to here, oldest first:\n\n{}", said.join("\n\n")),
    }
}

fn usage(value: Option<&Value>) -> Usage {
    let of = |field| value.and_then(|v| v.get(field)).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input: of("input_tokens"),
        cached: of("cached_input_tokens"),
        cache_write: of("cache_write_input_tokens"),
        output: of("output_tokens"),
        reasoning: of("reasoning_output_tokens"),
    }
}

/// What Codex sends in the user's name beside the user's words: text within one pair of tags, or the contents of AGENTS.md.
fn is_context(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with("# AGENTS.md instructions") {
        return true;
    }
    let Some(tag) = text.strip_prefix('<').and_then(|rest| rest.split(['>', ' ', '\n']).next()) else { return false };
    let name = tag.contains('_') && tag.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    name && text.strip_suffix('>').and_then(|rest| rest.strip_suffix(tag)).is_some_and(|rest| rest.ends_with("</"))
}

/// Another rollout of the same Codex home.
fn beside(path: &Path, id: &ThreadId) -> Option<PathBuf> {
    let named = |folder: &&Path| folder.ends_with("sessions") || folder.ends_with("archived_sessions");
    let home = path.ancestors().find(named)?.parent()?;
    let archived = || layout::in_folder(&home.join("archived_sessions")).into_iter().find(|r: &Rollout| r.id == *id);
    layout::locate(&home.join("sessions"), id).or_else(archived).map(|rollout| rollout.path)
}

#[cfg(test)]
mod tests;
