//! What types alone do not say: rules between keys, and tables under a singular name.
use crate::{
    Config, ConfigError, Layer, Place, Warning, WarningKind, effective,
    layers::place,
    node::{Node, Origin, Value},
    overrides::nearest_feature,
    read::Unknown,
};

/// `[model_provider.x]`, `[profile.x]`: keys that hold a word, written as tables. Taken out and reported as unknown, so that
/// one slip is not a type error that hides the next.
pub(crate) fn misplaced_tables(node: &mut Node) -> Vec<Unknown> {
    let mut found = Vec::new();
    for (singular, plural) in [("model_provider", "model_providers"), ("profile", "profiles")] {
        let Some(Value::Table(entries)) = node.get(&[singular]).map(|node| &node.value) else {
            continue;
        };
        let mut unknown: Vec<Unknown> = entries
            .iter()
            .map(|(name, entry)| Unknown {
                path: vec![singular.to_owned(), name.clone()],
                origin: entry.origin,
                nearest: Some(format!("`[{plural}.{name}]`")),
            })
            .collect();
        if let Some(table) = node.remove(&[singular.to_owned()]).filter(|_| unknown.is_empty()) {
            let nearest = Some(format!("`[{plural}.<name>]`"));
            unknown.push(Unknown { path: vec![singular.to_owned()], origin: table.origin, nearest });
        }
        found.extend(unknown);
    }
    found
}

/// Rules over the merged config: what must be an error, and what deserves a word.
pub(crate) fn check_values(config: &Config, values: &Node, layers: &[Layer]) -> Result<Vec<Warning>, ConfigError> {
    let at = |path: &[&str]| place_of(values, layers, path);
    let refuse = |path: &[&str], message: &str| {
        Err(ConfigError::Value { place: at(path), key: path.join("."), message: message.to_owned() })
    };
    for (id, provider) in &config.model_providers {
        if provider.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return refuse(&["model_providers", id, "name"], "provider name must not be empty");
        }
        if provider.auth.as_ref().is_some_and(|auth| auth.command.trim().is_empty()) {
            return refuse(&["model_providers", id, "auth"], "`command` is missing or empty");
        }
    }
    for (name, server) in &config.mcp_servers {
        if server.bearer_token.is_some() {
            let hint = "not supported; name a variable that holds the token in `bearer_token_env_var`";
            return refuse(&["mcp_servers", name, "bearer_token"], hint);
        }
        match (&server.command, &server.url) {
            (None, None) => {
                return refuse(&["mcp_servers", name], "invalid transport: neither `command` nor `url` is set");
            }
            (Some(_), Some(_)) => {
                return refuse(&["mcp_servers", name], "invalid transport: `command` and `url` exclude each other");
            }
            _ => {}
        }
    }
    if !config.permissions.is_empty() && config.default_permissions.is_none() && config.sandbox_mode.is_none() {
        return refuse(&["permissions"], "profiles are defined, but `default_permissions` names none of them");
    }
    let mut warnings = unknown_features(config, values, layers);
    if let (Some(name), None) = (&config.default_permissions, config.sandbox_mode) {
        let key = "default_permissions";
        match effective::resolve(config, name) {
            Err(message) => return refuse(&[key], &message),
            Ok(resolved) => warnings.extend(resolved.notes.into_iter().map(|message| Warning {
                kind: WarningKind::NoEffect,
                place: at(&[key]),
                key: key.to_owned(),
                message,
            })),
        }
    }
    Ok(warnings)
}

fn unknown_features(config: &Config, values: &Node, layers: &[Layer]) -> Vec<Warning> {
    let unknown = config.features.keys().filter(|name| crate::feature(name).is_none());
    unknown
        .map(|name| {
            let hint = nearest_feature(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Warning {
                kind: WarningKind::UnknownFeature,
                place: place_of(values, layers, &["features", name]),
                key: format!("features.{name}"),
                message: format!("unknown feature `{name}` is ignored{hint}"),
            }
        })
        .collect()
}

/// The place of a value, or of what it stands in.
fn place_of(values: &Node, layers: &[Layer], path: &[&str]) -> Place {
    let nearest = (0..=path.len()).rev().find_map(|end| values.get(&path[..end]));
    place(layers, nearest.map_or(Origin::default(), |node| node.origin))
}
