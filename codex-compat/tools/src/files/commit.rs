//! Writes planned changes: new contents go to temporary files beside their targets first, then everything changes places
//! by renaming; a failure at any point undoes what was done. So a full disk loses nothing.
//!
//! A file is written in place instead where renaming would break something: it has other hard links or extended
//! attributes, its owner could not be kept, or its folder may not be written. Those come last.
use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    hash::{BuildHasher, Hasher},
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    rc::Rc,
};

use protocol::{Failure, Refusal, Stamp};
use rustix::{
    fs::{
        Access, AtFlags, FallocateFlags, Gid, Mode, OFlags, RenameFlags, Uid, accessat, fallocate, fchmod, fchown,
        flistxattr, linkat, openat, renameat, renameat_with, statat, unlinkat,
    },
    io::Errno,
};

use super::{
    change::No,
    fence::Fence,
    place::{self, Place},
    stamp,
};
use crate::fail;

/// One planned change, checked. `shown` names it in errors.
#[derive(Debug)]
pub(super) enum Work {
    Nothing,
    Put {
        shown: PathBuf,
        at: Place,
        /// What is replaced.
        old: Option<Seen>,
        /// Its content, for the way back where it has to be written in place.
        held: Option<Vec<u8>>,
        bytes: Vec<u8>,
        /// Of a new file; None: by the umask.
        mode: Option<u32>,
        /// Of a move: the entry to take away.
        source: Option<(Place, Seen)>,
    },
    Remove {
        shown: PathBuf,
        at: Place,
        seen: Seen,
    },
    Rename {
        shown: PathBuf,
        from: Place,
        to: Place,
        over: Option<Seen>,
    },
}

/// An entry as it was when the change was checked, to tell whether it still is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    ino: u64,
    len: u64,
    mtime: (i64, i64),
}

impl Seen {
    pub(super) fn of(meta: &Metadata) -> Seen {
        Seen { ino: meta.ino(), len: meta.len(), mtime: (meta.mtime(), meta.mtime_nsec()) }
    }
    /// Of the entry itself, a link not followed.
    pub(super) fn of_entry(path: &Path) -> Option<Seen> {
        std::fs::symlink_metadata(path).ok().map(|meta| Seen::of(&meta))
    }
    fn at(dir: impl AsFd, name: &OsStr) -> Option<Seen> {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Seen { ino: stat.st_ino, len: stat.st_size as u64, mtime: (stat.st_mtime, stat.st_mtime_nsec as i64) })
    }
}

/// Does all of it or nothing. One stamp for each file that has content afterwards.
pub(super) fn commit(works: Vec<Work>, fence: Fence) -> Result<Vec<Option<Stamp>>, No> {
    let mut txn = Transaction { fence, undo: Vec::new(), made: Vec::new(), temps: Vec::new(), keep_temps: false };
    let mut swaps = Vec::new();
    let mut in_place = Vec::new();
    let mut stamps = Vec::with_capacity(works.len());
    for (at, work) in works.into_iter().enumerate() {
        stamps.push(None);
        match txn.stage(work)? {
            Staged::Entries { shown, ops, stamp } => {
                stamps[at] = stamp;
                swaps.push((shown, ops));
            }
            Staged::InPlace { shown, write, ops } => {
                swaps.push((shown.clone(), ops));
                in_place.push((at, shown, write));
            }
        }
    }
    let outcome = (|| {
        for (shown, ops) in &swaps {
            for op in ops {
                txn.perform(op).map_err(|e| e.named(shown))?;
            }
        }
        for (at, shown, write) in in_place {
            stamps[at] = Some(txn.write_in_place(write).map_err(|e| e.named(&shown))?);
        }
        Ok(())
    })();
    match outcome {
        Ok(()) => {
            txn.undo.clear();
            txn.made.clear();
            Ok(stamps)
        }
        Err(no) => match txn.roll_back() {
            None => Err(no),
            Some(also) => Err(Failure::Other(format!("{}; {also}", describe(&no))).into()),
        },
    }
}

fn describe(no: &No) -> String {
    match no {
        No::Failed(Failure::Io { path, message, .. }) => format!("{}: {message}", path.display()),
        No::Refused(Refusal::Stale { path }) => format!("{} changed meanwhile", path.display()),
        other => format!("{other:?}"),
    }
}

enum Staged {
    Entries { shown: PathBuf, ops: Vec<Op>, stamp: Option<Stamp> },
    InPlace { shown: PathBuf, write: InPlace, ops: Vec<Op> },
}

/// A change of folder entries.
enum Op {
    /// `temp` takes the place of `name`.
    Enter {
        dir: Rc<OwnedFd>,
        temp: OsString,
        name: OsString,
        over: Option<Seen>,
    },
    /// `name` steps aside to `temp`.
    Leave {
        dir: Rc<OwnedFd>,
        name: OsString,
        temp: OsString,
        seen: Seen,
    },
    Move {
        from: (Rc<OwnedFd>, OsString),
        to: (Rc<OwnedFd>, OsString),
    },
}

struct InPlace {
    file: File,
    seen: Seen,
    old: Vec<u8>,
    new: Vec<u8>,
}

enum Undo {
    Exchange { dir: Rc<OwnedFd>, a: OsString, b: OsString },
    Rename { from: (Rc<OwnedFd>, OsString), to: (Rc<OwnedFd>, OsString) },
    Content { file: File, old: Vec<u8> },
}

enum OpError {
    Stale,
    Os(Errno),
}

impl From<Errno> for OpError {
    fn from(errno: Errno) -> OpError {
        OpError::Os(errno)
    }
}

impl OpError {
    fn named(self, shown: &Path) -> No {
        match self {
            OpError::Stale => Refusal::Stale { path: shown.to_owned() }.into(),
            OpError::Os(errno) => fail::os(shown, errno.raw_os_error()).into(),
        }
    }
}

struct Transaction<'a> {
    fence: Fence<'a>,
    undo: Vec<Undo>,
    /// Folders created, outer ones first.
    made: Vec<(Rc<OwnedFd>, OsString)>,
    /// Names that are to be gone in the end: new contents before they change places, old ones after.
    temps: Vec<(Rc<OwnedFd>, OsString)>,
    keep_temps: bool,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.roll_back();
        if !self.keep_temps {
            for (dir, name) in &self.temps {
                let _ = unlinkat(dir, name.as_os_str(), AtFlags::empty());
            }
        }
        for (dir, name) in self.made.iter().rev() {
            let _ = unlinkat(dir, name.as_os_str(), AtFlags::REMOVEDIR);
        }
    }
}

impl Transaction<'_> {
    fn stage(&mut self, work: Work) -> Result<Staged, No> {
        match work {
            Work::Nothing => Ok(Staged::Entries { shown: PathBuf::new(), ops: Vec::new(), stamp: None }),
            Work::Remove { shown, at, seen } => {
                let leave = self.leave(&shown, &at, seen)?;
                Ok(Staged::Entries { shown, ops: vec![leave], stamp: None })
            }
            Work::Rename { shown, from, to, over } => {
                let from_dir = self.folder(&shown, &from)?;
                let to_dir = self.folder(&shown, &to)?;
                let mut ops = Vec::new();
                if let Some(seen) = over {
                    let temp = self.temp_name(&to_dir, &to.name);
                    ops.push(Op::Leave { dir: to_dir.clone(), name: to.name.clone(), temp, seen });
                }
                ops.push(Op::Move { from: (from_dir, from.name), to: (to_dir, to.name) });
                Ok(Staged::Entries { shown, ops, stamp: None })
            }
            Work::Put { shown, at, old, held, bytes, mode, source } => {
                let dir = self.folder(&shown, &at)?;
                let mut ops = Vec::new();
                if let Some((entry, seen)) = source {
                    ops.push(self.leave(&shown, &entry, seen)?);
                }
                let Some(seen) = old else {
                    let (temp, file) = self.temp_file(&dir, &at.name, 0o666).map_err(|e| os(&shown, e))?;
                    let stamp = write_temp(file, &bytes, mode).map_err(|e| fail::io(&shown, &e))?;
                    ops.insert(0, Op::Enter { dir, temp, name: at.name, over: None });
                    return Ok(Staged::Entries { shown, ops, stamp: Some(stamp) });
                };
                if let Some((temp, file)) = self.beside(&shown, &dir, &at, mode)? {
                    let stamp = write_temp(file, &bytes, None).map_err(|e| fail::io(&shown, &e))?;
                    ops.insert(0, Op::Enter { dir, temp, name: at.name, over: Some(seen) });
                    return Ok(Staged::Entries { shown, ops, stamp: Some(stamp) });
                }
                let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(&dir, at.name.as_os_str(), flags, Mode::empty()).map_err(|e| os(&shown, e))?;
                let Some(old) = held else {
                    return Err(Failure::Other(format!(
                        "{} cannot be replaced safely: it could not be read",
                        shown.display()
                    ))
                    .into());
                };
                Ok(Staged::InPlace { shown, write: InPlace { file: file.into(), seen, old, new: bytes }, ops })
            }
        }
    }

    /// The open folder of a place, created where it is missing.
    fn folder(&mut self, shown: &Path, at: &Place) -> Result<Rc<OwnedFd>, No> {
        let path = at.path();
        let root = match self.fence.root(&path) {
            Some(root) if root == path => at.dir.as_path(),
            Some(root) if at.dir.starts_with(root) => root,
            // A link taken out of a folder whose root was judged by the folder, or a root made of missing folders.
            _ => at.dir.as_path(),
        };
        let mut dir = Rc::new(place::open_dir(root, &at.dir).map_err(|e| fail::io(shown, &e))?);
        for name in &at.missing {
            let (inner, made) = place::make_dir(&*dir, name).map_err(|e| fail::io(shown, &e))?;
            if made {
                self.made.push((dir, name.clone()));
            }
            dir = Rc::new(inner);
        }
        Ok(dir)
    }

    fn leave(&mut self, shown: &Path, at: &Place, seen: Seen) -> Result<Op, No> {
        let dir = self.folder(shown, at)?;
        let temp = self.temp_name(&dir, &at.name);
        Ok(Op::Leave { dir, name: at.name.clone(), temp, seen })
    }

    /// A name that is removed in the end.
    fn temp_name(&mut self, dir: &Rc<OwnedFd>, name: &OsStr) -> OsString {
        let temp = beside_name(name);
        self.temps.push((dir.clone(), temp.clone()));
        temp
    }

    fn temp_file(&mut self, dir: &Rc<OwnedFd>, name: &OsStr, mode: u32) -> Result<(OsString, File), Errno> {
        let temp = beside_name(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(dir, temp.as_os_str(), flags, Mode::from_raw_mode(mode))?;
        self.temps.push((dir.clone(), temp.clone()));
        Ok((temp, file.into()))
    }

    /// A file that can take the place of an existing one with its mode and owner. None: it has to be written in place.
    fn beside(
        &mut self,
        shown: &Path,
        dir: &Rc<OwnedFd>,
        at: &Place,
        mode: Option<u32>,
    ) -> Result<Option<(OsString, File)>, No> {
        accessat(dir, at.name.as_os_str(), Access::WRITE_OK, AtFlags::EACCESS).map_err(|e| os(shown, e))?;
        let stat = statat(dir, at.name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).map_err(|e| os(shown, e))?;
        let linked = stat.st_nlink > 1;
        if linked || has_xattrs(dir, &at.name) || !self.fence.may_write(&at.folder().join(".interpreter-temp")) {
            return Ok(None);
        }
        let (temp, file) = match self.temp_file(dir, &at.name, 0o600) {
            Ok(made) => made,
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(None),
            Err(e) => return Err(os(shown, e).into()),
        };
        let ours = file.metadata().map_err(|e| fail::io(shown, &e))?;
        if (ours.uid(), ours.gid()) != (stat.st_uid, stat.st_gid)
            && fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid))).is_err()
        {
            return Ok(None);
        }
        let mode = Mode::from_raw_mode(mode.unwrap_or(stat.st_mode) & 0o7777);
        fchmod(&file, mode).map_err(|e| os(shown, e))?;
        Ok(Some((temp, file)))
    }

    fn perform(&mut self, op: &Op) -> Result<(), OpError> {
        match op {
            Op::Enter { dir, temp, name, over: None } => {
                match renameat_with(dir, temp.as_os_str(), dir, name.as_os_str(), RenameFlags::NOREPLACE) {
                    Ok(()) => {}
                    Err(Errno::EXIST) => return Err(OpError::Stale),
                    // The file system cannot do that; a link never replaces either.
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        match linkat(dir, temp.as_os_str(), dir, name.as_os_str(), AtFlags::empty()) {
                            Ok(()) => {}
                            Err(Errno::EXIST) => return Err(OpError::Stale),
                            Err(_) => renameat(dir, temp.as_os_str(), dir, name.as_os_str())?,
                        }
                    }
                    Err(e) => return Err(e.into()),
                }
                self.undo.push(Undo::Rename { from: (dir.clone(), name.clone()), to: (dir.clone(), temp.clone()) });
                Ok(())
            }
            Op::Enter { dir, temp, name, over: Some(seen) } => {
                match renameat_with(dir, temp.as_os_str(), dir, name.as_os_str(), RenameFlags::EXCHANGE) {
                    Ok(()) => {
                        self.undo.push(Undo::Exchange { dir: dir.clone(), a: temp.clone(), b: name.clone() });
                        if Seen::at(dir, temp) == Some(*seen) { Ok(()) } else { Err(OpError::Stale) }
                    }
                    Err(Errno::NOENT) => Err(OpError::Stale),
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        let aside = self.temp_name(dir, name);
                        self.perform(&Op::Leave { dir: dir.clone(), name: name.clone(), temp: aside, seen: *seen })?;
                        self.perform(&Op::Enter {
                            dir: dir.clone(),
                            temp: temp.clone(),
                            name: name.clone(),
                            over: None,
                        })
                    }
                    Err(e) => Err(e.into()),
                }
            }
            Op::Leave { dir, name, temp, seen } => {
                match renameat(dir, name.as_os_str(), dir, temp.as_os_str()) {
                    Err(Errno::NOENT) => return Err(OpError::Stale),
                    other => other?,
                }
                self.undo.push(Undo::Rename { from: (dir.clone(), temp.clone()), to: (dir.clone(), name.clone()) });
                if Seen::at(dir, temp) == Some(*seen) { Ok(()) } else { Err(OpError::Stale) }
            }
            Op::Move { from, to } => {
                match renameat_with(&from.0, from.1.as_os_str(), &to.0, to.1.as_os_str(), RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST | Errno::NOENT) => return Err(OpError::Stale),
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        renameat(&from.0, from.1.as_os_str(), &to.0, to.1.as_os_str())?;
                    }
                    other => other?,
                }
                self.undo.push(Undo::Rename { from: to.clone(), to: from.clone() });
                Ok(())
            }
        }
    }

    fn write_in_place(&mut self, write: InPlace) -> Result<Stamp, OpError> {
        let InPlace { file, seen, old, new } = write;
        let errno = |e: io::Error| OpError::Os(Errno::from_io_error(&e).unwrap_or(Errno::IO));
        if Seen::of(&file.metadata().map_err(errno)?) != seen {
            return Err(OpError::Stale);
        }
        let clone = file.try_clone().map_err(errno)?;
        self.undo.push(Undo::Content { file: clone, old });
        if new.len() as u64 > seen.len {
            // Finds out about a full disk before a byte is lost; not every file system can tell.
            let reserved = fallocate(&file, FallocateFlags::empty(), 0, new.len() as u64);
            if let Err(e @ (Errno::NOSPC | Errno::DQUOT)) = reserved {
                return Err(e.into());
            }
        }
        file.write_all_at(&new, 0).map_err(errno)?;
        file.set_len(new.len() as u64).map_err(errno)?;
        let meta = file.metadata().map_err(errno)?;
        Ok(stamp::of(&meta, &new))
    }

    /// Undoes what was done, last things first. Some: what could not be undone.
    fn roll_back(&mut self) -> Option<String> {
        let mut failed = None;
        while let Some(undo) = self.undo.pop() {
            let (result, name) = match &undo {
                Undo::Exchange { dir, a, b } => {
                    (renameat_with(dir, a.as_os_str(), dir, b.as_os_str(), RenameFlags::EXCHANGE), b)
                }
                Undo::Rename { from, to } => (renameat(&from.0, from.1.as_os_str(), &to.0, to.1.as_os_str()), &to.1),
                Undo::Content { file, old } => {
                    let restored = file.write_all_at(old, 0).and_then(|()| file.set_len(old.len() as u64));
                    if let Err(e) = restored {
                        failed = Some(format!("the old content of a file could not be written back: {e}"));
                    }
                    continue;
                }
            };
            if let Err(e) = result {
                // The old content may be under a temporary name only: leave those.
                self.keep_temps = true;
                failed = Some(format!("{} could not be put back: {e}", Path::new(name).display()));
            }
        }
        failed
    }
}

fn os(shown: &Path, errno: Errno) -> Failure {
    fail::os(shown, errno.raw_os_error())
}

/// A name nobody else uses, beside `name`, short enough for every file system.
fn beside_name(name: &OsStr) -> OsString {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let text = name.to_string_lossy();
    let head = &text[..protocol::floor_char(&text, 200)];
    format!(".{head}.{random:016x}.tmp").into()
}

/// ACLs, capabilities and user attributes would stay behind on a rename. SELinux gives labels to new files by itself.
fn has_xattrs(dir: impl AsFd, name: &OsStr) -> bool {
    let Ok(file) =
        openat(dir, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
    else {
        return false;
    };
    let mut names = [0u8; 4096];
    match flistxattr(&file, &mut names) {
        Ok(len) => names[..len].split(|b| *b == 0).any(|name| !name.is_empty() && name != b"security.selinux"),
        Err(Errno::RANGE) => true,
        Err(_) => false,
    }
}

fn write_temp(mut file: File, bytes: &[u8], mode: Option<u32>) -> io::Result<Stamp> {
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
    }
    Ok(stamp::of(&file.metadata()?, bytes))
}
