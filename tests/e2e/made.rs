//! Harnesses that users write: where they are found, what a model sees of them, and what becomes of a session in one.
use std::fs;

use demo::scripted::Turn;
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::{Place, Ran};

const TERSE: &str = r#"
base = "pi"
description = "pi with a terminal"
prompt = "You are terse, in {{cwd}}.\n\n{{base_prompt}}"

[tools.bash]
name = "terminal"
description = "Runs it."
properties = { command = "What to run." }

[tools.write]
offered = false

[answers]
success = "[{{tool}}] {{answer}}"
failure = "[{{tool}} FAILED] {{answer}}"
"#;

fn define(place: &Place, id: &str, text: &str) {
    let folder = place.home().join(".openinterpreter/harnesses").join(id);
    fs::create_dir_all(&folder).expect("a file");
    fs::write(folder.join("harness.toml"), text).expect("a file");
}

fn define_in_project(place: &Place, id: &str, text: &str) {
    let folder = place.file(".openinterpreter/harnesses").join(id);
    fs::create_dir_all(&folder).expect("a file");
    fs::write(folder.join("harness.toml"), text).expect("a file");
}

fn trust(place: &Place) {
    let root = fs::canonicalize(place.workspace()).expect("there");
    place.write_config(&format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", root.display()));
}

/// Names and descriptions of the tools of a request, on any wire.
fn tools(request: &Value) -> Vec<(String, String)> {
    let tool = |tool: &Value| {
        let tool = tool.get("function").unwrap_or(tool);
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("description"))
    };
    request["tools"].as_array().expect("a list").iter().map(tool).collect()
}

#[track_caller]
fn refused(ran: &Ran, expected: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
    let lines = ran.stderr.lines().filter(|line| !line.starts_with("Reading additional input"));
    assert_eq!(lines.count(), 1, "{}", ran.stderr);
}

#[test]
fn a_model_sees_the_new_names_and_is_understood_by_them_over_every_wire() {
    for wire in [WireId::Responses, WireId::Chat, WireId::Messages] {
        let calls = |n| match n {
            0 => Turn::call("terminal", &json!({"command": "echo one > made.txt; echo fine"})),
            1 => Turn::call("terminal", &json!({"command": "exit 3"})),
            _ => Turn::call("write", &json!({"path": "x", "content": "y"})),
        };
        let place = Place::new(wire, (0..3).map(|n| calls(n).into()).collect());
        define(&place, "terse", TERSE);
        let ran = place.exec(&["--harness", "terse"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(fs::read_to_string(place.file("made.txt")).unwrap(), "one\n");
        assert!(!place.file("x").exists());

        let first = place.request(0);
        let offered = tools(&first);
        let names: Vec<&str> = offered.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["read", "terminal", "edit"], "{wire:?}");
        assert_eq!(offered[1].1, "Runs it.");
        let text = first.to_string();
        let cwd = fs::canonicalize(place.workspace()).unwrap();
        assert!(text.contains(&format!("You are terse, in {}.", cwd.display())), "{wire:?} {text}");
        assert!(text.contains("What to run."), "{text}");

        let last = place.request(3).to_string();
        for said in ["[terminal] fine", "[terminal FAILED] ", "[write FAILED] There is no tool `write`."] {
            assert!(last.contains(said), "{wire:?}: {said} is not in {last}");
        }
        assert_eq!(last.matches(r#""name":"terminal""#).count(), 3, "{wire:?}: once offered, twice called: {last}");
        assert!(!last.contains(r#""name":"bash""#), "{wire:?} {last}");
    }
}

#[test]
fn they_are_listed_and_shown() {
    let place = Place::new(WireId::Chat, Vec::new());
    let plain = place.run(&["harness", "list"]).stdout;
    define(&place, "terse", TERSE);
    define(&place, "broken", "base = \"pi\"\ncolour = 1\n");
    define(&place, "pi", "base = \"pi\"\n");
    let list = place.run(&["harness", "list"]);
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), format!("{plain}terse\n").as_str()));
    let folder = place.home().join(".openinterpreter/harnesses");
    let warnings = format!(
        "warning: {0}/broken/harness.toml:2: unknown field `colour`, expected one of `base`, `description`, `prompt`, `tools`, `answers`\n\
         warning: {0}/pi/harness.toml: `pi` is a built-in harness; give the folder another name\n",
        folder.display()
    );
    assert_eq!(list.stderr, warnings);
    let json: Value = serde_json::from_str(&place.run(&["harness", "list", "--json"]).stdout).unwrap();
    let all = json.as_array().unwrap();
    assert_eq!(all[0], json!({"id": "native", "origin": "built-in"}));
    let file = folder.join("terse/harness.toml").display().to_string();
    let entry = json!({
        "id": "terse", "origin": "user", "file": file, "base": "pi", "description": "pi with a terminal",
    });
    assert_eq!(all.last(), Some(&entry));
    let shown = place.run(&["harness", "show", "terse"]).stdout;
    assert!(shown.contains("You are terse, in ") && shown.contains("--- tool terminal\nRuns it.\n"), "{shown}");
}

#[test]
fn a_prompt_may_stand_in_a_file_beside() {
    let place = Place::new(WireId::Chat, Vec::new());
    define(&place, "mine", "base = \"native\"\n");
    fs::write(place.home().join(".openinterpreter/harnesses/mine/prompt.md"), "Mine: {{model}}, {{os}}.\n").unwrap();
    place.write_config("harness = \"mine\"");
    assert_eq!(place.exec(&[]).code, Some(0));
    let text = place.request(0).to_string();
    let os = if cfg!(target_os = "macos") { "macOS" } else { "Linux" };
    assert!(text.contains(&format!("Mine: stub-model, {os}.")), "{text}");
    // The sandbox is told all the same.
    assert!(text.contains("workspace-write"), "{text}");
}

#[test]
fn mistakes_end_the_run_before_anything_is_sent() {
    let place = Place::new(WireId::Chat, Vec::new());
    let folder = place.home().join(".openinterpreter/harnesses");
    let check = |text: &str, expected: &str| {
        define(&place, "mine", text);
        let file = folder.join("mine/harness.toml");
        refused(&place.run(&["exec", "--harness", "mine", "hi"]), &format!("Error: {}{expected}", file.display()));
    };
    check("base = \"pi\"\nbases = 1\n", ":2: unknown field `bases`, expected one of");
    check("base = \"nope\"\n", ": `base`: no built-in harness `nope`; `interpreter harness list` shows them");
    check(
        "base = \"pi\"\n[tools.Bash]\nname = \"x\"\n",
        ": `tools.Bash`: pi has no tool `Bash`; it has bash, edit, read, write",
    );
    check(
        "base = \"pi\"\n[answers]\nfailure = \"{{why}}\"\n",
        ": `answers.failure`: no place `{{why}}`; there are answer, tool",
    );
    check("base = [\n", ":");
    refused(&place.run(&["exec", "--harness", "other", "hi"]), "Error: no harness `other`. Known: native, ");
    refused(&place.run(&["exec", "-c", "harness=../mine", "hi"]), "Error: no harness `../mine`. Known: native, ");
    assert_eq!(place.requests().len(), 0);
}

#[test]
fn a_projects_harness_needs_trust_and_yields_to_the_users() {
    let place = Place::new(WireId::Chat, Vec::new());
    define_in_project(&place, "ours", "base = \"pi\"\nprompt = \"From the project.\"\n");
    let args = ["exec", "--harness", "ours", "hi"];
    refused(&place.run(&args), "and this folder is not trusted. `interpreter exec --trust` trusts it.");
    assert!(!place.run(&["harness", "list"]).stdout.contains("ours"));
    trust(&place);
    assert_eq!(place.run(&args).code, Some(0));
    assert!(place.request(0).to_string().contains("From the project."));
    define(&place, "ours", "base = \"pi\"\nprompt = \"From the user.\"\n");
    assert_eq!(place.run(&args).code, Some(0));
    let text = place.request(1).to_string();
    assert!(text.contains("From the user.") && !text.contains("From the project."), "{text}");
}

#[test]
fn a_session_goes_on_in_its_harness_and_says_when_that_is_gone() {
    let steps = vec![
        Turn::call("terminal", &json!({"command": "echo fine"})).into(),
        Turn::text("Done.").into(),
        Turn::text("Again.").into(),
        Turn::text("Elsewhere.").into(),
    ];
    let place = Place::new(WireId::Chat, steps);
    define(&place, "terse", TERSE);
    let thread = place.exec(&["--harness", "terse"]).thread();
    let resume = |more: &[&str]| {
        let mut args = vec!["exec"];
        args.extend(more);
        args.extend(["resume", thread.as_str(), "go on"]);
        place.run(&args)
    };
    assert_eq!(resume(&[]).code, Some(0));
    let (before, after) = (place.request(1), place.request(2));
    assert_eq!(after["tools"], before["tools"]);
    let said = before["messages"].as_array().unwrap();
    assert_eq!(after["messages"].as_array().unwrap()[..said.len()], said[..]);

    // Another definition: all of it is said anew.
    define(&place, "terse", &TERSE.replace("\"terminal\"", "\"console\""));
    let changed = resume(&[]);
    assert_eq!(changed.code, Some(0), "{changed:?}");
    let text = place.request(3).to_string();
    assert!(text.contains(r#""name":"console""#) && !text.contains(r#""name":"terminal""#), "{text}");

    fs::remove_dir_all(place.home().join(".openinterpreter/harnesses/terse")).unwrap();
    refused(&resume(&[]), "Error: this session speaks harness `terse`, which is gone: there is no ");
    assert_eq!(resume(&["--harness", "pi"]).code, Some(0));
    let text = place.request(4).to_string();
    assert!(text.contains(r#""name":"bash""#) && !text.contains(r#""name":"console""#), "{text}");
}
