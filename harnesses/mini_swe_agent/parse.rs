//! From a reply to commands, or to the error that rejects the whole reply.
use protocol::{Call, CallForm, Reply, Stop};
use serde_json::Value;

use crate::python_json;

pub(super) const TOOL: &str = "bash";
const FENCE: &str = "```mswea_bash_command";

/// A call's command, or what Python says when it is handed something else to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Script(String),
    Unrunnable(String),
}

/// The commands of a reply in the tool form; Err: the text for the model.
pub(super) fn tool_calls(reply: &Reply) -> Result<Vec<Call>, String> {
    let calls: Vec<Call> = reply.calls().cloned().collect();
    if calls.is_empty() {
        return Err(match reply.stop {
            Stop::Length | Stop::Calls => CUT_OFF.to_owned(),
            _ => wrong_call("No tool calls found in the response. Every response MUST include at least one tool call."),
        });
    }
    for call in &calls {
        command(call).map_err(|error| wrong_call(&error))?;
    }
    Ok(calls)
}

/// Err: the sentences of the original, run together as it does.
pub(super) fn command(call: &Call) -> Result<Command, String> {
    if call.form == CallForm::InText {
        return Ok(Command::Script(call.args.clone()));
    }
    let mut error = String::new();
    let args: Value = match serde_json::from_str(&call.args) {
        Ok(args) => args,
        Err(_) => {
            if let Some(said) = python_json::error(&call.args) {
                error.push_str(&format!("Error parsing tool call arguments: {said}."));
            }
            Value::Null
        }
    };
    if call.name != TOOL {
        error.push_str(&format!("Unknown tool '{}'.", call.name));
    }
    let command = args.as_object().and_then(|args| args.get("command"));
    if command.is_none() {
        error.push_str("Missing 'command' argument in bash tool call.");
    }
    match command {
        Some(command) if error.is_empty() => Ok(runnable(command)),
        _ => Err(error),
    }
}

/// What Python's `subprocess` makes of values that are no text.
fn runnable(command: &Value) -> Command {
    let not_iterable = |kind: &str| Command::Unrunnable(format!("'{kind}' object is not iterable"));
    match command {
        Value::String(text) => Command::Script(text.clone()),
        Value::Null => not_iterable("NoneType"),
        Value::Bool(_) => not_iterable("bool"),
        Value::Number(n) if n.is_f64() => not_iterable("float"),
        Value::Number(_) => not_iterable("int"),
        Value::Array(list) => match list.first() {
            Some(Value::String(text)) => Command::Script(text.clone()),
            _ => Command::Unrunnable("the command is a list and not a text".to_owned()),
        },
        Value::Object(_) => Command::Unrunnable("the command is an object and not a text".to_owned()),
    }
}

/// The one command of a reply in the text form; Err: the text for the model.
pub(super) fn text_command(text: &str) -> Result<String, String> {
    let mut found = blocks(text);
    match (found.pop(), found.len()) {
        (Some(command), 0) => Ok(command.trim().to_owned()),
        (last, more) => Err(wrong_block(more + usize::from(last.is_some()))),
    }
}

/// All blocks with the info string, as the original's pattern finds them: a block ends at the first line that begins with a fence.
fn blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(FENCE) {
        rest = &rest[at + FENCE.len()..];
        // White space up to the last line feed before the text belongs to the opening.
        let blank = rest.len() - rest.trim_start().len();
        let Some(opening) = rest[..blank].rfind('\n') else { continue };
        // The pattern gives back white space where the block is empty otherwise.
        let (from, body) = match rest[opening + 1..].find("\n```") {
            Some(end) => (opening + 1, end),
            None => match rest.find("\n").map(|first| (first + 1, rest[first + 1..].find("\n```"))) {
                Some((from, Some(end))) => (from, end),
                _ => break,
            },
        };
        found.push(rest[from..from + body].to_owned());
        rest = &rest[from + body + "\n```".len()..];
    }
    found
}

const CUT_OFF: &str = "The last response hit the output token limit (finish_reason=length) before it came to a tool call, and was lost. Be shorter, think briefly, and end with exactly one bash tool call.";

fn wrong_call(error: &str) -> String {
    format!(
        "Tool call error:\n\n<error>\n{error}\n</error>\n\nHow to make a valid tool call:\n\nEach response must call the tool 'bash' at least once; that is how commands are run.\n\nThe command is the tool's one argument:\n- Tool: bash\n- Arguments: {{\"command\": \"your_command_here\"}}\n\nTo end the task, run this command and no other with it: `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`"
    )
}

fn wrong_block(found: usize) -> String {
    format!(
        "Format error:\n\n<error>\nExpected exactly 1 action, found {found}.\n</error>\n\nHow to write a valid response:\n\nGive EXACTLY ONE action in triple backticks; {found} were found.\n\nWrite it as shown in <response_example>.\n\n<response_example>\nWhy this is the right thing to do now.\n\n```mswea_bash_command\n<action>\n```\n</response_example>\n\nIf the task is done, hand it in as the first message says; nothing can be done on it after that."
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn call(name: &str, args: &str) -> Call {
        Call { id: "c".into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
    }

    #[test]
    fn arguments() {
        let script = |text: &str| Ok(Command::Script(text.to_owned()));
        let wont_run = |text: &str| Ok(Command::Unrunnable(text.to_owned()));
        let missing = "Missing 'command' argument in bash tool call.";
        for (name, args, expected) in [
            ("bash", r#"{"command":"ls"}"#, script("ls")),
            ("bash", r#"{"command":"ls","more":1}"#, script("ls")),
            ("bash", r#"{"command":["echo","a"]}"#, script("echo")),
            ("bash", r#"{"command":5}"#, wont_run("'int' object is not iterable")),
            ("bash", r#"{"command":1.5}"#, wont_run("'float' object is not iterable")),
            ("bash", r#"{"command":true}"#, wont_run("'bool' object is not iterable")),
            ("bash", r#"{"command":null}"#, wont_run("'NoneType' object is not iterable")),
            ("bash", "{}", Err(missing.to_owned())),
            ("bash", "[1]", Err(missing.to_owned())),
            ("bash", "null", Err(missing.to_owned())),
            ("bash", r#""command""#, Err(missing.to_owned())),
            ("edit", r#"{"path":"x"}"#, Err(format!("Unknown tool 'edit'.{missing}"))),
            ("edit", r#"{"command":"x"}"#, Err("Unknown tool 'edit'.".to_owned())),
            (
                "bash",
                "{bad json",
                Err(format!(
                    "Error parsing tool call arguments: Expecting property name enclosed in double quotes: line 1 column 2 (char 1).{missing}"
                )),
            ),
            (
                "bash",
                "",
                Err(format!("Error parsing tool call arguments: Expecting value: line 1 column 1 (char 0).{missing}")),
            ),
        ] {
            assert_eq!(command(&call(name, args)), expected, "{name} {args}");
        }
    }

    #[test]
    fn commands_in_text() {
        let check = |text: &str, expected: Result<&str, usize>| {
            assert_eq!(text_command(text), expected.map(str::to_owned).map_err(wrong_block), "{text}");
        };
        check("T\n```mswea_bash_command\nls -la\n```\nafter", Ok("ls -la"));
        check("```mswea_bash_command\nfor x in a; do\n  echo $x\ndone\n```", Ok("for x in a; do\n  echo $x\ndone"));
        check("```mswea_bash_command  \n\nls\n```", Ok("ls"));
        check("```bash\nls\n```", Err(0));
        check("```mswea_bash_command ls\n```", Err(0));
        check("```mswea_bash_command\nls", Err(0));
        check("```mswea_bash_command\na\n```\n```mswea_bash_command\nb\n```", Err(2));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(```mswea_bash_command|```|\n| |a){0,12}") {
            prop_assert!(blocks(&text).len() <= text.matches(FENCE).count());
        }
        #[test]
        fn any_arguments_are_read(args in "\\PC{0,30}", name in "bash|x") {
            let _ = command(&call(&name, &args));
        }
    }
}
