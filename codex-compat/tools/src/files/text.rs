//! Text of files: how it is written (BOM, line ends, encoding), and how to write it again the same way. Pure.
use std::ops::Range;

use protocol::{Encoding, Eol, TextForm};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Bytes of a file as text without its BOM, line ends as they are. What is not UTF-8 becomes U+FFFD, and the form says so.
pub(crate) fn decode(mut bytes: Vec<u8>) -> (String, TextForm) {
    let bom = bytes.starts_with(BOM);
    if bom {
        bytes.drain(..BOM.len());
    }
    let eol = line_ends(&bytes);
    let (text, utf8) = match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(e) => (String::from_utf8_lossy(e.as_bytes()).into_owned(), false),
    };
    (text, TextForm { bom, eol, utf8, encoding: Encoding::Utf8 })
}

fn line_ends(bytes: &[u8]) -> Eol {
    let (mut lf, mut crlf) = (false, false);
    for at in memchr::memchr_iter(b'\n', bytes) {
        if at > 0 && bytes[at - 1] == b'\r' {
            crlf = true;
        } else {
            lf = true;
        }
        if lf && crlf {
            return Eol::Mixed;
        }
    }
    if crlf { Eol::Crlf } else { Eol::Lf }
}

/// The bytes of a whole text. `like` adds the BOM that it names and turns bare line feeds into CRLF where it says so;
/// it takes nothing away, since what the text already has was meant.
pub(crate) fn encode(text: &str, like: Option<TextForm>) -> Vec<u8> {
    let Some(form) = like else { return text.as_bytes().to_vec() };
    let mut bytes = Vec::with_capacity(text.len() + BOM.len());
    if form.bom && !text.as_bytes().starts_with(BOM) {
        bytes.extend_from_slice(BOM);
    }
    if form.eol != Eol::Crlf {
        bytes.extend_from_slice(text.as_bytes());
        return bytes;
    }
    let mut from = 0;
    for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
        bytes.extend_from_slice(&text.as_bytes()[from..at]);
        if at == 0 || text.as_bytes()[at - 1] != b'\r' {
            bytes.push(b'\r');
        }
        bytes.push(b'\n');
        from = at + 1;
    }
    bytes.extend_from_slice(&text.as_bytes()[from..]);
    bytes
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SpliceError {
    /// Not UTF-8 from this byte of the file on; so many bytes are wrong (0: cut in the middle of a character).
    NotText { at: u64, len: u64 },
    /// A range that is out of order, out of the text, or splits a character.
    Range(Range<u64>),
}

/// Replaces byte ranges of the text (counted after the BOM) and leaves every other byte as it is.
pub(crate) fn splice(bytes: &[u8], splices: &[(Range<u64>, String)]) -> Result<Vec<u8>, SpliceError> {
    let skip = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let text = std::str::from_utf8(&bytes[skip..]).map_err(|e| SpliceError::NotText {
        at: (skip + e.valid_up_to()) as u64,
        len: e.error_len().unwrap_or(0) as u64,
    })?;
    let grown: usize = splices.iter().map(|(_, new)| new.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + grown);
    out.extend_from_slice(&bytes[..skip]);
    let mut from = 0;
    for (range, new) in splices {
        let bad = || SpliceError::Range(range.clone());
        let start = usize::try_from(range.start).map_err(|_| bad())?;
        let end = usize::try_from(range.end).map_err(|_| bad())?;
        if start < from || end < start || !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            return Err(bad());
        }
        out.extend_from_slice(&text.as_bytes()[from..start]);
        out.extend_from_slice(new.as_bytes());
        from = end;
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn form(bom: bool, eol: Eol) -> TextForm {
        TextForm { bom, eol, ..TextForm::default() }
    }

    #[test]
    fn forms() {
        let check = |bytes: &[u8], text: &str, expected: TextForm| {
            assert_eq!(decode(bytes.to_vec()), (text.to_owned(), expected), "{bytes:?}");
        };
        check(b"", "", form(false, Eol::Lf));
        check(b"a\nb\n", "a\nb\n", form(false, Eol::Lf));
        check(b"a\r\nb\r\n", "a\r\nb\r\n", form(false, Eol::Crlf));
        check(b"a\r\nb\n", "a\r\nb\n", form(false, Eol::Mixed));
        check(b"\xEF\xBB\xBFa\r\n", "a\r\n", form(true, Eol::Crlf));
        check(b"\n", "\n", form(false, Eol::Lf));
        check(b"caf\xE9\n", "caf\u{FFFD}\n", TextForm { utf8: false, ..TextForm::default() });
    }

    #[test]
    fn whole_texts() {
        let check = |text: &str, like: Option<TextForm>, expected: &[u8]| {
            assert_eq!(encode(text, like), expected, "{text:?} {like:?}");
        };
        check("a\nb", None, b"a\nb");
        check("a\nb\n", Some(form(false, Eol::Crlf)), b"a\r\nb\r\n");
        check("a\r\nb\n", Some(form(true, Eol::Crlf)), b"\xEF\xBB\xBFa\r\nb\r\n");
        check("\n\n", Some(form(false, Eol::Crlf)), b"\r\n\r\n");
        check("\u{FEFF}a\n", Some(form(true, Eol::Lf)), b"\xEF\xBB\xBFa\n");
        check("a\r\nb\n", Some(form(false, Eol::Mixed)), b"a\r\nb\n");
    }

    #[test]
    fn splices() {
        let check = |bytes: &[u8], splices: &[(Range<u64>, &str)], expected: Result<&[u8], SpliceError>| {
            let splices: Vec<_> = splices.iter().map(|(r, s)| (r.clone(), (*s).to_owned())).collect();
            assert_eq!(splice(bytes, &splices), expected.map(<[u8]>::to_vec), "{bytes:?} {splices:?}");
        };
        check(b"foo\r\nbar\r\n", &[(0..3, "a\r\nb")], Ok(b"a\r\nb\r\nbar\r\n"));
        check(b"\xEF\xBB\xBFconst value = 1;\n", &[(14..15, "2")], Ok(b"\xEF\xBB\xBFconst value = 2;\n"));
        check(b"abc", &[(0..0, "x"), (1..2, ""), (3..3, "y")], Ok(b"xacy"));
        check(b"abc", &[], Ok(b"abc"));
        check(b"abc", &[(2..3, ""), (0..1, "")], Err(SpliceError::Range(0..1)));
        check(b"abc", &[(2..4, "")], Err(SpliceError::Range(2..4)));
        check("é".as_bytes(), &[(1..2, "")], Err(SpliceError::Range(1..2)));
        check(b"\xEF\xBB\xBFcaf\xE9\n", &[(0..1, "C")], Err(SpliceError::NotText { at: 6, len: 1 }));
        check(b"a\xE2\x82", &[(0..1, "C")], Err(SpliceError::NotText { at: 1, len: 0 }));
    }

    proptest! {
        #[test]
        fn a_text_written_in_its_own_form_is_the_same_file(bom: bool, crlf: bool, lines in prop::collection::vec("[a-zé ]{0,6}", 0..8)) {
            let end = if crlf { "\r\n" } else { "\n" };
            let mut bytes = if bom { BOM.to_vec() } else { Vec::new() };
            for line in &lines {
                bytes.extend_from_slice(line.as_bytes());
                bytes.extend_from_slice(end.as_bytes());
            }
            let (text, form) = decode(bytes.clone());
            prop_assert_eq!(encode(&text, Some(form)), bytes.clone());
            prop_assert_eq!(encode(&text.replace("\r\n", "\n"), Some(form)), bytes);
        }

        #[test]
        fn any_bytes_and_ranges_are_taken_without_panic(bytes: Vec<u8>, ranges: Vec<(u64, u64)>) {
            let splices: Vec<_> = ranges.into_iter().map(|(a, b)| (a..b, "x".to_owned())).collect();
            let _ = splice(&bytes, &splices);
            let _ = decode(bytes);
        }
    }
}
