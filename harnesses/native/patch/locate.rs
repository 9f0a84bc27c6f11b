//! Where the chunks of a patch belong in a file's text, as byte ranges with their new text. What is not named keeps its
//! bytes: line ends, a missing last line feed, look-alikes in context lines. Pure.
use std::ops::Range;

use super::parse::{Chunk, Line};

/// A chunk that has no place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotFound {
    Context(String),
    /// The old lines, joined by line feeds.
    Lines(String),
}

/// The splices that carry out `chunks` on `text`, ascending and disjoint.
pub(crate) fn splices(text: &str, chunks: &[Chunk]) -> Result<Vec<(Range<u64>, String)>, NotFound> {
    let file = FileLines::of(text);
    let mut found = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        if let Some(context) = chunk.context {
            let at = file.find(&[context], from, false).ok_or_else(|| NotFound::Context(context.to_owned()))?;
            from = at + 1;
        }
        let old: Vec<&str> = chunk.lines.iter().filter_map(|line| line.old()).collect();
        if old.is_empty() {
            // Only new lines: they go to the end, whatever the context said, as upstream does it.
            file.splice(file.lines.len(), &chunk.lines, &mut found);
            continue;
        }
        let mut lines = chunk.lines.clone();
        from = loop {
            let old_now: Vec<&str> = lines.iter().filter_map(|line| line.old()).collect();
            if let Some(at) = file.find(&old_now, from, chunk.at_end) {
                file.splice(at, &lines, &mut found);
                break at + old_now.len();
            }
            // A blank last line may stand for the end of the text before it.
            match without_last_blank(&lines) {
                Some(shorter) => lines = shorter,
                None => return Err(NotFound::Lines(old.join("\n"))),
            }
        };
    }
    Ok(file.in_order(found))
}

/// The lines without their last old one, where that is blank; a blank new line at the end goes with it. A blank context
/// line with new lines behind it becomes new.
fn without_last_blank<'a>(lines: &[Line<'a>]) -> Option<Vec<Line<'a>>> {
    let last = lines.iter().rposition(|line| line.old().is_some())?;
    let mut shorter = lines.to_vec();
    match lines[last] {
        Line::Keep("") if last + 1 < lines.len() => shorter[last] = Line::Add(""),
        Line::Keep("") | Line::Remove("") => {
            shorter.remove(last);
        }
        _ => return None,
    }
    if last + 1 < lines.len() && lines.last() == Some(&Line::Add("")) {
        shorter.pop();
    }
    Some(shorter)
}

/// A text as lines that know their place and their ending.
struct FileLines<'a> {
    text: &'a str,
    lines: Vec<FileLine>,
}

#[derive(Clone, Copy)]
struct FileLine {
    start: usize,
    /// Of the content; the ending follows.
    end: usize,
    next: usize,
}

impl<'a> FileLines<'a> {
    fn of(text: &'a str) -> FileLines<'a> {
        let bytes = text.as_bytes();
        let mut lines = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < bytes.len() {
            let ending = match (bytes[at], bytes.get(at + 1)) {
                (b'\r', Some(b'\n')) => 2,
                (b'\n' | b'\r', _) => 1,
                _ => 0,
            };
            if ending == 0 {
                at += 1;
                continue;
            }
            lines.push(FileLine { start, end: at, next: at + ending });
            at += ending;
            start = at;
        }
        if start < bytes.len() {
            lines.push(FileLine { start, end: bytes.len(), next: bytes.len() });
        }
        FileLines { text, lines }
    }

    fn content(&self, index: usize) -> &'a str {
        self.lines.get(index).and_then(|line| self.text.get(line.start..line.end)).unwrap_or("")
    }

    /// The ending of new lines: that of the first line, as upstream does it also in files that mix them.
    fn ending(&self) -> &'a str {
        match self.lines.first().and_then(|line| self.text.get(line.end..line.next)) {
            Some(ending) if !ending.is_empty() => ending,
            _ => "\n",
        }
    }

    fn lacks_last_ending(&self) -> bool {
        self.lines.last().is_some_and(|line| line.end == line.next)
    }

    /// Index of the first line at or after `from` where `old` stands; with `at_end` the last lines only. Each pass forgives
    /// more than the one before and sees the whole file first.
    fn find(&self, old: &[&str], from: usize, at_end: bool) -> Option<usize> {
        let last = self.lines.len().checked_sub(old.len())?;
        let first = if at_end { last.max(from) } else { from };
        let passes: [fn(&str, &str) -> bool; 4] = [
            |a, b| a == b,
            |a, b| a.trim_end() == b.trim_end(),
            |a, b| a.trim() == b.trim(),
            |a, b| plain(a).eq(plain(b)),
        ];
        passes.iter().find_map(|same| {
            (first..=last).find(|&at| old.iter().enumerate().all(|(i, line)| same(self.content(at + i), line)))
        })
    }

    /// Adds what `lines` change, the first old one being line `at` of the file.
    fn splice(&self, at: usize, lines: &[Line], out: &mut Vec<(Range<usize>, String)>) {
        let start_of = |index: usize| self.lines.get(index).map_or(self.text.len(), |line| line.start);
        let mut index = at;
        for run in lines.chunk_by(|a, b| is_kept(a) == is_kept(b)) {
            let old = run.iter().filter(|line| line.old().is_some()).count();
            if !run.first().is_some_and(is_kept) {
                let mut new = String::new();
                for line in run {
                    if let Line::Add(text) = line {
                        new.push_str(text);
                        new.push_str(self.ending());
                    }
                }
                out.push((start_of(index)..start_of(index + old), new));
            }
            index += old;
        }
    }

    /// Ascending, those that touch made one; at the same place as the patch has them.
    fn in_order(&self, mut found: Vec<(Range<usize>, String)>) -> Vec<(Range<u64>, String)> {
        found.sort_by_key(|(range, _)| range.start);
        let end = self.text.len();
        let mut out: Vec<(Range<u64>, String)> = Vec::new();
        for (range, new) in found {
            let (start, stop) = (range.start as u64, range.end as u64);
            match out.last_mut() {
                Some((last, text)) if last.end == start => {
                    last.end = stop;
                    text.push_str(&new);
                }
                // New lines behind a last one that lacks its ending.
                _ if range.start == end && self.lacks_last_ending() => {
                    out.push((start..stop, format!("{}{new}", self.ending())));
                }
                _ => out.push((start..stop, new)),
            }
        }
        out
    }
}

fn is_kept(line: &Line) -> bool {
    matches!(line, Line::Keep(_))
}

/// The characters of a line with look-alikes as ASCII and invisible ones left out, trimmed.
fn plain(line: &str) -> impl Iterator<Item = char> {
    let ascii = |c: char| -> &'static str {
        match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
            '\u{2018}'..='\u{201B}' => "'",
            '\u{201C}'..='\u{201F}' => "\"",
            '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => " ",
            '\u{2026}' => "...",
            _ => "",
        }
    };
    line.trim()
        .chars()
        .filter(|c| !matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}'))
        .flat_map(move |c| {
            let known = ascii(c);
            known.chars().chain(known.is_empty().then_some(c))
        })
}
