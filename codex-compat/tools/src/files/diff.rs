//! Unified diffs for display: hunks with three lines of context, bounded in size and time.
use std::{fmt::Write, time::Duration};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::text;

/// Bytes of a diff; what is longer ends with a line that says so.
const MAX_DIFF: usize = 256 << 10;
const CONTEXT: usize = 3;
/// After this, the rest of a hard case is shown as replaced.
const MAX_TIME: Duration = Duration::from_millis(200);

/// The hunks that make `new` out of `old` (None: no such file). Empty where nothing differs or one side is not text.
pub(crate) fn unified(old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if old == new {
        return String::new();
    }
    let (old, new) = (&*text::comparable(old), &*text::comparable(new));
    if old == new || is_binary(old) || is_binary(new) {
        return String::new();
    }
    // A small change of a large file is compared in its surroundings only.
    let head = common_head(old, new);
    let tail = common_tail(&old[head..], &new[head..]);
    let skipped = memchr::memchr_iter(b'\n', &old[..head]).count();
    let (Ok(old), Ok(new)) =
        (std::str::from_utf8(&old[head..old.len() - tail]), std::str::from_utf8(&new[head..new.len() - tail]))
    else {
        return String::new();
    };
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let deadline = std::time::Instant::now().checked_add(MAX_TIME);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut out = String::new();
    for hunk in group_diff_ops(ops, CONTEXT) {
        write_hunk(&mut out, &hunk, &old, &new, skipped);
        if out.len() > MAX_DIFF {
            let end = out[..protocol::floor_char(&out, MAX_DIFF)].rfind('\n').map_or(0, |at| at + 1);
            let lines = memchr::memchr_iter(b'\n', &out.as_bytes()[end..]).count();
            out.truncate(end);
            let _ = writeln!(out, "\\ Diff cut here: {lines} more lines or more");
            break;
        }
    }
    out
}

fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8 << 10)]).is_some()
}

/// Length of the lines that both begin with, less the context.
fn common_head(old: &[u8], new: &[u8]) -> usize {
    let mut at = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    for _ in 0..=CONTEXT {
        at = memchr::memrchr(b'\n', &old[..at]).unwrap_or(0);
    }
    if at == 0 { 0 } else { at + 1 }
}

/// Length of the lines that both end with, less the context.
fn common_tail(old: &[u8], new: &[u8]) -> usize {
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut at = old.len() - same;
    // One more than the context: the first line end met may be that of a line that is common in part only.
    for _ in 0..=CONTEXT {
        match memchr::memchr(b'\n', &old[at..]) {
            Some(n) => at += n + 1,
            None => return 0,
        }
    }
    old.len() - at
}

fn write_hunk(out: &mut String, ops: &[DiffOp], old: &[&str], new: &[&str], skipped: usize) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
    let range = |from: usize, to: usize| {
        let len = to - from;
        // A range without lines names the line before it.
        let start = skipped + if len == 0 { from } else { from + 1 };
        if len == 1 { start.to_string() } else { format!("{start},{len}") }
    };
    let old_range = range(first.old_range().start, last.old_range().end);
    let new_range = range(first.new_range().start, last.new_range().end);
    let _ = writeln!(out, "@@ -{old_range} +{new_range} @@");
    let mut lines = |mark: char, lines: &[&str]| {
        for line in lines {
            out.push(mark);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    for op in ops {
        match *op {
            DiffOp::Equal { old_index, len, .. } => lines(' ', &old[old_index..old_index + len]),
            _ => {
                lines('-', &old[op.old_range()]);
                lines('+', &new[op.new_range()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn numbered(change: impl Fn(usize) -> String) -> String {
        (1..=20).map(|n| change(n) + "\n").collect()
    }

    #[test]
    fn hunks() {
        let check = |old: Option<&str>, new: Option<&str>, expected: &str| {
            assert_eq!(unified(old.map(str::as_bytes), new.map(str::as_bytes)), expected);
        };
        check(Some("a\n"), Some("a\n"), "");
        check(None, Some("a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check(Some("a\n"), None, "@@ -1 +0,0 @@\n-a\n");
        check(Some("a"), Some("a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        check(Some("a\r\nb\r\n"), Some("a\r\nc\r\n"), "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n");
        check(Some("a\0b"), Some("c"), "");
        let utf16 = unified(Some(b"\xFF\xFEa\0\n\0"), Some(b"\xFF\xFEb\0\n\0"));
        assert_eq!(utf16, "@@ -1 +1 @@\n-a\n+b\n");
        let old = numbered(|n| n.to_string());
        let new = numbered(|n| if n == 10 { "ten".into() } else { n.to_string() });
        check(Some(&old), Some(&new), "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n");
        let appended = format!("{old}21\n");
        check(Some(&old), Some(&appended), "@@ -18,3 +18,4 @@\n 18\n 19\n 20\n+21\n");
    }

    #[test]
    fn a_huge_diff_is_cut() {
        let new = "0123456789abcdef\n".repeat(100_000);
        let diff = unified(None, Some(new.as_bytes()));
        assert!(diff.len() < MAX_DIFF + 100);
        assert!(diff.ends_with(" more lines or more\n"), "{}", &diff[diff.len() - 60..]);
    }

    proptest! {
        /// Applying the hunks gives the new text: neither trimming nor numbering lost a line.
        #[test]
        fn hunks_lead_from_old_to_new(old in prop::collection::vec("[ab]{0,2}\n", 0..30), new in prop::collection::vec("[ab]{0,2}\n", 0..30)) {
            let diff = unified(Some(old.concat().as_bytes()), Some(new.concat().as_bytes()));
            let mut out: Vec<&str> = Vec::new();
            let mut at = 0;
            for line in diff.split_inclusive('\n') {
                if let Some(header) = line.strip_prefix("@@ -") {
                    let range = header.split(' ').next().unwrap_or_default();
                    let (start, len) = range.split_once(',').unwrap_or((range, "1"));
                    let (start, len): (usize, usize) = (start.parse().unwrap(), len.parse().unwrap());
                    let from = if len == 0 { start } else { start - 1 };
                    out.extend(old[at..from].iter().map(String::as_str));
                    at = from;
                } else if let Some(kept) = line.strip_prefix(' ') {
                    prop_assert_eq!(old[at].as_str(), kept);
                    out.push(kept);
                    at += 1;
                } else if let Some(gone) = line.strip_prefix('-') {
                    prop_assert_eq!(old[at].as_str(), gone);
                    at += 1;
                } else if let Some(added) = line.strip_prefix('+') {
                    out.push(added);
                }
            }
            out.extend(old[at..].iter().map(String::as_str));
            prop_assert_eq!(out.concat(), new.concat());
        }
    }
}
