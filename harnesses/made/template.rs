//! Prompts and answers with places in them: `{{cwd}}` and the like, filled with what holds in the thread. One pass, so that nothing
//! in a value is taken for a place. What looks like a place and is none of these stays as it stands.
use protocol::{Body, Fact, Want};

use crate::{Context, claude_code_bare::prompt::permissions};

/// Every place of a prompt or a description, and what it stands for.
pub const PLACES: [(&str, &str); 19] = [
    ("base_prompt", "the prompt of the base harness"),
    ("agents_md", "instructions of user and project, with the paths of their files"),
    ("skills", "the skills at hand, one a line"),
    ("permissions", "what sandbox and network allow"),
    ("tools", "names of the tools, one a line"),
    ("cwd", "the working folder"),
    ("home", "the user's home folder"),
    ("date", "2026-11-30"),
    ("date_short", "Mon Nov 30 2026"),
    ("date_long", "Monday, November 30, 2026"),
    ("model", "the model's id"),
    ("provider", "the provider's id"),
    ("os", "Linux, macOS"),
    ("platform", "linux, darwin"),
    ("os_release", "the kernel's version"),
    ("shell", "the user's shell: bash"),
    ("branch", "the branch of git"),
    ("harness", "the id of the harness"),
    ("braces", "two opening braces"),
];

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Text(&'t str),
    Place(&'t str),
}

/// A template in pieces. Places are small letters and underscores in double braces.
pub(crate) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = template[at..].find("{{").map(|found| at + found) {
        let inner = &template[open + 2..];
        let length = inner.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_').count();
        if length > 0 && inner[length..].starts_with("}}") {
            pieces.push(Piece::Text(&template[from..open]));
            pieces.push(Piece::Place(&inner[..length]));
            from = open + 2 + length + 2;
            at = from;
        } else {
            at = open + 1;
        }
    }
    pieces.push(Piece::Text(&template[from..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// The template with its places filled; `value` gives None for what is no place.
pub(crate) fn fill(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    pieces(template)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Place(name) => value(name).unwrap_or_else(|| format!("{{{{{name}}}}}")),
        })
        .collect()
}

/// The text as a template that is filled to the same text.
pub fn escaped(text: &str) -> String {
    fill(text, |name| PLACES.iter().any(|(known, _)| *known == name).then(|| format!("{{{{braces}}}}{name}}}}}")))
}

/// The first place that there is not.
pub(crate) fn unknown<'t>(template: &'t str, known: &[&str]) -> Option<&'t str> {
    pieces(template).into_iter().find_map(|piece| match piece {
        Piece::Place(name) if !known.contains(&name) => Some(name),
        _ => None,
    })
}

/// What must be looked up for the places of a template.
pub(crate) fn wants(template: &str) -> Vec<Want> {
    let want = |piece| match piece {
        Piece::Place("date" | "date_short" | "date_long") => Some(Want::Date),
        Piece::Place("home") => Some(Want::Home),
        Piece::Place("os" | "platform" | "os_release") => Some(Want::System),
        Piece::Place("shell") => Some(Want::Shell),
        Piece::Place("branch") => Some(Want::Git),
        _ => None,
    };
    pieces(template).into_iter().filter_map(want).collect()
}

/// What stands for a place in this thread. `base_prompt` and `tools` are known to the harness that asks.
pub(crate) fn value(cx: &Context, id: &str, place: &str) -> Option<String> {
    let settings = cx.settings;
    Some(match place {
        "agents_md" => agents_md(cx),
        "skills" => skills(cx),
        "permissions" => permissions(settings).unwrap_or_default(),
        "cwd" => settings.cwd.display().to_string(),
        "home" => home(cx).unwrap_or_else(|| "~".to_owned()),
        "date" => date(cx)?,
        "date_short" => spelled(&date(cx)?, false),
        "date_long" => spelled(&date(cx)?, true),
        "model" => cx.model.slug.clone(),
        "provider" => settings.provider.clone(),
        "os" => match system(cx).0.as_str() {
            "Darwin" => "macOS".to_owned(),
            other => other.to_owned(),
        },
        "platform" => system(cx).0.to_lowercase(),
        "os_release" => system(cx).1,
        "shell" => shell(cx).unwrap_or_else(|| "sh".to_owned()),
        "branch" => branch(cx).unwrap_or_default(),
        "harness" => id.to_owned(),
        "braces" => "{{".to_owned(),
        _ => return None,
    })
}

/// Instructions of user and project.
pub(crate) fn agents_md(cx: &Context) -> String {
    let doc = |doc: &crate::Doc| format!("Instructions from {}:\n\n{}", doc.path, doc.text.trim_end());
    cx.docs.iter().map(doc).collect::<Vec<_>>().join("\n\n")
}

pub(crate) fn skills(cx: &Context) -> String {
    let line = |skill: &crate::SkillInfo| format!("- {}: {} (file: {})", skill.name, skill.description, skill.file);
    cx.skills.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The newest fact that `pick` takes.
fn fact<T>(cx: &Context, pick: impl Fn(&Fact) -> Option<T>) -> Option<T> {
    cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(fact) => pick(fact),
        _ => None,
    })
}

fn date(cx: &Context) -> Option<String> {
    fact(cx, |fact| match fact {
        Fact::Date { date, .. } => Some(date.clone()),
        _ => None,
    })
}

fn home(cx: &Context) -> Option<String> {
    fact(cx, |fact| match fact {
        Fact::Home(home) => home.as_ref().map(|home| home.display().to_string()),
        _ => None,
    })
}

fn system(cx: &Context) -> (String, String) {
    let found = fact(cx, |fact| match fact {
        Fact::System { system, release, .. } => Some((system.clone(), release.clone())),
        _ => None,
    });
    found.unwrap_or_else(|| ("Linux".to_owned(), String::new()))
}

fn shell(cx: &Context) -> Option<String> {
    fact(cx, |fact| match fact {
        Fact::Shell(shell) => Some(shell.clone()),
        _ => None,
    })
}

fn branch(cx: &Context) -> Option<String> {
    fact(cx, |fact| match fact {
        Fact::Git(git) => git.as_ref().map(|git| git.branch.clone().unwrap_or_default()),
        _ => None,
    })
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// `2026-11-30` as `Monday, November 30, 2026`, or short as `Mon Nov 30 2026`; what is no such date stays.
pub fn spelled(date: &str, long: bool) -> String {
    let mut parts = date.splitn(3, '-').map(str::parse::<u32>);
    let (Some(Ok(year)), Some(Ok(month)), Some(Ok(day))) = (parts.next(), parts.next(), parts.next()) else {
        return date.to_owned();
    };
    let Some(name) = month.checked_sub(1).and_then(|n| MONTHS.get(n as usize)).filter(|_| year > 0) else {
        return date.to_owned();
    };
    // Sakamoto's method: days since the same weekday.
    const SHIFT: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let y = u64::from(if month < 3 { year - 1 } else { year });
    let shift = SHIFT.get(month as usize - 1).copied().unwrap_or_default();
    let weekday = DAYS[((y + y / 4 - y / 100 + y / 400 + u64::from(shift) + u64::from(day)) % 7) as usize];
    match long {
        true => format!("{weekday}, {name} {day}, {year}"),
        false => format!("{} {} {day:02} {year}", &weekday[..3], &name[..3]),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn templates_come_apart() {
        let check = |template: &str, expected: &[Piece]| assert_eq!(pieces(template), expected, "{template}");
        check("", &[]);
        check("a {{cwd}}b", &[Piece::Text("a "), Piece::Place("cwd"), Piece::Text("b")]);
        check("{{{cwd}}", &[Piece::Text("{"), Piece::Place("cwd")]);
        check("{{CWD}} {{ cwd }} {{}} {{cwd", &[Piece::Text("{{CWD}} {{ cwd }} {{}} {{cwd")]);
    }

    #[test]
    fn dates_are_spelled() {
        let check = |date: &str, long: &str, short: &str| {
            assert_eq!((spelled(date, true).as_str(), spelled(date, false).as_str()), (long, short));
        };
        check("2026-11-30", "Monday, November 30, 2026", "Mon Nov 30 2026");
        check("2024-02-29", "Thursday, February 29, 2024", "Thu Feb 29 2024");
        check("2000-01-01", "Saturday, January 1, 2000", "Sat Jan 01 2000");
        check("soon", "soon", "soon");
        check("2026-13-01", "2026-13-01", "2026-13-01");
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_filled_to_itself(text in "(\\{\\{|\\}\\}|cwd|date|braces|[a-z {}]){0,12}") {
            let filled = fill(&escaped(&text), |name| (name == "braces").then(|| "{{".to_owned()).or_else(|| {
                PLACES.iter().any(|(known, _)| *known == name).then(|| "WRONG".to_owned())
            }));
            prop_assert_eq!(filled, text);
        }
    }
}
