//! Where a path of the model's leads, and which ones it may not name: relative ones out of the workspace, and secret files.
use std::path::{Component, Path, PathBuf};

use protocol::{Body, Fact, Mode};

use crate::Context;

/// For what a path is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Reading,
    Writing,
    Searching,
}

/// The absolute path, or what the model is told.
pub(super) fn resolve(cx: &Context, path: &str, purpose: For) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("Path cannot be empty".to_owned());
    }
    let full = absolute(cx, path);
    if !Path::new(path).is_absolute() && !path.starts_with('~') && !in_workspace(cx, &full) {
        let to = match purpose {
            For::Reading => "read a file",
            For::Writing => "write or edit a file",
            For::Searching => "search",
        };
        return Err(format!(
            "\"{path}\" is not an absolute path. You must provide an absolute path to {to} outside the working directory."
        ));
    }
    if purpose != For::Searching && is_secret(&full) {
        return Err(format!(
            "\"{path}\" matches a sensitive-file pattern (env / credential / SSH key). Access is blocked to protect secrets."
        ));
    }
    Ok(full)
}

/// In plan mode only the plan may be written.
pub(super) fn writable(cx: &Context, full: &Path) -> Result<(), String> {
    match &cx.settings.mode {
        Mode::Plan { file } if file != full => Err(format!(
            "Plan mode is active. You may only write to the current plan file: {}. Call ExitPlanMode to exit plan mode before editing other files.",
            file.display()
        )),
        _ => Ok(()),
    }
}

/// Without `.` and `..`, from the working directory on; `~` is the user's home.
pub(super) fn absolute(cx: &Context, path: &str) -> PathBuf {
    let home = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Home(home)) => home.as_deref(),
        _ => None,
    });
    let full = match (home, path.strip_prefix('~')) {
        (Some(home), Some("")) => home.to_owned(),
        (Some(home), Some(below)) if below.starts_with('/') => home.join(below.trim_start_matches('/')),
        _ => cx.settings.cwd.join(path),
    };
    let mut plain = PathBuf::new();
    for part in full.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

pub(super) fn in_workspace(cx: &Context, full: &Path) -> bool {
    full.starts_with(&cx.settings.cwd) || cx.settings.sandbox.writable_roots.iter().any(|root| full.starts_with(root))
}

/// As results name it: relative to the working directory where it lies inside.
pub(super) fn shown(cx: &Context, full: &Path) -> String {
    full.strip_prefix(&cx.settings.cwd).unwrap_or(full).display().to_string()
}

/// By its name alone, as the original: `.env` files, stored credentials, private SSH keys.
pub(super) fn is_secret(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let template = [".example", ".sample", ".template"].iter().any(|end| name.ends_with(end));
    let key = ["id_rsa", "id_ed25519", "id_ecdsa"].iter().any(|key| name.starts_with(key));
    name == ".env"
        || (name.starts_with(".env.") && !template)
        || name == "credentials"
        || (key && !name.ends_with(".pub"))
}

/// Folders of version control that no search enters.
pub(super) const VCS: [&str; 6] = [".git", ".hg", ".svn", ".bzr", ".jj", ".sl"];

/// Folders between the working directory and `full` that may have instructions of their own.
pub(super) fn folders_below(cx: &Context, full: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = full
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(&cx.settings.cwd) && **folder != cx.settings.cwd)
        .map(Path::to_owned)
        .collect();
    folders.reverse();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_by_name_as_measured() {
        for (name, expected) in [
            (".env", true),
            (".env.local", true),
            (".env.example", false),
            (".env.sample", false),
            (".ENV", true),
            (".envrc", false),
            ("prod.env", false),
            ("id_rsa", true),
            ("ID_RSA", true),
            ("id_rsa.pub", false),
            ("id_rsa_backup", true),
            ("id_ed25519", true),
            ("id_ecdsa", true),
            ("id_dsa", false),
            ("credentials", true),
            (".aws/credentials", true),
            ("credentials.json", false),
            ("key.pem", false),
            (".npmrc", false),
        ] {
            assert_eq!(is_secret(Path::new(name)), expected, "{name}");
        }
    }
}
