//! A file that is not there: what else the model may have meant.
use std::path::{Path, PathBuf};

use protocol::{Action, Done, FileKind, Outcome, ReadAs, World};

use super::record::Record;

/// Entries of a folder that are looked through.
const ENTRIES: usize = 2_000;

/// The folder's entries, and the same path below the shell's folder.
pub(crate) fn look(record: &Record, path: &Path) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(folder) = path.parent() {
        actions.push(Action::World(World::List { path: folder.to_owned(), depth: 1, limit: ENTRIES }));
    }
    if let Some(path) = below_cwd(record, path) {
        actions.push(Action::World(World::Read { path, what: ReadAs::Stat }));
    }
    // Never empty, so that the call's program goes on.
    if actions.is_empty() {
        actions.push(Action::World(World::Read { path: record.cwd.clone(), what: ReadAs::Stat }));
    }
    actions
}

/// A path beside the shell's folder that was meant below it (the folder's own name was left out).
fn below_cwd(record: &Record, path: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(record.cwd.parent()?).ok()?;
    (!path.starts_with(&record.cwd) && rest.components().next().is_some()).then(|| record.cwd.join(rest))
}

pub(crate) fn missing(record: &Record, path: &Path, did: &[Done]) -> String {
    let mut text = format!("File does not exist. Note: your current working directory is {}.", record.cwd.display());
    let meant = did.iter().find_map(|done| match (&done.action, &done.outcome) {
        (Action::World(World::Read { path, what: ReadAs::Stat }), Outcome::Stat { kind: FileKind::File, .. }) => {
            Some(path.display().to_string())
        }
        _ => None,
    });
    let similar = || {
        did.iter().find_map(|done| match &done.outcome {
            Outcome::Paths(found) => found.hits.iter().find_map(|hit| {
                let alike = hit.kind == FileKind::File && hit.path.file_stem() == path.file_stem();
                (alike && hit.path.file_name() != path.file_name())
                    .then(|| hit.path.file_name().map(|name| name.to_string_lossy().into_owned()))?
            }),
            _ => None,
        })
    };
    if let Some(meant) = meant.or_else(similar) {
        text.push_str(&format!(" Did you mean {meant}?"));
    }
    text
}
