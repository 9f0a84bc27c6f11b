//! How providers say no: an answer that is not 200, or an error inside a stream, to a kind, their own words, and a delay.
//! The bodies differ more by vendor than by wire, so all wires share this reading.
use protocol::{ErrorKind, Millis, ProviderError};
use serde_json::{Map, Value};

/// An answer that is not 200. Never fails; a body without words of its own is told by its status.
pub(crate) fn refusal(status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let mut error = match serde_json::from_str::<Value>(text) {
        Ok(value) => read(&value, Some(status)),
        Err(_) => {
            let message = match plain_words(text) {
                words if words.is_empty() => format!("status {status} without a body"),
                words => words,
            };
            let kind = kind(Some(status), "", &message);
            ProviderError { kind, ..ProviderError::new(ErrorKind::Server, message) }
        }
    };
    error.status = Some(status);
    error.body = (!text.is_empty()).then(|| text.to_owned());
    error.retry_after = delay_of_headers(headers).or(error.retry_after).or_else(|| delay_of_words(&error.message));
    error
}

/// An error object of any vendor's shape: `{"error": {...}}`, `{"error": "..."}`, `{"type":"error","error":{...}}`,
/// `{"message":...}`, `{"detail":...}`, `[{"error":...}]`, `{"base_resp":{...}}`. `status`: of the answer, if it was not 200.
pub(crate) fn read(value: &Value, status: Option<u16>) -> ProviderError {
    let value = match value {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        other => other,
    };
    let empty = Map::new();
    let outer = value.as_object().unwrap_or(&empty);
    let inner = match outer.get("error").or_else(|| outer.get("base_resp")) {
        Some(Value::Object(inner)) => inner,
        _ => outer,
    };
    let message = words(outer, inner).unwrap_or_else(|| match value {
        Value::Null => "an error without a message".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let token = |name: &str| {
        inner.get(name).or_else(|| outer.get(name)).and_then(|it| match it {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let (code, kind_name) =
        (token("code").or_else(|| token("status_code")), token("type").filter(|name| name != "error"));
    let tokens = format!(
        "{} {} {}",
        code.as_deref().unwrap_or_default(),
        kind_name.as_deref().unwrap_or_default(),
        token("status").unwrap_or_default()
    );
    // Routers put the status of the real answer into the code.
    let inner_status = code.as_deref().and_then(|code| code.parse().ok()).filter(|status| (400..600).contains(status));
    // The more telling of the two names: `insufficient_quota` stands in either.
    let code = match (code, kind_name) {
        (Some(code), Some(name)) if code.bytes().all(|b| b.is_ascii_digit()) => Some(name),
        (None, name) => name,
        (code, _) => code,
    };
    let seconds = |name: &str| inner.get(name).and_then(Value::as_f64);
    let retry_after = seconds("resets_in_seconds")
        .or_else(|| seconds("retry_after"))
        .map(to_millis)
        .or_else(|| retry_delay(inner))
        .or_else(|| delay_of_words(&message));
    ProviderError {
        kind: kind(status.or(inner_status), &tokens.to_ascii_lowercase(), &message),
        status,
        code,
        message,
        body: None,
        retry_after,
    }
}

/// An error inside a stream, as JSON text.
pub(crate) fn in_stream(json: &str) -> ProviderError {
    match serde_json::from_str::<Value>(json) {
        Ok(value) => read(&value, None),
        Err(_) => ProviderError::new(ErrorKind::Stream, json.trim()),
    }
}

fn words(outer: &Map<String, Value>, inner: &Map<String, Value>) -> Option<String> {
    let said =
        ["message", "status_msg", "msg", "detail", "error", "error_description", "title"].iter().find_map(|name| {
            [inner, outer].iter().find_map(|object| match object.get(*name)? {
                Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
                // FastAPI: a list of what is wrong where.
                Value::Array(list) => list.first()?.get("msg")?.as_str().map(str::to_owned),
                Value::Object(deeper) => deeper.get("message")?.as_str().map(str::to_owned),
                _ => None,
            })
        })?;
    // OpenRouter: the provider behind it has the real words.
    let metadata = inner.get("metadata");
    match metadata.and_then(|m| m.get("raw")).and_then(Value::as_str).map(str::trim) {
        Some(raw) if !raw.is_empty() && !said.contains(raw) => Some(format!("{said}: {raw}")),
        _ => Some(said),
    }
}

/// Google's `details: [{"retryDelay": "39s"}]`.
fn retry_delay(inner: &Map<String, Value>) -> Option<Millis> {
    let details = inner.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    span(delay).map(|(millis, _)| millis)
}

/// The words of a body that is no JSON: of a page its title or its text.
fn plain_words(text: &str) -> String {
    const MOST: usize = 500;
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = lower.get(start..)?.find("</title>")? + start;
        text.get(start..end).map(str::trim).filter(|title| !title.is_empty())
    });
    let words = match title {
        Some(title) => title.to_owned(),
        None if text.starts_with('<') => {
            let (mut out, mut in_tag) = (String::new(), false);
            for c in text.chars() {
                match c {
                    '<' => in_tag = true,
                    '>' => {
                        in_tag = false;
                        out.push(' ');
                    }
                    c if !in_tag => out.push(c),
                    _ => {}
                }
            }
            out
        }
        None => text.to_owned(),
    };
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &words[..cut]),
        None => words,
    }
}

/// Wordings of a prompt that does not fit, by who says so.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",           // OpenAI and clones, as a code
    "context_window_exceeded",           //
    "exceed_context_size",               // llama.cpp, as a type
    "maximum context length",            // OpenAI, vLLM, DeepSeek, Mistral, OpenRouter
    "exceeds the context window",        // OpenAI Responses
    "exceeds context window",            //
    "context window exceeds limit",      // MiniMax
    "context window is full",            //
    "prompt is too long",                // Anthropic
    "exceed context limit",              // Anthropic, input and max_tokens together
    "exceeds context limit",             //
    "request_too_large",                 // Anthropic, 413
    "input is too long",                 // Bedrock
    "available context size",            // llama.cpp
    "model's context length",            // SGLang
    "the context length",                // Ollama, LM Studio
    "context the overflows",             // LM Studio, its spelling
    "context overflow",                  //
    "context length of only",            // LM Studio
    "range of input length",             // DashScope
    "maximum number of tokens allowed",  // Gemini
    "reduce the length of the messages", // Groq, Cerebras, OpenAI
    "maximum prompt length",             // xAI
    "exceeded model token limit",        // Moonshot
    "prompt exceeds max length",         // Z.AI
    "exceeds maximum input length",      //
    "inputs tokens + max_new_tokens",    // TGI
    "request too large for model",       // Groq, 413: waiting does not help
    "too many tokens in the prompt",     //
];

const PAID_OUT: &[&str] = &[
    "insufficient_quota",
    "usage_limit_reached",
    "usage_not_included",
    "billing_hard_limit",
    "exceeded_current_quota",
    "insufficient_balance",
    "insufficient balance",
    "insufficient_credits",
    "insufficient credit",
    "requires more credits",
    "credit balance is too low",
    "exceeded your current quota",
    "quota exceeded. check your plan",
    "check your plan and billing",
    "account is in arrears",
    "arrearage",
];

const OVERLOADED: &[&str] = &[
    "overloaded",
    "slow_down",
    "server_is_busy",
    "service_unavailable",
    "unavailable_error",
    "insufficient_system_resource",
    "high demand",
    "at capacity",
    "is busy",
];

const FILTERED: &[&str] = &["content_filter", "content_policy", "data_inspection_failed", "responsibleaipolicy"];

/// `tokens`: codes and types, lower case. They count more than words, words more than the status.
fn kind(status: Option<u16>, tokens: &str, message: &str) -> ErrorKind {
    use ErrorKind::*;
    let message = message.to_ascii_lowercase();
    let any = |list: &[&str], text: &str| list.iter().any(|needle| text.contains(needle));
    let token = |name: &str| tokens.split(' ').any(|token| token == name);
    // Z.AI and BigModel: a business code as text, on 429 and on 400 alike.
    let business = tokens.split(' ').next().and_then(|code| code.parse::<u32>().ok()).unwrap_or(0);
    match business {
        1113 | 1308..=1321 => return Quota,
        1302 | 1305 => return RateLimit,
        1261 => return ContextLength,
        1301 => return Filter,
        1000..=1005 => return Auth,
        // MiniMax, in `base_resp`.
        1008 => return Quota,
        2013 if any(TOO_LONG, &message) => return ContextLength,
        _ => {}
    }
    if any(PAID_OUT, tokens) || status == Some(402) {
        return Quota;
    }
    let says_no_to_whom = matches!(status, Some(401 | 403 | 404));
    if any(TOO_LONG, tokens) || (!says_no_to_whom && any(TOO_LONG, &message)) {
        return ContextLength;
    }
    if any(FILTERED, tokens) {
        return Filter;
    }
    if any(OVERLOADED, tokens) {
        return Overloaded;
    }
    if any(&["rate_limit", "ratelimit", "too_many_requests", "resource_exhausted"], tokens) {
        return RateLimit;
    }
    if any(PAID_OUT, &message) && !matches!(status, Some(500..)) {
        return Quota;
    }
    if any(&["authentication", "invalid_api_key", "permission_error", "permission_denied", "unauthorized"], tokens) {
        return Auth;
    }
    if any(&["model_not_found", "not_found_error"], tokens) || token("not_found") {
        return NotFound;
    }
    if status == Some(400) && any(&["model not exist", "model does not exist", "no such model"], &message) {
        return NotFound;
    }
    match status {
        Some(401 | 403) => Auth,
        Some(404 | 405) => NotFound,
        Some(408 | 409 | 425) => Server,
        Some(413) => ContextLength,
        Some(429) if any(OVERLOADED, &message) => Overloaded,
        Some(429) => RateLimit,
        Some(503 | 529) => Overloaded,
        Some(500..) => Server,
        Some(400..500) => BadRequest,
        _ if any(
            &["invalid_request", "invalid_prompt", "invalid_argument", "bad_request", "invalid_image"],
            tokens,
        ) =>
        {
            BadRequest
        }
        _ if any(OVERLOADED, &message) => Overloaded,
        _ if message.contains("rate limit") || message.contains("too many requests") => RateLimit,
        _ => Server,
    }
}

fn to_millis(seconds: f64) -> Millis {
    (seconds.clamp(0.0, 1e9) * 1000.0).round() as Millis
}

/// `retry-after-ms`, or `retry-after` in seconds. A date is not read: there is no clock here.
fn delay_of_headers(headers: &[(String, String)]) -> Option<Millis> {
    let number = |wanted: &str| {
        let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        value.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
    };
    number("retry-after-ms").map(|ms| to_millis(ms / 1000.0)).or_else(|| number("retry-after").map(to_millis))
}

/// "Please try again in 1.5s", "retry in 350ms", "try again in 6m0s", "in 20 seconds".
fn delay_of_words(message: &str) -> Option<Millis> {
    let lower = message.to_ascii_lowercase();
    let after = ["try again in ", "retry in ", "retry after ", "try again after "].iter().find_map(|lead| {
        let at = lower.find(lead)? + lead.len();
        lower.get(at..)
    })?;
    let (mut total, mut rest) = span(after)?;
    while let Some((more, after)) = span(rest) {
        total += more;
        rest = after;
    }
    Some(total)
}

/// One number with its unit at the start of `text`, and what follows.
fn span(text: &str) -> Option<(Millis, &str)> {
    let text = text.trim_start();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let rest = text[digits..].trim_start();
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let seconds = match &rest[..letters] {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    };
    Some((to_millis(number * seconds), &rest[letters..]))
}

#[cfg(test)]
mod tests;
