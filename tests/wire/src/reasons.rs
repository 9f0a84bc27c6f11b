//! Known differences of a harness, from `tests/wire/HARNESS/reasons.toml`: which, of what group, and why.
use std::{collections::BTreeSet, fmt::Write, fs, io, path::Path};

use serde::Deserialize;

use crate::{compare::Comparison, normal::PLACEHOLDERS, seen};

/// A word of the first column may stand in `group`.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    (
        OWN_WORDS,
        "only guidance prose differs; the first sentence or line and the tags are the same to the letter, or `lines` names what differs",
    ),
    ("added", "a note that the original lacks"),
    ("left out", "belongs to the product, not to how the model works"),
    ("missing", "not there yet"),
    ("server refuses", "what the original sends is refused by servers, and with it the whole conversation"),
    (
        "programs",
        "commands meet the programs and the environment of the machine, not those that the original brings along",
    ),
    ("files", "links, pipes, line ends, byte-order marks and encodings are treated otherwise"),
    ("search", "what is found, and in which order, is the search library's"),
    ("wire", "arguments are read, or results written, as the wire has it"),
    ("on purpose", "anything else that is meant; the row says why"),
    (CHANCE, "differs from run to run, in the original too; such a row need not differ"),
];
pub(crate) const OWN_WORDS: &str = "own words";
const CHANCE: &str = "chance";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reasons {
    #[serde(default, rename = "difference")]
    rows: Vec<Row>,
    /// Which entries of each row have been met.
    #[serde(skip)]
    met: BTreeSet<(usize, String)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Name of the case, or `*` for all.
    case: String,
    /// Numbers of results from 1: `"2, 5-7"`.
    #[serde(default)]
    results: String,
    /// Other than results, as [`Comparison::what`] names them.
    #[serde(default)]
    what: Vec<String>,
    pub(crate) group: String,
    pub(crate) why: String,
    /// For `own words`: which lines of the original's text may differ, `"3"` or `"3-9"`.
    lines: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    Explained {
        group: String,
        why: String,
    },
    /// With a note where a row for it is not good enough.
    Unexplained(Option<String>),
}

impl Reasons {
    /// # Errors
    /// One line that names the file and what is wrong in it. A file that is not there has no rows.
    pub(crate) fn read(path: &Path) -> Result<Reasons, String> {
        match fs::read_to_string(path) {
            Ok(text) => Reasons::parse(&text).map_err(|why| format!("{}: {why}", path.display())),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Reasons::default()),
            Err(why) => Err(format!("{}: {why}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Reasons, String> {
        let reasons: Reasons = toml::from_str(text).map_err(|why| why.to_string())?;
        for row in &reasons.rows {
            row.check()?;
        }
        Ok(reasons)
    }

    pub(crate) fn judge(&mut self, case: &str, one: &Comparison) -> Verdict {
        if one.same() {
            return Verdict::Same;
        }
        let found = self.rows.iter().enumerate().find(|(_, row)| row.covers(case, &one.what));
        let Some((at, row)) = found else { return Verdict::Unexplained(None) };
        self.met.insert((at, one.what.clone()));
        if row.group.is_empty() || row.why.is_empty() {
            return Verdict::Unexplained(Some("its row has no group or reason yet".to_owned()));
        }
        if row.group == OWN_WORDS
            && let Err(why) = only_words(one, row.lines.as_deref())
        {
            return Verdict::Unexplained(Some(format!("listed as {OWN_WORDS}, but {why}")));
        }
        Verdict::Explained { group: row.group.clone(), why: row.why.clone() }
    }

    /// Entries that were not met although their case was played, `chance` aside. `all`: whether every case was.
    pub(crate) fn stale(&self, played: &BTreeSet<String>, all: bool) -> Vec<String> {
        let mut stale = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let judged = if row.case == "*" { all } else { all || played.contains(&row.case) };
            if !judged || row.group == CHANCE {
                continue;
            }
            let unmet = row.entries().into_iter().filter(|what| !self.met.contains(&(at, what.clone())));
            stale.extend(unmet.map(|what| format!("{} {what}: {}", row.case, row.why)));
        }
        stale
    }

    /// Rows to be filled in, for the end of the file.
    pub(crate) fn blank_rows(&self, unexplained: &[(String, String)]) -> String {
        let mut text = String::new();
        let mut written = BTreeSet::new();
        for (case, what) in unexplained {
            // What is the same in all cases of a harness gets one row.
            let case = if what.starts_with("tools:") || what.starts_with("prompt:") { "*" } else { case.as_str() };
            if self.rows.iter().any(|row| row.covers(case, what)) || !written.insert((case, what)) {
                continue;
            }
            let entry = match what.strip_prefix("result:") {
                Some(number) => format!("results = \"{number}\""),
                None => format!("what = [\"{what}\"]"),
            };
            let _ = write!(text, "\n[[difference]]\ncase = \"{case}\"\n{entry}\ngroup = \"\"\nwhy = \"\"\n");
        }
        text
    }
}

impl Row {
    fn check(&self) -> Result<(), String> {
        let wrong = |why: String| Err(format!("row of case {}: {why}", self.case));
        if !self.group.is_empty() && !GROUPS.iter().any(|(word, _)| *word == self.group) {
            let known: Vec<&str> = GROUPS.iter().map(|(word, _)| *word).collect();
            return wrong(format!("no group `{}`; known: {}", self.group, known.join(", ")));
        }
        if self.group == OWN_WORDS && !self.what.is_empty() {
            return wrong(format!("`{OWN_WORDS}` is for results only"));
        }
        let Some(numbers) = numbers(&self.results) else {
            return wrong(format!("`results` is not like \"2, 5-7\": {}", self.results));
        };
        if numbers.is_empty() && self.what.is_empty() {
            return wrong("neither `results` nor `what` names anything".to_owned());
        }
        match &self.lines {
            Some(lines) if span(lines).is_none() => wrong(format!("`lines` is not like \"3\" or \"3-9\": {lines}")),
            _ => Ok(()),
        }
    }

    fn entries(&self) -> Vec<String> {
        let results = numbers(&self.results).unwrap_or_default().into_iter().map(|n| format!("result:{n}"));
        results.chain(self.what.iter().cloned()).collect()
    }

    fn covers(&self, case: &str, what: &str) -> bool {
        (self.case == "*" || self.case == case) && self.entries().iter().any(|entry| entry == what)
    }
}

/// `"2, 5-7"` as numbers; None where it cannot be read.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let spans: Option<Vec<_>> = parts.map(span).collect();
    Some(spans?.into_iter().flat_map(|(first, last)| first..=last).collect())
}

fn span(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1 <= first && first <= last).then_some((first, last))
}

/// Whether no more than guidance differs: the first sentence (or line) is the same, or everything outside of `lines`
/// (of the original's text) is; and the same tags come in the same order.
fn only_words(one: &Comparison, lines: Option<&str>) -> Result<(), String> {
    if tags(&one.original) != tags(&one.ours) {
        return Err("the tags differ".to_owned());
    }
    let Some((first, last)) = lines.and_then(span) else {
        let end = first_sentence(&one.original);
        let said_more = end < one.original.len() && end < one.ours.len();
        let same = said_more && one.original.get(..end) == one.ours.get(..end);
        return if same { Ok(()) } else { Err("the first sentence differs, and no `lines` are named".to_owned()) };
    };
    let (a, b): (Vec<&str>, Vec<&str>) = (one.original.lines().collect(), one.ours.lines().collect());
    let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let room = a.len().min(b.len()) - before;
    let after = a.iter().rev().zip(b.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let (from, to) = (before + 1, a.len() - after);
    if first <= from && to <= last { Ok(()) } else { Err(format!("lines {from} to {to} differ")) }
}

/// Those of the text itself; a path or an id may be named once more.
fn tags(text: &str) -> Vec<&str> {
    seen::tags(text).filter(|tag| !PLACEHOLDERS.contains(tag)).collect()
}

/// Where the first sentence or line ends, in bytes.
fn first_sentence(text: &str) -> usize {
    let line = text.find('\n').unwrap_or(text.len());
    let stops = [". ", "! ", "? ", ": "].iter().filter_map(|stop| text[..line].find(stop).map(|at| at + 1));
    stops.min().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn one(what: &str, original: &str, ours: &str) -> Comparison {
        Comparison { what: what.into(), original: original.into(), ours: ours.into() }
    }

    fn rows(text: &str) -> Reasons {
        Reasons::parse(text).unwrap()
    }

    fn played(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    const ROWS: &str = r#"
        [[difference]]
        case = "edit"
        results = "2, 4-5"
        group = "files"
        why = "links are followed"
        [[difference]]
        case = "*"
        what = ["tools:names"]
        group = "left out"
        why = "goals"
        [[difference]]
        case = "bash"
        results = "1"
        group = "chance"
        why = "order"
        [[difference]]
        case = "bash"
        results = "2"
        group = ""
        why = ""
    "#;

    #[test]
    fn a_difference_is_explained_by_its_row() {
        let mut reasons = rows(ROWS);
        let explained = |group: &str, why: &str| Verdict::Explained { group: group.into(), why: why.into() };
        let mut check = |case: &str, what: &str, expected: Verdict| {
            assert_eq!(reasons.judge(case, &one(what, "a", "b")), expected);
        };
        check("edit", "result:4", explained("files", "links are followed"));
        check("edit", "result:3", Verdict::Unexplained(None));
        check("read", "result:4", Verdict::Unexplained(None));
        check("read", "tools:names", explained("left out", "goals"));
        check("bash", "result:1", explained("chance", "order"));
        check("bash", "result:2", Verdict::Unexplained(Some("its row has no group or reason yet".into())));
        assert_eq!(reasons.judge("edit", &one("result:2", "a", "a")), Verdict::Same);
        assert_eq!(
            reasons.stale(&played(&["edit"]), false),
            ["edit result:2: links are followed", "edit result:5: links are followed"]
        );
    }

    #[test]
    fn rows_that_no_longer_differ_are_stale() {
        let reasons = rows(ROWS);
        assert_eq!(reasons.stale(&played(&["read"]), false), Vec::<String>::new());
        assert_eq!(reasons.stale(&played(&["bash"]), false), ["bash result:2: "]);
        let all = [
            "edit result:2: links are followed",
            "edit result:4: links are followed",
            "edit result:5: links are followed",
            "* tools:names: goals",
            "bash result:2: ",
        ];
        assert_eq!(reasons.stale(&played(&[]), true), all);
    }

    #[test]
    fn own_words_are_held_to_the_first_sentence_or_the_lines_named() {
        let check = |original: &str, ours: &str, lines: Option<&str>, expected: Result<(), &str>| {
            assert_eq!(only_words(&one("result:1", original, ours), lines), expected.map_err(String::from));
        };
        let unlike = Err("the first sentence differs, and no `lines` are named");
        check("No such file. Try again.", "No such file. Look for it.", None, Ok(()));
        check("No such file\nTry again.", "No such file\nLook.", None, Ok(()));
        check("No such file. Try again.", "Not there. Try again.", None, unlike);
        check("No such file. Try again.", "No such file.", None, unlike);
        check("One line", "Another line", None, unlike);
        check("same, but shorter", "same, but shorter and more", None, unlike);
        check("a. <b>x</b> y", "a. x y", None, Err("the tags differ"));
        check("a. In <WS>/b", "a. See <WS>/b, head <WS>/b", None, Ok(()));
        check("a\nb\nc\nd", "a\nB\nC\nd", Some("2-3"), Ok(()));
        check("a\nb\nc\nd", "a\nB\nC\nd", Some("2"), Err("lines 2 to 3 differ"));
        check("a\nb", "a\nb\nc", Some("3"), Ok(()));
    }

    #[test]
    fn rows_that_mean_nothing_are_refused() {
        let check = |row: &str, expected: &str| {
            let text = format!("[[difference]]\ncase = \"c\"\nwhy = \"w\"\n{row}");
            assert_eq!(Reasons::parse(&text).unwrap_err(), format!("row of case c: {expected}"));
        };
        check("group = \"files\"", "neither `results` nor `what` names anything");
        check("group = \"files\"\nresults = \"3-2\"", "`results` is not like \"2, 5-7\": 3-2");
        check("group = \"own words\"\nwhat = [\"prompt:system\"]", "`own words` is for results only");
        check("group = \"own words\"\nresults = \"1\"\nlines = \"x\"", "`lines` is not like \"3\" or \"3-9\": x");
        let text = "[[difference]]\ncase = \"c\"\nwhy = \"w\"\nresults = \"1\"\ngroup = \"mistakes\"";
        assert!(Reasons::parse(text).unwrap_err().contains("no group `mistakes`; known: own words, added"));
    }

    #[test]
    fn blank_rows_are_written_once() {
        let unexplained = [("bash", "result:2"), ("edit", "result:3"), ("edit", "tools:Read"), ("bash", "tools:Read")];
        let unexplained = unexplained.map(|(case, what)| (case.to_owned(), what.to_owned()));
        assert_eq!(
            rows(ROWS).blank_rows(&unexplained),
            "\n[[difference]]\ncase = \"edit\"\nresults = \"3\"\ngroup = \"\"\nwhy = \"\"\n\
             \n[[difference]]\ncase = \"*\"\nwhat = [\"tools:Read\"]\ngroup = \"\"\nwhy = \"\"\n"
        );
    }
}
