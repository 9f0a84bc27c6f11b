//! L: a context that is full and stays full.
use std::fs;

use demo::scripted::{Server, Step};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::json;

use super::{
    HARNESSES,
    speak::{say, shell, text},
};
use crate::place::{Place, Ran};

on_each_wire!(
    case_59_compaction_that_cannot_help,
    case_59_context_length_exceeded_for_ever,
    case_59_context_length_exceeded_at_once,
    case_59_an_empty_summary,
);

const WINDOW: [&str; 2] = ["-c", "model_context_window=8000"];

fn asked(wire: WireId, harness: &str, mut script: impl FnMut(usize) -> Step + Send + 'static) -> (Place, Ran) {
    let place = Place::with(wire, Server::answering(move |n, _| script(n)).expect("a port"));
    place.write_config(&format!("harness = \"{harness}\""));
    fs::write(place.file("big"), "0123456789abcdef\n".repeat(100)).expect("a file");
    let ran = place.exec(&WINDOW);
    (place, ran)
}

#[track_caller]
fn gives_up(place: &Place, ran: &Ran, what: &str) {
    assert_eq!((ran.code, ran.outline().last().map(String::as_str)), (Some(1), Some("turn.failed")), "{what}: {ran:?}");
    assert!(place.requests().len() <= 6, "{what}: {} requests", place.requests().len());
}

/// The message names the window and what a compaction must come below.
#[track_caller]
fn names_the_window(ran: &Ran, what: &str) {
    let message = ran.failure();
    assert!(message.contains("8000") && message.contains("7200"), "{what}: {message}");
}

fn too_long() -> Step {
    let error = json!({"message": "This model's maximum context length is 8000 tokens.", "type": "invalid_request_error", "code": "context_length_exceeded"});
    Step::refuse(400, &json!({"error": error}))
}

fn case_59_compaction_that_cannot_help(wire: WireId) {
    for harness in HARNESSES {
        let (place, ran) = asked(wire, harness, move |n| {
            let id = format!("call_{n}");
            say(vec![text("A summary."), shell(harness, &id, "cat big")]).using(7900, 0).step(wire)
        });
        gives_up(&place, &ran, harness);
        names_the_window(&ran, harness);
        let rollout = fs::read_to_string(place.rollout()).expect("a session file");
        // Each call's output stands with its item and in what was said: no more copies than that.
        let copies = rollout.lines().filter(|line| line.contains("0123456789abcdef")).count();
        assert!(copies <= 2 * place.requests().len(), "{harness}: {copies} lines hold the output");
        assert!(rollout.len() < 300_000, "{harness}: {}", rollout.len());
    }
}

fn case_59_context_length_exceeded_for_ever(wire: WireId) {
    for harness in HARNESSES {
        let (place, ran) = asked(wire, harness, move |n| match n {
            0 => say(vec![shell(harness, "a", "cat big")]).using(500, 10).step(wire),
            _ => too_long(),
        });
        gives_up(&place, &ran, harness);
        names_the_window(&ran, harness);
    }
}

/// Nothing to summarise: told at once.
fn case_59_context_length_exceeded_at_once(wire: WireId) {
    for harness in HARNESSES {
        let (place, ran) = asked(wire, harness, |_| too_long());
        gives_up(&place, &ran, harness);
        assert_eq!(place.requests().len(), 1, "{harness}");
        assert!(ran.failure().contains("context window"), "{}", ran.failure());
        assert!(ran.stderr.contains("8000"), "{}", ran.stderr);
    }
}

fn case_59_an_empty_summary(wire: WireId) {
    for harness in HARNESSES {
        let (place, ran) = asked(wire, harness, move |n| match n {
            0 => say(vec![shell(harness, "a", "cat big")]).using(7900, 10).step(wire),
            _ => say(vec![]).using(7900, 0).step(wire),
        });
        gives_up(&place, &ran, harness);
        names_the_window(&ran, harness);
    }
}
