//! Events of one stream often differ in one string only, and in counters that mean nothing. Once an event has been read the
//! long way, the bytes around these are a template: an event with the same bytes around others means the same, and only
//! its string is read.
use std::borrow::Cow;

use memchr::memmem;

use crate::lenient::Str;

/// `T`: what the text is.
#[derive(Debug)]
pub(crate) struct Template<T> {
    learned: Option<Learned<T>>,
    /// Learned in vain: some servers put something new into each event.
    vain: u8,
}

#[derive(Debug)]
struct Learned<T> {
    /// Fixed bytes, each followed by a hole.
    fixed: Vec<(Vec<u8>, Hole)>,
    behind: Vec<u8>,
    what: T,
}

/// What may differ. Quotes of strings belong to the fixed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Text,
    Digits,
    Padding,
}

/// Keys without a meaning for us, on any wire and at any depth. Inside a string their last quote would be escaped, so
/// where they stand they are keys.
const INERT: [(&[u8], Hole); 3] =
    [(b"\"sequence_number\":", Hole::Digits), (b"\"created\":", Hole::Digits), (b"\"obfuscation\":\"", Hole::Padding)];

/// Longer events are no stream of many alike.
const LONGEST: usize = 64 << 10;

/// Give up after so many templates that never fitted.
const VAIN: u8 = 8;

impl<T: Copy> Template<T> {
    pub(crate) fn new() -> Template<T> {
        Template { learned: None, vain: 0 }
    }

    /// The text of an event that fits.
    pub(crate) fn read<'d>(&mut self, data: &'d [u8]) -> Option<(T, Str<'d>)> {
        let learned = self.learned.as_ref()?;
        let (mut at, mut text) = (0, None);
        for (fixed, hole) in &learned.fixed {
            if !data.get(at..)?.starts_with(fixed) {
                return None;
            }
            at += fixed.len();
            let len = hole.len(data.get(at..)?)?;
            if *hole == Hole::Text {
                text = Some(at..at + len);
            }
            at += len;
        }
        if data.get(at..) != Some(&learned.behind[..]) {
            return None;
        }
        let text = text?;
        // With its quotes: what serde refuses is no string.
        let text = serde_json::from_slice(data.get(text.start.checked_sub(1)?..=text.end)?).ok()?;
        self.vain = 0;
        Some((learned.what, text))
    }

    /// `text` was read from `data`, and nothing else in `data` has a meaning.
    pub(crate) fn learn(&mut self, data: &[u8], text: &Str, what: T) {
        if self.vain < VAIN
            && data.len() <= LONGEST
            && let Some(learned) = Learned::new(data, text, what)
        {
            self.vain += 1;
            self.learned = Some(learned);
        }
    }
}

impl<T> Learned<T> {
    fn new(data: &[u8], text: &Str, what: T) -> Option<Learned<T>> {
        let (start, end) = place(data, text)?;
        let mut holes = vec![(start, end, Hole::Text)];
        for (key, hole) in INERT {
            if let Some(at) = memmem::find(data, key) {
                let start = at + key.len();
                holes.push((start, start + hole.len(data.get(start..)?)?, hole));
            }
        }
        holes.sort_by_key(|(start, ..)| *start);
        let (mut at, mut fixed) = (0, Vec::with_capacity(holes.len()));
        for (start, end, hole) in holes {
            fixed.push((data.get(at..start)?.to_vec(), hole));
            at = end;
        }
        Some(Learned { fixed, behind: data.get(at..)?.to_vec(), what })
    }
}

impl Hole {
    /// How far it reaches at the start of `data`.
    fn len(self, data: &[u8]) -> Option<usize> {
        if self == Hole::Digits {
            return data.iter().position(|byte| !byte.is_ascii_digit()).filter(|len| *len > 0);
        }
        let mut at = 0;
        loop {
            at += memchr::memchr2(b'"', b'\\', data.get(at..)?)?;
            if data[at] == b'"' {
                return Some(at);
            }
            at += 2;
        }
    }
}

/// Where in `data` the string stands, without its quotes. A text that had escapes is no slice of `data`; it is looked for as
/// JSON is commonly written, and must stand there once only.
fn place(data: &[u8], text: &Str) -> Option<(usize, usize)> {
    let (start, len) = match &text.0 {
        Cow::Borrowed(text) => ((text.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize), text.len()),
        Cow::Owned(text) => {
            let json = serde_json::to_vec(text).ok()?;
            let mut places = memmem::find_iter(data, &json);
            let first = places.next()?;
            places.next().is_none().then_some((first + 1, json.len() - 2))?
        }
    };
    let end = start.checked_add(len)?;
    let quoted = data.get(start.checked_sub(1)?..=end)?;
    (quoted.first() == Some(&b'"') && quoted.last() == Some(&b'"')).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn counters_and_padding_may_differ() {
        let mut template = Template::new();
        let data = br#"{"sequence_number":7,"t":"one","obfuscation":"xyz"}"#;
        let text = Str(Cow::Borrowed(std::str::from_utf8(&data[26..29]).expect("ascii")));
        template.learn(data, &text, 7);
        let mut check = |data: &[u8], expected: Option<&str>| {
            assert_eq!(template.read(data).map(|(_, text)| text.to_string()), expected.map(str::to_owned));
        };
        check(br#"{"sequence_number":12,"t":"t\"o","obfuscation":""}"#, Some("t\"o"));
        check(br#"{"sequence_number":-1,"t":"t","obfuscation":""}"#, None);
        check(br#"{"sequence_number":1,"t":"t","obfuscation":"","u":""}"#, None);
        check(br#"{"sequence_number":1,"t":"t\"#, None);
    }

    #[test]
    fn the_same_around_another_string() {
        let mut template = Template::new();
        let data = br#"{"a":1,"t":"one","z":null}"#;
        let text = Str(Cow::Borrowed(std::str::from_utf8(&data[12..15]).expect("ascii")));
        template.learn(data, &text, 7);
        let mut check = |data: &[u8], expected: Option<&str>| {
            assert_eq!(template.read(data).map(|(_, text)| text.to_string()), expected.map(str::to_owned));
        };
        check(br#"{"a":1,"t":"t\nwo","z":null}"#, Some("t\nwo"));
        check(br#"{"a":1,"t":"","z":null}"#, Some(""));
        check(br#"{"a":1,"t":"x","y":"x","z":null}"#, None);
        check(br#"{"a":2,"t":"x","z":null}"#, None);
        check(br#"{"a":1,"t":"x\","z":null}"#, None);
        check(br#"{"a":1,"t":","z":null}"#, None);
        check(br#"{"a":1,"t":"x"}"#, None);
    }
}
