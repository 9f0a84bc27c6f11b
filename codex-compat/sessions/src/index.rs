//! Names of threads (`session_index.jsonl`): a line per naming, the last one for an id is in force.
use std::{
    collections::HashMap,
    io::{ErrorKind, Write},
    path::Path,
};

use protocol::ThreadId;
use serde::{Deserialize, Serialize};

use crate::{Error, layout, line};

#[derive(Debug, Serialize, Deserialize)]
struct Naming {
    id: ThreadId,
    /// Empty: no name any more.
    thread_name: String,
    #[serde(default)]
    updated_at: String,
}

/// Names in force; of two threads with one name, the one named later comes last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    names: HashMap<ThreadId, (usize, String)>,
}

impl Names {
    /// Lines that cannot be read are passed over.
    pub(crate) fn read(home: &Path) -> Result<Names, Error> {
        let path = home.join("session_index.jsonl");
        let bytes = match layout::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Names::default()),
            Err(source) => return Err(Error::Read { path, source }),
        };
        let mut names = HashMap::new();
        for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
            if let Ok(naming) = serde_json::from_slice::<Naming>(line) {
                names.insert(naming.id, (at, naming.thread_name));
            }
        }
        names.retain(|_, (_, name)| !name.is_empty());
        Ok(Names { names })
    }

    pub(crate) fn of(&self, id: &ThreadId) -> Option<&str> {
        self.names.get(id).map(|(_, name)| name.as_str())
    }

    /// Threads of this name, the one named last first.
    pub(crate) fn called(&self, name: &str) -> Vec<&ThreadId> {
        let mut found: Vec<_> = self.names.iter().filter(|(_, (_, n))| n == name).collect();
        found.sort_by_key(|(_, (at, _))| std::cmp::Reverse(*at));
        found.into_iter().map(|(id, _)| id).collect()
    }
}

/// Names a thread; an empty name takes its name away.
pub(crate) fn set(home: &Path, id: &ThreadId, name: &str, now: protocol::Millis) -> Result<(), Error> {
    let path = home.join("session_index.jsonl");
    let naming = Naming { id: id.clone(), thread_name: name.to_owned(), updated_at: line::timestamp(now) };
    let mut text = serde_json::to_vec(&naming).unwrap_or_default();
    text.push(b'\n');
    let mut file = layout::append_to(&path).map_err(Error::change(&path))?;
    file.write_all(&text).map_err(Error::change(&path))
}
