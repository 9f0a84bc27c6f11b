//! The shell: one that lives on, so that folder, variables and functions stay; a command with a syntax error is not run.
use protocol::{Action, Answer, Captured, Done, Exit, Failure, Millis, Outcome, Run, Shell, World};

use super::observe;
use super::record::{Record, State};
use crate::{Context, Next};

pub(super) const TIMEOUT: Millis = 30_000;
const NAME: &str = "swe-agent";
const ENV: [(&str, &str); 8] = [
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("LESS", "-R"),
    ("PIP_PROGRESS_BAR", "off"),
    ("TQDM_DISABLE", "1"),
    ("GIT_PAGER", "cat"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
];
/// Bytes held of one command's output.
const KEPT: u64 = 8 << 20;
const ENOENT: i32 = 2;
const CHECK: &str = "bash -n <<'";

pub(super) fn next(cx: &Context, record: &Record, script: &str, did: &[Done]) -> Next {
    match did {
        // The shell reads a line as a whole before it runs any of it; of several lines it would run those before the error.
        [] if script.trim_end().contains('\n') => act(check(script)),
        [] => act(run(cx, record, script)),
        [done] if is_check(done) && passed(done) => act(run(cx, record, script)),
        [done] if looks_wrong(done) => act(check(script)),
        [.., done] if folder_is_gone(done) && record.state.cwd != cx.settings.cwd => {
            let here =
                Record { state: State { cwd: cx.settings.cwd.clone(), ..record.state.clone() }, ..record.clone() };
            match did.iter().filter(|done| folder_is_gone(done)).count() {
                1 => act(run(cx, &here, script)),
                _ => Next::Answer(answer(cx, &here, done)),
            }
        }
        _ => match syntax_error(did) {
            Some(output) => Next::Answer(Answer::plain(unparsable(output))),
            None => {
                let done = did.iter().rev().find(|done| !is_check(done)).or(did.last());
                Next::Answer(done.map_or_else(|| Answer::plain(""), |done| answer(cx, record, done)))
            }
        },
    }
}

fn act(run: Run) -> Next {
    Next::Do(vec![Action::World(World::Run(run))])
}

/// A script in the kept shell. A new shell (the first, after a timeout, after a resume) starts where the last one was.
pub(super) fn run(cx: &Context, record: &Record, script: &str) -> Run {
    let mut env: Vec<(String, String)> = ENV.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    env.push(("ROOT".into(), cx.settings.cwd.display().to_string()));
    Run {
        shell: Shell::Kept(NAME.to_owned()),
        cwd: Some(record.state.cwd.clone()),
        timeout: Some(TIMEOUT),
        env,
        track_cwd: true,
        keep: KEPT,
        ..Run::new(script)
    }
}

/// Reads the script without running it. It comes in as standard input, for the line numbers of the messages.
fn check(script: &str) -> Run {
    let mut end = "INTERPRETER_END".to_owned();
    while script.lines().any(|line| line == end) {
        end.push('_');
    }
    let program = Some("bash".to_owned());
    Run {
        shell: Shell::Fresh { program, login: false },
        timeout: Some(TIMEOUT),
        ..Run::new(format!("{CHECK}{end}'\n{}\n{end}", script.trim_end_matches('\n')))
    }
}

fn is_check(done: &Done) -> bool {
    matches!(&done.action, Action::World(World::Run(Run { shell: Shell::Fresh { .. }, script, .. }))
        if script.starts_with(CHECK))
}

fn passed(done: &Done) -> bool {
    // Where the check itself could not be done, the command is the judge.
    !matches!(&done.outcome, Outcome::Ran { exit: Exit::Code(code), .. } if *code != 0)
}

/// What `bash -n` said, where a call was not run for it.
pub(super) fn syntax_error(did: &[Done]) -> Option<&str> {
    did.iter().find(|done| is_check(done) && !passed(done)).and_then(|done| match &done.outcome {
        Outcome::Ran { output, .. } => Some(output.text.as_str()),
        _ => None,
    })
}

/// A line that the shell gave up on before it ran any of it.
fn looks_wrong(done: &Done) -> bool {
    let wrong = |text: &str| text.contains("syntax error") || text.contains("unexpected EOF while looking for");
    !is_check(done)
        && matches!(&done.outcome, Outcome::Ran { exit: Exit::Code(1 | 2), output, .. }
            if output.text.len() < 4096 && wrong(&output.text))
}

fn folder_is_gone(done: &Done) -> bool {
    matches!(&done.outcome, Outcome::Failed(Failure::Spawn { errno: ENOENT, .. }))
}

pub(super) fn unparsable(output: &str) -> String {
    format!(
        "Your bash command has a syntax error and was not run. Mend it and send it again. Nothing that the command would have done has happened.\nHere is the output of `bash -n`:\n\n{output}"
    )
}

/// The observation of a command that was run, or could not be.
pub(super) fn answer(cx: &Context, record: &Record, done: &Done) -> Answer {
    let mut state = record.state.clone();
    let script = match &done.action {
        Action::World(World::Run(run)) => run.script.as_str(),
        _ => "",
    };
    match &done.outcome {
        Outcome::Ran { exit: Exit::TimedOut(after), .. } => {
            let text = format!(
                "The command '{script}' was cancelled because it took more than {} seconds. Please run something that comes to its end sooner. A program that waits for input cannot be used here: give it what it asks for as arguments, or in a file.",
                after / 1000
            );
            observe::observed(cx, &text, &state)
        }
        Outcome::Ran { output, cwd_after, .. } => {
            if let Some(after) = cwd_after {
                state.cwd.clone_from(after);
            }
            let Captured { text, cut, .. } = output;
            let omitted = cut.map_or(0, |cut| usize::try_from(cut.omitted).unwrap_or(usize::MAX));
            observe::elided(cx, text.trim_end_matches(['\r', '\n']), omitted, &state)
        }
        Outcome::Refused(refusal) => observe::observed(cx, &observe::refused(refusal), &state),
        Outcome::Failed(failure) => observe::observed(cx, &observe::failed(failure), &state),
        _ => observe::observed(cx, super::INTERRUPTED, &state),
    }
}
