//! Paths as the model writes them: below the workspace, or refused.
use std::path::{Path, PathBuf};

use protocol::{Body, Fact, Outcome, SandboxMode};

use crate::Context;
use crate::claude_code_bare::record::plain;

/// Err: the text for the model.
pub(super) fn resolve(cx: &Context, written: &str) -> Result<PathBuf, String> {
    let path = match (home(cx), written.strip_prefix("~/")) {
        (Some(home), Some(below)) => plain(&home.join(below)),
        _ => plain(&cx.settings.cwd.join(written)),
    };
    if within(cx, &path) {
        return Ok(path);
    }
    Err(format!("Path escapes workspace: {written}. Use a workspace-relative path or enable trust mode."))
}

/// As far as names tell; what links lead to is the sandbox's business. Skills and stored results may be read everywhere.
fn within(cx: &Context, path: &Path) -> bool {
    let sandbox = &cx.settings.sandbox;
    let skill = |file: &str| Path::new(file).parent().is_some_and(|dir| path.starts_with(dir));
    sandbox.mode == SandboxMode::DangerFullAccess
        || path.starts_with(&cx.settings.cwd)
        || sandbox.writable_roots.iter().any(|root| path.starts_with(root))
        || cx.skills.iter().any(|known| skill(&known.file))
        || is_stored(cx, path)
}

fn is_stored(cx: &Context, path: &Path) -> bool {
    cx.items.iter().any(|item| match &item.body {
        Body::Called { did, .. } => {
            did.iter().any(|done| matches!(&done.outcome, Outcome::Saved { path: saved, .. } if saved == path))
        }
        _ => false,
    })
}

fn home<'a>(cx: &Context<'a>) -> Option<&'a PathBuf> {
    cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Home(home)) => home.as_ref(),
        _ => None,
    })
}

/// Below the workspace without it.
pub(super) fn shown(cx: &Context, path: &Path) -> String {
    path.strip_prefix(&cx.settings.cwd).unwrap_or(path).display().to_string()
}
