//! Routes, certificates, and TLS against a server with a certificate that nobody knows (`test_cert.pem`, valid a hundred
//! years, for this machine only).
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
};

use pretty_assertions::assert_eq;
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use super::*;

const CERTIFICATE: &[u8] = include_bytes!("test_cert.pem");
const KEY: &[u8] = include_bytes!("test_key.pem");

/// Answers every request with an empty 204, over TLS.
fn tls_server() -> u16 {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a configuration");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(config.clone()).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            // Clients that do not trust it end the handshake.
            if stream.read(&mut [0; 4_096]).is_ok_and(|n| n > 0) {
                stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").expect("an open connection");
            }
        }
    });
    port
}

#[test]
fn routes() {
    let check = |url: &str, proxy: &str, tls: bool, proxied: bool| {
        let url = Url::parse(url).expect("an address");
        let env = |name: &str| (name == "HTTP_PROXY").then(|| proxy.to_owned());
        assert_eq!(route(&url, env), Route { tls, proxied }, "{url} {proxy}");
    };
    check("http://127.0.0.1:1/v1", "https://p", false, false);
    check("http://localhost/v1", "http://p", false, false);
    check("http://[::1]:1", "http://p", false, false);
    check("https://localhost/v1", "http://p", true, false);
    check("http://box/v1", "http://p", false, true);
    check("http://box/v1", "https://p", true, true);
    check("https://box/v1", "", true, true);
}

/// Both kinds of roots load: the system's (or the bundled ones without them), and none at all.
#[test]
fn clients_are_built_once_per_route() {
    let transport = Transport::default();
    for url in ["https://example.org", "http://127.0.0.1:1", "https://example.com", "http://127.0.0.1:2"] {
        transport.client(&Url::parse(url).expect("an address")).expect("a client");
    }
    assert_eq!(transport.clients.lock().expect("not poisoned").len(), 2);
    assert!(bundled().count() > 100);
}

#[tokio::test]
async fn certificates_of_the_user_are_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.pem");
    std::fs::write(&file, CERTIFICATE).expect("a file");
    let env = |name: &str| (name == "CODEX_CA_CERTIFICATE").then(|| file.clone().into_os_string());
    let own = own_certificates(env).expect("certificates");
    let client = build(Route { tls: true, proxied: false }, own, |builder| builder).expect("a client");
    let answer = client.get(format!("https://127.0.0.1:{}/", tls_server())).send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 204);
}

#[test]
fn unusable_certificate_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.pem");
    let check = |expected: &str| {
        let env = |name: &str| (name == "INTERPRETER_CA_CERTIFICATE").then(|| file.clone().into_os_string());
        let path = file.display();
        let message = format!("cannot read the certificates in {path} (set by INTERPRETER_CA_CERTIFICATE): {expected}");
        assert_eq!(own_certificates(env).map(|_| ()).map_err(|e| e.to_string()), Err(message));
    };
    if cfg!(unix) {
        check("No such file or directory (os error 2)");
    }
    std::fs::write(&file, "text").expect("a file");
    check("no PEM certificate in it");
}

/// Asks the Responses API at `https://127.0.0.1:port`; how often it was asked again, and the failure.
async fn refused(port: u16) -> (usize, crate::AskError) {
    let json = format!(r#"{{"base_url": "https://127.0.0.1:{port}/v1", "name": "Stub"}}"#);
    let config: crate::ProviderConfig = serde_json::from_str(&json).expect("a table");
    let registry = crate::Registry::new([("stub".to_owned(), config)].into(), crate::Sources::default());
    let client = crate::Client::new(registry.provider("stub").expect("a provider"));
    let fit = client.provider().fit("m");
    let wire = wires::wire(protocol::WireId::Responses);
    let request = crate::Request { wire, fit: &fit, body: Vec::new(), headers: Vec::new() };
    let mut signals = 0;
    let error = client.ask(&request, |_| signals += 1).await.expect_err("a failure");
    (signals, error)
}

/// An unknown authority stays unknown: one attempt, and a hint at the variable.
#[tokio::test]
async fn unknown_certificates_are_refused_at_once() {
    let (signals, error) = refused(tls_server()).await;
    assert!(error.message.contains("invalid peer certificate: UnknownIssuer"), "{}", error.message);
    let step = "If a proxy or a private authority signs for 127.0.0.1, name its certificate (PEM) in INTERPRETER_CA_CERTIFICATE.";
    assert!(error.hint.ends_with(step), "{}", error.hint);
    assert_eq!(signals, 0);
}

#[tokio::test]
async fn servers_without_tls_are_refused_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("an open connection");
            stream.read_to_end(&mut Vec::new()).ok();
        }
    });
    let (signals, error) = refused(port).await;
    let step =
        format!("Does the server at https://127.0.0.1:{port}/v1 speak TLS? If not, base_url starts with http://.");
    assert!(error.hint.ends_with(&step), "{}", error.hint);
    assert_eq!(signals, 0);
}
