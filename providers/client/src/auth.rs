//! Tokens printed by a command (`[model_providers.<id>.auth]`): run when needed, kept for a while, one run at a time.
use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use serde::Deserialize;
use tokio::{process::Command, sync::Mutex};

use crate::Secret;

/// The table `auth` of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TokenSource {
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Longest run, in milliseconds.
    #[serde(default = "default_timeout")]
    pub timeout_ms: u64,
    /// Age at which a token is fetched anew, in milliseconds. 0: only after the server has refused it.
    #[serde(default = "default_refresh")]
    pub refresh_interval_ms: u64,
}

fn default_timeout() -> u64 {
    5_000
}
fn default_refresh() -> u64 {
    300_000
}

/// A token source with its last token. Shared by all clones of a provider.
pub struct TokenCommand {
    source: TokenSource,
    last: Mutex<Option<(Secret, Instant)>>,
}

impl std::fmt::Debug for TokenCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TokenCommand").field(&self.source.command).finish()
    }
}

impl TokenCommand {
    pub fn new(source: TokenSource) -> TokenCommand {
        TokenCommand { source, last: Mutex::new(None) }
    }

    pub(crate) fn command(&self) -> &str {
        &self.source.command
    }

    /// The kept token, or a new one.
    pub async fn token(&self) -> Result<Secret, TokenError> {
        let mut last = self.last.lock().await;
        let refresh = Duration::from_millis(self.source.refresh_interval_ms);
        if let Some((token, since)) = &*last
            && (refresh.is_zero() || since.elapsed() < refresh)
        {
            return Ok(token.clone());
        }
        let token = self.run().await?;
        *last = Some((token.clone(), Instant::now()));
        Ok(token)
    }

    /// The server has refused `token`: forgets it. False where a newer one is already there or none was kept.
    pub(crate) async fn refused(&self, token: &Secret) -> bool {
        let mut last = self.last.lock().await;
        let same = last.as_ref().is_some_and(|(kept, _)| kept == token);
        if same {
            *last = None;
        }
        same
    }

    async fn run(&self) -> Result<Secret, TokenError> {
        let TokenSource { command, args, cwd, timeout_ms, .. } = &self.source;
        let fail = |why: String| TokenError { command: command.clone(), why };
        let mut run = Command::new(command);
        run.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        if let Some(cwd) = cwd {
            run.current_dir(cwd);
        }
        let output = match tokio::time::timeout(Duration::from_millis(*timeout_ms), run.output()).await {
            Err(_) => return Err(fail(format!("no answer within {timeout_ms} ms (`timeout_ms`)"))),
            Ok(Err(e)) => return Err(fail(e.to_string())),
            Ok(Ok(output)) => output,
        };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing on stderr");
            return Err(fail(format!("{}: {}", output.status, said.trim())));
        }
        let token = Secret::new(String::from_utf8_lossy(&output.stdout));
        if token.is_empty() { Err(fail("it printed nothing".into())) } else { Ok(token) }
    }
}

/// Names the command, never its output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the command `{command}`, which should print a token, failed: {why}")]
pub struct TokenError {
    pub command: String,
    pub why: String,
}

#[cfg(all(test, unix))]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn script(text: &str, refresh_interval_ms: u64) -> TokenCommand {
        TokenCommand::new(TokenSource {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), text.into()],
            cwd: None,
            timeout_ms: 20_000,
            refresh_interval_ms,
        })
    }

    #[tokio::test]
    async fn a_token_is_kept_until_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let count = dir.path().join("runs");
        let source = script(&format!("echo x >>{0}; wc -l <{0} | tr -d ' '", count.display()), 0);
        assert_eq!(source.token().await, Ok("1".into()));
        assert_eq!(source.token().await, Ok("1".into()));
        assert!(source.refused(&"1".into()).await);
        assert_eq!(source.token().await, Ok("2".into()));
        assert!(!source.refused(&"1".into()).await);
        assert_eq!(source.token().await, Ok("2".into()));
    }

    #[tokio::test]
    async fn failures_name_the_command() {
        let check = async |text: &str, expected: &str| {
            let error = script(text, 1).token().await.map_err(|e| e.to_string());
            assert_eq!(error, Err(format!("the command `/bin/sh`, which should print a token, failed: {expected}")));
        };
        check("exit 3", "exit status: 3: nothing on stderr").await;
        check("echo; echo not signed in >&2; exit 1", "exit status: 1: not signed in").await;
        check("true", "it printed nothing").await;
        let mut slow = script("sleep 60", 1);
        slow.source.timeout_ms = 1;
        assert!(slow.token().await.is_err_and(|e| e.why.contains("within 1 ms")));
    }
}
