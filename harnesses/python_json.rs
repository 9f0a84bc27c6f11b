//! The words in which Python's `json.loads` (3.11) refuses a text: originals written in Python hand them to the model.

/// None where Python reads it.
pub(crate) fn error(text: &str) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.first() == Some(&'\u{feff}') {
        return Some(said(&chars, "Unexpected UTF-8 BOM (decode using utf-8-sig)", 0));
    }
    let scan = Scan { chars: &chars };
    let whole = || {
        let end = scan.value(scan.blank(0), 0)?;
        let rest = scan.blank(end);
        if rest < chars.len() { Err(("Extra data", rest)) } else { Ok(()) }
    };
    whole().err().map(|(message, at)| said(&chars, message, at))
}

fn said(chars: &[char], message: &str, at: usize) -> String {
    let before = &chars[..at.min(chars.len())];
    let line = before.iter().filter(|c| **c == '\n').count() + 1;
    let column = at + 1 - before.iter().rposition(|c| *c == '\n').map_or(0, |end| end + 1);
    format!("{message}: line {line} column {column} (char {at})")
}

type End = Result<usize, (&'static str, usize)>;

/// Values nested deeper than this are refused; Python gives up a little later.
const DEEPEST: usize = 500;

struct Scan<'a> {
    chars: &'a [char],
}

impl Scan<'_> {
    fn at(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    fn blank(&self, mut at: usize) -> usize {
        while matches!(self.at(at), Some(' ' | '\t' | '\n' | '\r')) {
            at += 1;
        }
        at
    }

    fn value(&self, at: usize, depth: usize) -> End {
        const NO_VALUE: &str = "Expecting value";
        if depth > DEEPEST {
            return Err((NO_VALUE, at));
        }
        for word in ["null", "true", "false", "NaN", "Infinity", "-Infinity"] {
            if self.chars[at.min(self.chars.len())..].iter().copied().take(word.len()).eq(word.chars()) {
                return Ok(at + word.len());
            }
        }
        match self.at(at) {
            Some('"') => self.string(at),
            Some('{') => self.object(at + 1, depth),
            Some('[') => self.array(at + 1, depth),
            _ => self.number(at).ok_or((NO_VALUE, at)),
        }
    }

    fn number(&self, at: usize) -> Option<usize> {
        let digits = |mut at: usize| {
            while self.at(at).is_some_and(|c| c.is_ascii_digit()) {
                at += 1;
            }
            at
        };
        let start = at + usize::from(self.at(at) == Some('-'));
        let mut end = match self.at(start)? {
            '0' => start + 1,
            '1'..='9' => digits(start),
            _ => return None,
        };
        if self.at(end) == Some('.') && digits(end + 1) > end + 1 {
            end = digits(end + 1);
        }
        if matches!(self.at(end), Some('e' | 'E')) {
            let sign = end + 1 + usize::from(matches!(self.at(end + 1), Some('+' | '-')));
            if digits(sign) > sign {
                end = digits(sign);
            }
        }
        Some(end)
    }

    /// From the opening quote.
    fn string(&self, quote: usize) -> End {
        let unterminated = Err(("Unterminated string starting at", quote));
        let mut at = quote + 1;
        loop {
            match self.at(at) {
                None => return unterminated,
                Some('"') => return Ok(at + 1),
                Some(c) if c < ' ' => return Err(("Invalid control character at", at)),
                Some('\\') => match self.at(at + 1) {
                    None => return unterminated,
                    Some('u') => {
                        let hex = |at: usize| self.at(at).is_some_and(|c| c.is_ascii_hexdigit());
                        if at + 6 >= self.chars.len() || !(at + 2..at + 6).all(hex) {
                            return Err(("Invalid \\uXXXX escape", at + 1));
                        }
                        at += 6;
                    }
                    Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => at += 2,
                    Some(_) => return Err(("Invalid \\escape", at)),
                },
                Some(_) => at += 1,
            }
        }
    }

    fn object(&self, at: usize, depth: usize) -> End {
        let mut at = self.blank(at);
        if self.at(at) == Some('}') {
            return Ok(at + 1);
        }
        loop {
            if self.at(at) != Some('"') {
                return Err(("Expecting property name enclosed in double quotes", at));
            }
            at = self.blank(self.string(at)?);
            if self.at(at) != Some(':') {
                return Err(("Expecting ':' delimiter", at));
            }
            at = self.blank(self.value(self.blank(at + 1), depth + 1)?);
            match self.at(at) {
                Some('}') => return Ok(at + 1),
                Some(',') => at = self.blank(at + 1),
                _ => return Err(("Expecting ',' delimiter", at)),
            }
        }
    }

    fn array(&self, at: usize, depth: usize) -> End {
        let mut at = self.blank(at);
        if self.at(at) == Some(']') {
            return Ok(at + 1);
        }
        loop {
            at = self.blank(self.value(at, depth + 1)?);
            match self.at(at) {
                Some(']') => return Ok(at + 1),
                Some(',') => at = self.blank(at + 1),
                _ => return Err(("Expecting ',' delimiter", at)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::error;

    /// Each line: what Python 3.11 says of the text.
    #[test]
    fn says_what_python_says() {
        for (text, expected) in [
            ("{bad json", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
            ("", "Expecting value: line 1 column 1 (char 0)"),
            ("{\"a\":1}{", "Extra data: line 1 column 8 (char 7)"),
            ("{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)"),
            ("{\"a\":1 \"b\"}", "Expecting ',' delimiter: line 1 column 8 (char 7)"),
            ("{\"a\":1,}", "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"),
            ("{\"a\":", "Expecting value: line 1 column 6 (char 5)"),
            ("{\"é\n", "Invalid control character at: line 1 column 4 (char 3)"),
            ("{\n \"a\": \"x", "Unterminated string starting at: line 2 column 7 (char 8)"),
            ("\"\\x\"", "Invalid \\escape: line 1 column 2 (char 1)"),
            ("\"\\u12\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"),
            ("[1,]", "Expecting value: line 1 column 4 (char 3)"),
            ("[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"),
            ("-", "Expecting value: line 1 column 1 (char 0)"),
        ] {
            assert_eq!(error(text).as_deref(), Some(expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_another_reader(text in "[\\[\\]{}:,\"\\\\u01e.a\n -]{0,14}") {
            let other = serde_json::from_str::<serde_json::Value>(&text);
            // A lone surrogate is text to Python; a number too large for us is one too.
            if !text.contains("\\u") && !text.contains('e') {
                prop_assert_eq!(error(&text).is_none(), other.is_ok(), "{}", text);
            }
        }
        #[test]
        fn reads_all_that_is_json(text in "\\PC{0,20}") {
            prop_assert_eq!(error(&serde_json::json!({"a": [text]}).to_string()), None);
        }
    }
}
