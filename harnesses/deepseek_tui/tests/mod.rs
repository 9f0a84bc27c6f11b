//! The dialect from outside. Expected texts are those of the reference; `ours` marks the rest.
mod conversation;
mod results;
mod sessions;

use pretty_assertions::assert_eq;
use protocol::{Answer, Outcome, SandboxMode, SandboxPolicy};
use serde_json::Value;

use super::*;
use crate::stage::Stage;

/// In the sandbox that agent mode has.
fn stage(files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(&DeepseekTui, files);
    stage.settings.sandbox = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
    stage
}

/// One call in a thread of its own, so that no guard has anything to say.
fn answer(files: &[(&str, &str)], outcome: Option<Outcome>, name: &str, args: &Value) -> (Answer, Stage) {
    let mut stage = stage(files);
    stage.outcomes.extend(outcome);
    let answer = stage.call(name, &args.to_string());
    (answer, stage)
}

fn check(files: &[(&str, &str)], name: &str, args: Value, expected: &str) {
    assert_eq!(answer(files, None, name, &args).0.content.text(), expected, "{name} {args}");
}

fn check_after(outcome: Outcome, name: &str, args: Value, expected: &str) {
    assert_eq!(answer(&[], Some(outcome), name, &args).0.content.text(), expected, "{name} {args}");
}

fn numbered(from: usize, to: usize) -> String {
    (from..=to).map(|n| format!("{n:>6}│ line {n}\n")).collect()
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}
