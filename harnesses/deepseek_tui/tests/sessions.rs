//! Lists, plans, questions, skills, sub-agents, background commands, tool search, and the guards over a turn.
use pretty_assertions::assert_eq;
use protocol::{
    Block, Body, Captured, Exit, Failure, Mode, Notice, Outcome, PlanStatus, Raw, Refusal, Session, Stop, TaskId,
    TaskOp, Usage,
};
use serde_json::{Value, json};

use super::*;
use crate::SkillInfo;
use crate::stage::{call, ran, reply, user};

#[test]
fn the_checklist_is_kept_in_history() {
    let mut s = stage(&[]);
    let todos = json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]});
    s.check(
        "checklist_write",
        todos,
        "Todo list (2 items, 50% complete)\n{\n  \"items\": [\n    {\n      \"id\": 1,\n      \"content\": \"a\",\n      \"status\": \"completed\"\n    },\n    {\n      \"id\": 2,\n      \"content\": \"b\",\n      \"status\": \"in_progress\"\n    }\n  ],\n  \"completion_pct\": 50,\n  \"in_progress_id\": 2\n}",
    );
    let first = |s: &mut Stage, name: &str, args: Value| {
        let text = s.call(name, &args.to_string()).content.text();
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(first(&mut s, "checklist_add", json!({"content": "c"})), "Added todo #3 (pending)");
    assert_eq!(
        first(&mut s, "checklist_update", json!({"id": "2", "status": "completed"})),
        "Updated todo #2 to completed"
    );
    let [Action::Session(Session::Plan { steps, .. })] = s.did.as_slice() else { panic!("{:?}", s.did) };
    assert_eq!(
        steps.iter().map(|step| step.status).collect::<Vec<_>>(),
        [PlanStatus::Completed, PlanStatus::Completed, PlanStatus::Pending]
    );
    assert_eq!(first(&mut s, "checklist_list", json!({})), "Todo list (3 items, 66% complete)");
    assert_eq!(
        first(&mut s, "checklist_update", json!({"id": 9, "status": "pending"})),
        "Error: Todo #9 not found. The checklist has 3 entries."
    );
    assert_eq!(first(&mut s, "todo_write", json!({"todos": []})), "Todo list (0 items, 0% complete)");
}

#[test]
fn plans_and_questions() {
    check(&[], "update_plan", json!({"plan": [{"step": "a", "status": "pending"}]}), "Plan updated (1 steps)");
    let questions = json!({"questions": [{"header": "H", "id": "q", "question": "Which?", "options": [
        {"label": "A", "description": "first"}, {"label": "B", "description": "second"}]}]});
    let answers = r#"{"answers":{"q":{"answers":["A"]}}}"#;
    check_after(Outcome::Answers(Raw::parse(answers).unwrap()), "request_user_input", questions.clone(), answers);
    check_after(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: false }),
        "request_user_input",
        questions,
        "Error: Tool 'request_user_input' is not available: nobody is there to answer in this run. Decide yourself and say what you assumed.",
    );
}

#[test]
fn skills() {
    let mut s = stage(&[]);
    s.skills = vec![SkillInfo {
        name: "pdf".into(),
        description: "PDFs".into(),
        file: "/h/pdf/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.check("load_skill", json!({"name": "x"}), "Error: Skill 'x' not found. Available skills: pdf");
    let skill = Outcome::Skill { dir: "/h/pdf".into(), body: "Do it.\n".into(), arguments: Vec::new(), hint: None };
    s.check_after(
        skill,
        "load_skill",
        json!({"name": "pdf"}),
        "# Skill: pdf\n\nFolder of this skill, where its relative paths start: /h/pdf\n\nDo it.",
    );
    // Its files lie outside of the workspace and may be read.
    s.check("read_file", json!({"path": "/h/pdf/x.md"}), "Error: Failed to read /h/pdf/x.md: no (os error 2)");
}

#[test]
fn sub_agents_report_by_themselves() {
    let mut s = stage(&[]);
    let started =
        Outcome::Agent { id: "t-1".into(), text: String::new(), usage: Usage::default(), work: Default::default() };
    s.check_after(
        started,
        "agent_open",
        json!({"name": "look", "prompt": "Find it.", "type": "scout", "role": "archivist", "allowed_tools": ["read_file"]}),
        r#"{"agent_id":"t-1","name":"look","type":"scout","status":"running"}"#,
    );
    let spawned = Session::Spawn {
        kind: "scout".into(),
        description: "look".into(),
        prompt: "Find it.\n\nYour role: archivist.\n\nUse these tools only: read_file.".into(),
        model: None,
        background: true,
        resume: None,
    };
    assert_eq!(s.did, [Action::Session(spawned)]);
    assert!(DeepseekTui.waits_for_tasks(&s.cx()));
    let notice = Notice::AgentReported { id: "t-1".into(), text: "It is in a.rs.".into() };
    let said = DeepseekTui.notice(&s.cx(), &notice).unwrap();
    assert_eq!(
        said,
        "<runtime_event kind=\"subagent\" agent_id=\"t-1\" name=\"look\" status=\"completed\">\nIt is in a.rs.\n</runtime_event>"
    );
    s.push(Body::Notice(notice));
    assert!(!DeepseekTui.waits_for_tasks(&s.cx()));
    check(&[], "agent_open", json!({}), "Error: Tool 'agent_open' is missing required field 'prompt'");
    check_after(
        Outcome::Refused(Refusal::Depth),
        "agent_open",
        json!({"prompt": "x"}),
        "Error: Tool 'agent_open' is not available: a sub-agent starts no agents here. Do the work yourself.",
    );
}

#[test]
fn kinds_of_sub_agents_have_their_words_and_tools() {
    for kind in ["worker", "scout", "planner", "reviewer", "builder", "verifier", "custom"] {
        let mut s = stage(&[]);
        s.persona.name = kind.into();
        let opening = DeepseekTui.open(&s.cx());
        let (text, names) =
            (opening.instructions[0].1.text(), opening.tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>());
        assert!(text.starts_with("You ") && text.contains("## Environment"), "{kind}: {text}");
        assert_eq!(names.contains(&"exec_shell"), !agents::only_reads(kind), "{kind}");
        assert!(!names.contains(&"request_user_input"));
    }
}

fn task(output: &str, exit: Exit, task: Option<u64>) -> Outcome {
    Outcome::Ran { output: Captured::whole(output), exit, cwd_after: None, task: task.map(TaskId), left: false }
}

#[test]
fn background_commands() {
    let mut s = stage(&[]);
    s.check(
        "exec_shell_wait",
        json!({"task_id": "shell_1"}),
        "Error: Task shell_1 not found. Background tasks of this session: none",
    );
    let start = json!({"command": "serve", "background": true});
    s.check_after(task("", Exit::Running, Some(41)), "exec_shell", start, "Background task started: shell_00000007");
    let id = json!({"task_id": "shell_00000007"});
    s.check_after(
        task("up\n", Exit::Running, Some(41)),
        "exec_shell_wait",
        id.clone(),
        "Background task running: shell_00000007\n\nup\n",
    );
    assert_eq!(s.did, [Action::World(World::Task(TaskOp::Output { task: TaskId(41), wait: 30_000 }))]);
    s.check_after(
        task("", Exit::Running, Some(41)),
        "exec_shell_interact",
        json!({"task_id": "shell_00000007", "input": "q\n"}),
        "Background task running: shell_00000007\n\n(no new output)",
    );
    s.check_after(
        task("", Exit::Stopped, None),
        "exec_shell_cancel",
        id.clone(),
        "Background task cancelled: shell_00000007",
    );
    s.check_after(
        task("bye\n", Exit::Code(2), None),
        "exec_wait",
        id.clone(),
        "Background task failed: shell_00000007\n\nCommand failed (exit code: Some(2))\n\nSTDOUT:\nbye\n\nSTDERR:\n",
    );
    s.check_after(
        Outcome::Failed(Failure::NoSuchTask(TaskId(41))),
        "exec_shell_cancel",
        id,
        "Error: Task shell_00000007 has ended, and its end was told before.",
    );
    let ended = Notice::TaskEnded {
        task: TaskId(41),
        command: "serve".into(),
        exit: Exit::Code(0),
        output: Captured::whole("bye\n"),
    };
    assert_eq!(
        DeepseekTui.notice(&s.cx(), &ended).unwrap(),
        "<runtime_event kind=\"background_task\" task_id=\"shell_00000007\" exit_code=\"0\">\nbye\n</runtime_event>"
    );
}

/// In the order written while it runs.
#[test]
fn streams_of_a_background_command_are_apart_at_its_end() {
    let mut s = stage(&[]);
    let start = json!({"command": "serve", "background": true});
    s.check_after(task("", Exit::Running, Some(41)), "exec_shell", start, "Background task started: shell_00000007");
    let pieces = [(true, "no\n"), (false, "out\n")];
    let both = |exit, task: Option<u64>| Outcome::Ran {
        output: Captured::whole_apart(pieces),
        exit,
        cwd_after: None,
        task: task.map(TaskId),
        left: false,
    };
    let look = || json!({"task_id": "shell_00000007"});
    s.check_after(
        both(Exit::Running, Some(41)),
        "exec_shell_wait",
        look(),
        "Background task running: shell_00000007\n\nno\nout\n",
    );
    s.check_after(
        both(Exit::Code(0), None),
        "exec_shell_wait",
        look(),
        "Background task completed: shell_00000007\n\nout\n\nSTDERR:\nno\n",
    );
}

const NONE_FOUND: &str = r#"{"type":"tool_search_tool_search_result","tool_references":[]}"#;

#[test]
fn held_back_tools_are_found() {
    let found = |names: &[&str]| {
        let names: Vec<String> =
            names.iter().map(|name| format!(r#"{{"type":"tool_reference","tool_name":"{name}"}}"#)).collect();
        format!(r#"{{"type":"tool_search_tool_search_result","tool_references":[{}]}}"#, names.join(","))
    };
    check(&[], "tool_search_tool_regex", json!({"query": "^git_"}), &found(&["git_diff", "git_status"]));
    check(&[], "tool_search_tool_regex", json!({"query": "^exec_shell$"}), NONE_FOUND);
    check(&[], "tool_search_tool_bm25", json!({"query": "web pages"}), &found(&["fetch_url"]));
    check(&[], "tool_search_tool_bm25", json!({"query": "zzz"}), NONE_FOUND);
    let (answer, _) = answer(&[], None, "tool_search_tool_regex", &json!({"query": "."}));
    assert_eq!(answer.content.text().matches("tool_name").count(), 5);
    let (answer, _) = super::answer(&[], None, "tool_search_tool_regex", &json!({"query": "("}));
    assert!(answer.content.text().starts_with("Error: Invalid input for tool 'tool_search_tool_regex': "));
}

#[test]
fn the_third_identical_call_is_not_carried_out() {
    let mut s = stage(&[("a", "x")]);
    s.check("read_file", json!({"path": "a"}), "x");
    s.check("read_file", json!({"path": "a"}), "x");
    let text = s.call("read_file", r#"{ "path" : "a" }"#).content.text();
    assert!(text.starts_with("Blocked: this exact call (read_file) has already run 3 times this turn. "), "{text}");
    assert!(s.did.is_empty());
    s.check(
        "read_file",
        json!({"path": "a", "start_line": 1, "max_lines": 1}),
        "<file path=\"a\" total_lines=\"1\" shown_lines=\"1-1\" truncated=\"false\">\n     1│ x\n</file>",
    );
    // In another turn it is a new call.
    s.turn = "turn-2".into();
    s.check("read_file", json!({"path": "a"}), "x");
}

#[test]
fn failures_in_a_row_are_warned_of_and_end_the_turn() {
    let mut s = stage(&[("a", "x")]);
    let fail =
        |s: &mut Stage, n: usize| s.call("read_file", &json!({"path": format!("no{n}")}).to_string()).content.text();
    let over = |s: &Stage| DeepseekTui.after(&s.cx(), &s.items[s.items.len() - 2..]);
    for n in 1..=2 {
        assert_eq!(fail(&mut s, n), format!("Error: Failed to read no{n}: no (os error 2)"));
    }
    let third = fail(&mut s, 3);
    assert!(third.contains("\n\nWarning: read_file has failed 3 times in a row this turn."), "{third}");
    // Success begins a new row.
    s.check("read_file", json!({"path": "a"}), "x");
    for n in 4..=10 {
        fail(&mut s, n);
        assert_eq!(over(&s), Flow::Step);
    }
    fail(&mut s, 11);
    assert_eq!(over(&s), Flow::End(End::GaveUp("read_file failed 8 times in a row; stub-model is stopped".into())));
}

#[test]
fn a_turn_has_a_hundred_requests_at_most() {
    let mut s = stage(&[]);
    s.push(user("go"));
    for n in 0..100 {
        assert_eq!(DeepseekTui.after(&s.cx(), &[]), Flow::Step, "{n}");
        s.push(Body::Reply { reply: reply(vec![Block::text("x")], Stop::End), total: Usage::default() });
    }
    assert!(matches!(DeepseekTui.after(&s.cx(), &[]), Flow::End(End::GaveUp(_))));
}

#[test]
fn plan_mode_has_what_reads() {
    let mut s = stage(&[("a", "x")]);
    s.settings.mode = Mode::Plan { file: "/w/plan.md".into() };
    let opening = DeepseekTui.open(&s.cx());
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "checklist_write",
            "file_search",
            "grep_files",
            "list_dir",
            "multi_tool_use-x00002E-parallel",
            "read_file",
            "request_user_input",
            "todo_write",
            "tool_search_tool_bm25",
            "tool_search_tool_regex",
            "update_plan"
        ]
    );
    assert!(opening.instructions[0].1.text().contains("## Mode: plan"));
    s.check("read_file", json!({"path": "a"}), "x");
    s.check(
        "exec_shell",
        json!({"command": "ls"}),
        "Error: Tool 'exec_shell' is not available: plan mode is on, and nothing is changed or run in it.",
    );
}

#[test]
fn reading_calls_run_together() {
    let s = stage(&[]);
    let calls: Vec<Call> =
        [("a", "read_file"), ("b", "grep_files"), ("c", "exec_shell"), ("d", "exec_shell"), ("e", "list_dir")]
            .into_iter()
            .map(|(id, name)| call(id, name, "{}"))
            .collect();
    let blocks = calls.iter().cloned().map(Block::call).collect();
    let Reading::Calls { order, .. } = DeepseekTui.read(&s.cx(), &reply(blocks, Stop::Calls)) else { panic!() };
    let groups: Vec<Vec<&str>> =
        order.groups.iter().map(|group| group.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(groups, [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]]);
}

#[test]
fn a_stopped_call_is_answered() {
    let s = stage(&[]);
    let answer = DeepseekTui.cut_short(&s.cx(), &call("c", "exec_shell", "{}"), &[], None);
    assert_eq!(
        answer,
        Answer::failed(
            "Error: Tool 'exec_shell' was stopped by the user before it was done; what it did until then stands."
        )
    );
}

#[test]
fn outcomes_of_other_dialects_are_told_in_this_one() {
    let s = stage(&[]);
    let action = Action::World(World::Run(protocol::Run::new("ls")));
    let done = Done { action, outcome: ran("a\n", Exit::Code(0)), took: 0, at: 0, tag: 7 };
    let (told, answer) = DeepseekTui.resay(&s.cx(), &call("c", "Bash", "{}"), &[done]).unwrap();
    assert_eq!(
        (told.name.as_str(), told.args.as_str(), answer),
        ("exec_shell", r#"{"command":"ls"}"#, Answer::plain("a\n"))
    );
}
