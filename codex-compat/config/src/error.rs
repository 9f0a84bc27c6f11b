//! What can go wrong while loading, and what is worth a warning. Every `Display` is one whole line for the user.
use std::path::PathBuf;

use crate::LayerKind;

/// Why the config cannot be used; the caller prints it as it stands (Codex's openings included) and exits with 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("Error finding home: no home folder for this user; set INTERPRETER_HOME to a folder")]
    NoHome,
    #[error("Error loading config.toml: {}: {reason}", .path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("Error loading config.toml: {}:{line}:{column}: {message}{}", .path.display(), with_hint(.hint))]
    Syntax { path: PathBuf, line: u32, column: u32, message: String, hint: Option<&'static str> },
    /// A value of the wrong type, or one that its key does not allow.
    #[error("Error loading config.toml: {}`{key}`: {message}", before(.place))]
    Value { place: Place, key: String, message: String },
    /// Strict mode only.
    #[error("Error loading config.toml: {}unknown configuration field `{key}`{}", before(.place), ask(.nearest))]
    UnknownKey { place: Place, key: String, nearest: Option<String> },
    #[error("Error parsing -c overrides: Invalid override (missing '='): {0}")]
    OverrideWithoutValue(String),
    #[error("Error parsing -c overrides: Empty key in override: {0}")]
    OverrideWithoutKey(String),
    #[error("Error parsing -c overrides: key nested too deeply (more than {max} parts): {key}", max = crate::overrides::MAX_PARTS)]
    OverrideTooDeep { key: String },
    #[error("Error: Unknown feature flag: {0}")]
    UnknownFeature(String),
    #[error("Error loading config.toml: no profile `{name}`: {}", known_profiles(.known, .dir))]
    UnknownProfile { name: String, known: Vec<String>, dir: PathBuf },
    #[error("Error: cannot write {}: {reason}", .path.display())]
    Unwritable { path: PathBuf, reason: String },
}

fn with_hint(hint: &Option<&'static str>) -> String {
    hint.map(|hint| format!(" (hint: {hint})")).unwrap_or_default()
}

/// The place, and the column where there is one: `/home/u/config.toml:3:1: `. Nothing for built-in values.
fn before(place: &Place) -> String {
    match (&place.file, &place.layer) {
        (Some(_), _) if place.line > 0 => format!("{place}:{}: ", place.column),
        (None, LayerKind::Default) => String::new(),
        _ => format!("{place}: "),
    }
}

fn ask(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

fn known_profiles(known: &[String], dir: &std::path::Path) -> String {
    let known = match known {
        [] => "none is defined".to_owned(),
        known => format!("known are {}", known.join(", ")),
    };
    format!("{known}; add `[profiles.<name>]` to config.toml or put <name>.config.toml into {}", dir.display())
}

/// Where a value or key was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub layer: LayerKind,
    pub file: Option<PathBuf>,
    /// From 1; 0 where there is no file.
    pub line: u32,
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(file) if self.line > 0 => write!(f, "{}:{}", file.display(), self.line),
            Some(file) => write!(f, "{}", file.display()),
            None => write!(f, "{}", self.layer),
        }
    }
}

/// Something in the config that is not used, or not as its writer may think. The run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub kind: WarningKind,
    pub place: Place,
    /// The dotted key that it is about; empty for a whole file.
    pub key: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// Nobody knows this key.
    UnknownKey,
    /// Nobody knows this feature flag.
    UnknownFeature,
    /// A whole project file, because the folder is not trusted. Upstream says this on stderr only.
    UntrustedProject,
    /// A key that no project may set, trusted or not.
    ProjectKey,
    /// Accepted, but not (or no longer) acted upon.
    NoEffect,
    /// An instruction file that could not be read or was cut.
    Instructions,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
