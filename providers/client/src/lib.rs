//! Where models are, and how they are asked: providers with their keys, HTTP with retries, what is known of models, and what
//! providers want done differently.
//!
//! A wire makes bytes of a prompt and deltas of bytes; this crate carries both. It is the only one that opens connections to
//! models, and the only one that sees keys.
mod auth;
mod body;
pub mod catalog;
mod client;
mod failure;
mod headers;
mod models;
mod provider;
mod quirks;
mod registry;
mod retry;
mod secret;
mod transport;

pub use auth::{TokenCommand, TokenError, TokenSource};
pub use client::{Client, Request, Signal, Sleep};
pub use failure::AskError;
pub use models::{ModelOverrides, model_info};
pub use provider::{Auth, BadUrl, KeyStyle, Listed, Provider, Retries};
pub use quirks::{caps_for, quirks_for};
pub use registry::{Aws, ProviderConfig, Registry, RegistryError, Sources};
pub use secret::Secret;
pub use transport::page_client;
