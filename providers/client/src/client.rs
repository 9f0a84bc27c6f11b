//! Asks a provider: one request, its retries, its stream of deltas, and the reply that they make.
use std::{error::Error as _, future::Future, io, pin::Pin, time::Duration};

use bytes::Bytes;
use protocol::{Delta, ErrorKind, Fit, Millis, ProviderError, Reply};
use reqwest::{Response, StatusCode, Url, header};
use tokio::time::{Instant, timeout};
use wires::{Collector, Wire};

use crate::{
    AskError, Auth, KeyStyle, Provider, Secret,
    body::Pieces,
    failure::{Stage, Trouble, Why},
    headers::headers,
    retry::{self, Again},
    transport::{Transport, chain},
};

/// What is asked. The body's pieces are shared with the caller and sent as they are.
pub struct Request<'a> {
    pub wire: &'a dyn Wire,
    pub fit: &'a Fit,
    pub body: Vec<Bytes>,
    /// Of program and harness (`session-id`, `user-agent`, `anthropic-beta`). The user's own headers win over them.
    pub headers: Vec<(String, String)>,
}

/// What happens while a request runs.
#[derive(Debug, PartialEq)]
pub enum Signal<'a> {
    /// What one read of the connection brought, in order. Errors are not among them.
    Deltas(&'a [Delta]),
    /// The attempt has failed and is made again: what its deltas made is void.
    Restart,
    /// Attempt `k` of `n` after `wait`; for the line `Reconnecting... k/n (cause)`.
    Retrying { k: u32, n: u32, cause: String, wait: Millis },
}

/// A wait, replaceable so that tests take no time.
pub type Sleep = fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Speaks with one provider. Dropping the future of `ask` closes the connection.
pub struct Client {
    provider: Provider,
    transport: Transport,
    sleep: Sleep,
}

/// Some servers keep the connection open behind the end of a reply; what comes later than this is not waited for.
const AFTER_STOP: Duration = Duration::from_secs(2);
/// For a count of tokens.
const COUNT: Duration = Duration::from_secs(20);
/// Of a refusal's body.
const MOST_REFUSAL: usize = 1 << 20;

impl Client {
    pub fn new(provider: Provider) -> Client {
        Client { provider, transport: Transport::default(), sleep: |wait| Box::pin(tokio::time::sleep(wait)) }
    }

    /// Waits between attempts by `sleep` instead of by the clock.
    pub fn with_sleep(self, sleep: Sleep) -> Client {
        Client { sleep, ..self }
    }

    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Asks until there is a whole reply, or until asking again makes no sense. Calls may be run once this returns them,
    /// and not before: those of a failed attempt are void.
    pub async fn ask(&self, request: &Request<'_>, mut on: impl FnMut(Signal<'_>)) -> Result<Reply, AskError> {
        let url = self.provider.endpoint(request.wire.path());
        let n = self.provider.retries.stream;
        let mut k = 0;
        loop {
            let tried = match &url {
                Ok(url) => self.attempt(url, request, &mut on).await,
                Err(e) => Err(Trouble::new(Stage::Setup, ProviderError::new(ErrorKind::BadRequest, e.to_string()))),
            };
            let trouble = match tried {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            let again = match trouble.stage {
                Stage::Setup | Stage::Connect(Why::Certificate | Why::Tls) => Again::No,
                _ => retry::stream_retry(&trouble.error),
            };
            let streamed = trouble.streamed;
            let failure = trouble.tell(&self.provider, &request.fit.source.model, url.as_ref().ok());
            if k == n {
                return Err(failure);
            }
            k += 1;
            let wait = match again {
                Again::No => return Err(failure),
                Again::Soon => retry::backoff(k),
                Again::After(wait) => wait,
            };
            if streamed {
                on(Signal::Restart);
            }
            let millis = Millis::try_from(wait.as_millis()).unwrap_or(Millis::MAX);
            on(Signal::Retrying { k, n, cause: failure.message, wait: millis });
            (self.sleep)(wait).await;
        }
    }

    /// One stream, from the request to its end.
    async fn attempt(
        &self,
        url: &Url,
        request: &Request<'_>,
        on: &mut impl FnMut(Signal<'_>),
    ) -> Result<Reply, Trouble> {
        let mut response = self.send(url, request).await?;
        let mut decoder = request.wire.decoder(request.fit);
        let mut reply = Collector::new(request.fit.source.clone(), retry::draw_id());
        let mut deltas = Vec::new();
        let mut streamed = false;
        let mut last_call: Option<Instant> = None;
        loop {
            let stopped = reply.is_over();
            let patience = match stopped {
                // In all: a server may go on for ever behind the end.
                true => {
                    let patience = AFTER_STOP.min(self.provider.idle_timeout);
                    last_call.get_or_insert_with(|| Instant::now() + patience).duration_since(Instant::now())
                }
                false => self.provider.idle_timeout,
            };
            let (more, mut broken) = match timeout(patience, response.chunk()).await {
                Ok(Ok(Some(_))) if stopped && patience.is_zero() => (false, None),
                Ok(Ok(Some(bytes))) => {
                    decoder.push(&bytes, &mut deltas);
                    (true, None)
                }
                Ok(Ok(None)) => (false, None),
                // Behind the end of a reply nothing can be lost.
                Ok(Err(_)) | Err(_) if stopped => (false, None),
                Ok(Err(_)) => (false, Some(ProviderError::new(ErrorKind::Transport, CUT))),
                Err(_) => (false, Some(ProviderError::new(ErrorKind::Idle, IDLE))),
            };
            if !more && broken.is_none() {
                decoder.end(&mut deltas);
            }
            if let Some(at) = deltas.iter().position(|delta| matches!(delta, Delta::Error(_)))
                && let Some(Delta::Error(error)) = deltas.drain(at..).next()
            {
                broken = Some(error);
            }
            if !deltas.is_empty() {
                on(Signal::Deltas(&deltas));
                streamed = true;
                deltas.iter().for_each(|delta| reply.feed(delta));
                deltas.clear();
            }
            if let Some(error) = broken {
                return Err(Trouble { streamed, ..Trouble::new(Stage::Stream, error) });
            }
            if !more {
                return Ok(reply.finish());
            }
        }
    }

    /// Sends until the answer is a stream: silent retries, and a fresh token where a command's was refused.
    async fn send(&self, url: &Url, request: &Request<'_>) -> Result<Response, Trouble> {
        let mut renewed = false;
        let mut k = 0;
        loop {
            let token = self.token().await?;
            let mut trouble = match self.send_once(url, request, token.as_ref()).await {
                Ok(response) => return Ok(response),
                Err(trouble) => trouble,
            };
            if let Some((key, _)) = &token {
                trouble.mask(key);
            }
            if let (Auth::Command(command), Some((token, _)), Some(401), false) =
                (&self.provider.auth, &token, trouble.error.status, renewed)
            {
                renewed = true;
                command.refused(token).await;
                continue;
            }
            let again = match trouble.stage {
                Stage::Send | Stage::Connect(Why::Other) => Again::Soon,
                Stage::Answer => retry::request_retry(&trouble.error),
                _ => Again::No,
            };
            if k == self.provider.retries.request {
                return Err(trouble);
            }
            k += 1;
            match again {
                Again::No => return Err(trouble),
                Again::Soon => (self.sleep)(retry::backoff(k)).await,
                Again::After(wait) => (self.sleep)(wait).await,
            }
        }
    }

    async fn token(&self) -> Result<Option<(Secret, Option<KeyStyle>)>, Trouble> {
        let fail = |message: String| Trouble::new(Stage::Setup, ProviderError::new(ErrorKind::Auth, message));
        match &self.provider.auth {
            Auth::None => Ok(None),
            Auth::Key { key, style, .. } => Ok(Some((key.clone(), *style))),
            Auth::Command(command) => match command.token().await {
                Ok(token) => Ok(Some((token, None))),
                Err(e) => Err(fail(e.to_string())),
            },
            Auth::Missing { variable, instructions } => {
                let more = instructions.as_ref().map(|text| format!(" {text}")).unwrap_or_default();
                Err(fail(format!("Missing environment variable: `{variable}`.{more}")))
            }
        }
    }

    async fn send_once(
        &self,
        url: &Url,
        request: &Request<'_>,
        token: Option<&(Secret, Option<KeyStyle>)>,
    ) -> Result<Response, Trouble> {
        let setup = |kind, message: String| Trouble::new(Stage::Setup, ProviderError::new(kind, message));
        let key = token.map(|(key, style)| (key, *style));
        let headers = headers(&self.provider, &request.headers, key).ok_or_else(|| {
            setup(
                ErrorKind::Auth,
                format!("The key for {} has characters that no header can carry.", self.provider.name),
            )
        })?;
        let client = self.transport.client(url).map_err(|e| setup(ErrorKind::Transport, e.to_string()))?;
        // Clones handles, not bytes.
        let body = reqwest::Body::wrap(Pieces::new(request.body.clone()));
        let sending = client.post(url.clone()).headers(headers).body(body).send();
        let response = match timeout(self.provider.idle_timeout, sending).await {
            Err(_) => return Err(Trouble::new(Stage::Stream, ProviderError::new(ErrorKind::Idle, IDLE))),
            Ok(Err(e)) => return Err(not_sent(e)),
            Ok(Ok(response)) => response,
        };
        if response.status() == StatusCode::OK {
            match content_type(&response).as_str() {
                "application/json" | "text/html" => Err(self.no_stream(request, response).await),
                _ => Ok(response),
            }
        } else {
            Err(self.refused(request, response).await)
        }
    }

    /// Asks the server how many tokens a request has: `path` below the base URL, a body of its own. None: it did not say.
    /// Nothing depends on the answer so much that it is asked twice.
    pub async fn count(&self, path: &str, own: &[(String, String)], body: Bytes) -> Option<u64> {
        let url = self.provider.endpoint(path).ok()?;
        let token = self.token().await.ok()?;
        let headers = headers(&self.provider, own, token.as_ref().map(|(key, style)| (key, *style)))?;
        let sending = self.transport.client(&url).ok()?.post(url).headers(headers).body(body).send();
        let response = timeout(COUNT, sending).await.ok()?.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let answer: serde_json::Value = serde_json::from_slice(&self.rest(response).await).ok()?;
        answer.get("input_tokens")?.as_u64()
    }

    async fn refused(&self, request: &Request<'_>, response: Response) -> Trouble {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let plain: Vec<(String, String)> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = self.rest(response).await;
        let mut error = request.wire.refusal(status, &plain, &body);
        error.status = Some(status);
        if let Some(delay) = retry::date_delay(&headers, jiff::Timestamp::now()) {
            error.retry_after = Some(delay);
        }
        if error.body.is_none() && !body.is_empty() {
            error.body = Some(String::from_utf8_lossy(&body).into_owned());
        }
        if let (300..400, Some(location)) = (status, location) {
            error.kind = ErrorKind::NotFound;
            error.message = format!("redirects to {location}; base_url should name that address");
        }
        Trouble::new(Stage::Answer, error)
    }

    /// 200 and yet no stream: an error as a body of its own, a whole reply, or a web page.
    async fn no_stream(&self, request: &Request<'_>, response: Response) -> Trouble {
        if content_type(&response) == "text/html" {
            let what = "a web page instead of a stream of events; is base_url the address of the API?";
            return Trouble::new(Stage::Answer, ProviderError::new(ErrorKind::NotFound, what));
        }
        let body = self.rest(response).await;
        let has_error = serde_json::from_slice::<serde_json::Value>(&body).is_ok_and(|json| {
            let json = json.get(0).unwrap_or(&json);
            json.get("error").is_some_and(|error| !error.is_null()) || json.get("type").is_some_and(|t| t == "error")
        });
        let mut error = if has_error {
            request.wire.refusal(StatusCode::OK.as_u16(), &[], &body)
        } else {
            let what = "one JSON object instead of a stream of events; the server does not stream on this wire_api";
            ProviderError::new(ErrorKind::BadRequest, what)
        };
        error.status = error.status.filter(|&status| status != StatusCode::OK.as_u16());
        Trouble::new(Stage::Answer, error)
    }

    /// The body as far as it comes; a broken one still tells something.
    async fn rest(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Ok(Some(bytes))) = timeout(self.provider.idle_timeout, response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() > MOST_REFUSAL {
                body.truncate(MOST_REFUSAL);
                break;
            }
        }
        body
    }
}

/// Upstream's words.
const CUT: &str = "Transport error: network error: error decoding response body";
const IDLE: &str = "idle timeout waiting for SSE";

fn content_type(response: &Response) -> String {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Why no answer came.
fn not_sent(error: reqwest::Error) -> Trouble {
    // The address may hold a key.
    let error = error.without_url();
    let stage = if error.is_connect() { Stage::Connect(why(&error)) } else { Stage::Send };
    Trouble::new(stage, ProviderError::new(ErrorKind::Transport, chain(&error)))
}

fn why(error: &reqwest::Error) -> Why {
    let mut cause = error.source();
    while let Some(error) = cause {
        match error.downcast_ref() {
            Some(rustls::Error::InvalidCertificate(_)) => return Why::Certificate,
            Some(_) => return Why::Tls,
            None => {}
        }
        if error.to_string() == "dns error" {
            return Why::Name;
        }
        let io: Option<&io::Error> = error.downcast_ref();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return Why::Refused;
        }
        // An `io::Error` gives the source of what it wraps, and skips the wrapped one itself.
        let wrapped = io.and_then(io::Error::get_ref).map(|inner| inner as &(dyn std::error::Error + 'static));
        cause = wrapped.or_else(|| error.source());
    }
    Why::Other
}
