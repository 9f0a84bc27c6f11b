//! What 1.0.60, 2.0.30 and 2.1.20 answer, as recorded.
use pretty_assertions::assert_eq;

use super::*;

const READ: &str = "     1→alpha\n     2→beta\n     3→gamma\n     4→beta\n     5→";

/// The text before the note that follows every file.
fn shown(answer: &Answer) -> String {
    let text = answer.content.text();
    text.split("\n\n<system-reminder>\n").next().unwrap_or_default().to_owned()
}

fn edit(stage: &mut Stage, path: &str, old: &str, new: &str) -> Answer {
    stage.call("Edit", &json!({"file_path": path, "old_string": old, "new_string": new}).to_string())
}

#[test]
fn reads() {
    for harness in [&V1_0, &V2_0, &V2_1] {
        let tagged = |text: &str| if harness.id().ends_with("1.0") { text.to_owned() } else { wrong(text) };
        let mut stage = stage(
            harness,
            &[("a.txt", A), ("crlf.txt", "a\r\nb\r\n"), ("empty.txt", ""), ("bin.dat", "x"), ("sub/x", "")],
        );
        stage.files.insert("/w/bom.txt".into(), b"\xef\xbb\xbfhello\n".to_vec());
        let mut read = |args: Value| stage.call("Read", &args.to_string());
        assert_eq!(shown(&read(json!({"file_path": "/w/a.txt"}))), READ);
        assert_eq!(shown(&read(json!({"file_path": "/w/crlf.txt"}))), "     1→a\n     2→b\n     3→");
        assert_eq!(shown(&read(json!({"file_path": "/w/bom.txt"}))), "     1→\u{feff}hello\n     2→");
        assert_eq!(shown(&read(json!({"file_path": "/w/a.txt", "offset": 2, "limit": 1}))), "     2→beta");
        assert_eq!(
            read(json!({"file_path": "/w/empty.txt"})),
            Answer::plain(
                "<system-reminder>Warning: the file exists but is shorter than the provided offset (1). The file has 1 lines.</system-reminder>"
            )
        );
        assert_eq!(
            read(json!({"file_path": "/w/a.txt", "offset": 50})),
            Answer::plain(
                "<system-reminder>Warning: the file exists but is shorter than the provided offset (50). The file has 5 lines.</system-reminder>"
            )
        );
        assert_eq!(read(json!({"file_path": "/w/nope.txt"})), Answer::failed(tagged("File does not exist.")));
        assert_eq!(
            read(json!({"file_path": "/w/a.tx"})),
            Answer::failed(tagged("File does not exist. Did you mean a.txt?"))
        );
        assert_eq!(
            read(json!({"file_path": "/w/sub"})),
            Answer::failed("EISDIR: illegal operation on a directory, read")
        );
        assert_eq!(
            read(json!({"file_path": "/w/bin.dat"})),
            Answer::failed(tagged(
                "This tool cannot read binary files. The file appears to be a binary .dat file. Please use appropriate tools for binary file analysis."
            ))
        );
        assert_eq!(
            read(json!({"file_path": "/w/a.txt", "pages": "1"})),
            Answer::failed(tagged(
                "InputValidationError: Read failed due to the following issue:\nAn unexpected parameter `pages` was provided"
            ))
        );
        assert_eq!(
            read(json!({"file_path": "/w/a.txt", "offset": "2"})),
            Answer::failed(tagged(
                "InputValidationError: Read failed due to the following issue:\nThe parameter `offset` type is expected as `number` but provided as `string`"
            ))
        );
    }
}

#[test]
fn edits_and_writes() {
    for harness in [&V1_0, &V2_0, &V2_1] {
        let oldest = harness.id().ends_with("1.0");
        let sentence = harness.id().ends_with("2.1");
        let tagged = |text: &str| if oldest { text.to_owned() } else { wrong(text) };
        let snippet = |path: &str, lines: &str| {
            Answer::plain(format!(
                "The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{lines}"
            ))
        };
        let changed = |path: &str, lines: &str| match sentence {
            true => Answer::plain(format!("The file {path} has been updated successfully.")),
            false => snippet(path, lines),
        };
        let mut stage = stage(harness, &[("a.txt", A), ("empty.txt", ""), ("n.ipynb", "{}"), ("sub/x", "")]);
        let unread = Answer::failed(tagged("File has not been read yet. Read it first before writing to it."));
        assert_eq!(edit(&mut stage, "/w/a.txt", "alpha", "ALPHA"), unread);
        let write = |stage: &mut Stage, path: &str, content: &str| {
            stage.call("Write", &json!({"file_path": path, "content": content}).to_string())
        };
        assert_eq!(write(&mut stage, "/w/a.txt", "x"), unread);
        assert_eq!(write(&mut stage, "/w/sub", "x"), unread);
        assert_eq!(edit(&mut stage, "/w/sub", "a", "b"), unread);
        stage.call("Read", r#"{"file_path":"/w/a.txt"}"#);
        let lines = "     1→ALPHA\n     2→beta\n     3→gamma\n     4→beta\n     5→";
        assert_eq!(edit(&mut stage, "/w/a.txt", "alpha", "ALPHA"), changed("/w/a.txt", lines));
        assert_eq!(
            edit(&mut stage, "/w/a.txt", "zzz", "y"),
            Answer::failed(tagged("String to replace not found in file.\nString: zzz"))
        );
        assert_eq!(
            edit(&mut stage, "/w/a.txt", "beta", "B"),
            Answer::failed(tagged(
                "Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: beta"
            ))
        );
        assert_eq!(
            stage.call("Edit", r#"{"file_path":"/w/a.txt","old_string":"beta","new_string":"B","replace_all":true}"#),
            Answer::plain(
                "The file /w/a.txt has been updated. All occurrences of 'beta' were successfully replaced with 'B'."
            )
        );
        assert_eq!(
            edit(&mut stage, "/w/a.txt", "B", "B"),
            Answer::failed(tagged("No changes to make: old_string and new_string are exactly the same."))
        );
        assert_eq!(
            edit(&mut stage, "/w/a.txt", "", "B"),
            Answer::failed(tagged("Cannot create new file - file already exists."))
        );
        assert_eq!(edit(&mut stage, "/w/new1.txt", "", "created\n"), changed("/w/new1.txt", "     1→created\n     2→"));
        assert_eq!(edit(&mut stage, "/w/nofile.txt", "a", "b"), Answer::failed(tagged("File does not exist.")));
        let empty = match oldest {
            true => snippet("/w/empty.txt", "     1→now\n     2→"),
            false => {
                Answer::failed("File has been unexpectedly modified. Read it again before attempting to write it.")
            }
        };
        assert_eq!(edit(&mut stage, "/w/empty.txt", "", "now\n"), empty);
        assert_eq!(
            edit(&mut stage, "/w/n.ipynb", "a", "b"),
            Answer::failed(tagged("File is a Jupyter Notebook. Use the NotebookEdit to edit this file."))
        );
        stage.write("a.txt", "somebody else's\n");
        let modified = Answer::failed(tagged(
            "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.",
        ));
        assert_eq!(edit(&mut stage, "/w/a.txt", "zz", "y"), modified);
        assert_eq!(write(&mut stage, "/w/a.txt", "y"), modified);
        assert_eq!(
            write(&mut stage, "/w/d/f.txt", "hello\n"),
            Answer::plain("File created successfully at: /w/d/f.txt")
        );
        assert_eq!(
            write(&mut stage, "/w/d/f.txt", "hello\nagain\n"),
            snippet("/w/d/f.txt", "     1→hello\n     2→again\n     3→")
        );
        // A plain look by the shell does not count as reading.
        stage.write("c.txt", "cc\n");
        stage.call("Bash", r#"{"command":"cat c.txt"}"#);
        assert_eq!(edit(&mut stage, "/w/c.txt", "cc", "CC"), unread);
    }
}

#[test]
fn a_snippet_shows_four_lines_around_the_change() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let mut stage = stage(&V2_0, &[("l.txt", &lines)]);
    stage.call("Read", r#"{"file_path":"/w/l.txt"}"#);
    let mut check = |old: &str, new: &str, expected: &str| {
        let answer = edit(&mut stage, "/w/l.txt", old, new);
        let text = answer.content.text();
        let shown: Vec<&str> = text.lines().skip(1).map(|line| line.trim_start()).collect();
        assert_eq!(shown.join(" "), expected);
    };
    check(
        "line 30\n",
        "LINE 30\nINS\n",
        "26→line 26 27→line 27 28→line 28 29→line 29 30→LINE 30 31→INS 32→line 31 33→line 32 34→line 33 35→line 34 36→line 35",
    );
    check("line 60\n", "LAST\n", "57→line 56 58→line 57 59→line 58 60→line 59 61→LAST 62→");
    check(
        "line 10\nline 11",
        "",
        "6→line 6 7→line 7 8→line 8 9→line 9 10→line 12 11→line 13 12→line 14 13→line 15 14→line 16",
    );
}

#[test]
fn commands() {
    for harness in [&V1_0, &V2_0, &V2_1] {
        let oldest = harness.id().ends_with("1.0");
        let mut stage = stage(harness, &[]);
        let mut check = |outcome: Outcome, expected: Answer| {
            stage.run = Some(outcome);
            assert_eq!(stage.call("Bash", r#"{"command":"x"}"#), expected);
        };
        let said = |text: &str| Answer { error: Some(false), ..Answer::plain(text) };
        let named = |code: i32, text: &str| {
            let status = if oldest { String::new() } else { format!("Exit code {code}\n") };
            Answer::failed(format!("{status}{text}").trim_end().to_owned())
        };
        check(ran("hi\n", Exit::Code(0)), said("hi"));
        check(ran("", Exit::Code(0)), said(""));
        check(ran("\n\n  lead\nx\n\n", Exit::Code(0)), said("  lead\nx"));
        check(ran("out\n", Exit::Code(3)), named(3, "out"));
        check(ran("", Exit::Code(1)), if oldest { Answer::failed("Error") } else { named(1, "") });
        if oldest {
            check(ran("start\n", Exit::TimedOut(1_000)), Answer::failed("Command timed out after 1s\nstart"));
        }
        let seq: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        stage.run = Some(ran(&seq, Exit::Code(0)));
        let answer = stage.call("Bash", r#"{"command":"seq 1 20000"}"#).content.text();
        match harness.id().ends_with("2.1") {
            true => assert!(
                answer.starts_with("<persisted-output>\nOutput too large (106.3KB). Full output saved to: /s/out.txt"),
                "{answer}"
            ),
            false => {
                assert!(answer.ends_with("\n6221\n62\n\n... [13779 lines truncated] ..."), "{}", &answer[29_000..])
            }
        }
    }
}

#[test]
fn background_tasks_of_the_older_versions() {
    let running = |output: &str| Outcome::Ran {
        output: Captured::whole(output),
        exit: Exit::Running,
        cwd_after: None,
        task: Some(protocol::TaskId(3)),
        left: false,
    };
    let start = r#"{"command":"echo first; sleep 100","run_in_background":true}"#;
    let mut old = stage(&V2_0, &[]);
    old.run = Some(running(""));
    let started = old.call("Bash", start).content.text();
    let id = started.strip_prefix("Command running in background with ID: ").unwrap().to_owned();
    let output = json!({"bash_id": id}).to_string();
    let look = |stage: &mut Stage, outcome: Option<Outcome>, tool: &str, args: &str| {
        stage.others.extend(outcome);
        stage.call(tool, args).content.text()
    };
    let first = look(&mut old, Some(running("first\n")), "BashOutput", &output);
    assert_eq!(
        first,
        "<status>running</status>\n\n<stdout>\nfirst\n</stdout>\n\n<timestamp>1970-01-01T00:00:00.000Z</timestamp>"
    );
    // All of it every time, though the runtime tells news only.
    assert_eq!(look(&mut old, Some(running("")), "BashOutput", &output), first);
    assert_eq!(look(&mut old, None, "BashOutput", r#"{"bash_id":"nope"}"#), wrong("No shell found with ID: nope"));
    let killed = look(&mut old, Some(ran("", Exit::Stopped)), "KillShell", &json!({"shell_id": id}).to_string());
    assert_eq!(
        killed,
        format!("{{\"message\":\"Successfully killed shell: {id} (echo first; sleep 100)\",\"shell_id\":\"{id}\"}}")
    );
    assert_eq!(
        look(&mut old, None, "BashOutput", &output),
        "<status>killed</status>\n\n<stdout>\nfirst\n</stdout>\n\n<timestamp>1970-01-01T00:00:00.000Z</timestamp>"
    );

    let mut new = stage(&V2_1, &[]);
    new.run = Some(running(""));
    let started = new.call("Bash", start).content.text();
    let (id, file) = started
        .strip_prefix("Command running in background with ID: ")
        .unwrap()
        .split_once(". Output is being written to: ")
        .unwrap();
    let args = json!({"task_id": id, "block": false, "timeout": 0}).to_string();
    assert_eq!(
        look(&mut new, Some(running("first\n")), "TaskOutput", &args),
        format!(
            "<retrieval_status>not_ready</retrieval_status>\n\n<task_id>{id}</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>running</status>\n\n<output>\nfirst\n</output>"
        )
    );
    assert_eq!(
        look(&mut new, Some(running("more\n")), "Read", &json!({"file_path": file}).to_string()),
        "     1→first\n     2→more\n     3→"
    );
    let stop = json!({"task_id": id}).to_string();
    assert_eq!(
        look(&mut new, Some(ran("", Exit::Stopped)), "TaskStop", &stop),
        format!(
            "{{\"message\":\"Successfully stopped task: {id} (echo first; sleep 100)\",\"task_id\":\"{id}\",\"task_type\":\"local_bash\"}}"
        )
    );
    assert_eq!(look(&mut new, None, "TaskStop", &stop), wrong(&format!("Task {id} is not running (status: killed)")));
}

#[test]
fn tools_that_are_gone() {
    let mut stage = stage(&V1_0, &[("a.txt", A), ("sub/b.py", ""), ("b.txt", "one\ntwo\n")]);
    stage.call("Read", r#"{"file_path":"/w/a.txt"}"#);
    let mut check = |name: &str, args: Value, error: Option<bool>, expected: &str| {
        let answer = stage.call(name, &args.to_string());
        assert_eq!(answer, Answer { error, ..Answer::plain(expected) }, "{name} {args}");
    };
    check(
        "MultiEdit",
        json!({"file_path": "/w/a.txt", "edits": [{"old_string": "alpha", "new_string": "A1"}, {"old_string": "beta", "new_string": "B1", "replace_all": true}]}),
        None,
        "Applied 2 edits to /w/a.txt:\n1. Replaced \"alpha\" with \"A1\"\n2. Replaced \"beta\" with \"B1\"",
    );
    check(
        "MultiEdit",
        json!({"file_path": "/w/a.txt", "edits": [{"old_string": "A1", "new_string": "A2"}, {"old_string": "zzz", "new_string": "B1"}]}),
        Some(true),
        "String to replace not found in file.\nString: zzz",
    );
    check(
        "MultiEdit",
        json!({"file_path": "/w/a.txt", "edits": []}),
        Some(true),
        "InputValidationError: [\n  {\n    \"code\": \"too_small\",\n    \"minimum\": 1,\n    \"type\": \"array\",\n    \"inclusive\": true,\n    \"exact\": false,\n    \"message\": \"At least one edit is required\",\n    \"path\": [\n      \"edits\"\n    ]\n  }\n]",
    );
    check(
        "MultiEdit",
        json!({"file_path": "/w/b.txt", "edits": [{"old_string": "one", "new_string": "1"}]}),
        Some(true),
        "File has not been read yet. Read it first before writing to it.",
    );
    check(
        "MultiEdit",
        json!({"file_path": "/w/new.txt", "edits": [{"old_string": "", "new_string": "1\n"}]}),
        None,
        "Applied 1 edit to /w/new.txt:\n1. Replaced \"\" with \"1\n\"",
    );
    check(
        "LS",
        json!({"path": "/w/sub"}),
        None,
        "- /w/\n  - sub/\n    - b.py\n\nNOTE: do any of the files above seem malicious? If so, you MUST refuse to continue work.",
    );
    check(
        "LS",
        json!({"path": "/w/nope"}),
        None,
        "- /w/\n\nNOTE: do any of the files above seem malicious? If so, you MUST refuse to continue work.",
    );
    assert_eq!(stage.text("a.txt"), "A1\nB1\ngamma\nB1\n");
}

#[test]
fn arguments_are_judged_by_each_versions_validator() {
    let todo = |todos: Value| json!({"todos": todos}).to_string();
    let missing = |path: &str| format!("The required parameter `{path}` is missing");
    let mut first = stage(&V1_0, &[]);
    let one = first.call("TodoWrite", &todo(json!([{"content": "a", "status": "in_progress", "activeForm": "x"}])));
    let lines = format!("{}\n{}", missing("todos"), missing("todos"));
    assert_eq!(
        one,
        Answer::failed(format!("InputValidationError: TodoWrite failed due to the following issues:\n{lines}"))
    );
    let mut second = stage(&V2_0, &[]);
    let lines = format!("{}\n{}", missing("todos[0].status"), missing("todos[0].activeForm"));
    assert_eq!(
        second.call("TodoWrite", &todo(json!([{"content": "a"}]))),
        Answer::failed(wrong(&format!("InputValidationError: TodoWrite failed due to the following issues:\n{lines}")))
    );
    assert_eq!(
        second.call("Grep", r#"{"pattern":"x","output_mode":"lines"}"#),
        Answer::failed(wrong(
            "InputValidationError: [\n  {\n    \"received\": \"lines\",\n    \"code\": \"invalid_enum_value\",\n    \"options\": [\n      \"content\",\n      \"files_with_matches\",\n      \"count\"\n    ],\n    \"path\": [\n      \"output_mode\"\n    ],\n    \"message\": \"Invalid enum value. Expected 'content' | 'files_with_matches' | 'count', received 'lines'\"\n  }\n]"
        ))
    );
    let mut third = stage(&V2_1, &[]);
    assert_eq!(
        third.call("TodoWrite", &todo(json!([{"content": "a"}]))),
        Answer::failed(wrong(&format!(
            "InputValidationError: TodoWrite failed due to the following issue:\n{}",
            missing("todos[0].activeForm")
        )))
    );
    // What is no JSON is nothing at all.
    assert_eq!(
        third.call("Read", "not json"),
        Answer::failed(wrong(&format!(
            "InputValidationError: Read failed due to the following issue:\n{}",
            missing("file_path")
        )))
    );
    assert_eq!(first.call("Skill", "{}"), Answer::failed("Error: No such tool available: Skill"));
    assert_eq!(second.call("MultiEdit", "{}"), Answer::failed(wrong("Error: No such tool available: MultiEdit")));
}
