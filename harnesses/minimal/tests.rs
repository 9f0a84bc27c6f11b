//! The dialect from outside. All texts are ours.
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{
    Action, Answer, Block, Body, Call, CallForm, CallResult, Captured, Content, Entry, Exit, Failure, Item, ItemId,
    Outcome, Part, Refusal, Run, SandboxMode, SandboxPolicy, Stop, Usage, WireId, World,
};
use serde_json::{Value, json};

use super::*;
use crate::stage::{Stage, call, ran, reply, user};
use crate::{Doc, Reading, SkillInfo};

const A: &str = "alpha\nbeta\ngamma\nbeta\n";

fn stage(feature: &str, files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(&Minimal, files);
    stage.settings.features.insert(feature.to_owned(), true);
    stage
}

fn first_request(feature: &str, name: &str) {
    let mut s = stage(feature, &[]);
    s.push(user("Fix it."));
    insta::assert_json_snapshot!(
        name,
        json!({
            "opening": Minimal.open(&s.cx()),
            "entries": Minimal.say(&s.cx(), &s.items),
            "tune": Minimal.tune(&s.cx()),
        })
    );
}

#[test]
fn first_requests() {
    first_request("", "first_request");
    first_request("minimal_four_tools", "first_request_four_tools");
    first_request("minimal_text", "first_request_text");
}

#[test]
fn what_user_and_project_add_is_short() {
    let mut s = stage("", &[]);
    s.settings.developer_instructions = Some("Be brief.".into());
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Run the tests.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "Make PDFs".into(),
        file: "/h/pdf/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::ReadOnly);
    let text = Minimal.open(&s.cx()).instructions[0].1.text();
    let (_, added) = text.split_once("\n\n").unwrap();
    assert_eq!(
        added,
        "Be brief.\n\nCommands and edits run in a sandbox (read-only). Nothing may be written. The network is closed to commands. Nobody can be asked for more: find another way, or say what is missing.\n\nInstructions from /w/AGENTS.md:\nRun the tests.\n\nSkills; if one fits the task, read its file first:\n- pdf: Make PDFs (/h/pdf/SKILL.md)"
    );
}

#[test]
fn commands() {
    let mut s = stage("", &[]);
    let mut check = |outcome: Outcome, expected: &str| {
        s.check_after(outcome, "bash", json!({"command": "x"}), expected);
    };
    check(ran("a\nb\n", Exit::Code(0)), "a\nb");
    check(ran("", Exit::Code(0)), "(no output)");
    check(ran(" \n", Exit::Code(2)), "(no output)\n[exit code: 2]");
    check(ran("a\n", Exit::Code(1)), "a\n[exit code: 1]");
    check(ran("a", Exit::Signal(9)), "a\n[exit code: 137]");
    check(ran("a\n", Exit::TimedOut(120_000)), "a\n[timed out after 120 s]");
    let left =
        Outcome::Ran { output: Captured::whole("a"), exit: Exit::Code(0), cwd_after: None, task: None, left: true };
    check(left, "a\n[a process that it started is still running]");
    check(Outcome::Interrupted { output: Some(Captured::whole("a\n")) }, "a\n[stopped by the user]");
    check(Outcome::Refused(Refusal::Cancelled), "Error: The user did not allow this.");
    check(Outcome::Failed(Failure::Other("no shell".into())), "Error: no shell");
}

fn run_of(s: &Stage) -> Run {
    match s.did.as_slice() {
        [Action::World(World::Run(run))] => run.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn time_limits() {
    let mut s = stage("minimal_four_tools", &[]);
    let mut check = |args: Value, expected: u64| {
        s.outcomes.push_back(ran("", Exit::Code(0)));
        s.call("bash", &args.to_string());
        assert_eq!(run_of(&s).timeout, Some(expected), "{args}");
    };
    check(json!({"command": "x"}), 120_000);
    check(json!({"command": "x", "timeout": 5}), 5_000);
    check(json!({"command": "x", "timeout": "5"}), 5_000);
    check(json!({"command": "x", "timeout": 5.0}), 5_000);
    check(json!({"command": "x", "timeout": null}), 120_000);
    check(json!({"command": "x", "timeout": 0}), 120_000);
    check(json!({"command": "x", "timeout": 999_999}), 3_600_000);
}

#[test]
fn calls_that_cannot_be_carried_out() {
    let mut s = stage("", &[("a.txt", A)]);
    s.check("python", json!({}), "Error: there is no tool named \"python\". Tools: bash");
    s.check("read", json!({"path": "a.txt"}), "Error: there is no tool named \"read\". Tools: bash");
    s.check("bash", json!({}), "Error: bash needs the argument \"command\"");
    s.check("bash", json!({"command": null}), "Error: bash needs the argument \"command\"");
    s.check("bash", json!({"command": ["ls"]}), "Error: \"command\" of bash must be a string");
    let text = s.call("bash", "{\"command\": \"l").content.text();
    assert_eq!(
        text,
        "Error: the arguments of bash are not a JSON object (EOF while parsing a string at line 1 column 14)"
    );
    let mut s = stage("minimal_four_tools", &[("a.txt", A)]);
    s.check("reed", json!({"path": "a.txt", "limit": "x"}), "Error: \"limit\" of read must be a whole number");
    s.check("python", json!({}), "Error: there is no tool named \"python\". Tools: bash, read, write, edit");
}

#[test]
fn near_misses_are_taken_for_what_they_mean() {
    let mut s = stage("minimal_four_tools", &[("a.txt", A)]);
    for (name, args) in [
        ("Bash", json!({"command": "ls"})),
        ("functions.bash", json!({"cmd": "ls"})),
        ("bash", json!({"script": "ls", "why": "to look"})),
    ] {
        s.check_after(ran("a.txt\n", Exit::Code(0)), name, args, "a.txt");
        assert_eq!(run_of(&s).script, "ls");
    }
    s.check("read", json!({"file_path": "/w/a.txt", "limit": 1}), "alpha\n[lines 1 to 1 of 4; go on with offset 2]");
    let edit = json!({"filePath": "a.txt", "old_string": "gamma", "new_string": "delta"});
    s.check("edit", edit, "Successfully replaced 1 block(s) in a.txt.");
    assert_eq!(s.text("a.txt"), "alpha\nbeta\ndelta\nbeta\n");
}

#[test]
fn files() {
    let mut s = stage("minimal_four_tools", &[("a.txt", A), ("d/x", "x\n")]);
    s.check("read", json!({"path": "a.txt"}), A.trim_end());
    s.check("read", json!({"path": "b.txt"}), "Error: ENOENT: no such file or directory, open '/w/b.txt'");
    s.check("read", json!({"path": "d"}), "Error: EISDIR: illegal operation on a directory, read");
    s.check("write", json!({"path": "e/b.txt", "content": "b\n"}), "Successfully wrote 2 bytes to e/b.txt");
    assert_eq!(s.text("e/b.txt"), "b\n");
    s.check(
        "edit",
        json!({"path": "a.txt", "oldText": "gamma", "newText": ""}),
        "Successfully replaced 1 block(s) in a.txt.",
    );
    s.check(
        "edit",
        json!({"path": "a.txt", "oldText": "beta", "newText": "x"}),
        "Error: Found 2 occurrences of the text in a.txt. The text must be unique. Please provide more context to make it unique.",
    );
    assert_eq!(s.text("a.txt"), "alpha\nbeta\n\nbeta\n");
}

/// What is run of a reply of this text, and how many of the calls had to be mended; or what the model is told.
fn reading(feature: &str, said: &str, stop: Stop) -> Result<(Vec<String>, u32), String> {
    let mut s = stage(feature, &[]);
    s.push(user("Do it."));
    let reply = reply(vec![Block::text(said)], stop);
    s.push(Body::Reply { reply: reply.clone(), total: Usage::default() });
    match Minimal.read(&s.cx(), &reply) {
        Reading::Calls { calls, repaired, .. } => {
            let command = |call: &Call| match args::parse(&s.cx(), call) {
                Ok(Input::Bash { command, .. }) => command,
                other => panic!("{other:?}"),
            };
            Ok((calls.iter().map(command).collect(), repaired))
        }
        Reading::Stop(End::Done) => Ok((Vec::new(), 0)),
        Reading::Again { say, .. } => match say.as_slice() {
            [Entry::Assistant(_), Entry::User(content)] => Err(content.text()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

const HABITS: [&str; 6] = [
    "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
    "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "I look.\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>",
    "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}",
    "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```",
    "<think>Use {\"name\": \"x\"}?</think>\n{\"name\": \"bash\", \"parameters\": {\"command\": \"ls\"}}",
];

#[test]
fn commands_in_text() {
    let check = |said: &str, expected: &[&str]| {
        let commands = reading("minimal_text", said, Stop::End).map(|(commands, _)| commands);
        assert_eq!(commands, Ok(expected.iter().map(|text| (*text).to_owned()).collect()), "{said}");
    };
    check("I look.\n```bash\nls -la\n```", &["ls -la"]);
    check("```sh\nls\n```\nand then I see.", &["ls"]);
    check("First `a`:\n```bash\na\n```\nNo, rather:\n```bash\nb\n```", &["b"]);
    check("```bash\na\n```\nIt prints:\n```\nx\n```", &["a"]);
    check("```bash\ncat > a.md <<'E'\n```py\nx = 1\n```\nE\n```", &["cat > a.md <<'E'\n```py\nx = 1\n```\nE"]);
    check("<think>\n```bash\nrm -rf x\n```\n</think>\nDone.", &[]);
    check("```bash\n\n```", &[]);
    check("```python\nprint(1)\n```", &[]);
    check("Done: the test passes.", &[]);
    for habit in HABITS {
        check(habit, &["ls"]);
    }
}

#[test]
fn calls_in_text_where_there_are_tools() {
    for habit in HABITS {
        assert_eq!(reading("", habit, Stop::End), Ok((vec!["ls".to_owned()], 1)), "{habit}");
    }
    assert_eq!(reading("", "Run this:\n```bash\nmake\n```", Stop::End), Ok((Vec::new(), 0)));
}

#[test]
fn replies_that_cannot_be_taken() {
    let told = |feature: &str, said: &str, stop: Stop| reading(feature, said, stop).unwrap_err();
    assert_eq!(told("", " ", Stop::End), EMPTY);
    assert_eq!(told("", "I will now", Stop::Length), CUT_OFF);
    assert_eq!(told("minimal_text", "```bash\nrm -rf /tmp/", Stop::Length), CUT_OFF);
    assert_eq!(
        told("minimal_text", "```bash\nrm -rf /tmp/", Stop::End),
        "A call in your message could not be read (the block is not closed). Write the command in one ```bash block at the end of your message, and close it."
    );
    assert_eq!(
        told("", "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>", Stop::End),
        "A call in your message could not be read (there is no tool named `rm`). Call the tool through the interface for tool calls."
    );
}

#[test]
fn three_bad_replies_in_a_row_end_the_turn() {
    let mut s = stage("", &[]);
    s.push(user("Do it."));
    let empty = reply(vec![Block::text("")], Stop::End);
    for _ in 0..2 {
        s.push(Body::Reply { reply: empty.clone(), total: Usage::default() });
        assert!(matches!(Minimal.read(&s.cx(), &empty), Reading::Again { drop_reply: true, keep: true, .. }));
        s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    }
    s.push(Body::Reply { reply: empty.clone(), total: Usage::default() });
    let message = "stub-model gave 3 replies in a row that could not be carried out; try --enable minimal_text, or choose another model";
    assert_eq!(Minimal.read(&s.cx(), &empty), Reading::Stop(End::GaveUp(message.into())));

    let mut s = stage("", &[]);
    s.push(user("Do it."));
    for (n, name) in ["python", "bash", "python", "python", "python"].iter().enumerate() {
        s.outcomes.push_back(ran("", Exit::Code(0)));
        s.call(name, r#"{"command":"x"}"#);
        let expected = if n == 4 { Flow::End(End::GaveUp(message.into())) } else { Flow::Step };
        assert_eq!(Minimal.after(&s.cx(), &[]), expected, "{n}");
    }
}

fn exchange(s: &mut Stage, said: &str) -> Vec<Entry> {
    s.push(user("Do it."));
    let reply = reply(vec![Block::text(said)], Stop::End);
    s.push(Body::Reply { reply: reply.clone(), total: Usage::default() });
    let Reading::Calls { calls, repaired, .. } = Minimal.read(&s.cx(), &reply) else { panic!("{said}") };
    s.push(Body::Read { calls: calls.clone(), dropped: false, repaired });
    for call in calls {
        s.push(Body::Called { call: call.id, did: Vec::new(), answer: Answer::plain("a.txt") });
    }
    s.said = vec![Entry::User(Content::Plain("Do it.".into()))];
    Minimal.say(&s.cx(), &s.items[3..])
}

#[test]
fn the_text_form_tells_commands_as_blocks_and_outputs_as_messages() {
    let output = Entry::User(Content::Plain("Output:\na.txt".into()));
    let check = |said: &str, told: &[&str]| {
        let entries = exchange(&mut stage("minimal_text", &[]), said);
        let told = told.iter().map(|text| Block::text(*text)).collect();
        assert_eq!(entries, [Entry::Assistant(told), output.clone()], "{said}");
    };
    check("I look.\n```bash\nls\n```", &["I look.\n```bash\nls\n```"]);
    check("{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}", &["```bash\nls\n```"]);
    check(HABITS[2], &["I look.", "```bash\nls\n```"]);
}

#[test]
fn calls_found_in_text_go_back_as_calls() {
    for (wire, empty) in [(WireId::Chat, vec![Block::text("")]), (WireId::Messages, Vec::new())] {
        let mut s = stage("", &[]);
        s.source.wire = wire;
        let entries = exchange(&mut s, HABITS[1]);
        let args = r#"{"command":"ls"}"#.to_owned();
        let id: protocol::CallId = "call_text_3_0".into();
        let call = Call { id: id.clone(), namespace: None, name: "bash".into(), args, form: CallForm::Function };
        let blocks = empty.into_iter().chain([Block::call(call)]).collect();
        let result = CallResult { call: id, name: "bash".into(), custom: false, answer: Answer::plain("a.txt") };
        let results = Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() };
        assert_eq!(entries, [Entry::Assistant(blocks), results], "{wire:?}");
    }
}

#[test]
fn what_another_dialect_did_is_told_in_this_one() {
    let mut s = stage("", &[]);
    s.push(user("Do it."));
    let exec = call("c1", "exec_command", r#"{"cmd":"ls"}"#);
    s.push(Body::Reply { reply: reply(vec![Block::call(exec.clone())], Stop::Calls), total: Usage::default() });
    let action = Action::World(World::Run(Run::new("ls")));
    let did = protocol::Done { action, outcome: ran("a.txt\n", Exit::Code(0)), took: 0, at: 0, tag: 1 };
    s.push(Body::Called { call: exec.id, did: vec![did], answer: Answer::plain("Exit code: 0\nOutput:\na.txt\n") });
    let ours = call("c1", "bash", r#"{"command":"ls"}"#);
    let result = CallResult { call: "c1".into(), name: "bash".into(), custom: false, answer: Answer::plain("a.txt") };
    assert_eq!(
        Minimal.say(&s.cx(), &s.items),
        [
            Entry::User(Content::Plain("Do it.".into())),
            Entry::Assistant(vec![Block::text(""), Block::call(ours)]),
            Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() },
        ]
    );
}

#[test]
fn a_summary_and_the_open_prompt_are_one_message() {
    let mut s = stage("", &[]);
    s.push(user("And now this."));
    let (_, entries) = Minimal.compacted(&s.cx(), " It went well. ");
    let text = "Summary of the conversation so far; go on from here.\n\nIt went well.\n\nAnd now this.";
    assert_eq!(entries, [Entry::User(Content::Plain(text.into()))]);
    s.said = vec![Entry::User(Content::Plain("And now this.".into()))];
    let compaction = Minimal.compact(&s.cx(), Some("the tests"));
    assert!(matches!(compaction.ask.as_slice(), [Entry::Assistant(_), Entry::User(_)]));
    assert!(!compaction.tools && compaction.ask[1] != compaction.ask[0]);
    s.push(Body::User { origin: protocol::Origin::User, parts: vec![Part::text("x")] });
}

proptest! {
    #[test]
    fn any_text_is_read(said in "(```bash|```|\n|ls|<think>|</think>|<tool_call>|</tool_call>|<function=bash>|</function>|\\{\"name\":\"bash\",\"arguments\":\\{\\}\\}|é){0,12}", text in any::<bool>()) {
        let mut s = stage(if text { "minimal_text" } else { "" }, &[]);
        let reply = reply(vec![Block::text(said)], Stop::End);
        s.push(Body::Reply { reply: reply.clone(), total: Usage::default() });
        if let Reading::Calls { calls, repaired, .. } = Minimal.read(&s.cx(), &reply) {
            s.push(Body::Read { calls, dropped: false, repaired });
        }
        let items: Vec<Item> = s.items.iter().map(|item| Item { id: ItemId(item.id.0), ..item.clone() }).collect();
        let _ = Minimal.say(&s.cx(), &items);
    }
}
