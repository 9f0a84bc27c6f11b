//! Roots and guards on small trees.
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    /// Folders end with `/`, links are written `name -> target`, all else is a file.
    fn new(entries: &[&str]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for entry in entries {
            if let Some((name, target)) = entry.split_once(" -> ") {
                symlink(target, tree.path(name)).unwrap();
            } else if entry.ends_with('/') {
                fs::create_dir_all(tree.path(entry)).unwrap();
            } else {
                let (name, text) = entry.split_once('=').unwrap_or((entry, ""));
                fs::create_dir_all(tree.path(name).parent().unwrap()).unwrap();
                fs::write(tree.path(name), text.replace("ROOT", tree.path("").to_str().unwrap())).unwrap();
            }
        }
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    /// With `w` as workspace and the others as extra roots; no temporary folders.
    fn spec(&self, extra: &[&str]) -> Spec {
        let mut policy = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
        policy.writable_roots = extra.iter().map(|name| self.path(name)).collect();
        (policy.exclude_slash_tmp, policy.exclude_tmpdir) = (true, true);
        let around = Surroundings { tmpdir: None, home: None, state: &self.path("state") };
        Spec::resolve(&policy, &self.path("w"), &around).unwrap()
    }

    fn relative(&self, paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
        let root = self.path("");
        paths.into_iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
    }

    fn protected(&self, extra: &[&str]) -> Vec<String> {
        self.relative(self.spec(extra).protected())
    }
}

#[test]
fn roots_are_real_outer_first_and_once() {
    let tree = Tree::new(&["w/sub/", "z/", "link -> z"]);
    let spec = tree.spec(&["z", "w/sub", "link", "gone"]);
    let roots = tree.relative(spec.writable_roots().map(Path::to_owned));
    assert_eq!(roots, ["w", "w/sub", "z"]);
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec);
}

#[test]
fn every_root_guards_its_names_existing_or_not() {
    let tree = Tree::new(&["w/.git/"]);
    assert_eq!(tree.protected(&[]), ["w/.agents", "w/.aws", "w/.codex", "w/.git", "w/.openinterpreter"]);
}

#[test]
fn a_worktree_guards_the_git_folders_that_it_points_to() {
    let tree = Tree::new(&[
        "w/.git=gitdir: ROOT/main/.git/worktrees/w\n",
        "main/.git/HEAD",
        "main/.git/objects/",
        "main/.git/config",
        "main/.git/worktrees/w/HEAD",
        "main/.git/worktrees/w/commondir=../..\n",
        "main/.git/worktrees/w/gitdir=x",
    ]);
    let only = |extra: &[&str]| {
        let mut names = tree.protected(extra);
        names.retain(|name| name.contains("git"));
        names
    };
    assert_eq!(only(&[]), ["w/.git"]);
    assert_eq!(only(&["main"]), ["main/.git", "main/.git/worktrees/w", "w/.git"]);
    // Made writable as such, for commits: what git executes stays fixed.
    assert_eq!(
        only(&["main/.git"]),
        [
            "main/.git/config",
            "main/.git/hooks",
            "main/.git/worktrees/w/commondir",
            "main/.git/worktrees/w/gitdir",
            "w/.git"
        ]
    );
}

#[test]
fn a_linked_name_is_guarded_with_its_target() {
    let tree = Tree::new(&["w/real/", "w/.codex -> real", "out/", "w/.aws -> ../out"]);
    let mut names = tree.protected(&[]);
    names.retain(|name| !name.contains("git") && !name.contains("agents") && !name.contains("open"));
    assert_eq!(names, ["w/.aws", "w/.codex", "w/real"]);
}

#[test]
fn the_programs_own_folder_is_guarded_where_it_lies_in_a_root() {
    let tree = Tree::new(&["w/", "state/", "other/"]);
    assert_eq!(tree.protected(&["."]).iter().filter(|name| *name == "state").count(), 1);
}

#[test]
fn may_write_says_what_the_jail_would_do() {
    let tree = Tree::new(&[
        "w/.git/config",
        "w/file",
        "w/sub/.git/config",
        "out/file",
        "w/out -> ../out",
        "w/into -> sub/new",
        "w/dangling -> ../out/new",
        "w/git -> .git",
        "w/loop -> loop",
        "out/back -> ../w/file",
    ]);
    let spec = tree.spec(&[]);
    let check = |name: &str, expected: bool| {
        assert_eq!(spec.may_write(&tree.path(name)), expected, "{name}");
    };
    check("w/file", true);
    check("w/new/deep/file", true);
    check("w/sub/.git/config", true);
    check("w/into", true);
    check("w/.git/config", false);
    check("w/.git", false);
    check("w/.codex/new", false);
    check("w/.gitignore", true);
    check("w/git/config", false);
    check("w/git", false);
    check("out/file", false);
    check("w/out/file", false);
    check("w/out", false);
    check("w/dangling", false);
    check("w/loop", false);
    check("w/../out/file", false);
    check("w/gone/../file", false);
    check("out/back", false);
    assert_eq!(spec.may_write(Path::new("relative")), true);

    let with = |mode| {
        let around = Surroundings { tmpdir: None, home: None, state: &tree.path("state") };
        Spec::resolve(&SandboxPolicy::new(mode), &tree.path("w"), &around).unwrap()
    };
    assert_eq!(with(SandboxMode::ReadOnly).may_write(&tree.path("w/file")), false);
    assert_eq!(with(SandboxMode::DangerFullAccess).may_write(&tree.path("out/file")), true);
}

#[test]
fn a_missing_workspace_is_an_error_that_names_it() {
    let around = Surroundings { tmpdir: None, home: None, state: Path::new("/nowhere") };
    let error = Spec::resolve(&SandboxPolicy::new(SandboxMode::ReadOnly), Path::new("/no/such"), &around).unwrap_err();
    assert_eq!(error.to_string(), "working folder /no/such: No such file or directory (os error 2)");
}

#[test]
fn a_tmpdir_that_holds_the_home_folder_is_not_writable() {
    let tree = Tree::new(&["w/", "u/me/tmp/", "link -> u"]);
    let home = tree.path("u/me");
    let check = |tmpdir: &Path, writable: bool| {
        let mut policy = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
        policy.exclude_slash_tmp = true;
        let around = Surroundings { tmpdir: Some(tmpdir), home: Some(&home), state: &tree.path("state") };
        let spec = Spec::resolve(&policy, &tree.path("w"), &around).unwrap();
        let real = fs::canonicalize(tmpdir).unwrap();
        assert_eq!(spec.roots.iter().any(|root| root.path == real), writable, "{}", tmpdir.display());
        assert_eq!(spec.notes.len(), usize::from(!writable), "{:?}", spec.notes);
    };
    check(&tree.path("u/me/tmp"), true);
    check(Path::new("/"), false);
    check(&home, false);
    check(&tree.path("u"), false);
    check(&tree.path("link"), false);
    // The workspace itself: writable because the user works there.
    let policy = SandboxPolicy { exclude_slash_tmp: true, ..SandboxPolicy::new(SandboxMode::WorkspaceWrite) };
    let around = Surroundings { tmpdir: Some(&home), home: Some(&home), state: &tree.path("state") };
    assert_eq!(Spec::resolve(&policy, &home, &around).unwrap().notes, Vec::<String>::new());
}
