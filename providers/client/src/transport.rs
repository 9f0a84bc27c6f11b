//! The HTTP client beneath: built when first needed, and only as much of it as the address needs.
//!
//! Plain `http://` loads no certificates (they cost more than a whole short answer). `https://` trusts what the system
//! trusts, because that is where companies put their own authority; `SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured in its
//! place. Containers without any certificates fall back to Mozilla's list, as Node does.
use std::{
    ffi::OsString,
    net::SocketAddr,
    path::PathBuf,
    sync::{Mutex, Once, PoisonError},
    time::Duration,
};

use reqwest::{Certificate, Client, ClientBuilder, Url};

use crate::provider::is_loopback;

/// Files with certificates (PEM) to trust beside the system's; the first that is set counts.
pub(crate) const CA_VARIABLES: [&str; 3] =
    ["INTERPRETER_CA_CERTIFICATE", "CODEX_CA_CERTIFICATE", "NODE_EXTRA_CA_CERTS"];
/// For one connection, TLS included.
const CONNECT: Duration = Duration::from_secs(30);
/// Long silences are normal here; without it a router may forget the connection.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Clients by route. Connections are kept and used again.
#[derive(Default)]
pub(crate) struct Transport {
    clients: Mutex<Vec<(Route, Client)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Route {
    tls: bool,
    /// As `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    proxied: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("cannot read the certificates in {path} (set by {variable}): {why}")]
    Certificates { variable: &'static str, path: PathBuf, why: String },
    #[error("cannot set up HTTP: {0}")]
    Setup(String),
}

impl Transport {
    /// The client for this address.
    pub(crate) fn client(&self, url: &Url) -> Result<Client, TransportError> {
        let route = route(url, |name| std::env::var(name).ok());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == route) {
            return Ok(client.clone());
        }
        let client = build(route, own(route)?, |builder| builder)?;
        clients.push((route, client.clone()));
        Ok(client)
    }
}

/// A client for one page of the web: it trusts what servers of models are trusted by, follows no redirect, and connects to
/// `pinned` where there is any (a proxy resolves names itself).
pub fn page_client(url: &Url, pinned: &[SocketAddr]) -> Result<Client, String> {
    let route = route(url, |name| std::env::var(name).ok());
    let pin = |builder: ClientBuilder| match url.host_str() {
        Some(host) if !pinned.is_empty() => builder.resolve_to_addrs(host, pinned),
        _ => builder,
    };
    own(route).and_then(|own| build(route, own, pin)).map_err(|error| error.to_string())
}

/// This machine is reached without a proxy, always: no proxy elsewhere could reach it.
fn route(url: &Url, env: impl Fn(&str) -> Option<String>) -> Route {
    let proxied = !url.host_str().is_some_and(is_loopback);
    // Plain requests may go through a proxy that is itself spoken to over TLS.
    let proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
    let by_tls = || proxies.iter().any(|name| env(name).is_some_and(|proxy| proxy.starts_with("https://")));
    Route { tls: url.scheme() == "https" || (proxied && by_tls()), proxied }
}

fn own(route: Route) -> Result<Vec<Certificate>, TransportError> {
    if route.tls { own_certificates(|name| std::env::var_os(name)) } else { Ok(Vec::new()) }
}

fn build(
    route: Route,
    own: Vec<Certificate>,
    more: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, TransportError> {
    static RING: Once = Once::new();
    // An error means that the process has chosen one already.
    RING.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let base = || {
        // A redirected POST would lose its body or carry the key elsewhere.
        let builder = Client::builder().http1_only().redirect(reqwest::redirect::Policy::none()).referer(false);
        let builder = more(builder.connect_timeout(CONNECT).tcp_keepalive(KEEPALIVE));
        if route.proxied { builder } else { builder.no_proxy() }
    };
    let finish = |builder: ClientBuilder| builder.build().map_err(|e| TransportError::Setup(chain(&e)));
    if !route.tls {
        return finish(base().tls_certs_only([]));
    }
    match finish(base().tls_certs_merge(own.clone())) {
        Ok(client) => Ok(client),
        // The system has no certificates at all.
        Err(_) => finish(base().tls_certs_only(bundled().chain(own))),
    }
}

fn own_certificates(env: impl Fn(&str) -> Option<OsString>) -> Result<Vec<Certificate>, TransportError> {
    let set = |name: &&'static str| {
        let path = env(name).filter(|path| !path.is_empty())?;
        Some((*name, PathBuf::from(path)))
    };
    let Some((variable, path)) = CA_VARIABLES.iter().find_map(set) else { return Ok(Vec::new()) };
    let fail = |why: String| TransportError::Certificates { variable, path: path.clone(), why };
    let pem = std::fs::read(&path).map_err(|e| fail(e.to_string()))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|e| fail(chain(&e)))?;
    if found.is_empty() { Err(fail("no PEM certificate in it".into())) } else { Ok(found) }
}

fn bundled() -> impl Iterator<Item = Certificate> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|der| Certificate::from_der(der).ok())
}

/// An error and its causes, the last ones being those that tell something.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests;
