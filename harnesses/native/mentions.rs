//! Skills that the user names with a dollar sign: their text follows the prompt, in Codex 0.171.0's form.
use std::path::Path;

use protocol::{Body, Fact, Part};

use crate::Context;

/// Names of skills in what the user said since the last reply, each once, without those that were looked up already.
pub(super) fn new(cx: &Context) -> Vec<String> {
    if cx.skills.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    let since = cx.items.iter().rposition(|item| matches!(item.body, Body::Reply { .. })).map_or(0, |at| at + 1);
    for item in &cx.items[since..] {
        match &item.body {
            Body::User { parts, .. } => {
                let known = |name: &&str| cx.skills.iter().any(|skill| skill.name == *name);
                for name in parts.iter().filter_map(Part::as_text).flat_map(dollars).filter(known) {
                    if !names.iter().any(|seen| seen == name) {
                        names.push(name.to_owned());
                    }
                }
            }
            Body::Fact(Fact::Skill { name, .. }) => names.retain(|seen| seen != name),
            _ => {}
        }
    }
    names
}

/// Words behind a dollar sign.
fn dollars(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))).unwrap_or(rest.len());
        &rest[..end]
    })
}

pub(super) fn told(name: &str, file: &Path, text: &str) -> String {
    format!("<skill>\n<name>{name}</name>\n<path>{}</path>\n{text}\n</skill>", file.display())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn words_behind_a_dollar_sign() {
        let check = |text: &str, expected: &[&str]| assert_eq!(dollars(text).collect::<Vec<_>>(), expected);
        check("use $pdf-read, then $x_1.", &["pdf-read", "x_1"]);
        check("$$a costs 5$", &["", "a", ""]);
        check("none", &[]);
    }
}
