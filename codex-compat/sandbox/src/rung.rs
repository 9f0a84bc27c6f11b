//! The ladder: how much of the jail this machine can build, and what is said about it.
use std::{fmt::Write, path::Path};

use serde::{Deserialize, Serialize};

/// From everything to nothing. `NoPid`: `/proc` is masked, so there is no process namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Namespaces of an ordinary user.
    User,
    UserNoPid,
    /// Namespaces made with real capabilities (root where user namespaces are off).
    Mount,
    MountNoPid,
    /// Landlock and seccomp only.
    Landlock,
    /// Commands are refused.
    Nothing,
}

impl Rung {
    pub const ALL: [Rung; 6] =
        [Rung::User, Rung::UserNoPid, Rung::Mount, Rung::MountNoPid, Rung::Landlock, Rung::Nothing];

    /// The short name used in reports and to force a rung in tests.
    pub fn name(self) -> &'static str {
        match self {
            Rung::User => "1",
            Rung::UserNoPid => "1b",
            Rung::Mount => "2",
            Rung::MountNoPid => "2b",
            Rung::Landlock => "3",
            Rung::Nothing => "4",
        }
    }

    pub fn from_name(name: &str) -> Option<Rung> {
        Rung::ALL.into_iter().find(|rung| rung.name() == name)
    }

    /// What the user should know, said once. None: everything is enforced.
    /// `workspace`: the folder whose top level is fixed; None in read-only mode, where nothing of that matters.
    pub fn message(self, workspace: Option<&Path>, weak: bool) -> Option<String> {
        match self {
            Rung::User | Rung::Mount => None,
            Rung::UserNoPid | Rung::MountNoPid => {
                Some("sandbox: /proc is masked here; running without a process namespace".to_owned())
            }
            Rung::Landlock => workspace.map(|workspace| {
                if weak {
                    "sandbox: .git and agent folders are checked after each command, not protected".to_owned()
                } else {
                    format!(
                        "sandbox: no namespaces here; new entries directly in {} are refused to protect .git. \
                         Allow namespaces, or accept unprotected .git with sandbox_linux.weak=true",
                        workspace.display()
                    )
                }
            }),
            #[cfg(target_os = "linux")]
            Rung::Nothing => Some(match crate::linux::why_nothing() {
                // What can be put right is no reason to go without a sandbox.
                Some(why) => why,
                None => "sandbox: this kernel offers neither namespaces nor Landlock; commands are refused. \
                         Use --sandbox danger-full-access inside a container or VM you trust"
                    .to_owned(),
            }),
            #[cfg(not(target_os = "linux"))]
            Rung::Nothing => Some(
                "sandbox: there is no sandbox for this system yet; commands are refused. \
                 Use --sandbox danger-full-access inside a container or VM you trust"
                    .to_owned(),
            ),
        }
    }

    fn enforces(self) -> &'static str {
        match self {
            Rung::User => "user, mount, process, IPC and network namespaces; Landlock and seccomp inside",
            Rung::UserNoPid => "user, mount, IPC and network namespaces; Landlock and seccomp inside",
            Rung::Mount => "mount, process, IPC and network namespaces (as root); Landlock and seccomp inside",
            Rung::MountNoPid => "mount, IPC and network namespaces (as root); Landlock and seccomp inside",
            Rung::Landlock => {
                "Landlock and seccomp; no sockets; times and modes of your own files elsewhere can change"
            }
            Rung::Nothing => "nothing: commands are refused in read-only and workspace-write",
        }
    }
}

#[cfg(target_os = "linux")]
impl Rung {
    pub(crate) fn has_user_ns(self) -> bool {
        matches!(self, Rung::User | Rung::UserNoPid)
    }

    pub(crate) fn has_mounts(self) -> bool {
        matches!(self, Rung::User | Rung::UserNoPid | Rung::Mount | Rung::MountNoPid)
    }

    pub(crate) fn has_pid_ns(self) -> bool {
        matches!(self, Rung::User | Rung::Mount)
    }
}

/// Text of `interpreter sandbox --check`: the rung, what it enforces, and its message. Makes a trial run.
pub fn check_report() -> String {
    let rung = crate::detect();
    let mut text = format!("rung {}: {}\n", rung.name(), rung.enforces());
    if let Some(message) = rung.message(Some(Path::new("the workspace")), false) {
        let _ = writeln!(text, "{message}");
    }
    #[cfg(target_os = "linux")]
    {
        // A shortage is in the message already.
        for (rung, failure) in crate::linux::trials().unwrap_or_default() {
            let _ = writeln!(text, "rung {} is not possible here: {failure}", rung.name());
        }
        let abi = crate::linux::landlock_abi();
        let _ = writeln!(text, "Landlock ABI: {}", if abi > 0 { abi.to_string() } else { "none".to_owned() });
        text.push_str("A system bwrap (rung 1c) is not used.\n");
    }
    text
}
