//! From config to the pieces that a thread is made of: provider, model, harness, settings, environment of commands.
use std::{
    collections::BTreeMap,
    ffi::OsString,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use config::{Config, Loaded, schema::WebSearchMode};
use protocol::{ModelInfo, Settings, WireId};
use providers::{Provider, ProviderConfig, Registry, Sources, catalog::Catalog};

use crate::{Local, Start, StartError, made};

/// The local servers that `--oss` knows, their default ports, and the model upstream takes when none is named.
const LOCAL: [(&str, u16, &str); 2] = [("ollama", 11434, "gpt-oss:20b"), ("lmstudio", 1234, "openai/gpt-oss-20b")];
/// What the hosted built-in providers are asked for when nobody named a model.
const DEFAULT_MODELS: [(&str, &str); 2] = [("openai", "gpt-5.5"), ("anthropic", "claude-sonnet-4-5")];

/// Bytes of a prompt from a file.
const MOST_PROMPT: u64 = 4 << 20;

/// Everything a request goes through.
pub(crate) struct Target {
    pub(crate) provider: Provider,
    pub(crate) model: ModelInfo,
    pub(crate) harness: &'static dyn harnesses::Harness,
}

/// Chooses provider, model and harness: flags and config first, then what the resumed session had.
pub(crate) fn target(start: &Start, recorded: Option<&Settings>) -> Result<Target, StartError> {
    let config = &start.loaded.config;
    let local = start.local.as_ref().map(|local| local_provider(local, config)).transpose()?;
    let named = local.map(str::to_owned).or_else(|| config.model_provider.clone());
    let named = named.or_else(|| recorded.map(|r| r.provider.clone()));
    let registry = registry(&start.loaded);
    // Nobody has named a provider; the model may (`-m groq/MODEL`), but not that of a project, which chooses no provider.
    let of_project = start.loaded.place(&["model"]).is_some_and(|place| place.layer == config::LayerKind::Project);
    let split = match (&named, &config.model) {
        (None, Some(model)) if !of_project => registry.split(model),
        _ => None,
    };
    let (of_model, model) = split.map_or((None, config.model.clone()), |(id, model)| (Some(id), Some(model)));
    let id = named.or(of_model).unwrap_or_else(|| "openai".to_owned());
    let provider = registry.provider(&id).map_err(|error| StartError::new(format!("Error: {error}")))?;
    let same_provider = recorded.filter(|r| r.provider == id);
    let defaults = LOCAL.iter().map(|(provider, _, model)| (*provider, *model)).chain(DEFAULT_MODELS);
    let default = || defaults.into_iter().find(|(provider, _)| *provider == id).map(|(_, model)| model.to_owned());
    if config.model.as_deref().is_some_and(|model| model.trim().is_empty()) {
        return Err(StartError::new(
            "Error: the name of the model is empty. Use -m MODEL, or `model = \"...\"` in config.toml.",
        ));
    }
    let model = model.or_else(|| same_provider.map(|r| r.model.clone())).or_else(default).ok_or_else(|| {
        StartError::new(format!(
            "Error: no model is set for provider `{id}`. Use -m MODEL, or `model = \"...\"` in config.toml; \
                 `interpreter models list --provider {id}` shows what there is."
        ))
    })?;
    let provider = if start.chat_completions { provider.on_wire(WireId::Chat) } else { provider.for_model(&model) };
    let harness = match &config.harness {
        Some(id) => made::find_harness(&start.loaded, id)?,
        None => match recorded.filter(|r| r.provider == id && r.model == model) {
            Some(recorded) => made::recorded_harness(&start.loaded, &recorded.harness)?,
            None => {
                let id = harnesses::default_for(&id, &provider.base_url, &model, provider.wire);
                made::find_harness(&start.loaded, id)?
            }
        },
    };
    let model = providers::model_info(&provider, &model, &overrides(config));
    Ok(Target { provider, model, harness })
}

/// The user's word on the models of this run.
pub(crate) fn overrides(config: &Config) -> providers::ModelOverrides {
    providers::ModelOverrides {
        context_window: config.model_context_window,
        auto_compact_token_limit: config.model_auto_compact_token_limit,
        max_output_tokens: config.model_max_output_tokens,
    }
}

/// `--local-provider`, `oss_provider`, or the server that answers.
fn local_provider(local: &Local, config: &Config) -> Result<&'static str, StartError> {
    let named = local.provider.as_deref().or(config.oss_provider.as_deref());
    if let Some(name) = named {
        let known = LOCAL.iter().find(|(id, ..)| *id == name).map(|(id, ..)| *id);
        return known
            .ok_or_else(|| StartError::new(format!("Error: no local provider `{name}`. Known: ollama, lmstudio.")));
    }
    // An address in the environment is meant for the first of them.
    let addressed =
        ["OLLAMA_HOST", "CODEX_OSS_BASE_URL", "CODEX_OSS_PORT"].iter().any(|v| std::env::var_os(v).is_some());
    let answers = |port: u16| {
        TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_millis(300)).is_ok()
    };
    LOCAL.iter().find(|(_, port, _)| addressed || answers(*port)).map(|(id, ..)| *id).ok_or_else(|| {
        StartError::new(
            "Error: no local server answers on ports 11434 (Ollama) and 1234 (LM Studio). Start one (`ollama serve`, \
                 or LM Studio's server), or name it with --local-provider.",
        )
    })
}

/// All providers of the config, with keys from environment and auth.json.
pub fn registry(loaded: &Loaded) -> Registry {
    let mut sources = Sources::from_env();
    // Every client of today is one that Codex's SDKs start, or stands beside it.
    sources.codex_api_key = true;
    sources.openai_base_url = loaded.config.openai_base_url.clone();
    let home = &loaded.home;
    sources.catalog = Catalog::newest(&home.cache_dir());
    for file in [home.codex_auth_file(), Some(home.auth_file())].into_iter().flatten() {
        if let Ok(text) = std::fs::read_to_string(file) {
            sources.read_auth_json(&text);
        }
    }
    let configs = loaded.config.model_providers.iter().map(|(id, p)| (id.clone(), provider_config(p))).collect();
    Registry::new(configs, sources)
}

fn provider_config(p: &config::schema::ModelProvider) -> ProviderConfig {
    let secret = |text: &str| providers::Secret::new(text);
    let secrets = |map: &BTreeMap<String, String>| map.iter().map(|(k, v)| (k.clone(), secret(v))).collect();
    ProviderConfig {
        name: p.name.clone(),
        base_url: p.base_url.clone(),
        wire_api: p.wire_api,
        env_key: p.env_key.clone(),
        env_key_instructions: p.env_key_instructions.clone(),
        experimental_bearer_token: p.experimental_bearer_token.as_ref().map(|token| secret(token.reveal())),
        auth: p.auth.as_ref().map(|auth| providers::TokenSource {
            command: auth.command.clone(),
            args: auth.args.clone(),
            cwd: auth.cwd.clone(),
            timeout_ms: *auth.timeout_ms,
            refresh_interval_ms: *auth.refresh_interval_ms,
        }),
        aws: p.aws.as_ref().map(|aws| providers::Aws { profile: aws.profile.clone(), region: aws.region.clone() }),
        requires_openai_auth: *p.requires_openai_auth,
        http_headers: secrets(&p.http_headers),
        env_http_headers: p.env_http_headers.clone(),
        query_params: secrets(&p.query_params),
        request_max_retries: p.request_max_retries,
        stream_max_retries: p.stream_max_retries,
        stream_idle_timeout_ms: p.stream_idle_timeout_ms,
        websocket_connect_timeout_ms: p.websocket_connect_timeout_ms,
        supports_websockets: *p.supports_websockets,
        supports_standalone_web_search: *p.supports_standalone_web_search,
    }
}

/// What is in force in the thread from here on.
pub(crate) fn settings(start: &Start, target: &Target) -> Result<Settings, StartError> {
    let config = &start.loaded.config;
    let read = |path: &Option<config::schema::ConfigPath>, key: &str| -> Result<Option<String>, StartError> {
        let Some(path) = path else { return Ok(None) };
        let file = path.0.display();
        let found = std::fs::metadata(&path.0).map_err(|why| why.to_string()).and_then(|found| match found.len() {
            _ if !found.is_file() => Err("not a regular file".to_owned()),
            bytes if bytes > MOST_PROMPT => Err(format!("{bytes} bytes, more than {MOST_PROMPT}")),
            _ => std::fs::read_to_string(&path.0).map_err(|why| why.to_string()),
        });
        found.map(Some).map_err(|why| StartError::new(format!("Error: {key}: cannot read {file}: {why}")))
    };
    let mut sandbox = config::effective_sandbox(config, start.loaded.trusted());
    sandbox.writable_roots.extend(start.add_dirs.iter().map(|dir| start.cwd.join(dir)));
    let compact = read(&config.experimental_compact_prompt_file, "experimental_compact_prompt_file")?;
    Ok(Settings {
        provider: target.provider.id.clone(),
        model: target.model.slug.clone(),
        wire: target.provider.wire,
        harness: target.harness.id().to_owned(),
        cwd: start.cwd.clone(),
        sandbox,
        approval: start.approval.unwrap_or_else(|| config::effective_approval(config)),
        mode: Default::default(),
        effort: target.model.effort_for(config.model_reasoning_effort.as_deref()),
        summary: config.model_reasoning_summary.map(|s| s.as_str().to_owned()),
        verbosity: config.model_verbosity.map(|v| v.as_str().to_owned()),
        // Both replace the base prompt, the file before the older key (seen in Codex 0.171.0).
        instructions: read(&config.model_instructions_file, "model_instructions_file")?
            .or_else(|| config.instructions.clone())
            .map(|text| text.trim().to_owned()),
        developer_instructions: config.developer_instructions.clone(),
        compact_prompt: config.compact_prompt.clone().or(compact),
        output_schema: start.output_schema.clone(),
        output_limit: config.tool_output_token_limit,
        max_output: config.model_max_output_tokens,
        features: features(config),
    })
}

/// Switches by their config names; what is not here is at its default.
fn features(config: &Config) -> BTreeMap<String, bool> {
    let mut features: BTreeMap<String, bool> = config.features.iter().map(|(name, on)| (name.clone(), on.0)).collect();
    let search = config.web_search;
    // The older key switches it off or on.
    let tool = config.tools.web_search.as_ref().is_none_or(|tool| tool.enabled());
    let named = [
        ("web_search", search != Some(WebSearchMode::Disabled) && tool),
        ("web_search.live", search == Some(WebSearchMode::Live)),
        ("tools.update_plan", config.tools.update_plan.enabled.unwrap_or(false)),
        ("allow_login_shell", config.allow_login_shell.0),
        ("include_permissions_instructions", config.include_permissions_instructions.0),
        ("include_environment_context", config.include_environment_context.0),
        ("harness_guidance", config.harness_guidance.0),
        ("skills.include_instructions", config.skills.include_instructions.unwrap_or(true)),
    ];
    features.extend(named.into_iter().map(|(name, on)| (name.to_owned(), on)));
    features
}

/// What the policy lets commands see of our environment, without the key of this provider. A policy that names the key's
/// variable (`set`, `include_only`) gets it all the same.
pub fn without_key(loaded: &Loaded, provider: &Provider) -> BTreeMap<OsString, OsString> {
    let policy = &loaded.config.shell_environment_policy;
    let mut env = config::child_environment(std::env::vars_os(), policy);
    let key_of = match &provider.auth {
        providers::Auth::Key { from, .. } => from.trim_matches('`'),
        _ => "",
    };
    for name in [key_of, "CODEX_API_KEY"] {
        if !policy.set.contains_key(name) && !policy.include_only.iter().any(|only| only == name) {
            env.remove(std::ffi::OsStr::new(name));
        }
    }
    env
}

/// The environment of commands: what is let through, and what upstream adds.
pub(crate) fn environment(
    loaded: &Loaded,
    network: bool,
    thread: &str,
    version: &str,
    provider: &Provider,
) -> Vec<(OsString, OsString)> {
    let mut env = without_key(loaded, provider);
    let quiet = [
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("COLORTERM", ""),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GH_PAGER", "cat"),
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        ("LC_CTYPE", "C.UTF-8"),
        ("AI_AGENT", "interpreter"),
        ("CODEX_CI", "1"),
        ("CODEX_SESSION_ID", thread),
        ("CODEX_THREAD_ID", thread),
        ("CODEX_VERSION", version),
        ("CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "1"),
    ];
    env.extend(quiet.into_iter().map(|(k, v)| (k.into(), v.into())));
    let mut env: Vec<(OsString, OsString)> = env.into_iter().collect();
    if !network {
        let more = sandbox::network_off_env(&env);
        env.extend(more);
    }
    env
}

/// Where the sandbox keeps its locks: our home, or where that cannot be written (a container with a read-only home) a folder
/// that commands do not see.
pub(crate) fn sandbox_state(home: &config::Home) -> PathBuf {
    use rustix::fs::{Access, access};
    let usable = |dir: &Path| std::fs::create_dir_all(dir).is_ok() && access(dir, Access::WRITE_OK).is_ok();
    if home.ensure().is_ok() && usable(&home.dir) {
        return home.dir.clone();
    }
    let shared = PathBuf::from(format!("/dev/shm/interpreter-{}", rustix::process::getuid().as_raw()));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("interpreter"));
    runtime.into_iter().chain([shared]).find(|dir| usable(dir)).unwrap_or_else(|| home.dir.clone())
}

/// The line that names the sandbox in the head of a run.
pub(crate) fn sandbox_line(settings: &Settings) -> String {
    use protocol::SandboxMode::*;
    let policy = &settings.sandbox;
    match policy.mode {
        ReadOnly | DangerFullAccess => policy.mode.as_str().to_owned(),
        WorkspaceWrite => {
            let mut roots = vec!["workdir".to_owned()];
            if !policy.exclude_slash_tmp {
                roots.push("/tmp".into());
            }
            if !policy.exclude_tmpdir {
                roots.push("$TMPDIR".into());
            }
            roots.extend(policy.writable_roots.iter().map(|root| root.display().to_string()));
            let network = if policy.network { " (network access enabled)" } else { "" };
            format!("{} [{}]{network}", policy.mode.as_str(), roots.join(", "))
        }
    }
}

/// Commit, branch and address of the repository, for the session's first line. Reads files only; runs nothing.
pub(crate) fn git_meta(root: &Path) -> Option<sessions::Git> {
    let dot_git = root.join(".git");
    let folder = if dot_git.is_dir() {
        dot_git
    } else {
        let text = regular(&dot_git)?;
        root.join(text.strip_prefix("gitdir:")?.trim())
    };
    let common = match regular(&folder.join("commondir")) {
        Some(text) => folder.join(text.trim()),
        None => folder.clone(),
    };
    let head = regular(&folder.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return Some(sessions::Git { commit_hash: Some(head.trim().to_owned()), ..Default::default() });
    };
    let loose = [&folder, &common].into_iter().find_map(|dir| regular(&dir.join(name)));
    let packed = || {
        let packed = regular(&common.join("packed-refs"))?;
        packed.lines().find_map(|line| line.strip_suffix(name)).map(|hash| hash.trim().to_owned())
    };
    Some(sessions::Git {
        commit_hash: loose.map(|hash| hash.trim().to_owned()).or_else(packed),
        branch: name.strip_prefix("refs/heads/").map(str::to_owned),
        repository_url: None,
    })
}

/// Text of a regular file. The files of a repository are anyone's: a FIFO among them would be waited for without end.
fn regular(path: &Path) -> Option<String> {
    std::fs::metadata(path).ok()?.is_file().then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// `odd` becomes a FIFO in a repository; what is known of it then.
    fn with_fifo(odd: &str) -> Option<(Option<String>, Option<String>)> {
        let root = tempfile::tempdir().expect("a folder");
        let git = root.path().join(".git");
        if odd != ".git" {
            std::fs::create_dir_all(git.join("refs/heads")).expect("folders");
            std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("HEAD");
            std::fs::write(git.join("refs/heads/main"), "c0ffee\n").expect("a branch");
            let _ = std::fs::remove_file(root.path().join(odd));
        }
        mknodat(CWD, root.path().join(odd), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        git_meta(root.path()).map(|git| (git.commit_hash, git.branch))
    }

    #[test]
    fn a_repository_with_fifos_does_not_hold_the_start_up() {
        let main = || Some("main".to_owned());
        assert_eq!(with_fifo(".git/unrelated"), Some((Some("c0ffee".to_owned()), main())));
        assert_eq!(with_fifo(".git/refs/heads/main"), Some((None, main())));
        assert_eq!(with_fifo(".git/packed-refs"), Some((Some("c0ffee".to_owned()), main())));
        assert_eq!(with_fifo(".git/HEAD"), None);
        assert_eq!(with_fifo(".git"), None);
    }
}
