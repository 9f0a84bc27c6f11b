//! The dialect from outside. Formats were measured on mini-swe-agent 2.4.6.
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use protocol::{
    Action, Answer, ApprovalPolicy, Block, Body, Call, CallForm, CallId, CallResult, Caps, Captured, Content, Done,
    Entry, Exit, Fact, Failure, Item, ItemId, Mode, ModelInfo, Notice, Origin, Outcome, Part, Refusal, Reply, Run,
    SandboxMode, SandboxPolicy, Settings, Shell, Source, Stop, ThreadId, Tool, TurnId, Usage, WireId, World,
};
use serde_json::json;

use super::MiniSweAgent;
use crate::{Context, Doc, End, Flow, Harness, Next, Order, Persona, Reading, SkillInfo, Words};

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
    fn new(text_form: bool) -> Stage {
        let settings = Settings {
            provider: "stub".into(),
            model: "stub-model".into(),
            wire: WireId::Chat,
            harness: "mini-swe-agent".into(),
            cwd: PathBuf::from("/w"),
            sandbox: SandboxPolicy::new(SandboxMode::DangerFullAccess),
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
            features: [("mini_swe_agent_text".to_owned(), text_form)].into(),
        };
        let mut stage = Stage {
            thread: "thread-1".into(),
            turn: "turn-1".into(),
            model: ModelInfo::fallback("stub-model"),
            caps: Caps::plain(),
            source: Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() },
            settings,
            items: Vec::new(),
            said: Vec::new(),
            persona: Persona::default(),
            docs: Vec::new(),
            skills: Vec::new(),
            extra: Vec::new(),
            words: Words::default(),
        };
        let (system, release, version, machine) = ("Linux".into(), "6.1".into(), "#1 SMP".into(), "x86_64".into());
        stage.push(Body::Fact(Fact::System { system, release, version, machine }));
        stage
    }

    fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: "turn-1".into(), at: 0, body });
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

    fn say(&self, from: usize) -> Vec<Entry> {
        MiniSweAgent.say(&self.cx(), &self.items[from..])
    }

    fn answer(&self, call: &Call, outcome: Outcome) -> Answer {
        match MiniSweAgent.next(&self.cx(), call, &[done("x", outcome)]) {
            Next::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }
}

fn call(id: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: "bash".into(), args: args.into(), form: CallForm::Function }
}

fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    let from = Source { provider: "stub".into(), wire: WireId::Chat, model: "stub-model".into() };
    Reply { id: "r".into(), from, blocks, stop, usage: Usage::default() }
}

fn replied(blocks: Vec<Block>) -> Body {
    Body::Reply { reply: reply(blocks, Stop::End), total: Usage::default() }
}

fn ran(output: &str, exit: Exit) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task: None, left: false }
}

fn done(script: &str, outcome: Outcome) -> Done {
    Done { action: Action::World(World::Run(super::run(script))), outcome, took: 0, at: 0, tag: 1 }
}

fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

fn plain(text: &str) -> Entry {
    Entry::User(Content::Plain(text.into()))
}

fn observed(code: i32, output: &str) -> String {
    format!("{{\n  \"returncode\": {code},\n  \"output\": {}\n}}", json!(output))
}

const NOT_RUN: &str =
    "{\n  \"returncode\": -1,\n  \"output\": \"\", \"exception_info\": \"action was not executed\"\n}";

#[test]
fn the_first_request() {
    for (name, text_form) in [("first_request_tools", false), ("first_request_text", true)] {
        let mut s = Stage::new(text_form);
        s.push(user("Fix {{system}} it."));
        insta::assert_json_snapshot!(
            name,
            json!({
                "opening": MiniSweAgent.open(&s.cx()),
                "entries": s.say(0),
                "tune": MiniSweAgent.tune(&s.cx()),
            })
        );
    }
}

#[test]
fn instructions_skills_and_permissions_are_sections_of_the_task() {
    let mut s = Stage::new(false);
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Run the tests.\n".into() }];
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "Make PDFs".into(),
        file: "/h/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.settings.sandbox = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
    s.push(user("Fix it."));
    let [Entry::User(Content::Plain(text))] = &s.say(0)[..] else { panic!() };
    let sections = "\n<instructions file=\"/w/AGENTS.md\">\nRun the tests.\n</instructions>\n\n<skills>\nWhere one of these fits the task, read its file first:\n- pdf: Make PDFs (cat /h/SKILL.md)\n</skills>\n\n<permissions>\nCommands run in a sandbox (workspace-write): only these folders may be written: /w, /tmp; the network is closed; nobody can be asked for more.\n</permissions>\n\n## Recommended Workflow\n";
    assert!(text.contains(sections), "{text}");
}

#[test]
fn a_command_runs_in_a_shell_of_its_own() {
    let s = Stage::new(false);
    let env =
        [("PAGER", "cat"), ("MANPAGER", "cat"), ("LESS", "-R"), ("PIP_PROGRESS_BAR", "off"), ("TQDM_DISABLE", "1")];
    let run = Run {
        shell: Shell::Fresh { program: Some("/bin/sh".into()), login: false },
        timeout: Some(30_000),
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        keep: 8 << 20,
        ..Run::new("ls")
    };
    let next = MiniSweAgent.next(&s.cx(), &call("1", r#"{"command":"ls"}"#), &[]);
    assert_eq!(next, Next::Do(vec![Action::World(World::Run(run))]));
}

#[test]
fn what_came_of_a_command() {
    let s = Stage::new(false);
    let check = |outcome: Outcome, expected: String| {
        assert_eq!(s.answer(&call("1", r#"{"command":"x"}"#), outcome), Answer::plain(expected));
    };
    check(ran("hi\nerr\n", Exit::Code(0)), observed(0, "hi\nerr\n"));
    check(ran("", Exit::Code(3)), observed(3, ""));
    check(ran("", Exit::Signal(9)), observed(-9, ""));
    let failed = |output: &str, why: &str| {
        let output = json!(output);
        format!(
            "{{\n  \"returncode\": -1,\n  \"output\": {output}, \"exception_info\": \"An error occurred while executing the command: {why}\"\n}}"
        )
    };
    check(
        ran("start\n", Exit::TimedOut(30_000)),
        failed("start\n", "Command \\u0027x\\u0027 timed out after 30 seconds"),
    );
    check(
        Outcome::Failed(Failure::Spawn { errno: 2, message: "No such file or directory".into() }),
        failed("", "[Errno 2] No such file or directory: \\u0027/bin/sh\\u0027"),
    );
    check(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: false }),
        failed("", "refused: it needs an approval and nobody can be asked"),
    );
    check(Outcome::Interrupted { output: None }, NOT_RUN.into());
    check(ran("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\nrest\n", Exit::Code(0)), NOT_RUN.into());
    check(
        ran("x\nCOMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n", Exit::Code(0)),
        observed(0, "x\nCOMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n"),
    );
    let no =
        s.answer(&call("1", r#"{"command":"x"}"#), Outcome::Refused(Refusal::User { feedback: Some("not so".into()) }));
    let said = "Commands not executed. The user rejected your commands with the following message: not so";
    assert_eq!(no, Answer { after: vec![Part::text(said)], ..Answer::plain(NOT_RUN) });
}

#[test]
fn a_command_that_is_no_text_does_not_run() {
    let s = Stage::new(false);
    let next = MiniSweAgent.next(&s.cx(), &call("1", r#"{"command":5}"#), &[]);
    let text = "{\n  \"returncode\": -1,\n  \"output\": \"\", \"exception_info\": \"An error occurred while executing the command: \\u0027int\\u0027 object is not iterable\"\n}";
    assert_eq!(next, Next::Answer(Answer::plain(text)));
}

#[test]
fn calls_run_one_after_another() {
    let s = Stage::new(false);
    let calls = vec![call("1", r#"{"command":"a"}"#), call("2", r#"{"command":"b"}"#)];
    let groups = vec![vec![CallId::from("1")], vec![CallId::from("2")]];
    let blocks = calls.iter().cloned().map(Block::call).collect();
    let expected = Reading::Calls { calls, order: Order { groups, answers: crate::AnswerOrder::Calls }, repaired: 0 };
    assert_eq!(MiniSweAgent.read(&s.cx(), &reply(blocks, Stop::Calls)), expected);
}

#[test]
fn a_reply_in_the_wrong_form_is_dropped_whole() {
    let s = Stage::new(false);
    let good = Block::call(call("1", r#"{"command":"a"}"#));
    let bad = Block::call(Call { name: "edit".into(), ..call("2", r#"{"path":"x"}"#) });
    let check = |blocks: Vec<Block>, stop: Stop, start: &str| {
        let Reading::Again { drop_reply: true, keep: true, tune: None, say } =
            MiniSweAgent.read(&s.cx(), &reply(blocks, stop))
        else {
            panic!("taken")
        };
        let [Entry::User(Content::Plain(text))] = &say[..] else { panic!("{say:?}") };
        assert!(text.starts_with(start), "{text}");
    };
    let error = |text: &str| format!("Tool call error:\n\n<error>\n{text}\n</error>\n\n");
    check(
        vec![Block::text("hm")],
        Stop::End,
        &error("No tool calls found in the response. Every response MUST include at least one tool call."),
    );
    check(vec![good, bad], Stop::Calls, &error("Unknown tool 'edit'.Missing 'command' argument in bash tool call."));
    check(vec![Block::text("hm")], Stop::Length, "The last response hit the output token limit (finish_reason=length)");
}

#[test]
fn the_third_wrong_reply_in_a_row_ends_the_run() {
    for text_form in [false, true] {
        let mut s = Stage::new(text_form);
        s.push(user("Fix it."));
        let wrong = || reply(vec![Block::text("hm")], Stop::End);
        for _ in 0..2 {
            assert!(matches!(MiniSweAgent.read(&s.cx(), &wrong()), Reading::Again { .. }));
            s.push(Body::Reply { reply: wrong(), total: Usage::default() });
            s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
        }
        let end = "RepeatedFormatError: stub-model gave 3 replies in a row without a valid command";
        assert_eq!(MiniSweAgent.read(&s.cx(), &wrong()), Reading::Stop(End::GaveUp(end.into())));
        s.push(Body::Called { call: "1".into(), did: Vec::new(), answer: Answer::plain("ok") });
        assert!(matches!(MiniSweAgent.read(&s.cx(), &wrong()), Reading::Again { .. }), "a clean step counts anew");
    }
}

#[test]
fn the_marker_hands_the_task_in() {
    let mut s = Stage::new(false);
    let (one, two) = (call("1", r#"{"command":"x"}"#), call("2", r#"{"command":"y"}"#));
    s.push(replied(vec![Block::call(one.clone()), Block::call(two.clone())]));
    let outcome = ran("\nCOMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\nrest of output\n", Exit::Code(0));
    let answer = s.answer(&one, outcome.clone());
    s.push(Body::Called { call: "1".into(), did: vec![done("x", outcome)], answer });
    // What comes after it in the same reply is not run.
    let second = MiniSweAgent.next(&s.cx(), &two, &[]);
    assert_eq!(second, Next::Answer(Answer::plain(NOT_RUN)));
    assert_eq!(MiniSweAgent.after(&s.cx(), &s.items[1..]), Flow::End(End::Submitted("rest of output\n".into())));
    s.push(Body::Called { call: "2".into(), did: Vec::new(), answer: Answer::plain(NOT_RUN) });
    s.push(user("And now the docs."));
    s.said = vec![plain("the task")];
    let result = |call: &str| CallResult {
        call: call.into(),
        name: "bash".into(),
        custom: false,
        answer: Answer::plain(NOT_RUN),
    };
    assert_eq!(
        s.say(1),
        [
            Entry::Assistant(vec![Block::call(one), Block::call(two)]),
            Entry::Results { before: Vec::new(), results: vec![result("1"), result("2")], after: Vec::new() },
            plain("The user added a new task: And now the docs."),
        ]
    );
}

#[test]
fn an_ordinary_step_goes_on() {
    let mut s = Stage::new(false);
    let outcome = ran("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n", Exit::Code(1));
    s.push(Body::Called { call: "1".into(), did: vec![done("x", outcome)], answer: Answer::plain("x") });
    assert_eq!(MiniSweAgent.after(&s.cx(), &s.items[1..]), Flow::Step);
}

#[test]
fn only_the_error_of_a_dropped_reply_stays() {
    let mut s = Stage::new(false);
    s.said = vec![plain("the task")];
    s.push(replied(vec![Block::text("hm")]));
    s.push(Body::Read { calls: Vec::new(), dropped: true, repaired: 0 });
    assert_eq!(s.say(1), []);
}

#[test]
fn the_text_form_is_text_only() {
    let mut s = Stage::new(true);
    s.said = vec![plain("the task")];
    let answer_text = "THOUGHT: look.\n\n```mswea_bash_command\nls /nope\n```";
    let reply = reply(vec![Block::text(answer_text)], Stop::End);
    let Reading::Calls { calls, order, repaired: 0 } = MiniSweAgent.read(&s.cx(), &reply) else { panic!() };
    let expected = Call { form: CallForm::InText, ..call("mswea_r", "ls /nope") };
    assert_eq!((calls.as_slice(), order), ([expected.clone()].as_slice(), Order::one_by_one(&calls)));
    let outcome = ran("ls: no\n", Exit::Code(2));
    let answer = s.answer(&expected, outcome.clone());
    s.push(Body::Reply { reply, total: Usage::default() });
    s.push(Body::Read { calls, dropped: false, repaired: 0 });
    s.push(Body::Called { call: "mswea_r".into(), did: vec![done("ls /nope", outcome)], answer });
    s.push(Body::Notice(Notice::Interrupted));
    s.push(user("Stop that."));
    assert_eq!(
        s.say(1),
        [
            Entry::Assistant(vec![Block::text(answer_text)]),
            plain("<returncode>2</returncode>\n<output>\nls: no\n</output>"),
            plain("Interrupted by user: Stop that."),
        ]
    );
}

#[test]
fn a_past_in_another_dialect_is_told_again() {
    let mut s = Stage::new(false);
    let theirs = Call { name: "exec_command".into(), ..call("1", r#"{"cmd":"ls"}"#) };
    s.push(replied(vec![Block::call(theirs.clone())]));
    s.push(Body::Called {
        call: "1".into(),
        did: vec![done("ls", ran("a\n", Exit::Code(0)))],
        answer: Answer::plain("Chunk"),
    });
    let result =
        CallResult { call: "1".into(), name: "bash".into(), custom: false, answer: Answer::plain(observed(0, "a\n")) };
    assert_eq!(
        s.say(1),
        [
            Entry::Assistant(vec![Block::call(call("1", r#"{"command":"ls"}"#))]),
            Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() },
        ]
    );
    s.settings.features.insert("mini_swe_agent_text".into(), true);
    assert_eq!(
        s.say(1),
        [
            Entry::Assistant(vec![Block::text("```mswea_bash_command\nls\n```")]),
            plain("<returncode>0</returncode>\n<output>\na\n</output>"),
        ]
    );
}

#[test]
fn a_summary_stands_behind_the_task() {
    let mut s = Stage::new(false);
    s.push(user("Fix it."));
    let (opening, entries) = MiniSweAgent.compacted(&s.cx(), "Half done.");
    assert_eq!(opening, MiniSweAgent.open(&s.cx()));
    assert_eq!(
        entries,
        [
            s.say(1).remove(0),
            plain("The conversation so far was replaced by this summary. Go on from where it stopped.\n\nHalf done."),
        ]
    );
}
