//! The jail: runs one command so that it can read the machine, write where the policy says, and reach no network.
//!
//! [`Spec`] is a policy resolved against the disk, [`spawn`] runs a [`Launch`] under it and gives a [`Child`] whose whole
//! process tree ends when it is told to or dropped. On Linux the work is done by the program's own executable, started
//! again as a *helper*: `main` must call [`helper_if_asked`] as its first statement. What the machine can enforce is a
//! [`Rung`], found by one trial ([`detect`]). What cannot be enforced is refused, never run without its walls. Not there
//! yet: using a system bwrap where only that may make namespaces (rung 1c), and jails for macOS and Windows.
mod error;
#[cfg(unix)]
mod foreground;
#[cfg(unix)]
mod launch;
#[cfg(target_os = "linux")]
mod linux;
mod network;
#[cfg(all(unix, not(target_os = "linux")))]
mod plain;
mod protected;
mod rung;
mod spec;

pub use error::{Error, Failure};
#[cfg(unix)]
pub use foreground::run_foreground;
#[cfg(unix)]
pub use launch::{Launch, Session, Size, Status, Stdin, Stream};
#[cfg(target_os = "linux")]
pub use linux::{Child, detect, force_rung, helper_if_asked, raise_open_files, set_helper, spawn, sweep};
pub use network::network_off_env;
#[cfg(all(unix, not(target_os = "linux")))]
pub use plain::{Child, spawn};
pub use rung::{Rung, check_report};
pub use spec::{Root, RootKind, Spec, Surroundings};

/// Names at the top of a writable root that stay read-only, also when they do not exist yet: they steer programs that
/// run outside of the sandbox (hooks of git, configuration of agents and of cloud tools).
pub const PROTECTED: [&str; 5] = [".git", ".openinterpreter", ".codex", ".agents", ".aws"];

/// Only Linux needs a helper.
#[cfg(not(target_os = "linux"))]
pub fn helper_if_asked() {}

/// Only Linux has a helper that gives commands the old limit back.
#[cfg(not(target_os = "linux"))]
pub fn raise_open_files() {}

/// Only Linux has a jail so far.
#[cfg(not(target_os = "linux"))]
pub fn detect() -> Rung {
    Rung::Nothing
}

/// For tests: a folder for temporary ones that is not below `/tmp` or `$TMPDIR`, where everything would be writable. That is
/// `preferred` unless the checkout itself lies there.
#[doc(hidden)]
pub fn ground_for_tests(preferred: impl Into<std::path::PathBuf>) -> std::path::PathBuf {
    let real = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let writable = [std::path::PathBuf::from("/tmp"), std::env::temp_dir()].map(|dir| real(&dir));
    let fits = |dir: &std::path::PathBuf| !writable.iter().any(|root| real(dir).starts_with(root));
    let preferred = preferred.into();
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let others = [Some("/var/tmp".into()), home].into_iter().flatten();
    std::iter::once(preferred.clone()).chain(others).find(fits).unwrap_or(preferred)
}

/// Makes a test executable able to act as the sandbox helper of the code that it tests. One line at module level of
/// every test binary that runs commands: `sandbox::helper_in_tests!();`
#[macro_export]
macro_rules! helper_in_tests {
    () => {
        #[cfg(target_os = "linux")]
        #[used]
        #[unsafe(link_section = ".init_array")]
        static SANDBOX_HELPER: extern "C" fn() = {
            extern "C" fn before_main() {
                $crate::helper_if_asked();
            }
            before_main
        };
    };
}
