//! `reasoning_details`: a list that comes in pieces and must go back as one. Pieces of a text or summary that follow each
//! other with the same type and index are one element; everything else stays as it came.
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// Adds the list of one chunk; returns the text that it shows.
    pub(super) fn add(&mut self, json: &str) -> String {
        let mut shown = String::new();
        for piece in serde_json::from_str::<Vec<Map<String, Value>>>(json).unwrap_or_default() {
            for name in TEXTS {
                shown.push_str(piece.get(name).and_then(Value::as_str).unwrap_or_default());
            }
            match self.0.last_mut() {
                Some(last) if continues(last, &piece) => merge(last, piece),
                _ => self.0.push(piece),
            }
        }
        shown
    }

    pub(super) fn take(&mut self) -> Option<Vec<Map<String, Value>>> {
        Some(std::mem::take(&mut self.0)).filter(|list| !list.is_empty())
    }
}

/// Readable, and streamed in pieces.
const TEXTS: [&str; 2] = ["text", "summary"];

fn continues(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let same = |name: &str| last.get(name) == piece.get(name);
    let is_text = piece.get("type").and_then(Value::as_str).is_none_or(|kind| !kind.ends_with("encrypted"));
    // A signature closes its text.
    let signed =
        last.get("signature").is_some_and(|it| !it.is_null()) && TEXTS.iter().any(|name| piece.contains_key(*name));
    let other_id =
        last.get("id").is_some_and(Value::is_string) && piece.get("id").is_some_and(Value::is_string) && !same("id");
    same("type") && same("index") && is_text && !other_id && !(signed && piece.get("index").is_none())
}

fn merge(last: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (last.get_mut(&name), value) {
            (Some(Value::String(so_far)), Value::String(more)) if TEXTS.contains(&name.as_str()) => {
                so_far.push_str(&more)
            }
            (Some(known), value) if known.is_null() => *known = value,
            (Some(_), _) => {}
            (None, value) => {
                last.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_become_one() {
        let mut details = Details::default();
        assert_eq!(details.add(r#"[{"type":"reasoning.text","text":"a","format":"x","index":0}]"#), "a");
        details.add(r#"[{"type":"reasoning.text","text":"b","index":0,"signature":null}]"#);
        details.add(r#"[{"type":"reasoning.text","signature":"s","index":0}]"#);
        details.add(r#"[{"type":"reasoning.encrypted","data":"e","index":0},{"type":"reasoning.encrypted","data":"f","index":0}]"#);
        assert_eq!(
            json!(details.take()),
            json!([
                {"type":"reasoning.text","text":"ab","format":"x","index":0,"signature":"s"},
                {"type":"reasoning.encrypted","data":"e","index":0},
                {"type":"reasoning.encrypted","data":"f","index":0},
            ])
        );
    }
}
