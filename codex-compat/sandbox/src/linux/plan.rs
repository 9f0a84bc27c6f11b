//! From a spec and what is on disk to what the helper mounts and what Landlock leaves writable.
use std::{
    ffi::CString,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::order::Mount;
use crate::{Error, Root, RootKind, Rung, Spec, protected::Guard};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub mounts: Vec<Mount>,
    pub whole_disk: bool,
    pub grants: Vec<CString>,
}

impl Plan {
    /// `fixed`: without namespaces, keep the guards by giving no right on the folders around them (way b of the ladder).
    pub(super) fn new(spec: &Spec, guards: &[Guard], rung: Rung, fixed: bool) -> Result<Plan, Error> {
        let roots: Vec<&Path> = spec.writable_roots().collect();
        let grants = if rung.has_mounts() || !fixed {
            roots.iter().map(|root| root.to_path_buf()).collect()
        } else {
            grants_around(spec, guards)
        };
        let grants = grants.iter().map(|path| c_path(path)).collect::<Result<_, _>>()?;
        if !rung.has_mounts() {
            return Ok(Plan { grants, ..Plan::default() });
        }
        let mut mounts: Vec<(&Path, bool)> = roots.iter().map(|root| (*root, false)).collect();
        mounts.extend(guards.iter().map(|guard| (guard.path.as_path(), true)));
        mounts.extend(pins(&roots, guards).into_iter().map(|pin| (pin, false)));
        // Outer paths first: a mount hides what was mounted below its place before.
        mounts.sort();
        let whole_disk = roots.contains(&Path::new("/"));
        let mounts = mounts
            .into_iter()
            .filter(|(path, _)| *path != Path::new("/"))
            .map(|(path, read_only)| {
                let shared = |root: &Root| root.kind == RootKind::Temporary && path.parent() == Some(&root.path);
                Ok(Mount { path: c_path(path)?, read_only, optional: read_only && spec.roots.iter().any(shared) })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Plan { mounts, whole_disk, grants })
    }
}

/// Folders between a root and what is mounted inside it. A mount of their own keeps them from being renamed, which would
/// let a command put a new tree with its own `.git` at the old path.
fn pins<'a>(roots: &[&'a Path], guards: &'a [Guard]) -> Vec<&'a Path> {
    let inner = roots.iter().copied().chain(guards.iter().map(|guard| guard.path.as_path()));
    let mut pins = Vec::new();
    for path in inner {
        for above in path.ancestors().skip(1) {
            let is_mount = roots.contains(&above) || guards.iter().any(|guard| guard.path == above);
            let depth = |around: &Path| above.starts_with(around).then(|| around.components().count());
            let root = roots.iter().filter_map(|root| depth(root)).max();
            let guard = guards.iter().filter_map(|guard| depth(&guard.path)).max();
            if !is_mount && root > guard && !pins.contains(&above) {
                pins.push(above);
            }
        }
    }
    pins
}

/// Rights only add up downwards, so a folder with a guard in it gets none, and its other entries get one each.
fn grants_around(spec: &Spec, guards: &[Guard]) -> Vec<PathBuf> {
    let mut grants = Vec::new();
    for root in &spec.roots {
        let temporary = root.kind == RootKind::Temporary;
        let around_another = spec.roots.iter().any(|other| other != root && other.path.starts_with(&root.path));
        // A temporary folder that is fixed at its top is of no use. So around the workspace it is no root at all, and
        // elsewhere names at its top are not guarded.
        let at_top = |guard: &Guard| guard.path.parent() == Some(&root.path) && guard.path != spec.state;
        let guards: Vec<_> = guards.iter().filter(|guard| !(temporary && at_top(guard))).cloned().collect();
        if !(temporary && around_another) {
            grant(&root.path, spec, &guards, &mut grants);
        }
    }
    grants
}

fn grant(path: &Path, spec: &Spec, guards: &[Guard], grants: &mut Vec<PathBuf>) {
    if !guards.iter().any(|guard| guard.path.starts_with(path)) {
        grants.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let child = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let is_guard = guards.iter().any(|guard| guard.path == child);
        // An inner root is granted on its own turn.
        let is_root = spec.roots.iter().any(|root| root.path == child);
        if !is_link && !is_guard && !is_root {
            grant(&child, spec, guards, grants);
        }
    }
}

pub(super) fn c_path(path: &Path) -> Result<CString, Error> {
    c_string(path.as_os_str().as_bytes())
}

pub(super) fn c_string(bytes: &[u8]) -> Result<CString, Error> {
    CString::new(bytes).map_err(|_| Error::Nul { what: String::from_utf8_lossy(bytes).into_owned() })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::SandboxMode;

    use super::*;
    use crate::protected::Found;

    fn spec(roots: &[&str]) -> Spec {
        let root = |path: &&str| Root { path: path.into(), kind: RootKind::Workspace };
        Spec {
            notes: Vec::new(),
            mode: SandboxMode::WorkspaceWrite,
            cwd: roots[0].into(),
            roots: roots.iter().map(root).collect(),
            network: false,
            weak: false,
            state: "/state".into(),
        }
    }

    fn mounts(roots: &[&str], guards: &[&str]) -> Vec<String> {
        let guards: Vec<_> = guards.iter().map(|path| Guard { path: path.into(), found: Found::Folder }).collect();
        let plan = Plan::new(&spec(roots), &guards, Rung::User, false).unwrap();
        let show = |m: &Mount| format!("{} {}", if m.read_only { "ro" } else { "rw" }, m.path.to_str().unwrap());
        plan.mounts.iter().map(show).collect()
    }

    #[test]
    fn outer_mounts_come_first_and_folders_between_are_pinned() {
        assert_eq!(
            mounts(&["/tmp", "/tmp/a/w"], &["/tmp/a/w/.git"]),
            ["rw /tmp", "rw /tmp/a", "rw /tmp/a/w", "ro /tmp/a/w/.git"]
        );
    }

    #[test]
    fn a_root_inside_a_guard_is_writable_again() {
        assert_eq!(mounts(&["/w", "/w/.git/sub/x"], &["/w/.git"]), ["rw /w", "ro /w/.git", "rw /w/.git/sub/x"]);
    }

    #[test]
    fn the_whole_disk_as_root_is_not_mounted() {
        assert_eq!(mounts(&["/", "/w"], &["/w/.git", "/.git"]), ["ro /.git", "rw /w", "ro /w/.git"]);
    }

    #[test]
    fn without_mounts_every_entry_but_the_guarded_ones_is_granted() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in [".git", "src", "deep/kept", "deep/free"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("file"), "").unwrap();
        std::os::unix::fs::symlink("/", path("link")).unwrap();
        let guards = [".git", ".codex", "deep/kept"].map(|name| Guard { path: path(name), found: Found::Folder });
        let spec = spec(&[dir.path().to_str().unwrap()]);
        let mut granted = Plan::new(&spec, &guards, Rung::Landlock, true).unwrap().grants;
        granted.sort();
        assert_eq!(granted, ["deep/free", "file", "src"].map(|name| c_path(&path(name)).unwrap()));
    }
}
