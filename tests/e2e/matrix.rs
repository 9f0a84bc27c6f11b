//! Any harness over any wire: text, a call, calls side by side, reasoning, failing calls, an unknown tool, a turn that is
//! stopped, a compaction, a resume, images, words of the project, a change of harness and wire in mid-thread, sessions of Codex.
//! Whatever happens, each request is one that a server takes.
use std::fs;

use demo::scripted::{Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::{
    codex_sessions,
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

/// One pixel, red.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T', 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0,
    0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// The tool that shows an image to the model, and the argument with its path. None: the original has none.
fn image_tool(id: &str) -> Option<(&'static str, &'static str)> {
    match id {
        "native" => Some(("view_image", "path")),
        "kimi-code" | "kimi-cli" => Some(("ReadMediaFile", "path")),
        "qwen-code" => Some(("read_file", "file_path")),
        "opencode" => Some(("read", "filePath")),
        "pi" => Some(("read", "path")),
        _ if id.starts_with("claude-code") => Some(("Read", "file_path")),
        _ => None,
    }
}

/// Images in a request, in the form of its wire.
fn images(wire: WireId, value: &Value) -> usize {
    let kind = match wire {
        WireId::Responses => "input_image",
        WireId::Chat => "image_url",
        WireId::Messages => "image",
    };
    match value {
        Value::Object(map) if map.get("type").is_some_and(|it| it == kind) => 1,
        Value::Object(map) => map.values().map(|value| images(wire, value)).sum(),
        Value::Array(list) => list.iter().map(|value| images(wire, value)).sum(),
        _ => 0,
    }
}

fn pictures(dialect: &Dialect, wire: WireId) {
    let tool = image_tool(dialect.id);
    let place = |steps: Vec<Turn>| {
        let place = Place::new(wire, self::steps(steps));
        fs::write(place.file("shot.png"), PIXEL).expect("an image");
        place
    };
    let plain = place((dialect.end)());
    let ran = dialect.exec(&plain, &["-i", "shot.png", "what is this"]);
    assert_eq!(ran.code, Some(0), "{} {wire:?}: {ran:?}", dialect.id);
    assert_eq!(images(wire, &plain.request(0)), 1, "{} {wire:?}: {}", dialect.id, plain.request(0));
    let Some((name, argument)) = tool else { return };
    let mut place = place(Vec::new());
    let path = place.file("shot.png");
    let mut turns = vec![Turn::call(name, &json!({argument: path}))];
    turns.extend((dialect.end)());
    place.script(steps(turns));
    // Its original asks a list of its own which models see.
    let model: &[&str] = if dialect.id == "qwen-code" { &["-m", "qwen3-vl-plus"] } else { &[] };
    let ran = dialect.exec(&place, &[model, &["look at shot.png"]].concat());
    assert_eq!(ran.code, Some(0), "{} {wire:?}: {ran:?}", dialect.id);
    all_paired(wire, &place);
    assert_eq!(images(wire, &place.request(1)), 1, "{} {wire:?}: {}", dialect.id, place.request(1));
}

fn words_of_the_project(dialect: &Dialect, wire: WireId) {
    let place = Place::new(wire, steps((dialect.end)()));
    fs::write(place.file("AGENTS.md"), "AGENTS-MARK: tabs, never spaces.\n").expect("AGENTS.md");
    let skill = place.file(".agents/skills/frob");
    fs::create_dir_all(&skill).expect("a folder");
    fs::write(skill.join("SKILL.md"), "---\nname: frob\ndescription: SKILL-MARK for frobbing\n---\nFrob it.\n")
        .expect("SKILL.md");
    let ran = dialect.exec(&place, &["do it"]);
    assert_eq!(ran.code, Some(0), "{} {wire:?}: {ran:?}", dialect.id);
    let request = place.request(0).to_string();
    for mark in ["AGENTS-MARK", "SKILL-MARK"] {
        assert!(request.contains(mark), "{} {wire:?}: {mark} is missing in {request}", dialect.id);
    }
}

/// A thread goes on in the next dialect of the list, over the next wire: an open call among what was done.
fn handed_over(dialect: &Dialect, wire: WireId) {
    let at = DIALECTS.iter().position(|other| other.id == dialect.id).expect("a row");
    let next = &DIALECTS[(at + 1) % DIALECTS.len()];
    let to =
        WireId::ALL[(WireId::ALL.iter().position(|other| *other == wire).expect("a wire") + 1) % WireId::ALL.len()];
    let mut turns = vec![
        dialect.run("echo one-$((1 + 1))").thinking("deep thought").saying("I begin."),
        dialect.run("mkfifo waiting && cat waiting"),
        next.run("echo again"),
    ];
    turns.extend((next.end)());
    let mut place = Place::new(wire, steps(turns));
    let first = dialect.exec(&place, &["--max-time", "2s", "do it"]);
    assert_eq!(first.code, Some(4), "{} {wire:?}: {first:?}", dialect.id);
    place.speak(to);
    let second = next.exec(&place, &["resume", &first.thread(), "go on"]);
    let pair = format!("{} {wire:?} to {} {to:?}", dialect.id, next.id);
    assert_eq!(second.code, Some(0), "{pair}: {second:?}");
    place.requests().iter().skip(2).for_each(|request| assert_paired(to, &request.json()));
    let request = place.request(2).to_string();
    for expected in ["do it", "I begin.", "echo one-", "one-2", "mkfifo waiting", "go on"] {
        assert!(request.contains(expected), "{pair}: {expected} is missing in {request}");
    }
    assert!(!request.contains("deep thought"), "{pair}: reasoning of another wire stays behind: {request}");
}

/// A summary made in one dialect stands for the past in the next.
fn handed_over_after_a_compaction(dialect: &Dialect, wire: WireId) {
    let at = DIALECTS.iter().position(|other| other.id == dialect.id).expect("a row");
    let next = &DIALECTS[(at + 1) % DIALECTS.len()];
    let mut turns = vec![
        dialect.run("echo one").using(95_000, 500),
        Turn::text("SUMMARY-MARK of what was done"),
        dialect.run("echo two"),
    ];
    turns.extend((dialect.end)());
    let before = turns.len();
    turns.extend((next.end)());
    let place = Place::new(wire, steps(turns));
    let first = dialect.exec(&place, &["-c", "model_context_window=100000", "do it"]);
    assert_eq!(first.code, Some(0), "{} {wire:?}: {first:?}", dialect.id);
    let second = next.exec(&place, &["resume", &first.thread(), "go on"]);
    assert_eq!(second.code, Some(0), "{} {wire:?}: {second:?}", next.id);
    let request = place.request(before).to_string();
    for expected in ["SUMMARY-MARK", "echo two", "go on"] {
        let count = request.matches(expected).count();
        assert!(count > 0, "{} to {} {wire:?}: {expected} is missing in {request}", dialect.id, next.id);
    }
    assert_eq!(request.matches("SUMMARY-MARK").count(), 1, "told once: {request}");
    all_paired(wire, &place);
}

/// A session that Codex began (recorded with 0.171.0): its first turn, which reads, thinks and patches.
fn of_codex(dialect: &Dialect, wire: WireId) {
    let place = Place::new(wire, steps((dialect.end)().into_iter().chain((dialect.end)())));
    let file = codex_sessions::put(&place, &codex_sessions::first_turn());
    let first = dialect.exec(&place, &["resume", codex_sessions::ID, "go on"]);
    assert_eq!(first.code, Some(0), "{} {wire:?}: {first:?}", dialect.id);
    assert_eq!(first.thread(), codex_sessions::ID);
    let request = place.request(0);
    assert_paired(wire, &request);
    let request = request.to_string();
    for expected in [
        "Write a greeting.",
        "I look around.",
        "echo alpha; echo beta",
        "alpha",
        "hello from the first thread",
        "The file is written.",
        "go on",
    ] {
        assert!(request.contains(expected), "{} {wire:?}: {expected} is missing in {request}", dialect.id);
    }
    assert!(!request.contains("c3R1Yg=="), "sealed reasoning stays behind: {request}");
    assert_eq!(fs::read_to_string(file).expect("its file"), codex_sessions::first_turn(), "Codex's file is as it was");
    let second = dialect.exec(&place, &["resume", codex_sessions::ID, "and now"]);
    assert_eq!(second.code, Some(0), "{} {wire:?}: {second:?}", dialect.id);
    let request = place.request(place.requests().len() - (dialect.end)().len()).to_string();
    assert!(request.contains("go on") && request.contains("and now"), "our copy goes on: {request}");
}

fn check(id: &str) {
    let dialect = DIALECTS.iter().find(|dialect| dialect.id == id).expect("a row");
    for wire in WireId::ALL {
        for case in [
            conversation,
            unknown_tool,
            stopped,
            compacted,
            pictures,
            words_of_the_project,
            handed_over,
            handed_over_after_a_compaction,
            of_codex,
        ] {
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
