//! A file as Python's text mode and `expandtabs` show it: line ends are line feeds, tabs are spaces up to the next eighth column.
//! Beside it stands where each piece comes from, so that an edit replaces the bytes behind it and nothing else.
use std::ops::Range;

const TAB: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Where lengths differ, ascending.
    odd: Vec<Odd>,
}

/// `shown` bytes at `at` stand for `raw` bytes at `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Odd {
    at: usize,
    shown: usize,
    from: usize,
    raw: usize,
}

/// Bytes of the file behind a piece of the shown text. A tab that is cut leaves spaces on either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) range: Range<u64>,
    pub(super) left: usize,
    pub(super) right: usize,
}

impl Shown {
    pub(super) fn of(raw: &str) -> Shown {
        let (mut text, mut odd, mut column) = (String::with_capacity(raw.len()), Vec::new(), 0);
        let mut chars = raw.char_indices().peekable();
        while let Some((from, c)) = chars.next() {
            match c {
                '\t' => {
                    let shown = TAB - column % TAB;
                    odd.push(Odd { at: text.len(), shown, from, raw: 1 });
                    text.extend(std::iter::repeat_n(' ', shown));
                    column += shown;
                }
                '\r' if chars.next_if(|(_, next)| *next == '\n').is_some() => {
                    odd.push(Odd { at: text.len(), shown: 1, from, raw: 2 });
                    text.push('\n');
                    column = 0;
                }
                '\r' | '\n' => {
                    text.push('\n');
                    column = 0;
                }
                c => {
                    text.push(c);
                    column += 1;
                }
            }
        }
        Shown { text, odd }
    }

    /// Bytes behind `range` of the shown text, which must lie on its character boundaries.
    pub(super) fn behind(&self, range: Range<usize>) -> Behind {
        let (start, left, _) = self.place(range.start);
        let (end, inside, rest) = self.place(range.end);
        // The end within a tab: the whole tab goes, and what of it was not meant comes back as spaces.
        let (end, right) = if inside > 0 { (end + 1, rest) } else { (end, 0) };
        Behind { range: start as u64..end as u64, left, right }
    }

    /// The byte of the file, and where `at` is inside of a tab: spaces of it before and behind.
    fn place(&self, at: usize) -> (usize, usize, usize) {
        let after = self.odd.partition_point(|odd| odd.at <= at);
        let Some(odd) = after.checked_sub(1).and_then(|n| self.odd.get(n)) else { return (at, 0, 0) };
        match at - odd.at {
            0 => (odd.from, 0, 0),
            inside if inside < odd.shown => (odd.from, inside, odd.shown - inside),
            past => (odd.from + odd.raw + (past - odd.shown), 0, 0),
        }
    }
}

/// Text of the model's, as it will be shown.
pub(super) fn expanded(text: &str) -> String {
    Shown::of(text).text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(raw: &str, text: &str) {
        assert_eq!(Shown::of(raw).text, text, "{raw:?}");
    }

    #[test]
    fn tabs_reach_to_the_next_eighth_column_and_lines_end_in_line_feeds() {
        check("a\tb", "a       b");
        check("\tx\n1234567\t8", "        x\n1234567 8");
        check("é\t|", "é       |");
        check("a\r\nb\rc\n", "a\nb\nc\n");
    }

    #[test]
    fn a_cut_tab_leaves_spaces() {
        let shown = Shown::of("a\tb\r\nc");
        assert_eq!(shown.behind(8..9), Behind { range: 2..3, left: 0, right: 0 });
        assert_eq!(shown.behind(4..9), Behind { range: 1..3, left: 3, right: 0 });
        assert_eq!(shown.behind(0..4), Behind { range: 0..2, left: 0, right: 4 });
        assert_eq!(shown.behind(9..10), Behind { range: 3..5, left: 0, right: 0 });
        assert_eq!(shown.behind(10..11), Behind { range: 5..6, left: 0, right: 0 });
    }

    proptest! {
        #[test]
        fn what_is_put_back_shows_the_same(raw in "(a|\t|é| |\r\n|\n){0,24}", a in 0usize..40, b in 0usize..40) {
            let shown = Shown::of(&raw);
            let floor = |at: usize| (0..=at.min(shown.text.len())).rev().find(|at| shown.text.is_char_boundary(*at)).unwrap();
            let (a, b) = (floor(a.min(b)), floor(a.max(b)));
            let behind = shown.behind(a..b);
            let (from, to) = (behind.range.start as usize, behind.range.end as usize);
            let spaces = |n| " ".repeat(n);
            let mended = format!("{}{}{}{}{}", &raw[..from], spaces(behind.left), &shown.text[a..b], spaces(behind.right), &raw[to..]);
            prop_assert_eq!(Shown::of(&mended).text, shown.text);
        }
    }
}
