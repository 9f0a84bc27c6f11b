//! The FetchURL tool. Addresses that are never fetched are refused before anything is asked of the network.
use std::net::IpAddr;

use protocol::{Action, Done, Failure, Outcome, World};

use super::args::Args;
use super::envelope::Said;
use super::refusal;
use crate::Next;

const PAGE: u64 = 10 << 20;

const EXTRACTED: &str = "What follows is the main text of the page, taken out of its HTML.";
const VERBATIM: &str = "What follows is the response as it came, in full.";
const CITE: &str = "Name this address as the source where you use it.";

pub(super) fn next(call: &str, args: &Args, did: &[Done]) -> Next {
    let url = args.str("url");
    let said = |said: Said| said.next("FetchURL", call, did);
    let unreachable = |why: &str| Said::failed(format!("Failed to fetch URL due to network error: {url}. {why}"));
    if let Err(why) = permitted(url) {
        return said(unreachable(&why));
    }
    let Some(first) = did.first() else {
        let fetch = World::Fetch { url: url.to_owned(), max_bytes: PAGE, markdown: true };
        return Next::Do(vec![Action::World(fetch)]);
    };
    match &first.outcome {
        Outcome::Fetched(page) if page.status >= 400 => {
            said(Said::failed(format!("Failed to fetch URL. Status: {}. {}", page.status, first_line(&page.text))))
        }
        Outcome::Fetched(page) => {
            let what = if page.mime.contains("html") { EXTRACTED } else { VERBATIM };
            let cut = if page.truncated { "\n\n[The page is longer and was cut here.]" } else { "" };
            said(Said::ok(format!("{what} {CITE}\n\n{}{cut}", page.text)))
        }
        Outcome::Failed(Failure::Other(why)) => said(unreachable(why)),
        other => said(refusal::said("FetchURL", other)),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// Err: why not.
fn permitted(url: &str) -> Result<(), String> {
    let Some((scheme, rest)) = url.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return Err(format!("Invalid URL: \"{url}\""));
    };
    let scheme = scheme.to_lowercase();
    if scheme != "http" && scheme != "https" {
        return Err(format!("Unsupported URL scheme \"{scheme}:\" — only http(s) allowed."));
    }
    let authority = rest.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, _)) => host,
        None => host.rsplit_once(':').map_or(host, |(host, _)| host),
    };
    if host.is_empty() {
        return Err(format!("Invalid URL: \"{url}\""));
    }
    let name = host.to_lowercase();
    if name == "localhost" || name.ends_with(".localhost") {
        return Err(format!("Refusing to fetch private host: \"{host}\""));
    }
    match host.parse::<IpAddr>() {
        Ok(address) if is_private(address) => Err(format!("Refusing to fetch private address: \"{host}\"")),
        _ => Ok(()),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private(IpAddr::V4(v4)),
            None => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses() {
        let check = |url: &str, expected: &str| assert_eq!(permitted(url).err().unwrap_or_default(), expected, "{url}");
        check("https://example.org/a?b#c", "");
        check("https://u:p@example.org:8080/", "");
        check("notaurl", "Invalid URL: \"notaurl\"");
        check("", "Invalid URL: \"\"");
        check("ftp://x.y/z", "Unsupported URL scheme \"ftp:\" — only http(s) allowed.");
        check("http://127.0.0.1:1/x", "Refusing to fetch private address: \"127.0.0.1\"");
        check("http://10.0.0.1/x", "Refusing to fetch private address: \"10.0.0.1\"");
        check("http://localhost/x", "Refusing to fetch private host: \"localhost\"");
        check("http://[::1]/x", "Refusing to fetch private address: \"::1\"");
    }

    proptest! {
        #[test]
        fn any_text_is_judged(url in "\\PC{0,30}|https?://[\\[\\]:@/a.0-9]{0,20}") {
            let _ = permitted(&url);
        }
    }
}
