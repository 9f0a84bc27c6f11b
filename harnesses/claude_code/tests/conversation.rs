//! What opens a conversation, and what is said in its course.
use pretty_assertions::assert_eq;

use super::*;

fn placed(mut stage: Stage) -> Stage {
    stage.push(Body::Fact(Fact::System {
        system: "Linux".into(),
        release: "6.1".into(),
        version: "1".into(),
        machine: "x86_64".into(),
    }));
    stage.push(Body::Fact(Fact::Shell("bash".into())));
    stage.push(Body::Fact(Fact::Git(Some(GitFact {
        root: "/w".into(),
        branch: Some("main".into()),
        main: None,
        status: "?? new.txt".into(),
        commits: vec!["6e53e21 first".into()],
    }))));
    stage.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Be kind.\n".into() }];
    stage.skills = vec![SkillInfo {
        name: "greet".into(),
        description: "Greets".into(),
        file: "/s/SKILL.md".into(),
        scope: "user".into(),
    }];
    stage.push(user("Do the task."));
    stage
}

fn first_request(harness: &'static ClaudeCode, model: &str) -> String {
    let mut stage = placed(stage(harness, &[]));
    stage.model.slug = model.into();
    let opening = harness.open(&stage.cx());
    let mut out = String::new();
    for (_, content) in &opening.instructions {
        out.push_str(&format!("== system\n{}\n", content.text()));
    }
    for tool in &opening.tools {
        out.push_str(&format!("== tool {}\n{}\n", tool.name, tool.description));
    }
    for entry in harness.say(&stage.cx(), &stage.items) {
        let (who, content) = match entry {
            Entry::User(content) => ("user", content),
            Entry::Instruct(_, content) => ("system", content),
            other => panic!("{other:?}"),
        };
        let parts = match content {
            Content::Plain(text) => vec![text],
            Content::Parts(parts) => parts.iter().filter_map(Part::as_text).map(str::to_owned).collect(),
        };
        out.push_str(&format!("== {who}\n{}\n", parts.join("\n-- block\n")));
    }
    out
}

#[test]
fn first_requests() {
    insta::assert_snapshot!("first_request_classic_claude", first_request(&CLASSIC, "claude-sonnet-4-5"));
    insta::assert_snapshot!("first_request_classic_other", first_request(&CLASSIC, "glm-4.7"));
    insta::assert_snapshot!("first_request_current", first_request(&CURRENT, "claude-opus-4-8"));
    insta::assert_snapshot!("first_request_1_0", first_request(&V1_0, "kimi-k2"));
    insta::assert_snapshot!("first_request_2_0", first_request(&V2_0, "kimi-k2"));
    insta::assert_snapshot!("first_request_2_1", first_request(&V2_1, "kimi-k2"));
}

fn names(harness: &'static ClaudeCode, change: impl FnOnce(&mut Stage)) -> Vec<String> {
    let mut stage = stage(harness, &[]);
    change(&mut stage);
    harness.open(&stage.cx()).tools.into_iter().map(|tool| tool.name).collect()
}

#[test]
fn tools_stand_in_the_originals_order() {
    let asks = |stage: &mut Stage| {
        stage.settings.features.insert("request_user_input".into(), true);
    };
    assert_eq!(
        names(&V1_0, asks).join(" "),
        "Task Bash Glob Grep LS ExitPlanMode Read Edit MultiEdit Write NotebookRead NotebookEdit WebFetch TodoWrite"
    );
    assert_eq!(
        names(&V2_0, asks).join(" "),
        "Task Bash Glob Grep ExitPlanMode Read Edit Write NotebookEdit WebFetch TodoWrite BashOutput KillShell Skill"
    );
    assert_eq!(
        names(&V2_1, asks).join(" "),
        "Task TaskOutput Bash Glob Grep ExitPlanMode Read Edit Write NotebookEdit WebFetch TodoWrite TaskStop AskUserQuestion Skill EnterPlanMode"
    );
    assert_eq!(names(&CURRENT, |_| {}).join(" "), "Agent Bash Edit NotebookEdit Read Skill TaskStop WebFetch Write");
    assert_eq!(
        names(&CLASSIC, |_| {}).join(" "),
        "Agent Bash Edit Glob Grep NotebookEdit Read Skill TaskStop TodoWrite WebFetch Write"
    );
    assert_eq!(
        names(&CLASSIC, |stage| {
            stage.model.slug = "claude-sonnet-4-5".into();
            asks(stage);
        })
        .join(" "),
        "Agent AskUserQuestion Bash Edit EnterPlanMode ExitPlanMode Glob Grep NotebookEdit Read Skill TaskCreate TaskGet TaskList TaskStop TaskUpdate WebFetch Write"
    );
}

/// What is said after the last call.
fn said_after(stage: &mut Stage) -> Vec<Entry> {
    let step = stage.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).unwrap();
    stage.said = vec![Entry::User(Content::Plain("earlier".into()))];
    stage.harness.say(&stage.cx(), &stage.items[step..])
}

fn last_result(stage: &mut Stage) -> String {
    match said_after(stage).last() {
        Some(Entry::Results { results, .. }) => results.last().unwrap().answer.content.text(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_forgotten_list_is_remembered() {
    let mut stage = claude(&[]);
    stage.others = vec![Outcome::Ok];
    stage.call("TaskCreate", r#"{"subject":"Do A","description":"d"}"#);
    for n in 1..=25 {
        stage.run = Some(ran("x\n", Exit::Code(0)));
        stage.call("Bash", r#"{"command":"echo x"}"#);
        let text = last_result(&mut stage);
        let reminded = text.contains("The task tools haven't been used recently.");
        assert_eq!(reminded, n % 10 == 0, "{n}: {text}");
        if reminded {
            assert!(text.starts_with("x\n\n<system-reminder>\nThe task tools"), "{text}");
            assert!(text.contains("\n\n\nHere are the existing tasks:\n\n#1. [pending] Do A\n</system-reminder>\n\n<system-reminder>\n<total_tokens>15000000"), "{text}");
        }
    }
}

#[test]
fn the_shells_folder_is_told_when_it_moves() {
    let mut stage = claude(&[]);
    let moved = |to: &str| Outcome::Ran {
        output: Captured::default(),
        exit: Exit::Code(0),
        cwd_after: Some(to.into()),
        task: None,
        left: false,
    };
    stage.run = Some(moved("/w/sub"));
    stage.call("Bash", r#"{"command":"cd sub"}"#);
    assert!(last_result(&mut stage).starts_with("(Bash completed with no output)\n\n<system-reminder>\n# Environment update\n - Primary working directory: /w/sub (was /w)\n</system-reminder>"));
    stage.run = Some(moved("/w/sub"));
    stage.call("Bash", r#"{"command":"ls"}"#);
    assert!(!last_result(&mut stage).contains("Environment update"));
}

#[test]
fn a_file_that_somebody_else_changed_is_shown_once() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let mut stage = claude(&[("l.txt", &lines)]);
    let watched = |stage: &Stage| super::super::changed::watched(&stage.cx()).len();
    stage.call("Read", r#"{"file_path":"/w/l.txt"}"#);
    assert_eq!(watched(&stage), 0);
    stage.edit("/w/l.txt", "line 30\n", "LINE 30\n", None, "The file /w/l.txt has been updated successfully. (file state is current in your context — no need to Read it back)");
    assert_eq!(watched(&stage), 1);
    let theirs = stage.text("l.txt").replace("line 5\n", "line 5\nNEW\n").replace("line 50\n", "");
    stage.write("l.txt", &theirs);
    let stamp = crate::claude_code_bare::tests::stamp(theirs.as_bytes());
    stage.push(Body::Fact(Fact::Changed(vec![("/w/l.txt".into(), stamp, Some(theirs.clone()))])));
    let told = super::super::changed::told(Generation::Classic, &stage.cx(), &stage.items[stage.items.len() - 1..]);
    let (said, shown) = told[0].split_once(" (shown with line numbers):\n").unwrap();
    assert!(said.starts_with("Note: /w/l.txt changed on disk since you last read it. "), "{said}");
    let place = |first: usize, from: usize, to: usize| {
        let all: Vec<&str> = theirs.lines().collect();
        let shown = all[from - 1..to].iter().zip(first..);
        shown.map(|(line, n)| format!("{n}\t{line}")).collect::<Vec<_>>().join("\n")
    };
    // The second place is numbered as it was before the first grew, as by the original.
    assert_eq!(shown, format!("{}\n...\n{}", place(1, 1, 14), place(42, 43, 58)));
    // Told of, it counts as read, and is not watched until the next edit.
    assert_eq!(watched(&stage), 0);
    stage.edit("/w/l.txt", "zzz", "y", Some(true), &wrong("String to replace not found in file.\nString: zzz"));
    stage.edit("/w/l.txt", "NEW", "OLD", None, "The file /w/l.txt has been updated successfully. (file state is current in your context — no need to Read it back)");
    assert_eq!(watched(&stage), 1);
}

#[test]
fn reminders_of_the_current_profile_are_system_messages() {
    let mut stage = stage(&CURRENT, &[]);
    stage.run = Some(ran("x\n", Exit::Code(0)));
    stage.call("Bash", r#"{"command":"echo x"}"#);
    stage.push(Body::Notice(Notice::HookContext { event: "PostToolUse:Bash".into(), text: "POST".into() }));
    let entries = said_after(&mut stage);
    let [.., Entry::Results { results, after, .. }, Entry::Instruct(Speaker::System, said)] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!(results[0].answer.content.text(), "x");
    assert_eq!(after, &vec![]);
    assert_eq!(said, &Content::Plain("PostToolUse:Bash hook additional context: POST".into()));
}

#[test]
fn calls_that_only_look_run_together() {
    let stage = claude(&[]);
    let calls = [
        call("1", "Read", r#"{"file_path":"/a"}"#),
        call("2", "Grep", r#"{"pattern":"x"}"#),
        call("3", "Write", r#"{"file_path":"/a","content":""}"#),
        call("4", "TaskCreate", r#"{"subject":"a","description":"b"}"#),
        call("5", "Agent", r#"{"description":"a","prompt":"b"}"#),
        call("6", "Task", r#"{"description":"a","prompt":"b"}"#),
    ];
    let blocks = calls.iter().cloned().map(protocol::Block::call).collect();
    let Reading::Calls { order, .. } = CLASSIC.read(&stage.cx(), &reply(blocks, Stop::Calls)) else { panic!() };
    let groups: Vec<String> = order.groups.iter().map(|group| group.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(groups, ["12", "3", "4", "56"]);
}

#[test]
fn another_dialects_plan_becomes_a_list_of_todos() {
    let stage = stage(&CLASSIC, &[]);
    let steps = vec![protocol::PlanStep { step: "a".into(), status: protocol::PlanStatus::InProgress }];
    let action = Action::Session(Session::Plan { steps, explanation: None });
    let did = [protocol::Done { action, outcome: Outcome::Ok, took: 0, at: 0, tag: 1 }];
    let (told, answer) = CLASSIC.resay(&stage.cx(), &call("c", "update_plan", "{}"), &did).unwrap();
    assert_eq!(
        (told.name.as_str(), told.args.as_str()),
        ("TodoWrite", r#"{"todos":[{"content":"a","status":"in_progress","activeForm":"a"}]}"#)
    );
    assert!(answer.content.text().starts_with("Todos have been modified successfully."));
}

#[test]
fn older_versions_ask_for_no_thinking() {
    for harness in [&V1_0, &V2_0, &V2_1] {
        let mut stage = stage(harness, &[]);
        stage.model.slug = "claude-sonnet-4-5".into();
        let tune = harness.tune(&stage.cx());
        let warm = if harness.id().ends_with("1.0") { Some(1.0) } else { None };
        assert_eq!((tune.max_output, tune.reasoning, tune.temperature), (Some(32_000), Default::default(), warm));
    }
}
