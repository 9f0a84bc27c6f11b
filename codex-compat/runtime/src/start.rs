//! Beginning, resuming and forking a thread.
use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    rc::Rc,
};

use config::Loaded;
use harnesses::{Doc, Persona, SkillInfo, Words};
use protocol::{ApprovalPolicy, Body, Event, Raw, Settings, ThreadId};
use sessions::{Filter, Meta, Session, Store, codex::Imported};
use tokio::sync::mpsc;

use crate::{
    adopt::{self, Found},
    agents::{Agents, Base},
    history::History,
    hub::Hub,
    limits::Limits,
    link::Link,
    scratch::Scratch,
    setup,
    thread::Thread,
};

/// What a client asks for.
pub struct Start {
    pub loaded: Loaded,
    /// Absolute, existing.
    pub cwd: PathBuf,
    pub begin: Begin,
    /// None: as the config has it.
    pub approval: Option<ApprovalPolicy>,
    pub ephemeral: bool,
    pub output_schema: Option<Raw>,
    pub add_dirs: Vec<PathBuf>,
    pub chat_completions: bool,
    /// `--oss`.
    pub local: Option<Local>,
    pub limits: Limits,
    /// Tell text and output as they come.
    pub live: bool,
    /// A client answers what is asked (`Event::ApprovalAsked`): questions, plans.
    pub answered: bool,
    /// `exec`, `cli`, ...: which of our faces it is.
    pub source: String,
    pub thread_source: Option<String>,
    pub originator: String,
    pub version: String,
}

impl Start {
    pub fn new(loaded: Loaded, cwd: PathBuf) -> Start {
        Start {
            loaded,
            cwd,
            begin: Begin::New,
            approval: None,
            ephemeral: false,
            output_schema: None,
            add_dirs: Vec::new(),
            chat_completions: false,
            local: None,
            limits: Limits::default(),
            live: false,
            answered: false,
            source: String::new(),
            thread_source: None,
            originator: String::new(),
            version: String::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin {
    New,
    Resume(Which),
    Fork(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// By id, name or path; also a session of Codex.
    Named(String),
    /// The newest: of this folder, or of any.
    Last { anywhere: bool },
}

/// `--oss`, with what `--local-provider` names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Local {
    pub provider: Option<String>,
}

/// One line for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

impl StartError {
    pub(crate) fn new(message: impl Into<String>) -> StartError {
        StartError(message.into())
    }
}

impl From<sessions::Error> for StartError {
    fn from(error: sessions::Error) -> StartError {
        StartError(format!("Error: {error}"))
    }
}

/// What the head of a run shows.
#[derive(Debug, Clone)]
pub struct Brief {
    pub thread: ThreadId,
    pub settings: Settings,
    /// Sandbox and writable places on one line.
    pub sandbox: String,
    /// What is asked for: of the config, else of the model.
    pub effort: Option<String>,
}

/// Makes the thread ready; nothing is sent yet.
pub async fn start(start: Start, events: mpsc::UnboundedSender<Event>) -> Result<Thread, StartError> {
    let store = Store::new(&start.loaded.home.dir);
    let opened = earlier(&start, &store)?;
    let missed = opened.is_none() && start.begin != Begin::New;
    let recorded = match &opened {
        Some(Opened::Kept(_, past)) => past.settings.clone(),
        Some(Opened::Codex(_)) | None => None,
    };
    let target = setup::target(&start, recorded.as_ref())?;
    let settings = setup::settings(&start, &target)?;
    // A file is made only when nothing can be wrong any more with what was asked for.
    let (session, past) = match opened {
        Some(Opened::Kept(session, past)) => (session, Some(*past)),
        Some(Opened::Codex(imported)) => {
            let (session, past) = adopted(&start, &store, &imported, &settings.provider)?;
            (session, Some(past))
        }
        None if start.ephemeral => (store.ephemeral(), None),
        None => (store.create(meta(&start, &settings.provider))?, None),
    };
    let resumed = past.is_some();
    let (mut warnings, mut asides) = warnings(&start, &target, recorded.as_ref());

    if missed {
        asides.push("no earlier session was found: this is a new one".into());
    }
    let docs = config::discover(&start.loaded.home, &start.loaded.config, &start.loaded.project);
    warnings.extend(docs.warnings.iter().map(ToString::to_string));
    let docs = docs.docs.into_iter().map(|doc| Doc {
        path: doc.path.display().to_string(),
        project: doc.scope == config::DocScope::Project,
        text: doc.text,
    });
    let skills = config::discover_skills(&start.loaded.home, &start.loaded.config, &start.loaded.project);
    // A script has no use for them, and every run would tell them.
    asides.extend(skills.warnings.iter().map(ToString::to_string));

    let id = session.id().clone();
    // Of an ephemeral thread nothing is kept. What it saves lies where no command can put a link in its way.
    let state = setup::sandbox_state(&start.loaded.home);
    let scratch = Rc::new(Scratch::new(&state, &id));
    let folder = session.folder().unwrap_or_else(|| scratch.folder());
    let env =
        setup::environment(&start.loaded, settings.sandbox.network, id.as_str(), &start.version, &target.provider);
    let home = &start.loaded.home;
    let own = home.user.as_ref().map(|user| user.join(".openinterpreter/plans"));
    let plan_folders = [folder.clone(), home.dir.join("plans")].into_iter().chain(own).collect();
    let scope = tools::Scope::new(&settings, env, folder, &state)
        .map_err(|error| StartError::new(format!("Error: {error}")))?
        .with_private_pages(*start.loaded.config.tools.web_fetch.allow_private);
    asides.extend(scope.spec().notes.iter().cloned());
    let agents = Agents::new(Rc::new(base(&start, &settings, store)));
    let link = Link::new(target.provider, target.model, &start.originator, &start.version, &id);

    let same = recorded.as_ref() == Some(&settings);
    let history = History::starting_at(session.next());
    let mut thread = Thread {
        id,
        turn: RefCell::default(),
        settings: RefCell::new(settings.into()),
        harness: target.harness,
        link,
        persona: Persona::default(),
        docs: docs.collect(),
        skills: skills.skills.into_iter().map(skill_info).collect(),
        words: Words::default(),
        extra_tools: Vec::new(),
        history: RefCell::new(history),
        session: RefCell::new(session),
        host: tools::Local::new(),
        scope,
        hub: Hub::new(events, start.live),
        tally: RefCell::default(),
        limits: start.limits,
        once: RefCell::default(),
        agents,
        grants: Rc::default(),
        answered: start.answered,
        own_plan_mode: Cell::new(false),
        plan_folders,
        scratch,
        walls_told: Cell::new(false),
        warnings,
        asides,
        resumed,
        notify: start.loaded.config.notify.clone().unwrap_or_default(),
        originator: start.originator.clone(),
    };
    if let Some(past) = past {
        let damage = thread.take_up(past)?;
        thread.warnings.extend(damage);
    }
    if !same {
        thread
            .record(Body::Settings(Box::new((*thread.settings()).clone())))
            .map_err(|e| StartError(format!("Error: {}", e.message)))?;
    }
    Ok(thread)
}

/// What sub-agents are made of.
fn base(start: &Start, settings: &Settings, store: Store) -> Base {
    let config = &start.loaded.config;
    Base {
        limits: config.agents.clone(),
        roles: config.roles.clone(),
        store: (!start.ephemeral).then_some(store),
        meta: meta(start, &settings.provider),
        overrides: setup::overrides(config),
        version: start.version.clone(),
        running: Cell::new(0),
    }
}

fn skill_info(skill: config::Skill) -> SkillInfo {
    let scope = skill.scope.as_str().to_owned();
    SkillInfo { name: skill.name, description: skill.description, file: skill.file.display().to_string(), scope }
}

/// The first line of a new session.
fn meta(start: &Start, provider: &str) -> Meta {
    Meta {
        cwd: start.cwd.clone(),
        originator: start.originator.clone(),
        cli_version: start.version.clone(),
        source: start.source.clone(),
        thread_source: start.thread_source.clone().or_else(|| Some("user".into())),
        model_provider: provider.to_owned(),
        git: start.loaded.project.git_root.as_deref().and_then(setup::git_meta),
        parent_thread_id: None,
    }
}

/// What is gone on with.
enum Opened {
    Kept(Session, Box<sessions::Loaded>),
    /// A session of Codex, of which a copy is to be made.
    Codex(Box<Imported>),
}

/// The session that is gone on with, and its past. None: a new one.
fn earlier(start: &Start, store: &Store) -> Result<Option<Opened>, StartError> {
    let codex = adopt::codex_home(&start.loaded.home);
    let named = |name: &str| adopt::find(store, codex.as_deref(), &start.cwd, name);
    let found = match &start.begin {
        Begin::New => None,
        // Upstream starts a new session where the name or the folder knows none.
        Begin::Resume(Which::Named(name)) => named(name)?,
        Begin::Resume(Which::Last { anywhere }) => {
            let cwd = (!anywhere).then(|| start.cwd.clone());
            store.latest(&Filter { cwd, ..Filter::default() })?.map(Found::Ours)
        }
        Begin::Fork(name) => Some(named(name)?.ok_or_else(|| {
            StartError::new(format!("Error: no session `{name}`. `exec fork` takes an id, a name or a file."))
        })?),
    };
    let id = match found {
        None => return Ok(None),
        Some(Found::Codex(imported)) => return Ok(Some(Opened::Codex(imported))),
        Some(Found::Ours(id)) => id,
    };
    let (session, past) = if matches!(start.begin, Begin::Fork(_)) {
        let provider = start.loaded.config.model_provider.as_deref().unwrap_or("openai");
        store.fork(&id, None, meta(start, provider))?
    } else if start.ephemeral {
        let past = store.read(&id)?;
        (Session::ephemeral(id, past.next), past)
    } else {
        store.open(&id)?
    };
    Ok(Some(Opened::Kept(session, Box::new(past))))
}

/// A copy of a session of Codex: under its id, or under a new one for a fork.
fn adopted(
    start: &Start,
    store: &Store,
    imported: &Imported,
    provider: &str,
) -> Result<(Session, sessions::Loaded), StartError> {
    if start.ephemeral {
        let past = imported.loaded();
        return Ok((Session::ephemeral(imported.id.clone(), past.next), past));
    }
    let same_id = !matches!(start.begin, Begin::Fork(_));
    Ok(store.adopt(imported, meta(start, provider), same_id)?)
}

/// Warnings for every client, and those for people only.
fn warnings(start: &Start, target: &setup::Target, recorded: Option<&Settings>) -> (Vec<String>, Vec<String>) {
    // That an untrusted project's file is not used is for people, not for scripts; upstream says it on stderr only.
    let (aside, shown): (Vec<_>, Vec<_>) =
        start.loaded.warnings.iter().partition(|w| w.kind == config::WarningKind::UntrustedProject);
    let mut asides: Vec<String> = aside.iter().map(ToString::to_string).collect();
    let config = &start.loaded.config;
    if config.mcp_servers.values().any(|server| *server.enabled) {
        asides.push("mcp_servers are configured, and this version starts none".into());
    }
    if config::schema::HOOK_EVENTS.iter().any(|event| !config.hooks.groups(event).is_empty()) {
        asides.push("hooks are configured, and this version runs none".into());
    }
    let mut warnings: Vec<String> = shown.iter().map(ToString::to_string).collect();
    if !target.model.known {
        warnings.push(format!(
            "Model metadata for `{}` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
            target.model.slug
        ));
    }
    if let Some(recorded) = recorded.filter(|r| r.model != target.model.slug) {
        warnings.push(format!(
            "This session was recorded with model `{}` but is resuming with `{}`. The earlier reasoning of `{}` cannot be sent back.",
            recorded.model, target.model.slug, recorded.model
        ));
    }
    (warnings, asides)
}
