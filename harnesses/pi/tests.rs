//! The dialect from outside. Expected texts were measured on pi 0.73.1; those marked `ours` are ours.
use pretty_assertions::assert_eq;
use protocol::{
    Answer, Block, Body, CallResult, Captured, Content, Entry, Exit, Failure, Outcome, Part, Raw, SandboxMode,
    SandboxPolicy, Stop, Tool, ToolKind, Usage,
};
use serde_json::json;

use super::*;
use crate::stage::{Stage, call, ran, reply, user};
use crate::{Doc, SkillInfo};

fn stage(files: &[(&str, &str)]) -> Stage {
    Stage::new(&Pi, files)
}

const A: &str = "alpha\nbeta\ngamma\nbeta\n";

#[test]
fn the_first_request() {
    let mut s = stage(&[]);
    s.settings.developer_instructions = Some("Be brief.".into());
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Run the tests.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "Make <PDFs> & more".into(),
        file: "/h/pdf/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::ReadOnly);
    s.push(user("Fix it."));
    insta::assert_json_snapshot!(
        "first_request",
        json!({
            "opening": Pi.open(&s.cx()),
            "entries": Pi.say(&s.cx(), &s.items),
            "tune": Pi.tune(&s.cx()),
        })
    );
}

#[test]
fn a_bare_opening_ends_with_date_and_folder() {
    let s = stage(&[]);
    let opening = Pi.open(&s.cx());
    let text = opening.instructions[0].1.text();
    assert!(text.ends_with("show their paths\nCurrent date: 2026-11-30\nCurrent working directory: /w"), "{text}");
}

#[test]
fn limits_by_model() {
    let mut s = stage(&[]);
    let tune = Pi.tune(&s.cx());
    assert_eq!((tune.max_output, tune.reasoning.effort.as_deref()), (Some(16_384), None));
    s.model.known = true;
    s.model.max_output = Some(4_096);
    let tune = Pi.tune(&s.cx());
    assert_eq!((tune.max_output, tune.reasoning.effort.as_deref()), (Some(4_096), Some("medium")));
}

#[test]
fn reads() {
    let mut s = stage(&[("a.txt", A), ("empty.txt", ""), ("d/x", "x\n"), ("sp ace.txt", "sp\n"), ("fake.png", "x\n")]);
    s.write("bom.txt", b"\xef\xbb\xbfbom\n");
    let mut read = |args: serde_json::Value, expected: &str| s.check("read", args, expected);
    read(json!({"path": "/w/a.txt"}), A);
    read(
        json!({"path": "a.txt", "offset": 2, "limit": 1}),
        "beta\n\n[3 more lines in file. Use offset=3 to continue.]",
    );
    read(json!({"path": "a.txt", "offset": 2}), "beta\ngamma\nbeta\n");
    read(json!({"path": "a.txt", "offset": 5}), "(see attached image)");
    read(json!({"path": "a.txt", "offset": 6}), "Offset 6 is beyond end of file (5 lines total)");
    read(json!({"path": "a.txt", "offset": -1}), A);
    read(json!({"path": "a.txt", "limit": 0}), "\n\n[5 more lines in file. Use offset=1 to continue.]");
    read(json!({"path": "a.txt", "limit": 5}), A);
    read(
        json!({"path": "a.txt", "offset": 1.5, "limit": 1.5}),
        "alpha\nbeta\n\n[3 more lines in file. Use offset=3 to continue.]",
    );
    read(
        json!({"path": "a.txt", "offset": "2", "limit": true}),
        "beta\n\n[3 more lines in file. Use offset=3 to continue.]",
    );
    read(json!({"path": "empty.txt"}), "(see attached image)");
    read(json!({"path": "@a.txt"}), A);
    read(json!({"path": "sp\u{a0}ace.txt"}), "sp\n");
    read(json!({"path": "fake.png"}), "x\n");
    read(json!({"path": "bom.txt"}), "\u{feff}bom\n");
    read(json!({"path": "~/x"}), "ENOENT: no such file or directory, access '/home/u/x'");
    read(json!({"path": 5}), "ENOENT: no such file or directory, access '/w/5'");
    read(json!({"path": "a.txt/x"}), "ENOTDIR: not a directory, access '/w/a.txt/x'");
    read(json!({"path": "d"}), "EISDIR: illegal operation on a directory, read");
}

#[test]
fn large_files_are_read_in_parts() {
    let many: String = (1..=2_500).map(|n| format!("{n}\n")).collect();
    let wide = ("w".repeat(99) + "\n").repeat(700);
    let huge = format!("a\n{}\nb\n", "y".repeat(60_000));
    let mut s = stage(&[("many.txt", &many), ("wide.txt", &wide), ("huge.txt", &huge)]);
    let mut ends = |args: serde_json::Value, expected: &str| {
        let text = s.call("read", &args.to_string()).content.text();
        assert!(text.ends_with(expected), "{}", &text[text.len().saturating_sub(200)..]);
    };
    ends(json!({"path": "many.txt"}), "2000\n\n[Showing lines 1-2000 of 2501. Use offset=2001 to continue.]");
    ends(json!({"path": "wide.txt"}), "w\n\n[Showing lines 1-512 of 701 (50.0KB limit). Use offset=513 to continue.]");
    ends(json!({"path": "huge.txt"}), "a\n\n[Showing lines 1-1 of 4 (50.0KB limit). Use offset=2 to continue.]");
    ends(
        json!({"path": "huge.txt", "offset": 2}),
        "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' huge.txt | head -c 51200]",
    );
}

#[test]
fn images() {
    let mut s = stage(&[("i.png", "png")]);
    let answer = s.call("read", r#"{"path":"i.png"}"#);
    assert_eq!(answer.content.text(), "Read image file [image/png]");
    assert!(
        matches!(answer.after.as_slice(), [Part::Text(text), Part::Image { .. }] if text == "Attached image(s) from tool result:")
    );
    s.model.images = false;
    s.check(
        "read",
        json!({"path": "i.png"}),
        "Read image file [image/png]\n[Current model does not support images. The image will be omitted from this request.]\n(tool image omitted: model does not support images)",
    );
}

#[test]
fn commands() {
    let mut s = stage(&[]);
    let mut bash = |outcome: Outcome, expected: &str| {
        s.check_after(outcome, "bash", json!({"command": "x", "timeout": 0.5}), expected)
    };
    bash(ran("out\nerr\n", Exit::Code(3)), "out\nerr\n\n\nCommand exited with code 3");
    bash(ran("", Exit::Code(0)), "(no output)");
    bash(ran("", Exit::Code(1)), "(no output)\n\nCommand exited with code 1");
    bash(ran("start\n", Exit::TimedOut(500)), "start\n\n\nCommand timed out after 0.5 seconds");
    bash(ran("", Exit::TimedOut(500)), "Command timed out after 0.5 seconds");
    bash(ran("", Exit::Signal(9)), "(no output)");
    bash(Outcome::Interrupted { output: Some(Captured::whole("a\n")) }, "a\n\n\nCommand aborted");
    let many: String = (1..=2_000).map(|n| format!("{n}\n")).collect();
    let end = many.trim_start_matches("1\n");
    bash(
        ran(&many, Exit::Code(3)),
        &format!("{end}\n\n[Showing lines 2-2001 of 2001. Full output: /s/out.txt]\n\nCommand exited with code 3"),
    );
    let wide = format!("{}\n", "z".repeat(100_000));
    bash(ran(&wide, Exit::Code(0)), "(no output)\n\n[Showing lines 2-2 of 2 (50.0KB limit). Full output: /s/out.txt]");
    let [Action::World(World::Run(run)), Action::World(World::Save { .. })] = s.did.as_slice() else {
        panic!("{:?}", s.did)
    };
    assert_eq!((run.timeout, run.cwd.as_deref()), (Some(500), None));
    // ours
    bash_left(&mut s);
}

fn bash_left(s: &mut Stage) {
    let left =
        Outcome::Ran { output: Captured::whole("a"), exit: Exit::Code(0), cwd_after: None, task: None, left: true };
    s.check_after(left, "bash", json!({"command": "x"}), "a\n\n[A process that this command started is still running]");
}

#[test]
fn writes() {
    let mut s = stage(&[("d/x", "x\n"), ("a.txt", A)]);
    s.check("write", json!({"path": "n/n.txt", "content": "äö€😀"}), "Successfully wrote 5 bytes to n/n.txt");
    s.check("write", json!({"path": "@a.txt", "content": ""}), "Successfully wrote 0 bytes to @a.txt");
    s.check("write", json!({"path": "x.txt", "content": 5}), "Successfully wrote 1 bytes to x.txt");
    s.check("write", json!({"path": "d", "content": "x"}), "EISDIR: illegal operation on a directory, open '/w/d'");
    s.check("write", json!({"path": "a.txt/x", "content": "x"}), "EEXIST: file already exists, mkdir '/w/a.txt'");
    assert_eq!((s.text("n/n.txt").as_str(), s.text("a.txt").as_str(), s.text("x.txt").as_str()), ("äö€😀", "", "5"));
}

#[test]
fn edits() {
    let mut s = stage(&[("a.txt", A), ("d/x", "x\n")]);
    s.write("inv.txt", b"x\xff\n");
    let one = |path: &str, old: &str, new: &str| json!({"path": path, "edits": [{"oldText": old, "newText": new}]});
    s.check("edit", one("a.txt", "alpha", "one"), "Successfully replaced 1 block(s) in a.txt.");
    s.check(
        "edit",
        json!({"path": "a.txt", "oldText": "one", "newText": "1"}),
        "Successfully replaced 1 block(s) in a.txt.",
    );
    s.check(
        "edit",
        json!({"path": "a.txt", "edits": [{"oldText": "1", "newText": "eins"}], "oldText": "gamma", "newText": "drei"}),
        "Successfully replaced 2 block(s) in a.txt.",
    );
    s.check(
        "edit",
        json!({"path": "a.txt", "edits": "[{\"oldText\":\"eins\",\"newText\":\"uno\"}]"}),
        "Successfully replaced 1 block(s) in a.txt.",
    );
    s.check(
        "edit",
        json!({"path": "a.txt", "edits": {"oldText": "uno", "newText": "q"}}),
        "Successfully replaced 1 block(s) in a.txt.",
    );
    assert_eq!(s.text("a.txt"), "q\nbeta\ndrei\nbeta\n");
    s.check(
        "edit",
        json!({"path": "a.txt", "edits": []}),
        "Edit tool input is invalid. edits must contain at least one replacement.",
    );
    s.check("edit", one("nope.txt", "a", "b"), "Could not edit file: nope.txt. Error code: ENOENT.");
    s.check("edit", one("d", "a", "b"), "EISDIR: illegal operation on a directory, read");
    // ours
    s.check("edit", one("inv.txt", "x", "y"), "inv.txt is not UTF-8 text; an edit would damage the rest of it.");
}

#[test]
fn bad_calls() {
    let mut s = stage(&[("a.txt", A)]);
    let mut check = |name: &str, args: &str, issues: &str, received: &str| {
        let expected = format!("Validation failed for tool \"{name}\":\n{issues}\n\nReceived arguments:\n{received}");
        assert_eq!(s.call(name, args).content.text(), expected, "{name} {args}");
    };
    check("read", "", "  - path: must have required properties path", "{}");
    check("read", "not json", "  - path: must have required properties path", "{}");
    check("read", "[]", "  - root: must be object", "[]");
    check("read", "\"x\"", "  - root: must be object", "\"x\"");
    check(
        "read",
        r#"{"path":"a.txt","offset":"x"}"#,
        "  - offset: must be number",
        "{\n  \"path\": \"a.txt\",\n  \"offset\": \"x\"\n}",
    );
    check("bash", r#"{"command":["a"]}"#, "  - command: must be string", "{\n  \"command\": [\n    \"a\"\n  ]\n}");
    check("write", "{}", "  - path: must have required properties path, content", "{}");
    check(
        "edit",
        r#"{"path":5,"edits":[{}]}"#,
        "  - edits.0.oldText: must have required properties oldText, newText",
        "{\n  \"path\": 5,\n  \"edits\": [\n    {}\n  ]\n}",
    );
    check(
        "edit",
        r#"{"path":"a","edits":"nope"}"#,
        "  - edits.0: must be object",
        "{\n  \"path\": \"a\",\n  \"edits\": \"nope\"\n}",
    );
    check(
        "edit",
        r#"{"path":"a","edits":null}"#,
        "  - edits.0: must be object",
        "{\n  \"path\": \"a\",\n  \"edits\": null\n}",
    );
    check(
        "edit",
        r#"{"path":"a","edits":[{"oldText":1}],"z":1}"#,
        "  - z: schema is false\n  - root: must not have additional properties\n  - edits.0.newText: must have required properties newText",
        "{\n  \"path\": \"a\",\n  \"edits\": [\n    {\n      \"oldText\": 1\n    }\n  ],\n  \"z\": 1\n}",
    );
    // ours: what was cut off is neither written nor run
    let cut = "  - root: the arguments were cut off before their end, so nothing was done";
    check("write", r#"{"path":"q","content":"a"#, cut, "{\n  \"path\": \"q\",\n  \"content\": \"a\"\n}");
    check("bash", r#"{"command":"rm -rf /tm"#, cut, "{\n  \"command\": \"rm -rf /tm\"\n}");
    s.check("Read", json!({"path": "a.txt"}), "Tool Read not found");
    s.check("ls", json!({}), "Tool ls not found");
    assert_eq!(s.call("read", r#"{"path": "a.txt"#).content.text(), A);
    assert_eq!(
        s.call("read", r#"{"path": "a.txt", "limit": tr"#).content.text(),
        "alpha\n\n[4 more lines in file. Use offset=2 to continue.]"
    );
}

#[test]
fn arguments_are_echoed_as_read() {
    let check = |tool: &str, args: &str, expected: &str| assert_eq!(args::echo(tool, args), expected, "{args}");
    check("read", r#"{"path": "a.txt""#, r#"{"path":"a.txt"}"#);
    check("read", "", "{}");
    check("read", "[]", "{}");
    check("read", r#"{"limit":"2","path":5}"#, r#"{"limit":"2","path":5}"#);
    check("edit", r#"{"path":"a","edits":"[{\"oldText\":\"x\"}]"}"#, r#"{"path":"a","edits":[{"oldText":"x"}]}"#);
}

#[test]
fn replies_are_read() {
    let mut s = stage(&[]);
    let calls = [call("a", "bash", r#"{"command":"ls"}"#), call("b", "read", r#"{"path":"a"#)];
    let read = Pi.read(&s.cx(), &reply(calls.iter().cloned().map(Block::call).collect(), Stop::Calls));
    assert_eq!(read, Reading::Calls { calls: calls.to_vec(), order: Order::together(&calls), repaired: 1 });
    let read = |s: &Stage, text: &str| Pi.read(&s.cx(), &reply(vec![Block::text(text)], Stop::End));
    assert_eq!(read(&s, "Done."), Reading::Stop(End::Done));
    // ours
    let Reading::Again { drop_reply: true, say, .. } = read(&s, "") else { panic!("not asked again") };
    s.said = say;
    assert_eq!(read(&s, ""), Reading::Stop(End::Done));
    let found = read(&s, "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>");
    assert!(matches!(found, Reading::Calls { repaired: 1, .. }), "{found:?}");
}

#[test]
fn an_exchange_and_a_summary() {
    let mut s = stage(&[("a.txt", "x\n")]);
    let parts = |text: &str| Content::Parts(vec![Part::text(text)]);
    s.push(user("Go."));
    s.call("read", r#"{"path":"a.txt""#);
    let ours = call("c1", "read", r#"{"path":"a.txt"}"#);
    let result = CallResult { call: "c1".into(), name: "read".into(), custom: false, answer: Answer::plain("x\n") };
    let expected = [
        Entry::User(parts("Go.")),
        Entry::Assistant(vec![Block::call(ours)]),
        Entry::Results { before: vec![], results: vec![result], after: vec![] },
    ];
    assert_eq!(Pi.say(&s.cx(), &s.items), expected);
    s.push(user("More."));
    let (_, entries) = Pi.compacted(&s.cx(), "## Goal\nx\n");
    let summary =
        "What was said before this point has been replaced by a summary:\n\n<summary>\n## Goal\nx\n</summary>";
    assert_eq!(entries, [Entry::User(parts(summary)), Entry::User(parts("More."))]);
    let ask = Pi.compact(&s.cx(), Some("tests"));
    let [Entry::User(content)] = ask.ask.as_slice() else { panic!("{:?}", ask.ask) };
    assert!(
        !ask.tools
            && content.text().contains("## Critical Context")
            && content.text().ends_with("Additional focus: tests")
    );
}

#[test]
fn calls_of_other_dialects_are_told_again() {
    let mut s = stage(&[]);
    let from = s.items.len();
    s.push(Body::Reply {
        reply: reply(vec![Block::call(call("a", "Write", r#"{"file_path":"/w/n"}"#))], Stop::Calls),
        total: Usage::default(),
    });
    let change = Change {
        path: "/w/n".into(),
        to: None,
        new: New::Whole { text: "x".into(), like: None },
        expect: Expect::Absent,
    };
    let action = Action::World(World::Change(vec![change]));
    let done = Done { action, outcome: Outcome::Changed(vec![]), took: 0, at: 0, tag: 0 };
    s.push(Body::Called { call: "a".into(), did: vec![done], answer: Answer::plain("created") });
    let entries = Pi.say(&s.cx(), &s.items[from..]);
    let ours = call("a", "write", r#"{"path":"/w/n","content":"x"}"#);
    let answer = Answer::plain("Successfully wrote 1 bytes to /w/n");
    let result = CallResult { call: "a".into(), name: "write".into(), custom: false, answer };
    let expected = [
        Entry::Assistant(vec![Block::call(ours)]),
        Entry::Results { before: vec![], results: vec![result], after: vec![] },
    ];
    assert_eq!(entries, expected);
    let stopped = Pi.cut_short(&s.cx(), &call("a", "bash", "{}"), &[], None);
    assert_eq!(stopped, Answer::failed("Operation aborted"));
}

#[test]
fn refusals_and_failures() {
    let check = |outcome: Outcome, expected: &str| assert_eq!(refusal::told(&outcome), Answer::failed(expected));
    let io = |errno| Outcome::Failed(Failure::Io { path: "/w/a".into(), errno, message: "no".into() });
    check(io(13), "EACCES: permission denied, open '/w/a'");
    check(
        Outcome::Refused(protocol::Refusal::Sandbox { path: "/x".into(), read_only: true }),
        "EROFS: read-only file system, open '/x'",
    );
    check(
        Outcome::Refused(protocol::Refusal::User { feedback: Some("no".into()) }),
        "The user did not allow this. What they said: no",
    );
    check(Outcome::Interrupted { output: None }, "Operation aborted");
}

#[test]
fn tools_from_outside() {
    let mut s = stage(&[]);
    s.extra = vec![Tool {
        namespace: None,
        name: "ask".into(),
        description: "d".into(),
        kind: ToolKind::Function(Raw::null()),
        strict: None,
        deferred: false,
    }];
    s.check_after(Outcome::Answers(Raw::of(&json!("yes"))), "ask", json!({}), "\"yes\"");
    let names: Vec<String> = Pi.open(&s.cx()).tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["read", "bash", "edit", "write", "ask"]);
    assert!(s.call("ask", "{").content.text().starts_with("Validation failed for tool \"ask\":"));
}
