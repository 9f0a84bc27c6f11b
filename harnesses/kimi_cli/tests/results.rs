//! Results, case by case as recorded.
use pretty_assertions::assert_eq;
use protocol::{
    Action, Blob, ChangeDone, ChangeKind, Content, FileKind, Found, Hit, New, Page, Raw, Refusal, Session, TaskId,
    TaskInfo, World,
};
use serde_json::{Value, json};

use super::*;

fn content(expected: &[&str]) -> Content {
    match expected {
        [one] => Content::Plain((*one).to_owned()),
        several => Content::Parts(several.iter().map(|text| Part::text(*text)).collect()),
    }
}

fn check(name: &str, args: Value, outcomes: &[Outcome], expected: &[&str]) {
    let (_, answer) = Stage::new().run(&call(name, args.clone()), outcomes);
    assert_eq!(answer.content, content(expected), "{name} {args}");
    let failed = expected[0].starts_with("<system>ERROR: ");
    assert_eq!(answer.error, failed.then_some(true), "{name} {args}");
}

fn changed() -> Outcome {
    let stamp = Some(stamp());
    let done = ChangeDone { path: "/w/a.txt".into(), to: None, kind: ChangeKind::Update, diff: String::new(), stamp };
    Outcome::Changed(vec![done])
}

fn stat(kind: FileKind) -> Outcome {
    Outcome::Stat { kind, stamp: stamp(), link: None }
}

fn folder(path: &str) -> Outcome {
    Outcome::Failed(Failure::NotAFile { path: path.into(), kind: FileKind::Folder })
}

fn hit(path: &str) -> Hit {
    Hit { path: path.into(), ..Hit::default() }
}

fn found(paths: &[&str]) -> Outcome {
    Outcome::Paths(Found { hits: paths.iter().map(|path| hit(path)).collect(), more: false })
}

#[test]
fn commands() {
    let shell = |command: &str, outcome: Outcome, expected: &[&str]| {
        check("Shell", json!({"command": command}), &[outcome], expected)
    };
    shell("true", ran("", 0), &["<system>Command executed successfully.</system>"]);
    shell(
        "echo out; exit 3",
        ran("out\nerr\n", 3),
        &["<system>ERROR: Command failed with exit code: 3.</system>", "out\nerr\n"],
    );
    shell("exit 7", ran("", 7), &["<system>ERROR: Command failed with exit code: 7.</system>"]);
    shell("printf abc", ran("abc", 0), &["<system>Command executed successfully.</system>", "abc"]);
    shell("echo hi", ran("hi\n", 0), &["<system>Command executed successfully.</system>", "hi\n"]);
    let timed_out = Outcome::Ran {
        output: Captured::default(),
        exit: Exit::TimedOut(1_000),
        cwd_after: None,
        task: None,
        left: false,
    };
    check(
        "Shell",
        json!({"command": "sleep 3", "timeout": 1}),
        &[timed_out],
        &["<system>ERROR: Command killed by timeout (1s)</system>"],
    );
    check("Shell", json!({"command": ""}), &[], &["<system>ERROR: Command cannot be empty.</system>"]);
    let long = format!("{}\n", "x".repeat(5_000));
    let cut = format!("{}[...truncated]\n", "x".repeat(1_985));
    shell(
        "x",
        ran(&long, 0),
        &["<system>Command executed successfully. Output is truncated to fit in the message.</system>", &cut],
    );
    check(
        "Shell",
        json!({"command": "echo x", "foo": 1}),
        &[ran("x\n", 0)],
        &["<system>Command executed successfully.</system>", "x\n"],
    );
    shell(
        "touch z1",
        Outcome::Refused(Refusal::User { feedback: None }),
        &[
            "<system>ERROR: The tool call is rejected by the user. Stop what you are doing and wait for the user to tell you how to proceed.</system>",
        ],
    );
    shell(
        "touch z1",
        Outcome::Refused(Refusal::User { feedback: Some("no".into()) }),
        &["<system>ERROR: The tool call is rejected by the user. User feedback: no</system>"],
    );
}

#[test]
fn arguments_are_checked_in_pydantics_words() {
    let head = "<system>ERROR: Error validating JSON arguments: 1 validation error for Params\n";
    let wrong = |name: &str, args: Value, what: &str, kind: &str| {
        let text = format!(
            "{head}{what}\n    For further information visit https://errors.pydantic.dev/2.12/v/{kind}</system>"
        );
        check(name, args, &[], &[&text]);
    };
    wrong(
        "Shell",
        json!({"command": "echo a", "timeout": 400}),
        "  Value error, timeout must be <= 300s for foreground commands; use run_in_background=true for longer timeouts (up to 86400s) [type=value_error, input_value={'command': 'echo a', 'timeout': 400}, input_type=dict]",
        "value_error",
    );
    wrong(
        "Shell",
        json!({"command": 5}),
        "command\n  Input should be a valid string [type=string_type, input_value=5, input_type=int]",
        "string_type",
    );
    wrong("Shell", json!({}), "command\n  Field required [type=missing, input_value={}, input_type=dict]", "missing");
    wrong("Shell", json!(""), "command\n  Field required [type=missing, input_value={}, input_type=dict]", "missing");
    wrong(
        "Shell",
        json!("[1]"),
        "  Input should be a valid dictionary or instance of Params [type=model_type, input_value=[1], input_type=list]",
        "model_type",
    );
    wrong(
        "Shell",
        json!({"command": "sleep 30", "run_in_background": true}),
        "  Value error, description is required when run_in_background is true [type=value_error, input_value={'command': 'sleep 30', 'run_in_background': True}, input_type=dict]",
        "value_error",
    );
    wrong(
        "ReadFile",
        json!({"path": "a.txt", "line_offset": 0}),
        "  Value error, line_offset cannot be 0; use 1 for the first line or -1 for the last line [type=value_error, input_value={'path': 'a.txt', 'line_offset': 0}, input_type=dict]",
        "value_error",
    );
    wrong(
        "WriteFile",
        json!({"path": "x.txt", "content": "more", "mode": "bad"}),
        "mode\n  Input should be 'overwrite' or 'append' [type=literal_error, input_value='bad', input_type=str]",
        "literal_error",
    );
    wrong(
        "StrReplaceFile",
        json!({"path": "a.txt"}),
        "edit\n  Field required [type=missing, input_value={'path': 'a.txt'}, input_type=dict]",
        "missing",
    );
    wrong(
        "SetTodoList",
        json!({"todos": [{"title": "x", "status": "bad"}]}),
        "todos.0.status\n  Input should be 'pending', 'in_progress' or 'done' [type=literal_error, input_value='bad', input_type=str]",
        "literal_error",
    );
    check(
        "Shell",
        json!("{\"command\": \"echo"),
        &[],
        &[
            "<system>ERROR: Error parsing JSON arguments: Unterminated string starting at: line 1 column 13 (char 12)</system>",
        ],
    );
    check("NoTool", json!({"a": 1}), &[], &["<system>ERROR: Tool `NoTool` not found</system>"]);
    check("SearchWeb", json!({"query": "q"}), &[], &["<system>ERROR: Tool `SearchWeb` not found</system>"]);
    // What pydantic converts is converted.
    check(
        "ReadFile",
        json!({"path": "a", "n_lines": "1"}),
        &[file("x\n")],
        &["<system>1 lines read from file starting from line 1. Total lines in file: 1.</system>", "     1\tx\n"],
    );
    // Several at once; long values are shortened.
    let (_, answer) =
        Stage::new().run(&call("AskUserQuestion", json!({"questions": [{"options": ["a", {"label": 1}]}]})), &[]);
    let text = answer.content.text();
    for part in [
        "3 validation errors for Params\nquestions.0.question\n  Field required",
        "\nquestions.0.options.0\n  Input should be a valid dictionary or instance of QuestionOptionParam [type=model_type, input_value='a', input_type=str]",
        "\nquestions.0.options.1.label\n  Input should be a valid string",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn background_tasks() {
    let mut stage = Stage::new();
    let args = json!({"command": "echo bg; sleep 3", "run_in_background": true, "description": "bg job"});
    let running = |text: &str, exit| Outcome::Ran {
        output: Captured::whole(text),
        exit,
        cwd_after: None,
        task: Some(TaskId(7)),
        left: false,
    };
    let text = stage.step("Shell", args, &[running("", Exit::Running)]);
    let name = "bash-10000000";
    let fields = |status: &str| {
        format!("task_id: {name}\nkind: bash\nstatus: {status}\ndescription: bg job\ncommand: echo bg; sleep 3")
    };
    let start = format!(
        "<system>Background task started.</system>\n{}\nautomatic_notification: true\nnext_step: ",
        fields("starting")
    );
    assert!(text.starts_with(&start) && text.contains("\nhuman_shell_hint: "), "{text}");
    assert_eq!(text.matches("\nnext_step: ").count(), 3);
    let check = |stage: &Stage, name: &str, args: Value, outcome: Option<Outcome>, expected: &[&str]| {
        let (_, answer) = stage.run(&call(name, args), outcome.as_slice());
        assert_eq!(answer.content, content(expected), "{name}");
    };
    let infos = vec![TaskInfo {
        task: TaskId(7),
        command: "echo bg; sleep 3".into(),
        exit: Exit::Running,
        started: 0,
        pid: None,
        log: None,
    }];
    let list = format!("active_background_tasks: 1\n\n[1]\n{}", fields("running"));
    check(
        &stage,
        "TaskList",
        json!({}),
        Some(Outcome::Tasks(infos)),
        &["<system>Task list retrieved.</system>", &list],
    );
    let snapshot = format!(
        "retrieval_status: not_ready\n{}\ninterrupted: false\ntimed_out: false\nterminal_reason: running\n\noutput_size_bytes: 0\noutput_preview_bytes: 0\noutput_truncated: false\n\nfull_output_available: false\nfull_output_tool: ReadFile\nfull_output_hint: No output file is currently available for this task.\n\n[output]\n[no output available]",
        fields("running")
    );
    check(
        &stage,
        "TaskOutput",
        json!({"task_id": name}),
        Some(running("", Exit::Running)),
        &["<system>Task snapshot retrieved.</system>", &snapshot],
    );
    check(
        &stage,
        "TaskStop",
        json!({"task_id": name}),
        Some(running("", Exit::Stopped)),
        &["<system>Task stop requested.</system>", &fields("killed")],
    );
    for tool in ["TaskOutput", "TaskStop"] {
        check(&stage, tool, json!({"task_id": "nope"}), None, &["<system>ERROR: Task not found: nope</system>"]);
    }
}

#[test]
fn reading() {
    let read = |args: Value, text: &str, expected: &[&str]| check("ReadFile", args, &[file(text)], expected);
    let a = "alpha\nbeta\ngamma\nbeta\n";
    let path = |path: &str| json!({"path": path});
    read(
        path("a.txt"),
        a,
        &[
            "<system>4 lines read from file starting from line 1. Total lines in file: 4. End of file reached.</system>",
            "     1\talpha\n     2\tbeta\n     3\tgamma\n     4\tbeta\n",
        ],
    );
    read(
        path("nonl.txt"),
        "one\ntwo",
        &[
            "<system>2 lines read from file starting from line 1. Total lines in file: 2. End of file reached.</system>",
            "     1\tone\n     2\ttwo",
        ],
    );
    read(
        path("crlf.txt"),
        "x\r\ny\r\n",
        &[
            "<system>2 lines read from file starting from line 1. Total lines in file: 2. End of file reached.</system>",
            "     1\tx\n     2\ty\n",
        ],
    );
    read(
        path("empty.txt"),
        "",
        &["<system>No lines read from file. Total lines in file: 0. End of file reached.</system>"],
    );
    let long = format!("{}\nend\n", "L".repeat(3_000));
    let cut = format!("     1\t{}...\n     2\tend\n", "L".repeat(1_996));
    read(
        path("long.txt"),
        &long,
        &[
            "<system>2 lines read from file starting from line 1. Total lines in file: 2. End of file reached. Lines [1] were truncated.</system>",
            &cut,
        ],
    );
    let many: String = (0..1_500).map(|n| format!("x = {n}\n")).collect();
    let shown: String = (0..1_000).map(|n| format!("{:6}\tx = {n}\n", n + 1)).collect();
    read(
        path("many.py"),
        &many,
        &["<system>1000 lines read from file starting from line 1. Total lines in file: 1500.</system>", &shown],
    );
    read(
        json!({"path": "a.txt", "line_offset": 2, "n_lines": 1}),
        a,
        &["<system>1 lines read from file starting from line 2. Total lines in file: 4.</system>", "     2\tbeta\n"],
    );
    read(
        json!({"path": "a.txt", "line_offset": -2}),
        a,
        &[
            "<system>2 lines read from file starting from line 3. Total lines in file: 4. End of file reached.</system>",
            "     3\tgamma\n     4\tbeta\n",
        ],
    );
    read(
        json!({"path": "a.txt", "line_offset": 9}),
        a,
        &["<system>No lines read from file. Total lines in file: 4. End of file reached.</system>"],
    );
    read(
        path("latin.txt"),
        "caf\u{fffd} ok\n",
        &[
            "<system>1 lines read from file starting from line 1. Total lines in file: 1. End of file reached.</system>",
            "     1\tcaf\u{fffd} ok\n",
        ],
    );
    read(
        path("/etc/hostname"),
        "vm\n",
        &[
            "<system>1 lines read from file starting from line 1. Total lines in file: 1. End of file reached.</system>",
            "     1\tvm\n",
        ],
    );
    read(
        path("p.png"),
        "\u{fffd}PNG\0",
        &["<system>ERROR: `p.png` is a image file. Use other appropriate tools to read image or video files.</system>"],
    );
    check(
        "ReadFile",
        path("nope.txt"),
        &[missing("/w/nope.txt")],
        &["<system>ERROR: `nope.txt` does not exist.</system>"],
    );
    check("ReadFile", path("sub"), &[folder("/w/sub")], &["<system>ERROR: `sub` is not a file.</system>"]);
    check(
        "ReadFile",
        path(".env"),
        &[],
        &[
            "<system>ERROR: `.env` appears to contain secrets (matched sensitive file pattern). Reading this file is blocked to protect credentials.</system>",
        ],
    );
    check(
        "ReadFile",
        path("../x"),
        &[],
        &[
            "<system>ERROR: `../x` is not an absolute path. You must provide an absolute path to read a file outside the working directory.</system>",
        ],
    );
    check("ReadFile", path(""), &[], &["<system>ERROR: File path cannot be empty.</system>"]);
    let (_, answer) = Stage::new().run(&call("ReadFile", path("bin.dat")), &[file("a\0b")]);
    assert!(answer.content.text().starts_with("<system>ERROR: `bin.dat` seems not readable. "));
}

#[test]
fn media() {
    let blob = Blob::new("b", "image/png", vec![0_u8; 4]);
    let seen = Outcome::Media {
        blob: blob.clone(),
        original: Some((1, 1)),
        shown: Some((1, 1)),
        stamp: protocol::Stamp { len: 70, ..stamp() },
    };
    let (_, answer) = Stage::new().run(&call("ReadMediaFile", json!({"path": "p.png"})), &[seen]);
    let Content::Parts(parts) = answer.content else { panic!() };
    let Part::Text(message) = &parts[0] else { panic!() };
    assert!(
        message.starts_with("<system>Loaded image file `/w/p.png` (image/png, 70 bytes, original size 1x1px). "),
        "{message}"
    );
    let image = Part::Image { blob, detail: None };
    assert_eq!(parts[1..], [Part::text("<image path=\"/w/p.png\">"), image, Part::text("</image>")]);
    let text = Outcome::Failed(Failure::BadImage { path: "/w/a.txt".into(), detected: None });
    check(
        "ReadMediaFile",
        json!({"path": "a.txt"}),
        &[text],
        &["<system>ERROR: `a.txt` is a text file. Use ReadFile to read text files.</system>"],
    );
    check(
        "ReadMediaFile",
        json!({"path": "nope.png"}),
        &[missing("/w/nope.png")],
        &["<system>ERROR: `nope.png` does not exist.</system>"],
    );
}

#[test]
fn writing() {
    let folder_there = stat(FileKind::Folder);
    let write = |args: Value, outcomes: &[Outcome], expected: &str| check("WriteFile", args, outcomes, &[expected]);
    write(
        json!({"path": "new/x.txt", "content": "h"}),
        &[missing("/w/new"), missing("/w/new/x.txt")],
        "<system>ERROR: `new/x.txt` parent directory does not exist.</system>",
    );
    write(
        json!({"path": "x.txt", "content": "héllo\n"}),
        &[folder_there.clone(), missing("/w/x.txt"), changed()],
        "<system>File successfully overwritten. Current size: 7 bytes.</system>",
    );
    let seven =
        Outcome::Text { text: "héllo\n".into(), form: TextForm::default(), stamp: Stamp { len: 7, ..stamp() } };
    write(
        json!({"path": "x.txt", "content": "more", "mode": "append"}),
        &[folder_there.clone(), seven, changed()],
        "<system>File successfully appended to. Current size: 11 bytes.</system>",
    );
    let directory = Outcome::Failed(Failure::Io { path: "/w/sub".into(), errno: 21, message: "Is a directory".into() });
    write(
        json!({"path": "sub", "content": "x"}),
        &[folder_there.clone(), stat(FileKind::Folder), directory],
        "<system>ERROR: Failed to write to sub. Error: [Errno 21] Is a directory: '/w/sub'</system>",
    );
    write(
        json!({"path": "../../out.txt", "content": "x"}),
        &[],
        "<system>ERROR: `../../out.txt` is not an absolute path. You must provide an absolute path to write a file outside the working directory.</system>",
    );
    write(
        json!({"path": "/o/outside.txt", "content": "x"}),
        &[folder_there.clone(), missing("/o/outside.txt"), changed()],
        "<system>File successfully overwritten. Current size: 1 bytes.</system>",
    );
    write(
        json!({"path": ".env", "content": "x"}),
        &[folder_there.clone(), missing("/w/.env"), changed()],
        "<system>File successfully overwritten. Current size: 1 bytes.</system>",
    );
    let plan = Outcome::Refused(Refusal::PlanMode { file: "/h/plan.md".into() });
    write(
        json!({"path": "zz.txt", "content": "1"}),
        &[folder_there, missing("/w/zz.txt"), plan],
        "<system>ERROR: Plan mode is active. You may only edit the current plan file: `/h/plan.md`.</system>",
    );
}

#[test]
fn replacing() {
    let a = "alpha\nbeta\ngamma\nbeta\n";
    let edit = |edit: Value, expected: &str| {
        let done = !expected.contains("ERROR");
        let outcomes = [file(a), changed()];
        check(
            "StrReplaceFile",
            json!({"path": "a.txt", "edit": edit}),
            &outcomes[..1 + usize::from(done)],
            &[expected],
        );
    };
    edit(
        json!({"old": "alpha", "new": "ALPHA"}),
        "<system>File successfully edited. Applied 1 edit(s) with 1 total replacement(s).</system>",
    );
    edit(
        json!({"old": "beta", "new": "B"}),
        "<system>File successfully edited. Applied 1 edit(s) with 1 total replacement(s).</system>",
    );
    edit(
        json!({"old": "beta", "new": "C", "replace_all": true}),
        "<system>File successfully edited. Applied 1 edit(s) with 2 total replacement(s).</system>",
    );
    edit(
        json!({"old": "zzz", "new": "B"}),
        "<system>ERROR: No replacements were made. The old string was not found in the file.</system>",
    );
    edit(
        json!([{"old": "gamma", "new": "G"}, {"old": "alpha", "new": "D"}]),
        "<system>File successfully edited. Applied 2 edit(s) with 2 total replacement(s).</system>",
    );
    check(
        "StrReplaceFile",
        json!({"path": "nope.txt", "edit": {"old": "a", "new": "b"}}),
        &[missing("/w/nope.txt")],
        &["<system>ERROR: `nope.txt` does not exist.</system>"],
    );
    check(
        "StrReplaceFile",
        json!({"path": "sub", "edit": {"old": "a", "new": "b"}}),
        &[folder("/w/sub")],
        &["<system>ERROR: `sub` is not a file.</system>"],
    );
    // Only what differs is written, with the line ends of the file.
    let args = json!({"path": "a.txt", "edit": {"old": "x\ny", "new": "x\nz\ny"}});
    let (did, _) = Stage::new().run(&call("StrReplaceFile", args), &[file("a\r\nx\r\ny\r\n"), changed()]);
    let Action::World(World::Change(changes)) = &did[1].action else { panic!() };
    assert_eq!(changes[0].new, New::Splices(vec![(6..6, "z\r\n".into())]));
}

#[test]
fn globs() {
    let glob = |args: Value, outcomes: &[Outcome], expected: &[&str]| check("Glob", args, outcomes, expected);
    glob(
        json!({"pattern": "sub/**/*.py"}),
        &[found(&["/w/sub/deep/b.py"])],
        &["<system>Found 1 matches for pattern `sub/**/*.py`.</system>", "sub/deep/b.py"],
    );
    glob(json!({"pattern": "*.nope"}), &[found(&[])], &["<system>No matches found for pattern `*.nope`.</system>"]);
    glob(
        json!({"pattern": "*", "directory": "/nodir"}),
        &[],
        &[
            "<system>ERROR: `/nodir` is outside the workspace. You can only search within the working directory, additional directories, and skills directories.</system>",
        ],
    );
    glob(
        json!({"pattern": "*", "directory": "sub"}),
        &[],
        &["<system>ERROR: `sub` is not an absolute path. You must provide an absolute path to search.</system>"],
    );
    let mut hits: Vec<Hit> = ["/w/a.txt", "/w/sub", "/w/sub/b.py"].map(hit).to_vec();
    hits[1].kind = FileKind::Folder;
    let listed = Outcome::Paths(Found { hits, more: false });
    let (did, answer) = Stage::new().run(&call("Glob", json!({"pattern": "**/*.py"})), &[listed]);
    assert!(matches!(&did[0].action, Action::World(World::List { depth: 2, .. })));
    let Content::Parts(parts) = answer.content else { panic!() };
    assert!(parts[0].as_text().is_some_and(|text| {
        text.starts_with("<system>ERROR: Pattern `**/*.py` starts with '**' which is not allowed. ")
    }));
    assert_eq!(parts[1], Part::text("├── sub/\n│   └── b.py\n└── a.txt"));
    let (did, _) = Stage::new().run(&call("Glob", json!({"pattern": "*", "include_dirs": false})), &[found(&[])]);
    let Action::World(World::Glob(search)) = &did[0].action else { panic!() };
    assert_eq!(
        (search.pattern.as_str(), search.folders, search.hidden, search.respect_ignore),
        ("./*", false, true, false)
    );
}

#[test]
fn greps() {
    let lines = |path: &str, lines: &[(u64, &str, bool)]| {
        let lines = lines.iter().map(|(n, text, context)| (*n, (*text).to_owned(), *context)).collect();
        Hit { lines, ..hit(path) }
    };
    let grep = |args: Value, hits: Vec<Hit>, expected: &[&str]| {
        check("Grep", args, &[Outcome::Matches(Found { hits, more: false })], expected);
    };
    let b = || lines("/w/sub/deep/b.py", &[(1, "def beta():", false)]);
    grep(json!({"pattern": "beta"}), vec![b()], &["./sub/deep/b.py"]);
    grep(json!({"pattern": "def", "output_mode": "content"}), vec![b()], &["./sub/deep/b.py:1:def beta():"]);
    grep(
        json!({"pattern": "def", "output_mode": "content", "-n": false, "path": "sub"}),
        vec![lines("/w/sub/x", &[(1, "def", false)])],
        &["sub/x:def"],
    );
    let around = lines("/w/sub/deep/b.py", &[(1, "def beta():", false), (2, "    return 1", true)]);
    grep(
        json!({"pattern": "def", "output_mode": "content", "-n": true, "-C": 1}),
        vec![around],
        &["./sub/deep/b.py:1:def beta():\n./sub/deep/b.py-2-    return 1"],
    );
    let counted = vec![lines("/w/a", &[(1, "eel", false), (3, "e", false)]), lines("/w/b", &[(1, "e", false)])];
    grep(
        json!({"pattern": "e", "output_mode": "count_matches"}),
        counted,
        &["<system>Found 4 total occurrences across 2 files.</system>", "./a:3\n./b:1"],
    );
    grep(json!({"pattern": "nomatchzz"}), vec![], &["<system>No matches found.</system>"]);
    grep(
        json!({"pattern": "SECRET"}),
        vec![lines("/w/.env", &[(1, "SECRET=1", false)])],
        &["<system>No matches found.</system>"],
    );
    let many: Vec<(u64, String)> = (1..=2_000).map(|n| (n, format!("line {n}"))).collect();
    let many = Hit { lines: many.into_iter().map(|(n, text)| (n, text, false)).collect(), ..hit("/w/big.txt") };
    grep(
        json!({"pattern": "line", "output_mode": "content", "head_limit": 2}),
        vec![many],
        &[
            "<system>Results truncated to 2 lines (total: 2000). Use offset=2 to see more.</system>",
            "./big.txt:1:line 1\n./big.txt:2:line 2",
        ],
    );
    let bad = Outcome::Failed(Failure::Other("regex parse error:\n    (?:()\n    ^\nerror: unclosed group".into()));
    check(
        "Grep",
        json!({"pattern": "("}),
        &[bad],
        &[
            "<system>ERROR: Failed to grep. Error: rg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group\n</system>",
        ],
    );
    check(
        "Grep",
        json!({"pattern": "x", "path": "nodir"}),
        &[missing("/w/nodir")],
        &[
            "<system>ERROR: Failed to grep. Error: rg: nodir: IO error for operation on nodir: No such file or directory (os error 2)\n</system>",
        ],
    );
}

#[test]
fn todos() {
    let mut stage = Stage::new();
    assert_eq!(stage.step("SetTodoList", json!({}), &[]), "Todo list is empty.");
    let todos = json!([{"title": "one", "status": "pending"}, {"title": "two", "status": "in_progress"}, {"title": "three", "status": "done"}]);
    assert_eq!(
        stage.step("SetTodoList", json!({"todos": todos}), &[Outcome::Ok]),
        "<system>Todo list updated</system>\nTodo list updated"
    );
    assert_eq!(
        stage.step("SetTodoList", json!({}), &[]),
        "Current todo list:\n- [pending] one\n- [in_progress] two\n- [done] three"
    );
    stage.step("SetTodoList", json!({"todos": []}), &[Outcome::Ok]);
    assert_eq!(stage.step("SetTodoList", json!({}), &[]), "Todo list is empty.");
}

#[test]
fn questions_and_pages() {
    let questions = json!({"questions": [{"question": "Q?", "options": [{"label": "a"}, {"label": "b"}]}]});
    let nobody = Outcome::Refused(Refusal::NobodyToAsk { escalation: false });
    check(
        "AskUserQuestion",
        questions.clone(),
        &[nobody],
        &[
            "<system>Afk mode, auto-dismissed.</system>",
            "{\"answers\": {}, \"note\": \"Running in afk mode. No user is present. Make your own decision.\"}",
        ],
    );
    let answers = Raw::of(&json!({"answers": {"q1": {"answers": ["b"]}}}));
    check("AskUserQuestion", questions, &[Outcome::Answers(answers)], &["{\"answers\":{\"Q?\":\"b\"}}"]);
    check(
        "FetchURL",
        json!({"url": "notaurl"}),
        &[],
        &[
            "<system>ERROR: Failed to fetch URL due to network error: notaurl. This may indicate the URL is invalid or the server is unreachable.</system>",
        ],
    );
    let refused = Outcome::Failed(Failure::Other("Connection refused".into()));
    check(
        "FetchURL",
        json!({"url": "http://127.0.0.1:1/x"}),
        &[refused],
        &[
            "<system>ERROR: Failed to fetch URL due to network error: Connection refused. This may indicate the URL is invalid or the server is unreachable.</system>",
        ],
    );
    let page =
        Page { url: "http://h/".into(), status: 200, mime: "text/html".into(), text: "# T".into(), truncated: false };
    check(
        "FetchURL",
        json!({"url": "http://h/"}),
        &[Outcome::Fetched(page)],
        &["<system>The output is the main text extracted from the page.</system>", "# T"],
    );
}

#[test]
fn plan_mode() {
    let mut stage = Stage::new();
    check(
        "ExitPlanMode",
        json!({}),
        &[],
        &["<system>ERROR: Not in plan mode. ExitPlanMode is only available during plan mode.</system>"],
    );
    let (did, answer) = stage.run(&call("EnterPlanMode", json!({})), &[Outcome::Ok]);
    let Action::Session(Session::Mode(mode)) = &did[0].action else { panic!() };
    let Mode::Plan { file: path } = mode else { panic!() };
    let text = answer.content.text();
    assert!(
        text.starts_with(&format!(
            "<system>Plan mode on (auto)</system>\nPlan mode activated (auto-approved).\nPlan file: {}\nWorkflow: ",
            path.display()
        )),
        "{text}"
    );
    stage.settings.mode = mode.clone();
    let missing_plan = format!(
        "<system>ERROR: No plan file found. Write your plan to {} first, then call ExitPlanMode.</system>",
        path.display()
    );
    assert_eq!(stage.run(&call("ExitPlanMode", json!({})), &[missing("plan")]).1.content, content(&[&missing_plan]));
    let nobody = Outcome::Refused(Refusal::NobodyToAsk { escalation: false });
    let options = json!({"options": [{"label": "A", "description": "a"}, {"label": "B"}]});
    let approved = format!(
        "Plan approved (auto-approved). Plan mode deactivated. All tools are now available.\nPlan saved to: {}\n\n## Approved Plan:\n# Plan\n1. do it\n",
        path.display()
    );
    let (_, answer) = stage.run(&call("ExitPlanMode", options), &[file("# Plan\n1. do it\n"), nobody, Outcome::Ok]);
    assert_eq!(answer.content, content(&["<system>Plan approved (auto)</system>", &approved]));
}

#[test]
fn agents() {
    let mut stage = Stage::new();
    let ask = |more: Value| {
        let mut args = json!({"prompt": "x", "description": "d"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    check(
        "Agent",
        ask(json!({"subagent_type": "nosuch"})),
        &[],
        &["<system>ERROR: Failed to run agent: 'Builtin subagent type not found: nosuch'</system>"],
    );
    check(
        "Agent",
        ask(json!({"resume": "nope"})),
        &[],
        &["<system>ERROR: Failed to run agent: Subagent instance not found: nope</system>"],
    );
    let agent = |text: &str| Outcome::Agent {
        id: "thread-9".into(),
        text: text.into(),
        usage: Usage::default(),
        work: Default::default(),
    };
    assert_eq!(
        stage.step("Agent", ask(json!({"subagent_type": "explore"})), &[agent("SUB RESULT")]),
        "agent_id: a00000001\nresumed: false\nactual_subagent_type: explore\nstatus: completed\n\n[summary]\nSUB RESULT"
    );
    let (did, answer) = stage.run(&call("Agent", ask(json!({"resume": "a00000001"}))), &[agent("sub2")]);
    let Action::Session(Session::Spawn { resume, .. }) = &did[0].action else { panic!() };
    assert_eq!(resume.as_deref(), Some("thread-9"));
    assert_eq!(
        answer.content.text(),
        "agent_id: a00000001\nresumed: true\nactual_subagent_type: explore\nstatus: completed\n\n[summary]\nsub2"
    );
}
