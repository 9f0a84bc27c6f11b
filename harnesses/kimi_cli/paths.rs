//! Paths of the model's: relative ones stay inside of the working directory; secrets are not read.
use std::path::{Component, Path, PathBuf};

use protocol::{Body, Fact, Failure, Outcome};

use super::result::Said;
use crate::Context;

/// The file that is meant. Err: the message of the failure. `what`: `read` or `write`.
pub(super) fn resolve(cx: &Context, path: &str, what: &str) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("File path cannot be empty.".to_owned());
    }
    let meant = home(cx, path);
    let full = plain(&cx.settings.cwd.join(&meant));
    if meant.is_relative() && !full.starts_with(&cx.settings.cwd) {
        return Err(format!(
            "`{path}` is not an absolute path. You must provide an absolute path to {what} a file outside the working directory."
        ));
    }
    Ok(full)
}

/// `~` stands for the user's folder.
pub(super) fn home(cx: &Context, path: &str) -> PathBuf {
    let below = match path.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => return PathBuf::from(path),
    };
    home_folder(cx).map_or_else(|| PathBuf::from(path), |home| home.join(below))
}

pub(super) fn home_folder(cx: &Context) -> Option<PathBuf> {
    cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Home(home)) => home.clone(),
        _ => None,
    })
}

pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// The name says that keys or passwords are inside.
pub(super) fn is_secret(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let harmless = [".example", ".sample", ".template"].iter().any(|end| name.ends_with(end));
    let env = name == ".env" || name.starts_with(".env.");
    let key = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"].contains(&name.as_str());
    let credentials = name == "credentials"
        && path.components().any(|part| [".aws", ".gcp"].iter().any(|folder| part.as_os_str() == *folder));
    (env || key || credentials) && !harmless
}

const ENOENT: i32 = 2;
const ENOTDIR: i32 = 20;

pub(super) fn is_missing(seen: &Outcome) -> bool {
    matches!(seen, Outcome::Failed(Failure::Io { errno: ENOENT | ENOTDIR, .. }))
}

/// A file that could not be read. `path` as the model wrote it.
pub(super) fn unread(path: &str, seen: &Outcome) -> Said {
    match seen {
        seen if is_missing(seen) => Said::failed(format!("`{path}` does not exist.")),
        Outcome::Failed(Failure::NotAFile { .. }) => Said::failed(format!("`{path}` is not a file.")),
        seen => super::refusal::not_done(&format!("Failed to read {path}."), seen),
    }
}
