//! Which shell runs a script, and how it tells the folder that it ended in.
use std::{
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use protocol::Shell;

/// Descriptor on which a shell tells its last folder. One digit: some shells know no others in a redirection.
pub(crate) const CWD_FD: i32 = 9;

/// The user's shell where it is bash, zsh or sh, else `/bin/bash`, else `/bin/sh`.
pub fn user_shell() -> PathBuf {
    choose(std::env::var_os("SHELL").as_deref(), |path| path.is_file())
}

fn choose(user: Option<&OsStr>, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let user = user.map(Path::new).filter(|path| {
        path.is_absolute()
            && matches!(path.file_name().and_then(OsStr::to_str), Some("bash" | "zsh" | "sh"))
            && exists(path)
    });
    let bash = Path::new("/bin/bash");
    user.or_else(|| Some(bash).filter(|bash| exists(bash))).unwrap_or(Path::new("/bin/sh")).to_owned()
}

/// The shell for a name, as measured of Codex 0.171.0: only the kind of shell counts, which is the file name without its
/// ending, and of a path not the folder.
fn named(name: &str, user: &Path, search: Option<&OsStr>, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let kind = Path::new(name).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if !matches!(kind, "bash" | "zsh" | "sh") {
        return "/bin/sh".into();
    }
    if user.file_name() == Some(OsStr::new(kind)) {
        return user.to_owned();
    }
    let folders = search.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(kind)).find(|path| exists(path));
    found.unwrap_or_else(|| "/bin/sh".into())
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Program and arguments for a script, as events show them.
pub fn shell_argv(shell: &Shell, script: &str) -> Vec<String> {
    let (program, login) = match shell {
        Shell::Fresh { program: Some(program), login } => (program.into(), *login),
        Shell::Fresh { program: None, login } => (user_shell(), *login),
        Shell::Named { name, login } => {
            (named(name, &user_shell(), std::env::var_os("PATH").as_deref(), is_program), *login)
        }
        Shell::Kept(_) => (user_shell(), false),
    };
    let program = program.to_string_lossy().into_owned();
    vec![program, if login { "-lc" } else { "-c" }.to_owned(), script.to_owned()]
}

/// The script, after which the shell tells its folder, if the script came to its end and succeeded. As Claude Code 2.1.332 does it,
/// so that messages of the shell (`eval: line 1: ...`) are the same: the script is a word of its own, and the wrapper never shows in
/// them; `errexit` has no effect; a folder that is gone is an error.
pub(crate) fn telling_cwd(script: &str) -> OsString {
    format!("eval '{}' && pwd -P >&{CWD_FD}", script.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn choices() {
        let check = |user: Option<&str>, there: &[&str], expected: &str| {
            let chosen = choose(user.map(OsStr::new), |path| there.iter().any(|t| Path::new(t) == path));
            assert_eq!(chosen, Path::new(expected), "{user:?} {there:?}");
        };
        check(Some("/usr/bin/zsh"), &["/usr/bin/zsh", "/bin/bash"], "/usr/bin/zsh");
        check(Some("/usr/bin/zsh"), &["/bin/bash"], "/bin/bash");
        check(Some("/usr/bin/fish"), &["/usr/bin/fish", "/bin/bash"], "/bin/bash");
        check(Some("bash"), &["bash", "/bin/bash"], "/bin/bash");
        check(None, &[], "/bin/sh");
    }

    #[test]
    fn names() {
        let check = |name: &str, expected: &str| {
            let there = ["/usr/bin/sh", "/opt/bin/bash", "/w/zsh"];
            let exists = |path: &Path| there.iter().any(|t| Path::new(t) == path);
            let search = Some(OsStr::new("w:/nowhere:/usr/bin:/opt/bin"));
            assert_eq!(named(name, Path::new("/bin/bash"), search, exists), Path::new(expected), "{name}");
        };
        check("bash", "/bin/bash");
        check("/opt/bin/bash", "/bin/bash");
        check("bash.exe", "/bin/bash");
        check("sh", "/usr/bin/sh");
        check("/bin/sh", "/usr/bin/sh");
        check("/nosuch/sh", "/usr/bin/sh");
        check("zsh", "/bin/sh");
        check("/w/zsh", "/bin/sh");
        check("Bash", "/bin/sh");
        check("fish", "/bin/sh");
        check("", "/bin/sh");
    }

    #[test]
    fn command_lines() {
        let fresh = |program: &str, login| Shell::Fresh { program: Some(program.into()), login };
        assert_eq!(shell_argv(&fresh("/bin/bash", true), "ls"), ["/bin/bash", "-lc", "ls"]);
        assert_eq!(shell_argv(&fresh("sh", false), "ls"), ["sh", "-c", "ls"]);
    }
}
