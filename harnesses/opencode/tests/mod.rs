//! The dialect from outside. Expected texts were measured on OpenCode 1.18.33; those marked `ours` are ours.
use protocol::{
    Action, Answer, Block, BlockKind, Body, CallForm, CallResult, Captured, Content, Entry, Exit, Fact, Failure,
    FileKind, Found, GitFact, Hit, Notice, Outcome, Page, Part, PlanStatus, PlanStep, Raw, Refusal, SandboxMode,
    SandboxPolicy, Session, Stop, Tool, ToolKind, Usage, World,
};
use serde_json::json;

use super::*;
use crate::stage::{Stage, call, ran, reply, user};
use crate::{Doc, SkillInfo};

mod calls;
mod conversation;
mod files;

fn stage(files: &[(&str, &str)]) -> Stage {
    Stage::new(&Opencode, files)
}

const A: &str = "alpha\nbeta\ngamma\nbeta\n";

fn shown(path: &str, lines: &str, note: &str) -> String {
    format!("<path>{path}</path>\n<type>file</type>\n<content>\n{lines}\n\n({note})\n</content>")
}
