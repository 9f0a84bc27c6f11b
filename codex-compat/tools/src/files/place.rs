//! Where a path really leads, and how to open its folder so that nothing swapped in meanwhile leads elsewhere.
//!
//! A path is followed once (`locate`), the result holds no link and no `..`, and the permission is asked for that.
//! The folder is then opened below its root without following any link: a link put in between fails, it does not escape.
use std::{
    ffi::{OsStr, OsString},
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2},
    io::Errno,
};

/// Links followed before it counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;

/// An entry of a folder, by its real path. The folder may be missing in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The deepest folder that exists, without links.
    pub(crate) dir: PathBuf,
    /// Folders to create below it.
    pub(crate) missing: Vec<OsString>,
    pub(crate) name: OsString,
}

impl Place {
    pub(crate) fn folder(&self) -> PathBuf {
        self.missing.iter().fold(self.dir.clone(), |dir, name| dir.join(name))
    }
    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join(&self.name)
    }
}

/// Follows `path` (absolute). `last`: follow it also where its last part is a link; the target need not exist.
pub(crate) fn locate(path: &Path, last: bool) -> io::Result<Place> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let place = locate_entry(&path)?;
        if !last || !place.missing.is_empty() {
            return Ok(place);
        }
        match std::fs::read_link(place.dir.join(&place.name)) {
            Ok(target) => path = place.dir.join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(Errno::LOOP.into())
}

fn locate_entry(path: &Path) -> io::Result<Place> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        // Ends in `..` or is `/`: a folder, or nothing.
        let real = path.canonicalize()?;
        return match (real.parent(), real.file_name()) {
            (Some(parent), Some(name)) => {
                Ok(Place { dir: parent.to_owned(), missing: Vec::new(), name: name.to_owned() })
            }
            _ => Err(Errno::ISDIR.into()),
        };
    };
    match parent.canonicalize() {
        Ok(dir) if dir.is_dir() => Ok(Place { dir, missing: Vec::new(), name: name.to_owned() }),
        Ok(_) => Err(Errno::NOTDIR.into()),
        Err(e) if e.kind() == io::ErrorKind::NotFound && parent.file_name().is_some() => {
            let above = locate(parent, true)?;
            let mut missing = above.missing;
            missing.push(above.name);
            Ok(Place { dir: above.dir, missing, name: name.to_owned() })
        }
        Err(e) => Err(e),
    }
}

/// `.` and `..` taken out of an absolute path by its text alone: for display, never for opening.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Opens the real folder `dir`, which lies at or below `root`, following no link.
pub(crate) fn open_dir(root: &Path, dir: &Path) -> io::Result<OwnedFd> {
    let below = dir.strip_prefix(root).map_err(|_| Errno::XDEV)?;
    let start = Path::new("/");
    let fd = openat(CWD, start, FOLDER, Mode::empty())?;
    let fd = step(fd, root.strip_prefix(start).unwrap_or(root))?;
    step(fd, below)
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn step(from: OwnedFd, below: &Path) -> io::Result<OwnedFd> {
    if below.as_os_str().is_empty() {
        return Ok(from);
    }
    let flags = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    match openat2(&from, below, FOLDER, Mode::empty(), flags) {
        // No openat2 here (an old kernel, a container's filter): the same, part by part.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(from, below),
        opened => Ok(opened?),
    }
}

fn step_by_step(from: OwnedFd, below: &Path) -> io::Result<OwnedFd> {
    below.components().try_fold(from, |fd, part| match part {
        Component::Normal(name) => Ok(openat(&fd, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?),
        _ => Err(Errno::XDEV.into()),
    })
}

/// Creates a folder in an open one and opens it. Ok(false): it was there already.
pub(crate) fn make_dir(parent: impl AsFd, name: &OsStr) -> io::Result<(OwnedFd, bool)> {
    let made = match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(e) => return Err(e.into()),
    };
    Ok((openat(&parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?, made))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn links_are_followed_once_and_missing_parts_kept() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/sub")).unwrap();
        std::fs::write(base.join("real/f"), "x").unwrap();
        symlink("real", base.join("dir")).unwrap();
        symlink("real/f", base.join("file")).unwrap();
        symlink("nowhere/g", base.join("dangling")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        let check = |path: &str, last: bool, dir: &str, missing: &[&str], name: &str| {
            let expected = Place {
                dir: if dir.is_empty() { base.clone() } else { base.join(dir) },
                missing: missing.iter().map(Into::into).collect(),
                name: name.into(),
            };
            assert_eq!(locate(&base.join(path), last).unwrap(), expected, "{path}");
        };
        check("real/f", true, "real", &[], "f");
        check("dir/f", true, "real", &[], "f");
        check("file", true, "real", &[], "f");
        check("file", false, "", &[], "file");
        check("dangling", true, "", &["nowhere"], "g");
        check("dir/a/b/c", true, "real", &["a", "b"], "c");
        check("dir/sub/../f", true, "real", &[], "f");
        check("real/sub/..", true, "", &[], "real");
        assert_eq!(locate(&base.join("loop"), true).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(locate(&base.join("real/f/x"), true).unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
    }

    #[test]
    fn a_link_swapped_in_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("root/inner")).unwrap();
        symlink(&base, base.join("root/link")).unwrap();
        assert!(open_dir(&base.join("root"), &base.join("root/inner")).is_ok());
        assert!(open_dir(&base.join("root"), &base.join("root/link")).is_err());
        assert!(open_dir(&base.join("root"), &base).is_err());
        let walk = |below: &str| {
            let from = openat(CWD, base.join("root"), FOLDER, Mode::empty()).unwrap();
            step_by_step(from, Path::new(below)).is_ok()
        };
        assert_eq!(
            ["inner", "inner/.", "link", "link/root", "../root", ""].map(walk),
            [true, true, false, false, false, true]
        );
    }

    #[test]
    fn tidied_paths() {
        assert_eq!(tidy(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(tidy(Path::new("/../x")), Path::new("/x"));
    }
}
