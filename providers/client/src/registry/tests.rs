//! Where address and key of a provider come from.
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn sources(env: &[(&str, &str)]) -> Sources {
    Sources { env: env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(), ..Sources::default() }
}

fn config(json: &str) -> ProviderConfig {
    serde_json::from_str(json).expect("a provider table")
}

fn registry(id: &str, json: &str, sources: Sources) -> Registry {
    Registry::new([(id.to_owned(), config(json))].into(), sources)
}

/// `KEY from SOURCE`, or what stands in its place.
fn shown(auth: &Auth) -> String {
    match auth {
        Auth::None => "none".into(),
        Auth::Key { key, from, style } => {
            let style = style.map_or("", |s| if s == KeyStyle::Bearer { ", bearer" } else { ", header" });
            format!("{} from {from}{style}", key.expose())
        }
        Auth::Command(command) => format!("command {}", command.command()),
        Auth::Missing { variable, instructions } => format!("missing {variable} {instructions:?}"),
    }
}

#[test]
fn built_in_providers() {
    let check = |id: &str, env: &[(&str, &str)], base: &str, auth: &str| {
        let provider = Registry::new(BTreeMap::new(), sources(env)).provider(id).expect("a provider");
        assert_eq!((provider.base_url.as_str(), shown(&provider.auth).as_str()), (base, auth), "{id} {env:?}");
    };
    check("openai", &[], "https://api.openai.com/v1", "missing OPENAI_API_KEY None");
    check("openai", &[("OPENAI_API_KEY", " k ")], "https://api.openai.com/v1", "k from `OPENAI_API_KEY`");
    check("openai", &[("OPENAI_API_KEY", "")], "https://api.openai.com/v1", "missing OPENAI_API_KEY None");
    check("openai", &[("OPENAI_BASE_URL", "http://h/v1/")], "http://h/v1", "none");
    check("anthropic", &[("ANTHROPIC_API_KEY", "k")], "https://api.anthropic.com", "k from `ANTHROPIC_API_KEY`");
    check(
        "anthropic",
        &[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_BASE_URL", "https://h")],
        "https://h",
        "t from `ANTHROPIC_AUTH_TOKEN`, bearer",
    );
    check("ollama", &[], "http://localhost:11434/v1", "none");
    check("ollama", &[("OLLAMA_HOST", "box")], "http://box:11434/v1", "none");
    check("ollama", &[("OLLAMA_HOST", "box"), ("CODEX_OSS_PORT", "7")], "http://localhost:7/v1", "none");
    check("lmstudio", &[("CODEX_OSS_BASE_URL", "http://b/v1"), ("CODEX_OSS_PORT", "7")], "http://b/v1", "none");
    check("lmstudio", &[("OLLAMA_HOST", "box")], "http://localhost:1234/v1", "none");
}

#[test]
fn ollama_host_as_its_server_takes_it() {
    let check = |value: &str, expected: &str| assert_eq!(ollama_url(value), expected, "{value}");
    check("box", "http://box:11434/v1");
    check("box:80", "http://box:80/v1");
    check(":80", "http://127.0.0.1:80/v1");
    check("0.0.0.0", "http://127.0.0.1:11434/v1");
    check("0.0.0.0:1", "http://127.0.0.1:1/v1");
    check("https://box", "https://box/v1");
    check("https://box:9/", "https://box:9/v1");
    check("http://box/sub/", "http://box/sub/v1");
    check("http://box:1/v1", "http://box:1/v1");
    check("[::1]:5", "http://[::1]:5/v1");
    check("[::1]", "http://[::1]:11434/v1");
    check("::1", "http://[::1]:11434/v1");
    check("::", "http://[::1]:11434/v1");
}

proptest! {
    #[test]
    fn any_ollama_host_is_an_address_or_refused(value in "\\PC*|[a-z0-9:./\\[\\]]*") {
        let started = sources(&[("OLLAMA_HOST", &value)]);
        if let Ok(provider) = Registry::new(BTreeMap::new(), started).provider("ollama") {
            prop_assert!(provider.endpoint("/responses").is_ok());
        }
    }
}

#[test]
fn keys_of_a_custom_provider_in_order() {
    let all = r#"{"base_url": "http://h", "env_key": "E", "env_key_instructions": "Ask Y.",
        "experimental_bearer_token": "inline", "auth": {"command": "c"}, "requires_openai_auth": true}"#;
    let without_env = all.replace("\"env_key\": \"E\",", "");
    let without_inline = without_env.replace("\"inline\"", "null");
    let without_command = without_inline.replace("{\"command\": \"c\"}", "null");
    let check = |json: &str, env: &[(&str, &str)], expected: &str| {
        let provider = registry("x", json, sources(env)).provider("x").expect("a provider");
        assert_eq!(shown(&provider.auth), expected, "{json} {env:?}");
    };
    check(all, &[("E", "k")], "k from `E`");
    check(all, &[], "missing E Some(\"Ask Y.\")");
    check(&without_env, &[("E", "k")], "inline from experimental_bearer_token, bearer");
    check(&without_inline, &[], "command c");
    check(&without_command, &[("OPENAI_API_KEY", "o")], "o from `OPENAI_API_KEY`");
    check(r#"{"base_url": "http://h"}"#, &[("OPENAI_API_KEY", "o"), ("CODEX_API_KEY", "c")], "none");
}

#[test]
fn codex_api_key_counts_when_started_so() {
    let check = |id: &str, json: &str, env: &[(&str, &str)], expected: &str| {
        let started = Sources { codex_api_key: true, ..sources(env) };
        let provider = registry("x", json, started).provider(id).expect("a provider");
        assert_eq!(shown(&provider.auth), expected, "{id} {json}");
    };
    let all = [("CODEX_API_KEY", "c"), ("E", "k"), ("OPENAI_API_KEY", "o"), ("OLLAMA_API_KEY", "l")];
    check("openai", "{}", &all, "c from `CODEX_API_KEY`");
    check("ollama", "{}", &all, "l from `OLLAMA_API_KEY`, bearer");
    check("ollama", "{}", &all[..1], "none");
    let keyed = r#"{"base_url": "http://h", "env_key": "E"}"#;
    check("x", keyed, &all, "k from `E`");
    check("x", keyed, &all[..1], "c from `CODEX_API_KEY`");
    check("x", r#"{"base_url": "http://h"}"#, &all, "c from `CODEX_API_KEY`");
    check("x", r#"{"base_url": "http://h"}"#, &all[1..], "none");
}

#[test]
fn stored_keys() {
    let mut stored = sources(&[("OPENAI_API_KEY", "env"), ("DEEPSEEK_API_KEY", "env")]);
    assert!(stored.read_auth_json(
        r#"{"auth_mode": "apikey", "OPENAI_API_KEY": "file", "DEEPSEEK_API_KEY": "file", "X_KEY": "file", "tokens": {}}"#
    ));
    assert!(!stored.clone().read_auth_json("[]"));
    let of = |env_key: &str| {
        let json = format!(r#"{{"base_url": "http://h", "env_key": "{env_key}"}}"#);
        shown(&registry("x", &json, stored.clone()).provider("x").expect("a provider").auth)
    };
    assert_eq!(of("DEEPSEEK_API_KEY"), "env from `DEEPSEEK_API_KEY`");
    assert_eq!(of("X_KEY"), "file from `X_KEY` in auth.json");
    assert_eq!(of("OPENAI_API_KEY"), "file from `OPENAI_API_KEY` in auth.json");
}

/// A table with a built-in id changes what it says; its address does not get the built-in provider's key.
#[test]
fn a_table_over_a_built_in_provider() {
    let keys = || sources(&[("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "o")]);
    let provider = |json| registry("anthropic", json, keys()).provider("anthropic").expect("a provider");
    let patient = provider(r#"{"stream_max_retries": 1000, "request_max_retries": 0, "stream_idle_timeout_ms": 7}"#);
    assert_eq!(patient.retries, Retries { request: 0, stream: 100 });
    assert_eq!((patient.wire, patient.idle_timeout), (WireId::Messages, Duration::from_millis(7)));
    assert_eq!(shown(&patient.auth), "k from `ANTHROPIC_API_KEY`");
    assert_eq!(shown(&provider(r#"{"base_url": "https://elsewhere"}"#).auth), "none");
    let named = provider(r#"{"base_url": "https://elsewhere", "env_key": "ANTHROPIC_API_KEY"}"#);
    assert_eq!(shown(&named.auth), "k from `ANTHROPIC_API_KEY`");
    let own_header = r#"{"http_headers": {"Authorization": "Bearer x"}}"#;
    assert_eq!(
        shown(&registry("openai", own_header, sources(&[])).provider("openai").expect("a provider").auth),
        "none"
    );
}

#[test]
fn headers_and_patience() {
    let json = r#"{"base_url": "http://h", "http_headers": {"A": "1"}, "env_http_headers": {"B": "VB", "C": "VC"},
        "query_params": {"q": "2"}, "wire_api": "chat", "name": "Mine"}"#;
    let provider = registry("x", json, sources(&[("VB", "3")])).provider("x").expect("a provider");
    assert_eq!(provider.headers, vec![("A".to_owned(), "1".into()), ("B".to_owned(), "3".into())]);
    assert_eq!(provider.query, vec![("q".to_owned(), "2".into())]);
    assert_eq!((provider.name.as_str(), provider.wire, provider.idle_timeout), ("Mine", WireId::Chat, IDLE));
    let local = registry("x", r#"{"base_url": "http://127.0.0.1:8000/v1"}"#, Sources::default());
    assert_eq!(local.provider("x").map(|p| p.idle_timeout), Ok(IDLE_LOCAL));
}

#[test]
fn refused() {
    let check = |id: &str, json: &str, expected: &str| {
        let error = registry("x", json, Sources::default()).provider(id).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(error, Err(expected.to_owned()));
    };
    check(
        "y",
        "{}",
        "Model provider `y` not found. `interpreter providers list --all` shows all; \
         add your own as [model_providers.y] in config.toml.",
    );
    check(
        "grok",
        "{}",
        "Model provider `grok` not found. Did you mean groq? `interpreter providers list --all` shows all; \
         add your own as [model_providers.grok] in config.toml.",
    );
    check(
        "databricks",
        "{}",
        "The address of provider `databricks` has parts that come from the environment: set DATABRICKS_HOST \
         (for https://${DATABRICKS_HOST}/ai-gateway/mlflow/v1), or base_url in [model_providers.databricks].",
    );
    check(
        "x",
        r#"{"env_key": "K"}"#,
        "model_providers.x has no base_url. Without it no request is made, so that no key goes to the wrong server.",
    );
    check(
        "x",
        r#"{"base_url": "h:1"}"#,
        "model_providers.x.base_url is not a usable address: \"h:1\" (expected http://HOST... or https://HOST...)",
    );
    check(
        "x",
        r#"{"base_url": "http://h", "aws": {"region": "r"}}"#,
        "model_providers.x.aws: signing with AWS keys is not supported yet. \
         Use a Bedrock API key: env_key = \"AWS_BEARER_TOKEN_BEDROCK\".",
    );
}

#[test]
fn headers_that_cannot_be_sent_are_told_before_asking() {
    let check = |json: &str, value: &str, expected: Option<&str>| {
        let registry = registry("p", json, sources(&[("V", value)]));
        let told = registry.provider("p").err().map(|error| error.to_string());
        assert_eq!(told.as_deref(), expected, "{json} {value:?}");
    };
    let name = "a header name has letters, digits and `-` only, no spaces. Nothing was sent.";
    let control =
        "its value has a line feed or another control character, which no header can carry. Nothing was sent.";
    let table = |headers: &str| format!(r#"{{"base_url": "http://h/v1", {headers}}}"#);
    let fixed = |headers: &str, expected: Option<&str>| check(&table(headers), "", expected);
    fixed(
        r#""http_headers": {"X-A": "b", "x-ü": "c"}"#,
        Some(&format!("model_providers.p.http_headers \"x-ü\": {name}")),
    );
    fixed(r#""http_headers": {"X A": "b"}"#, Some(&format!("model_providers.p.http_headers \"X A\": {name}")));
    fixed(r#""http_headers": {"X-A": "b\nc"}"#, Some(&format!("model_providers.p.http_headers \"X-A\": {control}")));
    fixed(r#""http_headers": {"X-A": "/tmp/ü"}"#, None);
    let from_env = table(r#""env_http_headers": {"X-A": "V"}"#);
    check(&from_env, "secret\r\n", None);
    check(&from_env, "", None);
    let told = format!("model_providers.p.env_http_headers \"X-A\" (from `V`): {control}");
    check(&from_env, "se\ncret", Some(&told));
    check(
        &table(r#""env_http_headers": {"X A": "V"}"#),
        "",
        Some(&format!("model_providers.p.env_http_headers \"X A\" (from `V`): {name}")),
    );
}

/// provider-quirks.md 1 and openinterpreter.md 3.4: address, wire and key of well-known providers.
#[test]
fn well_known_providers() {
    use WireId::{Chat, Messages, Responses};
    for (id, wire, base_url, key) in [
        ("openai", Responses, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("anthropic", Messages, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("google", Chat, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        ("openrouter", Chat, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("deepseek", Chat, "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        ("moonshotai", Chat, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        ("moonshotai-cn", Chat, "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
        ("kimi-for-coding", Chat, "https://api.kimi.com/coding/v1", "KIMI_API_KEY"),
        ("zai", Chat, "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
        ("zai-coding-plan", Chat, "https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY"),
        ("zhipuai", Chat, "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY"),
        ("zhipuai-coding-plan", Chat, "https://open.bigmodel.cn/api/coding/paas/v4", "ZHIPU_API_KEY"),
        ("alibaba", Chat, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("alibaba-cn", Chat, "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("alibaba-coding-plan", Chat, "https://coding-intl.dashscope.aliyuncs.com/v1", "ALIBABA_CODING_PLAN_API_KEY"),
        ("minimax", Messages, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY"),
        ("minimax-cn", Messages, "https://api.minimaxi.com/anthropic", "MINIMAX_API_KEY"),
        ("minimax-coding-plan", Messages, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY"),
        ("mistral", Chat, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        ("xai", Responses, "https://api.x.ai/v1", "XAI_API_KEY"),
        ("groq", Chat, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        ("cerebras", Chat, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
        ("togetherai", Chat, "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        ("fireworks-ai", Chat, "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        ("siliconflow", Chat, "https://api.siliconflow.com/v1", "SILICONFLOW_API_KEY"),
        ("siliconflow-cn", Chat, "https://api.siliconflow.cn/v1", "SILICONFLOW_CN_API_KEY"),
        ("huggingface", Chat, "https://router.huggingface.co/v1", "HF_TOKEN"),
        ("ollama-cloud", Chat, "https://ollama.com/v1", "OLLAMA_API_KEY"),
        ("azure", Responses, "https://r.openai.azure.com/openai/v1", "AZURE_API_KEY"),
        ("amazon-bedrock", Chat, "https://bedrock-mantle.eu-west-1.api.aws/v1", "AWS_BEARER_TOKEN_BEDROCK"),
        ("github-copilot", Chat, "https://api.githubcopilot.com", "GITHUB_TOKEN"),
        ("nvidia", Chat, "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    ] {
        let env = sources(&[(key, "k"), ("AZURE_RESOURCE_NAME", "r"), ("AWS_DEFAULT_REGION", "eu-west-1")]);
        let provider = Registry::new(BTreeMap::new(), env).provider(id).expect(id);
        let found = (provider.wire, provider.base_url.as_str(), shown(&provider.auth));
        assert_eq!(found, (wire, base_url, format!("k from `{key}`")), "{id}");
        let without = sources(&[("AZURE_RESOURCE_NAME", "r")]);
        let auth = Registry::new(BTreeMap::new(), without).provider(id).expect(id).auth;
        assert_eq!(shown(&auth), format!("missing {key} None"), "{id}");
    }
}

/// A table of a catalog's id changes what it names; one that names another server is a provider of its own.
#[test]
fn a_table_over_a_catalogs_provider() {
    let env = || sources(&[("DEEPSEEK_API_KEY", "k"), ("MINE", "m")]);
    let check = |json: &str, wire: WireId, base_url: &str, auth: &str| {
        let provider = registry("deepseek", json, env()).provider("deepseek").expect("a provider");
        assert_eq!((provider.wire, provider.base_url.as_str(), shown(&provider.auth).as_str()), (wire, base_url, auth));
        assert_eq!(provider.listed.as_ref().map(Listed::id), Some("deepseek"), "{json}");
    };
    let own = "https://api.deepseek.com";
    check("{}", WireId::Chat, own, "k from `DEEPSEEK_API_KEY`");
    check(r#"{"env_key": "MINE", "stream_max_retries": 1}"#, WireId::Chat, own, "m from `MINE`");
    check(
        r#"{"wire_api": "messages"}"#,
        WireId::Messages,
        "https://api.deepseek.com/anthropic",
        "k from `DEEPSEEK_API_KEY`",
    );
    let beta = r#"{"base_url": "https://api.deepseek.com/beta"}"#;
    check(beta, WireId::Chat, "https://api.deepseek.com/beta", "k from `DEEPSEEK_API_KEY`");
    check(r#"{"base_url": "http://localhost:1/v1"}"#, WireId::Responses, "http://localhost:1/v1", "none");
}

#[test]
fn providers_of_the_users_own_are_recognised() {
    let check = |json: &str, expected: Option<&str>| {
        let provider = registry("mine", json, Sources::default()).provider("mine").expect("a provider");
        assert_eq!(provider.listed.as_ref().map(Listed::id), expected, "{json}");
    };
    check(r#"{"base_url": "https://api.z.ai/api/coding/paas/v4"}"#, Some("zai-coding-plan"));
    check(r#"{"base_url": "https://api.z.ai/other"}"#, Some("zai"));
    check(r#"{"base_url": "https://x.openai.azure.com/openai"}"#, Some("azure"));
    check(r#"{"base_url": "https://proxy.example.com/v1", "env_key": "GROQ_API_KEY"}"#, Some("groq"));
    // One key, two providers: it says nothing.
    check(r#"{"base_url": "https://proxy.example.com/v1", "env_key": "MOONSHOT_API_KEY"}"#, None);
    check(r#"{"base_url": "http://localhost:8000/v1"}"#, None);
}

#[test]
fn models_may_have_a_wire_and_an_address_of_their_own() {
    let env = || sources(&[("AZURE_RESOURCE_NAME", "r"), ("AWS_REGION", "us-west-2")]);
    let place = |id: &str, json: &str, model: &str| {
        let configs = if json.is_empty() { BTreeMap::new() } else { [(id.to_owned(), config(json))].into() };
        let provider = Registry::new(configs, env()).provider(id).expect("a provider").for_model(model);
        (provider.wire, provider.base_url)
    };
    let check = |id: &str, json: &str, model: &str, wire: WireId, base_url: &str| {
        assert_eq!(place(id, json, model), (wire, base_url.to_owned()), "{id} {model}");
    };
    let azure = "https://r.openai.azure.com/openai/v1";
    check("azure", "", "gpt-5.5", WireId::Responses, azure);
    check("azure", "", "my-deployment", WireId::Responses, azure);
    check("azure", "", "kimi-k2.5", WireId::Chat, azure);
    check("azure", "", "claude-opus-5", WireId::Messages, "https://r.services.ai.azure.com/anthropic");
    check("opencode", "", "claude-opus-5", WireId::Messages, "https://opencode.ai/zen");
    let mantle = "https://bedrock-mantle.us-west-2.api.aws";
    check("amazon-bedrock", "", "anthropic.claude-opus-5", WireId::Messages, &format!("{mantle}/anthropic"));
    check("amazon-bedrock", "", "openai.gpt-5.5", WireId::Responses, &format!("{mantle}/openai/v1"));
    check("amazon-bedrock", "", "zai.glm-5", WireId::Chat, &format!("{mantle}/v1"));
    // What the user chose stays.
    check("azure", r#"{"wire_api": "chat"}"#, "claude-opus-5", WireId::Chat, azure);
    let minimax =
        Registry::default().provider("minimax").expect("a provider").on_wire(WireId::Chat).for_model("MiniMax-M3");
    assert_eq!((minimax.wire, minimax.base_url.as_str()), (WireId::Chat, "https://api.minimax.io/v1"));
}

#[test]
fn a_model_may_name_its_provider() {
    let check = |model: &str, expected: Option<(&str, &str)>| {
        let split = registry("mine", r#"{"base_url": "http://h"}"#, Sources::default()).split(model);
        assert_eq!(split, expected.map(|(id, model)| (id.to_owned(), model.to_owned())), "{model}");
    };
    check("groq/openai/gpt-oss-120b", Some(("groq", "openai/gpt-oss-120b")));
    check("openrouter/anthropic/claude-opus-5", Some(("openrouter", "anthropic/claude-opus-5")));
    check("mine/some/model", Some(("mine", "some/model")));
    check("ollama/qwen3", Some(("ollama", "qwen3")));
    check("gpt-5.5", None);
    check("nobody/model", None);
    check("groq/", None);
    let moved = Sources { openai_base_url: Some("http://litellm/v1".into()), ..Sources::default() };
    assert_eq!(Registry::new(BTreeMap::new(), moved).split("anthropic/claude-opus-5"), None);
    // Ids of its models begin with its own name.
    let nvidia = Registry::default().split("nvidia/nvidia/x").map(|(_, model)| model);
    assert_eq!(nvidia.as_deref(), Some("nvidia/x"));
}

/// What the catalog says of a model is heeded beside the table of quirks.
#[test]
fn fits_of_listed_models() {
    let fit = |id: &str, model: &str| {
        let fit = Registry::default().provider(id).expect("a provider").for_model(model).fit(model);
        (fit.caps.images, fit.quirks.no_temperature, fit.quirks.reasoning_field)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(fit("groq", "llama-3.3-70b-versatile"), (false, false, some("none")));
    assert_eq!(fit("openrouter", "openai/gpt-5.5"), (true, true, some("reasoning")));
    assert_eq!(fit("openrouter", "unheard/of"), (true, false, some("reasoning")));
    assert_eq!(fit("anthropic", "claude-opus-5"), (true, false, None));
}
