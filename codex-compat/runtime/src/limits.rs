//! Bounds of a turn that the user sets: requests, time, tokens.
use std::time::Duration;

use protocol::{TurnCause, TurnError};

use crate::thread::{Started, Tally};

/// None: no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model in one turn.
    pub steps: Option<u64>,
    pub time: Option<Duration>,
    /// Input and output tokens of one turn.
    pub tokens: Option<u64>,
}

impl Limits {
    /// Before a request.
    pub(crate) fn check(&self, _tally: &Tally, started: Started) -> Result<(), TurnError> {
        let over = |name: &str, message: String| Err(TurnError { message, cause: TurnCause::Limit(name.to_owned()) });
        if let Some(max) = self.steps
            && started.steps >= max
        {
            return over("steps", format!("stopped after {max} requests to the model (--max-steps)"));
        }
        if let Some(max) = self.time
            && started.at.elapsed() >= max
        {
            return over("time", format!("stopped after {} seconds (--max-time)", max.as_secs()));
        }
        if let Some(max) = self.tokens
            && started.tokens >= max
        {
            return over("tokens", format!("stopped after {} tokens, {max} allowed (--max-tokens)", started.tokens));
        }
        Ok(())
    }
}
