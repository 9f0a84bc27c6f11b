//! Any harness over any wire: text, a call, calls side by side, reasoning, failing calls, an unknown tool, a turn that is
//! stopped, a compaction, a resume. Whatever happens, each request is one that a server takes.
use demo::scripted::{Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::{
    pairs::{assert_paired, pairs},
    place::Place,
};

/// How a harness runs a command, and how a model ends a task in it.
pub(crate) struct Dialect {
    pub(crate) id: &'static str,
    pub(crate) tool: &'static str,
    argument: &'static str,
    /// Several calls in one reply are run; where not, the reply is asked for again.
    parallel: bool,
    pub(crate) end: fn() -> Vec<Turn>,
}

fn text() -> Vec<Turn> {
    vec![Turn::text("over")]
}

pub(crate) const DIALECTS: &[Dialect] = &[
    Dialect { id: "native", tool: "exec_command", argument: "cmd", parallel: true, end: text },
    Dialect { id: "claude-code", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "claude-code@1.0", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "claude-code@2.0", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "claude-code@2.1", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "claude-code@current", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "claude-code-bare", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "kimi-code", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "kimi-cli", tool: "Shell", argument: "command", parallel: true, end: text },
    Dialect { id: "qwen-code", tool: "run_shell_command", argument: "command", parallel: true, end: text },
    Dialect {
        id: "swe-agent",
        tool: "bash",
        argument: "command",
        parallel: false,
        end: || vec![Turn::call("submit", &json!({})), Turn::call("submit", &json!({}))],
    },
    Dialect {
        id: "mini-swe-agent",
        tool: "bash",
        argument: "command",
        parallel: true,
        end: || vec![Turn::call("bash", &json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}))],
    },
    Dialect { id: "opencode", tool: "bash", argument: "command", parallel: true, end: text },
    Dialect { id: "pi", tool: "bash", argument: "command", parallel: true, end: text },
    Dialect { id: "zcode", tool: "Bash", argument: "command", parallel: true, end: text },
    Dialect { id: "deepseek-tui", tool: "exec_shell", argument: "command", parallel: true, end: text },
    Dialect { id: "minimal", tool: "bash", argument: "command", parallel: true, end: text },
];

impl Dialect {
    pub(crate) fn args(&self, command: &str) -> Value {
        match self.id {
            "qwen-code" => json!({"command": command, "is_background": false}),
            _ => json!({self.argument: command}),
        }
    }
    fn run(&self, command: &str) -> Turn {
        Turn::call(self.tool, &self.args(command))
    }
    fn exec(&self, place: &Place, more: &[&str]) -> crate::place::Ran {
        let harness = format!("harness=\"{}\"", self.id);
        let mut args = vec!["exec", "--json", "-s", "workspace-write", "-c", &harness];
        args.extend(more);
        place.run(&args)
    }
}

fn steps(turns: impl IntoIterator<Item = Turn>) -> Vec<Step> {
    turns.into_iter().map(Step::from).collect()
}

fn all_paired(wire: WireId, place: &Place) {
    place.requests().iter().for_each(|request| assert_paired(wire, &request.json()));
}

fn conversation(dialect: &Dialect, wire: WireId) {
    let mut turns = vec![dialect.run("echo one").thinking("first thought").saying("I begin.")];
    if dialect.parallel {
        turns.push(dialect.run("echo two").and_call(dialect.tool, &dialect.args("echo three; false")).thinking("more"));
    }
    turns.push(dialect.run("exit 3"));
    turns.extend((dialect.end)());
    let first_requests = turns.len();
    turns.push(dialect.run("echo again"));
    turns.extend((dialect.end)());
    let place = Place::new(wire, steps(turns));
    let first = dialect.exec(&place, &["do it"]);
    assert_eq!(first.code, Some(0), "{} {wire:?}: {first:?}", dialect.id);
    assert_eq!(place.requests().len(), first_requests);
    let second = dialect.exec(&place, &["resume", &first.thread(), "go on"]);
    assert_eq!(second.code, Some(0), "{} {wire:?}: {second:?}", dialect.id);
    all_paired(wire, &place);
    let last = place.request(place.requests().len() - 1);
    assert!(pairs(wire, &last).len() >= 4, "{last}");
    let last = last.to_string();
    for expected in ["echo one", "echo again", "go on"] {
        assert!(last.contains(expected), "{} {wire:?}: {expected} is missing in {last}", dialect.id);
    }
}

fn unknown_tool(dialect: &Dialect, wire: WireId) {
    let mut turns = vec![Turn::call("no_such_tool_at_all", &json!({"a": 1}))];
    turns.extend((dialect.end)());
    let place = Place::new(wire, steps(turns));
    let ran = dialect.exec(&place, &["do it"]);
    assert_eq!(ran.code, Some(0), "{} {wire:?}: {ran:?}", dialect.id);
    all_paired(wire, &place);
    assert!(place.requests().len() > 1, "the model is told");
}

fn stopped(dialect: &Dialect, wire: WireId) {
    // Not `sleep` or `tail -f`, which some originals refuse.
    let mut turns = vec![dialect.run("mkfifo waiting && cat waiting")];
    turns.extend((dialect.end)());
    let place = Place::new(wire, steps(turns));
    let first = dialect.exec(&place, &["--max-time", "1s", "do it"]);
    assert_eq!(first.code, Some(4), "{} {wire:?}: {first:?}", dialect.id);
    let second = dialect.exec(&place, &["resume", &first.thread(), "go on"]);
    assert_eq!(second.code, Some(0), "{} {wire:?}: {second:?}", dialect.id);
    all_paired(wire, &place);
}

fn compacted(dialect: &Dialect, wire: WireId) {
    let mut turns = vec![
        dialect.run("echo one").using(95_000, 500),
        Turn::text("SUMMARY-MARK of what was done"),
        dialect.run("echo two"),
    ];
    turns.extend((dialect.end)());
    let place = Place::new(wire, steps(turns));
    let ran = dialect.exec(&place, &["-c", "model_context_window=100000", "do it"]);
    assert_eq!(ran.code, Some(0), "{} {wire:?}: {ran:?}", dialect.id);
    all_paired(wire, &place);
    let after = place.request(2).to_string();
    assert!(after.contains("SUMMARY-MARK"), "{} {wire:?}: {after}", dialect.id);
}

fn check(id: &str) {
    let dialect = DIALECTS.iter().find(|dialect| dialect.id == id).expect("a row");
    for wire in WireId::ALL {
        for case in [conversation, unknown_tool, stopped, compacted] {
            case(dialect, wire);
        }
    }
}

#[test]
fn every_harness_has_a_row() {
    let place = Place::new(WireId::Chat, Vec::new());
    let list = place.run(&["harness", "list"]).stdout;
    let rows: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.id).collect();
    assert_eq!(list.lines().collect::<Vec<_>>(), rows);
}

macro_rules! matrix {
    ($($name:ident: $id:literal;)*) => {
        $(#[test]
        fn $name() {
            check($id);
        })*
    };
}

matrix! {
    native: "native";
    claude_code: "claude-code";
    claude_code_1_0: "claude-code@1.0";
    claude_code_2_0: "claude-code@2.0";
    claude_code_2_1: "claude-code@2.1";
    claude_code_current: "claude-code@current";
    claude_code_bare: "claude-code-bare";
    kimi_code: "kimi-code";
    kimi_cli: "kimi-cli";
    qwen_code: "qwen-code";
    swe_agent: "swe-agent";
    mini_swe_agent: "mini-swe-agent";
    opencode: "opencode";
    pi: "pi";
    zcode: "zcode";
    deepseek_tui: "deepseek-tui";
    minimal: "minimal";
}
