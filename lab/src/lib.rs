//! Work on harnesses: compare them on a task of the user's, learn the words of an installed original.
mod compare;
mod learn;
mod list;

pub use compare::{Compare, compare};
pub use learn::{Learn, learn};
pub use list::list;
