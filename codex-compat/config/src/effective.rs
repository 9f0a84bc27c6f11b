//! What the config comes to: sandbox and approval policy, with the defaults that depend on trust.
use std::path::{Path, PathBuf};

use protocol::{ApprovalPolicy, SandboxMode, SandboxPolicy};

use crate::{
    Config,
    schema::{Any, NetworkMode, PermissionProfile},
};

/// The sandbox in force: `sandbox_mode`, else the profile that `default_permissions` names, else by trust of the folder:
/// workspace-write where it is trusted, read-only where not.
pub fn effective_sandbox(config: &Config, trusted: bool) -> SandboxPolicy {
    let mut policy = match (config.sandbox_mode, &config.default_permissions) {
        (Some(mode), _) => by_mode(config, mode),
        (None, Some(name)) => match resolve(config, name) {
            Ok(resolved) => resolved.policy,
            Err(_) => SandboxPolicy::new(SandboxMode::ReadOnly),
        },
        (None, None) if trusted => by_mode(config, SandboxMode::WorkspaceWrite),
        (None, None) => by_mode(config, SandboxMode::ReadOnly),
    };
    policy.weak = *config.sandbox_linux.weak;
    policy
}

/// `approval_policy`, or on-request. `exec` runs with `never`, whatever this says.
pub fn effective_approval(config: &Config) -> ApprovalPolicy {
    config.approval_policy.map_or(ApprovalPolicy::OnRequest, |setting| setting.policy())
}

/// `[sandbox_workspace_write]` belongs to that mode alone.
fn by_mode(config: &Config, mode: SandboxMode) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(mode);
    if mode == SandboxMode::WorkspaceWrite {
        let table = &config.sandbox_workspace_write;
        policy.writable_roots = table.writable_roots.iter().map(|root| root.0.clone()).collect();
        policy.network = *table.network_access;
        policy.exclude_tmpdir = *table.exclude_tmpdir_env_var;
        policy.exclude_slash_tmp = *table.exclude_slash_tmp;
    }
    policy
}

/// A permission profile as a sandbox policy, and what of it the sandbox does not tell apart.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub policy: SandboxPolicy,
    pub notes: Vec<String>,
}

/// Err: no such profile, a circle, or a rule that would be broken if it were passed over (`deny`).
pub(crate) fn resolve(config: &Config, name: &str) -> Result<Resolved, String> {
    let mut chain: Vec<(&str, &PermissionProfile)> = Vec::new();
    let mut next = Some(name);
    let mut policy = closed();
    while let Some(name) = next {
        policy = match name {
            ":read-only" => by_mode(config, SandboxMode::ReadOnly),
            ":workspace" | ":workspace-write" => by_mode(config, SandboxMode::WorkspaceWrite),
            ":danger-full-access" => by_mode(config, SandboxMode::DangerFullAccess),
            _ => {
                let Some(profile) = config.permissions.get(name) else {
                    return Err(format!("no permission profile `{name}`; {}", known(config)));
                };
                if chain.iter().any(|(seen, _)| *seen == name) {
                    return Err(format!("permission profile `{name}` extends itself"));
                }
                chain.push((name, profile));
                next = profile.extends.as_deref();
                continue;
            }
        };
        next = None;
    }
    let mut resolved = Resolved { policy, notes: Vec::new() };
    for (name, profile) in chain.into_iter().rev() {
        resolved.lay(name, profile)?;
    }
    Ok(resolved)
}

/// A profile that extends nothing starts with nothing writable.
fn closed() -> SandboxPolicy {
    SandboxPolicy { exclude_tmpdir: true, exclude_slash_tmp: true, ..SandboxPolicy::new(SandboxMode::ReadOnly) }
}

fn known(config: &Config) -> String {
    let own = config.permissions.keys().map(String::as_str);
    let all: Vec<&str> = own.chain([":read-only", ":workspace", ":danger-full-access"]).collect();
    format!("known are {}", all.join(", "))
}

impl Resolved {
    fn lay(&mut self, name: &str, profile: &PermissionProfile) -> Result<(), String> {
        for (path, rule) in &profile.filesystem {
            match rule {
                Any::String(access) => self.rule(name, path, access)?,
                Any::Object(below) => {
                    for (inner, access) in below {
                        let whole = match inner.as_str() {
                            "." => path.clone(),
                            inner => Path::new(path).join(inner).to_string_lossy().into_owned(),
                        };
                        self.rule(name, &whole, access.as_str().unwrap_or_default())?;
                    }
                }
                _ if path == "glob_scan_max_depth" => {}
                _ => return Err(format!("permission profile `{name}`: `{path}` must be `read`, `write` or `deny`")),
            }
        }
        if let Some(network) = &profile.network {
            let on = network.enabled == Some(true);
            // There is no filter by domain: a limited network is none at all.
            let limited = network.mode == Some(NetworkMode::Limited) || !network.domains.is_empty();
            if on && limited {
                let note = "network is limited to some domains, which the sandbox cannot tell apart: it stays off";
                self.notes.push(format!("permission profile `{name}`: {note}"));
            }
            self.policy.network = on && !limited;
        }
        Ok(())
    }

    fn rule(&mut self, name: &str, path: &str, access: &str) -> Result<(), String> {
        let glob = path.contains(['*', '?', '[']);
        match (access, path) {
            ("deny" | "none", _) => Err(format!(
                "permission profile `{name}` denies `{path}`, which the sandbox cannot enforce yet; set `sandbox_mode` instead"
            )),
            ("write", ":workspace_roots" | ":project_roots" | ":cwd") => {
                self.at_least_workspace();
                Ok(())
            }
            ("write", ":tmpdir") => {
                self.policy.exclude_tmpdir = false;
                Ok(())
            }
            ("write", ":slash_tmp" | "/tmp") => {
                self.policy.exclude_slash_tmp = false;
                Ok(())
            }
            ("write", path) if Path::new(path).is_absolute() && !glob => {
                self.at_least_workspace();
                self.policy.writable_roots.push(PathBuf::from(path));
                Ok(())
            }
            ("write", path) => {
                self.notes.push(format!(
                    "permission profile `{name}`: `{path}` is not made writable, only absolute paths are"
                ));
                Ok(())
            }
            ("read", ":root" | ":minimal" | ":workspace_roots") => Ok(()),
            ("read", path) => {
                self.notes.push(format!(
                    "permission profile `{name}`: reading is not limited to `{path}`, all files can be read"
                ));
                Ok(())
            }
            (other, path) => {
                Err(format!("permission profile `{name}`: `{path}` must be `read`, `write` or `deny`, not `{other}`"))
            }
        }
    }

    fn at_least_workspace(&mut self) {
        if self.policy.mode == SandboxMode::ReadOnly {
            self.policy.mode = SandboxMode::WorkspaceWrite;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn config(text: &str) -> Config {
        toml::from_str(text).expect(text)
    }

    #[test]
    fn sandbox_by_mode_and_trust() {
        let check = |text: &str, trusted: bool, expected: SandboxPolicy| {
            assert_eq!(effective_sandbox(&config(text), trusted), expected, "{text}");
        };
        let new = SandboxPolicy::new;
        check("", false, new(SandboxMode::ReadOnly));
        check("", true, new(SandboxMode::WorkspaceWrite));
        check("sandbox_mode = 'workspace-write'", false, new(SandboxMode::WorkspaceWrite));
        check("sandbox_mode = 'danger-full-access'", false, new(SandboxMode::DangerFullAccess));
        let table = "[sandbox_workspace_write]\nwritable_roots = ['/x']\nnetwork_access = true\nexclude_slash_tmp = true\n\
                     exclude_tmpdir_env_var = true\n[sandbox_linux]\nweak = true";
        check(table, false, SandboxPolicy { weak: true, ..new(SandboxMode::ReadOnly) });
        let all = SandboxPolicy {
            writable_roots: vec!["/x".into()],
            network: true,
            exclude_tmpdir: true,
            exclude_slash_tmp: true,
            weak: true,
            ..new(SandboxMode::WorkspaceWrite)
        };
        check(table, true, all);
    }

    #[test]
    fn sandbox_by_permission_profile() {
        let check = |text: &str, expected: Result<SandboxPolicy, &str>| {
            let config = config(text);
            let name = config.default_permissions.clone().expect("named");
            match (resolve(&config, &name), expected) {
                (Ok(resolved), Ok(policy)) => assert_eq!(resolved.policy, policy, "{text}"),
                (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
                (other, _) => panic!("{text}: {other:?}"),
            }
        };
        let new = SandboxPolicy::new;
        check("default_permissions = ':read-only'", Ok(new(SandboxMode::ReadOnly)));
        check("default_permissions = ':workspace'", Ok(new(SandboxMode::WorkspaceWrite)));
        check("default_permissions = ':danger-full-access'", Ok(new(SandboxMode::DangerFullAccess)));
        check("default_permissions = 'x'", Err("no permission profile `x`; known are :read-only"));
        check("default_permissions = 'x'\n[permissions.x]\nextends = 'x'", Err("extends itself"));
        check("default_permissions = 'x'\n[permissions.x.filesystem]\n'/a' = 'deny'", Err("denies `/a`"));
        check("default_permissions = 'x'\n[permissions.x.filesystem]\n'/a' = 'rw'", Err("not `rw`"));
        check("default_permissions = 'x'\n[permissions.x]", Ok(closed()));
        let extended = "default_permissions = 'x'\n[permissions.x]\nextends = 'y'\nnetwork.enabled = true\n\
                        [permissions.y]\nextends = ':workspace'\nfilesystem = { '/data' = 'write' }";
        let expected =
            SandboxPolicy { writable_roots: vec!["/data".into()], network: true, ..new(SandboxMode::WorkspaceWrite) };
        check(extended, Ok(expected));
        let limited = "default_permissions = 'x'\n[permissions.x]\nextends = ':workspace'\n[permissions.x.network]\n\
                       enabled = true\ndomains = { 'a.b' = 'allow' }";
        check(limited, Ok(new(SandboxMode::WorkspaceWrite)));
    }

    #[test]
    fn approval() {
        let check = |text: &str, expected| assert_eq!(effective_approval(&config(text)), expected, "{text}");
        check("", ApprovalPolicy::OnRequest);
        for policy in ["untrusted", "on-failure", "on-request", "never"] {
            assert_eq!(effective_approval(&config(&format!("approval_policy = '{policy}'"))).as_str(), policy);
        }
        check("approval_policy = { granular = { rules = true } }", ApprovalPolicy::OnRequest);
    }
}
