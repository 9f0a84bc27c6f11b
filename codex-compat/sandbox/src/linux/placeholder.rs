//! Empty folders in the place of protected names that do not exist, for as long as a command runs.
//!
//! A lock file in the program's own folder stands for each of them: held shared by every command that relies on it, and
//! taken alone by the last one, which removes the folder. `rmdir` cannot lose anything: it fails where something is inside.
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use crate::{
    Error,
    protected::{Found, Guard},
};

/// Dropped when the command's tree is gone.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    lock_path: PathBuf,
    lock: File,
}

impl Placeholder {
    /// For every guard that is missing, or is a place-holder of another command. Returns them, and drops from `guards`
    /// what can neither be protected nor created (the folder around it is not writable for us).
    pub(super) fn put(guards: &mut Vec<Guard>, state: &Path) -> Result<Vec<Placeholder>, Error> {
        let locks = folder(state);
        let mut held = Vec::new();
        let mut failed = None;
        guards.retain(|guard| match Placeholder::for_guard(guard, &locks) {
            Ok(Some(placeholder)) => {
                held.push(placeholder);
                true
            }
            Ok(None) => guard.found != Found::Missing,
            Err(source) => {
                failed.get_or_insert(source);
                false
            }
        });
        match failed {
            Some(source) => Err(Error::State { path: locks, source }),
            None => Ok(held),
        }
    }

    fn for_guard(guard: &Guard, locks: &Path) -> io::Result<Option<Placeholder>> {
        let lock_path = locks.join(lock_name(&guard.path));
        match guard.found {
            Found::Missing => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(locks)?;
                let lock = shared(&lock_path, true)?;
                match fs::create_dir(&guard.path) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    // What we may not create here, the command may not create either.
                    Err(_) => {
                        remove_if_last(&lock, &lock_path, &guard.path);
                        return Ok(None);
                    }
                }
                fs::write(&lock_path, guard.path.as_os_str().as_bytes())?;
                Ok(Some(Placeholder { path: guard.path.clone(), lock_path, lock }))
            }
            Found::Folder if lock_path.exists() => match shared(&lock_path, false) {
                Ok(lock) => {
                    // The command that it belonged to may have removed it a moment ago.
                    match fs::create_dir(&guard.path) {
                        Ok(()) => fs::write(&lock_path, guard.path.as_os_str().as_bytes())?,
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        Err(_) => return Ok(None),
                    }
                    Ok(Some(Placeholder { path: guard.path.clone(), lock_path, lock }))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let missing = Guard { path: guard.path.clone(), found: Found::Missing };
                    if guard.path.exists() { Ok(None) } else { Placeholder::for_guard(&missing, locks) }
                }
                Err(error) => Err(error),
            },
            // Looked at while it was another command's place-holder, whose folder and then lock are gone meanwhile.
            Found::Folder if !guard.path.exists() => {
                Placeholder::for_guard(&Guard { path: guard.path.clone(), found: Found::Missing }, locks)
            }
            _ => Ok(None),
        }
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        remove_if_last(&self.lock, &self.lock_path, &self.path);
    }
}

/// Removes what killed runs left behind, in the state folder `state`. Returns the folders removed.
pub fn sweep(state: &Path) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(folder(state)).into_iter().flatten().flatten() {
        let lock_path = entry.path();
        if let (Ok(lock), Ok(path)) = (File::open(&lock_path), fs::read(&lock_path)) {
            let path = PathBuf::from(std::ffi::OsString::from_vec(path));
            if path.is_absolute() && remove_if_last(&lock, &lock_path, &path) {
                removed.push(path);
            }
        }
    }
    removed
}

fn folder(state: &Path) -> PathBuf {
    state.join("sandbox").join("placeholders")
}

/// Names only have to be different and short: FNV-1a, 64 bits, and the end of the path for the reader.
fn lock_name(path: &Path) -> String {
    let hash =
        path.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{hash:016x}{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// A shared lock on the file that is at `path` now (not on one that its last holder has just removed).
fn shared(path: &Path, create: bool) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(0o600).open(path)?;
        file.lock_shared()?;
        match fs::metadata(path) {
            Ok(there) if there.ino() == file.metadata()?.ino() => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && create => {}
            Err(error) => return Err(error),
        }
    }
}

/// True if nobody else holds it and the folder was there, empty, and is gone now.
fn remove_if_last(lock: &File, lock_path: &Path, path: &Path) -> bool {
    match lock.try_lock() {
        Ok(()) => {
            let removed = fs::remove_dir(path).is_ok();
            // While the lock is held alone: whoever waits for it sees that the file is gone and starts afresh.
            let _ = fs::remove_file(lock_path);
            removed
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_place_holder_that_went_away_after_the_look_is_put_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, state) = (dir.path().join(".codex"), dir.path().join("state"));
        let held = put(&path, Found::Folder, &state);
        assert_eq!((held.len(), path.is_dir()), (1, true));
        drop(held);
        assert!(!path.exists());
    }

    fn put(path: &Path, found: Found, state: &Path) -> Vec<Placeholder> {
        Placeholder::put(&mut vec![Guard { path: path.to_owned(), found }], state).unwrap()
    }

    #[test]
    fn the_last_one_out_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        let (path, state) = (dir.path().join(".codex"), dir.path().join("state"));
        let first = put(&path, Found::Missing, &state);
        let second = put(&path, Found::Missing, &state);
        let third = put(&path, Found::Folder, &state);
        assert_eq!((first.len(), second.len(), third.len()), (1, 1, 1));
        drop(second);
        drop(first);
        assert!(path.is_dir());
        drop(third);
        assert_eq!((path.exists(), fs::read_dir(folder(&state)).unwrap().count()), (false, 0));
    }

    #[test]
    fn the_users_own_folder_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".codex");
        fs::create_dir(&path).unwrap();
        assert_eq!(put(&path, Found::Folder, dir.path()).len(), 0);
        assert!(path.is_dir());
    }

    #[test]
    fn leftovers_of_a_killed_run_are_swept_unless_filled_or_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let left = |name: &str| {
            let path = dir.path().join(name);
            // What a killed run leaves: folder and lock file, no lock.
            fs::create_dir_all(folder(dir.path())).unwrap();
            fs::create_dir(&path).unwrap();
            fs::write(folder(dir.path()).join(lock_name(&path)), path.as_os_str().as_bytes()).unwrap();
            path
        };
        let (empty, filled, used) = (left("a"), left("b"), left("c"));
        fs::write(filled.join("file"), "x").unwrap();
        let user = put(&used, Found::Folder, dir.path());
        assert_eq!(sweep(dir.path()), vec![empty]);
        assert_eq!((filled.exists(), used.exists()), (true, true));
        drop(user);
        assert!(!used.exists());
    }

    #[test]
    fn a_folder_that_is_not_ours_to_write_needs_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut guards = vec![Guard { path: dir.path().join("gone/.git"), found: Found::Missing }];
        assert_eq!(Placeholder::put(&mut guards, dir.path()).unwrap().len(), 0);
        assert_eq!(guards, vec![]);
    }
}
