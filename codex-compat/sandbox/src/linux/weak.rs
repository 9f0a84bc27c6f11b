//! Weak mode: protected names are remembered before a command and put back after it. For machines without namespaces,
//! where the user prefers a free workspace to a protected one.
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use crate::{Error, protected::Guard};

/// More than this is not kept in memory.
const MAX_BYTES: u64 = 16 << 20;
const MAX_ENTRIES: u32 = 5000;

/// Of a git folder, what git or a shell would execute or obey. The rest of it (commits, refs) is for the command to write.
const OF_GIT: [&str; 6] = ["hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir"];

#[derive(Debug)]
pub(super) struct Watch(Vec<(PathBuf, Node)>);

#[derive(Debug, PartialEq, Eq)]
enum Node {
    Missing,
    Link(PathBuf),
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Folder {
        mode: u32,
        entries: BTreeMap<OsString, Node>,
    },
    /// A socket or the like, or unreadable: only its being there is compared.
    Other,
}

impl Watch {
    pub(super) fn remember(guards: &[Guard]) -> Result<Watch, Error> {
        let mut room = Room { bytes: MAX_BYTES, entries: MAX_ENTRIES };
        let mut nodes = Vec::new();
        for guard in guards {
            let inside = if guard.path.join("objects").is_dir() { OF_GIT.as_slice() } else { &[""] };
            for part in inside {
                let path = if part.is_empty() { guard.path.clone() } else { guard.path.join(part) };
                match Node::read(&path, &mut room) {
                    Ok(node) => nodes.push((path, node)),
                    Err(error) => return Err(Error::Unwatchable { path, reason: error.to_string() }),
                }
            }
        }
        Ok(Watch(nodes))
    }

    /// Puts back what differs and returns its paths. What was there instead stays beside it under another name.
    pub(super) fn restore(self) -> Vec<PathBuf> {
        let mut restored = Vec::new();
        for (path, node) in self.0 {
            let mut room = Room { bytes: MAX_BYTES, entries: MAX_ENTRIES };
            if Node::read(&path, &mut room).is_ok_and(|now| now == node) || matches!(node, Node::Other) {
                continue;
            }
            set_aside(&path);
            let _ = node.write(&path);
            restored.push(path);
        }
        restored
    }
}

fn set_aside(path: &Path) {
    for n in 1..1000 {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".refused-{n}"));
        if fs::symlink_metadata(&name).is_err() {
            let _ = fs::rename(path, &name);
            return;
        }
    }
}

struct Room {
    bytes: u64,
    entries: u32,
}

impl Node {
    fn read(path: &Path, room: &mut Room) -> io::Result<Node> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Node::Missing),
            Err(error) => return Err(error),
        };
        room.entries = room.entries.checked_sub(1).ok_or_else(|| too_big("files"))?;
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_symlink() {
            return Ok(Node::Link(fs::read_link(path)?));
        }
        if meta.is_dir() {
            let mut entries = BTreeMap::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                entries.insert(entry.file_name(), Node::read(&entry.path(), room)?);
            }
            return Ok(Node::Folder { mode, entries });
        }
        if !meta.is_file() {
            return Ok(Node::Other);
        }
        room.bytes = room.bytes.checked_sub(meta.len()).ok_or_else(|| too_big("bytes"))?;
        Ok(Node::File { mode, bytes: fs::read(path)? })
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        match self {
            Node::Missing | Node::Other => Ok(()),
            Node::Link(target) => symlink(target, path),
            Node::File { mode, bytes } => {
                fs::write(path, bytes)?;
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
            Node::Folder { mode, entries } => {
                fs::create_dir_all(path)?;
                for (name, node) in entries {
                    node.write(&path.join(name))?;
                }
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
        }
    }
}

fn too_big(what: &str) -> io::Error {
    io::Error::other(format!("it holds too many {what} to be kept in memory"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protected::Found;

    #[test]
    fn what_a_command_changed_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path(".git/objects")).unwrap();
        fs::create_dir_all(path(".git/hooks")).unwrap();
        fs::write(path(".git/config"), "old").unwrap();
        symlink("there", path(".codex")).unwrap();
        let guards = [".git", ".codex", ".agents", ".aws"].map(|name| Guard { path: path(name), found: Found::Folder });
        let watch = Watch::remember(&guards).unwrap();

        fs::write(path(".git/hooks/pre-commit"), "evil").unwrap();
        fs::write(path(".git/config"), "new").unwrap();
        fs::write(path(".git/objects/commit"), "fine").unwrap();
        fs::remove_file(path(".codex")).unwrap();
        fs::create_dir(path(".agents")).unwrap();

        assert_eq!(watch.restore(), [".git/hooks", ".git/config", ".codex", ".agents"].map(path));
        assert_eq!(fs::read_dir(path(".git/hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(path(".git/config")).unwrap(), "old");
        assert_eq!(fs::read_link(path(".codex")).unwrap(), PathBuf::from("there"));
        assert_eq!((path(".agents").exists(), path(".agents.refused-1").exists()), (false, true));
        assert!(path(".git/objects/commit").exists());
    }
}
