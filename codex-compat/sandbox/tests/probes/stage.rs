//! A workspace with a git repository and a folder outside of it, and running commands between them.
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use protocol::{SandboxMode, SandboxPolicy};
use sandbox::{Launch, Spec, Status, Surroundings};

pub(crate) struct Stage {
    pub base: tempfile::TempDir,
    pub workspace: PathBuf,
    pub policy: SandboxPolicy,
    pub env: Vec<(OsString, OsString)>,
}

impl Stage {
    /// `W` (a repository with one commit) and `O` beside each other, not below `/tmp`.
    pub(crate) fn new(mode: SandboxMode) -> Stage {
        Stage::below(&folder(), mode)
    }

    pub(crate) fn below(dir: &Path, mode: SandboxMode) -> Stage {
        let base = tempfile::tempdir_in(dir).unwrap();
        let (workspace, outside) = (base.path().join("W"), base.path().join("O"));
        sh(&format!("cp -a '{}' '{}'", template().display(), workspace.display()));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "outside").unwrap();
        let tag = base.path().file_name().unwrap().to_owned();
        let mut stage = Stage { base, workspace, policy: SandboxPolicy::new(mode), env: Vec::new() };
        stage.set("W", &stage.workspace.clone());
        stage.set("O", &outside);
        stage.set("TAG", Path::new(&tag));
        stage.set("PATH", Path::new(path()));
        stage.set("SHELL", Path::new("/bin/sh"));
        for name in ["HOME", "RUSTUP_HOME", "CARGO_HOME", "PROBE_DIR"] {
            if let Some(value) = std::env::var_os(name) {
                stage.set(name, Path::new(&value));
            }
        }
        for role in ["AUTHOR", "COMMITTER"] {
            stage.set(&format!("GIT_{role}_NAME"), Path::new("n"));
            stage.set(&format!("GIT_{role}_EMAIL"), Path::new("n@example.com"));
        }
        stage.set("GIT_CONFIG_GLOBAL", Path::new("/dev/null"));
        stage
    }

    pub(crate) fn set(&mut self, name: &str, value: &Path) {
        self.env.push((name.into(), value.into()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub(crate) fn spec(&self) -> Spec {
        let around = Surroundings { tmpdir: None, home: None, state: &self.path("state") };
        Spec::resolve(&self.policy, &self.workspace, &around).unwrap()
    }

    pub(crate) fn launch(&self, script: &str) -> Launch {
        let argv = match script.strip_prefix("python: ") {
            Some(code) => ["python3", "-c", code],
            None => ["bash", "-c", script],
        };
        Launch::new(argv.map(OsString::from).to_vec(), self.env.clone(), self.workspace.clone())
    }

    pub(crate) fn run(&self, script: &str) -> (Status, String) {
        let mut child = sandbox::spawn(&self.spec(), self.launch(script)).unwrap();
        let mut output = Vec::new();
        fs::File::from(child.stdout.take().unwrap()).read_to_end(&mut output).unwrap();
        (child.wait().unwrap(), String::from_utf8_lossy(&output).into_owned())
    }

    pub(crate) fn works(&self, script: &str) {
        let (status, output) = self.run(script);
        assert_eq!(status, Status::Exited(0), "{script}\n{output}");
    }

    pub(crate) fn fails(&self, script: &str) {
        let (status, output) = self.run(script);
        assert!(!status.success() && !matches!(status, Status::NotRun(_)), "{script}: {status:?}\n{output}");
    }
}

/// Where stages are set up; `PROBE_DIR` for runs as another user.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("PROBE_DIR").map_or_else(|| sandbox::ground_for_tests(env!("CARGO_TARGET_TMPDIR")), PathBuf::from)
}

/// Content, mode and time of everything in a folder.
pub(crate) fn snapshot(dir: &Path) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
            let content = match fs::read_link(&path) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) if meta.is_file() => fs::read(&path).unwrap(),
                Err(_) => Vec::new(),
            };
            // The time of a folder changes with a place-holder in it, and `git status` may try to refresh the index.
            let time = if meta.is_dir() || path.ends_with("index") { 0 } else { meta.mtime() };
            if meta.is_dir() {
                folders.push(path.clone());
            }
            all.insert(path, (meta.mode(), time, content));
        }
    }
    all
}

pub(crate) fn sh(script: &str) {
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Made once and kept in the build folder.
fn template() -> PathBuf {
    let template = folder().join("template");
    if !template.exists() {
        let dir = tempfile::tempdir_in(folder()).unwrap().keep();
        sh(&format!(
            "cd '{}' && mkdir sub && echo f > f && echo f > sub/f && git init -q . && git add . && \
             git -c user.name=n -c user.email=n@example.com commit -qm first",
            dir.display()
        ));
        if fs::rename(&dir, &template).is_err() {
            // Another test was faster.
            fs::remove_dir_all(&dir).unwrap();
        }
    }
    template
}

/// With the folder of the real Python first: a version manager's shim in front of it writes files of its own.
fn path() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = std::env::var("PATH").unwrap();
        // Kept in the build folder: such a shim takes half a second.
        let kept = folder().join("python-folder");
        let python = fs::read_to_string(&kept).unwrap_or_else(|_| {
            let code = "import os, sys; print(os.path.dirname(sys.executable), end='')";
            let output = Command::new("python3").args(["-c", code]).output();
            let python = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
            fs::write(&kept, &python).unwrap();
            python
        });
        if python.is_empty() { path } else { format!("{python}:{path}") }
    })
}

pub(crate) fn has(tool: &str) -> bool {
    std::env::split_paths(path()).any(|folder| folder.join(tool).is_file())
}
