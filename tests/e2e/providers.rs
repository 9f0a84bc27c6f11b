//! Providers and models of the catalog: listed, shown, used by their ids alone.
use std::fs;

use demo::scripted::Turn;
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::Value;

use crate::place::{Place, Ran, finish};

fn place() -> Place {
    Place::new(WireId::Chat, Vec::new())
}

/// A run with these variables and no config of the user's.
fn run(place: &Place, env: &[(&str, &str)], args: &[&str]) -> Ran {
    let _ = fs::remove_file(place.home().join(".openinterpreter/config.toml"));
    let mut command = place.command(args);
    command.envs(env.iter().copied());
    finish(command, None)
}

#[track_caller]
fn json(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry["id"].as_str()).collect()
}

#[test]
fn providers_that_can_be_used_come_first() {
    let place = place();
    let key = [("GROQ_API_KEY", "gsk-secret")];
    let list = json(&run(&place, &key, &["providers", "list", "--json"]));
    assert_eq!(ids(&list), vec!["groq", "lmstudio", "ollama"]);
    let groq = &list[0];
    assert_eq!((groq["state"].as_str(), groq["key"].as_str()), (Some("ready"), Some("GROQ_API_KEY")));
    let all = json(&run(&place, &key, &["providers", "list", "--json", "--all"]));
    assert!(ids(&all).len() > 150, "{}", ids(&all).len());
    assert_eq!(ids(&all)[..6], ["groq", "lmstudio", "ollama", "openai", "anthropic", "google"]);
    let table = run(&place, &key, &["providers", "list"]).stdout;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["PROVIDER", "WIRE", "MODELS", "KEY", "ADDRESS"]);
    assert_eq!(rows[1], ["groq", "chat", "6", "GROQ_API_KEY", "https://api.groq.com/openai/v1"]);
    assert!(table.contains("providers list --all") && !table.contains("gsk-secret"), "{table}");
}

#[test]
fn a_configured_provider_is_listed_with_what_is_known_of_its_server() {
    let place = place();
    place.write_config("");
    let file = place.home().join(".openinterpreter/config.toml");
    let mut config = fs::read_to_string(&file).expect("a config");
    config.push_str("[model_providers.mine]\nbase_url = \"https://api.deepseek.com/beta\"\nwire_api = \"chat\"\n");
    fs::write(&file, config).expect("a config");
    let list = json(&place.run(&["providers", "list", "--json"]));
    assert_eq!(ids(&list), vec!["mine", "stub", "lmstudio", "ollama"]);
    assert_eq!(list[0]["models"], 4);
    let models = json(&place.run(&["models", "list", "--provider", "mine", "--json"]));
    assert!(ids(&models).contains(&"deepseek-v4-pro"), "{models}");
}

#[test]
fn one_provider_is_shown() {
    let place = place();
    let shown = run(&place, &[], &["providers", "show", "deepseek"]).stdout;
    for line in [
        "provider   deepseek (DeepSeek)",
        "wire       chat",
        "address    https://api.deepseek.com",
        "messages   https://api.deepseek.com/anthropic",
        "key        DEEPSEEK_API_KEY (not set)",
    ] {
        assert!(shown.lines().any(|known| known == line), "{line}\n{shown}");
    }
    let azure = json(&run(&place, &[], &["providers", "show", "azure", "--json"]));
    assert_eq!(azure["key"], "needs AZURE_RESOURCE_NAME");
    let unknown = run(&place, &[], &["providers", "show", "grok"]);
    assert_eq!(unknown.code, Some(1));
    assert_eq!(unknown.stderr.lines().count(), 1, "{unknown:?}");
    assert!(unknown.stderr.contains("`grok` not found. Did you mean groq?"), "{unknown:?}");
}

#[test]
fn models_are_listed() {
    let place = place();
    let table = run(&place, &[], &["models", "list", "--provider", "deepseek"]).stdout;
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("MODEL"), "{table}");
    let row = rows.iter().find(|row| row.starts_with("deepseek-v4-pro")).unwrap_or_else(|| panic!("{table}"));
    assert!(row.contains("1M") && row.contains("none low high max"), "{row}");
    let found = json(&run(&place, &[], &["models", "list", "--search", "KIMI k3", "--json"]));
    let providers: Vec<&str> = found.as_array().into_iter().flatten().filter_map(|m| m["provider"].as_str()).collect();
    assert!(providers.contains(&"moonshotai") && providers.contains(&"openrouter"), "{providers:?}");
    let none = run(&place, &[], &["models", "list", "--search", "no-such-model"]);
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (Some(1), "Error: no model has `no-such-model` in its id or name.\n")
    );
    let local = run(&place, &[], &["models", "list", "--provider", "ollama"]);
    assert!(local.stderr.contains("the catalog has no models of `ollama`"), "{local:?}");
    let ready = run(&place, &[("GROQ_API_KEY", "k")], &["models", "list"]).stdout;
    assert!(ready.lines().skip(1).all(|row| row.starts_with("groq/")), "{ready}");
}

/// A key is all that a provider of the catalog needs: the answer is about the request, which goes nowhere here.
#[test]
fn a_key_is_enough() {
    let place = place();
    let unreachable = [("HTTPS_PROXY", "http://127.0.0.1:9"), ("GROQ_API_KEY", "gsk-secret")];
    let fast =
        ["exec", "-c", "model_providers.groq.stream_max_retries=0", "-c", "model_providers.groq.request_max_retries=0"];
    let ask = |more: &[&str], env: &[(&str, &str)]| run(&place, env, &[&fast[..], more, &["hi"]].concat());
    for more in [&["-c", "model_provider=groq", "-m", "openai/gpt-oss-120b"][..], &["-m", "groq/openai/gpt-oss-120b"]] {
        let asked = ask(more, &unreachable);
        assert_eq!(asked.code, Some(1));
        assert!(
            asked.stderr.contains("provider: groq") && asked.stderr.contains("model: openai/gpt-oss-120b"),
            "{asked:?}"
        );
        assert!(asked.stderr.contains("api.groq.com"), "{asked:?}");
    }
    let keyless = ask(&["-m", "groq/openai/gpt-oss-120b"], &[]);
    assert!(keyless.stderr.contains("Missing environment variable: `GROQ_API_KEY`"), "{keyless:?}");
}

/// What is known of the model shapes the request: no effort that it does not have, no temperature that it refuses.
#[test]
fn the_catalog_shapes_requests() {
    let place = Place::new(WireId::Chat, vec![Turn::text("done").into(), Turn::text("done").into()]);
    let config = |env_key: &str, model: &str| {
        let text = format!(
            "model = \"{model}\"\nmodel_provider = \"mine\"\nharness = \"native\"\nmodel_reasoning_effort = \"medium\"\n\
             [model_providers.mine]\nbase_url = \"{}\"\nwire_api = \"chat\"\nenv_key = \"{env_key}\"\n",
            place.server.base_url()
        );
        fs::write(place.home().join(".openinterpreter/config.toml"), text).expect("config");
        let mut command = place.command(&["exec", "hi"]);
        command.env(env_key, "k");
        finish(command, None)
    };
    // Recognised by the variable of its key.
    let asked = config("DEEPSEEK_API_KEY", "deepseek-v4-pro");
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert_eq!(place.request(0)["reasoning_effort"], "high");
    let asked = config("GROQ_API_KEY", "llama-3.3-70b-versatile");
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert_eq!(place.request(1).get("reasoning_effort"), None);
}

/// A project's config may name a model, and must not send the work to another provider by it.
#[test]
fn a_projects_model_names_no_provider() {
    let place = place();
    let trust = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", place.workspace().display().to_string());
    fs::write(place.home().join(".openinterpreter/config.toml"), trust).expect("config");
    fs::create_dir_all(place.file(".openinterpreter")).expect("a folder");
    fs::write(place.file(".openinterpreter/config.toml"), "model = \"groq/openai/gpt-oss-120b\"\n").expect("config");
    let mut command = place.command(&["exec", "hi"]);
    command.env("GROQ_API_KEY", "k");
    let ran = finish(command, None);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("provider: openai") && ran.stderr.contains("model: groq/openai/gpt-oss-120b"),
        "{ran:?}"
    );
}
