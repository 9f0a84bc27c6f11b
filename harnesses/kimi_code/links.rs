//! Links that lead out of the working directory, or nowhere: the file tools do not follow them. Where one leads is looked up before
//! the file is touched.
use std::path::Path;

use protocol::{Action, Done, Failure, Outcome, ReadAs, World};

use super::envelope::Said;
use super::paths;
use crate::{Context, Next};

/// A link that leads back to itself.
const LOOP: i32 = 40;

/// What was done after the look at `full`. Err: the look itself, or the result where the link is not followed.
pub(super) fn followed<'a>(cx: &Context, tool: &str, full: &Path, did: &'a [Done]) -> Result<&'a [Done], Box<Next>> {
    // A look at an AGENTS.md would count as having come upon it.
    if !paths::in_workspace(cx, full) || full.ends_with("AGENTS.md") {
        return Ok(did);
    }
    let blocked = |text: String| Err(Box::new(Next::Answer(Said::failed(text).answer(tool, did))));
    let ask = |world: World| Err(Box::new(Next::Do(vec![Action::World(world)])));
    let Some((first, rest)) = did.split_first() else {
        return ask(World::Read { path: full.to_owned(), what: ReadAs::Stat });
    };
    // What another dialect did has no look.
    if !matches!(first.action, Action::World(World::Read { what: ReadAs::Stat, .. })) {
        return Ok(did);
    }
    match &first.outcome {
        Outcome::Stat { link: Some(target), .. } if !paths::in_workspace(cx, target) => blocked(format!(
            "\"{}\" resolves to \"{}\" through a symbolic link that points outside the working directory. Access is blocked; use the real path directly or add the target directory to the workspace.",
            full.display(),
            target.display()
        )),
        Outcome::Failed(Failure::Io { errno: LOOP, .. }) => {
            blocked(format!("Tool \"{tool}\" failed: realpath failed: unrecognized filesystem error"))
        }
        // Missing, or a link that leads nowhere: the folder tells.
        Outcome::Failed(_) => match (rest.split_first(), full.parent()) {
            (None, Some(folder)) => ask(World::List { path: folder.to_owned(), depth: 1, limit: 0 }),
            (Some((listed, rest)), _) => match &listed.outcome {
                Outcome::Paths(found) if found.hits.iter().any(|hit| hit.is_link && hit.path == full) => {
                    blocked(format!(
                        "\"{}\" is a symbolic link whose target does not exist. Access is blocked.",
                        full.display()
                    ))
                }
                _ => Ok(rest),
            },
            (None, None) => Ok(rest),
        },
        _ => Ok(rest),
    }
}
