//! What is said and how replies are read.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn the_first_request() {
    let mut s = stage(&[]);
    s.push(Body::Fact(Fact::System {
        system: "Linux".into(),
        release: "6".into(),
        version: "1".into(),
        machine: "x86_64".into(),
    }));
    s.push(Body::Fact(Fact::Git(Some(GitFact { root: "/w".into(), ..GitFact::default() }))));
    s.settings.developer_instructions = Some("Be brief.".into());
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Run the tests.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "Make PDFs".into(),
        file: "/h/pdf/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
    s.push(user("Fix it."));
    insta::assert_json_snapshot!(
        "first_request",
        json!({
            "opening": Opencode.open(&s.cx()),
            "entries": Opencode.say(&s.cx(), &s.items),
            "tune": Opencode.tune(&s.cx()),
        })
    );
}

#[test]
fn what_is_offered() {
    let mut s = stage(&[]);
    let mut check = |slug: &str, persona: &str, expected: &str| {
        s.model.slug = slug.into();
        s.persona.name = persona.into();
        let names: Vec<String> = Opencode.open(&s.cx()).tools.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names.join(" "), expected, "{slug} {persona}");
    };
    check("qwen3-coder", "", "bash edit glob grep read skill task todowrite webfetch write");
    check("gpt-5.1", "", "apply_patch bash glob grep read skill task todowrite webfetch");
    check("gpt-4.1", "", "bash edit glob grep read skill task todowrite webfetch write");
    check("glm-4.6", "explore", "bash glob grep read webfetch");
    check("glm-4.6", "general", "bash edit glob grep read skill webfetch write");
}

#[test]
fn limits_by_model() {
    let mut s = stage(&[]);
    let mut check = |slug: &str, most: Option<u64>, max: u64, top_p: Option<f32>, effort: Option<&str>| {
        s.model.slug = slug.into();
        s.model.max_output = most;
        let tune = Opencode.tune(&s.cx());
        let got = (tune.max_output, tune.top_p, tune.reasoning.effort.as_deref(), tune.choose_tools);
        assert_eq!(got, (Some(max), top_p, effort, true), "{slug}");
    };
    check("qwen3-coder", None, 32_000, None, None);
    check("m", Some(4_096), 4_096, None, None);
    check("m", Some(128_000), 32_000, None, None);
    check("gemini-2.5-pro", None, 32_000, Some(0.95), None);
    check("gpt-5.1", None, 32_000, None, Some("medium"));
}

#[test]
fn replies_are_read() {
    let mut s = stage(&[]);
    let calls = [call("a", "Bash", r#"{"command":"ls"}"#), call("b", "read", r#"{"filePath":"a"}"#)];
    let read = Opencode.read(&s.cx(), &reply(calls.iter().cloned().map(Block::call).collect(), Stop::Calls));
    assert_eq!(read, Reading::Calls { calls: calls.to_vec(), order: Order::together(&calls), repaired: 1 });
    let read = |s: &Stage, text: &str, stop: Stop| Opencode.read(&s.cx(), &reply(vec![Block::text(text)], stop));
    assert_eq!(read(&s, "Done.", Stop::End), Reading::Stop(End::Done));
    assert_eq!(read(&s, "Half", Stop::Length), Reading::Stop(End::Done));
    // ours
    assert!(matches!(read(&s, "", Stop::End), Reading::Again { drop_reply: true, .. }));
    let found =
        read(&s, "<tool_call>{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}</tool_call>", Stop::End);
    assert!(matches!(found, Reading::Calls { repaired: 1, .. }), "{found:?}");
    let cut = "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"rm";
    let Reading::Again { say, drop_reply: false, .. } = read(&s, cut, Stop::End) else { panic!("not asked again") };
    s.said = say;
    assert!(matches!(read(&s, cut, Stop::End), Reading::Stop(End::GaveUp(_))));
    s.said = vec![Entry::User(Content::Plain(reminder(NOTHING_SAID)))];
    assert_eq!(read(&s, "", Stop::End), Reading::Stop(End::Done));
}

#[test]
fn an_exchange_is_echoed_in_this_dialect() {
    let mut s = stage(&[("a.txt", A)]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    let thinking = Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() };
    let calls = [call("a", "Read", r#"{"filePath":"a.txt"}"#), call("b", "nope", "{}")];
    let blocks =
        [thinking.clone(), Block::text("I look."), Block::call(calls[0].clone()), Block::call(calls[1].clone())];
    s.push(Body::Reply { reply: reply(blocks.to_vec(), Stop::Calls), total: Usage::default() });
    s.push(Body::Called { call: "a".into(), did: vec![], answer: Answer::plain("A") });
    s.push(user("Hurry."));
    s.push(Body::Called { call: "b".into(), did: vec![], answer: Answer::plain("B") });
    s.push(Body::Notice(Notice::HookContext { event: "Stop".into(), text: "Mind the gap.".into() }));
    let entries = Opencode.say(&s.cx(), &s.items[from..]);
    let echo: Vec<protocol::Call> = calls.iter().map(|call| Opencode.echo(&s.cx(), call)).collect();
    let result = |at: usize, text: &str| CallResult {
        call: echo[at].id.clone(),
        name: echo[at].name.clone(),
        custom: false,
        answer: Answer::plain(text),
    };
    let expected = [
        Entry::Assistant(vec![
            thinking,
            Block::text("I look."),
            Block::call(echo[0].clone()),
            Block::call(echo[1].clone()),
        ]),
        Entry::Results {
            before: vec![],
            results: vec![result(0, "A"), result(1, "B")],
            after: vec![Part::text("Hurry.")],
        },
        Entry::User(Content::Plain("<system-reminder>\nStop hook: Mind the gap.\n</system-reminder>".into())),
    ];
    assert_eq!(entries, expected);
}

#[test]
fn what_was_cut_off_is_answered_or_dropped() {
    let mut s = stage(&[]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    let bash = || Block::call(call("a", "bash", r#"{"command":"ls"}"#));
    s.push(Body::Reply { reply: reply(vec![Block::text("Half"), bash()], Stop::Cut), total: Usage::default() });
    s.push(Body::Reply { reply: reply(vec![bash()], Stop::Calls), total: Usage::default() });
    let entries = Opencode.say(&s.cx(), &s.items[from..]);
    assert_eq!(entries[0], Entry::Assistant(vec![Block::text("Half")]));
    let Entry::Results { results, .. } = &entries[2] else { panic!("{entries:?}") };
    assert_eq!(results[0].answer, Answer::failed("Tool execution aborted"));
}

#[test]
fn calls_of_other_dialects_are_told_again() {
    let mut s = stage(&[]);
    let from = s.items.len();
    let other = call("a", "exec_command", r#"{"cmd":"ls"}"#);
    let fancy = call("b", "apply_magic", "{}");
    s.push(user("Go."));
    s.push(Body::Reply {
        reply: reply(vec![Block::call(other), Block::call(fancy)], Stop::Calls),
        total: Usage::default(),
    });
    let run = protocol::Done {
        action: Action::World(World::Run(protocol::Run::new("ls"))),
        outcome: ran("a.txt\n", Exit::Code(0)),
        took: 1,
        at: 0,
        tag: 1,
    };
    s.push(Body::Called { call: "a".into(), did: vec![run], answer: Answer::plain("Exit code: 0 ...") });
    s.push(Body::Called { call: "b".into(), did: vec![], answer: Answer::plain("Abra") });
    let entries = Opencode.say(&s.cx(), &s.items[from..]);
    let ours = call("a", "bash", r#"{"command":"ls"}"#);
    let result = CallResult { call: "a".into(), name: "bash".into(), custom: false, answer: Answer::plain("a.txt\n") };
    let note = Part::text("[Done before with a tool that is not offered any more: apply_magic {}]\nAbra");
    let expected = [
        Entry::User(Content::Plain("Go.".into())),
        Entry::Assistant(vec![Block::call(ours)]),
        Entry::Results { before: vec![], results: vec![result], after: vec![note] },
    ];
    assert_eq!(entries, expected);
}

#[test]
fn a_summary_is_a_new_beginning() {
    let mut s = stage(&[]);
    s.push(user("First."));
    s.push(Body::Reply { reply: reply(vec![Block::text("Yes.")], Stop::End), total: Usage::default() });
    s.push(user("Second."));
    let ask = Opencode.compact(&s.cx(), Some("the parser"));
    let text = match ask.ask.as_slice() {
        [Entry::User(Content::Plain(text))] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert!(
        !ask.tools
            && text.contains("<template>\n## Objective\n")
            && text.ends_with("The user asks to mind this: the parser")
    );
    let plain = |text: &str| Entry::User(Content::Plain(text.into()));
    let (_, entries) = Opencode.compacted(&s.cx(), "\n## Objective\n- x\n");
    let expected = [
        plain("What did we do so far?"),
        Entry::Assistant(vec![Block::text("## Objective\n- x")]),
        plain("Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."),
        plain("Second."),
    ];
    assert_eq!(entries, expected);
}
