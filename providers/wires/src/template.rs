//! Events of one stream often differ in one string only. Once an event has been read the long way, the bytes before and
//! behind its text are a template: an event with the same bytes around another JSON string means the same, and only that
//! string is read.
use std::borrow::Cow;

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
    before: Vec<u8>,
    behind: Vec<u8>,
    what: T,
}

/// Give up after so many templates that never fitted.
const VAIN: u8 = 8;

impl<T: Copy> Template<T> {
    pub(crate) fn new() -> Template<T> {
        Template { learned: None, vain: 0 }
    }

    /// The text of an event that fits.
    pub(crate) fn read<'d>(&mut self, data: &'d [u8]) -> Option<(T, Str<'d>)> {
        let learned = self.learned.as_ref()?;
        let (before, behind) = (learned.before.len(), learned.behind.len());
        if data.len() < before + behind || !data.starts_with(&learned.before) || !data.ends_with(&learned.behind) {
            return None;
        }
        // With its quotes, which belong to the template; anything but one string is refused here.
        let text = serde_json::from_slice(data.get(before - 1..=data.len() - behind)?).ok()?;
        self.vain = 0;
        Some((learned.what, text))
    }

    /// `text` was read from `data`, and nothing else in `data` has a meaning.
    pub(crate) fn learn(&mut self, data: &[u8], text: &Str, what: T) {
        if self.vain >= VAIN {
            return;
        }
        let Some((start, end)) = place(data, text) else {
            return;
        };
        self.vain += 1;
        self.learned = Some(Learned { before: data[..start].to_vec(), behind: data[end..].to_vec(), what });
    }
}

/// Where in `data` the string stands, without its quotes. A text that had escapes is no slice of `data`; it is looked for as
/// JSON is commonly written, and must stand there once only.
fn place(data: &[u8], text: &Str) -> Option<(usize, usize)> {
    let (start, len) = match &text.0 {
        Cow::Borrowed(text) => ((text.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize), text.len()),
        Cow::Owned(text) => {
            let json = serde_json::to_vec(text).ok()?;
            let mut places = memchr::memmem::find_iter(data, &json);
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
