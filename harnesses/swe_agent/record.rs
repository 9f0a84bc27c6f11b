//! What history tells of the run: where the shell is, which file the window shows, how often in a row something went wrong.
use std::path::PathBuf;

use protocol::{Action, Body, Done, Exit, Origin, Outcome, Run, Shell, World};

use super::{bash, submit, window};
use crate::Context;

/// Shown behind each observation of the classic forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// Where the next command starts.
    pub(super) cwd: PathBuf,
    /// The file in the window.
    pub(super) open: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) state: State,
    /// Lines above the window.
    pub(super) first: usize,
    /// Replies in a row that were asked for again.
    pub(super) failures: usize,
    /// Commands in a row that ran out of time.
    pub(super) timeouts: usize,
    /// Times that the present task was handed in.
    pub(super) submits: usize,
}

impl Record {
    pub(super) fn of(cx: &Context) -> Record {
        let state = State { cwd: cx.settings.cwd.clone(), open: None };
        let mut record = Record { state, first: 0, failures: 0, timeouts: 0, submits: 0 };
        for item in cx.items {
            match &item.body {
                Body::User { origin: Origin::Harness | Origin::Hook { .. }, .. } => {}
                Body::User { .. } => (record.failures, record.timeouts, record.submits) = (0, 0, 0),
                Body::Read { dropped: true, .. } => record.failures += 1,
                Body::Called { did, .. } if bash::syntax_error(did).is_some() => record.failures += 1,
                Body::Called { did, answer, .. } => {
                    record.failures = 0;
                    record.called(did);
                    if let Some((open, first)) = window::shown_in(&answer.content.text()) {
                        record.state.open = open;
                        record.first = first.unwrap_or(record.first);
                    }
                }
                _ => {}
            }
        }
        record
    }

    fn called(&mut self, did: &[Done]) {
        self.submits += usize::from(submit::is(did));
        for done in did {
            let Action::World(World::Run(Run { shell: Shell::Kept(_), .. })) = &done.action else { continue };
            match &done.outcome {
                Outcome::Ran { exit: Exit::TimedOut(_), .. } => self.timeouts += 1,
                Outcome::Ran { cwd_after, .. } => {
                    self.timeouts = 0;
                    self.state.cwd = cwd_after.clone().unwrap_or_else(|| self.state.cwd.clone());
                }
                _ => self.timeouts = 0,
            }
        }
    }
}
