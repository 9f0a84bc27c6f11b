//! A thread's rollout, open for writing. Items are appended as they happen; nothing is rewritten.
use std::{
    collections::HashSet,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use protocol::{Item, ItemId, ThreadId};

use crate::{Error, blobs, layout, line, lock::Lock};

/// Holds the thread's lock; nobody else writes while it lives.
#[derive(Debug)]
pub struct Session {
    id: ThreadId,
    next: ItemId,
    /// None: an ephemeral thread, of which nothing is kept.
    disk: Option<Disk>,
}

#[derive(Debug)]
struct Disk {
    path: PathBuf,
    file: File,
    /// The file does not end in a line feed: begin with one.
    torn: bool,
    blobs: HashSet<String>,
    line: Vec<u8>,
    _lock: Lock,
}

impl Session {
    /// A thread of which nothing is kept.
    pub fn ephemeral(id: ThreadId, next: ItemId) -> Session {
        Session { id, next, disk: None }
    }

    pub(crate) fn on_disk(id: ThreadId, next: ItemId, path: PathBuf, file: File, torn: bool, lock: Lock) -> Session {
        let disk = Disk { path, file, torn, blobs: HashSet::new(), line: Vec::new(), _lock: lock };
        Session { id, next, disk: Some(disk) }
    }

    pub fn id(&self) -> &ThreadId {
        &self.id
    }
    /// The rollout. None for an ephemeral thread.
    pub fn path(&self) -> Option<&Path> {
        self.disk.as_ref().map(|disk| disk.path.as_path())
    }
    /// The folder beside the rollout for attachments and long texts, which may not exist yet. None for an ephemeral thread.
    pub fn folder(&self) -> Option<PathBuf> {
        self.path().map(layout::blob_folder)
    }
    /// Id of the next item.
    pub fn next(&self) -> ItemId {
        self.next
    }

    /// Writes the items, whose ids ascend from `next`, with one write. On an error none of them is in the file, and the
    /// caller decides: the next call may succeed.
    pub fn append(&mut self, items: &[Item]) -> Result<(), Error> {
        let mut next = self.next;
        for item in items {
            if item.id < next {
                return Err(Error::Order { id: self.id.clone(), item: item.id, next });
            }
            next = ItemId(item.id.0.saturating_add(1));
        }
        if let Some(disk) = &mut self.disk {
            disk.append(items)?;
        }
        self.next = next;
        Ok(())
    }
}

impl Disk {
    fn append(&mut self, items: &[Item]) -> Result<(), Error> {
        let folder = layout::blob_folder(&self.path);
        self.line.clear();
        if self.torn {
            self.line.push(b'\n');
        }
        for item in items {
            blobs::keep(item, &folder, &mut self.blobs)?;
            line::write_item(item, &mut self.line).map_err(|source| Error::Encode {
                path: self.path.clone(),
                item: item.id,
                source,
            })?;
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), Error> {
        let before = self.file.metadata().map_err(Error::write(&self.path))?.len();
        if let Err(source) = self.file.write_all(&self.line) {
            // A piece of a line may be there. Where it cannot be cut off, the next line begins after it.
            if self.file.set_len(before).is_err() {
                self.torn = true;
            }
            return Err(Error::Write { path: self.path.clone(), source });
        }
        self.torn = false;
        // A very long line is not worth its memory for the rest of the run.
        if self.line.capacity() > 1 << 20 {
            self.line = Vec::new();
        }
        Ok(())
    }
}
