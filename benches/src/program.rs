//! The two programs, and how each is started with an empty home.
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use demo::scripted::{Server, Step};
use tempfile::TempDir;

use crate::measure::{Measured, measure};

pub(crate) struct Program {
    pub(crate) path: PathBuf,
    ours: bool,
}

/// Home and workspace of one run or several.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> io::Result<Place> {
        let root = TempDir::new()?;
        fs::create_dir(root.path().join("home"))?;
        fs::create_dir(root.path().join("work"))?;
        Ok(Place { root })
    }
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }
}

impl Program {
    pub(crate) fn ours(path: PathBuf) -> Program {
        Program { path, ours: true }
    }
    pub(crate) fn codex(path: PathBuf) -> Program {
        Program { path, ours: false }
    }

    /// These arguments, in a place.
    pub(crate) fn run(&self, place: &Place, args: &[&str]) -> io::Result<Measured> {
        let mut command = Command::new(&self.path);
        command.args(args);
        run(command, place)
    }

    /// `exec` against a server, with all settings on the command line, in the sandbox for work.
    pub(crate) fn exec(&self, place: &Place, server: &Server, args: &[&str]) -> io::Result<Measured> {
        self.exec_in("workspace-write", place, server, args)
    }

    /// The same in a sandbox mode.
    pub(crate) fn exec_in(&self, mode: &str, place: &Place, server: &Server, args: &[&str]) -> io::Result<Measured> {
        let provider = format!(
            "model_providers.stub={{name=\"Stub\",base_url=\"{}\",wire_api=\"responses\",request_max_retries=0,\
             stream_max_retries=0}}",
            server.base_url()
        );
        let mut all = vec!["exec", "--json", "--skip-git-repo-check", "-s", mode, "-m", "stub-model"];
        all.extend(["-c", "model_provider=stub", "-c", &provider]);
        if self.ours {
            all.extend(["-c", "harness=native"]);
        }
        all.extend(args);
        let measured = self.run(place, &all)?;
        match measured.code {
            0 => Ok(measured),
            code => Err(io::Error::other(format!("{} ended with status {code}", self.path.display()))),
        }
    }

    /// `exec` in a place and against a server of its own.
    pub(crate) fn exec_anew(&self, steps: &[Step], args: &[&str]) -> io::Result<Measured> {
        self.exec(&Place::new()?, &Server::steps(steps.to_vec())?, args)
    }

    /// A command in the program's sandbox.
    pub(crate) fn sandbox(&self, place: &Place, command: &Path) -> io::Result<Measured> {
        let command = command.display().to_string();
        self.run(place, &["sandbox", "-c", "sandbox_mode=\"workspace-write\"", "--", &command])
    }
}

/// A command with nothing but PATH and the place's home.
pub(crate) fn run(mut command: Command, place: &Place) -> io::Result<Measured> {
    let path = std::env::var("PATH").unwrap_or_default();
    command.current_dir(place.work());
    measure(&command, &[("PATH", path), ("HOME", place.home().display().to_string()), ("LANG", "C.UTF-8".into())])
}
