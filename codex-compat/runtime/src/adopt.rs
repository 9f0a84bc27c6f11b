//! Which session is meant by an id, a name or a path. Ours first; else one of Codex's, which is read where it lies and never
//! changed: a thread of ours goes on from a copy.
use std::path::{Path, PathBuf};

use protocol::ThreadId;
use sessions::{
    Error, Store,
    codex::{self, Imported},
};

pub(crate) enum Found {
    Ours(ThreadId),
    Codex(Box<Imported>),
}

/// None: no session has this name. `codex`: the home of Codex; relative paths begin at `cwd`.
pub(crate) fn find(store: &Store, codex: Option<&Path>, cwd: &Path, text: &str) -> Result<Option<Found>, Error> {
    if text.contains('/') || text.ends_with(".jsonl") {
        return at(store, &cwd.join(text)).map(Some);
    }
    let ours = store.find(text);
    if let Ok(Some(id)) = ours {
        return Ok(Some(Found::Ours(id)));
    }
    match codex.and_then(|home| codex::find(home, text)) {
        Some(path) => at(store, &path).map(Some),
        None => ours.map(|_| None),
    }
}

/// The session in a file; where it was gone on with before, our thread of it.
fn at(store: &Store, path: &Path) -> Result<Found, Error> {
    let imported = codex::read(path)?;
    if store.has(&imported.id) {
        return Ok(Found::Ours(imported.id));
    }
    if imported.items.is_empty() {
        return Err(Error::NotCodex { path: path.to_owned(), why: "nothing in it could be read" });
    }
    Ok(Found::Codex(Box::new(imported)))
}

/// Where Codex keeps its sessions for this user.
pub(crate) fn codex_home(home: &config::Home) -> Option<PathBuf> {
    let named = || std::env::var_os("CODEX_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    home.codex.clone().or_else(named).or_else(|| Some(home.user.as_ref()?.join(".codex")))
}
