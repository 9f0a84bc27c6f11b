//! Two observations: equal, different in sections where that is intended, or different.
use similar::{ChangeTag, TextDiff};

use crate::{
    intended::{self, Intended},
    observe::Observed,
};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    /// Why.
    Intended(String),
    /// What, line by line: `-` Codex, `+` ours.
    Different(String),
}

/// Sections that exist on one side only count as empty on the other.
pub(crate) fn compare(case: &str, theirs: &Observed, ours: &Observed) -> Verdict {
    let listed: Vec<&Intended> = intended::of(case).collect();
    let mut reasons: Vec<&str> = Vec::new();
    let mut report = String::new();
    for (name, their_text) in &theirs.0 {
        let our_text = ours.0.iter().find(|(other, _)| other == name).map_or("", |(_, text)| text);
        if their_text == our_text {
            continue;
        }
        let kind = name.split(' ').next().unwrap_or_default();
        match listed.iter().find(|it| it.sections.contains(&kind)) {
            Some(it) if !reasons.contains(&it.why) => reasons.push(it.why),
            Some(_) => {}
            None => report.push_str(&format!("{name}\n{}", diff(their_text, our_text))),
        }
    }
    match (report.is_empty(), reasons.is_empty()) {
        (false, _) => Verdict::Different(report),
        (true, false) => Verdict::Intended(reasons.join("; ")),
        (true, true) => Verdict::Same,
    }
}

/// The lines that differ, without what they have in common.
fn diff(theirs: &str, ours: &str) -> String {
    const LINES: usize = 30;
    const WIDTH: usize = 600;
    let diff = TextDiff::from_lines(theirs, ours);
    let changed = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let line = |change: similar::Change<&str>| {
        let sign = if change.tag() == ChangeTag::Delete { '-' } else { '+' };
        let text: String = change.value().trim_end_matches('\n').chars().take(WIDTH).collect();
        format!("{sign} {text}\n")
    };
    let mut lines: Vec<String> = changed.map(line).collect();
    if lines.len() > LINES {
        let more = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(format!("... {more} more lines\n"));
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn seen(sections: &[(&str, &str)]) -> Observed {
        Observed(sections.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn a_difference_outside_the_listed_sections_is_reported() {
        let listed = &intended::ALL[0];
        let (case, section) = (listed.cases[0], listed.sections[0]);
        let theirs = seen(&[(section, "a\nb\n"), ("other", "c\n")]);
        assert_eq!(compare(case, &theirs, &theirs), Verdict::Same);
        assert_eq!(
            compare(case, &theirs, &seen(&[(section, "a\n"), ("other", "c\n")])),
            Verdict::Intended(listed.why.into())
        );
        let report = "other\n- c\n+ d\n".to_owned();
        assert_eq!(compare(case, &theirs, &seen(&[(section, "a\n"), ("other", "d\n")])), Verdict::Different(report));
        assert_eq!(
            compare("no case", &seen(&[("exit", "0")]), &seen(&[("exit", "1")])),
            Verdict::Different("exit\n- 0\n+ 1\n".into())
        );
    }
}
