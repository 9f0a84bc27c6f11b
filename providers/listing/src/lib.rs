//! What `interpreter providers` and `interpreter models` tell: which providers there are and could be used now, and what is
//! known of their models. Nothing is asked over the network.
mod models;
mod providers_list;
mod table;

pub use models::{Models, models};
pub use providers_list::{Providers, providers};
