//! What each tool answers.
use pretty_assertions::assert_eq;

use super::*;

const A: &str = "alpha\nbeta\ngamma\nbeta\n";

#[test]
fn reads() {
    let mut s = stage(&[("a.txt", A), (".env", "x"), ("sub/x.txt", "x\n"), ("fake.png", "text"), ("v.mp4", "x")]);
    s.ok("Read", json!({"path": "a.txt", "n_lines": 1}), "1\talpha\n<system>1 line read from file starting from line 1. Total lines in file: 4. Requested range complete. Effective max_chars: 100000.</system>");
    s.fails("Read", json!({"path": "nope.txt"}), "\"nope.txt\" does not exist.");
    s.fails("Read", json!({"path": "sub"}), "\"sub\" is not a file.");
    s.fails("Read", json!({"path": ""}), "Path cannot be empty");
    s.fails("Read", json!({"path": "../x"}), "\"../x\" is not an absolute path. You must provide an absolute path to read a file outside the working directory.");
    s.fails(
        "Read",
        json!({"path": ".env"}),
        "\".env\" matches a sensitive-file pattern (env / credential / SSH key). Access is blocked to protect secrets.",
    );
    s.fails(
        "Read",
        json!({"path": "fake.png"}),
        "\"fake.png\" is not readable as UTF-8 text. Only text files can be read.",
    );
    s.fails(
        "Read",
        json!({"path": "v.mp4"}),
        "\"v.mp4\" is a video file. Only text files can be read; use ReadMediaFile for image and video files.",
    );
    s.files.insert("/w/p.png".into(), b"\x89PNG\r\n\x1a\n".to_vec());
    s.fails(
        "Read",
        json!({"path": "p.png"}),
        "\"p.png\" is an image file. Only text files can be read; use ReadMediaFile for image and video files.",
    );
    s.files.insert("/w/u16.txt".into(), b"\xff\xfeh\0\xe9\0\n\0y\0o\0".to_vec());
    s.ok("Read", json!({"path": "u16.txt"}), "1\thé\n2\tyo\n<system>2 lines read from file starting from line 1. Total lines in file: 2. Requested range complete. Effective max_chars: 100000. End of file reached. Detected file encoding: UTF-16 LE; content transcoded to UTF-8 for display. Edit and Write expect UTF-8 — convert the file's encoding first (e.g. `iconv` via Bash).</system>");
    s.files.insert("/w/bin.dat".into(), b"a\0b".to_vec());
    s.fails(
        "Read",
        json!({"path": "bin.dat"}),
        "\"bin.dat\" is not readable as UTF-8 text. Only text files can be read.",
    );
}

#[test]
fn writes_and_edits() {
    let mut s = stage(&[("a.txt", A), ("crlf.txt", "x\r\ny\r\n"), ("sub/x", "x")]);
    s.ok("Write", json!({"path": "new/x.txt", "content": "héllo\n"}), "Wrote 7 bytes to new/x.txt");
    s.ok("Write", json!({"path": "new/x.txt", "content": "more", "mode": "append"}), "Appended 4 bytes to new/x.txt");
    s.ok("Write", json!({"path": "fresh.txt", "content": "z", "mode": "append"}), "Appended 1 bytes to fresh.txt");
    assert_eq!((s.text("new/x.txt"), s.text("fresh.txt")), ("héllo\nmore".into(), "z".into()));
    s.fails("Write", json!({"path": "sub/", "content": "x"}), "write failed: path is a directory");
    s.fails("Write", json!({"path": "../../o", "content": "x"}), "\"../../o\" is not an absolute path. You must provide an absolute path to write or edit a file outside the working directory.");
    s.ok(
        "Edit",
        json!({"path": "a.txt", "old_string": "alpha", "new_string": "ALPHA"}),
        "Replaced 1 occurrence in a.txt",
    );
    s.ok(
        "Edit",
        json!({"path": "a.txt", "old_string": "beta", "new_string": "B", "replace_all": true}),
        "Replaced 2 occurrences in a.txt",
    );
    assert_eq!(s.text("a.txt"), "ALPHA\nB\ngamma\nB\n");
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_string": old, "new_string": new});
    s.fails("Edit", edit("a.txt", "zzz", "B"), "old_string not found in a.txt, the file contents may be out of date. Please use the Read Tool to reload the content.\n");
    s.fails("Edit", edit("a.txt", "x", "x"), "No changes to make: old_string and new_string are exactly the same.");
    s.fails("Edit", edit("nope", "x", "y"), "read failed: path does not exist");
    s.fails("Edit", edit("sub", "x", "y"), "sub is not a file.");
    let twice = s.call("Edit", &edit("a.txt", "B", "C").to_string()).content.text();
    assert!(twice.contains("\nold_string is not unique in a.txt (found 2 occurrences). "), "{twice}");
    s.ok("Edit", edit("crlf.txt", "x\ny", "x\nY"), "Replaced 1 occurrence in crlf.txt");
    assert_eq!(s.text("crlf.txt"), "x\r\nY\r\n");
}

#[test]
fn links_out_of_the_folder_are_not_followed() {
    let check = |outcomes: Vec<Outcome>, expected: Option<&str>| {
        let did: Vec<Done> = (outcomes.into_iter())
            .map(|outcome| {
                let action = Action::World(World::Read { path: "/w/lnk".into(), what: ReadAs::Stat });
                Done { action, outcome, took: 0, at: 0, tag: 0 }
            })
            .collect();
        let call = call("c", "Read", r#"{"path":"lnk"}"#);
        let answer = match KimiCode.next(&stage(&[]).cx(), &call, &did) {
            Next::Answer(answer) => Some(answer.content.text()),
            _ => None,
        };
        let expected = expected.map(|text| format!("<system>ERROR: Tool execution failed.</system>\n{text}"));
        assert_eq!(answer, expected);
    };
    let stamp = Stamp { len: 0, mtime_ns: 0, hash: String::new() };
    let to = |target: &str| Outcome::Stat { kind: FileKind::File, stamp: stamp.clone(), link: Some(target.into()) };
    let missing = || Outcome::Failed(Failure::Io { path: "/w/lnk".into(), errno: 2, message: "no".into() });
    let listed = |is_link: bool| {
        let hit = Hit { path: "/w/lnk".into(), is_link, ..Hit::default() };
        Outcome::Paths(Found { hits: vec![hit], more: false })
    };
    let out = "\"/w/lnk\" resolves to \"/etc/hostname\" through a symbolic link that points outside the working directory. Access is blocked; use the real path directly or add the target directory to the workspace.";
    check(vec![to("/etc/hostname")], Some(out));
    check(vec![to("/w/a.txt")], None);
    check(
        vec![missing(), listed(true)],
        Some("\"/w/lnk\" is a symbolic link whose target does not exist. Access is blocked."),
    );
    check(vec![missing(), listed(false)], None);
}

#[test]
fn commands() {
    let mut s = stage(&[]);
    let mut check = |outcomes: Vec<Outcome>, args: Value, failed: bool, expected: &str| {
        s.outcomes = outcomes.into();
        let answer = s.call("Bash", &args.to_string());
        let failed_line = if failed { "<system>ERROR: Tool execution failed.</system>\n" } else { "" };
        let text = answer.content.text();
        let (time, rest) = text.split_once('\n').unwrap();
        assert!(time.starts_with("Wall time: "), "{time}");
        assert_eq!((answer.error, rest), (failed.then_some(true), format!("{failed_line}{expected}").as_str()));
    };
    let run = |command: &str| json!({ "command": command });
    check(vec![ran("hi\n", Exit::Code(0))], run("echo hi"), false, "hi\n");
    check(vec![ran("", Exit::Code(0))], run("true"), false, "Command executed successfully.");
    check(vec![ran("out", Exit::Code(3))], run("x"), true, "out\nCommand failed with exit code: 3.");
    check(
        vec![ran("", Exit::Code(7))],
        run("exit 7"),
        true,
        "Process exited with code 7\nCommand failed with exit code: 7.",
    );
    check(
        vec![ran("", Exit::Signal(9))],
        run("kill"),
        true,
        "Process exited with code -1\nCommand failed with exit code: -1.",
    );
    let gone = Failure::Spawn { errno: 2, message: "No such file or directory".into() };
    check(
        vec![Outcome::Failed(gone)],
        json!({"command": "pwd", "cwd": "/nosuch"}),
        true,
        "/bin/bash: line 1: cd: /nosuch: No such file or directory\nCommand failed with exit code: 1.",
    );
    check(
        vec![],
        json!({"command": "x", "run_in_background": true}),
        true,
        "description is required when run_in_background is true.",
    );
    check(
        vec![Outcome::Refused(Refusal::User { feedback: Some("no".into()) })],
        run("rm x"),
        true,
        "Tool \"Bash\" was not run because the user rejected the approval request. Reason: no",
    );
    let next = "next_step: The task now runs in the background. You will be automatically notified when it completes — do NOT wait, poll, or call TaskOutput on it; continue with your current work.\nhuman_shell_hint: The task is visible in the background-task panel.";
    let id = roster::shell_id(7);
    check(
        vec![running("early\n", 1), listed(1, Exit::Running)],
        run("sleep 3"),
        false,
        &format!(
            "task_id: {id}\npid: 42\ndescription: Bash: sleep 3\nstatus: running\nautomatic_notification: true\n{next}\n\nforeground_output:\nearly\n"
        ),
    );
    let long: String = (1..=12_000).map(|n| format!("{n}\n")).collect();
    s.outcomes = [ran(&long, Exit::Code(3))].into();
    let text = s.call("Bash", r#"{"command":"seq"}"#).content.text();
    assert!(text.contains("\noutput_size_chars: 60894\noutput_path: /s/out.txt\n"), "{}", &text[..500]);
    assert!(text.contains("[elided: chars [4096, 59903)]\n\n[preview: chars [59903, 60927)]"));
    assert!(text.ends_with(&format!("12000\nCommand failed with exit code: 3.\n\ntask_id: {id}\noutput_size_bytes: 60894\nnext_step: Use TaskOutput(task_id=\"{id}\") to query the task output.")));
}

#[test]
fn a_command_is_run_as_the_original_runs_it() {
    let mut s = stage(&[]);
    s.outcomes = [ran("", Exit::Code(0))].into();
    s.call("Bash", r#"{"command":"pwd","cwd":"sub","timeout":400}"#);
    let Some(Action::World(World::Run(run))) = s.did.first() else { panic!() };
    assert_eq!((run.cwd.clone(), run.timeout), (Some("/w/sub".into()), Some(300_000)));
    s.outcomes = [running("", 3), listed(3, Exit::Running)].into();
    s.call("Bash", r#"{"command":"x","run_in_background":true,"description":"d","disable_timeout":true}"#);
    let Some(Action::World(World::Run(run))) = s.did.first() else { panic!() };
    assert_eq!((run.background, run.timeout), (true, None));
}

#[test]
fn searches() {
    let mut s = stage(&[]);
    let hit = |path: &str, mtime_ns: u64, lines: Vec<(u64, String, bool)>| Hit {
        path: PathBuf::from("/w").join(path),
        mtime_ns,
        lines,
        ..Hit::default()
    };
    let line = |n: u64, text: &str, context: bool| (n, text.to_owned(), context);
    let found = |s: &mut Stage, hits: Vec<Hit>| s.outcomes = [Outcome::Matches(Found { hits, more: false })].into();
    let hits = || {
        vec![
            hit("a.txt", 1, vec![line(1, "x y x", false), line(2, "z", true)]),
            hit("b/c.txt", 2, vec![line(5, "x", false)]),
            hit(".env", 3, vec![line(1, "x", false)]),
        ]
    };
    found(&mut s, hits());
    s.ok("Grep", json!({"pattern": "x"}), "Wall time: 1.000 seconds\nb/c.txt\na.txt");
    found(&mut s, hits());
    s.ok(
        "Grep",
        json!({"pattern": "x", "output_mode": "content", "-A": 1}),
        "Wall time: 1.000 seconds\na.txt:1:x y x\na.txt-2-z\n--\nb/c.txt:5:x",
    );
    found(&mut s, vec![hit("a.txt", 1, vec![line(1, "x y x", false)]), hit("b", 1, vec![line(1, "x", false)])]);
    s.ok("Grep", json!({"pattern": "x", "output_mode": "count_matches", "head_limit": 1}), "Wall time: 1.000 seconds\nFound 3 total occurrences across 2 files.\nResults truncated to 1 lines (total: 2). Use offset=1 to see more.\na.txt:2");
    found(&mut s, vec![]);
    s.ok("Grep", json!({"pattern": "x"}), "Wall time: 1.000 seconds\nNo non-sensitive matches found");
    found(&mut s, vec![hit(".env", 1, vec![line(1, "x", false)])]);
    s.ok(
        "Grep",
        json!({"pattern": "x", "path": ".env"}),
        "Wall time: 1.000 seconds\nNo non-sensitive matches found\nFiltered 1 sensitive file(s): .env",
    );
    s.outcomes =
        [Outcome::Failed(Failure::Other("regex parse error:\n    (?:()\n    ^\nerror: unclosed group".into()))].into();
    s.fails("Grep", json!({"pattern": "("}), "Failed to grep: error: unclosed group\n\nripgrep stderr:\nrg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group");
    s.outcomes = [Outcome::Paths(Found {
        hits: vec![hit("old", 1, vec![]), hit("new", 2, vec![]), hit(".env", 3, vec![])],
        more: false,
    })]
    .into();
    s.ok("Glob", json!({"pattern": "*"}), "Wall time: 1.000 seconds\nnew\nold");
    s.outcomes = [Outcome::Failed(Failure::NotAFile { path: "/w/a".into(), kind: FileKind::File })].into();
    s.fails("Glob", json!({"pattern": "*", "path": "a"}), "/w/a is not a directory");
    s.outcomes =
        [Outcome::Failed(Failure::Other("error parsing glob '[z': unclosed character class; missing ']'".into()))]
            .into();
    s.fails(
        "Glob",
        json!({"pattern": "[z"}),
        "Glob failed: rg: error parsing glob '[z': unclosed character class; missing ']'",
    );
}

#[test]
fn arguments_are_checked_in_ajvs_words() {
    let check = |tool: &str, text: &str, expected: &str| {
        let expected = format!("Invalid args for tool \"{tool}\": {expected}");
        assert_eq!(args::parse(tool, text), Err(expected), "{text}");
    };
    check("Bash", "", "must have required property 'command'");
    check("Bash", r#"{"command":"echo"#, "must have required property 'command'");
    check("Bash", "[1]", "must be object");
    check("Bash", r#"{"command":5}"#, "/command must be string");
    check(
        "Bash",
        r#"{"command":"","foo":1}"#,
        "must NOT have additional property 'foo'; /command must NOT have fewer than 1 characters",
    );
    check("Bash", r#"{"command":"x","timeout":0}"#, "/timeout must be > 0");
    check("Bash", r#"{"command":"x","timeout":1.5}"#, "/timeout must be integer");
    check(
        "Grep",
        r#"{"pattern":"x","output_mode":"weird"}"#,
        "/output_mode must be equal to one of the allowed values",
    );
    check("Grep", r#"{"pattern":"x","-A":-1}"#, "/-A must be >= 0");
    check(
        "Read",
        r#"{"path":"a","line_offset":0}"#,
        "/line_offset must be >= 1; /line_offset must be < 0; /line_offset must match a schema in anyOf",
    );
    check(
        "Read",
        r#"{"path":"a","line_offset":"2"}"#,
        "/line_offset must be integer; /line_offset must be integer; /line_offset must match a schema in anyOf",
    );
    check(
        "Read",
        r#"{"path":"a","line_offset":1.5}"#,
        "/line_offset must be integer; /line_offset must be integer; /line_offset must be < 0; /line_offset must match a schema in anyOf",
    );
    check("TodoList", r#"{"todos":[{"title":"x"}]}"#, "must have required property 'status'");
    check(
        "TodoList",
        r#"{"todos":[{"title":"x","status":"bad"}]}"#,
        "/todos/0/status must be equal to one of the allowed values",
    );
    check("AskUserQuestion", r#"{"questions":[]}"#, "/questions must NOT have fewer than 1 items");
    check("WaitFor", r#"{"timeout":601}"#, "/timeout must be <= 600");
    let long = format!(r#"{{"options":[{{"label":"{}"}}]}}"#, "x".repeat(81));
    check("ExitPlanMode", &long, "/options/0/label must NOT have more than 80 characters");
    let mut s = stage(&[]);
    s.fails("NoTool", json!({}), "Tool \"NoTool\" not found");
    s.fails("bash", json!({"command": "x"}), "Tool \"bash\" not found");
    s.fails(
        "AskUserQuestion",
        json!({"questions": [{"question": "Q?", "options": [{"label": "a"}, {"label": "b"}]}]}),
        "AskUserQuestion is disabled while auto permission mode is active; decide and continue.",
    );
}

#[test]
fn images() {
    let mut s = stage(&[("a.txt", A), ("fake.png", "text")]);
    s.files.insert("/w/p.png".into(), b"\x89PNG1234".to_vec());
    let Content::Parts(parts) = s.call("ReadMediaFile", r#"{"path":"p.png"}"#).content else { panic!() };
    assert_eq!(parts[0], Part::text("<image path=\"/w/p.png\">"));
    let note = parts[3].as_text().unwrap_or_default();
    assert!(note.starts_with("<system>Read image file. Mime type: image/png. Size: 8 bytes. Original dimensions: 4000x3000 pixels. The attached image was downsampled to 2000x1500 pixels (image/png, 1 KB) to fit model limits; fine detail may be lost. "), "{note}");
    s.fails("ReadMediaFile", json!({"path": "a.txt"}), "\"a.txt\" is a text file. Use Read to read text files.");
    s.fails("ReadMediaFile", json!({"path": "nope.png"}), "Failed to read nope.png: read failed: path does not exist");
    s.fails("ReadMediaFile", json!({"path": ""}), "File path cannot be empty.");
    let fake = s.call("ReadMediaFile", r#"{"path":"fake.png"}"#).content.text();
    assert!(fake.contains("\"fake.png\" is not a supported image or video file. "), "{fake}");
}
