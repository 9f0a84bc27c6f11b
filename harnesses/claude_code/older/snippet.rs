//! Lines of a file as the older versions number them, and the piece of a changed file that they show.

/// Lines shown before and after a change.
const AROUND: usize = 4;

/// `     1→text`, joined by line feeds.
pub(in super::super) fn numbered(lines: &[&str], first: u64) -> String {
    let numbered: Vec<String> = lines.iter().zip(first..).map(|(line, n)| format!("{n:>6}→{line}")).collect();
    numbered.join("\n")
}

/// What is said of a file that was written whole.
pub(in super::super) fn whole(path: &str, text: &str) -> String {
    changed(path, text, 0, text)
}

/// What is said of a file with this text after `new` was put in at its line `at`, counted from 0.
pub(super) fn changed(path: &str, text: &str, at: usize, new: &str) -> String {
    let lf = text.replace("\r\n", "\n");
    let from = at.saturating_sub(AROUND);
    let to = at + AROUND + new.split('\n').count();
    let lines: Vec<&str> = lf.split('\n').skip(from).take(to - from).collect();
    format!(
        "The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{}",
        numbered(&lines, from as u64 + 1)
    )
}
