//! Linux: the parent's side (this folder) and the helper's (`helper/`), with `order` and `channel` between them.
mod channel;
mod child;
mod detect;
mod helper;
mod limits;
mod order;
mod placeholder;
mod plan;
mod spawn;
mod sys;
mod tree;
mod weak;

pub use child::Child;
pub use detect::{detect, force_rung};
pub(crate) use detect::{trials, why_nothing};
pub use limits::raise_open_files;
pub use placeholder::sweep;
pub use spawn::{helper_if_asked, set_helper, spawn};
pub(crate) use sys::landlock_abi;
