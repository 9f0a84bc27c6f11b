//! Who may ask. Beyond this machine: whoever shows the token. On it: every program, but no web page, since a page that a
//! browser shows could spend the user's money otherwise.
use std::net::{IpAddr, SocketAddr};

use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, HOST, ORIGIN},
};
use protocol::{ErrorKind, ProviderError};
use providers::Secret;

pub(crate) enum Access {
    /// Programs of this machine.
    Local,
    Token(Secret),
}

impl Access {
    /// `token_env`: the name of a variable. A token that is set counts on this machine as well.
    pub(crate) fn new(
        listen: SocketAddr,
        token_env: Option<&str>,
        env: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Access, String> {
        match token_env {
            Some(name) => match env(name).filter(|token| !token.trim().is_empty()) {
                Some(token) => Ok(Access::Token(Secret::new(token.trim()))),
                None => Err(format!("Error: --token-env {name}: the variable is not set, or empty.")),
            },
            None if listen.ip().is_loopback() => Ok(Access::Local),
            None => Err(format!(
                "Error: {listen} can be reached from other machines: whoever can, would use your keys. Set a token and name its \
                 variable with --token-env, or listen on 127.0.0.1."
            )),
        }
    }

    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ProviderError> {
        let refuse = |status, words: &str| {
            Err(ProviderError { status: Some(status), ..ProviderError::new(ErrorKind::Auth, words) })
        };
        let text = |name| headers.get(name).and_then(|value: &hyper::header::HeaderValue| value.to_str().ok());
        match self {
            Access::Token(token) => {
                let bearer = text(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
                let shown = [bearer, text("x-api-key")];
                match shown.into_iter().flatten().any(|shown| same(shown.trim(), token.expose())) {
                    true => Ok(()),
                    false => refuse(401, "The gateway wants its own token, as bearer token or x-api-key."),
                }
            }
            Access::Local => {
                // A page of another site whose name leads here, and one that posts from elsewhere.
                let named = text(HOST.as_str()).is_some_and(|host| !is_local(host));
                let posted = headers.contains_key(ORIGIN)
                    && !text(ORIGIN.as_str())
                        .and_then(|origin| origin.split_once("://"))
                        .is_some_and(|(_, host)| is_local(host));
                match named || posted {
                    true => refuse(403, "The gateway answers no web pages of other sites; with --token-env it does."),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Takes as long for a near miss as for a far one.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |so_far, (a, b)| so_far | (a ^ b));
    a.len() == b.len() && differ == 0
}

/// `localhost:1234`, `127.0.0.1`, `[::1]:80`.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let by_name = name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost");
    by_name || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use pretty_assertions::assert_eq;

    use super::*;

    fn listen(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    #[track_caller]
    fn check(access: &Access, headers: &[(&'static str, &'static str)], expected: Option<u16>) {
        let map = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let refused = access.check(&map.collect()).err().and_then(|error| error.status);
        assert_eq!(refused, expected, "{headers:?}");
    }

    #[test]
    fn other_machines_need_a_token() {
        let new = |address: &str, name: Option<&str>, value: Option<&str>| {
            Access::new(listen(address), name, |_| value.map(str::to_owned)).err()
        };
        assert_eq!(new("127.0.0.1:1", None, None), None);
        assert_eq!(new("[::1]:1", None, None), None);
        assert_eq!(new("0.0.0.0:1", Some("T"), Some("x")), None);
        let said = new("0.0.0.0:1", Some("T"), Some(" "));
        assert_eq!(said.as_deref(), Some("Error: --token-env T: the variable is not set, or empty."));
        for address in ["0.0.0.0:1", "192.168.1.2:1", "[::]:1"] {
            assert!(new(address, None, None).is_some_and(|said| said.contains("--token-env")), "{address}");
        }
    }

    #[test]
    fn a_token_is_shown_either_way() {
        let access = Access::new(listen("127.0.0.1:1"), Some("T"), |_| Some("secret".into())).expect("access");
        check(&access, &[], Some(401));
        check(&access, &[("authorization", "Bearer secret")], None);
        check(&access, &[("authorization", "Bearer secre")], Some(401));
        check(&access, &[("authorization", "Bearer secret1")], Some(401));
        check(&access, &[("x-api-key", "secret"), ("host", "example.com")], None);
    }

    #[test]
    fn programs_of_this_machine_and_no_pages() {
        let access = Access::new(listen("127.0.0.1:1"), None, |_| None).expect("access");
        check(&access, &[], None);
        check(&access, &[("host", "localhost:8462"), ("authorization", "Bearer whatever")], None);
        check(&access, &[("host", "127.0.0.1:8462"), ("origin", "http://localhost:3000")], None);
        check(&access, &[("host", "[::1]:8462")], None);
        check(&access, &[("host", "evil.example:8462")], Some(403));
        check(&access, &[("host", "localhost"), ("origin", "https://evil.example")], Some(403));
        check(&access, &[("host", "localhost"), ("origin", "null")], Some(403));
        check(&access, &[("host", "localhost.evil.example")], Some(403));
    }
}
