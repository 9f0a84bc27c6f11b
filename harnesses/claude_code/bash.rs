//! The Bash tool of the whole program: the shared one, and what `--bare` has not: commands in the background, and no long sleeps.
use protocol::{Action, Answer, Done, Exit, OnTimeout, Outcome, World};

use super::background;
use super::generation::Generation;
use super::older;
use super::shared::args::Bash;
use super::shared::bash::{self, TIMEOUT, TIMEOUT_MAX, duration, trim};
use super::shared::record::Record;
use super::shared::shell;
use crate::{Context, Next};

/// Seconds of a `sleep` at the start of a command from which on it is not run.
const LONG_SLEEP: f64 = 25.0;
const BACKGROUND_LIMIT: u64 = 600_000;
const BACKGROUND_LIMIT_MAX: u64 = 7_200_000;

pub(super) fn next(generation: Generation, cx: &Context, bash: &Bash, did: &[Done]) -> Next {
    let record = Record::of(cx);
    match did.first() {
        None => {
            if let Some(blocked) = blocked(&bash.command).filter(|_| generation.newest() && !bash.background) {
                return Next::Answer(Answer::failed(generation.wrong(&blocked)));
            }
            if generation == Generation::V1_0
                && let Some(told) = older::bash::leaves(cx, &bash.command, &record)
            {
                return Next::Answer(Answer::failed(told));
            }
            let mut run = bash::run(cx, bash, &record);
            if generation != Generation::V1_0 {
                run.background = bash.background;
                // A plain wait is not worth going on with.
                let waits = shell::commands(&bash.command)
                    .first()
                    .is_some_and(|first| first.words.first().is_some_and(|w| w == "sleep"));
                run.on_timeout = if waits && !bash.background { OnTimeout::Kill } else { OnTimeout::Background };
            }
            if run.background {
                run.on_timeout = OnTimeout::Kill;
                run.track_cwd = false;
                let asked = bash.timeout.filter(|ms| *ms >= 1.0).map_or(BACKGROUND_LIMIT, |ms| ms as u64);
                run.timeout =
                    Some(if generation.newest() { asked.min(BACKGROUND_LIMIT_MAX) } else { TIMEOUT_MAX.max(asked) });
            }
            Next::Do(vec![Action::World(World::Run(run))])
        }
        Some(Done { outcome: Outcome::Ran { exit: Exit::Running, task: Some(task), output, .. }, .. }) => {
            let id = background::id(generation, cx, *task);
            let file = background::file(generation, cx, *task, output.log.as_ref());
            let output = trim(&output.text);
            Next::Answer(Answer {
                error: Some(false),
                ..Answer::plain(handed_over(generation, bash, &record, &id, &file, output))
            })
        }
        Some(_) if generation.newest() => bash::next(cx, bash, did),
        Some(_) => older::bash::next(generation, cx, bash, &record, did),
    }
}

/// What is said of a command that goes on in the background.
fn handed_over(
    generation: Generation,
    bash: &Bash,
    record: &Record,
    id: &str,
    file: &std::path::Path,
    output: &str,
) -> String {
    let file = file.display();
    match generation {
        Generation::V1_0 | Generation::V2_0 => return format!("Command running in background with ID: {id}"),
        Generation::V2_1 => {
            return format!("Command running in background with ID: {id}. Output is being written to: {file}");
        }
        _ => {}
    }
    let look = "You will be notified when it completes.";
    let read = "To check interim output, use Read on that file path.";
    if bash.background {
        let mut text =
            format!("Command running in background with ID: {id}. Output is being written to: {file}. {look} {read}");
        if shell::commands(&bash.command).iter().any(|command| command.words.first().is_some_and(|word| word == "cd")) {
            text.push_str(&format!(
                "\nSession cwd remains {}; directory changes made by the backgrounded command do not apply to subsequent commands.",
                record.cwd.display()
            ));
        }
        return text;
    }
    let timeout = bash.timeout.filter(|ms| *ms >= 1.0).map_or(TIMEOUT, |ms| (ms as u64).min(TIMEOUT_MAX));
    let moved = format!(
        "Command did not complete within its {} timeout and was moved to the background (ID: {id}). Output is being written to: {file}. {look} It is running now: do not start it a second time. If it is not needed any more, stop it with TaskStop. {read}",
        duration(timeout)
    );
    if output.is_empty() { moved } else { format!("{output}\n{moved}") }
}

/// A command that begins with a long `sleep`, as the original tells them: a bare number, and what follows.
fn blocked(script: &str) -> Option<String> {
    let script = script.trim_start();
    let rest = script.strip_prefix("sleep")?.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t']);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    let seconds: f64 = number.parse().ok()?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let ends = rest.is_empty() || rest.starts_with([';', '&', '|', '\n', '#']);
    if seconds < LONG_SLEEP || !ends {
        return None;
    }
    let further: Vec<String> = shell::commands(script).iter().skip(1).map(|command| command.words.join(" ")).collect();
    let what = match further.is_empty() {
        true => format!("standalone sleep {number}"),
        false => format!("sleep {number} followed by: {}", further.join(" ")),
    };
    Some(format!(
        "Blocked: {what}. To wait for a command that you started, use run_in_background: true; you are told when it ends. To wait for something else, look at it in a loop with short sleeps (`until <check>; do sleep 2; done`). Several short sleeps in place of a long one are not meant."
    ))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// As measured on the original.
    #[test]
    fn long_sleeps_at_the_start_are_blocked() {
        for (script, expected) in [
            ("sleep 30", Some("standalone sleep 30")),
            ("sleep 25", Some("standalone sleep 25")),
            ("sleep 24", None),
            ("sleep 29.5", Some("standalone sleep 29.5")),
            ("  sleep 30  ", Some("standalone sleep 30")),
            ("sleep 30 # wait", Some("standalone sleep 30")),
            ("sleep 30;", Some("standalone sleep 30")),
            ("sleep 50 & echo $!", Some("sleep 50 followed by: echo $!")),
            ("sleep 30 | cat", Some("sleep 30 followed by: cat")),
            ("sleep 30 && echo a && echo b", Some("sleep 30 followed by: echo a echo b")),
            ("sleep 30 || true", Some("sleep 30 followed by: true")),
            ("sleep 25; sleep 30", Some("sleep 25 followed by: sleep 30")),
            ("sleep 30\necho a", Some("sleep 30 followed by: echo a")),
            ("echo a; sleep 30", None),
            ("sleep 1m", None),
            ("sleep 30s", None),
            ("(sleep 30)", None),
            ("timeout 1 sleep 30", None),
            ("sleep \"30\"", None),
            ("sleep 30 5", None),
            ("true && sleep 30", None),
            ("sleep $X", None),
            ("X=1 sleep 30", None),
        ] {
            let told = blocked(script);
            let told = told.as_deref().map(|text| text.split(". To wait").next().unwrap_or_default());
            assert_eq!(told, expected.map(|what| format!("Blocked: {what}")).as_deref(), "{script}");
        }
    }
}
