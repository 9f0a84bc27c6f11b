//! What a command came to, as the model is shown it: JSON laid out over lines (tool form), tags (text form).
use protocol::{Done, Exit, Outcome, Refusal};

/// Characters of output from which on only both ends are shown, and how much of each.
const LONG: usize = 10_000;
const END: usize = 5_000;

const FAILED: &str = "An error occurred while executing the command: ";
pub(super) const MARKER: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// The triple of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) output: String,
    pub(super) returncode: i32,
    /// Empty: no exception.
    pub(super) exception: String,
}

impl Observation {
    /// The command was not reached, or the user stopped it.
    pub(super) fn not_run() -> Observation {
        Observation { output: String::new(), returncode: -1, exception: "action was not executed".into() }
    }

    pub(super) fn failed(why: impl std::fmt::Display) -> Observation {
        Observation { output: String::new(), returncode: -1, exception: format!("{FAILED}{why}") }
    }

    pub(super) fn of(command: &str, done: &Done) -> Observation {
        let failed = |why: &str| Observation::failed(why);
        match &done.outcome {
            Outcome::Ran { output, exit, .. } => {
                let (returncode, exception) = match exit {
                    Exit::Code(code) => (*code, String::new()),
                    Exit::Signal(signal) => (-signal, String::new()),
                    Exit::TimedOut(after) => (-1, timed_out(command, *after)),
                    Exit::Running | Exit::Stopped => (-1, "action was not executed".to_owned()),
                };
                Observation { output: output.text.clone(), returncode, exception }
            }
            Outcome::Refused(refusal) => match refusal {
                Refusal::User { .. } | Refusal::Cancelled => Observation::not_run(),
                Refusal::Rule(rule) => failed(&format!("refused by a rule: {rule}")),
                Refusal::Hook { reason, .. } => failed(&format!("refused by a hook: {reason}")),
                Refusal::PlanMode { .. } => failed("refused: nothing may be changed in plan mode"),
                Refusal::NobodyToAsk { .. } => failed("refused: it needs an approval and nobody can be asked"),
                Refusal::Sandbox { path, .. } => failed(&format!("refused by the sandbox: {}", path.display())),
                Refusal::Stale { path } => failed(&format!("{} has changed", path.display())),
                Refusal::Depth => failed("refused: too deep"),
                Refusal::Limit(text) => failed(text),
            },
            Outcome::Failed(failure) => failed(&match failure {
                protocol::Failure::Io { path, errno, message } => {
                    format!("[Errno {errno}] {message}: '{}'", path.display())
                }
                protocol::Failure::Spawn { errno, message } => format!("[Errno {errno}] {message}: '/bin/sh'"),
                protocol::Failure::Sandbox(text) | protocol::Failure::Other(text) => text.clone(),
                failure => format!("{failure:?}"),
            }),
            _ => Observation::not_run(),
        }
    }

    /// The rest of the output where the command hands the task in: the marker as first line, and success.
    pub(super) fn submission(&self) -> Option<String> {
        if self.returncode != 0 || !self.exception.is_empty() {
            return None;
        }
        let text = self.output.trim_start();
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        (first.trim() == MARKER).then(|| rest.to_owned())
    }

    /// Tool form. Lengths count characters, as Python does.
    pub(super) fn json(&self) -> String {
        let exception = match self.exception.is_empty() {
            true => String::new(),
            false => format!(", \"exception_info\": {}", quoted(&self.exception)),
        };
        let code = self.returncode;
        match self.ends() {
            None => format!("{{\n  \"returncode\": {code},\n  \"output\": {}{exception}\n}}", quoted(&self.output)),
            Some((head, tail, elided)) => format!(
                "{{\n  \"returncode\": {code},\n  \"output_head\": {},\n  \"output_tail\": {},\n  \"elided_chars\": {elided},\n  \"warning\": \"Output too long.\"{exception}\n}}",
                quoted(head),
                quoted(tail)
            ),
        }
    }

    /// Text form.
    pub(super) fn tagged(&self) -> String {
        let exception = match self.exception.is_empty() {
            true => String::new(),
            false => format!("<exception>{}</exception>\n", self.exception),
        };
        let code = format!("{exception}<returncode>{}</returncode>\n", self.returncode);
        match self.ends() {
            None => format!("{code}<output>\n{}</output>", self.output),
            Some((head, tail, elided)) => format!(
                "{code}<warning>\n{TOO_LONG}\n</warning><output_head>\n{head}\n</output_head>\n<elided_chars>\n{elided} characters elided\n</elided_chars>\n<output_tail>\n{tail}\n</output_tail>"
            ),
        }
    }

    fn ends(&self) -> Option<(&str, &str, usize)> {
        if self.output.len() < LONG {
            return None;
        }
        let chars = self.output.chars().count();
        let byte = |n: usize| self.output.char_indices().nth(n).map_or(self.output.len(), |(at, _)| at);
        (chars >= LONG).then(|| (&self.output[..byte(END)], &self.output[byte(chars - END)..], chars - LONG))
    }
}

const TOO_LONG: &str = "The last command printed more than can be shown.\nTry another command that prints less.\nOf a file, look at the few lines that matter with head, tail or sed.\nMake a grep or find that printed too much more selective.\nIf all of the output is needed, send it into a file and search there.";

fn timed_out(command: &str, after: u64) -> String {
    format!("{FAILED}Command '{command}' timed out after {} seconds", after / 1000)
}

/// Jinja's `tojson`: Python's ASCII JSON, with the characters escaped that HTML knows.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\'' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            ' '..='~' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn seen(output: &str, returncode: i32, exception: &str) -> Observation {
        Observation { output: output.into(), returncode, exception: exception.into() }
    }

    #[test]
    fn json_form() {
        let check = |o: Observation, expected: &str| assert_eq!(o.json(), expected);
        check(seen("hi\nerr\n", 0, ""), "{\n  \"returncode\": 0,\n  \"output\": \"hi\\nerr\\n\"\n}");
        check(seen("", 0, ""), "{\n  \"returncode\": 0,\n  \"output\": \"\"\n}");
        check(
            seen("<é&'😀\u{7f}>", 0, ""),
            "{\n  \"returncode\": 0,\n  \"output\": \"\\u003c\\u00e9\\u0026\\u0027\\ud83d\\ude00\\u007f\\u003e\"\n}",
        );
        check(
            seen("start\n", -1, &timed_out("echo start; sleep 60", 3_000)),
            "{\n  \"returncode\": -1,\n  \"output\": \"start\\n\", \"exception_info\": \"An error occurred while executing the command: Command \\u0027echo start; sleep 60\\u0027 timed out after 3 seconds\"\n}",
        );
        check(
            Observation::not_run(),
            "{\n  \"returncode\": -1,\n  \"output\": \"\", \"exception_info\": \"action was not executed\"\n}",
        );
        let (a, b) = ("a".repeat(5_000), "b".repeat(5_000));
        check(
            seen(&format!("{a}cc{b}"), 0, ""),
            &format!(
                "{{\n  \"returncode\": 0,\n  \"output_head\": \"{a}\",\n  \"output_tail\": \"{b}\",\n  \"elided_chars\": 2,\n  \"warning\": \"Output too long.\"\n}}"
            ),
        );
        check(
            seen(&format!("{a}{b}"), -1, "E"),
            &format!(
                "{{\n  \"returncode\": -1,\n  \"output_head\": \"{a}\",\n  \"output_tail\": \"{b}\",\n  \"elided_chars\": 0,\n  \"warning\": \"Output too long.\", \"exception_info\": \"E\"\n}}"
            ),
        );
    }

    #[test]
    fn tagged_form() {
        let check = |o: Observation, expected: &str| assert_eq!(o.tagged(), expected);
        check(seen("no\n", 2, ""), "<returncode>2</returncode>\n<output>\nno\n</output>");
        check(seen("", 0, ""), "<returncode>0</returncode>\n<output>\n</output>");
        check(seen("", -1, "E"), "<exception>E</exception>\n<returncode>-1</returncode>\n<output>\n</output>");
        let (a, b) = ("é".repeat(5_000), "b".repeat(5_000));
        check(
            seen(&format!("{a}c{b}"), 0, ""),
            &format!(
                "<returncode>0</returncode>\n<warning>\n{TOO_LONG}\n</warning><output_head>\n{a}\n</output_head>\n<elided_chars>\n1 characters elided\n</elided_chars>\n<output_tail>\n{b}\n</output_tail>"
            ),
        );
    }

    #[test]
    fn the_marker_must_come_first_and_succeed() {
        let check = |output: &str, code: i32, expected: Option<&str>| {
            assert_eq!(seen(output, code, "").submission().as_deref(), expected, "{output}");
        };
        check("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\nrest of output\n", 0, Some("rest of output\n"));
        check("\n  COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT \nrest\nmore", 0, Some("rest\nmore"));
        check("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", 0, Some(""));
        check("x\nCOMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n", 0, None);
        check("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n", 1, None);
    }

    proptest! {
        #[test]
        fn is_json_that_reads_back(text in any::<String>()) {
            prop_assert_eq!(serde_json::from_str::<String>(&quoted(&text)).ok(), Some(text));
        }
        #[test]
        fn observations_are_json(text in "\\PC{0,30}", n in 0usize..400, code in any::<i32>()) {
            let value: serde_json::Value = serde_json::from_str(&seen(&text.repeat(n), code, &text).json()).unwrap();
            prop_assert_eq!(value["returncode"].as_i64(), Some(i64::from(code)));
        }
    }
}
