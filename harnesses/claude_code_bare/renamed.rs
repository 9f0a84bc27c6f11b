//! Parameters by the names that other programs have for them, as Claude Code 2.1.332 takes them: the names of Anthropic's own text
//! editor tool, and some near ones. Measured by `tests/wire/claude-code/renamed.json`.
use serde_json::{Map, Value};

/// What was sent as, and what is meant.
type Renames = &'static [(&'static str, &'static str)];

/// Taken one by one.
const EDIT: Renames = &[("path", "file_path")];
/// Taken one by one; where the right name is given as well, the other is dropped.
const EDIT_TEXTS: Renames = &[("old_str", "old_string"), ("new_str", "new_string")];
/// Taken only where nothing is missing then.
const WRITE: Renames = &[("path", "file_path"), ("file_text", "content")];
const BASH: Renames = &[("timeout_ms", "timeout")];
const TASK_CREATE: Renames = &[("title", "subject")];
const TASK_UPDATE: Renames = &[("id", "taskId"), ("task_id", "taskId")];

/// Gives parameters their right names, and returns those that it changed.
pub(crate) fn rename(tool: &str, map: &mut Map<String, Value>) -> Vec<(&'static str, &'static str)> {
    let renames = match tool {
        "Bash" => BASH,
        "Edit" => EDIT,
        "TaskCreate" => TASK_CREATE,
        "TaskUpdate" => TASK_UPDATE,
        "Write" => WRITE,
        _ => return Vec::new(),
    };
    if tool == "Write" && !whole(map) {
        return Vec::new();
    }
    let done = renames.iter().filter(|(from, to)| {
        if map.contains_key(*to) {
            return false;
        }
        map.remove(*from).map(|value| map.insert((*to).to_owned(), value)).is_some()
    });
    let done = done.copied().collect();
    if tool == "Edit" {
        for (from, to) in EDIT_TEXTS {
            if let Some(value) = map.remove(*from) {
                map.entry(*to).or_insert(value);
            }
        }
    }
    done
}

/// Those of a call, from its arguments as they were sent.
pub(crate) fn of(tool: &str, args: &str) -> Vec<(&'static str, &'static str)> {
    serde_json::from_str(args).map(|mut map| rename(tool, &mut map)).unwrap_or_default()
}

/// A Write that has a path and a text under some name, and neither under two.
fn whole(map: &Map<String, Value>) -> bool {
    WRITE.iter().all(|(from, to)| map.contains_key(*from) != map.contains_key(*to))
}

/// What the model is told of a Write that was taken so.
pub(crate) fn write_note(renamed: &[(&'static str, &'static str)]) -> String {
    if renamed.is_empty() {
        return String::new();
    }
    let each = renamed.iter().map(|(from, to)| format!(" `{from}` was read as `{to}`."));
    format!("\n\nNote: Write's parameters are named `file_path` and `content`.{}", each.collect::<String>())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_other_programs_are_taken_as_measured() {
        for (tool, sent, expected) in [
            (
                "Edit",
                json!({"path": "p", "old_str": "o", "new_str": "n"}),
                json!({"file_path": "p", "old_string": "o", "new_string": "n"}),
            ),
            ("Edit", json!({"path": "p", "file_path": "f"}), json!({"path": "p", "file_path": "f"})),
            ("Edit", json!({"old_str": "x", "old_string": "o"}), json!({"old_string": "o"})),
            ("Edit", json!({"old_text": "x"}), json!({"old_text": "x"})),
            ("Write", json!({"path": "p", "file_text": "t"}), json!({"file_path": "p", "content": "t"})),
            ("Write", json!({"path": "p"}), json!({"path": "p"})),
            (
                "Write",
                json!({"path": "p", "file_path": "f", "content": "c"}),
                json!({"path": "p", "file_path": "f", "content": "c"}),
            ),
            ("Bash", json!({"command": "c", "timeout_ms": 5}), json!({"command": "c", "timeout": 5})),
            ("TaskUpdate", json!({"id": "1"}), json!({"taskId": "1"})),
            ("TaskGet", json!({"id": "1"}), json!({"id": "1"})),
            ("Read", json!({"path": "p"}), json!({"path": "p"})),
        ] {
            let mut map = sent.as_object().cloned().unwrap_or_default();
            rename(tool, &mut map);
            assert_eq!(json!(map), expected, "{tool} {sent}");
        }
    }

    #[test]
    fn a_write_is_told_of_it() {
        assert_eq!(write_note(&[]), "");
        assert_eq!(
            write_note(WRITE),
            "\n\nNote: Write's parameters are named `file_path` and `content`. `path` was read as `file_path`. `file_text` was read as `content`."
        );
    }
}
