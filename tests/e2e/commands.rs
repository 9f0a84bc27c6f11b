//! The commands beside `exec`.
use std::fs;

use pretty_assertions::assert_eq;
use protocol::WireId;

use crate::place::Place;

fn place() -> Place {
    Place::new(WireId::Responses, Vec::new())
}

#[test]
fn version_and_help_need_no_config() {
    let place = place();
    fs::write(place.home().join(".openinterpreter/config.toml"), "broken = [").unwrap();
    let version = place.run(&["--version"]);
    assert_eq!((version.code, version.stdout), (Some(0), format!("interpreter {}\n", env!("CARGO_PKG_VERSION"))));
    for args in [&["--help"][..], &["exec", "--help"], &["exec", "resume", "--help"], &["sandbox", "--help"]] {
        let help = place.run(args);
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains("Usage: interpreter"), "{}", help.stdout);
    }
    let broken = place.run(&["exec", "hi"]);
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("config.toml:1:"), "{}", broken.stderr);
}

#[test]
fn debug_config_tells_where_values_come_from() {
    let place = place();
    let table = place.run(&["debug", "config", "-m", "mine"]).stdout;
    assert!(table.contains("mine") && table.contains("--model"), "{table}");
    let json = place.run(&["debug", "config", "--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&json.stdout).is_ok(), "{json:?}");
}

#[test]
fn harnesses_are_listed_and_shown() {
    let place = place();
    let list = place.run(&["harness", "list"]).stdout;
    for id in ["native", "claude-code-bare", "mini-swe-agent", "swe-agent", "kimi-cli", "kimi-code", "qwen-code"] {
        assert!(list.lines().any(|line| line == id), "{id} is missing in {list}");
    }
    let shown = place.run(&["harness", "show", "claude-code-bare"]).stdout;
    for tool in ["Bash", "Edit", "Read"] {
        assert!(shown.contains(&format!("--- tool {tool}\n")), "{shown}");
    }
    let unknown = place.run(&["harness", "show", "nope"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("Known: native, "), "{}", unknown.stderr);
}

#[test]
fn the_sandbox_runs_a_command_and_passes_its_status_on() {
    let place = place();
    let ran = place.run(&["sandbox", "--", "sh", "-c", "echo out; exit 7"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "out\n"), "{ran:?}");
    let touch = |mode: &str| place.run(&["sandbox", "-s", mode, "--", "touch", "new"]).code;
    assert_eq!(touch("read-only"), Some(1));
    assert!(!place.file("new").exists());
    assert_eq!(touch("workspace-write"), Some(0));
    assert!(place.file("new").exists());
    assert_eq!(place.run(&["sandbox", "-s", "workspace-write", "--", "touch", ".git/hooks"]).code, Some(1));
    let check = place.run(&["sandbox", "--check"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    assert!(!check.stdout.is_empty());
    assert_eq!(place.run::<&str>(&["sandbox"]).code, Some(1));
}

#[test]
fn the_demo_mends_its_repository_in_every_harness_over_every_wire() {
    let list = place().run(&["harness", "list"]).stdout;
    for harness in list.lines() {
        for wire in ["responses", "chat", "messages"] {
            let place = place();
            let dir = place.root().join(format!("demo {harness} {wire} ä"));
            let ran = place.run(&["demo", "--harness", harness, "--wire", wire, dir.to_str().unwrap()]);
            assert_eq!(ran.code, Some(0), "{harness} {wire}: {ran:?}");
            assert!(
                ran.stdout.contains("+        if previous is not None and (day - previous).days == 1:"),
                "{}",
                ran.stdout
            );
            assert!(ran.stdout.contains("The three tests pass"), "{}", ran.stdout);
            assert!(!place.home().join(".openinterpreter/sessions").exists(), "nothing is kept");
        }
    }
}

#[test]
fn the_demo_leaves_a_folder_in_use_alone() {
    let place = place();
    fs::write(place.file("mine.txt"), "mine").unwrap();
    let ran = place.run(&["demo", place.workspace().to_str().unwrap()]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("the folder is not empty"), "{}", ran.stderr);
}
