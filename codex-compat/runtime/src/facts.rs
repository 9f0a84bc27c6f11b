//! Looks at the world for a harness. Each answer becomes an item, so that a prompt never depends on when it was made.
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use harnesses::Moment;
use protocol::{Body, Fact, GitFact, Outcome, ReadAs, Stamp, TurnError, Want, World};

use crate::thread::Thread;

impl Thread {
    /// Looks up what the harness wants before `moment`, and records it.
    pub(crate) async fn look(&self, moment: Moment) -> Result<Vec<Fact>, TurnError> {
        let wants = self.with(|cx| self.harness.wants(cx, moment));
        let mut facts = Vec::with_capacity(wants.len());
        for want in wants {
            let Some(fact) = self.fact(&want).await else { continue };
            self.record(Body::Fact(fact.clone()))?;
            facts.push(fact);
        }
        Ok(facts)
    }

    async fn fact(&self, want: &Want) -> Option<Fact> {
        Some(match want {
            Want::Date => {
                let now = jiff::Zoned::now();
                let zone = now.time_zone().iana_name().unwrap_or("Etc/UTC");
                let zone = if zone == "UTC" { "Etc/UTC" } else { zone };
                Fact::Date { date: now.date().to_string(), zone: zone.to_owned() }
            }
            Want::Home => Fact::Home(std::env::home_dir()),
            Want::System => {
                let uname = rustix::system::uname();
                let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
                Fact::System {
                    system: text(uname.sysname()),
                    release: text(uname.release()),
                    version: text(uname.version()),
                    machine: text(uname.machine()),
                }
            }
            Want::Shell => {
                let shell = tools::user_shell();
                Fact::Shell(shell.file_name().map_or_else(|| "sh".into(), |n| n.to_string_lossy().into_owned()))
            }
            Want::Git => Fact::Git(git(&self.settings().cwd).await),
            Want::Listing { path, depth, limit, respect_ignore } => {
                let path = self.settings().cwd.join(path);
                let (entries, more) = if *respect_ignore {
                    self.host.unignored(&path, *depth, *limit).await
                } else {
                    let mut entries = Vec::new();
                    let more = list(&path, Path::new(""), *depth, *limit, &mut entries);
                    (entries, more)
                };
                Fact::Listing { path, entries, more }
            }
            Want::Stamps(paths) => {
                let mut stamps = Vec::new();
                for path in paths {
                    stamps.push((path.clone(), self.host.stamp(&self.settings().cwd.join(path)).await));
                }
                Fact::Stamps(stamps)
            }
            Want::Changed(known) => {
                let mut changed = Vec::new();
                for (path, known) in known {
                    changed.extend(self.changed(path, known).await);
                }
                if changed.is_empty() {
                    return None;
                }
                Fact::Changed(changed)
            }
            Want::Roots => self.scope.roots(),
            Want::Skill(name) => return self.skill_fact(name).await,
        })
    }
}

/// Bytes of a changed file's text that a harness is told.
const CHANGED: u64 = 256 << 10;

impl Thread {
    /// The file's present version, where it is another than `known`.
    async fn changed(&self, path: &Path, known: &Stamp) -> Option<(PathBuf, Stamp, Option<String>)> {
        let now = self.host.stamp(&self.settings().cwd.join(path)).await?;
        if now.len == known.len && now.hash == known.hash {
            return None;
        }
        let read = World::Read { path: path.to_owned(), what: ReadAs::Text { max_bytes: CHANGED } };
        Some(match self.host.perform(&self.scope, read).await {
            Outcome::Text { text, form, stamp } if form.utf8 => (path.to_owned(), stamp, Some(text)),
            _ => (path.to_owned(), now, None),
        })
    }
}

/// Folder entries, folders with a slash behind them, sorted; true where there are more than `limit`.
fn list(root: &Path, below: &Path, depth: u8, limit: usize, entries: &mut Vec<String>) -> bool {
    let Ok(folder) = std::fs::read_dir(root.join(below)) else { return false };
    let mut names: Vec<_> = folder.flatten().map(|e| (e.file_name(), e.path().is_dir())).collect();
    names.sort();
    for (name, is_folder) in names {
        if entries.len() >= limit {
            return true;
        }
        let path = below.join(&name);
        entries.push(format!("{}{}", path.display(), if is_folder { "/" } else { "" }));
        if is_folder && depth > 1 && name != ".git" && list(root, &path, depth - 1, limit, entries) {
            return true;
        }
    }
    false
}

/// Branch, status and last commits by `git`, with everything of the repository's own configuration that could run a program off.
async fn git(cwd: &Path) -> Option<GitFact> {
    let ask = async |args: &[&str]| -> Option<String> {
        let output = tokio::process::Command::new("git")
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"])
            .args(args)
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(std::time::Duration::from_secs(5), output).await.ok()?.ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    };
    let root = ask(&["rev-parse", "--show-toplevel"]).await?;
    let branch = ask(&["symbolic-ref", "--short", "HEAD"]).await;
    let main = ask(&["symbolic-ref", "--short", "refs/remotes/origin/HEAD"]).await;
    let main = main.map(|m| m.trim_start_matches("origin/").to_owned());
    let status = ask(&["status", "--short"]).await.unwrap_or_default();
    let commits = ask(&["log", "--oneline", "-n", "5"]).await.unwrap_or_default();
    Some(GitFact { root: root.into(), branch, main, status, commits: commits.lines().map(str::to_owned).collect() })
}
