//! What a client has allowed for the rest of the thread, so that it is not asked twice. Sub-agents share it.
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use protocol::{Action, Decision, World};

#[derive(Debug, Default)]
pub(crate) struct Grants {
    /// Script, folder, and whether it runs outside the sandbox.
    commands: HashSet<(String, PathBuf, bool)>,
    /// First words of commands, and whether these run outside the sandbox.
    prefixes: Vec<(Vec<String>, bool)>,
    files: HashSet<PathBuf>,
    hosts: HashSet<String>,
}

impl Grants {
    /// Remembers a decision that holds beyond one Action.
    pub(crate) fn keep(&mut self, action: &Action, outside: bool, cwd: &Path, decision: &Decision) {
        match (decision, action) {
            (Decision::Prefix(words), Action::World(World::Run(_))) if !words.is_empty() => {
                self.prefixes.push((words.clone(), outside));
            }
            (Decision::Session | Decision::Prefix(_), Action::World(World::Run(run))) => {
                self.commands.insert((run.script.clone(), folder(cwd, run.cwd.as_deref()), outside));
            }
            (Decision::Session, Action::World(World::Change(changes))) => {
                let paths = changes.iter().flat_map(|c| std::iter::once(&c.path).chain(&c.to));
                self.files.extend(paths.map(|path| cwd.join(path)));
            }
            (Decision::Session, Action::World(World::Fetch { url, .. })) => self.hosts.extend(host(url)),
            _ => {}
        }
    }

    /// Whether the Action was allowed before. What was allowed outside the sandbox says nothing of inside, and the other way round.
    pub(crate) fn cover(&self, action: &Action, outside: bool, cwd: &Path) -> bool {
        match action {
            Action::World(World::Run(run)) => {
                let same = (run.script.clone(), folder(cwd, run.cwd.as_deref()), outside);
                self.commands.contains(&same) || self.begins_as_allowed(&run.script, outside)
            }
            Action::World(World::Change(changes)) => changes
                .iter()
                .flat_map(|c| std::iter::once(&c.path).chain(&c.to))
                .all(|path| self.files.contains(&cwd.join(path))),
            Action::World(World::Fetch { url, .. }) => host(url).is_some_and(|host| self.hosts.contains(&host)),
            _ => false,
        }
    }

    fn begins_as_allowed(&self, script: &str, outside: bool) -> bool {
        let Some(words) = plain_words(script) else { return false };
        self.prefixes.iter().any(|(prefix, kind)| *kind == outside && words.starts_with(prefix))
    }
}

fn folder(cwd: &Path, own: Option<&Path>) -> PathBuf {
    own.map_or_else(|| cwd.to_owned(), |own| cwd.join(own))
}

/// Scheme and authority of an address, in lower case.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next().filter(|authority| !authority.is_empty())?;
    Some(format!("{scheme}://{authority}").to_ascii_lowercase())
}

/// The words of one simple command; None where a shell could make more of it than these words.
fn plain_words(script: &str) -> Option<Vec<String>> {
    const OPERATORS: &str = ";|&<>()$`\\\n\r*?[]{}~!#=";
    if script.contains(|c| OPERATORS.contains(c)) {
        return None;
    }
    shlex::split(script)
}

#[cfg(test)]
mod tests {
    use protocol::{Change, Expect, New, Run};

    use super::*;

    fn run(script: &str) -> Action {
        Action::World(World::Run(Run::new(script)))
    }
    fn change(path: &str) -> Action {
        let change = Change { path: path.into(), to: None, new: New::Gone, expect: Expect::Anything };
        Action::World(World::Change(vec![change]))
    }
    fn fetch(url: &str) -> Action {
        Action::World(World::Fetch { url: url.into(), max_bytes: 1, markdown: true })
    }
    /// After `decision` on `given`, whether `asked` is covered.
    fn check(given: &Action, decision: Decision, asked: &Action, outside: bool, covered: bool) {
        let mut grants = Grants::default();
        grants.keep(given, true, Path::new("/w"), &decision);
        assert_eq!(grants.cover(asked, outside, Path::new("/w")), covered, "{given:?} {decision:?} {asked:?}");
    }

    #[test]
    fn what_a_decision_covers() {
        use Decision::{Once, Prefix, Session};
        let words = |text: &str| Prefix(text.split(' ').map(str::to_owned).collect());
        check(&run("make a"), Session, &run("make a"), true, true);
        check(&run("make a"), Session, &run("make a"), false, false);
        check(&run("make a"), Session, &run("make b"), true, false);
        check(&run("make a"), Once, &run("make a"), true, false);
        check(&run("npm test"), words("npm"), &run("npm run 'a b'"), true, true);
        check(&run("npm test"), words("npm test"), &run("npm testing"), true, false);
        for more in ["npm a; rm b", "npm $(rm b)", "npm a && rm b", "npm a\nrm b", "npm > b", "npm `rm b`", "X=1 npm"] {
            check(&run("npm test"), words("npm"), &run(more), true, false);
        }
        check(&change("a"), Session, &change("/w/a"), true, true);
        check(&change("a"), Session, &change("b"), true, false);
        check(&fetch("https://A.org/x"), Session, &fetch("https://a.org/y?z"), true, true);
        check(&fetch("https://a.org/x"), Session, &fetch("https://a.org@b.org/"), true, false);
        check(&fetch("https://a.org/x"), Session, &fetch("http://a.org/x"), true, false);
    }
}
