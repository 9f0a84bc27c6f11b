//! The webfetch tool: a page as Markdown, as bare text, or as it is.
use protocol::{Action, Answer, Done, Failure, Outcome, Page, World};

use super::{args::Format, overflow, refusal, tools};
use crate::{Context, Next};

/// Bytes of a page.
const MAX_PAGE: u64 = 5 << 20;

pub(super) fn next(cx: &Context, url: &str, format: Format, did: &[Done]) -> Next {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Next::Answer(Answer::failed("URL must start with http:// or https://"));
    }
    let Some(done) = did.first() else {
        let markdown = format == Format::Markdown;
        return Next::Do(vec![Action::World(World::Fetch { url: url.to_owned(), max_bytes: MAX_PAGE, markdown })]);
    };
    match &done.outcome {
        Outcome::Fetched(page) if !(200..300).contains(&page.status) => {
            Next::Answer(Answer::failed(format!("StatusCode: non 2xx status code ({} GET {url})", page.status)))
        }
        Outcome::Fetched(page) => {
            let text = shown(page, format);
            if !overflow::is_long(&text) {
                return Next::Answer(Answer::plain(text));
            }
            let Some(saved) = did.get(1) else {
                return Next::Do(vec![Action::World(World::Save { text, hint: "tool".into() })]);
            };
            let saved = match &saved.outcome {
                Outcome::Saved { path, .. } => Some(path.as_path()),
                _ => None,
            };
            let delegates = tools::names(cx).contains(&"task");
            Next::Answer(Answer::plain(overflow::head_told(&text, saved, delegates)))
        }
        Outcome::Failed(Failure::Io { .. } | Failure::Other(_)) => {
            Next::Answer(Answer::failed(format!("Transport error (GET {url})")))
        }
        other => Next::Answer(refusal::told(other)),
    }
}

fn shown(page: &Page, format: Format) -> String {
    let is_html = page.mime.contains("html");
    if format == Format::Text && is_html { bare(&page.text) } else { page.text.clone() }
}

/// What of a page can be read: tags go, and with some of them all that is in them.
fn bare(html: &str) -> String {
    const SILENT: [&str; 6] = ["script", "style", "noscript", "iframe", "object", "embed"];
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find('>').map_or(rest.len(), |end| end + 1);
        let name: String =
            rest[1..].chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        rest = &rest[end..];
        if SILENT.contains(&name.as_str()) {
            let lower = rest.to_ascii_lowercase();
            rest = lower.find(&format!("</{name}")).map_or("", |close| &rest[close..]);
        }
    }
    out.push_str(rest);
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    let text = entities.iter().fold(out, |text, (entity, sign)| text.replace(entity, sign));
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::bare;

    #[test]
    fn bare_text_as_measured() {
        let page = "<html><head><title>T</title><style>x{}</style><script>var a=1;</script></head><body><h1>Title</h1><p>para <a href=\"/x\">link</a> &amp; <b>bold</b></p><ul><li>one<li>two</ul><pre><code>x = 1\n</code></pre></body></html>";
        assert_eq!(bare(page), "TTitlepara link & boldonetwox = 1");
    }

    proptest! {
        #[test]
        fn any_page_is_read(html in "(<|>|/|script|style|é|a| |&amp;){0,40}") {
            let _ = bare(&html);
        }
    }
}
