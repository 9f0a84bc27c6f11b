//! A result: `<system>` with the tool's message, then its output as a part of its own; one part goes as a plain string. And the
//! builder that bounds an output by characters and lines.
use protocol::{Answer, Content, Part};

/// Characters of an output, and of one line of it.
const CHARS: usize = 50_000;
const LINE: usize = 2_000;
const CUT: &str = "[...truncated]";
const IS_CUT: &str = "Output is truncated to fit in the message.";

/// What a tool has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Said {
    pub(super) message: String,
    pub(super) output: Vec<Part>,
    pub(super) failed: bool,
}

impl Said {
    pub(super) fn ok(message: impl Into<String>) -> Said {
        Said { message: message.into(), ..Said::default() }
    }
    pub(super) fn failed(message: impl Into<String>) -> Said {
        Said { message: message.into(), failed: true, ..Said::default() }
    }
    /// As its own part; nothing where it is empty.
    pub(super) fn with(mut self, output: impl Into<String>) -> Said {
        let output = output.into();
        self.output.extend((!output.is_empty()).then_some(Part::Text(output)));
        self
    }
    /// The same, bounded; the message says so where something was cut.
    pub(super) fn with_bounded(mut self, output: &str) -> Said {
        let (output, cut) = bounded(output);
        if cut {
            let gap = if self.message.is_empty() { "" } else { " " };
            self.message.push_str(&format!("{gap}{IS_CUT}"));
        }
        self.with(output)
    }

    pub(super) fn answer(self) -> Answer {
        let Said { message, output, failed } = self;
        let mut parts = Vec::new();
        match (failed, message.is_empty(), output.is_empty()) {
            (true, ..) => parts.push(Part::Text(format!("<system>ERROR: {message}</system>"))),
            (false, false, _) => parts.push(Part::Text(format!("<system>{message}</system>"))),
            (false, true, true) => parts.push(Part::text("<system>Tool output is empty.</system>")),
            (false, true, false) if output.iter().all(|part| part.as_text().is_none()) => {
                parts.push(Part::text("<system>Tool returned non-text content.</system>"));
            }
            (false, true, false) => {}
        }
        parts.extend(output);
        Answer { content: content(parts), error: failed.then_some(true), after: Vec::new() }
    }
}

/// One text part is a string.
pub(super) fn content(mut parts: Vec<Part>) -> Content {
    match parts.as_mut_slice() {
        [Part::Text(text)] => Content::Plain(std::mem::take(text)),
        _ => Content::Parts(parts),
    }
}

/// Lines of at most 2,000 characters, 50,000 characters in all; true where something is missing.
pub(super) fn bounded(output: &str) -> (String, bool) {
    let (mut out, mut chars, mut cut) = (String::new(), 0, false);
    for line in output.split_inclusive('\n') {
        if chars >= CHARS {
            cut = true;
            break;
        }
        let short = shortened(line, LINE.min(CHARS - chars), CUT);
        cut |= short != line;
        chars += short.chars().count();
        out.push_str(&short);
    }
    (out, cut)
}

/// A line of at most `limit` characters, its line end included; `mark` stands for what is cut off, and is never left out.
pub(super) fn shortened(line: &str, limit: usize, mark: &str) -> String {
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    let body = line.trim_end_matches(['\r', '\n']);
    let end = format!("{mark}{}", &line[body.len()..]);
    let keep = limit.saturating_sub(end.chars().count());
    let kept: String = body.chars().take(keep).collect();
    format!("{kept}{end}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn outputs_are_bounded() {
        let many: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        let (shown, cut) = bounded(&many);
        assert!(cut && shown.starts_with("1\n2\n3\n") && shown.ends_with("10183\n10184\n[...truncated]\n"), "{shown}");
        assert_eq!(
            bounded(&format!("{}\n", "x".repeat(5_000))),
            (format!("{}[...truncated]\n", "x".repeat(1_985)), true)
        );
        assert_eq!(bounded("abc"), ("abc".into(), false));
    }

    #[test]
    fn parts() {
        let check = |said: Said, expected: Content| assert_eq!(said.answer().content, expected);
        check(Said::ok(""), Content::Plain("<system>Tool output is empty.</system>".into()));
        check(Said::ok("").with("x"), Content::Plain("x".into()));
        check(Said::ok("m").with("x"), Content::Parts(vec![Part::text("<system>m</system>"), Part::text("x")]));
        check(Said::failed("m"), Content::Plain("<system>ERROR: m</system>".into()));
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_its_limit(line in "[aé]{0,40}(\r\n|\n)?", limit in 6usize..40) {
            let short = shortened(&line, limit, "...");
            prop_assert!(short.chars().count() <= limit);
        }
    }
}
