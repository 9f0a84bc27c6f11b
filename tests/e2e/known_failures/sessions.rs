//! G: session files that a crash tore, and two programs on one.
use std::{fs, time::Instant};

use pretty_assertions::assert_eq;
use protocol::WireId::{self, Chat};
use serde_json::Value;

use super::{
    shown,
    speak::{messages_in, run, say, text, unpaired},
    start, strict, until,
};
use crate::place::{Place, wait};

on_each_wire!(case_46_a_torn_session_goes_on);

/// What a crash does to a session file.
type Tear = fn(Vec<u8>) -> Vec<u8>;

const TEARS: [(&str, Tear); 5] = [
    ("the middle of the last line", |bytes| cut(&bytes, last_line(&bytes) + (bytes.len() - last_line(&bytes)) / 2)),
    ("the first byte of the last line", |bytes| cut(&bytes, last_line(&bytes) + 1)),
    ("the middle of a character", |bytes| {
        let at = bytes.windows(3).rposition(|part| part == "渐".as_bytes()).expect("the word");
        cut(&bytes, at + 2)
    }),
    ("the last line end", |bytes| cut(&bytes, bytes.len() - 1)),
    ("zeros at the end", |mut bytes| {
        bytes.extend([0; 4096]);
        bytes
    }),
];

fn cut(bytes: &[u8], at: usize) -> Vec<u8> {
    bytes[..at].to_vec()
}
fn last_line(bytes: &[u8]) -> usize {
    bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1)
}

fn case_46_a_torn_session_goes_on(wire: WireId) {
    for (name, tear) in TEARS {
        let steps = ["渐 one", "two", "three"].map(|words| say(vec![text(words)]).step(wire));
        let place = strict(wire, "native", steps.into(), unpaired);
        assert_eq!(place.exec(&[]).code, Some(0));
        let file = place.rollout();
        let whole = fs::read(&file).expect("a session file");
        let torn = tear(whole.clone());
        fs::write(&file, &torn).expect("torn");
        let second = place.run(&["exec", "resume", "--last", "--json", "the second"]);
        assert_eq!(second.code, Some(0), "{name}: {second:?}");
        // A missing line end alone is no loss.
        let warned = shown(&second, "error").iter().any(|m| !m.contains("Model metadata"));
        assert_eq!(warned, name != "the last line end", "{name}: {second:?}");
        let third = place.run(&["exec", "resume", "--last", "--json", "the third"]);
        assert_eq!(third.code, Some(0), "{name}: {third:?}");
        let messages = messages_in(wire, &place.request(2));
        for words in ["do it", "the second", "two", "the third"] {
            assert!(messages.iter().any(|(_, said)| said.contains(words)), "{name}, {words}: {messages:?}");
        }
        // What was there stays, and every line but the torn one is JSON.
        let after = fs::read(&file).expect("a session file");
        assert!(after.starts_with(&torn), "{name}: nothing is rewritten");
        let bad = after
            .split(|b| *b == b'\n')
            .filter(|line| !line.is_empty() && serde_json::from_slice::<Value>(line).is_err())
            .count();
        assert!(bad <= 1, "{name}: {bad} lines cannot be read");
        assert_eq!(ordinals_twice(&after), Vec::<u64>::new(), "{name}");
    }
}

/// Numbers of lines that stand in the file more than once.
fn ordinals_twice(bytes: &[u8]) -> Vec<u64> {
    let lines = bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut ordinals: Vec<u64> = lines.filter_map(|line| line["ordinal"].as_u64()).collect();
    ordinals.sort_unstable();
    assert!(ordinals.len() > 1, "lines bear numbers");
    ordinals.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

#[test]
fn case_48_two_programs_on_one_session() {
    let steps = vec![
        say(vec![text("one")]).step(Chat),
        say(vec![run("a", "touch flag; until test -e go; do sleep 0.02; done")]).step(Chat),
        say(vec![text("two")]).step(Chat),
    ];
    let place: Place = strict(Chat, "native", steps, unpaired);
    let id = place.exec(&[]).thread();
    let begun = Instant::now();
    let first = start(&place, &["exec", "-s", "workspace-write", "resume", &id, "--json", "the first"]);
    until("the command", || place.file("flag").exists());
    let second = place.run(&["exec", "resume", &id, "--json", "the second"]);
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""), "{second:?}");
    assert!(second.stderr.contains("in use by process") && second.stderr.contains("fork"), "{second:?}");
    let forked = place.run(&["exec", "fork", &id, "--json", "a fork"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    assert_ne!(forked.thread(), id);
    fs::write(place.file("go"), "").expect("a file");
    let first = wait(first, begun);
    assert_eq!(first.code, Some(0), "{first:?}");
    let sessions = place.home().join(".openinterpreter/sessions");
    let mut files = Vec::new();
    crate::place::collect(&sessions, &mut files);
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl"));
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).expect("a session file");
        let bad = bytes
            .split(|b| *b == b'\n')
            .filter(|line| !line.is_empty() && serde_json::from_slice::<Value>(line).is_err())
            .count();
        assert_eq!((bad, ordinals_twice(&bytes)), (0, Vec::new()));
        assert!(!String::from_utf8_lossy(&bytes).contains("the second"));
    }
}
