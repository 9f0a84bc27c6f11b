//! UTF-16 behind its byte order mark, as Windows programs write it: known by the mark, turned into text and back. Pure.
use protocol::Encoding;

/// Bytes of the mark.
pub(super) const MARK: usize = 2;

/// None: no mark of UTF-16. That of UTF-32 in little endian begins with the same bytes.
pub(super) fn of(bytes: &[u8]) -> Option<Encoding> {
    match bytes {
        [0xFF, 0xFE, 0, 0, ..] => None,
        [0xFF, 0xFE, ..] => Some(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] => Some(Encoding::Utf16Be),
        _ => None,
    }
}

/// Where bytes behind the mark are no UTF-16, counted from the file's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: u64,
    /// 0: the file ends in the middle of a character.
    pub(super) len: u64,
}

/// The text behind the mark, what is wrong replaced, and where the first of that is.
pub(super) fn decode(bytes: &[u8], encoding: Encoding) -> (String, Option<Wrong>) {
    let pairs = bytes.get(MARK..).unwrap_or_default().chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let big = encoding == Encoding::Utf16Be;
    let units = pairs.map(|pair| {
        let pair = [pair[0], pair[1]];
        if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    });
    let mut text = String::with_capacity(bytes.len() / 2);
    let (mut at, mut wrong) = (MARK as u64, None);
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(char) => {
                text.push(char);
                at += 2 * char.len_utf16() as u64;
            }
            Err(_) => {
                text.push(char::REPLACEMENT_CHARACTER);
                wrong.get_or_insert(Wrong { at, len: 2 });
                at += 2;
            }
        }
    }
    if odd {
        text.push(char::REPLACEMENT_CHARACTER);
        wrong.get_or_insert(Wrong { at, len: 0 });
    }
    (text, wrong)
}

/// Bytes that a text takes, the mark not counted.
pub(super) fn width(text: &str, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => text.len(),
        Encoding::Utf16Le | Encoding::Utf16Be => 2 * text.encode_utf16().count(),
    }
}

/// Appends a text in this encoding, without a mark.
pub(super) fn write(text: &str, encoding: Encoding, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Utf8 => out.extend_from_slice(text.as_bytes()),
        Encoding::Utf16Le => out.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        Encoding::Utf16Be => out.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn marks_and_wrong_bytes() {
        let check = |bytes: &[u8], expected: Option<(Encoding, &str, Option<Wrong>)>| {
            let seen = of(bytes).map(|encoding| {
                let (text, wrong) = decode(bytes, encoding);
                (encoding, text, wrong)
            });
            assert_eq!(seen, expected.map(|(encoding, text, wrong)| (encoding, text.to_owned(), wrong)), "{bytes:?}");
        };
        check(b"", None);
        check(b"\xFF", None);
        check(b"\xFF\xFEa\0", Some((Encoding::Utf16Le, "a", None)));
        check(b"\xFE\xFF\0a", Some((Encoding::Utf16Be, "a", None)));
        check(b"\xFF\xFE", Some((Encoding::Utf16Le, "", None)));
        check(b"\xFF\xFE\0\0a\0\0\0", None);
        check(b"\xFF\xFE\x3D\xD8\x00\xDE", Some((Encoding::Utf16Le, "\u{1F600}", None)));
        check(b"\xFF\xFEa\0\x3D\xD8b\0", Some((Encoding::Utf16Le, "a\u{FFFD}b", Some(Wrong { at: 4, len: 2 }))));
        check(b"\xFE\xFF\0a\0", Some((Encoding::Utf16Be, "a\u{FFFD}", Some(Wrong { at: 4, len: 0 }))));
    }
}
