//! `interpreter gateway`: a local HTTP endpoint that serves all three wires and asks any provider, so that an unmodified
//! Codex, Claude Code or SDK app reaches any model by its base URL alone. The client's own prompt and tools pass through; what
//! its wire calls differently, and what the provider cannot stand, is mended on the way.
//!
//! One thread. A stream is made as the client reads it, so a slow client holds up its own provider and nobody's memory, and
//! a client that goes away takes its request with it.
mod access;
mod answer;
mod models;
mod payload;
mod routes;
mod server;

use std::{collections::BTreeMap, net::SocketAddr};

use clap::Args;
use providers::Registry;

use crate::{access::Access, routes::Routes, server::Server};

#[derive(Debug, Clone, Args)]
pub struct Gateway {
    /// Where to listen; port 0 takes a free one. Beyond this machine only with --token-env
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8462")]
    pub listen: SocketAddr,
    /// The provider that is asked (default: `model_provider` of the configuration)
    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<String>,
    /// The model that answers where a client asks for one that the provider does not have
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Variable that holds the bearer token which clients must show
    #[arg(long, value_name = "VAR")]
    pub token_env: Option<String>,
}

/// What the configuration says.
pub struct Setup {
    pub registry: Registry,
    /// `[gateway.models]`: the name that clients ask by → `provider/model`, or a model of the provider.
    pub aliases: BTreeMap<String, String>,
    /// `model_max_output_tokens`.
    pub max_output: Option<u64>,
}

/// Serves until the process is told to end. `say` gets the line that tells where. Err: one line for the user.
pub async fn run(args: Gateway, setup: Setup, say: impl FnOnce(&str)) -> Result<(), String> {
    let access = Access::new(args.listen, args.token_env.as_deref(), |name| std::env::var(name).ok())?;
    let routes = Routes::new(setup, args.provider, args.model)?;
    let server = Server::bind(args.listen, access, routes).await?;
    say(&format!("Gateway on http://{} {}\n", server.address(), server.routes().summary()));
    // The server's connections are not `Send`, and need not be.
    tokio::task::LocalSet::new().run_until(server.serve()).await;
    Ok(())
}
