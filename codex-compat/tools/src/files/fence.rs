//! What the file tools may write: exactly what the jail lets a command write, or everything once that is allowed.
use std::path::Path;

use protocol::SandboxMode;
use sandbox::Spec;

#[derive(Clone, Copy)]
pub(crate) struct Fence<'a> {
    /// None: no fence.
    spec: Option<&'a Spec>,
}

impl<'a> Fence<'a> {
    pub(crate) fn new(spec: &'a Spec, outside: bool) -> Fence<'a> {
        Fence { spec: (!outside && !spec.unconfined()).then_some(spec) }
    }

    #[cfg(test)]
    pub(crate) fn none() -> Fence<'static> {
        Fence { spec: None }
    }

    /// `real`: a path without links.
    pub(crate) fn may_write(&self, real: &Path) -> bool {
        self.spec.is_none_or(|spec| spec.may_write(real))
    }

    pub(crate) fn read_only(&self) -> bool {
        self.spec.is_some_and(|spec| spec.mode == SandboxMode::ReadOnly)
    }

    /// The innermost writable root around a real path; `/` without a fence. None: outside of all.
    pub(crate) fn root(&self, real: &Path) -> Option<&'a Path> {
        match self.spec {
            None => Some(Path::new("/")),
            Some(spec) => {
                spec.writable_roots().filter(|root| real.starts_with(root)).max_by_key(|root| root.components().count())
            }
        }
    }
}
