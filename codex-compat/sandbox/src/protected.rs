//! Which paths inside the writable roots must stay read-only, and what is there now.
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{PROTECTED, RootKind, Spec};

/// One path that must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    pub path: PathBuf,
    pub found: Found,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not there: a command must not create it.
    Missing,
    /// A link, guarded itself; its target is a guard of its own where it lies in a root.
    Link,
    File,
    Folder,
}

/// Looks at the disk. The result is ordered, outer paths first, and holds no path that is itself a root.
pub(crate) fn survey(spec: &Spec) -> Vec<Guard> {
    let mut survey = Survey { spec, guards: Vec::new() };
    for root in &spec.roots {
        if is_git_dir(&root.path) {
            survey.git_dir(&root.path);
        } else {
            for name in PROTECTED {
                survey.name(&root.path.join(name), root.kind);
            }
        }
    }
    survey.existing(&spec.state);
    let mut guards = survey.guards;
    guards.sort_by(|a, b| a.path.cmp(&b.path));
    guards.dedup_by(|a, b| a.path == b.path);
    guards.retain(|guard| !spec.roots.iter().any(|root| root.path == guard.path));
    guards
}

struct Survey<'a> {
    spec: &'a Spec,
    guards: Vec<Guard>,
}

impl Survey<'_> {
    fn name(&mut self, path: &Path, kind: RootKind) {
        let Some(found) = look(path) else { return };
        if found == Found::Missing && kind == RootKind::Temporary {
            return;
        }
        self.guards.push(Guard { path: path.to_owned(), found });
        if found == Found::Link
            && let Ok(target) = fs::canonicalize(path)
        {
            self.existing(&target);
        }
        if path.ends_with(".git") && fs::metadata(path).is_ok_and(|meta| meta.is_file()) {
            self.git_file(path);
        }
    }

    /// A worktree's or submodule's `.git` names its git folder, and that one the folder with hooks and config.
    fn git_file(&mut self, file: &Path) {
        let Some(own) = pointer(file, "gitdir:") else { return };
        let common = pointer(&own.join("commondir"), "").filter(|common| *common != own);
        for dir in std::iter::once(own).chain(common) {
            // Where the user made a git folder writable as such, its hooks and config are guarded by `git_dir`.
            let innermost = self.spec.roots.iter().rfind(|root| dir.starts_with(&root.path));
            if innermost.is_some_and(|root| !is_git_dir(&root.path)) {
                self.existing(&dir);
            }
        }
    }

    /// A git folder that the user made writable for commits: what git or a shell would execute from it stays fixed.
    fn git_dir(&mut self, dir: &Path) {
        let hooks = dir.join("hooks");
        if let Some(found) = look(&hooks) {
            self.guards.push(Guard { path: hooks, found });
        }
        for name in ["config", "config.worktree", "info/attributes", "commondir", "gitdir"] {
            self.existing(&dir.join(name));
        }
        for worktree in entries(&dir.join("worktrees")) {
            for name in ["config.worktree", "commondir", "gitdir"] {
                self.existing(&worktree.join(name));
            }
        }
        self.submodules(&dir.join("modules"), 0);
    }

    fn submodules(&mut self, modules: &Path, depth: u8) {
        for dir in entries(modules) {
            if is_git_dir(&dir) {
                self.git_dir(&dir);
            } else if depth < 4 && dir.is_dir() {
                self.submodules(&dir, depth + 1);
            }
        }
    }

    fn existing(&mut self, path: &Path) {
        let inside = self.spec.roots.iter().any(|root| path.starts_with(&root.path));
        if let (true, Some(found)) = (inside, look(path))
            && found != Found::Missing
        {
            self.guards.push(Guard { path: path.to_owned(), found });
        }
    }
}

/// None where it cannot be known: then a command without more rights cannot reach it either.
fn look(path: &Path) -> Option<Found> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Some(Found::Link),
        Ok(meta) if meta.is_dir() => Some(Found::Folder),
        Ok(_) => Some(Found::File),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(Found::Missing),
        Err(_) => None,
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").exists() && (path.join("objects").is_dir() || path.join("commondir").is_file())
}

/// The folder that a one-line file of git names, relative to the file's own folder.
fn pointer(file: &Path, key: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let target = text.lines().next()?.strip_prefix(key)?.trim();
    fs::canonicalize(file.parent()?.join(target)).ok()
}
