//! `shell_environment_policy`: which variables a command sees. Pure; what the runtime adds of its own comes after it.
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use crate::schema::{Inherit, ShellEnvironmentPolicy};

/// Base by `inherit`, minus the default excludes (where they are switched on) and `exclude`, plus `set`; `include_only`, where
/// given, has the last word. Patterns know `*` and `?` and no case.
pub fn child_environment(
    parent: impl IntoIterator<Item = (OsString, OsString)>,
    policy: &ShellEnvironmentPolicy,
) -> BTreeMap<OsString, OsString> {
    let defaults: &[&str] = if *policy.ignore_default_excludes { &[] } else { DEFAULT_EXCLUDES };
    let excluded = |name: &OsStr| {
        let name = name.to_string_lossy();
        let own = policy.exclude.iter().map(String::as_str);
        own.chain(defaults.iter().copied()).any(|pattern| glob(pattern, &name))
    };
    let inherited = |name: &OsStr| match policy.inherit {
        Inherit::All => true,
        Inherit::None => false,
        Inherit::Core => is_core(&name.to_string_lossy()),
    };
    let mut child: BTreeMap<OsString, OsString> =
        parent.into_iter().filter(|(name, _)| inherited(name) && !excluded(name)).collect();
    child.extend(policy.set.iter().map(|(name, value)| (name.into(), value.into())));
    if !policy.include_only.is_empty() {
        child.retain(|name, _| policy.include_only.iter().any(|pattern| glob(pattern, &name.to_string_lossy())));
    }
    child
}

const DEFAULT_EXCLUDES: &[&str] = &["*KEY*", "*SECRET*", "*TOKEN*"];

/// What a shell needs to find home, programs and temporary files, as in Codex 0.171.0, which also sets language and TERM itself.
const CORE: &[&str] =
    &["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "USER"];
#[cfg(windows)]
const CORE_OF_SYSTEM: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];
#[cfg(not(windows))]
const CORE_OF_SYSTEM: &[&str] = &[];

fn is_core(name: &str) -> bool {
    CORE.iter().chain(CORE_OF_SYSTEM).any(|core| core.eq_ignore_ascii_case(name))
}

/// `*` any text, `?` one character, letters without case.
fn glob(pattern: &str, text: &str) -> bool {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (pattern, text) = (fold(pattern), fold(text));
    let (mut p, mut t) = (0, 0);
    // Where to go on when the text after the last `*` does not match: that `*` takes one character more.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(char) if *char == '?' || *char == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    retry = Some((after, from + 1));
                    p = after;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|char| *char == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn policies() {
        let check = |policy: &str, expected: &[&str]| {
            let parent = ["HOME", "PATH", "AWS_REGION", "MY_TOKEN", "openai_api_key", "Editor"];
            let parent = parent.map(|name| (OsString::from(name), OsString::from("v")));
            let policy: ShellEnvironmentPolicy = toml::from_str(policy).expect(policy);
            let names: Vec<String> = child_environment(parent, &policy)
                .into_iter()
                .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
                .collect();
            let mut expected: Vec<String> = expected
                .iter()
                .map(|item| if item.contains('=') { (*item).to_owned() } else { format!("{item}=v") })
                .collect();
            expected.sort();
            assert_eq!(names, expected, "{policy:?}");
        };
        check("", &["HOME", "PATH", "AWS_REGION", "MY_TOKEN", "openai_api_key", "Editor"]);
        check("inherit = 'core'", &["HOME", "PATH"]);
        check("inherit = 'none'", &[]);
        check("inherit = 'none'\nset = { A = 'b' }", &["A=b"]);
        check("ignore_default_excludes = false", &["HOME", "PATH", "AWS_REGION", "Editor"]);
        check("exclude = ['aws_*', 'EDIT?R']", &["HOME", "PATH", "MY_TOKEN", "openai_api_key"]);
        check("include_only = ['*path', 'home']", &["HOME", "PATH"]);
        check("include_only = ['PATH']\nset = { HOME = '/x', PATH = '/y' }", &["PATH=/y"]);
        check("exclude = ['PATH']\nset = { PATH = '/y' }\ninherit = 'core'", &["HOME", "PATH=/y"]);
    }

    #[test]
    fn globs() {
        let check =
            |pattern: &str, text: &str, expected: bool| assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        check("", "", true);
        check("", "a", false);
        check("*", "", true);
        check("a*b*c", "aXbYbZc", true);
        check("a*b*c", "aXbYbZ", false);
        check("?", "ä", true);
        check("??", "ä", false);
        check("*TOKEN*", "my_token", true);
        check("**a", "ba", true);
        // Many stars over a long text: linear retries, not exponential ones.
        check(&"*a".repeat(40), &"a".repeat(39), false);
    }
}
