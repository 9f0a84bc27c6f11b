//! The generations of Claude Code that this folder speaks, its kin that has its own folder, and the small facts in which they differ.
use super::shared::args::wrap;
use super::shared::schema::Rules;

/// Oldest first; `Classic` and `Current` are two profiles of the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    /// 1.0.60
    V1_0,
    /// 2.0.30
    V2_0,
    /// 2.1.20
    V2_1,
    /// 2.1.332 as it speaks to models up to Opus 4.7: reminders in user messages, files read before they are edited.
    Classic,
    /// ZCode, which has Claude Code's tools and, as far as it is known, speaks as `Classic` does (see `zcode`).
    Zcode,
    /// 2.1.332 as it speaks to newer models: reminders are system messages between the turns.
    Current,
}

use Generation::*;

impl Generation {
    pub(super) fn id(self) -> &'static str {
        match self {
            V1_0 => "claude-code@1.0",
            V2_0 => "claude-code@2.0",
            V2_1 => "claude-code@2.1",
            Classic => "claude-code",
            Zcode => "zcode",
            Current => "claude-code@current",
        }
    }

    /// One of the two of 2.1.332, or of that time.
    pub(super) fn newest(self) -> bool {
        self >= Classic
    }

    pub(super) fn rules(self) -> Rules {
        match self {
            V1_0 => Rules::First,
            V2_0 => Rules::Second,
            V2_1 => Rules::Third,
            Classic | Zcode | Current => Rules::Latest,
        }
    }

    /// An error found before anything ran; all but the oldest put it in tags.
    pub(super) fn wrong(self, text: &str) -> String {
        if self == V1_0 { text.to_owned() } else { wrap(text) }
    }

    /// The tool that starts sub-agents.
    pub(super) fn agent(self) -> &'static str {
        if self.newest() { "Agent" } else { "Task" }
    }

    /// Files must be read before they are changed.
    pub(super) fn reads_first(self) -> bool {
        self != Current
    }

    /// Turns with calls, and none to the list of tasks, after which the model is reminded of it; and turns between reminders.
    pub(super) fn nudges(self) -> (usize, usize) {
        match self {
            V1_0 => (20, 20),
            V2_0 => (7, 3),
            _ => (10, 10),
        }
    }
}
