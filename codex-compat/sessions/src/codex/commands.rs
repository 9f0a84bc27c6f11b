//! Commands in sessions of Codex: what was run and what came of it, so that another dialect can tell it as a command of its own.
use protocol::{Action, Call, Captured, Done, Exit, Outcome, Run, World};
use serde_json::Value;

/// None: it is no command, it did not end, or its answer has another form.
pub(super) fn done(call: &Call, answer: &str) -> Option<Done> {
    let script = script(call)?;
    let (code, took, output) = structured(answer).or_else(|| plain(answer))?;
    let captured = Captured {
        bytes: output.len() as u64,
        lines: output.lines().count() as u64,
        text: output,
        ..Captured::default()
    };
    Some(Done {
        action: Action::World(World::Run(Run::new(script))),
        outcome: Outcome::Ran { output: captured, exit: Exit::Code(code), cwd_after: None, task: None, left: false },
        took: (took * 1000.0) as u64,
        at: 0,
        tag: 0,
    })
}

/// `cmd` of exec_command; `command` of the older tools, a text or a list of words.
fn script(call: &Call) -> Option<String> {
    let args: Value = serde_json::from_str(&call.args).ok()?;
    let key = match call.name.as_str() {
        "exec_command" => "cmd",
        "shell" | "shell_command" | "local_shell" | "container.exec" => "command",
        _ => return None,
    };
    match &args[key] {
        Value::String(script) => Some(script.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                [shell, "-c" | "-lc", script] if shell.ends_with("sh") => Some((*script).to_owned()),
                words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
            }
        }
        _ => None,
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// `{"output": ..., "metadata": {"exit_code": 0, "duration_seconds": 0.1}}`, as older versions wrote it.
fn structured(answer: &str) -> Option<(i32, f64, String)> {
    let value: Value = serde_json::from_str(answer).ok()?;
    let code = value["metadata"]["exit_code"].as_i64()?;
    let took = value["metadata"]["duration_seconds"].as_f64().unwrap_or(0.0);
    Some((i32::try_from(code).ok()?, took.max(0.0), value["output"].as_str()?.to_owned()))
}

/// Lines with how it ended and how long it took, then `Output:` and the output.
fn plain(answer: &str) -> Option<(i32, f64, String)> {
    let (head, output) = match answer.split_once("\nOutput:\n") {
        Some(parts) => parts,
        None => (answer.strip_suffix("\nOutput:")?, ""),
    };
    let line = |start: &str| head.lines().find_map(|line| line.strip_prefix(start));
    let code = line("Process exited with code ").or(line("Exit code: "))?.trim().parse().ok()?;
    let took = line("Wall time: ").and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    Some((code, took.unwrap_or(0.0).max(0.0), output.to_owned()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::CallForm;

    use super::*;

    fn check(name: &str, args: &str, answer: &str, expected: Option<(&str, i32, u64, &str)>) {
        let call = Call {
            id: "c".into(),
            namespace: None,
            name: name.to_owned(),
            args: args.to_owned(),
            form: CallForm::Function,
        };
        let done = done(&call, answer);
        let brief = done.as_ref().map(|done| match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), Outcome::Ran { output, exit: Exit::Code(code), .. }) => {
                (run.script.as_str(), *code, done.took, output.text.as_str())
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(brief, expected, "{name} {args} {answer}");
    }

    #[test]
    fn commands_and_their_ends() {
        let ended = "Chunk ID: 4e1b\nWall time: 0.0512 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\na\nOutput:\nb\n";
        check("exec_command", r#"{"cmd":"ls -l"}"#, ended, Some(("ls -l", 3, 51, "a\nOutput:\nb\n")));
        let silent = "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:";
        check("exec_command", r#"{"cmd":"true"}"#, silent, Some(("true", 0, 100, "")));
        let older = r#"{"output":"a\n","metadata":{"exit_code":1,"duration_seconds":0.2}}"#;
        check("shell", r#"{"command":["bash","-lc","a | b"]}"#, older, Some(("a | b", 1, 200, "a\n")));
        check("shell", r#"{"command":["echo","it's"]}"#, older, Some((r"echo 'it'\''s'", 1, 200, "a\n")));
        let shell = "Exit code: 0\nWall time: 2 seconds\nOutput:\nx";
        check("shell_command", r#"{"command":"x"}"#, shell, Some(("x", 0, 2000, "x")));
    }

    #[test]
    fn what_is_none_or_did_not_end_stays_as_it_is() {
        let running = "Chunk ID: 4e1b\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n";
        check("exec_command", r#"{"cmd":"x"}"#, running, None);
        check("exec_command", r#"{"cmd":"x"}"#, "aborted by user after 1.0s", None);
        check("apply_patch", r#"{"input":"x"}"#, "Exit code: 0\nOutput:\nx", None);
        check("exec_command", "no JSON", "Exit code: 0\nOutput:\nx", None);
    }
}
