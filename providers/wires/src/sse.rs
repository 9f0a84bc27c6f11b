//! Event streams by the WHATWG rules: LF, CRLF and lone CR end a line, comments and unknown fields are skipped, several
//! `data` lines make one event, a BOM opens the stream at most. An event that lies whole in the pushed bytes is handed
//! on without a copy; nothing is decoded before its line is whole, so no character is cut.
//!
//! Beyond the rules: a last event without its blank line counts at the end of the stream (real servers send it), and a
//! body that is no event stream at all (JSON, an HTML page) is handed over whole at the end.

use crate::bounds::MOST_EVENT;

/// Bytes to events.
#[derive(Debug, Default)]
pub struct Sse {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    /// The event so far, where it does not lie whole in the pushed bytes.
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// A CR ended the pushed bytes: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line has been read, and the first with content.
    past_bom: bool,
    begun: bool,
    /// The body is no event stream and is kept whole, in `data`.
    whole: bool,
    /// A line or an event was longer than is taken: nothing more is read.
    overflows: bool,
}

/// One event. `data` is as sent, not yet checked to be UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    pub name: &'a [u8],
    pub data: &'a [u8],
    /// Not an event: the whole body, which is no event stream.
    pub whole: bool,
}

/// What of the event in progress lies in the pushed bytes.
#[derive(Default)]
struct Here<'a> {
    name: Option<&'a [u8]>,
    data: Option<&'a [u8]>,
}

enum Line<'a> {
    Data(&'a [u8]),
    Name(&'a [u8]),
    Blank,
    Skipped,
}

impl Sse {
    pub fn new() -> Sse {
        Sse::default()
    }

    /// A line or an event was longer than 64 MiB. It and all that follows is void.
    pub fn overflows(&self) -> bool {
        self.overflows
    }

    /// Hands each event that `bytes` completes to `each`.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Event)) {
        if bytes.is_empty() || self.overflows {
            return;
        }
        if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
            bytes = &bytes[1..];
        }
        let mut here = Here::default();
        while !self.whole
            && let Some(end) = memchr::memchr2(b'\n', b'\r', bytes)
        {
            let line = &bytes[..end];
            let mut next = end + 1;
            if bytes[end] == b'\r' {
                match bytes.get(next) {
                    Some(b'\n') => next += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if !self.has_room(line) {
                return self.overflow();
            } else if self.line.is_empty() {
                self.near(line, &mut here, &mut each);
            } else {
                self.line.extend_from_slice(line);
                self.far(&mut here, &mut each);
            }
            bytes = &bytes[next..];
        }
        if !self.has_room(bytes) {
            return self.overflow();
        } else if self.whole {
            self.data.extend_from_slice(bytes);
        } else {
            self.line.extend_from_slice(bytes);
        }
        self.spill(&mut here);
    }

    /// The event so far, the line so far and more of it.
    fn has_room(&self, more: &[u8]) -> bool {
        self.data.len() + self.line.len() + more.len() <= MOST_EVENT
    }

    fn overflow(&mut self) {
        *self = Sse { overflows: true, ..Sse::default() };
    }

    /// The stream is over: what stands without its line end or blank line counts.
    pub fn end(&mut self, mut each: impl FnMut(Event)) {
        let mut here = Here::default();
        if self.overflows {
            return;
        }
        if !self.line.is_empty() && !self.whole {
            self.far(&mut here, &mut each);
        }
        if self.whole {
            let data = std::mem::take(&mut self.data);
            each(Event { name: b"", data: &data, whole: true });
        } else {
            self.dispatch(&mut here, &mut each);
        }
    }

    /// A line that lies in the pushed bytes.
    fn near<'b>(&mut self, line: &'b [u8], here: &mut Here<'b>, each: &mut impl FnMut(Event)) {
        match self.sort(line) {
            Line::Data(data) if !self.has_data && here.data.is_none() => here.data = Some(data),
            Line::Data(data) => {
                self.spill(here);
                self.add_data(data);
            }
            Line::Name(name) => here.name = Some(name),
            Line::Blank => self.dispatch(here, each),
            Line::Skipped => {}
        }
    }

    /// The line in `self.line`, which was pushed in pieces.
    fn far(&mut self, here: &mut Here, each: &mut impl FnMut(Event)) {
        let mut line = std::mem::take(&mut self.line);
        match self.sort(&line) {
            // Most events have one line: it is taken over, not copied.
            Line::Data(data) if !self.has_data && here.data.is_none() => {
                let lead = line.len() - data.len();
                line.drain(..lead);
                std::mem::swap(&mut self.data, &mut line);
                self.has_data = true;
            }
            Line::Data(data) => {
                self.spill(here);
                self.add_data(data);
            }
            Line::Name(name) => {
                here.name = None;
                self.name.clear();
                self.name.extend_from_slice(name);
            }
            Line::Blank => self.dispatch(here, each),
            Line::Skipped => {}
        }
        line.clear();
        self.line = line;
    }

    fn sort<'l>(&mut self, mut line: &'l [u8]) -> Line<'l> {
        if !std::mem::replace(&mut self.past_bom, true) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return Line::Blank;
        }
        if !std::mem::replace(&mut self.begun, true)
            && matches!(line.trim_ascii_start().first(), Some(b'{' | b'[' | b'<'))
        {
            self.whole = true;
            self.data.extend_from_slice(line);
            self.data.push(b'\n');
            return Line::Skipped;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => Line::Data(value),
            b"event" => Line::Name(value),
            _ => Line::Skipped,
        }
    }

    fn add_data(&mut self, data: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
    }

    /// Keeps what lies in the pushed bytes for later.
    fn spill(&mut self, here: &mut Here) {
        if let Some(data) = here.data.take() {
            self.add_data(data);
        }
        if let Some(name) = here.name.take() {
            self.name.clear();
            self.name.extend_from_slice(name);
        }
    }

    fn dispatch(&mut self, here: &mut Here, each: &mut impl FnMut(Event)) {
        let data = if self.has_data { Some(&self.data[..]) } else { here.data.take() };
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            each(Event { name: here.name.unwrap_or(&self.name), data, whole: false });
        }
        here.name = None;
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn events<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut out = Vec::new();
        let mut each = |event: Event| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            out.push((text(event.name), text(event.data)));
        };
        let mut sse = Sse::new();
        for chunk in chunks {
            sse.push(chunk, &mut each);
        }
        sse.end(&mut each);
        out
    }

    #[track_caller]
    fn check(stream: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(n, d)| (n.to_string(), d.to_string())).collect();
        assert_eq!(events([stream.as_bytes()]), expected);
        assert_eq!(events(stream.as_bytes().chunks(1)), expected, "byte by byte");
    }

    #[test]
    fn grammar() {
        check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
        check("data: a\r\n\r\ndata:b\r\n\r\n", &[("", "a"), ("", "b")]);
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check(": keep-alive\n\nevent: x\nid: 7\n: c\ndata: a\nretry\n\n", &[("x", "a")]);
        check("event: x\n\ndata: a\n\n", &[("", "a")]);
        check("data: a\ndata:\ndata:  b\n\n", &[("", "a\n\n b")]);
        check("data: a\u{2028}\u{85}b\n\n", &[("", "a\u{2028}\u{85}b")]);
        check("data\n\n", &[]);
        check("data: a\n\nevent: y\ndata: b", &[("", "a"), ("y", "b")]);
        check("data: a\r", &[("", "a")]);
        check("", &[]);
    }

    #[test]
    fn a_body_that_is_no_event_stream_comes_whole() {
        check("{\"a\":\n1}", &[("", "{\"a\":\n1}")]);
        check("\n <html>\n\ndata: x", &[("", " <html>\n\ndata: x")]);
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(
            lines in proptest::collection::vec("(data|event|id|:|\\{|x)?:? ?[a-z渐🙂]{0,3}(\n|\r|\r\n)", 0..12),
            cuts in proptest::collection::vec(1usize..9, 1..20),
        ) {
            let stream = lines.concat();
            let (mut rest, mut chunks) = (stream.as_bytes(), Vec::new());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(events(chunks), events([stream.as_bytes()]));
        }
    }
}
