//! Unified diffs, as results of writes show them.
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

/// Lines around a change.
const AROUND: usize = 3;
/// Lines of both texts together that are compared; more would take too long.
const MAX_LINES: usize = 20_000;

/// Empty where nothing differs. Ends with a line feed.
pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (before, after) = (lines(old), lines(new));
    let mut out = format!("--- a/{path}\n+++ b/{path}\n");
    if before.len() + after.len() > MAX_LINES {
        out.push_str(&format!("(diff left out: {} lines before, {} after)\n", before.len(), after.len()));
        return out;
    }
    let ops = capture_diff_slices(Algorithm::Myers, &before, &after);
    for group in group_diff_ops(ops, AROUND) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let of_old = first.old_range().start..last.old_range().end;
        let of_new = first.new_range().start..last.new_range().end;
        out.push_str(&format!("@@ -{} +{} @@\n", place(&of_old), place(&of_new)));
        for op in &group {
            let (tag, of_old, of_new) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                before[of_old].iter().for_each(|line| push(&mut out, ' ', line));
            } else {
                before[of_old].iter().for_each(|line| push(&mut out, '-', line));
                after[of_new].iter().for_each(|line| push(&mut out, '+', line));
            }
        }
    }
    out
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

fn push(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::super::unified_patch;
    use super::unified;

    #[test]
    fn diffs_as_diff_writes_them() {
        let check = |old: &str, new: &str, expected: &str| assert_eq!(unified("a.txt", old, new), expected);
        check("a\n", "a\n", "");
        check("", "a\nb\n", "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\nb\nc\n", "a\nB\nc\n", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        check("a", "a\n", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        let many = "x\n".repeat(30_000);
        check("a\n", &many, "--- a/a.txt\n+++ b/a.txt\n(diff left out: 1 lines before, 30000 after)\n");
    }

    proptest! {
        #[test]
        fn a_diff_applied_gives_the_new_text(old in "([abc]\n){0,12}[ab]{0,1}", new in "([abc]\n){0,12}[ab]{0,1}") {
            let diff = unified("f", &old, &new);
            if !diff.is_empty() {
                let files = unified_patch::parse(&diff, None).unwrap();
                prop_assert_eq!(files.len(), 1);
                prop_assert_eq!(files[0].apply(&old, 0), Ok(new));
            }
        }
    }
}
