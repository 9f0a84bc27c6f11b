//! What the original's JavaScript engine (JavaScriptCore, Bun 1.3) says of text that is not JSON. Texts measured; see the table in
//! the tests.

/// The message for `text`, which no JSON parser takes.
pub(super) fn message(text: &str) -> String {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let why = match reader.value() {
        Ok(()) => "Unable to parse JSON string".to_owned(),
        Err(why) => why,
    };
    format!("JSON Parse error: {why}")
}

/// Deeper nesting is not followed: what is wrong there is not worth a stack.
const DEPTH: usize = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Step = Result<(), String>;

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&mut self) -> Option<char> {
        let blank = self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.at += blank;
        self.rest().chars().next()
    }

    fn value(&mut self) -> Step {
        let Some(next) = self.peek() else { return Err("Unexpected EOF".into()) };
        match next {
            '{' | '[' if self.depth == DEPTH => Err("Unable to parse JSON string".into()),
            '{' => self.nested(Reader::object),
            '[' => self.nested(Reader::array),
            '"' => self.string(),
            '-' | '0'..='9' => self.number(),
            '\'' => Err("Single quotes (') are not allowed in JSON".into()),
            '}' | ']' | ',' | ':' | '(' | ')' | ';' | '/' | '.' => Err(format!("Unexpected token '{next}'")),
            c if c.is_alphabetic() || c == '_' || c == '$' => {
                let length = self.rest().find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
                let word = &self.rest()[..length.unwrap_or(self.rest().len())];
                if !matches!(word, "true" | "false" | "null") {
                    return Err(format!("Unexpected identifier \"{word}\""));
                }
                self.at += word.len();
                Ok(())
            }
            c => Err(format!("Unrecognized token '{c}'")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Step) -> Step {
        self.at += 1;
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self) -> Step {
        let mut first = true;
        loop {
            match self.peek() {
                Some('}') if first => break,
                Some('"') => self.string()?,
                Some('\'') => return Err("Single quotes (') are not allowed in JSON".into()),
                _ if first => return Err("Expected '}'".into()),
                _ => return Err("Property name must be a string literal".into()),
            }
            if self.peek() != Some(':') {
                return Err("Expected ':' before value in object property definition".into());
            }
            self.at += 1;
            self.value()?;
            first = false;
            match self.peek() {
                Some(',') => self.at += 1,
                Some('}') => break,
                _ => return Err("Expected '}'".into()),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self) -> Step {
        if self.peek() == Some(']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value()?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some(']') => break,
                _ => return Err("Expected ']'".into()),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Step {
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(());
                }
                '\\' => match chars.next() {
                    Some((_, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {}
                    Some((_, 'u')) => {
                        let hex: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        if hex.len() != 4 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
                            return Err(format!("\"\\u{hex}\" is not a valid unicode escape"));
                        }
                    }
                    Some((_, other)) => return Err(format!("Invalid escape character {other}")),
                    None => break,
                },
                '\0'..='\x1f' => break,
                _ => {}
            }
        }
        Err("Unterminated string".into())
    }

    fn number(&mut self) -> Step {
        let text = self.text;
        let mut at = self.at;
        if text[at..].starts_with('-') {
            at += 1;
        }
        let whole = text[at..].bytes().take_while(u8::is_ascii_digit).count();
        if whole == 0 {
            return Err("Invalid number".into());
        }
        // A leading zero is a number of its own.
        at += if text[at..].starts_with('0') { 1 } else { whole };
        for signs in [&['.'][..], &['e', 'E']] {
            if !text[at..].starts_with(signs) {
                continue;
            }
            at += 1;
            if signs.len() == 2 && text[at..].starts_with(['+', '-']) {
                at += 1;
            }
            let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return Err("Invalid number".into());
            }
            at += digits;
        }
        self.at = at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::message;

    #[test]
    fn as_measured() {
        let check = |text: &str, expected: &str| {
            assert_eq!(message(text), format!("JSON Parse error: {expected}"), "{text}");
        };
        check("{\"filePath\": \"a.txt\"", "Expected '}'");
        check("not json", "Unexpected identifier \"not\"");
        check("{\"filePath\": \"a.txt\",}", "Property name must be a string literal");
        check("{\"filePath\": \"a", "Unterminated string");
        check("{filePath: \"a.txt\"}", "Expected '}'");
        check("{'filePath': 'a.txt'}", "Single quotes (') are not allowed in JSON");
        check("{\"filePath\": \"a.txt\"} x", "Unable to parse JSON string");
        check("{\"filePath\" \"a.txt\"}", "Expected ':' before value in object property definition");
        check("{\"filePath\": tru}", "Unexpected identifier \"tru\"");
        check("{\"filePath\": \"a\\x\"}", "Invalid escape character x");
        check("{\"a\":1,\"a", "Unterminated string");
        check("{\"filePath\": \"a\nb.txt\"}", "Unterminated string");
        check("{", "Expected '}'");
        check("{\"x\":[1,2", "Expected ']'");
        check("{\"filePath\":", "Unexpected EOF");
        check("undefined", "Unexpected identifier \"undefined\"");
        check("<x>", "Unrecognized token '<'");
        check("{\"filePath\":\"a.txt\" \"limit\":1}", "Expected '}'");
        check("{\"a\":01}", "Expected '}'");
        check("}", "Unexpected token '}'");
    }

    proptest! {
        #[test]
        fn any_text_has_a_message(text in "\\PC{0,40}|[\\[\\]{}\":,a0.e+ \\\\-]{0,40}") {
            let _ = message(&text);
        }
        /// What serde takes is read to its end.
        #[test]
        fn json_is_read_to_its_end(text in "[\\[\\]{}\":,a0.e-]{0,12}") {
            if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
                prop_assert_eq!(message(&text), "JSON Parse error: Unable to parse JSON string");
            }
        }
        #[test]
        fn deep_nesting_ends(depth in 0usize..4000) {
            let _ = message(&"[".repeat(depth));
        }
    }
}
