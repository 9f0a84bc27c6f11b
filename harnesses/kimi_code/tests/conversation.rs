//! The opening, how a conversation is told, and how it begins again.
use pretty_assertions::assert_eq;
use protocol::{BlockKind, GitFact};

use super::*;

fn facts(s: &mut Stage) {
    s.push(Body::Fact(Fact::Date { date: "2026-11-30".into(), zone: "Etc/UTC".into() }));
    s.push(Body::Fact(Fact::Home(Some("/home/u".into()))));
    let entries = vec!["a.txt".to_owned(), "sub/".to_owned(), "sub/x.txt".to_owned()];
    s.push(Body::Fact(Fact::Listing { path: "/w".into(), entries, more: false }));
}

#[test]
fn first_request() {
    let mut s = stage(&[]);
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Be brief.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "greet".into(),
        description: "Greets.".into(),
        file: "/k/SKILL.md".into(),
        scope: "project".into(),
    }];
    s.push(user("Do the task."));
    facts(&mut s);
    let opening = KimiCode.open(&s.cx());
    insta::assert_snapshot!("opening", opening.instructions[0].1.text());
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    insta::assert_snapshot!("tools", names.join("\n"));
    insta::assert_snapshot!("first_request", texts(&s.say(0)).join("\n=====\n"));
    assert_eq!(KimiCode.wants(&s.cx(), Moment::Step), []);
}

#[test]
fn sub_agents_have_their_own_opening() {
    let mut s = stage(&[]);
    let check = |s: &mut Stage, kind: &str, tools: &[&str], role: &str| {
        s.persona = Persona { name: kind.into(), depth: 1, ..Persona::default() };
        let opening = KimiCode.open(&s.cx());
        let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, tools, "{kind}");
        assert!(opening.instructions[0].1.text().contains(role), "{kind}");
    };
    check(&mut s, "explore", &["Bash", "FetchURL", "Glob", "Grep", "Read", "ReadMediaFile"], "You explore codebases.");
    check(&mut s, "plan", &["FetchURL", "Glob", "Grep", "Read", "ReadMediaFile"], "Before you plan,");
    check(
        &mut s,
        "coder",
        &[
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "FetchURL",
            "Glob",
            "Grep",
            "Read",
            "ReadMediaFile",
            "Skill",
            "TaskList",
            "TaskOutput",
            "TaskStop",
            "TodoList",
            "WaitFor",
            "Write",
        ],
        "You are working as a subagent.",
    );
    s.persona.name = "explore".into();
    let git = GitFact {
        root: "/w".into(),
        branch: Some("main".into()),
        main: None,
        status: " M a.txt".into(),
        commits: vec!["2144ee3 first".into()],
    };
    s.push(user("look"));
    s.push(Body::Fact(Fact::Git(Some(git))));
    assert_eq!(
        texts(&s.say(0))[0],
        "<git-context>\nWorking directory: /w\nBranch: main\nDirty files (1):\n  M a.txt\nRecent commits:\n  2144ee3 first\n</git-context>\n\nlook"
    );
}

#[test]
fn results_of_unknown_tools_come_first() {
    let mut s = stage(&[("a.txt", "x\n")]);
    s.push(user("go"));
    s.say(0);
    let from = s.items.len();
    let calls = [call("1", "Read", r#"{"path":"a.txt"}"#), call("2", "Nope", "{"), call("3", "Bash", "[1")];
    s.reply(&calls);
    calls.iter().for_each(|call| drop(s.carry_out(call)));
    let said = s.say(from);
    let Some(Entry::Results { results, .. }) = said.get(1) else { panic!("{said:?}") };
    let order: Vec<&str> = results.iter().map(|result| result.call.as_str()).collect();
    assert_eq!(order, ["2", "1", "3"]);
    let Some(Entry::Assistant(blocks)) = said.first() else { panic!() };
    let echoed: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match &block.kind {
            BlockKind::Call(call) => Some(call.args.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(echoed, ["{}", r#"{"path":"a.txt"}"#, "{}"]);
}

#[test]
fn instructions_below_are_told_once() {
    let mut s = stage(&[("sub/AGENTS.md", "r"), ("sub/x.txt", "x\n"), ("sub/deep/y.txt", "y\n")]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    s.call("Read", r#"{"path":"sub/x.txt"}"#);
    let told = texts(&s.say(0));
    assert!(told.len() == 1 && told[0].contains("\n- /w/sub/AGENTS.md\n"), "{told:?}");
    let from = s.items.len();
    s.call("Read", r#"{"path":"sub/deep/y.txt"}"#);
    assert_eq!(texts(&s.say(from)), Vec::<String>::new());
}

#[test]
fn plan_mode_and_stale_lists_are_brought_to_mind() {
    let mut s = stage(&[]);
    s.push(user("go"));
    s.say(0);
    s.settings.mode = Mode::Plan { file: "/s/p".into() };
    let mut kinds = Vec::new();
    for n in 0..10 {
        let from = s.items.len();
        s.call("TodoList", "{}");
        s.items.last_mut().unwrap().at = n;
        let told = texts(&s.say(from));
        kinds.push(
            told.iter()
                .map(|text| match text {
                    text if text.contains("Plan mode is still active") => 's',
                    text if text.contains("Plan mode is active") => 'f',
                    text if text.contains("TodoList tool has not been used") => 't',
                    _ => '?',
                })
                .collect::<String>(),
        );
    }
    assert_eq!(kinds, ["f", "", "s", "", "s", "", "s", "", "s", "t"]);
}

#[test]
fn the_date_is_told_again_when_it_changes() {
    let mut s = stage(&[]);
    s.push(user("one"));
    facts(&mut s);
    s.say(0);
    let next = |s: &mut Stage, date: &str| {
        let from = s.items.len();
        s.push(user("two"));
        s.push(Body::Fact(Fact::Date { date: date.into(), zone: "Etc/UTC".into() }));
        texts(&s.say(from)).len()
    };
    assert_eq!((next(&mut s, "2026-11-30"), next(&mut s, "2026-12-01"), next(&mut s, "2026-12-01")), (1, 2, 1));
}

#[test]
fn replies_are_read() {
    let mut s = stage(&[]);
    let stop = |text: &str| reply(vec![Block::text(text)], Stop::End);
    assert_eq!(KimiCode.read(&s.cx(), &stop("done")), Reading::Stop(End::Done));
    assert!(matches!(KimiCode.read(&s.cx(), &stop("")), Reading::Again { drop_reply: true, .. }));
    for _ in 0..3 {
        s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    }
    assert_eq!(KimiCode.read(&s.cx(), &stop("")), Reading::Stop(End::Done));
    let leaked = "<|tool_calls_section_begin|><|tool_call_begin|>functions.Read:0<|tool_call_argument_begin|>{\"path\":\"a\"}<|tool_call_end|><|tool_calls_section_end|>";
    let Reading::Calls { calls, repaired, .. } = KimiCode.read(&s.cx(), &stop(leaked)) else { panic!() };
    assert_eq!((calls[0].name.as_str(), calls[0].args.as_str(), repaired), ("Read", r#"{"path":"a"}"#, 1));
    let broken = "<|tool_call_begin|>functions.Read:0<|tool_call_argument_begin|>{\"path";
    assert!(matches!(KimiCode.read(&s.cx(), &stop(broken)), Reading::Again { drop_reply: false, keep: true, .. }));
}

#[test]
fn stopped_calls_say_so() {
    let s = stage(&[]);
    let bash = call("1", "Bash", r#"{"command":"x"}"#);
    let run = Action::World(World::Run(protocol::Run::new("x")));
    let outcome = Outcome::Interrupted { output: Some(Captured::whole("start\n")) };
    let did = [Done { action: run, outcome, took: 20, at: 0, tag: 1 }];
    assert_eq!(
        KimiCode.cut_short(&s.cx(), &bash, &did, Some(20)).content.text(),
        "Wall time: 0.020 seconds\n<system>ERROR: Tool execution failed.</system>\nstart\nInterrupted by user"
    );
    let read = call("2", "Grep", "{}");
    let queued = KimiCode.cut_short(&s.cx(), &read, &[], None).content.text();
    assert!(queued.starts_with("<system>ERROR: Tool execution failed.</system>\nThe user manually interrupted \"Grep\" (and anything else running at the same time). "), "{queued}");
}

#[test]
fn a_summary_begins_anew() {
    let mut s = stage(&[]);
    s.push(user("first"));
    facts(&mut s);
    s.say(0);
    let from = s.items.len();
    s.call("TodoList", r#"{"todos":[{"title":"one","status":"pending"}]}"#);
    s.push(Body::Reply { reply: reply(vec![Block::text("ok")], Stop::End), total: Usage::default() });
    s.push(user("second"));
    s.say(from);
    let (_, entries) = KimiCode.compacted(&s.cx(), " I did it. ");
    let told = texts(&entries);
    assert_eq!((told[0].as_str(), told.last().map(String::as_str)), ("first", Some("second")));
    assert!(told[1].ends_with("\nI did it.\n\n## TODO List\n  [pending] one"), "{}", told[1]);
    assert_eq!(told.len(), 6);
    let ask = KimiCode.compact(&s.cx(), Some("the tests"));
    assert!(ask.tools && texts(&ask.ask)[0].ends_with("The user asks to mind this: the tests"));
    // A second compaction keeps the user's words and drops the first summary.
    s.said = entries;
    s.items.clear();
    let told = texts(&KimiCode.compacted(&s.cx(), "again").1);
    assert_eq!((told[0].as_str(), told[1].as_str()), ("first", "second"));
}

#[test]
fn calls_of_other_dialects_are_told_in_this_one() {
    let mut s = stage(&[]);
    s.push(user("go"));
    s.reply(&[call("1", "exec_command", r#"{"cmd":"ls"}"#), call("2", "odd_tool", "{}")]);
    let run = Done {
        action: Action::World(World::Run(protocol::Run::new("ls"))),
        outcome: ran("a\n", Exit::Code(0)),
        took: 5,
        at: 0,
        tag: 1,
    };
    s.push(Body::Called { call: "1".into(), did: vec![run], answer: Answer::plain("other words") });
    s.push(Body::Called { call: "2".into(), did: vec![], answer: Answer::plain("odd") });
    let said = s.say(0);
    let Some(Entry::Assistant(blocks)) = said.get(1) else { panic!("{said:?}") };
    let BlockKind::Call(told) = &blocks[0].kind else { panic!() };
    assert_eq!((told.name.as_str(), told.args.as_str()), ("Bash", r#"{"command":"ls"}"#));
    let Some(Entry::Results { results, .. }) = said.get(2) else { panic!() };
    assert_eq!(results[0].answer.content.text(), "Wall time: 0.005 seconds\na\n");
    assert_eq!(texts(&said)[1], "[Result of odd_tool]\nodd");
}

#[test]
fn own_servers_get_what_the_original_sends() {
    let mut s = stage(&[]);
    assert_eq!(KimiCode.tune(&s.cx()).extras, []);
    s.settings.provider = "kimi-for-coding".into();
    s.model.context_window = 262_144;
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    s.push(Body::Reply { reply: Reply { usage, ..reply(vec![], Stop::End) }, total: usage });
    let tune = KimiCode.tune(&s.cx());
    assert_eq!((tune.max_output, tune.reasoning.enabled), (Some(262_034), Some(true)));
    assert!(tune.extras.iter().any(|(wire, field, value)| (*wire, field.as_str(), value.text())
        == (WireId::Chat, "prompt_cache_key", "\"session_thread-1\"")));
}
