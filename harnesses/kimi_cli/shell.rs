//! `Shell`: a new bash for each command, in the session's folder; or a task in the background.
use protocol::{Action, Done, Exit, Outcome, Run, Shell, World};

use super::args::Args;
use super::record::Task;
use super::refusal::not_done;
use super::result::Said;
use super::{Step, tasks};

/// Bytes held of a command's output; 50,000 characters of it are shown.
const KEPT: u64 = 4 << 20;

pub(super) fn step(args: &Args, did: &[Done]) -> Step {
    let command = args.text("command");
    let background = args.on("run_in_background");
    let Some(done) = did.first() else {
        if command.is_empty() {
            return Step::Tell(Said::failed("Command cannot be empty."));
        }
        let seconds = u64::try_from(args.number("timeout")).unwrap_or_default();
        let run = Run {
            shell: Shell::Fresh { program: Some("/bin/bash".to_owned()), login: false },
            // The default is one for the foreground.
            timeout: Some(seconds * 1000).filter(|_| !background || seconds != 60),
            background,
            env: vec![("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned())],
            keep: KEPT,
            ..Run::new(command)
        };
        return Step::Do(vec![Action::World(World::Run(run))]);
    };
    Step::Tell(told(args, done))
}

/// Also of a command of another dialect.
pub(super) fn told(args: &Args, done: &Done) -> Said {
    match (&done.outcome, &done.action) {
        (Outcome::Ran { task: Some(id), .. }, Action::World(World::Run(run))) => {
            tasks::started(&Task::of(run, *id, args, done))
        }
        (Outcome::Ran { output, exit, .. }, _) => {
            let said = match exit {
                Exit::Code(0) | Exit::Running => Said::ok("Command executed successfully."),
                Exit::Code(code) => Said::failed(format!("Command failed with exit code: {code}.")),
                Exit::Signal(signal) => Said::failed(format!("Command failed with exit code: -{signal}.")),
                Exit::TimedOut(after) => Said::failed(format!("Command killed by timeout ({}s)", after / 1000)),
                Exit::Stopped => Said::failed("Command was stopped."),
            };
            said.with_bounded(&output.text)
        }
        (outcome, _) => not_done("Failed to run the command.", outcome),
    }
}
