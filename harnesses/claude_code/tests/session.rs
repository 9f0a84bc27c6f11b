//! Background tasks, sub-agents, skills, pages, and what only the user can settle.
use pretty_assertions::assert_eq;

use super::*;

fn running(output: &str) -> Outcome {
    Outcome::Ran {
        output: Captured::whole(output),
        exit: Exit::Running,
        cwd_after: None,
        task: Some(protocol::TaskId(1)),
        left: false,
    }
}

fn id_of(text: &str) -> String {
    let (_, rest) = text.split_once("ID: ").unwrap();
    rest.split(['.', ')']).next().unwrap().to_owned()
}

#[test]
fn a_command_in_the_background() {
    let mut stage = claude(&[]);
    stage.run = Some(running(""));
    let answer = stage.call("Bash", r#"{"command":"cd sub; make","run_in_background":true,"description":"Build"}"#);
    let text = answer.content.text();
    let id = id_of(&text);
    let file = format!("/tmp/claude/thread-1/tasks/{id}.output");
    assert_eq!(
        (answer.error, text),
        (
            Some(false),
            format!(
                "Command running in background with ID: {id}. Output is being written to: {file}. You will be notified when it completes. To check interim output, use Read on that file path.\nSession cwd remains /w; directory changes made by the backgrounded command do not apply to subsequent commands."
            )
        )
    );
    assert!(id.len() == 9 && id.starts_with('b'), "{id}");
    let [Action::World(World::Run(run))] = stage.did.as_slice() else { panic!() };
    assert_eq!((run.background, run.timeout), (true, Some(600_000)));
    stage.others = vec![running("first\n")];
    stage.check("Read", json!({"file_path": file}), None, "1\tfirst\n2\t");
    stage.others = vec![running("second\n")];
    stage.check("Read", json!({"file_path": file, "offset": 2}), None, "2\tsecond\n3\t");
    let ended = Notice::TaskEnded {
        task: protocol::TaskId(1),
        command: "cd sub; make".into(),
        exit: Exit::Code(4),
        output: Captured::whole("end\n"),
    };
    let told = super::super::remind::notice(Generation::Classic, &stage.cx(), &ended).unwrap();
    let (head, rest) = told.split_once("\n\n<task-notification>").unwrap();
    assert!(head.starts_with("<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n"), "{head}");
    assert_eq!(
        rest,
        format!(
            "\n<task-id>{id}</task-id>\n<tool-use-id>c1</tool-use-id>\n<output-file>{file}</output-file>\n<status>failed</status>\n<summary>Background command \"Build\" failed with exit code 4</summary>\n</task-notification>\n</system-reminder>"
        )
    );
    stage.push(Body::Notice(ended));
    stage.check("Read", json!({"file_path": file}), None, "1\tfirst\n2\tsecond\n3\tend\n4\t");
    stage.check("TaskStop", json!({"task_id": id}), Some(true), &wrong(&format!("No task found with ID: {id}")));
}

#[test]
fn a_command_that_takes_too_long_goes_on_and_is_stopped() {
    let mut stage = claude(&[]);
    stage.run = Some(running("start\n"));
    let text = stage.call("Bash", r#"{"command":"make","timeout":1000}"#).content.text();
    let id = id_of(&text);
    let start = format!(
        "start\nCommand did not complete within its 1s timeout and was moved to the background (ID: {id}). Output is being written to: "
    );
    assert!(text.starts_with(&start), "{text}");
    stage.others = vec![ran("", Exit::Stopped)];
    let message = format!("Successfully stopped task: {id} (make)");
    let expected = json!({"message": message, "task_id": id, "task_type": "local_bash", "command": "make"}).to_string();
    stage.check("TaskStop", json!({"task_id": id}), None, &expected);
    stage.check("TaskStop", json!({"task_id": id}), Some(true), &wrong(&format!("No task found with ID: {id}")));
    // A plain wait is not worth going on with.
    stage.run = Some(ran("", Exit::Code(0)));
    stage.call("Bash", r#"{"command":"sleep 20"}"#);
    let [Action::World(World::Run(run))] = stage.did.as_slice() else { panic!() };
    assert_eq!(run.on_timeout, protocol::OnTimeout::Kill);
}

#[test]
fn agents() {
    let report = |text: &str| Outcome::Agent {
        id: "a1".into(),
        text: text.into(),
        usage: Usage { input: 200, output: 20, ..Usage::default() },
        work: protocol::AgentWork { calls: 2, tools: vec!["Bash".into(), "Read".into()], context: 110 },
    };
    let args = |more: Value| {
        let mut args = json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args.to_string()
    };
    let texts = |answer: &Answer| match &answer.content {
        Content::Parts(parts) => parts.iter().filter_map(Part::as_text).map(str::to_owned).collect::<Vec<_>>(),
        Content::Plain(text) => vec![text.clone()],
    };
    let mut newest = claude(&[]);
    newest.others = vec![report("REPORT 1\nline 2\n")];
    let answer = newest.call("Agent", &args(json!({"run_in_background": false})));
    let [text] = texts(&answer).try_into().unwrap();
    let used = "  <tools-used-before-summary>Bash, Read</tools-used-before-summary>\n  \n";
    assert!(text.starts_with(&format!("{used}[Subagent hand-back] ")), "{text}");
    assert!(text.ends_with(" The report follows:\n  REPORT 1\n  line 2\nagentId: a1\n<usage>subagent_tokens: 110\ntool_uses: 2\nduration_ms: 0</usage>\n"), "{text}");
    newest.others = vec![report("")];
    let answer = newest.call("Agent", &args(json!({})));
    assert!(texts(&answer)[0].starts_with("Async agent launched successfully. "), "{answer:?}");
    let [Action::Session(Session::Spawn { background, .. })] = newest.did.as_slice() else { panic!() };
    assert!(background);
    assert_eq!(
        newest.call("Agent", &args(json!({"subagent_type": "nope"}))),
        Answer::failed("Agent type 'nope' not found. Available agents: Explore, general-purpose, Plan")
    );
    for (harness, expected) in [
        (&V1_0, vec!["SUB REPORT".to_owned()]),
        (&V2_0, vec!["SUB REPORT".to_owned()]),
        (
            &V2_1,
            vec![
                "SUB REPORT".to_owned(),
                "agentId: a1 (for resuming to continue this agent's work if needed)".to_owned(),
            ],
        ),
    ] {
        let mut old = stage(harness, &[]);
        old.others = vec![report("SUB REPORT")];
        assert_eq!(texts(&old.call("Task", &args(json!({})))), expected);
    }
    let told = super::super::remind::notice(
        Generation::Classic,
        &newest.cx(),
        &Notice::AgentReported { id: "a1".into(), text: "R <b>".into() },
    );
    assert!(told.unwrap().ends_with("<status>completed</status>\n<summary>Agent \"d\" finished</summary>\n<result>R &lt;b&gt;</result>\n</task-notification>\n</system-reminder>"));
}

#[test]
fn sub_agents_have_prompts_and_tools_of_their_own() {
    let mut stage = claude(&[]);
    stage.persona.depth = 1;
    stage.persona.name = "Explore".into();
    let opening = CLASSIC.open(&stage.cx());
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Bash", "Glob", "Grep", "Read", "Skill", "TaskStop", "WebFetch"]);
    assert!(opening.instructions[1].1.text().contains("You only read."));
    assert_eq!(
        stage.call("Write", "{}"),
        Answer::failed(wrong(
            "Error: No such tool available: Write. Write is not among the tools available here. Continue with the tools you have."
        ))
    );
}

#[test]
fn skills() {
    let mut stage = claude(&[]);
    stage.skills = vec![SkillInfo {
        name: "greet".into(),
        description: "Greets".into(),
        file: "/w/.agents/skills/greet/SKILL.md".into(),
        scope: "project".into(),
    }];
    let skill = || Outcome::Skill {
        dir: "/w/.agents/skills/greet".into(),
        body: "Greet $ARGUMENTS now.\n".into(),
        arguments: Vec::new(),
        hint: None,
    };
    let base = |text: &str| Part::Text(format!("Base directory for this skill: /w/.agents/skills/greet\n\n{text}"));
    let mut check = |args: &str, after: Vec<Part>| {
        stage.others = vec![skill()];
        assert_eq!(stage.call("Skill", args), Answer { after, ..Answer::plain("Launching skill: greet") });
    };
    check(r#"{"skill":"greet","args":"bob 3"}"#, vec![base("Greet bob 3 now.\n")]);
    let again = Part::text(
        "(Re-invocation of /greet — the skill instructions were previously loaded; the arguments or dynamic output below are new.)\n",
    );
    check(r#"{"skill":"/greet"}"#, vec![again, base("Greet  now.\n")]);
    for (args, expected) in [
        (r#"{"skill":"gret"}"#, "Unknown skill: gret. Did you mean greet?"),
        (r#"{"skill":"nothing-like-it"}"#, "Unknown skill: nothing-like-it"),
        (r#"{"skill":""}"#, "Invalid skill format: "),
        (
            r#"{"skill":"help"}"#,
            "help is a UI command, not a skill. Ask the user to run /help themselves — it cannot be invoked via the Skill tool.",
        ),
    ] {
        assert_eq!(stage.call("Skill", args), Answer::failed(wrong(expected)));
    }
}

#[test]
fn pages() {
    let page = |url: &str, status: u16, text: &str| {
        Outcome::Fetched(Page {
            url: url.into(),
            status,
            mime: "text/html".into(),
            text: text.into(),
            truncated: false,
        })
    };
    let answer = || Outcome::Queried { text: "SUMMARY A".into(), usage: Usage::default() };
    let mut stage = claude(&[]);
    let args = json!({"url": "http://a.org/index.html", "prompt": "summarize"}).to_string();
    stage.others = vec![page("https://a.org/index.html", 200, "# Head"), answer()];
    assert_eq!(stage.call("WebFetch", &args), Answer::plain("SUMMARY A"));
    let [Action::World(World::Fetch { url, .. }), Action::Session(Session::Query { prompt, .. })] =
        stage.did.as_slice()
    else {
        panic!()
    };
    assert_eq!(url, "https://a.org/index.html");
    let Entry::User(content) = &prompt.said[0] else { panic!() };
    assert!(content.text().starts_with("\nWeb page content:\n---\n# Head\n---\n\nsummarize\n\n"), "{content:?}");
    stage.others = vec![page("https://a.org/x", 404, "")];
    let text = stage.call("WebFetch", &args).content.text();
    assert!(text.starts_with("The server returned HTTP 404 Not Found.\n\n"), "{text}");
    stage.others = vec![page("https://b.org/x", 200, "t")];
    let text = stage.call("WebFetch", &args).content.text();
    assert!(text.starts_with("REDIRECT DETECTED: The URL redirects to a location that was not fetched automatically.\n\nOriginal URL: http://a.org/index.html\nRedirect URL: https://b.org/x\n"), "{text}");
    // Ours: of a long page, what comes next.
    stage.others = vec![page("https://a.org/", 200, &"x".repeat(100_001)), answer()];
    assert_eq!(
        stage.call("WebFetch", &args),
        Answer::plain(
            "SUMMARY A\n\n[Only characters 0 to 100000 of 100001 were looked at. Call again with offset: 100000 for what follows.]"
        )
    );
}

#[test]
fn questions_and_plans() {
    let mut stage = claude(&[("plan.md", "1. do it\n")]);
    stage.settings.features.insert("request_user_input".into(), true);
    let question = json!({"questions": [{"question": "Which color?", "header": "Color", "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}], "multiSelect": false}]});
    stage.others = vec![Outcome::Answers(protocol::Raw::of(&json!({"answers": {"q1": {"answers": ["Blue"]}}})))];
    assert_eq!(
        stage.call("AskUserQuestion", &question.to_string()),
        Answer::plain(
            "Your questions have been answered: \"Which color?\"=\"Blue\". You can now continue with these answers in mind."
        )
    );
    let text = stage.call("ExitPlanMode", "{}").content.text();
    assert!(text.starts_with("<tool_use_error>You are not in plan mode. "), "{text}");
    stage.others = vec![Outcome::Ok];
    assert!(stage.call("EnterPlanMode", "{}").content.text().starts_with("Entered plan mode. "));
    let [Action::Session(Session::Mode(Mode::Plan { file }))] = stage.did.as_slice() else { panic!() };
    assert_eq!(file.to_str(), Some("/home/u/.openinterpreter/plans/thread-1.md"));
    stage.settings.mode = Mode::Plan { file: "/w/plan.md".into() };
    stage.others = vec![Outcome::PlanDecided { approved: true, feedback: None, file: Some("/w/plan.md".into()) }];
    assert_eq!(
        stage.call("ExitPlanMode", "{}"),
        Answer::plain(
            "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\nYour plan has been saved to: /w/plan.md\nYou can refer back to it if needed during implementation.\n\n## Approved Plan:\n1. do it\n"
        )
    );
    stage.others = vec![Outcome::PlanDecided { approved: false, feedback: Some("shorter".into()), file: None }];
    let text = stage.call("ExitPlanMode", "{}").content.text();
    assert!(text.ends_with("To tell you how to proceed, the user said:\nshorter"), "{text}");
    stage.refuse = Some(Refusal::PlanMode { file: "/w/plan.md".into() });
    assert_eq!(
        stage.call("Write", r#"{"file_path":"/w/x.txt","content":"x"}"#),
        Answer::failed("Cannot write to /w/x.txt while in plan mode.")
    );
    let mut old = super::stage(&V2_0, &[]);
    old.settings.features.insert("request_user_input".into(), true);
    old.others = vec![Outcome::PlanDecided { approved: true, feedback: None, file: None }];
    assert_eq!(
        old.call("ExitPlanMode", r#"{"plan":"the plan"}"#),
        Answer::plain(
            "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"
        )
    );
}
