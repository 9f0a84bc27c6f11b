//! What differs from `claude-code`; all else is tested there.
use pretty_assertions::assert_eq;
use protocol::{Block, CallForm, Captured, Content, Outcome, Run};
use serde_json::{Value, json};

use super::*;
use crate::stage::{Stage, call, reply, user};

fn glm(model: &str) -> Stage {
    let mut stage = Stage::new(&Zcode, &[("a.txt", "alpha\nbeta\n")]);
    stage.settings.provider = "zai-coding-plan".into();
    stage.settings.model = model.into();
    stage.model = ModelInfo { known: true, max_output: Some(128_000), ..ModelInfo::fallback(model) };
    stage
}

#[test]
fn the_opening() {
    let opening = Zcode.open(&glm("glm-5.2").cx());
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    let expected =
        ["Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Skill", "TaskStop", "TodoWrite", "WebFetch", "Write"];
    assert_eq!(names, expected);
    assert_eq!(opening.instructions[0].1.text(), IDENTITY);
    let text = opening.instructions[1].1.text();
    assert!(text.contains("follow longer work with TodoWrite"), "{text}");
}

#[test]
fn questions_and_plans_where_somebody_answers() {
    let mut stage = glm("glm-5.2");
    stage.settings.features.insert("request_user_input".into(), true);
    let opening = Zcode.open(&stage.cx());
    for name in ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"] {
        assert!(opening.tools.iter().any(|tool| tool.name == name), "{name}");
    }
}

#[test]
fn a_claude_model_keeps_todos_too() {
    let opening = Zcode.open(&glm("claude-opus-4-8").cx());
    assert!(opening.tools.iter().any(|tool| tool.name == "TodoWrite"));
    assert!(!opening.tools.iter().any(|tool| tool.name == "TaskCreate"));
}

#[test]
fn fields_by_model_and_provider() {
    let kept = ("thinking", json!({"type": "enabled", "clear_thinking": false}));
    let streamed = ("tool_stream", json!(true));
    let check = |provider: &str, model: &str, effort: Option<&str>, expected: &[(&str, Value)]| {
        let mut stage = glm(model);
        stage.settings.provider = provider.into();
        stage.settings.effort = effort.map(str::to_owned);
        let fields: Vec<(WireId, String, Raw)> =
            expected.iter().map(|(name, value)| (WireId::Chat, (*name).to_owned(), Raw::of(value))).collect();
        assert_eq!(Zcode.tune(&stage.cx()).extras, fields, "{provider} {model}");
        assert_eq!(Zcode.compact(&stage.cx(), None).tune.extras, fields, "{provider} {model}");
    };
    let both = [kept.clone(), streamed.clone()];
    check("zai", "glm-5.3", None, &both);
    check("zhipuai-coding-plan", "glm-5-turbo", Some("high"), &both);
    check("my-bigmodel", "zai/GLM-4.7-Flash", None, &both);
    check("zai", "glm-4-7-250101", None, &both);
    check("zai", "glm-5.2", Some("none"), std::slice::from_ref(&streamed));
    check("zai", "glm-4.6", None, std::slice::from_ref(&streamed));
    check("zai", "glm-4.5-air", None, &[]);
    check("zai", "glm-latest", None, &[]);
    check("openrouter", "z-ai/glm-5.2", None, &[]);
    check("zai", "other", None, &[]);
}

#[test]
fn results_and_names_are_claude_codes() {
    let mut stage = glm("glm-5.2");
    stage.check("Read", json!({"file_path": "/w/a.txt"}), "1\talpha\n2\tbeta\n3\t");
    let edit = json!({"file_path": "/w/a.txt", "old_string": "beta", "new_string": "gamma"});
    let answer = stage.call("Edit", &edit.to_string());
    assert_eq!((answer.error, stage.text("a.txt").as_str()), (None, "alpha\ngamma\n"));
    let gone = stage.call("NotebookEdit", "{}").content.text();
    assert!(gone.contains("No such tool available: NotebookEdit"), "{gone}");
}

#[test]
fn what_another_dialect_did_is_told_in_this_one() {
    let mut stage = glm("glm-5.2");
    stage.push(user("Do it."));
    let exec = call("c1", "exec_command", r#"{"cmd":"ls"}"#);
    let run = protocol::Body::Reply {
        reply: reply(vec![Block::call(exec.clone())], protocol::Stop::Calls),
        total: protocol::Usage::default(),
    };
    stage.push(run);
    let outcome = Outcome::Ran {
        output: Captured::whole("a.txt\n"),
        exit: protocol::Exit::Code(0),
        cwd_after: None,
        task: None,
        left: false,
    };
    let action = protocol::Action::World(protocol::World::Run(Run::new("ls")));
    let did = Done { action, outcome, took: 0, at: 0, tag: 1 };
    stage.push(protocol::Body::Called { call: exec.id, did: vec![did], answer: Answer::plain("x") });
    let entries = Zcode.say(&stage.cx(), &stage.items);
    let Some(Entry::Results { results, .. }) = entries.last() else { panic!("{entries:?}") };
    assert_eq!(results[0].name, "Bash");
    assert_eq!(results[0].answer.content, Content::Plain("a.txt".into()));
    let told = entries.iter().find_map(|entry| match entry {
        Entry::Assistant(blocks) => blocks.iter().find_map(|block| match &block.kind {
            protocol::BlockKind::Call(call) => Some(call.clone()),
            _ => None,
        }),
        _ => None,
    });
    assert_eq!(told.map(|call| (call.name, call.form)), Some(("Bash".to_owned(), CallForm::Function)));
}
