//! Requests against a scripted server: what is retried and how often, how it is announced, and what failures say.
//! The rows follow the tables of `exec-events.md` (Codex 0.171.0); where ours differ, a comment says why.
mod each_wire;
mod line_wire;
mod server;

use std::{sync::Mutex, time::Duration};

use line_wire::LineWire;
use pretty_assertions::assert_eq;
use protocol::*;
use providers::*;
use server::{Answer, STREAM, Server, refusal, stream};

fn provider(port: u16, json: &str) -> Provider {
    let mut config: serde_json::Value = serde_json::from_str(json).expect("a provider table");
    config["base_url"] = format!("http://127.0.0.1:{port}/v1").into();
    config["name"] = "Stub".into();
    let config: ProviderConfig = serde_json::from_value(config).expect("a provider table");
    Registry::new([("stub".to_owned(), config)].into(), Sources::default()).provider("stub").expect("a provider")
}

/// What a run showed.
#[derive(Debug, PartialEq)]
struct Seen {
    requests: usize,
    /// `text`, `restart`, `k/n cause (wait ms)`.
    signals: Vec<String>,
    result: Result<String, String>,
}

/// Waits of our own making are random; they are shown as `soon`.
fn shown(signal: &Signal<'_>) -> Option<String> {
    match signal {
        Signal::Deltas(deltas) => {
            let texts: String = deltas
                .iter()
                .filter_map(|delta| match delta {
                    Delta::Text { text, .. } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            (!texts.is_empty()).then_some(texts)
        }
        Signal::Restart => Some("restart".into()),
        Signal::Retrying { k, n, cause, wait } => {
            let wait = if wait % 1_000 == 0 { format!("{wait} ms") } else { "soon".into() };
            Some(format!("{k}/{n} {cause} ({wait})"))
        }
    }
}

async fn ask(client: &Client, headers: &[(&str, &str)], on: impl FnMut(Signal<'_>)) -> Result<Reply, AskError> {
    let fit = client.provider().fit("m");
    let request = Request {
        wire: &LineWire,
        fit: &fit,
        body: vec!["{".into(), "".into(), "\"a\":1".into(), "}".into()],
        headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
    };
    client.ask(&request, on).await
}

fn client(provider: Provider) -> Client {
    Client::new(provider).with_sleep(|_| Box::pin(std::future::ready(())))
}

async fn run(script: Vec<Answer>, json: &str) -> (Seen, Option<AskError>) {
    let server = Server::start(script).await;
    let mut signals = Vec::new();
    let result = ask(&client(provider(server.port, json)), &[], |signal| signals.extend(shown(&signal))).await;
    let port = server.port.to_string();
    let clean = |text: &str| text.replace(&port, "PORT");
    let seen = Seen {
        requests: server.requests().len(),
        signals: signals.iter().map(|s| clean(s)).collect(),
        result: result.as_ref().map(Reply::text).map_err(|failure| clean(&failure.message)),
    };
    (seen, result.err())
}

const TWO_RETRIES: &str = r#"{"request_max_retries": 1, "stream_max_retries": 2}"#;

/// A row: the answer, requests made, cause announced at each of two retries (if any), final message.
async fn check(answer: Answer, requests: usize, retried: bool, message: &str) -> AskError {
    let (seen, failure) = run(vec![answer], TWO_RETRIES).await;
    let signals = match retried {
        true => vec![format!("1/2 {message} (soon)"), format!("2/2 {message} (soon)")],
        false => Vec::new(),
    };
    assert_eq!(seen, Seen { requests, signals, result: Err(message.to_owned()) });
    failure.expect("a failure")
}

#[tokio::test]
async fn a_reply_streams() {
    let (seen, _) = run(vec![stream("t:Hello \nt:world\nstop\n")], "{}").await;
    let expected = Seen { requests: 1, signals: vec!["Hello world".into()], result: Ok("Hello world".into()) };
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn tokens_are_counted_by_those_who_can() {
    let count = async |answer: Answer| {
        let server = Server::start(vec![answer]).await;
        let provider = provider(server.port, r#"{"wire_api": "messages"}"#);
        let tokens = client(provider).count("/v1/messages/count_tokens", &[], "{}".into()).await;
        (tokens, server.requests().len())
    };
    let json = |status: &'static str, body: &str| refusal(status, &["content-type: application/json"], body);
    assert_eq!(count(json("200 OK", r#"{"input_tokens":7}"#)).await, (Some(7), 1));
    assert_eq!(count(json("200 OK", "{}")).await, (None, 1));
    assert_eq!(count(json("404 Not Found", "{}")).await, (None, 1));
}

#[tokio::test]
async fn refusals_that_no_repetition_mends() {
    let error = |words: &str| format!(r#"{{"error":{{"message":"{words}"}}}}"#);
    check(refusal("400 Bad Request", &[], &error("bad tool")), 1, false, &error("bad tool")).await;
    // Codex makes six requests of each of these.
    let place = "url: http://127.0.0.1:PORT/v1/responses";
    for status in
        ["401 Unauthorized", "403 Forbidden", "404 Not Found", "422 Unprocessable Entity", "501 Not Implemented"]
    {
        let message = format!("unexpected status {status}: no, {place}");
        check(refusal(status, &[], &error("no")), 1, false, &message).await;
    }
    let long = r#"{"error":{"code":"context_length_exceeded","message":"9000 > 8000"}}"#;
    let message = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.";
    let failure = check(refusal("400 Bad Request", &[], long), 1, false, message).await;
    assert_eq!(
        failure.hint,
        "Stub (m) answered 400 Bad Request: 9000 > 8000. Start a new thread, or set model_context_window to what the \
         server holds, so that the thread is compacted in time."
    );
    // A redirect would carry the key elsewhere, and a POST would lose its body.
    let message = format!(
        "unexpected status 308 Permanent Redirect: redirects to https://h/v1/responses; base_url should name that address, {place}"
    );
    check(refusal("308 Permanent Redirect", &["location: https://h/v1/responses"], ""), 1, false, &message).await;
}

#[tokio::test]
async fn limits() {
    let last = "exceeded retry limit, last status: 429 Too Many Requests";
    let limited = |fields: &str, headers: &[&str]| {
        refusal("429 Too Many Requests", headers, &format!(r#"{{"error":{{{fields}}}}}"#))
    };
    check(limited(r#""message":"slow""#, &[]), 3, true, last).await;
    check(limited(r#""type":"rate_limit_exceeded","message":"slow""#, &[]), 1, false, last).await;
    let (seen, _) = run(vec![limited("", &["retry-after: 1"]), stream("t:ok\nstop\n")], TWO_RETRIES).await;
    let signals = vec![format!("1/2 {last} (1000 ms)"), "ok".to_owned()];
    assert_eq!(seen, Seen { requests: 2, signals, result: Ok("ok".into()) });
    // An hour is not waited.
    let failure = check(limited(r#""message":"slow""#, &["retry-after: 7200"]), 1, false, last).await;
    assert_eq!(failure.hint, "Stub (m) answered 429 Too Many Requests: slow. Try again in 2 h.");
    let usage = r#""type":"usage_limit_reached","plan_type":"plus","message":"m""#;
    check(limited(usage, &[]), 1, false, "You’ve hit your usage limit. Try again later.").await;
    // Upstream drops the provider's words.
    let quota = limited(r#""code":"insufficient_quota","message":"used up XYZ""#, &[]);
    check(quota, 1, false, "Quota exceeded. Check your plan and billing details. (used up XYZ)").await;
}

#[tokio::test]
async fn failing_servers() {
    let busy = "We’re currently experiencing high demand, which may cause temporary errors.";
    let failure =
        check(refusal("500 Internal Server Error", &[], r#"{"error":{"message":"boom"}}"#), 6, true, busy).await;
    let hint = "Stub (m) answered 500 Internal Server Error: boom. The fault is on the server's side; try again later.";
    assert_eq!(failure.hint, hint);
    let message = "unexpected status 503 Service Unavailable: down, url: http://127.0.0.1:PORT/v1/responses";
    check(refusal("503 Service Unavailable", &[], "down"), 6, true, message).await;
    let fails = || refusal("500 Internal Server Error", &[], "");
    let (seen, _) = run(vec![fails(), fails(), stream("t:ok\nstop\n")], "{}").await;
    assert_eq!(seen, Seen { requests: 3, signals: vec!["ok".into()], result: Ok("ok".into()) });
    // Four and five by default: 5 x 6 requests.
    assert_eq!(run(vec![fails()], "{}").await.0.requests, 30);
    let once = r#"{"request_max_retries": 1, "stream_max_retries": 0}"#;
    let (seen, _) = run(vec![fails()], once).await;
    assert_eq!(seen, Seen { requests: 2, signals: Vec::new(), result: Err(busy.into()) });
}

#[tokio::test]
async fn streams_that_end_early() {
    let closed = "stream disconnected before completion: stream closed before response.completed";
    let (seen, _) = run(vec![stream("t:half\n"), stream("t:whole\nstop\n")], TWO_RETRIES).await;
    let signals = vec!["half".into(), "restart".into(), format!("1/2 {closed} (soon)"), "whole".into()];
    assert_eq!(seen, Seen { requests: 2, signals, result: Ok("whole".into()) });

    let cut = "stream disconnected before completion: Transport error: network error: error decoding response body";
    let torn = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\nconnection: close\r\n\r\n";
    check(Answer::Bytes(torn.to_owned()), 3, true, cut).await;
    // What is cut behind the end is whole.
    let (seen, _) = run(vec![Answer::Bytes(format!("{torn}t:all\nstop\n"))], "{}").await;
    assert_eq!((seen.requests, seen.result), (1, Ok("all".into())));

    let m = "stream disconnected before completion: M";
    check(stream("e:server:M\n"), 3, true, m).await;
    check(stream("e:rate_limit:M\n"), 3, true, "rate limit exceeded: M").await;
    check(stream("e:quota:M\n"), 1, false, "Quota exceeded. Check your plan and billing details. (M)").await;
    check(stream("e:bad_request:M\n"), 1, false, m).await;
    let incomplete = "Incomplete response returned, reason: max_output_tokens";
    check(stream(&format!("e:incomplete:{incomplete}\n")), 1, false, incomplete).await;
}

#[tokio::test]
async fn silence() {
    let json = r#"{"request_max_retries": 0, "stream_max_retries": 1, "stream_idle_timeout_ms": 30}"#;
    let idle = "stream disconnected before completion: idle timeout waiting for SSE";
    let (seen, failure) = run(vec![Answer::Stall(format!("{STREAM}t:a\n")), Answer::Stall(String::new())], json).await;
    let signals = vec!["a".into(), "restart".into(), format!("1/1 {idle} (soon)")];
    assert_eq!(seen, Seen { requests: 2, signals, result: Err(idle.into()) });
    let hint = "Stub (m): idle timeout waiting for SSE. Nothing came for 30 ms; stream_idle_timeout_ms of the provider sets the bound.";
    assert_eq!(failure.map(|failure| failure.hint), Some(hint.to_owned()));
    // A server that keeps the connection open behind the end of a reply.
    let (seen, _) = run(vec![Answer::Stall(format!("{STREAM}t:a\nstop\n"))], json).await;
    assert_eq!(seen, Seen { requests: 1, signals: vec!["a".into()], result: Ok("a".into()) });
    // One that goes on for ever behind it.
    let (seen, _) = run(vec![Answer::Endless(format!("{STREAM}t:a\nstop\n"), "\n")], json).await;
    assert_eq!(seen, Seen { requests: 1, signals: vec!["a".into()], result: Ok("a".into()) });
}

#[tokio::test]
async fn answers_that_are_no_stream() {
    let place = "url: http://127.0.0.1:PORT/v1/responses";
    let page = refusal("200 OK", &["content-type: text/html; charset=utf-8"], "<html>");
    let message = format!(
        "unexpected answer: a web page instead of a stream of events; is base_url the address of the API?, {place}"
    );
    check(page, 1, false, &message).await;
    let json = |body: &str| refusal("200 OK", &["content-type: application/json"], body);
    let message = format!(
        "unexpected answer: one JSON object instead of a stream of events; the server does not stream on this wire_api, {place}"
    );
    check(json(r#"{"choices":[]}"#), 1, false, &message).await;
    let message = format!("unexpected answer: no credit, {place}");
    check(json(r#"{"error":{"message":"no credit"}}"#), 1, false, &message).await;
}

#[tokio::test]
async fn nobody_listens() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let mut signals = Vec::new();
    let refused = ask(&client(provider(port, TWO_RETRIES)), &[], |signal| signals.extend(shown(&signal))).await;
    let failure = refused.expect_err("a failure");
    let message = "Connection failed: error sending request: client error (Connect): tcp connect error: Connection refused (os error 111)";
    if cfg!(target_os = "linux") {
        assert_eq!(failure.message, message);
        assert_eq!(signals, vec![format!("1/2 {message} (soon)"), format!("2/2 {message} (soon)")]);
    }
    assert!(
        failure.hint.ends_with(&format!("Is the server at http://127.0.0.1:{port}/v1 running?")),
        "{}",
        failure.hint
    );
    let ollama = Provider { id: "ollama".into(), ..provider(port, r#"{"stream_max_retries": 0}"#) };
    let failure = ask(&client(ollama), &[], |_| ()).await.expect_err("a failure");
    let step = format!("Is Ollama running at http://127.0.0.1:{port}/v1? Start it with `ollama serve`.");
    assert!(failure.hint.ends_with(&step), "{}", failure.hint);
}

#[tokio::test]
async fn a_missing_key_makes_no_request() {
    let json = r#"{"env_key": "NO_SUCH_KEY", "env_key_instructions": "Get one at Y."}"#;
    let (seen, failure) = run(vec![stream("stop\n")], json).await;
    let message = "Missing environment variable: `NO_SUCH_KEY`. Get one at Y.";
    assert_eq!(seen, Seen { requests: 0, signals: Vec::new(), result: Err(message.into()) });
    let hint = failure.expect("a failure").hint;
    assert_eq!(hint, format!("Stub (m): {message} Set it: export NO_SUCH_KEY=<your key for 127.0.0.1>."));
}

/// What the server got: request line, headers in lower case and sorted, body.
fn parts(request: &[u8]) -> (String, Vec<String>, String) {
    assert!(request.is_ascii(), "{}", String::from_utf8_lossy(request));
    let text = String::from_utf8_lossy(request);
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole request");
    let mut lines = head.lines().map(str::to_owned);
    let first = lines.next().expect("a request line");
    let mut headers: Vec<String> = lines.filter(|line| !line.starts_with("host:")).collect();
    headers.sort();
    (first, headers, body.to_owned())
}

#[tokio::test]
async fn the_request_as_it_goes_out() {
    let server = Server::start(vec![stream("stop\n")]).await;
    let json = r#"{"experimental_bearer_token": "tok en", "http_headers": {"x-mine": "ü", "X-Both": "user"},
        "query_params": {"api-version": "1"}}"#;
    let headers = [("session-id", "s"), ("x-both", "harness"), ("x-meta", "{\"cwd\":\"/项\"}"), ("x-bad", "a\nb")];
    ask(&client(provider(server.port, json)), &headers, |_| ()).await.expect("a reply");
    let (line, headers, body) = parts(&server.requests()[0]);
    assert_eq!((line.as_str(), body.as_str()), ("POST /v1/responses?api-version=1 HTTP/1.1", "{\"a\":1}"));
    let version = env!("CARGO_PKG_VERSION");
    let expected = [
        "accept: text/event-stream",
        "authorization: Bearer tok en",
        "content-length: 7",
        "content-type: application/json",
        "session-id: s",
        &format!("user-agent: interpreter/{version}"),
        "x-both: user",
        "x-meta: {\"cwd\":\"/\\u9879\"}",
        "x-mine: %C3%BC",
    ];
    assert_eq!(headers, expected);
}

#[tokio::test]
async fn keys_go_where_the_wire_has_them() {
    let check = async |tweak: fn(&mut Provider), expected: &[&str]| {
        let server = Server::start(vec![stream("stop\n")]).await;
        let mut provider = provider(server.port, r#"{"experimental_bearer_token": "k"}"#);
        provider.auth = Auth::Key { key: "k".into(), from: "`K`".into(), style: None };
        tweak(&mut provider);
        ask(&client(provider), &[], |_| ()).await.expect("a reply");
        let (_, mut headers, _) = parts(&server.requests()[0]);
        let known = ["authorization", "x-api-key", "anthropic-version", "api-key"];
        headers.retain(|line| known.iter().any(|name| line.starts_with(name)));
        assert_eq!(headers, expected);
    };
    check(|_| (), &["authorization: Bearer k"]).await;
    check(|p| p.wire = WireId::Messages, &["anthropic-version: 2023-06-01", "x-api-key: k"]).await;
    let bearer = |p: &mut Provider| {
        p.wire = WireId::Messages;
        p.auth = Auth::Key { key: "k".into(), from: "`K`".into(), style: Some(KeyStyle::Bearer) };
    };
    check(bearer, &["anthropic-version: 2023-06-01", "authorization: Bearer k"]).await;
    // The user's own header wins, whatever its name.
    check(|p| p.headers = vec![("Authorization".into(), "Bearer own".into())], &["authorization: Bearer own"]).await;
}

#[tokio::test]
async fn no_key_is_ever_shown() {
    let body = r#"{"error":{"message":"bad key sk-secret-1 of header-secret and query-secret"}}"#;
    let server = Server::start(vec![refusal("401 Unauthorized", &[], body)]).await;
    let json = r#"{"experimental_bearer_token": "sk-secret-1", "http_headers": {"x-k": "header-secret"},
        "query_params": {"k": "query-secret"}}"#;
    let provider = provider(server.port, json);
    assert!(!format!("{provider:?}").contains("secret"));
    let failure = ask(&client(provider), &[], |_| ()).await.expect_err("a failure");
    let place = format!("http://127.0.0.1:{}/v1/responses", server.port);
    assert_eq!(
        failure.message,
        format!("unexpected status 401 Unauthorized: bad key *** of *** and ***, url: {place}")
    );
    assert_eq!(
        failure.hint,
        "Stub (m) answered 401 Unauthorized: bad key *** of *** and ***. The key comes from experimental_bearer_token: \
         check that it is valid for 127.0.0.1 and may use this model."
    );
    assert!(!format!("{failure:?}").contains("secret"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_refused_token_is_fetched_once_more() {
    let server = Server::start(vec![refusal("401 Unauthorized", &[], ""), stream("t:ok\nstop\n")]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let script = format!("echo x >>{0}/n; echo token-$(wc -l <{0}/n | tr -d ' ')", dir.path().display());
    let json = serde_json::json!({"auth": {"command": "/bin/sh", "args": ["-c", script], "timeout_ms": 20_000}});
    let client = client(provider(server.port, &json.to_string()));
    assert_eq!(ask(&client, &[], |_| ()).await.expect("a reply").text(), "ok");
    let keys: Vec<String> = server
        .requests()
        .iter()
        .filter_map(|request| parts(request).1.into_iter().find(|line| line.starts_with("authorization")))
        .collect();
    assert_eq!(keys, ["authorization: Bearer token-1", "authorization: Bearer token-2"]);
    // A token that is refused again is not fetched for ever.
    let server = Server::start(vec![refusal("401 Unauthorized", &[], "no")]).await;
    let client = self::client(provider(server.port, &json.to_string()));
    assert!(ask(&client, &[], |_| ()).await.is_err());
    assert_eq!(server.requests().len(), 2);
}

/// Dropping the future closes the connection: the server sees its end.
#[tokio::test]
async fn dropping_cancels() {
    let (first, seen) = tokio::sync::oneshot::channel();
    let first = Mutex::new(Some(first));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let ended = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.write_all(format!("{STREAM}t:a\n").as_bytes()).await.expect("open");
        let mut request = Vec::new();
        stream.read_to_end(&mut request).await
    });
    let asking = tokio::spawn(async move {
        let client = client(provider(port, "{}"));
        let on = |_: Signal<'_>| {
            if let Some(first) = first.lock().expect("not poisoned").take() {
                first.send(()).expect("a listener");
            }
        };
        ask(&client, &[], on).await.map(|_| ())
    });
    seen.await.expect("a delta");
    asking.abort();
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the end").expect("no panic").ok();
}
