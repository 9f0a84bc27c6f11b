//! `GET /v1/models`: the aliases, the model of `-m`, and what the catalog knows of the provider. Each entry has the fields of
//! both OpenAI's and Anthropic's list, so that clients of either find theirs.
use serde_json::{Value, json};

use crate::routes::Routes;

pub(crate) fn list(routes: &Routes) -> Value {
    let data = entries(routes);
    let id = |entry: Option<&Value>| entry.map(|entry| entry["id"].clone());
    json!({
        "object": "list", "has_more": false, "first_id": id(data.first()), "last_id": id(data.last()), "data": data,
        // Codex asks at the same address for a list of its own form; it goes on without one.
        "models": [],
    })
}

/// None: there is no such model; asking for it may lead to another one all the same.
pub(crate) fn one(routes: &Routes, id: &str) -> Option<Value> {
    entries(routes).into_iter().find(|entry| entry["id"] == id)
}

fn entries(routes: &Routes) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    let mut add = |id: &str, name: &str, owner: &str| {
        if !entries.iter().any(|entry| entry["id"] == id) {
            entries.push(json!({
                "id": id, "object": "model", "created": 0, "owned_by": owner,
                "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z",
            }));
        }
    };
    for alias in routes.aliases().keys() {
        let (provider, model) = routes.resolve(alias);
        add(alias, &model, &provider);
    }
    if let Some((provider, model)) = routes.fallback() {
        add(&model, &model, &provider);
    }
    let provider = routes.provider();
    let listed = routes.registry().provider(&provider).ok().and_then(|found| found.listed);
    for (id, model) in listed.map(|listed| routes.registry().catalog().models(listed.id())).unwrap_or_default() {
        let outdated = model.hidden || model.status.as_deref() == Some("deprecated");
        if !outdated {
            add(&id, &model.name, &provider);
        }
    }
    entries
}
