//! Calls in the harmony format of the gpt-oss models, with its special tokens or with what is left where a server dropped
//! them: `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>`.
use super::{Found, Next, Written, fenced, json};

const TO: &str = "to=functions.";
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";

pub(super) fn commentary(text: &str, from: usize) -> Next {
    let mut at = from;
    loop {
        at += text.get(at..)?.find(TO)?;
        let name = at + TO.len();
        if let Some(start) = header(text, from, at) {
            let call = arguments(text, name).map(|(end_of_name, args, end)| {
                vec![Found { name: text[name..end_of_name].to_owned(), args: Written::Json(args), at: start..end }]
            });
            return Some(call);
        }
        at = name;
    }
}

/// Where the header that leads to the recipient begins; None: the text merely speaks of one. Thoughts and text before it in
/// the same format keep their text and lose their tokens.
fn header(text: &str, from: usize, at: usize) -> Option<usize> {
    let mut before = text[from..at].trim_end();
    let whole = before.len();
    for word in ["commentary", "analysis", CHANNEL, "assistant", "<|start|>"] {
        before = before.strip_suffix(word).unwrap_or(before);
    }
    let line = before.rsplit('\n').next().unwrap_or("");
    let first = line.trim().is_empty() || line.ends_with("|>");
    let start = from + before.len();
    (before.len() < whole && first && !fenced(text, start)).then_some(start)
}

/// Where the name ends, the arguments, and where the call ends.
fn arguments(text: &str, name: usize) -> Result<(usize, String, usize), String> {
    let in_a_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let rest = text[name..].trim_start_matches(in_a_name);
    let end_of_name = text.len() - rest.len();
    let open = rest.find('{').ok_or_else(|| format!("`{TO}` without arguments"))?;
    let words = [CHANNEL, "commentary", "<|constrain|>", "json", "code", MESSAGE];
    let mut between = rest[..open].to_owned();
    words.iter().for_each(|word| between = between.replace(word, ""));
    if !between.trim().is_empty() {
        return Err(format!("`{TO}` with something else than arguments behind it"));
    }
    let (object, length) = json::value(&rest[open..])?;
    Ok((end_of_name, json::arguments(object)?, end_of_name + open + length))
}
