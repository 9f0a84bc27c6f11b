//! The vocabulary of the program: plain data, no I/O, no clock, no randomness.
//!
//! Every other crate imports this one and this one imports none. Enums are tagged from outside (`{"reply": {...}}`),
//! because JSON kept raw does not survive serde's other taggings.
mod action;
mod captured;
mod counts;
mod delta;
mod event;
mod ids;
mod item;
mod model;
mod outcome;
pub mod path_text;
mod prompt;
mod raw;
mod reply;
mod settings;

pub use action::*;
pub use captured::*;
pub use counts::Counts;
pub use delta::*;
pub use event::*;
pub use ids::*;
pub use item::*;
pub use model::*;
pub use outcome::*;
pub use prompt::*;
pub use raw::Raw;
pub use reply::*;
pub use settings::*;
