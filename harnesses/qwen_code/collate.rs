//! Order of names as JavaScript's `localeCompare` has it, for the characters that names are made of: punctuation before digits before
//! letters, case only where all else is equal.
use std::cmp::Ordering;

/// In the order of the Unicode collation's root table.
const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let weights = |text: &str| text.chars().map(weight).collect::<Vec<_>>();
    // Lower case first.
    let cases = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
    weights(a).cmp(&weights(b)).then_with(|| cases(a).cmp(&cases(b))).then_with(|| a.cmp(b))
}

fn weight(c: char) -> (u8, u32) {
    match c {
        c if c.is_whitespace() => (0, u32::from(c)),
        c if c.is_ascii_digit() => (2, u32::from(c)),
        c if c.is_alphabetic() => (3, u32::from(c.to_lowercase().next().unwrap_or(c))),
        c => (1, PUNCTUATION.find(c).map_or(u32::from(c) + 100, |at| at as u32)),
    }
}

/// `*` and `?`, as in list_directory's `ignore`.
pub(super) fn wildcard(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_in_the_measured_order() {
        let expected = [
            "/w/.env",
            "/w/.gitignore",
            "/w/.hidden/h.py",
            "/w/a.txt",
            "/w/d/f1.txt",
            "/w/d/f10.txt",
            "/w/d/f2.txt",
            "/w/node_modules/p/i.js",
            "/w/README.md",
            "/w/sp ace.txt",
            "/w/src/b/c.py",
            "/w/src/m.py",
            "/w/x/y.txt",
        ];
        let mut found = expected;
        found.reverse();
        found.sort_by(|a, b| compare(a, b));
        assert_eq!(found, expected);
    }

    #[test]
    fn wildcards() {
        for (pattern, name, expected) in [
            ("*.log", "a.log", true),
            ("*.log", "a.txt", false),
            ("a?c", "abc", true),
            ("*", "", true),
            ("a*b*c", "axxbyc", true),
            ("", "a", false),
        ] {
            assert_eq!(wildcard(pattern, name), expected, "{pattern} {name}");
        }
    }
}
