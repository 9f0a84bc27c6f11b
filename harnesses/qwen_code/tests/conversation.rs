//! The opening, what is said, how replies are read, summaries.
use pretty_assertions::assert_eq;
use protocol::{BlockKind, CallResult, Entry};

use super::*;
use crate::{AnswerOrder, End, Order, Reading};

#[test]
fn the_opening_and_the_first_message() {
    let mut s = stage(&[]);
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Use tabs.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "a&b".into(),
        description: "Greets <all>".into(),
        file: "/s/SKILL.md".into(),
        scope: "project".into(),
    }];
    s.settings.developer_instructions = Some("Be kind.".into());
    s.user("Say hi.");
    let opening = QwenCode.open(&s.cx());
    let [(_, Content::Plain(system))] = opening.instructions.as_slice() else { panic!() };
    insta::assert_snapshot!("system", system);
    insta::assert_snapshot!("first_message", format!("{:#?}", QwenCode.say(&s.cx(), &s.items)));
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "agent",
            "edit",
            "glob",
            "grep_search",
            "notebook_edit",
            "read_file",
            "run_shell_command",
            "skill",
            "tool_call",
            "tool_search",
            "write_file"
        ]
    );
    s.settings.approval = ApprovalPolicy::OnRequest;
    let asking: Vec<String> = QwenCode
        .open(&s.cx())
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .filter(|name| name.contains("plan") || name.contains("ask_"))
        .collect();
    assert_eq!(asking, ["ask_user_question", "enter_plan_mode", "exit_plan_mode"]);
}

#[test]
fn later_prompts_come_with_the_date_and_settings_with_a_word() {
    let mut s = stage(&[]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    s.user("More.");
    s.settings.mode = Mode::Plan { file: "/p".into() };
    let [Entry::User(Content::Parts(parts))] = &QwenCode.say(&s.cx(), &s.items[from..])[..] else { panic!() };
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    assert!(
        matches!(texts.as_slice(), [date, plan, "More."] if date.starts_with("<system-reminder>\nThe current date is: Monday, November 30, 2026. ") && plan.starts_with("<system-reminder>\nPlan mode is on.")),
        "{texts:?}"
    );
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::ReadOnly);
    let from = s.items.len();
    s.push(Body::Settings(Box::new(s.settings.clone())));
    let [Entry::User(content)] = &QwenCode.say(&s.cx(), &s.items[from..])[..] else { panic!() };
    assert!(content.text().contains("sandbox (read-only): nothing may be written"), "{content:?}");
}

#[test]
fn answers_stand_in_the_order_of_the_calls() {
    let mut s = stage(&[]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    s.replied(reply(
        vec![
            Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() },
            Block::call(call("1", "read_file", r#"{ "file_path": "/w/a" }"#)),
            Block::call(call("2", "glob", "not json")),
            Block::call(call("3", "read_file", r#"{"file_path":"/w/b"#)),
        ],
        Stop::Calls,
    ));
    s.push(Body::Called { call: "2".into(), did: Vec::new(), answer: listed("two") });
    s.push(Body::Called { call: "1".into(), did: Vec::new(), answer: listed("one") });
    s.push(Body::Notice(protocol::Notice::Interrupted));
    let result =
        |id: &str, name: &str, answer: Answer| CallResult { call: id.into(), name: name.into(), custom: false, answer };
    let unrecorded = listed(
        "Tool execution result was not recorded — likely interrupted by network failure, abort, or process exit. Treat as failure and retry if needed.",
    );
    assert_eq!(
        QwenCode.say(&s.cx(), &s.items[from..]),
        [
            Entry::Assistant(vec![
                Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() },
                Block::call(call("1", "read_file", r#"{"file_path":"/w/a"}"#)),
                Block::call(call("2", "glob", "{}")),
                Block::call(call("3", "read_file", r#"{"file_path":"/w/b"}"#)),
            ]),
            Entry::Results {
                before: Vec::new(),
                results: vec![
                    result("1", "read_file", listed("one")),
                    result("2", "glob", listed("two")),
                    result("3", "read_file", unrecorded)
                ],
                after: Vec::new(),
            },
        ]
    );
}

/// Reads a reply as the runtime does: it is recorded first.
fn read(s: &mut Stage, reply: Reply) -> Reading {
    s.replied(reply.clone());
    QwenCode.read(&s.cx(), &reply)
}

fn text(text: &str, stop: Stop) -> Reply {
    reply(vec![Block::text(text)], stop)
}

#[test]
fn calls_are_grouped_and_names_mended() {
    let mut s = stage(&[]);
    let calls = [
        call("1", "Read_File", "{}"),
        call("2", "glob", "{}"),
        call("3", "edit", "{}"),
        call("4", "agent", "{}"),
        call("5", "nope", "{}"),
    ];
    let reading = read(&mut s, reply(calls.iter().cloned().map(Block::call).collect(), Stop::Calls));
    let mut expected = calls.to_vec();
    expected[0].name = "read_file".into();
    let groups =
        [vec!["1", "2"], vec!["3"], vec!["4"], vec!["5"]].map(|group| group.into_iter().map(Into::into).collect());
    let order = Order { groups: groups.into(), answers: AnswerOrder::Calls };
    assert_eq!(reading, Reading::Calls { calls: expected, order, repaired: 1 });
    s.says("nope", json!({}), "Tool \"nope\" not found in registry. Tools must use the exact names that are registered. Did you mean one of: …");
}

#[test]
fn calls_in_the_text_are_run() {
    let mut s = stage(&[]);
    let written =
        "I look.\n<function=read_file>\n<parameter=file_path>\n/w/a.txt\n</parameter>\n</function>\n</tool_call>";
    let Reading::Calls { calls, repaired: 1, .. } = read(&mut s, text(written, Stop::End)) else { panic!() };
    assert_eq!((calls[0].name.as_str(), calls[0].args.as_str()), ("read_file", r#"{"file_path":"/w/a.txt"}"#));
    let from = s.items.len() - 1;
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    s.push(Body::Read { calls: calls.clone(), dropped: false, repaired: 1 });
    s.push(Body::Called { call: calls[0].id.clone(), did: Vec::new(), answer: listed("x") });
    let entries = QwenCode.say(&s.cx(), &s.items[from..]);
    let echoed = Call { form: CallForm::Function, ..calls[0].clone() };
    assert_eq!(entries[0], Entry::Assistant(vec![Block::text("I look."), Block::call(echoed)]));
    let cut = "<function=read_file>\n<parameter=file_path>\n/w/a";
    let Reading::Again { drop_reply: false, keep: true, say, .. } = read(&mut s, text(cut, Stop::End)) else {
        panic!()
    };
    s.said.extend(say);
    assert!(
        matches!(read(&mut s, text(cut, Stop::End)), Reading::Stop(End::GaveUp(why)) if why.contains("tool-call parser"))
    );
}

#[test]
fn replies_that_were_cut_off() {
    let mut s = stage(&[]);
    s.user("Go.");
    let dropped = |s: &mut Stage| s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    let kept = |s: &mut Stage| s.push(Body::Read { calls: Vec::new(), dropped: false, repaired: 0 });
    let reading = read(&mut s, text("Part", Stop::Length));
    assert!(
        matches!(&reading, Reading::Again { drop_reply: true, keep: false, tune: Some(tune), .. } if tune.max_output == Some(32_768)),
        "{reading:?}"
    );
    dropped(&mut s);
    for piece in ["one", " two", " three"] {
        let reading = read(&mut s, text(piece, Stop::Length));
        let Reading::Again { drop_reply: false, keep: true, say, tune: None } = reading else {
            panic!("{piece}: {reading:?}")
        };
        let [Entry::User(content)] = say.as_slice() else { panic!() };
        assert!(
            content.text().starts_with("Output token limit hit. Resume directly")
                && content
                    .text()
                    .ends_with(&format!("<previous_response_suffix>\n{piece}\n</previous_response_suffix>"))
        );
        kept(&mut s);
    }
    assert_eq!(read(&mut s, text(" four", Stop::Length)), Reading::Stop(End::Submitted("one two three four".into())));
    s.user("Nothing but a call that the wire dropped.");
    for n in 0..5 {
        match read(&mut s, reply(Vec::new(), Stop::Length)) {
            Reading::Again { drop_reply: true, keep, .. } => assert!(keep == (n > 0) && n < 4),
            Reading::Stop(End::GaveUp(why)) => assert!(n == 4 && why.starts_with("Every reply hit")),
            other => panic!("{n}: {other:?}"),
        }
        dropped(&mut s);
    }
    s.user("Write.");
    let write =
        || reply(vec![Block::call(call("w", "write_file", r#"{"file_path":"/w/n","content":"abc"#))], Stop::Length);
    assert!(matches!(read(&mut s, write()), Reading::Again { drop_reply: true, .. }));
    dropped(&mut s);
    let Reading::Calls { calls, .. } = read(&mut s, write()) else { panic!() };
    let Next::Reject { answer, .. } = QwenCode.next(&s.cx(), &calls[0], &[]) else { panic!() };
    assert!(answer.content.text().starts_with("Your previous response was truncated due to max_tokens limit"));
}

#[test]
fn replies_that_say_nothing_or_the_same() {
    let mut s = stage(&[]);
    s.user("Go.");
    let thought = reply(vec![Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() }], Stop::End);
    assert_eq!(QwenCode.read(&s.cx(), &thought), Reading::Stop(End::Done));
    for _ in 0..4 {
        assert!(matches!(read(&mut s, text("", Stop::End)), Reading::Again { drop_reply: true, keep: false, .. }));
        s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    }
    assert_eq!(
        read(&mut s, text("", Stop::End)),
        Reading::Stop(End::GaveUp("Model stream ended with empty response text.".into()))
    );
    s.user("Go.");
    let unclosed = || reply(vec![Block::call(call("1", "glob", r#"{"pattern":"*"#))], Stop::Calls);
    assert!(matches!(read(&mut s, unclosed()), Reading::Again { drop_reply: true, .. }));
    s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    for n in 1..=5 {
        let one = reply(vec![Block::call(call(&n.to_string(), "glob", r#"{"pattern": "*"}"#))], Stop::Calls);
        match read(&mut s, one) {
            Reading::Calls { .. } => assert!(n < 5),
            Reading::Stop(End::GaveUp(why)) => {
                assert!(n == 5 && why.starts_with("Loop detection halted the run (consecutive_identical_tool_calls: "))
            }
            other => panic!("{n}: {other:?}"),
        }
        s.push(Body::Called { call: n.to_string().as_str().into(), did: Vec::new(), answer: listed("x") });
    }
}

#[test]
fn summaries() {
    let mut s = stage(&[]);
    s.user("Old.");
    s.replied(text("x", Stop::End));
    s.user("New.");
    let compaction = QwenCode.compact(&s.cx(), Some("keep names"));
    assert!(compaction.tools && compaction.tune.max_output == Some(20_000));
    let (opening, entries) = QwenCode.compacted(&s.cx(), "<analysis>a</analysis><state_snapshot>all</state_snapshot>");
    assert_eq!(opening, QwenCode.open(&s.cx()));
    let [Entry::User(past), Entry::Assistant(assent), Entry::User(now)] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert!(past.text().contains("\n<state_snapshot>all</state_snapshot>\n\n"));
    assert_eq!(assent, &[Block::text("Got it. Thanks for the additional context!")]);
    assert!(now.text().ends_with("\nNew."));
}

#[test]
fn another_dialects_past_is_told_again() {
    let mut s = stage(&[]);
    s.user("Look.");
    let theirs = |id: &str, name: &str| Block::call(call(id, name, r#"{"cmd":"ls"}"#));
    s.replied(reply(vec![theirs("1", "exec_command"), theirs("2", "update_plan")], Stop::Calls));
    let run = Action::World(World::Run(protocol::Run::new("ls")));
    let did = vec![Done { action: run, outcome: ran("a.txt\n", Exit::Code(0)), took: 0, at: 0, tag: 1 }];
    s.push(Body::Called { call: "1".into(), did, answer: Answer::plain("Chunk") });
    s.push(Body::Called { call: "2".into(), did: Vec::new(), answer: Answer::plain("Plan updated") });
    let entries = QwenCode.say(&s.cx(), &s.items);
    let [_, Entry::Assistant(blocks), Entry::Results { results, after, .. }] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!(
        blocks,
        &[
            Block::call(call("1", "run_shell_command", r#"{"command":"ls"}"#)),
            Block::text("[Called the tool update_plan with: {\"cmd\":\"ls\"}]")
        ]
    );
    assert_eq!(
        results[0].answer,
        listed(
            "Command: ls\nDirectory: (root)\nOutput: a.txt\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: (none)"
        )
    );
    assert_eq!(after, &[Part::text("[Result of update_plan]\nPlan updated")]);
}
