//! Long texts: at most 2,000 lines and 50 KB reach the model, the whole goes into a file. Commands show their end, all else its
//! beginning. Lines are the pieces between line feeds, so a text that ends with one has an empty last line.
use std::path::Path;

pub(super) const LINES: usize = 2_000;
/// Bytes of UTF-8, line feeds included.
pub(super) const BYTES: usize = 50 * 1024;

pub(super) fn is_long(text: &str) -> bool {
    text.len() > BYTES || text.split('\n').count() > LINES
}

/// The end of a command's output, as whole lines.
pub(super) fn tail(text: &str) -> &str {
    let mut from = text.len();
    for (n, line) in text.rsplit('\n').enumerate() {
        let start = from.saturating_sub(line.len() + usize::from(n > 0));
        if n == LINES || text.len() - start > BYTES {
            break;
        }
        from = start;
    }
    &text[from..]
}

/// `saved`: None where the file could not be written.
pub(super) fn tail_told(text: &str, saved: Option<&Path>) -> String {
    let place = match saved {
        Some(path) => format!("Full output saved to: {}", path.display()),
        None => "The full output could not be saved.".to_owned(),
    };
    let tail = tail(text);
    format!("...output truncated...\n\n{place}\n\n{}", if tail.is_empty() { "(no output)" } else { tail })
}

/// The beginning of a long text, and where the rest is. `delegates`: there is an agent that can be sent to read it.
pub(super) fn head_told(text: &str, saved: Option<&Path>, delegates: bool) -> String {
    let mut end = 0;
    let mut by_bytes = false;
    for (n, line) in text.split('\n').enumerate() {
        let next = end + line.len() + usize::from(n > 0);
        if n == LINES {
            break;
        }
        if next > BYTES {
            by_bytes = true;
            break;
        }
        end = next;
    }
    let (head, rest) = text.split_at(end);
    let left = match by_bytes {
        true => format!("{} bytes", rest.len()),
        false => format!("{} lines", rest.split('\n').count().saturating_sub(1)),
    };
    let advice = match delegates {
        true => {
            "Let the explore agent of the Task tool go through that file with Grep and Read (offset, limit) rather than reading all of it here: that saves room."
        }
        false => "Search that file with Grep, or read parts of it with Read (offset, limit).",
    };
    let place = match saved {
        Some(path) => format!("Full output saved to: {}\n{advice}", path.display()),
        None => "The full output could not be saved.".to_owned(),
    };
    format!("{head}\n\n...{left} truncated...\n\nThe tool call succeeded but the output was truncated. {place}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn numbers(to: usize) -> String {
        (1..=to).map(|n| format!("{n}\n")).collect()
    }

    #[test]
    fn as_measured() {
        assert!(is_long(&numbers(2_000)) && !is_long(&numbers(1_999)));
        assert!(tail(&numbers(20_000)).starts_with("18002\n18003\n"));
        assert_eq!(tail(&format!("{}\n", "z".repeat(100_000))), "");
        let wide = format!("{}\n", ("z".repeat(99) + "\n").repeat(600));
        assert_eq!(tail(&wide).len(), 51_101);
        let told = tail_told(&format!("{}\n", "z".repeat(100_000)), Some(Path::new("/s/o")));
        assert_eq!(told, "...output truncated...\n\nFull output saved to: /s/o\n\n(no output)");
        let rows: String = (0..3_000).map(|n| format!("row {n}\n")).collect();
        let told = head_told(&rows, Some(Path::new("/s/o")), true);
        assert!(told.contains("row 1999\n\n...1001 lines truncated...\n\nThe tool call succeeded but"), "{told}");
        assert!(head_told(&"w".repeat(60_000), None, false).starts_with("\n\n...60000 bytes truncated...\n\n"));
    }

    proptest! {
        #[test]
        fn never_more_than_the_limit(text in "([a-zé]{0,30}\n){0,40}[a-zé]{0,9}", times in 1usize..120) {
            let text = text.repeat(times);
            let tail = tail(&text);
            prop_assert!(text.ends_with(tail) && !is_long(tail));
            let _ = head_told(&text, None, true);
        }
    }
}
