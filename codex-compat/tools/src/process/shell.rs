//! Which shell runs a script, and how it tells the folder that it ended in.
use std::{
    ffi::{OsStr, OsString},
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

/// Program and arguments for a script, as events show them.
pub fn shell_argv(shell: &Shell, script: &str) -> Vec<String> {
    let (program, login) = match shell {
        Shell::Fresh { program, login } => (program.clone(), *login),
        Shell::Kept(_) => (None, false),
    };
    let program = program.unwrap_or_else(|| user_shell().to_string_lossy().into_owned());
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
    fn command_lines() {
        let fresh = |program: &str, login| Shell::Fresh { program: Some(program.into()), login };
        assert_eq!(shell_argv(&fresh("/bin/bash", true), "ls"), ["/bin/bash", "-lc", "ls"]);
        assert_eq!(shell_argv(&fresh("sh", false), "ls"), ["sh", "-c", "ls"]);
    }
}
