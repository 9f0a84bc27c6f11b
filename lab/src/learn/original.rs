//! How each original is started so that it speaks to our recorder and to nothing else: its own home, a made-up key, no updates, no
//! telemetry. Switches and files as the programs document them; tried with the versions named in docs/custom-harnesses.md.
use std::{fs, io, path::Path, process::Command};

use serde_json::json;

use super::room::Room;

/// A program that one or more harnesses are modelled on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Original {
    /// As it is called.
    pub(super) program: &'static str,
    kind: Kind,
    /// The model that it is told to speak to, where the user names none.
    pub(super) model: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Claude { bare: bool },
    Codex,
    Kimi,
    Opencode,
    Pi,
    Qwen,
}

/// Whoever wonders what arrived finds it said.
const KEY: &str = "sk-learn-no-real-key";

/// The original of a harness. None: nothing is known that could be run.
pub(super) fn of(harness: &str) -> Option<Original> {
    let original = |program, kind, model| Some(Original { program, kind, model });
    match harness {
        "native" => original("codex", Kind::Codex, "learn-model"),
        "claude-code-bare" => original("claude", Kind::Claude { bare: true }, "claude-sonnet-4-5"),
        // Newer models are spoken to in the newest form.
        "claude-code@current" => original("claude", Kind::Claude { bare: false }, "claude-opus-5-5"),
        _ if harness == "claude-code" || harness.starts_with("claude-code@") => {
            original("claude", Kind::Claude { bare: false }, "claude-sonnet-4-5")
        }
        "kimi-code" => original("kimi", Kind::Kimi, "kimi-k2-thinking"),
        "opencode" => original("opencode", Kind::Opencode, "learn-model"),
        "pi" => original("pi", Kind::Pi, "learn-model"),
        // Calls in its examples are written as its own models write them.
        "qwen-code" => original("qwen", Kind::Qwen, "qwen3-coder-plus"),
        _ => None,
    }
}

impl Original {
    /// The command that says hello once.
    pub(super) fn command(&self, room: &Room, model: &str) -> io::Result<Command> {
        let mut command = Command::new(self.program);
        let url = format!("{}/v1", room.url);
        let text = "Say hello.";
        match self.kind {
            Kind::Claude { bare } => {
                command.args(["-p", text, "--model", model]).args(bare.then_some("--bare"));
                command.env("ANTHROPIC_BASE_URL", &room.url).env("ANTHROPIC_API_KEY", KEY);
                // All tools at once, not by name first.
                command.env("ENABLE_TOOL_SEARCH", "false");
                for name in ["DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] {
                    command.env(name, "1");
                }
            }
            Kind::Codex => {
                let config = format!(
                    "model = {model}\nmodel_provider = \"learn\"\napproval_policy = \"never\"\nsandbox_mode = \"read-only\"\n\
                     [model_providers.learn]\nname = \"Learn\"\nbase_url = {url}\nwire_api = \"responses\"\n",
                    model = json!(model),
                    url = json!(url)
                );
                let home = room.home.join(".codex");
                write(&home.join("config.toml"), &config)?;
                command.args(["exec", "--skip-git-repo-check", text]).env("CODEX_HOME", home);
            }
            Kind::Kimi => {
                let config = format!(
                    "default_model = \"m\"\ntelemetry = false\n[providers.p]\ntype = \"kimi\"\nbase_url = {url}\napi_key = \"{KEY}\"\n\
                     [models.m]\nprovider = \"p\"\nmodel = {model}\nmax_context_size = 262144\n\
                     capabilities = [\"thinking\", \"tool_use\", \"image_in\", \"video_in\"]\n",
                    url = json!(url),
                    model = json!(model)
                );
                write(&room.home.join(".kimi-code/config.toml"), &config)?;
                command.args(["-p", text]).env("KIMI_DISABLE_TELEMETRY", "1").env("KIMI_CODE_NO_AUTO_UPDATE", "1");
            }
            Kind::Opencode => {
                let config = json!({
                    "autoupdate": false,
                    "share": "disabled",
                    "provider": {"learn": {
                        "name": "Learn", "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": url, "apiKey": KEY},
                        "models": {model: {"name": model}},
                    }},
                });
                write(&room.home.join(".config/opencode/opencode.json"), &config.to_string())?;
                command.args(["run", "-m", &format!("learn/{model}"), text]);
                for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD"] {
                    command.env(format!("OPENCODE_DISABLE_{name}"), "1");
                }
            }
            Kind::Pi => {
                let config = json!({"providers": {"learn": {
                    "baseUrl": url, "api": "openai-completions", "apiKey": KEY, "models": [{"id": model}],
                }}});
                write(&room.home.join(".pi/agent/models.json"), &config.to_string())?;
                command.args(["-p", "--provider", "learn", "--model", model, text]);
                command.env("PI_OFFLINE", "1").env("PI_SKIP_VERSION_CHECK", "1");
            }
            Kind::Qwen => {
                // Without it the tools that write are not offered. The recorder calls none.
                command.args(["-p", text, "--approval-mode", "yolo"]);
                command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &url).env("OPENAI_MODEL", model);
            }
        }
        Ok(command)
    }
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, text)
}
