use pretty_assertions::assert_eq;
use protocol::{ErrorKind, ErrorKind::*, Millis};

use super::*;

#[track_caller]
fn check(status: u16, body: &str, expected: ErrorKind, said: &str) {
    let error = refusal(status, &[], body.as_bytes());
    assert_eq!((error.kind, error.message.as_str(), error.status), (expected, said, Some(status)));
}

/// OpenAI's shape, most common.
#[track_caller]
fn kind_of(status: u16, code: &str, message: &str) -> ErrorKind {
    let body = serde_json::json!({ "error": { "message": message, "type": "x", "code": code } });
    refusal(status, &[], body.to_string().as_bytes()).kind
}

#[test]
fn shapes() {
    check(
        401,
        r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        Auth,
        "bad key",
    );
    check(
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
        Overloaded,
        "Overloaded",
    );
    check(404, r#"{"error":"model 'x' not found"}"#, NotFound, "model 'x' not found");
    check(
        400,
        r#"{"object":"error","message":"no","type":"BadRequestError","param":null,"code":400}"#,
        BadRequest,
        "no",
    );
    check(422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, BadRequest, "field required");
    check(400, r#"{"detail":"nope"}"#, BadRequest, "nope");
    check(400, r#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#, BadRequest, "m");
    check(502, "<html><head><title>502 Bad Gateway</title></head></html>", Server, "502 Bad Gateway");
    check(503, "upstream connect error", Overloaded, "upstream connect error");
    check(500, "", Server, "status 500 without a body");
    check(403, "<p>Forbidden &amp; <b>closed</b></p>", Auth, "Forbidden &amp; closed");
}

#[test]
fn kinds() {
    let table = [
        (429, "insufficient_quota", "You exceeded your current quota", Quota),
        (429, "usage_limit_reached", "The usage limit has been reached", Quota),
        (429, "rate_limit_exceeded", "Rate limit reached", RateLimit),
        (429, "", "slow", RateLimit),
        (429, "engine_overloaded_error", "The engine is currently overloaded", Overloaded),
        (429, "1113", "余额不足", Quota),
        (429, "1302", "rate", RateLimit),
        (400, "1261", "Prompt exceeds max length", ContextLength),
        (402, "", "Insufficient Balance", Quota),
        (400, "", "Your credit balance is too low to access the API", Quota),
        (400, "context_length_exceeded", "x", ContextLength),
        (400, "", "This model's maximum context length is 131072 tokens. However, you requested 140000", ContextLength),
        (400, "", "the request exceeds the available context size, try increasing it", ContextLength),
        (400, "", "Range of input length should be [1, 98304]", ContextLength),
        (400, "", "Your request exceeded model token limit: 131072", ContextLength),
        (
            400,
            "",
            "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
            ContextLength,
        ),
        (413, "rate_limit_exceeded", "Request too large for model `x` on tokens per minute", ContextLength),
        (400, "", "Model Not Exist", NotFound),
        (404, "model_not_found", "The model `x` does not exist", NotFound),
        (400, "content_filter", "filtered", Filter),
        (400, "", "Unsupported parameter", BadRequest),
        (403, "", "not allowed", Auth),
        (503, "", "x", Overloaded),
        (504, "", "x", Server),
    ];
    for (status, code, message, expected) in table {
        assert_eq!(kind_of(status, code, message), expected, "{status} {code} {message}");
    }
}

#[test]
fn delays() {
    let check = |name: &str, value: &str, body: &str, expected: Option<Millis>| {
        let headers = [(name.to_owned(), value.to_owned())];
        assert_eq!(refusal(429, &headers, body.as_bytes()).retry_after, expected, "{name} {value} {body}");
    };
    check("Retry-After", "2", "", Some(2000));
    check("retry-after", "0.5", "", Some(500));
    check("retry-after-ms", "1500", "", Some(1500));
    check("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", "", None);
    check("retry-after", "-1", "", None);
    check("x", "", "Please try again in 1.5s.", Some(1500));
    check("x", "", "Please try again in 350ms.", Some(350));
    check("x", "", "try again in 6m0s. Visit", Some(360_000));
    check("x", "", "retry in 20 seconds", Some(20_000));
    check("x", "", "try again in a while", None);
    check("x", "", r#"{"error":{"message":"m","resets_in_seconds":3}}"#, Some(3000));
    check("x", "", r#"{"error":{"message":"m","details":[{"retryDelay":"39s"}]}}"#, Some(39_000));
    check("retry-after", "1", "try again in 9s", Some(1000));
}
