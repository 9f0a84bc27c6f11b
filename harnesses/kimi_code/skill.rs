//! The Skill tool: a skill's text reaches the model as a message of its own, behind the result.
use protocol::{Action, Done, Outcome, Session};

use super::args::Args;
use super::envelope::Said;
use super::refusal;
use crate::{Context, Next, SkillInfo};

pub(super) const LOADED: &str = "Skill tool loaded instructions for this request. Follow them.";

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let name = args.str("skill");
    let said = |said: Said| Next::Answer(said.answer("Skill", did));
    if !cx.skills.iter().any(|skill| skill.name == name) {
        return said(Said::failed(format!("Skill \"{name}\" not found in the current skill listing.")));
    }
    match did.first().map(|done| &done.outcome) {
        None => {
            Next::Do(vec![Action::Session(Session::Skill { name: name.to_owned(), args: args.str("args").to_owned() })])
        }
        Some(Outcome::Skill { .. }) => {
            said(Said::ok(format!("Skill \"{name}\" loaded inline. Follow its instructions.")))
        }
        Some(other) => said(refusal::said("Skill", other)),
    }
}

/// What is said behind the result of a call that loaded a skill.
pub(super) fn loaded(cx: &Context, did: &[Done]) -> Option<String> {
    let (Action::Session(Session::Skill { name, args }), Outcome::Skill { dir, body, .. }) =
        did.first().map(|done| (&done.action, &done.outcome))?
    else {
        return None;
    };
    let known = cx.skills.iter().find(|skill| skill.name == *name);
    Some(format!(
        "{LOADED}\n\n<skill-loaded name=\"{}\" trigger=\"model-tool\" source=\"{}\" dir=\"{}\" args=\"{}\">\n{}\n</skill-loaded>",
        attribute(name),
        scope(known),
        dir.display(),
        attribute(args),
        expanded(body, args).trim_end()
    ))
}

fn scope(skill: Option<&SkillInfo>) -> &str {
    match skill.map(|skill| skill.scope.as_str()) {
        Some("bundled") => "builtin",
        Some(scope) => scope,
        None => "extra",
    }
}

/// `$0`, `$1`, ... are the words of `args`, `$ARGUMENTS` all of it; a body without them gets it as its last line. Names of
/// arguments are not told to us and stay as they are.
fn expanded(body: &str, args: &str) -> String {
    let words = words(args);
    let mut out = String::new();
    let mut used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix("ARGUMENTS") {
            out.push_str(args);
            (rest, used) = (after, true);
            continue;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match rest[..digits].parse::<usize>().ok() {
            Some(n) => {
                out.push_str(words.get(n).map_or("", String::as_str));
                (rest, used) = (&rest[digits..], true);
            }
            None => out.push('$'),
        }
    }
    out.push_str(rest);
    if !used && !args.is_empty() {
        out = format!("{}\n\nARGUMENTS: {args}", out.trim_end());
    }
    out
}

/// Split at blanks; quotes hold together.
fn words(args: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in args.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn placeholders() {
        let check = |body: &str, args: &str, expected: &str| assert_eq!(expanded(body, args), expected);
        check("hi $0, $1 and $ARGUMENTS", "Ann \"B C\"", "hi Ann, B C and Ann \"B C\"");
        check("hi $3.", "Ann", "hi .");
        check("plain\n", "x y", "plain\n\nARGUMENTS: x y");
        check("costs $ and $x", "", "costs $ and $x");
    }

    proptest! {
        #[test]
        fn any_text_is_expanded(body in "[$0-9aARGUMENTS \"é]{0,30}", args in "[a\"' é]{0,12}") {
            let _ = expanded(&body, &args);
        }
    }
}
