//! All threads of a home folder: start, resume, fork, find, name, archive, delete.
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use jiff::Zoned;
use protocol::{Item, ItemId, ThreadId};
use uuid::Uuid;

use crate::{
    Error, Filter, Head, Loaded, Meta, Page, Session, Summary,
    codex::Imported,
    index::{self, Names},
    layout::{self, Rollout},
    line, list,
    load::{self, Chain, Extent},
    lock::Lock,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    home: PathBuf,
}

impl Store {
    /// `home`: `~/.openinterpreter`, or what stands for it. Nothing is made there before it is needed.
    pub fn new(home: impl Into<PathBuf>) -> Store {
        Store { home: home.into() }
    }

    /// A new thread with its rollout.
    pub fn create(&self, meta: Meta) -> Result<Session, Error> {
        self.start(new_id(), meta, None)
    }

    /// A new thread of which nothing is kept.
    pub fn ephemeral(&self) -> Session {
        Session::ephemeral(new_id(), ItemId(1))
    }

    /// A thread to go on with. Nobody else can until the session is dropped.
    pub fn open(&self, id: &ThreadId) -> Result<(Session, Loaded), Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        if rollout.archived() {
            return Err(Error::Archived(id.clone()));
        }
        let lock = Lock::take(&self.home, id)?;
        let path = rollout.path.clone();
        let (loaded, tail) = self.chain(rollout)?.load(Extent::Resume)?;
        let file = layout::private().append(true).read(true).open(&path);
        let file = file.map_err(|source| Error::Reopen { id: id.clone(), path: path.clone(), source })?;
        let session = Session::on_disk(id.clone(), loaded.next, path, file, !tail.ended, lock);
        Ok((session, loaded))
    }

    /// As `open`, but only to look: takes no lock.
    pub fn read(&self, id: &ThreadId) -> Result<Loaded, Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        Ok(self.chain(rollout)?.load(Extent::Resume)?.0)
    }

    /// Every item of a thread that was not reverted, from the first on, without what was said to the model.
    pub fn history(&self, id: &ThreadId) -> Result<Vec<Item>, Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        Ok(self.chain(rollout)?.load(Extent::All)?.0.items)
    }

    /// A new thread whose history is that of `id` before `upto` (None: all of it), which is referred to and not copied.
    pub fn fork(&self, id: &ThreadId, upto: Option<ItemId>, meta: Meta) -> Result<(Session, Loaded), Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        let end = self.chain(rollout)?.load(Extent::Resume)?.0.next;
        let session = self.start(new_id(), meta, Some((id.clone(), upto.map_or(end, |upto| upto.min(end)))))?;
        let loaded = self.read(session.id())?;
        Ok((session, loaded))
    }

    /// A new thread that begins with the items of a Codex session. `same_id`: under its id, so that it is found by it again;
    /// the caller knows that none of ours has it.
    pub fn adopt(&self, imported: &Imported, meta: Meta, same_id: bool) -> Result<(Session, Loaded), Error> {
        let id = if same_id { imported.id.clone() } else { new_id() };
        let mut session = self.start(id, meta, None)?;
        session.append(&imported.items)?;
        let mut loaded = self.read(session.id())?;
        loaded.warnings.extend(imported.warnings.iter().cloned());
        Ok((session, loaded))
    }

    /// The thread changed last among those that `filter` lets through.
    pub fn latest(&self, filter: &Filter) -> Result<Option<ThreadId>, Error> {
        let filter = Filter { limit: 1, ..filter.clone() };
        Ok(self.list(&filter)?.threads.into_iter().next().map(|t| t.id))
    }

    /// A thread by id or name; what reads as a UUID is an id, and an error where no such thread is. Of several threads
    /// with one name, the one named last.
    pub fn find(&self, text: &str) -> Result<Option<ThreadId>, Error> {
        if let Ok(uuid) = Uuid::parse_str(text) {
            let id = ThreadId::from(uuid.to_string());
            return if self.locate(&id).is_some() { Ok(Some(id)) } else { Err(Error::NoRollout(id)) };
        }
        let names = self.names()?;
        Ok(names.called(text).into_iter().find(|id| self.locate(id).is_some()).cloned())
    }

    /// Whether a thread has this id.
    pub fn has(&self, id: &ThreadId) -> bool {
        self.locate(id).is_some()
    }

    pub fn list(&self, filter: &Filter) -> Result<Page, Error> {
        list::list(self, filter)
    }

    /// What the list says about one thread.
    pub fn summary(&self, id: &ThreadId) -> Result<Summary, Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        Ok(list::summary(&self.chain(rollout)?, self.names()?.of(id)))
    }

    pub fn rename(&self, id: &ThreadId, name: &str) -> Result<(), Error> {
        let name = name.trim();
        if name.is_empty() {
            return Err(Error::EmptyName);
        }
        self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        index::set(&self.home, id, name, now().1)
    }

    /// Moves the thread out of sight; it can be read and forked, and brought back.
    pub fn archive(&self, id: &ThreadId) -> Result<(), Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        if rollout.archived() {
            return Err(Error::Archived(id.clone()));
        }
        let target = self.archived().join(rollout.path.file_name().unwrap_or_default());
        self.relocate(&rollout, &target)
    }

    pub fn unarchive(&self, id: &ThreadId) -> Result<(), Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        if !rollout.archived() {
            return Err(Error::NotArchived(id.clone()));
        }
        let target = layout::home_of(&self.sessions(), &rollout);
        self.relocate(&rollout, &target)
    }

    /// Removes the thread and its attachments. Refused while a fork reads its history.
    pub fn delete(&self, id: &ThreadId) -> Result<(), Error> {
        let rollout = self.locate(id).ok_or_else(|| Error::NoRollout(id.clone()))?;
        let _lock = Lock::take(&self.home, id)?;
        for other in self.rollouts(false).into_iter().chain(self.rollouts(true)) {
            let head = load::read_head(&other.path).ok().flatten();
            if head.is_some_and(|head| head.forked_from_id.as_ref() == Some(id)) {
                return Err(Error::HasForks { id: id.clone(), fork: other.id });
            }
        }
        let blobs = layout::blob_folder(&rollout.path);
        fs::remove_file(&rollout.path).map_err(Error::change(&rollout.path))?;
        if blobs.exists() {
            fs::remove_dir_all(&blobs).map_err(Error::change(&blobs))?;
        }
        if self.names()?.of(id).is_some() {
            index::set(&self.home, id, "", now().1)?;
        }
        Ok(())
    }

    fn start(&self, id: ThreadId, meta: Meta, fork: Option<(ThreadId, ItemId)>) -> Result<Session, Error> {
        let (zoned, millis) = now();
        let head = Head {
            id: id.clone(),
            session_id: id.clone(),
            timestamp: line::timestamp(millis),
            meta,
            forked_from_id: fork.as_ref().map(|(from, _)| from.clone()),
            forked_from_ordinal_exclusive: fork.as_ref().map(|(_, upto)| upto.0),
        };
        let ordinal = fork.map_or(0, |(_, upto)| upto.0);
        let path = layout::path_for(&self.sessions(), &id, &zoned);
        let lock = Lock::take(&self.home, &id)?;
        let mut text = Vec::new();
        line::write(&head.timestamp, ordinal, line::SESSION_META, &head, &mut text)
            .map_err(|source| Error::Encode { path: path.clone(), item: ItemId(ordinal), source })?;
        let mut file = layout::append_to(&path).map_err(Error::create(&path))?;
        if let Err(source) = file.write_all(&text) {
            let _ = fs::remove_file(&path);
            return Err(Error::Create { path, source });
        }
        Ok(Session::on_disk(id, ItemId(ordinal.saturating_add(1)), path, file, false, lock))
    }

    /// Moves a rollout with its attachments.
    fn relocate(&self, rollout: &Rollout, target: &Path) -> Result<(), Error> {
        let _lock = Lock::take(&self.home, &rollout.id)?;
        let blobs = layout::blob_folder(&rollout.path);
        let moved = target.parent().map_or(Ok(()), layout::make_folder).and_then(|()| {
            if blobs.exists() {
                fs::rename(&blobs, layout::blob_folder(target))?;
            }
            fs::rename(&rollout.path, target)
        });
        moved.map_err(Error::change(&rollout.path))
    }

    fn chain(&self, rollout: Rollout) -> Result<Chain, Error> {
        Chain::of(rollout, &|id| self.locate(id))
    }

    pub(crate) fn locate(&self, id: &ThreadId) -> Option<Rollout> {
        layout::locate(&self.sessions(), id)
            .or_else(|| layout::in_folder(&self.archived()).into_iter().find(|r| r.id == *id))
    }

    pub(crate) fn rollouts(&self, archived: bool) -> Vec<Rollout> {
        if archived { layout::in_folder(&self.archived()) } else { layout::walk(&self.sessions()) }
    }

    pub(crate) fn names(&self) -> Result<Names, Error> {
        Names::read(&self.home)
    }

    fn sessions(&self) -> PathBuf {
        self.home.join("sessions")
    }
    fn archived(&self) -> PathBuf {
        self.home.join("archived_sessions")
    }
}

fn new_id() -> ThreadId {
    Uuid::now_v7().to_string().into()
}

fn now() -> (Zoned, protocol::Millis) {
    let now = Zoned::now();
    let millis = u64::try_from(now.timestamp().as_millisecond()).unwrap_or(0);
    (now, millis)
}
