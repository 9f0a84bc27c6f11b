//! Bash, Read and the edit tools of 1.0.60, 2.0.30 and 2.1.20, where their results differ from those of the newest version, and
//! the tools that are gone since: LS, MultiEdit, NotebookRead.
pub(super) mod bash;
pub(super) mod edit;
pub(super) mod list;
pub(super) mod multi_edit;
pub(super) mod read;
pub(super) mod snippet;

use super::{args, generation, shared};
