//! Finds old_string in a file: as it stands; else with quotes, dashes and blanks of other kinds taken for the plain ones; else line
//! by line without the blanks at line ends. Measured by `edit-matching.json`. Pure text work on line feeds alone.
use std::ops::Range;

/// A file's text with line feeds alone, and where the carriage returns stood.
pub(super) struct Text {
    pub(super) lf: String,
    /// For each carriage return that was taken out: the place in `lf` of the line feed behind it.
    returns: Vec<usize>,
}

impl Text {
    pub(super) fn of(text: &str) -> Text {
        let mut lf = String::with_capacity(text.len());
        let mut returns = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("\r\n") {
            lf.push_str(&rest[..at]);
            returns.push(lf.len());
            rest = &rest[at + 1..];
        }
        lf.push_str(rest);
        Text { lf, returns }
    }

    /// Bytes of the file that a range of `lf` stands for.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<u64> {
        let place = |at: usize| (at + self.returns.partition_point(|place| *place < at)) as u64;
        place(range.start)..place(range.end)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Ascending and disjoint; never empty.
    pub(super) places: Vec<Range<usize>>,
    pub(super) new: String,
}

pub(super) fn find(text: &str, old: &str, new: &str) -> Option<Found> {
    if old.is_empty() {
        return None;
    }
    let found =
        |places: Vec<Range<usize>>, new: &str| (!places.is_empty()).then(|| Found { places, new: new.to_owned() });
    found(exact(text, old), new).or_else(|| found(alike(text, old), new)).or_else(|| {
        // A line feed at the end of old_string stands for the end of its last line, and so does one of new_string.
        let (old, new) = match old.strip_suffix('\n') {
            Some(old) => (old, new.strip_suffix('\n').unwrap_or(new)),
            None => (old, new),
        };
        found(by_lines(text, old), new)
    })
}

fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    text.match_indices(old).map(|(at, found)| at..at + found.len()).collect()
}

/// Character by character, each as its plain form.
fn alike(text: &str, old: &str) -> Vec<Range<usize>> {
    let plain: Vec<(usize, char)> = text.char_indices().map(|(at, c)| (at, plain_char(c))).collect();
    let old: Vec<char> = old.chars().map(plain_char).collect();
    let mut places = Vec::new();
    let mut from = 0;
    while from + old.len() <= plain.len() {
        if plain[from..from + old.len()].iter().map(|(_, c)| c).eq(&old) {
            let end = plain.get(from + old.len()).map_or(text.len(), |(at, _)| *at);
            places.push(plain[from].0..end);
            from += old.len();
        } else {
            from += 1;
        }
    }
    places
}

fn by_lines(text: &str, old: &str) -> Vec<Range<usize>> {
    let canonical = |line: &str| line.trim_end().chars().map(plain_char).collect::<String>();
    let mut at = 0;
    let lines: Vec<(Range<usize>, String)> = text
        .split('\n')
        .map(|line| {
            let range = at..at + line.len();
            at += line.len() + 1;
            (range, canonical(line))
        })
        .collect();
    let old: Vec<String> = old.split('\n').map(canonical).collect();
    let mut places = Vec::new();
    let mut from = 0;
    if old.iter().all(String::is_empty) {
        return places;
    }
    while from + old.len() <= lines.len() {
        let window = &lines[from..from + old.len()];
        if window.iter().map(|(_, line)| line).eq(&old) {
            places.push(window[0].0.start..window[old.len() - 1].0.end);
            from += old.len();
        } else {
            from += 1;
        }
    }
    places
}

fn plain_char(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, old: &str, new: &str, expected: Option<(usize, &str)>) {
        let found = find(text, old, new).map(|found| {
            let mut after = text.to_owned();
            for place in found.places.iter().rev() {
                after.replace_range(place.clone(), &found.new);
            }
            (found.places.len(), after)
        });
        assert_eq!(found.as_ref().map(|(n, after)| (*n, after.as_str())), expected, "{text:?} {old:?}");
    }

    #[test]
    fn as_measured() {
        check("aa\naa\n", "aa", "bb", Some((2, "bb\nbb\n")));
        check("a – b — c\n", "a - b", "A - B", Some((1, "A - B — c\n")));
        check("x\u{a0}y\n", "x y", "X Y", Some((1, "X Y\n")));
        check("it’s ‘fine’ “ok”\n", "it's 'fine'", "it's 'good'", Some((1, "it's 'good' “ok”\n")));
        check("it's \"fine\"\n", "it’s “fine”", "it’s “good”", Some((1, "it’s “good”\n")));
        check("one  \ntwo\t\nthree\n", "one\ntwo\nthree", "1\n2\n3", Some((1, "1\n2\n3\n")));
        check("L\nline2\nline3\n", "L\nline2  \n", "x", Some((1, "x\nline3\n")));
        check("a\nb", "b\n", "c\n", Some((1, "a\nc")));
        check("a \nb\na\nb\n", "a\nb", "c\nd", Some((1, "a \nb\nc\nd\n")));
        check("foo bar baz\nqux\n", "baz \nqux", "B\nQ", None);
        check("  if z:\n    w\n", " if z: \n    w", "if q", None);
        check("wait…\n", "wait...", "go", None);
        check("LINE1\n", "  LINE1 ", "x", None);
    }

    #[test]
    fn ranges_of_files_with_carriage_returns() {
        let file = "one\r\ntwo\r\nthree";
        let text = Text::of(file);
        let place = find(&text.lf, "one\ntwo", "x").unwrap().places[0].clone();
        let range = text.original(&place);
        assert_eq!(&file[range.start as usize..range.end as usize], "one\r\ntwo");
        let place = find(&text.lf, "two\n", "x").unwrap().places[0].clone();
        let range = text.original(&place);
        assert_eq!(&file[range.start as usize..range.end as usize], "two\r\n");
    }

    proptest! {
        #[test]
        fn places_are_in_order_and_on_characters(text in "[ab –\n\\-]{0,30}", old in "[ab \n\\-]{1,5}") {
            if let Some(found) = find(&text, &old, "x") {
                let mut end = 0;
                for place in &found.places {
                    prop_assert!(place.start >= end && text.get(place.clone()).is_some());
                    end = place.end;
                }
            }
        }
        #[test]
        fn line_ends_are_found_again(text in "[a\r\n]{0,20}") {
            let read = Text::of(&text);
            prop_assert_eq!(&read.lf, &text.replace("\r\n", "\n"));
            let whole = read.original(&(0..read.lf.len()));
            prop_assert_eq!(whole, 0..text.len() as u64);
        }
    }
}
