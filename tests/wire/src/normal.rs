//! Placeholders for what differs from run to run: folders, ids, times, durations.
use std::{path::Path, sync::LazyLock};

use regex::{Captures, Regex};

struct Rule {
    pattern: &'static str,
    instead: &'static str,
}

/// What may stand in a text in place of something else.
pub(crate) const PLACEHOLDERS: &[&str] = &["<WS>", "<HOME>", "<PATH>", "<ID>", "<UUID>", "<N>", "<TIME>", "<DURATION>"];

/// In this order.
const RULES: &[Rule] = &[
    Rule { pattern: r"\b(call|toolu|resp|msg|fc)_[A-Za-z0-9]+", instead: "<ID>" },
    Rule { pattern: r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", instead: "<UUID>" },
    Rule { pattern: r"(\bID: |<task-id>|agentId: )(<UUID>|[a-z0-9]{9,17}\b)", instead: "$1<ID>" },
    Rule { pattern: r"\b(bash-|agent-|bg_)[a-z0-9]{8}\b", instead: "$1<ID>" },
    Rule { pattern: r"(waited|duration)_ms: \d+", instead: "${1}_ms: <N>" },
    Rule { pattern: r"Chunk ID: [0-9a-f]+", instead: "Chunk ID: <ID>" },
    Rule { pattern: r"(session ID|process id|pid:|PID:?) \d+", instead: "$1 <N>" },
    Rule { pattern: r#"(<HOME>|/tmp|/var/tmp)/(<[A-Z]+>|[^\s'"<>)\]])+"#, instead: "<PATH>" },
    Rule { pattern: r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\dZ+:]*", instead: "<TIME>" },
    Rule { pattern: r"\b\d+(\.\d+)? ?(seconds|s|ms)\b", instead: "<DURATION> $2" },
];

static COMPILED: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    // The patterns are constants, and a test compiles each.
    RULES.iter().filter_map(|rule| Some((Regex::new(rule.pattern).ok()?, rule.instead))).collect()
});

pub(crate) fn normal(text: &str, workspace: &Path, home: &Path) -> String {
    let text = text.replace(&workspace.display().to_string(), "<WS>").replace(&home.display().to_string(), "<HOME>");
    COMPILED.iter().fold(text, |text, (pattern, instead)| {
        pattern
            .replace_all(&text, |found: &Captures<'_>| {
                let mut whole = String::new();
                found.expand(instead, &mut whole);
                whole
            })
            .into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(COMPILED.len(), RULES.len());
    }

    #[test]
    fn what_differs_from_run_to_run_has_a_placeholder() {
        let check = |input: &str, expected: &str| {
            assert_eq!(normal(input, Path::new("/tmp/w/orig/ws"), Path::new("/tmp/w/orig/home")), expected);
        };
        check("read /tmp/w/orig/ws/a.txt of /tmp/w/orig/home", "read <WS>/a.txt of <HOME>");
        check("in /tmp/w/orig/home/.cache/x/y.log, and /tmp/abc.", "in <PATH> and <PATH>");
        check("call_000012 toolu_01AbC msg_1", "<ID> <ID> <ID>");
        check("0198c5a2-0000-7000-8000-0123456789ab", "<UUID>");
        check("Chunk ID: a1b2c3 session ID 17, pid: 4", "Chunk ID: <ID> session ID <N>, pid: <N>");
        check("Unknown process id 17", "Unknown process id <N>");
        check(
            "with ID: b59by7m9x. <task-id>b59by7m9x</task-id> agentId: a17feb445ee3622a0",
            "with ID: <ID>. <task-id><ID></task-id> agentId: <ID>",
        );
        check("at 2026-11-30T20:30:01.123Z, took 1.25 seconds", "at <TIME>, took <DURATION> seconds");
        check("task_id: bash-xdhba4tw, id: bg_51014b2a", "task_id: bash-<ID>, id: bg_<ID>");
        check("waited_ms: 1002", "waited_ms: <N>");
        check("20ms, 3 s, 5 files", "<DURATION> ms, <DURATION> s, 5 files");
    }
}
