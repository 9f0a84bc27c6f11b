//! Finding the text that an Edit means, and the exact byte ranges of the file that change. Pure text work: exact, then with
//! curly quotes taken for straight ones, then with the tags that Claude's API disguises written out. Nothing else is tolerated.
use std::ops::Range;

/// Where `old` stands, and what to put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Byte ranges of the file's text with their new text, ascending.
    pub(crate) splices: Vec<(Range<u64>, String)>,
    /// How often the text stands there, before anything was left out.
    pub(crate) count: usize,
}

/// None: it does not stand there.
pub(crate) fn find(text: &str, old: &str, new: &str) -> Option<Found> {
    find_with(text, old, new, quoted_like)
}

/// As older versions do: quotes of the new text stay as they were given.
pub(crate) fn find_plain(text: &str, old: &str, new: &str) -> Option<Found> {
    find_with(text, old, new, |_, new| new.to_owned())
}

fn find_with(text: &str, old: &str, new: &str, quoted: fn(&str, &str) -> String) -> Option<Found> {
    let view = View::of(text);
    let (old, new) = resolve(&view.text, old, new, quoted)?;
    let hits: Vec<usize> = view.text.match_indices(&old).map(|(at, _)| at).collect();
    // Taking out a line's whole text takes its end too.
    let take_line_end = new.is_empty() && !old.ends_with('\n');
    let splices = hits
        .iter()
        .enumerate()
        .map(|(n, &at)| {
            let mut end = at + old.len();
            // A line end that the next match begins with is that match's.
            if take_line_end && view.text[end..].starts_with('\n') && hits.get(n + 1) != Some(&end) {
                end += 1;
            }
            let range = view.original(at) as u64..view.original(end) as u64;
            (range, view.with_line_ends(&new, at, end))
        })
        .collect();
    Some(Found { splices, count: hits.len() })
}

/// `old` as it stands in `text`, and `new` to match.
fn resolve(text: &str, old: &str, new: &str, quoted: fn(&str, &str) -> String) -> Option<(String, String)> {
    if text.contains(old) {
        return Some((old.to_owned(), new.to_owned()));
    }
    if let Some(actual) = with_any_quotes(text, old) {
        let new = quoted(&actual, new);
        return Some((actual, new));
    }
    let plain = undisguised(old);
    (plain != old && text.contains(&plain)).then(|| (plain, undisguised(new)))
}

fn straight(c: char) -> char {
    match c {
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        c => c,
    }
}

fn with_any_quotes(text: &str, old: &str) -> Option<String> {
    let fold = |t: &str| t.chars().map(straight).collect::<String>();
    let folded = fold(text);
    let at = folded.find(&fold(old))?;
    let skipped = folded[..at].chars().count();
    Some(text.chars().skip(skipped).take(old.chars().count()).collect())
}

/// Straight quotes of a replacement become curly where the replaced text has curly ones of that kind.
fn quoted_like(actual: &str, new: &str) -> String {
    let (double, single) = (actual.contains(['“', '”']), actual.contains(['‘', '’']));
    let all: Vec<char> = new.chars().collect();
    let opens = |at: usize| match at.checked_sub(1).map(|before| all[before]) {
        None => true,
        Some(c) => c.is_whitespace() || "([{—–".contains(c),
    };
    let inside_word =
        |at: usize| at > 0 && all[at - 1].is_alphanumeric() && all.get(at + 1).is_some_and(|c| c.is_alphanumeric());
    all.iter()
        .enumerate()
        .map(|(at, &c)| match c {
            '"' if double => {
                if opens(at) {
                    '“'
                } else {
                    '”'
                }
            }
            '\'' if single => {
                if opens(at) && !inside_word(at) {
                    '‘'
                } else {
                    '’'
                }
            }
            c => c,
        })
        .collect()
}

fn undisguised(text: &str) -> String {
    const DISGUISES: [(&str, &str); 18] = [
        ("<fnr>", "<function_results>"),
        ("<n>", "<name>"),
        ("</n>", "</name>"),
        ("<o>", "<output>"),
        ("</o>", "</output>"),
        ("<e>", "<error>"),
        ("</e>", "</error>"),
        ("<s>", "<system>"),
        ("</s>", "</system>"),
        ("<r>", "<result>"),
        ("</r>", "</result>"),
        ("< META_START >", "<META_START>"),
        ("< META_END >", "<META_END>"),
        ("< EOT >", "<EOT>"),
        ("< META >", "<META>"),
        ("< SOS >", "<SOS>"),
        ("\n\nH:", "\n\nHuman:"),
        ("\n\nA:", "\n\nAssistant:"),
    ];
    DISGUISES.iter().fold(text.to_owned(), |text, (short, long)| text.replace(short, long))
}

/// A text with line feeds only, and the way back.
struct View {
    text: String,
    /// Places in `text` of the line feeds that are CRLF in the file.
    crlf: Vec<usize>,
}

impl View {
    fn of(text: &str) -> View {
        let mut view = View { text: String::with_capacity(text.len()), crlf: Vec::new() };
        let mut rest = text;
        while let Some(at) = rest.find("\r\n") {
            view.text.push_str(&rest[..at]);
            view.crlf.push(view.text.len());
            view.text.push('\n');
            rest = &rest[at + 2..];
        }
        view.text.push_str(rest);
        view
    }

    fn original(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|&end| end < at)
    }

    /// New lines end as the first line of the replaced text did, so that untouched lines keep theirs.
    fn with_line_ends(&self, new: &str, from: usize, to: usize) -> String {
        let line_end = self.text[from..].find('\n').map(|at| from + at);
        let near = line_end.filter(|&at| at < to).or(line_end).or_else(|| self.text[..from].rfind('\n'));
        match near {
            Some(at) if self.crlf.binary_search(&at).is_ok() => new.replace("\r\n", "\n").replace('\n', "\r\n"),
            _ => new.to_owned(),
        }
    }
}

/// Why text that looks the same was not found: the first character that only looks like the one sent, and its line.
pub(crate) fn look_alike(text: &str, old: &str) -> Option<String> {
    if old.contains('\r') && View::of(text).text.contains(&old.replace("\r\n", "\n")) {
        return Some("old_string has CR LF line ends, and line ends are matched as LF".to_owned());
    }
    let fold = |t: &str| -> Vec<(char, char)> {
        t.chars().filter_map(|c| Some((plain_look(c)?, c))).filter(|(look, _)| *look != '\r').collect()
    };
    let (hay, needle) = (fold(text), fold(old));
    if needle.is_empty() || needle.len() > hay.len() {
        return None;
    }
    let matches = |at: &usize| hay[*at..*at + needle.len()].iter().zip(&needle).all(|(a, b)| a.0 == b.0);
    let at = (0..=hay.len() - needle.len()).find(matches)?;
    let line = hay[..at].iter().filter(|(c, _)| *c == '\n').count() + 1;
    let shown = &hay[at..at + needle.len()];
    match shown.iter().zip(&needle).position(|(a, b)| a.1 != b.1) {
        Some(place) => {
            let line = line + shown[..place].iter().filter(|(c, _)| *c == '\n').count();
            let (has, sent) = (shown[place].1, needle[place].1);
            Some(format!("line {line} of the file has {} where old_string has {}", named(has), named(sent)))
        }
        None => Some(format!("near line {line} the file or old_string holds an invisible character (zero width)")),
    }
}

fn named(c: char) -> String {
    let name = match c {
        '\u{a0}' => " (no-break space)",
        '\u{202f}' => " (narrow no-break space)",
        '\u{2011}' => " (non-breaking hyphen)",
        '\u{2013}' => " (en dash)",
        '\u{2014}' => " (em dash)",
        ' ' => " (space)",
        '-' => " (hyphen-minus)",
        _ => "",
    };
    format!("U+{:04X}{name}", u32::from(c))
}

fn plain_look(c: char) -> Option<char> {
    match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => Some('-'),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        c => Some(straight(c)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn apply(text: &str, old: &str, new: &str) -> Option<String> {
        let found = find(text, old, new)?;
        let (mut out, mut at) = (String::new(), 0);
        for (range, new) in &found.splices {
            out.push_str(&text[at..range.start as usize]);
            out.push_str(new);
            at = range.end as usize;
        }
        out.push_str(&text[at..]);
        Some(out)
    }

    fn check(text: &str, old: &str, new: &str, expected: Option<&str>) {
        assert_eq!(apply(text, old, new).as_deref(), expected, "{old:?} in {text:?}");
    }

    /// As measured on the original, but for mixed line ends, where it rewrites the whole file.
    #[test]
    fn edits() {
        check("alpha\nbeta\n", "alpha", "A", Some("A\nbeta\n"));
        check("a\r\nb\r\nc\r\n", "a\nb", "x\ny", Some("x\r\ny\r\nc\r\n"));
        check("one\r\ntwo\nthree\r\nfour\n", "two\nthree", "2\n3", Some("one\r\n2\n3\r\nfour\n"));
        check("foo\r\nbar\r\n", "foo", "f\ng", Some("f\r\ng\r\nbar\r\n"));
        check("x\r\ny\r\n", "x\r\ny", "p\r\nq", None);
        check("say “hi”\n", "say \"hi\"", "say \"yo\"", Some("say “yo”\n"));
        check("it’s ok\n", "it's", "it's not", Some("it’s not ok\n"));
        check("say ‘a’ and “b”\n", "say 'a' and \"b\"", "say 'c' and \"d\" it's", Some("say ‘c’ and “d” it’s\n"));
        check("“one” \"two\"\n", "\"one\" “two”", "z", Some("z\n"));
        check("“d” “d” \"d\"\n", "\"d\"", "w", Some("“d” “d” w\n"));
        check("<name>x</name>\n", "<n>x</n>", "y", Some("y\n"));
        check("one\ntwo\nthree\n", "two", "", Some("one\nthree\n"));
        check("b\na\nb\n", "b\n", "", Some("a\n"));
        check("\nb\nb\nc\n", "\nb", "", Some("c\n"));
        check("a $x\n", "$x", "$& $1 $$", Some("a $& $1 $$\n"));
        check("one", "one\n", "two\n", None);
        check("\ttab\n", "    tab", "x", None);
        check("a\u{a0}b\n", "a b", "c", None);
    }

    #[test]
    fn names_what_only_looks_the_same() {
        let check =
            |text: &str, old: &str, expected: Option<&str>| assert_eq!(look_alike(text, old).as_deref(), expected);
        check(
            "x\na\u{a0}b\n",
            "a b",
            Some("line 2 of the file has U+00A0 (no-break space) where old_string has U+0020 (space)"),
        );
        check(
            "non\u{2011}x\n",
            "non-x",
            Some("line 1 of the file has U+2011 (non-breaking hyphen) where old_string has U+002D (hyphen-minus)"),
        );
        check(
            "a\u{200b}b\n",
            "ab",
            Some("near line 1 the file or old_string holds an invisible character (zero width)"),
        );
        check("x\r\ny\r\n", "x\r\ny", Some("old_string has CR LF line ends, and line ends are matched as LF"));
        check("abc\n", "abd", None);
    }

    proptest! {
        /// Whatever the line ends: outside of the splices nothing changes, and the new text stands there.
        #[test]
        fn only_the_match_changes(lines in prop::collection::vec(("[a-c“\"]{0,3}", any::<bool>()), 1..8), old in "[a-c\"\n]{1,4}", new in "[x-z\n]{0,4}") {
            let text: String = lines.iter().map(|(l, crlf)| format!("{l}{}", if *crlf { "\r\n" } else { "\n" })).collect();
            if let Some(found) = find(&text, &old, &new) {
                let mut at = 0;
                for (range, _) in &found.splices {
                    prop_assert!(range.start >= at && range.end as usize <= text.len());
                    prop_assert!(text.is_char_boundary(range.start as usize) && text.is_char_boundary(range.end as usize));
                    at = range.end;
                }
                prop_assert_eq!(found.count, found.splices.len());
            }
        }
        #[test]
        fn any_text_is_searched(text in "\\PC{0,40}", old in "\\PC{1,6}", new in "\\PC{0,6}") {
            find(&text, &old, &new);
            look_alike(&text, &old);
        }
    }
}
