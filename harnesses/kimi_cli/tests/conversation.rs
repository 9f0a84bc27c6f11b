//! Opening, requests, order of calls, reminders, the ends of a turn.
use pretty_assertions::assert_eq;
use protocol::{CallResult, Content, Fact, Notice, TaskId, ToolKind};
use serde_json::{Value, json};

use super::*;
use crate::{AnswerOrder, End, Flow, Order};

/// Schemas as recorded, descriptions left out.
const RECORDED: &str = include_str!("schemas.json");

fn bare(value: &mut Value) {
    match value {
        Value::Object(map) => {
            // A property may be named so; a text is never one.
            if map.get("description").is_some_and(Value::is_string) {
                map.remove("description");
            }
            map.values_mut().for_each(bare);
        }
        Value::Array(list) => list.iter_mut().for_each(bare),
        _ => {}
    }
}

#[test]
fn tools_have_the_recorded_schemas_in_their_order() {
    let recorded: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let offered = KimiCli.open(&Stage::new().cx()).tools;
    let shapes: Vec<Value> = offered
        .into_iter()
        .map(|tool| {
            let ToolKind::Function(schema) = tool.kind else { panic!() };
            let mut schema = schema.value();
            bare(&mut schema);
            json!({"name": tool.name, "properties": schema["properties"], "required": schema["required"]})
        })
        .collect();
    assert_eq!(shapes, recorded);
}

fn opened() -> Stage {
    let mut stage = Stage::new();
    stage.push(Body::Fact(Fact::Date { date: "2026-03-01".into(), zone: "Etc/UTC".into() }));
    stage.items[0].at = 1_772_368_205_123;
    stage.push(Body::Fact(Fact::System {
        system: "Linux".into(),
        release: "6.1".into(),
        version: "#1".into(),
        machine: "x86_64".into(),
    }));
    stage.push(Body::Fact(Fact::Home(Some("/h".into()))));
    let entries = vec!["README.md".to_owned(), "src/".to_owned(), "src/main.py".to_owned()];
    stage.push(Body::Fact(Fact::Listing { path: "/w".into(), entries, more: false }));
    stage
}

#[test]
fn first_request() {
    let mut stage = opened();
    stage.docs.push(Doc { path: "/w/AGENTS.md".into(), project: true, text: "Use {{skills}}.\n".into() });
    let skill = |name: &str, scope: &str| SkillInfo {
        name: name.into(),
        description: "d".into(),
        file: format!("/s/{name}/SKILL.md"),
        scope: scope.into(),
    };
    stage.skills = vec![skill("one", "project"), skill("two", "bundled")];
    stage.push(user("Hello"));
    let opening = KimiCli.open(&stage.cx());
    let Content::Plain(system) = opening.instructions[0].1.clone() else { panic!() };
    let names: Vec<String> = opening.tools.into_iter().map(|tool| tool.name).collect();
    let entries = stage.say(0);
    insta::assert_snapshot!("system", system);
    insta::assert_debug_snapshot!("first_request", (names, KimiCli.tune(&stage.cx()), entries));
}

#[test]
fn guidance_and_kinds_of_agents() {
    let mut stage = opened();
    let system = |stage: &Stage| KimiCli.open(&stage.cx()).instructions[0].1.text();
    assert!(system(&stage).contains("# Reliability"));
    stage.settings.features.insert("harness_guidance".into(), false);
    assert!(!system(&stage).contains("# Reliability"));
    stage.persona.name = "explore".into();
    let names: Vec<String> = KimiCli.open(&stage.cx()).tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["Shell", "ReadFile", "ReadMediaFile", "Glob", "Grep", "FetchURL"]);
    assert!(system(&stage).contains("You are now running as a sub-agent that explores code."));
}

fn shell(id: &str, command: &str) -> Call {
    Call { id: id.into(), ..call("Shell", json!({"command": command})) }
}

fn result(id: &str, answer: &str) -> CallResult {
    let content = match answer.split_once('|') {
        Some((message, output)) => Content::Parts(vec![Part::text(message), Part::text(output)]),
        None => Content::Plain(answer.into()),
    };
    CallResult {
        call: id.into(),
        name: "Shell".into(),
        custom: false,
        answer: Answer { content, error: None, after: vec![] },
    }
}

#[test]
fn calls_run_at_once_and_equal_ones_once() {
    let mut stage = Stage::new();
    stage.push(user("x"));
    stage.say(0);
    let calls = [
        shell("a", "echo A"),
        shell("b", "echo B"),
        Call { id: "c".into(), args: "{ \"command\" : \"echo A\" }".into(), ..shell("c", "") },
    ];
    let blocks: Vec<Block> = calls.iter().cloned().map(Block::call).collect();
    let groups = vec![vec!["a".into(), "b".into()], vec!["c".into()]];
    let order = Order { groups, answers: AnswerOrder::Calls };
    assert_eq!(
        KimiCli.read(&stage.cx(), &reply(blocks.clone())),
        Reading::Calls { calls: calls.to_vec(), order, repaired: 0 }
    );
    stage.push(replied(blocks.clone()));
    stage.carried_out(&calls[1], &[ran("B\n", 0)]);
    stage.carried_out(&calls[0], &[ran("A\n", 0)]);
    stage.carried_out(&calls[2], &[]);
    let ok = "<system>Command executed successfully.</system>";
    assert_eq!(
        stage.say(1),
        vec![
            Entry::Assistant(blocks),
            Entry::Results {
                before: vec![],
                results: vec![
                    result("a", &format!("{ok}|A\n")),
                    result("b", &format!("{ok}|B\n")),
                    result("c", &format!("{ok}|A\n"))
                ],
                after: vec![],
            },
        ]
    );
}

#[test]
fn a_stopped_step_is_left_out_and_prompts_join() {
    let mut stage = Stage::new();
    stage.push(user("one"));
    stage.say(0);
    stage.push(replied(vec![Block::text("I beg"), Block::call(shell("a", "x"))]));
    stage.push(Body::Called { call: "a".into(), did: vec![], answer: Answer::plain("stopped") });
    stage.push(Body::Notice(Notice::Interrupted));
    stage.push(user("two"));
    assert_eq!(stage.say(1), vec![Entry::User(Content::Plain("two".into()))]);
    let joined = Entry::User(Content::Parts(vec![Part::text("one"), Part::text("two")]));
    assert_eq!(KimiCli.view(&stage.cx()), Some(vec![joined]));
}

#[test]
fn the_same_call_again_and_again() {
    let mut stage = Stage::new();
    stage.push(user("x"));
    let flow = |stage: &Stage| KimiCli.after(&stage.cx(), &stage.items[stage.items.len() - 2..]);
    for times in 1..=12 {
        let text = stage.step("Shell", json!({"command": "ls"}), &[ran("a\n", 0)]);
        assert_eq!(text.contains("<system-reminder>"), times >= 3, "{text}");
        assert_eq!(
            text.contains(&format!("- tool: Shell\n- repeated_times: {times}\n- arguments: {{\"command\":\"ls\"}}")),
            (5..8).contains(&times)
        );
        assert_eq!(matches!(flow(&stage), Flow::End(End::GaveUp(_))), times == 12);
    }
    stage.step("Shell", json!({"command": "pwd"}), &[ran("a\n", 0)]);
    assert_eq!(
        stage.step("Shell", json!({"command": "ls"}), &[ran("a\n", 0)]),
        "<system>Command executed successfully.</system>\na\n"
    );
}

#[test]
fn a_rejected_call_ends_the_turn() {
    let mut stage = Stage::new();
    stage.push(user("x"));
    let flow = |stage: &Stage| KimiCli.after(&stage.cx(), &stage.items[stage.items.len() - 2..]);
    let rejected =
        |feedback: Option<&str>| Outcome::Refused(protocol::Refusal::User { feedback: feedback.map(str::to_owned) });
    stage.step("Shell", json!({"command": "touch z"}), &[rejected(Some("not now"))]);
    assert_eq!(flow(&stage), Flow::Step);
    stage.step("Shell", json!({"command": "touch z"}), &[rejected(None)]);
    assert_eq!(flow(&stage), Flow::End(End::Done));
}

#[test]
fn empty_replies_are_asked_for_again() {
    let mut stage = Stage::new();
    stage.push(user("x"));
    let again = Reading::Again { drop_reply: true, say: vec![], keep: false, tune: None };
    for _ in 0..2 {
        assert_eq!(KimiCli.read(&stage.cx(), &reply(vec![])), again);
        stage.push(replied(vec![]));
        stage.push(Body::Read { calls: vec![], dropped: true, repaired: 0 });
    }
    assert!(matches!(KimiCli.read(&stage.cx(), &reply(vec![])), Reading::Stop(End::GaveUp(_))));
    assert_eq!(KimiCli.read(&stage.cx(), &reply(vec![Block::text("hi")])), Reading::Stop(End::Done));
}

#[test]
fn calls_in_kimis_markers_are_found() {
    let text = "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.Shell:0<|tool_call_argument_begin|>{\"command\":\"ls\"}<|tool_call_end|><|tool_calls_section_end|>";
    let read = KimiCli.read(&Stage::new().cx(), &reply(vec![Block::text(text)]));
    let Reading::Calls { calls, repaired: 1, .. } = read else { panic!("{read:?}") };
    assert_eq!(calls[0].name, "Shell");
}

#[test]
fn ended_tasks_are_told() {
    let mut stage = Stage::new();
    stage.push(user("x"));
    let running = Outcome::Ran {
        output: Captured::default(),
        exit: Exit::Running,
        cwd_after: None,
        task: Some(TaskId(7)),
        left: false,
    };
    stage.step("Shell", json!({"command": "sleep 3", "run_in_background": true, "description": "bg job"}), &[running]);
    stage.push(replied(vec![Block::text("done")]));
    stage.say(0);
    let from = stage.items.len();
    stage.push(replied(vec![Block::text("done")]));
    stage.push(Body::Notice(Notice::TaskEnded {
        task: TaskId(7),
        command: "sleep 3".into(),
        exit: Exit::Code(0),
        output: Captured::whole("bg\n"),
    }));
    let at = stage.items.len() - 1;
    stage.items[at].at = 3_000;
    let entries = stage.say(from);
    let Entry::User(Content::Parts(parts)) = &entries[1] else { panic!("{entries:?}") };
    assert!(parts[0].as_text().unwrap().starts_with("<system-reminder>\n"));
    let text = parts[1].as_text().unwrap();
    let id = text.split('"').nth(1).unwrap();
    assert_eq!(
        text,
        format!(
            "<notification id=\"{id}\" category=\"task\" type=\"task.completed\" source_kind=\"background_task\" source_id=\"bash-10000000\">\nTitle: Background task completed: bg job\nSeverity: success\nTask ID: bash-10000000\nStatus: completed (Completed at: 1970-01-01 00:00:03, Duration: 3s)\nDescription: bg job\nExit code: 0\n<task-notification>\nTask ID: bash-10000000\nStatus: completed\nExit code: 0\nOutput tail:\nbg\n</task-notification>\n</notification>"
        )
    );
}

#[test]
fn plan_mode_is_reminded_of() {
    let mut stage = opened();
    stage.settings.mode = Mode::Plan { file: "/h/plan.md".into() };
    stage.push(user("x"));
    let entries = stage.say(0);
    let Entry::User(Content::Parts(parts)) = &entries[0] else { panic!("{entries:?}") };
    assert!(parts[1].as_text().unwrap().starts_with("<system-reminder>\nPlan mode is on. "));
    for n in 1..=5 {
        let from = stage.items.len();
        stage.step("Shell", json!({"command": format!("ls {n}")}), &[ran("", 0)]);
        assert_eq!(stage.say(from).len(), if n == 5 { 3 } else { 2 }, "{n}");
    }
}

#[test]
fn a_summary_keeps_the_newest_messages() {
    let mut stage = opened();
    stage.said = vec![
        Entry::User(Content::Plain("old".into())),
        Entry::Assistant(vec![Block::text("older")]),
        Entry::User(Content::Plain("new".into())),
        Entry::Assistant(vec![Block::call(shell("a", "ls"))]),
        Entry::Results { before: vec![], results: vec![result("a", "x")], after: vec![] },
    ];
    let (_, entries) = KimiCli.compacted(&stage.cx(), "SUM");
    let first = Entry::User(Content::Parts(vec![
        Part::text("<system>Previous context has been compacted. Here is the compaction output:</system>"),
        Part::text("SUM"),
        Part::text("new"),
    ]));
    assert_eq!(entries, [std::slice::from_ref(&first), &stage.said[3..]].concat());
    assert!(!KimiCli.compact(&stage.cx(), None).tools);
}

#[test]
fn the_answer_may_fill_the_window() {
    let mut stage = opened();
    assert_eq!(KimiCli.tune(&stage.cx()).max_output, None);
    (stage.model.known, stage.model.context_window) = (true, 262_144);
    let Body::Reply { reply, total } = replied(vec![Block::text("x")]) else { panic!() };
    let usage = Usage { input: 10_000, output: 120, ..Usage::default() };
    stage.push(Body::Reply { reply: Reply { usage, ..reply }, total });
    assert_eq!(KimiCli.tune(&stage.cx()).max_output, Some(262_144 - 10_120 - 1_024 - 2_000));
    stage.model.max_output = Some(16_384);
    assert_eq!(KimiCli.tune(&stage.cx()).max_output, Some(16_384));
}

#[test]
fn effort_is_thinking() {
    let mut stage = Stage::new();
    let asked = |stage: &Stage| {
        let ask = KimiCli.tune(&stage.cx()).reasoning;
        (ask.enabled, ask.effort)
    };
    assert_eq!(asked(&stage), (Some(false), None));
    stage.settings.effort = Some("xhigh".into());
    assert_eq!(asked(&stage), (Some(true), Some("high".into())));
    stage.settings.effort = Some("none".into());
    assert_eq!(asked(&stage), (Some(false), None));
    stage.model.slug = "kimi-k2-thinking".into();
    assert_eq!(asked(&stage), (Some(true), None));
}

#[test]
fn other_dialects_are_retold() {
    let mut stage = Stage::new();
    stage.push(user("x"));
    let other = call("exec_command", json!({"cmd": "ls"}));
    stage.push(replied(vec![Block::call(other)]));
    let did = stage.run(&call("Shell", json!({"command": "ls"})), &[ran("m.py\n", 0)]).0;
    stage.push(Body::Called { call: "c1".into(), did, answer: Answer::plain("m.py") });
    let entries = stage.say(0);
    assert_eq!(
        entries[1..],
        [
            Entry::Assistant(vec![Block::call(call("Shell", json!({"command": "ls"})))]),
            Entry::Results {
                before: vec![],
                results: vec![result("c1", "<system>Command executed successfully.</system>|m.py\n")],
                after: vec![]
            },
        ]
    );
}
