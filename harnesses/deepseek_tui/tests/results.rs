//! Results of single calls: files, searches, commands, refusals.
use pretty_assertions::assert_eq;
use protocol::{Captured, Exit, Failure, FileKind, Found, Hit, Outcome, Refusal, TaskId};
use serde_json::{Value, json};

use super::*;
use crate::stage::ran;

#[test]
fn short_files_come_as_they_are() {
    check(&[("a.txt", "alpha\nbeta\n")], "read_file", json!({"path": "a.txt"}), "alpha\nbeta\n");
    check(&[("a.txt", "")], "read_file", json!({"path": "/w/a.txt"}), "");
    let most = lines(200);
    check(&[("a.txt", &most)], "read_file", json!({"path": "a.txt"}), &most);
}

#[test]
fn long_files_come_in_pages() {
    let text = lines(700);
    let read = |args: Value, expected: &str| check(&[("a.txt", &text)], "read_file", args, expected);
    let page = |first: usize, last: usize, most: usize| {
        format!(
            "<file path=\"a.txt\" total_lines=\"700\" shown_lines=\"{first}-{last}\" truncated=\"true\" next_start_line=\"{next}\">\n{}[TRUNCATED] Showing lines {first}-{last} of 700. To continue, call read_file with path=\"a.txt\" start_line={next} max_lines={most}\n</file>",
            numbered(first, last),
            next = last + 1
        )
    };
    read(json!({"path": "a.txt"}), &page(1, 200, 200));
    read(json!({"path": "a.txt", "start_line": 10, "max_lines": 2}), &page(10, 11, 2));
    read(json!({"path": "a.txt", "max_lines": 9000}), &page(1, 500, 500));
    read(
        json!({"path": "a.txt", "start_line": 699}),
        &format!(
            "<file path=\"a.txt\" total_lines=\"700\" shown_lines=\"699-700\" truncated=\"false\">\n{}</file>",
            numbered(699, 700)
        ),
    );
    let (beyond, _) = answer(&[("a.txt", &text)], None, "read_file", &json!({"path": "a.txt", "start_line": 701}));
    let beyond = beyond.content.text();
    assert!(beyond.starts_with("<file path=\"a.txt\" total_lines=\"700\" shown_lines=\"none\""), "{beyond}");
    assert!(beyond.lines().nth(1).is_some_and(|line| line.starts_with("[NO CONTENT]")), "{beyond}");
}

#[test]
fn a_page_has_at_most_sixteen_kibibytes() {
    let text = format!("{}\n", "x".repeat(99)).repeat(180);
    let (answer, _) = answer(&[("a.txt", &text)], None, "read_file", &json!({"path": "a.txt"}));
    let shown = answer.content.text();
    assert!(
        shown.starts_with("<file path=\"a.txt\" total_lines=\"180\" shown_lines=\"1-148\" truncated=\"true\""),
        "{shown}"
    );
    let long = "é".repeat(30_000);
    let (answer, _) = super::answer(&[("a.txt", &long)], None, "read_file", &json!({"path": "a.txt"}));
    let shown = answer.content.text();
    assert!(shown.contains("shown_lines=\"1-1\" truncated=\"false\"") && shown.ends_with("…\n</file>"), "{shown}");
}

#[test]
fn what_cannot_be_read() {
    check(
        &[("d/x", "x")],
        "read_file",
        json!({"path": "../etc/passwd"}),
        "Error: Path escapes workspace: ../etc/passwd. Use a workspace-relative path or enable trust mode.",
    );
    check(&[], "read_file", json!({"path": "no.txt"}), "Error: Failed to read no.txt: no (os error 2)");
    check(&[("d/x", "x")], "read_file", json!({"path": "d"}), "Error: Failed to read d: it is a folder");
    // Without a sandbox there is nothing to escape from.
    let mut open = Stage::new(&DeepseekTui, &[]);
    open.check("read_file", json!({"path": "/e/x"}), "Error: Failed to read /e/x: no (os error 2)");
}

#[test]
fn pages_of_a_document() {
    let (answer, stage) = answer(
        &[],
        Some(ran("text of it\n", Exit::Code(0))),
        "read_file",
        &json!({"path": "it's.pdf", "pages": "2-3"}),
    );
    assert_eq!(answer.content.text(), "text of it\n");
    let [Action::World(World::Run(run))] = stage.did.as_slice() else { panic!("{:?}", stage.did) };
    assert_eq!(run.script, r"pdftotext -layout -f 2 -l 3 '/w/it'\''s.pdf' -");
    check(
        &[],
        "read_file",
        json!({"path": "a.pdf", "pages": "x"}),
        "Error: Invalid input for tool 'read_file': pages must be a number or a range such as 1-5",
    );
}

#[test]
fn writes_show_what_they_changed() {
    check(
        &[],
        "write_file",
        json!({"path": "a.txt", "content": "x\ny\n"}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+x\n+y\nCreated a.txt (4 bytes)",
    );
    check(
        &[("a.txt", "x\n")],
        "write_file",
        json!({"path": "a.txt", "content": "y\n"}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\nWrote 2 bytes to a.txt",
    );
    check(
        &[("a.txt", "x\n")],
        "write_file",
        json!({"path": "a.txt", "content": "x\n"}),
        "Wrote 2 bytes to a.txt\n(no changes)",
    );
    check(
        &[("d/x", "")],
        "write_file",
        json!({"path": "d", "content": ""}),
        "Error: Failed to write d: it is a folder",
    );
    let refused = Outcome::Refused(Refusal::Sandbox { path: "/w/a".into(), read_only: true });
    check_after(
        refused,
        "write_file",
        json!({"path": "a", "content": ""}),
        "Error: Tool 'write_file' was denied: the sandbox of this session only reads, so /w/a was not written.",
    );
}

#[test]
fn edits_replace_every_match() {
    let (answer, stage) = answer(
        &[("a.txt", "one\ntwo\n")],
        None,
        "edit_file",
        &json!({"path": "a.txt", "search": "two", "replace": "2"}),
    );
    assert_eq!(
        answer.content.text(),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\nReplaced 1 occurrence in a.txt"
    );
    assert_eq!(stage.text("a.txt"), "one\n2\n");
    check(
        &[("a.txt", "a a\n")],
        "edit_file",
        json!({"path": "a.txt", "search": "a", "replace": "b"}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a a\n+b b\nReplaced 2 occurrences in a.txt\nWarning: search stood in 2 places, and all of them were replaced.",
    );
    check(
        &[("a.txt", "a\n")],
        "edit_file",
        json!({"path": "a.txt", "search": "b", "replace": "c"}),
        "Error: Search string not found in a.txt",
    );
    check(
        &[("a.txt", "a\n")],
        "edit_file",
        json!({"path": "a.txt", "search": "a", "replace": "a"}),
        "Replaced 1 occurrence in a.txt\n(no changes)",
    );
    check(
        &[("a.txt", "a\n")],
        "edit_file",
        json!({"path": "a.txt", "search": "", "replace": "a"}),
        "Error: Invalid input for tool 'edit_file': search must not be empty",
    );
}

#[test]
fn edits_mind_line_ends_and_fuzz() {
    let edited = |text: &str, args: Value| {
        let mut stage = stage(&[]);
        stage.write("a.txt", text.as_bytes());
        stage.call("edit_file", &args.to_string());
        stage.text("a.txt")
    };
    let fuzzy = json!({"path": "a.txt", "search": "if x:\n  y()", "replace": "pass", "fuzz": true});
    assert_eq!(edited("    if x:\n\ty()\nz\n", fuzzy), "pass\nz\n");
    let exact = json!({"path": "a.txt", "search": "if x:\n  y()", "replace": "pass"});
    assert_eq!(edited("    if x:\n\ty()\n", exact), "    if x:\n\ty()\n");
}

#[test]
fn patches_are_done_whole_or_not_at_all() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+new\n--- a/g.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    let files = [("a.txt", "one\ntwo\n"), ("g.txt", "gone\n")];
    let (answer, stage) = answer(&files, None, "apply_patch", &json!({"patch": patch}));
    assert_eq!(
        answer.content.text(),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- a/n.txt\n+++ b/n.txt\n@@ -0,0 +1 @@\n+new\n--- a/g.txt\n+++ b/g.txt\n@@ -1 +0,0 @@\n-gone\nPatched 3 files: a.txt, n.txt, g.txt"
    );
    assert_eq!(
        (stage.text("a.txt"), stage.text("n.txt"), stage.text("g.txt")),
        ("one\n2\n".into(), "new\n".into(), "(no g.txt)".into())
    );

    let wrong = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/g.txt\n+++ b/g.txt\n@@ -1 +1 @@\n-other\n+1\n";
    let (answer, stage) = super::answer(&files, None, "apply_patch", &json!({"patch": wrong}));
    assert_eq!(
        answer.content.text(),
        "Error: Failed to patch g.txt: hunk 1 does not fit: these lines were not found in g.txt:\nother"
    );
    assert_eq!(stage.text("a.txt"), "one\ntwo\n");
}

#[test]
fn other_forms_of_patches() {
    check(
        &[("a.txt", "x\n")],
        "apply_patch",
        json!({"path": "a.txt", "patch": "@@ -1 +1 @@\n-x\n+y\n"}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\nPatched 1 file: a.txt",
    );
    check(
        &[("a.txt", "x\n")],
        "apply_patch",
        json!({"changes": [{"path": "a.txt", "content": "y\n"}, {"path": "b.txt", "content": "z\n"}]}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n--- a/b.txt\n+++ b/b.txt\n@@ -0,0 +1 @@\n+z\nPatched 2 files: a.txt, b.txt",
    );
    check(
        &[],
        "apply_patch",
        json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n"}),
        "Error: Failed to patch a.txt: there is no such file. Set create_if_missing to make it.",
    );
    check(&[], "apply_patch", json!({}), "Error: Tool 'apply_patch' is missing required field 'patch'");
    let codex = "*** Begin Patch\n*** Add File: n.txt\n+new\n*** End Patch";
    let (_, stage) = answer(&[], None, "apply_patch", &json!({"patch": codex}));
    assert_eq!(stage.text("n.txt"), "new\n");
}

#[test]
fn folders_are_listed_as_json() {
    check(
        &[("b.txt", ""), ("d/x", "")],
        "list_dir",
        json!({}),
        r#"[{"name":"b.txt","is_dir":false},{"name":"d","is_dir":true}]"#,
    );
}

fn hit(path: &str, lines: &[(u64, &str, bool)]) -> Hit {
    let lines = lines.iter().map(|(number, text, context)| (*number, (*text).to_owned(), *context)).collect();
    Hit { path: path.into(), kind: FileKind::File, lines, ..Hit::default() }
}

#[test]
fn searches_give_matches_with_their_surroundings() {
    let mut s = stage(&[]);
    let lines: &[(u64, &str, bool)] =
        &[(1, "a", true), (2, "b", true), (3, "hit", false), (4, "hit too", false), (5, "c", true), (6, "d", true)];
    s.outcomes.push_back(Outcome::Matches(Found { hits: vec![hit("/w/d/f.rs", lines)], more: false }));
    s.outcomes.push_back(Outcome::Paths(Found { hits: vec![hit("/w/d/f.rs", &[]), hit("/w/g.rs", &[])], more: false }));
    s.check(
        "grep_files",
        json!({"pattern": "hit", "include": ["*.rs"]}),
        r#"{"matches":[{"file":"d/f.rs","line_number":3,"line":"hit","context_before":["a","b"],"context_after":["hit too","c"]},{"file":"d/f.rs","line_number":4,"line":"hit too","context_before":["b","hit"],"context_after":["c","d"]}],"total_matches":2,"files_searched":2,"truncated":false}"#,
    );
    let [Action::World(World::Grep(search)), _] = s.did.as_slice() else { panic!("{:?}", s.did) };
    assert_eq!((search.before, search.after, search.limit, search.ignore_case), (2, 2, 100, false));
    assert_eq!(search.globs[..3], ["*.rs", "!node_modules", "!.git"]);
    check_after(
        Outcome::Failed(Failure::Other("unclosed group".into())),
        "grep_files",
        json!({"pattern": "("}),
        "Error: Invalid input for tool 'grep_files': pattern: unclosed group",
    );
}

#[test]
fn files_are_found_by_name() {
    let hits = ["/w/src/main.rs", "/w/src/domain.rs", "/w/main/x.py", "/w/m_a_i_n.rs", "/w/other.rs"]
        .map(|path| hit(path, &[]));
    check_after(
        Outcome::Paths(Found { hits: hits.to_vec(), more: false }),
        "file_search",
        json!({"query": "Main", "extensions": ["rs"], "limit": 2}),
        r#"{"matches":[{"path":"src/main.rs","name":"main.rs","score":95},{"path":"src/domain.rs","name":"domain.rs","score":75}],"total_matches":3,"truncated":true}"#,
    );
}

/// Pieces as they came; `true`: from stderr.
fn ran_apart(pieces: &[(bool, &str)], exit: Exit) -> Outcome {
    let output = Captured::whole_apart(pieces.iter().copied());
    Outcome::Ran { output, exit, cwd_after: None, task: None, left: false }
}

#[test]
fn commands() {
    let exec = |outcome: Outcome, expected: &str| check_after(outcome, "exec_shell", json!({"command": "x"}), expected);
    exec(ran("out\n", Exit::Code(0)), "out\n");
    exec(ran("", Exit::Code(0)), "(no output)");
    exec(ran("out\n", Exit::Code(3)), "Command failed (exit code: Some(3))\n\nSTDOUT:\nout\n\nSTDERR:\n");
    exec(ran("", Exit::Signal(9)), "Command failed (exit code: None)\n\nSTDOUT:\n\n\nSTDERR:\n");
    exec(
        ran("half", Exit::TimedOut(1_000)),
        "Command timed out after 1000ms; process killed.\n\nFor a command that takes longer set a larger timeout_ms, or background: true and look at it with exec_shell_wait.\n\nSTDOUT:\nhalf\n\nSTDERR:\n",
    );
    let both = [(false, "out\n"), (true, "no\n"), (false, "more\n"), (true, "way\n")];
    exec(ran_apart(&both, Exit::Code(0)), "out\nmore\n\nSTDERR:\nno\nway\n");
    exec(ran_apart(&[(true, "warning\n")], Exit::Code(0)), "STDERR:\nwarning\n");
    exec(
        ran_apart(&both, Exit::Code(2)),
        "Command failed (exit code: Some(2))\n\nSTDOUT:\nout\nmore\n\nSTDERR:\nno\nway",
    );
    exec(
        ran_apart(&[(true, "no such file\n")], Exit::Code(1)),
        "Command failed (exit code: Some(1))\n\nSTDOUT:\n\n\nSTDERR:\nno such file",
    );
    exec(
        ran_apart(&both, Exit::TimedOut(1_000)),
        "Command timed out after 1000ms; process killed.\n\nFor a command that takes longer set a larger timeout_ms, or background: true and look at it with exec_shell_wait.\n\nSTDOUT:\nout\nmore\n\nSTDERR:\nno\nway",
    );
    exec(
        Outcome::Refused(Refusal::User { feedback: Some("not now".into()) }),
        "Error: Tool 'exec_shell' was denied: the user says: not now",
    );
    exec(
        Outcome::Ran {
            output: Captured::default(),
            exit: Exit::Running,
            cwd_after: None,
            task: Some(TaskId(5)),
            left: false,
        },
        "Command moved to background: shell_00000007\n\nLook at it with exec_shell_wait, end it with exec_shell_cancel.",
    );
}

#[test]
fn how_commands_run() {
    let run = |args: Value| {
        let (_, stage) = answer(&[], Some(ran("", Exit::Code(0))), "exec_shell", &args);
        match stage.did.as_slice() {
            [Action::World(World::Run(run))] => run.clone(),
            did => panic!("{did:?}"),
        }
    };
    assert!(run(json!({"command": "x"})).apart);
    let timeout = |args: Value| run(args).timeout;
    assert_eq!(timeout(json!({"command": "x"})), Some(120_000));
    assert_eq!(timeout(json!({"command": "x", "timeout_ms": 900_000})), Some(600_000));
    assert_eq!(timeout(json!({"command": "x", "timeout_ms": 5})), Some(5));
    assert!(run(json!({"command": "x", "interactive": true})).tty);
    assert_eq!(run(json!({"command": "x", "cwd": "d"})).cwd, Some("/w/d".into()));
    let fed = run(json!({"command": "cat", "stdin": "a'b"})).script;
    assert_eq!(fed, "{\ncat\n} <<'INPUT_c6654bf7'\na'b\nINPUT_c6654bf7");
    let background = run(json!({"command": "x", "background": true}));
    assert_eq!((background.background, background.timeout), (true, None));
}

#[test]
fn long_output_is_cut_then_stored() {
    let mut s = stage(&[]);
    s.model.context_window = 1_000_000;
    s.outcomes.push_back(ran(&"x".repeat(40_000), Exit::Code(0)));
    let text = s.call("exec_shell", r#"{"command":"x"}"#).content.text();
    let expected = format!(
        "{}...\n[Output truncated: showing first 22000 bytes and last 8000 bytes. 10000 bytes omitted.]\n[Output tail]\n{}",
        "x".repeat(22_000),
        "x".repeat(8_000)
    );
    assert_eq!(text, expected);
    // Each stream by itself.
    let (long, why) = ("x".repeat(40_000), "why\n");
    s.outcomes.push_back(ran_apart(&[(false, &long[..20_000]), (true, why), (false, &long[20_000..])], Exit::Code(0)));
    let text = s.call("exec_shell", r#"{"command":"y"}"#).content.text();
    assert_eq!(text, format!("{expected}\n\nSTDERR:\nwhy\n"));
    // Of a model with little room 12,000 characters are shown.
    let mut s = stage(&[]);
    s.outcomes.push_back(ran(&"x".repeat(20_000), Exit::Code(0)));
    let text = s.call("exec_shell", r#"{"command":"x"}"#).content.text();
    let rest = "\n\n[Result truncated: showing first 12000 of 20000 bytes. The whole result is in /s/out.txt; read_file shows more of it.]";
    assert_eq!(text, "x".repeat(12_000) + rest);
    s.check("read_file", json!({"path": "/s/out.txt"}), "Error: Failed to read /s/out.txt: no (os error 2)");
}

#[test]
fn results_over_a_hundred_kibibytes_are_stored() {
    let page = |size: usize| protocol::Page {
        url: "http://x/".into(),
        status: 200,
        mime: "text/plain".into(),
        text: "y".repeat(size),
        truncated: false,
    };
    let mut s = stage(&[]);
    s.model.context_window = 1_000_000;
    s.outcomes.push_back(Outcome::Fetched(page(110_000)));
    let text = s.call("fetch_url", r#"{"url":"http://x/","format":"raw"}"#).content.text();
    let (shown, rest) = text.split_at(32 * 1024);
    assert!(
        shown.ends_with("yyy") && rest.starts_with("\n\n[Result truncated: showing first 32768 of 110091 bytes."),
        "{rest}"
    );
}

#[test]
fn python() {
    let (answer, stage) =
        answer(&[], Some(ran("2\n", Exit::Code(0))), "code_execution", &json!({"code": "print(1+1)"}));
    let expected = r#"{"type":"code_execution_result","stdout":"2\n","stderr":"","return_code":0,"content":[]}"#;
    assert_eq!(answer.content.text(), expected);
    let [Action::World(World::Run(run))] = stage.did.as_slice() else { panic!("{:?}", stage.did) };
    assert_eq!((run.timeout, run.apart), (Some(120_000), true));
    assert!(run.script.starts_with("python3 - <<'INPUT_") && run.script.contains("\nprint(1+1)\n"), "{}", run.script);
    let code = || json!({"code": "x"});
    check_after(
        ran_apart(&[(false, "1\n"), (true, "NameError\n")], Exit::Code(1)),
        "code_execution",
        code(),
        r#"{"type":"code_execution_result","stdout":"1\n","stderr":"NameError\n","return_code":1,"content":[]}"#,
    );
    check_after(
        ran("", Exit::TimedOut(120_000)),
        "code_execution",
        code(),
        "Error: Tool 'code_execution' timed out after 120s. Make the computation smaller.",
    );
    check_after(
        ran("", Exit::Code(127)),
        "code_execution",
        code(),
        "Error: Tool 'code_execution' is not available: python3 is not installed.",
    );
}

#[test]
fn git_is_looked_at() {
    let script = |name: &str, args: Value| {
        let (answer, stage) = answer(&[], Some(ran("", Exit::Code(0))), name, &args);
        assert_eq!(answer.content.text(), "(no changes)");
        match stage.did.as_slice() {
            [Action::World(World::Run(run))] => run.script.clone(),
            did => panic!("{did:?}"),
        }
    };
    assert_eq!(script("git_status", json!({})), "git --no-pager status --short --branch");
    assert_eq!(
        script("git_diff", json!({"path": "a b", "cached": true, "unified": 1})),
        "git --no-pager diff --no-color --no-ext-diff --cached --unified=1 -- '/w/a b'"
    );
}

#[test]
fn pages() {
    let page = || {
        Outcome::Fetched(protocol::Page {
            url: "http://x/".into(),
            status: 200,
            mime: "text/html".into(),
            text: "# T\n\n[a](b)".into(),
            truncated: false,
        })
    };
    check_after(
        page(),
        "fetch_url",
        json!({"url": "http://x/"}),
        r##"{"url":"http://x/","status":200,"content_type":"text/html","content":"# T\n\n[a](b)","truncated":false}"##,
    );
    check_after(
        page(),
        "fetch_url",
        json!({"url": "http://x/", "format": "text", "fields": ["content"]}),
        r#"{"content":"T\n\na"}"#,
    );
    check(
        &[],
        "fetch_url",
        json!({"url": "x"}),
        "Error: Invalid input for tool 'fetch_url': url must begin with http:// or https://",
    );
}

#[test]
fn calls_that_come_to_nothing() {
    check(&[], "edit_file", json!({"path": "a"}), "Error: Tool 'edit_file' is missing required field 'search'");
    let (answer, _) = answer(&[], None, "edit_file", &json!({"path": "a", "old_string": "x", "new_string": "y"}));
    let text = answer.content.text();
    assert!(text.contains("Schema hint: ") && text.contains("old_string -> search"), "{text}");
    let (answer, _) = super::answer(&[], None, "reed_files", &json!({}));
    let text = answer.content.text();
    assert!(
        text.starts_with(
            "Error: Tool 'reed_files' is not available in the current tool catalog. Did you mean: read_file, "
        ),
        "{text}"
    );
    // Off by one edit, and as it stands on the wire.
    check(&[("a", "x")], "read_fil", json!({"path": "a"}), "x");
    check(&[("a", "x")], "functions.read_file", json!({"path": "a"}), "x");
}

#[test]
fn several_calls_in_one() {
    for name in ["multi_tool_use.parallel", "multi_tool_use-x00002E-parallel"] {
        check(
            &[("a", "x"), ("d/b", "y")],
            name,
            json!({"tool_uses": [
                {"recipient_name": "functions.read_file", "parameters": {"path": "a"}},
                {"recipient_name": "list_dir", "parameters": {"path": "d"}},
                {"recipient_name": "exec_shell", "parameters": {"command": "ls"}},
            ]}),
            r#"{"results":[{"recipient_name":"functions.read_file","success":true,"content":"x"},{"recipient_name":"list_dir","success":true,"content":"[{\"name\":\"b\",\"is_dir\":false}]"},{"recipient_name":"exec_shell","success":false,"content":"Error: Tool 'exec_shell' is not available: multi_tool_use.parallel takes reading tools only. Call it by itself."}]}"#,
        );
    }
}
