//! Odd values on the command line, and time that goes by before the first request.
use std::time::{Duration, Instant};

use demo::scripted::Turn;
use pretty_assertions::assert_eq;
use protocol::WireId;

use crate::place::{Place, wait};

fn place() -> Place {
    Place::new(WireId::Chat, vec![Turn::text("answer").into()])
}

/// Status and words as Codex 0.171.0 has them, where it has words.
#[test]
fn empty_values_are_told() {
    let check = |args: &[&str], code: i32, expected: &str| {
        let ran = place().run(&[&["exec", "--json"], args, &["do it"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["-p", ""], 2, "invalid --profile value ``; pass a plain name such as `work`");
    check(&["-p", "a/b"], 2, "invalid --profile value `a/b`; pass a plain name such as `work`");
    for flag in ["--cd", "--image", "--output-last-message", "--output-schema", "--add-dir", "--sandbox", "--color"] {
        check(&[flag, ""], 2, &format!("a value is required for '{flag} <"));
    }
    check(&["-c", ""], 1, "Invalid override (missing '='): ");
    check(&["-c", "=x"], 1, "Empty key in override: =x");
    check(&["--enable", ""], 1, "Unknown feature flag: ");
    check(&["-m", ""], 1, "Error: the name of the model is empty. Use -m MODEL");
    check(&["-c", "model=\" \""], 1, "Error: the name of the model is empty. Use -m MODEL");
    check(&["--harness", ""], 1, "Error: no harness ``. Known: native, ");
    check(&["--local-provider", ""], 1, "Error: no local provider ``. Known: ollama, lmstudio.");
    check(&["-c", "model_provider=\"\""], 1, "Error: ");
}

#[test]
fn the_wait_for_stdin_counts_as_time_of_the_run() {
    for prompt in [None, Some("do it"), Some("-")] {
        let place = place();
        let mut args = vec!["exec", "--json", "--max-time", "1s"];
        args.extend(prompt);
        let begun = Instant::now();
        let mut command = place.command(&args);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        // Nothing is written, and it stays open.
        let stdin = child.stdin.take();
        let ran = wait(child, begun);
        drop(stdin);
        assert_eq!(ran.code, Some(4), "{prompt:?}: {ran:?}");
        assert!(ran.stderr.contains("stopped after 1 seconds (--max-time)"), "{prompt:?}: {ran:?}");
        assert!(ran.took < Duration::from_secs(15), "{:?}", ran.took);
        assert_eq!(place.requests().len(), 0);
    }
}
