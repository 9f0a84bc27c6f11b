//! What an Action is performed under: folder, sandbox, environment; and for one call, who asked and who listens.
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use protocol::{CallId, Fact, SandboxMode, Settings};
use sandbox::{Spec, Surroundings};

use crate::{Cancel, OnOutput, files::fence::Fence};

/// Cheap to clone. [`Scope::call`] makes the one for a call from the one of the thread.
#[derive(Clone)]
pub struct Scope {
    /// Absolute; relative paths of Actions count from here.
    pub cwd: PathBuf,
    pub(crate) on_output: Option<OnOutput>,
    pub(crate) cancel: Cancel,
    spec: Arc<Spec>,
    /// Complete but for what belongs to one call.
    env: Arc<[(OsString, OsString)]>,
    /// Where long texts are kept.
    pub(crate) saved: PathBuf,
    call: Option<CallId>,
    outside: bool,
    /// Pages of this machine and of private networks may be fetched.
    pub(crate) private_pages: bool,
    facts: Roots,
}

/// What prompts say about the writable places.
#[derive(Clone, Copy)]
struct Roots {
    slash_tmp: bool,
    tmpdir: bool,
}

/// A variable that says there is no network.
const NETWORK_MARK: &str = "CODEX_SANDBOX_NETWORK_DISABLED";

impl Scope {
    /// `env`: the complete environment of commands. `session`: folder of the session's files. `home`: the program's own folder.
    /// Errors: the thread's folder does not exist.
    pub fn new(
        settings: &Settings,
        env: Vec<(OsString, OsString)>,
        session: impl Into<PathBuf>,
        home: &Path,
    ) -> Result<Scope, sandbox::Error> {
        let policy = &settings.sandbox;
        let tmpdir = env.iter().find(|(name, _)| name == "TMPDIR").map(|(_, value)| PathBuf::from(value));
        let user = std::env::var_os("HOME").map(PathBuf::from);
        let around = Surroundings { tmpdir: tmpdir.as_deref(), home: user.as_deref(), state: home };
        let spec = Spec::resolve(policy, &settings.cwd, &around)?;
        let confined = policy.mode == SandboxMode::WorkspaceWrite;
        let facts = Roots {
            slash_tmp: confined && !policy.exclude_slash_tmp,
            tmpdir: confined && !policy.exclude_tmpdir && tmpdir.is_some() && spec.notes.is_empty(),
        };
        Ok(Scope {
            cwd: settings.cwd.clone(),
            on_output: None,
            cancel: Cancel::new(),
            spec: Arc::new(spec),
            env: env.into(),
            saved: session.into(),
            call: None,
            outside: false,
            private_pages: false,
            facts,
        })
    }

    /// The same for one call.
    pub fn call(&self, id: &CallId) -> Scope {
        Scope { call: Some(id.clone()), ..self.clone() }
    }
    /// Without walls and fence: the escalation was approved.
    pub fn outside(mut self, outside: bool) -> Scope {
        self.outside = outside;
        self
    }
    /// `tools.web_fetch.allow_private`.
    pub fn with_private_pages(mut self, allowed: bool) -> Scope {
        self.private_pages = allowed;
        self
    }
    /// Commands, searches and waiting end when it is set.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Scope {
        self.cancel = cancel.clone();
        self
    }
    /// Takes a command's output as it comes, at most as much as is kept.
    pub fn on_output(mut self, take: impl Fn(&str) + Send + Sync + 'static) -> Scope {
        self.on_output = Some(Arc::new(take));
        self
    }

    /// The resolved policy, without regard to an approved escalation.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// For harnesses that tell the model what it may write.
    pub fn roots(&self) -> Fact {
        Fact::Roots {
            writable: self.spec.writable_roots().map(Path::to_owned).collect(),
            slash_tmp: self.facts.slash_tmp,
            tmpdir: self.facts.tmpdir,
            protected: self.spec.protected(),
        }
    }

    pub(crate) fn fence(&self) -> Fence<'_> {
        Fence::new(&self.spec, self.outside)
    }

    pub(crate) fn sandbox(&self) -> Arc<Spec> {
        if !self.outside || self.spec.unconfined() {
            return self.spec.clone();
        }
        let open =
            Spec { mode: SandboxMode::DangerFullAccess, roots: Vec::new(), network: true, ..Spec::clone(&self.spec) };
        Arc::new(open)
    }

    /// Of one command. Outside of the sandbox there is network, and nothing says otherwise.
    pub(crate) fn environment(&self, more: &[(String, String)]) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> =
            self.env.iter().filter(|(name, _)| !(self.outside && name == NETWORK_MARK)).cloned().collect();
        let mut set = |name: &OsStr, value: &OsStr| match env.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => value.clone_into(known),
            None => env.push((name.to_owned(), value.to_owned())),
        };
        if let Some(call) = &self.call {
            set("CODEX_TOOL_CALL_ID".as_ref(), call.as_str().as_ref());
        }
        for (name, value) in more {
            set(name.as_ref(), value.as_ref());
        }
        env
    }
}
