//! Names of tools on the wire: what is not a letter, digit or `_` is escaped there, and read back from a call.
use std::borrow::Cow;

/// Characters of a name that every server takes.
const MAX: usize = 64;

/// `multi_tool_use.parallel` becomes `multi_tool_use-x00002E-parallel`, `a-b` becomes `a--b`. A name that grew too long stays
/// as it was.
pub(super) fn encode(name: &str) -> String {
    let mut wire = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => wire.push(c),
            '-' => wire.push_str("--"),
            other => wire.push_str(&format!("-x{:06X}-", u32::from(other))),
        }
    }
    if wire.len() > MAX { name.to_owned() } else { wire }
}

/// The name that was meant. What is no escape stays: models also write names as they are.
pub(super) fn decode(wire: &str) -> Cow<'_, str> {
    if !wire.contains('-') {
        return Cow::Borrowed(wire);
    }
    let mut name = String::with_capacity(wire.len());
    let mut rest = wire;
    while let Some(c) = rest.chars().next() {
        let (piece, read) = match escaped(rest) {
            Some((c, read)) => (c, read),
            None => (c, c.len_utf8()),
        };
        name.push(piece);
        rest = &rest[read..];
    }
    Cow::Owned(name)
}

/// The character of the escape that `text` begins with, and the escape's length.
fn escaped(text: &str) -> Option<(char, usize)> {
    if text.starts_with("--") {
        return Some(('-', 2));
    }
    let digits = text.strip_prefix("-x")?.get(..7)?.strip_suffix('-')?;
    let code = digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())??;
    Some((char::from_u32(code)?, 9))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_as_the_reference_has_them() {
        let check = |name: &str, wire: &str| {
            assert_eq!(encode(name), wire);
            assert_eq!(decode(wire), name);
        };
        check("read_file", "read_file");
        check("multi_tool_use.parallel", "multi_tool_use-x00002E-parallel");
        check("web.run", "web-x00002E-run");
        check("mcp__my-server__do", "mcp__my--server__do");
        check("é", "-x0000E9-");
    }

    #[test]
    fn names_written_plainly_are_read_too() {
        for name in ["multi_tool_use.parallel", "a-b", "a-", "-x12-", "-x00002E", "-xZZZZZZ-", "-xD80000-"] {
            assert_eq!(decode(name), name);
        }
        let long = "a-".repeat(30);
        assert_eq!(encode(&long), long);
    }

    proptest! {
        #[test]
        fn a_name_comes_back(name in "[a-z_.é/🙂-]{0,8}") {
            let wire = encode(&name);
            prop_assert_eq!(decode(&wire).into_owned(), name.clone());
            if wire != name {
                prop_assert!(wire.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            }
        }
        #[test]
        fn any_text_is_decoded(wire in "[-x0-9A-Fé]{0,24}") {
            let _ = decode(&wire);
        }
    }
}
