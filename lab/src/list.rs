//! `interpreter harness list`: which harnesses may be chosen here, and where each comes from.
use config::Loaded;
use runtime::{Listed, list_harnesses};
use serde_json::json;

/// One id a line, built-in ones first, so that scripts read it line by line; as JSON with origin, file, base and learned version.
/// Beside it what is wrong with definitions that cannot be chosen.
pub fn list(loaded: &Loaded, as_json: bool) -> (String, Vec<String>) {
    let (all, notes) = list_harnesses(loaded);
    let text = match as_json {
        true => format!("{:#}\n", all.iter().map(entry).collect::<serde_json::Value>()),
        false => all.iter().map(|listed| format!("{}\n", listed.id)).collect(),
    };
    (text, notes)
}

fn entry(listed: &Listed) -> serde_json::Value {
    let mut entry = json!({"id": listed.id, "origin": listed.origin.as_str()});
    let more = [
        ("file", listed.file.as_ref().map(|file| file.display().to_string())),
        ("base", listed.base.clone()),
        ("description", Some(listed.description.clone()).filter(|text| !text.is_empty())),
        ("learned", listed.learned.clone()),
    ];
    for (key, value) in more {
        if let Some(value) = value {
            entry[key] = json!(value);
        }
    }
    entry
}
