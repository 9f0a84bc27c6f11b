//! Files: reading, changing all or nothing, keeping long texts.
pub(crate) mod change;
mod commit;
mod diff;
pub(crate) mod fence;
pub(crate) mod place;
pub(crate) mod read;
pub(crate) mod save;
pub(crate) mod stamp;
mod text;
mod utf16;
