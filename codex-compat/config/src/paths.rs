//! Where the program keeps its state: `~/.openinterpreter`, moved by `INTERPRETER_HOME`.
//!
//! `CODEX_HOME` counts in one case only: started as an SDK starts Codex, an app isolates itself by it. Then our home lies inside
//! it, and its config.toml and auth.json are read as a layer below ours. Codex's own files are never written.
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use crate::ConfigError;

/// The home and what is found by fixed names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Absolute; need not exist, see [`Home::ensure`].
    pub dir: PathBuf,
    /// CODEX_HOME of an SDK start.
    pub codex: Option<PathBuf>,
    /// The user's own home folder, for `~` in paths of the config.
    pub user: Option<PathBuf>,
}

impl Home {
    /// From this process's environment. `started_like_sdk`: `exec --experimental-json` or `app-server`.
    pub fn from_env(started_like_sdk: bool) -> Result<Home, ConfigError> {
        Home::resolve(|name| std::env::var_os(name), std::env::home_dir(), started_like_sdk)
    }

    /// The same over any environment. An empty variable counts as unset; a relative path is taken from the working directory.
    pub fn resolve(
        var: impl Fn(&str) -> Option<OsString>,
        user: Option<PathBuf>,
        started_like_sdk: bool,
    ) -> Result<Home, ConfigError> {
        let path = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user = user.filter(|dir| !dir.as_os_str().is_empty());
        let (dir, codex) = match (path("INTERPRETER_HOME"), path("CODEX_HOME")) {
            (Some(dir), _) => (dir, None),
            (None, Some(codex)) if started_like_sdk => (codex.join("openinterpreter"), Some(codex)),
            _ => (user.as_ref().ok_or(ConfigError::NoHome)?.join(".openinterpreter"), None),
        };
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Ok(Home { dir: absolute(dir), codex: codex.map(absolute), user })
    }

    /// A home at `dir` and nothing else; for tests and tools.
    pub fn at(dir: impl Into<PathBuf>) -> Home {
        Home { dir: dir.into(), codex: None, user: None }
    }

    pub fn config_file(&self) -> PathBuf {
        self.dir.join("config.toml")
    }
    pub fn auth_file(&self) -> PathBuf {
        self.dir.join("auth.json")
    }
    /// config.toml of an SDK's CODEX_HOME: read below ours, never written.
    pub fn codex_config_file(&self) -> Option<PathBuf> {
        self.codex.as_ref().map(|dir| dir.join("config.toml"))
    }
    /// auth.json of an SDK's CODEX_HOME: read where ours has nothing, never written.
    pub fn codex_auth_file(&self) -> Option<PathBuf> {
        self.codex.as_ref().map(|dir| dir.join("auth.json"))
    }
    pub fn sessions_dir(&self) -> PathBuf {
        self.dir.join("sessions")
    }
    pub fn history_file(&self) -> PathBuf {
        self.dir.join("history.jsonl")
    }
    pub fn log_dir(&self) -> PathBuf {
        self.dir.join("log")
    }
    pub fn cache_dir(&self) -> PathBuf {
        self.dir.join("cache")
    }
    pub fn skills_dir(&self) -> PathBuf {
        self.dir.join("skills")
    }
    pub fn prompts_dir(&self) -> PathBuf {
        self.dir.join("prompts")
    }
    pub fn rules_dir(&self) -> PathBuf {
        self.dir.join("rules")
    }
    pub fn harnesses_dir(&self) -> PathBuf {
        self.dir.join("harnesses")
    }

    /// Creates the home (0700 on Unix) where it is missing. Folders that exist keep their mode.
    pub fn ensure(&self) -> io::Result<()> {
        create_private_dir(&self.dir)
    }
}

/// `dir` and its missing parents, open to the user alone.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// The machine's own layer, below the user's.
pub fn default_system_file() -> PathBuf {
    #[cfg(windows)]
    {
        let root = std::env::var_os("ProgramData").map_or_else(|| PathBuf::from(r"C:\ProgramData"), PathBuf::from);
        root.join("openinterpreter").join("config.toml")
    }
    #[cfg(not(windows))]
    PathBuf::from("/etc/openinterpreter/config.toml")
}

/// `~` and `~/x` over the user's home; everything else as it is.
pub(crate) fn expand_tilde(path: &str, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), user) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_home_moves_by_interpreter_home_and_by_codex_home_of_an_sdk_start_only() {
        let check = |vars: &[(&str, &str)], sdk: bool, dir: &str, codex: Option<&str>| {
            let home = Home::resolve(
                |name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()),
                Some("/home/u".into()),
                sdk,
            );
            let expected = Home { dir: dir.into(), codex: codex.map(PathBuf::from), user: Some("/home/u".into()) };
            assert_eq!(home, Ok(expected), "{vars:?} {sdk}");
        };
        check(&[], false, "/home/u/.openinterpreter", None);
        check(&[("INTERPRETER_HOME", "/x")], false, "/x", None);
        check(&[("INTERPRETER_HOME", "")], true, "/home/u/.openinterpreter", None);
        check(&[("CODEX_HOME", "/c")], false, "/home/u/.openinterpreter", None);
        check(&[("CODEX_HOME", "/c")], true, "/c/openinterpreter", Some("/c"));
        check(&[("CODEX_HOME", "")], true, "/home/u/.openinterpreter", None);
        check(&[("CODEX_HOME", "/c"), ("INTERPRETER_HOME", "/x")], true, "/x", None);
    }

    #[test]
    fn without_any_home_the_error_names_the_variable() {
        let error = Home::resolve(|_| None, None, true).expect_err("no home");
        assert_eq!(
            error.to_string(),
            "Error finding home: no home folder for this user; set INTERPRETER_HOME to a folder"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_home_is_created_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("tempdir");
        let home = Home::at(root.path().join("a/b"));
        home.ensure().expect("created");
        home.ensure().expect("again");
        let mode = std::fs::metadata(&home.dir).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn tilde() {
        let check = |path: &str, expected: &str| {
            assert_eq!(expand_tilde(path, Some(Path::new("/home/u"))), PathBuf::from(expected));
        };
        check("~", "/home/u");
        check("~/a", "/home/u/a");
        check("~a/b", "~a/b");
        check("a/~", "a/~");
    }
}
