//! Sessions as their users see them: written, read again, torn, forked, listed, locked.
mod damage;
pub(crate) mod items;
mod locking;
mod resume;
mod shelf;

use protocol::{Body, Item, ItemId, Origin, Part, ThreadId};
use tempfile::TempDir;

use crate::{Loaded, Meta, Session, Store};

/// A home of its own for each test.
struct Home {
    _folder: TempDir,
    store: Store,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        Home { store: Store::new(folder.path().join("home")), _folder: folder }
    }
    fn create(&self) -> Session {
        self.store.create(meta("/work")).unwrap()
    }
    /// A closed thread with these bodies as items 1, 2, ...
    fn written(&self, bodies: Vec<Body>) -> ThreadId {
        let mut session = self.create();
        add(&mut session, bodies);
        session.id().clone()
    }
    fn path(&self, id: &ThreadId) -> std::path::PathBuf {
        self.store.locate(id).unwrap().path
    }
    fn read(&self, id: &ThreadId) -> Loaded {
        self.store.read(id).unwrap()
    }
}

fn meta(cwd: &str) -> Meta {
    Meta {
        cwd: cwd.into(),
        originator: "codex_exec".into(),
        cli_version: "0.1.0".into(),
        source: "exec".into(),
        thread_source: Some("user".into()),
        model_provider: "demo".into(),
        ..Meta::default()
    }
}

fn add(session: &mut Session, bodies: Vec<Body>) -> Vec<Item> {
    let first = session.next().0;
    let items: Vec<Item> = bodies.into_iter().zip(first..).map(|(body, id)| item(id, body)).collect();
    session.append(&items).unwrap();
    items
}

fn item(id: u64, body: Body) -> Item {
    Item { id: ItemId(id), turn: "turn".into(), at: 1_767_322_984_000 + id, body }
}

fn user(text: &str) -> Body {
    Body::User { origin: Origin::User, parts: vec![Part::text(text)] }
}

/// User texts and the ids of all items, which is what most tests are about.
fn told(loaded: &Loaded) -> Vec<String> {
    loaded
        .items
        .iter()
        .map(|item| match &item.body {
            Body::User { parts, .. } => format!("{} {}", item.id.0, parts[0].as_text().unwrap()),
            other => format!("{} {}", item.id.0, crate::line::tag(other)),
        })
        .collect()
}
