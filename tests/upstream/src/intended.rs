//! The differences that are kept on purpose, each because ours serves the user better. `docs/comparison.md` is made from this.

/// Cases, the sections that may differ in them, and why.
pub(crate) struct Intended {
    pub(crate) cases: &'static [&'static str],
    /// Kinds of sections: `exit`, `stdout`, `stderr`, `requests`, `results`, `files`, `request`, `said`, `history`.
    pub(crate) sections: &'static [&'static str],
    pub(crate) why: &'static str,
}

pub(crate) const ALL: &[Intended] = &[Intended {
    cases: &["command-refused-by-the-sandbox"],
    sections: &["stdout"],
    why: "Codex hides a command that the sandbox stopped at once; ours shows every command that ran",
}];

/// What is listed for a case.
pub(crate) fn of(case: &str) -> impl Iterator<Item = &'static Intended> {
    ALL.iter().filter(move |it| it.cases.contains(&case))
}

/// The table of docs/comparison.md.
pub(crate) fn markdown() -> String {
    let row = |it: &Intended| format!("| {} | {} | {} |\n", it.cases.join(", "), it.sections.join(", "), it.why);
    format!("| cases | what differs | why |\n| --- | --- | --- |\n{}", ALL.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_listed_case_exists() {
        let cases: Vec<&str> = crate::cases::all().iter().map(|case| case.name).collect();
        let unknown: Vec<&&str> = ALL.iter().flat_map(|it| it.cases).filter(|case| !cases.contains(case)).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
    }

    #[test]
    fn the_manual_holds_this_list() {
        let manual = include_str!("../../../docs/comparison.md");
        assert!(manual.contains(&markdown()), "docs/comparison.md is stale; its table is:\n{}", markdown());
    }
}
