//! Looking things up in the catalog.
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn small(lines: &[&str]) -> Catalog {
    let mut text = "#catalog\t{\"version\":1,\"date\":\"2026-01-01\",\"providers\":0,\"models\":0}\n".to_owned();
    lines.iter().for_each(|line| text.extend([line, "\n"]));
    Catalog::read(text.into_bytes()).expect("a catalog")
}

#[test]
fn the_bundled_one_is_whole_and_sorted() {
    let catalog = Catalog::bundled();
    let text = std::str::from_utf8(catalog.text()).expect("UTF-8");
    let keys: Vec<&str> = text.lines().map(|line| line.split_once('\t').expect("a key").0).collect();
    assert!(keys.is_sorted_by(|a, b| a < b));
    let head = catalog.head();
    assert!(head.providers >= 150 && head.models >= 5_000, "{head:?}");
    let ids = catalog.ids();
    assert_eq!(ids.len(), head.providers);
    let mut models = 0;
    for id in ids {
        let listing = catalog.provider(id).expect(id);
        assert!(listing.urls.contains_key(&listing.wire), "{id}");
        assert!(!listing.keys.is_empty(), "{id}");
        let known: Vec<&str> = listing.urls.values().flat_map(|url| variables(url)).map(|(name, _)| name).collect();
        for (model, entry) in catalog.models(id) {
            models += 1;
            assert_eq!(catalog.model(id, &model).as_ref(), Some(&entry), "{id}/{model}");
            assert_eq!(entry.levels.is_empty(), entry.reasoning != Reasoning::Effort, "{id}/{model}");
            // A provider's values have to be enough for the addresses of its models.
            let own = entry.url.iter().flat_map(|url| variables(url));
            assert!(own.into_iter().all(|(name, _)| known.contains(&name)), "{id}/{model}");
        }
    }
    assert_eq!(models, head.models);
}

/// Start-up looks at a handful of lines, of which it parses the one that it wants.
#[test]
fn a_look_up_touches_few_lines() {
    let catalog = Catalog::bundled();
    for key in ["groq", "zai-coding-plan", "nobody", "openrouter/anthropic/claude-opus-5", "$GROQ_API_KEY", "~", ""] {
        let (_, looks) = catalog.seek(key);
        assert!(looks <= 22, "{key}: {looks} lines");
    }
}

#[test]
fn found_by_address_and_variable() {
    let catalog = Catalog::bundled();
    let check =
        |address: &str, expected: Option<&str>| assert_eq!(catalog.by_url(address).as_deref(), expected, "{address}");
    check("https://api.groq.com/openai/v1", Some("groq"));
    check("https://API.GROQ.COM/", Some("groq"));
    check("https://evilapi.groq.com/", None);
    check("https://api.groq.com.example.org/", None);
    check("https://name.openai.azure.com/openai/v1", Some("azure"));
    check("https://api.moonshot.ai/anthropic", Some("moonshotai"));
    check("http://localhost:1/v1", None);
    check("", None);
    assert_eq!(catalog.by_variable("GROQ_API_KEY").as_deref(), Some("groq"));
    assert_eq!(catalog.by_variable("MINIMAX_API_KEY"), None);
}

#[test]
fn lines_between_others() {
    let listing = r#"{"name":"N","wire":"chat","urls":{"chat":"https://n"},"keys":["K"]}"#;
    let catalog = small(&[
        &format!("a\t{listing}"),
        &format!("a-b\t{listing}"),
        "a-b/m\t{\"context\":1}",
        "a/m\t{\"context\":2}",
        "a/m/n\t{\"context\":3}",
        "b/torn\t{\"cont",
    ]);
    assert_eq!(catalog.ids(), vec!["a", "a-b"]);
    let contexts = |id: &str| catalog.models(id).into_iter().map(|(id, m)| (id, m.context)).collect::<Vec<_>>();
    assert_eq!(contexts("a"), vec![("m".to_owned(), 2), ("m/n".to_owned(), 3)]);
    assert_eq!(contexts("a-b"), vec![("m".to_owned(), 1)]);
    assert_eq!(catalog.model("a", "m:free").map(|m| m.context), Some(2));
    assert_eq!(catalog.model("b", "torn"), None);
    for odd in ["a/m", "$K", "%n", "#catalog", "", "a\tb"] {
        assert_eq!(catalog.provider(odd), None, "{odd:?}");
    }
}

#[test]
fn the_newer_one_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let date = |text: &str| {
        std::fs::write(Catalog::file(folder.path()), text).expect("a file");
        Catalog::newest(folder.path()).head().date
    };
    let bundled = Catalog::bundled().head().date;
    assert_eq!(Catalog::newest(folder.path()).head().date, bundled);
    assert_eq!(date("#catalog\t{\"version\":1,\"date\":\"9999-01-01\",\"providers\":0,\"models\":0}\n"), "9999-01-01");
    assert_eq!(date("#catalog\t{\"version\":1,\"date\":\"2000-01-01\",\"providers\":0,\"models\":0}\n"), bundled);
    assert_eq!(date("#catalog\t{\"version\":2,\"date\":\"9999-01-01\",\"providers\":0,\"models\":0}\n"), bundled);
    assert_eq!(date("#catalog\t{\"vers"), bundled);
    assert_eq!(date(""), bundled);
}

#[test]
fn near_names() {
    let known = ["anthropic", "groq", "openai", "openrouter", "zai", "zai-coding-plan"];
    let check = |id: &str, expected: &[&str]| assert_eq!(Catalog::near(id, known), expected, "{id}");
    check("grok", &["groq"]);
    check("antropic", &["anthropic"]);
    check("OpenAI", &["openai"]);
    check("coding-plan", &["zai-coding-plan"]);
    check("qqqq", &[]);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400), key in "[a-c/\t#$%]{0,4}") {
        let mut text = b"#catalog\t{\"version\":1,\"date\":\"\",\"providers\":0,\"models\":0}\n".to_vec();
        text.extend(bytes);
        if let Some(catalog) = Catalog::read(text) {
            let _ = (catalog.provider(&key), catalog.model(&key, &key), catalog.models(&key), catalog.by_variable(&key));
            let _ = catalog.ids();
        }
    }

    #[test]
    fn every_line_is_found(keys in prop::collection::btree_set("[a-z][a-z.-]{0,6}", 1..40)) {
        let lines: Vec<String> = keys.iter().flat_map(|id| [format!("{id}\t{{}}"), format!("{id}/m\t{{\"context\":7}}")]).collect();
        let mut sorted: Vec<&str> = lines.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let catalog = small(&sorted);
        for id in &keys {
            prop_assert_eq!(catalog.model(id, "m").map(|m| m.context), Some(7));
        }
        prop_assert_eq!(catalog.ids(), keys.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
