//! Where an edit belongs in a file. The text is looked for as it stands, then in ever looser ways; each way names pieces of the file
//! that may be meant, and the first piece that stands there once is taken (all its occurrences, if all are wanted). Ways, their order
//! and their limits found by `tests/wire/opencode/edit-*.json`. Pure.
use std::ops::Range;

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum NoMatch {
    #[error(
        "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings."
    )]
    Missing,
    #[error("Found multiple matches for oldString. Provide more surrounding context to make the match unique.")]
    Several,
    #[error(
        "Refusing replacement because the matched span is much larger than oldString. Re-read the file and provide the full exact oldString for the intended replacement."
    )]
    TooMuch,
}

/// A block counts as meant when its lines between the first and the last are this much like those sought, on average.
const ALIKE: f64 = 0.65;
/// Bytes that a match over several lines may have more than what was sought, and how many times as many.
const SPARE: usize = 500;
const TIMES: usize = 4;
/// Characters of a line beyond which its likeness is not worth its time.
const LONG_LINE: usize = 2_000;

/// The byte ranges of `text` to replace, ascending, with their new text. Line ends are those of the file.
pub(super) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Vec<(Range<u64>, String)>, NoMatch> {
    let (old, new) = (in_form(text, old), in_form(text, new));
    let file = Lines::of(text);
    let mut seen = false;
    let ways: [fn(&Lines, &str) -> Vec<String>; 7] =
        [exact, lines_trimmed, anchored, blanks_alike, unescaped, without_border, half_alike];
    for way in ways {
        for piece in way(&file, &old) {
            let Some(first) = text.find(&piece) else { continue };
            seen = true;
            if piece.is_empty() {
                continue;
            }
            if piece.contains('\n') && piece.len() > (old.len() + SPARE).max(old.len() * TIMES) {
                return Err(NoMatch::TooMuch);
            }
            let splice = |at: usize| (at as u64..(at + piece.len()) as u64, new.clone());
            if all {
                return Ok(text.match_indices(&piece).map(|(at, _)| splice(at)).collect());
            }
            if text.rfind(&piece) == Some(first) {
                return Ok(vec![splice(first)]);
            }
        }
    }
    Err(if seen { NoMatch::Several } else { NoMatch::Missing })
}

/// The text with the line ends of the file: CR LF if it has one of them.
fn in_form(file: &str, text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if file.contains("\r\n") { text.replace('\n', "\r\n") } else { text }
}

struct Lines<'a> {
    text: &'a str,
    /// Where each line stands, without its line end. A text that ends with one has an empty last line.
    at: Vec<Range<usize>>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Lines<'a> {
        let mut from = 0;
        let at = text.split('\n').map(|line| {
            let start = from;
            from += line.len() + 1;
            start..start + line.strip_suffix('\r').unwrap_or(line).len()
        });
        Lines { text, at: at.collect() }
    }

    fn line(&self, n: usize) -> &'a str {
        self.at.get(n).and_then(|range| self.text.get(range.clone())).unwrap_or("")
    }

    /// Lines `from` up to and with `to`, with the line feeds between them.
    fn block(&self, from: usize, to: usize) -> &'a str {
        match (self.at.get(from), self.at.get(to)) {
            (Some(first), Some(last)) => self.text.get(first.start..last.end).unwrap_or(""),
            _ => "",
        }
    }

    /// Every run of so many lines.
    fn blocks(&self, count: usize) -> impl Iterator<Item = &'a str> + '_ {
        (0..(self.at.len() + 1).saturating_sub(count)).map(move |from| self.block(from, from + count - 1))
    }

    /// Blocks that begin and end with these lines, each up to the first such end, three lines or more.
    fn between(&self, first: &str, last: &str) -> Vec<(usize, usize)> {
        let starts = (0..self.at.len()).filter(|n| trimmed(self.line(*n)) == first);
        let ends: Vec<usize> = (0..self.at.len()).filter(|n| trimmed(self.line(*n)) == last).collect();
        let end_of = |start: usize| ends.get(ends.partition_point(|end| *end < start + 2)).copied();
        starts.filter_map(|start| Some((start, end_of(start)?))).collect()
    }
}

/// As JavaScript trims.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// What is sought as lines, without an empty last one.
fn sought(old: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = old.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

fn exact(_: &Lines, old: &str) -> Vec<String> {
    vec![old.to_owned()]
}

/// Whole lines that differ in the blanks around them.
fn lines_trimmed(file: &Lines, old: &str) -> Vec<String> {
    let sought: Vec<&str> = sought(old).into_iter().map(trimmed).collect();
    if sought.is_empty() {
        return Vec::new();
    }
    let found = file
        .at
        .len()
        .checked_sub(sought.len())
        .map_or(0..0, |last| 0..last + 1)
        .filter(|from| sought.iter().enumerate().all(|(n, line)| trimmed(file.line(from + n)) == *line));
    found.map(|from| file.block(from, from + sought.len() - 1).to_owned()).collect()
}

/// The block with the same first and last line that is most like what is sought, if it is like enough and about as long.
fn anchored(file: &Lines, old: &str) -> Vec<String> {
    if old.split('\n').count() < 3 {
        return Vec::new();
    }
    let sought = sought(old);
    let (Some(first), Some(last)) = (sought.first(), sought.last()) else { return Vec::new() };
    let mut best: Option<(f64, &str)> = None;
    for (start, end) in file.between(trimmed(first), trimmed(last)) {
        let count = end - start + 1;
        if count.abs_diff(sought.len()) > (sought.len() / 4).max(1) {
            continue;
        }
        let middle = count.min(sought.len()).saturating_sub(2);
        if middle == 0 {
            continue;
        }
        let like: f64 = (1..=middle).map(|n| likeness(trimmed(file.line(start + n)), trimmed(sought[n]))).sum();
        let like = like / middle as f64;
        // Sums of decimal parts: 0.65 may come out a hair below.
        if like + 1e-9 >= ALIKE && best.is_none_or(|(other, _)| like > other) {
            best = Some((like, file.block(start, end)));
        }
    }
    best.map(|(_, block)| block.to_owned()).into_iter().collect()
}

/// 1 for equal lines, 0 for nothing in common (or nothing there).
fn likeness(a: &str, b: &str) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 0.0;
    }
    if a == b {
        return 1.0;
    }
    if a.len().max(b.len()) > LONG_LINE {
        return 0.0;
    }
    strsim::normalized_levenshtein(a, b)
}

/// The same words, whatever blanks are between them: a line, a part of a line, or several lines.
fn blanks_alike(file: &Lines, old: &str) -> Vec<String> {
    let words: Vec<&str> = old.split_whitespace().collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for n in 0..file.at.len() {
        let line = file.line(n);
        if line.split_whitespace().eq(words.iter().copied()) {
            found.push(line.to_owned());
        } else if let Some(range) = words_in(line, &words) {
            found.push(line[range].to_owned());
        }
    }
    let count = old.split('\n').count();
    if count > 1 {
        found.extend(
            file.blocks(count).filter(|block| block.split_whitespace().eq(words.iter().copied())).map(str::to_owned),
        );
    }
    found
}

/// The first place where the words follow each other with blanks between them.
fn words_in(line: &str, words: &[&str]) -> Option<Range<usize>> {
    let (first, rest) = words.split_first()?;
    line.match_indices(first).find_map(|(start, _)| {
        let mut at = start + first.len();
        for word in rest {
            let left = line.get(at..)?;
            let blank = left.len() - left.trim_start().len();
            if blank == 0 || !left[blank..].starts_with(word) {
                return None;
            }
            at += blank + word.len();
        }
        Some(start..at)
    })
}

/// What is sought was escaped once too often.
fn unescaped(file: &Lines, old: &str) -> Vec<String> {
    let plain = without_escapes(old);
    let mut found = Vec::new();
    if plain != old && file.text.contains(&plain) {
        found.push(plain.clone());
    }
    let count = plain.split('\n').count();
    found.extend(file.blocks(count).filter(|block| without_escapes(block) == plain).map(str::to_owned));
    found
}

fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let meant = match (c, chars.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(c @ ('\'' | '"' | '`' | '\\' | '\n' | '$'))) => *c,
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(meant);
    }
    out
}

/// Without the blanks around it.
fn without_border(file: &Lines, old: &str) -> Vec<String> {
    let inner = trimmed(old);
    if inner == old || inner.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if file.text.contains(inner) {
        found.push(inner.to_owned());
    }
    found.extend(file.blocks(old.split('\n').count()).filter(|block| trimmed(block) == inner).map(str::to_owned));
    found
}

/// A block of as many lines with the same first and last one, of whose other lines at least half are the same.
fn half_alike(file: &Lines, old: &str) -> Vec<String> {
    if old.split('\n').count() < 3 {
        return Vec::new();
    }
    let sought = sought(old);
    let (Some(first), Some(last)) = (sought.first(), sought.last()) else { return Vec::new() };
    let half = |(start, end): &(usize, usize)| {
        if end - start + 1 != sought.len() {
            return false;
        }
        let pairs = (1..sought.len() - 1).map(|n| (trimmed(file.line(start + n)), trimmed(sought[n])));
        let (mut all, mut same) = (0usize, 0usize);
        for (a, b) in pairs.filter(|(a, b)| !a.is_empty() || !b.is_empty()) {
            all += 1;
            same += usize::from(a == b);
        }
        same * 2 >= all
    };
    let found = file.between(trimmed(first), trimmed(last)).into_iter().filter(half);
    found.map(|(start, end)| file.block(start, end).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn apply(text: &str, old: &str, new: &str, all: bool) -> Result<String, NoMatch> {
        let (mut out, mut at) = (String::new(), 0);
        for (range, new) in replace(text, old, new, all)? {
            out.push_str(&text[at..range.start as usize]);
            out.push_str(&new);
            at = range.end as usize;
        }
        Ok(out + &text[at..])
    }

    fn check(text: &str, old: &str, new: &str, expected: Result<&str, NoMatch>) {
        assert_eq!(apply(text, old, new, false), expected.map(str::to_owned), "{old:?} in {text:?}");
    }

    /// Each pair measured on the original.
    #[test]
    fn edits_as_measured() {
        let missing = Err(NoMatch::Missing);
        let several = Err(NoMatch::Several);
        check("a\nb\n", "b", "$& $1", Ok("a\n$& $1\n"));
        check("b b b\n", "b", "c", several);
        check("def f():\n    x = 1\n    y = 2\n", "x = 1\ny = 2", "z = 3", Ok("def f():\nz = 3\n"));
        check("def f():\n    x = 1\n    y = 2\n", "x = 1\ny = 2\n", "z = 3\n", Ok("def f():\nz = 3\n\n"));
        check("a  b   c\n", "a b c", "d", Ok("d\n"));
        check("x\ny  \nz\n", "y\nz", "q", Ok("x\nq\n"));
        check("foo(\n  1,\n  2\n)\n", "foo(1, 2)", "bar()", missing);
        check("say \"hi\"\n", "say \\\"hi\\\"", "say yo", Ok("say yo\n"));
        check("one\ntwo\n", "one\\ntwo", "x", Ok("x\n"));
        check("say “hi”\n", "say \"hi\"", "yo", missing);
        check("  start {\n    a;\n    b;\n    c;\n  }\n", "start {\n  a;\n  X;\n  c;\n}", "Z", Ok("Z\n"));
        check("start {\n a1\n a2\n a3\n}\n", "start {\n totally\n other\n lines\n}", "Z", missing);
        check("abc\ndef\n", "\nabc\n", "d\n", Ok("d\n\ndef\n"));
        check("a\n\n\nb\n", "a\n\nb", "x", missing);
        check("x = 1\n  x = 1\n", "    x = 1", "y", Ok("x = 1\ny\n"));
        check("  foo\n    foo\n", "foo\n", "bar\n", Ok("  foo\nbar\n\n"));
        check("a\u{a0}b\n", "a b", "x", Ok("x\n"));
        check("if (a) {\n  b();\n}\nif (a) {\n  c();\n}\n", "if (a) {\nb();\n}", "N", Ok("N\nif (a) {\n  c();\n}\n"));
        check("f(a, b)\n", "f(a,b)", "x", missing);
        check("alpha beta gamma\n", "alpha   beta", "x", Ok("x gamma\n"));
        check("s {\n a\n b\n}\nt {\n a\n b\n}\n", "s {\n a\n c\n}", "Z", Ok("Z\nt {\n a\n b\n}\n"));
        check("s {\n a1\n}\n", "s {\na1\na2\na3\n}", "Z", missing);
        check("s {\n a1\n a2\n}\n", "s {\na1\na2\na3\n}", "Z", Ok("Z\n"));
        check("foo(a,\n    b)\n", "(a,\n b)", "Z", missing);
        check("a.b*c  (d)\n", "b*c (d)", "Z", Ok("a.Z\n"));
        check("a\nb\n", "a b", "Z", missing);
        check("x foo\tbar y\nfoo  bar\n", "foo bar", "Z", Ok("x Z y\nfoo  bar\n"));
        check("x foo y\n", "foo\n", "Z", Ok("x Z y\n"));
        check("a b\n", "   ", "Z", several);
        check("f\n  a\n  b\ng\n  a\n  b\n", "a\nb", "Z", several);
        check("a\u{200b}b\n", "ab", "Z", missing);
        check("a {\n b {\n  x\n }\n y\n}\n", "a {\nb {\nx\n}", "Z", Ok("Z\n y\n}\n"));
        check("s {\n\n}\n", "s {\nx\n}", "Z", missing);
        check("if  (a)  {\n\tb  =  1;\n}\nz\n", "if (a) {\n b = 1;\n}", "Z", Ok("Z\nz\n"));
        check("  if  (a)  {\n\tb  =  1;\n}\nz\n", "if (a) {\n b = 1;\n}\n", "Z\n", missing);
        check("a foo\n  bar b\n", "\n foo\n  bar \n", "Z", Ok("a Z b\n"));
        check("a\\nb\n", "a\nb", "Z", missing);
        check("  x \"q\"\n  y\n", "x \\\"q\\\"\ny", "Z", missing);
        assert_eq!(apply("x  y\nx   y\n", "x y", "Z", true), Ok("Z\nx   y\n".to_owned()));
        assert_eq!(apply("x\n  foo(1)\ny\n  foo(1)\n", "foo(1)  ", "Z", true), Ok("x\nZ\ny\nZ\n".to_owned()));
    }

    #[test]
    fn likeness_has_its_limit() {
        let file = "s {\n abcdefghijklmnopqrst\n}\n";
        let old =
            |same: usize| format!("s {{\n{}{}\n}}", &"abcdefghijklmnopqrst"[..same], &"00000000000000000000"[same..]);
        check(file, &old(12), "Z", Err(NoMatch::Missing));
        check(file, &old(13), "Z", Ok("Z\n"));
        let block =
            |lines: usize| format!("s {{\n{}}}\n", (0..lines).map(|n| format!(" line{n}\n")).collect::<String>());
        let sought = |lines: usize| block(lines).trim_end().replace("\n ", "\n");
        check(&block(8), &sought(6), "Z", Ok("Z\n"));
        check(&block(9), &sought(6), "Z", Err(NoMatch::Missing));
        check(&block(6), &sought(8), "Z", Ok("Z\n"));
        check(&block(5), &sought(8), "Z", Err(NoMatch::Missing));
    }

    #[test]
    fn a_match_is_not_much_larger_than_what_was_sought() {
        let spaced = |n: usize| format!("foo\n{}bar\n", " ".repeat(n));
        check(&spaced(500), "foo\nbar", "Z", Ok("Z\n"));
        check(&spaced(501), "foo\nbar", "Z", Err(NoMatch::TooMuch));
        let long = "x".repeat(200);
        let spaced = |n: usize| format!("{long}\n{}bar\n", " ".repeat(n));
        check(&spaced(606), &format!("{long}\nbar"), "Z", Ok("Z\n"));
        check(&spaced(700), &format!("{long}\nbar"), "Z", Err(NoMatch::TooMuch));
        check(&format!("{}bar\n", " ".repeat(600)), "  bar  ", "Z", Ok("Z\n"));
    }

    #[test]
    fn line_ends_are_the_files() {
        check("a\r\nb\r\nc\r\n", "a\nb", "A\nB", Ok("A\r\nB\r\nc\r\n"));
        check("a\nb\nc\n", "a\r\nb", "A\r\nB", Ok("A\nB\nc\n"));
        check("s {\r\n  foo\r\n}\r\nb\r\n", "s {\nfoo\n}", "p\nq", Ok("p\r\nq\r\nb\r\n"));
    }

    proptest! {
        #[test]
        fn splices_are_in_order_and_on_characters(text in "[ab \n\té\"\\\\{}]{0,30}", old in "[ab \n\té\"\\\\{}]{1,8}", all: bool) {
            if let Ok(found) = replace(&text, &old, "Z", all) {
                let mut at = 0;
                for (range, _) in found {
                    prop_assert!(range.start >= at && range.end > range.start);
                    prop_assert!(text.is_char_boundary(range.start as usize) && text.is_char_boundary(range.end as usize));
                    at = range.end;
                }
            }
        }
        #[test]
        fn any_text_is_searched(text in "\\PC{0,60}", old in "\\PC{1,20}") {
            let _ = replace(&text, &old, "", false);
        }
    }
}
