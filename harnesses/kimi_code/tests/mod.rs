//! The dialect from outside, over the stage's world. Expected texts were measured on Kimi Code 2.1.0, where they are not prose.
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, Block, Body, Captured, Content, Done, Entry, Exit, Fact, Failure, FileKind, Found, Hit, Mode,
    Notice, Outcome, Part, ReadAs, Refusal, Reply, Session, Stamp, Stop, TaskId, TaskInfo, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::{KimiCode, args, roster};
use crate::stage::{Stage, call, ran, reply, user};
use crate::{Doc, End, Harness, Moment, Next, Persona, Reading, SkillInfo};

mod conversation;
mod results;
mod work;

/// Each Action takes a second.
fn stage(files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(&KimiCode, files);
    stage.items.clear();
    (stage.now, stage.took) = (5_000, 1_000);
    stage
}

trait Checks {
    /// One call whose answer is plain text and no failure.
    fn ok(&mut self, name: &str, args: Value, expected: &str);
    /// One that fails; `expected` without the line that says so.
    fn fails(&mut self, name: &str, args: Value, expected: &str);
}

impl Checks for Stage {
    fn ok(&mut self, name: &str, args: Value, expected: &str) {
        let answer = self.call(name, &args.to_string());
        assert_eq!(answer, Answer { error: None, ..Answer::plain(expected) }, "{name} {args}");
    }

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

fn running(output: &str, task: u64) -> Outcome {
    let task = Some(TaskId(task));
    Outcome::Ran { output: Captured::whole(output), exit: Exit::Running, cwd_after: None, task, left: false }
}

fn listed(task: u64, exit: Exit) -> Outcome {
    let task = TaskId(task);
    Outcome::Tasks(vec![TaskInfo { task, command: "c".into(), exit, started: 0, pid: Some(42), log: None }])
}

fn texts(entries: &[Entry]) -> Vec<String> {
    let text = |entry: &Entry| match entry {
        Entry::User(content) => Some(content.text()),
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}
