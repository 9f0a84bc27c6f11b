//! Which original each harness is held against, and how both are started on a scripted model.
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

/// A folder of cases, and the two programs that play them.
pub(crate) struct Pair {
    /// Name of the folder below `tests/wire`.
    pub(crate) folder: &'static str,
    /// Our harness id.
    pub(crate) harness: &'static str,
    /// The original as a reader knows it.
    pub(crate) title: &'static str,
    /// Command of the original.
    pub(crate) program: &'static str,
    original: fn(&Start<'_>) -> io::Result<Invocation>,
    ours: Ours,
}

/// How ours is told about the model.
struct Ours {
    provider: &'static str,
    wire: Option<&'static str>,
    /// Below the address of the server.
    base: &'static str,
    model: &'static str,
    sandbox: &'static str,
    more: &'static [&'static str],
}

/// What a command line may name.
pub(crate) struct Start<'a> {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: &'a str,
    pub(crate) home: &'a Path,
    pub(crate) prompt: &'a str,
}

#[derive(Default)]
pub(crate) struct Invocation {
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
}

const CHAT: Ours = Ours {
    provider: "stub",
    wire: Some("chat"),
    base: "/v1",
    model: "stub-model",
    sandbox: "danger-full-access",
    more: &[],
};
const ANTHROPIC: Ours = Ours {
    provider: "anthropic",
    wire: None,
    base: "",
    model: "claude-sonnet-4-5",
    more: &["model_providers.anthropic.experimental_bearer_token=fake"],
    ..CHAT
};

/// Left out else, in Codex too.
const PLAN_TOOL: &str = "tools.update_plan.enabled=true";

pub(crate) const PAIRS: &[Pair] = &[
    Pair {
        folder: "claude-bare",
        harness: "claude-code-bare",
        title: "claude --bare",
        program: "claude",
        original: |start| claude(start, &["--bare"]),
        ours: ANTHROPIC,
    },
    Pair {
        folder: "claude-code",
        harness: "claude-code",
        title: "claude",
        program: "claude",
        original: |start| claude(start, &[]),
        ours: ANTHROPIC,
    },
    Pair {
        folder: "qwen-code",
        harness: "qwen-code",
        title: "qwen",
        program: "qwen",
        original: qwen,
        ours: Ours { model: "qwen3-coder-plus", ..CHAT },
    },
    Pair {
        folder: "kimi-code",
        harness: "kimi-code",
        title: "kimi",
        program: "kimi",
        original: kimi,
        ours: Ours { model: "kimi-k2-thinking", more: &["model_context_window=262144"], ..CHAT },
    },
    Pair {
        folder: "opencode",
        harness: "opencode",
        title: "opencode",
        program: "opencode",
        original: opencode,
        ours: CHAT,
    },
    Pair { folder: "pi", harness: "pi", title: "pi", program: "pi", original: pi, ours: CHAT },
    Pair {
        folder: "native",
        harness: "native",
        title: "codex",
        program: "codex",
        original: codex,
        ours: Ours {
            wire: Some("responses"),
            model: "gpt-5.5",
            sandbox: "workspace-write",
            more: &[PLAN_TOOL],
            ..CHAT
        },
    },
];

impl Pair {
    /// Where the original is: `CODEX_BIN` for codex, the folder `PEERS_BIN`, or PATH.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let codex = std::env::var_os("CODEX_BIN").filter(|_| self.program == "codex").map(PathBuf::from);
        let peers = std::env::var_os("PEERS_BIN").map(|folder| PathBuf::from(folder).join(self.program));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|folder| folder.join(self.program));
        codex.into_iter().chain(peers).chain(on_path).find(|path| path.is_file())
    }

    /// What `--version` says, in one line.
    pub(crate) fn version(program: &Path, home: &Path) -> String {
        let mut command = Command::new(program);
        command.arg("--version").env("HOME", home).stdin(std::process::Stdio::null());
        let Ok(output) = command.output() else { return "version unknown".to_owned() };
        let said = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        String::from_utf8_lossy(&said).lines().next().unwrap_or("version unknown").trim().to_owned()
    }

    /// # Errors
    /// Where its settings cannot be written into the home folder.
    pub(crate) fn original(&self, start: &Start<'_>) -> io::Result<Invocation> {
        (self.original)(start)
    }

    pub(crate) fn ours(&self, start: &Start<'_>) -> Invocation {
        let Ours { provider, wire, base, model, sandbox, more } = self.ours;
        let mut args: Vec<String> =
            ["exec", "--skip-git-repo-check", "-s", sandbox, "-m", model].map(String::from).into();
        let mut set = |setting: String| args.extend(["-c".to_owned(), setting]);
        set(format!("harness={}", self.harness));
        set(format!("model_provider={provider}"));
        set(format!("model_providers.{provider}.base_url=\"{}{base}\"", start.url));
        if let Some(wire) = wire {
            set(format!("model_providers.{provider}.name=\"Stub\""));
            set(format!("model_providers.{provider}.wire_api={wire}"));
        }
        more.iter().for_each(|setting| set((*setting).to_owned()));
        args.push(start.prompt.to_owned());
        let home = start.home.join(".oi").display().to_string();
        Invocation { args, env: vec![("INTERPRETER_HOME", home)] }
    }
}

fn claude(start: &Start<'_>, more: &[&str]) -> io::Result<Invocation> {
    let mut args = vec!["-p", start.prompt, "--output-format", "stream-json", "--verbose"];
    args.extend(["--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]);
    args.extend(more);
    Ok(Invocation {
        args: args.into_iter().map(String::from).collect(),
        env: vec![
            ("ANTHROPIC_BASE_URL", start.url.to_owned()),
            ("ANTHROPIC_API_KEY", "fake".to_owned()),
            ("IS_SANDBOX", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ],
    })
}

fn qwen(start: &Start<'_>) -> io::Result<Invocation> {
    Ok(Invocation {
        args: ["-p", start.prompt, "--approval-mode", "yolo"].map(String::from).into(),
        env: vec![
            ("OPENAI_API_KEY", "fake".to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", start.url)),
            ("OPENAI_MODEL", "qwen3-coder-plus".to_owned()),
        ],
    })
}

fn kimi(start: &Start<'_>) -> io::Result<Invocation> {
    let settings = format!(
        "default_model = \"m\"\ntelemetry = false\n\
         [providers.p]\ntype = \"kimi\"\nbase_url = \"{}/v1\"\napi_key = \"fake\"\n\
         [models.m]\nprovider = \"p\"\nmodel = \"kimi-k2-thinking\"\nmax_context_size = 262144\n\
         capabilities = [\"thinking\", \"tool_use\", \"image_in\", \"video_in\"]\n",
        start.url
    );
    write(&start.home.join(".kimi-code/config.toml"), &settings)?;
    Ok(Invocation {
        args: ["-p", start.prompt].map(String::from).into(),
        env: vec![("KIMI_DISABLE_TELEMETRY", "1".to_owned()), ("KIMI_CODE_NO_AUTO_UPDATE", "1".to_owned())],
    })
}

fn opencode(start: &Start<'_>) -> io::Result<Invocation> {
    let provider = json!({"name": "Stub", "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{}/v1", start.url), "apiKey": "fake"},
        "models": {"stub-model": {"name": "stub-model"}}});
    let settings = json!({"autoupdate": false, "share": "disabled", "provider": {"stub": provider}});
    write(&start.home.join(".config/opencode/opencode.json"), &settings.to_string())?;
    let off = |name| (name, "1".to_owned());
    Ok(Invocation {
        args: ["run", "-m", "stub/stub-model", "--auto", start.prompt].map(String::from).into(),
        env: ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"]
            .map(off)
            .into(),
    })
}

fn pi(start: &Start<'_>) -> io::Result<Invocation> {
    let provider = json!({"baseUrl": format!("{}/v1", start.url), "api": "openai-completions", "apiKey": "fake",
        "models": [{"id": "stub-model"}]});
    write(&start.home.join(".pi/agent/models.json"), &json!({"providers": {"stub": provider}}).to_string())?;
    Ok(Invocation {
        args: ["-p", "--provider", "stub", "--model", "stub-model", start.prompt].map(String::from).into(),
        env: vec![("PI_OFFLINE", "1".to_owned()), ("PI_SKIP_VERSION_CHECK", "1".to_owned())],
    })
}

fn codex(start: &Start<'_>) -> io::Result<Invocation> {
    let home = start.home.join(".codex");
    let settings = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"stub\"\n{PLAN_TOOL}\n\
         [model_providers.stub]\nname = \"Stub\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n",
        start.url
    );
    write(&home.join("config.toml"), &settings)?;
    Ok(Invocation {
        args: ["exec", "--skip-git-repo-check", "-s", "workspace-write", start.prompt].map(String::from).into(),
        env: vec![("CODEX_HOME", home.display().to_string())],
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
