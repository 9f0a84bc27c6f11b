//! Takes out of a text what differs from run to run: ids, paths, times, versions. What is left must be equal.

/// Names of one place, and the ids met so far: the same id gets the same name everywhere.
pub(crate) struct Normal {
    names: Vec<(String, &'static str)>,
    ids: Vec<String>,
}

/// What stands behind a phrase and changes with every run: the phrase, which characters belong to it, its name.
type Phrase = (&'static str, fn(char) -> bool, &'static str);
const PHRASES: &[Phrase] = &[
    ("Wall time: ", |c| c.is_ascii_digit() || c == '.', "<t>"),
    ("Chunk ID: ", |c| c.is_ascii_hexdigit(), "<chunk>"),
    ("session ID ", |c| c.is_ascii_digit(), "<session>"),
    (" succeeded in ", |c| c.is_ascii_alphanumeric() || c == '.', "<t>"),
    ("<current_date>", |c| c != '<', "<date>"),
];

impl Normal {
    pub(crate) fn new(mut names: Vec<(String, &'static str)>) -> Normal {
        names.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Normal { names, ids: Vec::new() }
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = self.uuids(text);
        for (from, to) in &self.names {
            text = text.replace(from, to);
        }
        for phrase in PHRASES {
            text = behind(&text, phrase);
        }
        exited_in(&text)
    }

    fn uuids(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.char_indices().map(|(at, _)| at).find(|&at| is_uuid(&rest[at..])) {
            out.push_str(&rest[..at]);
            let id = &rest[at..at + 36];
            let number = self.ids.iter().position(|known| known == id).unwrap_or_else(|| {
                self.ids.push(id.to_owned());
                self.ids.len() - 1
            });
            out.push_str(&format!("<id {}>", number + 1));
            rest = &rest[at + 36..];
        }
        out.push_str(rest);
        out
    }
}

fn is_uuid(text: &str) -> bool {
    let Some(text) = text.as_bytes().get(..36) else { return false };
    text.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

fn behind(text: &str, (phrase, belongs, name): &Phrase) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(phrase) {
        let (before, after) = rest.split_at(at + phrase.len());
        out.push_str(before);
        let end = after.find(|c| !belongs(c)).unwrap_or(after.len());
        if end > 0 {
            out.push_str(name);
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// ` exited 2 in 253ms:` of the human output.
fn exited_in(text: &str) -> String {
    const PHRASE: &str = " exited ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PHRASE) {
        let (before, after) = rest.split_at(at + PHRASE.len());
        out.push_str(before);
        rest = after;
        let Some((code, time)) = after.split_once(" in ") else { continue };
        let end = time.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(0);
        if code.parse::<i32>().is_ok() && end > 0 && time[end..].starts_with(':') {
            out.push_str(&format!("{code} in <t>"));
            rest = &time[end..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_changes_from_run_to_run_gets_a_name() {
        let mut normal = Normal::new(vec![("/x/work".into(), "<WORK>"), ("/x".into(), "<ROOT>")]);
        let mut check = |text: &str, expected: &str| assert_eq!(normal.text(text), expected);
        let (one, two) = ("0197e5a0-1111-7222-8333-444455556666", "0197e5a0-1111-7222-8333-444455557777");
        check(&format!("a {one} b {two} {one}"), "a <id 1> b <id 2> <id 1>");
        check(two, "<id 2>");
        check("/x/work/a /x/b", "<WORK>/a <ROOT>/b");
        check("Chunk ID: 0a1b2c\nWall time: 0.1234 seconds", "Chunk ID: <chunk>\nWall time: <t> seconds");
        check("with session ID 123\nOutput", "with session ID <session>\nOutput");
        check(" succeeded in 209ms:\nhi", " succeeded in <t>:\nhi");
        check(" exited 2 in 1.2s:\nhi", " exited 2 in <t>:\nhi");
        check("it exited 2 in a way", "it exited 2 in a way");
        check("ünder\u{1F600}", "ünder\u{1F600}");
    }
}
