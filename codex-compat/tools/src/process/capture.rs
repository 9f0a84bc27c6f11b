//! Output in bounded memory: the first and the last half of what is kept, counts of everything. Bytes become text only when
//! looked at, so a character that came in two pieces is whole.
use std::collections::VecDeque;

use protocol::{Captured, Cut};

#[derive(Debug)]
pub(crate) struct Capture {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    newlines: u64,
}

impl Capture {
    /// Keeps `keep` bytes.
    pub(crate) fn new(keep: u64) -> Capture {
        let half = usize::try_from(keep / 2).unwrap_or(usize::MAX / 4).max(1);
        Capture { half, head: Vec::new(), tail: VecDeque::new(), total: 0, newlines: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether so many more bytes can be taken without dropping any.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.total + more as u64 <= 2 * self.half as u64
    }

    /// What is kept, in order: everything, as long as there was room for it.
    pub(crate) fn kept(&self) -> [&[u8]; 3] {
        let (front, back) = self.tail.as_slices();
        [&self.head, front, back]
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        if rest.len() >= self.half {
            self.tail.clear();
            self.tail.extend(&rest[rest.len() - self.half..]);
            return;
        }
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// All so far.
    pub(crate) fn captured(&self) -> Captured {
        self.without_last(0)
    }

    /// All so far without a character at the end that is not complete yet, and the bytes of that one.
    pub(crate) fn look(&self) -> (Captured, Vec<u8>) {
        let mut last: Vec<u8> = self.tail.iter().rev().take(3).rev().copied().collect();
        if last.is_empty() {
            last = self.head[self.head.len().saturating_sub(3)..].to_vec();
        }
        let pending = last.split_off(last.len() - unfinished(&last));
        (self.without_last(pending.len()), pending)
    }

    /// As [`Capture::look`], to begin anew with the bytes that wait.
    pub(crate) fn take(&mut self) -> Captured {
        let (captured, pending) = self.look();
        *self = Capture { half: self.half, ..Capture::new(0) };
        self.push(&pending);
        captured
    }

    /// Leaves out the last `drop` bytes, none of which is a line feed.
    fn without_last(&self, drop: usize) -> Captured {
        let (mut head, mut tail) = (&self.head[..], self.tail.iter().copied().collect::<Vec<u8>>());
        if tail.is_empty() {
            head = &head[..head.len() - drop];
        } else {
            tail.truncate(tail.len() - drop);
        }
        let bytes = self.total - drop as u64;
        let last = tail.last().or(head.last());
        let lines = self.newlines + u64::from(last.is_some_and(|byte| *byte != b'\n'));
        if (head.len() + tail.len()) as u64 == bytes {
            let text = text([head, &tail].concat());
            return Captured { text, bytes, lines, ..Captured::default() };
        }
        // Characters that the cut went through are left out whole.
        let head = &head[..head.len() - unfinished(head)];
        let skip = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let mut text = text(head.to_vec());
        let at = text.len();
        text.push_str(&String::from_utf8_lossy(&tail[skip..]));
        let omitted = bytes - (head.len() + tail.len() - skip) as u64;
        Captured { text, cut: Some(Cut { at, omitted }), bytes, lines, log: None }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Length of a character at the end whose rest may still come: 0 to 3 bytes.
fn unfinished(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(3)..];
    for back in 1..=end.len() {
        match std::str::from_utf8(&end[end.len() - back..]) {
            Err(e) if e.valid_up_to() == 0 && e.error_len().is_none() => return back,
            _ => {}
        }
        if !is_continuation(end[end.len() - back]) {
            return 0;
        }
    }
    0
}

/// Bytes as they come in, handed on as text without splitting a character.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let rest = self.pending.split_off(self.pending.len() - unfinished(&self.pending));
        text(std::mem::replace(&mut self.pending, rest))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn capture(keep: u64, pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::new(keep);
        pieces.iter().for_each(|piece| capture.push(piece));
        capture
    }

    #[test]
    fn what_is_kept() {
        let check = |keep, pieces: &[&[u8]], text: &str, cut: Option<(usize, u64)>, bytes, lines| {
            let cut = cut.map(|(at, omitted)| Cut { at, omitted });
            assert_eq!(capture(keep, pieces).captured(), Captured { text: text.into(), cut, bytes, lines, log: None });
        };
        check(8, &[], "", None, 0, 0);
        check(8, &[b"ab", b"cd\n"], "abcd\n", None, 5, 1);
        check(8, &[b"0123456789"], "01236789", Some((4, 2)), 10, 1);
        check(8, &[b"01", b"2345", b"6789", b"ab"], "012389ab", Some((4, 4)), 12, 1);
        check(8, &[b"a\nb\nc\nd\ne\n"], "a\nb\nd\ne\n", Some((4, 2)), 10, 5);
        // A character at each side of the cut.
        check(8, &["abcé0123é89a".as_bytes()], "abc89a", Some((3, 8)), 14, 1);
        check(16, &[b"ok\n", b"\xC4\xE3\xBA\xC3\n"], "ok\n\u{FFFD}\u{FFFD}\u{FFFD}\n", None, 8, 2);
        check(16, &[b"\xE2", b"\x82", b"\xAC"], "€", None, 3, 1);
    }

    #[test]
    fn a_character_in_the_making_waits_for_the_next_look() {
        let mut capture = capture(100, &[b"a\xE2\x82"]);
        assert_eq!(capture.take(), Captured { text: "a".into(), bytes: 1, lines: 1, ..Captured::default() });
        capture.push(b"\xACb");
        assert_eq!(capture.take(), Captured { text: "€b".into(), bytes: 4, lines: 1, ..Captured::default() });
        assert_eq!(capture.take(), Captured::default());
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes: Vec<u8>, keep in 2u64..40, at in prop::collection::vec(0usize..64, 0..5)) {
            let whole = capture(keep, &[&bytes]).captured();
            let mut pieces = Capture::new(keep);
            let mut decoder = Decoder::default();
            let mut decoded = String::new();
            let mut ends: Vec<usize> = at.into_iter().map(|n| n.min(bytes.len())).chain([bytes.len()]).collect();
            ends.sort_unstable();
            let mut from = 0;
            for end in ends {
                pieces.push(&bytes[from..end]);
                decoded.push_str(&decoder.push(&bytes[from..end]));
                from = end;
            }
            prop_assert_eq!(&pieces.captured(), &whole);
            prop_assert_eq!(whole.cut.is_none(), Capture::new(keep).has_room(bytes.len()));
            if whole.cut.is_none() {
                prop_assert_eq!(pieces.kept().concat(), bytes.clone());
            }
            prop_assert!(whole.text.len() as u64 <= keep * 3);
            let all = String::from_utf8_lossy(&bytes).into_owned();
            prop_assert!(all.starts_with(&decoded));
        }

        #[test]
        fn text_comes_back_whole(text in "[a-zé€🙂\n]{0,40}", at in 0usize..100) {
            let at = at.min(text.len());
            let mut capture = Capture::new(1000);
            capture.push(&text.as_bytes()[..at]);
            let first = capture.take().text;
            capture.push(&text.as_bytes()[at..]);
            prop_assert_eq!(first + &capture.take().text, text);
        }
    }
}
