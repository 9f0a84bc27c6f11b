//! `--worktree`: a new Git worktree of the user's repository, below our own home, to work in. It stays when the run is over.
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Creates it at the present commit, detached, and returns the folder in it that corresponds to `cwd`.
pub(crate) fn add(cwd: &Path, home: &Path) -> Result<PathBuf, String> {
    let root = config::git_root(cwd)
        .ok_or_else(|| format!("Error: --worktree needs a Git repository, and {} is in none.", cwd.display()))?;
    let name = root.file_name().map_or_else(|| "work".into(), |name| name.to_owned());
    let place = home.join("worktrees").join(format!("{:x}", uuid::Uuid::new_v4().as_u64_pair().0)).join(name);
    let output = Command::new("git")
        .args(["-c", "core.hooksPath=/dev/null", "worktree", "add", "--detach", "--quiet"])
        .arg(&place)
        .current_dir(&root)
        .stdin(Stdio::null())
        .output()
        .map_err(|why| format!("Error: --worktree: cannot run git: {why}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("Error: --worktree: git says: {}", words.trim()));
    }
    // A folder that is in no commit is not there.
    let below =
        cwd.strip_prefix(&root).ok().filter(|below| !below.as_os_str().is_empty()).map(|below| place.join(below));
    Ok(below.filter(|below| below.is_dir()).unwrap_or(place))
}
