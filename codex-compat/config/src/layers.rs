//! From files and flags to one config: finds the layers, reads each file once, merges them from low to high.
//!
//! Built-in < system < CODEX_HOME of an SDK start < user < profile < trusted project, root to cwd < `-c` < flags.
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Config, ConfigError, FlagSetting, Home, Override, Place, Project, Warning, WarningKind, default_system_file,
    node::{Node, Origin, Value},
    parse::{from_json, parse_bytes},
    read::{Fault, Unknown, read},
    validate::{check_values, misplaced_tables},
};

/// What to load, and from where.
#[derive(Debug, Clone)]
pub struct Request {
    pub home: Home,
    pub system_file: PathBuf,
    /// Absolute.
    pub cwd: PathBuf,
    /// `--profile`; wins over a top-level `profile`.
    pub profile: Option<String>,
    pub overrides: Vec<Override>,
    pub flags: Vec<FlagSetting>,
    /// `--ignore-user-config`: no config.toml of the home (nor of an SDK's CODEX_HOME). A selected profile's own file is read.
    pub ignore_user_config: bool,
    /// `--strict-config`: an unknown key in a file is an error.
    pub strict: bool,
}

impl Request {
    pub fn new(home: Home, cwd: impl Into<PathBuf>) -> Request {
        Request {
            home,
            system_file: default_system_file(),
            cwd: cwd.into(),
            profile: None,
            overrides: Vec::new(),
            flags: Vec::new(),
            ignore_user_config: false,
            strict: false,
        }
    }
}

/// The config in force, and where it comes from.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub home: Home,
    pub config: Config,
    /// To be shown, in order of the layers.
    pub warnings: Vec<Warning>,
    pub project: Project,
    /// The profile in force.
    pub profile: Option<String>,
    /// Low to high; the first is the built-in one. Files that exist but are not used are listed too.
    pub layers: Vec<Layer>,
    /// All values that a layer set, merged, each with its origin.
    pub values: Node,
}

impl Loaded {
    pub fn trusted(&self) -> bool {
        self.project.trust.trusted()
    }

    /// Where the value at `path` was written; None: nobody set it.
    pub fn place(&self, path: &[&str]) -> Option<Place> {
        self.values.get(path).map(|node| place(&self.layers, node.origin))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    pub file: Option<PathBuf>,
    pub state: LayerState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerKind {
    Default,
    System,
    /// config.toml of an SDK's CODEX_HOME.
    Codex,
    User,
    Profile(String),
    Project,
    /// `-c`
    Override,
    /// The flag as typed: `--model`.
    Flag(String),
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayerKind::Default => f.write_str("default"),
            LayerKind::System => f.write_str("system"),
            LayerKind::Codex => f.write_str("CODEX_HOME"),
            LayerKind::User => f.write_str("user"),
            LayerKind::Profile(name) => write!(f, "profile {name}"),
            LayerKind::Project => f.write_str("project"),
            LayerKind::Override => f.write_str("-c"),
            LayerKind::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerState {
    Used,
    /// `--ignore-user-config`
    Ignored,
    /// A project's, without trust.
    Untrusted,
}

/// Reads all layers. Errors are those of a file or value that would be used; nothing is written.
pub fn load(request: &Request) -> Result<Loaded, ConfigError> {
    let mut stack = Stack::new(request);
    stack.file(LayerKind::System, &request.system_file, false)?;
    if let Some(file) = request.home.codex_config_file() {
        stack.file(LayerKind::Codex, &file, request.ignore_user_config)?;
    }
    stack.file(LayerKind::User, &request.home.config_file(), request.ignore_user_config)?;
    let above = stack.command_line();
    let profile = stack.profile(&above)?;
    let project = stack.project(&above)?;
    for (kind, node) in above {
        stack.add(kind, node)?;
    }
    stack.finish(project, profile)
}

pub(crate) fn place(layers: &[Layer], origin: Origin) -> Place {
    let layer = layers.get(origin.layer);
    Place {
        layer: layer.map_or(LayerKind::Default, |layer| layer.kind.clone()),
        file: layer.and_then(|layer| layer.file.clone()),
        line: origin.line,
        column: origin.column,
    }
}

/// What no project may set, trusted or not: where keys and data go, who is logged in, what runs outside the sandbox.
const NEVER_FROM_A_PROJECT: &[&str] = &[
    "analytics",
    "chatgpt_base_url",
    "cli_auth_credentials_store",
    "experimental_realtime_ws_base_url",
    "fallback",
    "feedback",
    "forced_chatgpt_workspace_id",
    "forced_login_method",
    "gateway",
    "log_dir",
    "mcp_oauth_callback_port",
    "mcp_oauth_callback_url",
    "mcp_oauth_credentials_store",
    "model_catalog_json",
    "model_provider",
    "model_providers",
    "notify",
    "openai_base_url",
    "oss_provider",
    "otel",
    "profile",
    "profiles",
    "project_root_markers",
    "projects",
    "roles",
    "sandbox_linux",
    "sdk",
    "sqlite_home",
];

/// Config, hooks and rules of a project, in any folder from its root down. A repository's `.codex` is never read.
const PROJECT_DIR: &str = ".openinterpreter";
const PROFILE_SUFFIX: &str = ".config.toml";

/// The layers so far and their merged values.
struct Stack<'r> {
    request: &'r Request,
    layers: Vec<Layer>,
    /// By layer: where its relative paths start.
    bases: Vec<Option<PathBuf>>,
    values: Node,
    /// `[profiles.<name>]` tables by the file's layer; the merged values keep none of them.
    profiles: Vec<Node>,
    warnings: Vec<Warning>,
}

impl<'r> Stack<'r> {
    fn new(request: &'r Request) -> Stack<'r> {
        let built_in = Layer { kind: LayerKind::Default, file: None, state: LayerState::Used };
        Stack {
            request,
            layers: vec![built_in],
            bases: vec![None],
            values: Node::table(Origin::default()),
            profiles: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn push(&mut self, kind: LayerKind, file: Option<PathBuf>, state: LayerState) -> usize {
        let base = match &file {
            Some(file) => file.parent().map(Path::to_owned),
            None => Some(self.request.cwd.clone()),
        };
        self.layers.push(Layer { kind, file, state });
        self.bases.push(base);
        self.layers.len() - 1
    }

    fn place(&self, origin: Origin) -> Place {
        place(&self.layers, origin)
    }

    /// A file of the user or the machine: its values, and the hooks.json beside it. A missing file is no layer.
    fn file(&mut self, kind: LayerKind, file: &Path, ignored: bool) -> Result<(), ConfigError> {
        if ignored {
            if file.exists() {
                self.push(kind, Some(file.to_owned()), LayerState::Ignored);
            }
            return Ok(());
        }
        // Of an SDK's CODEX_HOME config.toml is read and nothing else; a profile's hooks stand in its own file.
        let has_hooks_file = matches!(kind, LayerKind::System | LayerKind::User);
        if let Some(bytes) = read_file(file)? {
            let layer = self.push(kind.clone(), Some(file.to_owned()), LayerState::Used);
            let mut node = parse_bytes(&bytes, layer).map_err(|error| syntax(file, error))?;
            self.check(&mut node)?;
            if let Some(profiles) = node.remove(&["profiles".to_owned()]) {
                self.profiles.push(profiles);
            }
            self.values.merge(node);
        }
        if has_hooks_file {
            self.hooks_file(kind, file)?;
        }
        Ok(())
    }

    /// hooks.json in the folder of a config file.
    fn hooks_file(&mut self, kind: LayerKind, beside: &Path) -> Result<(), ConfigError> {
        let file = beside.with_file_name("hooks.json");
        let Some(bytes) = read_file(&file)? else {
            return Ok(());
        };
        let layer = self.push(kind, Some(file.clone()), LayerState::Used);
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let value = serde_json::from_slice(bytes).map_err(|error| ConfigError::Syntax {
            path: file,
            line: u32::try_from(error.line()).unwrap_or(u32::MAX),
            column: u32::try_from(error.column()).unwrap_or(u32::MAX),
            message: error.to_string(),
            hint: None,
        })?;
        // Codex's form is {"hooks": {...}}; other members are descriptions for people.
        let origin = Origin { layer, line: 1, column: 1 };
        let mut node = Node::table(origin);
        let hooks = match value {
            serde_json::Value::Object(mut map) => map.remove("hooks").unwrap_or_default(),
            _ => serde_json::Value::Null,
        };
        if let Some(hooks) = from_json(hooks, origin) {
            node.put(&["hooks".to_owned()], hooks);
        }
        self.check(&mut node)?;
        self.values.merge(node);
        Ok(())
    }

    /// Values of the command line.
    fn add(&mut self, kind: LayerKind, mut node: Node) -> Result<(), ConfigError> {
        let layer = self.push(kind, None, LayerState::Used);
        node.relayer(layer);
        self.check(&mut node)?;
        self.values.merge(node);
        Ok(())
    }

    /// Types and known keys of one layer. What is unknown is taken out, with a warning or (strict, files) an error.
    fn check(&mut self, node: &mut Node) -> Result<(), ConfigError> {
        let mut unknown = misplaced_tables(node);
        let (result, more) = read::<Config>(node, &self.bases, self.request.home.user.as_deref());
        unknown.extend(more);
        unknown.sort_by_key(|unknown| (unknown.origin.line, unknown.origin.column));
        for Unknown { path, origin, nearest } in unknown {
            node.remove(&path);
            let place = self.place(origin);
            let key = path.join(".");
            if self.request.strict && place.file.is_some() {
                return Err(ConfigError::UnknownKey { place, key, nearest });
            }
            let hint = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let message = format!("unknown key `{key}` is ignored{hint}");
            self.warnings.push(Warning { kind: WarningKind::UnknownKey, place, key, message });
        }
        result.map(drop).map_err(|fault| self.value_error(fault))
    }

    fn value_error(&self, fault: Fault) -> ConfigError {
        let (path, origin) = fault.at.unwrap_or_default();
        ConfigError::Value { place: self.place(origin), key: path.join("."), message: fault.message }
    }

    /// `-c` and flags, not yet laid on top: trust and profile are looked up in them first.
    fn command_line(&self) -> Vec<(LayerKind, Node)> {
        let mut layers = Vec::new();
        if !self.request.overrides.is_empty() {
            let mut node = Node::table(Origin::default());
            for Override { path, value } in &self.request.overrides {
                node.put(path, Node { value: value.clone(), origin: Origin::default() });
            }
            layers.push((LayerKind::Override, node));
        }
        for FlagSetting { flag, path, value } in &self.request.flags {
            let mut node = Node::table(Origin::default());
            node.put(path, Node { value: value.clone(), origin: Origin::default() });
            layers.push((LayerKind::Flag(flag.clone()), node));
        }
        layers
    }

    /// Lays the selected profile on top, in both generations: `[profiles.<name>]` of each file, then `<name>.config.toml`.
    fn profile(&mut self, above: &[(LayerKind, Node)]) -> Result<Option<String>, ConfigError> {
        let set = |node: &Node| node.get(&["profile"]).and_then(Node::as_text).map(str::to_owned);
        let from_command_line = || above.iter().rev().find_map(|(_, node)| set(node));
        let name = self.request.profile.clone().or_else(from_command_line).or_else(|| set(&self.values));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let mut found = false;
        let kind = LayerKind::Profile(name.clone());
        let command_line = above.iter().filter_map(|(_, node)| node.get(&["profiles"]).cloned());
        let tables: Vec<Node> = self.profiles.iter().cloned().chain(command_line).collect();
        for mut table in tables.into_iter().filter_map(|mut profiles| profiles.remove(std::slice::from_ref(&name))) {
            found = true;
            for key in ["profile", "profiles", "projects"] {
                table.remove(&[key.to_owned()]);
            }
            // The file's own check has seen this table already.
            let file = self.layers.get(table.origin.layer).and_then(|layer| layer.file.clone());
            let layer = self.push(kind.clone(), file, LayerState::Used);
            table.relayer(layer);
            self.values.merge(table);
        }
        if Path::new(&name).file_name().is_some_and(|whole| whole == name.as_str()) {
            for dir in self.request.home.codex.clone().into_iter().chain([self.request.home.dir.clone()]) {
                let file = dir.join(format!("{name}{PROFILE_SUFFIX}"));
                let before = self.layers.len();
                self.file(kind.clone(), &file, false)?;
                found |= self.layers.len() > before;
            }
        }
        match found {
            true => Ok(Some(name)),
            false => Err(ConfigError::UnknownProfile {
                name,
                known: self.known_profiles(),
                dir: self.request.home.dir.clone(),
            }),
        }
    }

    fn known_profiles(&self) -> Vec<String> {
        let mut known: BTreeSet<String> =
            self.profiles.iter().filter_map(Node::as_table).flat_map(|table| table.keys().cloned()).collect();
        for dir in self.request.home.codex.iter().chain([&self.request.home.dir]) {
            let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
            known.extend(names.filter_map(|name| name.to_str()?.strip_suffix(PROFILE_SUFFIX).map(str::to_owned)));
        }
        known.into_iter().filter(|name| !name.is_empty()).collect()
    }

    /// `.openinterpreter/config.toml` from project root to working directory: used in trusted projects, named in others.
    fn project(&mut self, above: &[(LayerKind, Node)]) -> Result<Project, ConfigError> {
        let command_line = || above.iter().rev().map(|(_, node)| node);
        let markers = command_line().chain([&self.values]).find_map(|node| node.get(&["project_root_markers"]));
        let markers = match markers.map(|node| &node.value) {
            Some(Value::Array(items)) => items.iter().filter_map(Node::as_text).map(str::to_owned).collect(),
            _ => vec![".git".to_owned()],
        };
        let mut project = Project::find(&self.request.cwd, &markers);
        let projects: Vec<&Node> =
            command_line().chain([&self.values]).filter_map(|node| node.get(&["projects"])).collect();
        project.trust = project.trust_in(&projects, self.request.home.user.as_deref());
        let trusted = project.trust.trusted();
        // The usual place of the home is no project's, also when the home was moved.
        let homes =
            [Some(self.request.home.dir.clone()), self.request.home.user.as_ref().map(|user| user.join(PROJECT_DIR))];
        for folder in project.folders() {
            let dir = folder.join(PROJECT_DIR);
            if homes.iter().flatten().any(|home| *home == dir) {
                continue;
            }
            let file = dir.join("config.toml");
            if trusted { self.trusted_file(&file)? } else { self.untrusted_file(&file) }
        }
        Ok(project)
    }

    fn trusted_file(&mut self, file: &Path) -> Result<(), ConfigError> {
        if let Some(bytes) = read_file(file)? {
            let layer = self.push(LayerKind::Project, Some(file.to_owned()), LayerState::Used);
            let mut node = parse_bytes(&bytes, layer).map_err(|error| syntax(file, error))?;
            for key in NEVER_FROM_A_PROJECT {
                if let Some(dropped) = node.remove(&[(*key).to_owned()]) {
                    let message =
                        format!("`{key}` is ignored: a project cannot set it; put it into your own config.toml");
                    let place = self.place(dropped.origin);
                    self.warnings.push(Warning {
                        kind: WarningKind::ProjectKey,
                        place,
                        key: (*key).to_owned(),
                        message,
                    });
                }
            }
            self.check(&mut node)?;
            self.values.merge(node);
        }
        self.hooks_file(LayerKind::Project, file)
    }

    /// Nothing of it counts, so nothing in it can be an error: one warning says what it would have set.
    fn untrusted_file(&mut self, file: &Path) {
        let hooks = file.with_file_name("hooks.json");
        let described = match read_file(file) {
            Ok(None) => None,
            Ok(Some(bytes)) => Some(match parse_bytes(&bytes, 0) {
                Ok(node) => match node.as_table() {
                    Some(table) if !table.is_empty() => table.keys().cloned().collect::<Vec<_>>().join(", "),
                    _ => "it is empty".to_owned(),
                },
                Err(_) => "it is not valid TOML".to_owned(),
            }),
            Err(_) => Some("it cannot be read".to_owned()),
        };
        let hooks = hooks.exists().then_some(hooks);
        let named = [described.map(|what| (file.to_owned(), what)), hooks.map(|file| (file, "hooks".to_owned()))];
        for (file, what) in named.into_iter().flatten() {
            let layer = self.push(LayerKind::Project, Some(file), LayerState::Untrusted);
            let place = self.place(Origin { layer, line: 0, column: 0 });
            let message =
                format!("ignored, because this folder is not trusted ({what}); `interpreter exec --trust` trusts it");
            self.warnings.push(Warning { kind: WarningKind::UntrustedProject, place, key: String::new(), message });
        }
    }

    fn finish(mut self, project: Project, profile: Option<String>) -> Result<Loaded, ConfigError> {
        let (result, _) = read::<Config>(&self.values, &self.bases, self.request.home.user.as_deref());
        let mut config = result.map_err(|fault| self.value_error(fault))?;
        for profiles in &self.profiles {
            let (tables, _) =
                read::<BTreeMap<String, Config>>(profiles, &self.bases, self.request.home.user.as_deref());
            config.profiles.extend(tables.map_err(|fault| self.value_error(fault))?);
        }
        self.warnings.extend(check_values(&config, &self.values, &self.layers)?);
        let home = self.request.home.clone();
        Ok(Loaded { home, config, warnings: self.warnings, project, profile, layers: self.layers, values: self.values })
    }
}

/// None: there is no such file. A config is a regular file of reasonable size; a pipe or device would be read for ever.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    const MAX_BYTES: u64 = 16 << 20;
    let unreadable = |reason: String| ConfigError::Unreadable { path: path.to_owned(), reason };
    match fs::metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(unreadable(error.to_string())),
        Ok(found) if !found.is_file() => Err(unreadable("not a regular file".to_owned())),
        Ok(found) if found.len() > MAX_BYTES => Err(unreadable("larger than 16 MiB".to_owned())),
        Ok(_) => fs::read(path).map(Some).map_err(|error| unreadable(error.to_string())),
    }
}

fn syntax(path: &Path, error: crate::parse::SyntaxError) -> ConfigError {
    let crate::parse::SyntaxError { line, column, message, hint } = error;
    ConfigError::Syntax { path: path.to_owned(), line, column, message, hint }
}

#[cfg(test)]
mod tests;
