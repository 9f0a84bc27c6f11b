//! Output in bounded memory: the first and the last half of what is kept, counts of everything, and of each piece the stream that it
//! came from. Bytes become text only when looked at; they come in whole characters ([`Whole`]).
use std::collections::VecDeque;

use protocol::{Apart, Captured, Cut, Share};

/// Where a command wrote something. All is `Out` where both streams are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

impl Stream {
    pub(crate) const BOTH: [Stream; 2] = [Stream::Out, Stream::Err];
}

#[derive(Debug)]
pub(crate) struct Capture {
    /// Bytes.
    keep: usize,
    head: Vec<u8>,
    /// Whose the head is: streams and lengths.
    head_runs: Vec<(Stream, usize)>,
    /// No more goes to the head: it is full, or the next character did not fit.
    head_done: bool,
    tails: [Tail; 2],
    counts: [Count; 2],
    /// The last line of both together has no line feed.
    open: bool,
}

/// The last bytes of one stream.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// Which they are of all bytes of both streams: numbers of first ones, and lengths.
    runs: VecDeque<(u64, usize)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    bytes: u64,
    in_head: u64,
    newlines: u64,
    open: bool,
}

impl Capture {
    /// Keeps `keep` bytes of both streams together.
    pub(crate) fn new(keep: u64) -> Capture {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX / 4).max(2) & !1;
        Capture {
            keep,
            head: Vec::new(),
            head_runs: Vec::new(),
            head_done: false,
            tails: Default::default(),
            counts: Default::default(),
            open: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total() == 0
    }

    fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.bytes).sum()
    }

    /// Whether so many more bytes can be taken without dropping any.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.total() + more as u64 <= self.keep as u64
    }

    /// What is kept, in order: everything, as long as there was room for it.
    pub(crate) fn kept(&self) -> Vec<u8> {
        let tails = self.tails.each_ref().map(Tail::bytes);
        let mut kept = self.head.clone();
        self.merged(&tails).for_each(|(_, bytes)| kept.extend_from_slice(bytes));
        kept
    }

    /// Whole characters, as far as they are characters.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let at = self.total();
        let count = &mut self.counts[stream as usize];
        count.bytes += bytes.len() as u64;
        count.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        count.open = *last != b'\n';
        self.open = count.open;
        let (first, rest) = bytes.split_at(if self.head_done { 0 } else { self.fits(bytes) });
        if !first.is_empty() {
            self.counts[stream as usize].in_head += first.len() as u64;
            self.head.extend_from_slice(first);
            match self.head_runs.last_mut() {
                Some((last, len)) if *last == stream => *len += first.len(),
                _ => self.head_runs.push((stream, first.len())),
            }
        }
        if rest.is_empty() {
            return;
        }
        self.head_done = true;
        let room = self.keep - self.head.len();
        self.tails[stream as usize].push(at + first.len() as u64, rest, room);
        // The longer one gives way, so that a flood on one stream does not wash away what the other said before it.
        let [out, err] = self.tails.each_ref().map(|tail| tail.bytes.len());
        let fair = room / 2;
        let of_out = out.min((room - fair).max(room.saturating_sub(err)));
        self.tails[0].keep_last(of_out);
        self.tails[1].keep_last(err.min(room - of_out));
    }

    /// How many of the bytes the head takes: no part of a character.
    fn fits(&self, bytes: &[u8]) -> usize {
        let room = (self.keep / 2).saturating_sub(self.head.len());
        if bytes.len() <= room {
            return bytes.len();
        }
        let from = room - unfinished(&bytes[..room]);
        // What is followed by something else was no character.
        let goes_on = std::str::from_utf8(&bytes[from..=room]).map_or_else(|e| e.error_len().is_none(), |_| true);
        if goes_on { from } else { room }
    }

    /// All so far.
    pub(crate) fn captured(&self) -> Captured {
        let mut text = String::new();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut add = |stream, bytes: &[u8]| {
            let from = text.len();
            text.push_str(&String::from_utf8_lossy(bytes));
            match runs.last_mut() {
                _ if stream == Stream::Out || text.len() == from => {}
                Some((_, end)) if *end == from => *end = text.len(),
                _ => runs.push((from, text.len())),
            }
            text.len()
        };
        let (mut at, mut rest) = (0, self.head.as_slice());
        for (stream, len) in &self.head_runs {
            let (run, behind) = rest.split_at(*len);
            at = add(*stream, run);
            rest = behind;
        }
        let tails = self.tails.each_ref().map(Tail::bytes);
        let kept = |stream: usize| self.counts[stream].in_head + tails[stream].len() as u64;
        let mut omitted = [0, 1].map(|stream| self.counts[stream].bytes - kept(stream));
        // Of a stream that was cut, what is left of a character at the cut goes too.
        let mut cut_through = omitted.map(|omitted| omitted > 0);
        for (stream, bytes) in self.merged(&tails) {
            let mut skip = 0;
            if std::mem::take(&mut cut_through[stream as usize]) {
                skip = bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
                omitted[stream as usize] += skip as u64;
            }
            add(stream, &bytes[skip..]);
        }
        let [out, err] = [0, 1].map(|stream| self.counts[stream].share(omitted[stream]));
        let apart = (err.bytes > 0).then(|| Box::new(Apart { runs, out, err }));
        let omitted = out.omitted + err.omitted;
        let cut = (omitted > 0).then_some(Cut { at, omitted });
        let lines = self.counts.iter().map(|count| count.newlines).sum::<u64>() + u64::from(self.open);
        Captured { text, cut, bytes: self.total(), lines, log: None, apart }
    }

    /// All so far, to begin anew.
    pub(crate) fn take(&mut self) -> Captured {
        let captured = self.captured();
        *self = Capture::new(self.keep as u64);
        captured
    }

    /// The tails in the order in which they came.
    fn merged<'a>(&'a self, tails: &'a [Vec<u8>; 2]) -> impl Iterator<Item = (Stream, &'a [u8])> {
        let mut rest = tails.each_ref().map(Vec::as_slice);
        let mut runs = self.tails.each_ref().map(|tail| tail.runs.iter().peekable());
        std::iter::from_fn(move || {
            let [out, err] = runs.each_mut().map(|runs| runs.peek().map_or(u64::MAX, |(at, _)| *at));
            let stream = if err < out { Stream::Err } else { Stream::Out };
            let (_, len) = runs[stream as usize].next()?;
            let (run, behind) = rest[stream as usize].split_at(*len);
            rest[stream as usize] = behind;
            Some((stream, run))
        })
    }
}

impl Tail {
    fn bytes(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }

    /// At most `room` of it is worth having. `at`: the number of the first byte.
    fn push(&mut self, at: u64, bytes: &[u8], room: usize) {
        let skip = bytes.len().saturating_sub(room);
        let (at, bytes) = (at + skip as u64, &bytes[skip..]);
        self.bytes.extend(bytes);
        match self.runs.back_mut() {
            Some((from, len)) if *from + *len as u64 == at => *len += bytes.len(),
            _ => self.runs.push_back((at, bytes.len())),
        }
    }

    fn keep_last(&mut self, keep: usize) {
        let mut over = self.bytes.len().saturating_sub(keep);
        self.bytes.drain(..over);
        while let Some((at, len)) = self.runs.front_mut().filter(|_| over > 0) {
            let gone = over.min(*len);
            (*at, *len, over) = (*at + gone as u64, *len - gone, over - gone);
            if *len == 0 {
                self.runs.pop_front();
            }
        }
    }
}

impl Count {
    fn share(&self, omitted: u64) -> Share {
        Share { bytes: self.bytes, lines: self.newlines + u64::from(self.open), omitted }
    }
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

/// Bytes of one stream as they come in, handed on without splitting a character.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    pending: Vec<u8>,
}

impl Whole {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        let rest = self.pending.split_off(self.pending.len() - unfinished(&self.pending));
        std::mem::replace(&mut self.pending, rest)
    }

    /// The beginning of a character whose rest never came.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn capture(keep: u64, pieces: &[(Stream, &[u8])]) -> Capture {
        let mut capture = Capture::new(keep);
        let mut whole = [Whole::default(), Whole::default()];
        for (stream, piece) in pieces {
            capture.push(*stream, &whole[*stream as usize].push(piece));
        }
        for stream in Stream::BOTH {
            capture.push(stream, &whole[stream as usize].rest());
        }
        capture
    }

    fn one_stream(keep: u64, pieces: &[&[u8]]) -> Capture {
        capture(keep, &pieces.iter().map(|piece| (Stream::Out, *piece)).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_kept() {
        let check = |keep, pieces: &[&[u8]], text: &str, cut: Option<(usize, u64)>, bytes, lines| {
            let cut = cut.map(|(at, omitted)| Cut { at, omitted });
            let expected = Captured { text: text.into(), cut, bytes, lines, ..Captured::default() };
            assert_eq!(one_stream(keep, pieces).captured(), expected);
        };
        check(8, &[], "", None, 0, 0);
        check(8, &[b"ab", b"cd\n"], "abcd\n", None, 5, 1);
        check(8, &[b"0123456789"], "01236789", Some((4, 2)), 10, 1);
        check(8, &[b"01", b"2345", b"6789", b"ab"], "012389ab", Some((4, 4)), 12, 1);
        check(8, &[b"a\nb\nc\nd\ne\n"], "a\nb\nd\ne\n", Some((4, 2)), 10, 5);
        // A character at each side of the cut: the first one goes, and its place is given to the end.
        check(8, &["abcé0123é89a".as_bytes()], "abcé89a", Some((3, 6)), 14, 1);
        check(8, &["abcé0123é890a".as_bytes()], "abc890a", Some((3, 8)), 15, 1);
        check(16, &[b"ok\n", b"\xC4\xE3\xBA\xC3\n"], "ok\n\u{FFFD}\u{FFFD}\u{FFFD}\n", None, 8, 2);
        check(16, &[b"\xE2", b"\x82", b"\xAC"], "€", None, 3, 1);
        // Bytes that are no characters are cut anywhere, in whichever pieces they come.
        for pieces in [&[b"ab\xE2\xE2\x82\xACabc".as_slice()] as &[&[u8]], &[b"ab\xE2", b"\xE2", b"\x82\xACabc"]] {
            check(6, pieces, "ab\u{FFFD}abc", Some((5, 3)), 9, 1);
        }
    }

    #[test]
    fn a_flood_on_one_stream_leaves_the_other() {
        let flood = "x\n".repeat(1000);
        let pieces = [(Stream::Out, &*flood), (Stream::Err, "why\n"), (Stream::Out, &*flood), (Stream::Err, "end")];
        let captured = capture(40, &pieces.map(|(stream, text)| (stream, text.as_bytes()))).captured();
        assert_eq!(captured.text, format!("{}why\n{}end", "x\n".repeat(10), &"x\n".repeat(7)[1..]));
        assert_eq!((captured.cut, captured.bytes), (Some(Cut { at: 20, omitted: 3967 }), 4007));
        let (out, err) = captured.streams();
        assert_eq!(err, Captured::whole("why\nend"));
        let cut = Some(Cut { at: 20, omitted: 3967 });
        assert_eq!((out.text.len(), out.cut, out.bytes, out.lines), (33, cut, 4000, 2000));
        // Of two floods each keeps as much as the other.
        let both = [(Stream::Out, &*flood), (Stream::Err, &*flood)].map(|(stream, text)| (stream, text.as_bytes()));
        let (out, err) = capture(40, &both).captured().streams();
        assert_eq!((out.text.len(), err.text), (30, "x\n".repeat(5)));
    }

    /// Bytes that often make characters, whole or not.
    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(b"ab\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82\xFF".to_vec());
        prop::collection::vec(known, 0..8)
    }

    fn any_pieces() -> impl Strategy<Value = Vec<(Stream, Vec<u8>)>> {
        prop::collection::vec((prop::sample::select(Stream::BOTH.to_vec()), any_bytes()), 0..16)
    }

    fn lossy(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes: Vec<u8>, keep in 2u64..40, at in prop::collection::vec(0usize..64, 0..5)) {
            let whole = one_stream(keep, &[&bytes]).captured();
            let mut ends: Vec<usize> = at.into_iter().map(|n| n.min(bytes.len())).chain([bytes.len()]).collect();
            ends.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for end in ends {
                pieces.push(&bytes[from..end]);
                from = end;
            }
            let pieces = one_stream(keep, &pieces);
            prop_assert_eq!(&pieces.captured(), &whole);
            prop_assert_eq!(whole.cut.is_none(), Capture::new(keep).has_room(bytes.len()));
            if whole.cut.is_none() {
                prop_assert_eq!(pieces.kept(), bytes.clone());
                prop_assert_eq!(&whole.text, &lossy(&bytes));
            }
            prop_assert!(whole.text.len() as u64 <= keep * 3);
        }

        #[test]
        fn the_streams_hold_what_was_written_to_each(pieces in any_pieces(), keep in 2u64..200) {
            let pieces: Vec<(Stream, &[u8])> = pieces.iter().map(|(stream, piece)| (*stream, &piece[..])).collect();
            let captured = capture(keep, &pieces).captured();
            prop_assert_eq!(captured.bytes, pieces.iter().map(|(_, piece)| piece.len() as u64).sum::<u64>());
            let (out, err) = captured.streams();
            prop_assert_eq!(captured.bytes, out.bytes + err.bytes);
            for (which, stream) in [(Stream::Out, out), (Stream::Err, err)] {
                let of: Vec<&[u8]> = pieces.iter().filter(|(s, _)| *s == which).map(|(_, piece)| *piece).collect();
                let written = of.concat();
                let alone = one_stream(1 << 20, &of).captured();
                prop_assert_eq!((stream.bytes, stream.lines), (alone.bytes, alone.lines));
                match stream.cut {
                    None => prop_assert_eq!(&stream.text, &lossy(&written)),
                    Some(cut) => {
                        prop_assert!(captured.cut.is_some() && cut.omitted <= stream.bytes);
                        let (head, tail) = stream.text.split_at(cut.at);
                        prop_assert!(alone.text.starts_with(head), "{:?} of {:?}", head, alone.text);
                        prop_assert!(alone.text.ends_with(tail), "{:?} of {:?}", tail, alone.text);
                    }
                }
            }
        }

        #[test]
        fn text_comes_back_whole(text in "[a-zé€🙂\n]{0,40}", at in 0usize..100) {
            let at = at.min(text.len());
            let (mut capture, mut whole) = (Capture::new(1000), Whole::default());
            capture.push(Stream::Out, &whole.push(&text.as_bytes()[..at]));
            let first = capture.take().text;
            prop_assert!(text.starts_with(&first));
            capture.push(Stream::Out, &whole.push(&text.as_bytes()[at..]));
            prop_assert_eq!(first + &capture.take().text, text);
        }
    }
}
