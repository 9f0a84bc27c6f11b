//! Whether and when a request is made again.
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use protocol::{ErrorKind, Millis, ProviderError, ReplyId};
use reqwest::header::HeaderMap;

/// The first wait; each later one is twice as long.
const FIRST: Duration = Duration::from_millis(200);
/// Bound of our own waits.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// A server that wants a longer wait than this gets none: the user is told instead.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    No,
    /// After a backoff.
    Soon,
    /// The server said when.
    After(Duration),
}

/// Announced retries (`Reconnecting... k/n`). Upstream's rules (exec-events.md), but what cannot succeed is not tried.
pub(crate) fn stream_retry(error: &ProviderError) -> Again {
    let code = error.code.as_deref().unwrap_or_default();
    let possible = match error.status {
        Some(429) => {
            !matches!(error.kind, ErrorKind::Quota | ErrorKind::Auth)
                && !matches!(code, "usage_limit_reached" | "insufficient_quota")
        }
        Some(status) if status >= 300 => worth_repeating(status),
        _ => error.kind.retryable(),
    };
    if !possible {
        return Again::No;
    }
    match error.retry_after.map(Duration::from_millis) {
        Some(delay) if delay > LONGEST_WAIT => Again::No,
        Some(delay) => Again::After(delay),
        // Seen in Codex 0.171.0: a limit that is named and says no time fails at once.
        None if error.status == Some(429) && code == "rate_limit_exceeded" => Again::No,
        None => Again::Soon,
    }
}

/// Silent retries of a request that was not answered with a stream.
pub(crate) fn request_retry(error: &ProviderError) -> Again {
    match error.status {
        Some(status) if status >= 500 && worth_repeating(status) => {
            match error.retry_after.map(Duration::from_millis) {
                Some(delay) if delay > LONGEST_WAIT => Again::No,
                Some(delay) => Again::After(delay),
                None => Again::Soon,
            }
        }
        _ => Again::No,
    }
}

/// 501 and 505 say that the server cannot do it at all.
fn worth_repeating(status: u16) -> bool {
    matches!(status, 408 | 425 | 429) || (status >= 500 && !matches!(status, 501 | 505))
}

/// The wait before attempt `k` (from 1) is made again: doubling, with up to a tenth of jitter either way.
pub(crate) fn backoff(k: u32) -> Duration {
    jitter(FIRST.saturating_mul(1 << k.saturating_sub(1).min(16)).min(LONGEST_BACKOFF))
}

fn jitter(wait: Duration) -> Duration {
    wait.mul_f64(0.9 + (draw() % 2_001) as f64 / 10_000.0)
}

/// Keyed anew by each `RandomState`: random enough to spread clients out and to tell replies apart.
fn draw() -> u64 {
    RandomState::new().hash_one(0)
}

/// The id of a reply whose server gives none.
pub(crate) fn draw_id() -> ReplyId {
    ReplyId(format!("reply_{:016x}", draw()))
}

/// `Retry-After` as a date. The other forms need no clock, and the wire has read them.
pub(crate) fn date_delay(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Millis> {
    let value = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
    u64::try_from(date.as_millisecond() - now.as_millisecond()).ok().or(Some(0))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn waits_double_and_stay_bounded() {
        for (k, ms) in [(1, 200), (2, 400), (3, 800), (5, 3_200), (8, 25_600), (9, 30_000), (99, 30_000)] {
            let wait = backoff(k).as_millis();
            assert!(wait * 10 >= ms * 9 && wait * 10 <= ms * 11, "{k}: {wait}");
        }
    }

    #[test]
    fn dates() {
        let now: jiff::Timestamp = "2026-11-30T12:00:00Z".parse().expect("a time");
        let check = |value: &str, expected: Option<Millis>| {
            let headers = [(reqwest::header::RETRY_AFTER, value.parse().expect("a header"))].into_iter().collect();
            assert_eq!(date_delay(&headers, now), expected, "{value}");
        };
        check("Mon, 30 Nov 2026 12:00:07 GMT", Some(7_000));
        check("Mon, 30 Nov 2026 11:00:00 GMT", Some(0));
        check("7", None);
        check("soon", None);
    }

    #[test]
    fn what_is_tried_again() {
        let error = |kind, status, code: &str, retry_after| ProviderError {
            status,
            code: Some(code.to_owned()),
            retry_after,
            ..ProviderError::new(kind, "")
        };
        use ErrorKind::*;
        let rows = [
            (error(Auth, Some(401), "", None), Again::No, Again::No),
            (error(Auth, Some(403), "", None), Again::No, Again::No),
            (error(NotFound, Some(404), "", None), Again::No, Again::No),
            (error(BadRequest, Some(400), "", None), Again::No, Again::No),
            (error(Server, Some(408), "", None), Again::Soon, Again::No),
            (error(RateLimit, Some(429), "", None), Again::Soon, Again::No),
            (error(RateLimit, Some(429), "", Some(1_000)), Again::After(Duration::from_secs(1)), Again::No),
            (error(RateLimit, Some(429), "", Some(400_000)), Again::No, Again::No),
            (error(RateLimit, Some(429), "rate_limit_exceeded", None), Again::No, Again::No),
            (
                error(RateLimit, Some(429), "rate_limit_exceeded", Some(2_000)),
                Again::After(Duration::from_secs(2)),
                Again::No,
            ),
            (error(RateLimit, Some(429), "usage_limit_reached", Some(1)), Again::No, Again::No),
            (error(Quota, Some(429), "", Some(1)), Again::No, Again::No),
            (error(Server, Some(500), "", None), Again::Soon, Again::Soon),
            (
                error(Server, Some(503), "", Some(1)),
                Again::After(Duration::from_millis(1)),
                Again::After(Duration::from_millis(1)),
            ),
            (error(Server, Some(501), "", None), Again::No, Again::No),
            (error(Server, Some(301), "", None), Again::No, Again::No),
            (error(Server, None, "", Some(2_000)), Again::After(Duration::from_secs(2)), Again::No),
            (
                error(RateLimit, None, "rate_limit_exceeded", Some(2_000)),
                Again::After(Duration::from_secs(2)),
                Again::No,
            ),
            (error(RateLimit, None, "rate_limit_exceeded", None), Again::Soon, Again::No),
            (error(Quota, None, "", None), Again::No, Again::No),
            (error(Incomplete, None, "", None), Again::No, Again::No),
            (error(Idle, None, "", None), Again::Soon, Again::No),
            (error(Stream, None, "", None), Again::Soon, Again::No),
        ];
        for (error, stream, request) in rows {
            assert_eq!((stream_retry(&error), request_retry(&error)), (stream, request), "{error:?}");
        }
    }
}
