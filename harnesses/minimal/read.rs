//! The read tool: lines of a text file as they are, at most 10,000 characters of them, and how to go on.
use protocol::{Action, Answer, Done, Outcome, ReadAs, World};

use super::{bash::LONG, failed};
use crate::pi::{absolute, refusal};
use crate::{Context, Next};

/// Bytes of the largest file that is looked at.
const MAX_FILE: u64 = 64 << 20;

pub(super) fn next(cx: &Context, path: &str, offset: Option<u64>, limit: Option<u64>, did: &[Done]) -> Next {
    match did.first().map(|done| &done.outcome) {
        None => {
            let what = ReadAs::Text { max_bytes: MAX_FILE };
            Next::Do(vec![Action::World(World::Read { path: absolute(cx, path), what })])
        }
        Some(Outcome::Text { text, .. }) => Next::Answer(match shown(text, offset, limit) {
            Ok(text) => Answer::plain(text),
            Err(text) => Answer::failed(text),
        }),
        Some(other) => Next::Answer(failed(refusal::told(other))),
    }
}

fn shown(text: &str, offset: Option<u64>, limit: Option<u64>) -> Result<String, String> {
    let total = text.lines().count();
    if total == 0 {
        return Ok("(the file is empty)".to_owned());
    }
    let first = usize::try_from(offset.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
    if first > total {
        return Err(format!("Error: there is no line {first}, the file ends with line {total}"));
    }
    let limit = usize::try_from(limit.unwrap_or(u64::MAX).max(1)).unwrap_or(usize::MAX);
    let (mut lines, mut room) = (Vec::new(), LONG);
    for line in text.lines().skip(first - 1).take(limit) {
        let chars = line.chars().count() + 1;
        match room.checked_sub(chars) {
            Some(left) => room = left,
            None if lines.is_empty() => {
                let start: String = line.chars().take(LONG).collect();
                return Ok(format!(
                    "{start}\n[line {first} of {total}, {} characters omitted; go on with offset {}]",
                    chars - 1 - LONG.min(chars - 1),
                    first + 1
                ));
            }
            None => break,
        }
        lines.push(line);
    }
    let last = first + lines.len() - 1;
    let text = lines.join("\n");
    Ok(match last < total {
        true => format!("{text}\n[lines {first} to {last} of {total}; go on with offset {}]", last + 1),
        false => text,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, offset: Option<u64>, limit: Option<u64>, expected: &str) {
        let shown = shown(text, offset, limit).unwrap_or_else(|text| text);
        assert_eq!(shown, expected, "{offset:?} {limit:?}");
    }

    #[test]
    fn parts_of_a_file() {
        let text = "a\nb\nc\n";
        check(text, None, None, "a\nb\nc");
        check(text, Some(0), None, "a\nb\nc");
        check(text, Some(2), None, "b\nc");
        check(text, Some(2), Some(1), "b\n[lines 2 to 2 of 3; go on with offset 3]");
        check(text, None, Some(0), "a\n[lines 1 to 1 of 3; go on with offset 2]");
        check(text, Some(4), None, "Error: there is no line 4, the file ends with line 3");
        check("", Some(4), None, "(the file is empty)");
        let long = "x".repeat(6_000);
        let two = format!("{long}\n{long}\n");
        check(&two, None, None, &format!("{long}\n[lines 1 to 1 of 2; go on with offset 2]"));
        let longer = "y".repeat(LONG + 5);
        let start = "y".repeat(LONG);
        check(
            &format!("{longer}\nz\n"),
            None,
            None,
            &format!("{start}\n[line 1 of 2, 5 characters omitted; go on with offset 2]"),
        );
    }

    proptest! {
        #[test]
        fn any_part_of_any_file_is_shown(text in "([a-zé]{0,9}\n){0,20}", offset in proptest::option::of(any::<u64>()), limit in proptest::option::of(any::<u64>())) {
            let _ = shown(&text, offset, limit);
        }
    }
}
