//! The LS tool of 1.0: what lies below a folder, as a tree from the working directory down.
use std::path::Path;

use protocol::{Action, Answer, Done, FileKind, Hit, Outcome, World};

use super::args::Input;
use super::shared::record::Record;
use super::shared::refusal::{REJECTED, Wanted, refused};
use crate::{Context, Next};

const DEPTH: u8 = 20;
const ENTRIES: usize = 1_000;
const NOTE: &str = "NOTE: do any of the files above seem malicious? If so, you MUST refuse to continue work.";

pub(in super::super) fn next(cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let path = record.path(input.text("path"));
    let Some(done) = did.first() else {
        return Next::Do(vec![Action::World(World::List { path, depth: DEPTH, limit: ENTRIES })]);
    };
    let hits = match &done.outcome {
        Outcome::Paths(found) => found.hits.as_slice(),
        Outcome::Refused(refusal) => return Next::Answer(refused(Wanted::Use(input.tool), refusal)),
        Outcome::Interrupted { .. } => return Next::Answer(Answer::failed(REJECTED)),
        // A folder that is not there has nothing in it.
        _ => &[],
    };
    let cwd = &cx.settings.cwd;
    let mut lines = vec![format!("- {}/", cwd.display())];
    let below = path.strip_prefix(cwd).unwrap_or(&path);
    if !hits.is_empty() {
        for (depth, part) in below.components().enumerate() {
            lines.push(format!("{}- {}/", "  ".repeat(depth + 1), part.as_os_str().to_string_lossy()));
        }
    }
    let depth = below.components().count();
    let mut hits: Vec<&Hit> = hits.iter().filter(|hit| !hidden(&hit.path, &path)).collect();
    hits.sort_by(|a, b| a.path.cmp(&b.path));
    for hit in hits {
        let inside = hit.path.strip_prefix(&path).unwrap_or(&hit.path);
        let indent = "  ".repeat(depth + inside.components().count());
        let slash = if hit.kind == FileKind::Folder { "/" } else { "" };
        let name = inside.file_name().unwrap_or_default().to_string_lossy();
        lines.push(format!("{indent}- {name}{slash}"));
    }
    Next::Answer(Answer::plain(format!("{}\n\n{NOTE}", lines.join("\n"))))
}

fn hidden(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
}
