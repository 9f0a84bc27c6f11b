//! `interpreter exec`: flags, streams, files, exit status.
use std::{fs, process::Stdio, time::Instant};

use demo::scripted::{End, Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::{Place, finish, wait};

fn command(cmd: &str) -> Step {
    Turn::call("exec_command", &json!({"cmd": cmd})).into()
}

fn place(steps: Vec<Step>) -> Place {
    Place::new(WireId::Responses, steps)
}

/// Text of the newest user message of a Responses request.
fn prompt(request: &Value) -> String {
    let input = request["input"].as_array().expect("input");
    let user = input.iter().rev().find(|item| item["role"] == "user").expect("a user message");
    let texts: Vec<&str> =
        user["content"].as_array().expect("parts").iter().filter_map(|p| p["text"].as_str()).collect();
    texts.join("|")
}

#[test]
fn a_turn_with_a_command_as_events() {
    let place = place(vec![
        Turn::call("exec_command", &json!({"cmd": "echo hi"})).thinking("hm").saying("hello").into(),
        Turn::text("done").into(),
    ]);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.outline(),
        [
            "thread.started",
            "item.completed error",
            "turn.started",
            "item.completed reasoning",
            "item.completed agent_message",
            "item.started command_execution",
            "item.completed command_execution",
            "item.completed agent_message",
            "turn.completed"
        ]
    );
    let events = ran.events();
    let shown = json!({"id": "item_3", "type": "command_execution", "command": "/bin/bash -lc 'echo hi'",
        "aggregated_output": "hi\n", "exit_code": 0, "status": "completed"});
    assert_eq!(events[6]["item"], shown);
    let usage = json!({"input_tokens": 200, "cached_input_tokens": 0, "cache_write_input_tokens": 0, "output_tokens": 20,
        "reasoning_output_tokens": 0});
    assert_eq!(events[8]["usage"], usage);
}

#[test]
fn people_get_the_answer_on_stdout_and_the_rest_on_stderr() {
    let place = place(vec![command("echo hi"), Turn::text("the answer").into()]);
    let ran = place.run(&["exec", "-s", "workspace-write", "do it"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "the answer\n"));
    for expected in [
        "workdir: ",
        "model: stub-model",
        "sandbox: workspace-write [workdir, /tmp]",
        "exec\n/bin/bash -lc 'echo hi' in ",
        "tokens used\n220\n",
    ] {
        let stderr = ran.stderr.replace(", $TMPDIR", "");
        assert!(stderr.contains(expected), "{expected:?} is missing in:\n{stderr}");
    }
}

#[test]
fn the_prompt_comes_from_the_argument_from_stdin_or_both() {
    let cases: [(&[&str], &[u8], &str); 4] = [
        (&["text"], b"", "text"),
        (&["text"], b"data\n", "text\n\n<stdin>\ndata\n</stdin>"),
        (&["-"], b"from stdin\n", "from stdin\n"),
        (&[], b"from stdin", "from stdin"),
    ];
    for (words, stdin, expected) in cases {
        let place = place(Vec::new());
        let args: Vec<&str> = ["exec", "--json"].iter().chain(words).copied().collect();
        let ran = place.run_with_stdin(&args, stdin);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert_eq!(prompt(&place.request(0)), expected, "{words:?}");
    }
}

#[test]
fn no_prompt_at_all_is_an_error() {
    let place = place(Vec::new());
    for args in [&["exec"][..], &["exec", "-"]] {
        let ran = place.run_with_stdin(args, b" \n");
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.ends_with("No prompt provided via stdin.\n"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(place.requests().len(), 0);
}

#[test]
fn the_last_message_goes_to_a_file() {
    let place = place(vec![Turn::text("the answer").into()]);
    let ran = place.exec(&["-o", "last.txt"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(fs::read_to_string(place.file("last.txt")).unwrap(), "the answer");
    let ran = place.exec(&["-o", "missing/last.txt"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("Failed to open last message file \"missing/last.txt\""), "{}", ran.stderr);
}

#[test]
fn an_output_schema_reaches_the_model() {
    let place = place(vec![Turn::text("{\"a\":1}").into()]);
    fs::write(place.file("schema.json"), r#"{"type":"object","properties":{"a":{"type":"number"}}}"#).unwrap();
    let ran = place.exec(&["--output-schema", "schema.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let format = json!({"type": "json_schema", "strict": true, "name": "codex_output_schema",
        "schema": {"type": "object", "properties": {"a": {"type": "number"}}}});
    assert_eq!(place.request(0)["text"]["format"], format);
    for (file, text, expected) in [
        ("none.json", None, "Failed to read output schema file none.json"),
        ("bad.json", Some("{"), "Output schema file bad.json is not valid JSON"),
    ] {
        if let Some(text) = text {
            fs::write(place.file(file), text).unwrap();
        }
        let ran = place.exec(&["--output-schema", file]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn failures_have_their_own_exit_status() {
    let refusal = |status: u16, message: &str| Step::refuse(status, &json!({"error": {"message": message}}));
    type Row = (&'static str, Vec<Step>, &'static [&'static str], i32, &'static str);
    let table: [Row; 6] = [
        ("401", vec![refusal(401, "bad key XYZ")], &[], 1, "bad key XYZ"),
        ("400", vec![refusal(400, "bad request XYZ")], &[], 1, "bad request XYZ"),
        (
            "cut",
            vec![Step::stream(vec![b"data: {\"type\":\"response.created\"}\n\n".to_vec()], End::Cut)],
            &[],
            1,
            "stream disconnected",
        ),
        ("steps", vec![command("true"), command("true")], &["--max-steps", "1"], 3, "--max-steps"),
        ("tokens", vec![command("true"), command("true")], &["--max-tokens", "50"], 5, "--max-tokens"),
        ("time", vec![command("true")], &["--max-time", "0s"], 4, "--max-time"),
    ];
    for (name, steps, args, code, words) in table {
        let place = place(steps);
        let ran = place.exec(args);
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(ran.failure().contains(words), "{name}: {}", ran.failure());
        assert_eq!(ran.outline().last().map(String::as_str), Some("turn.failed"), "{name}");
    }
}

#[test]
fn errors_before_the_thread_are_one_line_and_no_event() {
    let place = place(Vec::new());
    fs::write(place.home().join("bad.toml"), "").unwrap();
    let table: [(&[&str], i32, &str); 7] = [
        (&["-C", "missing"], 1, "cannot work in missing"),
        (&["-c", "model"], 1, "Invalid override (missing '='): model"),
        (&["-c", "sandbox_mode=\"none\""], 1, "sandbox_mode"),
        (&["-c", "model_provider=\"nope\""], 1, "Model provider `nope` not found"),
        (&["-c", "harness=\"nope\""], 1, "no harness `nope`"),
        (&["-p", "nope"], 1, "nope"),
        (&["--no-such-flag"], 2, "unexpected argument '--no-such-flag'"),
    ];
    for (args, code, words) in table {
        let ran = place.exec(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(place.requests().len(), 0);
}

#[test]
fn a_folder_outside_of_git_needs_trust() {
    let place = place(Vec::new());
    fs::remove_dir_all(place.file(".git")).unwrap();
    let ran = place.exec(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_eq!(ran.stderr, "Not inside a trusted directory and --skip-git-repo-check was not specified.\n");
    assert_eq!(place.exec(&["--skip-git-repo-check"]).code, Some(0));
    assert_eq!(place.exec(&["--trust"]).code, Some(0));
    assert_eq!(place.exec(&[]).code, Some(0), "trust is kept");
}

#[test]
fn sigint_ends_the_turn_and_leaves_a_session_that_goes_on() {
    let place = place(vec![command("echo started; sleep 30"), Turn::text("gone on").into()]);
    let begun = Instant::now();
    let mut child = place.command(&["exec", "--json", "-s", "workspace-write", "do it"]).spawn().unwrap();
    assert!(place.server.wait_for(1, std::time::Duration::from_secs(20)));
    // The command has begun when its item stands in the events.
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !line.contains("command_execution") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut out, &mut line).unwrap(), 0, "{seen}");
        seen.push_str(&line);
    }
    // SAFETY: a plain signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    let ran = wait(child, begun);
    assert_eq!(ran.code, Some(130), "{seen}{rest}{ran:?}");
    assert!(rest.trim_end().ends_with(r#"{"type":"turn.failed","error":{"message":"interrupted"}}"#), "{rest}");
    let id =
        serde_json::from_str::<Value>(seen.lines().next().unwrap()).unwrap()["thread_id"].as_str().unwrap().to_owned();
    let ran = place.run(&["exec", "--json", "resume", &id, "go on"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let input = place.request(1)["input"].to_string();
    assert!(input.contains("aborted by user"), "{input}");
}

#[test]
fn flags_stand_on_either_side_of_the_command() {
    let place = place(Vec::new());
    let ran = place.run(&["-c", "model=\"one\"", "exec", "--json", "-c", "model=\"two\"", "hi"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(place.request(0)["model"], "two");
    let ran = place.run(&["-m", "outer", "exec", "--json", "hi"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(place.request(1)["model"], "outer");
}

#[test]
fn keys_reach_the_server_and_nothing_else() {
    let place = place(vec![command("env; echo said"), Turn::text("done").into()]);
    place.write_config("");
    let config = fs::read_to_string(place.home().join(".openinterpreter/config.toml")).unwrap();
    fs::write(place.home().join(".openinterpreter/config.toml"), config + "env_key = \"STUB_KEY\"\n").unwrap();
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.failure().starts_with("Missing environment variable: `STUB_KEY`."), "{}", ran.failure());
    let mut with_key = place.command(&[
        "exec",
        "--json",
        "-s",
        "workspace-write",
        "-c",
        "shell_environment_policy.exclude=[\"*KEY*\"]",
        "hi",
    ]);
    with_key.env("STUB_KEY", "sk-very-secret");
    let ran = finish(with_key, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(place.requests()[0].header("authorization").as_deref(), Some("Bearer sk-very-secret"));
    let rollouts = walk(&place.home().join(".openinterpreter"));
    for text in rollouts.iter().chain([&ran.stdout, &ran.stderr]) {
        assert!(!text.contains("sk-very-secret"), "{text}");
    }
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts.extend(walk(&path))
        } else {
            texts.push(String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned())
        }
    }
    texts
}

#[test]
fn a_decoy_codex_home_changes_nothing_unless_an_sdk_starts_us() {
    let place = place(Vec::new());
    let decoy = place.root().join("codex");
    fs::create_dir_all(&decoy).unwrap();
    fs::create_dir_all(place.file(".codex")).unwrap();
    fs::write(decoy.join("config.toml"), "model = \"decoy\"\n").unwrap();
    fs::write(place.file(".codex/config.toml"), "model = \"decoy\"\n").unwrap();
    let run = |json: &str| {
        let mut command = place.command(&[
            "exec",
            json,
            "-c",
            &format!("model_providers.stub.base_url=\"{}\"", place.server.base_url()),
            "-c",
            "model_provider=\"stub\"",
            "hi",
        ]);
        command.env("CODEX_HOME", &decoy).stdin(Stdio::null());
        finish(command, None)
    };
    assert_eq!(run("--json").code, Some(0));
    assert_eq!(place.request(0)["model"], "stub-model");
    let ran = run("--experimental-json");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(place.request(1)["model"], "decoy");
    assert!(decoy.join("openinterpreter/sessions").is_dir());
}

#[test]
fn a_working_folder_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = place(vec![command("echo here > new.txt; cat new.txt"), Turn::text("done").into()]);
    let odd = place.root().join(std::ffi::OsStr::from_bytes(b"x\xff y"));
    fs::create_dir_all(odd.join(".git/refs")).unwrap();
    let mut command = place.command(&["exec", "--json", "-s", "workspace-write", "hi"]);
    command.current_dir(&odd);
    let ran = finish(command, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_to_string(odd.join("new.txt")).unwrap(), "here\n");
    let ran = place.run(&["exec", "--json", "resume", &ran.thread(), "go on"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_home_that_cannot_be_written_serves_an_ephemeral_run() {
    let place = place(vec![command("touch new.txt"), Turn::text("done").into()]);
    // Not a folder: nobody can write there, root neither.
    let config = fs::read_to_string(place.home().join(".openinterpreter/config.toml")).unwrap();
    let mut args: Vec<String> =
        vec!["exec".into(), "--json".into(), "--ephemeral".into(), "-s".into(), "workspace-write".into()];
    for line in config.lines().filter(|line| line.contains('=')) {
        let (key, value) = line.split_once(" = ").unwrap();
        let key = if key.starts_with("model") { key.to_owned() } else { format!("model_providers.stub.{key}") };
        args.extend(["-c".into(), format!("{key}={value}")]);
    }
    args.push("hi".into());
    let mut run = place.command(&args);
    run.env("INTERPRETER_HOME", "/proc/none");
    let ran = finish(run, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(place.file("new.txt").exists(), "{ran:?}");
}
