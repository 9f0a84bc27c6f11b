//! How a failed request is told: one line as upstream words it (scripts match it), and one that says who, what and what
//! to do.
use std::fmt::Write as _;

use jiff::tz::TimeZone;
use protocol::{ErrorKind, ProviderError};
use reqwest::{StatusCode, Url};

use crate::{Auth, Provider, Secret, provider::is_loopback, transport::CA_VARIABLES};

/// A request that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AskError {
    /// As Codex 0.171.0 says it where it knows the case.
    pub message: String,
    /// Provider, model, status, the provider's own words, and the next step; one line.
    pub hint: String,
    /// What the bytes told.
    pub error: ProviderError,
}

impl AskError {
    pub fn kind(&self) -> ErrorKind {
        self.error.kind
    }
}

/// At which point it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before anything was sent: no key, unreadable certificates.
    Setup,
    /// The connection could not be made.
    Connect(Why),
    /// Sent, but no answer came.
    Send,
    /// Answered with another status than 200, or with something that is no stream.
    Answer,
    /// In the stream.
    Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Refused,
    Name,
    Certificate,
    /// No TLS comes about for another reason: the server does not speak it, or none that we speak.
    Tls,
    Other,
}

/// A failure while it is not decided whether it is one.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) error: ProviderError,
    pub(crate) stage: Stage,
    /// Deltas of this attempt were handed on.
    pub(crate) streamed: bool,
}

impl Trouble {
    pub(crate) fn new(stage: Stage, error: ProviderError) -> Trouble {
        Trouble { error, stage, streamed: false }
    }

    /// Some servers repeat the key in their refusals.
    pub(crate) fn mask(&mut self, key: &Secret) {
        self.error.message = key.mask(&self.error.message);
        self.error.body = self.error.body.take().map(|body| key.mask(&body));
    }

    pub(crate) fn tell(self, provider: &Provider, model: &str, url: Option<&Url>) -> AskError {
        let message = provider.mask(&short(message(&self, url)));
        let hint = provider.mask(&hint(&self, provider, model));
        let mut error = self.error;
        error.message = provider.mask(&error.message);
        error.body = error.body.map(|body| provider.mask(&body));
        AskError { message, hint, error }
    }
}

/// The line of upstream (exec-events.md; the sentences as seen in Codex 0.171.0).
fn message(trouble: &Trouble, url: Option<&Url>) -> String {
    let Trouble { error, stage, .. } = trouble;
    let words = error.message.trim();
    match error.kind {
        ErrorKind::ContextLength => {
            return "Codex ran out of room in the model's context window. Start a new thread or clear earlier history \
                    before retrying."
                .into();
        }
        ErrorKind::Quota if error.code.as_deref() != Some("usage_limit_reached") => {
            let fixed = "Quota exceeded. Check your plan and billing details.";
            return if words.is_empty() { fixed.into() } else { format!("{fixed} ({words})") };
        }
        // The wire has worded it whole: `Incomplete response returned, reason: ...`.
        ErrorKind::Incomplete | ErrorKind::Filter if *stage == Stage::Stream => return words.to_owned(),
        _ => {}
    }
    match (stage, error.status) {
        (Stage::Setup, _) => words.to_owned(),
        (Stage::Connect(_), _) => format!("Connection failed: {words}"),
        (Stage::Answer, Some(400)) => error.body.clone().unwrap_or_else(|| words.to_owned()),
        (Stage::Answer, Some(429)) if error.code.as_deref() == Some("usage_limit_reached") => {
            usage_limit(error, TimeZone::system())
        }
        (Stage::Answer, Some(429)) => "exceeded retry limit, last status: 429 Too Many Requests".into(),
        (Stage::Answer, Some(500)) => {
            "We’re currently experiencing high demand, which may cause temporary errors.".into()
        }
        (Stage::Answer, Some(status)) => format!("unexpected status {}: {words}{}", reason(status), place(url)),
        (Stage::Answer, None) => format!("unexpected answer: {words}{}", place(url)),
        (Stage::Stream, _) if error.kind == ErrorKind::RateLimit => format!("rate limit exceeded: {words}"),
        (Stage::Send | Stage::Stream, _) => format!("stream disconnected before completion: {words}"),
    }
}

/// Longest message in bytes. Upstream repeats the body of a 400 whole; what is longer than this nobody reads.
const MOST_MESSAGE: usize = 64 << 10;

fn short(mut message: String) -> String {
    if message.len() > MOST_MESSAGE {
        let left_out = message.len() - message.floor_char_boundary(MOST_MESSAGE);
        message.truncate(message.len() - left_out);
        let _ = write!(message, "… [{left_out} more bytes]");
    }
    message
}

/// `503 Service Unavailable`.
fn reason(status: u16) -> String {
    let known = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    known.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}

/// `, url: <url>` without query and credentials: keys may stand there.
fn place(url: Option<&Url>) -> String {
    let Some(url) = url else { return String::new() };
    let mut url = url.clone();
    url.set_query(None);
    // Fails for addresses that have no credentials to lose.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    format!(", url: {url}")
}

/// The clock time is in the body (`error.resets_at`, Unix seconds); its form is upstream's (`Nov 30th, 2025 7:13 PM`).
fn usage_limit(error: &ProviderError, zone: TimeZone) -> String {
    let reset = || {
        let body: serde_json::Value = serde_json::from_str(error.body.as_deref()?).ok()?;
        let at = jiff::Timestamp::from_second(body.pointer("/error/resets_at")?.as_i64()?).ok()?.to_zoned(zone);
        let suffix = match at.day() {
            1 | 21 | 31 => "st",
            2 | 22 => "nd",
            3 | 23 => "rd",
            _ => "th",
        };
        Some(at.strftime(&format!("%b %-d{suffix}, %Y %-I:%M %p")).to_string())
    };
    match reset() {
        Some(time) => format!("You’ve hit your usage limit. Try again at {time}."),
        None => "You’ve hit your usage limit. Try again later.".into(),
    }
}

/// Longest quotation of a provider's words in a hint, in characters.
const QUOTE: usize = 300;

fn hint(trouble: &Trouble, provider: &Provider, model: &str) -> String {
    let Trouble { error, stage, .. } = trouble;
    let mut line = format!("{} ({model})", provider.name);
    if let (Stage::Answer, Some(status)) = (stage, error.status) {
        let _ = write!(line, " answered {}", reason(status));
    }
    let words = error.message.split_whitespace().collect::<Vec<_>>().join(" ");
    if !words.is_empty() {
        let cut = words.char_indices().nth(QUOTE).map(|(at, _)| at);
        let _ = match cut {
            Some(at) => write!(line, ": {}…", &words[..at]),
            None => write!(line, ": {words}"),
        };
    }
    if !line.ends_with(['.', '!', '?', '…']) {
        line.push('.');
    }
    let step = step(trouble, provider, model);
    if !step.is_empty() {
        line.push(' ');
        line.push_str(&step);
    }
    line
}

/// What the user can do about it.
fn step(trouble: &Trouble, provider: &Provider, model: &str) -> String {
    let error = &trouble.error;
    let base = &place_of(provider);
    let local = is_loopback(&provider.host());
    match trouble.stage {
        Stage::Connect(Why::Refused | Why::Other) if local => return start_server(provider, base),
        Stage::Connect(Why::Refused | Why::Other) => {
            return format!("Check the network, the proxy settings and base_url ({base}).");
        }
        Stage::Connect(Why::Name) => return format!("Check the network and the host name in base_url ({base})."),
        Stage::Connect(Why::Certificate) => {
            return format!(
                "If a proxy or a private authority signs for {}, name its certificate (PEM) in {}.",
                provider.host(),
                CA_VARIABLES[0]
            );
        }
        Stage::Connect(Why::Tls) => {
            return format!("Does the server at {base} speak TLS? If not, base_url starts with http://.");
        }
        _ => {}
    }
    match error.kind {
        ErrorKind::Auth => key_step(provider),
        ErrorKind::NotFound if provider.id == "ollama" => {
            format!("If the model is missing: `ollama pull {model}`. `ollama list` shows those there are.")
        }
        ErrorKind::NotFound => format!("Check the model name `{model}` and base_url ({base})."),
        ErrorKind::ContextLength => {
            "Start a new thread, or set model_context_window to what the server holds, so that the thread is compacted \
             in time."
                .into()
        }
        ErrorKind::Quota => format!("Waiting does not help: check plan and balance at {}.", provider.name),
        ErrorKind::RateLimit | ErrorKind::Overloaded => match error.retry_after {
            Some(ms) => format!("Try again in {}.", span(ms)),
            None => "Try again in a minute.".into(),
        },
        ErrorKind::Server => "The fault is on the server's side; try again later.".into(),
        ErrorKind::Idle => format!(
            "Nothing came for {}; stream_idle_timeout_ms of the provider sets the bound.",
            span(u64::try_from(provider.idle_timeout.as_millis()).unwrap_or(u64::MAX))
        ),
        ErrorKind::Stream => format!(
            "{} ended its answer early or does not speak wire_api = \"{}\" at {base}.",
            provider.name,
            provider.wire.as_str()
        ),
        ErrorKind::Transport if local => format!("The server at {base} closed the connection; see its log."),
        ErrorKind::Transport => "Check the network.".into(),
        ErrorKind::BadRequest if matches!(trouble.stage, Stage::Answer) => {
            format!("Check the settings of {} and the model name `{model}`.", provider.name)
        }
        ErrorKind::BadRequest | ErrorKind::Incomplete | ErrorKind::Filter => String::new(),
    }
}

fn key_step(provider: &Provider) -> String {
    let host = provider.host();
    match &provider.auth {
        Auth::Key { from, .. } => {
            format!("The key comes from {from}: check that it is valid for {host} and may use this model.")
        }
        Auth::Command(command) => {
            format!("The key comes from the command `{}`: check what it prints.", command.command())
        }
        Auth::Missing { variable, .. } => format!("Set it: export {variable}=<your key for {host}>."),
        Auth::None if provider.headers.iter().any(|(name, _)| crate::registry::is_auth_header(name)) => {
            "The key comes from http_headers or env_http_headers of the provider.".into()
        }
        Auth::None => match provider.id.as_str() {
            "openai" => "No key was sent. Set OPENAI_API_KEY.".into(),
            "anthropic" => "No key was sent. Set ANTHROPIC_API_KEY.".into(),
            id => format!("No key was sent. Name its variable in env_key of [model_providers.{id}]."),
        },
    }
}

fn start_server(provider: &Provider, base: &str) -> String {
    match provider.id.as_str() {
        "ollama" => format!("Is Ollama running at {base}? Start it with `ollama serve`."),
        "lmstudio" => {
            format!(
                "Is LM Studio's server running at {base}? Start it with `lms server start` or in its developer tab."
            )
        }
        _ => format!("Is the server at {base} running?"),
    }
}

/// The base URL without query and credentials.
fn place_of(provider: &Provider) -> String {
    let url = Url::parse(&provider.base_url).ok();
    place(url.as_ref()).trim_start_matches(", url: ").trim_end_matches('/').to_owned()
}

/// `1.5 s`, `4 min`, `2 h`.
fn span(ms: u64) -> String {
    let seconds = ms as f64 / 1_000.0;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{} s", (seconds * 10.0).round() / 10.0),
        10_000..120_000 => format!("{} s", seconds.round()),
        120_000..7_200_000 => format!("{} min", (seconds / 60.0).round()),
        _ => format!("{} h", (seconds / 3_600.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn spans() {
        for (ms, text) in [(30, "30 ms"), (1_500, "1.5 s"), (60_000, "60 s"), (240_000, "4 min"), (7_200_000, "2 h")] {
            assert_eq!(span(ms), text);
        }
    }

    #[test]
    fn messages_end() {
        let check = |text: String, expected: String| assert_eq!(short(text), expected);
        check("x".repeat(65_536), "x".repeat(65_536));
        check("x".repeat(65_537), format!("{}… [1 more bytes]", "x".repeat(65_536)));
        check(format!("x{}", "é".repeat(40_000)), format!("x{}… [14466 more bytes]", "é".repeat(32_767)));
    }

    #[test]
    fn usage_limits() {
        let check = |body: &str, expected: &str| {
            let error = ProviderError { body: Some(body.into()), ..ProviderError::new(ErrorKind::Quota, "") };
            assert_eq!(
                usage_limit(&error, TimeZone::UTC),
                format!("You’ve hit your usage limit. Try again {expected}.")
            );
        };
        check(r#"{"error":{"resets_at":1764530000}}"#, "at Nov 30th, 2025 7:13 PM");
        check(r#"{"error":{"resets_at":1764633600}}"#, "at Dec 2nd, 2025 12:00 AM");
        check("{}", "later");
    }

    #[test]
    fn addresses_without_what_is_secret() {
        let url = Url::parse("https://user:pass@h/v1/responses?key=abc").expect("an address");
        assert_eq!(place(Some(&url)), ", url: https://h/v1/responses");
    }
}
