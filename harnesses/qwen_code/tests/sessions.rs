//! Skills, agents, questions, plans, lists of tasks, and tools that are found first.
use pretty_assertions::assert_eq;

use super::*;

fn agent(id: &str, text: &str) -> Outcome {
    Outcome::Agent { id: id.into(), text: text.into(), usage: Usage::default(), work: Default::default() }
}

#[test]
fn skills_and_agents() {
    let mut s = stage(&[]);
    s.skills = vec![SkillInfo {
        name: "greet".into(),
        description: "d".into(),
        file: "/s/greet/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.outcomes = [Outcome::Skill {
        dir: "/s/greet".into(),
        body: "Say hello to $ARGUMENTS.".into(),
        arguments: Vec::new(),
        hint: None,
    }]
    .into();
    s.says("skill", json!({"skill": "greet", "args": "Ann"}), "Base directory for this skill: /s/greet\nImportant: ALWAYS resolve absolute paths from this base directory when working with skills.\n\nSay hello to Ann.");
    s.says("skill", json!({"skill": "nope"}), "Skill \"nope\" not found. Available skills: greet");
    s.says("skill", json!({}), "Parameter \"skill\" must be a non-empty string.");
    s.outcomes = [agent("t1", "Found it.")].into();
    s.says(
        "task",
        json!({"description": "look", "prompt": "x", "subagent_type": "Explore", "run_in_background": false}),
        "Found it.",
    );
    s.says(
        "agent",
        json!({"description": "look", "prompt": "x", "subagent_type": "nope"}),
        "Subagent \"nope\" not found. Available subagents: general-purpose, Explore",
    );
    s.says(
        "agent",
        json!({"description": "look", "prompt": "x", "isolation": "z"}),
        "Parameter \"isolation\" must be \"worktree\" when set.",
    );
    s.says(
        "agent",
        json!({"description": "look", "prompt": "x", "fork_turns": "all"}),
        "Parameter \"fork_turns\": an agent does not see this conversation here. …",
    );
    s.outcomes = [agent("t2", "")].into();
    s.says(
        "agent",
        json!({"description": "look", "prompt": "x"}),
        "Background agent launched successfully.\ntask_id: general-purpose-c8 (…",
    );
    assert!(QwenCode.waits_for_tasks(&s.cx()));
    s.said = vec![protocol::Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    s.push(Body::Notice(protocol::Notice::AgentReported { id: "t2".into(), text: "Done so.".into() }));
    let told = "<task-notification>\n<task-id>general-purpose-c8</task-id>\n<tool-use-id>c8</tool-use-id>\n<status>completed</status>\n<summary>Agent \"look\" completed.</summary>\n<remaining>0</remaining>\n<all-terminal>true</all-terminal>\n<result>Done so.</result>\n</task-notification>";
    assert_eq!(
        QwenCode.say(&s.cx(), &s.items[from..]),
        [protocol::Entry::User(Content::Parts(vec![Part::text(told)]))]
    );
    assert!(!QwenCode.waits_for_tasks(&s.cx()));
    s.says("task_stop", json!({"task_id": "general-purpose-c8"}), "agent is completed: general-purpose-c8");
}

#[test]
fn sub_agents_have_a_prompt_and_tools_of_their_own() {
    let mut s = stage(&[]);
    s.persona.name = "Explore".into();
    let names = |s: &Stage| QwenCode.open(&s.cx()).tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    assert_eq!(names(&s), ["read_file", "grep_search", "glob", "run_shell_command", "web_fetch", "skill"]);
    s.says(
        "agent",
        json!({"description": "x", "prompt": "y"}),
        "Tool \"agent\" not found. Tools must use the exact names provided.",
    );
    s.persona.name = "general-purpose".into();
    assert_eq!(
        names(&s),
        [
            "edit",
            "glob",
            "grep_search",
            "notebook_edit",
            "read_file",
            "run_shell_command",
            "skill",
            "task_stop",
            "web_fetch",
            "write_file"
        ]
    );
}

#[test]
fn tools_that_are_found_first() {
    let mut s = stage(&[]);
    s.says(
        "tool_search",
        json!({"query": "zzzz"}),
        "No tools found matching 'zzzz'. Try broader keywords or use `select:ToolName`.",
    );
    s.says("tool_search", json!({"query": "select:nope"}), "Not found: nope");
    s.says("tool_search", json!({"query": "select:task_stop"}), "<functions>\n<function>{\"name\":\"task_stop\",\"description\":\"Stops a background command or a background agent by its id.\",\"parametersJsonSchema\":{\"type\":\"object\",…");
    s.says("tool_search", json!({"query": "fetch page"}), "<functions>\n<function>{\"name\":\"web_fetch\",…");
    s.says("tool_call", json!({"name": "nope", "arguments": {}}), "[tool_call bridge refused] Deferred tool \"nope\" is not registered in this session. Run tool_search again to inspect the available tools.");
    s.says("tool_call", json!({"name": "read_file", "arguments": {}}), "[tool_call bridge refused] Tool \"read_file\" is already visible to the model or is not deferred. Call it directly instead of using tool_call.");
    s.says(
        "tool_call",
        json!({"name": "web_fetch"}),
        "[tool_call bridge refused] params must have required property 'arguments'",
    );
    let page = protocol::Page {
        url: "http://x/".into(),
        status: 200,
        mime: "text/html".into(),
        text: "# Hi".into(),
        truncated: false,
    };
    s.outcomes =
        [Outcome::Fetched(page), Outcome::Queried { text: "It greets.".into(), usage: Usage::default() }].into();
    s.says(
        "tool_call",
        json!({"name": "web_fetch", "arguments": {"url": "http://x/", "prompt": "what?"}}),
        "URL: http://x/\nStatus: 200 OK | Content-Type: text/html | Size: 4 bytes\n\nIt greets.",
    );
    s.outcomes = [Outcome::Failed(Failure::Other("no route".into()))].into();
    s.says(
        "web_fetch",
        json!({"url": "http://x/", "prompt": "what?"}),
        "Error during fetch for http://x/: fetch failed (cause: no route)",
    );
    s.says(
        "web_fetch",
        json!({"url": "ftp://x", "prompt": "what?"}),
        "The 'url' must be a valid URL starting with http:// or https://.",
    );
    s.says("web_fetch", json!({"url": "", "prompt": "what?"}), "The 'url' parameter cannot be empty.");
}

#[test]
fn questions_and_plans() {
    let mut s = stage(&[]);
    let question = json!({"questions": [{"question": "Which?", "header": "Pick", "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]});
    s.says("ask_user_question", question.clone(), "Tool \"ask_user_question\" not found in registry. …");
    s.settings.approval = ApprovalPolicy::OnRequest;
    let answers = protocol::Raw::of(&json!({"answers": {"0": {"answers": ["A"]}}}));
    s.outcomes = [Outcome::Answers(answers)].into();
    s.says("ask_user_question", question, "User has provided the following answers:\n\n**Pick**: A");
    s.outcomes = [Outcome::Ok].into();
    s.says("enter_plan_mode", json!({}), "Plan mode is on. …");
    let [Action::Session(Session::Mode(mode))] = s.did.as_slice() else { panic!("{:?}", s.did) };
    s.settings.mode = mode.clone();
    assert_eq!(s.settings.mode, Mode::Plan { file: "/home/u/.openinterpreter/plans/thread-1.md".into() });
    s.outcomes = [
        Outcome::Changed(Vec::new()),
        Outcome::PlanDecided { approved: false, feedback: Some("smaller".into()), file: None },
    ]
    .into();
    s.says(
        "exit_plan_mode",
        json!({"plan": "1. Do it"}),
        "Plan execution was not approved. Remaining in plan mode. The user says: smaller",
    );
    s.outcomes = [
        Outcome::Changed(Vec::new()),
        Outcome::PlanDecided { approved: true, feedback: None, file: Some("/p.md".into()) },
    ]
    .into();
    s.says(
        "exit_plan_mode",
        json!({"plan": "1. Do it", "originalRequest": "it"}),
        "User approved. You can now start coding. Start with updating your todo list if applicable.",
    );
    s.said = QwenCode.say(&s.cx(), &s.items);
    let plans = |entries: &[protocol::Entry]| {
        let calls = entries.iter().flat_map(|entry| match entry {
            protocol::Entry::Assistant(blocks) => blocks.clone(),
            _ => Vec::new(),
        });
        let args = calls.filter_map(|block| match block.kind {
            protocol::BlockKind::Call(call) if call.name == "exit_plan_mode" => Some(call.args),
            _ => None,
        });
        args.collect::<Vec<String>>()
    };
    assert_eq!(plans(&s.said), [r#"{"plan":"1. Do it"}"#, r#"{"plan":"1. Do it","originalRequest":"it"}"#]);
    let seen = plans(&QwenCode.view(&s.cx()).unwrap());
    assert_eq!(seen[0], r#"{"plan":"1. Do it"}"#);
    assert!(
        seen[1].starts_with(r#"{"plan":"[Plan approved and saved to /p.md. "#)
            && seen[1].ends_with(r#","originalRequest":"it"}"#),
        "{seen:?}"
    );
}

#[test]
fn lists_of_tasks_where_switched_on() {
    let mut s = stage(&[]);
    let todos = json!({"todos": [{"id": "1", "content": "x", "status": "pending"}]});
    s.says("todo_write", todos.clone(), "Tool \"todo_write\" is a built-in tool that is disabled by default. Enable it with the tools.todoWrite.enabled setting and restart Qwen Code.");
    s.settings.features.insert("tools.update_plan".into(), true);
    s.outcomes = [Outcome::Ok, Outcome::Ok].into();
    s.says("todo_write", todos, "Todos have been modified successfully. …");
    s.says("todo_write", json!({"todos": []}), "Todo list has been cleared.\n\n<system-reminder>\n…");
    s.says("todo_write", json!({"todos": "x"}), "Parameter \"todos\" must be an array.");
}
