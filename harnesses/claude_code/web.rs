//! The WebFetch tool: a page as markdown, and a side request that answers the prompt from it.
use protocol::{
    Action, Answer, Content, Done, Entry, Failure, Opening, Outcome, OwnedPrompt, Page, Part, Refusal, Session,
    Speaker, Tune, World,
};
use serde_json::Value;

use super::args::Input;
use super::generation::Generation;
use super::shared::refusal::{REJECTED, Wanted, failed, refused};
use crate::{Context, Next};

/// Bytes of a page that are taken in.
const BYTES: u64 = 10 << 20;
/// Characters of its text that one call looks at.
const CHARS: usize = 100_000;
const LONGEST_URL: usize = 2_000;

const RULES: &str = "Answer from the text above alone, in few words, and with what matters: details, examples of code, names. Quote at most 125 characters in a row, in quotation marks, and say everything else in your own words. Do not comment on whether prompt or answer are lawful. Never repeat song lyrics word for word.";

pub(super) fn next(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let (url, prompt) = (input.text("url"), input.text("prompt"));
    let Some(first) = did.first() else {
        return match address(url) {
            Ok(url) => Next::Do(vec![Action::World(World::Fetch { url, max_bytes: BYTES, markdown: true })]),
            Err(why) => Next::Answer(Answer::failed(why)),
        };
    };
    let page = match &first.outcome {
        Outcome::Fetched(page) => page,
        Outcome::Refused(Refusal::Rule(why)) => return Next::Answer(Answer::failed(why)),
        Outcome::Refused(refusal) => return Next::Answer(refused(Wanted::Use(input.tool), refusal)),
        Outcome::Failed(failure) => {
            let answer = unreached(url, failure).map(Answer::failed);
            return Next::Answer(answer.unwrap_or_else(|| failed(Wanted::Use(input.tool), failure)));
        }
        _ => return Next::Answer(Answer::failed(REJECTED)),
    };
    if let Some(told) = elsewhere(url, prompt, page).or_else(|| refusal(page)) {
        return Next::Answer(Answer::plain(told));
    }
    let offset = input.map.get("offset").and_then(Value::as_u64).unwrap_or(0) as usize;
    let text: String = page.text.chars().skip(offset).take(CHARS).collect();
    let all = page.text.chars().count();
    match did.get(1).map(|done| &done.outcome) {
        None => Next::Do(vec![Action::Session(Session::Query {
            role: "side".into(),
            prompt: Box::new(question(generation, cx, &text, prompt)),
        })]),
        Some(Outcome::Queried { text, .. }) if offset + CHARS < all => Next::Answer(Answer::plain(format!(
            "{}\n\n[Only characters {offset} to {} of {all} were looked at. Call again with offset: {} for what follows.]",
            text.trim_end(),
            offset + CHARS,
            offset + CHARS
        ))),
        Some(Outcome::Queried { text, .. }) => Next::Answer(Answer::plain(text.clone())),
        Some(Outcome::Refused(refusal)) => Next::Answer(refused(Wanted::Use(input.tool), refusal)),
        Some(Outcome::Failed(failure)) => Next::Answer(failed(Wanted::Use(input.tool), failure)),
        Some(_) => Next::Answer(Answer::failed(REJECTED)),
    }
}

/// The address as it is fetched; Err: why it is not.
fn address(url: &str) -> Result<String, String> {
    let Some((scheme, rest)) = url.split_once("://") else { return Err("Invalid URL".to_owned()) };
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" {
        return Err("Invalid URL".to_owned());
    }
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(format!("Unsupported protocol {scheme}:"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') || url.len() > LONGEST_URL {
        return Err("Invalid URL".to_owned());
    }
    if !host(authority).contains(['.', ':']) {
        return Err("WebFetch cannot fetch localhost or other hostnames without a dot. To reach a local server, use Bash with curl instead.".to_owned());
    }
    Ok(format!("https://{rest}"))
}

/// No page, as Node words it.
fn unreached(url: &str, failure: &Failure) -> Option<String> {
    let Failure::Other(why) = failure else { return None };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host(authority);
    if why.starts_with(&format!("{host} is not known")) {
        return Some(format!("getaddrinfo ENOTFOUND {host}"));
    }
    let digits = |port: &&str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let port = authority.rsplit_once(':').map(|(_, port)| port).filter(digits).unwrap_or("443");
    why.contains("Connection refused").then(|| format!("connect ECONNREFUSED {host}:{port}"))
}

fn host(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host(rest.split(['/', '?', '#']).next().unwrap_or_default()).to_ascii_lowercase();
    host.strip_prefix("www.").map(str::to_owned).unwrap_or(host)
}

/// The page came from another host than was asked for.
fn elsewhere(url: &str, prompt: &str, page: &Page) -> Option<String> {
    (host_of(url) != host_of(&page.url)).then(|| {
        format!(
            "REDIRECT DETECTED: The URL redirects to a location that was not fetched automatically.\n\nOriginal URL: {url}\nRedirect URL: {}\n\nTo read it, call WebFetch again with:\n- url: \"{}\"\n- prompt: \"{prompt}\"",
            page.url, page.url
        )
    })
}

fn refusal(page: &Page) -> Option<String> {
    (page.status >= 400).then(|| {
        let reason = reason(page.status);
        let text: String = page.text.chars().take(500).collect();
        let body = if text.trim().is_empty() { String::new() } else { format!("\n\nIt says:\n{}", text.trim()) };
        format!(
            "The server returned HTTP {}{}{reason}.\n\nThere is nothing to answer from. See whether the address is right, or look for another source.{body}",
            page.status,
            if reason.is_empty() { "" } else { " " }
        )
    })
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

fn question(generation: Generation, cx: &Context, page: &str, prompt: &str) -> OwnedPrompt {
    let text = format!("\nWeb page content:\n---\n{page}\n---\n\n{prompt}\n\n{RULES}\n");
    let identity = Content::Parts(vec![Part::text(super::prompt::identity(generation))]);
    let mut tune =
        Tune { max_output: Some(super::shared::profile::tune(cx).max_output.unwrap_or(32_000)), ..Tune::default() };
    tune.temperature = Some(1.0);
    OwnedPrompt {
        opening: Opening { instructions: vec![(Speaker::System, identity)], tools: Vec::new() },
        said: vec![Entry::User(Content::Parts(vec![Part::Text(text)]))],
        tune,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn addresses_are_checked_as_measured() {
        for (url, expected) in [
            ("http://a.org/x?y=1", Ok("https://a.org/x?y=1")),
            ("https://a.org", Ok("https://a.org")),
            ("http://127.0.0.1:9/", Ok("https://127.0.0.1:9/")),
            ("http://user:pw@a.org/", Err("Invalid URL")),
            ("ftp://x.org/", Err("Unsupported protocol ftp:")),
            (
                "http://localhost/",
                Err(
                    "WebFetch cannot fetch localhost or other hostnames without a dot. To reach a local server, use Bash with curl instead.",
                ),
            ),
        ] {
            assert_eq!(address(url), expected.map(str::to_owned).map_err(str::to_owned), "{url}");
        }
    }
}
