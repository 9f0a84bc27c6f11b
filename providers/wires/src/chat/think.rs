//! Reasoning between `<think>` tags at the start of a reply's text (quirk `think_tags`), whose tags come in pieces.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// What a piece of content is made of.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Reasoning(String),
    /// The reasoning is over; white space that followed the closing tag.
    Closed(String),
    Text(String),
}

#[derive(Debug, Default)]
pub(super) struct Think {
    place: Place,
    /// What may be the start of a tag, or white space behind one.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Place {
    #[default]
    Before,
    Inside,
    Behind,
    Past,
}

impl Think {
    pub(super) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.held.push_str(text);
        if self.place == Place::Before {
            let start = self.held.trim_start();
            if let Some(rest) = start.strip_prefix(OPEN) {
                self.held = rest.to_owned();
                self.place = Place::Inside;
            } else if OPEN.starts_with(start) {
                return;
            } else {
                self.place = Place::Past;
            }
        }
        if self.place == Place::Inside {
            if let Some(end) = self.held.find(CLOSE) {
                let rest = self.held.split_off(end);
                self.take(out, Piece::Reasoning);
                self.held = rest[CLOSE.len()..].to_owned();
                self.place = Place::Behind;
            } else {
                let keep = (1..CLOSE.len()).rev().find(|&len| self.held.ends_with(&CLOSE[..len])).unwrap_or(0);
                let rest = self.held.split_off(self.held.len() - keep);
                self.take(out, Piece::Reasoning);
                self.held = rest;
            }
        }
        if self.place == Place::Behind {
            let text = self.held.trim_start().len();
            if text == 0 {
                return;
            }
            let rest = self.held.split_off(self.held.len() - text);
            out.push(Piece::Closed(std::mem::replace(&mut self.held, rest)));
            self.place = Place::Past;
        }
        if self.place == Place::Past {
            self.take(out, Piece::Text);
        }
    }

    /// No more text comes, or something else comes first.
    pub(super) fn flush(&mut self, out: &mut Vec<Piece>) {
        match std::mem::replace(&mut self.place, Place::Past) {
            Place::Before | Place::Past => self.take(out, Piece::Text),
            Place::Inside => {
                self.take(out, Piece::Reasoning);
                out.push(Piece::Closed(String::new()));
            }
            Place::Behind => out.push(Piece::Closed(std::mem::take(&mut self.held))),
        }
    }

    fn take(&mut self, out: &mut Vec<Piece>, piece: fn(String) -> Piece) {
        if !self.held.is_empty() {
            out.push(piece(std::mem::take(&mut self.held)));
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[track_caller]
    fn check(text: &str, reasoning: &str, space: Option<&str>, said: &str) {
        for size in 1..=text.len() {
            let (mut think, mut out) = (Think::default(), Vec::new());
            let chars: Vec<char> = text.chars().collect();
            for chunk in chars.chunks(size) {
                think.push(&chunk.iter().collect::<String>(), &mut out);
            }
            think.flush(&mut out);
            let (mut got, mut got_space, mut got_said) = (String::new(), None, String::new());
            for piece in out {
                match piece {
                    Piece::Reasoning(text) => got.push_str(&text),
                    Piece::Closed(space) => got_space = Some(space),
                    Piece::Text(text) => got_said.push_str(&text),
                }
            }
            assert_eq!(
                (got.as_str(), got_space.as_deref(), got_said.as_str()),
                (reasoning, space, said),
                "size {size}"
            );
        }
    }

    #[test]
    fn tags() {
        check("<think>a</think>\n\nb", "a", Some("\n\n"), "b");
        check(" <think>a < b</th</think>c", "a < b</th", Some(""), "c");
        check("<thing>", "", None, "<thing>");
        check("no <think>x</think>", "", None, "no <think>x</think>");
        check("<think>never closed", "never closed", Some(""), "");
        check("<think></think>x", "", Some(""), "x");
        check("  ", "", None, "  ");
    }
}
