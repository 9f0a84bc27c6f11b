//! Failures that users of programs like ours have reported, each as a test of the built binary; the numbers are those of the
//! collection that they were gathered in, groups by letter. A test's name begins with its case.
//!
//! | case | where | note |
//! |---|---|---|
//! | A 1 3 4 6 7 9 10 11 | `chat_calls` | 9 in every harness; 11: the call is carried out, markup that cannot be read is told (`harnesses/in_text.rs`) |
//! | B 12 13 15 17 22 23 | `streams` | on all three wires; 22 and 23 also in every harness |
//! | B 18 | `streams` | the fields of chat; signed and encrypted reasoning on the others |
//! | B 20 21 | `streams` | Responses; chat, in every harness |
//! | C 24 25 27 28 30 | `edits` | apply_patch and Edit; 30 also the shell of mini-swe-agent, which has no other editor |
//! | D 31 34 35 36 | `shell` | in every harness |
//! | D 32 | `shell` | native has sessions instead of a timeout; mini-swe-agent's 30 seconds are left to the tests of `tools` |
//! | F 43 45 | `configuration` | 45 without `doctor`, which is not there yet |
//! | G 46 48 | `sessions` | 46 on all three wires |
//! | I 51 52 53 | `exits` | 52 with the commands that there are |
//! | J 54 | `environment` | on all three wires, in every harness |
//! | L 59 | `context` | on all three wires, in every harness |
//! | M 61 | `streams` | with 15 on all wires |
mod speak;

/// One test per wire of a function that takes the wire.
macro_rules! on_each_wire {
    ($($case:ident),* $(,)?) => { $(
        mod $case {
            use protocol::WireId;
            #[test]
            fn responses() {
                super::$case(WireId::Responses);
            }
            #[test]
            fn chat() {
                super::$case(WireId::Chat);
            }
            #[test]
            fn messages() {
                super::$case(WireId::Messages);
            }
        }
    )* };
}

mod chat_calls;
mod configuration;
mod context;
mod edits;
mod environment;
mod exits;
mod sessions;
mod shell;
mod streams;

use std::{
    fs,
    path::Path,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use demo::scripted::{Server, Step};
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::Place;

const HARNESSES: [&str; 3] = ["native", "claude-code-bare", "mini-swe-agent"];

/// A place whose config names the harness.
fn place(wire: WireId, harness: &str, steps: Vec<Step>) -> Place {
    let place = Place::new(wire, steps);
    place.write_config(&format!("harness = \"{harness}\""));
    place
}

/// The same with a server that answers 400 to every request in which `fault` finds one.
fn strict(wire: WireId, harness: &str, steps: Vec<Step>, fault: fn(WireId, &Value) -> Option<String>) -> Place {
    let mut steps = steps.into_iter();
    let server = Server::answering(move |_, request| match fault(wire, &request.json()) {
        Some(fault) => {
            Step::refuse(400, &json!({"error": {"message": format!("FAULT {fault}"), "type": "invalid_request_error"}}))
        }
        None => steps.next().unwrap_or_else(|| speak::say(vec![speak::text("done")]).step(wire)),
    });
    let place = Place::with(wire, server.expect("a port"));
    place.write_config(&format!("harness = \"{harness}\""));
    place
}

/// Waits, with a bound, for something that another process does.
#[track_caller]
fn until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(8), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Processes of this machine with `mark` in their environment.
fn marked_processes(mark: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let holds = |folder: &Path| {
        fs::read(folder.join("environ")).is_ok_and(|env| env.windows(mark.len()).any(|part| part == mark.as_bytes()))
    };
    entries
        .map(|entry| entry.path())
        .filter(|folder| holds(folder))
        .map(|folder| folder.display().to_string())
        .collect()
}

/// Runs the binary and does not wait for it.
fn start(place: &Place, args: &[&str]) -> Child {
    place.command(args).spawn().expect("the binary starts")
}

/// Texts of all finished items of this type, in order.
fn shown(ran: &crate::place::Ran, kind: &str) -> Vec<String> {
    let key = match kind {
        "error" => "message",
        "command_execution" => "aggregated_output",
        _ => "text",
    };
    let events = ran.events();
    let items = events.iter().filter(|e| e["type"] == "item.completed" && e["item"]["type"] == kind);
    items.map(|e| e["item"][key].as_str().unwrap_or_default().to_owned()).collect()
}
