//! What is said and how replies are read.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn the_first_request() {
    let mut s = Stage::new(&[]);
    s.settings.developer_instructions = Some("Be brief.".into());
    s.docs = vec![
        Doc { path: "/h/AGENTS.md".into(), project: false, text: "Use tabs.\n".into() },
        Doc { path: "/w/AGENTS.md".into(), project: true, text: "Run the tests.\n".into() },
    ];
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "Make PDFs".into(),
        file: "/h/skills/pdf/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
    s.push(user("Fix it."));
    insta::assert_json_snapshot!(
        "first_request",
        json!({
            "opening": ClaudeCodeBare.open(&s.cx()),
            "entries": ClaudeCodeBare.say(&s.cx(), &s.items),
            "tune": ClaudeCodeBare.tune(&s.cx()),
        })
    );
}

#[test]
fn without_anything_to_add_the_first_message_is_the_prompt() {
    let mut s = Stage::new(&[]);
    s.push(user("Fix it."));
    assert_eq!(ClaudeCodeBare.say(&s.cx(), &s.items), [Entry::User(Content::Plain("Fix it.".into()))]);
}

#[test]
fn limits_and_thinking_by_model() {
    let mut s = Stage::new(&[]);
    let mut check =
        |provider: &str, slug: &str, max: u64, budget: Option<u64>, adaptive: bool, effort: Option<&str>| {
            s.settings.provider = provider.into();
            s.model = ModelInfo::fallback(slug);
            let tune = ClaudeCodeBare.tune(&s.cx());
            let got =
                (tune.max_output, tune.reasoning.budget, tune.reasoning.adaptive, tune.reasoning.effort.as_deref());
            assert_eq!(got, (Some(max), budget, adaptive, effort), "{slug}");
            assert_eq!(tune.extras.is_empty(), provider != "anthropic", "{slug}");
            assert_eq!(tune.headers.is_empty(), provider != "anthropic", "{slug}");
        };
    check("anthropic", "claude-3-5-sonnet-20241022", 8_192, None, false, None);
    check("anthropic", "claude-sonnet-4-5", 32_000, Some(31_999), false, None);
    check("anthropic", "claude-opus-4-6", 64_000, None, true, Some("high"));
    check("anthropic", "claude-opus-4-7", 64_000, None, true, Some("xhigh"));
    check("anthropic", "claude-sonnet-5-5", 128_000, None, true, Some("medium"));
    check("openrouter", "anthropic/claude-sonnet-4.5", 32_000, Some(31_999), false, None);
    check("deepseek", "deepseek-chat", 32_000, None, false, None);
}

#[test]
fn replies_are_read() {
    let s = Stage::new(&[]);
    let call = |id: &str, name: &str, args: Value| call(id, name, &args.to_string());
    let calls = vec![
        call("1", "Read", json!({"file_path": "a"})),
        call("2", "Bash", json!({"command": "ls"})),
        call("3", "Bash", json!({"command": "rm a"})),
        call("4", "Edit", json!({"file_path": "a", "old_string": "", "new_string": "x"})),
        call("5", "Read", json!({"file_path": "a"})),
        call("6", "Nope", json!({})),
    ];
    let blocks = calls.iter().cloned().map(Block::call).collect();
    let groups: Vec<Vec<CallId>> = [vec!["1", "2"], vec!["3"], vec!["4"], vec!["5", "6"]]
        .into_iter()
        .map(|group| group.into_iter().map(CallId::from).collect())
        .collect();
    let expected = Reading::Calls { calls, order: Order { groups, answers: AnswerOrder::Done }, repaired: 0 };
    assert_eq!(ClaudeCodeBare.read(&s.cx(), &reply(blocks, Stop::End)), expected);
    let done = ClaudeCodeBare.read(&s.cx(), &reply(vec![Block::text("Done.")], Stop::End));
    assert_eq!(done, Reading::Stop(End::Done));
    let empty = ClaudeCodeBare.read(&s.cx(), &reply(Vec::new(), Stop::End));
    assert!(matches!(empty, Reading::Again { drop_reply: true, keep: true, .. }), "{empty:?}");
    let cut = ClaudeCodeBare.read(&s.cx(), &reply(vec![Block::text("Half")], Stop::Length));
    assert!(matches!(cut, Reading::Again { drop_reply: false, keep: true, .. }), "{cut:?}");
}

#[test]
fn second_tries_end() {
    let mut s = Stage::new(&[]);
    for n in 0..SECOND_TRIES {
        let again = ClaudeCodeBare.read(&s.cx(), &reply(Vec::new(), Stop::End));
        assert!(matches!(again, Reading::Again { .. }), "{n}");
        s.push(Body::Reply { reply: reply(Vec::new(), Stop::End), total: Usage::default() });
        s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    }
    assert_eq!(ClaudeCodeBare.read(&s.cx(), &reply(Vec::new(), Stop::End)), Reading::Stop(End::Done));
}

#[test]
fn calls_in_text_are_called_and_echoed_as_calls() {
    let mut s = Stage::new(&[("a.txt", A)]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let reply = reply(
        vec![Block::text(
            "Look.\n<tool_call>{\"name\": \"Read\", \"arguments\": {\"file_path\": \"/w/a.txt\"}}</tool_call>",
        )],
        Stop::End,
    );
    let Reading::Calls { calls, .. } = ClaudeCodeBare.read(&s.cx(), &reply) else { panic!("no calls") };
    let from = s.items.len();
    s.push(Body::Reply { reply, total: Usage::default() });
    s.push(Body::Read { calls: calls.clone(), dropped: false, repaired: 1 });
    s.push(Body::Called { call: calls[0].id.clone(), did: Vec::new(), answer: Answer::plain(A_READ) });
    let entries = ClaudeCodeBare.say(&s.cx(), &s.items[from..]);
    let echoed = call(calls[0].id.as_str(), "Read", r#"{"file_path":"/w/a.txt"}"#);
    let result = protocol::CallResult {
        call: calls[0].id.clone(),
        name: "Read".into(),
        custom: false,
        answer: Answer::plain(A_READ),
    };
    assert_eq!(
        entries,
        [
            Entry::Assistant(vec![Block::text("Look."), Block::call(echoed)]),
            Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() },
        ]
    );
}

#[test]
fn results_go_back_together_in_the_order_they_ended() {
    let mut s = Stage::new(&[]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    let blocks = vec![
        Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() },
        Block::text("Both."),
        Block::call(call("1", "Bash", r#"{"command":"sleep 1"}"#)),
        Block::call(call("2", "Bash", r#"{"command":"ls"}"#)),
        Block::call(call("3", "Bash", r#"{"command":"never"}"#)),
    ];
    s.push(Body::Reply { reply: reply(blocks.clone(), Stop::Calls), total: Usage::default() });
    s.push(Body::Called { call: "2".into(), did: Vec::new(), answer: Answer::plain("two") });
    s.push(Body::Called {
        call: "1".into(),
        did: Vec::new(),
        answer: Answer { after: vec![Part::text("note")], ..Answer::plain("one") },
    });
    s.push(Body::Notice(Notice::Interrupted));
    s.push(user("Go on."));
    let result =
        |id: &str, answer: Answer| protocol::CallResult { call: id.into(), name: "Bash".into(), custom: false, answer };
    let entries = ClaudeCodeBare.say(&s.cx(), &s.items[from..]);
    assert_eq!(
        entries,
        [
            Entry::Assistant(blocks),
            Entry::Results {
                before: Vec::new(),
                results: vec![
                    result("2", Answer::plain("two")),
                    result("1", Answer::plain("one")),
                    result("3", Answer::failed(refusal::REJECTED)),
                ],
                after: vec![
                    Part::text("note"),
                    Part::text("[Request interrupted by user for tool use]"),
                    Part::text("Go on.")
                ],
            },
        ]
    );
}

#[test]
fn another_dialects_past_is_told_again() {
    let mut s = Stage::new(&[]);
    let theirs = |id: &str, name: &str| Block::call(call(id, name, r#"{"cmd":"ls"}"#));
    s.push(user("Look."));
    s.push(Body::Reply {
        reply: reply(vec![theirs("1", "exec_command"), theirs("2", "update_plan")], Stop::Calls),
        total: Usage::default(),
    });
    let run = Action::World(World::Run(protocol::Run::new("ls")));
    let did = vec![Done { action: run, outcome: ran("a.txt\n", Exit::Code(0)), took: 0, at: 0, tag: 1 }];
    s.push(Body::Called { call: "1".into(), did, answer: Answer::plain("Chunk ID: 1 ...") });
    s.push(Body::Called { call: "2".into(), did: Vec::new(), answer: Answer::plain("Plan updated") });
    let bash = protocol::CallResult {
        call: "1".into(),
        name: "Bash".into(),
        custom: false,
        answer: Answer { error: Some(false), ..Answer::plain("a.txt") },
    };
    assert_eq!(
        ClaudeCodeBare.say(&s.cx(), &s.items),
        [
            Entry::User(Content::Plain("Look.".into())),
            Entry::Assistant(vec![
                Block::call(call("1", "Bash", r#"{"command":"ls"}"#)),
                Block::text("[Called the tool update_plan with: {\"cmd\":\"ls\"}]"),
            ]),
            Entry::Results {
                before: Vec::new(),
                results: vec![bash],
                after: vec![Part::text("[Result of update_plan]\nPlan updated")],
            },
        ]
    );
}

#[test]
fn a_summary_is_asked_for_and_begins_anew() {
    let s = Stage::new(&[]);
    let compaction = ClaudeCodeBare.compact(&s.cx(), Some("keep the names"));
    let [Entry::User(ask)] = compaction.ask.as_slice() else { panic!("{compaction:?}") };
    assert!(compaction.tools && ask.text().contains("\n\nAdditional Instructions:\nkeep the names\n\n"));
    let (opening, entries) =
        ClaudeCodeBare.compacted(&s.cx(), "<analysis>a</analysis><summary>\nAll of it.\n</summary>");
    assert_eq!(opening, ClaudeCodeBare.open(&s.cx()));
    let [Entry::User(text)] = entries.as_slice() else { panic!("{entries:?}") };
    assert!(
        text.text()
            .starts_with("This session is being continued from a previous conversation that ran out of context. ")
            && text.text().contains("\n\nSummary:\nAll of it.\n\n")
    );
}
