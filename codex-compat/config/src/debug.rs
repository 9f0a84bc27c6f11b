//! `interpreter debug config`: the layers, every value in force with where it was written, and the warnings. Secrets are masked.
use serde_json::{Map, Value as Json, json};

use crate::{
    Config, Layer, LayerState, Loaded, Place, effective_sandbox,
    layers::place,
    node::{Node, Value},
};

const MASK: &str = "***";

/// Plain text for people.
pub fn render_table(loaded: &Loaded) -> String {
    let mut out = String::from("Layers, low to high:\n");
    for layer in &loaded.layers {
        let file = layer.file.as_ref().map(|file| format!(" {}", file.display())).unwrap_or_default();
        out += &format!("  {}{file}{}\n", layer.kind, state_note(layer));
    }
    let trust = loaded.project.trust.level.map_or("not decided", |level| level.as_str());
    out += &format!("Project: {} ({trust})\n", loaded.project.root.display());
    if let Some(profile) = &loaded.profile {
        out += &format!("Profile: {profile}\n");
    }
    let rows: Vec<[String; 3]> = rows(loaded)
        .into_iter()
        .map(|row| [row.key, row.value.to_string(), row.place.map_or_else(|| "default".to_owned(), describe)])
        .collect();
    let width =
        |column: usize, most: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).min(most);
    let (keys, values) = (width(0, 48), width(1, 48));
    out += "Values:\n";
    for [key, value, source] in &rows {
        out += format!("  {key:keys$}  {value:values$}  {source}").trim_end();
        out.push('\n');
    }
    if !loaded.warnings.is_empty() {
        out += "Warnings:\n";
        for warning in &loaded.warnings {
            out += &format!("  {warning}\n");
        }
    }
    out
}

/// The same for programs.
pub fn render_json(loaded: &Loaded) -> Json {
    let layers: Vec<Json> = loaded
        .layers
        .iter()
        .map(|layer| json!({"name": layer.kind.to_string(), "file": layer.file, "state": state_word(layer.state)}))
        .collect();
    let values: Map<String, Json> = rows(loaded)
        .into_iter()
        .map(|row| {
            let mut entry = Map::from_iter([("value".to_owned(), row.value)]);
            match row.place {
                Some(place) => entry.extend(place_json(&place)),
                None => drop(entry.insert("layer".to_owned(), "default".into())),
            }
            (row.key, Json::Object(entry))
        })
        .collect();
    let warnings: Vec<Json> = loaded
        .warnings
        .iter()
        .map(|warning| {
            let mut entry = place_json(&warning.place);
            entry.insert("key".to_owned(), warning.key.as_str().into());
            entry.insert("message".to_owned(), warning.message.as_str().into());
            Json::Object(entry)
        })
        .collect();
    json!({
        "layers": layers,
        "project": {
            "root": loaded.project.root,
            "git_root": loaded.project.git_root,
            "trust_level": loaded.project.trust.level,
        },
        "profile": loaded.profile,
        "values": values,
        "warnings": warnings,
    })
}

fn state_word(state: LayerState) -> &'static str {
    match state {
        LayerState::Used => "used",
        LayerState::Ignored => "ignored",
        LayerState::Untrusted => "untrusted",
    }
}

fn state_note(layer: &Layer) -> &'static str {
    match layer.state {
        LayerState::Used => "",
        LayerState::Ignored => " (ignored by --ignore-user-config)",
        LayerState::Untrusted => " (not used: the folder is not trusted)",
    }
}

fn describe(place: Place) -> String {
    match place.file {
        Some(_) => format!("{} {place}", place.layer),
        None => place.layer.to_string(),
    }
}

fn place_json(place: &Place) -> Map<String, Json> {
    let mut entry = Map::from_iter([("layer".to_owned(), Json::from(place.layer.to_string()))]);
    if let Some(file) = &place.file {
        entry.insert("file".to_owned(), file.to_string_lossy().into());
        if place.line > 0 {
            entry.insert("line".to_owned(), place.line.into());
        }
    }
    entry
}

struct Row {
    key: String,
    value: Json,
    /// None: the built-in default.
    place: Option<Place>,
}

/// All values by key: those that a layer set, and the defaults of the rest.
fn rows(loaded: &Loaded) -> Vec<Row> {
    let mut rows = Vec::new();
    set_rows(&loaded.values, &mut Vec::new(), &loaded.layers, &mut rows);
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    default_rows(&defaults, &mut Vec::new(), &loaded.values, &mut rows);
    if loaded.config.sandbox_mode.is_none() && loaded.config.default_permissions.is_none() {
        let mode = effective_sandbox(&loaded.config, loaded.trusted()).mode;
        rows.push(Row { key: "sandbox_mode".to_owned(), value: mode.as_str().into(), place: None });
    }
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    rows
}

fn set_rows(node: &Node, path: &mut Vec<String>, layers: &[Layer], rows: &mut Vec<Row>) {
    if let Value::Table(table) = &node.value
        && (!table.is_empty() || path.is_empty())
    {
        for (key, node) in table {
            path.push(key.clone());
            set_rows(node, path, layers, rows);
            path.pop();
        }
        return;
    }
    let mut value = Json::from(node);
    mask(&mut value, path);
    rows.push(Row { key: dotted(path), value, place: Some(place(layers, node.origin)) });
}

fn default_rows(value: &Json, path: &mut Vec<String>, set: &Node, rows: &mut Vec<Row>) {
    match value {
        Json::Null => {}
        Json::Array(items) if items.is_empty() => {}
        Json::Object(map) => {
            for (key, value) in map {
                path.push(key.clone());
                default_rows(value, path, set, rows);
                path.pop();
            }
        }
        value if set.get(path).is_none() => rows.push(Row { key: dotted(path), value: value.clone(), place: None }),
        _ => {}
    }
}

fn dotted(path: &[String]) -> String {
    let plain = |part: &String| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let parts = path.iter().map(|part| if plain(part) { part.clone() } else { format!("{part:?}") });
    parts.collect::<Vec<_>>().join(".")
}

/// Hides keys, tokens, and values of headers, variables and query parameters that are named like one.
fn mask(value: &mut Json, path: &[String]) {
    match value {
        Json::String(text) if names_a_secret(path) || looks_secret(text) => MASK.clone_into(text),
        Json::String(text) => *text = without_credentials(text),
        Json::Array(items) => {
            let mut after_secret_flag = false;
            for item in items {
                let Json::String(text) = item else {
                    mask(item, path);
                    after_secret_flag = false;
                    continue;
                };
                let flag = text.starts_with('-');
                match text.split_once('=') {
                    _ if after_secret_flag && !flag => MASK.clone_into(text),
                    Some((name, _)) if flag && secret_word(name) => *text = format!("{name}={MASK}"),
                    _ => mask(item, path),
                }
                after_secret_flag = flag && item.as_str().is_some_and(|text| !text.contains('=') && secret_word(text));
            }
        }
        Json::Object(map) => {
            for (key, value) in map {
                let mut inner = path.to_vec();
                inner.push(key.clone());
                mask(value, &inner);
            }
        }
        _ => {}
    }
}

/// Keys that hold a secret, and entries of maps that carry whatever the user needs, secrets included.
fn names_a_secret(path: &[String]) -> bool {
    let Some((name, tables)) = path.split_last() else {
        return false;
    };
    let carries = ["http_headers", "headers", "query_params", "env", "set"];
    match name.as_str() {
        "experimental_bearer_token" | "bearer_token" | "api_key" | "client_secret" | "password" | "token" => true,
        name => tables.iter().any(|table| carries.contains(&table.as_str())) && secret_word(name),
    }
}

fn secret_word(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "passw", "cookie", "credential"].iter().any(|word| name.contains(word))
}

/// The usual openings of API keys and tokens.
fn looks_secret(text: &str) -> bool {
    let openings = [
        "sk-",
        "Bearer ",
        "Basic ",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xox",
        "AKIA",
        "AIza",
        "hf_",
        "eyJ",
    ];
    text.len() >= 12 && openings.iter().any(|opening| text.starts_with(opening))
}

/// A URL without its password, and without the values of query parameters that are named like a key.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (before_query, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (host, path) = before_query.find('/').map_or((before_query, ""), |slash| before_query.split_at(slash));
    let host = host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("{MASK}@{host}"));
    let query = query.map(|query| {
        let masked = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if secret_word(name) => format!("{name}={MASK}"),
            _ => pair.to_owned(),
        });
        format!("?{}", masked.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{host}{path}{}", query.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn secrets_are_masked() {
        let check = |path: &str, value: Json, expected: Json| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            let mut masked = value;
            mask(&mut masked, &path);
            assert_eq!(masked, expected, "{path:?}");
        };
        let hidden = || json!("***");
        check("model_providers.x.experimental_bearer_token", json!("abc"), hidden());
        check("model_providers.x.env_key", json!("MY_API_KEY"), json!("MY_API_KEY"));
        check("model_providers.x.http_headers.X-Api-Key", json!("abc"), hidden());
        check("model_providers.x.http_headers.Authorization", json!("abc"), hidden());
        check("model_providers.x.http_headers.X-Title", json!("abc"), json!("abc"));
        check("model_providers.x.env_http_headers.Authorization", json!("VAR"), json!("VAR"));
        check("model_providers.x.query_params.api-version", json!("1"), json!("1"));
        check("model_providers.x.query_params.key", json!("1"), hidden());
        check("mcp_servers.x.env.GITHUB_TOKEN", json!("1"), hidden());
        check("mcp_servers.x.bearer_token_env_var", json!("VAR"), json!("VAR"));
        check("shell_environment_policy.set.DB_PASSWORD", json!("1"), hidden());
        check(
            "mcp_servers.x.args",
            json!(["--token", "abc", "--api-key=abc", "run", "sk-1234567890"]),
            json!(["--token", "***", "--api-key=***", "run", "***"]),
        );
        check(
            "mcp_servers.x.oauth",
            json!({"client_secret": "abc", "client_id": "i"}),
            json!({"client_secret": "***", "client_id": "i"}),
        );
        check("instructions", json!("Bearer abcdefghij"), hidden());
        check("openai_base_url", json!("https://u:p@h/v1?key=1&a=2"), json!("https://***@h/v1?key=***&a=2"));
        check("openai_base_url", json!("https://h/v1"), json!("https://h/v1"));
    }
}
