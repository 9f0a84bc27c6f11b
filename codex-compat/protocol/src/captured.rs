//! Output of a command, bounded: one text in the order of arrival and, where its streams were taken apart, which of it is whose.
use std::{ops::Range, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Output of a command: both streams in the order written, invalid UTF-8 replaced, the middle dropped beyond the limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    pub text: String,
    /// Where in `text` bytes were dropped, and how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Bytes that the command wrote in all.
    pub bytes: u64,
    /// Lines in all, a last one without line feed included.
    pub lines: u64,
    /// Of a task: the file that all its output goes to, from its start on, as it is written (absolute; see
    /// [`TaskInfo::log`](crate::TaskInfo::log)).
    #[serde(default, with = "crate::path_text::option", skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// Which of it came from stderr. None: nothing did, or the two were one stream (without [`Run::apart`](crate::Run::apart),
    /// in a terminal, in a kept shell).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Box<Apart>>,
}

/// The gap in what is kept. Where streams were taken apart it is the first one: behind it each of them goes on from where its
/// own last bytes begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub at: usize,
    pub omitted: u64,
}

/// The two streams of one [`Captured`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// What of the text is stderr's: beginnings and ends in bytes, rising, none of them empty. The rest is stdout's.
    pub runs: Vec<(usize, usize)>,
    pub out: Share,
    pub err: Share,
}

/// What one stream has of the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Bytes written to it in all.
    pub bytes: u64,
    /// Lines in all, a last one without line feed included.
    pub lines: u64,
    /// Bytes that are not there any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Captured {
    /// Output that was never cut.
    pub fn whole(text: impl Into<String>) -> Captured {
        let text = text.into();
        let lines = text.lines().count() as u64;
        Captured { bytes: text.len() as u64, lines, text, ..Captured::default() }
    }

    /// Output that was never cut, in pieces as they came; `true`: from stderr.
    pub fn whole_apart<'a>(pieces: impl IntoIterator<Item = (bool, &'a str)>) -> Captured {
        let (mut text, mut runs) = (String::new(), Vec::new());
        let mut streams = [String::new(), String::new()];
        for (err, piece) in pieces {
            if err && !piece.is_empty() {
                runs.push((text.len(), text.len() + piece.len()));
            }
            text.push_str(piece);
            streams[usize::from(err)].push_str(piece);
        }
        let [out, err] = streams.map(|text| {
            let Captured { bytes, lines, .. } = Captured::whole(text);
            Share { bytes, lines, omitted: 0 }
        });
        let apart = (err.bytes > 0).then(|| Box::new(Apart { runs, out, err }));
        Captured { apart, ..Captured::whole(text) }
    }

    /// stdout and stderr, each as if it had been alone. All of it is stdout where the two were not apart. The log is of both, and
    /// of neither of them.
    pub fn streams(&self) -> (Captured, Captured) {
        let Some(apart) = &self.apart else {
            return (Captured { log: None, ..self.clone() }, Captured::default());
        };
        let mut streams = [Stream::default(), Stream::default()];
        let mut from = 0;
        for (start, end) in &apart.runs {
            streams[0].add(self, from..*start);
            streams[1].add(self, *start..*end);
            from = *end;
        }
        streams[0].add(self, from..self.text.len());
        let [out, err] = streams;
        (out.captured(apart.out), err.captured(apart.err))
    }

    /// As kept in session files: at most `limit` bytes, first and last half.
    pub fn shrunk(&self, limit: usize) -> Captured {
        if self.text.len() <= limit {
            return self.clone();
        }
        let (head, tail) = match self.cut {
            Some(cut) => (self.text.get(..cut.at).unwrap_or(&self.text), self.text.get(cut.at..).unwrap_or("")),
            None => (self.text.as_str(), self.text.as_str()),
        };
        let head = &head[..floor_char(head, limit / 2)];
        let tail = &tail[ceil_char(tail, tail.len().saturating_sub(limit / 2))..];
        let dropped = (self.text.len() - head.len() - tail.len()) as u64;
        let omitted = dropped + self.cut.map_or(0, |c| c.omitted);
        let gap = head.len()..self.text.len() - tail.len();
        let apart = self.apart.as_ref().map(|apart| Box::new(apart.without(gap)));
        let text = format!("{head}{tail}");
        let (bytes, lines, log) = (self.bytes, self.lines, self.log.clone());
        Captured { cut: Some(Cut { at: head.len(), omitted }), text, bytes, lines, log, apart }
    }
}

impl Apart {
    /// After a part of the text was taken out.
    fn without(&self, gap: Range<usize>) -> Apart {
        let mut apart = Apart { runs: Vec::new(), ..self.clone() };
        let mut of_err = 0;
        for (start, end) in &self.runs {
            let before = (*start.min(&gap.start), *end.min(&gap.start));
            let behind = (*start.max(&gap.end), *end.max(&gap.end));
            let kept = before.1.saturating_sub(before.0) + behind.1.saturating_sub(behind.0);
            of_err += end.saturating_sub(*start).saturating_sub(kept);
            let moved = (behind.0 - gap.len(), behind.1 - gap.len());
            apart.runs.extend([before, moved].into_iter().filter(|(start, end)| start < end));
        }
        apart.err.omitted += of_err as u64;
        apart.out.omitted += gap.len().saturating_sub(of_err) as u64;
        apart
    }
}

/// One of the two on its way out of the whole.
#[derive(Default)]
struct Stream {
    text: String,
    /// Bytes of `text` that stood before the gap.
    before: usize,
}

impl Stream {
    /// Ranges that a damaged file has made up are empty.
    fn add(&mut self, whole: &Captured, range: Range<usize>) {
        let gap = whole.cut.map_or(usize::MAX, |cut| cut.at);
        let Some(piece) = whole.text.get(range.clone()) else { return };
        self.before += range.end.min(gap).saturating_sub(range.start);
        self.text.push_str(piece);
    }

    fn captured(self, share: Share) -> Captured {
        let at = floor_char(&self.text, self.before);
        let cut = (share.omitted > 0).then_some(Cut { at, omitted: share.omitted });
        Captured { text: self.text, cut, bytes: share.bytes, lines: share.lines, ..Captured::default() }
    }
}

/// The largest character boundary at or below `at`.
pub fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The smallest character boundary at or above `at`.
pub fn ceil_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn old_files_are_read_and_new_ones_are_no_longer() {
        let old = r#"{"text":"a\n","bytes":2,"lines":1}"#;
        assert_eq!(serde_json::from_str::<Captured>(old).unwrap(), Captured::whole("a\n"));
        assert_eq!(serde_json::to_string(&Captured::whole("a\n")).unwrap(), old);
        assert_eq!(serde_json::to_string(&Captured::whole_apart([(false, "a\n")])).unwrap(), old);
        let apart = Captured::whole_apart([(false, "a\n"), (true, "b"), (false, "c\n")]);
        let new = r#"{"text":"a\nbc\n","bytes":5,"lines":2,"apart":{"runs":[[2,3]],"out":{"bytes":4,"lines":2},"err":{"bytes":1,"lines":1}}}"#;
        assert_eq!(serde_json::to_string(&apart).unwrap(), new);
        assert_eq!(serde_json::from_str::<Captured>(new).unwrap(), apart);
    }

    #[test]
    fn runs_that_do_not_fit_the_text_do_no_harm() {
        for runs in [vec![(3, 1)], vec![(0, 9)], vec![(2, 3)], vec![(1, 2), (0, 1)], vec![(usize::MAX, usize::MAX)]] {
            let apart = Some(Box::new(Apart { runs, ..Apart::default() }));
            let captured = Captured { apart, ..Captured::whole("aéb") };
            for limit in [0, 2, 3] {
                captured.shrunk(limit).streams();
            }
            captured.streams();
        }
    }

    proptest! {
        #[test]
        fn each_stream_has_its_own(pieces in prop::collection::vec((any::<bool>(), "[aé\n]{0,6}"), 0..12), limit in 0usize..40) {
            let all = Captured::whole_apart(pieces.iter().map(|(err, piece)| (*err, piece.as_str())));
            let written = |which| -> String {
                pieces.iter().filter(|(err, _)| *err == which).map(|(_, piece)| piece.as_str()).collect()
            };
            let (out, err) = (written(false), written(true));
            prop_assert_eq!(all.streams(), (Captured::whole(&*out), Captured::whole(&*err)));
            let (short_out, short_err) = all.shrunk(limit).streams();
            for (short, whole) in [(short_out, out), (short_err, err)] {
                let at = short.cut.map_or(short.text.len(), |cut| cut.at);
                let omitted = short.cut.map_or(0, |cut| cut.omitted);
                prop_assert!(whole.starts_with(&short.text[..at]) && whole.ends_with(&short.text[at..]));
                prop_assert_eq!(short.text.len() as u64 + omitted, whole.len() as u64);
                prop_assert_eq!(short.bytes, whole.len() as u64);
            }
        }
    }
}
