//! Actions and Outcomes as clients see them. Events follow Actions, never the names of calls.
use std::path::Path;

use protocol::{
    Captured, Change, ChangeDone, ChangeKind, Exit, Failure, FileView, New, Outcome, Refusal, Status, ViewKind,
};

/// Codex shows at most this much of a command's output, first and last half.
const SHOWN: usize = 1 << 20;

/// What a command's item says at its end. None: it goes on.
pub(crate) fn command_end(command: &str, cwd: &Path, outcome: &Outcome, took: u64) -> Option<ViewKind> {
    let (output, exit_code, status) = match outcome {
        Outcome::Ran { exit: Exit::Running, .. } => return None,
        Outcome::Ran { output, exit, .. } => {
            let status = if *exit == Exit::Code(0) { Status::Completed } else { Status::Failed };
            (shown(output), exit.code(), status)
        }
        Outcome::Interrupted { output } => (output.as_ref().map(shown).unwrap_or_default(), Some(130), Status::Failed),
        Outcome::Failed(Failure::Spawn { errno, message }) => {
            (format!("Failed to create unified exec process: {message} (os error {errno})"), Some(-1), Status::Failed)
        }
        Outcome::Failed(Failure::Sandbox(line)) => (line.clone(), Some(-1), Status::Failed),
        Outcome::Failed(failure) => (format!("{failure:?}"), Some(-1), Status::Failed),
        Outcome::Refused(Refusal::User { .. } | Refusal::Cancelled) => (String::new(), None, Status::Declined),
        _ => (String::new(), None, Status::Failed),
    };
    let (command, cwd) = (command.to_owned(), cwd.to_owned());
    Some(ViewKind::Command { command, cwd, output, exit_code, status, took })
}

/// Output with the gap marked, as in `aggregated_output`.
pub(crate) fn shown(output: &Captured) -> String {
    let output = output.shrunk(SHOWN);
    match output.cut {
        None => output.text,
        Some(cut) => {
            let (head, tail) = output.text.split_at(cut.at);
            format!("{head}\n... {} bytes omitted ...\n{tail}", cut.omitted)
        }
    }
}

/// What a change is about to do. `exists` tells whether a path is there already.
pub(crate) fn planned(changes: &[Change], cwd: &Path, exists: impl Fn(&Path) -> bool) -> Vec<FileView> {
    changes
        .iter()
        .map(|change| {
            let path = cwd.join(&change.path);
            let kind = match &change.new {
                New::Gone => ChangeKind::Delete,
                New::Whole { .. } if !exists(&path) => ChangeKind::Add,
                _ => ChangeKind::Update,
            };
            FileView { path, to: change.to.as_ref().map(|to| cwd.join(to)), kind, diff: String::new() }
        })
        .collect()
}

pub(crate) fn done(changes: &[ChangeDone]) -> Vec<FileView> {
    changes
        .iter()
        .map(|c| FileView { path: c.path.clone(), to: c.to.clone(), kind: c.kind, diff: c.diff.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use protocol::Cut;

    use super::*;

    #[test]
    fn a_gap_is_marked() {
        let cut = Some(Cut { at: 4, omitted: 9 });
        let output = Captured { text: "headtail".into(), cut, bytes: 17, lines: 1, ..Captured::default() };
        assert_eq!(shown(&output), "head\n... 9 bytes omitted ...\ntail");
    }

    #[test]
    fn streams_that_were_apart_are_shown_as_they_came() {
        let output = Captured::whole_apart([(false, "one\n"), (true, "two\n"), (false, "three\n")]);
        assert_eq!(shown(&output), "one\ntwo\nthree\n");
    }
}
