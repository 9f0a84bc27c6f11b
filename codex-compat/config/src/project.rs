//! The project that a run works in: its root, its Git root (found without running git), and whether the user trusts it.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{node::Node, paths::expand_tilde};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    Trusted,
    Untrusted,
}

impl TrustLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            TrustLevel::Trusted => "trusted",
            TrustLevel::Untrusted => "untrusted",
        }
    }
}

/// What the user said of a folder, and under which `[projects]` key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// None: never asked.
    pub level: Option<TrustLevel>,
    pub key: Option<String>,
}

impl Trust {
    pub fn trusted(&self) -> bool {
        self.level == Some(TrustLevel::Trusted)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    pub cwd: PathBuf,
    /// Nearest folder upward with a root marker; the working directory where there is none.
    pub root: PathBuf,
    pub git_root: Option<PathBuf>,
    pub trust: Trust,
}

impl Project {
    /// `markers`: names that make a folder the root; with none of them every folder is its own root.
    pub(crate) fn find(cwd: &Path, markers: &[String]) -> Project {
        let marked = |dir: &&Path| markers.iter().any(|marker| !marker.is_empty() && marks(&dir.join(marker)));
        let root = cwd.ancestors().find(marked).unwrap_or(cwd).to_owned();
        Project { cwd: cwd.to_owned(), root, git_root: git_root(cwd), trust: Trust::default() }
    }

    /// Root to working directory, both included.
    pub fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = self.cwd.ancestors().take_while(|dir| dir.starts_with(&self.root)).collect();
        folders.reverse();
        folders
    }

    /// The folder whose trust is written: Git root (of the main work tree), or the working directory.
    pub fn trust_root(&self) -> PathBuf {
        let root = self.git_root.as_deref();
        root.map_or_else(|| self.cwd.clone(), |root| main_work_tree(root).unwrap_or_else(|| root.to_owned()))
    }

    /// What `projects` (a table by path) says: of the working directory, else of the Git root, else of its main work tree.
    pub(crate) fn trust_in(&self, projects: &[&Node], user_home: Option<&Path>) -> Trust {
        let mut folders = vec![self.cwd.clone(), self.root.clone()];
        folders.extend(self.git_root.clone());
        folders.push(self.trust_root());
        for folder in &folders {
            let real = std::fs::canonicalize(folder).ok();
            for table in projects.iter().filter_map(|node| node.as_table()) {
                for (key, entry) in table {
                    let path = expand_tilde(key, user_home);
                    if path != *folder && Some(&path) != real.as_ref() {
                        continue;
                    }
                    let level = match entry.get(&["trust_level"]).and_then(Node::as_text) {
                        Some("trusted") => TrustLevel::Trusted,
                        Some(_) => TrustLevel::Untrusted,
                        None => continue,
                    };
                    return Trust { level: Some(level), key: Some(key.clone()) };
                }
            }
        }
        Trust::default()
    }
}

/// The nearest folder upward that holds `.git`, a folder or (work trees, submodules) a file.
pub fn git_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|dir| marks(&dir.join(".git"))).map(Path::to_owned)
}

/// Of a linked work tree: the work tree that it belongs to. Git's own link back is asked for, so that a folder cannot claim the
/// trust of a repository that knows nothing of it.
fn main_work_tree(root: &Path) -> Option<PathBuf> {
    let link = root.join(".git");
    if !std::fs::symlink_metadata(&link).ok()?.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(&link).ok()?;
    let entry = root.join(text.strip_prefix("gitdir:")?.trim());
    let back = std::fs::read_to_string(entry.join("gitdir")).ok()?;
    let known = std::fs::canonicalize(entry.join(back.trim())).ok()? == std::fs::canonicalize(&link).ok()?;
    let git_dir = entry.parent().filter(|dir| dir.ends_with("worktrees"))?.parent()?;
    let main = git_dir.parent().filter(|_| git_dir.ends_with(".git"))?;
    known.then(|| std::fs::canonicalize(main).ok()).flatten()
}

/// Something is there. An empty `.git` is no repository: sandboxes put such place-holders where a command must not create one,
/// and leave them behind when they are killed.
fn marks(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| {
        let placeholder = found.is_dir() && path.ends_with(".git");
        !placeholder || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use pretty_assertions::assert_eq;
    use std::fs;

    fn temp() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = fs::canonicalize(dir.path()).expect("real");
        (dir, path)
    }

    #[test]
    fn roots() {
        let (_guard, top) = temp();
        fs::create_dir_all(top.join("repo/.git/refs")).expect("git");
        fs::create_dir_all(top.join("repo/a/b")).expect("dirs");
        fs::create_dir_all(top.join("repo/a/b/.git")).expect("place-holder");
        fs::write(top.join("repo/a/package.json"), "").expect("marker");
        let markers = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let check = |names: &[&str], root: &str, folders: &[&str]| {
            let project = Project::find(&top.join("repo/a/b"), &markers(names));
            let folders: Vec<PathBuf> = folders.iter().map(|dir| top.join(dir)).collect();
            assert_eq!(project.root, top.join(root));
            assert_eq!(project.folders(), folders);
            assert_eq!(project.git_root, Some(top.join("repo")));
        };
        check(&[".git"], "repo", &["repo", "repo/a", "repo/a/b"]);
        check(&["package.json", ".git"], "repo/a", &["repo/a", "repo/a/b"]);
        check(&[], "repo/a/b", &["repo/a/b"]);
        check(&["nope"], "repo/a/b", &["repo/a/b"]);
        assert_ne!(git_root(&top), Some(top));
    }

    #[test]
    fn trust_is_of_the_folder_or_its_git_root() {
        let (_guard, top) = temp();
        fs::create_dir_all(top.join("repo/.git/refs")).expect("git");
        fs::create_dir_all(top.join("repo/sub")).expect("dirs");
        let check = |cwd: &str, projects: &[(&str, &str)], expected: Option<TrustLevel>| {
            let mut text = String::new();
            for (dir, level) in projects {
                text += &format!("['{}']\ntrust_level = '{level}'\n", top.join(dir).display());
            }
            let node = parse(&text, 0).expect("projects");
            let project = Project::find(&top.join(cwd), &[".git".to_owned()]);
            assert_eq!(project.trust_in(&[&node], None).level, expected, "{cwd} {projects:?}");
        };
        check("repo", &[], None);
        check("repo/sub", &[("repo", "trusted")], Some(TrustLevel::Trusted));
        check("repo/sub", &[("repo", "trusted"), ("repo/sub", "untrusted")], Some(TrustLevel::Untrusted));
        check("repo", &[("repo/sub", "trusted")], None);
        check("repo", &[("", "trusted")], None);
        check("repo", &[("repo", "anything")], Some(TrustLevel::Untrusted));
    }

    #[test]
    fn a_linked_work_tree_shares_the_trust_of_its_repository_only_if_that_knows_it() {
        let (_guard, top) = temp();
        let entry = top.join("main/.git/worktrees/wt");
        fs::create_dir_all(&entry).expect("entry");
        for name in ["wt", "stranger"] {
            fs::create_dir_all(top.join(name)).expect("dir");
            fs::write(top.join(name).join(".git"), format!("gitdir: {}\n", entry.display())).expect("link");
        }
        fs::write(entry.join("gitdir"), format!("{}\n", top.join("wt/.git").display())).expect("back");
        let root = |name: &str| Project::find(&top.join(name), &[".git".to_owned()]).trust_root();
        assert_eq!(root("wt"), top.join("main"));
        assert_eq!(root("stranger"), top.join("stranger"));
    }
}
