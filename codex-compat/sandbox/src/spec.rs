//! A policy resolved against the disk: which folders are writable, and what in them is not.
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use protocol::{SandboxMode, SandboxPolicy};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    protected::{self, Guard},
};

/// What a command may touch, with all links of the way there resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub mode: SandboxMode,
    /// The workspace: canonical, absolute.
    pub cwd: PathBuf,
    /// Writable trees, outer ones before those inside them. Empty unless the mode is workspace-write.
    pub roots: Vec<Root>,
    pub network: bool,
    /// Without namespaces: compare and restore protected names afterwards instead of fixing the top level of the root.
    pub weak: bool,
    /// The program's own folder, never writable for a command. Locks of place-holders live in it.
    pub state: PathBuf,
    /// What was asked for and is not done, for the user; a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    pub path: PathBuf,
    pub kind: RootKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// The thread's working folder.
    Workspace,
    /// Added by the user.
    Extra,
    /// `/tmp` and `$TMPDIR`: existing protected names are kept, missing ones get no place-holder.
    Temporary,
}

/// What a policy depends on beside itself.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// `$TMPDIR` as the command will see it.
    pub tmpdir: Option<&'a Path>,
    /// The user's home folder. A `$TMPDIR` that holds it is none, whatever the variable says.
    pub home: Option<&'a Path>,
    /// The program's home (`INTERPRETER_HOME`).
    pub state: &'a Path,
}

impl Spec {
    /// Resolves links, drops roots that do not exist, and orders them. Relative roots count from `cwd`.
    /// Errors: `cwd` does not exist or is no folder.
    pub fn resolve(policy: &SandboxPolicy, cwd: &Path, around: &Surroundings) -> Result<Spec, Error> {
        let canonical = fs::canonicalize(cwd)
            .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) })
            .map_err(|source| Error::Cwd { path: cwd.to_owned(), source })?;
        let mut roots: Vec<Root> = Vec::new();
        let mut notes = Vec::new();
        if policy.mode == SandboxMode::WorkspaceWrite {
            let mut add = |path: &Path, kind| {
                if let Ok(path) = fs::canonicalize(canonical.join(path))
                    && !roots.iter().any(|known| known.path == path)
                {
                    roots.push(Root { path, kind });
                }
            };
            add(&canonical, RootKind::Workspace);
            policy.writable_roots.iter().for_each(|root| add(root, RootKind::Extra));
            if !policy.exclude_slash_tmp && cfg!(unix) {
                add(Path::new("/tmp"), RootKind::Temporary);
            }
            if let (false, Some(tmpdir)) = (policy.exclude_tmpdir, around.tmpdir)
                && tmpdir.is_absolute()
            {
                match holds_home(tmpdir, around.home) {
                    false => add(tmpdir, RootKind::Temporary),
                    true => notes.extend(not_temporary(tmpdir, &roots)),
                }
            }
            // Paths compare component by component, so a folder comes before everything in it.
            roots.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(Spec {
            mode: policy.mode,
            cwd: canonical,
            roots,
            network: policy.network || policy.mode == SandboxMode::DangerFullAccess,
            weak: policy.weak,
            state: fs::canonicalize(around.state).unwrap_or_else(|_| around.state.to_owned()),
            notes,
        })
    }

    /// True where there are no walls at all.
    pub fn unconfined(&self) -> bool {
        self.mode == SandboxMode::DangerFullAccess
    }

    /// For prompts and messages: the writable folders, outer ones first.
    pub fn writable_roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// Paths inside the roots that stay read-only at present, existing or not.
    pub fn protected(&self) -> Vec<PathBuf> {
        protected::survey(self).into_iter().map(|guard| guard.path).collect()
    }

    /// Would the jail let a command write here? For file tools that act from outside of it. Links are followed as a write
    /// follows them, and the place of the link itself must be writable too. A check like this is no wall: the path
    /// can change between check and use, so open below a root descriptor as well.
    pub fn may_write(&self, path: &Path) -> bool {
        match self.mode {
            SandboxMode::DangerFullAccess => true,
            SandboxMode::ReadOnly => false,
            SandboxMode::WorkspaceWrite => {
                let path = self.cwd.join(path);
                let place =
                    path.parent().zip(path.file_name()).and_then(|(parent, name)| Some(real(parent, 0)?.join(name)));
                // Without a name (`/`, `x/..`) the resolved path is all there is to look at.
                let place = if path.file_name().is_some() { place } else { real(&path, 0) };
                let guards = protected::survey(self);
                let open = |path: Option<PathBuf>| path.is_some_and(|path| self.is_open(&path, &guards));
                open(place) && open(real(&path, 0))
            }
        }
    }

    /// The innermost root or guard around a resolved path decides; on a draw the root, which the user named.
    fn is_open(&self, path: &Path, guards: &[Guard]) -> bool {
        let depth = |around: &Path| path.starts_with(around).then(|| around.components().count());
        let root = self.roots.iter().filter_map(|root| depth(&root.path)).max();
        let guard = guards.iter().filter_map(|guard| depth(&guard.path)).max();
        root.is_some() && root >= guard
    }
}

/// `/`, the home folder, or what it lies in.
fn holds_home(tmpdir: &Path, home: Option<&Path>) -> bool {
    let Ok(tmpdir) = fs::canonicalize(tmpdir) else { return false };
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    tmpdir.parent().is_none() || home.is_some_and(|home| home.starts_with(&tmpdir))
}

/// None where it is writable for another reason.
fn not_temporary(tmpdir: &Path, roots: &[Root]) -> Option<String> {
    let path = fs::canonicalize(tmpdir).ok()?;
    let known = roots.iter().any(|root| path.starts_with(&root.path));
    (!known).then(|| {
        let shown = tmpdir.display();
        format!(
            "TMPDIR is {shown}, which holds the home folder: it is not made writable for commands. Set it to a folder of its own"
        )
    })
}

/// The path with every link resolved, whether its last parts exist or not. None where that cannot be said:
/// a loop, a forbidden folder, `..` behind something missing.
fn real(path: &Path, links: u8) -> Option<PathBuf> {
    match fs::canonicalize(path) {
        Ok(path) => Some(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound && links < 40 => {
            let parent = path.parent()?;
            let Some(Component::Normal(name)) = path.components().next_back() else { return None };
            match fs::read_link(path) {
                Ok(target) => real(&parent.join(target), links + 1),
                Err(_) => Some(real(parent, links)?.join(name)),
            }
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
