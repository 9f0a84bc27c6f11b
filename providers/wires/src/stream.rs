//! Writes event streams.
use crate::json::{self, Object};

/// `event: name`, then the object as its data. An empty name writes data only (chat).
pub(crate) fn event(out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut Object)) {
    if !name.is_empty() {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    json::object(out, fill);
    out.extend_from_slice(b"\n\n");
}

/// OpenAI's type of an error, beside its code.
pub(crate) fn kind(error: &protocol::ProviderError) -> &'static str {
    use protocol::ErrorKind::*;
    match error.kind {
        Auth => "authentication_error",
        NotFound | BadRequest | ContextLength | Filter => "invalid_request_error",
        RateLimit => "rate_limit_error",
        Quota => "insufficient_quota",
        Overloaded | Server | Transport | Idle | Stream | Incomplete => "server_error",
    }
}

/// A failure as each wire's error object has it: a code that clients know, where the kind has one.
pub(crate) fn code(error: &protocol::ProviderError) -> &str {
    use protocol::ErrorKind::*;
    if let Some(code) = &error.code {
        return code;
    }
    match error.kind {
        Auth => "invalid_api_key",
        NotFound => "model_not_found",
        BadRequest => "invalid_request_error",
        ContextLength => "context_length_exceeded",
        RateLimit => "rate_limit_exceeded",
        Quota => "insufficient_quota",
        Overloaded => "server_is_overloaded",
        Filter => "content_filter",
        Server | Transport | Idle | Stream | Incomplete => "server_error",
    }
}
