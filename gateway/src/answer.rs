//! One request and its answer: read on the client's wire, asked on the provider's, answered on the client's.
use std::{cell::RefCell, rc::Rc, time::Duration};

use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use protocol::{Delta, ErrorKind, OwnedPrompt, ProviderError, Source, WireId};
use providers::{AskError, Signal};
use wires::{
    Asked, Collector,
    serve::{self, Manner, Outgoing},
};

use crate::{
    access::Access,
    models,
    payload::{Payload, Pipe, Stream},
    routes::{Routes, Target},
};

/// Bytes of a request. Anthropic takes 32 MB, OpenAI 50.
const MOST_BODY: usize = 64 << 20;
/// For the whole of a request to arrive.
const ARRIVAL: Duration = Duration::from_secs(300);

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Path {
    Ask(WireId),
    Count,
    Models,
    Model(String),
    Root,
}

impl Path {
    /// With or without `/v1`, as base URLs are written.
    fn of(path: &str) -> Option<Path> {
        let mut path = path.trim_end_matches('/');
        while let Some(rest) = path.strip_prefix("/v1") {
            path = rest;
        }
        Some(match path {
            "" => Path::Root,
            "/responses" => Path::Ask(WireId::Responses),
            "/chat/completions" => Path::Ask(WireId::Chat),
            "/messages" => Path::Ask(WireId::Messages),
            "/messages/count_tokens" => Path::Count,
            "/models" => Path::Models,
            _ => Path::Model(path.strip_prefix("/models/")?.to_owned()),
        })
    }

    /// Whose errors the client knows.
    fn wire(&self, headers: &HeaderMap) -> WireId {
        match self {
            Path::Ask(wire) => *wire,
            Path::Count => WireId::Messages,
            _ if headers.contains_key("anthropic-version") => WireId::Messages,
            _ => WireId::Chat,
        }
    }
}

pub(crate) async fn answer(request: Request<Incoming>, access: &Access, routes: &Routes) -> Response<Payload> {
    let path = Path::of(request.uri().path());
    let wire = path.as_ref().map_or(WireId::Chat, |path| path.wire(request.headers()));
    let done = match access.check(request.headers()) {
        Ok(()) => match path {
            Some(path) => at(path, request, routes).await,
            None => Err(failed(
                404,
                ErrorKind::NotFound,
                "There is nothing at this address; the gateway serves /v1/responses, /v1/chat/completions, /v1/messages, /v1/messages/count_tokens and /v1/models.",
            )),
        },
        Err(error) => Err(error),
    };
    done.unwrap_or_else(|error| refuse(wire, &error))
}

async fn at(path: Path, request: Request<Incoming>, routes: &Routes) -> Result<Response<Payload>, ProviderError> {
    let post = request.method() == Method::POST;
    match path {
        Path::Ask(wire) if post => {
            let headers = request.headers().clone();
            let body = arrived(request).await?;
            ask(wire, &headers, &body, routes).await
        }
        Path::Count if post => {
            let headers = request.headers().clone();
            let body = arrived(request).await?;
            count(&headers, &body, routes).await
        }
        Path::Ask(_) | Path::Count => Err(failed(405, ErrorKind::BadRequest, "This address takes POST.")),
        _ if post => Err(failed(405, ErrorKind::BadRequest, "This address takes GET.")),
        Path::Models => Ok(json(StatusCode::OK, models::list(routes).to_string())),
        Path::Model(id) => match models::one(routes, &id) {
            Some(model) => Ok(json(StatusCode::OK, model.to_string())),
            None => Err(failed(404, ErrorKind::NotFound, "There is no such model.")),
        },
        Path::Root => Ok(json(StatusCode::OK, serde_json::json!({ "object": "gateway" }).to_string())),
    }
}

async fn arrived(request: Request<Incoming>) -> Result<Bytes, ProviderError> {
    let encoding = request.headers().get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        return Err(failed(415, ErrorKind::BadRequest, "The gateway takes no compressed requests."));
    }
    let too_long = || {
        let words = format!("The request is longer than {} MiB, the most that is taken.", MOST_BODY >> 20);
        failed(413, ErrorKind::BadRequest, &words)
    };
    // What the head says: it need not arrive first.
    if request.body().size_hint().lower() > MOST_BODY as u64 {
        return Err(too_long());
    }
    let body = Limited::new(request.into_body(), MOST_BODY).collect();
    match tokio::time::timeout(ARRIVAL, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(why)) if why.is::<http_body_util::LengthLimitError>() => Err(too_long()),
        Ok(Err(why)) => Err(failed(400, ErrorKind::BadRequest, &format!("The request broke off: {why}"))),
        Err(_) => Err(failed(408, ErrorKind::BadRequest, "The request did not arrive in time.")),
    }
}

/// A request in the provider's terms.
fn prepared(wire: WireId, body: &[u8], routes: &Routes) -> Result<(Rc<Target>, Asked), ProviderError> {
    let mut asked = wires::wire(wire).parse_request(body)?;
    let target = routes.find(&asked.model)?;
    let to = target.fit.source.wire;
    if let Some(error) = serve::unsupported(&asked.prompt, wire, to) {
        return Err(error);
    }
    serve::unpack(&mut asked.prompt, &target.fit);
    let meant = asked.model == target.model.slug || asked.model.ends_with(&format!("/{}", target.model.slug));
    serve::translate(&mut asked.prompt, wire, to, &target.model, meant);
    if !target.fit.caps.server_tools {
        // Codex tells OpenAI who and where it is.
        asked.prompt.tune.extras.retain(|(_, name, _)| name != "client_metadata");
    }
    Ok((target, asked))
}

fn encoded(prompt: &OwnedPrompt, target: &Target, fit: &protocol::Fit) -> Vec<Bytes> {
    let frozen: Vec<Bytes> = prompt.said.iter().map(|entry| target.wire.freeze(entry, fit).into()).collect();
    wires::assemble(target.wire, &prompt.borrow(), &frozen, fit)
}

/// Headers of the client that belong to what it asks. Its keys are its own and stay here.
fn passed_on(headers: &HeaderMap, wire: WireId, target: &Target) -> Vec<(String, String)> {
    const BETA: &str = "anthropic-beta";
    let own = wire == WireId::Messages && target.fit.source.wire == WireId::Messages;
    let values = headers.get_all(BETA).iter().filter(|_| own).filter_map(|value| value.to_str().ok());
    let joined = values.collect::<Vec<_>>().join(",");
    if joined.is_empty() { Vec::new() } else { vec![(BETA.to_owned(), joined)] }
}

async fn ask(
    wire: WireId,
    headers: &HeaderMap,
    body: &[u8],
    routes: &Routes,
) -> Result<Response<Payload>, ProviderError> {
    let (target, asked) = prepared(wire, body, routes)?;
    let headers = passed_on(headers, wire, &target);
    let body = encoded(&asked.prompt, &target, &target.fit);
    let own = uuid::Uuid::new_v4().simple().to_string()[..24].to_owned();
    let mut outgoing = Outgoing::new(wire, &asked.prompt, &target.fit, own.clone());
    let created = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |it| it.as_secs());
    let manner = Manner { model: &asked.model, created, usage: asked.usage };
    if !asked.stream {
        // As the client would have collected it.
        let source = Source { provider: String::new(), wire, model: asked.model.clone() };
        let (mut reply, mut passed) = (Collector::new(source, own), Vec::new());
        request(&target, body, headers, |delta| {
            outgoing.pass(delta, &mut passed);
            passed.drain(..).for_each(|delta| reply.feed(&delta));
        })
        .await?;
        let bytes = serve::whole(wire, &reply.finish(), &manner);
        return Ok(json(StatusCode::OK, bytes));
    }
    let pipe = Rc::new(RefCell::new(Pipe::new(outgoing, serve::encoder(wire, &manner))));
    let filled = pipe.clone();
    let mut stream =
        Stream::new(
            pipe,
            async move { request(&target, body, headers, |delta| filled.borrow_mut().push(delta)).await },
        );
    match stream.begun().await {
        Ok(()) => {}
        // Codex makes room for more when a stream says so, and does not when a status does.
        Err(error) if error.kind == ErrorKind::ContextLength && wire == WireId::Responses => stream.fail(&error),
        Err(error) => return Err(error),
    }
    let mut response = Response::new(Payload::Stream(stream));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Asks the provider; `on` gets each delta as it comes.
async fn request(
    target: &Target,
    body: Vec<Bytes>,
    headers: Vec<(String, String)>,
    mut on: impl FnMut(&Delta),
) -> Result<(), ProviderError> {
    let request = providers::Request { wire: target.wire, fit: &target.fit, body, headers };
    let mut stopped = false;
    let asked = target.client.ask(&request, |signal| {
        if let Signal::Deltas(deltas) = signal {
            stopped |= deltas.iter().any(|delta| matches!(delta, Delta::Stop(_)));
            deltas.iter().for_each(&mut on);
        }
    });
    let outcome = asked.await;
    // An answer that hit its limit is one; Responses calls it a failure as well.
    if stopped { Ok(()) } else { outcome.map(drop).map_err(told) }
}

/// The provider's own words where it answered; else, and where a key is the matter, ours, which name the next step.
fn told(failure: AskError) -> ProviderError {
    let own = failure.error.status.is_some() && failure.error.kind != ErrorKind::Auth;
    let message = if own { failure.error.message.clone() } else { failure.hint };
    ProviderError { message, body: None, ..failure.error }
}

/// By the provider where it counts; else an estimate.
async fn count(headers: &HeaderMap, body: &[u8], routes: &Routes) -> Result<Response<Payload>, ProviderError> {
    let (target, mut asked) = prepared(WireId::Messages, body, routes)?;
    let counted = match target.fit.caps.counts_tokens && target.fit.source.wire == WireId::Messages {
        true => {
            // What is counted, without what an answer would need.
            let mut fit = target.fit.clone();
            let unknown = ["stream", "max_tokens", "temperature", "top_p", "output_config"];
            fit.quirks.drop.extend(unknown.map(str::to_owned));
            asked.prompt.tune.extras.retain(|(_, name, _)| matches!(name.as_str(), "tool_choice" | "thinking"));
            let body = encoded(&asked.prompt, &target, &fit).concat();
            let headers = passed_on(headers, WireId::Messages, &target);
            target.client.count(&format!("{}/count_tokens", target.wire.path()), &headers, body.into()).await
        }
        false => None,
    };
    let tokens = counted.unwrap_or_else(|| serve::estimate(&asked.prompt));
    Ok(json(StatusCode::OK, serde_json::json!({ "input_tokens": tokens }).to_string()))
}

fn failed(status: u16, kind: ErrorKind, words: &str) -> ProviderError {
    ProviderError { status: Some(status), ..ProviderError::new(kind, words) }
}

fn refuse(wire: WireId, error: &ProviderError) -> Response<Payload> {
    let (status, body) = serve::refusal(wire, error);
    let mut response = json(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), body);
    if let Some(wait) = error.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.div_ceil(1_000)));
    }
    response
}

fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Payload> {
    let mut response = Response::new(Payload::Whole(Some(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn addresses() {
        let check = |path: &str, expected: Option<Path>| assert_eq!(Path::of(path), expected, "{path}");
        check("/v1/responses", Some(Path::Ask(WireId::Responses)));
        check("/responses/", Some(Path::Ask(WireId::Responses)));
        check("/v1/chat/completions", Some(Path::Ask(WireId::Chat)));
        check("/v1/v1/messages", Some(Path::Ask(WireId::Messages)));
        check("/v1/messages/count_tokens", Some(Path::Count));
        check("/v1/models", Some(Path::Models));
        check("/v1/models/a/b", Some(Path::Model("a/b".into())));
        check("/", Some(Path::Root));
        check("/v1/embeddings", None);
    }
}
