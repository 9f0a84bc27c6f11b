//! What JavaScript finds wrong with a regular expression, in V8's words: the original tries patterns there before it searches.

/// None: nothing, as far as is looked (groups, classes, repetitions, a last backslash).
pub(super) fn problem(pattern: &str) -> Option<&'static str> {
    let chars: Vec<char> = pattern.chars().collect();
    let (mut at, mut depth, mut repeatable) = (0, 0_u32, false);
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            '\\' => {
                if at == chars.len() {
                    return Some("\\ at end of pattern");
                }
                at += 1;
                repeatable = true;
            }
            '[' => {
                let Some(end) = class_end(&chars, at) else { return Some("Unterminated character class") };
                at = end;
                repeatable = true;
            }
            '(' => {
                depth += 1;
                repeatable = false;
                if chars.get(at) == Some(&'?') {
                    let known = matches!(chars.get(at + 1), Some(':' | '=' | '!' | '<'));
                    if !known {
                        return Some("Invalid group");
                    }
                    at += 2;
                }
            }
            ')' => {
                let Some(less) = depth.checked_sub(1) else { return Some("Unmatched ')'") };
                depth = less;
                repeatable = true;
            }
            '*' | '+' | '?' => {
                if !repeatable {
                    return Some("Nothing to repeat");
                }
                if chars.get(at) == Some(&'?') {
                    at += 1;
                }
                repeatable = false;
            }
            '|' | '^' => repeatable = false,
            _ => repeatable = true,
        }
    }
    (depth > 0).then_some("Unterminated group")
}

/// The place behind a class that begins before `at`.
fn class_end(chars: &[char], mut at: usize) -> Option<usize> {
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            ']' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::problem;

    #[test]
    fn problems() {
        for (pattern, expected) in [
            ("(", Some("Unterminated group")),
            ("a)", Some("Unmatched ')'")),
            ("[a", Some("Unterminated character class")),
            ("*a", Some("Nothing to repeat")),
            ("a**", Some("Nothing to repeat")),
            ("a\\", Some("\\ at end of pattern")),
            ("(?z)", Some("Invalid group")),
            ("a{2", None),
            ("(?<=x)y", None),
            ("[(]*?\\(+", None),
            ("a|b(c)?", None),
            ("", None),
        ] {
            assert_eq!(problem(pattern), expected, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn any_pattern_is_looked_at(pattern in "[\\\\\\[\\]()?*|^a]{0,12}") {
            let _ = problem(&pattern);
        }
    }
}
