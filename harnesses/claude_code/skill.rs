//! The Skill tool: the instructions of a skill come behind the result, with the arguments put in.
use protocol::{Action, Answer, Body, Done, Outcome, Part, Session};

use super::args::Input;
use super::generation::Generation;
use super::shared::refusal::{REJECTED, Wanted, refused};
use crate::{Context, Next};

/// Commands of the user's that models take for skills.
const COMMANDS: [&str; 8] = ["clear", "compact", "config", "exit", "help", "model", "resume", "status"];
/// Edits by which a name may be off to be named.
const NEAR: usize = 2;

pub(super) fn next(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    let asked = input.given("skill").or(input.given("command")).unwrap_or_default();
    let name = asked.trim().trim_start_matches('/');
    let args = input.text("args").trim();
    if name.is_empty() {
        return wrong(&format!("Invalid skill format: {asked}"));
    }
    if !cx.skills.iter().any(|skill| skill.name == name) {
        if generation.newest() && COMMANDS.contains(&name) {
            return wrong(&format!(
                "{name} is a UI command, not a skill. Ask the user to run /{name} themselves — it cannot be invoked via the Skill tool."
            ));
        }
        let near = cx.skills.iter().map(|skill| (strsim::osa_distance(&skill.name, name), &skill.name));
        let near = near.filter(|(distance, _)| *distance <= NEAR && generation.newest()).min();
        let meant = near.map(|(_, name)| format!(". Did you mean {name}?")).unwrap_or_default();
        return wrong(&format!("Unknown skill: {name}{meant}"));
    }
    match did.first().map(|done| &done.outcome) {
        None => Next::Do(vec![Action::Session(Session::Skill { name: name.to_owned(), args: args.to_owned() })]),
        Some(Outcome::Skill { dir, body, .. }) => {
            let mut after = Vec::new();
            if generation == Generation::V2_0 {
                after.push(Part::Text(format!(
                    "<command-message>{name} is running…</command-message>\n<command-name>/{name}</command-name>"
                )));
            }
            if generation.newest() && used(cx, name) {
                after.push(Part::Text(format!(
                    "(Re-invocation of /{name} — the skill instructions were previously loaded; the arguments or dynamic output below are new.)\n"
                )));
            }
            after.push(Part::Text(format!(
                "Base directory for this skill: {}\n\n{}",
                dir.display(),
                filled(body.trim_start_matches('\n'), args)
            )));
            Next::Answer(Answer { after, ..Answer::plain(format!("Launching skill: {name}")) })
        }
        Some(Outcome::Refused(refusal)) => Next::Answer(refused(Wanted::Use(input.tool), refusal)),
        Some(Outcome::Interrupted { .. }) => Next::Answer(Answer::failed(REJECTED)),
        Some(_) => wrong(&format!("Unknown skill: {name}")),
    }
}

fn used(cx: &Context, name: &str) -> bool {
    let by = |done: &Done| matches!(&done.action, Action::Session(Session::Skill { name: used, .. }) if used == name);
    cx.items.iter().any(|item| matches!(&item.body, Body::Called { did, .. } if did.iter().any(by)))
}

/// `$ARGUMENTS` is all of them, `$0` the first; without a place for them they follow the text.
fn filled(body: &str, args: &str) -> String {
    let mut text = body.to_owned();
    for (at, word) in args.split_whitespace().enumerate() {
        text = text.replace(&format!("${at}"), word);
    }
    let text = text.replace("$ARGUMENTS", args);
    if text == body && !args.is_empty() { format!("{body}\n\nARGUMENTS: {args}") } else { text }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    /// As measured on the original.
    #[test]
    fn arguments_are_put_in_or_behind() {
        let body = "Greet $ARGUMENTS now.\nFirst: $0. Second: $1.\n";
        for (body, args, expected) in [
            (body, "bob 3", "Greet bob 3 now.\nFirst: bob. Second: 3.\n"),
            (body, "", "Greet  now.\nFirst: $0. Second: $1.\n"),
            ("Plain body.\n", "some words", "Plain body.\n\n\nARGUMENTS: some words"),
            ("Plain body.\n", "", "Plain body.\n"),
        ] {
            assert_eq!(super::filled(body, args), expected);
        }
    }
}
