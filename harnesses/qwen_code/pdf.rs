//! PDF files for models that take none: their text, by poppler's `pdftotext`, whole or some pages of it. Measured by
//! `read-pdf.json`, and with a stand-in for pdftotext.
use std::path::Path;

use protocol::{Action, Done, Exit, FileKind, Outcome, ReadAs, Run, Shell, World};
use serde_json::{Map, Value};

use super::cut::plain;
use super::read::{TOOL, failed, no_file};
use super::{args, refusal};
use crate::{Context, Next};

/// Pages that one call may ask for, and that a file may have where none are asked for.
const PAGES: u64 = 20;
const WHOLE: u64 = 10;
/// Bytes that count as one page before anybody has looked into the file.
const PAGE_BYTES: u64 = 100 << 10;
/// Tokens of text that is shown, and the characters that count as one.
const TOKENS: usize = 12_000;
const TOKEN: usize = 4;
/// Characters that the original adds before it counts, and where it stops counting.
const AROUND: usize = 64;
const COUNTED: usize = 100_100;
/// Milliseconds.
const TIMEOUT: u64 = 30_000;
/// What a shell says of a program that is not there.
const NO_PROGRAM: i32 = 127;

const NO_TEXT: &str = "pdftotext produced no text output. The PDF may contain only images.";
const OPEN_ENDED: &str = "Open-ended page ranges (e.g. '3-') are not supported; specify an explicit end page within the 20-page limit (e.g. '3-22').";
const NOT_INSTALLED: &str = "pdftotext is not installed. Install poppler-utils to enable PDF text extraction (e.g. `apt-get install poppler-utils` or `brew install poppler`).";

/// First and last page; None: all. Err: what the model is told.
pub(super) fn pages(args: &Map<String, Value>) -> Result<Option<(u64, u64)>, String> {
    let given = args::text(args, "pages");
    if given.trim().is_empty() {
        return Ok(None);
    }
    let invalid = || format!("Invalid pages parameter: '{given}'. Use formats like '5' or '1-10'.");
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|page| *page > 0);
    let (from, to) = given.split_once('-').unwrap_or((given, given));
    let from = number(from).ok_or_else(invalid)?;
    if to.trim().is_empty() {
        return Err(OPEN_ENDED.to_owned());
    }
    let to = number(to).filter(|to| *to >= from).ok_or_else(invalid)?;
    match to - from < PAGES {
        true => Ok(Some((from, to))),
        false => Err(format!("Pages range exceeds maximum of {PAGES} pages per request.")),
    }
}

pub(super) fn next(cx: &Context, given: &str, path: &Path, pages: Option<(u64, u64)>, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let base = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bytes = match did.first().map(|done| &done.outcome) {
        None => return Next::Do(vec![Action::World(World::Read { path: path.to_owned(), what: ReadAs::Stat })]),
        Some(Outcome::Stat { kind: FileKind::File, stamp, .. }) => stamp.len,
        Some(Outcome::Stat { kind, .. }) => return say(no_file(given, *kind)),
        Some(Outcome::Failed(failure)) => return say(failed(cx, given, path, failure)),
        Some(Outcome::Refused(refusal)) => return Next::Answer(refusal::refused(TOOL, refusal)),
        Some(_) => return Next::Answer(refusal::unrecorded()),
    };
    let about = bytes.div_ceil(PAGE_BYTES);
    let too_many = pages.is_none() && about > WHOLE;
    let (output, exit) = match did.get(1).map(|done| &done.outcome) {
        None => return Next::Do(vec![Action::World(World::Run(extraction(path, pages, too_many)))]),
        Some(Outcome::Ran { output, exit, .. }) => (output.text.as_str(), exit),
        Some(Outcome::Failed(failure)) => return say(refusal::failure(failure)),
        Some(Outcome::Refused(refusal)) => return Next::Answer(refusal::refused(TOOL, refusal)),
        Some(_) => return Next::Answer(refusal::unrecorded()),
    };
    say(match exit {
        Exit::Code(NO_PROGRAM) => NOT_INSTALLED.to_owned(),
        Exit::Code(0) if too_many => format!(
            "PDF \"{base}\" appears to have about {about} pages, which is too many to read at once. Use the 'pages' parameter to read a specific page range such as '1-5'. Maximum {PAGES} pages per request."
        ),
        Exit::Code(0) => shown(&base, output),
        _ if output.contains("Incorrect password") => {
            "PDF is password-protected. Please provide an unprotected version.".to_owned()
        }
        _ => format!("pdftotext failed: {}", output.trim()),
    })
}

/// Warnings are left out, so of a failure the words are asked for by themselves. `just_look`: whether the program is there.
fn extraction(path: &Path, pages: Option<(u64, u64)>, just_look: bool) -> Run {
    let quoted = format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let range = pages.map_or_else(String::new, |(from, to)| format!("-f {from} -l {to} "));
    let command = format!("pdftotext -layout {range}-- {quoted} -");
    let there = format!("command -v pdftotext > /dev/null || exit {NO_PROGRAM}");
    let script =
        if just_look { there } else { format!("{there}\n{command} 2> /dev/null || {command} 2>&1 > /dev/null") };
    let shell = Shell::Fresh { program: Some("bash".into()), login: false };
    Run { shell, timeout: Some(TIMEOUT), ..Run::new(script) }
}

/// The text was shown, by what was done and said.
pub(super) fn was_shown(did: &[Done], answer: &str) -> bool {
    let ran = did.iter().any(|done| matches!(&done.outcome, Outcome::Ran { exit: Exit::Code(0), .. }));
    ran && !answer.starts_with("PDF \"") && !answer.starts_with("PDF text extracted from \"") && answer != NO_TEXT
}

fn shown(base: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return NO_TEXT.to_owned();
    }
    let tokens = (text.encode_utf16().count().min(COUNTED) + AROUND).div_ceil(TOKEN);
    match tokens > TOKENS {
        true => format!(
            "PDF text extracted from \"{base}\" is too large to return safely ({tokens} estimated tokens; limit {TOKENS}). Use the 'pages' parameter with a narrower range, for example '1-2' or a single page."
        ),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_as_measured() {
        let check = |given: &str, expected: Result<Option<(u64, u64)>, &str>| {
            let args = json!({"pages": given});
            let found = pages(args.as_object().unwrap_or(&Map::new()));
            assert_eq!(found.as_ref().map(|pages| *pages).map_err(String::as_str), expected, "{given}");
        };
        check("", Ok(None));
        check("5", Ok(Some((5, 5))));
        check("2-3", Ok(Some((2, 3))));
        check(" 2 - 3 ", Ok(Some((2, 3))));
        check("1-20", Ok(Some((1, 20))));
        check("1-21", Err("Pages range exceeds maximum of 20 pages per request."));
        for bad in ["x", "3-1", "0", "-3"] {
            let expected = format!("Invalid pages parameter: '{bad}'. Use formats like '5' or '1-10'.");
            check(bad, Err(&expected));
        }
        check("3-", Err(OPEN_ENDED));
        check("4-", Err(OPEN_ENDED));
    }

    #[test]
    fn the_command_names_the_file_safely() {
        let script = extraction(Path::new("/w/it's.pdf"), Some((2, 3)), false).script;
        assert!(script.contains(r"pdftotext -layout -f 2 -l 3 -- '/w/it'\''s.pdf' - 2> /dev/null"), "{script}");
    }

    #[test]
    fn long_texts_are_not_shown() {
        let large = |tokens: usize| {
            format!(
                "PDF text extracted from \"a.pdf\" is too large to return safely ({tokens} estimated tokens; limit 12000). Use the 'pages' parameter with a narrower range, for example '1-2' or a single page."
            )
        };
        for (chars, tokens) in [(48_000, 12_016), (48_001, 12_017), (348_894, 25_041)] {
            assert_eq!(shown("a.pdf", &"x".repeat(chars)), large(tokens));
        }
        assert_eq!(shown("a.pdf", "page\n\u{c}"), "page\n\u{c}");
        assert_eq!(shown("a.pdf", " \n\u{c}"), "pdftotext produced no text output. The PDF may contain only images.");
    }
}
