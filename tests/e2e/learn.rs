//! Learning the words of an original. The original is invented: a script that says where it is and asks its model.
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::{Place, Ran, finish};

/// Asks for a title, then for the reply, over the chat wire. `$1`: the address.
const INVENTED: &str = r##"
address=${1#http://}
ask() {
    exec 3<>"/dev/tcp/${address%:*}/${address#*:}"
    printf 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nuser-agent: invented/7.1\r\nconnection: close\r\ncontent-length: %s\r\n\r\n%s' "${#1}" "$1" >&3
    head -c 12 <&3 >/dev/null
    exec 3>&-
}
tool() {
    printf '{"type":"function","function":{"name":"%s","description":"%s","parameters":%s}}' "$1" "$2" "$3"
}
ask '{"model":"m-1","stream":true,"messages":[{"role":"system","content":"Make a title."},{"role":"user","content":"hi"}]}'
system="You are Invented, and use \`rocket_launch\`.\\n\\n# Memory\\nIt lies in $HOME/.invented.\\n\\n# Place\\nRun $RANDOM$RANDOM of many.\\nYour folder is $PWD, and whatever you make for the user goes into it; nothing is ever left in another place.\\n\\nCurrent date: $(date +%F)\\nCurrent working directory: $PWD"
bash=$(tool bash 'Invented words on bash.' '{"type":"object","properties":{"command":{"type":"string","description":"Invented words on the command."},"wait":{"type":"number"}},"required":["command"]}')
read=$(tool read 'Invented words on read.' '{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}')
rocket=$(tool rocket_launch 'Launches a rocket.' '{"type":"object","properties":{}}')
env > "$HOME/../../seen-$$" 2>/dev/null
ask '{"model":"m-1","stream":true,"messages":[{"role":"system","content":"'"$system"'"},{"role":"user","content":"hi"}],"tools":['"$bash,$read,$rocket"']}'
sleep 30
"##;

fn place() -> Place {
    let place = Place::new(WireId::Chat, Vec::new());
    fs::write(place.file("invented"), INVENTED).expect("a file");
    place
}

fn learn(place: &Place, more: &[&str]) -> Ran {
    let script = place.file("invented").display().to_string();
    let mut args = vec!["harness", "learn", "pi"];
    args.extend(more);
    args.extend(["--", "bash", &script, "{url}"]);
    let mut command = place.command(&args);
    // Rooms lie here, so that what an original leaves behind can be looked at.
    command.env("TMPDIR", place.root()).env("ANTHROPIC_API_KEY", "sk-real").env("OPENAI_API_KEY", "sk-real");
    finish(command, None)
}

fn learned(place: &Place) -> PathBuf {
    place.home().join(".openinterpreter/harnesses/pi/learned.json")
}

/// System text and description of `bash` in a run of `pi`.
fn said(place: &Place) -> (String, String) {
    let n = place.requests().len();
    let ran = place.exec(&["--harness", "pi"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = place.request(n);
    let bash = request["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|tool| tool["function"]["name"] == "bash")
        .expect("there");
    let description = bash["function"]["description"].as_str().expect("text").to_owned();
    (request["messages"][0]["content"].as_str().expect("text").to_owned(), description)
}

#[test]
fn an_originals_words_are_used_from_then_on() {
    let place = place();
    let before = said(&place);
    let ran = learn(&place, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let file = learned(&place);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        (&kept["harness"], &kept["version"], &kept["wire"], &kept["model"]),
        (&json!("pi"), &json!("invented/7.1"), &json!("chat"), &json!("m-1"))
    );
    let prompt = "You are Invented, and use `rocket_launch`.\n\n# Place\nYour folder is {{cwd}}, and whatever you make for the user goes into it; nothing is ever left in another place.";
    assert_eq!(kept["prompt"], json!([prompt]));
    let tools = json!({
        "bash": {"description": "Invented words on bash.", "properties": {"command": "Invented words on the command."}},
        "read": {"description": "Invented words on read.", "properties": {}},
    });
    assert_eq!(kept["tools"], tools);
    for warning in [
        "left out of the prompt: `# Memory`",
        "left out of the prompt: `Run ",
        "pi leaves these tools out, and their words: rocket_launch",
        "no words for edit, write: bash does not have them, ours stay",
        "the prompt speaks of tools that are left out: rocket_launch",
    ] {
        assert!(ran.stderr.contains(&format!("warning: {warning}")), "{warning}: {}", ran.stderr);
    }
    assert!(ran.stdout.starts_with("Learned from bash invented/7.1: a prompt of "), "{}", ran.stdout);

    let cwd = fs::canonicalize(place.workspace()).unwrap().display().to_string();
    let (text, bash) = said(&place);
    assert!(text.starts_with(&prompt.replace("{{cwd}}", &cwd)), "{text}");
    assert_eq!(text.matches("Current working directory: ").count(), 1, "{text}");
    assert!(text.contains("workspace-write"), "{text}");
    assert_eq!(bash, "Invented words on bash.");
    let listed = place.run(&["harness", "list", "--json"]).stdout;
    assert!(listed.contains(r#""learned": "invented/7.1""#), "{listed}");

    // A harness made of it speaks in them too.
    let mine = place.home().join(".openinterpreter/harnesses/mine");
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("harness.toml"), "base = \"pi\"\nprompt = \"Mine. {{base_prompt}}\"\n").unwrap();
    let shown = place.run(&["harness", "show", "mine"]).stdout;
    assert!(shown.contains("Mine. You are Invented, "), "{shown}");

    place.write_config("harness_words = \"own\"");
    assert_eq!(said(&place), before);
    place.write_config("");
    let forget = place.run(&["harness", "learn", "pi", "--forget"]);
    assert_eq!(forget.stdout, "Forgotten: pi speaks in our own words again.\n");
    assert_eq!(said(&place), before);
    assert_eq!(place.run(&["harness", "learn", "pi", "--forget"]).stdout, "Nothing was learned for pi.\n");
}

#[test]
fn an_original_gets_nothing_of_the_users() {
    let place = place();
    assert_eq!(learn(&place, &[]).code, Some(0));
    let mut seen = Vec::new();
    for entry in fs::read_dir(place.root()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("seen-") {
            seen.push(fs::read_to_string(entry.path()).unwrap());
        }
    }
    assert_eq!(seen.len(), 2, "it is run twice");
    for env in seen {
        assert!(!env.contains("sk-real"), "{env}");
        assert!(!env.contains(&format!("HOME={}\n", place.home().display())), "{env}");
    }
    // Both rooms are gone, and so is what still slept in them.
    let left = fs::read_dir(place.root()).unwrap().flatten();
    let rooms = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("zqwlearn")).count();
    assert_eq!(rooms, 0);
}

#[test]
fn differences_of_tools_are_shown_and_nothing_is_stored() {
    let place = place();
    let ran = learn(&place, &["--diff"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!learned(&place).exists());
    let expected = "pi against bash invented/7.1, model m-1: 4 tools here, 3 there, 7 differences\n  \
        bash.timeout: only here (number)\n  \
        bash.wait: only in the original (number)\n  \
        edit: only here (a tool)\n  \
        read.limit: only here (number)\n  \
        read.offset: only here (number)\n  \
        rocket_launch: only in the original (a tool)\n  \
        write: only here (a tool)\n";
    assert_eq!(ran.stdout, expected);
    let ran = learn(&place, &["--diff", "--json"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        json["differences"][0],
        json!({"tool": "bash", "property": "timeout", "original": null, "ours": "number"})
    );
    assert_eq!(json["differences"].as_array().unwrap().len(), 7);
}

/// What we would say ourselves teaches nothing, on any wire: the same prompt, the same words, in another folder.
#[test]
fn our_own_program_as_an_original_changes_nothing() {
    for (wire, harness) in [(WireId::Chat, "pi"), (WireId::Messages, "claude-code-bare"), (WireId::Responses, "native")]
    {
        let place = Place::new(wire, Vec::new());
        let request = |n: usize| {
            let ran = place.exec(&["--harness", harness]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let mut request = place.request(n);
            for key in ["prompt_cache_key", "client_metadata", "metadata"] {
                request.as_object_mut().unwrap().remove(key);
            }
            request
        };
        let before = request(0);
        let provider =
            format!("model_providers.x={{name=\"X\",base_url=\"{{url}}/v1\",wire_api=\"{}\"}}", wire.as_str());
        let mut args =
            vec!["harness", "learn", harness, "--", env!("CARGO_BIN_EXE_interpreter"), "exec", "--skip-git-repo-check"];
        args.extend(["-s", "danger-full-access", "-m", "stub-model", "--harness", harness]);
        args.extend(["-c", &provider, "-c", "model_provider=x", "hi"]);
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(0), "{harness}: {ran:?}");
        assert_eq!(request(1), before, "{harness} {}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_learned_is_said() {
    let place = place();
    let check = |args: &[&str], expected: &str| {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
        assert!(!place.home().join(".openinterpreter/harnesses").exists());
    };
    check(&["harness", "learn", "nope"], "Error: no harness `nope` to learn for. Known: native, ");
    check(
        &["harness", "learn", "swe-agent"],
        "Error: no original of swe-agent is known. Give the command that runs it after `--`, with {url} in it.",
    );
    check(&["harness", "learn", "pi", "--", "/no/such/program"], "Error: no command `/no/such/program`. Install it");
    check(
        &["harness", "learn", "pi", "--", "sh", "-c", "echo went wrong; exit 3"],
        "Error: sh ended (exit status: 3) without asking its model (0 requests, none with tools).",
    );
    check(&["harness", "learn", "pi", "--", "sh", "-c", "echo went wrong; exit 3"], "It said:\n  went wrong\n");
    fs::create_dir_all(place.home().join(".openinterpreter/harnesses/pi")).unwrap();
    fs::write(learned(&place), "{").unwrap();
    let ran = place.exec(&["--harness", "pi"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("`interpreter harness learn pi` writes it anew, `--forget` removes it"), "{ran:?}");
}
