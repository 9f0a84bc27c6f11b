//! What is told at the end: a table for people, JSON for programs.
use std::path::Path;

use serde_json::{Value, json};

use super::{
    Compare,
    one::{End, Run},
    repository::Snapshot,
    seconds,
};

pub(super) struct Report<'a> {
    compare: &'a Compare,
    task: &'a str,
    snapshot: &'a Snapshot,
    runs: Vec<Run>,
}

/// Columns that hold numbers stand to the right.
const COLUMNS: [(&str, bool); 13] = [
    ("harness", false),
    ("end", false),
    ("check", false),
    ("steps", true),
    ("calls", true),
    ("repaired", true),
    ("failed", true),
    ("tokens in", true),
    ("cached", true),
    ("out", true),
    ("cost", true),
    ("time", true),
    ("lines", false),
];

impl<'a> Report<'a> {
    pub(super) fn new(compare: &'a Compare, task: &'a str, snapshot: &'a Snapshot, runs: Vec<Run>) -> Report<'a> {
        Report { compare, task, snapshot, runs }
    }

    pub(super) fn status(&self) -> u8 {
        let good = |run: &Run| run.end == End::Done && run.check.as_ref().is_none_or(|check| check.passed);
        u8::from(!self.runs.iter().any(good))
    }

    pub(super) fn to_text(&self, results: &Path) -> String {
        let mut rows = vec![COLUMNS.map(|(name, _)| name.to_owned())];
        rows.extend(self.runs.iter().map(row));
        let widths = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..COLUMNS.len()).map(widths).collect();
        let mut text = String::new();
        for row in &rows {
            let cells = row.iter().zip(&widths).zip(COLUMNS).map(|((cell, &width), (_, right))| {
                if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text.push('\n');
        for run in &self.runs {
            if let End::Failed(why) = &run.end {
                text.push_str(&format!("{}: {why}\n", run.name));
            }
            if let Some(place) = &run.worktree {
                text.push_str(&format!("{}: worktree {}\n", run.name, place.display()));
            }
        }
        if self.snapshot.dirty {
            text.push_str("Each began with the changes of yours that are not committed.\n");
        }
        text.push_str(&format!("Diffs and report: {}\n", results.display()));
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let runs: Vec<Value> = self.runs.iter().map(run_json).collect();
        json!({
            "task": self.task,
            "check": self.compare.check,
            "commit": self.snapshot.commit,
            "uncommitted_changes": self.snapshot.dirty,
            "runs": runs,
        })
    }
}

fn row(run: &Run) -> [String; 13] {
    let check = run.check.as_ref().map_or("-", |check| check.word());
    let tokens = |of: fn(&protocol::Usage) -> u64| run.usage.as_ref().map_or("-".into(), |usage| thousands(of(usage)));
    [
        run.name.clone(),
        run.end.word().to_owned(),
        check.to_owned(),
        run.steps.to_string(),
        run.counts.calls.to_string(),
        run.counts.repaired.to_string(),
        run.counts.failed.to_string(),
        tokens(|usage| usage.input),
        tokens(|usage| usage.cached),
        tokens(|usage| usage.output),
        run.cost.map_or("-".into(), |cost| format!("${cost:.4}")),
        seconds(run.wall),
        format!("+{} -{} in {}", run.change.added, run.change.removed, files(run.change.files)),
    ]
}

fn files(n: u64) -> String {
    if n == 1 { "1 file".to_owned() } else { format!("{n} files") }
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn run_json(run: &Run) -> Value {
    let check = run
        .check
        .as_ref()
        .map(|check| json!({"passed": check.passed, "exit_code": check.status, "timed_out": check.late, "output": check.output}));
    let usage = run.usage.as_ref().map(|usage| {
        json!({
            "input_tokens": usage.input, "cached_input_tokens": usage.cached, "output_tokens": usage.output,
            "reasoning_output_tokens": usage.reasoning,
        })
    });
    let error = if let End::Failed(message) = &run.end { Some(message) } else { None };
    json!({
        "name": run.name,
        "harness": run.harness,
        "end": run.end.word(),
        "error": error,
        "thread_id": run.thread,
        "check": check,
        "steps": run.steps,
        "calls": run.counts.calls,
        "repaired": run.counts.repaired,
        "failed": run.counts.failed,
        "usage": usage,
        "cost_usd": run.cost,
        "wall_ms": u64::try_from(run.wall.as_millis()).unwrap_or(u64::MAX),
        "changed": {"files": run.change.files, "added": run.change.added, "removed": run.change.removed},
        "diff": run.diff,
        "worktree": run.worktree,
        "last_message": run.last_message,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn numbers_in_groups_of_three() {
        for (n, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), expected);
        }
    }
}
