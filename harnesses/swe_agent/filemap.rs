//! A long Python file in outline: bodies of functions stand as one line that says which lines they are. Bodies are found by
//! indentation, with brackets and long strings taken into account.

/// Lines from which on a body is left out.
const LONG: usize = 5;

/// Numbered lines, long bodies of functions left out. `text`: tabs expanded.
pub(super) fn outline(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let inside = inside(text);
    let starts = |n: usize| !inside.get(n).copied().unwrap_or(false);
    let (mut out, mut n) = (Vec::new(), 0);
    while let Some(line) = lines.get(n) {
        out.push(format!("{:6} {line}", n + 1));
        n += 1;
        let trimmed = line.trim_start();
        let is_function = trimmed.starts_with("def ") || trimmed.starts_with("async def ");
        if !is_function || !starts(n - 1) {
            continue;
        }
        // The rest of a head over several lines.
        while n < lines.len() && !starts(n) {
            out.push(format!("{:6} {}", n + 1, lines[n]));
            n += 1;
        }
        let end = body_end(&lines, &starts, n, line.len() - trimmed.len());
        if end - n >= LONG {
            out.push(format!("{:6} ... eliding lines {}-{end} ...", n + 1, n + 1));
            n = end;
        }
    }
    out.join("\n")
}

/// The line behind the last one that belongs to a body that begins at `from`, deeper than `indent`.
fn body_end(lines: &[&str], starts: &impl Fn(usize) -> bool, from: usize, indent: usize) -> usize {
    let mut end = from;
    for (n, line) in lines.iter().enumerate().skip(from) {
        let trimmed = line.trim_start();
        let deeper = line.len() - trimmed.len() > indent;
        match () {
            () if !starts(n) => end = n + 1,
            () if trimmed.is_empty() || trimmed.starts_with('#') && !deeper => {}
            () if deeper => end = n + 1,
            () => break,
        }
    }
    end
}

/// For each line whether it begins within brackets, a long string, or behind a backslash.
fn inside(text: &str) -> Vec<bool> {
    let (mut lines, mut brackets, mut rest) = (vec![false], 0_usize, text);
    let mut quote: Option<&str> = None;
    while let Some(c) = rest.chars().next() {
        let mut step = c.len_utf8();
        match (quote, c) {
            (_, '\\') => {
                let next = rest[1..].chars().next();
                step += next.map_or(0, char::len_utf8);
                if next == Some('\n') {
                    lines.push(true);
                }
            }
            (Some(open), _) if rest.starts_with(open) => (step, quote) = (open.len(), None),
            (Some(open), '\n') => {
                // A short string does not go over the end of its line.
                quote = quote.filter(|_| open.len() == 3);
                lines.push(quote.is_some() || brackets > 0);
            }
            (Some(_), _) => {}
            (None, '#') => step = rest.find('\n').unwrap_or(rest.len()),
            (None, '"' | '\'') => {
                let open = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|open| rest.starts_with(open)).unwrap_or("\"");
                (step, quote) = (open.len(), Some(open));
            }
            (None, '(' | '[' | '{') => brackets += 1,
            (None, ')' | ']' | '}') => brackets = brackets.saturating_sub(1),
            (None, '\n') => lines.push(brackets > 0),
            (None, _) => {}
        }
        rest = &rest[step..];
    }
    lines
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::outline;

    #[test]
    fn long_bodies_are_left_out() {
        let text = "import os\n\nclass A:\n    def long(\n        self,\n    ):\n        \"\"\"Text\n\nat the margin.\n\"\"\"\n        x = [\n1,\n]\n        return x\n\n    def short(self):\n        return 1\n\n# note\nasync def last():\n    a\n    b\n\n    def inner(): pass\n    c\n";
        let expected = "     1 import os\n     2 \n     3 class A:\n     4     def long(\n     5         self,\n     6     ):\n     7 ... eliding lines 7-14 ...\n    15 \n    16     def short(self):\n    17         return 1\n    18 \n    19 # note\n    20 async def last():\n    21 ... eliding lines 21-25 ...";
        assert_eq!(outline(text), expected);
    }

    proptest! {
        #[test]
        fn every_line_is_there_or_named(text in "(def f\\(\\):\n|    x\n|\"\"\"|'|#|\\(|\\)|\\\\|\n|é){0,24}") {
            let mut next = 1;
            for line in outline(&text).lines() {
                let (from, to) = match line.split_once(" ... eliding lines ").and_then(|(_, rest)| rest.split_once('-')) {
                    Some((from, rest)) => (from.parse::<usize>().unwrap(), rest.trim_end_matches(" ...").parse::<usize>().unwrap()),
                    None => {
                        let number = line.get(..6).unwrap().trim().parse::<usize>().unwrap();
                        (number, number)
                    }
                };
                prop_assert_eq!(from, next);
                next = to + 1;
            }
            prop_assert_eq!(next, text.lines().count() + 1);
        }
    }
}
