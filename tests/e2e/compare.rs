//! `interpreter harness compare`: each harness in a worktree of its own, a table, diffs, and nothing of the user's touched.
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use demo::scripted::{Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::{Place, Ran, collect, wait};

fn git(dir: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").args(who).args(args).current_dir(dir).output().expect("git");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A repository with a commit, a staged change, an unstaged one, and a file that Git does not know.
fn repository(steps: Vec<Step>) -> Place {
    let place = Place::new(WireId::Chat, steps);
    let dir = place.workspace();
    fs::remove_dir_all(dir.join(".git")).expect("the placeholder");
    git(&dir, &["init", "-q"]);
    fs::write(dir.join("answer.txt"), "old\n").expect("a file");
    fs::write(dir.join("staged.txt"), "one\n").expect("a file");
    fs::create_dir(dir.join("sub")).expect("a folder");
    fs::write(dir.join("sub/below.txt"), "below\n").expect("a file");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-q", "-m", "first"]);
    fs::write(dir.join("staged.txt"), "two\n").expect("a file");
    git(&dir, &["add", "staged.txt"]);
    fs::write(dir.join("staged.txt"), "three\n").expect("a file");
    fs::write(dir.join("unknown é.txt"), "new\n").expect("a file");
    place
}

/// What the user would see of the repository.
fn state(dir: &Path) -> [String; 4] {
    [
        git(dir, &["status", "--porcelain=v2", "--branch"]),
        git(dir, &["diff", "--cached"]),
        git(dir, &["for-each-ref"]),
        git(dir, &["stash", "list"]),
    ]
}

fn run(command: &str) -> Turn {
    Turn::call("exec_command", &json!({"cmd": command}))
}

fn bash(command: &str) -> Turn {
    Turn::call("bash", &json!({"command": command}))
}

fn compare(place: &Place, more: &[&str]) -> Ran {
    place.run(&[&["harness", "compare"], more].concat())
}

fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// Our folder of worktrees, what is in it.
fn worktrees(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&place.home().join(".openinterpreter/worktrees"), &mut found);
    found
}

/// A check as a user writes it: what it says matters to nobody but people.
const CHECK: &str = "grep -qx right answer.txt || { echo not right >&2; exit 7; }";

#[test]
fn two_harnesses_on_one_task() {
    let place = repository(vec![
        // native sees the user's uncommitted work, and does it right.
        run("cat staged.txt 'unknown é.txt' sub/below.txt; printf 'right\\n' > answer.txt").using(1200, 30).into(),
        Turn::text("native is done").using(1300, 5).into(),
        // pi does something else, and one of its calls comes to nothing.
        bash("echo extra > made.txt; exit 3").and_call("read", &json!({"path": "nowhere.txt"})).using(400, 10).into(),
        Turn::text("pi is done").using(500, 5).into(),
    ]);
    let dir = place.workspace();
    let before = state(&dir);
    let ran = compare(&place, &["--harness", "native,pi", "--check", CHECK, "--json", "write the answer"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(state(&dir), before, "nothing of the user's changes");
    assert_eq!(worktrees(&place), Vec::<PathBuf>::new());
    assert_eq!(git(&dir, &["worktree", "list"]).lines().count(), 1);

    let report = report(&ran);
    assert_eq!(report["uncommitted_changes"], true);
    assert_eq!(report["runs"][0]["cost_usd"], Value::Null, "no price is known");
    let brief = |run: &Value| {
        let usage = &run["usage"];
        json!([
            [run["name"], run["end"], run["last_message"]],
            run["check"],
            [run["steps"], run["calls"], run["repaired"], run["failed"]],
            [usage["input_tokens"], usage["output_tokens"]],
            run["changed"],
        ])
    };
    let runs: Vec<Value> = report["runs"].as_array().expect("runs").iter().map(brief).collect();
    let expected = [
        json!([
            ["native", "done", "native is done"],
            {"passed": true, "exit_code": 0, "timed_out": false, "output": ""},
            [2, 1, 0, 0],
            [2500, 35],
            {"files": 1, "added": 1, "removed": 1},
        ]),
        json!([
            ["pi", "done", "pi is done"],
            {"passed": false, "exit_code": 7, "timed_out": false, "output": "not right\n"},
            [2, 2, 0, 1],
            [900, 15],
            {"files": 1, "added": 1, "removed": 0},
        ]),
    ];
    assert_eq!(runs, expected);
    let seen = place.request(1).to_string();
    assert!(seen.contains("three\\nnew\\nbelow"), "{seen}");
    let diff = fs::read_to_string(report["runs"][0]["diff"].as_str().expect("a path")).expect("the diff");
    assert!(diff.ends_with("-old\n+right\n"), "{diff}");
}

#[test]
fn a_table_for_people_and_worktrees_that_stay() {
    let place = repository(vec![Turn::text("one").into(), Turn::text("two").into()]);
    let args = ["--harness", "native,native", "--keep", "-C", "sub", "-"];
    let ran =
        crate::place::finish(place.command(&[&["harness", "compare"][..], &args].concat()), Some(b"task".to_vec()));
    // The task from stdin reaches the model.
    assert!(place.request(0).to_string().contains("task"), "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let columns: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(columns.join(" "), "harness end check steps calls repaired failed tokens in cached out cost time lines");
    for (line, name) in [(lines[1], "native "), (lines[2], "native-2 ")] {
        assert!(line.starts_with(name) && line.contains("done") && line.ends_with("+0 -0 in 0 files"), "{line}");
    }
    let kept: Vec<&str> =
        lines.iter().filter_map(|line| line.split_once(": worktree ")).map(|(_, path)| path).collect();
    assert_eq!(kept.len(), 2, "{ran:?}");
    for path in kept {
        assert!(path.ends_with("/work/sub"), "the folder that corresponds to the user's: {path}");
        assert_eq!(fs::read_to_string(Path::new(path).join("../staged.txt")).expect("a file"), "three\n");
    }
}

#[test]
fn what_cannot_be_compared_is_said_in_one_line() {
    let place = repository(Vec::new());
    let bare = Place::new(WireId::Chat, Vec::new());
    fs::remove_dir_all(bare.workspace().join(".git")).expect("the placeholder");
    let in_no_repository =
        format!("Error: {} is in no Git repository; comparing needs one (`git init`).\n", bare.workspace().display());
    let cases = [
        (
            &place,
            &["task"][..],
            "Error: which harnesses? Write --harness a,b,c; `interpreter harness list` shows them.\n",
        ),
        (
            &place,
            &["--harness", "native", "--worktree", "task"],
            "Error: --worktree: every harness gets a worktree on this machine; leave --worktree out.\n",
        ),
        (&bare, &["--harness", "native", "task"], &in_no_repository),
    ];
    for (place, args, expected) in cases {
        let ran = compare(place, args);
        assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.as_str()), (Some(1), expected, ""), "{args:?}");
    }
}

#[test]
fn a_harness_that_nobody_knows_is_told_before_anything_runs() {
    let place = repository(vec![Turn::text("done").into()]);
    let ran = compare(&place, &["--harness", "native,nonsense", "task"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("nonsense"), "{ran:?}");
    assert_eq!(place.requests().len(), 0);
}

#[test]
fn a_run_that_fails_is_told_and_the_others_count() {
    let refusal = Step::refuse(400, &json!({"error": {"message": "no such thing"}}));
    let place = repository(vec![refusal, Turn::text("done").into()]);
    let ran = compare(&place, &["--harness", "native,pi", "task"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let failed = ran.stdout.lines().find(|line| line.starts_with("native: ")).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(failed.contains("no such thing"), "{failed}");
    assert_eq!(worktrees(&place), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_ends_the_run_tells_what_is_known_and_takes_the_worktree_away() {
    let place = repository(vec![run("mkfifo waiting && cat waiting").into()]);
    let begun = Instant::now();
    let args = ["harness", "compare", "--harness", "native,pi", "task"];
    let mut child = place.command(&args).spawn().expect("a start");
    let mut err = BufReader::new(child.stderr.take().expect("stderr"));
    assert!(place.server.wait_for(1, Duration::from_secs(20)));
    let mut lines = String::new();
    while !lines.ends_with("native: begins\n") {
        assert_ne!(err.read_line(&mut lines).expect("text"), 0, "{lines}");
    }
    // SAFETY: a plain signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let mut rest = String::new();
    err.read_to_string(&mut rest).expect("text");
    let ran = wait(child, begun);
    assert_eq!(ran.code, Some(130), "{rest}{ran:?}");
    let rows: Vec<String> = ran
        .stdout
        .lines()
        .skip(1)
        .take(2)
        .map(|row| row.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(rows, ["native interrupted -", "pi not run"], "{ran:?}");
    assert_eq!(worktrees(&place), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_ends_a_check_too() {
    let place = repository(vec![Turn::text("done").into()]);
    let begun = Instant::now();
    let check = "echo $$ > here; mkfifo waiting; cat waiting";
    let args = ["harness", "compare", "--harness", "native,pi", "--check", check, "--keep", "task"];
    let mut child = place.command(&args).spawn().expect("a start");
    // The check has begun when it has left its mark.
    let marked = || worktrees(&place).iter().any(|path| path.ends_with("here"));
    while !marked() {
        assert!(begun.elapsed() < Duration::from_secs(30) && child.try_wait().expect("a child").is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: a plain signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let ran = wait(child, begun);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stdout.contains("pi") && ran.stdout.contains("not run"), "{ran:?}");
}

#[test]
fn a_check_does_not_see_the_key_and_what_is_kept_is_for_the_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = repository(vec![Turn::text("done").into()]);
    let mut command = place.command(&[
        "harness",
        "compare",
        "--harness",
        "native",
        "--json",
        "-c",
        "model_providers.stub.env_key=\"STUB_KEY\"",
        "--check",
        "echo key=$STUB_KEY other=$OTHER",
        "task",
    ]);
    command.env("STUB_KEY", "very-secret").env("OTHER", "seen");
    let ran = crate::place::finish(command, None);
    let report = report(&ran);
    assert_eq!(report["runs"][0]["check"]["output"], "key= other=seen\n", "{ran:?}");
    let mut kept = Vec::new();
    collect(&place.home().join(".openinterpreter/comparisons"), &mut kept);
    assert_eq!(kept.len(), 2, "{kept:?}");
    for path in kept {
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600, "{path:?}");
    }
}

#[test]
fn what_a_diff_cannot_hold_keeps_its_worktree() {
    let place =
        repository(vec![run("git init -q inner && echo important > inner/file.txt").into(), Turn::text("done").into()]);
    let ran = compare(&place, &["--harness", "native", "--json", "-s", "danger-full-access", "task"]);
    assert!(ran.stderr.contains("native: the worktree stays, as not in the diff"), "{ran:?}");
    let worktree = report(&ran)["runs"][0]["worktree"].as_str().expect("a path").to_owned();
    assert_eq!(fs::read_to_string(Path::new(&worktree).join("inner/file.txt")).expect("the file"), "important\n");
}

#[test]
fn a_diff_applies_whatever_the_users_configuration_says() {
    let place = repository(vec![run("printf 'right\\n' > answer.txt").into(), Turn::text("done").into()]);
    let dir = place.workspace();
    for (key, value) in
        [("diff.noprefix", "true"), ("diff.context", "0"), ("diff.external", "false"), ("color.ui", "always")]
    {
        git(&dir, &["config", key, value]);
    }
    let ran = compare(&place, &["--harness", "native", "--json", "task"]);
    let diff = report(&ran)["runs"][0]["diff"].as_str().expect("a path").to_owned();
    git(&dir, &["apply", &diff]);
    assert_eq!(fs::read_to_string(dir.join("answer.txt")).expect("a file"), "right\n");
}

#[test]
fn a_run_that_reached_a_limit_has_used_tokens() {
    let place = repository(vec![run("true").using(1200, 30).into(), Turn::text("done").into()]);
    let ran = compare(&place, &["--harness", "native", "--json", "--max-steps", "1", "task"]);
    let report = report(&ran);
    let brief = json!([report["runs"][0]["end"], report["runs"][0]["usage"]["input_tokens"]]);
    assert_eq!(brief, json!(["limit of steps", 1200]), "{ran:?}");
}
