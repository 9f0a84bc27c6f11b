//! Opening, requests, replies that are asked for again.
use pretty_assertions::assert_eq;
use protocol::{Content, Notice, Raw};
use serde_json::json;

use super::*;
use crate::{End, Flow, Order};

/// Names, types, enums and `required`, as captured; descriptions are ours.
fn bare(schema: &Raw) -> Value {
    let mut value = schema.value();
    if let Some(properties) = value.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            property.as_object_mut().map(|property| property.remove("description"));
        }
    }
    value
}

fn shapes(stage: &Stage) -> Vec<(String, Value)> {
    let tools = SweAgent.open(&stage.cx()).tools;
    let shape = |tool: Tool| match tool.kind {
        protocol::ToolKind::Function(schema) => (tool.name, bare(&schema)),
        other => panic!("{other:?}"),
    };
    tools.into_iter().map(shape).collect()
}

#[test]
fn tools_have_the_captured_schemas() {
    let (string, integer) = (json!({"type": "string"}), json!({"type": "integer"}));
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let check = |feature: &str, expected: Vec<(&str, Value)>| {
        let expected: Vec<(String, Value)> =
            expected.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect();
        assert_eq!(shapes(&Stage::new(feature)), expected);
    };
    let bash = || ("bash", object(json!({"command": string}), &["command"]));
    let submit = || ("submit", json!({"type": "object"}));
    let commands = ["view", "create", "str_replace", "insert", "undo_edit"];
    let editor = json!({
        "command": {"type": "string", "enum": commands}, "path": string, "file_text": string, "old_str": string,
        "new_str": string, "insert_line": integer, "view_range": {"type": "array", "items": integer}
    });
    check("", vec![bash(), ("str_replace_editor", object(editor, &["command", "path"])), submit()]);
    check(
        "swe_agent_classic",
        vec![
            bash(),
            ("goto", object(json!({"line_number": integer}), &["line_number"])),
            ("open", object(json!({"path": string, "line_number": integer}), &["path"])),
            ("create", object(json!({"filename": string}), &["filename"])),
            ("scroll_up", json!({"type": "object"})),
            ("scroll_down", json!({"type": "object"})),
            ("find_file", object(json!({"file_name": string, "dir": string}), &["file_name"])),
            ("search_dir", object(json!({"search_term": string, "dir": string}), &["search_term"])),
            ("search_file", object(json!({"search_term": string, "file": string}), &["search_term"])),
            (
                "edit",
                object(
                    json!({"start_line": integer, "end_line": integer, "replacement_text": string}),
                    &["start_line", "end_line", "replacement_text"],
                ),
            ),
            submit(),
        ],
    );
    check("swe_agent_text", vec![]);
}

#[test]
fn first_requests() {
    for (feature, name) in [("", "tools"), ("swe_agent_classic", "classic"), ("swe_agent_text", "text")] {
        let mut stage = Stage::new(feature);
        stage.docs.push(Doc { path: "/repo/AGENTS.md".into(), project: true, text: "Use tabs.\n".into() });
        stage.push(user("Mend {{state}}."));
        let opening = SweAgent.open(&stage.cx());
        let entries = stage.say(0);
        insta::assert_debug_snapshot!(format!("first_request_{name}"), (opening, SweAgent.tune(&stage.cx()), entries));
    }
}

#[test]
fn call_and_observation_follow_each_other() {
    let mut stage = Stage::new("");
    stage.push(user("Mend it."));
    stage.say(0);
    let ls = call("bash", json!({"command": "ls"}));
    let blocks = vec![
        Block {
            kind: protocol::BlockKind::Reasoning("hm".into()),
            opaque: vec![protocol::Opaque {
                scope: reply(Vec::new()).from,
                field: "reasoning_content".into(),
                value: Raw::of("hm"),
            }],
        },
        Block::text("I look."),
        Block::call(ls.clone()),
    ];
    assert_eq!(
        SweAgent.read(&stage.cx(), &reply(blocks.clone())),
        Reading::Calls {
            calls: vec![ls.clone()],
            order: Order { groups: vec![vec!["c1".into()]], answers: crate::AnswerOrder::Calls },
            repaired: 0
        }
    );
    stage.push(replied(blocks));
    stage.carried_out(&ls, &[ran("m.py\n", 0)]);
    stage.push(Body::Notice(Notice::Interrupted));
    stage.push(user("Stop that."));
    let result = protocol::CallResult {
        call: "c1".into(),
        name: "bash".into(),
        custom: false,
        answer: Answer::plain("OBSERVATION:\nm.py"),
    };
    assert_eq!(
        stage.say(1),
        vec![
            Entry::Assistant(vec![Block::text("I look."), Block::call(ls)]),
            Entry::Results { before: vec![], results: vec![result], after: vec![] },
            Entry::User(Content::Plain("The user interrupted you and says:\nStop that.".into())),
        ]
    );
}

#[test]
fn what_cannot_be_carried_out_is_asked_for_again() {
    let check = |blocks: Vec<Block>, expected: &str| {
        let mut all = vec![Block::text("I try.")];
        all.extend(blocks);
        let pair = Stage::new("").again(all);
        let why = Entry::User(Content::Plain(expected.into()));
        assert_eq!(pair, vec![Entry::Assistant(vec![Block::text("I try.")]), why]);
    };
    let block = |name: &str, args: Value| Block::call(call(name, args));
    check(vec![block("bash", json!({"command": "vim x"}))], "Operation 'vim x' is not supported by this environment.");
    check(
        vec![block("bash", json!({"command": " makedirs "}))],
        "Operation 'makedirs' is not supported by this environment.",
    );
    check(
        vec![block("bash", json!({"command": "python"}))],
        "Operation 'python' is not supported by this environment.",
    );
    check(
        vec![block("bash", json!({"command": "r2 a.out"}))],
        "Operation 'r2 a.out' is not supported by this environment.",
    );
    check(
        vec![block("bash", json!({"command": "ls", "foo": 1}))],
        "Your action could not be parsed properly: Unexpected argument(s): foo.\nCall the tool with the arguments of its schema only.\n",
    );
    check(
        vec![block("Edit", json!({"a": 1}))],
        "Your action could not be parsed properly: Command 'Edit' not found in list of available commands..\n",
    );
    check(
        vec![block("bash", json!("{\"command\": \"ec"))],
        "Your action could not be parsed properly: Tool call arguments are not valid JSON..\n",
    );
    check(
        vec![block("str_replace_editor", json!({}))],
        "Your action could not be parsed properly: Required argument(s) missing: command, path.\n",
    );
    let lines = |blocks: Vec<Block>| match &Stage::new("").again(blocks)[1] {
        Entry::User(Content::Plain(text)) => text.lines().count(),
        other => panic!("{other:?}"),
    };
    assert_eq!(lines(vec![Block::text("done")]), 7);
    assert_eq!(
        lines(vec![block("bash", json!({"command": "echo 1"})), block("bash", json!({"command": "echo 2"}))]),
        2
    );
    // Allowed all the same.
    for command in ["python x.py", "r2 -c aa a.out", "cat Makefile", "tail -n 3 x"] {
        let read = SweAgent.read(&Stage::new("").cx(), &reply(vec![block("bash", json!({"command": command}))]));
        assert!(matches!(read, Reading::Calls { .. }), "{command}");
    }
}

#[test]
fn the_third_bad_reply_in_a_row_ends_the_run() {
    let mut stage = Stage::new("");
    stage.push(user("x"));
    for _ in 0..2 {
        stage.again(vec![Block::text("done")]);
        stage.push(replied(vec![Block::text("done")]));
        stage.push(Body::Read { calls: vec![], dropped: true, repaired: 0 });
    }
    let read = SweAgent.read(&stage.cx(), &reply(vec![Block::text("done")]));
    assert!(matches!(read, Reading::Stop(End::GaveUp(text)) if text.starts_with("exit_format: ")));
    stage.step("bash", json!({"command": "ls"}), &[ran("", 0)]);
    stage.again(vec![Block::text("done")]);
    assert_eq!(stage.say(1).len(), 2, "bad replies leave nothing behind");
}

#[test]
fn a_syntax_error_leaves_nothing_behind_but_the_next_request() {
    let mut stage = Stage::new("");
    stage.push(user("x"));
    stage.say(0);
    let wrong = "bash: line 1: syntax error near unexpected token `then'\n";
    let said =
        stage.step("bash", json!({"command": "if then (("}), &[ran(&format!("eval: {wrong}"), 2), ran(wrong, 2)]);
    assert_eq!(stage.say(1), vec![]);
    let mut expected = stage.said.clone();
    expected.push(Entry::Assistant(vec![Block::text("")]));
    expected.push(Entry::User(Content::Plain(said)));
    assert_eq!(SweAgent.view(&stage.cx()), Some(expected));
    assert_eq!(SweAgent.after(&stage.cx(), &stage.items[1..]), Flow::Step);
    stage.step("bash", json!({"command": "ls"}), &[ran("", 0)]);
    assert_eq!(SweAgent.view(&stage.cx()), None);
}

#[test]
fn exit_alone_ends_the_run() {
    let read = SweAgent.read(&Stage::new("").cx(), &reply(vec![Block::call(call("bash", json!({"command": "exit"})))]));
    assert_eq!(read, Reading::Stop(End::Done));
}

#[test]
fn calls_left_in_the_text_are_run_one_at_a_time() {
    let markup = "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>";
    let read = SweAgent.read(&Stage::new("").cx(), &reply(vec![Block::text(format!("I look.\n{markup}"))]));
    let Reading::Calls { calls, repaired: 1, .. } = read else { panic!("{read:?}") };
    assert_eq!((calls[0].name.as_str(), calls[0].args.as_str()), ("bash", "{\"command\": \"ls\"}"));
    Stage::new("").again(vec![Block::text(format!("{markup}\n{markup}"))]);
}

#[test]
fn other_dialects_are_retold() {
    let mut stage = Stage::new("");
    stage.push(user("x"));
    let other = call("exec_command", json!({"cmd": "ls"}));
    stage.push(replied(vec![Block::call(other)]));
    let did = stage.run(&call("bash", json!({"command": "ls"})), &[ran("m.py\n", 0)]).0;
    stage.push(Body::Called { call: "c1".into(), did, answer: Answer::plain("m.py") });
    let entries = stage.say(0);
    let result = protocol::CallResult {
        call: "c1".into(),
        name: "bash".into(),
        custom: false,
        answer: Answer::plain("OBSERVATION:\nm.py"),
    };
    assert_eq!(
        entries[1..],
        [
            Entry::Assistant(vec![Block::call(call("bash", json!({"command": "ls"})))]),
            Entry::Results { before: vec![], results: vec![result], after: vec![] },
        ]
    );
}

#[test]
fn a_summary_begins_anew_with_the_task() {
    let mut stage = Stage::new("");
    stage.push(user("Mend it."));
    let (_, entries) = SweAgent.compacted(&stage.cx(), " so far ");
    assert_eq!(entries.len(), 2);
    let Entry::User(Content::Plain(first)) = &entries[0] else { panic!() };
    assert!(first.contains("<pr_description>\nMend it.\n</pr_description>"));
    let ask = SweAgent.compact(&stage.cx(), Some("keep names"));
    let Entry::User(Content::Plain(text)) = &ask.ask[0] else { panic!() };
    assert!(text.ends_with("\n\nThe user asks for this in particular: keep names"));
}
