//! The dialect seen from outside: what is said, what is done, what is answered. Expected texts were measured of Codex 0.171.0.
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, ApprovalPolicy, Blob, Block, BlockKind, Body, Call, CallForm, Caps, Captured, Content, Done, Entry,
    Escalation, Exit, Fact, Failure, FileKind, Item, ItemId, Mode, ModelInfo, Notice, Origin, Outcome, Part, Phase,
    PlanStatus, PlanStep, ReadAs, Refusal, Reply, Run, SandboxMode, SandboxPolicy, Session, Settings, Shell, Source,
    Stamp, Stop, TaskId, ThreadId, Tool, ToolKind, TurnId, Usage, WireId, World,
};
use serde_json::json;

use super::Native;
use crate::{Context, Doc, End, Harness, Moment, Next, Persona, Reading, SkillInfo, Words};

pub(crate) fn settings() -> Settings {
    Settings {
        provider: "stub".into(),
        model: "stub-model".into(),
        wire: WireId::Responses,
        harness: "native".into(),
        cwd: PathBuf::from("/w"),
        sandbox: SandboxPolicy::new(SandboxMode::WorkspaceWrite),
        approval: ApprovalPolicy::Never,
        mode: Mode::Default,
        effort: None,
        summary: None,
        verbosity: None,
        instructions: None,
        developer_instructions: None,
        compact_prompt: None,
        output_schema: None,
        output_limit: None,
        max_output: None,
        features: Default::default(),
    }
}

/// Everything that a context borrows.
struct Stage {
    thread: ThreadId,
    turn: TurnId,
    model: ModelInfo,
    caps: Caps,
    source: Source,
    settings: Settings,
    items: Vec<Item>,
    said: Vec<Entry>,
    persona: Persona,
    docs: Vec<Doc>,
    skills: Vec<SkillInfo>,
    extra: Vec<Tool>,
    words: Words,
}

impl Stage {
    fn new() -> Stage {
        Stage {
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo::fallback("stub-model"),
            caps: Caps::plain(),
            source: Source { provider: "stub".into(), wire: WireId::Responses, model: "stub-model".into() },
            settings: settings(),
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
        }
    }
    fn cx(&self) -> Context<'_> {
        Context {
            thread: &self.thread,
            turn: &self.turn,
            model: &self.model,
            caps: &self.caps,
            source: &self.source,
            settings: &self.settings,
            items: &self.items,
            said: &self.said,
            persona: &self.persona,
            docs: &self.docs,
            skills: &self.skills,
            extra_tools: &self.extra,
            words: &self.words,
        }
    }
    /// Adds items and says them, as the runtime does at the start of a step.
    fn step(&mut self, bodies: Vec<Body>) -> Vec<Entry> {
        let from = self.items.len();
        for body in bodies {
            if let Body::Settings(settings) = &body {
                self.settings = (**settings).clone();
            }
            let id = ItemId(self.items.len() as u64);
            self.items.push(Item { id, turn: self.turn.clone(), at: 0, body });
        }
        let entries = Native.say(&self.cx(), &self.items[from..]);
        self.said.extend(entries.clone());
        entries
    }
    fn next(&self, call: &Call, did: &[Done]) -> Next {
        Native.next(&self.cx(), call, did)
    }
}

fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

fn facts() -> Vec<Body> {
    let roots = Fact::Roots {
        writable: vec!["/w".into()],
        slash_tmp: true,
        tmpdir: true,
        protected: vec!["/w/.git".into(), "/w/.codex".into()],
    };
    vec![
        Body::Settings(Box::new(settings())),
        Body::Fact(Fact::Date { date: "2026-11-30".into(), zone: "Etc/UTC".into() }),
        Body::Fact(Fact::Shell("bash".into())),
        Body::Fact(roots),
    ]
}

fn reply(blocks: Vec<Block>) -> Body {
    let from = Source { provider: "stub".into(), wire: WireId::Responses, model: "stub-model".into() };
    let reply = Reply { id: "resp_1".into(), from, blocks, stop: Stop::End, usage: Usage::default() };
    Body::Reply { reply, total: Usage::default() }
}

fn call(name: &str, args: serde_json::Value) -> Call {
    raw_call(name, &args.to_string())
}

fn raw_call(name: &str, args: &str) -> Call {
    Call { id: "call_1".into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

fn done(action: Action, outcome: Outcome, took: u64) -> Done {
    Done { action, outcome, took, at: 0, tag: 0xabc_0000_00ed_9324 }
}

fn ran(output: &str, exit: Exit, task: Option<TaskId>) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task, left: false }
}

fn text(entries: &[Entry]) -> String {
    serde_json::to_string_pretty(entries).unwrap()
}

#[test]
fn opening() {
    let mut stage = Stage::new();
    stage.settings.features.insert("tools.update_plan".into(), true);
    stage.settings.features.insert("request_user_input".into(), true);
    let opening = Native.open(&stage.cx());
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["exec_command", "write_stdin", "update_plan", "request_user_input", "apply_patch", "view_image"]
    );
    insta::assert_json_snapshot!("tools", opening.tools);
    let prompt = opening.instructions[0].1.text();
    assert!((6_000..9_000).contains(&prompt.len()), "{}", prompt.len());
}

#[test]
fn tools_follow_the_switches() {
    let names = |change: &dyn Fn(&mut Stage)| {
        let mut stage = Stage::new();
        change(&mut stage);
        let tools = Native.open(&stage.cx()).tools;
        tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&|_| {}), "exec_command write_stdin apply_patch view_image");
    assert_eq!(names(&|s| s.model.images = false), "exec_command write_stdin apply_patch");
    assert_eq!(names(&|s| _ = s.settings.features.insert("shell_tool".into(), false)), "apply_patch view_image");
    assert_eq!(names(&|s| s.persona.tools = Some(vec!["exec_command".into()])), "exec_command");
    assert_eq!(names(&|s| s.caps.server_tools = true), "exec_command write_stdin apply_patch view_image web_search");
}

#[test]
fn schemas_are_closed_objects_without_patterns() {
    fn walk(value: &serde_json::Value) {
        if value["type"] == "object" {
            assert!(value["properties"].is_object() && value["additionalProperties"] == false, "{value}");
        }
        assert!(value.get("pattern").is_none() && value.get("format").is_none(), "{value}");
        match value {
            serde_json::Value::Object(map) => map.values().for_each(walk),
            serde_json::Value::Array(list) => list.iter().for_each(walk),
            _ => {}
        }
    }
    for tool in Native.open(&Stage::new().cx()).tools {
        match tool.kind {
            ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. } => walk(&schema.value()),
            ToolKind::Server { .. } => {}
        }
    }
}

#[test]
fn first_request() {
    let mut stage = Stage::new();
    stage.settings.developer_instructions = Some("DEV".into());
    stage.docs = vec![
        Doc { path: "/h/AGENTS.md".into(), project: false, text: "global\n".into() },
        Doc { path: "/w/AGENTS.md".into(), project: true, text: "be nice\n".into() },
    ];
    let skill = |name: &str, file: &str| SkillInfo {
        name: name.into(),
        description: format!("does {name}"),
        file: file.into(),
    };
    stage.skills = vec![skill("foo", "/w/.agents/skills/foo/SKILL.md"), skill("bar", "/h/skills/bar/SKILL.md")];
    let mut settings = settings();
    settings.developer_instructions = Some("DEV".into());
    let mut bodies = facts();
    bodies[0] = Body::Settings(Box::new(settings));
    let image = Part::Image {
        blob: Blob { name: Some("img.png".into()), ..Blob::new("b1", "image/png", [1u8]) },
        detail: None,
    };
    bodies.push(Body::User { origin: Origin::User, parts: vec![Part::text("What is this?"), image] });
    insta::assert_json_snapshot!("first_request", stage.step(bodies));
}

#[test]
fn permissions_by_mode() {
    for (mode, tag) in [(SandboxMode::ReadOnly, "read_only"), (SandboxMode::DangerFullAccess, "full_access")] {
        let mut stage = Stage::new();
        let mut now = settings();
        now.sandbox = SandboxPolicy::new(mode);
        now.approval = ApprovalPolicy::OnRequest;
        let entries = stage.step(vec![Body::Settings(Box::new(now)), user("go")]);
        insta::assert_json_snapshot!(tag, entries);
    }
}

#[test]
fn blocks_can_be_switched_off() {
    let mut stage = Stage::new();
    let mut now = settings();
    for name in ["include_permissions_instructions", "include_environment_context"] {
        now.features.insert(name.into(), false);
    }
    let entries = stage.step(vec![Body::Settings(Box::new(now)), user("go")]);
    assert_eq!(entries, [Entry::User(Content::Parts(vec![Part::text("go")]))]);
}

#[test]
fn later_turns_say_only_what_changed() {
    let mut stage = Stage::new();
    let mut bodies = facts();
    bodies.push(user("one"));
    stage.step(bodies);
    let same = stage.step(vec![reply(vec![Block::text("did")]), Body::Notice(Notice::TurnEnded), user("two")]);
    let expected = [Entry::Assistant(vec![Block::text("did")]), Entry::User(Content::Parts(vec![Part::text("two")]))];
    assert_eq!(same, expected);

    let mut now = settings();
    now.sandbox = SandboxPolicy::new(SandboxMode::ReadOnly);
    let date = Fact::Date { date: "2026-12-01".into(), zone: "Etc/UTC".into() };
    let bodies = vec![reply(vec![Block::text("did")]), Body::Settings(Box::new(now)), Body::Fact(date), user("three")];
    insta::assert_json_snapshot!("changed_settings", stage.step(bodies));
}

#[test]
fn chat_gets_strings() {
    let mut stage = Stage::new();
    stage.settings.wire = WireId::Chat;
    let entries = stage.step(vec![user("go")]);
    assert_eq!(entries.last(), Some(&Entry::User(Content::Plain("go".into()))));
}

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
    assert_eq!((calls.len(), repaired, calls[0].form, calls[0].id.as_str()), (1, 1, CallForm::InText, "call_resp_1_0"));
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
fn commands() {
    let stage = Stage::new();
    let run = |args| match stage.next(&call("exec_command", args), &[]) {
        Next::Do(actions) => match actions.as_slice() {
            [Action::World(World::Run(run))] => run.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let login = Shell::Fresh { program: None, login: true };
    let plain = Run { shell: login.clone(), yield_after: Some(10_000), ..Run::new("ls") };
    assert_eq!(run(json!({"cmd": "ls"})), plain);
    assert_eq!(run(json!({"cmd": "ls", "shell": "nosuchshell", "more": 1})), plain);
    let escalate = Some(Escalation { justification: Some("why".into()), prefix: vec!["git".into()] });
    let full = json!({"cmd": "ls", "workdir": "sub/../x", "shell": "/bin/sh", "login": false, "tty": true, "yield_time_ms": 1,
        "sandbox_permissions": "require_escalated", "justification": "why", "prefix_rule": ["git"]});
    let shell = Shell::Fresh { program: Some("/bin/sh".into()), login: false };
    let expected =
        Run { shell, cwd: Some("/w/x".into()), tty: true, yield_after: Some(250), escalate, ..plain.clone() };
    assert_eq!(run(full), expected);
    assert_eq!(run(json!({"cmd": "ls", "yield_time_ms": 99_000})).yield_after, Some(30_000));
}

#[test]
fn stdin() {
    let stage = Stage::new();
    let sent = |args| stage.next(&call("write_stdin", args), &[]);
    let expected =
        |text: &str, wait| Next::Do(vec![Action::World(World::Stdin { task: TaskId(7), bytes: text.into(), wait })]);
    assert_eq!(sent(json!({"session_id": 7, "chars": "y\n"})), expected("y\n", 250));
    assert_eq!(sent(json!({"session_id": 7, "chars": "y\n", "yield_time_ms": 60_000})), expected("y\n", 30_000));
    assert_eq!(sent(json!({"session_id": 7})), expected("", 5_000));
    assert_eq!(sent(json!({"session_id": 7, "yield_time_ms": 900_000})), expected("", 300_000));
}

/// The answer to a call, given what came of its one Action.
fn check_answer(stage: &Stage, call: &Call, outcome: Outcome, expected: &str) {
    let action = match stage.next(call, &[]) {
        Next::Do(mut actions) => actions.remove(0),
        other => panic!("{other:?}"),
    };
    match stage.next(call, &[done(action, outcome, 500)]) {
        Next::Answer(answer) | Next::Reject { answer, .. } => assert_eq!(answer, Answer::plain(expected)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_of_commands() {
    let stage = Stage::new();
    let exec = call("exec_command", json!({"cmd": "echo hi"}));
    let check = |outcome, expected: &str| check_answer(&stage, &exec, outcome, expected);
    let head = "Chunk ID: ed9324\nWall time: 0.5000 seconds\n";
    check(
        ran("hi\nerr\n", Exit::Code(0), None),
        &format!("{head}Process exited with code 0\nOriginal token count: 2\nOutput:\nhi\nerr\n"),
    );
    check(
        ran("", Exit::Signal(9), None),
        &format!("{head}Process exited with code 137\nOriginal token count: 0\nOutput:\n"),
    );
    check(
        ran("", Exit::Running, Some(TaskId(85010))),
        &format!("{head}Process running with session ID 85010\nOriginal token count: 0\nOutput:\n"),
    );
    let left = Outcome::Ran {
        output: Captured::whole("done\n"),
        exit: Exit::Code(0),
        cwd_after: None,
        task: None,
        left: true,
    };
    check(
        left,
        &format!(
            "{head}Process exited with code 0\nProcesses started by this command are still running\nOriginal token count: 2\nOutput:\ndone\n"
        ),
    );
    let missing = "exec_command failed: CreateProcess { message: \"Rejected(\\\"Failed to create unified exec process: No such file or directory (os error 2)\\\")\" }";
    check(Outcome::Failed(Failure::Spawn { errno: 2, message: "No such file or directory".into() }), missing);
    check(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: true }),
        "approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never",
    );
    check(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: false }),
        "exec_command failed: CreateProcess { message: \"Rejected(\\\"approval required by policy, but AskForApproval is set to Never\\\")\" }",
    );
    check(
        Outcome::Refused(Refusal::Rule("no".into())),
        "exec_command failed: CreateProcess { message: \"Rejected(\\\"`/bin/bash -lc 'echo hi'` rejected: no\\\")\" }",
    );
    let hook = Refusal::Hook { event: "PreToolUse".into(), command: "h".into(), reason: "R".into(), by_json: false };
    check(Outcome::Refused(hook), "Command blocked by PreToolUse hook: R. Command: echo hi");
    check(Outcome::Interrupted { output: None }, "Wall time: 0.5 seconds\naborted by user");

    let stdin = call("write_stdin", json!({"session_id": 1000}));
    check_answer(
        &stage,
        &stdin,
        Outcome::Failed(Failure::NoSuchTask(TaskId(1000))),
        "write_stdin failed: Unknown process id 1000",
    );
    check_answer(
        &stage,
        &stdin,
        ran("x", Exit::Code(0), None),
        &format!("{head}Process exited with code 0\nOriginal token count: 1\nOutput:\nx"),
    );
}

#[test]
fn calls_that_come_to_nothing() {
    let mut stage = Stage::new();
    stage.settings.features.insert("tools.update_plan".into(), true);
    let check = |call: &Call, expected: &str| {
        let expected = Next::Reject { answer: Answer::plain(expected), note: expected.to_owned() };
        assert_eq!(stage.next(call, &[]), expected);
    };
    let arguments = |name: &str, args: &str, message: &str| {
        check(&raw_call(name, args), &format!("failed to parse function arguments: {message}"));
    };
    arguments("exec_command", "", "missing field `cmd` at line 1 column 2");
    arguments("exec_command", "{", "EOF while parsing an object at line 1 column 1");
    arguments("exec_command", r#"{"cmd":5}"#, "invalid type: integer `5`, expected a string at line 1 column 8");
    arguments("exec_command", r#"{"cmd":"rm -rf /tm"#, "EOF while parsing a string at line 1 column 18");
    arguments(
        "write_stdin",
        r#"{"session_id":1.5}"#,
        "invalid type: floating point `1.5`, expected i32 at line 1 column 17",
    );
    arguments("view_image", "{}", "missing field `path` at line 1 column 2");
    arguments(
        "update_plan",
        r#"{"plan":[{"step":"a","status":"done"}]}"#,
        "unknown variant `done`, expected one of `pending`, `in_progress`, `completed` at line 1 column 36",
    );
    check(&raw_call("nosuch", "{}"), "unsupported call: nosuch");
    check(&raw_call("shell", "{}"), "unsupported call: shell");
    check(&Call { form: CallForm::Custom, ..raw_call("nosuch", "x") }, "unsupported custom tool call: nosuch");
    let spaced = Call { namespace: Some("mcp__everything".into()), ..raw_call("nosuch", "{}") };
    check(&spaced, "unsupported call: mcp__everythingnosuch");
    check(&raw_call("write_stdin", r#"{"session_id":-1}"#), "write_stdin failed: Unknown process id -1");
}

#[test]
fn images() {
    let stage = Stage::new();
    let view = call("view_image", json!({"path": "a.png"}));
    let action = Action::World(World::Read { path: "/w/a.png".into(), what: ReadAs::Image { max_side: Some(2048) } });
    assert_eq!(stage.next(&view, &[]), Next::Do(vec![action.clone()]));
    let blob = Blob::new("b", "image/png", [1u8]);
    let stamp = Stamp { len: 1, mtime_ns: 0, hash: String::new() };
    let media = Outcome::Media { blob: blob.clone(), original: None, shown: None, stamp };
    let image = Part::Image { blob, detail: Some("high".into()) };
    let answer = Answer { content: Content::Parts(vec![image]), error: None, after: Vec::new() };
    assert_eq!(stage.next(&view, &[done(action, media, 1)]), Next::Answer(answer));
    let failed = |failure, expected: &str| check_answer(&stage, &view, Outcome::Failed(failure), expected);
    let path = PathBuf::from("/w/a.png");
    failed(
        Failure::Io { path: path.clone(), errno: 2, message: "No such file or directory".into() },
        "unable to locate image at `/w/a.png`: No such file or directory (os error 2)",
    );
    failed(Failure::NotAFile { path: path.clone(), kind: FileKind::Folder }, "image path `/w/a.png` is not a file");
    failed(Failure::BadImage { path, detected: None }, "unable to process image: invalid or unsupported image data");
}

#[test]
fn plans() {
    let mut stage = Stage::new();
    stage.settings.features.insert("tools.update_plan".into(), true);
    let plan = call("update_plan", json!({"explanation": "x", "plan": [{"step": "a", "status": "in_progress"}]}));
    let steps = vec![PlanStep { step: "a".into(), status: PlanStatus::InProgress }];
    let action = Action::Session(Session::Plan { steps, explanation: Some("x".into()) });
    assert_eq!(stage.next(&plan, &[]), Next::Do(vec![action]));
    check_answer(&stage, &plan, Outcome::Ok, "Plan updated");
}

#[test]
fn stopped_calls() {
    let stage = Stage::new();
    let check = |name: &str, ran, expected: &str| {
        assert_eq!(Native.cut_short(&stage.cx(), &raw_call(name, "{}"), &[], ran), Answer::plain(expected));
    };
    check("exec_command", Some(1_000), "Wall time: 1.0 seconds\naborted by user");
    check("apply_patch", Some(8_900), "aborted by user after 8.9s");
    check("exec_command", None, "aborted");
}

#[test]
fn tuning() {
    let mut stage = Stage::new();
    let tune = Native.tune(&stage.cx());
    assert_eq!((tune.reasoning.effort.as_deref(), tune.reasoning.summary.as_deref()), (None, Some("auto")));
    assert_eq!((tune.parallel, tune.choose_tools, tune.cache_key.as_deref()), (Some(true), true, Some("thread-1")));
    assert_eq!((tune.verbosity, tune.max_output), (None, None));
    stage.model.known = true;
    stage.model.effort = Some("medium".into());
    stage.model.verbosity = Some("low".into());
    stage.settings.output_schema = Some(protocol::Raw::parse("{}").unwrap());
    let tune = Native.tune(&stage.cx());
    assert_eq!((tune.reasoning.effort.as_deref(), tune.reasoning.summary), (Some("medium"), None));
    assert_eq!(
        (tune.verbosity.as_deref(), tune.schema.map(|(name, _)| name).as_deref()),
        (Some("low"), Some("codex_output_schema"))
    );
}

#[test]
fn wanted_facts() {
    let mut stage = Stage::new();
    use protocol::Want;
    assert_eq!(Native.wants(&stage.cx(), Moment::Opening), [Want::Date, Want::Shell, Want::Roots]);
    stage.step(facts());
    assert_eq!(Native.wants(&stage.cx(), Moment::Turn), [Want::Date]);
    stage.step(vec![Body::Settings(Box::new(settings()))]);
    assert_eq!(Native.wants(&stage.cx(), Moment::Turn), [Want::Date, Want::Roots]);
    assert_eq!(Native.wants(&stage.cx(), Moment::Step), []);
}

#[test]
fn compaction() {
    let mut stage = Stage::new();
    let mut bodies = facts();
    bodies.push(user("first"));
    stage.step(bodies);
    stage.step(vec![reply(vec![Block::text("did")]), Body::Notice(Notice::Interrupted), user("second")]);
    let asked = Native.compact(&stage.cx(), None);
    assert_eq!((asked.tools, asked.tune.parallel, asked.ask.len()), (false, Some(false), 1));
    stage.settings.compact_prompt = Some("Sum up.".into());
    let asked = Native.compact(&stage.cx(), Some("the tests"));
    let expected = "Sum up.\n\nThe user asks to mind this: the tests";
    assert_eq!(asked.ask, [Entry::User(Content::Parts(vec![Part::text(expected)]))]);

    let (opening, entries) = Native.compacted(&stage.cx(), "SUMMARY");
    assert_eq!(opening, Native.open(&stage.cx()));
    let texts = |entries: &[Entry]| -> Vec<String> {
        let first_line = |c: &Content| c.text().lines().next().unwrap_or("").chars().take(30).collect();
        entries
            .iter()
            .map(|e| if let Entry::User(c) | Entry::Instruct(_, c) = e { first_line(c) } else { "?".into() })
            .collect()
    };
    let expected =
        ["<permissions instructions>", "<environment_context>", "first", "second", "Another agent began this task "];
    assert_eq!(texts(&entries), expected);
    assert!(entries.last().is_some_and(|e| matches!(e, Entry::User(c) if c.text().ends_with(":\nSUMMARY"))));

    // A second one keeps the user's words of before the first, and one summary only.
    stage.said = entries;
    stage.step(vec![user("third")]);
    let (_, entries) = Native.compacted(&stage.cx(), "AGAIN");
    let expected = [
        "<permissions instructions>",
        "<environment_context>",
        "first",
        "second",
        "third",
        "Another agent began this task ",
    ];
    assert_eq!(texts(&entries), expected);
}

#[test]
fn compaction_bounds_what_the_user_said() {
    let mut stage = Stage::new();
    stage.step(vec![user("old"), user(&"é".repeat(60_000)), user("new")]);
    let (_, entries) = Native.compacted(&stage.cx(), "S");
    let length: usize = entries.iter().map(|e| if let Entry::User(c) = e { c.text().len() } else { 0 }).sum();
    assert!(length < 84_000, "{length}");
    assert!(!text(&entries).contains("old"));
    assert!(text(&entries).contains("new"));
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
    let form = protocol::TextForm { bom: false, eol: protocol::Eol::Lf, utf8: true };
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
