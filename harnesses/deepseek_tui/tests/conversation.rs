//! Requests: the opening, prompts with their metadata, references to results, reasoning that goes back, tools that come later, summaries.
use pretty_assertions::assert_eq;
use protocol::{
    ApprovalPolicy, Block, BlockKind, Body, CallResult, Content, Entry, Fact, Opaque, Part, Raw, ReasoningAsk,
    SandboxMode, SandboxPolicy, Stop, Tool, ToolKind, Usage, WireId,
};
use serde_json::json;

use super::*;
use crate::stage::{call, reply, user};
use crate::{Doc, SkillInfo};

/// What is new is said and kept.
fn say(s: &mut Stage, from: usize) -> Vec<Entry> {
    let entries = DeepseekTui.say(&s.cx(), &s.items[from..]);
    s.said.extend(entries.clone());
    entries
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn the_first_request() {
    let mut s = stage(&[]);
    s.push(Body::Fact(Fact::System {
        system: "Linux".into(),
        release: "6".into(),
        version: "1".into(),
        machine: "x86_64".into(),
    }));
    s.push(Body::Fact(Fact::Shell("bash".into())));
    s.settings.developer_instructions = Some("Be brief.".into());
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Run the tests.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "Make PDFs".into(),
        file: "/h/pdf/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.push(user("Fix it."));
    insta::assert_json_snapshot!(
        "first_request",
        json!({
            "opening": DeepseekTui.open(&s.cx()),
            "entries": DeepseekTui.say(&s.cx(), &s.items),
            "tune": DeepseekTui.tune(&s.cx()),
        })
    );
}

#[test]
fn the_environment_line_for_line() {
    let mut s = stage(&[]);
    s.push(Body::Fact(Fact::System {
        system: "Darwin".into(),
        release: "6".into(),
        version: "1".into(),
        machine: "arm64".into(),
    }));
    s.push(Body::Fact(Fact::Shell("zsh".into())));
    let text = DeepseekTui.open(&s.cx()).instructions[0].1.text();
    let expected =
        "\n\n## Environment\n\n- lang: en\n- deepseek_version: 0.8.41\n- platform: macos\n- shell: zsh\n- pwd: /w\n\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn tools_are_listed_by_name_and_most_are_held_back() {
    let mut s = stage(&[]);
    let listed = [
        "checklist_write",
        "code_execution",
        "exec_shell",
        "exec_shell_interact",
        "exec_shell_wait",
        "file_search",
        "grep_files",
        "list_dir",
        "multi_tool_use-x00002E-parallel",
        "read_file",
        "request_user_input",
        "todo_write",
        "tool_search_tool_bm25",
        "tool_search_tool_regex",
        "update_plan",
        "write_file",
    ];
    assert_eq!(names(&DeepseekTui.open(&s.cx()).tools), listed);
    // One from outside stands among them, its name escaped.
    let schema = Raw::parse("{}").unwrap();
    s.extra = vec![Tool {
        namespace: None,
        name: "mcp__my-server__do".into(),
        description: String::new(),
        kind: ToolKind::Function(schema),
        strict: None,
        deferred: false,
    }];
    assert_eq!(names(&DeepseekTui.open(&s.cx()).tools)[8], "mcp__my--server__do");
    s.outcomes.push_back(Outcome::Mcp {
        content: Raw::parse(r#"[{"type":"text","text":"done"}]"#).unwrap(),
        structured: None,
        error: false,
    });
    s.check("mcp__my--server__do", json!({}), "done");
    // Without sandbox and questions nothing is held back.
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::DangerFullAccess);
    assert_eq!(DeepseekTui.open(&s.cx()).tools.len(), tools::ALL.len() + 1);
    s.settings.approval = ApprovalPolicy::OnRequest;
    assert_eq!(DeepseekTui.open(&s.cx()).tools.len(), listed.len() + 1);
}

#[test]
fn prompts_carry_the_date_once() {
    let mut s = stage(&[]);
    s.push(user("one"));
    let prompt = |meta: &str, text: &str| Entry::User(Content::Parts(vec![Part::text(meta), Part::text(text)]));
    assert_eq!(say(&mut s, 0), [prompt("<turn_meta>\nCurrent local date: 2026-11-30\n</turn_meta>", "one")]);
    let from = s.items.len();
    s.push(user("two"));
    assert_eq!(say(&mut s, from), [prompt("<turn_meta>unchanged</turn_meta>", "two")]);
    let from = s.items.len();
    s.push(Body::Fact(Fact::Date { date: "2026-12-01".into(), zone: "Etc/UTC".into() }));
    s.push(user("three"));
    assert_eq!(say(&mut s, from), [prompt("<turn_meta>\nCurrent local date: 2026-12-01\n</turn_meta>", "three")]);
}

#[test]
fn what_was_found_or_called_is_listed_from_then_on() {
    let mut s = stage(&[("a", "x\n")]);
    s.push(user("go"));
    say(&mut s, 0);
    let from = s.items.len();
    s.call("tool_search_tool_regex", r#"{"query":"^git_"}"#);
    s.call("edit_file", r#"{"path":"a","search":"x","replace":"y"}"#);
    let entries = say(&mut s, from);
    let Some(Entry::Tools(tools)) = entries.last() else { panic!("{entries:?}") };
    assert_eq!(names(tools), ["edit_file", "git_diff", "git_status"]);
    assert_eq!(s.text("a"), "y\n");
    // Once is enough.
    let from = s.items.len();
    s.call("edit_file", r#"{"path":"a","search":"y","replace":"z"}"#);
    assert!(!say(&mut s, from).iter().any(|entry| matches!(entry, Entry::Tools(_))));
    // They are there after a summary too.
    let (opening, entries) = DeepseekTui.compacted(&s.cx(), "so far");
    assert!(!names(&opening.tools).contains(&"edit_file"));
    let Some(Entry::Tools(tools)) = entries.last() else { panic!("{entries:?}") };
    assert_eq!(names(tools), ["edit_file", "git_diff", "git_status"]);
}

#[test]
fn large_results_are_shown_once() {
    let text = "line\n".repeat(190);
    let text = text.as_str().to_owned() + &"word ".repeat(300);
    let mut s = stage(&[("a", &text), ("b", &text), ("c", "small")]);
    s.call("read_file", r#"{"path":"a"}"#);
    s.call("read_file", r#"{"path":"c"}"#);
    say(&mut s, 0);
    let from = s.items.len();
    s.call("read_file", r#"{"path":"b"}"#);
    s.call("read_file", r#"{"path":"./c"}"#);
    let sha = say::sha(&text);
    let expected = format!(
        "<TOOL_RESULT_REF sha=\"{sha}\" original_message=\"c1\" chars=\"2450\">\nretrieve: retrieve_tool_result ref=sha:{sha}\n</TOOL_RESULT_REF>"
    );
    let shown: Vec<String> = results(&say(&mut s, from)).iter().map(|result| result.answer.content.text()).collect();
    assert_eq!(shown, [expected, "small".to_owned()]);
    // Shown again in full where it is asked for.
    let from = s.items.len();
    s.check("retrieve_tool_result", json!({"ref": format!("sha:{sha}")}), &text);
    assert_eq!(results(&say(&mut s, from))[0].answer.content.text(), text);
    let (answer, _) = answer(&[], None, "retrieve_tool_result", &json!({"ref": "sha:0123456789"}));
    assert!(answer.content.text().starts_with("Error: No result with sha:0123456789 "));
}

fn results(entries: &[Entry]) -> Vec<CallResult> {
    let results = entries.iter().filter_map(|entry| match entry {
        Entry::Results { results, .. } => Some(results.clone()),
        _ => None,
    });
    results.flatten().collect()
}

#[test]
fn reasoning_is_never_missing_beside_calls() {
    let mut s = stage(&[]);
    let body = |blocks| Body::Reply { reply: reply(blocks, Stop::Calls), total: Usage::default() };
    s.push(body(vec![Block::call(call("c1", "list_dir", "{}"))]));
    let reasoning = |s: &Stage| {
        let entries = DeepseekTui.say(&s.cx(), &s.items);
        let Some(Entry::Assistant(blocks)) = entries.into_iter().find(|entry| matches!(entry, Entry::Assistant(_)))
        else {
            panic!()
        };
        let thoughts = blocks.into_iter().filter(|block| matches!(block.kind, BlockKind::Reasoning(_)));
        thoughts.collect::<Vec<_>>()
    };
    assert_eq!(reasoning(&s), []);
    s.model.slug = "deepseek-v4-pro".into();
    let opaque = Opaque { scope: s.source.clone(), field: "reasoning_content".into(), value: Raw::null() };
    let omitted = Block::no_reasoning(s.source.clone(), "(reasoning omitted)");
    assert_eq!(reasoning(&s), std::slice::from_ref(&omitted));
    // What the model thought goes back as it was; the wire leaves the words out then.
    let thought = Block { kind: BlockKind::Reasoning("because".into()), opaque: vec![opaque] };
    s.items.pop();
    s.push(body(vec![thought.clone(), Block::call(call("c1", "list_dir", "{}"))]));
    assert_eq!(reasoning(&s), [omitted, thought]);
    s.items.pop();
    s.push(body(vec![Block::call(call("c1", "list_dir", "{}"))]));
    s.source.wire = WireId::Messages;
    assert_eq!(reasoning(&s), []);
    s.source.wire = WireId::Chat;
    s.settings.effort = Some("none".into());
    assert_eq!(reasoning(&s), []);
}

#[test]
fn effort_and_length_of_a_reply() {
    let mut s = stage(&[]);
    let on =
        |effort: &str| ReasoningAsk { effort: Some(effort.into()), enabled: Some(true), ..ReasoningAsk::default() };
    let off = ReasoningAsk { enabled: Some(false), ..ReasoningAsk::default() };
    assert_eq!(DeepseekTui.tune(&s.cx()).reasoning, ReasoningAsk::default());
    assert_eq!(DeepseekTui.tune(&s.cx()).max_output, Some(65_536));
    for (effort, expected) in
        [("none", off), ("low", on("high")), ("medium", on("high")), ("high", on("high")), ("max", on("max"))]
    {
        s.settings.effort = Some(effort.into());
        assert_eq!(DeepseekTui.tune(&s.cx()).reasoning, expected, "{effort}");
    }
    s.settings.effort = None;
    s.model.slug = "deepseek-v4-flash".into();
    s.model.max_output = Some(8_192);
    assert_eq!((DeepseekTui.tune(&s.cx()).reasoning, DeepseekTui.tune(&s.cx()).max_output), (on("high"), Some(8_192)));
}

#[test]
fn calls_go_back_under_their_wire_names() {
    let mut s = stage(&[("a", "x")]);
    s.call("multi_tool_use.parallel", r#"{"tool_uses":[{"recipient_name":"read_file","parameters":{"path":"a"}}]}"#);
    let entries = DeepseekTui.say(&s.cx(), &s.items);
    let [Entry::Assistant(blocks), Entry::Results { results, .. }] = entries.as_slice() else { panic!("{entries:?}") };
    let BlockKind::Call(call) = &blocks[0].kind else { panic!() };
    assert_eq!(
        (call.name.as_str(), results[0].name.as_str()),
        ("multi_tool_use-x00002E-parallel", "multi_tool_use-x00002E-parallel")
    );
}

#[test]
fn a_summary_is_followed_by_the_newest_messages() {
    let mut s = stage(&[("a", "x")]);
    s.push(user("first"));
    for n in 1..=3 {
        s.call("read_file", &json!({"path": "a", "start_line": n}).to_string());
    }
    say(&mut s, 0);
    let from = s.items.len();
    s.push(user("second"));
    say(&mut s, from);
    let (_, entries) = DeepseekTui.compacted(&s.cx(), " so far \n");
    let kinds: Vec<&str> = entries
        .iter()
        .map(|entry| match entry {
            Entry::User(_) => "user",
            Entry::Assistant(_) => "assistant",
            Entry::Results { .. } => "results",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["user", "assistant", "results", "assistant", "results", "user"]);
    let Entry::User(first) = &entries[0] else { panic!() };
    assert_eq!(
        first.text(),
        "<turn_meta>\nCurrent local date: 2026-11-30\n</turn_meta>\n<conversation_summary>\nso far\n</conversation_summary>"
    );
    let Some(Entry::User(last)) = entries.last() else { panic!() };
    assert!(last.text().ends_with("second"));
}

#[test]
fn calls_in_text_are_found_and_garbled_ones_told_of() {
    let mut s = stage(&[]);
    let said = |text: &str| reply(vec![Block::text(text)], Stop::End);
    let found = said("<tool_call>\n{\"name\": \"list_dir\", \"arguments\": {}}\n</tool_call>");
    let Reading::Calls { calls, repaired: 1, .. } = DeepseekTui.read(&s.cx(), &found) else { panic!() };
    assert_eq!((calls[0].name.as_str(), calls[0].args.as_str()), ("list_dir", "{}"));
    let garbled = said("<tool_call>\n{\"name\": \"list_dir\", \n</tool_call>");
    let Reading::Again { drop_reply: false, say, .. } = DeepseekTui.read(&s.cx(), &garbled) else { panic!() };
    s.said.extend(say);
    assert!(matches!(DeepseekTui.read(&s.cx(), &garbled), Reading::Stop(End::GaveUp(_))));
    assert_eq!(DeepseekTui.read(&s.cx(), &said("Done.")), Reading::Stop(End::Done));
}
