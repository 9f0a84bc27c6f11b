//! Where edits belong in a file. Line ends are matched as LF. Texts are looked for as they stand; if one is not there, all are looked
//! for with look-alikes made equal: compatibility forms, blanks at line ends, quotes, dashes, odd blanks. Only what was matched is
//! replaced (the original writes the whole file in its plainer form then). Pure.
use std::ops::Range;

use unicode_normalization::{UnicodeNormalization as _, char::canonical_combining_class};

use super::args::Edit;

/// The byte ranges of `text` to replace, ascending, with their new text in the file's line ends. Err: what the model is told.
pub(super) fn replace(path: &str, text: &str, edits: &[Edit]) -> Result<Vec<(Range<u64>, String)>, String> {
    let one = edits.len() == 1;
    let edits: Vec<(String, String)> = edits.iter().map(|edit| (lf(&edit.old), lf(&edit.new))).collect();
    if edits.is_empty() {
        return Err("Edit tool input is invalid. edits must contain at least one replacement.".to_owned());
    }
    if let Some(n) = edits.iter().position(|(old, _)| old.is_empty()) {
        return Err(match one {
            true => format!("oldText must not be empty in {path}."),
            false => format!("edits[{n}].oldText must not be empty in {path}."),
        });
    }
    let (exact, plain) = (View::of(text, false), View::of(text, true));
    let loose = edits.iter().any(|(old, _)| !exact.text.contains(old.as_str()));
    let view = if loose { &plain } else { &exact };
    let mut found: Vec<(usize, Range<usize>, &str)> = Vec::new();
    for (n, (old, new)) in edits.iter().enumerate() {
        let plain_old = View::of(old, true).text;
        let sought = if loose { &plain_old } else { old };
        let Some(at) = view.text.find(sought.as_str()).filter(|_| !sought.is_empty()) else {
            return Err(match one {
                true => format!(
                    "Could not find the exact text in {path}. The old text must match exactly including all whitespace and newlines."
                ),
                false => format!(
                    "Could not find edits[{n}] in {path}. The oldText must match exactly including all whitespace and newlines."
                ),
            });
        };
        let times = if plain_old.is_empty() { 1 } else { plain.text.matches(plain_old.as_str()).count() };
        if times > 1 {
            return Err(match one {
                true => format!(
                    "Found {times} occurrences of the text in {path}. The text must be unique. Please provide more context to make it unique."
                ),
                false => format!(
                    "Found {times} occurrences of edits[{n}] in {path}. Each oldText must be unique. Please provide more context to make it unique."
                ),
            });
        }
        found.push((n, at..at + sought.len(), new));
    }
    found.sort_by_key(|(_, range, _)| range.start);
    if let Some(pair) = found.windows(2).find(|pair| pair[0].1.end > pair[1].1.start) {
        let (a, b) = (pair[0].0, pair[1].0);
        return Err(format!(
            "edits[{a}] and edits[{b}] overlap in {path}. Merge them into one edit or target disjoint regions."
        ));
    }
    if found.iter().all(|(_, range, new)| view.text.get(range.clone()) == Some(*new)) {
        return Err(match one {
            true => format!(
                "No changes made to {path}. The replacement produced identical content. This might indicate an issue with special characters or the text not existing as expected."
            ),
            false => format!("No changes made to {path}. The replacements produced identical content."),
        });
    }
    let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    let splice = |(_, range, new): (usize, Range<usize>, &str)| {
        let new = if crlf { new.replace('\n', "\r\n") } else { new.to_owned() };
        let source = view.source(range);
        (source.start as u64..source.end as u64, new)
    };
    Ok(found.into_iter().map(splice).collect())
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Blanks that look like one.
pub(super) fn is_odd_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// A text in another form, and where in it each piece came from.
struct View {
    text: String,
    /// For each byte of `text`, the bytes of the source that it stands for.
    from: Vec<Range<usize>>,
}

impl View {
    /// With LF line ends; `plain`: look-alikes made equal.
    fn of(source: &str, plain: bool) -> View {
        let mut view = View { text: String::with_capacity(source.len()), from: Vec::with_capacity(source.len()) };
        // Where the blanks begin that end the line so far.
        let mut blanks = 0;
        let mut chars = source.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == '\r' || c == '\n' {
                let crlf = c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some();
                if plain {
                    view.text.truncate(blanks);
                    view.from.truncate(blanks);
                }
                view.push("\n", at..at + 1 + usize::from(crlf));
                blanks = view.text.len();
                continue;
            }
            if !plain {
                let mut buffer = [0; 4];
                view.push(c.encode_utf8(&mut buffer), at..at + c.len_utf8());
                continue;
            }
            // A character with the marks on it has one form together.
            let mut end = at + c.len_utf8();
            while let Some((_, mark)) = chars.next_if(|(_, next)| canonical_combining_class(*next) != 0) {
                end += mark.len_utf8();
            }
            let form: String = source.get(at..end).unwrap_or("").nfkc().map(look).collect();
            view.push(&form, at..end);
            if !form.trim().is_empty() {
                blanks = view.text.len();
            }
        }
        if plain {
            view.text.truncate(blanks);
            view.from.truncate(blanks);
        }
        view
    }

    fn push(&mut self, text: &str, from: Range<usize>) {
        self.text.push_str(text);
        self.from.resize(self.text.len(), from);
    }

    fn source(&self, range: Range<usize>) -> Range<usize> {
        let (first, last) = (self.from.get(range.start), self.from.get(range.end.saturating_sub(1)));
        match (first, last) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
}

fn look(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        c if is_odd_blank(c) => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.into(), new: new.into() }
    }

    fn apply(text: &str, edits: &[Edit]) -> Result<String, String> {
        let (mut out, mut at) = (String::new(), 0);
        for (range, new) in replace("f", text, edits)? {
            out.push_str(&text[at..range.start as usize]);
            out.push_str(&new);
            at = range.end as usize;
        }
        Ok(out + &text[at..])
    }

    fn check(text: &str, edits: &[(&str, &str)], expected: Result<&str, &str>) {
        let edits: Vec<Edit> = edits.iter().map(|(old, new)| edit(old, new)).collect();
        assert_eq!(apply(text, &edits), expected.map(str::to_owned).map_err(str::to_owned), "{edits:?} in {text:?}");
    }

    /// As measured, but for what stands beside a loose match, which stays as it is.
    #[test]
    fn edits() {
        const MISSING: Result<&str, &str> = Err(
            "Could not find the exact text in f. The old text must match exactly including all whitespace and newlines.",
        );
        check("a\nb\n", &[("a", "1"), ("b", "2")], Ok("1\n2\n"));
        check("a\r\nb\r\nc\r\n", &[("a\nb", "A\nB")], Ok("A\r\nB\r\nc\r\n"));
        check("a\r\nb\r\nc\r\n", &[("c\r\n", "C\r\nD\r\n")], Ok("a\r\nb\r\nC\r\nD\r\n"));
        check("say “hi” it’s\n", &[("say \"hi\" it's", "yo")], Ok("yo\n"));
        check("a–b — c\n", &[("a-b - c", "x")], Ok("x\n"));
        check("x  \ny\t\nz\n", &[("x\ny\nz", "w")], Ok("w\n"));
        check("a\u{a0}b\n", &[("a b", "x")], Ok("x\n"));
        check("ﬁn ①\n", &[("fin 1", "x")], Ok("x\n"));
        check("cafe\u{301}\n", &[("café", "Q")], Ok("Q\n"));
        check("a\u{2009}b\u{3000}c\n", &[("a b c", "Q")], Ok("Q\n"));
        check("  x  \ny  z\n", &[("x\ny  z", "Q")], Ok("  Q\n"));
        check("keep “this”  \nsay “hi”\n", &[("say \"hi\"", "say yo")], Ok("keep “this”  \nsay yo\n"));
        check("aaa\n", &[("aa", "b")], Ok("ba\n"));
        check("  foo\n    bar\n", &[("foo\nbar", "x")], MISSING);
        check("a\u{200b}b\n", &[("ab", "x")], MISSING);
        check(
            "say “x”\nsay \"x\"\n",
            &[("say \"x\"", "Z")],
            Err(
                "Found 2 occurrences of the text in f. The text must be unique. Please provide more context to make it unique.",
            ),
        );
        check(
            "a b b\n",
            &[("a", "x"), ("b", "y")],
            Err(
                "Found 2 occurrences of edits[1] in f. Each oldText must be unique. Please provide more context to make it unique.",
            ),
        );
        check(
            "a\n",
            &[("a", "x"), ("n", "y")],
            Err("Could not find edits[1] in f. The oldText must match exactly including all whitespace and newlines."),
        );
        check(
            "1\nb\n3\n",
            &[("1\nb", "x"), ("b\n3", "y")],
            Err("edits[0] and edits[1] overlap in f. Merge them into one edit or target disjoint regions."),
        );
        check(
            "1\n",
            &[("1", "1")],
            Err(
                "No changes made to f. The replacement produced identical content. This might indicate an issue with special characters or the text not existing as expected.",
            ),
        );
        check(
            "a\nb\n",
            &[("a", "a"), ("b", "b")],
            Err("No changes made to f. The replacements produced identical content."),
        );
        check("a\nb\n", &[("a", "c"), ("b", "b")], Ok("c\nb\n"));
        check("a\n", &[("", "x")], Err("oldText must not be empty in f."));
        check("a\n", &[("a", "x"), ("", "y")], Err("edits[1].oldText must not be empty in f."));
        check("a\n", &[], Err("Edit tool input is invalid. edits must contain at least one replacement."));
    }

    proptest! {
        #[test]
        fn splices_are_in_order_and_on_characters(text in "[ab“”é\u{301}\u{a0}ﬁ \r\n-]{0,24}", old in "[ab\"é fi\n-]{1,4}") {
            if let Ok(found) = replace("f", &text, &[edit(&old, "Z")]) {
                for (range, _) in found {
                    prop_assert!(range.start < range.end && range.end as usize <= text.len());
                    prop_assert!(text.is_char_boundary(range.start as usize) && text.is_char_boundary(range.end as usize));
                }
            }
        }
        #[test]
        fn a_view_has_a_source_for_each_byte(text in "\\PC{0,40}|[a“ \r\n\t]{0,20}", plain: bool) {
            let view = View::of(&text, plain);
            prop_assert_eq!(view.text.len(), view.from.len());
        }
    }
}
