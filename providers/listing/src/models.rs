//! `interpreter models list`.
use clap::Subcommand;
use config::Loaded;
use protocol::Price;
use providers::{
    RegistryError,
    catalog::{Model, Reasoning},
};
use serde_json::{Value, json};

use crate::{
    providers_list::{State, entries},
    table::{table, tokens},
};

#[derive(Debug, Subcommand)]
pub enum Models {
    /// Models with context, output, reasoning and price; of the providers that can be used now, unless told otherwise
    List {
        /// Of this provider
        #[arg(long, value_name = "PROVIDER")]
        provider: Option<String>,
        /// That have all these words in id or name; at all providers unless --provider names one
        #[arg(long, value_name = "WORDS")]
        search: Option<String>,
        /// Of all providers, and those that are outdated
        #[arg(long)]
        all: bool,
        /// As JSON, with everything that is known
        #[arg(long)]
        json: bool,
    },
}

/// A model at a provider.
struct Row {
    provider: String,
    id: String,
    model: Model,
}

/// What a `models` command prints; Err: one line on what is wrong.
pub fn models(loaded: &Loaded, command: &Models) -> Result<String, String> {
    let Models::List { provider, search, all, json } = command;
    let registry = runtime::registry(loaded);
    let everywhere = *all || search.is_some();
    let mut places = entries(&registry);
    match provider {
        Some(id) => {
            places.retain(|entry| entry.id == *id);
            if let Err(error @ RegistryError::Unknown { .. }) = registry.provider(id) {
                return Err(format!("Error: {error}"));
            }
            if places.iter().all(|entry| entry.listed_as().is_none()) {
                return Err(format!("Error: the catalog has no models of `{id}`; its server knows which it has."));
            }
        }
        None => places.retain(|entry| everywhere || entry.state < State::Listed),
    }
    let wanted = search.as_deref().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let mut rows = Vec::new();
    for entry in &places {
        let Some(listed) = entry.listed_as() else { continue };
        for (id, model) in registry.catalog().models(listed) {
            let outdated = model.hidden || model.status.as_deref() == Some("deprecated");
            let text = format!("{}/{id} {}", entry.id, model.name).to_lowercase();
            if (*all || !outdated) && words.iter().all(|word| text.contains(word)) {
                rows.push(Row { provider: entry.id.clone(), id, model });
            }
        }
    }
    if *json {
        return Ok(format!("{:#}\n", rows.iter().map(entry_json).collect::<Value>()));
    }
    if rows.is_empty() {
        return Err(match (places.is_empty(), search) {
            (_, Some(words)) => format!("Error: no model has `{words}` in its id or name."),
            _ => "Error: no provider of the catalog can be used now: set its key (`interpreter providers list --all`), or name it \
                  with --provider."
                .to_owned(),
        });
    }
    let full = provider.is_none();
    let cells = |row: &Row| {
        let id = if full { format!("{}/{}", row.provider, row.id) } else { row.id.clone() };
        let price = row.model.price.as_ref();
        [
            id,
            tokens(row.model.context),
            tokens(row.model.output),
            reasoning(&row.model),
            dollars(price, |price| price.input),
            dollars(price, |price| price.output),
            row.model.status.clone().unwrap_or_default(),
        ]
    };
    let head = ["MODEL", "CONTEXT", "OUTPUT", "REASONING", "$/M IN", "$/M OUT", ""];
    Ok(table(head, &[1, 2, 4, 5], &rows.iter().map(cells).collect::<Vec<_>>()))
}

fn reasoning(model: &Model) -> String {
    match model.reasoning {
        Reasoning::None => "-".to_owned(),
        Reasoning::Unstated => "yes".to_owned(),
        Reasoning::Fixed => "always".to_owned(),
        Reasoning::Effort => model.levels.join(" "),
        Reasoning::ThinkingToggle => "on off".to_owned(),
        Reasoning::ThinkingBudget => "budget".to_owned(),
    }
}

/// As few digits as it has; `-` where no price is known.
fn dollars(price: Option<&Price>, of: impl Fn(&Price) -> f64) -> String {
    price.map_or_else(|| "-".to_owned(), |price| of(price).to_string())
}

fn entry_json(row: &Row) -> Value {
    let mut json = json!({"provider": row.provider, "id": row.id});
    if let (Some(fields), Ok(Value::Object(known))) = (json.as_object_mut(), serde_json::to_value(&row.model)) {
        fields.extend(known);
        fields.insert("reasoning".into(), json!(row.model.reasoning));
    }
    json
}
