//! Layers, profiles, trust, `-c`, warnings and errors, each as a table over files in a fresh folder.
use super::*;
use crate::{TrustLevel, render_json, render_table, set_trust};
use pretty_assertions::assert_eq;

/// A machine of its own: `sys/config.toml`, `home/` (ours), `codex/`, and `repo/` with a `.git` and `a/b` below.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let world = World { dir: tempfile::tempdir().expect("tempdir") };
        for dir in ["sys", "home", "codex", "repo/.git/refs", "repo/a/b"] {
            fs::create_dir_all(world.path(dir)).expect("dir");
        }
        for (path, text) in files {
            let path = world.path(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("dirs");
            fs::write(path, text).expect("file");
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn request(&self, overrides: &[&str]) -> Request {
        Request {
            system_file: self.path("sys/config.toml"),
            overrides: overrides.iter().map(|text| Override::parse(text).expect(text)).collect(),
            ..Request::new(Home::at(self.path("home")), self.path("repo/a/b"))
        }
    }

    /// Text with the folder's name taken out.
    fn plain(&self, text: impl ToString) -> String {
        text.to_string().replace(&self.dir.path().to_string_lossy().into_owned(), "")
    }

    fn warnings(&self, request: &Request) -> Vec<String> {
        load(request).expect("loads").warnings.iter().map(|warning| self.plain(warning)).collect()
    }

    fn error(&self, request: &Request) -> String {
        self.plain(load(request).expect_err("an error"))
    }
}

const TRUST: &str = "projects.REPO.trust_level=trusted";

fn trusted(world: &World) -> String {
    TRUST.replace("REPO", &format!("'{}'", world.path("repo").display()))
}

#[test]
fn the_higher_layer_wins() {
    let files = [
        ("sys/config.toml", "model = 'system'"),
        ("codex/config.toml", "model = 'codex'"),
        ("home/config.toml", "model = 'user'\n[profiles.p]\nmodel = 'table'"),
        ("home/p.config.toml", "model = 'file'"),
        ("repo/.openinterpreter/config.toml", "model = 'root'"),
        ("repo/a/.openinterpreter/config.toml", "model = 'nearer'"),
    ];
    // As many of the files as `count` says, then -c and a flag.
    let check = |count: usize, overrides: &[&str], flag: bool, model: Option<&str>, source: &str| {
        let world = World::new(&files[..count.min(files.len())]);
        let trust = trusted(&world);
        let mut request = world.request(&[&[trust.as_str()], overrides].concat());
        request.home.codex = Some(world.path("codex"));
        request.profile = (count > 2).then(|| "p".to_owned());
        if flag {
            request.flags.push(FlagSetting::new("--model", &["model"], "flag"));
        }
        let loaded = load(&request).expect("loads");
        let place =
            loaded.place(&["model"]).map(|place| world.plain(format!("{} {place}", place.layer))).unwrap_or_default();
        assert_eq!((loaded.config.model.as_deref(), place.as_str()), (model, source));
        assert_eq!(loaded.warnings, vec![]);
    };
    check(0, &[], false, None, "");
    check(1, &[], false, Some("system"), "system /sys/config.toml:1");
    check(2, &[], false, Some("codex"), "CODEX_HOME /codex/config.toml:1");
    check(3, &[], false, Some("table"), "profile p /home/config.toml:3");
    check(4, &[], false, Some("file"), "profile p /home/p.config.toml:1");
    check(5, &[], false, Some("root"), "project /repo/.openinterpreter/config.toml:1");
    check(6, &[], false, Some("nearer"), "project /repo/a/.openinterpreter/config.toml:1");
    check(6, &["model=first", "model=second"], false, Some("second"), "-c -c");
    check(6, &["model=first"], true, Some("flag"), "flag --model flag --model");
}

#[test]
fn tables_merge_over_layers_and_their_values_keep_their_places() {
    let world = World::new(&[("home/config.toml", "[model_providers.x]\nname = 'X'\nbase_url = 'http://a'\n")]);
    let mut request = world.request(&["model_providers.x.base_url=http://b"]);
    request.flags.push(FlagSetting::new("--chat-completions", &["model_providers", "x", "wire_api"], "chat"));
    let loaded = load(&request).expect("loads");
    let provider = &loaded.config.model_providers["x"];
    assert_eq!(
        (provider.name.as_deref(), provider.base_url.as_deref(), provider.wire_api),
        (Some("X"), Some("http://b"), Some(protocol::WireId::Chat))
    );
    let layers: Vec<String> = ["name", "base_url", "wire_api"]
        .map(|key| loaded.place(&["model_providers", "x", key]).expect(key).layer.to_string())
        .to_vec();
    assert_eq!(layers, ["user", "-c", "flag --chat-completions"]);
}

#[test]
fn profiles_of_both_generations() {
    let check = |files: &[(&str, &str)],
                 overrides: &[&str],
                 flag: Option<&str>,
                 expected: Result<(Option<&str>, Option<&str>), &str>| {
        let world = World::new(files);
        let mut request = world.request(overrides);
        request.profile = flag.map(str::to_owned);
        match (load(&request), expected) {
            (Ok(loaded), Ok((profile, model))) => {
                assert_eq!((loaded.profile.as_deref(), loaded.config.model.as_deref()), (profile, model));
            }
            (Err(error), Err(message)) => assert_eq!(world.plain(error), message),
            (other, _) => panic!("{other:?}"),
        }
    };
    let table = [("home/config.toml", "model = 'u'\n[profiles.old]\nmodel = 'o'")];
    let selected = [("home/config.toml", "profile = 'old'\nmodel = 'u'\n[profiles.old]\nmodel = 'o'")];
    let file =
        [("home/new.config.toml", "model = 'n'"), ("home/config.toml", "model = 'u'\n[profiles.old]\nmodel = 'o'")];
    check(&table, &[], None, Ok((None, Some("u"))));
    check(&table, &[], Some("old"), Ok((Some("old"), Some("o"))));
    check(&selected, &[], None, Ok((Some("old"), Some("o"))));
    check(&table, &["profile=old"], None, Ok((Some("old"), Some("o"))));
    check(&selected, &["profile="], None, Ok((None, Some("u"))));
    check(&file, &[], Some("new"), Ok((Some("new"), Some("n"))));
    check(&[], &["profiles.x.model=c", "profile=x"], None, Ok((Some("x"), Some("c"))));
    let unknown = "Error loading config.toml: no profile `x`: known are new, old; \
                   add `[profiles.<name>]` to config.toml or put <name>.config.toml into /home";
    check(&file, &[], Some("x"), Err(unknown));
    let none = "Error loading config.toml: no profile `../x`: none is defined; \
                add `[profiles.<name>]` to config.toml or put <name>.config.toml into /home";
    check(&[("x.config.toml", "model = 'outside'")], &[], Some("../x"), Err(none));
    check(
        &[("home/config.toml", "[profiles.old]\nmodle = 'o'\nmodel = 3")],
        &[],
        None,
        Err(
            "Error loading config.toml: /home/config.toml:3:1: `profiles.old.model`: expected a string, found an integer",
        ),
    );
}

#[test]
fn an_untrusted_project_is_named_and_not_used() {
    let check = |text: &str, expected: &str| {
        let world =
            World::new(&[("repo/.openinterpreter/config.toml", text), ("repo/.codex/config.toml", "model = 'decoy'")]);
        let loaded = load(&world.request(&[])).expect("loads");
        assert_eq!((loaded.config, loaded.project.trust.level), (Config::default(), None));
        assert_eq!(loaded.warnings[0].kind, WarningKind::UntrustedProject);
        let said: Vec<String> = loaded.warnings.iter().map(|warning| world.plain(warning)).collect();
        let expected = format!(
            "/repo/.openinterpreter/config.toml: ignored, because this folder is not trusted ({expected}); `interpreter exec --trust` trusts it"
        );
        assert_eq!(said, [expected]);
    };
    check("model = 'x'\n[mcp_servers.a]\ncommand = 'b'", "mcp_servers, model");
    check("model = \n", "it is not valid TOML");
    check("", "it is empty");
}

#[test]
fn a_trusted_project_sets_what_a_project_may() {
    let world = World::new(&[(
        "repo/.openinterpreter/config.toml",
        "model = 'm'\nmodel_provider = 'evil'\nnotify = ['x']\nopenai_base_url = 'http://e'\n\
         [model_providers.evil]\nbase_url = 'http://e'\n[mcp_servers.a]\ncommand = 'b'\n[[hooks.Stop]]\nhooks = [{ command = 'c' }]\n\
         [sandbox_workspace_write]\nwritable_roots = ['out', '/abs', '~/x']\n",
    )]);
    set_trust(&world.path("home/config.toml"), &world.path("repo"), TrustLevel::Trusted).expect("trust");
    let loaded = load(&world.request(&[])).expect("loads");
    assert!(loaded.trusted());
    let config = &loaded.config;
    assert_eq!((config.model.as_deref(), config.mcp_servers.len(), config.hooks.stop.len()), (Some("m"), 1, 1));
    assert_eq!((&config.model_provider, config.model_providers.len(), &config.notify), (&None, 0, &None));
    let roots: Vec<String> =
        config.sandbox_workspace_write.writable_roots.iter().map(|root| world.plain(root.display())).collect();
    assert_eq!(roots, ["/repo/.openinterpreter/out", "/abs", "/repo/.openinterpreter/~/x"]);
    let said: Vec<String> = loaded.warnings.iter().map(|warning| world.plain(warning)).collect();
    let rest = "is ignored: a project cannot set it; put it into your own config.toml";
    let expected = [(2, "model_provider"), (5, "model_providers"), (3, "notify"), (4, "openai_base_url")];
    assert_eq!(said, expected.map(|(line, key)| format!("/repo/.openinterpreter/config.toml:{line}: `{key}` {rest}")));
}

#[test]
fn hooks_of_user_and_project_and_their_files_all_run() {
    let hook = |name: &str| {
        format!(
            "{{\"description\": \"x\", \"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{name}\"}}]}}]}}}}"
        )
    };
    let inline = |name: &str| format!("[[hooks.Stop]]\nhooks = [{{ type = 'command', command = '{name}' }}]");
    let world = World::new(&[
        ("home/config.toml", &inline("user")),
        ("home/hooks.json", &hook("user-file")),
        ("codex/hooks.json", &hook("decoy")),
        ("repo/.openinterpreter/config.toml", &inline("project")),
        ("repo/.openinterpreter/hooks.json", &hook("project-file")),
    ]);
    let commands = |request: &Request| {
        let loaded = load(request).expect("loads");
        let hooks = loaded.config.hooks.groups("Stop").iter().flat_map(|group| &group.hooks);
        hooks.map(|hook| hook.command.clone().unwrap_or_default()).collect::<Vec<_>>()
    };
    let mut request = world.request(&[&trusted(&world)]);
    request.home.codex = Some(world.path("codex"));
    assert_eq!(commands(&request), ["user", "user-file", "project", "project-file"]);
    assert_eq!(commands(&world.request(&[])), ["user", "user-file"]);
    assert_eq!(world.warnings(&world.request(&[])).len(), 2);
    let place = load(&request).expect("loads").place(&["hooks", "Stop", "1"]).expect("place");
    assert_eq!(world.plain(place), "/home/hooks.json:1");
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    let check = |text: &str, expected: &[&str]| {
        let world = World::new(&[("home/config.toml", text)]);
        let expected: Vec<String> = expected.iter().map(|line| format!("/home/config.toml:{line}")).collect();
        assert_eq!(world.warnings(&world.request(&[])), expected, "{text}");
        let strict = Request { strict: true, ..world.request(&[]) };
        match expected.is_empty() {
            true => drop(load(&strict).expect("strict")),
            false => {
                assert!(world.error(&strict).contains(": unknown configuration field `"), "{}", world.error(&strict))
            }
        }
    };
    check("model = 'x'\n", &[]);
    check(
        "base_url = 'http://x'\nmodle = 'x'\n[model_provider.x]\nname = 'x'\n",
        &[
            "1: unknown key `base_url` is ignored; did you mean `base_url` in `[model_providers.<id>]`?",
            "2: unknown key `modle` is ignored; did you mean `model`?",
            "3: unknown key `model_provider.x` is ignored; did you mean `[model_providers.x]`?",
        ],
    );
    check("[tui]\nthme = 'x'\n", &["2: unknown key `tui.thme` is ignored; did you mean `theme`?"]);
    check(
        "[mcp_servers.a]\ncommand = 'x'\narg = []\n",
        &["3: unknown key `mcp_servers.a.arg` is ignored; did you mean `args`?"],
    );
    check(
        "[agents.scout]\ndescripton = 'x'\n",
        &["2: unknown key `agents.scout.descripton` is ignored; did you mean `description`?"],
    );
    check(
        "[[hooks.Stop]]\nmatch = 'x'\n",
        &["2: unknown key `hooks.Stop.0.match` is ignored; did you mean `matcher`?"],
    );
    check("[profiles.p]\nmodle = 'x'\n", &["2: unknown key `profiles.p.modle` is ignored; did you mean `model`?"]);
    check("zzzzzz = 1\n", &["1: unknown key `zzzzzz` is ignored"]);
    let world = World::new(&[]);
    assert_eq!(
        world.warnings(&world.request(&["modle=x"])),
        ["-c: unknown key `modle` is ignored; did you mean `model`?"]
    );
    assert!(load(&Request { strict: true, ..world.request(&["modle=x"]) }).is_ok());
    assert_eq!(
        world.warnings(&world.request(&["features.unified_exce=true"])),
        ["-c: unknown feature `unified_exce` is ignored; did you mean `unified_exec`?"]
    );
}

#[test]
fn strict_names_the_first_with_its_column() {
    let world = World::new(&[("home/config.toml", "\n  modle = 'x'\nother = 1\n")]);
    let error = world.error(&Request { strict: true, ..world.request(&[]) });
    assert_eq!(
        error,
        "Error loading config.toml: /home/config.toml:2:3: unknown configuration field `modle`; did you mean `model`?"
    );
}

#[test]
fn wrong_values_name_key_place_and_what_is_allowed() {
    let check = |text: &str, expected: &str| {
        let world = World::new(&[("home/config.toml", text)]);
        assert_eq!(
            world.error(&world.request(&[])),
            format!("Error loading config.toml: /home/config.toml:{expected}")
        );
    };
    check("model = 3", "1:1: `model`: expected a string, found an integer");
    check(
        "\napproval_policy = 'sometimes'",
        "2:1: `approval_policy`: unknown variant `sometimes`, expected one of `untrusted`, `on-failure`, `on-request`, `never`",
    );
    check(
        "approval_policy = 1",
        "1:1: `approval_policy`: invalid type: integer `1`, expected `untrusted`, `on-failure`, `on-request`, `never` or a table `granular`",
    );
    check(
        "approval_policy = { granular = { rules = 1 } }",
        "1:34: `approval_policy.granular.rules`: expected true or false, found an integer",
    );
    check(
        "sandbox_mode = 'none'",
        "1:1: `sandbox_mode`: unknown variant `none`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
    );
    check(
        "[model_providers.x]\nwire_api = 'rest'",
        "2:1: `model_providers.x.wire_api`: unknown variant `rest`, expected one of `responses`, `chat`, `messages`",
    );
    check("[model_providers.x]\nname = ''", "2:1: `model_providers.x.name`: provider name must not be empty");
    check(
        "[model_providers.x]\nrequest_max_retries = -1",
        "2:1: `model_providers.x.request_max_retries`: expected a whole number from 0, found -1",
    );
    check("[model_providers.x.auth]\nargs = []", "1:20: `model_providers.x.auth`: `command` is missing or empty");
    check("tui = 1", "1:1: `tui`: expected a table, found an integer");
    check("notify = 'x'", "1:1: `notify`: expected an array, found a string");
    check("notify = ['x', 1]", "1:16: `notify.1`: expected a string, found an integer");
    check("[mcp_servers.x]\nargs = []", "1:14: `mcp_servers.x`: invalid transport: neither `command` nor `url` is set");
    check(
        "[mcp_servers.x]\nurl = 'u'\nbearer_token = 't'",
        "3:1: `mcp_servers.x.bearer_token`: not supported; name a variable that holds the token in `bearer_token_env_var`",
    );
    check(
        "[permissions.x]\n",
        "1:2: `permissions`: profiles are defined, but `default_permissions` names none of them",
    );
    check(
        "[projects.'/x']\ntrust_level = 'maybe'",
        "2:1: `projects./x.trust_level`: unknown variant `maybe`, expected `trusted` or `untrusted`",
    );
    let world = World::new(&[]);
    assert_eq!(
        world.error(&world.request(&["hide_agent_reasoning=7"])),
        "Error loading config.toml: -c: `hide_agent_reasoning`: expected true or false, found an integer"
    );
}

#[test]
fn broken_toml_is_one_line_with_its_place() {
    let check = |bytes: &[u8], start: &str, end: &str| {
        let world = World::new(&[]);
        fs::write(world.path("home/config.toml"), bytes).expect("file");
        let error = world.error(&world.request(&[]));
        assert!(error.starts_with(&format!("Error loading config.toml: /home/config.toml:{start}")), "{error}");
        assert!(error.ends_with(end) && !error.contains('\n'), "{error}");
    };
    check(br#"args = ["C:\dir\x"]"#, "1:13: ", "(hint: write Windows paths in single quotes: 'C:\\dir')");
    check(b"x = [1]\n[x]\n", "2:2: duplicate key", "");
    check(b"x = \xff", "1:5: not UTF-8 text", "(hint: save the file as UTF-8)");
    let world = World::new(&[("home/config.toml", "\u{feff}model = 'x'\r\n[tui]\r\ntheme = 'y'\r\n")]);
    assert_eq!(load(&world.request(&[])).expect("loads").config.tui.theme.as_deref(), Some("y"));
    fs::remove_file(world.path("home/config.toml")).expect("gone");
    fs::create_dir(world.path("home/config.toml")).expect("a folder");
    assert_eq!(world.error(&world.request(&[])), "Error loading config.toml: /home/config.toml: not a regular file");
}

#[test]
fn ignore_user_config_drops_the_files_but_not_the_rest() {
    let world = World::new(&[
        ("home/config.toml", "model = 'user'\nbroken"),
        ("codex/config.toml", "model = 'codex'"),
        ("home/p.config.toml", "model_provider = 'p'"),
        ("sys/config.toml", "review_model = 'system'"),
    ]);
    let mut request =
        Request { ignore_user_config: true, profile: Some("p".into()), ..world.request(&["personality=none"]) };
    request.home.codex = Some(world.path("codex"));
    let config = load(&request).expect("loads").config;
    assert_eq!(
        (config.model, config.model_provider.as_deref(), config.review_model.as_deref()),
        (None, Some("p"), Some("system"))
    );
}

/// In a debug build, best of many: far below what a start may cost.
#[test]
fn loading_nothing_is_cheap() {
    let world = World::new(&[]);
    let request = world.request(&[]);
    let once = || {
        let start = std::time::Instant::now();
        load(&request).expect("loads");
        start.elapsed()
    };
    let best = (0..50).map(|_| once()).min().expect("some");
    println!("load without files: {best:?}");
    assert!(best < std::time::Duration::from_millis(1), "{best:?}");
}

#[test]
fn the_home_itself_is_no_project() {
    let world = World::new(&[]);
    let home = world.path("repo/.openinterpreter");
    fs::create_dir_all(&home).expect("home");
    fs::write(home.join("config.toml"), "model = 'user'\nmodel_provider = 'p'").expect("file");
    let loaded = load(&Request { home: Home::at(&home), ..world.request(&[]) }).expect("loads");
    assert_eq!((loaded.config.model_provider.as_deref(), loaded.warnings), (Some("p"), vec![]));
    let mut moved = world.request(&[]);
    moved.home.user = Some(world.path("repo"));
    let loaded = load(&moved).expect("loads");
    assert_eq!((loaded.config.model_provider, loaded.warnings), (None, vec![]));
}

/// Every key of the reference, set once: all are known, and none is of another type than documented.
#[test]
fn every_documented_key_is_accepted() {
    let world = World::new(&[("home/config.toml", include_str!("every_key.toml"))]);
    let loaded = load(&Request { strict: true, ..world.request(&[]) });
    match loaded {
        Ok(loaded) => assert_eq!(loaded.warnings, vec![]),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn debug_config() {
    let world = World::new(&[
        ("sys/config.toml", "model_verbosity = 'low'"),
        (
            "home/config.toml",
            "model = 'm'\nmodle = 'x'\n[model_providers.x]\nexperimental_bearer_token = 'abc'\nhttp_headers = { Authorization = 'abc', X-A = 'b' }\n\
             [profiles.p]\nmodel_provider = 'x'\n",
        ),
        ("repo/.openinterpreter/config.toml", "model = 'evil'"),
    ]);
    let mut request = world.request(&["projects.'/x y'.trust_level=trusted", "notify=[\"say\", \"--token\", \"abc\"]"]);
    request.profile = Some("p".into());
    request.flags.push(FlagSetting::new("--sandbox", &["sandbox_mode"], "read-only"));
    let loaded = load(&request).expect("loads");
    insta::assert_snapshot!("debug_config_table", world.plain(render_table(&loaded)));
    let mut json = render_json(&loaded);
    let values = json["values"].as_object_mut().expect("values");
    values.retain(|_, entry| entry["layer"] != "default");
    let json = serde_json::to_string_pretty(&json).expect("json");
    insta::assert_snapshot!("debug_config_json", world.plain(json));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_as_a_config_file(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let world = World::new(&[]);
        fs::write(world.path("home/config.toml"), &bytes).expect("file");
        fs::write(world.path("home/hooks.json"), &bytes).expect("file");
        let _ = load(&world.request(&[]));
    }
    #[test]
    fn any_value_of_a_known_key(key in proptest::sample::select(crate::nearest::fields_of::<Config>()), value in "[a-z]{1,3}|[0-9]|\\[\\]|\\[1\\]|\\{\\}|true|\\{a=\\{b=[1-9]\\}\\}|\\{a=\\[\\{b=1\\}\\]\\}") {
        let world = World::new(&[]);
        if let Ok(loaded) = load(&world.request(&[&format!("{key}={value}")])) {
            render_table(&loaded);
        }
    }
}
