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
    /// It searches with the `rg` on PATH; without one it fetches one, or searches in another way.
    pub(crate) needs_rg: bool,
    original: fn(&Start<'_>) -> io::Result<Invocation>,
    ours: Ours,
}

/// How ours is told about the model.
struct Ours {
    model: &'static str,
    sandbox: &'static str,
    /// For `-c`; `{url}` is the address of the server.
    settings: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
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

const STUB: &[&str] = &[
    "model_provider=stub",
    "model_providers.stub.name=\"Stub\"",
    "model_providers.stub.base_url=\"{url}/v1\"",
    "model_providers.stub.wire_api=chat",
];
/// As the settings of `kimi` say.
const STUB_OF_KIMI: &[&str] = &[STUB[0], STUB[1], STUB[2], STUB[3], "model_context_window=262144"];
const CHAT: Ours = Ours { model: "stub-model", sandbox: "danger-full-access", settings: STUB, env: &[] };
const ANTHROPIC: Ours = Ours {
    model: "claude-sonnet-4-5",
    settings: &[
        "model_provider=anthropic",
        "model_providers.anthropic.base_url=\"{url}\"",
        "model_providers.anthropic.experimental_bearer_token=fake",
    ],
    ..CHAT
};
const OPENAI: Ours = Ours {
    model: "gpt-5.5",
    sandbox: "workspace-write",
    settings: &["openai_base_url=\"{url}/v1\"", PLAN_TOOL],
    env: &[("CODEX_API_KEY", "fake")],
};

/// Without those that are bound to the product, and with those that it offers on request only.
const TOOLS_OF_CLAUDE: &str =
    "Agent,Bash,Edit,Glob,Grep,NotebookEdit,Read,Skill,TaskCreate,TaskGet,TaskList,TaskStop,TaskUpdate,WebFetch,Write";

/// Left out else, in Codex too.
const PLAN_TOOL: &str = "tools.update_plan.enabled=true";

pub(crate) const PAIRS: &[Pair] = &[
    Pair {
        folder: "claude-bare",
        harness: "claude-code-bare",
        title: "claude --bare",
        program: "claude",
        needs_rg: false,
        original: |start| claude(start, &["--bare"]),
        ours: ANTHROPIC,
    },
    Pair {
        folder: "claude-code",
        harness: "claude-code",
        title: "claude",
        program: "claude",
        needs_rg: false,
        original: |start| claude(start, &["--tools", TOOLS_OF_CLAUDE]),
        ours: ANTHROPIC,
    },
    Pair {
        folder: "qwen-code",
        harness: "qwen-code",
        title: "qwen",
        program: "qwen",
        needs_rg: true,
        original: qwen,
        ours: Ours { model: "qwen3-coder-plus", ..CHAT },
    },
    Pair {
        folder: "kimi-code",
        harness: "kimi-code",
        title: "kimi",
        program: "kimi",
        needs_rg: true,
        original: kimi,
        ours: Ours { model: "kimi-k2-thinking", settings: STUB_OF_KIMI, ..CHAT },
    },
    Pair {
        folder: "opencode",
        harness: "opencode",
        title: "opencode",
        program: "opencode",
        needs_rg: true,
        original: opencode,
        ours: CHAT,
    },
    Pair { folder: "pi", harness: "pi", title: "pi", program: "pi", needs_rg: false, original: pi, ours: CHAT },
    Pair {
        folder: "native",
        harness: "native",
        title: "codex",
        program: "codex",
        needs_rg: false,
        original: codex,
        ours: OPENAI,
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

    /// An `rg` to search with: `PEERS_RG`, the one on PATH, or that of qwen beside `PEERS_BIN`.
    pub(crate) fn find_rg() -> Option<PathBuf> {
        let named = std::env::var_os("PEERS_RG").map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|folder| folder.join("rg"));
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let of_qwen = format!("../@qwen-code/qwen-code/vendor/ripgrep/{arch}-{system}/rg");
        let beside = std::env::var_os("PEERS_BIN").map(|folder| PathBuf::from(folder).join(of_qwen));
        let found = named.into_iter().chain(on_path).chain(beside).find(|path| path.is_file());
        found.and_then(|path| path.canonicalize().ok())
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
        let Ours { model, sandbox, settings, env } = self.ours;
        let mut args: Vec<String> =
            ["exec", "--skip-git-repo-check", "-s", sandbox, "-m", model].map(String::from).into();
        let harness = format!("harness={}", self.harness);
        for setting in settings.iter().copied().chain([harness.as_str()]) {
            args.extend(["-c".to_owned(), setting.replace("{url}", start.url)]);
        }
        args.push(start.prompt.to_owned());
        let home = ("INTERPRETER_HOME", start.home.join(".oi").display().to_string());
        let env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).chain([home]).collect();
        Invocation { args, env }
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
    let settings = format!("model = \"gpt-5.5\"\nopenai_base_url = \"{}/v1\"\n{PLAN_TOOL}\n", start.url);
    write(&home.join("config.toml"), &settings)?;
    Ok(Invocation {
        args: ["exec", "--skip-git-repo-check", "-s", "workspace-write", start.prompt].map(String::from).into(),
        env: vec![("CODEX_HOME", home.display().to_string()), ("CODEX_API_KEY", "fake".to_owned())],
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
