//! Which part of a text Read shows, and the status line behind it: whole lines within a budget of characters that counts the
//! status too, a fragment of a line that is longer than a page, and how to go on. Pure. Measured by
//! `tests/wire/kimi-code/read-pages.json`.
use serde_json::json;

use super::envelope::{Said, length};

pub(super) const DEFAULT_CHARS: usize = 100_000;
pub(super) const MOST_CHARS: usize = 500_000;

const CARRIAGE_RETURNS: &str = "Mixed or lone carriage-return line endings are shown as \\r. Use exact \\r\\n or \\r escapes in Edit.old_string for those lines.";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ask<'a> {
    /// As the model wrote it.
    pub(super) path: &'a str,
    /// From 1, or below zero from the end.
    pub(super) line: i64,
    pub(super) column: Option<usize>,
    pub(super) lines: Option<usize>,
    pub(super) max_chars: Option<usize>,
    /// `UTF-16 LE` and the like.
    pub(super) encoding: Option<&'static str>,
}

/// A text in the view of Read and Edit, and whether carriage returns stand in it as `\r`.
pub(super) fn view(text: &str) -> (String, bool) {
    let lf = text.replace("\r\n", "\n");
    if !text.contains('\r') {
        return (lf, false);
    }
    let pure = !lf.contains('\r') && text.matches('\n').count() == text.matches("\r\n").count();
    if pure { (lf, false) } else { (text.replace('\r', "\\r"), true) }
}

struct Page<'a> {
    ask: &'a Ask<'a>,
    lines: Vec<&'a str>,
    budget: usize,
    returns: bool,
}

/// The page of `text` (not yet a view) that was asked for.
pub(super) fn page(text: &str, ask: &Ask) -> Said {
    let (text, returns) = view(text);
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let budget = ask.max_chars.unwrap_or(DEFAULT_CHARS).min(MOST_CHARS);
    let page = Page { ask, lines, budget, returns };
    if ask.line < 0 { page.backward() } else { page.forward() }
}

/// Where a page ends, for its status.
#[derive(Default)]
struct End {
    /// Lines shown, and the first one.
    shown: usize,
    first: usize,
    complete: bool,
    /// Line, its columns shown, its length, whether it ends there.
    fragment: Option<(usize, usize, usize, usize)>,
    next: Option<String>,
}

impl Page<'_> {
    fn forward(&self) -> Said {
        let start = usize::try_from(self.ask.line).unwrap_or(1).saturating_sub(1);
        let column = self.ask.column.unwrap_or(0);
        if column > 0 && self.lines.get(start).is_none_or(|line| length(line) < column) {
            return Said::failed(format!(
                "column_offset={column} is past the end of the starting line {}. Read the line from column 0 to inspect its current contents.",
                start + 1
            ));
        }
        let mut lines: Vec<&str> =
            self.lines.iter().skip(start).take(self.ask.lines.unwrap_or(usize::MAX)).copied().collect();
        let whole = lines.first().map_or(0, |line| length(line));
        if let Some(first) = lines.first_mut() {
            match after_column(first, column) {
                Some(rest) => *first = rest,
                None => {
                    return Said::failed(format!(
                        "column_offset={column} splits a Unicode character in line {}. Use a character boundary or the Next Read arguments.",
                        start + 1
                    ));
                }
            }
        }
        let most = self.most(lines.iter().enumerate().map(|(n, line)| (*line, start + n + 1)));
        let rest_of_line = (column > 0).then_some((start + 1, column, whole, whole));
        let all = End { shown: lines.len(), first: start + 1, complete: true, fragment: rest_of_line, next: None };
        if most == lines.len()
            && let Some(said) = self.fits(&lines, start, &all)
        {
            return said;
        }
        for shown in (1..=most.min(lines.len().saturating_sub(1))).rev() {
            let next = self.next(start + shown + 1, None, self.ask.lines.map(|n| n - shown));
            let end = End { shown, first: start + 1, complete: false, fragment: rest_of_line, next: Some(next) };
            if let Some(said) = self.fits(&lines[..shown], start, &end) {
                return said;
            }
        }
        self.fragment(lines.first().copied().unwrap_or_default(), start, column, whole)
    }

    /// As much of one line as fits.
    fn fragment(&self, line: &str, start: usize, column: usize, whole: usize) -> Said {
        let shown = |room: usize| {
            let piece = super::envelope::head(line, room);
            let to = column + length(piece);
            let next = self.next(start + 1, Some(to), self.ask.lines);
            let fragment = Some((start + 1, column, to, whole));
            let end = End { shown: 1, first: start + 1, complete: false, fragment, next: Some(next) };
            (length(piece), self.render(&[piece], start, &end))
        };
        // The status is shortest with nothing shown, so this bounds the room from above.
        let (_, (_, least)) = shown(0);
        for room in (1..=self.budget.saturating_sub(least).min(length(line))).rev() {
            let (taken, (said, size)) = shown(room);
            if taken > 0 && size <= self.budget {
                return said;
            }
        }
        Said::failed(format!(
            "max_chars={} is too small for file text and the Read status. Increase max_chars.",
            self.budget
        ))
    }

    fn backward(&self) -> Said {
        if self.ask.column.is_some() {
            return Said::failed(
                "column_offset is only supported for forward reads. Use a positive line_offset or the forward Next Read arguments.",
            );
        }
        let back = usize::try_from(self.ask.line.unsigned_abs()).unwrap_or(usize::MAX);
        let start = self.lines.len().saturating_sub(back);
        let lines: Vec<&str> =
            self.lines.iter().skip(start).take(self.ask.lines.unwrap_or(usize::MAX)).copied().collect();
        let most = self.most(lines.iter().enumerate().rev().map(|(n, line)| (*line, start + n + 1)));
        for omitted in lines.len() - most..=lines.len() {
            let next = (omitted > 0).then(|| self.next(start + 1, None, Some(omitted)));
            let end = End {
                shown: lines.len() - omitted,
                first: start + omitted + 1,
                complete: omitted == 0,
                fragment: None,
                next,
            };
            if omitted == lines.len() && omitted > 0 {
                let said = Said::failed("No complete line fits. Continue with the forward Next Read.");
                return said.note(self.status(&end));
            }
            if let Some(said) = self.fits(&lines[omitted..], start + omitted, &end) {
                return said;
            }
        }
        Said::default()
    }

    /// How many of these lines, in this order, can fit at most: a status comes on top.
    fn most<'b>(&self, lines: impl Iterator<Item = (&'b str, usize)>) -> usize {
        let mut used = 0;
        lines
            .take_while(|(line, number)| {
                used += length(line) + digits(*number) + 2;
                used <= self.budget
            })
            .count()
    }

    fn fits(&self, lines: &[&str], start: usize, end: &End) -> Option<Said> {
        let (said, size) = self.render(lines, start, end);
        (size <= self.budget).then_some(said)
    }

    /// The page and how long it is in all.
    fn render(&self, lines: &[&str], start: usize, end: &End) -> (Said, usize) {
        let numbered: Vec<String> =
            lines.iter().zip(start + 1..).map(|(line, number)| format!("{number}\t{line}")).collect();
        let said = Said::ok(numbered.join("\n")).note(self.status(end));
        let size = length(&said.answer("Read", &[]).content.text());
        (said, size)
    }

    fn status(&self, end: &End) -> String {
        let mut out = match end.shown {
            0 => "No lines read from file.".to_owned(),
            1 => format!("1 line read from file starting from line {}.", end.first),
            n => format!("{n} lines read from file starting from line {}.", end.first),
        };
        out.push_str(&format!(" Total lines in file: {}.", self.lines.len()));
        out.push_str(if end.complete { " Requested range complete." } else { " Character limit reached." });
        out.push_str(&format!(" Effective max_chars: {}.", self.budget));
        let last = end.first + end.shown;
        let broken_off = matches!(end.fragment, Some((_, _, to, whole)) if to < whole);
        if last > self.lines.len() && !broken_off && (end.shown > 0 || end.complete) {
            out.push_str(" End of file reached.");
        }
        if let Some(asked) = self.ask.max_chars.filter(|asked| *asked > MOST_CHARS) {
            out.push_str(&format!(" Requested max_chars={asked} was capped at the configured maximum {MOST_CHARS}."));
        }
        if self.returns {
            out.push_str(&format!(" {CARRIAGE_RETURNS}"));
        }
        if let Some(encoding) = self.ask.encoding {
            out.push_str(&format!(
                " Detected file encoding: {encoding}; content transcoded to UTF-8 for display. Edit and Write expect UTF-8 — convert the file's encoding first (e.g. `iconv` via Bash)."
            ));
        }
        if let Some((line, from, to, whole)) = end.fragment {
            let state = if to < whole { "continues" } else { "complete" };
            out.push_str(&format!(" Line {line} fragment: columns [{from}, {to}) of {whole}. Line {state}."));
        }
        if let Some(next) = &end.next {
            out.push_str(&format!(" Next Read: {next}"));
        }
        out
    }

    fn next(&self, line: usize, column: Option<usize>, lines: Option<usize>) -> String {
        let mut out = format!("{{\"path\":{},\"line_offset\":{line}", json!(self.ask.path));
        if let Some(column) = column {
            out.push_str(&format!(",\"column_offset\":{column}"));
        }
        if let Some(lines) = lines {
            out.push_str(&format!(",\"n_lines\":{lines}"));
        }
        out + &format!(",\"max_chars\":{}}}", self.budget)
    }
}

/// What follows the first `units` of a line. None: that would split a character.
fn after_column(line: &str, units: usize) -> Option<&str> {
    let head = super::envelope::head(line, units);
    (length(head) == units).then(|| &line[head.len()..])
}

fn digits(n: usize) -> usize {
    n.to_string().len()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn ask(line: i64) -> Ask<'static> {
        Ask { path: "f", line, ..Ask::default() }
    }

    fn check(text: &str, ask: &Ask, expected: &str) {
        assert_eq!(page(text, ask).answer("Read", &[]).content.text(), expected, "{ask:?}");
    }

    #[test]
    fn lines_and_ranges() {
        let a = "alpha\nbeta\ngamma\nbeta\n";
        check(
            a,
            &ask(1),
            "1\talpha\n2\tbeta\n3\tgamma\n4\tbeta\n<system>4 lines read from file starting from line 1. Total lines in file: 4. Requested range complete. Effective max_chars: 100000. End of file reached.</system>",
        );
        check(
            a,
            &Ask { lines: Some(1), ..ask(2) },
            "2\tbeta\n<system>1 line read from file starting from line 2. Total lines in file: 4. Requested range complete. Effective max_chars: 100000.</system>",
        );
        check(
            a,
            &ask(-2),
            "3\tgamma\n4\tbeta\n<system>2 lines read from file starting from line 3. Total lines in file: 4. Requested range complete. Effective max_chars: 100000. End of file reached.</system>",
        );
        check(
            a,
            &ask(9),
            "<system>Tool output is empty.</system>\n<system>No lines read from file. Total lines in file: 4. Requested range complete. Effective max_chars: 100000. End of file reached.</system>",
        );
        check(
            "",
            &ask(1),
            "<system>Tool output is empty.</system>\n<system>No lines read from file. Total lines in file: 0. Requested range complete. Effective max_chars: 100000. End of file reached.</system>",
        );
        check(
            "\n",
            &ask(1),
            "1\t\n<system>1 line read from file starting from line 1. Total lines in file: 1. Requested range complete. Effective max_chars: 100000. End of file reached.</system>",
        );
        check(
            a,
            &Ask { column: Some(2), lines: Some(1), ..ask(1) },
            "1\tpha\n<system>1 line read from file starting from line 1. Total lines in file: 4. Requested range complete. Effective max_chars: 100000. Line 1 fragment: columns [2, 5) of 5. Line complete.</system>",
        );
        check(
            a,
            &Ask { max_chars: Some(10), ..ask(1) },
            "<system>ERROR: Tool execution failed.</system>\nmax_chars=10 is too small for file text and the Read status. Increase max_chars.",
        );
        check(
            "😀\n",
            &Ask { column: Some(1), ..ask(1) },
            "<system>ERROR: Tool execution failed.</system>\ncolumn_offset=1 splits a Unicode character in line 1. Use a character boundary or the Next Read arguments.",
        );
    }

    #[test]
    fn carriage_returns_are_shown_where_they_are_odd() {
        assert_eq!(view("x\r\ny\r\n"), ("x\ny\n".to_owned(), false));
        assert_eq!(view("x\r\ny\n"), ("x\\r\ny\n".to_owned(), true));
        assert_eq!(view("a\rb\n"), ("a\\rb\n".to_owned(), true));
    }

    #[test]
    fn budgets_are_met_to_the_character() {
        let long = format!("{}\nend\n", "L".repeat(3_000));
        let shown = page(&long, &Ask { max_chars: Some(700), ..ask(1) });
        let text = shown.answer("Read", &[]).content.text();
        assert_eq!(length(&text), 700);
        assert!(
            text.contains("Line continues. Next Read: {\"path\":\"f\",\"line_offset\":1,\"column_offset\":"),
            "{text}"
        );
        let many: String = (1..=2_000).map(|n| format!("line {n} {}\n", "w".repeat(90))).collect();
        let first = page(&many, &Ask { path: "big.txt", max_chars: Some(600), ..ask(1) });
        assert!(first.note.as_deref().is_some_and(|note| note.ends_with("Character limit reached. Effective max_chars: 600. Next Read: {\"path\":\"big.txt\",\"line_offset\":4,\"max_chars\":600}")), "{first:?}");
        let last = page(&many, &Ask { path: "big.txt", max_chars: Some(600), ..ask(-20) });
        assert!(last.note.as_deref().is_some_and(|note| note.ends_with("End of file reached. Next Read: {\"path\":\"big.txt\",\"line_offset\":1981,\"n_lines\":17,\"max_chars\":600}")), "{last:?}");
        let none = page(&long, &Ask { max_chars: Some(400), lines: Some(1), ..ask(-2) });
        assert_eq!(
            none.note.as_deref(),
            Some(
                "No lines read from file. Total lines in file: 2. Character limit reached. Effective max_chars: 400. Next Read: {\"path\":\"f\",\"line_offset\":1,\"n_lines\":1,\"max_chars\":400}"
            )
        );
    }

    proptest! {
        #[test]
        fn following_next_read_gives_the_whole_text(lines in prop::collection::vec("[a-z😀é]{0,300}", 1..12), budget in 330usize..900) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (mut read, mut first) = (String::new(), true);
            let mut ask = Ask { max_chars: Some(budget), ..ask(1) };
            for _ in 0..200 {
                let said = page(&text, &ask);
                prop_assert!(!said.failed, "{said:?}");
                prop_assert!(length(&said.answer("Read", &[]).content.text()) <= budget);
                let body: Vec<&str> = said.text.split('\n').map(|line| line.split_once('\t').map_or("", |(_, text)| text)).collect();
                if ask.column.is_none() && !first {
                    read.push('\n');
                }
                first = false;
                read.push_str(&body.join("\n"));
                let note = said.note.clone().unwrap_or_default();
                let Some((_, next)) = note.split_once("Next Read: ") else { break };
                let next: serde_json::Value = serde_json::from_str(next).unwrap();
                ask.line = next["line_offset"].as_i64().unwrap();
                ask.column = next["column_offset"].as_u64().map(|n| n as usize);
            }
            prop_assert_eq!(read + "\n", text);
        }
    }
}
