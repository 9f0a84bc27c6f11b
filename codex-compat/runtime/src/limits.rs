//! Bounds of a turn that the user sets: requests, time, tokens.
use std::time::Duration;

use protocol::{TurnCause, TurnError};

use crate::thread::Started;

/// None: no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model in one turn.
    pub steps: Option<u64>,
    pub time: Option<Duration>,
    /// How much of `time` was over before the turn.
    pub waited: Duration,
    /// Input and output tokens of one turn.
    pub tokens: Option<u64>,
}

impl Limits {
    /// Before a request. Time is watched all along, see `time_is_over`.
    pub(crate) fn check(&self, started: Started) -> Result<(), TurnError> {
        if self.left().is_some_and(|left| left.is_zero()) {
            return Err(self.time_is_over());
        }
        if let Some(max) = self.steps
            && started.steps >= max
        {
            return Err(over("steps", format!("stopped after {max} requests to the model (--max-steps)")));
        }
        if let Some(max) = self.tokens
            && started.tokens >= max
        {
            return Err(over(
                "tokens",
                format!("stopped after {} tokens, {max} allowed (--max-tokens)", started.tokens),
            ));
        }
        Ok(())
    }

    /// Time for the turn.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.time.map(|time| time.saturating_sub(self.waited))
    }

    pub(crate) fn time_is_over(&self) -> TurnError {
        over("time", format!("stopped after {} seconds (--max-time)", self.time.unwrap_or_default().as_secs()))
    }
}

fn over(name: &str, message: String) -> TurnError {
    TurnError { message, cause: TurnCause::Limit(name.to_owned()) }
}
