//! Holds two runs of a case against each other, one thing at a time.
use std::collections::BTreeMap;

use serde_json::Value;

use crate::{normal::normal, place::Ran, seen};

/// One thing that a model sees, from both sides, with placeholders for what differs from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// `tools:names`, `tools:NAME`, `result:N` (from 1), `prompt:system`, `prompt:messages`, `prompt:fields` or `history`.
    pub(crate) what: String,
    pub(crate) original: String,
    pub(crate) ours: String,
}

/// Where one side has no such result.
const NONE: &str = "(none)";

impl Comparison {
    fn new(what: impl Into<String>, original: String, ours: String) -> Comparison {
        Comparison { what: what.into(), original, ours }
    }
    pub(crate) fn same(&self) -> bool {
        self.original == self.ours
    }
    /// Whether it is the same in many cases, and counts once for a harness when it is.
    pub(crate) fn of_the_harness(&self) -> bool {
        self.what.starts_with("tools:") || self.what.starts_with("prompt:")
    }
}

/// Tools and results of the last request, the kinds of what is said in the first (`prompt`) and since then (`history`).
pub(crate) fn compare(original: &Ran, ours: &Ran) -> Vec<Comparison> {
    let ends = |ran: &Ran| {
        (ran.requests.first().cloned().unwrap_or_default(), ran.requests.last().cloned().unwrap_or_default())
    };
    let ((first, last), (our_first, our_last)) = (ends(original), ends(ours));
    let mut all = tools(&last, &our_last);
    let results = |ran: &Ran, body: &Value| -> Vec<String> {
        seen::results(body).iter().map(|text| normal(text, &ran.workspace, &ran.home)).collect()
    };
    let (a, b) = (results(original, &last), results(ours, &our_last));
    let nth = |all: &[String], n: usize| all.get(n).map_or(NONE, String::as_str).to_owned();
    all.extend((0..a.len().max(b.len())).map(|n| Comparison::new(format!("result:{}", n + 1), nth(&a, n), nth(&b, n))));
    all.push(Comparison::new("prompt:system", seen::system(&first), seen::system(&our_first)));
    all.push(Comparison::new("prompt:messages", seen::said_by_all(&first, true), seen::said_by_all(&our_first, true)));
    all.push(Comparison::new("prompt:fields", seen::fields(&first), seen::fields(&our_first)));
    all.push(Comparison::new("history", seen::said_by_all(&last, false), seen::said_by_all(&our_last, false)));
    all
}

fn tools(original: &Value, ours: &Value) -> Vec<Comparison> {
    let (a, b) = (seen::tools(original), seen::tools(ours));
    let names = |tools: &[(String, BTreeMap<String, String>)]| {
        let mut names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.join("\n")
    };
    let mut all = vec![Comparison::new("tools:names", names(&a), names(&b))];
    let shape = |shape: &BTreeMap<String, String>| {
        shape.iter().map(|(path, kind)| format!("{path}: {kind}")).collect::<Vec<_>>().join("\n")
    };
    for (name, mine) in &a {
        if let Some((_, other)) = b.iter().find(|(other, _)| other == name) {
            all.push(Comparison::new(format!("tools:{name}"), shape(mine), shape(other)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn ran(base: &str, requests: Vec<Value>) -> Ran {
        Ran { workspace: format!("{base}/ws").into(), home: format!("{base}/home").into(), requests }
    }

    fn request(tool: &str, kind: &str, results: &[&str]) -> Value {
        let schema = json!({"type": "object", "properties": {"x": {"type": kind}}});
        let mut messages = vec![json!({"role": "user", "content": "hi"}), json!({"role": "assistant", "content": "a"})];
        messages.extend(results.iter().map(|text| json!({"role": "tool", "content": text})));
        json!({"messages": messages, "tools": [{"function": {"name": "read", "parameters": schema}},
            {"function": {"name": tool, "parameters": {}}}]})
    }

    #[test]
    fn what_differs_is_named() {
        let original = ran("/tmp/a", vec![request("edit", "string", &["/tmp/a/ws/x call_1", "two", "three"])]);
        let ours = ran("/tmp/b", vec![request("write", "number", &["/tmp/b/ws/x call_2", "2"])]);
        let all = compare(&original, &ours);
        let different: Vec<_> = all.iter().filter(|one| !one.same()).cloned().collect();
        assert_eq!(
            different,
            [
                Comparison::new("tools:names", "edit\nread".into(), "read\nwrite".into()),
                Comparison::new("tools:read", "x: string".into(), "x: number".into()),
                Comparison::new("result:2", "two".into(), "2".into()),
                Comparison::new("result:3", "three".into(), NONE.into()),
                Comparison::new(
                    "history",
                    "assistant: string\ntool: string\ntool: string\ntool: string".into(),
                    "assistant: string\ntool: string\ntool: string".into()
                ),
            ]
        );
        let same: Vec<&str> = all.iter().filter(|one| one.same()).map(|one| one.what.as_str()).collect();
        assert_eq!(same, ["result:1", "prompt:system", "prompt:messages", "prompt:fields"]);
    }
}
