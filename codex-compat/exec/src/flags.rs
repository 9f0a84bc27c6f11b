//! The command line of `exec`, which is Codex's, and what it adds. The same flags stand at the root, at `exec` and at its
//! subcommands; values given later on the line win, lists add up.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Clone, Default, Args)]
pub struct Flags {
    /// Override a configuration value: a dotted path and a TOML value (`-c model="o3"`); what is not TOML is taken as text
    #[arg(short = 'c', long = "config", value_name = "key=value")]
    pub config: Vec<String>,
    /// Enable a feature; the same as `-c features.NAME=true`
    #[arg(long, value_name = "FEATURE")]
    pub enable: Vec<String>,
    /// Disable a feature; the same as `-c features.NAME=false`
    #[arg(long, value_name = "FEATURE")]
    pub disable: Vec<String>,
    /// Refuse to start when a configuration file holds a key that nobody knows
    #[arg(long)]
    pub strict_config: bool,
    /// Attach an image to the prompt (repeatable, or several separated by commas)
    #[arg(short = 'i', long = "image", value_name = "FILE", value_delimiter = ',')]
    pub image: Vec<PathBuf>,
    /// The model to use
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The harness to speak in, one of `interpreter harness list` (default: by model family)
    #[arg(long, value_name = "ID")]
    pub harness: Option<String>,
    /// Use a local server (Ollama or LM Studio)
    #[arg(long)]
    pub oss: bool,
    /// Which local server: ollama or lmstudio (means --oss)
    #[arg(long, value_name = "PROVIDER")]
    pub local_provider: Option<String>,
    /// Speak Chat Completions with this provider; the same as `wire_api = "chat"` for this run
    #[arg(long)]
    pub chat_completions: bool,
    /// A profile of the configuration: `[profiles.NAME]`, or NAME.config.toml beside config.toml
    #[arg(short = 'p', long, value_name = "NAME", value_parser = plain_name)]
    pub profile: Option<String>,
    /// What commands may touch
    #[arg(short = 's', long, value_name = "MODE", value_enum)]
    pub sandbox: Option<SandboxFlag>,
    /// Let approval requests be reviewed automatically, with the workspace-write sandbox
    #[arg(long)]
    pub approve_for_me: bool,
    /// No approvals and no sandbox. For machines that are walled off by other means
    #[arg(long, alias = "yolo")]
    pub dangerously_bypass_approvals_and_sandbox: bool,
    /// Run hooks that were not trusted yet, for this run
    #[arg(long)]
    pub dangerously_bypass_hook_trust: bool,
    /// Work in this folder
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,
    /// A further folder that commands may write
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// Work in a new Git worktree of this repository
    #[arg(long)]
    pub worktree: bool,
    /// Connect to a running app-server
    #[arg(long, value_name = "ADDR")]
    pub remote: Option<String>,
    /// Variable with the bearer token for --remote
    #[arg(long, value_name = "ENV_VAR")]
    pub remote_auth_token_env: Option<String>,
}

/// What only `exec` and its subcommands take.
#[derive(Debug, Clone, Default, Args)]
pub struct ExecFlags {
    /// Print events to stdout, one JSON object a line
    #[arg(long, alias = "experimental-json")]
    pub json: bool,
    /// Write the last message to this file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output_last_message: Option<PathBuf>,
    /// A JSON Schema for the final answer
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Colours in the output: always, never, auto
    #[arg(long, value_name = "WHEN", value_enum)]
    pub color: Option<Color>,
    /// Work outside of a Git repository
    #[arg(long)]
    pub skip_git_repo_check: bool,
    /// Trust this project from now on
    #[arg(long)]
    pub trust: bool,
    /// Keep no session file
    #[arg(long)]
    pub ephemeral: bool,
    /// Do not read the user's config.toml
    #[arg(long)]
    pub ignore_user_config: bool,
    /// Do not read command rules
    #[arg(long)]
    pub ignore_rules: bool,
    /// End after this many requests to the model (exit status 3)
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// End after this long: seconds, or 90s, 10m, 2h (exit status 4)
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub max_time: Option<u64>,
    /// End when the turn has used this many tokens, input and output (exit status 5)
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Where a thread comes from; kept with the session
    #[arg(long, value_name = "SOURCE")]
    pub thread_source: Option<String>,
    /// Accepted for Codex's SDKs; without effect
    #[arg(long, value_name = "PROGRAM", hide = true)]
    pub cyber_access_program: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = false, subcommand_precedence_over_arg = true)]
pub struct Exec {
    #[command(flatten)]
    pub flags: Flags,
    #[command(flatten)]
    pub exec: ExecFlags,
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What to do; `-` or nothing: read it from stdin. Piped stdin beside a prompt is added as a `<stdin>` block
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Go on with an earlier session, by id or name, or the newest with --last
    Resume(Resume),
    /// Begin a new session with the history of an earlier one
    Fork(Fork),
}

#[derive(Debug, Clone, Args)]
pub struct Resume {
    #[command(flatten)]
    pub flags: Flags,
    #[command(flatten)]
    pub exec: ExecFlags,
    /// The newest session of this folder
    #[arg(long)]
    pub last: bool,
    /// With --last: of any folder
    #[arg(long)]
    pub all: bool,
    /// Id, name or file of the session; also of one of Codex, which goes on as a copy
    pub session: Option<String>,
    /// What to do next; `-` or nothing: read it from stdin
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct Fork {
    #[command(flatten)]
    pub flags: Flags,
    #[command(flatten)]
    pub exec: ExecFlags,
    /// Id, name or file of the session; also of one of Codex
    pub session: String,
    /// What to do next; nothing: only fork
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxFlag {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl SandboxFlag {
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxFlag::ReadOnly => "read-only",
            SandboxFlag::WorkspaceWrite => "workspace-write",
            SandboxFlag::DangerFullAccess => "danger-full-access",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Always,
    Never,
    Auto,
}

/// The name of a profile is part of a file's name. The words are upstream's.
fn plain_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    match !text.is_empty() && text.chars().all(plain) && !text.starts_with('.') {
        true => Ok(text.to_owned()),
        false => Err(format!("invalid --profile value `{text}`; pass a plain name such as `work`")),
    }
}

/// A length of time on the command line: seconds, or with a unit (90s, 10m, 2h).
pub fn seconds(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim_end_matches(|c: char| c.is_ascii_alphabetic()) {
        digits if digits.len() < text.len() => (digits, &text[digits.len()..]),
        digits => (digits, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(format!("`{unit}` is no unit of time; write 90s, 10m or 2h")),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(|| format!("`{text}` is no length of time"))
}

impl Flags {
    /// These flags, with those of a deeper level of the command line on top.
    pub fn with(mut self, inner: Flags) -> Flags {
        self.config.extend(inner.config);
        self.enable.extend(inner.enable);
        self.disable.extend(inner.disable);
        self.image.extend(inner.image);
        self.add_dir.extend(inner.add_dir);
        Flags {
            strict_config: self.strict_config || inner.strict_config,
            model: inner.model.or(self.model),
            harness: inner.harness.or(self.harness),
            oss: self.oss || inner.oss,
            local_provider: inner.local_provider.or(self.local_provider),
            chat_completions: self.chat_completions || inner.chat_completions,
            profile: inner.profile.or(self.profile),
            sandbox: inner.sandbox.or(self.sandbox),
            approve_for_me: self.approve_for_me || inner.approve_for_me,
            dangerously_bypass_approvals_and_sandbox: self.dangerously_bypass_approvals_and_sandbox
                || inner.dangerously_bypass_approvals_and_sandbox,
            dangerously_bypass_hook_trust: self.dangerously_bypass_hook_trust || inner.dangerously_bypass_hook_trust,
            cd: inner.cd.or(self.cd),
            worktree: self.worktree || inner.worktree,
            remote: inner.remote.or(self.remote),
            remote_auth_token_env: inner.remote_auth_token_env.or(self.remote_auth_token_env),
            config: self.config,
            enable: self.enable,
            disable: self.disable,
            image: self.image,
            add_dir: self.add_dir,
        }
    }
}

impl ExecFlags {
    pub fn with(self, inner: ExecFlags) -> ExecFlags {
        ExecFlags {
            json: self.json || inner.json,
            output_last_message: inner.output_last_message.or(self.output_last_message),
            output_schema: inner.output_schema.or(self.output_schema),
            color: inner.color.or(self.color),
            skip_git_repo_check: self.skip_git_repo_check || inner.skip_git_repo_check,
            trust: self.trust || inner.trust,
            ephemeral: self.ephemeral || inner.ephemeral,
            ignore_user_config: self.ignore_user_config || inner.ignore_user_config,
            ignore_rules: self.ignore_rules || inner.ignore_rules,
            max_steps: inner.max_steps.or(self.max_steps),
            max_time: inner.max_time.or(self.max_time),
            max_tokens: inner.max_tokens.or(self.max_tokens),
            thread_source: inner.thread_source.or(self.thread_source),
            cyber_access_program: inner.cyber_access_program.or(self.cyber_access_program),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        exec: Exec,
    }

    fn parse(words: &str) -> Exec {
        Line::try_parse_from(std::iter::once("exec").chain(words.split(' ')))
            .unwrap_or_else(|e| panic!("{words}: {e}"))
            .exec
    }

    #[test]
    fn the_sdk_puts_options_before_and_images_behind_resume() {
        let exec =
            parse("--experimental-json --config a=1 --sandbox read-only --cd D resume ID --image x.png --image y.png");
        let Some(Command::Resume(resume)) = exec.command else { panic!("no resume") };
        let flags = exec.flags.with(resume.flags);
        assert_eq!(resume.session.as_deref(), Some("ID"));
        assert_eq!(flags.image, [PathBuf::from("x.png"), PathBuf::from("y.png")]);
        assert_eq!((flags.config, flags.cd), (vec!["a=1".to_owned()], Some("D".into())));
        assert!(exec.exec.with(resume.exec).json);
    }

    #[test]
    fn an_image_does_not_swallow_the_words_behind_it() {
        let exec = parse("-i a.png,b.png resume ID");
        assert_eq!(exec.flags.image.len(), 2);
        assert!(matches!(exec.command, Some(Command::Resume(Resume { session: Some(_), .. }))));
        assert_eq!(parse("-i a.png prompt").prompt.as_deref(), Some("prompt"));
    }

    #[test]
    fn lengths_of_time() {
        let cases =
            [("90", Some(90)), ("90s", Some(90)), ("10m", Some(600)), ("2h", Some(7200)), ("2d", None), ("m", None)];
        for (text, expected) in cases {
            assert_eq!(seconds(text).ok(), expected, "{text}");
        }
    }
}
