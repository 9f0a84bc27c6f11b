//! The threads of a home: listed in pages, found by id and name, named, archived, deleted; and who may read them.
use std::{
    fs::File,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use pretty_assertions::assert_eq;
use protocol::ThreadId;

use super::{Home, add, meta, user};
use crate::{Error, Filter, Sort};

impl Home {
    /// A thread in `cwd` that asked `text` and changed `ago` seconds before now.
    fn thread(&self, cwd: &str, text: &str, ago: u64) -> ThreadId {
        let mut session = self.store.create(meta(cwd)).unwrap();
        add(&mut session, vec![user(text)]);
        self.touch(session.id(), ago);
        session.id().clone()
    }
    fn touch(&self, id: &ThreadId, ago: u64) {
        let file = File::options().append(true).open(self.path(id)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(ago)).unwrap();
    }
    fn first_words(&self, filter: &Filter) -> Vec<String> {
        self.store.list(filter).unwrap().threads.into_iter().map(|t| t.first_message.unwrap_or_default()).collect()
    }
}

#[test]
fn the_latest_of_a_folder() {
    let home = Home::new();
    assert_eq!(home.store.latest(&Filter::default()).unwrap(), None);
    let old = home.thread("/a", "old", 50);
    let new = home.thread("/a", "new", 20);
    let other = home.thread("/b", "other", 10);
    let here = Filter { cwd: Some("/a".into()), ..Filter::default() };
    assert_eq!(home.store.latest(&here).unwrap(), Some(new));
    assert_eq!(home.store.latest(&Filter::default()).unwrap(), Some(other));
    home.touch(&old, 1);
    assert_eq!(home.store.latest(&here).unwrap(), Some(old));
    assert_eq!(home.store.latest(&Filter { cwd: Some("/c".into()), ..Filter::default() }).unwrap(), None);
}

#[test]
fn pages() {
    let home = Home::new();
    for at in 0..5 {
        home.thread("/a", &format!("T{at}"), 100 - at);
    }
    home.create();
    assert_eq!(home.first_words(&Filter::default()), ["T4", "T3", "T2", "T1", "T0"]);
    for (sort, oldest_first) in [(Sort::Updated, false), (Sort::Updated, true), (Sort::Created, false)] {
        let mut filter = Filter { limit: 2, sort, oldest_first, ..Filter::default() };
        let mut pages = Vec::new();
        loop {
            let page = home.store.list(&filter).unwrap();
            pages.push(page.threads.len());
            match page.next {
                Some(next) => filter.cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(pages, [2, 2, 1]);
    }
    assert_eq!(home.first_words(&Filter { oldest_first: true, limit: 1, ..Filter::default() }), ["T0"]);
    assert_eq!(home.first_words(&Filter { search: Some("t3".into()), ..Filter::default() }), ["T3"]);
    assert_eq!(home.first_words(&Filter { sources: vec!["cli".into()], ..Filter::default() }), Vec::<String>::new());
    assert_eq!(home.first_words(&Filter { empty: true, ..Filter::default() }).len(), 6);
    // A cursor that nobody gave out is no error.
    assert_eq!(home.first_words(&Filter { cursor: Some("?".into()), ..Filter::default() }).len(), 5);
}

#[test]
fn by_id_and_name() {
    let home = Home::new();
    let a = home.thread("/a", "a", 1);
    let b = home.thread("/a", "b", 1);
    assert_eq!(home.store.find(a.as_str()).unwrap(), Some(a.clone()));
    assert_eq!(home.store.find(&a.as_str().to_uppercase()).unwrap(), Some(a.clone()));
    assert_eq!(home.store.find("fix").unwrap(), None);
    home.store.rename(&a, "fix").unwrap();
    home.store.rename(&b, " fix ").unwrap();
    assert_eq!(home.store.find("fix").unwrap(), Some(b.clone()));
    home.store.rename(&b, "other").unwrap();
    assert_eq!(home.store.find("fix").unwrap(), Some(a.clone()));
    assert_eq!(home.store.summary(&b).unwrap().name.as_deref(), Some("other"));
    home.store.delete(&b).unwrap();
    assert_eq!(home.store.find("other").unwrap(), None);
    assert!(matches!(home.store.rename(&a, " "), Err(Error::EmptyName)));
    let missing = home.store.find("019b7c2a-84a5-7000-8000-000000000000").unwrap_err();
    assert_eq!(missing.to_string(), "no rollout found for thread id 019b7c2a-84a5-7000-8000-000000000000");
    // A name that reads as a UUID cannot hide the thread of that id.
    home.store.rename(&a, b.as_str()).unwrap();
    assert!(home.store.find(b.as_str()).is_err());
}

#[test]
fn archive_and_back() {
    let home = Home::new();
    let mut session = home.create();
    let blob = protocol::Blob::new("x", "image/png", &b"png"[..]);
    let body = protocol::Body::User { origin: protocol::Origin::User, parts: vec![protocol::Part::Document(blob)] };
    add(&mut session, vec![user("a"), body]);
    let id = session.id().clone();
    drop(session);
    let before = (home.path(&id), home.read(&id));
    assert!(matches!(home.store.unarchive(&id), Err(Error::NotArchived(_))));
    home.store.archive(&id).unwrap();
    assert_eq!(home.first_words(&Filter::default()), Vec::<String>::new());
    assert_eq!(home.first_words(&Filter { archived: true, ..Filter::default() }), ["a"]);
    assert_eq!(home.read(&id), before.1);
    assert!(matches!(home.store.open(&id), Err(Error::Archived(_))));
    assert!(matches!(home.store.archive(&id), Err(Error::Archived(_))));
    home.store.unarchive(&id).unwrap();
    assert_eq!((home.path(&id), home.read(&id)), before);
    home.store.delete(&id).unwrap();
    assert!(matches!(home.store.read(&id), Err(Error::NoRollout(_))));
    assert!(!before.0.exists());
    assert!(!before.0.with_extension("blobs").exists());
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read() {
    use std::os::unix::fs::PermissionsExt;
    fn all(folder: PathBuf, found: &mut Vec<(u32, bool)>) {
        let mode = folder.metadata().unwrap().permissions().mode() & 0o777;
        found.push((mode, folder.is_dir()));
        if folder.is_dir() {
            for entry in std::fs::read_dir(folder).unwrap() {
                all(entry.unwrap().path(), found);
            }
        }
    }
    let home = Home::new();
    let mut session = home.create();
    let blob = protocol::Blob::new("x", "image/png", &b"png"[..]);
    let body = protocol::Body::User { origin: protocol::Origin::User, parts: vec![protocol::Part::Document(blob)] };
    add(&mut session, vec![user("a"), body]);
    home.store.rename(session.id(), "name").unwrap();
    let mut found = Vec::new();
    all(home._folder.path().join("home"), &mut found);
    assert!(found.len() > 8);
    for (mode, folder) in found {
        assert_eq!(mode, if folder { 0o700 } else { 0o600 });
    }
}
