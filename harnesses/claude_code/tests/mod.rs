//! The dialects from outside, over the stage of the bare one. Expected texts were measured on Claude Code 2.1.332, 2.0.30, 2.1.20 and
//! 1.0.60, where a comment does not say that they are ours.
use protocol::{
    Action, Answer, Body, Captured, Content, Entry, Exit, Fact, Found, GitFact, Hit, Mode, Notice, Outcome, Page, Part,
    Refusal, Session, Speaker, Stop, Usage, World,
};
use serde_json::{Value, json};

use super::generation::Generation;
use super::{CLASSIC, CURRENT, ClaudeCode, V1_0, V2_0, V2_1};
use crate::claude_code_bare::tests::{A, Stage, call, ran, reply, user};
use crate::{Doc, Harness, Reading, SkillInfo};

mod conversation;
mod older;
mod searches;
mod session;
mod tools;

pub(super) const GENERATIONS: [Generation; 6] =
    [Generation::V1_0, Generation::V2_0, Generation::V2_1, Generation::Classic, Generation::Zcode, Generation::Current];

fn stage(harness: &'static ClaudeCode, files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(files);
    stage.harness = harness;
    stage.settings.harness = harness.id().into();
    stage
}

/// Claude, as the original speaks to it.
fn claude(files: &[(&str, &str)]) -> Stage {
    let mut stage = stage(&CLASSIC, files);
    stage.model.slug = "claude-sonnet-4-5".into();
    stage
}

fn wrong(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}

fn hit(path: &str, mtime_ns: u64, lines: &[(u64, &str, bool)]) -> Hit {
    let lines = lines.iter().map(|(n, text, context)| (*n, (*text).to_owned(), *context)).collect();
    Hit { path: path.into(), mtime_ns, lines, ..Hit::default() }
}
