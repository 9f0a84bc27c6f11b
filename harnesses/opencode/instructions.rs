//! Instruction files of folders below the project's: told behind the first file that is read there, the nearest first, each once.
//! AGENTS.md, or CLAUDE.md where there is none (seen in OpenCode 1.18.33).
use std::path::{Path, PathBuf};

use protocol::{Action, Body, Done, Outcome, ReadAs, World};

use super::{reminder, shown};
use crate::Context;

const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Folders above a file that are looked through.
const DEPTH: usize = 16;
/// Bytes of one such file.
const MAX_FILE: u64 = 256 << 10;

/// Looks for those that `file` brings with it.
pub(super) fn looks(cx: &Context, file: &Path) -> Vec<Action> {
    let Some(folder) = file.parent().filter(|folder| folder.starts_with(&cx.settings.cwd)) else { return Vec::new() };
    let below = folder.ancestors().take_while(|folder| **folder != cx.settings.cwd).take(DEPTH);
    let wanted = below.filter(|folder| !NAMES.iter().any(|name| known(cx, &folder.join(name))));
    wanted
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .filter(|path| path != file)
        .map(|path| Action::World(World::Read { path, what: ReadAs::Text { max_bytes: MAX_FILE } }))
        .collect()
}

/// In the opening already, or told before.
fn known(cx: &Context, path: &Path) -> bool {
    let head = headline(path);
    cx.docs.iter().any(|doc| Path::new(&doc.path) == path)
        || cx.items.iter().any(|item| match &item.body {
            Body::Called { answer, .. } => answer.content.text().contains(&head),
            _ => false,
        })
}

fn headline(path: &Path) -> String {
    format!("Instructions from: {}\n", shown(path))
}

/// What stands behind the file's own text; empty for nothing.
pub(super) fn told(did: &[Done]) -> String {
    let found: Vec<(&PathBuf, &str)> = did
        .iter()
        .filter_map(|done| match (&done.action, &done.outcome) {
            (Action::World(World::Read { path, .. }), Outcome::Text { text, .. }) => Some((path, text.as_str())),
            _ => None,
        })
        .collect();
    let mut texts: Vec<String> = Vec::new();
    let mut last: Option<&Path> = None;
    for (path, text) in found {
        if path.parent() != last {
            texts.push(format!("{}{text}", headline(path)));
        }
        last = path.parent();
    }
    if texts.is_empty() { String::new() } else { format!("\n\n{}", reminder(&texts.join("\n\n"))) }
}
