//! The classic file window: a hundred numbered lines, how many lie above and below, and the reading of a window out of an
//! observation, since history is all that is kept of it.
use std::path::PathBuf;

pub(super) const WINDOW: usize = 100;
/// Lines that stay in sight when scrolling.
pub(super) const OVERLAP: usize = 2;

/// Lines as `wc` and editors count them: what follows the last line feed is one if there is anything.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line)).collect()
}

/// The window from line `first` (0-based) on, under the name that the file was called by.
pub(super) fn render(name: &str, text: &str, first: usize) -> String {
    let lines = lines(text);
    let total = lines.len();
    let first = first.min(total.saturating_sub(WINDOW));
    let last = (first + WINDOW).min(total);
    let mut out = vec![format!("[File: {name} ({total} lines total)]")];
    if first > 0 {
        out.push(format!("({first} more lines above)"));
    }
    let shown = lines.iter().enumerate().take(last).skip(first);
    out.extend(shown.map(|(n, line)| format!("{}:{line}", n + 1)));
    if last < total {
        out.push(format!("({} more lines below)", total - last));
    }
    out.join("\n")
}

/// First line of the window that shows `line` (1-based) with a sixth of the window above it.
pub(super) fn around(line: usize) -> usize {
    (line.saturating_sub(1) * 6).saturating_sub(WINDOW) / 6
}

/// The open file and, where the observation has a window, the lines above it. None: no observation of a classic form.
pub(super) fn shown_in(observation: &str) -> Option<(Option<PathBuf>, Option<usize>)> {
    let states = observation.strip_suffix(")\nbash-$")?;
    let at = states.rfind("(Open file: ")?;
    let (open, _) = states[at..].strip_prefix("(Open file: ")?.split_once(")\n(Current directory: ")?;
    let open = (open != "n/a").then(|| PathBuf::from(open));
    let mut lines = states[..at].lines().skip_while(|line| !is_head(line));
    let first = lines.next().map(|_| lines.next().and_then(above).unwrap_or(0));
    Some((open, first))
}

fn is_head(line: &str) -> bool {
    line.starts_with("[File: ") && line.ends_with(" lines total)]")
}

fn above(line: &str) -> Option<usize> {
    line.strip_prefix('(')?.strip_suffix(" more lines above)")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn windows() {
        let long: String = (1..=250).map(|n| format!("line {n}\n")).collect();
        let check = |first, head: &str, tail: &str| {
            let text = render("long.txt", &long, first);
            assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
        };
        check(
            around(120),
            "[File: long.txt (250 lines total)]\n(102 more lines above)\n103:line 103\n",
            "\n202:line 202\n(48 more lines below)",
        );
        check(0, "[File: long.txt (250 lines total)]\n1:line 1\n", "\n100:line 100\n(150 more lines below)");
        check(999, "[File: long.txt (250 lines total)]\n(150 more lines above)\n151:line 151\n", "\n250:line 250");
        assert_eq!(render("e", "", 0), "[File: e (0 lines total)]");
        assert_eq!(render("e", "a\n\n", 0), "[File: e (2 lines total)]\n1:a\n2:");
    }

    #[test]
    fn state_is_read_back() {
        let check = |text: &str, expected| assert_eq!(shown_in(text), expected, "{text}");
        check("x\n(Open file: n/a)\n(Current directory: /w)\nbash-$", Some((None, None)));
        check("x\n(Open file: /w/a b)\n(Current directory: /w)\nbash-$", Some((Some("/w/a b".into()), None)));
        check(
            "note\n[File: a (300 lines total)]\n(7 more lines above)\n8:x\n(Open file: /w/a)\n(Current directory: /w)\nbash-$",
            Some((Some("/w/a".into()), Some(7))),
        );
        check(
            "[File: a (1 lines total)]\n1:x\n(Open file: /w/a)\n(Current directory: /w)\nbash-$",
            Some((Some("/w/a".into()), Some(0))),
        );
        check("OBSERVATION:\nx", None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(\\[File: |lines total\\)\\]|\\(Open file: |\\)\n|\\(Current directory: |bash-\\$|é|\n){0,12}") {
            let _ = shown_in(&text);
        }
    }
}
