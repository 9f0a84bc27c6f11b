//! F: configuration that is misplaced, misspelt or broken.
use std::{fs, time::Duration};

use pretty_assertions::assert_eq;
use protocol::WireId::Responses;

use super::{
    place, shown,
    speak::{say, text},
};
use crate::place::Place;

fn broken(config: impl AsRef<[u8]>) -> Place {
    let place = place(Responses, "native", vec![say(vec![text("done")]).step(Responses)]);
    fs::write(place.home().join(".openinterpreter/config.toml"), config).expect("a config");
    place
}

#[test]
fn case_43_misplaced_keys_are_named_with_their_place_and_the_nearest_name() {
    let place = broken("");
    let base = place.server.base_url();
    let config = format!(
        "modle = \"x\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"stub-model\"\n[model_provider.x]\nbase_url = \"{base}\"\nname = \"X\"\n\
         [model_providers.stub]\nname = \"Stub\"\nbase_url = \"{base}\"\n"
    );
    fs::write(place.home().join(".openinterpreter/config.toml"), config).expect("a config");
    let chosen = ["-c", "model_provider=stub"];
    let ran = place.exec(&chosen);
    let told = format!("{}\n{}", shown(&ran, "error").join("\n"), ran.stderr);
    for (place, key, nearest) in [
        ("config.toml:1", "modle", "model"),
        ("config.toml:2", "base_url", "[model_providers.<id>]"),
        ("config.toml:4", "model_provider.x", "[model_providers.x]"),
    ] {
        let line = told.lines().find(|line| line.contains(place) && line.contains(&format!("`{key}")));
        assert!(line.is_some_and(|line| line.contains(nearest)), "{place} {key} {nearest}: {ran:?}");
    }
    let strict = place.exec(&["-c", "model_provider=stub", "--strict-config"]);
    assert_eq!((strict.code, strict.stdout.as_str()), (Some(1), ""), "{strict:?}");
    assert!(strict.stderr.contains("config.toml:"), "{strict:?}");
}

#[test]
fn case_45_a_backslash_is_told_with_its_place_and_a_hint() {
    let place = broken(r#"notify = ["C:\dir\x"]"#);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.took < Duration::from_secs(2), "{ran:?}");
    assert_eq!(ran.stderr.lines().filter(|line| line.contains("config.toml:1:")).count(), 1, "{ran:?}");
    assert!(ran.stderr.contains("single quotes"), "{ran:?}");
    assert_eq!((ran.stdout.as_str(), place.requests().len()), ("", 0));
}

#[test]
fn case_45_a_key_as_array_and_as_table() {
    let place = broken("mcp_servers = []\n[mcp_servers.x]\ncommand = \"true\"\n");
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("config.toml:2:"), "{ran:?}");
}

#[test]
fn case_45_what_needs_no_config_works_with_a_broken_one() {
    let place = broken("= broken");
    for args in
        [&["--help"] as &[&str], &["--version"], &["exec", "--help"], &["sandbox", "--check"], &["harness", "list"]]
    {
        let ran = place.run(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(!ran.stdout.is_empty());
    }
}

#[test]
fn case_45_an_empty_config_is_one() {
    for nothing in ["", "\u{feff}", "\r\n", "# only words\n"] {
        let ran = broken(nothing).run(&["debug", "config"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{nothing:?}");
    }
}

#[test]
fn case_45_a_byte_order_mark_and_crlf() {
    let place = broken("");
    let text = format!(
        "\u{feff}model = \"stub-model\"\r\nmodel_provider = \"stub\"\r\n\r\n[model_providers.stub]\r\nname = \"Stub\"\r\nbase_url = \"{}\"\r\n",
        place.server.base_url()
    );
    fs::write(place.home().join(".openinterpreter/config.toml"), text).expect("a config");
    let ran = place.exec(&[]);
    assert_eq!((ran.code, shown(&ran, "agent_message")), (Some(0), vec!["done".to_owned()]), "{ran:?}");
}
