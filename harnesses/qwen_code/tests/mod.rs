//! The dialect from outside, over the stage's world. Expected texts were measured on Qwen Code 0.24.4, but for advice of several
//! sentences, which is ours.
use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, ApprovalPolicy, Block, Body, Call, CallForm, Captured, Content, Done, Exit, Fact, Failure,
    FileKind, Found, GitFact, Hit, Mode, ModelInfo, Outcome, Part, Reply, SandboxMode, SandboxPolicy, Session, Source,
    Stop, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::QwenCode;
use crate::stage::{Stage, call, ran, reply};
use crate::{Doc, Harness, Next, SkillInfo};

mod conversation;
mod files;
mod searches;
mod sessions;
mod shells;

/// Milliseconds of the stage's clock.
const NOW: u64 = 1_800_000_000_000;

/// Files have times, as this dialect tells versions by them.
fn stage(files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(&QwenCode, &[]);
    (stage.now, stage.ticks) = (NOW, true);
    stage.model = ModelInfo { known: false, ..ModelInfo::fallback("qwen3-coder-plus") };
    stage.source = Source { provider: "stub".into(), wire: WireId::Chat, model: "qwen3-coder-plus".into() };
    stage.settings.model = "qwen3-coder-plus".into();
    for (path, text) in files {
        stage.write(path, text.as_bytes());
    }
    let listing = |entries: &[&str]| Fact::Listing {
        path: "/w".into(),
        entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
        more: false,
    };
    let none = String::new;
    for fact in [
        Fact::System { system: "Linux".into(), release: none(), version: none(), machine: none() },
        Fact::Git(Some(GitFact::default())),
        listing(&[".git/", "a.txt", "src/"]),
        listing(&[".git/", "a.txt", "src/", "src/m.py"]),
    ] {
        stage.push(Body::Fact(fact));
    }
    stage
}

trait Checks {
    fn user(&mut self, text: &str);
    fn replied(&mut self, reply: Reply);
    /// One call and its text. An expected text that ends in `…` is the beginning of a longer one.
    fn says(&mut self, name: &str, args: Value, expected: &str);
    fn read(&mut self, path: &str, expected: &str);
    fn edit(&mut self, path: &str, old: &str, new: &str, expected: &str);
    fn run(&mut self, args: Value, outcome: Outcome, expected: &str);
}

impl Checks for Stage {
    fn user(&mut self, text: &str) {
        self.push(crate::stage::user(text));
    }

    fn replied(&mut self, reply: Reply) {
        self.push(Body::Reply { reply, total: Usage::default() });
    }

    fn says(&mut self, name: &str, args: Value, expected: &str) {
        let answer = self.call(name, &args.to_string());
        let text = answer.content.text();
        match expected.strip_suffix('…') {
            Some(start) => assert!(text.starts_with(start), "{name} {args}: {text}"),
            None => assert_eq!(text, expected, "{name} {args}"),
        }
        assert_eq!(answer, listed(&text), "{name} {args}");
    }

    fn read(&mut self, path: &str, expected: &str) {
        self.says("read_file", json!({"file_path": path}), expected);
    }

    fn edit(&mut self, path: &str, old: &str, new: &str, expected: &str) {
        self.says("edit", json!({"file_path": path, "old_string": old, "new_string": new}), expected);
    }

    fn run(&mut self, args: Value, outcome: Outcome, expected: &str) {
        self.outcomes = [outcome].into();
        self.says("run_shell_command", args, expected);
    }
}

fn listed(text: &str) -> Answer {
    Answer { content: Content::Parts(vec![Part::text(text)]), error: None, after: Vec::new() }
}

fn hit(path: &str, mtime_ms: u64, lines: &[(u64, &str)]) -> Hit {
    let lines = lines.iter().map(|(n, text)| (*n, (*text).to_owned(), false)).collect();
    Hit { path: path.into(), mtime_ns: mtime_ms * 1_000_000, lines, ..Hit::default() }
}
