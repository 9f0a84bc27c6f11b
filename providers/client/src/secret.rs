//! A key or token. It leaves this type in one place only, the header that carries it; nothing prints it.
use std::fmt;

use reqwest::header::HeaderValue;
use serde::{Deserialize, Deserializer};

/// Text that is never shown: not by `Debug`, not in errors, not in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What stands where a secret stood.
const MASK: &str = "***";

impl Secret {
    /// White space around a key is a slip of the hand (a line feed at the end of a file, say), never part of it.
    pub fn new(text: impl AsRef<str>) -> Secret {
        Secret(text.as_ref().trim().to_owned())
    }

    /// For requests, and for storing it where keys are stored. Never for a message.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` without this secret: some servers repeat the key in their refusals.
    pub fn mask(&self, text: &str) -> String {
        // A placeholder such as `ollama` is no secret, and would tear holes into messages.
        if self.0.len() < 8 { text.to_owned() } else { text.replace(&self.0, MASK) }
    }

    /// None where a header cannot carry it (a line feed inside, non-ASCII characters).
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        if !self.0.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            return None;
        }
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret::new(text)
    }
}
impl From<&str> for Secret {
    fn from(text: &str) -> Secret {
        Secret::new(text)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::from)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn is_never_shown() {
        let key = Secret::new(" sk-very-secret\n");
        assert_eq!(format!("{key:?} {:#?}", Some(&key)), "*** Some(\n    ***,\n)");
        assert_eq!(key.mask("bad key sk-very-secret!"), "bad key ***!");
        assert_eq!(Secret::new("ollama").mask("is ollama running?"), "is ollama running?");
        let header = key.header("Bearer ").expect("ASCII");
        assert_eq!(
            (header.to_str().expect("ASCII"), format!("{header:?}")),
            ("Bearer sk-very-secret", "Sensitive".into())
        );
        assert_eq!(Secret::new("schlüssel").header(""), None);
        assert_eq!(Secret::new("two\nlines").header(""), None);
    }
}
