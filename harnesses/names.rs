//! Finds the tool that a model meant by a name that is not quite one of those offered.

/// The one offered name that `written` stands for: equal but for case or a `functions.` in front, else one edit away. None
/// where there is none, or more than one: a call that could mean two tools is never run.
pub(crate) fn meant<'a>(written: &str, offered: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let written = written.trim();
    let written = written.strip_prefix("functions.").unwrap_or(written);
    if let Some(exact) = offered.clone().find(|name| *name == written) {
        return Some(exact);
    }
    let lower = written.to_lowercase();
    only(offered.clone().filter(|name| name.to_lowercase() == lower))
        .or_else(|| only(offered.filter(|name| strsim::osa_distance(&name.to_lowercase(), &lower) == 1)))
}

fn only<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    fn check(written: &str, expected: Option<&str>) {
        let offered = ["exec_command", "write_stdin", "read", "Read_", "cat", "cut"];
        assert_eq!(super::meant(written, offered.iter().copied()), expected, "{written}");
    }

    #[test]
    fn near_names_are_mended_and_ambiguous_ones_are_not() {
        check("exec_command", Some("exec_command"));
        check("Exec_Command", Some("exec_command"));
        check("functions.exec_command", Some("exec_command"));
        check("exec_comand", Some("exec_command"));
        check("exce_command", Some("exec_command"));
        check("exec", None);
        check("shell", None);
        check("READ", Some("read"));
        check("c t", None);
        check("ct", None);
        check("", None);
    }
}
