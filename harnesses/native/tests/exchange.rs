//! Replies and answers as entries: echoes, calls in text, other dialects.
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{Answer, BlockKind, Content, Notice, Phase, ReadAs, Run, Stamp, World};
use serde_json::json;

use super::*;
use crate::{End, Reading};

#[test]
fn replies_are_echoed_and_answers_stand_in_the_order_of_calls() {
    let mut stage = Stage::new();
    stage.said.push(Entry::User(Content::Plain("before".into())));
    let a = call("exec_command", json!({"cmd": "a"}));
    let b = Call { id: "call_2".into(), form: CallForm::Custom, ..raw_call("apply_patch", "*** Begin Patch") };
    let c = Call { id: "call_3".into(), ..a.clone() };
    let thought = Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() };
    let blocks = vec![thought, Block::call(a), Block::call(b), Block::call(c)];
    let called = |id: &str, text: &str| Body::Called { call: id.into(), did: Vec::new(), answer: Answer::plain(text) };
    let hook = Notice::HookContext { event: "PreToolUse".into(), text: "mind this".into() };
    let entries = stage.step(vec![
        reply(blocks.clone()),
        called("call_2", "two"),
        Body::Notice(hook),
        user("steering"),
        called("call_1", "one"),
        Body::Notice(Notice::Interrupted),
    ]);
    insta::assert_json_snapshot!("exchange", entries);
    assert_eq!(entries[0], Entry::Assistant(blocks));
}

#[test]
fn a_call_that_was_cut_off_is_not_sent_back() {
    let mut stage = Stage::new();
    stage.said.push(Entry::User(Content::Plain("before".into())));
    let whole = call("exec_command", json!({"cmd": "a"}));
    let cut = Call { id: "call_2".into(), ..raw_call("exec_command", "{\"cmd\": \"rm") };
    let mut body = reply(vec![Block::text("Now"), Block::call(whole.clone()), Block::call(cut)]);
    if let Body::Reply { reply, .. } = &mut body {
        reply.stop = Stop::Cut;
    }
    let called = Body::Called { call: whole.id.clone(), did: Vec::new(), answer: Answer::plain("aborted") };
    let entries = stage.step(vec![body, called]);
    assert_eq!(entries[0], Entry::Assistant(vec![Block::text("Now"), Block::call(whole)]));
}

#[test]
fn empty_and_dropped_replies_are_not_said() {
    let mut stage = Stage::new();
    stage.said.push(Entry::User(Content::Plain("before".into())));
    assert_eq!(stage.step(vec![reply(vec![Block::text("")])]), []);
    let dropped = Body::Read { calls: Vec::new(), dropped: true, repaired: 0 };
    assert_eq!(stage.step(vec![reply(vec![Block::text("bad")]), dropped]), []);
}

#[test]
fn calls_in_text_become_calls() {
    let mut stage = Stage::new();
    stage.said.push(Entry::User(Content::Plain("before".into())));
    let text = "Look.\n<tool_call>{\"name\":\"Exec_command\",\"arguments\":{\"cmd\":\"ls\"}}</tool_call>";
    let Body::Reply { reply: told, .. } = reply(vec![Block::text(text)]) else { unreachable!() };
    let Reading::Calls { calls, repaired, .. } = Native.read(&stage.cx(), &told) else { panic!("no calls") };
    assert_eq!((calls.len(), repaired, calls[0].form, calls[0].id.as_str()), (1, 1, CallForm::InText, "call_text_0_0"));
    let entries = stage.step(vec![
        reply(vec![Block::text(text)]),
        Body::Read { calls: calls.clone(), dropped: false, repaired },
        Body::Called { call: calls[0].id.clone(), did: Vec::new(), answer: Answer::plain("files") },
    ]);
    let echoed = Call { form: CallForm::Function, ..calls[0].clone() };
    assert_eq!(entries[0], Entry::Assistant(vec![Block::text("Look."), Block::call(echoed)]));
    assert!(matches!(&entries[1], Entry::Results { results, .. } if results[0].answer == Answer::plain("files")));
}

#[test]
fn unreadable_calls_in_text_are_said_once_then_given_up() {
    let mut stage = Stage::new();
    let Body::Reply { reply: told, .. } = reply(vec![Block::text("<tool_call>{\"name\":")]) else { unreachable!() };
    let Reading::Again { say, keep: true, drop_reply: false, .. } = Native.read(&stage.cx(), &told) else {
        panic!("not asked again")
    };
    stage.said.extend(say);
    assert!(matches!(Native.read(&stage.cx(), &told), Reading::Stop(End::GaveUp(_))));
}

#[test]
fn names_are_mended_where_they_mean_one_tool() {
    let stage = Stage::new();
    let read = |name: &str| {
        let Body::Reply { reply, .. } = reply(vec![Block::call(raw_call(name, "{}"))]) else { unreachable!() };
        match Native.read(&stage.cx(), &reply) {
            Reading::Calls { calls, repaired, .. } => (calls[0].name.clone(), repaired),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("exec_command"), ("exec_command".into(), 0));
    assert_eq!(read("Exec_Comand"), ("exec_command".into(), 1));
    assert_eq!(read("shell"), ("shell".into(), 0));
}

#[test]
fn other_dialects_are_told_in_ours() {
    let mut stage = Stage::new();
    stage.settings.harness = "claude-code-bare".into();
    let bash = Call { id: "toolu_1".into(), ..call("Bash", json!({"command": "ls"})) };
    let edit = Call { id: "toolu_2".into(), ..call("Edit", json!({})) };
    let grep = Call { id: "toolu_3".into(), ..call("Grep", json!({"pattern": "x"})) };
    let looked = Action::World(World::Read { path: "/w/f.txt".into(), what: ReadAs::Text { max_bytes: 1 } });
    let stamp = Stamp { len: 8, mtime_ns: 0, hash: "h".into() };
    let form = protocol::TextForm::default();
    let seen = Outcome::Text { text: "a\nb\nc\nd\n".into(), form, stamp: stamp.clone() };
    let change = protocol::Change {
        path: "/w/f.txt".into(),
        to: None,
        new: protocol::New::Splices(vec![(2..3, "B".into())]),
        expect: protocol::Expect::Unchanged(stamp),
    };
    let changed = done(Action::World(World::Change(vec![change])), Outcome::Changed(Vec::new()), 100);
    let listed = done(Action::World(World::Run(Run::new("ls"))), ran("f.txt\n", Exit::Code(0), None), 500);
    let old = Settings { harness: "claude-code-bare".into(), ..settings() };
    let called =
        |call: &Call, did, answer: &str| Body::Called { call: call.id.clone(), did, answer: Answer::plain(answer) };
    let entries = stage.step(vec![
        Body::Settings(Box::new(old)),
        user("go"),
        reply(vec![
            Block { kind: BlockKind::Text("on it".into(), Phase::Final), opaque: Vec::new() },
            Block::call(bash.clone()),
            Block::call(edit.clone()),
            Block::call(grep.clone()),
        ]),
        called(&bash, vec![listed], "f.txt"),
        called(&edit, vec![done(looked, seen, 1), changed], "edited"),
        called(&grep, Vec::new(), "no match"),
        Body::Settings(Box::new(settings())),
        user("now you"),
    ]);
    insta::assert_json_snapshot!("retold", &entries[2..]);
}

fn history() -> impl Strategy<Value = Vec<Body>> {
    let one = (0usize..7, 0usize..3, 0usize..3).prop_map(|(kind, n, answered)| match kind {
        0 => vec![user("go")],
        1 => vec![Body::Notice(Notice::Interrupted)],
        2 => vec![Body::Settings(Box::new(Settings { harness: "other".into(), ..settings() }))],
        3 => vec![Body::Settings(Box::new(settings()))],
        4 => vec![Body::Notice(Notice::HookContext { event: "PostToolUse".into(), text: "hook".into() })],
        _ => {
            let id = |i: usize| format!("call_{i}");
            let call = |i| Call { id: id(i).into(), ..call("exec_command", json!({"cmd": "a"})) };
            let mut bodies = vec![reply((0..n).map(|i| Block::call(call(i))).collect())];
            let listed = || done(Action::World(World::Run(Run::new("ls"))), ran("x", Exit::Code(0), None), 1);
            bodies.extend((0..answered.min(n)).rev().map(|i| Body::Called {
                call: id(i).into(),
                did: vec![listed()],
                answer: Answer::plain("x"),
            }));
            bodies
        }
    });
    prop::collection::vec(one, 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    /// Whatever happened: each call is answered once, right behind its reply, in order, and nothing else is.
    #[test]
    fn calls_and_answers_pair(bodies in history()) {
        let mut stage = Stage::new();
        let entries = stage.step(bodies);
        let mut open: Vec<String> = Vec::new();
        for entry in &entries {
            if let Entry::Results { results, .. } = entry {
                let answered: Vec<String> = results.iter().map(|result| result.call.0.clone()).collect();
                prop_assert_eq!(&answered, &open);
                open.clear();
                continue;
            }
            prop_assert!(open.is_empty(), "{:?}", entries);
            if let Entry::Assistant(blocks) = entry {
                prop_assert!(!blocks.is_empty());
                let calls = blocks.iter().filter_map(|block| match &block.kind {
                    BlockKind::Call(call) => Some(call.id.0.clone()),
                    _ => None,
                });
                open = calls.collect();
            }
        }
        prop_assert!(open.is_empty());
    }
}
