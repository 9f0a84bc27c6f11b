//! The demo's repository: a small habit tracker in Python. Its longest streak compares days of the month only, so a streak
//! over a month's end breaks, and one of its three tests fails.
use std::{fs, io, path::Path, process::Command};

pub const STREAKS: &str = r#""""Streaks of a habit: runs of days without a gap."""
from datetime import date


def longest_streak(days: list[date]) -> int:
    """Length of the longest run of consecutive days."""
    best = run = 0
    previous = None
    for day in sorted(set(days)):
        if previous is not None and day.day == previous.day + 1:
            run += 1
        else:
            run = 1
        best = max(best, run)
        previous = day
    return best
"#;

pub const TESTS: &str = r#"import unittest
from datetime import date

from streaks import longest_streak


class LongestStreak(unittest.TestCase):
    def test_no_days(self):
        self.assertEqual(longest_streak([]), 0)

    def test_a_gap_ends_a_streak(self):
        days = [date(2026, 3, day) for day in (1, 2, 3, 5, 6)]
        self.assertEqual(longest_streak(days), 3)

    def test_a_streak_goes_on_over_the_end_of_a_month(self):
        days = [date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 2)]
        self.assertEqual(longest_streak(days), 4)


if __name__ == "__main__":
    unittest.main()
"#;

const README: &str = "# habit-tracker\n\nCounts streaks of habits. Run the tests with `python3 -m unittest`.\n";

/// The task, as a user would say it.
pub const TASK: &str = "One test fails. Find the cause, fix it, and run the tests.";
/// Runs the tests; no byte code is left behind, so that the repository shows the fix alone.
pub const TEST_COMMAND: &str = "python3 -B -m unittest";
const BROKEN: &str = "if previous is not None and day.day == previous.day + 1:";
const FIXED: &str = "if previous is not None and (day - previous).days == 1:";

/// Writes the repository into `dir`, which must be new or empty, and commits it where git is installed.
pub fn create(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    if fs::read_dir(dir)?.next().is_some() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"));
    }
    for (name, text) in [("streaks.py", STREAKS), ("test_streaks.py", TESTS), ("README.md", README)] {
        fs::write(dir.join(name), text)?;
    }
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "init.defaultBranch=main"];
        let command = Command::new("git").args(who).args(args).current_dir(dir).output();
        command.is_ok_and(|output| output.status.success())
    };
    // Without git the demo works too; it only has no history.
    let _ = git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-q", "-m", "Habit tracker"]);
    Ok(())
}

/// What the scripted model does, in the dialect of a harness. None: no script for it.
pub fn script(harness: &str, dir: &Path) -> Option<Vec<crate::scripted::Turn>> {
    use crate::scripted::Turn;
    use serde_json::json;
    let file = dir.join("streaks.py");
    let done = Turn::text(
        "`longest_streak` compared days of the month, so 31 January and 1 February were no neighbours. It now compares whole \
         dates; all three tests pass.",
    );
    Some(match harness {
        "native" => {
            let patch = format!(
                "*** Begin Patch\n*** Update File: streaks.py\n@@ def longest_streak(days: list[date]) -> int:\n-        {BROKEN}\n\
                 +        {FIXED}\n*** End Patch\n"
            );
            let run = |cmd: &str| Turn::call("exec_command", &json!({"cmd": cmd}));
            vec![
                run("ls && cat streaks.py")
                    .saying("I look at the project and run its tests.")
                    .and_call("exec_command", &json!({"cmd": TEST_COMMAND})),
                Turn::call("apply_patch", &json!({"input": patch}))
                    .saying("The comparison ignores the month. I fix that."),
                run(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "claude-code-bare"
        | "claude-code"
        | "claude-code@1.0"
        | "claude-code@2.0"
        | "claude-code@2.1"
        | "claude-code@current"
        | "zcode" => {
            let bash = |command: &str| Turn::call("Bash", &json!({"command": command, "description": "Run a command"}));
            vec![
                bash("ls")
                    .saying("I look at the project and run its tests.")
                    .and_call("Bash", &json!({"command": TEST_COMMAND, "description": "Run the tests"})),
                Turn::call("Read", &json!({"file_path": file})),
                Turn::call("Edit", &json!({"file_path": file, "old_string": BROKEN, "new_string": FIXED}))
                    .saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "qwen-code" => {
            let run =
                |command: &str| Turn::call("run_shell_command", &json!({"command": command, "is_background": false}));
            vec![
                Turn::call("glob", &json!({"pattern": "**/*.py"}))
                    .saying("I look at the project and run its tests.")
                    .and_call("run_shell_command", &json!({"command": TEST_COMMAND, "is_background": false})),
                Turn::call("read_file", &json!({"file_path": file})),
                Turn::call("edit", &json!({"file_path": file, "old_string": BROKEN, "new_string": FIXED}))
                    .saying("The comparison ignores the month. I fix that."),
                run(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "mini-swe-agent" => {
            let bash = |command: &str| Turn::call("bash", &json!({"command": command}));
            let edit = "sed -i 's/day.day == previous.day + 1/(day - previous).days == 1/' streaks.py";
            vec![
                bash(&format!("ls && cat streaks.py && {TEST_COMMAND}"))
                    .saying("I look at the project and run its tests."),
                bash(edit).saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff").saying("All three tests pass."),
            ]
        }
        "swe-agent" => {
            let bash = |command: &str| Turn::call("bash", &json!({"command": command}));
            let edit = json!({"command": "str_replace", "path": file, "old_str": BROKEN, "new_str": FIXED});
            vec![
                bash(&format!("ls && {TEST_COMMAND}")).saying("I look at the project and run its tests."),
                Turn::call("str_replace_editor", &json!({"command": "view", "path": file}))
                    .saying("I read the function that fails."),
                Turn::call("str_replace_editor", &edit).saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                Turn::call("submit", &json!({})).saying("All three tests pass."),
                Turn::call("submit", &json!({})).saying("The diff is what I meant."),
            ]
        }
        "kimi-cli" => {
            let shell = |command: &str| Turn::call("Shell", &json!({"command": command}));
            let edit = json!({"path": "streaks.py", "edit": {"old": BROKEN, "new": FIXED}});
            vec![
                shell(TEST_COMMAND).and_call("ReadFile", &json!({"path": "streaks.py"})),
                Turn::call("StrReplaceFile", &edit),
                shell(TEST_COMMAND),
                done,
            ]
        }
        "kimi-code" => {
            let bash = |command: &str| Turn::call("Bash", &json!({"command": command}));
            vec![
                bash(TEST_COMMAND)
                    .saying("I look at the project and run its tests.")
                    .and_call("Read", &json!({"path": "streaks.py"})),
                Turn::call("Edit", &json!({"path": "streaks.py", "old_string": BROKEN, "new_string": FIXED}))
                    .saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "opencode" => {
            let bash = |command: &str| Turn::call("bash", &json!({"command": command}));
            vec![
                Turn::call("read", &json!({"filePath": file}))
                    .saying("I look at the project and run its tests.")
                    .and_call("bash", &json!({"command": TEST_COMMAND})),
                Turn::call("edit", &json!({"filePath": file, "oldString": BROKEN, "newString": FIXED}))
                    .saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "pi" => {
            let bash = |command: &str| Turn::call("bash", &json!({"command": command}));
            vec![
                Turn::call("read", &json!({"path": "streaks.py"}))
                    .saying("I look at the project and run its tests.")
                    .and_call("bash", &json!({"command": TEST_COMMAND})),
                Turn::call("edit", &json!({"path": "streaks.py", "edits": [{"oldText": BROKEN, "newText": FIXED}]}))
                    .saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "minimal" => {
            let bash = |command: &str| Turn::call("bash", &json!({"command": command}));
            let edit = "sed -i 's/day.day == previous.day + 1/(day - previous).days == 1/' streaks.py";
            vec![
                bash(&format!("ls && cat streaks.py && {TEST_COMMAND}"))
                    .saying("I look at the project and run its tests."),
                bash(edit).saying("The comparison ignores the month. I fix that."),
                bash(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        "deepseek-tui" => {
            let shell = |command: &str| Turn::call("exec_shell", &json!({"command": command}));
            vec![
                Turn::call("read_file", &json!({"path": "streaks.py"}))
                    .saying("I look at the project and run its tests.")
                    .and_call("exec_shell", &json!({"command": TEST_COMMAND})),
                // Not listed from the start: called, it is.
                Turn::call("edit_file", &json!({"path": "streaks.py", "search": BROKEN, "replace": FIXED}))
                    .saying("The comparison ignores the month. I fix that."),
                shell(TEST_COMMAND).saying("Now the tests again."),
                done,
            ]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_three_tests_fails_and_the_fix_mends_it() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path()).unwrap();
        let passes = || {
            let mut words = TEST_COMMAND.split(' ');
            let python = words.next().unwrap();
            let output = Command::new(python).args(words).current_dir(dir.path()).output().unwrap();
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (passed, report) = passes();
        assert!(!passed && report.contains("Ran 3 tests") && report.contains("failures=1"), "{report}");
        let file = dir.path().join("streaks.py");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches(BROKEN).count(), 1);
        fs::write(&file, text.replace(BROKEN, FIXED)).unwrap();
        let (passed, report) = passes();
        assert!(passed, "{report}");
        assert!(create(dir.path()).is_err(), "a folder in use is left alone");
    }
}
