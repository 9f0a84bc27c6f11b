//! The command line: which commands there are. What a command takes is defined where it is carried out.
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use exec::{Exec, Flags};

/// A coding agent for the terminal that speaks to every model in the harness it was tuned for
#[derive(Debug, Parser)]
#[command(name = "interpreter", bin_name = "interpreter", version, subcommand_precedence_over_arg = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// What to do (needs the terminal interface, which this version does not have: use `interpreter exec`)
    #[arg(hide = true)]
    pub(crate) prompt: Option<String>,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // One value in the life of the process.
pub(crate) enum Command {
    /// Carry out one task without a terminal interface
    #[command(visible_alias = "e")]
    Exec(Exec),
    /// Watch a scripted model fix a failing test in a small repository: no key, no network
    Demo(Demo),
    /// Run a command in the sandbox that commands of the model run in
    Sandbox(Sandbox),
    /// Say what a resume would mend in a session, or mend it
    Repair(Repair),
    /// List the harnesses, or show one as it would be sent
    #[command(subcommand)]
    Harness(Harness),
    /// List providers, or show one
    #[command(subcommand)]
    Providers(listing::Providers),
    /// List models
    #[command(subcommand)]
    Models(listing::Models),
    /// Serve all three wires on this machine and ask any provider: for Codex, Claude Code, SDK apps
    Gateway(gateway::Gateway),
    /// Look into the program
    #[command(subcommand)]
    Debug(Debug),
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The harness to speak in
    #[arg(long, default_value = "native")]
    pub(crate) harness: String,
    /// The wire to speak over
    #[arg(long, value_enum, default_value = "responses")]
    pub(crate) wire: WireName,
    /// Where to create the repository: a folder that does not exist yet (default: a temporary one)
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WireName {
    Responses,
    Chat,
    Messages,
}

#[derive(Debug, Args)]
pub(crate) struct Sandbox {
    #[command(flatten)]
    pub(crate) flags: Flags,
    /// Print what this machine's kernel lets us enforce
    #[arg(long)]
    pub(crate) check: bool,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// Id or name of the session
    pub(crate) session: String,
    /// Mend it; without this, only say what would be done
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // One value in the life of the process.
pub(crate) enum Harness {
    /// All harnesses, one a line: built-in ones, yours, those of a trusted project
    List {
        /// As JSON, with where each comes from
        #[arg(long)]
        json: bool,
    },
    /// Prompt and tools of one
    Show {
        id: String,
    },
    Learn(lab::Learn),
    /// Run one task under several harnesses, each in a Git worktree, and tell how they did
    Compare(lab::Compare),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Debug {
    /// Every configuration value in force and where it comes from
    Config {
        #[command(flatten)]
        flags: Flags,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
