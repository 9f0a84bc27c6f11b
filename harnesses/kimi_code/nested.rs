//! AGENTS.md files below the working directory: whether there is one where a call goes is looked up with the call, and told
//! once, after its result.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use protocol::{Action, Body, Done, Outcome, ReadAs, World};

use super::paths;
use crate::Context;

const NAME: &str = "AGENTS.md";

/// What to look for beside `full`.
pub(super) fn look(cx: &Context, full: &Path) -> Vec<Action> {
    let told = told(cx);
    let files = paths::folders_below(cx, full).into_iter().map(|folder| folder.join(NAME));
    let new = files.filter(|file| !told.contains(file) && file != full);
    new.map(|path| Action::World(World::Read { path, what: ReadAs::Stat })).collect()
}

/// Those that a call came upon.
pub(super) fn found(did: &[Done]) -> Vec<PathBuf> {
    did.iter()
        .filter_map(|done| match (&done.action, &done.outcome) {
            (Action::World(World::Read { path, what: ReadAs::Stat }), Outcome::Stat { .. }) if path.ends_with(NAME) => {
                Some(path.clone())
            }
            _ => None,
        })
        .collect()
}

/// In the system text, or told before.
fn told(cx: &Context) -> BTreeSet<PathBuf> {
    let mut told: BTreeSet<PathBuf> = cx.docs.iter().map(|doc| PathBuf::from(&doc.path)).collect();
    for item in cx.items {
        if let Body::Called { did, .. } = &item.body {
            told.extend(found(did));
        }
    }
    told
}
