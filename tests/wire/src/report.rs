//! What came out: counts per harness, the table of docs/wire.md, the differing texts, and all of it as JSON.
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde_json::{Value, json};
use similar::TextDiff;

use crate::{
    compare::Comparison,
    reasons::{OWN_WORDS, Reasons, Verdict},
};

/// A case that was played, or why it could not be.
pub(crate) struct Played {
    pub(crate) case: String,
    pub(crate) seconds: f64,
    pub(crate) outcome: Result<Vec<Judged>, String>,
}

pub(crate) struct Judged {
    pub(crate) one: Comparison,
    pub(crate) verdict: Verdict,
    /// An earlier case of the harness has compared the very same (tools, requests); it is not counted again.
    repeated: bool,
}

/// A harness while its cases are played.
pub(crate) struct Harness {
    pub(crate) folder: &'static str,
    pub(crate) original: &'static str,
    pub(crate) version: String,
    pub(crate) reasons: Reasons,
    /// Whether all of its cases are played, so that rows for all of them can be judged.
    pub(crate) complete: bool,
    pub(crate) played: Vec<Played>,
    known: BTreeSet<(String, String, String)>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    cases: usize,
    comparisons: usize,
    same: usize,
    results: [usize; 2],
    groups: BTreeMap<String, usize>,
    pub(crate) unexplained: usize,
    pub(crate) failed: usize,
    pub(crate) stale: usize,
}

impl Harness {
    pub(crate) fn new(
        folder: &'static str,
        original: &'static str,
        version: String,
        reasons: Reasons,
        complete: bool,
    ) -> Harness {
        Harness { folder, original, version, reasons, complete, played: Vec::new(), known: BTreeSet::new() }
    }

    pub(crate) fn add(&mut self, case: &str, seconds: f64, outcome: Result<Vec<Comparison>, String>) -> &Played {
        let outcome = outcome.map(|all| all.into_iter().map(|one| self.judge(case, one)).collect());
        let at = self.played.partition_point(|played| played.case.as_str() < case);
        self.played.insert(at, Played { case: case.to_owned(), seconds, outcome });
        &self.played[at]
    }

    fn judge(&mut self, case: &str, one: Comparison) -> Judged {
        let verdict = self.reasons.judge(case, &one);
        let key = || (one.what.clone(), one.original.clone(), one.ours.clone());
        let repeated = one.of_the_harness() && !self.known.insert(key());
        Judged { one, verdict, repeated }
    }

    pub(crate) fn stale(&self) -> Vec<String> {
        let ran = self.played.iter().filter(|played| played.outcome.is_ok());
        let ran: BTreeSet<String> = ran.map(|played| played.case.clone()).collect();
        // A case that could not be played has met none of its rows.
        let complete = self.complete && ran.len() == self.played.len();
        self.reasons.stale(&ran, complete)
    }

    /// Case and `what` of everything unexplained.
    pub(crate) fn unexplained(&self) -> Vec<(String, String)> {
        let open = |played: &Played| -> Vec<(String, String)> {
            let judged = played.outcome.iter().flatten();
            let open = judged.filter(|judged| matches!(judged.verdict, Verdict::Unexplained(_)));
            open.map(|judged| (played.case.clone(), judged.one.what.clone())).collect()
        };
        self.played.iter().flat_map(open).collect()
    }

    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally { cases: self.played.len(), stale: self.stale().len(), ..Tally::default() };
        for played in &self.played {
            match &played.outcome {
                Ok(judged) => judged.iter().filter(|judged| !judged.repeated).for_each(|judged| tally.count(judged)),
                Err(_) => tally.failed += 1,
            }
        }
        tally
    }
}

impl Tally {
    fn count(&mut self, judged: &Judged) {
        self.comparisons += 1;
        let same = judged.verdict == Verdict::Same;
        if judged.one.what.starts_with("result:") {
            self.results[0] += usize::from(same);
            self.results[1] += 1;
        }
        match &judged.verdict {
            Verdict::Same => self.same += 1,
            Verdict::Explained { group, .. } => *self.groups.entry(group.clone()).or_default() += 1,
            Verdict::Unexplained(_) => self.unexplained += 1,
        }
    }

    fn own_words(&self) -> usize {
        self.groups.get(OWN_WORDS).copied().unwrap_or_default()
    }

    fn others(&self) -> String {
        let others = self.groups.iter().filter(|(group, _)| *group != OWN_WORDS);
        let (mut sum, mut named) = (0, Vec::new());
        for (group, count) in others {
            sum += count;
            named.push(format!("{count} {group}"));
        }
        if named.is_empty() { "0".to_owned() } else { format!("{sum}: {}", named.join(", ")) }
    }

    fn percent(&self, part: usize) -> String {
        if self.comparisons == 0 {
            return "-".to_owned();
        }
        format!("{:.1}", 100.0 * part as f64 / self.comparisons as f64)
    }

    pub(crate) fn good(&self) -> bool {
        self.unexplained == 0 && self.failed == 0 && self.stale == 0
    }
}

const HEAD: &str = "\
| harness | original | cases | comparisons | same | of these results | own words | other | unexplained | same % | same or own words % |
|---|---|---|---|---|---|---|---|---|---|---|
";

/// As it stands in docs/wire.md.
pub(crate) fn table(harnesses: &[&Harness]) -> String {
    let rows: String = harnesses.iter().map(|harness| row(harness)).collect();
    format!("{HEAD}{rows}")
}

fn row(harness: &Harness) -> String {
    let tally = harness.tally();
    let [results, of] = tally.results;
    format!(
        "| {} | {} {} | {} | {} | {} | {results} of {of} | {} | {} | {} | {} | {} |\n",
        harness.folder,
        harness.original,
        harness.version,
        tally.cases,
        tally.comparisons,
        tally.same,
        tally.own_words(),
        tally.others(),
        tally.unexplained,
        tally.percent(tally.same),
        tally.percent(tally.same + tally.own_words()),
    )
}

/// `page` with the rows of these harnesses in its table, which stands alone between two marks. Rows of others stay.
///
/// # Errors
/// Where the marks are not there.
pub(crate) fn in_page(page: &str, harnesses: &[&Harness]) -> Result<String, String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let Some((before, (old, after))) = parts else { return Err(format!("no table between {BEGIN} and {END}")) };
    let name = |row: &str| row.split('|').nth(1).unwrap_or_default().trim().to_owned();
    let mut rows: BTreeMap<String, String> = old
        .lines()
        .skip_while(|line| !line.starts_with("|--"))
        .skip(1)
        .filter(|line| line.starts_with("| "))
        .map(|line| (name(line), format!("{line}\n")))
        .collect();
    rows.extend(harnesses.iter().map(|harness| (harness.folder.to_owned(), row(harness))));
    let rows: String = rows.into_values().collect();
    Ok(format!("{before}{BEGIN}\n{HEAD}{rows}{END}{after}"))
}

const BEGIN: &str = "<!-- written by tests/wire/run --write-table -->";
const END: &str = "<!-- end -->";

/// A line for a case, and below it everything unexplained; with `show` everything that differs.
pub(crate) fn case(folder: &str, played: &Played, show: bool) -> String {
    let mut text = format!("{folder}/{}: ", played.case);
    let judged = match &played.outcome {
        Ok(judged) => judged,
        Err(why) => return format!("{text}COULD NOT BE PLAYED: {why}\n"),
    };
    let count = |wanted: fn(&Verdict) -> bool| judged.iter().filter(|judged| wanted(&judged.verdict)).count();
    let same = count(|verdict| *verdict == Verdict::Same);
    let explained = count(|verdict| matches!(verdict, Verdict::Explained { .. }));
    let _ = write!(text, "{same} same, {explained} explained");
    let open = judged.len() - same - explained;
    if open > 0 {
        let _ = write!(text, ", {open} UNEXPLAINED");
    }
    let _ = writeln!(text, " ({:.0} s)", played.seconds);
    for judged in judged {
        let head = match &judged.verdict {
            Verdict::Unexplained(note) => {
                format!(
                    "  {} UNEXPLAINED{}",
                    judged.one.what,
                    note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default()
                )
            }
            Verdict::Explained { group, why } if show => format!("  {} {group}: {why}", judged.one.what),
            _ => continue,
        };
        let _ = writeln!(text, "{head}");
        text.push_str(&difference(&judged.one, if show { 60 } else { 6 }));
    }
    text
}

/// The differing lines, those of the original after `-`, ours after `+`; at most so many, each cut where it is long.
fn difference(one: &Comparison, most: usize) -> String {
    let diff = TextDiff::from_lines(&one.original, &one.ours);
    let lines = diff.iter_all_changes().filter_map(|change| match change.tag() {
        similar::ChangeTag::Delete => Some(('-', change.value())),
        similar::ChangeTag::Insert => Some(('+', change.value())),
        similar::ChangeTag::Equal => None,
    });
    let mut text = String::new();
    let lines: Vec<(char, &str)> = lines.collect();
    for (sign, line) in lines.iter().take(most) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let cut: String = line.chars().take(600).collect();
        let more = if cut.len() < line.len() { format!(" ... ({} bytes)", line.len()) } else { String::new() };
        let _ = writeln!(text, "      {sign} {cut}{more}");
    }
    if lines.len() > most {
        let _ = writeln!(text, "      ... {} more lines differ", lines.len() - most);
    }
    text
}

pub(crate) fn json(ours: &str, harnesses: &[&Harness], missing: &[&str]) -> Value {
    let harnesses: Vec<Value> = harnesses.iter().map(|harness| {
        let tally = harness.tally();
        let cases: Vec<Value> = harness.played.iter().map(|played| match &played.outcome {
            Ok(judged) => json!({"case": played.case, "seconds": played.seconds, "comparisons": judged.iter().map(judged_json).collect::<Vec<_>>()}),
            Err(why) => json!({"case": played.case, "seconds": played.seconds, "error": why}),
        }).collect();
        json!({"harness": harness.folder, "original": harness.original, "version": harness.version,
            "comparisons": tally.comparisons, "same": tally.same, "groups": tally.groups, "unexplained": tally.unexplained,
            "failed": tally.failed, "stale": harness.stale(), "cases": cases})
    }).collect();
    json!({"ours": ours, "harnesses": harnesses, "not_installed": missing})
}

fn judged_json(judged: &Judged) -> Value {
    let mut value = json!({"what": judged.one.what, "counted": !judged.repeated});
    match &judged.verdict {
        Verdict::Same => value["verdict"] = "same".into(),
        Verdict::Explained { group, why } => {
            value["verdict"] = "explained".into();
            value["group"] = group.as_str().into();
            value["why"] = why.as_str().into();
        }
        Verdict::Unexplained(note) => {
            value["verdict"] = "unexplained".into();
            value["note"] = note.clone().into();
        }
    }
    if judged.verdict != Verdict::Same {
        value["original"] = judged.one.original.as_str().into();
        value["ours"] = judged.one.ours.as_str().into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn one(what: &str, original: &str, ours: &str) -> Comparison {
        Comparison { what: what.into(), original: original.into(), ours: ours.into() }
    }

    #[test]
    fn tools_and_requests_count_once_for_a_harness() {
        let mut harness = Harness::new("pi", "pi", "1.0".into(), Reasons::default(), true);
        let tools = || one("tools:read", "x: string", "x: string");
        harness.add("b", 1.0, Ok(vec![tools(), one("result:1", "a", "a"), one("result:2", "a", "b")]));
        harness.add("a", 1.0, Ok(vec![tools(), one("result:1", "a", "a")]));
        harness.add("c", 1.0, Err("no".into()));
        let expected =
            Tally { cases: 3, comparisons: 4, same: 3, results: [2, 3], unexplained: 1, failed: 1, ..Tally::default() };
        assert_eq!(harness.tally(), expected);
        let names: Vec<&str> = harness.played.iter().map(|played| played.case.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(harness.unexplained(), [("b".to_owned(), "result:2".to_owned())]);
        let row = table(&[&harness]).lines().last().unwrap_or_default().to_owned();
        assert_eq!(row, "| pi | pi 1.0 | 3 | 4 | 3 | 2 of 3 | 0 | 0 | 1 | 75.0 | 75.0 |");
    }

    #[test]
    fn a_row_is_put_into_the_page() {
        let mut harness = Harness::new("pi", "pi", "1.0".into(), Reasons::default(), true);
        harness.add("a", 1.0, Ok(vec![one("result:1", "a", "a")]));
        let page = format!("Text\n{BEGIN}\n{HEAD}| native | x |\n| pi | old |\n{END}\nmore\n");
        let expected = format!(
            "Text\n{BEGIN}\n{HEAD}| native | x |\n| pi | pi 1.0 | 1 | 1 | 1 | 1 of 1 | 0 | 0 | 0 | 100.0 | 100.0 |\n{END}\nmore\n"
        );
        assert_eq!(in_page(&page, &[&harness]).unwrap(), expected);
        assert!(in_page("nothing", &[]).is_err());
    }

    #[test]
    fn a_difference_is_shown_line_by_line() {
        let mut harness = Harness::new("pi", "pi", "1.0".into(), Reasons::default(), true);
        let played = harness.add("x", 2.0, Ok(vec![one("result:1", "a\nb\nc", "a\nB\nc")]));
        let expected = "pi/x: 0 same, 0 explained, 1 UNEXPLAINED (2 s)\n  result:1 UNEXPLAINED\n      - b\n      + B\n";
        assert_eq!(case("pi", played, false), expected);
    }
}
