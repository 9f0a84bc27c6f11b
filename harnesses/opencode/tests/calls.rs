//! Commands, searches, pages, steps, skills and agents; and calls that cannot be carried out.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn commands() {
    let mut s = stage(&[]);
    let timeout = |shown: &str| {
        format!(
            "{shown}\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 700 ms. If this command is expected to take longer and is not waiting for interactive input, retry with a larger timeout value in milliseconds.\n</shell_metadata>"
        )
    };
    let mut bash = |outcome: Outcome, expected: &str| {
        s.check_after(outcome, "bash", json!({"command": "x", "timeout": 700}), expected)
    };
    bash(ran("out\nerr\n", Exit::Code(3)), "out\nerr\n");
    bash(ran("", Exit::Code(0)), "(no output)");
    bash(ran("", Exit::Code(1)), "(no output)");
    bash(ran("start\n", Exit::TimedOut(700)), &timeout("start\n"));
    bash(ran("", Exit::TimedOut(700)), &timeout("(no output)"));
    bash(Outcome::Failed(Failure::Spawn { errno: 2, message: "no".into() }), "NotFound: FileSystem.access (/w)");
    bash(
        Outcome::Failed(Failure::Spawn { errno: 20, message: "no".into() }),
        "ENOTDIR: not a directory, posix_spawn '/bin/bash'",
    );
    bash(
        Outcome::Refused(Refusal::NobodyToAsk { escalation: false }),
        "The user rejected permission to use this specific tool call.",
    );
    bash(
        Outcome::Interrupted { output: Some(Captured::whole("a\n")) },
        "a\n\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>",
    );
    let many: String = (1..=2_000).map(|n| format!("{n}\n")).collect();
    let end = many.trim_start_matches("1\n");
    bash(ran(&many, Exit::Code(0)), &format!("...output truncated...\n\nFull output saved to: /s/out.txt\n\n{end}"));
    s.check("bash", json!({"command": ""}), "The argument 'file' cannot be empty. Received ''");
    s.check_after(ran("x", Exit::Code(0)), "bash", json!({"command": "pwd", "workdir": "sub"}), "x");
    let [Action::World(World::Run(run))] = s.did.as_slice() else { panic!("{:?}", s.did) };
    assert_eq!((run.cwd.as_deref(), run.timeout), (Some(Path::new("/w/sub")), Some(120_000)));
}

fn found(paths: &[&str], more: bool) -> Outcome {
    let hit = |path: &&str| Hit { path: path.into(), ..Hit::default() };
    Outcome::Paths(Found { hits: paths.iter().map(hit).collect(), more })
}

#[test]
fn searches() {
    let mut s = stage(&[]);
    let io = |path: &str| Outcome::Failed(Failure::Io { path: path.into(), errno: 2, message: "no".into() });
    let glob = json!({"pattern": "*"});
    s.check_after(found(&["/w/a.py", "/w/b/c.py"], false), "glob", glob.clone(), "/w/a.py\n/w/b/c.py");
    s.check_after(found(&["/w/.env", "/w/.hidden/h.py"], false), "glob", glob.clone(), "/w/.env");
    s.check_after(found(&[], false), "glob", glob.clone(), "No files found");
    s.check_after(io("/w"), "glob", glob.clone(), "ripgrep execution failed");
    s.check_after(
        Outcome::Failed(Failure::NotAFile { path: "/w/a".into(), kind: FileKind::File }),
        "glob",
        json!({"pattern": "*", "path": "a"}),
        "glob path must be a directory: /w/a",
    );
    let many: Vec<String> = (0..130).map(|n| format!("/w/f{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    s.outcomes.push_back(found(&many, false));
    let text = s.call("glob", &glob.to_string()).content.text();
    assert!(text.ends_with(
        "/w/f99\n\n(Results are truncated: showing first 100 results. Consider using a more specific path or pattern.)"
    ));

    let hit = |path: &str, lines: &[(u64, &str)]| Hit {
        path: path.into(),
        lines: lines.iter().map(|(n, text)| (*n, (*text).to_owned(), false)).collect(),
        ..Hit::default()
    };
    let two = vec![hit("/w/a.txt", &[(1, "line foo"), (3, "foo again")]), hit("/w/b.py", &[(1, "foo")])];
    let text = "matches\n/w/a.txt:\n  Line 1: line foo\n\n  Line 3: foo again\n\n\n/w/b.py:\n  Line 1: foo\n";
    let grep = json!({"pattern": "foo"});
    s.check_after(
        Outcome::Matches(Found { hits: two.clone(), more: false }),
        "grep",
        grep.clone(),
        &format!("Found 3 {text}"),
    );
    let more = text.replace("matches\n", "matches (more matches available)\n");
    s.check_after(
        Outcome::Matches(Found { hits: two, more: true }),
        "grep",
        grep.clone(),
        &format!("Found 3 {more}\n\n(Results truncated. Consider using a more specific path or pattern.)"),
    );
    s.check_after(Outcome::Matches(Found::default()), "grep", grep.clone(), "No files found");
    s.check("grep", json!({"pattern": ""}), "pattern is required");
    s.check_after(
        Outcome::Failed(Failure::Other("regex parse error:\n    (?:()\n    ^\nerror: unclosed group".into())),
        "grep",
        json!({"pattern": "("}),
        "rg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group",
    );
    s.check_after(
        Outcome::Failed(Failure::Other("the literal \"\\n\" is not allowed in a regex".into())),
        "grep",
        json!({"pattern": "a\\nb"}),
        "No files found",
    );
}

#[test]
fn steps_skills_and_agents() {
    let mut s = stage(&[("sk/SKILL.md", ""), ("sk/run.py", "")]);
    let todos = json!({"todos": [{"content": "do x", "status": "weird", "priority": "high", "id": "1"}, {"content": "y", "status": "cancelled", "priority": "low"}]});
    s.check(
        "todowrite",
        todos,
        "[\n  {\n    \"content\": \"do x\",\n    \"status\": \"weird\",\n    \"priority\": \"high\"\n  },\n  {\n    \"content\": \"y\",\n    \"status\": \"cancelled\",\n    \"priority\": \"low\"\n  }\n]",
    );
    let step = |step: &str, status| PlanStep { step: step.into(), status };
    let steps = vec![step("do x", PlanStatus::Pending), step("y", PlanStatus::Completed)];
    assert_eq!(s.did, [Action::Session(Session::Plan { steps, explanation: None })]);
    s.check("todowrite", json!({"todos": []}), "[]");

    s.check("skill", json!({"name": "x"}), "Skill \"x\" not found. Available skills: none");
    s.skills = vec![SkillInfo {
        name: "foo".into(),
        description: "d".into(),
        file: "/w/sk/SKILL.md".into(),
        scope: "user".into(),
    }];
    s.check("skill", json!({"name": "Foo"}), "Skill \"Foo\" not found. Available skills: foo");
    s.check_after(
        Outcome::Skill { dir: "/w/sk".into(), body: "\nBody\n".into(), arguments: Vec::new(), hint: None },
        "skill",
        json!({"name": "foo"}),
        "<skill_content name=\"foo\">\n# Skill: foo\n\nBody\n\nBase directory for this skill: /w/sk\nPaths in it that are not absolute (scripts/, say) start in that directory.\nNote: not every file may be listed.\n\n<skill_files>\n<file>/w/sk/run.py</file>\n</skill_files>\n</skill_content>",
    );

    let task = |kind: &str| json!({"description": "look", "prompt": "Look", "subagent_type": kind});
    s.check("task", task("nope"), "Unknown agent type: nope is not a valid agent type");
    s.check_after(
        Outcome::Agent {
            id: "ses_1".into(),
            text: "found it".into(),
            usage: Usage::default(),
            work: Default::default(),
        },
        "task",
        task("explore"),
        "<task id=\"ses_1\" state=\"completed\">\n<task_result>\nfound it\n</task_result>\n</task>",
    );
}

#[test]
fn pages() {
    let mut s = stage(&[]);
    let page = |status: u16, mime: &str, text: &str| {
        Outcome::Fetched(Page {
            url: "http://h/x".into(),
            status,
            mime: mime.into(),
            text: text.into(),
            truncated: false,
        })
    };
    let url = json!({"url": "http://h/x"});
    s.check("webfetch", json!({"url": "ftp://x"}), "URL must start with http:// or https://");
    s.check_after(page(200, "text/html", "# T"), "webfetch", url.clone(), "# T");
    s.check_after(
        page(200, "text/html", "<h1>T</h1> &amp; x"),
        "webfetch",
        json!({"url": "http://h/x", "format": "text"}),
        "T & x",
    );
    s.check_after(
        page(404, "text/html", "no"),
        "webfetch",
        url.clone(),
        "StatusCode: non 2xx status code (404 GET http://h/x)",
    );
    s.check_after(
        Outcome::Failed(Failure::Other("refused".into())),
        "webfetch",
        url.clone(),
        "Transport error (GET http://h/x)",
    );
    s.outcomes.push_back(page(200, "text/plain", &"r\n".repeat(3_000)));
    let text = s.call("webfetch", &url.to_string()).content.text();
    assert!(text.contains("\n\n...1001 lines truncated...\n\nThe tool call succeeded but the output was truncated. Full output saved to: /s/out.txt\n"), "{text}");
}

#[test]
fn bad_calls() {
    let mut s = stage(&[]);
    let mut schema = |name: &str, args: &str, reason: &str| {
        let expected = format!(
            "The {name} tool was called with invalid arguments: SchemaError({reason}).\nPlease rewrite the input so it satisfies the expected schema."
        );
        assert_eq!(s.call(name, args).content.text(), expected, "{args}");
    };
    schema("read", "", "Missing key\n  at [\"filePath\"]");
    schema("read", "[]", "Expected object, got []");
    schema("read", "\"x\"", "Expected object, got \"x\"");
    schema("read", r#"{"filePath":null}"#, "Expected string, got null\n  at [\"filePath\"]");
    schema("read", r#"{"filePath":"a","offset":"2"}"#, "Expected number | undefined, got \"2\"\n  at [\"offset\"]");
    schema(
        "read",
        r#"{"filePath":"a","offset":-1}"#,
        "Expected a value greater than or equal to 0, got -1\n  at [\"offset\"]",
    );
    schema("read", r#"{"filePath":"a","offset":1.5}"#, "Expected an integer, got 1.5\n  at [\"offset\"]");
    schema("bash", r#"{"command":"x","timeout":0}"#, "Expected a value greater than 0, got 0\n  at [\"timeout\"]");
    schema("bash", r#"{"command":{"a":1}}"#, "Expected string, got {\"a\":1}\n  at [\"command\"]");
    schema("edit", r#"{"filePath":"a"}"#, "Missing key\n  at [\"oldString\"]");
    schema(
        "edit",
        r#"{"filePath":"a","oldString":"a","newString":"b","replaceAll":"true"}"#,
        "Expected boolean | undefined, got \"true\"\n  at [\"replaceAll\"]",
    );
    schema("todowrite", r#"{"todos":"x"}"#, "Expected array, got \"x\"\n  at [\"todos\"]");
    schema("todowrite", r#"{"todos":[{"content":"a"}]}"#, "Missing key\n  at [\"todos\"][0][\"status\"]");
    schema(
        "webfetch",
        r#"{"url":"x","format":"pdf"}"#,
        "Expected \"text\" | \"markdown\" | \"html\", got \"pdf\"\n  at [\"format\"]",
    );
    schema("task", r#"{"description":"d"}"#, "Missing key\n  at [\"prompt\"]");

    let mut invalid = |name: &str, args: &str, error: &str| {
        assert_eq!(
            s.call(name, args).content.text(),
            format!("The arguments provided to the tool are invalid: {error}")
        );
        let echo = Opencode.echo(&s.cx(), &call("c", name, args));
        assert_eq!((echo.name.as_str(), echo.args), ("invalid", json!({"tool": name, "error": error}).to_string()));
    };
    let all = "Available tools: bash, edit, glob, grep, invalid, read, skill, task, todowrite, webfetch, write.";
    invalid("list", "{}", &format!("Model tried to call unavailable tool 'list'. {all}"));
    invalid("", "{}", &format!("Model tried to call unavailable tool ''. {all}"));
    invalid(
        "read",
        "not json",
        "Invalid input for tool read: JSON parsing failed: Text: not json.\nError message: JSON Parse error: Unexpected identifier \"not\"",
    );
    s.check("invalid", json!({"tool": "x", "error": "y"}), "The arguments provided to the tool are invalid: y");

    let echo = |name: &str, args: &str| {
        let echo = Opencode.echo(&s.cx(), &call("c", name, args));
        (echo.name, echo.args)
    };
    assert_eq!(echo("READ", r#"{"filePath": "a"}"#), ("read".into(), r#"{"filePath":"a"}"#.into()));
    assert_eq!(echo("read", ""), ("read".into(), "{}".into()));
    assert_eq!(echo("read", "5"), ("read".into(), r#"{"value":5}"#.into()));
}

#[test]
fn tools_from_outside() {
    let mut s = stage(&[]);
    s.extra = vec![Tool {
        namespace: None,
        name: "mcp__db__query".into(),
        description: "d".into(),
        kind: ToolKind::Function(Raw::null()),
        strict: None,
        deferred: false,
    }];
    let mcp = |error: bool| Outcome::Mcp {
        content: Raw::of(&json!([{"type": "text", "text": "1"}, {"type": "text", "text": "2"}])),
        structured: None,
        error,
    };
    s.check_after(mcp(false), "mcp__db__query", json!({"q": 1}), "1\n2");
    let asked = Session::Mcp { server: "db".into(), tool: "query".into(), args: Raw::of(&json!({"q": 1})) };
    assert_eq!(s.did, [Action::Session(asked)]);
    s.outcomes.push_back(mcp(true));
    assert_eq!(s.call("mcp__db__query", "").error, Some(true));
    let text = s.call("mcp__db__query", "{").content.text();
    assert!(text.ends_with("Error message: JSON Parse error: Expected '}'"), "{text}");
    assert_eq!(Opencode.echo(&s.cx(), &call("c", "bash", "{}")).form, CallForm::Function);
}
