//! A page's bytes as text: unpacked, its charset found, HTML turned into markdown.
use std::io::Read;

use encoding_rs::Encoding;

/// HTML nested deeper, or with more repeated formatting, is not converted: hostile pages would take all memory or stack.
const MAX_NESTING: usize = 512;
const MAX_REOPENED: usize = 2_000_000;
/// For the conversion, which walks the tree by recursion.
const STACK: usize = 64 << 20;
/// How far a charset is looked for in HTML, as browsers do.
const HEAD: usize = 1024;
/// What a reader of the text has no use for.
const SKIPPED: [&str; 7] = ["script", "style", "noscript", "template", "iframe", "svg", "head"];

/// At most `limit` bytes of gzip's content, and whether there are more. What is damaged ends there.
pub(super) fn unpack(bytes: &[u8], limit: usize) -> (Vec<u8>, bool) {
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes).take(limit as u64 + 1);
    // Cut off in the middle, what came before is still good.
    let whole = decoder.read_to_end(&mut unpacked).is_ok();
    let more = unpacked.len() > limit;
    unpacked.truncate(limit);
    (unpacked, more || !whole)
}

/// Media type and text. Err: the type of what is no text.
pub(super) fn text(bytes: &[u8], content_type: Option<&str>, markdown: bool) -> Result<(String, String), String> {
    let (named, label) = content_type.map(parse).unwrap_or_default();
    let mime = if named.is_empty() { guess(bytes).to_owned() } else { named };
    if !is_text(&mime) || (label.is_none() && looks_binary(bytes)) {
        return Err(mime);
    }
    let html = matches!(mime.as_str(), "text/html" | "application/xhtml+xml");
    let label = label.or_else(|| html.then(|| declared(bytes)).flatten());
    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(encoding_rs::UTF_8);
    // A byte order mark says more than a label.
    let (text, _, _) = encoding.decode(bytes);
    let text = if html && markdown { to_markdown(&text) } else { text.into_owned() };
    Ok((mime, text))
}

/// Type in lower case, and charset.
fn parse(content_type: &str) -> (String, Option<String>) {
    let mut parts = content_type.split(';');
    let mime = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    (mime, charset)
}

fn is_text(mime: &str) -> bool {
    const APPLICATION: [&str; 14] = [
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "x-javascript",
        "yaml",
        "x-yaml",
        "toml",
        "graphql",
        "x-sh",
        "sql",
        "ld+json",
        "x-ndjson",
        "jsonlines",
    ];
    match mime.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", sub)) => APPLICATION.contains(&sub) || sub.ends_with("+json") || sub.ends_with("+xml"),
        Some(("image", "svg+xml")) => true,
        _ => false,
    }
}

/// Of a page without a type.
fn guess(bytes: &[u8]) -> &'static str {
    if looks_binary(bytes) {
        return "application/octet-stream";
    }
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).trim_start().to_ascii_lowercase();
    match start.starts_with("<!doctype html") || start.starts_with("<html") {
        true => "text/html",
        false => "text/plain",
    }
}

fn looks_binary(bytes: &[u8]) -> bool {
    let marked = [&b"\xff\xfe"[..], b"\xfe\xff"].iter().any(|mark| bytes.starts_with(mark));
    !marked && bytes[..bytes.len().min(HEAD)].contains(&0)
}

/// `<meta charset=...>` or the older form of it.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).to_ascii_lowercase();
    let (_, rest) = head.split_once("charset=")?;
    let label: String = rest
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .collect();
    (!label.is_empty()).then_some(label)
}

/// HTML as it is where it cannot be converted.
fn to_markdown(html: &str) -> String {
    if !tame(html) {
        return html.to_owned();
    }
    let convert = || htmd::HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build().convert(html).ok();
    let converted = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, convert).ok()?;
        thread.join().ok().flatten()
    });
    converted.unwrap_or_else(|| html.to_owned())
}

/// Whether the tree stays small: counts open tags without parsing. Tags that HTML closes by itself are not counted as nesting.
fn tame(html: &str) -> bool {
    const VOID: [&str; 22] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p",
        "li", "dt", "dd", "td", "th", "tr", "option", "html",
    ];
    // A parser opens these again in every block that follows.
    const FORMATTING: [&str; 14] =
        ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
    let (mut depth, mut deepest, mut tags) = (0_usize, 0_usize, 0_usize);
    let (mut formatting, mut most_formatting) = (0_usize, 0_usize);
    for piece in html.split('<').skip(1) {
        let (closing, rest) = match piece.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, piece),
        };
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        tags += 1;
        let is = |names: &[&str]| names.contains(&name.as_str());
        match closing {
            _ if is(&VOID) => {}
            false => {
                depth += 1;
                formatting += usize::from(is(&FORMATTING));
            }
            true => {
                depth = depth.saturating_sub(1);
                formatting = formatting.saturating_sub(usize::from(is(&FORMATTING)));
            }
        }
        deepest = deepest.max(depth);
        most_formatting = most_formatting.max(formatting);
    }
    deepest <= MAX_NESTING && most_formatting.saturating_mul(tags) <= MAX_REOPENED
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], content_type: &str, markdown: bool, expected: Result<(&str, &str), &str>) {
        let kind = (!content_type.is_empty()).then_some(content_type);
        let found = text(bytes, kind, markdown);
        assert_eq!(found.as_ref().map(|(m, t)| (m.as_str(), t.as_str())).map_err(String::as_str), expected);
    }

    #[test]
    fn types_and_charsets() {
        check(b"caf\xc3\xa9", "text/plain", true, Ok(("text/plain", "café")));
        check(b"caf\xe9", "text/plain; charset=ISO-8859-1", true, Ok(("text/plain", "café")));
        check(b"\xef\xbb\xbfx", "Text/Plain;charset=\"latin1\"", true, Ok(("text/plain", "x")));
        check(b"{\"a\":1}", "application/vnd.api+json", true, Ok(("application/vnd.api+json", "{\"a\":1}")));
        check(b"\xff\xfea\0b\0", "text/plain", true, Ok(("text/plain", "ab")));
        check(b"%PDF", "application/pdf", true, Err("application/pdf"));
        check(b"a\0b", "text/plain", true, Err("text/plain"));
        check(b"a\0b", "", true, Err("application/octet-stream"));
        check(b"plain", "", true, Ok(("text/plain", "plain")));
        check(b"<html><p>x", "", true, Ok(("text/html", "x")));
        check(b"<meta charset='windows-1252'><p>caf\xe9", "text/html", true, Ok(("text/html", "café")));
    }

    #[test]
    fn html_becomes_markdown() {
        let html = "<head><title>T</title><style>x{}</style></head><h1>A</h1><p>b <a href='/c'>d</a></p><ul><li>e</ul><script>f</script>";
        let markdown = "# A\n\nb [d](/c)\n\n*   e";
        check(html.as_bytes(), "text/html", true, Ok(("text/html", markdown)));
        check(b"<p>a", "text/html", false, Ok(("text/html", "<p>a")));
    }

    #[test]
    fn hostile_html_stays_as_it_is() {
        let deep = "<div>".repeat(100_000);
        assert_eq!(to_markdown(&deep), deep);
        let reopened =
            format!("{}{}", (0..400).map(|n| format!("<b id={n}>")).collect::<String>(), "<p>".repeat(100_000));
        assert_eq!(to_markdown(&reopened), reopened);
        assert_eq!(to_markdown(&"<div>".repeat(MAX_NESTING)), "");
        assert!(tame(&"<li>a<p>b".repeat(10_000)));
    }

    #[test]
    fn gzip_is_unpacked_up_to_a_limit() {
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&[b'a'; 1000]).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(unpack(&packed, 1000), (vec![b'a'; 1000], false));
        assert_eq!(unpack(&packed, 10), (vec![b'a'; 10], true));
        assert!(unpack(&packed[..packed.len() / 2], 2000).1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in "(text/html|)(; ?charset=[a-z0-9-]{0,8})?") {
            let _ = text(&bytes, Some(&kind), true);
            let _ = unpack(&bytes, 50);
        }
        #[test]
        fn any_html_is_read(html in "(<[/]?(div|p|a|b|table|td|li|x|!--)[ a-z='\"/]{0,6}>|[a-z&;<> ]{0,5}){0,30}") {
            let _ = to_markdown(&html);
        }
    }
}
