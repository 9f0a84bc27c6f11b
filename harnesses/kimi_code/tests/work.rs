//! Tools with a memory: lists, plan mode, background tasks, sub-agents, skills, repetition.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn lists() {
    let mut s = stage(&[]);
    s.ok("TodoList", json!({}), "Todo list is empty.");
    let todos = json!({"todos": [{"title": "one", "status": "pending"}, {"title": "two", "status": "in_progress"}]});
    s.ok("TodoList", todos, "Todo list updated.\nCurrent todo list:\n  [pending] one\n  [in_progress] two\n\nEnsure that you continue to use the todo list to track progress. Mark tasks done immediately after finishing them, and keep exactly one task in_progress when work is underway.");
    s.ok("TodoList", json!({}), "Current todo list:\n  [pending] one\n  [in_progress] two");
    s.ok("TodoList", json!({"todos": []}), "Todo list cleared.");
}

#[test]
fn plan_mode() {
    let mut s = stage(&[("a.txt", "a")]);
    s.fails(
        "ExitPlanMode",
        json!({}),
        "ExitPlanMode can only be called while plan mode is active. Use EnterPlanMode (or /plan) first.",
    );
    let entered = s.call("EnterPlanMode", "{}").content.text();
    assert!(
        entered.starts_with("Plan mode is now active. Your workflow:\n\nPlan file: /s/out.txt\n\n1. "),
        "{entered}"
    );
    assert_eq!(s.settings.mode, Mode::Plan { file: "/s/out.txt".into() });
    s.fails("EnterPlanMode", json!({}), "Plan mode is already active. Use ExitPlanMode when the plan is ready.");
    s.fails(
        "ExitPlanMode",
        json!({}),
        "No plan file found. Write your plan to /s/out.txt first, then call ExitPlanMode.",
    );
    s.fails("Write", json!({"path": "z", "content": ""}), "Plan mode is active. You may only write to the current plan file: /s/out.txt. Call ExitPlanMode to exit plan mode before editing other files.");
    s.fails("TaskStop", json!({"task_id": "x"}), "TaskStop is not available in plan mode. Call ExitPlanMode to exit plan mode before stopping a background task.");
    s.ok("Write", json!({"path": "/s/out.txt", "content": "# Plan"}), "Wrote 6 bytes to /s/out.txt");
    let left = s.call("ExitPlanMode", "{}").content.text();
    assert!(left.starts_with("Exited plan mode. Plan mode deactivated. All tools are now available.\n"), "{left}");
    assert!(
        left.ends_with("\nPlan saved to: /s/out.txt\n\n## Plan (auto-approved, not user-reviewed):\n# Plan"),
        "{left}"
    );
    assert_eq!(s.settings.mode, Mode::Default);
}

#[test]
fn background_tasks() {
    let mut s = stage(&[]);
    s.outcomes = [Outcome::Tasks(vec![])].into();
    s.ok("TaskList", json!({}), "active_background_tasks: 0\nNo background tasks found.");
    s.ok("WaitFor", json!({"timeout": 1}), "wait_status: no_tasks\nwaited_ms: 0\ntimeout_ms: 1000\n\nNo background tasks are running, so there is nothing to wait for. Finished tasks report back via automatic notification.");
    s.fails("TaskOutput", json!({"task_id": "nope"}), "Task not found: nope");
    s.outcomes = [running("", 1), listed(1, Exit::Running)].into();
    s.call("Bash", r#"{"command":"sleep 9","run_in_background":true,"description":"nap"}"#);
    let id = roster::shell_id(7);
    let record = |state: &str, exit: &str, time: &str| {
        format!(
            "Wall time: {time} seconds\ntask_id: {id}\ndescription: nap\nstatus: {state}\ndetached: true\ntimeout_ms: 600000\nkind: process\ncommand: sleep 9\npid: 42\n{exit}parent_tool_call_id: c4"
        )
    };
    s.outcomes = [listed(1, Exit::Running)].into();
    s.ok("TaskList", json!({}), &format!("active_background_tasks: 1\n{}", record("running", "", "1.000")));
    s.outcomes = [ran("done\n", Exit::Code(0))].into();
    let waited = s.call("WaitFor", r#"{"timeout":20}"#).content.text();
    let expected = format!(
        "wait_status: completed\ntask_id: {id}\nwaited_ms: 1000\ntimeout_ms: 20000\n\n[finished]\n{}\noutput_path: /s/out.txt\noutput_size_bytes: 5\noutput_preview_bytes: 5\noutput_truncated: false\nfull_output_available: true\n",
        record("completed", "exit_code: 0\n", "1.000")
    );
    assert!(waited.starts_with(&expected) && waited.ends_with("\n\n[output]\ndone\n"), "{waited}");
    s.outcomes = [Outcome::Tasks(vec![])].into();
    s.ok(
        "TaskList",
        json!({"active_only": false}),
        &format!("background_tasks: 1\n{}", record("completed", "exit_code: 0\n", "1.000")),
    );
    s.ok("TaskStop", json!({"task_id": id}), &format!("Wall time: 1.000 seconds\ntask_id: {id}\nstatus: completed"));
}

#[test]
fn a_task_is_stopped_once_and_its_end_is_told_once() {
    let mut s = stage(&[]);
    s.outcomes = [running("", 1), listed(1, Exit::Running)].into();
    s.call("Bash", r#"{"command":"sleep 9","run_in_background":true,"description":"nap"}"#);
    let id = roster::shell_id(7);
    s.outcomes = [ran("", Exit::Stopped)].into();
    let stopped = format!("Wall time: 1.000 seconds\ntask_id: {id}\nstatus: killed\nreason: enough");
    s.ok("TaskStop", json!({"task_id": id, "reason": "enough"}), &stopped);
    s.ok("TaskStop", json!({"task_id": id}), &stopped);
    let from = s.items.len();
    s.push(Body::Notice(Notice::TaskEnded {
        task: TaskId(1),
        command: "sleep 9".into(),
        exit: Exit::Stopped,
        output: Captured::default(),
    }));
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    assert_eq!(texts(&s.say(from)), Vec::<String>::new());
}

#[test]
fn ends_are_reported_by_themselves() {
    let mut s = stage(&[]);
    s.outcomes = [running("", 1), listed(1, Exit::Running)].into();
    s.call("Bash", r#"{"command":"exit 3","run_in_background":true,"description":"job"}"#);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    s.push(Body::Notice(Notice::TaskEnded {
        task: TaskId(1),
        command: "exit 3".into(),
        exit: Exit::Code(3),
        output: Captured::default(),
    }));
    let id = roster::shell_id(7);
    assert_eq!(
        texts(&s.say(from)),
        [format!(
            "<notification id=\"task:{id}:failed\" category=\"task\" type=\"task.failed\" source_kind=\"background_task\" source_id=\"{id}\">\nTitle: Background process failed\nSeverity: warning\nWall time: 0.000 seconds\njob failed.\n</notification>"
        )]
    );
}

fn agent(text: &str) -> Outcome {
    Outcome::Agent { id: "run-9".into(), text: text.into(), usage: Usage::default(), work: Default::default() }
}

#[test]
fn sub_agents() {
    let mut s = stage(&[]);
    s.fails("Agent", json!({"prompt": "x", "description": "d", "subagent_type": "nosuch"}), "subagent error: Subagent type \"nosuch\" is not allowed for this agent. Allowed subagent types: coder, explore, plan.");
    s.fails(
        "Agent",
        json!({"prompt": "x", "description": "d", "resume": "nope"}),
        "subagent error: Agent instance \"nope\" does not exist",
    );
    s.items.clear();
    s.outcomes = [agent("found")].into();
    let text = s.call("Agent", r#"{"prompt":"p","description":"d","subagent_type":"explore"}"#).content.text();
    assert!(text.starts_with("Wall time: 1.000 seconds\nagent_id: agent-0\nactual_subagent_type: explore\nstatus: completed\nstop_reason: completed\n\n[summary]\nfound\n\nresume_hint: Continue with Agent(resume=\"agent-0\", prompt=\"...\"). "), "{text}");
    s.outcomes = [agent("more")].into();
    let text = s.call("Agent", r#"{"prompt":"p","description":"d","resume":"agent-0"}"#).content.text();
    assert!(
        text.contains("\nagent_id: agent-0\nactual_subagent_type: explore\n") && text.contains("\nmore\n"),
        "{text}"
    );
    let Some(Action::Session(Session::Spawn { resume, kind, .. })) = s.did.first() else { panic!() };
    assert_eq!((resume.as_deref(), kind.as_str()), (Some("run-9"), "explore"));
    s.fails(
        "Agent",
        json!({"prompt": "x", "description": "d", "resume": "agent-0", "subagent_type": "coder"}),
        "Cannot set subagent_type when resuming an existing agent. Resume by agent id only.",
    );
    s.fails(
        "AgentSwarm",
        json!({"description": "s", "items": ["a"], "prompt_template": "{{item}}"}),
        "AgentSwarm requires at least 2 items unless resume_agent_ids is provided.",
    );
    s.fails(
        "AgentSwarm",
        json!({"description": "s", "items": ["a", "b"]}),
        "prompt_template is required when items are provided.",
    );
    s.fails(
        "AgentSwarm",
        json!({"description": "s", "items": ["a", "b"], "prompt_template": "x"}),
        "prompt_template must include the {{item}} placeholder.",
    );
    s.fails(
        "AgentSwarm",
        json!({"description": "s", "items": ["a", "a"], "prompt_template": "{{item}}"}),
        "Duplicate subagent prompts from items 1 and 2. AgentSwarm requires distinct subagents.",
    );
    s.items.clear();
    s.outcomes = [agent("A"), agent("B")].into();
    s.ok("AgentSwarm", json!({"description": "s", "items": ["a", "b"], "prompt_template": "do {{item}}"}), "Wall time: 2.000 seconds\n<agent_swarm_result>\n<summary>completed: 2</summary>\n<subagent agent_id=\"agent-0\" item=\"a\" outcome=\"completed\">A</subagent>\n<subagent agent_id=\"agent-1\" item=\"b\" outcome=\"completed\">B</subagent>\n</agent_swarm_result>");
}

#[test]
fn a_sub_agent_in_the_background_is_waited_for() {
    let mut s = stage(&[]);
    s.outcomes = [agent("")].into();
    let started = s.call("Agent", r#"{"prompt":"p","description":"dig","run_in_background":true}"#).content.text();
    let id = roster::agent_task_id(7);
    assert!(started.contains(&format!("task_id: {id}\nstatus: running\nagent_id: agent-0\n")), "{started}");
    s.outcomes = [agent("")].into();
    let waited = s.call("WaitFor", r#"{"timeout":1}"#).content.text();
    assert!(waited.starts_with("wait_status: timed_out\nwaited_ms: 1000\n"), "{waited}");
    s.outcomes = [agent("dug")].into();
    let waited = s.call("WaitFor", r#"{"timeout":9}"#).content.text();
    assert!(
        waited.starts_with(&format!("wait_status: completed\ntask_id: {id}\n"))
            && waited.ends_with("\n\n[output]\ndug"),
        "{waited}"
    );
}

#[test]
fn agents_of_one_reply_have_numbers_of_their_own() {
    let mut s = stage(&[]);
    let args = r#"{"prompt":"p","description":"d"}"#;
    let other = r#"{"prompt":"q","description":"d"}"#;
    let calls = [call("x", "Agent", args), call("y", "Agent", other)];
    s.reply(&calls);
    let [first, second] = calls.map(|call| {
        s.outcomes = [agent("t")].into();
        s.carry_out(&call).content.text()
    });
    assert!(first.contains("\nagent_id: agent-0\n") && second.contains("\nagent_id: agent-1\n"), "{first}\n{second}");
}

#[test]
fn skills() {
    let mut s = stage(&[]);
    s.fails("Skill", json!({"skill": "nope"}), "Skill \"nope\" not found in the current skill listing.");
    s.skills = vec![SkillInfo {
        name: "greet".into(),
        description: "d".into(),
        file: "/k/greet/SKILL.md".into(),
        scope: "project".into(),
    }];
    s.outcomes = [Outcome::Skill {
        dir: "/k/greet".into(),
        body: "Hi $0 and $ARGUMENTS.\n".into(),
        arguments: Vec::new(),
        hint: None,
    }]
    .into();
    let from = s.items.len();
    s.ok(
        "Skill",
        json!({"skill": "greet", "args": "Ann \"B\""}),
        "Skill \"greet\" loaded inline. Follow its instructions.",
    );
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    assert_eq!(
        texts(&s.say(from)),
        [
            "Skill tool loaded instructions for this request. Follow them.\n\n<skill-loaded name=\"greet\" trigger=\"model-tool\" source=\"project\" dir=\"/k/greet\" args=\"Ann &quot;B&quot;\">\nHi Ann and Ann \"B\".\n</skill-loaded>"
        ]
    );
}

#[test]
fn going_in_circles_is_noticed_and_ended() {
    let mut s = stage(&[]);
    s.push(user("go"));
    let mut tails = Vec::new();
    for _ in 0..12 {
        s.outcomes = [ran("same\n", Exit::Code(0))].into();
        let text = s.call("Bash", r#"{"command":"echo same"}"#).content.text();
        let tail = text
            .split_once("\n\n<system-reminder>\n")
            .map(|(_, tail)| tail.split('.').next().unwrap_or_default().to_owned());
        tails.push(tail.map(|tail| tail.chars().take(30).collect::<String>()));
    }
    let (asked, last) = ("You have made the same tool ca", "Write your final answer now, a");
    let strict = "You have now made the same too";
    let expected = [
        None,
        None,
        Some(asked),
        Some(asked),
        Some(strict),
        Some(strict),
        Some(strict),
        Some(last),
        Some(last),
        Some(last),
        Some(last),
        Some(last),
    ];
    assert_eq!(tails, expected.map(|tail| tail.map(str::to_owned)));
    let again = reply(vec![Block::call(call("z", "Bash", r#"{"command":"echo other"}"#))], Stop::Calls);
    s.push(Body::Reply { reply: again.clone(), total: Usage::default() });
    assert!(matches!(KimiCode.read(&s.cx(), &again), Reading::Stop(End::GaveUp(_))));
}

#[test]
fn equal_calls_of_one_reply_run_once() {
    let mut s = stage(&[("a.txt", "x\n")]);
    let read = r#"{"path":"a.txt"}"#;
    let calls = [
        call("1", "Read", read),
        call("2", "Bash", r#"{"command":"x"}"#),
        call("3", "Read", r#"{ "path": "a.txt" }"#),
        call("4", "Read", r#"{"path":"b"}"#),
        call("5", "Grep", r#"{"pattern":"x"}"#),
    ];
    let blocks = calls.iter().cloned().map(Block::call).collect();
    let Reading::Calls { order, .. } = KimiCode.read(&s.cx(), &reply(blocks, Stop::Calls)) else { panic!() };
    let groups: Vec<Vec<&str>> =
        order.groups.iter().map(|group| group.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(groups, [vec!["1"], vec!["2"], vec!["3"], vec!["4", "5"]]);
    s.reply(&calls);
    let first = s.carry_out(&calls[0]);
    let twin = s.carry_out(&calls[2]);
    assert_eq!((first, s.did.len()), (twin, 0));
}
