//! Fetching a page: http and https only, from public addresses unless the user allows others, bounded in time, size and
//! redirects.
//!
//! A name is resolved once and the connection goes to the addresses that were checked, so that an answer which changes
//! between check and use gains nothing. Every redirect is checked as the first address was. Behind a proxy it is the proxy that
//! connects; names that only it can resolve are left to it.
mod address;
mod page;

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use protocol::{Failure, Outcome, Page, Refusal};
use reqwest::{Response, Url, header};

use crate::Scope;

/// From the first lookup to the last byte.
const TIME: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 10;
/// Nobody reads more than this, whatever is asked for.
const MAX_BYTES: u64 = 10 << 20;
const AGENT: &str = concat!("interpreter/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.1";

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NoPage {
    #[error("{0} is no address of a page: only http and https are fetched")]
    NoAddress(String),
    #[error("{0} holds a name and password; they are not sent")]
    Login(String),
    #[error(
        "{host} is on this machine or in a private network ({ip}); `tools.web_fetch.allow_private = true` allows that"
    )]
    Private { host: String, ip: IpAddr },
    #[error("{host} is not known: {why}")]
    Unknown { host: String, why: String },
    #[error("more than {MAX_REDIRECTS} redirects, the last to {0}")]
    Redirects(String),
    #[error("{url}: {why}")]
    Transport { url: String, why: String },
    #[error("{url} did not answer within {} seconds", TIME.as_secs())]
    Late { url: String },
    #[error("{url} is {mime}, which is no text")]
    Binary { url: String, mime: String },
}

/// `World::Fetch`.
pub(crate) async fn fetch(cx: &Scope, url: &str, max_bytes: u64, markdown: bool) -> Outcome {
    let job = tokio::time::timeout(TIME, page(cx, url, max_bytes.min(MAX_BYTES), markdown));
    let done = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Outcome::Interrupted { output: None },
        done = job => done.unwrap_or_else(|_| Err(NoPage::Late { url: url.to_owned() })),
    };
    match done {
        Ok(page) => Outcome::Fetched(page),
        Err(why @ NoPage::Private { .. }) => Outcome::Refused(Refusal::Rule(why.to_string())),
        Err(why) => Outcome::Failed(Failure::Other(why.to_string())),
    }
}

async fn page(cx: &Scope, url: &str, max_bytes: u64, markdown: bool) -> Result<Page, NoPage> {
    let mut url = checked(Url::parse(url.trim()).map_err(|_| NoPage::NoAddress(url.to_owned()))?)?;
    for _ in 0..=MAX_REDIRECTS {
        let response = get(cx, &url).await?;
        match target(&response, &url)? {
            Some(next) => url = next,
            None => return read(response, url, max_bytes, markdown).await,
        }
    }
    Err(NoPage::Redirects(url.to_string()))
}

fn checked(mut url: Url) -> Result<Url, NoPage> {
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(NoPage::NoAddress(url.to_string()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(NoPage::Login(url.host_str().unwrap_or_default().to_owned()));
    }
    url.set_fragment(None);
    Ok(url)
}

async fn get(cx: &Scope, url: &Url) -> Result<Response, NoPage> {
    let addresses = resolve(cx, url).await?;
    let transport = |why: String| NoPage::Transport { url: url.to_string(), why };
    let client = providers::page_client(url, &addresses).map_err(transport)?;
    let request = client
        .get(url.clone())
        .header(header::USER_AGENT, AGENT)
        .header(header::ACCEPT, ACCEPT)
        .header(header::ACCEPT_ENCODING, "gzip, identity;q=0.5");
    request.send().await.map_err(|error| transport(cause(&error)))
}

/// Where the name leads to, every address of it checked. Empty: only a proxy can tell.
async fn resolve(cx: &Scope, url: &Url) -> Result<Vec<SocketAddr>, NoPage> {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or(80);
    let found: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) => match tokio::net::lookup_host((host, port)).await {
            Ok(found) => found.collect(),
            Err(_) if behind_proxy(url) => Vec::new(),
            Err(error) => return Err(NoPage::Unknown { host: host.to_owned(), why: error.to_string() }),
        },
    };
    if !cx.private_pages
        && let Some(private) = found.iter().find(|found| address::is_private(found.ip()))
    {
        return Err(NoPage::Private { host: host.to_owned(), ip: private.ip() });
    }
    Ok(found)
}

fn behind_proxy(url: &Url) -> bool {
    let names = if url.scheme() == "https" { ["https_proxy", "all_proxy"] } else { ["http_proxy", "all_proxy"] };
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    names.iter().any(|name| set(name) || set(&name.to_ascii_uppercase()))
}

/// Where a redirect leads.
fn target(response: &Response, url: &Url) -> Result<Option<Url>, NoPage> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(header::LOCATION) else { return Ok(None) };
    let text = String::from_utf8_lossy(location.as_bytes());
    let next = url.join(&text).map_err(|_| NoPage::NoAddress(text.into_owned()))?;
    checked(next).map(Some)
}

async fn read(mut response: Response, url: Url, max_bytes: u64, markdown: bool) -> Result<Page, NoPage> {
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let field = |name| {
        let value = response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let (kind, encoding) = (field(header::CONTENT_TYPE), field(header::CONTENT_ENCODING));
    let status = response.status().as_u16();
    let transport = |why: String| NoPage::Transport { url: url.to_string(), why };
    let (mut bytes, mut truncated) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(|error| transport(cause(&error)))? {
        let room = limit - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            truncated = true;
            break;
        }
    }
    let unpacked = encoding.as_deref().is_some_and(|e| e.trim().eq_ignore_ascii_case("gzip"));
    let url = url.to_string();
    let name = url.clone();
    let text = tokio::task::spawn_blocking(move || {
        let (bytes, more) = if unpacked { page::unpack(&bytes, limit) } else { (bytes, false) };
        page::text(&bytes, kind.as_deref(), markdown).map(|(mime, text)| (mime, text, more))
    });
    match text.await {
        Ok(Ok((mime, text, more))) => Ok(Page { url, status, mime, text, truncated: truncated || more }),
        Ok(Err(mime)) => Err(NoPage::Binary { url, mime }),
        Err(error) => Err(NoPage::Transport { url: name, why: error.to_string() }),
    }
}

/// The innermost cause: it is the one that tells something.
fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests;
