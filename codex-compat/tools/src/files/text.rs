//! Text of files: how it is written (mark, line ends, encoding), and how to write it again the same way. Pure.
use std::{borrow::Cow, ops::Range};

use protocol::{Encoding, Eol, TextForm};

use super::utf16;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Bytes of a file as text without its mark, line ends as they are. What is neither UTF-8 nor UTF-16 becomes U+FFFD, and the
/// form says so.
pub(crate) fn decode(mut bytes: Vec<u8>) -> (String, TextForm) {
    if let Some(encoding) = utf16::of(&bytes) {
        let (text, wrong) = utf16::decode(&bytes, encoding);
        let eol = line_ends(text.as_bytes());
        return (text, TextForm { bom: true, eol, utf8: wrong.is_none(), encoding });
    }
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

/// Bytes to compare line by line: UTF-16 as UTF-8, all else as it is.
pub(crate) fn comparable(bytes: &[u8]) -> Cow<'_, [u8]> {
    match utf16::of(bytes) {
        Some(encoding) => utf16::decode(bytes, encoding).0.into_bytes().into(),
        None => bytes.into(),
    }
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

/// The bytes of a whole text. `like` gives it the encoding and the mark that it names and turns bare line feeds into CRLF where
/// it says so; it takes nothing away, since what the text already has was meant.
pub(crate) fn encode(text: &str, like: Option<TextForm>) -> Vec<u8> {
    let Some(form) = like else { return text.as_bytes().to_vec() };
    let mut bytes = Vec::with_capacity(text.len() + BOM.len());
    // UTF-16 without its mark would not be known again.
    if (form.bom || form.encoding != Encoding::Utf8) && !text.starts_with('\u{FEFF}') {
        utf16::write("\u{FEFF}", form.encoding, &mut bytes);
    }
    let mut write = |text: &str| utf16::write(text, form.encoding, &mut bytes);
    if form.eol != Eol::Crlf {
        write(text);
        return bytes;
    }
    let mut from = 0;
    for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
        write(&text[from..at]);
        write(if at == 0 || text.as_bytes()[at - 1] != b'\r' { "\r\n" } else { "\n" });
        from = at + 1;
    }
    write(&text[from..]);
    bytes
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SpliceError {
    /// Neither UTF-8 nor UTF-16 from this byte of the file on; so many bytes are wrong (0: cut in the middle of a character).
    NotText { at: u64, len: u64 },
    /// A range that is out of order, out of the text, or splits a character.
    Range(Range<u64>),
}

/// Replaces byte ranges of the text (in UTF-8, counted after the mark) and leaves every other byte as it is.
pub(crate) fn splice(bytes: &[u8], splices: &[(Range<u64>, String)]) -> Result<Vec<u8>, SpliceError> {
    let Whole { text, mark, encoding } = whole(bytes)?;
    let grown: usize = splices.iter().map(|(_, new)| new.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + grown);
    out.extend_from_slice(&bytes[..mark]);
    // In the text, and in the bytes.
    let (mut from, mut at) = (0, mark);
    for (range, new) in splices {
        let bad = || SpliceError::Range(range.clone());
        let start = usize::try_from(range.start).map_err(|_| bad())?;
        let end = usize::try_from(range.end).map_err(|_| bad())?;
        if start < from || end < start || !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            return Err(bad());
        }
        let kept = utf16::width(&text[from..start], encoding);
        out.extend_from_slice(&bytes[at..at + kept]);
        utf16::write(new, encoding, &mut out);
        at += kept + utf16::width(&text[start..end], encoding);
        from = end;
    }
    out.extend_from_slice(&bytes[at..]);
    Ok(out)
}

/// A text that says all that its bytes do.
struct Whole<'a> {
    text: Cow<'a, str>,
    /// Bytes of the mark in front.
    mark: usize,
    encoding: Encoding,
}

fn whole(bytes: &[u8]) -> Result<Whole<'_>, SpliceError> {
    if let Some(encoding) = utf16::of(bytes) {
        return match utf16::decode(bytes, encoding) {
            (text, None) => Ok(Whole { text: text.into(), mark: utf16::MARK, encoding }),
            (_, Some(utf16::Wrong { at, len })) => Err(SpliceError::NotText { at, len }),
        };
    }
    let mark = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let text = std::str::from_utf8(&bytes[mark..]).map_err(|e| SpliceError::NotText {
        at: (mark + e.valid_up_to()) as u64,
        len: e.error_len().unwrap_or(0) as u64,
    })?;
    Ok(Whole { text: text.into(), mark, encoding: Encoding::Utf8 })
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
        let le = TextForm { bom: true, encoding: Encoding::Utf16Le, ..TextForm::default() };
        check(b"\xFF\xFEa\0\n\0", "a\n", le);
        check(b"\xFF\xFEa\0\r\0\n\0", "a\r\n", TextForm { eol: Eol::Crlf, ..le });
        check(b"\xFE\xFF\0a\0\n", "a\n", TextForm { encoding: Encoding::Utf16Be, ..le });
        check(b"\xFF\xFE\0\xD8a\0", "\u{FFFD}a", TextForm { utf8: false, ..le });
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
        let le = TextForm { encoding: Encoding::Utf16Le, ..form(true, Eol::Crlf) };
        check("a\n", Some(le), b"\xFF\xFEa\0\r\0\n\0");
        check("\u{FEFF}a", Some(TextForm { bom: false, ..le }), b"\xFF\xFEa\0");
        check("a", Some(TextForm { encoding: Encoding::Utf16Be, bom: false, ..le }), b"\xFE\xFF\0a");
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
        check(b"\xFF\xFEa\0\xE9\0\r\0", &[(1..3, "\u{20AC}x")], Ok(b"\xFF\xFEa\0\xAC\x20x\0\r\0"));
        check(b"\xFE\xFF\0a\0b", &[(0..0, "x"), (2..2, "y")], Ok(b"\xFE\xFF\0x\0a\0b\0y"));
        check(b"\xFF\xFE\xE9\0", &[(0..1, "")], Err(SpliceError::Range(0..1)));
        check(b"\xFF\xFEa\0b", &[(0..1, "")], Err(SpliceError::NotText { at: 4, len: 0 }));
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

        /// Whatever the encoding: what is read, changed and read again is the text changed, and no byte around the change is another.
        #[test]
        fn a_change_leaves_all_around_it_as_it_is(
            encoding in prop::sample::select(vec![Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be]),
            parts in prop::array::uniform5("[a-zé€🙂\r\n]{0,6}"),
            news in prop::array::uniform2("[a-zé€🙂\r\n]{0,6}"),
        ) {
            let written = |text: &str| {
                let mut bytes = Vec::new();
                utf16::write(text, encoding, &mut bytes);
                bytes
            };
            let [head, first, middle, second, tail] = parts;
            let bytes = written(&format!("\u{FEFF}{head}{first}{middle}{second}{tail}"));
            let (text, form) = decode(bytes.clone());
            prop_assert_eq!(&text, &[&*head, &first, &middle, &second, &tail].concat());
            prop_assert!(form.utf8 && form.bom && form.encoding == encoding);
            prop_assert_eq!(encode(&text, Some(form)), bytes.clone());
            let at = |parts: &[&str]| parts.iter().map(|part| part.len() as u64).sum::<u64>();
            let splices = [
                (at(&[&head])..at(&[&head, &first]), news[0].clone()),
                (at(&[&head, &first, &middle])..at(&[&head, &first, &middle, &second]), news[1].clone()),
            ];
            let expected = written(&format!("\u{FEFF}{head}{}{middle}{}{tail}", news[0], news[1]));
            prop_assert_eq!(splice(&bytes, &splices), Ok(expected));
        }

        #[test]
        fn any_bytes_and_ranges_are_taken_without_panic(bytes: Vec<u8>, ranges: Vec<(u64, u64)>) {
            let splices: Vec<_> = ranges.into_iter().map(|(a, b)| (a..b, "x".to_owned())).collect();
            for mark in [b"".as_slice(), b"\xFF\xFE", b"\xFE\xFF"] {
                let bytes = [mark, &bytes].concat();
                let _ = splice(&bytes, &splices);
                let _ = decode(bytes);
            }
        }
    }
}
