use std::fs;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Store;

const ID: &str = "019b7c2a-84a5-7000-8000-000000000001";

/// A rollout below `home`, from type and payload of each line.
fn rollout(home: &Path, id: &str, from: u64, lines: Vec<(&str, Value)>) -> PathBuf {
    let folder = home.join("sessions/2026/01/02");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("rollout-2026-01-02T03-03-04-{id}.jsonl"));
    let line = |(ordinal, (kind, payload)): (u64, (&str, Value))| {
        format!(
            "{}\n",
            json!({"timestamp": "2026-01-02T03:03:04.005Z", "ordinal": ordinal, "type": kind, "payload": payload})
        )
    };
    fs::write(&path, (from..).zip(lines).map(line).collect::<String>()).unwrap();
    path
}

fn meta(id: &str) -> (&'static str, Value) {
    let payload = json!({"session_id": id, "id": id, "timestamp": "2026-01-02T03:03:04.005Z", "cwd": "/w",
        "originator": "codex_exec", "cli_version": "0.171.0", "source": "exec", "thread_source": "user",
        "model_provider": "mock", "git": {"commit_hash": "abc", "branch": "main"}});
    ("session_meta", payload)
}
fn message(role: &str, texts: &[&str]) -> (&'static str, Value) {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    let content: Vec<Value> = texts.iter().map(|text| json!({"type": kind, "text": text})).collect();
    ("response_item", json!({"type": "message", "role": role, "content": content}))
}
fn tokens(input: u64) -> (&'static str, Value) {
    let usage = json!({"input_tokens": input, "cached_input_tokens": 1, "output_tokens": 2, "total_tokens": input + 2});
    ("token_usage_record", json!({"response_id": format!("resp_{input}"), "usage": usage, "thread_token_usage": usage}))
}

/// One line per item.
fn told(items: &[Item]) -> Vec<String> {
    let block = |block: &Block| match &block.kind {
        BlockKind::Text(text, Phase::Final) => text.clone(),
        BlockKind::Text(text, phase) => format!("{text} ({phase:?})"),
        BlockKind::Call(call) => format!("{}:{} {} {:?}", call.id, call.name, call.args, call.form),
        BlockKind::Reasoning(text) => format!("thinks {text}"),
        other => format!("{other:?}"),
    };
    let body = |body: &Body| match body {
        Body::User { parts, .. } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match part {
                    Part::Image { blob, .. } => format!("{blob:?}"),
                    other => other.as_text().unwrap().to_owned(),
                })
                .collect();
            format!("user {}", parts.join("|"))
        }
        Body::Reply { reply, total } => {
            let blocks: Vec<String> = reply.blocks.iter().map(block).collect();
            format!("{} [{}] {:?} {}", reply.id, blocks.join("|"), reply.stop, total.input)
        }
        Body::Called { call, answer, .. } => format!("answer {call} {}", answer.content.text()),
        other => format!("{other:?}"),
    };
    items.iter().map(|item| format!("{} {}", item.turn, body(&item.body))).collect()
}

fn session() -> Vec<(&'static str, Value)> {
    vec![
        meta(ID),
        ("event_msg", json!({"type": "task_started", "turn_id": "t1"})),
        message("developer", &["<permissions>x</permissions>"]),
        message(
            "user",
            &["# AGENTS.md instructions for /w\n\nx", "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"],
        ),
        ("world_state", json!({"full": true})),
        ("turn_context", json!({"turn_id": "t1", "model": "gpt-x"})),
        message("user", &["fix <b>it</b>"]),
        ("event_msg", json!({"type": "item_completed", "item": {"type": "UserMessage"}})),
        (
            "response_item",
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "zzz"}),
        ),
        (
            "response_item",
            json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c1"}),
        ),
        (
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c2"}),
        ),
        tokens(10),
        ("response_item", json!({"type": "function_call_output", "call_id": "c1", "output": "a\nb"})),
        (
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "Done"}]}),
        ),
        message("assistant", &["Fixed."]),
        tokens(30),
        ("event_msg", json!({"type": "task_complete", "turn_id": "t1"})),
    ]
}

const SESSION: [&str; 5] = [
    "t1 user fix <b>it</b>",
    "t1 resp_10 [thinks hm|c1:exec_command {\"cmd\":\"ls\"} Function|c2:apply_patch *** Begin Custom] Calls 10",
    "t1 answer c1 a\nb",
    "t1 answer c2 Done",
    "t1 resp_30 [Fixed.] End 30",
];

#[test]
fn a_session_and_its_thread_here() {
    let home = tempfile::tempdir().unwrap();
    let path = rollout(home.path(), ID, 0, session());
    let imported = read(&path).unwrap();
    assert_eq!(told(&imported.items), SESSION);
    assert_eq!((imported.id.as_str(), imported.model.as_deref()), (ID, Some("gpt-x")));
    assert_eq!(imported.meta.cwd, Path::new("/w"));
    assert_eq!(imported.meta.git.as_ref().unwrap().branch.as_deref(), Some("main"));
    assert_eq!(imported.warnings, Vec::<String>::new());

    let store = Store::new(home.path().join("ours"));
    let (session, loaded) = store.adopt(&imported, imported.meta.clone(), true).unwrap();
    assert_eq!(loaded.items, imported.items);
    assert_eq!((loaded.total.input, session.next(), &loaded.next), (30, ItemId(6), &ItemId(6)));
    assert_eq!(loaded.first_message.as_deref(), Some("fix <b>it</b>"));
    assert_eq!(crate::repair::plan(&loaded), vec![]);
}

#[test]
fn compaction_and_abort() {
    let home = tempfile::tempdir().unwrap();
    let mut lines = session();
    lines.extend([
        ("compacted", json!({"message": "Summary: fixed.", "replacement_history": []})),
        ("event_msg", json!({"type": "task_started", "turn_id": "t2"})),
        message("user", &["more"]),
        message("assistant", &["Hal"]),
        ("event_msg", json!({"type": "turn_aborted", "turn_id": "t2"})),
        ("compacted", json!({"message": "", "replacement_history": [message("user", &["Second summary"]).1]})),
    ]);
    let imported = read(&rollout(home.path(), ID, 0, lines)).unwrap();
    let told = told(&imported.items);
    assert_eq!(told[..5], SESSION);
    let compacted = |upto, summary: &str, turn: &str| {
        let total = Usage { input: 30, cached: 1, output: 2, ..Usage::default() };
        let counts = Counts { calls: 2, ..Counts::default() };
        format!("{turn} {:?}", Body::Compacted { upto: ItemId(upto), summary: summary.into(), total, counts })
    };
    assert_eq!(
        told[5..],
        [
            compacted(6, "Summary: fixed.", "t1"),
            "t2 user more".into(),
            "t2 codex-8 [Hal] End 30".into(),
            "t2 Notice(Interrupted)".into(),
            compacted(10, "Second summary", "t2"),
        ]
    );
}

#[test]
fn forks_are_read_through() {
    let home = tempfile::tempdir().unwrap();
    rollout(home.path(), ID, 0, session());
    let fork = "019b7c2a-84a5-7000-8000-000000000002";
    let mut head = meta(fork);
    head.1["forked_from_id"] = ID.into();
    head.1["forked_from_ordinal_exclusive"] = 12.into();
    let lines = vec![head.clone(), message("user", &["other way"])];
    let path = rollout(home.path(), fork, 12, lines);
    let imported = read(&path).unwrap();
    assert_eq!(told(&imported.items), [SESSION[0], SESSION[1], "t1 user other way"]);
    assert_eq!(imported.id.as_str(), fork);

    fs::remove_file(home.path().join(format!("sessions/2026/01/02/rollout-2026-01-02T03-03-04-{ID}.jsonl"))).unwrap();
    let imported = read(&path).unwrap();
    assert_eq!(told(&imported.items), [" user other way"]);
    assert_eq!(imported.warnings, [format!("session {ID}, which this one was forked from, is not there")]);

    head.1["forked_from_id"] = fork.into();
    let path = rollout(home.path(), fork, 12, vec![head, message("user", &["alone"])]);
    assert_eq!(told(&read(&path).unwrap().items), [" user alone"]);
}

#[test]
fn images_and_older_lines() {
    let home = tempfile::tempdir().unwrap();
    let path = rollout(home.path(), ID, 0, vec![]);
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="});
    let lines = [
        json!({"type": "session_meta", "payload": {"id": ID, "source": {"subagent": "review"}}}),
        json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": [image, {"type": "input_text", "text": "see"}]}}),
        json!({"type": "response_item", "payload": {"type": "local_shell_call", "call_id": "s", "action": {"command": ["ls"]}}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, format!("{text}{{\"torn")).unwrap();
    let imported = read(&path).unwrap();
    assert_eq!(
        told(&imported.items),
        [
            " user Blob(codex-1-0 image/png 2 bytes)|see",
            " codex-2 [s:local_shell {\"command\":[\"ls\"]} Function] Calls 0"
        ]
    );
    assert_eq!(imported.warnings, [format!("1 damaged line(s) of {} were left out", path.display())]);
}

#[test]
fn context_is_not_what_the_user_said() {
    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(is_context(text), expected, "{text}");
    }
    check("<environment_context>\n<cwd>/</cwd>\n</environment_context>\n", true);
    check("<user_instructions>\nx\n</user_instructions>", true);
    check("<turn_aborted>\nx</turn_aborted>", true);
    check("# AGENTS.md instructions for /w\n", true);
    check("<div>x</div>", false);
    check("<my_tag>x</my_tag> please mend this", false);
    check("<", false);
    check("", false);
}

#[test]
fn what_is_no_session_of_codex() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x");
    fs::write(&path, "hello").unwrap();
    assert_eq!(
        read(&path).unwrap_err().to_string(),
        format!("{} is not a Codex session: it has no session_meta line", path.display())
    );
}

proptest! {
    #[test]
    fn any_lines(bytes in prop::collection::vec(any::<u8>(), 0..200), lines in prop::collection::vec((0usize..17, 0usize..17), 0..4)) {
        let home = tempfile::tempdir().unwrap();
        let mut session = session();
        for (at, to) in lines {
            let kind = session[at].0;
            session[to].0 = kind;
        }
        let path = rollout(home.path(), ID, 0, session);
        let mut text = fs::read(&path).unwrap();
        text.extend(bytes);
        fs::write(&path, text).unwrap();
        let _ = read(&path);
    }
}
